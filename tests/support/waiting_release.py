"""A release that waits for its reviewers, the people who decide about it, and a clock that can be moved."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from penstock.flows.spec import load_spec
from penstock.records import Action, Event, open_records
from penstock.records.approval.approval import ApprovalState, approval_state
from penstock.records.home import login
from penstock.records.people.trusted_keys import trust
from penstock.records.signing.signing import new_key_pair
from tests.support.workplace import Workplace, files_of

STARTER = "carl"
ALLOWED = ("anna", "ben", STARTER, login())
NOT_ALLOWED = "dora"  # trusted, but the spec does not name her


def introduce(folder: Path, *names: str) -> None:
    """Each gets a key in this folder, and it is trusted."""
    log = open_records().log
    for name in names:
        public = new_key_pair(folder / f"{name}.pem")
        trust(log, name, public, actor="officer", reason="hired", now=datetime.now(UTC))


def events(run: str | None = None) -> list[Event]:
    return open_records().log.events(run)


def actions(run: str | None = None) -> list[str]:
    return [event.action.value for event in events(run)]


def costs() -> list[str]:
    """What the ledger says of every draw that no data set was named for, oldest first."""
    book = open_records().ledger.books().get("")
    return [] if book is None else [cost.state for cost in sorted(book.costs, key=lambda cost: cost.occurred)]


def release(place: Workplace, started_by: str | None = None) -> Any:
    from penstock.flows.release import release as flow

    return flow(load_spec(place.write_spec()), started_by=started_by)


class WaitingRelease:
    """A workplace whose release waits; a service ran it for STARTER. `as_it_was` puts every file back to then."""

    def __init__(self, folder: Path, reviewers: int) -> None:
        self.place = Workplace(folder)
        self.place.raw["approve"] = {"reviewers": reviewers, "allowed": list(ALLOWED)}
        introduce(folder, *ALLOWED, NOT_ALLOWED)
        self.waiting = release(self.place, STARTER)
        self.run: str = self.waiting.run
        self.folder = self.place.home / "runs" / self.run
        self.staged = self.folder / "bundle"
        self._kept = folder.with_name(f"{folder.name}-kept")
        shutil.copytree(folder, self._kept)

    def as_it_was(self) -> None:
        shutil.rmtree(self.place.folder)
        shutil.copytree(self._kept, self.place.folder)

    def decision(self, word: str, reviewer: str, *more: object, key: str | None = None) -> list[object]:
        """The command that a reviewer types."""
        return [word, self.run, "--reviewer", reviewer, "--key", self.key(key or reviewer), *more]

    def key(self, name: str) -> Path:
        return self.place.folder / f"{name}.pem"

    def staged_files(self) -> dict[str, bytes]:
        return files_of(self.staged)

    def stands(self) -> ApprovalState:
        return approval_state(open_records().log, self.run, datetime.now(UTC))

    def is_waiting(self) -> bool:
        return self.stands().state == "waiting" and self.staged.is_dir() and self.place.bundles() == []

    def since(self) -> list[str]:
        """What happened since it began to wait."""
        happened = actions(self.run)
        return happened[happened.index(Action.WAITING.value) + 1 :]

    def outcome(self) -> Any:
        return json.loads((self.folder / "outcome.json").read_bytes())["outcome"]

    def flow_state(self) -> Any:
        """How Prefect shows the flow run that had it in hand last."""
        from prefect import get_client

        owners = json.loads((self.folder / "run.json").read_bytes())["owners"]
        with get_client(sync_client=True) as client:
            return client.read_flow_run(UUID(owners[-1])).state


def make_waiting(folder: Path, reviewers: int) -> WaitingRelease:
    """A release that waits in `folder`; `at_home` takes a test there."""
    with pytest.MonkeyPatch.context() as patch:
        at_home(folder, patch)
        return WaitingRelease(folder, reviewers)


def at_home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(folder / "home"))
    monkeypatch.delenv("PENSTOCK_DB", raising=False)


def move_clock(monkeypatch: pytest.MonkeyPatch, by: timedelta) -> None:
    """From now on it is another time for approvals."""

    class Moved(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Any:
            return datetime.now(tz) + by

    for module in (
        "penstock.tasks.approve",
        "penstock.tasks.run.job",
        "penstock.flows.overdue",
        "penstock.flows.review",
    ):
        monkeypatch.setattr(f"{module}.datetime", Moved)
