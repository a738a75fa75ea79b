"""The working folder of one run, so that a killed run goes on where it stopped.

    <home>/runs/<run-id>/
        run.json        the run's key (digest of its spec) and when it began
        lock            held with flock as long as the process lives
        <step>.json     the facts of a committed step; written after everything it vouches for
        restarting      a restart was begun and not completed
        scratch/        working files that every attempt makes again; no commit vouches for them
        outputs/<name>/ the working files and committed steps of one of several outputs
        outcome.json    the run is finished; only this and the names it keeps remain

A step that was committed is never done again: noise is drawn once. Source of the lock's meaning:
flock(2); the kernel releases it when the last process that has it open ends, also by SIGKILL.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from penstock.mechanisms.refusal import Refusal
from penstock.records.files import durable
from penstock.records.files.digest import canonical
from penstock.records.home import Home

__all__ = [
    "Run",
    "RunDamaged",
    "RunRefused",
    "copied_runs",
    "has_committed",
    "key_of",
    "outcomes",
    "owners_of",
    "sightings",
    "unfinished",
]

_RUN, _LOCK, _OUTCOME, _RESTARTING, _SCRATCH = "run.json", "lock", "outcome.json", "restarting", "scratch"
_OUTPUTS = "outputs"
_SEEN = "seen.json"
_RESERVED = (_RUN, _LOCK, _OUTCOME, _RESTARTING, _SEEN)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class RunRefused(Refusal):
    """The run cannot be begun or continued as asked."""

    code = "run-refused"
    remedy = "Begin a new run without naming one, or correct the named argument."


class RunDamaged(Refusal):
    """A file of the run folder is not as it was written."""

    code = "run-damaged"
    kind = "integrity"
    remedy = "Move the run folder away, find out who changed it, and run again."


class Run:
    """One run and its folder. Whoever holds this object holds the lock."""

    def __init__(self, folder: Path, lock: int | None, *, resumed: bool, id: str | None = None) -> None:
        self.folder = folder
        self.resumed = resumed
        self.id = folder.name if id is None else id
        self._lock: int | None = lock

    @classmethod
    def begin(
        cls,
        home: Home,
        key: str,
        *,
        now: datetime,
        run_id: str | None = None,
        owner: str | None = None,
        about: Mapping[str, Any] | None = None,
    ) -> Self:
        """Resume the oldest unfinished run with this key whose process is dead, else begin a new one.

        A live run with the same key is left alone. With `run_id` only that run is resumed or begun. An
        owner that has begun or resumed a run before gets that run again, or is refused if it has ended:
        whoever starts the same thing again does not want a second run. `about` is kept with a new run
        until it ends, for whoever resumes it without the caller's files.
        """
        if now.tzinfo is None:
            raise RunRefused.at("now", rule="must carry its time zone", remedy="Pass datetime.now(UTC).")
        if run_id is not None:
            _require_name("run", run_id)
        with _alone(home.runs):
            folders = sorted(path for path in home.runs.iterdir() if path.is_dir())
            if run_id is None and owner is not None:
                run_id = next((folder.name for folder in folders if owner in _owners(folder)), None)
            for folder in folders:
                if run_id in (None, folder.name):
                    run = cls._resume(folder, key, owner)
                    if run is not None:
                        return run
            folder = home.runs / (run_id if run_id is not None else _new_id(now))
            if folder.exists():
                raise RunRefused.at(
                    "run",
                    rule="must be unfinished, of the same spec, and not running elsewhere",
                    got=run_id,
                    remedy="Begin a new run without naming one.",
                )
            begun = {
                "begun": now.astimezone(UTC).isoformat(),
                "key": key,
                "owners": [] if owner is None else [owner],
                "about": dict(about or {}),
            }
            return cls._create(folder, begun)

    @classmethod
    def _create(cls, folder: Path, begun: Mapping[str, Any]) -> Self:
        folder.mkdir(mode=0o700)
        lock = _lock(folder, wait=True)
        with ExitStack() as undo:
            run = cls(folder, lock, resumed=False)
            undo.callback(run.close)
            durable.write_whole(folder / _RUN, canonical(begun))
            durable.sync(folder.parent)
            undo.pop_all()
        return run

    @classmethod
    def _resume(cls, folder: Path, key: str, owner: str | None) -> Self | None:
        """Take over a dead unfinished run with this key; clear away what a kill left behind of other runs."""
        outcome = _read(folder / _OUTCOME, "keep")
        if outcome is not None and {path.name for path in folder.iterdir()} <= {_OUTCOME, *outcome["keep"]}:
            return None
        try:
            lock = _lock(folder, wait=False)
        except BlockingIOError:
            return None
        with ExitStack() as undo:
            run = cls(folder, lock, resumed=True)
            undo.callback(run.close)
            # Read again under the lock: the run may have finished in between.
            outcome, begun = _read(folder / _OUTCOME, "keep"), _read(folder / _RUN, "key")
            if outcome is not None:
                _clear(folder, keep=(_OUTCOME, *outcome["keep"]))
            elif begun is None:
                _remove_unborn(folder)
            elif begun["key"] == key:
                if (folder / _RESTARTING).exists():
                    run.restart()
                owners = begun.get("owners", [])
                if owner is not None and owner not in owners:
                    durable.write_whole(folder / _RUN, canonical({**begun, "owners": [*owners, owner]}))
                undo.pop_all()
                return run
        return None

    def within(self, output: str) -> Run:
        """Return the same run as one of its outputs sees it: with working files and committed steps of its own."""
        self._require_open()
        _require_name("output", output)
        folder = self.folder / _OUTPUTS / output
        if not folder.exists():
            folder.mkdir(mode=0o700, parents=True)
            durable.sync_tree(self.folder / _OUTPUTS)
            durable.sync(self.folder)
        return Run(folder, self._lock, resumed=self.resumed, id=self.id)

    @property
    def owners(self) -> list[str]:
        """Return everyone who has begun or resumed it, the latest last."""
        return _owners(self.folder)

    def path(self, name: str) -> Path:
        """Return the path of a working file of this run."""
        _require_name("file", name)
        if name in _RESERVED:
            raise RunRefused.at("file", rule="must have a new name", got=name, remedy="Choose another.")
        return self.folder / name

    def commit(self, step: str, facts: Mapping[str, Any]) -> None:
        """Mark a step as done, for ever. Everything in the folder except scratch is on disk before the marker is."""
        self._require_open()
        marker = self._marker(step)
        content = canonical(dict(facts))
        if marker.exists():
            if marker.read_bytes() == content:
                return
            raise RunRefused.at(
                f"step {step}",
                rule="must be committed with the same facts as before",
                remedy="Use what was committed, or restart.",
            )
        durable.sync_tree(self.folder, skip=_SCRATCH)
        durable.write_whole(marker, content)

    def committed(self, step: str) -> dict[str, Any] | None:
        """Return the facts of a committed step, else None."""
        return _read(self._marker(step))

    def remember(self, head: Mapping[str, Any]) -> None:
        """Write down where the log stood, until the outcome records it."""
        self._require_open()
        durable.write_whole(self.folder / _SEEN, canonical(dict(head)))

    def restart(self) -> None:
        """Forget all commits and working files: the source changed before anything was published.

        This is all or nothing even if the process is killed: a half-forgotten run would mix two sources.
        """
        self._require_open()
        durable.write_whole(self.folder / _RESTARTING, b"")
        _clear(self.folder, keep=(_RUN, _LOCK, _RESTARTING, _SEEN))
        (self.folder / _RESTARTING).unlink()
        durable.sync(self.folder)

    def finish(self, outcome: Mapping[str, Any], *, keep: tuple[str, ...] = ()) -> None:
        """Write outcome.json, remove all other files except those named in `keep`, then release the lock."""
        self._require_open()
        for name in keep:
            _require_name("keep", name)
        begun = {name: fact for name, fact in (_read(self.folder / _RUN) or {}).items() if name != "about"}
        content = {**begun, "keep": list(keep), "outcome": dict(outcome), "run": self.id}
        durable.sync_tree(self.folder, skip=_SCRATCH)
        durable.write_whole(self.folder / _OUTCOME, canonical(content))
        _clear(self.folder, keep=(_OUTCOME, *keep))
        self.close()

    def close(self) -> None:
        """Release the lock; an unfinished run can then be resumed, by this process or another."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _marker(self, step: str) -> Path:
        return self.path(f"{step}.json")

    def _require_open(self) -> None:
        if self._lock is None:
            raise RunRefused.at("run", rule="must still be held", got=self.id, remedy="Begin it again.")


