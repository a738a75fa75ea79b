"""Risk that follows from the groups in which values were swapped or averaged.

Groups are secret: they come in from the mechanism on the confidential side and never leave it. Both
measures are exact and take the maximum over columns. A record without a value under `own_group` was
not protected and is not counted; every other record is.
"""

from __future__ import annotations

import numpy as np

from penstock.measures.asked import NOTHING, Asked
from penstock.measures.measurement import Measurement, MeasureUndefined
from penstock.measures.records.comparison import Comparison, labels_of
from penstock.measures.records.disclosure import value_probability
from penstock.measures.rows import keys
from penstock.measures.sorted_groups import grouping
from penstock.mechanisms.parallel import in_parallel

__all__ = ["average_risk", "own_value_probability"]

_MISSING = "records without a value under own_group are left out; otherwise missing is a value"


def average_risk(pair: Comparison) -> Measurement:
    """Return the expected share of records that an intruder links correctly by guessing inside the right group.

        max_i J_i / N_i,   J_i groups of column i among its N_i records

    A record of a group of g is found with probability 1/g; the mean of 1/g over records is J/N, at
    most 1/k and often less, because groups may be larger than k.

    Attacker: knows the group of every record and nothing more. Source: Soria-Comas, PhD thesis,
    chapter 3. Limits: says nothing of values that repeat inside a group; see own_value_probability. Where groups joined
    because of their values (`diversity`), whoever knows so may guess better, up to 1/k.
    """
    parts, fewest = {}, pair.records
    for name in _grouped_names(pair, "average_risk"):
        labels, _ = labels_of(pair, name)
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


def own_value_probability(pair: Comparison, asked: Asked = NOTHING) -> Measurement:
    """Return the largest probability that a record is released with its own value.

        max over columns, groups and values of c / g

    c is how often the value occurs among the g original values of the group: a uniform permutation
    hands a holder of the value one of the c copies with probability c/g. It is 1 where a whole group
    shares one value, whatever the size of the group.

    With `of: confidential` the same of every confidential column: one that was not permuted is looked at among the
    records of equal released quasi-identifiers, of which an intruder knows one to be the record's. Beside it stand the
    mean over records, and how often the most frequent value is right without the release.

    Attacker: knows the group of the record they look for, and that values were permuted uniformly
    inside groups; or its released quasi-identifiers, and that its confidential values are released. Limits: without
    `of`, for swapped columns only. Where values are noisy nothing is handed to anybody, and it is undefined. Groups of
    quasi-identifiers with other values in them tell the same to whoever knows these: see informed_linkage.
    """
    if asked.of == "confidential":
        return value_probability(pair)
    if not pair.permuted:
        raise MeasureUndefined.at(
            "own_value_probability",
            rule="needs values that were permuted inside groups",
            remedy="Use it with a mechanism that swaps, or ask of confidential columns (of: confidential).",
        )
    names = _grouped_names(pair, "own_value_probability")

    def share(name: str) -> tuple[float, int]:
        labels, rows = labels_of(pair, name)
        stored = pair.original[name]
        if stored.dtype.kind == "f" and (stored == 0).any():
            stored = stored + 0.0  # a holder of -0 may get a 0 for their own value
        return grouping(labels).largest_share(keys(stored, pair.declared[name], name)[rows]), len(labels)

    found = dict(zip(names, in_parallel(share, names), strict=True))
    parts = {name: largest for name, (largest, _) in found.items()}
    fewest = min(records for _, records in found.values())
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


def _grouped_names(pair: Comparison, measure: str) -> list[str]:
    """Return the judged columns that have groups."""
    names = [name for name in pair.names if name in (pair.groups or {})]
    if not names:
        raise MeasureUndefined.at(
            measure, rule="needs the groups of at least one judged column", remedy="Use it with a mechanism of groups."
        )
    return names
