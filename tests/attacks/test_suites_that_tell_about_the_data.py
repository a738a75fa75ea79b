"""Where epsilon is spent, no suite of the user's decides on the data whether a release appears.

Published or refused is an answer of one bit about whatever the suite asks, exact, and as often as somebody asks.
Elsewhere it is one bit for each run, and each run counts as a look: a refusal that listed what failed gave a hundred
bits, and three looks the income of one person; a run that was resumed with another suite asked again for nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest

from penstock.flows.planning import draw_up_plan
from penstock.flows.spec import load_spec
from penstock.mechanisms.refusal import Refusal
from penstock.records import Home, open_records
from penstock.records.run import unfinished
from tests.attacks.typed_line import typed
from tests.support.workplace import Workplace, make_private, make_table

LARGEST_INCOME = [{"type": "expect_column_max_to_be_between", "kwargs": {"column": "income", "max_value": 90_000}}]


def at_most(income: float) -> dict[str, object]:
    return {"type": "expect_column_max_to_be_between", "kwargs": {"column": "income", "max_value": income}}


def ask_with(workplace: Workplace, suite: object = LARGEST_INCOME) -> None:
    (workplace.folder / "suite.json").write_text(json.dumps(suite), encoding="utf-8")
    workplace.raw["validate"] = {"suite": "suite.json"}
    workplace.write_spec()


@pytest.mark.parametrize(
    "make",
    [make_private, make_table, lambda place: make_table(place, model="bdp", adjacency="bootstrap_add_remove")],
)
def test_a_suite_is_refused_where_epsilon_is_spent(workplace: Workplace, make: Callable[[Workplace], None]) -> None:
    make(workplace)
    ask_with(workplace)
    for command in ("plan", "run"):
        refused = typed(command, workplace.spec_file)
        refused.require_refusal(2)
        assert "validate.suite: must not be given where epsilon is spent: whether a release appears" in refused.err
    del workplace.raw["validate"]
    workplace.write_spec()
    assert "validate.suite" not in typed("plan", workplace.spec_file).err


def test_the_plan_prints_what_will_be_asked(workplace: Workplace) -> None:
    ask_with(workplace)
    planned = typed("plan", workplace.spec_file)
    assert planned.code == 0
    assert "What the spec declares: at least 1 row; type, domain, categories and missing values of 6" in planned.out
    assert "From the suite, income: max to be between, max value 90000." in planned.out
    assert json.loads(typed("plan", workplace.spec_file, "--json").out)["validation"][1].startswith("From the suite")


def answer(workplace: Workplace) -> Refusal:
    from penstock.flows.release import release

    with pytest.raises(Refusal) as refused:
        release(load_spec(workplace.write_spec()))
    return refused.value


def actions() -> list[str]:
    return [event.action.value for event in open_records().log.events()]


def test_a_ladder_of_expectations_gives_one_answer(workplace: Workplace) -> None:
    """One refusal for each rung that failed told between which two the largest income lies."""
    told = set()
    for rungs in ([at_most(1), at_most(10**9)], [at_most(step) for step in range(1, 100)]):
        ask_with(workplace, rungs)
        refusal = answer(workplace)
        assert refusal.code == "validation-failed"
        told.add(str(refusal))
        reasons = [event.facts["reasons"] for event in open_records().log.events() if event.action.value == "REFUSED"]
        assert reasons[-1] == [str(fault) for fault in refusal.faults]
    assert len(told) == 1
    pages = [page.read_text(encoding="utf-8") for page in workplace.home.rglob("validation.html")]
    # The confidential side has all of them.
    assert sorted(page.count("max to be between, max value") for page in pages) == [2, 99]


def test_a_destination_that_cannot_be_written_answers_nothing(workplace: Workplace) -> None:
    """Failed or not writable was the answer, and the run that was resumed looked only once."""
    workplace.published.write_text("a file where a folder should be", encoding="utf-8")
    for income in (1, 10**9):
        ask_with(workplace, [at_most(income)])
        assert answer(workplace).code == "destination-not-writable"
    assert not {"LOOKED", "INGESTED", "VALIDATED"} & set(actions())


def test_another_suite_is_another_run_and_another_look(workplace: Workplace) -> None:
    def die(*_: object) -> None:
        raise KeyboardInterrupt

    from penstock.flows.release import release

    ask_with(workplace, [at_most(10**9)])
    for _ in range(2):  # the same question again goes on with the same run
        with mock.patch("penstock.flows.release.reserve", die), pytest.raises(KeyboardInterrupt):
            release(load_spec(workplace.write_spec()))
    assert len(unfinished(Home.open())) == 1
    looks = actions().count("LOOKED")
    ask_with(workplace, [at_most(1)])
    assert answer(workplace).code == "validation-failed"
    assert actions().count("LOOKED") == looks + 1
    assert len(unfinished(Home.open())) == 1


def test_a_suite_that_is_changed_while_the_run_waits_for_its_turn_is_refused(workplace: Workplace) -> None:
    from penstock.flows import release as line

    def change_meanwhile() -> None:
        ask_with(workplace, [at_most(1)])

    ask_with(workplace, [at_most(10**9)])
    with mock.patch.object(line, "end_overdue", change_meanwhile):
        refusal = answer(workplace)
    assert "must stay as it was when the run was planned" in str(refusal)
    assert "LOOKED" not in actions()


def test_the_digest_of_a_spec_covers_what_its_suite_asks(workplace: Workplace) -> None:
    def digest() -> str:
        return draw_up_plan(load_spec(workplace.write_spec())).spec_digest

    ask_with(workplace)
    first = digest()
    (workplace.folder / "suite.json").write_text(json.dumps(LARGEST_INCOME, indent=4), encoding="utf-8")
    assert digest() == first
    ask_with(workplace, [at_most(90_001)])
    assert digest() != first


def test_a_suite_of_any_length_is_refused_before_it_is_looked_at(workplace: Workplace) -> None:
    """45,000 expectations kept a plan busy for minutes, and so did 20,000 patterns, also in several expectations."""

    def matched(*patterns: str) -> dict[str, Any]:
        kwargs = {"column": "region", "regex_list": list(patterns)}
        return {"type": "expect_column_values_to_match_regex_list", "kwargs": kwargs}

    one_more = {"type": "expect_column_values_to_match_regex", "kwargs": {"column": "region", "regex": "a"}}
    for suite, rule in (
        ([at_most(step) for step in range(45_000)], "must hold at most 500 expectations"),
        ([matched(*["(a|b{1,9})*c{900}(x{1,900})"] * 20_000)], "at most 200 patterns"),
        ([matched(*["(a{1,500}b?){1,2}N"] * 200)] * 50, "at most 200 patterns"),
        ([matched(*["a"] * 200), one_more], "at most 200 patterns"),
        ([matched(*["(a{1,500}b?){1,2}N"] * 10)] * 20, "at most 20,000 characters"),
        ([matched("(?:a{0,1000})" * 70)], "at most 20,000 characters"),  # ten seconds, and no longer than others
    ):
        ask_with(workplace, suite)
        with mock.patch(
            "penstock.tasks.validation._suite_settings._is_pattern", side_effect=AssertionError("looked at")
        ):
            refused = typed("plan", workplace.spec_file)
        refused.require_refusal(2)
        assert rule in refused.err


def test_a_run_can_be_ended_when_its_suite_is_gone(workplace: Workplace) -> None:
    """Else one file that was removed would keep an overdue run, and every release that looks for such, from ending."""
    ask_with(workplace)
    spec = load_spec(workplace.spec_file)
    begun_as = draw_up_plan(spec).spec_digest
    (workplace.folder / "suite.json").unlink()
    with pytest.raises(Refusal, match=r"validate\.suite"):
        draw_up_plan(spec)
    assert draw_up_plan(spec, begun_as=begun_as).spec_digest == begun_as
