"""Tables without dimensions keep epsilon: the exact loss of every pair of neighbours of a tiny domain, in one row.

Where records are replaced none leaves the only cell, so noise by the width of the domain is enough, if the source is
all of the data set. The ledger sees to that where the grand total is exact, and nowhere else.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from penstock.mechanisms.columns import Column
from penstock.mechanisms.table._chosen import settle
from penstock.mechanisms.table.draws import noise_of
from penstock.records.ledger.accounts import Claim
from penstock.records.ledger.countable import ClaimRefused, require_countable
from tests.laws.test_table_is_private import BASE, EVERY, TINY, by_adjacency, by_noise, loss, neighbours, sound, worst

WHOLE: dict[str, Any] = {"dimensions": [], "epsilon": "3/2"}
FIGURES: dict[str, dict[str, Any]] = {
    "count": {},
    "x": {"sums": ["x"], "count": False},
    "count and x": {"sums": ["x"]},
    "by shares": {"means": ["x"], "shares": {"count": "1/5", "x": "4/5"}},
}


@by_adjacency
@by_noise
@pytest.mark.parametrize("figures", FIGURES)
def test_no_pair_of_neighbours_loses_more_than_epsilon(adjacency: str, noise: str, figures: str) -> None:
    chosen = FIGURES[figures]
    if noise == "box" and "shares" in chosen:
        return
    params = sound(adjacency=adjacency, noise=noise, **WHOLE, **chosen)
    found = worst(params)
    assert found <= Fraction(3, 2)
    if figures == "x" or adjacency == "add_remove":  # the number of records does not change where one is replaced
        assert found == Fraction(3, 2)


@by_noise
def test_all_is_spent_on_totals_where_the_number_of_records_is_printed(noise: str) -> None:
    params = sound(adjacency="replace", noise=noise, sums=["x", "z"], exact_total=True, **WHOLE)
    assert [entry for entry in settle(params, TINY) if "count" in entry.measures] == []
    every = [{**record, "z": z} for record in EVERY for z in (0, 1)]
    assert worst(params, every=every) == Fraction(3, 2)
    alone = sound(adjacency="replace", noise=noise, sums=["x"], exact_total=True, **WHOLE)
    assert worst(alone) == Fraction(3, 2)


@by_noise
def test_the_width_of_the_domain_is_enough_however_large_values_are(noise: str) -> None:
    declared = {**TINY, "x": Column(role="confidential", type="integer", domain=(1, 2))}
    params = sound(adjacency="replace", noise=noise, sums=["x"], exact_total=True, **WHOLE)
    (entry,) = settle(params, declared)
    assert entry.classes[0].half_widths == (1,)
    ends = [{**each, "x": x} for each in EVERY for x in (1, 2)]
    assert max(loss([*BASE, one], [*BASE, other], params, [entry]) for one in ends for other in ends) == Fraction(3, 2)


@by_noise
@pytest.mark.parametrize("domain", [(1, 2), (-1, 2), (-1, 0)])
def test_a_record_that_leaves_the_source_loses_no_more_than_epsilon(noise: str, domain: tuple[int, int]) -> None:
    """Nothing says that a source is all of its data set: a replaced record may leave a file of it, and take all of its
    value with it, not only the width of the domain."""
    declared = {**TINY, "x": Column(role="confidential", type="integer", domain=domain)}
    params = sound(adjacency="replace", noise=noise, sums=["x"], count=False, **WHOLE)
    entries = settle(params, declared)
    ends = [[*BASE, {**EVERY[0], "x": x}] for x in domain]
    pairs = [(one, other) for one in (*ends, BASE) for other in (*ends, BASE)]
    assert max(loss(one, other, params, entries) for one, other in pairs) == Fraction(3, 2)


@by_noise
def test_a_record_that_leaves_would_lose_more_where_its_number_is_public_so_nothing_is_spent_on_a_part(
    noise: str,
) -> None:
    declared = {**TINY, "x": Column(role="confidential", type="integer", domain=(1, 2))}
    params = sound(adjacency="replace", noise=noise, sums=["x"], exact_total=True, **WHOLE)
    entries = settle(params, declared)
    assert loss([*BASE, {**EVERY[0], "x": 2}], BASE, params, entries) == 2 * Fraction(3, 2)
    claim = Claim(dataset="d", source="s", model="dp", epsilon=Fraction(1), adjacency="replace", unit="row",
                  column="area", part="north")  # fmt: skip
    with pytest.raises(ClaimRefused, match="a record that moves would change two sizes"):
        require_countable(claim)


@by_noise
def test_noise_of_the_bound_alone_is_too_small_where_a_record_goes_from_end_to_end(noise: str) -> None:
    params = sound(adjacency="replace", noise=noise, sums=["x"], count=False, **WHOLE)
    (entry,) = settle(params, TINY)
    (right,) = entry.classes
    assert right.half_widths == (3,)  # from -1 to 2
    wrong = replace(entry, classes=(noise_of(noise, (2,), right.epsilon),))  # type: ignore[arg-type]
    assert worst(params, [wrong]) > worst(params) == Fraction(3, 2)


@by_noise
def test_noise_for_two_cells_is_twice_what_one_needs(noise: str) -> None:
    params = sound(adjacency="replace", noise=noise, sums=["z"], count=False, **WHOLE)
    (entry,) = settle(params, TINY)
    (kind,) = entry.classes
    assert (kind.half_widths, kind.epsilon) == ((1,), Fraction(3, 2))


@by_adjacency
def test_all_records_of_a_unit_together_lose_epsilon(adjacency: str) -> None:
    params = sound(adjacency=adjacency, noise="laplace", sums=["x"], count=False, rows_per_unit=2, **WHOLE)
    few = [record for record in EVERY if record["area"] == record["size"].replace("small", "north")]
    assert worst(params, every=few) == Fraction(3, 2)
    assert sum(1 for _ in neighbours(params, few)) > 10
