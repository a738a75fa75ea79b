"""Groups in which every confidential column has at least l different values.

    while a group has fewer than l different values of a column:
        the first such group joins the group of the record outside that is nearest to its centre

A group that has grown keeps all its values, so this ends, at the latest with one group of all records, and finds groups
wherever there are any: all records must have l different values of each column. No group becomes smaller.
Nearest and centre are those of penstock.mechanisms.microaggregation.space; ties go to the lowest row. Work is
proportional to n for every group that joins another.

Which groups join is a function of the given groups, of the space, and of the set of values that each given group holds:
a permutation of values inside the given groups changes nothing. A promise that lets values be permuted needs just that.

Source: l different values, Machanavajjhala et al. 2007 ("distinct l-diversity"), as Soria-Comas 2013 (thesis), section
3.3.1, suggests; how groups join is ours.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.microaggregation.centroids import grouped
from penstock.mechanisms.microaggregation.space import Space
from penstock.mechanisms.refusal import Refusal

__all__ = ["TooFewValues", "with_different_values"]


class TooFewValues(Refusal):
    """A column has fewer different values than every group of records is to have."""

    code = "too-few-values"
    kind = "data"
    remedy = "Lower the named setting, or leave the column out."


def with_different_values(
    labels: NDArray[np.int64], space: Space, confidential: Mapping[str, NDArray[np.int64]], least: int
) -> NDArray[np.int64]:
    """Return groups made of the given ones, with `least` values of each column: labels 0..J-1 in the given order.

    confidential: the values as codes, -1 where missing, which is no value.
    """
    for name, codes in confidential.items():
        if len(np.unique(codes[codes >= 0])) < least:
            raise TooFewValues.at(
                name, rule=f"needs at least diversity = {least} different values", remedy="Lower diversity."
            )
    order, starts = grouped(labels)
    rows = dict(enumerate(np.split(order, starts[1:-1])))
    columns = tuple(confidential.values())
    waiting = deque(label for label, members in rows.items() if _lacks(members, columns, least))
    joined = labels.copy()
    while waiting:
        label = waiting.popleft()
        if label not in rows or not _lacks(rows[label], columns, least):
            continue
        distances = space.squared_distances(space.centre(rows[label]))
        distances[rows[label]] = np.inf
        other = int(joined[int(distances.argmin())])
        kept, gone = min(label, other), max(label, other)
        rows[kept] = np.sort(np.concatenate((rows[kept], rows.pop(gone))))
        joined[rows[kept]] = kept
        waiting.appendleft(kept)
    found: NDArray[np.int64] = np.unique(joined, return_inverse=True)[1]
    return found


def _lacks(rows: NDArray[np.int64], columns: Sequence[NDArray[np.int64]], least: int) -> bool:
    """Return whether these records have too few different values of some column."""
    return any(len(np.unique(codes[rows][codes[rows] >= 0])) < least for codes in columns)
