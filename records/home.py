"""The confidential side on disk: keys, runs and the default database, for its owner only.

<root>/                 0700   PENSTOCK_HOME, else .penstock
    keys/secret.key     0600   32 random bytes for keyed digests
    keys/signing.pem    0600   Ed25519 private key;  keys/signing.pub is its public key
    keys/users/         0700   what passwords and tokens are checked against, see people/_secrets.py
    keys/first-officer.password  0600  until the first officer has chosen a password
    runs/<run-id>/      0700   see run.py
    answers/<key>/      0700   see answers.py
    sources/            0700   by which digests sources are known, see tasks/questions/identity.py
    turns/              0700   see ledger/lock.py
    prefect/            0700   the files of the Prefect server that Penstock runs itself
    tmp/, kernels/      0700   see flows/surroundings.py
    lineage.log                lineage events that were not accepted, see tasks/run/_lineage.py
    seen.json           0600   see sighting.py
    restoring           0600   only until a restoration is complete, see restoring.py
    penstock.db         0600   unless PENSTOCK_DB names another database
"""

from __future__ import annotations

import os
import pwd
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from penstock.mechanisms.refusal import Refusal
from penstock.records.signing.keyfile import KeyDamaged, kept_key

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

__all__ = ["Home", "HomeRefused", "login", "make_private"]

_SECRET_BYTES = 32


class HomeRefused(Refusal):
    """The confidential folder cannot be made, or cannot be made private."""

    code = "home-refused"
    remedy = "Set PENSTOCK_HOME to a folder that only you can enter."


@dataclass(frozen=True, slots=True)
class Home:
    """The confidential folder of one installation."""

    root: Path

    @classmethod
    def located(cls, root: Path | None = None) -> Self:
        """Return the home at `root`, else at PENSTOCK_HOME, else at .penstock, whether or not it exists."""
        chosen = root if root is not None else Path(os.environ.get("PENSTOCK_HOME") or ".penstock")
        return cls(chosen.absolute())

    @classmethod
    def open(cls, root: Path | None = None) -> Self:
        """Return the located home; make it if it does not exist, and make it private if it is not."""
        home = cls.located(root)
        for folder in (home.root, home.keys, home.runs, home.answers):
            make_private(folder)
        return home

    @property
    def keys(self) -> Path:
        return self.root / "keys"

    @property
    def runs(self) -> Path:
        return self.root / "runs"

    @property
    def answers(self) -> Path:
        return self.root / "answers"

    @property
    def database_url(self) -> str:
        """Return PENSTOCK_DB, else the URL of an SQLite file in the home."""
        return os.environ.get("PENSTOCK_DB") or f"sqlite:///{self.root / 'penstock.db'}"

    @property
    def public_key_path(self) -> Path:
        """Return the path of the public half of the signing key, for those who check bundles."""
        return self.keys / "signing.pub"

    def secret_key(self) -> bytes:
        """Return the key of every keyed digest. Whoever has it and the database can rewrite the log."""
        path = self.keys / "secret.key"
        key = kept_key(path, lambda: secrets.token_bytes(_SECRET_BYTES))
        if len(key) != _SECRET_BYTES:
            raise KeyDamaged.at(
                str(path), rule=f"must hold {_SECRET_BYTES} bytes", remedy="Restore it from its backup."
            )
        return key

    def signing_key(self) -> Ed25519PrivateKey:
        """Return the key that signs bundles; `keys/signing.pub` is the public key for those who check them."""
        from penstock.records.signing.signing import private_key  # loads cryptography, which most commands do not need

        return private_key(self.keys / "signing.pem")


def login() -> str:
    """Return the name of the user who runs this process, as the system knows it; no setting can override it."""
    return pwd.getpwuid(os.getuid()).pw_name


def make_private(folder: Path) -> None:
    """Make a folder that only its owner can enter, or restrict an existing one to its owner."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = stat.S_IMODE(folder.stat().st_mode)
        if mode & 0o077:
            folder.chmod(mode & 0o700)  # only ever takes permissions away
    except OSError as error:
        raise HomeRefused.at(
            str(folder),
            rule=f"must be a folder that only its owner can enter ({error.strerror})",
            remedy="Set PENSTOCK_HOME to a folder of your own.",
        ) from None
