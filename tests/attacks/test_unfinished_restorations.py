"""A restoration that was refused, or killed in the middle, leaves a home that releases nothing.

What it had copied looked like a home: with the old keys and an older or an empty ledger, whose budget was whole again.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pytest

from penstock.mechanisms.refusal import Refusal
from penstock.records import Home, existing_records, open_records
from penstock.records.approval.approval import Rule, wait
from penstock.records.audit import RecordsDisagree, verify_everything
from penstock.records.ledger.accounts import Account, Claim
from penstock.records.ledger.limits import Officer, open_account, raise_limit
from penstock.records.people.trusted_keys import people, trust, withdraw
from penstock.records.store.backup import BackupRefused, back_up, restore
from penstock.records.store.restoring import RestorationUnfinished
from tests.records.kill_points import in_child, killed_at, was_killed
from tests.records.published_home import publish
from tests.records.reviewers import CONTENT, private, public
from tests.support.homes import HOMES
from tests.support.postgres import PostgresServer

NOW = datetime(2026, 11, 16, 2, 15, tzinfo=UTC)
CLAIM = Claim(dataset="survey", source="ab" * 32, model="dp", epsilon=Fraction(1), adjacency="replace", unit="row")
ACCOUNT = Account(dataset="other", model="dp", limit=Fraction(9), adjacency="replace", unit="row", partition=None)
OFFICER = Officer("olga", private("olga"), "agreed")
HOW = {"actor": "maker", "now": NOW}

ATTEMPTS: dict[str, Callable[[], object]] = {
    "spend": lambda: open_records().ledger.reserve(CLAIM, run="again", **HOW),
    "trust": lambda: trust(open_records().log, "eve", public("eve"), reason="hired", **HOW),
    "withdraw": lambda: withdraw(existing_records().log, "olga", reason="left", **HOW),
    "open a budget": lambda: open_account(open_records().log, ACCOUNT, OFFICER, **HOW),
    "raise a budget": lambda: raise_limit(existing_records().log, "survey", "dp", Fraction(99), OFFICER, **HOW),
    "ask for a decision": lambda: wait(
        open_records().log,
        run="r",
        content=CONTENT,
        rule=Rule(1, ("olga",), timedelta(days=1)),
        started_by=["maker"],
        **HOW,
    ),
    "publish": lambda: publish(Home.located(), Home.located().root / "public"),
    "back up": lambda: back_up(Home.located().root / "laundered"),
}


@pytest.fixture(params=HOMES)
def fresh(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], Path]]:
    """What makes a new home of this name, on a new database, the one in use."""
    server: PostgresServer | None = request.getfixturevalue("postgres") if request.param == "postgresql" else None
    given: list[str] = []

    def move(name: str) -> Path:
        monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / name))
        if server is None:
            monkeypatch.delenv("PENSTOCK_DB", raising=False)
        else:
            given.append(server.new_database())
            monkeypatch.setenv("PENSTOCK_DB", given[-1])
        return tmp_path / name

    yield move
    for url in given:
        if server is not None:
            server.give_back(url)


@pytest.fixture
def backup(fresh: Callable[[str], Path], tmp_path: Path) -> Path:
    """A backup of a home whose account of 1 was empty; after it everything was spent, and a release published."""
    fresh("home")
    publish(Home.open(), tmp_path / "published")
    log = open_records().log
    trust(log, "olga", public("olga"), reason="hired", **HOW)
    account = Account(dataset="survey", model="dp", limit=Fraction(1), adjacency="replace", unit="row", partition=None)
    open_account(log, account, OFFICER, **HOW)
    back_up(tmp_path / "backup")
    ATTEMPTS["spend"]()
    publish(Home.open(), tmp_path / "published")
    return tmp_path / "backup"


def refused_all() -> dict[str, str]:
    """The code with which each attempt was refused; what was not refused is missing."""
    codes = {}
    for name, attempt in ATTEMPTS.items():
        try:
            attempt()
        except Refusal as refusal:
            codes[name] = refusal.code
    return codes


def test_a_refused_restoration_leaves_nothing_to_release_from(
    backup: Path, fresh: Callable[[str], Path], tmp_path: Path
) -> None:
    fresh("elsewhere")
    with pytest.raises(RecordsDisagree, match="must be a publication that the log knows of"):
        restore(backup, [tmp_path / "published"])
    assert refused_all() == dict.fromkeys(ATTEMPTS, "restoration-unfinished")
    # It can be looked at, and whoever checks is reminded.
    assert "olga" in people(existing_records(looking=True).log)
    with pytest.raises(
        RecordsDisagree,
        match="must be gone before anything is decided, spent or published here: a restoration was not completed",
    ):
        verify_everything()


def test_a_killed_restoration_leaves_nothing_to_release_from(
    backup: Path, fresh: Callable[[str], Path], tmp_path: Path
) -> None:
    """Killed before or after every few of the calls that change the disk."""
    shutil.rmtree(tmp_path / "published")
    (tmp_path / "published").mkdir()  # empty, so that nothing would refuse it
    halfway = complete = 0
    for point in range(0, 400, 4):
        home = fresh(f"elsewhere-{point}")
        killed = was_killed(in_child(lambda at=point: killed_at(at, lambda: restore(backup, [tmp_path / "published"]))))
        if not killed:
            break
        if (home / "keys").is_dir() and any((home / "keys").iterdir()):
            try:
                ATTEMPTS["spend"]()
            except RestorationUnfinished:
                halfway += 1
                assert refused_all() == dict.fromkeys(ATTEMPTS, "restoration-unfinished")
            else:
                complete += 1
                assert (verify_everything()["manifests"], "olga" in people(open_records().log)) == (0, True)
    assert halfway > 3
    assert complete <= 1  # after the last check only the marker goes
    ATTEMPTS["spend"]()


def test_a_restoration_that_is_shown_no_bundles_is_refused(
    backup: Path, fresh: Callable[[str], Path], tmp_path: Path
) -> None:
    """Something was published since the backup, and nobody would notice."""
    home = fresh("elsewhere")
    for said in (False, True):
        with pytest.raises(BackupRefused, match="--bundles refused: must name every place that this home published to"):
            restore(backup, [tmp_path / "published"] if said else [], nothing_published=said)
    assert not home.exists()
    penstock = str(Path(sys.executable).with_name("penstock"))
    refused = subprocess.run([penstock, "restore", str(backup), "--json"], capture_output=True, check=False)
    assert refused.returncode != 0
    assert json.loads(refused.stdout)["refused"] == "backup-refused"
    assert not home.exists()


def test_the_command_says_so_too(backup: Path, fresh: Callable[[str], Path], tmp_path: Path) -> None:
    fresh("elsewhere")
    penstock = str(Path(sys.executable).with_name("penstock"))
    bundles = ["--bundles", str(tmp_path / "published")]
    refused = subprocess.run([penstock, "restore", str(backup), *bundles, "--json"], capture_output=True, check=False)
    assert (refused.returncode, json.loads(refused.stdout)["refused"]) == (7, "records-disagree")
    (tmp_path / "eve.pub").write_bytes((Home.located().keys / "signing.pub").read_bytes())
    trusting = [penstock, "keys", "trust", "eve", str(tmp_path / "eve.pub"), "--reason", "hired", "--json"]
    after = subprocess.run(trusting, capture_output=True, check=False)
    assert (after.returncode, json.loads(after.stdout)["refused"]) == (7, "restoration-unfinished")
