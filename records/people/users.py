"""Who may sign in to the pages, and with which roles. The audit log is the register.

    USER_ADDED            name, roles, program, reason, secret (SHA-256 of the stored file, see _secrets.py)
    USER_SECRET_CHANGED   name, secret; and the reason, if an officer renewed it
    USER_REMOVED          name, reason

A name counts without regard to case; after its removal it may be added again. A person signs in with a password;
after a one-time password (`must_choose`) the pages only let them choose another. A program sends its token. To
check a password in the same time whether or not the name is known:

    user = find_user(log, name)
    if user is None:
        refuse_slowly(given)
    elif is_password(home, user, given): ...

A session lasts no longer than `user.digest`: a changed password or token changes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from penstock.mechanisms.refusal import Fault, Refusal
from penstock.records.approval.decision import reason_faults
from penstock.records.home import Home, login
from penstock.records.ledger.lock import take_turn
from penstock.records.log.log import Action, Event, Log, LogReader, LogWriter
from penstock.records.people._secrets import (
    SecretAltered,
    digest_of,
    fits_password,
    fits_token,
    forget_first_password,
    forget_secret,
    keep_secret,
    new_secret,
    password_faults,
    password_text,
    prepare_secret,
    refuse_slowly,
    stored_secret,
    token_text,
    write_first_password,
)
from penstock.records.people.names import is_name
from penstock.records.people.roles import Role
from penstock.records.people.trusted_keys import REGISTER

__all__ = [
    "FIRST_OFFICER",
    "PasswordRefused",
    "PasswordWrong",
    "Role",
    "SecretAltered",
    "User",
    "UserRefused",
    "UserTaken",
    "UserUnknown",
    "add_user",
    "change_password",
    "find_user",
    "first_officer",
    "is_password",
    "is_token",
    "must_choose",
    "refuse_slowly",
    "remove_user",
    "renew_password",
    "users",
    "users_turn",
]

FIRST_OFFICER = "officer"
_CHANGES = frozenset({Action.USER_ADDED, Action.USER_SECRET_CHANGED, Action.USER_REMOVED})


class UserRefused(Refusal):
    """The name, the roles or the reason cannot be held in the register."""

    code = "user-refused"
    kind = "approval"
    remedy = "Correct the name, the roles or the reason as the message says."


class UserTaken(Refusal):
    """A user of this name exists."""

    code = "user-taken"
    kind = "approval"
    remedy = "Choose another name, or renew this user: penstock users renew NAME."


class UserUnknown(Refusal):
    """No user of this name exists."""

    code = "user-unknown"
    kind = "approval"
    remedy = "Check the name with `penstock users list`."


class PasswordRefused(Refusal):
    """The new password is not allowed."""

    code = "password-refused"
    kind = "approval"
    remedy = "Choose another password, such as four words."


class PasswordWrong(Refusal):
    """The old password is not the current one of this user."""

    code = "password-wrong"
    kind = "approval"
    remedy = "Type the old password again, or have an officer renew it."


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """A name with its roles, since when (ISO 8601, UTC); `digest` is that of the stored secret, as in the log."""

    name: str
    roles: frozenset[Role]
    is_program: bool
    since: str
    digest: str


def add_user(
    records_log: Log,
    home: Home,
    name: str,
    roles: Iterable[Role],
    *,
    is_program: bool,
    actor: str,
    reason: str,
    now: datetime,
) -> str:
    """Add a user; return the one-time password or the token, which is seen here and never again."""
    given = frozenset(roles)
    UserRefused.raise_for([*_name_faults(name), *_role_faults(given), *reason_faults(reason, needed=True)])
    secret, text = _made(is_program)
    with _changed(records_log, home) as (writer, settle):
        known = _found(users(writer), name)
        if known is not None:
            raise UserTaken.at(
                "name",
                rule="must not be that of a user",
                got=name,
                remedy="Choose another name; `penstock users renew` gives this user a new password or token.",
            )
        _add(writer, home, name, given, text, is_program=is_program, actor=actor, reason=reason, now=now)
        settle(lambda: keep_secret(home, name))
    return secret


def remove_user(log: Log, home: Home, name: str, *, actor: str, reason: str, now: datetime) -> None:
    """Put on record that nobody signs in under this name any more."""
    UserRefused.raise_for([*_name_faults(name), *reason_faults(reason, needed=True)])
    with _changed(log, home) as (writer, settle):
        user = _required(writer, name)
        facts = {"name": user.name, "reason": reason}
        writer.append(Action.USER_REMOVED, run=REGISTER, actor=actor, facts=facts, occurred=now)
        settle(lambda: _forget(home, user.name, forget_secret))


def change_password(log: Log, home: Home, name: str, old: str, new: str, *, now: datetime) -> None:
    """Replace a person's password, at that person's own request."""
    PasswordRefused.raise_for(password_faults(name, old, new))
    known = find_user(log, name)
    if known is None:
        refuse_slowly(old)
        raise _wrong()
    if not is_password(home, known, old):
        raise _wrong()
    text = password_text(new, once=False)
    with _changed(log, home) as (writer, settle):
        user = _found(users(writer), name)
        if user is None or user.digest != known.digest:  # removed or renewed while the old password was checked
            raise _wrong()
        facts = {"name": user.name, "secret": digest_of(text)}
        _replace(writer, home, user, text, facts, actor=user.name, now=now)
        settle(lambda: _forget(home, user.name, keep_secret))


def renew_password(log: Log, home: Home, name: str, *, actor: str, reason: str, now: datetime) -> str:
    """Replace a user's password or token at an officer's request; return the new one, which is never seen again."""
    UserRefused.raise_for([*_name_faults(name), *reason_faults(reason, needed=True)])
    is_program = _required(log, name).is_program
    secret, text = _made(is_program)
    with _changed(log, home) as (writer, settle):
        user = _required(writer, name)
        if user.is_program != is_program:
            secret, text = _made(user.is_program)  # removed and added as the other kind meanwhile
        facts = {"name": user.name, "secret": digest_of(text), "reason": reason}
        _replace(writer, home, user, text, facts, actor=actor, now=now)
        settle(lambda: _forget(home, user.name, keep_secret))
    return secret


def first_officer(log: Log, home: Home, *, now: datetime) -> Path | None:
    """Add an officer if nobody can sign in; return the file with the one-time password, or None if somebody can."""
    if users(log):
        return None
    secret, text = _made(is_program=False)
    with _changed(log, home) as (writer, settle):
        if users(writer):
            return None
        path = write_first_password(home, secret)
        roles, reason = frozenset({Role.OFFICER}), "the first officer of this home"
        _add(writer, home, FIRST_OFFICER, roles, text, is_program=False, actor=login(), reason=reason, now=now)
        settle(lambda: keep_secret(home, FIRST_OFFICER))
    return path


def users(log: Log | LogReader) -> dict[str, User]:
    """Return everyone who may sign in now, by name as it was added."""
    found: dict[str, User] = {}
    for event in log.events(REGISTER, _CHANGES):  # not what users did since, which is much more
        facts = event.facts
        if event.action is Action.USER_ADDED:
            found[facts["name"]] = _user(event)
        elif event.action is Action.USER_SECRET_CHANGED:
            found[facts["name"]] = replace(found[facts["name"]], digest=facts["secret"])
        elif event.action is Action.USER_REMOVED:
            del found[facts["name"]]
    return found


def find_user(log: Log | LogReader, name: str) -> User | None:
    """Return the user of this name, in whatever case it is written."""
    return _found(users(log), name)


def is_password(home: Home, user: User, given: str) -> bool:
    """Return whether this is the user's password; refuse if the stored file is not the one on record."""
    return fits_password(stored_secret(home, user.name, user.digest), given)


