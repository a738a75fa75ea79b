"""What data users are told about columns under differential privacy is what the mechanism did to them."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.mechanisms.columns import Column
from penstock.mechanisms.dp_microaggregation import Params, protect
from penstock.mechanisms.dp_microaggregation._explain import advice, treatments
from penstock.mechanisms.randomness import seeded

SHELTERS = {"tent": ["light"], "hut": ["light"], "house": ["any"], "light": ["any"], "any": []}
DECLARED = {
    "person": Column(role="identifier"),
    "age": Column(role="quasi_identifier", type="integer", domain=(0, 120)),
    "school": Column(role="quasi_identifier", type="ordinal", categories=("low", "middle", "high")),
    "shelter": Column(role="quasi_identifier", type="nominal", taxonomy=SHELTERS),
    "region": Column(role="quasi_identifier", type="nominal", categories=("N", "S", "E")),
    "income": Column(role="confidential", type="continuous", domain=(0, 1e6)),
}
MODES = ["records", "marginals"]


def settings(mode: str) -> Params:
    return Params(epsilon="1", adjacency="replace", k=10, mode=mode)  # type: ignore[arg-type]


def sample(rows: int) -> dict[str, np.ndarray]:
    chance = np.random.default_rng(1)
    return {
        "age": chance.integers(0, 121, rows),
        "school": chance.integers(0, 3, rows),
        "shelter": chance.integers(0, 3, rows),
        "region": chance.integers(0, 3, rows),
        "income": chance.random(rows) * 1e6,
    }


@pytest.mark.parametrize("mode", MODES)
def test_every_released_column_and_no_other_is_spoken_of(mode: str) -> None:
    released = protect(sample(100), DECLARED, settings(mode), seeded(1)).columns
    assert list(treatments(settings(mode), DECLARED)) == list(released)


@pytest.mark.parametrize("mode", MODES)
def test_a_number_is_a_noisy_mean_and_a_category_is_drawn_once_for_a_block(mode: str) -> None:
    told = treatments(settings(mode), DECLARED)
    released = protect(sample(100), DECLARED, settings(mode), seeded(1)).columns
    assert told["age"] == "mean of a block of records, with noise, rounded to a whole number"
    assert released["age"].dtype.kind == "i"
    assert told["income"] == "mean of a block of records, with noise"
    assert released["income"].dtype.kind == "f"
    for name in ("school", "shelter", "region"):
        assert told[name].startswith("category drawn for a block of records")
    for values in released.values():  # one value for each of ten blocks of ten records, though some may be equal
        _, counts = np.unique(values, return_counts=True)
        assert len(counts) <= 10
        assert not (counts % 10).any()


def test_a_broader_concept_is_announced_exactly_where_there_is_a_taxonomy() -> None:
    announced = {name for name, text in treatments(settings("records"), DECLARED).items() if "broader concept" in text}
    assert announced == {"shelter"}


def test_rows_are_called_what_they_are_in_each_mode() -> None:
    records, marginals = advice(settings("records"), DECLARED), advice(settings("marginals"), DECLARED)
    assert records[0] == "Rows are not persons: all rows of a block carry the same protected values."
    assert "a row is not a record" in marginals[0]
    assert not set(records[:2]) & set(marginals[:2])


@pytest.mark.parametrize("mode", MODES)
def test_advice_says_that_the_noise_is_public_and_errors_incomplete(mode: str) -> None:
    told = advice(settings(mode), DECLARED)
    assert any("size of the noise is public" in sentence for sentence in told)
    assert any("Sampling errors" in sentence for sentence in told)
    assert len(set(told)) == len(told)


@pytest.mark.parametrize("mode", MODES)
def test_in_records_mode_all_rows_of_a_block_carry_the_same_values_and_in_marginals_mode_they_do_not(mode: str) -> None:
    released = protect(sample(1000), DECLARED, settings(mode), seeded(1)).columns
    rows = np.stack([np.unique(values, return_inverse=True)[1] for values in released.values()], axis=1)
    _, counts = np.unique(rows, axis=0, return_counts=True)
    assert bool((counts >= 10).all()) == (mode == "records")
