from __future__ import annotations

import dataclasses
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.mechanisms.closeness import Params, promise, protect
from penstock.mechanisms.closeness._nearest import ClosenessInfeasible
from penstock.mechanisms.columns import Column
from penstock.mechanisms.points import points
from penstock.mechanisms.protected import Protected
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.refusal import TooFewRecords
from tests.support.order import examples

AGE = Column(role="quasi_identifier", type="integer", domain=(0, 120))
SEX = Column(role="quasi_identifier", type="nominal", categories=("m", "f"))
INCOME = Column(role="confidential", type="continuous", domain=(0, 100))
DEGREE = Column(role="confidential", type="ordinal", categories=("none", "school", "college", "master"))
CAUSE = Column(role="confidential", type="nominal", categories=("fall", "fire", "flood", "fault"))
KINDS = {
    "fall": ["own"],
    "fault": ["own"],
    "fire": ["fate"],
    "flood": ["fate"],
    "own": ["any"],
    "fate": ["any"],
    "any": [],
}
CONFIDENTIAL = {
    "income": INCOME,
    "degree": DEGREE,
    "cause": CAUSE,
    "kind": Column(role="confidential", type="nominal", taxonomy=KINDS),
}
law = settings(deadline=None, max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow])


def params(**chosen: Any) -> Params:
    return Params.model_validate({"method": "buckets", "output": "anatomy", "k": 3, **chosen})


def records(n: int, names: list[str], seed: int, *, ties: int) -> tuple[dict[str, Any], dict[str, Column]]:
    chance = np.random.default_rng(seed)
    declared = {"person": Column(role="identifier"), "age": AGE, **{name: CONFIDENTIAL[name] for name in names}}
    declared |= {"sex": SEX, "weight": Column(role="weight")}
    columns: dict[str, Any] = {
        "age": chance.integers(0, 121, n),
        "sex": chance.integers(0, 2, n),
        "weight": chance.uniform(1, 2, n),
    }
    for name in names:
        column = CONFIDENTIAL[name]
        if column.categories is None:
            columns[name] = np.floor(chance.random(n) * ties) * 100 / ties
        else:
            columns[name] = chance.integers(0, len(column.categories), n)
    return columns, declared


def shares_of(columns: list[Any], labels: Any) -> list[tuple[Fraction, Fraction]]:
    """Every group's share of every bucket, and that of all records, by the definition."""
    buckets = list(zip(*(column.tolist() for column in columns), strict=True))
    overall, total = Counter(buckets), len(buckets)
    found = []
    for group in set(labels.tolist()):
        members = Counter(bucket for bucket, label in zip(buckets, labels.tolist(), strict=True) if label == group)
        size = sum(members.values())
        found += [(Fraction(members[bucket], size), Fraction(count, total)) for bucket, count in overall.items()]
    return found


@given(st.data())
@law
def test_every_group_is_large_enough_and_within_t_of_the_whole(data: st.DataObject) -> None:
    names = data.draw(st.sampled_from([["income"], ["degree"], ["cause"], ["kind"], ["income", "cause"]]))
    several = data.draw(st.sampled_from(["joint", "each"])) if len(names) > 1 else None
    k, n = data.draw(st.integers(2, 9)), data.draw(st.integers(9, 150))
    bound = data.draw(
        st.one_of(
            st.fractions(Fraction(1, 20), 3, max_denominator=60).map(lambda x: {"epsilon": str(x)}),
            st.fractions(Fraction(11, 10), 9, max_denominator=60).map(lambda x: {"t": str(x)}),
        )
    )
    columns, declared = records(
        n, names, data.draw(st.integers(0, 2**32)), ties=data.draw(st.sampled_from([2, 7, 10**6]))
    )
    chosen = params(k=k, several=several, output=data.draw(st.sampled_from(["anatomy", "permuted"])), **bound)
    try:
        found = protect(columns, declared, chosen, seeded(data.draw(st.integers(0, 2**32))))
    except ClosenessInfeasible:
        return
    t = chosen.bound
    for part in [[name] for name in names] if several == "each" else [names]:
        labels = found.groups[part[0]]
        assert all(np.array_equal(found.groups[name], labels) for name in part)
        assert labels.shape == (n,)
        assert np.bincount(labels).min() >= k
        for inside, overall in shares_of([found.hidden[f"bucket {name}"] for name in part], labels):
            assert overall / t <= inside <= overall * t


