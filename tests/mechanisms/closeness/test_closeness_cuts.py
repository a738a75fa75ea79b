from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.mechanisms.closeness._allotment import cut_points
from penstock.mechanisms.closeness._cuts import bucketed, category_buckets
from penstock.mechanisms.columns import Column
from penstock.mechanisms.randomness import seeded

INCOME = Column(role="confidential", type="continuous", domain=(0, 1000))
DEGREE = Column(role="confidential", type="ordinal", categories=("none", "school", "college"))
TREE = {
    **{leaf: ["ab"] for leaf in ("a1", "a2", "b1")},
    **{leaf: ["cd"] for leaf in ("c1", "c2", "d1")},
    "ab": ["all"],
    "cd": ["all"],
    "all": [],
}


@given(st.lists(st.integers(0, 30), min_size=6, max_size=80), st.integers(2, 5), st.integers(0, 2**32))
@settings(deadline=None)
def test_sorted_values_are_cut_into_equal_runs(drawn: list[int], b: int, seed: int) -> None:
    values = np.array(drawn, float)
    found = bucketed({"income": values}, {"income": INCOME}, ("income",), b, 2, "domain", seeded(seed))
    ends = [tuple(map(float, (label.split(" to ") * 2)[:2])) for label in found.labels["income"]]
    assert ends == sorted(ends)
    for value, place in zip(values, found.places["income"][found.of_row], strict=True):
        low, high = ends[place]
        assert low <= value <= high
    if len(ends) == b:  # no two have the same label
        assert sorted(found.sizes) == sorted(np.diff(cut_points(len(values), b)).tolist())


def test_buckets_of_one_and_the_same_value_are_one_bucket() -> None:
    values = np.array([0.0] * 70 + [5.0] * 30)
    found = bucketed({"income": values}, {"income": INCOME}, ("income",), 4, 10, "domain", seeded(1))
    assert found.labels["income"] == ("0", "0 to 1000", "5 to 1000")
    assert found.sizes == [50, 25, 25]
    constant = bucketed({"income": values[:70]}, {"income": INCOME}, ("income",), 4, 10, "domain", seeded(1))
    assert constant.sizes == [70]


def test_more_buckets_than_records_leave_none_empty() -> None:
    found = bucketed({"income": np.arange(3.0)}, {"income": INCOME}, ("income",), 7, 2, "domain", seeded(1))
    assert all(size > 0 for size in found.sizes)


def test_text_and_codes_of_ordinal_categories_are_the_same() -> None:
    codes = np.array([0, 0, 1, 1, 2, 2])
    text = np.array(DEGREE.categories, object)[codes]
    for values in (codes, text):
        found = bucketed({"degree": values}, {"degree": DEGREE}, ("degree",), 3, 2, "domain", seeded(1))
        assert found.labels["degree"] == ("none", "school", "college")
        assert found.of_row.tolist() == codes.tolist()


def sum_of_squares(sizes: np.ndarray, bucket: np.ndarray) -> int:
    return int((np.bincount(bucket, weights=sizes) ** 2).sum())


@given(st.lists(st.integers(0, 9), min_size=6, max_size=6).filter(any), st.integers(2, 4))
def test_runs_of_a_taxonomy_are_as_equal_as_runs_can_be(sizes: list[int], b: int) -> None:
    column = Column(role="confidential", type="nominal", taxonomy=TREE)
    categories = list(map(str, column.categories or ()))
    codes = np.repeat(np.arange(6), sizes)
    bucket = category_buckets(column, codes, b, 1)[codes]
    order = [categories.index(leaf) for leaf in ("a1", "a2", "b1", "c1", "c2", "d1")]
    in_order = np.array(sizes)[order]
    of_category = {code: int(bucket[codes == code][0]) for code in range(6) if sizes[code]}
    along = [of_category[code] for code in order if code in of_category]
    assert along == sorted(along)
    wanted = min(b, int(np.count_nonzero(sizes)))
    assert len(set(along)) == wanted
    best = min(
        sum(int(in_order[i:j].sum()) ** 2 for i, j in itertools.pairwise((0, *cuts, 6)))
        for cuts in itertools.combinations(range(1, 6), wanted - 1)
        if all(in_order[i:j].sum() for i, j in itertools.pairwise((0, *cuts, 6)))
    )
    assert sum(size**2 for size in np.bincount(bucket).tolist()) == best


def test_of_equal_runs_those_that_keep_concepts_whole_are_taken() -> None:
    column = Column(role="confidential", type="nominal", taxonomy=TREE)
    categories = list(map(str, column.categories or ()))
    sizes = {"a1": 2, "a2": 2, "b1": 0, "c1": 0, "c2": 2, "d1": 2}
    codes = np.repeat(np.arange(6), [sizes[category] for category in categories])
    found = bucketed({"kind": codes}, {"kind": column}, ("kind",), 2, 2, "domain", seeded(1))
    assert set(found.labels["kind"]) == {"ab", "cd"}


