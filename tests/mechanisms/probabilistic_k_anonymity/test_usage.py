"""What data users are told about each column is what the mechanism did to it."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.mechanisms.columns import Column
from penstock.mechanisms.probabilistic_k_anonymity import Params, protect
from penstock.mechanisms.probabilistic_k_anonymity._explain import advice, treatments
from penstock.mechanisms.randomness import seeded

DECLARED = {
    "person": Column(role="identifier"),
    "age": Column(role="quasi_identifier", type="integer", domain=(0, 120)),
    "height": Column(role="quasi_identifier", type="continuous", domain=(0, 3)),
    "school": Column(role="quasi_identifier", type="ordinal", categories=("low", "middle", "high")),
    "region": Column(role="quasi_identifier", type="nominal", categories=("N", "S", "E")),
    "income": Column(role="confidential", type="continuous", domain=(0, 1e6)),
    "savings": Column(role="confidential", type="continuous", domain=(0, 1e6)),
    "weight": Column(role="weight"),
}
METHODS = ["mdav_id", "mdav_swap", "ir_swap"]


def settings(method: str) -> Params:
    own = {"savings": 9} if method == "ir_swap" else {}
    return Params(method=method, k=4, k_by_column=own)  # type: ignore[arg-type]


def sample(rows: int) -> dict[str, np.ndarray]:
    chance = np.random.default_rng(1)
    return {
        "age": chance.integers(0, 120, rows),
        "height": chance.random(rows) * 3,
        "school": chance.integers(0, 3, rows),
        "region": chance.integers(0, 3, rows),
        "income": chance.random(rows) * 1e6,
        "savings": chance.random(rows) * 1e6,
        "weight": chance.random(rows) + 1,
    }


@pytest.mark.parametrize("method", METHODS)
def test_a_column_is_called_unchanged_exactly_if_the_mechanism_leaves_it_alone(method: str) -> None:
    columns = sample(60)
    released = protect(columns, DECLARED, settings(method), seeded(1))
    told = treatments(settings(method), DECLARED)
    assert list(told) == list(released.columns)
    unchanged = {name for name, text in told.items() if text == "released unchanged"}
    assert unchanged == set(told) - set(released.masked)
    assert unchanged == {name for name in told if np.array_equal(columns[name], released.columns[name])}


def test_the_treatment_of_each_type_names_its_centre_and_its_group() -> None:
    told = treatments(settings("mdav_id"), DECLARED)
    assert told["age"] == "replaced by the rounded mean of its group of at least 4"
    assert told["height"] == "replaced by the mean of its group of at least 4"
    assert told["school"] == "replaced by the median category of its group of at least 4"
    assert told["region"] == "replaced by the most frequent category of its group of at least 4"
    assert told["weight"] == "replaced by the mean weight of its group of at least 4"


def test_a_column_with_groups_of_its_own_is_told_their_size() -> None:
    told = treatments(settings("ir_swap"), DECLARED)
    assert told["income"].endswith("at least 4")
    assert told["savings"].endswith("at least 9")


def test_identifiers_are_not_spoken_of() -> None:
    assert all("person" not in treatments(settings(method), DECLARED) for method in METHODS)


@pytest.mark.parametrize("method", METHODS)
def test_advice_says_that_rows_are_shuffled_and_errors_incomplete(method: str) -> None:
    told = advice(settings(method), DECLARED)
    assert "Rows are in random order." in told
    assert any("Sampling errors" in sentence for sentence in told)
    assert len(set(told)) == len(told) == 5


def test_each_method_has_advice_of_its_own() -> None:
    assert len({advice(settings(method), DECLARED)[0] for method in METHODS}) == 3


def test_advice_names_what_was_swapped_or_left_because_others_may_stand_beside_it() -> None:
    alike, by_rows, by_column = (
        " ".join(advice(settings(each), DECLARED)) for each in ("mdav_id", "mdav_swap", "ir_swap")
    )
    assert "As collected: income, savings." in alike
    assert "income, savings: values were exchanged between records with similar quasi-identifiers" in by_rows
    assert "of income or savings alone is exact." in by_column
    keys = {name: column for name, column in DECLARED.items() if column.role != "confidential"}
    assert "ollected" not in " ".join(advice(settings("mdav_id"), keys))