@given(st.integers(0, 2**32), st.sampled_from(["joint", "each"]))
@law
def test_permuted_labels_are_those_of_the_group(seed: int, several: str) -> None:
    columns, declared = records(80, ["income", "cause"], seed, ties=20)
    found = protect(columns, declared, params(t="2", k=8, output="permuted", several=several), seeded(seed))
    assert list(found.columns) == ["age", "income", "cause", "sex", "weight"]
    for part in [["income", "cause"]] if several == "joint" else [["income"], ["cause"]]:
        labels = found.groups[part[0]]
        for group in set(labels.tolist()):
            inside = labels == group
            dealt = sorted(zip(*(found.columns[name][inside].tolist() for name in part), strict=True))
            own = sorted(zip(*(found.hidden[f"bucket {name}"][inside].tolist() for name in part), strict=True))
            assert dealt == own
    assert found.linked == {}
    assert set(found.made) == {"income", "cause"}


def test_anatomy_links_records_with_the_buckets_of_their_group() -> None:
    columns, declared = records(120, ["income"], 5, ties=10**6)
    found = protect(columns, declared, params(t="2", k=10), seeded(5))
    assert list(found.columns) == ["age", "sex", "weight", "group"]
    table = found.linked["buckets"]
    assert list(table.columns) == ["group", "income", "records"]
    recounted = Counter(zip(found.columns["group"].tolist(), found.hidden["bucket income"].tolist(), strict=True))
    rows = zip(*(table.columns[name].tolist() for name in ("group", "income", "records")), strict=True)
    assert [(key, bucket, count) for key, bucket, count in rows] == [
        (*key, recounted[key]) for key in sorted(recounted)
    ]
    assert found.made["group"].domain == (1, len(set(found.columns["group"].tolist())))


@pytest.mark.parametrize("output", ["anatomy", "permuted"])
def test_no_group_depends_on_values_inside_a_bucket(output: str) -> None:
    """The same words of chance, the same ranks, other values: all but the labels is the same."""
    columns, declared = records(200, ["income"], 7, ties=10**6)
    other = dict(columns, income=columns["income"] ** 2 / 100)
    ranks = np.argsort(columns["income"])
    half = ranks[:100]  # t = 3/2 makes two buckets
    shuffled = dict(columns, income=columns["income"].copy())
    shuffled["income"][half] = columns["income"][np.random.default_rng(1).permutation(half)]
    first, second, third = (
        protect(each, declared, params(t="3/2", k=7, output=output), seeded(3)) for each in (columns, other, shuffled)
    )
    for one in (second, third):
        assert np.array_equal(first.groups["income"], one.groups["income"])
        assert all(np.array_equal(values, one.columns[name]) for name, values in first.columns.items())


def loss(found: Protected, columns: dict[str, Any], declared: dict[str, Column]) -> float:
    """The spread of quasi-identifiers inside groups as a share of all of it."""
    places = points(columns, declared, ("age", "sex"), "domain")
    labels = found.groups["income"]
    inside = 0.0
    for group in range(labels.max() + 1):
        members = places[labels == group]
        inside += ((members - members.mean(axis=0)) ** 2).sum()
    return inside / float(((places - places.mean(axis=0)) ** 2).sum())


