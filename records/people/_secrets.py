"""What the passwords and tokens of users are checked against. The log says which of these files counts.

    <home>/keys/users/<name>.json         {"hash": argon2id of a password, "once": whether it must be changed}    (1)
                                          {"token": SHA-256 of a program's token}                               (2)
    <home>/keys/users/.<name>.json.next   the same, until it is on record                                         (3)
    <home>/keys/first-officer.password    the first officer's one-time password, until it is changed

The log holds the SHA-256 of (1) or (2). A change writes (3), then the log, then gives (3) its lasting name; so the
log alone decides when the old secret ends and the new one begins, and a crash at any moment leaves exactly one of
them. A file that the log does not vouch for opens nothing. Names count without regard to case, so files are named in
lower case. Passwords are hashed in the low-memory profile of RFC 9106. A token has 256 random bits, so its plain
SHA-256 cannot be guessed.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import secrets
import unicodedata
from collections.abc import Iterator
from hmac import compare_digest
from pathlib import Path
from typing import Any

from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError
from argon2.profiles import RFC_9106_LOW_MEMORY

from penstock.mechanisms.refusal import Fault, Refusal
from penstock.records.files import durable
from penstock.records.files.digest import canonical
from penstock.records.home import Home
from penstock.records.signing.keyfile import KeyDamaged, private_content

__all__ = [
    "SecretAltered",
    "digest_of",
    "fits_password",
    "fits_token",
    "forget_first_password",
    "forget_secret",
    "keep_secret",
    "new_secret",
    "password_faults",
    "password_text",
    "prepare_secret",
    "refuse_slowly",
    "stored_secret",
    "token_text",
    "write_first_password",
]

_SHORTEST, _LONGEST = 12, 200
_ONE_TIME_BYTES, _TOKEN_BYTES = 18, 32
_HASHER = PasswordHasher.from_parameters(RFC_9106_LOW_MEMORY)


class SecretAltered(Refusal):
    """The file that a password or token is checked against is not the one on record."""

    code = "secret-altered"
    kind = "integrity"
    remedy = "Find out who changed the file; then renew it: penstock users renew NAME."


def password_faults(name: str, old: str, new: str) -> Iterator[Fault]:
    """Yield what is wrong with a new password. Neither password is ever quoted."""
    chosen = _plain(new)
    if not _SHORTEST <= len(chosen) <= _LONGEST:
        rule = f"must have {_SHORTEST} to {_LONGEST} characters"
        yield Fault("password", rule, "Choose another one, such as four words.", str(len(chosen)))
    if chosen.casefold() == name.casefold():
        yield Fault("password", "must not be the name of its user", "Choose another one.")
    if chosen == _plain(old):
        yield Fault("password", "must not be the old one", "Choose another one.")
    if any(unicodedata.category(character) == "Cs" for character in chosen):
        yield Fault("password", "must be whole characters of Unicode", "Choose another one.")


def new_secret(*, is_program: bool) -> str:
    """Return a one-time password of 144 random bits, or a token of 256."""
    return secrets.token_urlsafe(_TOKEN_BYTES if is_program else _ONE_TIME_BYTES)


def password_text(password: str, *, once: bool) -> bytes:
    """Return the text (1)."""
    return canonical({"hash": _HASHER.hash(_bytes(password)), "once": once})


def token_text(token: str) -> bytes:
    """Return the text (2)."""
    return canonical({"token": hashlib.sha256(_bytes(token)).hexdigest()})


def digest_of(text: bytes) -> str:
    """Return the SHA-256 of (1) or (2), as it goes on record."""
    return hashlib.sha256(text).hexdigest()


def fits_password(stored: dict[str, Any], given: str) -> bool:
    """Return whether this is the password of (1). Under (2) none is, and finding that out takes as long."""
    if "hash" not in stored:
        refuse_slowly(given)
        return False
    return _verify(stored["hash"], given)


def fits_token(stored: dict[str, Any], given: str) -> bool:
    """Return whether this is the token of (2). Under (1) none is."""
    return compare_digest(stored.get("token", ""), hashlib.sha256(_bytes(given)).hexdigest())


def refuse_slowly(given: str) -> None:
    """Take as long as for a wrong password if there is no such user, so that timing does not reveal names."""
    profile = RFC_9106_LOW_MEMORY
    salt, tag = (_base64(secrets.token_bytes(size)) for size in (profile.salt_len, profile.hash_len))
    costs = f"m={profile.memory_cost},t={profile.time_cost},p={profile.parallelism}"
    _verify(f"$argon2id$v={profile.version}${costs}${salt}${tag}", given)


def prepare_secret(home: Home, name: str, text: bytes, *, counts: str | None) -> None:
    """Write (3), before it goes on record; the caller holds the turn of all users.

    counts: the digest on record now. A crash may have left the text with that digest under the name that is overwritten
    here.
    """
    path, following = _paths(home, name)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    durable.sync(path.parent.parent)
    if counts is not None and following.exists() and digest_of(private_content(following)) == counts:
        keep_secret(home, name)
    durable.write_whole(following, text)


def keep_secret(home: Home, name: str) -> None:
    """Give (3) its lasting name, after it went on record."""
    path, following = _paths(home, name)
    os.rename(following, path)
    durable.sync(path.parent)


def forget_secret(home: Home, name: str) -> None:
    """Remove what is stored about a user, after the removal went on record."""
    for path in _paths(home, name):
        path.unlink(missing_ok=True)
    if _folder(home).exists():
        durable.sync(_folder(home))


def stored_secret(home: Home, name: str, digest: str) -> dict[str, Any]:
    """Return (1) or (2), if it is the text whose digest is on record."""
    path, following = _paths(home, name)
    # In this order, because (3) may be renamed to the lasting name at any moment.
    for candidate in (following, path):
        try:
            text = private_content(candidate)
        except (OSError, KeyDamaged):  # missing, or not a file
            continue
        if digest_of(text) == digest:
            return dict(json.loads(text))
    raise SecretAltered.at(
        str(path),
        rule="must be the file whose digest is on record for this user",
        remedy="Find out who changed it; then `penstock users renew` gives a new password or token.",
    )


def write_first_password(home: Home, password: str) -> Path:
    """Leave the first officer's one-time password for whoever owns the home."""
    durable.write_whole(_first(home), f"{password}\n".encode())
    return _first(home)


def forget_first_password(home: Home) -> None:
    """Remove the first officer's one-time password, which no longer opens anything."""
    _first(home).unlink(missing_ok=True)
    durable.sync(home.keys)


def _first(home: Home) -> Path:
    return home.keys / "first-officer.password"


def _folder(home: Home) -> Path:
    return home.keys / "users"


def _paths(home: Home, name: str) -> tuple[Path, Path]:
    """Return the file that normally counts, and (3); no name begins with a dot."""
    file = f"{name.lower()}.json"
    return _folder(home) / file, _folder(home) / f".{file}.next"


def _verify(stored: str, given: str) -> bool:
    try:
        return _HASHER.verify(stored, _bytes(given))
    except VerifyMismatchError:
        return False


def _plain(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _bytes(text: str) -> bytes:
    """Return the bytes of a text, even if it is not valid Unicode, in which case it is nobody's password."""
    return _plain(text).encode("utf-8", "surrogatepass")


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode().rstrip("=")
