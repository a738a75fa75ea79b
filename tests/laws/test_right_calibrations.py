"""Our releases on the pairs and events that catch the thesis' calibrations: the auditor proves no more than epsilon.

Draws come from the mechanism's own attributes, orders and settled scales, many releases at a time: the data are
repeated, and each repetition is cut into its own blocks. Chance: a bound above the true loss has probability at most
2e-4 a case; the seeds are fixed.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from penstock.mechanisms.columns import Column
from penstock.mechanisms.dp_microaggregation import Params, protect, settle
from penstock.mechanisms.dp_microaggregation.orders import Blocks
from penstock.mechanisms.randomness import seeded
from tests.laws.auditor import lower_bound
from tests.laws.neighbour_pairs import (
    CASES,
    CORNER_CHAIN,
    EVERY_ATTRIBUTE,
    LOWER_BLOCK,
    OWN_ROW,
    RANKED_ROWS,
    SMALLEST_ROWS,
)
from tests.support.order import telling

UNIT = Column(role="confidential", type="continuous", domain=(0, 1))


def released_blocks(part, data, trials, source):
    """Released values, (trials, records, attributes), block by block."""
    records, names = len(data), list(part.attributes)
    levels = [part.attributes[name].levels(data[:, place], name) for place, name in enumerate(names)]
    blocks = part.choice.order.cut(levels, [part.attributes[name].axis for name in names], part.choice.k)
    shifts = records * np.arange(trials)[:, np.newaxis]
    rows = (blocks.rows + shifts).ravel()
    starts = np.append((blocks.starts[:-1] + shifts).ravel(), records * trials)
    repeated = Blocks(rows, starts)
    values = [
        part.attributes[name].draw(
            np.tile(levels[place], trials), repeated, part.choice.sensitivities[place], part.epsilons[place], source
        )
        for place, name in enumerate(names)
    ]
    each = np.stack(values, axis=-1).reshape(trials, part.choice.blocks, len(names))
    return np.repeat(each, np.diff(blocks.starts), axis=1)


def ours(order, mode="records", *, shuffled=False, factor=1):
    def sampler(case, data, trials, rng):
        declared = {f"x{place}": UNIT for place in range(data.shape[1])}
        epsilon = factor * Fraction(str(case.epsilon))
        params = Params(epsilon=epsilon, adjacency="replace", k=case.k, order=order, mode=mode)
        source = seeded(int(rng.integers(2**32)))
        parts = settle(params, declared, len(data))
        columns = iter(np.split(data, data.shape[1], axis=1))
        pieces = []
        for part in parts:
            own = np.concatenate(list(itertools.islice(columns, len(part.attributes))), axis=1)
            rows = released_blocks(part, own, trials, source)
            if shuffled:
                places = rng.permuted(np.tile(np.arange(len(data)), (trials, 1)), axis=1)
                rows = np.take_along_axis(rows, places[:, :, np.newaxis], axis=1)
            pieces.append(rows)
        return np.concatenate(pieces, axis=2)

    return sampler


SAMPLERS = {
    "own row": (OWN_ROW, ours("natural", shuffled=True)),
    "lower block": (LOWER_BLOCK, ours("natural")),
    "smallest rows": (SMALLEST_ROWS, ours("natural", shuffled=True)),
    "corner chain": (CORNER_CHAIN, ours("corner")),
    "corner chain, corners in turn": (CORNER_CHAIN, ours("corners_in_turn")),
    "corner chain, snake": (CORNER_CHAIN, ours("snake")),
    "every attribute": (EVERY_ATTRIBUTE, ours("snake")),
    "every attribute, lexicographic": (EVERY_ATTRIBUTE, ours("lexicographic")),
    "rows of marginals": (RANKED_ROWS, ours("natural", "marginals", shuffled=True)),
    "rows of records": (RANKED_ROWS, ours("snake", shuffled=True)),
}


@pytest.mark.parametrize(
    "name", telling(SAMPLERS, "own row", "smallest rows", "corner chain", "every attribute", "rows of marginals")
)
def test_our_release_passes_where_the_thesis_is_caught(name):
    case, sampler = SAMPLERS[name]
    assert case.audited(sampler) <= case.epsilon


def test_every_pair_is_audited():
    assert {id(case) for case, _ in SAMPLERS.values()} == {id(case) for case in CASES.values()}


@pytest.mark.parametrize("case", [LOWER_BLOCK, EVERY_ATTRIBUTE])
def test_the_audit_notices_three_times_epsilon(case):
    """Blocks of ours with a third of the noise: the audit is sharp enough to see it on our own code."""
    order = "natural" if case is LOWER_BLOCK else "lexicographic"
    assert case.audited(ours(order, factor=3)) > case.epsilon


@pytest.mark.slow
def test_the_whole_mechanism_passes_from_columns_to_released_rows():
    """Every step from columns to shuffled rows, 1,500 releases on each neighbour; less is proven by fewer trials."""
    params = Params(epsilon=str(OWN_ROW.epsilon), adjacency="replace", k=OWN_ROW.k)
    source, counts = seeded(11), []
    for data in (OWN_ROW.first, OWN_ROW.second):
        releases = [protect({"x": data[:, 0]}, {"x": UNIT}, params, source).columns["x"] for _ in range(1500)]
        counts.append([sum(r[-1] <= 0 for r in releases), sum((r <= 0).sum() >= OWN_ROW.k for r in releases)])
    for first, second in zip(*counts, strict=True):
        assert lower_bound(int(first), int(second), 1500) <= OWN_ROW.epsilon
