"""What a plan foretells of differentially private microaggregation is what happens."""

from __future__ import annotations

import math

import numpy as np
import pytest

from penstock.mechanisms.columns import Column
from penstock.mechanisms.dp_microaggregation import Params, protect, settle
from penstock.mechanisms.dp_microaggregation._expect import expect
from penstock.mechanisms.randomness import seeded

WIDTH = 100
DECLARED = {
    "age": Column(role="quasi_identifier", type="integer", domain=(0, WIDTH)),
    "income": Column(role="confidential", type="continuous", domain=(0, WIDTH)),
}
RECORDS, RUNS = 600, 300


def settings(**chosen: object) -> Params:
    return Params.model_validate({"epsilon": "2", "adjacency": "replace", "k": 30, **chosen})


def line_about(name: str, params: Params, records: int, figure: float) -> str:
    """The sentence about a column that gives the figure."""
    told = [line for line in expect(params, DECLARED, records) if line.startswith(f"{name}: ")]
    (found,) = (line for line in told if f" {figure:.3g}" in line)
    return found


def measured(params: Params) -> dict[str, float]:
    """Root mean square error of each column over runs on records that are spread evenly."""
    squares = dict.fromkeys(DECLARED, 0.0)
    for run in range(RUNS):
        chance = np.random.default_rng(run)
        columns = {
            "age": chance.integers(0, WIDTH + 1, RECORDS),
            "income": chance.random(RECORDS) * WIDTH,
        }
        released = protect(columns, DECLARED, params, seeded(run))
        assert released.origin is not None
        for name, values in released.columns.items():
            squares[name] += float(np.mean((values - columns[name][released.origin]) ** 2)) / RUNS
    return {name: math.sqrt(total) for name, total in squares.items()}


def expected(params: Params) -> dict[str, float]:
    (part,) = settle(params, DECLARED, RECORDS)
    return {name: WIDTH * error for name, error in zip(part.attributes, part.choice.errors, strict=True)}


def assert_close(found: dict[str, float], known_before: dict[str, float]) -> None:
    """Within 8 %.

    6,000 blocks: the mean of their squared Laplace noise has a standard error of sqrt(5 / 6,000) = 2.9 %, an error
    1.5 %; random records are not quite evenly spread, which moves errors by 1 %. Four standard errors beside that:
    false alarm below 1e-4, and the seeds are fixed.
    """
    assert all(abs(found[name] / known_before[name] - 1) < 0.08 for name in DECLARED)


def test_the_foretold_error_is_the_measured_one() -> None:
    params = settings()
    known_before = expected(params)
    assert_close(measured(params), known_before)
    for name, error in known_before.items():
        assert line_about(name, params, RECORDS, error)


def test_the_test_of_the_foretold_error_notices_another_epsilon() -> None:
    with pytest.raises(AssertionError):
        assert_close(measured(settings(epsilon="3/2")), expected(settings()))


def test_a_category_is_foretold_its_distance() -> None:
    declared = {"region": Column(role="confidential", type="nominal", categories=("N", "S", "E"))}
    (part,) = settle(settings(), declared, RECORDS)
    told = expect(settings(), declared, RECORDS)
    assert any(line.startswith("region: ") and f"{part.choice.errors[0]:.3g}" in line for line in told)


def test_blocks_and_order_are_told_as_they_will_be() -> None:
    (part,) = settle(settings(k="auto"), DECLARED, RECORDS)
    choice = part.choice
    told = expect(settings(k="auto"), DECLARED, RECORDS)
    assert any(f"{choice.blocks} blocks of {choice.k} records" in line and choice.order.name in line for line in told)


def test_each_column_of_marginals_has_blocks_of_its_own() -> None:
    told = expect(settings(mode="marginals"), DECLARED, RECORDS)
    assert sum("20 blocks of 30 records" in line for line in told) == 2


@pytest.mark.parametrize(("epsilon", "said"), [("1/1000", True), ("100", False)])
def test_it_is_said_exactly_when_one_mean_would_do_as_well(epsilon: str, said: bool) -> None:
    told = expect(settings(epsilon=epsilon), DECLARED, RECORDS)
    assert any("would do about as well" in line for line in told) == said


def test_errors_are_not_told_without_the_number_of_records() -> None:
    told = expect(settings(), DECLARED, None)
    assert any("pass --count" in line for line in told)
    assert not any(line.startswith("income") for line in told)


def test_too_few_records_are_told_and_not_raised() -> None:
    told = expect(settings(k=30), DECLARED, 29)
    assert told[-1] == "The release will be refused: 29 records are fewer than k = 30."
