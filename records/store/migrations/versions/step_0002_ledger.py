"""The budget ledger as an index into the log, and signed checkpoints of the log."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("log_head", sa.Column("ledger", sa.Text, nullable=False, server_default=""))
    op.create_index("log_events_by_run", "log_events", ["run"])
    op.create_table(
        "log_checkpoints",
        sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("envelope", sa.Text, nullable=False),
    )
    op.create_table(
        "ledger_entries",
        sa.Column("subject", sa.Text, primary_key=True),
        sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
    )
    op.create_table(
        "ledger_tails",
        sa.Column("subject", sa.Text, primary_key=True),
        sa.Column("seq", sa.Integer, nullable=False),
    )
