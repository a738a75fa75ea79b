"""Tables under bootstrap and individual differential privacy keep epsilon: the exact loss of every pair that counts.

    loss = sum over measures and cells of |f_i(D_1) - f_i(D_2)| / b_i,   b_i = steps_i / epsilon of the measure      (1)

steps_i is what `protect` says in secret about the actual data set D; the pairs are all adjacent data sets that consist
of records of D, and all data sets that differ from D in one record of the domain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.mechanisms.protected import Protected
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.refusal import ScaleZero
from penstock.mechanisms.table import Params, protect
from penstock.mechanisms.table.noise import cell_noise
from penstock.mechanisms.table.scales import Scales
from tests.laws.test_wrong_calibrations_of_the_sources import CONTINGENCY_TABLE, MAGNITUDE_TABLE, Wrong
from tests.support.order import examples
from tests.support.plain_tables import DECLARED, Record, cells_of, columns_of, reach, records_of, steps, table, totals

EVERY = [*records_of(x=[-1, 0, 1, 2])]
DATA = st.lists(st.sampled_from(EVERY), min_size=1, max_size=4)
LEVEL = ("area", "size")
CELLS = cells_of(LEVEL)
BOUNDS = {"x": [{"cells": {"area": ["north"]}, "domain": [0, 1]}, {"cells": {"size": ["large"]}, "domain": [-1, 1]}]}
Scaled = Mapping[str, tuple[Sequence[int], Fraction]]


def scaled(protected: Protected) -> Scaled:
    """Steps and epsilon of every measure that was drawn."""
    return {
        name: (protected.hidden[f"steps 0 {name}"].tolist(), Fraction(entry["epsilon"]))
        for entry in protected.chosen["measured"]
        for name in entry["measures"]
    }


def loss(first: Sequence[Record], second: Sequence[Record], params: Params, scales: Scaled) -> Fraction | float:
    """(1); infinite where an exact figure changes."""
    lost = Fraction(0)
    for name, (sizes, epsilon) in scales.items():
        for before, after, size in zip(
            totals(first, LEVEL, name, params), totals(second, LEVEL, name, params), sizes, strict=True
        ):
            if before != after:
                if size == 0:
                    return float("inf")
                lost += abs(before - after) * epsilon / size
    return lost


def cell(record: Record) -> tuple[str, str]:
    return record["area"], record["size"]


def bootstrap_pairs(data: Sequence[Record], adjacency: str) -> Iterator[tuple[list[Record], list[Record]]]:
    """All adjacent data sets that consist of records of D."""
    distinct = [dict(record) for record in {tuple(sorted(record.items())) for record in data}]
    n = len(data)
    if adjacency == "bootstrap_add_remove":
        for size in (n - 1, n):
            for chosen in combinations_with_replacement(distinct, size):
                yield from (([*chosen], [*chosen, record]) for record in distinct)
        return
    numbered = [*combinations_with_replacement(range(len(distinct)), n)]
    for one, other in combinations(numbered, 2):
        gone, new = [*(Counter(one) - Counter(other))], [*(Counter(other) - Counter(one))]
        if sum((Counter(one) - Counter(other)).values()) != 1:
            continue
        if adjacency == "bootstrap_replace" or cell(distinct[gone[0]]) == cell(distinct[new[0]]):
            yield [distinct[place] for place in one], [distinct[place] for place in other]


def extremes(data: Sequence[Record], measure: str, params: Params) -> list[tuple[int, int] | None]:
    """M_i and V_i of every cell; None where no record is."""
    found: list[tuple[int, int] | None] = []
    for place in CELLS:
        values = [steps(record, measure, params, DECLARED) for record in data if cell(record) == place]
        found.append((max(map(abs, values)), max(values) - min(values)) if values else None)
    return found


def by_definition(data: Sequence[Record], measure: str, params: Params) -> list[int]:
    """The steps of the corrected tables of O'Keefe & Charest 2019; 0 in cells without records."""
    found = extremes(data, measure, params)
    filled = [each for each in found if each is not None]
    several = [sum(size for size, _ in pair) for pair in combinations(filled, 2)]
    largest, widest = max(size for size, _ in filled), max(spread for _, spread in filled)
    whole = {
        "bootstrap_replace": max([widest, *several]),
        "bootstrap_add_remove": largest,
        "bootstrap_within_cell": widest,
    }[params.adjacency or ""]
    # Counts have the noise of one record, whoever is in which cell.
    if measure == "count":
        return [0 if each is None else 2 if params.adjacency == "bootstrap_replace" else 1 for each in found]
    if params.scale == "one":
        return [0 if each is None else whole for each in found]
    if params.scale == "public_membership":
        return [0 if each is None else each[1] for each in found]
    touched = 2 if params.adjacency == "bootstrap_replace" else 1
    return [0 if each is None else touched * each[0] for each in found]


