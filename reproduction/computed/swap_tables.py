"""What chapter 3 of the thesis compares: correlations after MDAV-ID, MDAV-SWAP and IR-SWAP. Reproduction, no guarantee.

    MDAV-ID     every attribute becomes the mean of its group, groups by MDAV on all attributes                   (1)
    MDAV-SWAP   for each confidential attribute in turn: groups by MDAV on all the others, as they are by then, and a
                uniform permutation of the attribute inside each group                                            (2)
    IR-SWAP     for each confidential attribute: blocks of k along its sorted values, cut from both ends, and a
                uniform permutation inside each block                                                             (3)
    |r' - r|    over all entries i <= j of the correlations where j is confidential, those of the diagonal too     (4)

Nothing is scaled. Source: Soria-Comas 2013 (thesis), sections 3.3 and 3.4, Tables 3.6 to 3.11. The source leaves open
whether the groups of (2) are taken before or after the attributes before it are exchanged, where the larger block of
(3) lies, and which entries are averaged in (4). What stands here was chosen because it alone comes near the print;
MDAV-ID on EIA, where no chance is involved, agrees in all 18 numbers.

Why (2) is no release: the groups of one attribute depend on another, and no proof is known that an intruder who
knows all the others learns no more than a group of k. With groups on the unexchanged file there is a counter-example:
A_1 = (1, 3, 2, 5, 4, 6), A_2 = (1, 2, 3, 4, 5, 6), k = 2, where what is released of A_2 shows its groups, which are
those of A_1, and so tells A_1 with certainty in three releases of four (linkage_examples).
(1) and (3) are releases of `mdav_id` and `ir_swap`, and are recomputed here on bare arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.microaggregation import mdav
from penstock.mechanisms.microaggregation.centroids import grouped
from penstock.mechanisms.microaggregation.ranking import from_both_ends, ranked_blocks
from penstock.mechanisms.parallel import in_parallel
from penstock.mechanisms.permutation import permute_within
from penstock.mechanisms.randomness import Randomness
from penstock.reproduction.computed.record_wise_laplace import group_means

__all__ = [
    "correlations",
    "exchanged_in_blocks",
    "exchanged_in_sequence",
    "exchanged_together",
    "means_of_all",
    "moments_of_changes",
    "over_runs",
]

Table = NDArray[np.float64]


def correlations(values: Table, first: int) -> Table:
    """Return the entries i <= j of the correlations, row by row, where j is confidential: from column `first` on."""
    columns = values.shape[1]
    places = [(i, j) for i in range(columns) for j in range(max(i, first), columns)]
    found: Table = np.asarray(np.corrcoef(values, rowvar=False))[tuple(np.transpose(places))]
    return found


def moments_of_changes(before: Table, after: Table) -> Table:
    """Return mean and standard deviation of (4) in the last axis."""
    changes = np.abs(after - before)
    return np.stack([changes.mean(axis=-1), changes.std(axis=-1)], axis=-1)


def means_of_all(values: Table, k: int) -> Table:
    """(1)."""
    return group_means(values, mdav(values, k))


def exchanged_in_sequence(values: Table, first: int, k: int, randomness: Randomness) -> Table:
    """(2)."""
    exchanged = values.copy()
    for place in range(first, values.shape[1]):
        rows, starts = grouped(mdav(np.delete(exchanged, place, axis=1), k))
        exchanged[rows, place] = values[permute_within(rows, starts, randomness), place]
    return exchanged


def exchanged_together(values: Table, first: int, k: int, randomness: Randomness) -> Table:
    """Exchange whole confidential tuples inside groups on the quasi-identifiers, as for an uninformed intruder."""
    exchanged = values.copy()
    rows, starts = grouped(mdav(values[:, :first], k))
    exchanged[rows, first:] = values[permute_within(rows, starts, randomness), first:]
    return exchanged


def exchanged_in_blocks(values: Table, first: int, k: int, randomness: Randomness) -> Table:
    """(3)."""
    exchanged = values.copy()
    starts = from_both_ends(len(values), k)
    for place in range(first, values.shape[1]):
        rows, _ = ranked_blocks(values[:, place], k, randomness)
        exchanged[rows, place] = values[permute_within(rows, starts, randomness), place]
    return exchanged


def over_runs(
    exchange: Callable[[Table, int, int, Randomness], Table],
    values: Table,
    first: int,
    k: int,
    runs: int,
    randomness: Randomness,
) -> Table:
    """Return the correlations after each of several runs, one row a run."""

    def run(stream: Any) -> Table:
        return correlations(exchange(values, first, k, stream), first)

    return np.stack(in_parallel(run, randomness.streams(runs)))