def unfinished(home: Home) -> dict[str, dict[str, Any]]:
    """Return every run that has begun and not ended, and what it is about."""
    found: dict[str, dict[str, Any]] = {}
    for folder in sorted(path for path in home.runs.iterdir() if path.is_dir()):
        begun = _read(folder / _RUN, "key")
        if begun is not None and not (folder / _OUTCOME).exists():
            found[folder.name] = begun.get("about", {})
    return found


def owners_of(home: Home, run: str) -> list[str]:
    """Return everyone who has begun or resumed a run, the latest last."""
    return _owners(home.runs / run)


def key_of(home: Home, run: str) -> str | None:
    """Return the key that a run was begun with."""
    begun = _read(home.runs / run / _RUN, "key")
    return None if begun is None else str(begun["key"])


def has_committed(home: Home, run: str, step: str) -> bool:
    """Return whether a run has committed this step, without taking the run from the process that holds it."""
    return (home.runs / run / f"{step}.json").exists()


def outcomes(home: Home) -> dict[str, dict[str, Any]]:
    """Return how each finished run ended."""
    read = {path.parent.name: _read(path, "outcome") for path in sorted(home.runs.glob(f"*/{_OUTCOME}"))}
    return {name: content["outcome"] for name, content in read.items() if content is not None}