OPTIONS = [
    ("one", "bootstrap_replace"),
    ("one", "bootstrap_add_remove"),
    ("one", "bootstrap_within_cell"),
    ("per_cell", "bootstrap_replace"),
    ("per_cell", "bootstrap_add_remove"),
    ("public_membership", "bootstrap_within_cell"),
]


@pytest.mark.parametrize(("scale", "adjacency"), OPTIONS)
@given(data=DATA, count=st.booleans(), empty_cells=st.sampled_from(["noise", "zero"]), bounds=st.booleans())
@settings(max_examples=examples(60))
def test_no_pair_made_of_actual_records_loses_more_than_epsilon(
    scale: str, adjacency: str, data: list[Record], count: bool, empty_cells: str, bounds: bool
) -> None:
    chosen: dict[str, Any] = {"sums": ["x"], "count": count, "bounds": BOUNDS if bounds else {}}
    params = table("bdp", scale=scale, adjacency=adjacency, empty_cells=empty_cells, epsilon="5/7", **chosen)
    spent = ["x"] if adjacency == "bootstrap_within_cell" or not count else ["count", "x"]
    filled = [bool(size) for size in totals(data, LEVEL, "count", params)]
    needed = {name: by_definition(data, name, params) for name in spent}
    if any(not size for sizes in needed.values() for size, is_filled in zip(sizes, filled, strict=True) if is_filled):
        with pytest.raises(ScaleZero):
            protect(columns_of(data), DECLARED, params, seeded(1))
        return
    protected = protect(columns_of(data), DECLARED, params, seeded(1))
    scales = scaled(protected)
    pairs = [*bootstrap_pairs(data, adjacency)]
    assert max((loss(first, second, params, scales) for first, second in pairs), default=0) <= Fraction(5, 7)
    assert list(scales) == spent
    for name, (sizes, epsilon) in scales.items():
        assert epsilon == Fraction(5, 7) / len(spent)
        empty = 0 if empty_cells == "zero" else max(needed[name])
        expected = [size if is_filled else empty for size, is_filled in zip(needed[name], filled, strict=True)]
        assert sizes == expected
        if scale == "one" or (name == "count" and (sum(filled) > 1 or adjacency != "bootstrap_replace")):
            # Not larger than it must be: some pair loses all that the measure may.
            alone = {name: scales[name]}
            assert max(loss(first, second, params, alone) for first, second in pairs) == epsilon


# Two cells; the values of each lie close together.
CLOSE: list[Record] = [{"area": area, "size": "small", "x": x} for area in ("north", "south") for x in (1, 2)]
REPLACED = table("bdp", sums=["x"])


def worst(params: Params, scales: Scaled) -> Fraction | float:
    return max(loss(first, second, params, scales) for first, second in bootstrap_pairs(CLOSE, "bootstrap_replace"))


def sizes_of(measure: str, size: Callable[[int, int], int]) -> list[int]:
    return [0 if each is None else size(*each) for each in extremes(CLOSE, measure, REPLACED)]


def test_the_printed_range_inside_a_cell_is_too_small_where_a_record_changes_its_cell() -> None:
    assert worst(REPLACED, {"x": (sizes_of("x", lambda _, spread: spread), Fraction(1))}) == 4


def test_the_printed_scale_of_counts_is_too_small_where_a_record_changes_its_cell() -> None:
    assert worst(REPLACED, {"count": (sizes_of("count", lambda largest, _: largest), Fraction(1))}) == 2


def test_the_printed_split_of_epsilon_over_all_cells_does_not_mend_it() -> None:
    """Each of the k = 2 cells that matter has epsilon / k and V_i."""
    assert worst(REPLACED, {"x": (sizes_of("x", lambda _, spread: spread), Fraction(1, 2))}) == 2


def test_a_change_of_an_exact_figure_is_an_infinite_loss() -> None:
    assert worst(REPLACED, {"x": ([0] * 4, Fraction(1))}) == float("inf")


