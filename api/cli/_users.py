"""`penstock users`: who may sign in to the pages, and with which roles."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from penstock.cli._options import AsJson, Reason
from penstock.cli._screen import Screen
from penstock.records.people.roles import Role

__all__ = ["users"]

users = typer.Typer(
    help="Users of the pages: add one, remove one, renew a password.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Name = Annotated[str, typer.Argument(help="The user's name; upper and lower case are the same.")]


@users.command("add")
def add(
    name: Annotated[str, typer.Argument(help="The name to sign in with; for a reviewer, as their key is trusted.")],
    role: Annotated[list[Role], typer.Option("--role", help="What the user may do; repeat it for several roles.")],
    reason: Reason,
    program: Annotated[bool, typer.Option("--program", help="A program, which gets a token, not a person.")] = False,
    as_json: AsJson = False,
) -> None:
    """Add a user. The one-time password or the token is printed now and never again."""
    from penstock.records import open_records
    from penstock.records.home import Home, login
    from penstock.records.people.users import add_user

    log, home, now = open_records().log, Home.located(), datetime.now(UTC)
    secret = add_user(log, home, name, role, is_program=program, actor=login(), reason=reason, now=now)
    _show_secret(name, secret, program, as_json)


@users.command("remove")
def remove(name: Name, reason: Reason, as_json: AsJson = False) -> None:
    """Remove a user, who can sign in no more. What they did stays on record."""
    from penstock.records import existing_records
    from penstock.records.home import Home, login
    from penstock.records.people.users import remove_user

    now = datetime.now(UTC)
    remove_user(existing_records().log, Home.located(), name, actor=login(), reason=reason, now=now)
    Screen(as_json).show(f"{name} is removed.", {"name": name})


@users.command("renew")
def renew(name: Name, reason: Reason, as_json: AsJson = False) -> None:
    """Give a user a new one-time password or token. The old one ends at once."""
    from penstock.records import existing_records
    from penstock.records.home import Home, login
    from penstock.records.people.users import find_user, renew_password

    log, now = existing_records().log, datetime.now(UTC)
    secret = renew_password(log, Home.located(), name, actor=login(), reason=reason, now=now)
    user = find_user(log, name)
    _show_secret(name, secret, user is not None and user.is_program, as_json)


@users.command("list")
def list_(as_json: AsJson = False) -> None:
    """List all users with their roles."""
    from penstock.records import existing_records
    from penstock.records.people.users import users as known

    Screen(as_json).show_users(
        [
            {"name": user.name, "roles": sorted(user.roles), "program": user.is_program, "since": user.since}
            for user in known(existing_records().log).values()
        ]
    )


def _show_secret(name: str, secret: str, is_program: bool, as_json: bool) -> None:
    kind = "token" if is_program else "password"
    told = (
        f"The token of {name}, shown only now:"
        if is_program
        else f"The one-time password of {name}, shown only now and to be changed at the first sign-in:"
    )
    Screen(as_json).show(f"{told}\n{secret}", {"name": name, kind: secret})
