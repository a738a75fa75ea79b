"""Soria-Comas 2013 (thesis), chapter 7: its worked examples, and where its recipe for the counts fails."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import numpy as np

from penstock.mechanisms.closeness import Params, protect
from penstock.mechanisms.closeness._allotment import allot, cut_points, group_number, within_limits
from penstock.mechanisms.closeness._assigned import bucket_table, value_table
from penstock.mechanisms.closeness._cuts import Buckets, bucketed
from penstock.mechanisms.columns import Column
from penstock.mechanisms.randomness import seeded

# Table 7.5: the group of the twelve records in the order of their values, four to a bucket.
GROUPS = np.array([2, 1, 1, 3, 2, 3, 1, 2, 3, 3, 1, 2]) - 1
BUCKETS = np.repeat([0, 1, 2], 4)
# The lower half of Table 7.5: for each group its buckets.
PRINTED = {1: [1, 1, 2, 3], 2: [1, 2, 2, 3], 3: [1, 2, 3, 3]}

PROBLEMS = ("chest pain", "hypertension", "obesity", "shortness of breath")
# Table 7.2 in its order: ethnicity, sex, problem.
MEDICAL = [
    ("asian", "female", "hypertension"),
    ("asian", "female", "obesity"),
    ("asian", "male", "chest pain"),
    ("black", "male", "hypertension"),
    ("black", "male", "shortness of breath"),
    ("black", "female", "obesity"),
    ("white", "male", "chest pain"),
    ("white", "male", "obesity"),
    ("white", "female", "shortness of breath"),
]
ETHNICITY = Column(role="quasi_identifier", type="nominal", categories=("asian", "black", "white"))
SEX = Column(role="quasi_identifier", type="nominal", categories=("female", "male"))
PROBLEM = Column(role="confidential", type="nominal", categories=PROBLEMS)


def counts_of(groups: np.ndarray, buckets: np.ndarray) -> np.ndarray:
    return np.bincount(groups * 3 + buckets, minlength=9).reshape(3, 3)


def achieved(counts: np.ndarray) -> Fraction:
    total = int(counts.sum())
    shares = [
        Fraction(int(counts[i, j]) * total, int(counts[i].sum()) * int(counts[:, j].sum()))
        for i in range(counts.shape[0])
        for j in range(counts.shape[1])
    ]
    return max(*shares, *(1 / share for share in shares))


def test_twelve_records_in_three_groups_are_three_halves_close() -> None:
    """Section 7.2. t = 2, which makes three buckets, gives the counts of Figure 7.5; they also keep 3/2."""
    assert group_number([4, 4, 4], 4, Fraction(2)) == 3
    counts = allot([4, 4, 4], 3, Fraction(2))
    assert counts.tolist() == [[2, 1, 1], [1, 2, 1], [1, 1, 2]]
    assert achieved(counts) == Fraction(3, 2)


def test_figure_7_5_as_printed_is_three_halves_close_and_no_closer() -> None:
    """The upper half of Table 7.5 puts records 1, 5, 8, 12 into the second group, and so on."""
    printed = np.array([np.bincount(np.array(row) - 1, minlength=3) for row in PRINTED.values()])
    assert achieved(printed) == Fraction(3, 2)
    assert within_limits(printed, [4, 4, 4], Fraction(3, 2))
    assert not within_limits(printed, [4, 4, 4], Fraction(149, 100))
    assert counts_of(GROUPS, BUCKETS).tolist() == printed.tolist()


def test_table_7_5_comes_out_as_anatomy() -> None:
    income = Column(role="confidential", type="continuous", domain=(0, 13))
    buckets = bucketed({"c": np.arange(1.0, 13)}, {"c": income}, ("c",), 3, 2, "domain", seeded(1))
    assert buckets.of_row.tolist() == BUCKETS.tolist()
    table = bucket_table("group", GROUPS, buckets, {"c": income})
    listed = {key: [] for key in PRINTED}
    for group, bucket, records in zip(
        *(table.columns[name].tolist() for name in ("group", "c", "records")), strict=True
    ):
        listed[group] += [bucket + 1] * records
    assert listed == PRINTED


def test_table_7_4_comes_out_as_anatomy() -> None:
    """Groups by ethnicity; each problem is listed with its group and not with its record."""
    labels = np.repeat([0, 1, 2], 3)
    codes = PROBLEM.codes(np.array([row[2] for row in MEDICAL], object), "problem")
    table = value_table("group", labels, {"problem": codes}, {"problem": PROBLEM})
    listed = {
        group: {PROBLEMS[code] for code in table.columns["problem"][table.columns["group"] == group]}
        for group in (1, 2, 3)
    }
    assert listed == {
        1: {"hypertension", "obesity", "chest pain"},
        2: {"hypertension", "shortness of breath", "obesity"},
        3: {"chest pain", "obesity", "shortness of breath"},
    }


def test_the_medical_records_have_two_buckets_of_problems() -> None:
    """The chapter leaves nominal attributes open. Four problems of 2 or 3 records make no three buckets of three."""
    columns = {
        "ethnicity": np.array([row[0] for row in MEDICAL], object),
        "sex": np.array([row[1] for row in MEDICAL], object),
        "problem": np.array([row[2] for row in MEDICAL], object),
    }
    declared = {"ethnicity": ETHNICITY, "sex": SEX, "problem": PROBLEM}
    found = protect(columns, declared, Params(method="buckets", output="anatomy", t="2", k=3), seeded(1))
    assert np.bincount(found.groups["problem"]).tolist() == [3, 3, 3]
    labels = found.linked["buckets"].declared["problem"].categories or ()
    assert len(labels) == 2
    assert sorted(category for label in labels for category in str(label).split(" | ")) == sorted(PROBLEMS)


def test_the_printed_recipe_for_counts_misses_t() -> None:
    """Section 7.2.2 fills each bucket but its own with ceil(k_i p_j / t); t = 2, N = 17, l = 1 gives more than 2."""
    records, t = 17, Fraction(2)
    sizes, buckets = np.diff(cut_points(records, 3)), np.diff(cut_points(records, 3))
    printed = np.zeros((3, 3), np.int64)
    for i in range(3):
        for j in range(3):
            printed[i, j] = ceil(Fraction(int(sizes[i] * buckets[j]), records) / t)
        printed[i, i] = sizes[i] - (printed[i].sum() - printed[i, i])
    assert achieved(printed) == Fraction(51, 25)  # 2.04
    exact = allot(buckets.tolist(), 3, t)
    assert achieved(exact) <= t


def test_infinite_without_buckets() -> None:
    """Section 7.2, after Proposition 10: of raw values most are absent from a group, and the ratio has no bound."""
    raw = Buckets(np.arange(12), {"c": tuple(map(str, range(12)))}, {"c": np.arange(12)})
    assert group_number(raw.sizes, 4, Fraction(100)) is None
