"""`penstock budget`: accounts are opened, shown and raised by officers who sign."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from penstock.cli._screen import _LOOKS_ARE
from penstock.records import Records, open_records
from penstock.records.home import login
from penstock.records.ledger.accounts import Claim
from penstock.records.ledger.looks import ALLOWED, look
from penstock.records.ledger.questions import ask
from tests.support.ended_command import Ended, Typed

NOW = datetime(2026, 11, 16, 2, 15, tzinfo=UTC)
DEFAULTS = {"--model": "dp", "--epsilon": "2", "--officer": "olga", "--reason": "agreed in the board"}


class Desk:
    """An officer's desk: her keys, and the commands that she types."""

    def __init__(self, folder: Path, typed: Typed) -> None:
        self.folder = folder
        self.typed = typed
        for name in ("olga", "otto"):
            assert typed("keys", "new", folder / name).code == 0
            assert typed("keys", "trust", name, folder / f"{name}.pub", "--reason", "met in person").code == 0

    def open(self, dataset: str = "income", *flags: str, **changes: str | Path | None) -> Ended:
        given = {**DEFAULTS, "--adjacency": "add_remove", "--unit": "row", "--key": self.folder / "olga"}
        return self._type("open", dataset, flags, given, changes)

    def raise_(self, dataset: str = "income", *flags: str, **changes: str | Path | None) -> Ended:
        return self._type("raise", dataset, flags, {**DEFAULTS, "--key": self.folder / "olga"}, changes)

    def looks(self, dataset: str, *flags: str, most: str, officer: str = "olga") -> Ended:
        given = {"--most": most, "--officer": officer, "--key": self.folder / "olga", "--reason": "board of May"}
        return self._type("looks", dataset, flags, given, {})

    def allow(self, *flags: str, **changes: str | Path | None) -> Ended:
        given = {**DEFAULTS, "--epsilon": "1/2", "--analyst": "ann", "--key": self.folder / "olga"}
        return self._type("allow", "income", flags, given, changes)

    def _type(self, command: str, dataset: str, flags: Any, given: dict[str, Any], changes: dict[str, Any]) -> Ended:
        options = {**given, **{f"--{name}": value for name, value in changes.items()}}
        words = [word for pair in options.items() if pair[1] is not None for word in pair]
        return self.typed("budget", command, dataset, *words, *flags)

    def shown(self, *dataset: str) -> Any:
        return self.typed("budget", "show", *dataset, "--json").document()["datasets"]


@pytest.fixture(params=["sqlite", "postgresql"])
def either_place(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[pytest.MonkeyPatch]:
    """A place for a home, on each database."""
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("PENSTOCK_DB", raising=False)
    if request.param == "sqlite":
        yield monkeypatch
        return
    server = request.getfixturevalue("postgres")
    url = server.new_database()
    monkeypatch.setenv("PENSTOCK_DB", url)
    yield monkeypatch
    server.give_back(url)


@pytest.fixture
def desk(either_place: None, tmp_path: Path, typed: Typed) -> Desk:
    return Desk(tmp_path, typed)


@pytest.fixture
def small_desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: Typed) -> Desk:
    """On SQLite alone, for what does not depend on the database."""
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("PENSTOCK_DB", raising=False)
    return Desk(tmp_path, typed)


def claim(**changes: Any) -> Claim:
    given = {
        "dataset": "income",
        "source": "s1",
        "model": "dp",
        "epsilon": Fraction(1, 3),
        "adjacency": "add_remove",
        "unit": "row",
    }
    return Claim(**{**given, **changes})


def spend(run: str, outcome: str | None = "published", **changes: Any) -> Records:
    records = open_records()
    records.ledger.reserve(claim(**changes), run=run, actor="maker", now=NOW)
    if outcome is not None:
        records.ledger.spend(run, actor="maker", now=NOW)
        records.ledger.settle(run, outcome, actor="maker", now=NOW)  # type: ignore[arg-type]
    return records


