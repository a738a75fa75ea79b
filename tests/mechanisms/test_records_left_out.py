"""What is said of figures that are made of some records of each individual, by every mechanism that makes figures."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.mechanisms.columns import Column
from penstock.mechanisms.phrases import records_left_out
from penstock.mechanisms.registry import MECHANISMS

DECLARED = {
    "region": Column(role="quasi_identifier", type="nominal", categories=("a", "b")),
    "income": Column(role="confidential", type="continuous", domain=(0, 100)),
    "w": Column(role="weight", domain=(0, 5)),
}
TABLE: dict[str, Any] = {"mechanism": "table", "dimensions": ["region"], "sums": ["income"], "model": "dp"}
SETTINGS: dict[str, dict[str, Any]] = {
    "table": TABLE,
    "measured": {**TABLE, "margins": "measured", "margin_share": "1/2"},
    "weighted": {**TABLE, "weight": {"column": "w"}},
    "statistics": {
        "mechanism": "statistics",
        "figures": [{"statistic": "sum", "of": "income"}, {"statistic": "count"}],
        "model": "dp",
    },
}


def told(name: str, rows: int | None) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], dict[str, str]]:
    """What is not promised, advice, foresight and treatments."""
    settings = {**SETTINGS[name], "epsilon": "1", "adjacency": "add_remove"}
    settings |= {} if rows is None else {"rows_per_unit": rows}
    mechanism = MECHANISMS[settings["mechanism"]]
    params = mechanism.params.model_validate(settings)
    used = DECLARED if name == "weighted" else {each: DECLARED[each] for each in ("region", "income")}
    limits = mechanism.promise(params, used).not_promised
    return (
        limits,
        mechanism.advice(params, used),
        mechanism.expect(params, used, None),
        mechanism.treatments(params, used),
    )


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("rows", [1, 3])
def test_promise_advice_and_plan_say_that_records_are_left_out(name: str, rows: int) -> None:
    limits, advice, foreseen, treated = told(name, rows)
    most = "at most 1 record is used" if rows == 1 else "at most 3 records are used"
    in_promise, in_advice, in_plan = records_left_out(rows)
    assert (in_promise in limits, in_advice in advice, in_plan in foreseen) == (True, True, True)
    assert most in in_promise
    assert most in in_advice
    assert "chosen at random" in in_promise
    assert "not those of all records" in in_advice
    assert "the confidential report will" in in_plan
    figures = [words for column, words in treated.items() if column != "region"]
    assert figures
    ways = (f"number of records used (at most {rows} of each individual)", f"(records used, at most {rows} of each")
    assert all(any(way in words for way in ways) for words in figures)


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("rows", [None, 1, 3])
def test_figures_of_some_records_are_never_called_unbiased(name: str, rows: int | None) -> None:
    """Three records of one individual count once under rows_per_unit: 1, whatever the noise."""
    _, advice, _, _ = told(name, rows)
    straight = rows is None and name != "measured"
    assert any("are unbiased" in each for each in advice) is straight


@pytest.mark.parametrize("name", SETTINGS)
def test_where_all_records_are_used_nothing_is_said_of_it(name: str) -> None:
    limits, advice, foreseen, treated = told(name, None)
    everything = " ".join((*limits, *advice, *foreseen, *treated.values()))
    assert "left out" not in everything.replace("are left out of", "")
    assert "of each individual" not in everything