def must_choose(home: Home, user: User) -> bool:
    """Return whether the password is a one-time password, to be changed before anything else is done."""
    return bool(stored_secret(home, user.name, user.digest).get("once", False))


def is_token(home: Home, user: User, given: str) -> bool:
    """Return whether this is the program's token; refuse if the stored file is not the one on record."""
    return fits_token(stored_secret(home, user.name, user.digest), given)


@contextmanager
def users_turn(home: Home) -> Iterator[None]:
    """Wait until nobody else on this machine changes users: their files then agree with the log."""
    with take_turn(home, "\0users"):
        yield


@contextmanager
def _changed(log: Log, home: Home) -> Iterator[tuple[LogWriter, Callable[[Callable[[], None]], None]]]:
    """Take a turn and, in it, open a transaction on a checked log; yield the writer and a function that takes work to
    do after the commit."""
    after: list[Callable[[], None]] = []
    with users_turn(home):
        with log.transaction() as writer:
            writer.verify()  # otherwise a removal could be hidden
            yield writer, after.append
        for work in after:
            work()


def _add(
    writer: LogWriter,
    home: Home,
    name: str,
    roles: frozenset[Role],
    text: bytes,
    *,
    is_program: bool,
    actor: str,
    reason: str,
    now: datetime,
) -> None:
    prepare_secret(home, name, text, counts=None)
    facts: dict[str, Any] = {
        "name": name,
        "roles": sorted(roles),
        "program": is_program,
        "reason": reason,
        "secret": digest_of(text),
    }
    writer.append(Action.USER_ADDED, run=REGISTER, actor=actor, facts=facts, occurred=now)