def refused(ended: Ended, exit_code: int = 5) -> tuple[str, str]:
    """Code and field of the one fault; the same number is the exit code."""
    document = ended.document()
    assert ended.code == document["exit_code"] == exit_code
    [fault] = document["faults"]
    return document["refused"], fault["field"]


def test_an_account_is_opened_raised_and_shown(desk: Desk) -> None:
    opened = desk.open()
    assert (opened.code, opened.err) == (0, "")
    assert opened.out == "Opened: income may spend 2 under dp, add_remove.\n"
    raised = desk.raise_(epsilon="5/2", reason="a second survey")
    assert (raised.code, raised.err, raised.out) == (0, "", "Raised: income may spend 5/2 under dp.\n")
    account = {"dataset": "income", "model": "dp", "limit": "5/2", "adjacency": "add_remove", "unit": "row"}
    assert desk.shown() == [
        {
            "dataset": "income",
            "accounts": [{**account, "partition": None, "spent": "0", "left": "5/2"}],
            "releases": [],
            "looks": {"runs": [], "allowed": ALLOWED, "names": "income", "left_out": 0},
        }
    ]
    assert desk.typed("audit", "verify", "--json").document()["ledger_events"] == 2


def test_what_was_opened_and_raised_is_printed_as_json(small_desk: Desk) -> None:
    account = {"dataset": "income", "model": "bdp", "adjacency": "bootstrap_replace", "unit": "individual"}
    options = {"model": "bdp", "adjacency": "bootstrap_replace", "unit": "individual", "partition": "region"}
    opened = small_desk.open("income", "--json", epsilon="0.5", **options).document()
    assert opened == {**account, "limit": "1/2", "partition": "region"}
    raised = small_desk.raise_("income", "--json", model="bdp").document()
    assert raised == {**account, "limit": "2", "partition": "region"}


def test_every_change_of_a_limit_is_on_record_with_its_officer_reason_and_signature(desk: Desk) -> None:
    desk.open()
    desk.raise_(epsilon="3", officer="otto", key=desk.folder / "otto", reason="zweite Befragung, wie beschlossen")
    events = desk.typed("audit", "show", "--json").document()["events"]
    assert [event["action"] for event in events] == ["KEY_TRUSTED"] * 2 + ["BUDGET_OPENED", "BUDGET_RAISED"]
    assert {event["actor"] for event in events} == {login()}
    kept = [{name: event["facts"][name] for name in ("officer", "limit", "reason", "key_id")} for event in events[2:]]
    identities = [event["facts"]["key_id"] for event in events[:2]]
    assert kept == [
        {"officer": "olga", "limit": "2", "reason": "agreed in the board", "key_id": identities[0]},
        {"officer": "otto", "limit": "3", "reason": "zweite Befragung, wie beschlossen", "key_id": identities[1]},
    ]
    assert all(json.loads(event["facts"]["envelope"])["signatures"] for event in events[2:])


def test_the_column_by_which_individuals_are_counted_is_shown(small_desk: Desk) -> None:
    small_desk.open(unit="individual")
    spend("r1", unit="individual", whose="person_id")
    assert "individuals: by person_id" in small_desk.typed("budget", "show").out.splitlines()
    assert [cost["whose"] for cost in small_desk.shown()[0]["releases"]] == ["person_id"]


