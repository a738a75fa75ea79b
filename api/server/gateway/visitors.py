"""Who is at the door: people with a session, programs with a token, or people whom a proxy vouches for.

The audit log says who exists and what they may do. A session lives in this process only, and its cookie holds
only its number, signed by Starlette: it ends after HOURS, after being IDLE, when its owner signs out, is
removed or changes the password, and when the service stops.

    attempts   after five wrong passwords a name must wait a minute, then two, four, up to fifteen
    a program  Authorization: Basic NAME:TOKEN, without a session
    a proxy    X-Penstock-Proxy: SECRET and X-Forwarded-User: NAME, if PENSTOCK_PROXY_SECRET_FILE is set
"""

from __future__ import annotations

import asyncio
import base64
import hmac
import math
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from penstock.mechanisms.refusal import Refusal
from penstock.records.home import Home
from penstock.records.log.log import Action, Log
from penstock.records.people.users import (
    Role,
    User,
    change_password,
    is_password,
    is_token,
    must_choose,
    refuse_slowly,
    users,
)
from penstock.records.people.visits import note_visit
from penstock.server.gateway._attempts import Attempts, stranger
from penstock.server.gateway.door import Turned

__all__ = ["NUMBER", "Session", "Visitor", "Visitors"]

NUMBER = "number"  # of the session, in the signed cookie
HOURS = 12 * 3600.0
IDLE = 3600.0
_AS_OF = 3.0  # seconds for which users read from the log are used again
_SESSIONS_AT_MOST = 1000
_WRONG = "The name or the password is wrong."
_AT_ONCE = 2  # passwords that are checked at the same time; each takes 64 MiB


@dataclass(slots=True)
class Session:
    """A person who has signed in. secret: the digest of their password's record at that time. owner: the user whose
    process asked for it, see peer.py. must_choose: nothing else is done before a password is chosen."""

    number: str
    name: str
    secret: str
    owner: int | None
    must_choose: bool
    began: float
    seen: float


@dataclass(frozen=True, slots=True)
class Visitor:
    """A person or program that sends a request, and how they are known. session: None for programs and behind a
    proxy."""

    user: User
    session: Session | None = None
    by_browser: bool = True

    @property
    def name(self) -> str:
        return self.user.name

    def has(self, *roles: Role) -> bool:
        return not self.user.roles.isdisjoint(roles)