def _replace(
    writer: LogWriter, home: Home, user: User, text: bytes, facts: dict[str, str], *, actor: str, now: datetime
) -> None:
    prepare_secret(home, user.name, text, counts=user.digest)
    writer.append(Action.USER_SECRET_CHANGED, run=REGISTER, actor=actor, facts=facts, occurred=now)


def _forget(home: Home, name: str, settle: Callable[[Home, str], None]) -> None:
    """Settle the user's file; the first officer's password on disk no longer opens anything."""
    settle(home, name)
    if name.casefold() == FIRST_OFFICER:
        forget_first_password(home)


def _made(is_program: bool) -> tuple[str, bytes]:
    """Return a new secret, and what is stored of it. Called before the transaction, because hashing takes time."""
    secret = new_secret(is_program=is_program)
    return secret, token_text(secret) if is_program else password_text(secret, once=True)


def _user(event: Event) -> User:
    facts = event.facts
    return User(
        name=facts["name"],
        roles=frozenset(map(Role, facts["roles"])),
        is_program=facts["program"],
        since=event.occurred,
        digest=facts["secret"],
    )


def _found(known: dict[str, User], name: str) -> User | None:
    return next((user for user in known.values() if user.name.casefold() == name.casefold()), None)


def _required(log: Log | LogReader, name: str) -> User:
    user = find_user(log, name)
    if user is None:
        raise UserUnknown.at(
            "name",
            rule="must be that of a user",
            got=name,
            remedy="Check the name; `penstock users list` names them all.",
        )
    return user


def _wrong() -> PasswordWrong:
    return PasswordWrong.at(
        "old",
        rule="must be the password that this user has now",
        remedy="Type it again, or ask an officer to renew it.",
    )


def _name_faults(name: str) -> Iterator[Fault]:
    if not is_name(name):
        rule = "must be 1 to 64 letters, digits, dots, dashes or underscores, the first a letter or digit"
        yield Fault("name", rule, "Choose such a name.", repr(name))


def _role_faults(roles: frozenset[Role]) -> Iterator[Fault]:
    if not roles:
        yield Fault("roles", "must be at least one", f"Choose among {', '.join(Role)}.")