def test_what_was_spent_is_shown_as_a_table(small_desk: Desk) -> None:
    small_desk.open(partition="region")
    small_desk.open(model="idp", adjacency="from_D", epsilon="4")
    small_desk.open("wages")
    spend("r1", column="region", part="North")
    spend("r2", "refused")
    spend("r3", None)
    spend("r4", dataset=None, source="s2", model="prob_k", epsilon=None, adjacency="none")
    shown = small_desk.typed("budget", "show")
    assert (shown.code, shown.err) == (0, "")
    assert [line.split() for line in shown.out.splitlines() if line] == [
        ["income"],
        ["model", "adjacency", "unit", "partition", "limit", "spent", "left"],
        ["dp", "add_remove", "row", "region", "2", "1", "1"],
        ["idp", "from_D", "row", "4", "2", "2"],
        ["run", "occurred", "model", "epsilon", "part", "state"],
        ["r1", "2026-11-16", "02:15:00", "dp", "1/3", "North", "published"],
        ["r2", "2026-11-16", "02:15:00", "dp", "1/3", "refused"],
        ["r3", "2026-11-16", "02:15:00", "dp", "1/3", "reserved"],
        ["looks:", "0", "of", "10", "allowed:", *_LOOKS_ARE.split()],
        ["wages"],
        ["model", "adjacency", "unit", "partition", "limit", "spent", "left"],
        ["dp", "add_remove", "row", "2", "0", "2"],
        ["looks:", "0", "of", "10", "allowed:", *_LOOKS_ARE.split()],
        ["no", "data", "set", "named"],
        ["run", "occurred", "model", "epsilon", "part", "state"],
        ["r4", "2026-11-16", "02:15:00", "prob_k", "none", "published"],
    ]


def test_what_was_spent_is_shown_as_json(desk: Desk) -> None:
    desk.open()
    desk.open("wages")
    spend("r1")
    cost = {"run": "r1", "occurred": NOW.isoformat(), "model": "dp", "epsilon": "1/3", "part": None}
    cost |= {"edition": None, "repeats": None, "whose": None}
    [income] = desk.shown("income")
    assert income["releases"] == [{**cost, "adjacency": "add_remove", "state": "published"}]
    assert [(account["spent"], account["left"]) for account in income["accounts"]] == [("1/3", "5/3")]
    assert [book["dataset"] for book in desk.shown()] == ["income", "wages"]


def test_a_data_set_that_nobody_knows_is_shown_as_empty(desk: Desk) -> None:
    looks = {"runs": [], "allowed": ALLOWED, "names": "incme", "left_out": 0}
    assert desk.shown("incme") == [{"dataset": "incme", "accounts": [], "releases": [], "looks": looks}]
    assert desk.typed("budget", "show", "incme").out == f"incme\nlooks: 0 of 10 allowed: {_LOOKS_ARE}\n\n"
    assert desk.typed("budget", "show").out == ""
    assert desk.shown() == []


def test_looks_are_shown_and_allowed_by_an_officer(desk: Desk) -> None:
    for run in ("r1", "r2"):
        look(open_records().log, dataset="income", source="s1", run=run, actor="maker", now=NOW)
    allowed = desk.looks("income", most="30")
    assert (allowed.code, allowed.err, allowed.out) == (0, "", "Looks at income: 2 of 30 allowed.\n")
    [book] = desk.shown("income")
    assert book["looks"] == {"runs": ["r1", "r2"], "allowed": 30, "names": "income", "left_out": 0}
    assert "looks: 2 of 30 allowed" in desk.typed("budget", "show").out
    assert desk.looks("income", "--json", most="1").document() == {"dataset": "income", **book["looks"], "allowed": 1}
    events = desk.typed("audit", "show", "--json").document()["events"][-2:]
    assert [(event["action"], event["facts"]["looks"]) for event in events] == [
        ("LOOKS_LIMITED", 30),
        ("LOOKS_LIMITED", 1),
    ]
    assert desk.typed("audit", "verify", "--json").document()["ledger_events"] == 4
    assert refused(desk.looks("income", "--json", most="0")) == ("account-refused", "most")
    assert refused(desk.looks("income", "--json", most="5", officer="otto")) == ("officer-not-trusted", "officer")


