"""Refused runs used as an oracle: each answers yes or no about the data, and none of them publishes or spends.

On a line that does not count them, 29 runs gave the largest share of a cell to five digits, and as many gave the
largest income: a gate, or a domain, is set to the middle of what is still possible, and a second rule that certainly
fails sees to it that nothing is ever released.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow.compute as pc
import pytest
import yaml
from prefect.exceptions import ParameterTypeError
from workplace import Workplace, make_table

from flows.release import release
from flows.spec import load_spec
from flows.table_form import release_table
from mechanisms.refusal import Refusal, SpecRefused
from records import open_records

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
    with pytest.raises(SpecRefused, match="one gate for each measure"):
        release(load_spec(workplace.write_spec()))
    assert [event.action for event in open_records().log.events()] == []


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
