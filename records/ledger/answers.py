"""Tables that were drawn, found again by what they are made of: the same question gets the same answer.

    key = keyed(K, "answer", canonical(content)),   content: digest of the records, settings, declared columns    (1)

    <home>/answers/<key>/
        answer.json     which run drew it, the digest of its data, the settings it chose
        data            the data as staged
        secrets/        what a re-check needs

    content = keyed(K, "answer content", canonical(key, digest of the data, facts, digests of all its secrets))      (2)

New noise for an old question would let readers average the noise away, at the price of another epsilon; by (1) the old
noise comes back, and nothing is spent. A folder appears whole or not at all. The caller must check that it is what was
drawn against the audit log, which holds (2): gates decide on the secrets, and the facts are published. The key is in
(2), so that what was drawn for one question is not taken for the answer to another.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.records.files import durable
from penstock.records.files.digest import canonical, keyed, plain_file
from penstock.records.home import Home
from penstock.records.run import RunDamaged

__all__ = ["Answer", "answer_key", "content_of", "damaged_answer", "find_answer", "is_kept", "keep_answer"]


@dataclass(frozen=True, slots=True)
class Answer:
    """One table as its run staged it."""

    run: str
    digest: str
    facts: Mapping[str, Any]
    data: Path
    secrets: Path


def answer_key(home: Home, content: Mapping[str, Any]) -> str:
    """Return the key (1)."""
    return keyed(home.secret_key(), "answer", canonical(dict(content)))


def content_of(home: Home, key: str, digest: str, facts: Mapping[str, Any], secrets: Path) -> str:
    """Return the digest (2)."""
    files = sorted(path for path in secrets.rglob("*") if not path.is_dir())
    hidden = {path.relative_to(secrets).as_posix(): plain_file(path) for path in files}
    content = canonical({"key": key, "data": digest, "facts": dict(facts), "secrets": hidden})
    return keyed(home.secret_key(), "answer content", content)


def find_answer(home: Home, key: str) -> Answer | None:
    """Return the table with this key, if it was drawn before; refuse if its folder is not one that was written here."""
    folder = home.answers / key
    if not folder.exists():
        return None
    try:
        told = json.loads((folder / "answer.json").read_bytes())
    except (FileNotFoundError, ValueError):
        told = None
    match told:
        case {"run": str(run), "digest": str(digest), "facts": dict(facts)} if (folder / "data").is_file():
            return Answer(run, digest, facts, folder / "data", folder / "secrets")
    raise damaged_answer(folder)


def damaged_answer(folder: Path) -> RunDamaged:
    """Return the refusal to believe an answer."""
    return RunDamaged.at(
        str(folder),
        rule="must be as it was drawn and as the audit log says",
        remedy="Find out who changed it. Move the folder away to draw anew, which spends again.",
    )


def is_kept(home: Home, key: str) -> bool:
    """Return whether there is an answer with this key, whether or not it can be believed."""
    return (home.answers / key).exists()


def keep_answer(home: Home, key: str, answer: Answer) -> None:
    """Keep a copy of what was staged; the first copy stays, even if two runs drew at the same time."""
    folder = home.answers / key
    incoming = home.answers / f".{key}-{answer.run}"
    if incoming.exists():
        shutil.rmtree(incoming)  # left by a killed attempt
    incoming.mkdir(mode=0o700)
    shutil.copyfile(answer.data, incoming / "data")
    shutil.copytree(answer.secrets, incoming / "secrets")
    told = {"run": answer.run, "digest": answer.digest, "facts": dict(answer.facts)}
    durable.write(incoming / "answer.json", canonical(told))
    durable.sync_tree(incoming)
    try:
        os.rename(incoming, folder)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        shutil.rmtree(incoming)
    durable.sync(home.answers)