@given(st.lists(st.integers(0, 30), min_size=2, max_size=8).filter(any), st.integers(2, 4))
def test_categories_without_a_taxonomy_are_spread_over_equal_buckets(sizes: list[int], b: int) -> None:
    column = Column(role="confidential", type="nominal", categories=tuple(f"c{i}" for i in range(len(sizes))))
    codes = np.repeat(np.arange(len(sizes)), sizes)
    bucket = category_buckets(column, codes, b, 1)[codes]
    for code in np.unique(codes):
        assert len(set(bucket[codes == code].tolist())) == 1
    # Graham 1969: the largest bucket is at most 4/3 - 1/(3b) of the best, which is at least the mean and the largest.
    assert np.bincount(bucket).max() <= (4 / 3) * max(sum(sizes) / b, max(sizes)) + max(sizes) / 3


def test_several_columns_together_make_clusters_of_equal_size_with_a_label_for_each() -> None:
    chance = np.random.default_rng(3)
    centre = np.repeat([[100.0, 0], [500, 1], [900, 2]], 40, axis=0)
    columns = {"income": centre[:, 0] + chance.uniform(-50, 50, 120), "degree": centre[:, 1].astype(np.int64)}
    declared = {"income": INCOME, "degree": DEGREE}
    found = bucketed(columns, declared, ("income", "degree"), 3, 5, "domain", seeded(1))
    assert found.sizes == [40, 40, 40]
    assert [set(found.of_row[i : i + 40].tolist()) for i in (0, 40, 80)] != [{0, 1, 2}] * 3
    assert all(len(set(found.of_row[i : i + 40].tolist())) == 1 for i in (0, 40, 80))
    assert found.labels["degree"] == ("none", "school", "college")
    assert len(set(zip(found.places["income"].tolist(), found.places["degree"].tolist(), strict=True))) == 3


def test_labels_are_listed_by_what_they_say_and_not_by_values_inside() -> None:
    """Clusters whose intervals are the same below differ in where they end; the smallest member decides nothing."""
    chance = np.random.default_rng(8)
    columns = {"income": chance.uniform(0, 1000, 300), "degree": chance.integers(0, 3, 300)}
    found = bucketed(columns, {"income": INCOME, "degree": DEGREE}, ("income", "degree"), 6, 40, "domain", seeded(1))
    ends = [tuple(float(end) for end in label.split(" to ")) for label in found.labels["income"]]
    assert ends == sorted(ends)


def test_no_nominal_bucket_has_fewer_than_k_records_and_labels_hold_what_does_not_occur() -> None:
    column = Column(role="confidential", type="nominal", categories=("flu", "cold", "hiv", "gout"))
    codes = np.repeat([0, 1, 2], [149, 149, 2])
    found = bucketed({"cause": codes}, {"cause": column}, ("cause",), 3, 10, "domain", seeded(1))
    assert sorted(found.sizes) == [149, 151]
    assert sorted(" | ".join(found.labels["cause"]).split(" | ")) == ["cold", "flu", "gout", "hiv"]
    alone = bucketed({"cause": codes[148:150]}, {"cause": column}, ("cause",), 3, 10, "domain", seeded(1))
    assert alone.labels["cause"] == ("flu | cold | hiv | gout",)


def test_of_several_columns_rare_categories_are_in_every_label() -> None:
    cause = Column(role="confidential", type="nominal", categories=("flu", "cold", "hiv"))
    chance = np.random.default_rng(1)
    columns = {"income": np.sort(chance.uniform(0, 1000, 120)), "cause": np.repeat([0, 1], 60)}
    columns["cause"][0] = 2
    found = bucketed(columns, {"income": INCOME, "cause": cause}, ("income", "cause"), 3, 10, "domain", seeded(1))
    assert all("hiv" in label for label in found.labels["cause"])


def test_numbers_of_joint_buckets_follow_their_labels() -> None:
    """Formed first is the farthest; two sources that differ inside a bucket only have the same buckets."""
    for place, value in ((0, 5.0), (32, 95.0)):
        values = np.repeat([20.0, 50.0, 80.0], 11)
        values[place] = value
        column = Column(role="confidential", type="continuous", domain=(0, 100))
        columns, declared = {"x": values, "y": values}, {"x": column, "y": column}
        found = bucketed(columns, declared, ("x", "y"), 3, 5, "domain", seeded(1))
        assert found.of_row.tolist() == np.repeat([0, 1, 2], 11).tolist()


def test_squares_are_added_up_exactly() -> None:
    column = Column(role="confidential", type="nominal", taxonomy=TREE)
    categories = list(map(str, column.categories or ()))
    sizes = {"a1": 499_985, "a2": 15, "b1": 0, "c1": 0, "c2": 15, "d1": 499_985}
    codes = np.repeat(np.arange(6), [sizes[category] for category in categories])
    assert np.bincount(category_buckets(column, codes, 2, 1)[codes]).tolist() == [500_000, 500_000]
