"""The audit log: its events, and the sealed head."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import context, op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "log_events",
        sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
        *(
            sa.Column(name, sa.Text, nullable=False)
            for name in ("occurred", "run", "action", "actor", "code", "facts", "previous", "digest")
        ),
    )
    head = op.create_table(
        "log_head",
        sa.Column("id", sa.Integer, sa.CheckConstraint("id = 1"), primary_key=True, autoincrement=False),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("seal", sa.Text, nullable=False),
    )
    op.bulk_insert(head, context.config.attributes["first_rows"]["log_head"])
