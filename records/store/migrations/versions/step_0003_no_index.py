"""The events of a run are found by a scan that is checked, so the index that could hide some of them goes."""

from __future__ import annotations

from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.drop_index("log_events_by_run", "log_events", if_exists=True)
