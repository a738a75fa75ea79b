"""Risk that follows from the groups in which values were swapped or averaged.

Groups are secret: they come in from the mechanism on the confidential side and never leave it. Both
measures are exact and take the maximum over columns. A record without a value under `own_group` was
not protected and is not counted; every other record is.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from measures.comparison import Comparison
from measures.measurement import Measurement, MeasureUndefined
from measures.rows import is_missing, keys, mixed

__all__ = ["average_risk", "own_value_probability"]

_Rows = NDArray[np.bool_] | slice

_MISSING = "records without a value under own_group are left out; otherwise missing is a value"


def average_risk(pair: Comparison) -> Measurement:
    """Expected share of records that an intruder links correctly by guessing inside the right group.

        max_i J_i / N_i,   J_i groups of column i among its N_i records

    A record of a group of g is found with probability 1/g; the mean of 1/g over records is J/N, at
    most 1/k and often less, because groups may be larger than k.

    Attacker: knows the group of every record and nothing more. Source: Soria-Comas, PhD thesis,
    chapter 3. Limits: says nothing of values that repeat inside a group; see own_value_probability.
    """
    parts, fewest = {}, pair.records
    for name, labels, _ in _grouped(pair, "average_risk"):
        parts[name] = int(np.count_nonzero(np.bincount(labels))) / len(labels)
        fewest = min(fewest, len(labels))
    return Measurement(
        name="average_risk",
        value=max(parts.values()),
        direction="lower_is_safer",
        n=fewest,
        columns=tuple(parts),
        by_column=parts,
        attacker="knows the group of every record, guesses inside it",
        missing=_MISSING,
    )


def own_value_probability(pair: Comparison) -> Measurement:
    """Largest probability that a record is released with its own value.

        max over columns, groups and values of c / g

    c is how often the value occurs among the g original values of the group: a uniform permutation
    hands a holder of the value one of the c copies with probability c/g. It is 1 where a whole group
    shares one value, whatever the size of the group.

    Attacker: knows the group of the record they look for, and that values were permuted uniformly
    inside groups. Limits: meaningful for swapped columns; for averaged ones it only tells how alike
    the members of a group are.
    """
    from measures.kernels import largest_share, rows_by_group

    parts, fewest = {}, pair.records
    for name, labels, rows in _grouped(pair, "own_value_probability"):
        stored = pair.original[name]
        if stored.dtype.kind == "f":
            stored = stored + 0.0  # a holder of -0 may get a 0 for their own value
        values = mixed([keys(stored, pair.declared[name], name)[rows]], len(labels))
        order, starts = rows_by_group(labels, int(labels.max()) + 1)
        parts[name] = largest_share(values, order, starts)
        fewest = min(fewest, len(labels))
    return Measurement(
        name="own_value_probability",
        value=max(parts.values()),
        direction="lower_is_safer",
        n=fewest,
        columns=tuple(parts),
        by_column=parts,
        attacker="knows the group of the record and that values were permuted uniformly inside it",
        missing=_MISSING,
    )


def _grouped(pair: Comparison, measure: str) -> Iterator[tuple[str, NDArray[np.int64], _Rows]]:
    """Name, labels and rows of every judged column that has groups, one at a time."""
    groups = pair.groups or {}
    names = [name for name in pair.names if name in groups]
    if not names:
        raise MeasureUndefined.at(
            measure, rule="needs the groups of at least one judged column", remedy="Use it with a mechanism of groups."
        )
    for name in names:
        labels = groups[name]
        if labels.dtype.kind not in "iu" or labels.shape != (pair.records,):
            raise MeasureUndefined.at(name, rule="one integer group label per record", remedy="Pass the groups.")
        if not 0 <= labels.min() <= labels.max() <= pair.records:
            raise MeasureUndefined.at(name, rule="group labels count from 0", remedy="Pass the groups.")
        column = pair.declared[name]
        rows: _Rows = slice(None)
        if column.missing == "own_group":
            rows = ~is_missing(pair.original[name], column, name)
            if not rows.any():
                raise MeasureUndefined.at(name, rule="needs a record with a value", remedy="Leave the column out.")
        yield name, np.array(labels[rows], np.int64), rows