@given(data=DATA, bounds=st.booleans(), count=st.booleans())
@settings(max_examples=examples(60))
def test_no_record_of_the_domain_in_place_of_an_actual_one_loses_more_than_epsilon(
    data: list[Record], bounds: bool, count: bool
) -> None:
    params = table("idp", sums=["x"], count=count, epsilon="5/7", bounds=BOUNDS if bounds else {})
    scales = scaled(protect(columns_of(data), DECLARED, params, seeded(1)))
    pairs = [(data, [*data[:gone], new, *data[gone + 1 :]]) for gone in range(len(data)) for new in EVERY]
    assert max((loss(first, second, params, scales) for first, second in pairs), default=0) <= Fraction(5, 7)
    for name, (sizes, epsilon) in scales.items():
        assert len(set(sizes)) == 1
        alone = {name: scales[name]}
        assert max(loss(first, second, params, alone) for first, second in pairs) == epsilon


def test_a_scale_that_knows_only_who_stays_in_a_cell_is_too_small_for_individuals() -> None:
    """The local sensitivity of one total, max(b - min, max - a), overlooks that a record may change its cell."""
    data = [{"area": "north", "size": "small", "x": 2}]
    params = table("idp", sums=["x"], count=False)
    moved = [{"area": "south", "size": "small", "x": 2}]
    assert loss(data, moved, params, {"x": ([3] * 4, Fraction(1))}) == Fraction(4, 3)
    assert loss(data, moved, params, scaled(protect(columns_of(data), DECLARED, params, seeded(1)))) == 1
    assert reach(params, DECLARED, "x", {"area": "south", "size": "small"}) == 2


def test_individual_noise_of_one_cell_needs_no_other_cell() -> None:
    declared = {
        "area": DECLARED["area"].model_copy(update={"categories": ("north",)}),
        "x": DECLARED["x"],
    }
    params = table("idp", dimensions=["area"], sums=["x"], count=False)
    columns = {"area": np.zeros(2, np.int64), "x": np.array([2, 0])}
    # 2 may become -1, or 0 become 2.
    assert protect(columns, declared, params, seeded(1)).hidden["steps 0 x"].tolist() == [3]


def drawn(case: Wrong, first: Sequence[int], second: Sequence[int], scales: Scales) -> float:
    """The audit of a published table, with these scales in place of its own."""

    def on(answers: Sequence[int]) -> Callable[[np.random.Generator, int], np.ndarray]:
        def draw(rng: np.random.Generator, trials: int) -> np.ndarray:
            many = Scales(scales.adjacency, scales.epsilon, np.tile(scales.steps, trials))
            return np.array(answers) + cell_noise(many, seeded(int(rng.integers(2**32)))).reshape(trials, -1)

        return draw

    return Wrong(on(first), on(second), case.event, case.promised, case.proven, case.exact).audited()


@pytest.mark.parametrize("scale", ["one", "per_cell"])
def test_the_audit_of_published_tables_finds_no_fault_with_what_protect_uses(scale: str) -> None:
    """A bound above the true loss has probability at most 2e-4 a case; the seeds are fixed."""
    declared = {"area": DECLARED["area"], "x": DECLARED["x"].model_copy(update={"domain": (0, 20_000)})}
    columns = {"area": np.repeat([0, 1], [10, 5]), "x": np.array([17_610, *[82] * 9, 14_520, *[184] * 4])}
    params = table("bdp", dimensions=["area"], sums=["x"], epsilon="2", scale=scale)
    protected = protect(columns, declared, params, seeded(1))
    found = {
        name: Scales("bootstrap_replace", Fraction(1), protected.hidden[f"steps 0 {name}"]) for name in ("count", "x")
    }
    assert drawn(CONTINGENCY_TABLE, (10, 5), (9, 6), found["count"]) <= 1
    assert drawn(MAGNITUDE_TABLE, (17_610, 0), (0, 14_520), found["x"]) <= 1
    # As printed, on the same pairs: scale 1 for counts, and the widest range inside a cell.
    assert drawn(CONTINGENCY_TABLE, (10, 5), (9, 6), Scales("bootstrap_replace", Fraction(1), np.array([1, 1]))) > 1
    printed = Scales("bootstrap_replace", Fraction(1), np.array([17_528, 17_528]))
    assert drawn(MAGNITUDE_TABLE, (17_610, 0), (0, 14_520), printed) > 1
