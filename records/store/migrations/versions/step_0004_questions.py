"""Questions: closing balances beside the tails of the ledger, what was asked about each individual, and the answers."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("ledger_tails", sa.Column("balance", sa.Text))
    op.create_table(
        "question_answers",
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("answer", sa.Text, nullable=False),
        sa.Column("seal", sa.Text, nullable=False),
    )
    op.create_table(
        "question_pages",
        sa.Column("sitting", sa.Text, primary_key=True),
        sa.Column("page", sa.Text, primary_key=True),
        sa.Column("content", sa.Text, nullable=False),
    )