def sightings(home: Home) -> dict[str, dict[str, Any]]:
    """Return where the log stood when each unfinished run last spent its budget."""
    read = {path.parent.name: _read(path, "seq", "digest") for path in sorted(home.runs.glob(f"*/{_SEEN}"))}
    return {name: head for name, head in read.items() if head is not None}


def copied_runs(home: Home, target: Path) -> tuple[int, list[str]]:
    """Copy every run's folder while no other run begins; return how many there are, and which of them are in progress.

    Of a run in progress only what it is about is copied: the rest would be caught in the middle of a step.
    """
    going_on = []
    with _alone(home.runs):
        folders = sorted(path for path in home.runs.iterdir() if path.is_dir())
        for folder in folders:
            try:
                lock = _lock(folder, wait=False)
            except BlockingIOError:
                going_on.append(folder.name)
                (target / folder.name).mkdir(mode=0o700)
                for name in (_RUN, _SEEN):
                    if (folder / name).exists():
                        shutil.copy2(folder / name, target / folder.name / name)
                continue
            try:
                ignored = shutil.ignore_patterns(_LOCK, _SCRATCH)
                shutil.copytree(folder, target / folder.name, symlinks=True, ignore=ignored)
                if (folder / _OUTCOME).exists():
                    (folder / _LOCK).unlink()  # a finished run has none
            finally:
                os.close(lock)
    return len(folders), going_on


def _owners(folder: Path) -> list[str]:
    begun = _read(folder / _RUN) or _read(folder / _OUTCOME) or {}
    return list(begun.get("owners", []))


def _new_id(now: datetime) -> str:
    return f"{now.astimezone(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}"


def _require_name(field: str, name: str) -> None:
    if not _NAME.fullmatch(name):
        raise RunRefused.at(
            field, rule="must be 1 to 100 letters, digits, dots, dashes or underscores", got=name, remedy="Rename it."
        )


@contextmanager
def _alone(runs: Path) -> Iterator[None]:
    """Let one process at a time look for runs to resume; otherwise a folder just made would look dead."""
    descriptor = os.open(runs / ".lock", os.O_RDWR | os.O_CREAT, durable.PRIVATE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _lock(folder: Path, *, wait: bool) -> int:
    descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, durable.PRIVATE)
    with ExitStack() as undo:
        undo.callback(os.close, descriptor)
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        undo.pop_all()
    return descriptor


def _read(path: Path, *needed: str) -> dict[str, Any] | None:
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValueError:
        content = None
    if not isinstance(content, dict) or any(name not in content for name in needed):
        raise _damaged(path)
    return content


def _remove_unborn(folder: Path) -> None:
    """Remove a run that was killed before it had begun; if it holds anything more, run.json was taken away."""
    if any(path.name not in (_LOCK, f".{_RUN}.tmp") for path in folder.iterdir()):
        raise _damaged(folder / _RUN)
    _clear(folder, keep=())
    folder.rmdir()


def _damaged(path: Path) -> RunDamaged:
    return RunDamaged.at(
        f"{path.parent.name}/{path.name}",
        rule="must be as it was written",
        remedy="Move the run folder away and find out who changed it; then run again.",
    )


def _clear(folder: Path, *, keep: Collection[str]) -> None:
    """Remove everything except `keep`, the lock last: the right to remove ends with it."""
    for path in sorted(folder.iterdir(), key=lambda path: path.name == _LOCK):
        if path.name not in keep:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
    durable.sync(folder)