@dataclass(slots=True)
class Visitors:
    """The register of this service: its users, from the log, and its sessions."""

    home: Home
    log: Log
    proxy_secret: str | None = None
    clock: Callable[[], float] = time.monotonic
    _sessions: dict[str, Session] = field(default_factory=dict)
    _users: Mapping[str, User] = field(default_factory=dict)
    _as_of: float = float("-inf")
    _attempts: Attempts = field(init=False)
    _look: float = 0.2  # seconds that the last check of a password took
    _checking: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))
    _reading: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self._attempts = Attempts(self.clock)

    async def known(self, headers: Mapping[str, str], cookie: Mapping[str, Any], owner: int | None) -> Visitor | None:
        """Return who sends this request; None if that is not known, and they may sign in. owner: see peer.py."""
        self._require_proxy(headers)
        if "authorization" in headers:
            return await self._program(headers["authorization"])
        if self.proxy_secret is not None:
            return await self._vouched_for(headers.get("x-forwarded-user", ""))
        return await self._with_session(cookie.get(NUMBER), owner)

    async def sign_in(self, name: str, password: str, owner: int | None) -> Session:
        """Begin a session for whoever knows the password."""
        if self.proxy_secret is not None:
            raise Turned(403, "You sign in at the proxy.")
        user = await self._found(name)
        person = user if user is not None and not user.is_program else None
        if person is None:
            await self._keep_stranger_busy(name)
        else:
            self._require_patience(person.name)
        async with self._checking:
            began = time.perf_counter()
            right = await asyncio.to_thread(self._is_right, person, password)
            self._look = time.perf_counter() - began
        if person is None or not right:
            await self._note(Action.SIGN_IN_REFUSED, "" if person is None else person.name)
            raise Turned(403, _WRONG)
        self._attempts.succeeded(person.name)
        await self._note(Action.SIGNED_IN, person.name)
        return self._begin(person, owner, must_choose=await asyncio.to_thread(self._must_choose, person))

    async def sign_out(self, session: Session) -> None:
        """End a session."""
        if self._sessions.pop(session.number, None) is not None:
            await self._note(Action.SIGNED_OUT, session.name)

    async def change_password(self, session: Session, old: str, new: str) -> Session:
        """Take another password: every session of this person ends, and a new one begins."""
        self._require_patience(session.name)
        async with self._checking:
            await asyncio.to_thread(self._change, session.name, old, new)
        self._attempts.succeeded(session.name)
        self._as_of = float("-inf")
        for each in [each for each in self._sessions.values() if each.name == session.name]:
            del self._sessions[each.number]
        user = (await self._read()).get(session.name.casefold())
        if user is None:
            raise Turned(401, "Sign in first.")
        return self._begin(user, session.owner)

    async def note(self, action: Action, name: str, **facts: str) -> None:
        """Put on record what a visitor did; an action that cannot be recorded is not done."""
        await self._note(action, name, **facts)

    async def is_still(self, visitor: Visitor) -> bool:
        """Return whether somebody whose connection stays open would be let in again; this does not count as
        activity."""
        try:
            user = (await self._read()).get(visitor.name.casefold())
        except Turned:
            return False
        session = visitor.session
        return user == visitor.user and (session is None or self._lives(session, visitor.user))

    async def _keep_stranger_busy(self, name: str) -> None:
        """Treat a name that nobody has like any other, so that names cannot be discovered; but check only a few of
        them, since each check takes memory and is on record."""
        self._require_patience(stranger(name))
        if self._attempts.wait(None) > 0:
            await asyncio.sleep(self._look)
            raise Turned(403, _WRONG)
        self._attempts.begin(None)

    def _require_patience(self, name: str) -> None:
        wait = self._attempts.wait(name)
        if wait > 0:
            raise Turned(429, f"Too many wrong passwords. Try again in {math.ceil(wait)} seconds.")
        self._attempts.begin(name)  # before the password is checked: many may come at once

    def _require_proxy(self, headers: Mapping[str, str]) -> None:
        if self.proxy_secret is None:
            return
        given = headers.get("x-penstock-proxy", "").encode()
        if not hmac.compare_digest(given, self.proxy_secret.encode()):
            raise Turned(403, "This service is reached through its proxy only.")

    async def _program(self, authorization: str) -> Visitor | None:
        scheme, _, credentials = authorization.partition(" ")
        try:
            name, _, token = base64.b64decode(credentials, validate=True).decode().partition(":")
        except ValueError:
            name, token = "", ""
        user = await self._found(name)
        known = scheme.lower() == "basic" and user is not None and user.is_program
        if user is None or not known or not await asyncio.to_thread(self._is_token, user, token):
            raise Turned(401, "This is not the token of a program.")
        return Visitor(user, by_browser=False)

    async def _vouched_for(self, name: str) -> Visitor:
        user = (await self._read()).get(name.casefold())
        if user is None or user.is_program:
            raise Turned(403, "The proxy names nobody who has an account here.")
        session = next((each for each in self._sessions.values() if each.name == user.name), None)
        if session is None or not self._lives(session, user):
            session = self._begin(user, None)
            await self._note(Action.SIGNED_IN, user.name, way="proxy")
        session.seen = self.clock()
        return Visitor(user)

    async def _with_session(self, number: object, owner: int | None) -> Visitor | None:
        session = self._sessions.get(number) if isinstance(number, str) else None
        if session is None or session.owner != owner:
            return None
        user = (await self._read()).get(session.name.casefold())
        if user is None or not self._lives(session, user):
            self._sessions.pop(session.number, None)
            return None
        session.seen = self.clock()
        return Visitor(user, session)

    def _lives(self, session: Session, user: User) -> bool:
        now = self.clock()
        fresh = now - session.began < HOURS and now - session.seen < IDLE
        return fresh and session.number in self._sessions and session.secret == user.digest

    def _begin(self, user: User, owner: int | None, *, must_choose: bool = False) -> Session:
        now = self.clock()
        for each in [each for each in self._sessions.values() if now - each.began >= HOURS or now - each.seen >= IDLE]:
            del self._sessions[each.number]
        if len(self._sessions) >= _SESSIONS_AT_MOST:
            raise Turned(503, "Too many people have signed in. Try again later.")
        session = Session(secrets.token_urlsafe(32), user.name, user.digest, owner, must_choose, now, now)
        self._sessions[session.number] = session
        return session

    def _is_right(self, person: User | None, password: str) -> bool:
        if person is None:
            refuse_slowly(password)
            return False
        with _readable():
            return is_password(self.home, person, password)

    def _is_token(self, program: User, token: str) -> bool:
        with _readable():
            return is_token(self.home, program, token)

    def _must_choose(self, person: User) -> bool:
        with _readable():
            return must_choose(self.home, person)

    def _change(self, name: str, old: str, new: str) -> None:
        change_password(self.log, self.home, name, old, new, now=datetime.now(UTC))

    async def _found(self, name: str) -> User | None:
        """Return the user of this name; look again for somebody who was added only a moment ago."""
        user = (await self._read()).get(name.casefold())
        if user is None:
            self._as_of = float("-inf")
            user = (await self._read()).get(name.casefold())
        return user

    async def _read(self) -> Mapping[str, User]:
        """Return the users by folded name, as the log says; turn everybody away if it cannot be believed."""
        async with self._reading:
            if self.clock() - self._as_of >= _AS_OF:
                try:
                    found = await asyncio.to_thread(users, self.log)
                except Refusal:
                    raise Turned(503, "The audit log cannot be read. Nobody is let in.") from None
                self._users = {name.casefold(): user for name, user in found.items()}
                self._as_of = self.clock()
            return self._users

    async def _note(self, action: Action, name: str, **facts: str) -> None:
        now = datetime.now(UTC)
        try:
            await asyncio.to_thread(lambda: note_visit(self.log, action, name=name, now=now, **facts))
        except Refusal:
            raise Turned(503, "The audit log cannot be written. Nothing was done.") from None


@contextmanager
def _readable() -> Iterator[None]:
    """Turn away somebody whose secret in the home is not the one on record, or was changed a moment ago."""
    try:
        yield
    except Refusal:
        raise Turned(503, "This account cannot be read. Try again, or ask whoever runs the service.") from None
