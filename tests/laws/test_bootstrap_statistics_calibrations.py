"""Whole releases of statistics under bdp through the auditor: no more than epsilon is proven, of a wrong one more.

The noise of the actual data is added to both data sets of a pair, as the promise says. Chance: a bound above the true
loss has probability at most 2e-4 a case; the seeds are fixed.
"""

from __future__ import annotations

import os
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.mechanisms.columns import Column
from penstock.mechanisms.numbers.grid import grid_of
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.refusal import ScaleZero
from penstock.mechanisms.statistics import Params, protect
from penstock.mechanisms.statistics._bootstrap import Among, bootstrap_figure, bootstrap_steps, drawn
from penstock.mechanisms.statistics._groups import SortedGroups, sorted_groups
from penstock.mechanisms.statistics._settings import Statistic
from penstock.mechanisms.table.noise import cell_noise
from penstock.mechanisms.table.scales import Scales
from tests.laws.auditor import lower_bound
from tests.mechanisms.noise_chance import assert_law, laplace_law
from tests.support.order import examples
from tests.support.public_data import DATA

TRIALS = 20_000
AREAS = ("north", "south")
FARMS = {
    "area": Column(role="quasi_identifier", type="nominal", categories=AREAS),
    "output": Column(role="confidential", type="integer", domain=(0, 20_000)),
}
# A cell of two farms whose values are near each other and far from 0, as in the rice data, and others elsewhere.
DATA_SET = (("north", 400), ("north", 705), ("south", 42), ("south", 8100))
TOTAL = {"statistic": "sum", "of": "output"}
ONE = {"only": {"area": "north"}, "figures": [TOTAL]}


def released(data, trials, seed, steps=None, **chosen):
    """Many totals of one cell, with the noise of DATA_SET or of these steps, at epsilon 1."""
    if steps is None:
        hidden = protect(columns_of(DATA_SET), FARMS, params(**chosen), seeded(1)).hidden
        steps = int(hidden["steps 0 output_sum"][0])
    total = sum(value for area, value in data if area == "north")
    noise = cell_noise(Scales(chosen["adjacency"], Fraction(1), np.full(trials, steps)), seeded(seed))
    return total + noise


def params(**chosen):
    return Params.model_validate({"model": "bdp", "epsilon": "1", "acknowledges": ["bdp"], **ONE, **chosen})


def columns_of(data):
    return {"area": np.array([area for area, _ in data], object), "output": np.array([value for _, value in data])}


# The farm of 705 leaves the cell, and one of 42 elsewhere takes its place.
LEFT = (DATA_SET[0], ("south", 42), *DATA_SET[2:])
GONE = (DATA_SET[0], *DATA_SET[2:])


def proven(pair, adjacency, steps=None):
    happened = [
        int(np.count_nonzero(released(data, TRIALS, seed, steps, adjacency=adjacency) >= 1105))
        for seed, data in enumerate(pair)
    ]
    return lower_bound(*happened, TRIALS)


def test_a_cell_total_of_the_actual_records_loses_no_more_than_epsilon():
    assert 0.8 < proven((DATA_SET, LEFT), "bootstrap_replace") <= 1
    assert 0.8 < proven((DATA_SET, GONE), "bootstrap_add_remove") <= 1


def test_the_audit_notices_the_spread_of_the_cell_as_the_source_has_it():
    """305 in place of 705: a loss of 705 / 305 = 2.3 epsilon."""
    assert proven((DATA_SET, LEFT), "bootstrap_replace", steps=305) > 2


def test_a_release_draws_what_was_audited():
    chosen = params(adjacency="bootstrap_replace")
    found = [protect(columns_of(DATA_SET), FARMS, chosen, seeded(s)).columns["output_sum"][0] for s in range(20)]
    assert found == [released(DATA_SET, 1, s, 705, adjacency="bootstrap_replace")[0] for s in range(20)]


