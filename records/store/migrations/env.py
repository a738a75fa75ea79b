"""How Alembic runs the steps: on the connection and in the transaction of the caller."""

from __future__ import annotations

from alembic import context

from penstock.records.store.migrations import VERSION_TABLE

__all__ = ["run"]


def run() -> None:
    """Run the steps that are due."""
    context.configure(connection=context.config.attributes["connection"], version_table=VERSION_TABLE)
    context.run_migrations()


if __name__ == "env_py":  # the name under which Alembic loads this file
    run()