def test_analysts_are_allowed_by_an_officer_and_shown(desk: Desk) -> None:
    desk.open()
    allowed = desk.allow()
    assert (allowed.code, allowed.err) == (0, "")
    assert allowed.out == "Allowed: ann may spend 1/2 of income under dp on questions.\n"
    how: dict[str, Any] = {"facts": {}, "actor": "maker", "now": NOW}
    ask(open_records().log, claim(), analyst="ann", key="k1", individual=None, draw=lambda: b"1", **how)
    [book] = desk.shown("income")
    assert book["analysts"] == [{"analyst": "ann", "model": "dp", "allowed": "1/2", "spent": "1/3", "left": "1/6"}]
    out = desk.typed("budget", "show").out
    assert all(word in out for word in ("analyst", "allowed", "ann", "1/6"))
    raised = desk.allow("--json", epsilon="2/3").document()
    assert raised == {"dataset": "income", "model": "dp", "analyst": "ann", "allowed": "2/3"}
    events = desk.typed("audit", "show", "--json").document()["events"]
    assert [event["action"] for event in events[-4:]] == [
        "ANALYST_ALLOWED",
        "SITTING_OPENED",
        "ANSWERED",
        "ANALYST_ALLOWED",
    ]
    assert "SITTING_OPENED" in desk.typed("audit", "show").out
    assert desk.typed("audit", "verify", "--json").document()["ledger_events"] == 5


@pytest.mark.parametrize(
    ("changes", "exit_code", "found"),
    [
        ({"epsilon": "1/2"}, 5, ("account-refused", "epsilon")),
        ({"epsilon": "0"}, 2, ("spec-refused", "--epsilon")),
        ({"analyst": "two words"}, 5, ("account-refused", "analyst")),
        ({"model": "bdp"}, 5, ("account-refused", "dataset")),
        ({"officer": "otto"}, 5, ("officer-not-trusted", "officer")),
        ({"reason": ""}, 5, ("account-refused", "reason")),
    ],
)
def test_what_cannot_be_allowed_is_refused(
    small_desk: Desk, changes: dict[str, str], exit_code: int, found: tuple[str, str]
) -> None:
    small_desk.open()
    assert small_desk.allow().code == 0
    assert refused(small_desk.allow("--json", **{"epsilon": "1", **changes}), exit_code) == found


def test_names_are_shown_as_they_are_and_never_as_markup(small_desk: Desk) -> None:
    small_desk.open("[red]x[/y]", partition="[bold]p[/q]")
    out = small_desk.typed("budget", "show").out
    assert "[red]x[/y]" in out
    assert "[bold]p[/q]" in out


@pytest.mark.parametrize(
    ("changes", "code", "field"),
    [
        ({"adjacency": "nonsense"}, "not-countable", "charge.adjacency"),
        ({"adjacency": "from_D"}, "not-countable", "charge.adjacency"),
        ({"unit": "household"}, "account-refused", "unit"),
        ({"reason": ""}, "account-refused", "reason"),
        ({"reason": "two\nlines"}, "account-refused", "reason"),
        ({"officer": "nobody"}, "officer-not-trusted", "officer"),
        ({"officer": "otto"}, "officer-not-trusted", "officer"),
    ],
)
def test_an_account_that_cannot_be_opened_exits_with_5(
    small_desk: Desk, changes: dict[str, str], code: str, field: str
) -> None:
    assert refused(small_desk.open("income", "--json", **changes)) == (code, field)
    assert small_desk.shown() == []


def test_a_data_set_needs_a_name(small_desk: Desk) -> None:
    for dataset in ("", " ", "a\tb"):
        assert refused(small_desk.open(dataset, "--json")) == ("account-refused", "dataset")


def test_an_account_is_opened_once_and_only_ever_raised(desk: Desk) -> None:
    desk.open()
    assert refused(desk.open("income", "--json", epsilon="9")) == ("account-refused", "model")
    for limit in ("2", "1", "199/100"):
        assert refused(desk.raise_("income", "--json", epsilon=limit)) == ("account-refused", "epsilon")
    assert refused(desk.raise_("wages", "--json", epsilon="9")) == ("account-refused", "dataset")
    assert refused(desk.raise_("income", "--json", model="idp", epsilon="9")) == ("account-refused", "dataset")
    assert refused(desk.raise_("income", "--json", epsilon="9", reason=" ")) == ("account-refused", "reason")
    otto = {"officer": "otto", "key": desk.folder / "olga"}
    assert refused(desk.raise_("income", "--json", epsilon="9", **otto)) == ("officer-not-trusted", "officer")
    [income] = desk.shown()
    assert income["accounts"][0]["limit"] == "2"