def test_a_median_of_many_groups_has_the_law_that_is_promised():
    """Within groups of three values 0, 1, 4: noise of 8 half steps at epsilon 2, cut off; false alarm 1e-9."""
    groups = SortedGroups(np.tile([0, 1, 4], 6_000), 3 * np.arange(6_001))
    grid_column = Column(role="confidential", type="integer", domain=(0, 4))
    median, among = Statistic(statistic="median", of="x"), Among("fixed", "bootstrap_within_cell")
    found = bootstrap_figure(median, grid_of(grid_column, "x"), groups, among, Fraction(2))
    values, steps = drawn(found, "x_median", Fraction(2), among.adjacency, seeded(5))
    assert set(steps[0].tolist()) == {8}
    law: dict[float, float] = {}
    for noise, share in laplace_law(4.0).items():
        place = min(max(2 + noise, 0), 8) / 2
        law[place] = law.get(place, 0) + share
    assert_law(values, law)


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.integers(-40, 40), min_size=1, max_size=25),
    st.lists(st.integers(0, 24), min_size=2, max_size=2),
    st.sampled_from(["sum", "mean", "variance", "median", "minimum", "maximum", "second_maximum"]),
    st.sampled_from([("fixed", "bootstrap_replace"), ("counted", "bootstrap_add_remove")]),
)
def test_no_resampled_neighbours_differ_by_more_than_the_steps(values, places, kind, how):
    """A law over larger data than can be enumerated: rows drawn from D with replacement, one of them changed."""
    among, of = Among(*how), Statistic(statistic=kind, of="x")
    grid = grid_of(Column(role="confidential", type="integer", domain=(-40, 40)), "x")
    x, n = np.array(values) + 40, len(values)
    first = np.random.default_rng(n).choice(x, n)
    second = first.copy()
    second[places[0] % n] = x[places[1] % n]
    if how[0] == "counted":
        second = np.append(first, x[places[1] % n]) if places[0] % 2 or n == 1 else first[1:]

    def of_list(rows):
        group = sorted_groups(rows.astype(np.int64), np.zeros(len(rows), np.int64), 1)
        return bootstrap_figure(of, grid, group, among, Fraction(1)), group

    actual, group = of_list(x)
    (steps,) = actual.steps
    one, other = (int(of_list(rows)[0].totals[0][0]) for rows in (first, second))
    assert abs(one - other) <= steps[0]
    assert bootstrap_steps(of, grid, group, among)[0] >= 0


@pytest.mark.skipif(
    not (DATA / "ricefarms.parquet").exists(), reason="PENSTOCK_DATA names no folder with ricefarms.parquet"
)
def test_cell_totals_of_rice_farms_by_themselves():
    """O'Keefe & Charest 2019, table 2, with M_i where it is larger than V_i; "both" is "mixed" in the file."""
    import pyarrow.parquet as pq

    table = pq.read_table(os.fspath(DATA / "ricefarms.parquet"))
    names = {name.lower(): name for name in table.column_names}
    status, kinds = (table[names[name]].to_pylist() for name in ("status", "varieties"))
    columns = {
        "status": np.array([str(each) for each in status], object),
        "varieties": np.array([str(each) for each in kinds], object),
        "noutput": table[names["noutput"]].to_numpy().astype(np.int64),
    }
    declared = {
        "status": Column(role="quasi_identifier", type="nominal", categories=tuple(sorted(set(columns["status"])))),
        "varieties": Column(
            role="quasi_identifier", type="nominal", categories=tuple(sorted(set(columns["varieties"])))
        ),
        "noutput": Column(role="confidential", type="integer", domain=(0, 50_000)),
    }

    def steps(place, adjacency):
        chosen = params(only=place, figures=[{"statistic": "sum", "of": "noutput"}], adjacency=adjacency)
        return int(protect(columns, declared, chosen, seeded(1)).hidden["steps 0 noutput_sum"][0])

    share_both = {"status": "share", "varieties": "mixed"}
    assert steps(share_both, "bootstrap_replace") == steps(share_both, "bootstrap_add_remove") == 705
    grouped = params(
        only={}, groups=["status", "varieties"], figures=[{"statistic": "sum", "of": "noutput"}],
        adjacency="bootstrap_replace",
    )  # fmt: skip
    both = protect(columns, declared, grouped, seeded(1)).hidden["steps 0 noutput_sum"]
    place = np.ravel_multi_index(
        (declared["status"].categories.index("share"), declared["varieties"].categories.index("mixed")), (3, 3)
    )
    assert both[place] == 705  # with half of epsilon: 1,410
    within = params(
        only={}, groups=["status", "varieties"], figures=[{"statistic": "sum", "of": "noutput"}],
        adjacency="bootstrap_within_cell",
    )  # fmt: skip
    spreads = sorted(protect(columns, declared, within, seeded(1)).hidden["steps 0 noutput_sum"].tolist())
    assert spreads == sorted([8766, 2600, 3020, 17528, 11800, 8058, 14336, 305, 1900])


def test_a_single_farm_in_a_cell_that_everybody_knows_is_refused():
    alone = (("north", 700), ("south", 1), ("south", 5))
    chosen = params(only={}, groups=["area"], adjacency="bootstrap_within_cell")
    with pytest.raises(ScaleZero):
        protect(columns_of(alone), FARMS, chosen, seeded(1))
