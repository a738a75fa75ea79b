"""Measures of groups with buckets, against counting in plain Python."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.measures import (
    Gate,
    MeasureUndefined,
    Verdict,
    decide,
    judge,
    measure,
    measure_names,
)
from penstock.measures.asked import Asked
from penstock.measures.checks import Check
from penstock.measures.groups._counts import counts_of, largest_ratio
from penstock.measures.registry import MEASURES
from penstock.mechanisms.columns import Column
from tests.measures.bucket_maker import ANY, BUCKETED, Made, N
from tests.measures.judged_columns import nominal, number, ordinal

NEED_BUCKETS = ("bucket_width", "closeness_after", "closeness_ratio", "narrowest_bucket")


def asked_of(name):
    """What a measure needs to be told: that nobody is known."""
    return Asked(**dict.fromkeys(MEASURES[name].needs, 0))


def passes(gate, found):
    return decide([gate], {found.name: found}, [Check("closeness", True, "", "")]).verdict is Verdict.PASS


@st.composite
def drawn(draw, several=("joint", "each")):
    """Any groups and buckets of up to 60 records in income, rank and kind; every group and bucket number occurs."""
    n = draw(st.integers(1, 60))
    made = Made(several=draw(st.sampled_from(several)), output=draw(st.sampled_from(("anatomy", "permuted"))))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    top = draw(st.integers(1, 5))
    made.original = {name: values[rng.integers(0, N, n)] for name, values in made.original.items()}
    for name in made.columns:
        made.groups[name] = np.unique(rng.integers(0, top, n), return_inverse=True)[1]
        made.buckets[name] = rng.integers(0, len(made.labels[name]), n)
    if made.several == "joint":
        made.groups = dict.fromkeys(made.columns, made.groups["income"])
    made.publish()
    return made


def by_part(made):
    """For every part its columns, and the group and the tuple of buckets of each record."""
    for names, _, _ in made.parts():
        held = list(zip(*(made.buckets[name].tolist() for name in names), strict=True))
        yield names, made.groups[names[0]].tolist(), held


# What all of them have in common.


def test_names_are_sorted_and_all_can_be_gated():
    assert list(measure_names("groups")) == sorted(measure_names("groups"))
    assert set(measure_names("groups")) <= set(measure_names())
    assert set(measure_names("groups")) & set(measure_names("records")) == {"average_risk", "l_diversity"}
    assert not set(measure_names("groups")) & set(measure_names("cells"))
    assert all(
        Gate(measure=name, max=1, **dict.fromkeys(MEASURES[name].needs, 0)).rule for name in measure_names("groups")
    )


@pytest.mark.parametrize("name", sorted(set(measure_names("groups")) - set(measure_names("records"))))
def test_a_measure_of_groups_has_a_docstring_and_no_value_for_records(name):
    documented = measure(name).__doc__ or ""
    assert "Limits" in documented
    assert "Source" in documented
    columns, declared = {"x": np.arange(4.0)}, {"x": number()}
    with pytest.raises(MeasureUndefined, match="needs groups with buckets; the output is records"):
        measure(name)(columns, columns, declared)


@pytest.mark.parametrize("chosen", ANY, ids=repr)
@pytest.mark.parametrize("name", measure_names("groups"))
def test_every_measure_says_what_it_means_and_takes_read_only_columns(name, chosen):
    made = Made(**chosen)
    sides = [made.original, made.released, made.groups, made.buckets, *(t.columns for t in made.linked.values())]
    for values in (values for side in sides for values in side.values()):
        values.setflags(write=False)
    if made.method == "ranked" and name in NEED_BUCKETS:
        with pytest.raises(MeasureUndefined, match=f"{name} refused: needs buckets"):
            judge(name, made.output(), asked_of(name))
        return
    found = judge(name, made.output(), asked_of(name))
    assert (found.name, found.n, found.weights, found.columns) == (name, N, "not used", made.columns)
    assert json.loads(json.dumps(found.as_dict(), allow_nan=False))["concerns"] == found.concerns
    assert (found.concerns == "risk") == bool(found.attacker)
    assert set(found.by_column) == set(made.columns)
    assert found.value in found.by_column.values()
    assert found.missing


@pytest.mark.parametrize("name", sorted(set(measure_names()) - set(measure_names("groups"))))
def test_a_measure_of_records_or_tables_has_no_value_for_groups(name):
    with pytest.raises(MeasureUndefined, match=r"needs (records|tables); the output is groups with buckets"):
        judge(name, Made(("income",)).output())


@pytest.mark.parametrize("name", measure_names("groups"))
def test_no_measure_makes_up_groups(name):
    made = Made(("income",))
    made.groups["income"] = made.groups["income"].astype(float)
    if name in ("bucket_width", "narrowest_bucket"):
        assert judge(name, made.output(), asked_of(name)).n == N  # they do not need them
        return
    with pytest.raises(MeasureUndefined, match="income refused: must have one"):
        judge(name, made.output(), asked_of(name))


@pytest.mark.parametrize("name", [*NEED_BUCKETS, "l_diversity"])
def test_no_measure_makes_up_buckets(name):
    for broken in ({}, {"income": np.full(N, 3)}):
        made = Made(("income",))
        made.buckets = broken
        with pytest.raises(MeasureUndefined, match="income refused: must have one published bucket for every record"):
            judge(name, made.output(), asked_of(name))
    made = Made(("income",))
    made.linked = {}
    with pytest.raises(MeasureUndefined, match="one published bucket for every record"):
        judge(name, made.output(), asked_of(name))


# closeness_ratio


@settings(deadline=None)
@given(drawn())
def test_the_ratio_is_that_of_the_definition(made):
    ratios = []
    for _, group, held in by_part(made):
        sizes, totals, cells = Counter(group), Counter(held), Counter(zip(group, held, strict=True))
        for i in sizes:
            for j in totals:
                share = Fraction(cells[i, j] * len(group), sizes[i] * totals[j])
                ratios.append(max(share, 1 / share) if share else None)
    if None in ratios:
        with pytest.raises(MeasureUndefined, match="needs every bucket in every group"):
            judge("closeness_ratio", made.output())
        return
    found = judge("closeness_ratio", made.output())
    assert Fraction(repr(found.value)) >= max(ratios)
    assert found.value == pytest.approx(float(max(ratios)), rel=1e-15)
    assert found.direction == "lower_is_safer"


def test_a_bucket_that_the_last_group_lacks_is_counted_as_none():
    counts = counts_of(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 0]))
    assert counts.tolist() == [[1, 1], [2, 0]]
    assert largest_ratio(counts) is None


def test_a_gate_on_the_ratio_is_exact():
    found = judge("closeness_ratio", Made(("income",)).output())
    assert found.value == 1.5
    assert passes(Gate(measure="closeness_ratio", max=1.5), found)
    assert not passes(Gate(measure="closeness_ratio", max=1.499999999999999), found)


def test_the_published_example_has_closeness_three_halves():
    """Twelve records, t = 2, counts 2/1/1 in three groups: Soria-Comas 2013 (thesis), chapter 7."""
    made = Made(("income",))
    keep = np.flatnonzero(made.groups["income"] < 3)
    made.original = {name: values[keep] for name, values in made.original.items()}
    made.groups, made.buckets = ({"income": side["income"][keep]} for side in (made.groups, made.buckets))
    made.publish()
    assert judge("closeness_ratio", made.output()).value == 1.5


def test_the_printed_recipe_misses_its_own_limit():
    """t = 2, N = 17: the recipe of the thesis puts three of a group of five into a bucket of five, 51/25 = 2.04."""
    counts = np.array([[3, 1, 2], [1, 3, 1], [2, 1, 3]])
    group, bucket = (np.repeat(places.ravel(), counts.ravel()) for places in np.indices(counts.shape))
    made = Made(("income",), output="permuted")
    made.original = {name: values[:17] for name, values in made.original.items()}
    made.groups, made.buckets = {"income": group}, {"income": bucket}
    made.publish()
    assert judge("closeness_ratio", made.output()).value == 2.04


def test_many_records_do_not_overflow():
    """10^8 records as counts: products reach 10^16, and two such fractions are compared beyond 64 bits."""
    assert largest_ratio(np.array([[49_999_999, 1], [1, 49_999_999]])) == Fraction(25 * 10**6)
    sizes = np.array([[50_000_003, 24_999_989], [7, 25_000_001]])
    (a, b), (c, d), n = *sizes.tolist(), int(sizes.sum())
    shares = [Fraction(a * n, (a + b) * (a + c)), Fraction(b * n, (a + b) * (b + d))]
    shares += [Fraction(c * n, (c + d) * (a + c)), Fraction(d * n, (c + d) * (b + d))]
    assert largest_ratio(sizes) == max(max(share, 1 / share) for share in shares)


# smallest_group, l_diversity, average_risk


@settings(deadline=None)
@given(drawn())
def test_sizes_and_risks_of_groups_are_counted(made):
    sizes = {name: Counter(made.groups[name].tolist()) for name in made.columns}
    smallest = judge("smallest_group", made.output())
    assert smallest.by_column == {name: min(found.values()) for name, found in sizes.items()}
    assert smallest.value == min(smallest.by_column.values())
    assert smallest.direction == "higher_is_safer"
    risk = judge("average_risk", made.output())
    assert risk.value == max(len(found) / found.total() for found in sizes.values())


@settings(deadline=None)
@given(drawn())
def test_different_buckets_of_a_group_are_counted(made):
    fewest = {}
    for names, group, held in by_part(made):
        inside = {i: {bucket for g, bucket in zip(group, held, strict=True) if g == i} for i in group}
        fewest |= dict.fromkeys(names, min(map(len, inside.values())))
    found = judge("l_diversity", made.output())
    assert (found.by_column, found.value) == (fewest, min(fewest.values()))
    assert found.direction == "higher_is_safer"


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.0, -0.0, 1.0, 2.0]), st.integers(0, 2)), min_size=1))
def test_different_values_of_a_group_are_counted_where_there_are_no_buckets(records):
    group, incomes, ranks = (np.array(column) for column in zip(*records, strict=True))
    made = Made(("income", "rank"), method="ranked")
    made.original = {name: np.resize(values, len(records)) for name, values in made.original.items()}
    made.original |= {"income": incomes, "rank": ranks}
    made.groups = dict.fromkeys(made.columns, np.unique(group, return_inverse=True)[1])
    made.publish()
    found = judge("l_diversity", made.output())
    assert found.by_column == {
        name: min(len(set(made.original[name][group == i].tolist())) for i in set(group.tolist()))
        for name in made.columns
    }
    assert found.value == min(found.by_column.values())


# narrowest_bucket, bucket_width

WIDTHS = {
    "income": [Fraction(21, 80)] * 3,
    "rank": [Fraction(1, 2)] * 2,
    "kind": [Fraction(1, 4)] * 2,
}


@settings(deadline=None)
@given(drawn())
def test_widths_are_those_of_the_labels(made):
    made.labels |= {"income": ("3", "-5 to 25", "0 to 0.1"), "kind": ("all", "glass")}
    made.publish()
    widths = {**WIDTHS, "income": [0, Fraction(3, 4), Fraction(1, 400)], "kind": [1, 0]}
    found = {name: [widths[name][bucket] for bucket in made.buckets[name]] for name in made.columns}
    narrowest = judge("narrowest_bucket", made.output())
    assert narrowest.by_column == {name: float(min(each)) for name, each in found.items()}
    assert (narrowest.value, narrowest.direction) == (min(narrowest.by_column.values()), "higher_is_safer")
    mean = judge("bucket_width", made.output())
    assert mean.by_column == {name: float(sum(each) / Fraction(len(each))) for name, each in found.items()}
    assert (mean.value, mean.direction) == (max(mean.by_column.values()), "lower_is_better")


def test_the_narrowest_bucket_is_rounded_to_the_unsafe_side():
    """Two of seven categories: 1/6 is more than the float next to it."""
    made = Made(("kind",))
    made.source["kind"] = nominal(7)
    made.labels["kind"] = ("a | b", "c | d | e | f | g")
    made.publish()
    value = judge("narrowest_bucket", made.output()).value
    assert Fraction(repr(value)) <= Fraction(1, 6)
    assert value == pytest.approx(1 / 6)


def test_a_label_that_cannot_be_read_has_no_width():
    made = Made(("income",))
    made.labels["income"] = ("low", "middle", "high")
    made.publish()
    for name in ("narrowest_bucket", "bucket_width"):
        with pytest.raises(MeasureUndefined, match="income refused: must have labels that can be read"):
            judge(name, made.output(), asked_of(name))


# quasi_identifier_loss


def coordinates(values, column):
    """One list of coordinates a record, as the docstring says."""
    if column.type == "nominal":
        return [[float(code == c) / 2**0.5 for c in range(-1, len(column.categories))] for code in values.tolist()]
    low, high = column.bounds
    return [[(value - low) / (high - low)] for value in values.tolist()]


def squares(points):
    """Sum of squared distances from the mean."""
    means = [sum(axis) / len(points) for axis in zip(*points, strict=True)]
    return sum((x - mean) ** 2 for point in points for x, mean in zip(point, means, strict=True))


@settings(deadline=None)
@given(drawn(), st.booleans())
def test_the_loss_is_that_of_the_definition(made, ordered):
    made.source = {**made.source, "age": ordinal(26, role="quasi_identifier")} if ordered else made.source
    made.original["age"] = (made.original["age"] % 26).astype(np.int64 if ordered else float)
    per_column = [coordinates(made.original[name], made.source[name]) for name in ("age", "region")]
    points = [one + other for one, other in zip(*per_column, strict=True)]
    losses = {}
    for names, group, _ in by_part(made):
        inside = sum(squares([p for p, g in zip(points, group, strict=True) if g == i]) for i in set(group))
        losses |= dict.fromkeys(names, inside / squares(points) if squares(points) > 1e-12 else 0.0)
    found = judge("quasi_identifier_loss", made.output())
    assert found.by_column == pytest.approx(losses, abs=1e-9)
    assert (found.value, found.direction) == (max(found.by_column.values()), "lower_is_better")


def test_the_loss_of_one_group_is_one_and_of_equal_records_nothing():
    made = Made(("income",))
    made.groups["income"] = np.zeros(N, np.int64)
    assert judge("quasi_identifier_loss", made.output()).value == 1
    made.original["age"][:], made.original["region"][:] = 0.1, 2
    assert judge("quasi_identifier_loss", made.output()).value == 0


def test_the_loss_needs_quasi_identifiers_with_values():
    made = Made(("income",))
    made.original["age"][0] = np.nan
    with pytest.raises(MeasureUndefined, match="age refused: needs a finite value in every record"):
        judge("quasi_identifier_loss", made.output())
    del made.source["age"], made.source["region"]
    with pytest.raises(MeasureUndefined, match="needs a quasi-identifier"):
        judge("quasi_identifier_loss", made.output())


def test_a_loss_beyond_floats_is_refused():
    made = Made(("income",))
    made.source["age"] = Column(role="quasi_identifier", type="continuous", domain=(-1e150, 1e150))
    made.original["age"][0] = 1e308
    with pytest.raises(MeasureUndefined, match="must have a finite value"):
        judge("quasi_identifier_loss", made.output())


@pytest.mark.parametrize("chosen", BUCKETED, ids=repr)
def test_measures_do_not_depend_on_the_order_of_records(chosen):
    made = Made(**chosen)
    turned = Made(**chosen)
    for side in (turned.original, turned.groups, turned.buckets):
        for name in side:
            side[name] = side[name][::-1].copy()
    for name in measure_names("groups"):
        one, other = (judge(name, each.output(), asked_of(name)).value for each in (made, turned))
        assert one == pytest.approx(other, rel=1e-12)


def test_measures_of_nothing_are_refused():
    made = Made(("income",))
    empty = replace(
        made.output(),
        records=0,
        groups={"income": np.zeros(0, np.int64)},
        buckets={"income": np.zeros(0, np.int64)},
    )
    for name in ("closeness_ratio", "smallest_group", "l_diversity", "narrowest_bucket"):
        with pytest.raises(MeasureUndefined, match="for every record"):
            judge(name, empty)