def test_an_account_that_would_be_overdrawn_from_the_start_is_not_opened(small_desk: Desk) -> None:
    small_desk.open()
    spend("r1", epsilon=Fraction(1))
    late = {"model": "idp", "adjacency": "from_D"}
    assert refused(small_desk.open("income", "--json", epsilon="1.99", **late)) == ("account-refused", "epsilon")
    assert small_desk.open("income", epsilon="2", **late).code == 0


def test_a_withdrawn_officer_changes_nothing_any_more(small_desk: Desk) -> None:
    small_desk.open()
    small_desk.typed("keys", "withdraw", "olga", "--reason", "left")
    assert refused(small_desk.raise_("income", "--json", epsilon="9")) == ("officer-not-trusted", "officer")
    assert small_desk.shown()[0]["accounts"][0]["limit"] == "2"


INEXACT = ["", "0", "0/7", "-1", "+1", "1/0", "nan", "inf", "two", "1e3", "1e999999999", "1,5", "1_0", "½", "٢", " 1"]


def test_a_number_that_is_not_exact_exits_with_2(small_desk: Desk) -> None:
    for epsilon in [*INEXACT, "1.", "9" * 31]:
        for typed in (small_desk.open, small_desk.raise_):
            assert refused(typed("income", "--json", epsilon=epsilon), 2) == ("spec-refused", "--epsilon")


def test_exact_numbers_stay_exact(small_desk: Desk) -> None:
    for place, (text, limit) in enumerate([("0.1", "1/10"), ("007/3", "7/3"), ("1" + "0" * 29, "1" + "0" * 29)]):
        small_desk.open(f"d{place}", epsilon=text)
        assert small_desk.shown(f"d{place}")[0]["accounts"][0]["limit"] == limit


@pytest.mark.parametrize("command", ["open", "raise"])
def test_a_key_that_is_not_ones_own_private_key_exits_with_7(small_desk: Desk, command: str) -> None:
    typed = small_desk.open if command == "open" else small_desk.raise_
    shared = small_desk.folder / "shared"
    shared.write_bytes((small_desk.folder / "olga").read_bytes())
    shared.chmod(0o644)
    for key, code in ((small_desk.folder / "no", "key-damaged"), (shared, "key-exposed")):
        assert refused(typed("income", "--json", key=key), 7) == (code, str(key))
    public = small_desk.folder / "olga.pub"
    public.chmod(0o600)
    assert refused(typed("income", "--json", key=public), 7) == ("key-damaged", str(public))
    assert small_desk.shown() == []


def test_an_option_that_is_missing_or_unknown_exits_with_2(small_desk: Desk) -> None:
    for changes in ({"model": "zcdp"}, {"model": None}, {"epsilon": None}, {"key": None}):
        assert small_desk.open("income", **changes).code == 2
        assert small_desk.raise_("income", **changes).code == 2
    assert small_desk.shown() == []


def test_where_no_records_are_nothing_is_shown_raised_or_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: Typed
) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "mistyped"))
    monkeypatch.delenv("PENSTOCK_DB", raising=False)
    assert refused(typed("budget", "show", "--json"), 7) == ("records-absent", "PENSTOCK_HOME")
    typed("keys", "new", tmp_path / "olga")
    words = [word for pair in DEFAULTS.items() for word in pair]
    ended = typed("budget", "raise", "income", *words, "--key", tmp_path / "olga", "--json")
    assert refused(ended, 7) == ("records-absent", "PENSTOCK_HOME")
    assert not (tmp_path / "mistyped").exists()


def test_a_private_key_is_never_written_to_the_home(small_desk: Desk) -> None:
    small_desk.open()
    [_, body, _] = (small_desk.folder / "olga").read_text().splitlines()
    home = small_desk.folder / "home"
    assert not [path for path in home.rglob("*") if path.is_file() and body.encode() in path.read_bytes()]
