"""Measures of groups with buckets.

risk       closeness_after, closeness_ratio, smallest_group, l_diversity, narrowest_bucket
           anonymity.py    average_risk: the same as of swapped records
utility    bucket_width, quasi_identifier_loss

The value is that of the worst column, and by_column tells them apart; columns that are in buckets together, or
have their groups together, share theirs. All but quasi_identifier_loss are computed in whole numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from penstock.measures.asked import Asked
from penstock.measures.groups._counts import counts_of, largest_after, largest_ratio, numbered
from penstock.measures.groups._labels import read_labels
from penstock.measures.groups._loss import share_inside_groups
from penstock.measures.groups._promise import Part, Promise, read_promise
from penstock.measures.groups.output import BucketOutput
from penstock.measures.measurement import Direction, Measurement, MeasureUndefined
from penstock.measures.records import anonymity
from penstock.measures.records.comparison import compare
from penstock.measures.rows import keys
from penstock.measures.sorted_groups import grouping
from penstock.mechanisms.columns import Declared
from penstock.mechanisms.numbers.rounding import not_above, not_below
from penstock.mechanisms.refusal import Fault

__all__ = [
    "average_risk",
    "bucket_width",
    "closeness_after",
    "closeness_ratio",
    "knows_a_number",
    "l_diversity",
    "narrowest_bucket",
    "quasi_identifier_loss",
    "smallest_group",
]

Integers = NDArray[np.int64]
_NO_MISSING = "a missing value is in no bucket, and none is released"
_EVERYBODY = "every record counts"


def closeness_ratio(output: BucketOutput) -> Measurement:
    """Return how far the share of a bucket in a group is from its share of all records, as a factor.

        max over columns, groups i and buckets j of  max(c_ij N / (k_i n_j), k_i n_j / (c_ij N))

    c_ij records of group i are in bucket j, k_i in the group, n_j in the bucket, N in all. It is what t-closeness by
    ratios limits by t, counted on the output; a gate can ask for less than t. Rounded up.

    Attacker: knows the group of a record and the published shares, and nothing of other members. Source: Soria-Comas
    2013 (thesis), chapter 7. Limits: says nothing of values inside a bucket, and is no differential privacy;
    whoever knows all members of a group but one knows the last.
    """
    promise = _with_buckets(output, "closeness_ratio")
    parts: dict[str, float] = {}
    for part in promise.parts:
        number, _ = numbered(_buckets(output, promise, part))
        ratio = largest_ratio(counts_of(_group(output, part), number))
        if ratio is None:
            raise MeasureUndefined.at(
                "closeness_ratio", rule="needs every bucket in every group", remedy="Report this defect."
            )
        parts |= dict.fromkeys(part.columns, not_below(ratio))
    attacker = "knows the group of the record and the published shares, nothing of other members"
    return _measured(output, "closeness_ratio", "lower_is_safer", parts, _NO_MISSING, attacker)


def closeness_after(output: BucketOutput, asked: Asked) -> Measurement:
    """Return closeness_ratio for an intruder who knows the buckets of `knows` other members of a group.

        max over columns, groups i and buckets j of
        max(min(c_ij, k_i - r) N / ((k_i - r) n_j), (k_i - r) n_j / ((c_ij - r) N)),   r known members

    with c_ij, k_i, n_j and N as in closeness_ratio, which is the value for r = 0. Whichever members are known: the
    first where all of them are in other buckets, the second where all are in this one. Counted on the output, rounded
    up. There is no value from r = min c_ij on: a bucket may then be excluded with certainty, and such a gate refuses.

    Attacker: knows which records share a group, the published shares, and the buckets of r of these records. Source:
    Soria-Comas 2013 (thesis), 7.3.2, for the attacker; the formula is ours, with its proof in closeness.md. Limits:
    says nothing of an intruder who knows how groups were formed; where groups are secret it is a bound.
    """
    promise = _with_buckets(output, "closeness_after")
    known = asked.knows
    if not isinstance(known, int):
        raise MeasureUndefined.at("closeness_after.knows", rule="must be a number of members", remedy="Write a number.")
    parts: dict[str, float] = {}
    for part in promise.parts:
        number, _ = numbered(_buckets(output, promise, part))
        factor = largest_after(counts_of(_group(output, part), number), known)
        if factor is None:
            raise MeasureUndefined.at(
                "closeness_after",
                rule="must be about fewer known members than every group has of every bucket: else a bucket may be "
                "excluded with certainty, and there is no factor",
                got=known,
                remedy="Lower knows, or raise k.",
            )
        parts |= dict.fromkeys(part.columns, not_below(factor))
    attacker = (
        f"knows who shares the group of the record, the published shares, and the buckets of {known} others of it"
    )
    return _measured(output, "closeness_after", "lower_is_safer", parts, _NO_MISSING, attacker)


def knows_a_number(asked: Asked, declared: Declared) -> Iterator[Fault]:
    """Yield a fault where a gate names columns: this attacker knows members of a group."""
    if isinstance(asked.knows, tuple):
        yield Fault("knows", "must be a number of members of a group", "Write a number.", ", ".join(asked.knows))


def smallest_group(output: BucketOutput) -> Measurement:
    """Return the fewest records of a group.

        min over columns and groups i of k_i

    Attacker: knows all quasi-identifiers of a record, and so its group. Source: Samarati & Sweeney 1998. Limits: says
    nothing of what the members have in common; see l_diversity.
    """
    parts = {
        name: float(np.bincount(_group(output, part)).min())
        for part in read_promise(output).parts
        for name in part.columns
    }
    attacker = "knows all quasi-identifiers of the record"
    return _measured(output, "smallest_group", "higher_is_safer", parts, _EVERYBODY, attacker)


def l_diversity(output: BucketOutput) -> Measurement:
    """Return the fewest different buckets in a group; where values are published by group, the fewest different values.

        min over columns and groups i of |{j : c_ij > 0}|

    Attacker: knows the group of a record, and that some value in it is not the one. Source: Machanavajjhala,
    Kifer, Gehrke & Venkitasubramaniam 2007, distinct l-diversity. Limits: different is not far apart, and a bucket
    may hold nearly the whole group; closeness_ratio looks at shares. Columns in buckets together count together.
    """
    promise = read_promise(output)
    parts = {}
    for part in promise.parts:
        groups = grouping(_group(output, part))
        if promise.method == "buckets":
            buckets = numbered(_buckets(output, promise, part))[0]
            by_column = dict.fromkeys(part.columns, buckets)
        else:
            by_column = {name: _values(output, name) for name in part.columns}
        for name, held in by_column.items():
            blocks = groups.matrices(groups.sorted(held))
            parts[name] = float(min(1 + int((block[:, 1:] != block[:, :-1]).sum(axis=1).min()) for block in blocks))
    missing = _NO_MISSING if promise.method == "buckets" else "missing is a value"
    return _measured(
        output, "l_diversity", "higher_is_safer", parts, missing, "knows the group of the record and excludes values"
    )


def narrowest_bucket(output: BucketOutput) -> Measurement:
    """Return the narrowest label as a share of what was declared.

        min over columns and buckets that occur of  (high - low) / (width of the domain),   for categories
        (m - 1) / (C - 1), m of the C declared ones

    Attacker: knows the bucket of a record and reads its label. Source: ours. Limits: read from the label, which is
    rounded outwards; says nothing of how values lie inside. 0 where a bucket is a single value. Rounded down.
    """
    parts = {name: min(width for width, _ in widths) for name, widths in _widths(output, "narrowest_bucket")}
    return _measured(
        output,
        "narrowest_bucket",
        "higher_is_safer",
        {name: not_above(width) for name, width in parts.items()},
        _NO_MISSING,
        "knows the bucket of the record and reads its label",
    )


def bucket_width(output: BucketOutput) -> Measurement:
    """Return the mean width of the label that a record gets, as a share of what was declared.

        max over columns of  sum_j n_j width_j / N,   width_j as of narrowest_bucket

    Source: the loss metric of Iyengar 2002, of labels instead of generalised keys. Limits: tells how coarse values
    became, not which bucket belongs to which record.
    """
    parts = {
        name: float(sum(width * records for width, records in widths) / output.records)
        for name, widths in _widths(output, "bucket_width")
    }
    return _measured(output, "bucket_width", "lower_is_better", parts, _NO_MISSING)


def quasi_identifier_loss(output: BucketOutput) -> Measurement:
    """Return how much of the variation of the quasi-identifiers lies inside groups.

        max over partitions of  SSE inside groups / SSE in all,   0 where all records are alike

    on coordinates (x - low) / (high - low) of numbers, code / (C - 1) of ordinal and e_code / sqrt(2) of nominal
    categories. Near 0 members of a group are alike, and what is known of a group is known of its records; near 1
    groups are random. Source: Domingo-Ferrer & Mateo-Sanz 2002, SSE/SST. Limits: quasi-identifiers are released
    as they are, so it is the loss of their association with the buckets, not of their values.
    """
    shares = {part: share_inside_groups(output, _group(output, part)) for part in read_promise(output).parts}
    parts = {name: share for part, share in shares.items() for name in part.columns}
    missing = "a missing category is one more; a missing number is refused"
    return _measured(output, "quasi_identifier_loss", "lower_is_better", parts, missing)


def average_risk(output: BucketOutput) -> Measurement:
    """See penstock.measures.records.anonymity.average_risk; groups are those of the confidential columns."""
    columns = {name: output.original[name] for name in read_promise(output).columns}
    return anonymity.average_risk(compare(columns, columns, output.source, output.groups))


def _with_buckets(output: BucketOutput, measure: str) -> Promise:
    promise = read_promise(output)
    if promise.method != "buckets":
        raise MeasureUndefined.at(measure, rule="needs buckets", remedy="Use it with method buckets.")
    return promise


def _group(output: BucketOutput, part: Part) -> Integers:
    group = output.group_of(part.columns[0])
    if group is None:
        raise MeasureUndefined.at(
            part.columns[0], rule="must have one group for every record, numbered from 0", remedy="Pass the groups."
        )
    return group


def _buckets(output: BucketOutput, promise: Promise, part: Part) -> list[Integers]:
    found = []
    for name in part.columns:
        codes = output.bucket_of(name, promise.published(output, part, name))
        if codes is None:
            raise MeasureUndefined.at(
                name, rule="must have one published bucket for every record", remedy="Pass the buckets."
            )
        found.append(codes)
    return found


def _values(output: BucketOutput, name: str) -> Integers:
    stored = output.original[name]
    return keys(stored + 0.0 if stored.dtype.kind == "f" else stored, output.source[name], name)  # -0 is 0


def _widths(output: BucketOutput, measure: str) -> Iterator[tuple[str, list[tuple[Fraction, int]]]]:
    """Yield for each column the width and the number of records of every bucket that occurs."""
    promise = _with_buckets(output, measure)
    for part in promise.parts:
        for name, codes in zip(part.columns, _buckets(output, promise, part), strict=True):
            published, column = promise.published(output, part, name), output.source[name]
            labels = read_labels(published.categories or () if published else (), column)
            widths = []
            for label, records in zip(labels, np.bincount(codes, minlength=len(labels)).tolist(), strict=True):
                if label is None:
                    raise MeasureUndefined.at(
                        name, rule="must have labels that can be read", remedy="Report this defect."
                    )
                if records:
                    widths.append((label.width(column), records))
            yield name, widths


def _measured(
    output: BucketOutput,
    name: str,
    direction: Direction,
    parts: dict[str, float],
    missing: str,
    attacker: str = "",
) -> Measurement:
    worst = min if direction == "higher_is_safer" else max
    return Measurement(
        name=name,
        value=worst(parts.values()),
        direction=direction,
        n=output.records,
        columns=tuple(parts),
        by_column=parts,
        attacker=attacker,
        missing=missing,
    )
