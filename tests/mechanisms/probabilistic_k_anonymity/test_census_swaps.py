"""What cutting blocks from both ends saves: the mean change of correlations in the CASC Census file under ir_swap.

Soria-Comas 2013 (thesis), Table 3.10, prints .010 and .020 for k = 50 and 100; seven of thirteen columns are swapped.
"""

from __future__ import annotations

import numpy as np
import pytest
from pyarrow import parquet

from penstock.mechanisms.columns import Column
from penstock.mechanisms.microaggregation.ranking import block_starts, from_both_ends, ranked_blocks
from penstock.mechanisms.permutation import permute_within
from penstock.mechanisms.probabilistic_k_anonymity import Params, protect
from penstock.mechanisms.randomness import seeded
from tests.support.public_data import DATA

CENSUS = DATA / "census_casc.parquet"
RUNS = 20
needs_census = pytest.mark.skipif(
    not CENSUS.exists(), reason="the Census file is not there; set PENSTOCK_DATA to its folder"
)


def census():
    table = parquet.read_table(CENSUS)
    return {name: table[name].to_numpy().astype(np.float64) for name in table.column_names}


def mean_change(columns, swapped):
    """The mean |change| of the 70 correlations that have a swapped column, each with itself among them."""
    before, after = (np.corrcoef(list(side.values())) for side in (columns, {**columns, **swapped}))
    names = list(columns)
    pairs = {tuple(sorted((names.index(name), other))) for name in swapped for other in range(len(names))}
    assert len(pairs) == 70
    return float(np.mean([abs(before[pair] - after[pair]) for pair in pairs]))


def released(columns, k, seed):
    declared = {
        name: Column(
            role="confidential" if place >= 6 else "quasi_identifier",
            type="continuous",
            domain=(float(values.min()) - 1, float(values.max()) + 1),
        )
        for place, (name, values) in enumerate(columns.items())
    }
    found = protect(columns, declared, Params(method="ir_swap", k=k), seeded(seed))
    return {name: found.columns[name] for name in found.masked}


def from_below(columns, k, seed):
    swapped, randomness = {}, seeded(seed)
    for name in list(columns)[6:]:
        order, starts = ranked_blocks(columns[name], k, randomness)
        assert starts.tolist() == from_both_ends(len(order), k).tolist()
        swapped[name] = np.empty(len(order))
        swapped[name][order] = columns[name][permute_within(order, block_starts(len(order), k), randomness)]
    return swapped


@needs_census
@pytest.mark.parametrize(("k", "ends", "top"), [(50, 0.011, 0.016), (100, 0.022, 0.033)])
def test_the_larger_block_costs_a_third_less_in_the_middle_than_at_the_top(k, ends, top):
    columns = census()
    for swap, expected in ((released, ends), (from_below, top)):
        changes = [mean_change(columns, swap(columns, k, seed)) for seed in range(RUNS)]
        assert abs(np.mean(changes) - expected) < 0.0015
