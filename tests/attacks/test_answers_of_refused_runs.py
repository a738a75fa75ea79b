"""Refused runs used as an oracle: each answers yes or no about the data, and none of them publishes or spends.

On a line that does not count them, 29 runs gave the largest share of a cell to five digits, and as many gave the
largest income: a gate, or a domain, is set to the middle of what is still possible, and a second rule that certainly
fails sees to it that nothing is ever released. Or something is, and spends next to nothing: that the domain held is an
answer too, and no epsilon covers it.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import yaml
from prefect.exceptions import ParameterTypeError

from penstock.flows.forms.table import release_table
from penstock.flows.planning import draw_up_plan
from penstock.flows.release import release
from penstock.flows.spec import load_spec
from penstock.mechanisms.refusal import Refusal, SpecRefused
from penstock.records import open_records
from penstock.records.ledger.looks import looks_of
from penstock.tasks.gate import pass_gates
from penstock.tasks.report import looks_before
from tests.support.cluster import write_parts
from tests.support.order import telling
from tests.support.private_release import Line, begun
from tests.support.workplace import Workplace, make_table, open_dp_account

ENOUGH = 29
ALLOWED = 10  # where no officer said anything
STOPPED = "looks-exhausted"


def answer(workplace: Workplace) -> Refusal:
    """The refusal that one run ends with."""
    with pytest.raises(Refusal) as refused:
        release(load_spec(workplace.write_spec()))
    return refused.value


def bisected(ask: Callable[[float], Refusal], too_small: Callable[[Refusal], bool]) -> tuple[int, float, float]:
    """How many answers were given, and between what the value lies then (a share of the whole)."""
    low, high = 0.0, 1.0
    for asked in range(ENOUGH):
        middle = (low + high) / 2
        refusal = ask(middle)
        if refusal.code == STOPPED:
            return asked, low, high
        low, high = (middle, high) if too_small(refusal) else (low, middle)
    return ENOUGH, low, high


def test_bisection_on_the_limit_of_a_gate_is_stopped(workplace: Workplace) -> None:
    make_table(workplace, model="k_anon", epsilon=None, adjacency=None, k=2, dimensions=["region"])
    names = iter(range(100))

    def ask(limit: float) -> Refusal:
        # Another name of the spec each time, and the data set named or not: it is the same file.
        number = next(names)
        workplace.raw["name"] = f"attempt-{number}"
        workplace.raw["budget"] = {"dataset": "survey"} if number % 2 else {}
        certain = {"measure": "smallest_frequency", "min": 10**6}
        workplace.raw["gates"] = [{"measure": "largest_share", "max": limit}, certain]
        return answer(workplace)

    asked, low, high = bisected(ask, lambda refusal: "largest_share" in str(refusal))
    assert asked <= ALLOWED
    assert high - low > 1e-4
    assert workplace.public_files() == []


@pytest.mark.slow
def test_bisection_on_the_domain_of_a_column_is_stopped(workplace: Workplace) -> None:
    """The other runs end for want of an account, which says nothing of the data; that they came so far does."""
    make_table(workplace)
    income = workplace.raw["source"]["columns"]["income"]
    income["outside"] = "refuse"

    def ask(share: float) -> Refusal:
        income["domain"] = [0, round(1e6 * share)]
        return answer(workplace)

    asked, low, high = bisected(ask, lambda refusal: refusal.code == "value-outside-domain")
    assert asked <= ALLOWED
    assert high - low > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("memory", telling([None, "100 MB"], None))
def test_copies_saved_again_under_fresh_names_begin_no_new_count(workplace: Workplace, memory: str | None) -> None:
    """In parts too: the values of all of them are known, whichever is refused."""
    make_table(workplace)
    survey = pq.read_table(workplace.source)
    income = workplace.raw["source"]["columns"]["income"]
    income["outside"] = "refuse"
    workplace.raw |= {} if memory is None else {"run": {"memory": memory}}
    names = iter(range(100))

    def ask(share: float) -> Refusal:
        number = next(names)
        again = pa.concat_tables([survey.slice(number), survey.slice(0, number)])
        pq.write_table(again, workplace.source, row_group_size=40 + number)
        workplace.raw |= {"name": f"copy-{number}", "budget": {"dataset": f"copy-{number}", "epsilon": "2"}}
        income["domain"] = [0, round(1e6 * share)]
        return answer(workplace)

    asked, low, high = bisected(ask, lambda refusal: refusal.code == "value-outside-domain")
    assert asked <= ALLOWED
    assert high - low > 1e-4


@pytest.mark.parametrize("broken", telling(["income", "age", "income and age"], "income and age"))
def test_parts_are_refused_for_what_the_whole_would_be(workplace: Workplace, broken: str) -> None:
    """Missing incomes in the last part, ages outside of their domain in the first."""
    columns = workplace.raw["source"]["columns"]
    survey = workplace.write_survey(400).to_pandas()
    if "income" in broken:
        survey.loc[399, "income"] = np.nan
    if "age" in broken:
        columns["age"]["domain"] = [16, 99]
        survey.loc[0, "age"] = 100
    write_parts(pa.Table.from_pandas(survey), workplace.folder / "survey")
    workplace.raw["source"]["path"] = "survey"
    at_once = answer(workplace)
    workplace.raw["run"] = {"memory": "100 MB"}
    in_parts = answer(workplace)
    assert (in_parts.code, in_parts.faults) == (at_once.code, at_once.faults)


@pytest.mark.slow
def test_an_answer_that_nothing_refuses_counts_too(workplace: Workplace) -> None:
    """From the side where the domain holds, no run but the last one is refused for its data."""
    survey = workplace.write_survey(400)
    largest = pc.max(survey["income"]).as_py()
    make_table(workplace)
    workplace.raw["source"]["columns"]["income"]["outside"] = "refuse"
    codes = []
    for step in range(ENOUGH, 0, -1):
        workplace.raw["source"]["columns"]["income"]["domain"] = [0, round(largest * (1 + step / ENOUGH))]
        codes.append(answer(workplace).code)
        if codes[-1] == STOPPED:
            break
    assert codes[-1] == STOPPED
    assert len(codes) <= ALLOWED + 1


def test_one_run_does_not_answer_a_ladder_of_limits(workplace: Workplace) -> None:
    make_table(workplace, model="k_anon", epsilon=None, adjacency=None, k=2, dimensions=["region"])
    workplace.raw["gates"] = [{"measure": "largest_share", "max": step / 100} for step in range(1, 100)]
    with pytest.raises(SpecRefused, match=r"must not be in two gates[^\n]*\n[^\n]*whatever else is set there"):
        release(load_spec(workplace.write_spec()))
    assert [event.action for event in open_records().log.events()] == []


@pytest.mark.usefixtures("prefect_home")
@pytest.mark.parametrize("limit", ["k", "smallest_frequency_at_least", "largest_share_at_most", "p_percent_at_least"])
def test_whoever_fills_in_the_form_sets_no_limit(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    make_table(workplace)
    monkeypatch.setenv("PENSTOCK_SPECS", str(workplace.folder))
    description: dict[str, Any] = {
        "name": "survey",
        "source": workplace.raw["source"],
        "budget": {"dataset": "survey"},
        "publish": {"path": "published"},
    }
    (workplace.folder / "survey-data.yaml").write_text(yaml.safe_dump(description), encoding="utf-8")
    chosen = {"kind": "exact with threshold", "k": 2, "smallest_frequency_at_least": 2} | {
        limit: 1 if "share" in limit else 1000
    }
    with pytest.raises(ParameterTypeError):
        release_table(
            data="survey-data.yaml", table="persons", dimensions=["region"], protection=chosen, started_by="carl"
        )


def _publishes(line: Line) -> None:
    line.publish()


def _draws_and_is_withdrawn(line: Line) -> None:
    line.protect()
    line.job.settle("refused")
    line.job.run.finish({"outcome": "refused"})


def _declares_a_domain(place: Workplace, most: float) -> None:
    place.raw["source"]["columns"]["income"]["domain"] = [0, most]


def _asks_for_records(place: Workplace, most: float) -> None:
    place.raw["validate"] = {"min_rows": 10**6 - round(most) + 1}


def spends_a_hundredth(workplace: Workplace) -> None:
    make_table(workplace, dimensions=["region"], means=[], adjacency="add_remove", epsilon="1/100")
    workplace.raw["budget"]["epsilon"] = "1/100"
    workplace.raw["source"]["columns"]["income"] |= {"outside": "refuse", "domain": [0, 10**7]}
    open_dp_account(1, adjacency="add_remove")


@pytest.mark.slow
@pytest.mark.parametrize("end", telling([_publishes, _draws_and_is_withdrawn], _publishes))
@pytest.mark.parametrize("declare", telling([_declares_a_domain, _asks_for_records], _declares_a_domain))
def test_draws_that_spend_little_do_not_walk_a_declaration_down(
    workplace: Workplace, declare: Callable[[Workplace, float], None], end: Callable[[Line], None]
) -> None:
    """Of 30 answers ten say no: where a no is counted and a yes is not, as many are given as a budget of 1/5 pays."""
    spends_a_hundredth(workplace)
    low, high, holds, fails, asked, code = 0.0, 1e6, 20, 10, 0, ""
    while holds and fails and high - low > 0.01 and code != STOPPED:
        middle = round(low + (high - low) * comb(holds - 1 + fails, fails) / comb(holds + fails, fails), 3)
        declare(workplace, middle)
        workplace.raw["name"] = f"attempt-{asked}"
        try:
            with begun(workplace, account=False) as line:
                end(line)
            asked, high, holds = asked + 1, middle, holds - 1
        except Refusal as refusal:
            code = refusal.code
            asked, low, fails = asked + (code != STOPPED), middle, fails - 1
    assert (asked, code) == (ALLOWED, STOPPED)


@pytest.mark.slow
def test_releases_that_declare_what_was_declared_before_are_not_counted(workplace: Workplace) -> None:
    """An edition each month, and tables of the same columns: their account bounds them."""
    spends_a_hundredth(workplace)
    for month in range(ALLOWED + 2):
        workplace.raw["source"]["edition"] = f"2026-{month}"
        workplace.raw["protect"][0]["dimensions"] = [["region"], ["region", "education"]][month % 2]
        with begun(workplace, account=False) as line:
            line.protect()
            line.job.settle("refused")
            line.job.run.finish({"outcome": "refused"})
    assert len(looks_of(open_records().log, "survey").runs) == 2  # who first declared region and income, and education


CHANGES: dict[str, tuple[int, dict[str, Any]]] = {
    "the domain": (1, {"domain": [0, 10**6]}),
    "the type": (1, {"type": "integer"}),
    "nothing": (0, {}),
    "the role": (0, {"role": "quasi_identifier"}),
}


@pytest.mark.parametrize(("different", "change"), CHANGES.values(), ids=CHANGES)
def test_what_could_refuse_a_release_is_what_it_declares(
    workplace: Workplace, different: int, change: dict[str, Any]
) -> None:
    def declared() -> list[dict[str, Any]]:
        return draw_up_plan(load_spec(workplace.write_spec())).declarations

    spends_a_hundredth(workplace)
    before = declared()
    assert [each.get("column") for each in before] == [None, "region", "income"]
    workplace.raw["source"]["columns"]["income"] |= change
    assert len([each for each in declared() if each not in before]) == different
    workplace.raw["validate"] = {"min_rows": 7}
    assert {"records": 7} in declared()


def test_bounds_that_clamp_refuse_nothing_so_they_answer_nothing(workplace: Workplace) -> None:
    spends_a_hundredth(workplace)
    found = []
    for most in (10**5, 10**6):
        workplace.raw["source"]["columns"]["income"] |= {"outside": "clamp", "domain": [0, most]}
        found.append(draw_up_plan(load_spec(workplace.write_spec())).declarations)
    assert found[0] == found[1]


def judged(workplace: Workplace) -> None:
    with begun(workplace, account=False) as line:
        *_, decision = line.assess()
        pass_gates(line.job, decision)


def test_reviewers_are_shown_what_is_counted_against_the_limit(workplace: Workplace) -> None:
    """Looks at the same records in other files, under no name: counted by their values, and not shown."""
    make_table(workplace, model="k_anon", epsilon=None, adjacency=None, k=2, dimensions=["region"])
    survey = pq.read_table(workplace.source)
    for number in range(4):
        pq.write_table(survey.take(np.random.default_rng(number).permutation(survey.num_rows)), workplace.source)
        workplace.raw["name"] = f"attempt-{number}"
        workplace.raw["gates"] = [{"measure": "largest_share", "max": (number + 1) / 1000}]
        with pytest.raises(Refusal, match="largest_share"):
            judged(workplace)
    pq.write_table(survey, workplace.source)
    workplace.raw["gates"] = [{"measure": "smallest_frequency", "min": 2}]
    with begun(workplace, account=False) as line:
        assert len(looks_before(line.job, line.ingest().digest).runs) == 4