def test_groups_are_alike_in_their_quasi_identifiers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against records dealt to the same groups at random; measured 0.004 against 0.90."""
    columns, declared = records(2000, ["income"], 11, ties=10**6)
    alike = loss(protect(columns, declared, params(t="2", k=10), seeded(1)), columns, declared)
    from penstock.mechanisms.closeness import _assigned as assigned

    def at_random(places: Any, of_row: Any, counts: Any) -> Any:
        labels = np.empty(len(of_row), np.int64)
        for bucket in range(counts.shape[1]):
            labels[of_row == bucket] = np.repeat(np.arange(len(counts)), counts[:, bucket])
        return labels

    monkeypatch.setattr(assigned, "bucketed_groups", at_random)
    random = loss(protect(columns, declared, params(t="2", k=10), seeded(1)), columns, declared)
    assert random > 0.8
    assert alike < random / 8


def test_infeasible_requests_name_what_can_be_done() -> None:
    columns, declared = records(10, ["income"], 1, ties=10**6)
    with pytest.raises(ClosenessInfeasible) as refusal:
        protect(columns, declared, params(t="11/10", k=5), seeded(1))
    assert refusal.value.code == "closeness-infeasible"
    assert refusal.value.faults[0].remedy == "Use t = 1.25 with k = 5."
    protect(columns, declared, params(t="5/4", k=5), seeded(1))
    with pytest.raises(ClosenessInfeasible) as refusal:
        protect(columns, declared, params(t="3/2", k=6), seeded(1))
    assert refusal.value.faults[0].remedy == "Use k = 5 with t = 3/2."


def test_a_small_bucket_makes_large_groups() -> None:
    columns, declared = records(60, ["cause"], 1, ties=2)
    columns["cause"] = np.repeat([0, 1], [55, 5])
    found = protect(columns, declared, params(t="2", k=5), seeded(1))
    assert np.bincount(found.groups["cause"]).min() >= 6  # every group needs one of five
    columns["cause"] = np.repeat([0, 1], [56, 4])
    found = protect(columns, declared, params(t="2", k=5), seeded(1))
    assert found.linked["buckets"].declared["cause"].categories == ("fall | fire | flood | fault",)


def test_fewer_records_than_k_are_too_few() -> None:
    columns, declared = records(4, ["income"], 1, ties=10)
    for chosen in (params(t="2", k=5), params(method="ranked", k=5)):
        with pytest.raises(TooFewRecords):
            protect(columns, declared, chosen, seeded(1))


@pytest.mark.parametrize("names", [["income"], ["degree"], ["cause"], ["income", "cause"]])
def test_ranked_groups_publish_their_own_values_sorted(names: list[str]) -> None:
    columns, declared = records(53, names, 2, ties=30)
    chosen = params(method="ranked", k=7)
    found = protect(columns, declared, chosen, seeded(2))
    labels = found.groups[names[0]]
    assert np.bincount(labels).min() >= 7
    table = found.linked["values"]
    rows = list(zip(*(table.columns[name].tolist() for name in ("group", *names)), strict=True))
    assert rows == sorted(rows)
    own = zip((labels + 1).tolist(), *(columns[name].tolist() for name in names), strict=True)
    assert sorted(own) == rows
    assert not set(names) & set(found.columns)
    assert found.guarantee == promise(chosen, declared)


def test_ranked_groups_hold_neighbouring_values() -> None:
    columns, declared = records(70, ["income"], 4, ties=10**6)
    found = protect(columns, declared, params(method="ranked", k=10), seeded(4))
    spans = sorted(
        (columns["income"][found.groups["income"] == g].min(), columns["income"][found.groups["income"] == g].max())
        for g in range(7)
    )
    assert all(one[1] < other[0] for one, other in pairwise(spans))


def test_numbers_of_groups_are_random() -> None:
    """Of formation they would tell where a group lies: group 0 would be that of the farthest record."""
    columns, declared = records(60, ["income"], 9, ties=10**6)
    farthest = int(np.abs(columns["age"] - columns["age"].mean()).argmax())
    seen = {
        int(protect(columns, declared, params(t="2", k=6), seeded(seed)).groups["income"][farthest])
        for seed in range(20)
    }
    assert len(seen) > 4


def test_a_column_of_one_value_is_one_bucket() -> None:
    columns, declared = records(30, ["income"], 1, ties=1)
    found = protect(columns, declared, params(t="2", k=5, output="permuted"), seeded(1))
    assert dataclasses.asdict(found)["made"]["income"].categories == ("0 to 100",)
    assert found.made["income"].type == "nominal"


def test_the_signs_of_zeros_do_not_stand_in_the_order_of_the_source() -> None:
    declared = {"age": AGE, "income": INCOME}
    published = []
    for values in ([0.0, -0.0] * 10, [-0.0, 0.0] * 10):
        columns = {"age": np.arange(20), "income": np.array(values)}
        found = protect(columns, declared, params(method="ranked", k=20), seeded(1))
        published.append(np.signbit(found.linked["values"].columns["income"]).tolist())
    assert published[0] == published[1] == [False] * 10 + [True] * 10
