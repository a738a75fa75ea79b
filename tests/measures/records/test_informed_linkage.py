"""An intruder who knows some confidential values: against the definition, record by record, and on known releases."""

from __future__ import annotations

import os
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.measures import MeasureUndefined, measure
from penstock.measures.records.comparison import compare
from penstock.measures.records.distances import places
from penstock.mechanisms.columns import Column
from penstock.mechanisms.probabilistic_k_anonymity import Params, protect
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.taxonomy import GRID, Taxonomy
from tests.measures.judged_columns import nominal, number, ordinal

informed_linkage = measure("informed_linkage")

TREE = {"top": [], "P": ["top"], "a": ["P"], "b": ["P"], "c": ["top"]}
# Every scaled value is a multiple of 1/8, so that float distances are exact.
DECLARED = {
    "age": number(0, 8, role="quasi_identifier"),
    "kind": nominal(3, role="quasi_identifier"),
    "pay": number(0, 8),
    "rank": ordinal(5),
    "job": Column(role="confidential", type="nominal", taxonomy=TREE),
    "sick": nominal(2),
}
LAST = {"age": 8, "kind": 2, "pay": 8, "rank": 4, "job": 2, "sick": 1}


@st.composite
def releases(draw):
    """A file, and one that somebody released of it, whose rows are those of the originals or others."""
    n = draw(st.integers(1, 14))
    confidential = draw(st.lists(st.sampled_from(["pay", "rank", "job", "sick"]), min_size=1, unique=True))
    keys = draw(st.lists(st.sampled_from(["age", "kind"]), unique=True))
    names = [name for name in DECLARED if name in (*keys, *confidential)]
    most = draw(st.sampled_from([1, 8]))

    def column(name):
        codes = draw(st.lists(st.integers(0, min(most, LAST[name])), min_size=n, max_size=n))
        return np.array(codes, float if DECLARED[name].numeric else np.int64)

    original = {name: column(name) for name in names}
    moved = draw(st.sets(st.sampled_from(names)))
    released = {
        name: values[draw(st.permutations(range(n)))] if name in moved else values for name, values in original.items()
    }
    groups = {name: np.zeros(n, np.int64) for name in confidential if name in moved and draw(st.booleans())}
    return original, released, groups, draw(st.integers(0, len(confidential) - 1))


def squared(name, one, other, *, by_taxonomy):
    column = DECLARED[name]
    if column.taxonomy is not None and by_taxonomy:
        score = Taxonomy(TREE).scores([column.categories[one]], [column.categories[other]])
        return Fraction(int(score[0, 0]), GRID) ** 2
    if column.type == "nominal":
        return Fraction(int(one != other))
    low, high = column.bounds
    return (Fraction(int(one) - int(other)) / Fraction(high - low)) ** 2


def by_definition(original, released, groups, knows):
    """All known columns, all targets, all ways to search, in fractions."""
    n = len(next(iter(original.values())))
    keys = [name for name in original if DECLARED[name].role == "quasi_identifier"]
    confidential = [name for name in original if name not in keys]
    best, single = Fraction(0), {}
    for known in combinations(confidential, knows):
        others = tuple(name for name in confidential if name not in known)
        together = {others}
        for name in known:
            along = tuple(o for o in others if (o in groups) == (name in groups))  # all groups here are the same
            together |= {along} if along else set()
        for by_taxonomy in (False, True):
            for first, then in ((known, keys), (keys, known), ((*keys, *known), ())):

                def distance(j, i, names, by_taxonomy=by_taxonomy):
                    return sum(
                        (squared(x, original[x][j], released[x][i], by_taxonomy=by_taxonomy) for x in names),
                        Fraction(0),
                    )

                found = dict.fromkeys([*together, *((name,) for name in others)], Fraction(0))
                for j in range(n):
                    places = [(distance(j, i, first), distance(j, i, then)) for i in range(n)]
                    nearest = [i for i in range(n) if places[i] == min(places)]
                    for targets in found:
                        right = sum(all(released[x][i] == original[x][j] for x in targets) for i in nearest)
                        found[targets] += Fraction(right, len(nearest) * n)
                best = max([best, *(found[each] for each in together)])
                for name in others:
                    single[name] = max(single.get(name, Fraction(0)), found[name,])
    return best, single


@settings(deadline=None, max_examples=60)
@given(releases())
def test_it_is_what_the_definition_says(made):
    original, released, groups, knows = made
    best, single = by_definition(original, released, groups, knows)
    found = informed_linkage(original, released, DECLARED, groups=groups, knows=knows)
    assert found.value == pytest.approx(float(best), abs=1e-12)
    assert found.by_column == pytest.approx({name: float(share) for name, share in single.items()}, abs=1e-12)
    assert found.n == len(next(iter(original.values())))


def census(names):
    folder = os.environ.get("PENSTOCK_DATA")
    path = Path(folder or "no-folder-was-named") / "census_casc.parquet"
    if not path.is_file():
        pytest.skip("reference data not found; set PENSTOCK_DATA to their folder")
    table = pq.read_table(path)
    return {name: table[name].to_numpy() for name in names}


KEYS = ("AFNLWGT", "AGI", "EMCONTRB", "FEDTAX", "PTOTVAL", "STATETAX")
VALUES = ("TAXINC", "POTHVAL", "INTVAL", "FICA")


def declared_census(data):
    return {
        name: Column(
            role="quasi_identifier" if name in KEYS else "confidential",
            type="integer",
            domain=(0, int(values.max()) * 3 // 2),
        )
        for name, values in data.items()
    }


def release_of(source, declared, method, k):
    made = protect(source, declared, Params(method=method, k=k), seeded(12))
    return lambda **asked: informed_linkage(source, made.columns, declared, groups=made.groups, **asked)


def test_who_knows_one_value_of_a_swapped_tuple_finds_all_others():
    """The taxable income of a person leads to the other three amounts in 1,080 of 1,080 cases, whatever k is; swapped
    one by one they lead nowhere."""
    data = census((*KEYS, *VALUES))
    declared = declared_census(data)
    together = release_of(data, declared, "mdav_swap", 12)
    assert together(knows=("TAXINC",)).value == 1.0
    assert together(knows=1).value == 1.0
    assert together(knows=("POTHVAL",)).value > 0.88
    assert together(knows=0).value < 0.12
    assert together(knows=0).beside["guessing without the release"] == pytest.approx(1 / 1080)
    assert release_of(data, declared, "mdav_swap", 100)(knows=1).value == 1.0
    apart = release_of(data, declared, "ir_swap", 50)
    assert apart(knows=1).value < 0.01
    assert 0.1 < apart(knows=("TAXINC", "POTHVAL", "INTVAL")).value < 0.3  # amounts of which few differ
    alike = release_of(data, declared, "mdav_id", 12)
    assert alike(knows=1).value == 1.0
    assert 0.05 < alike(knows=0).value < 1 / 12


def made_up(n=120):
    rng = np.random.default_rng(n)
    source = {
        "age": rng.integers(0, 9, n).astype(float),
        "pay": rng.permutation(n).astype(float),
        "rent": rng.permutation(n).astype(float),
        "debt": rng.permutation(n).astype(float),
        "fine": rng.permutation(n).astype(float),
    }
    declared = {"age": DECLARED["age"], **{name: number(0, n) for name in ("pay", "rent", "debt", "fine")}}
    return source, declared


def test_what_moves_together_is_not_hidden_by_what_moves_by_itself():
    """Two pairs of columns, each swapped as a pair: one of a pair finds the other, though never all three others."""
    source, declared = made_up()
    rng = np.random.default_rng(1)
    released, groups = dict(source), {}
    for number_of, pair in enumerate((("pay", "rent"), ("debt", "fine"))):
        order = rng.permutation(120)
        released |= {name: source[name][order] for name in pair}
        labels = np.zeros(120, np.int64)
        labels[60 * number_of :] = 1
        groups |= dict.fromkeys(pair, labels)
    found = informed_linkage(source, released, declared, groups=groups, knows=1)
    assert found.value == 1.0
    rest = informed_linkage(source, released, declared, groups=groups, knows=("pay",), finds=("rent", "debt", "fine"))
    assert rest.value < 0.1
    assert informed_linkage(source, released, declared, groups=groups, knows=("pay",), finds=("rent",)).value == 1.0


def test_concepts_in_place_of_leaves_lead_to_a_person_who_is_looked_for_in_the_taxonomy():
    """Equal or different, every concept is as far from a leaf as any other."""
    tree = {"top": [], **{each: ["top"] for each in "ABCD"}, **{f"{each}1": [each.upper()] for each in "abcd"}}
    where = Column(
        role="quasi_identifier", type="nominal", taxonomy=tree, categories=("a1", "b1", "c1", "d1", "A", "B", "C", "D")
    )
    source = {"where": np.arange(4), "pay": np.arange(4.0)}
    released = {"where": np.arange(4) + 4, "pay": np.arange(4.0)}
    declared = {"where": where, "pay": number(0, 8)}
    assert informed_linkage(source, released, declared, knows=0).value == 1.0
    plain = {**declared, "where": where.model_copy(update={"taxonomy": None})}
    assert informed_linkage(source, released, plain, knows=0).value == 0.25


def test_a_value_that_most_have_is_guessed_without_the_release_too():
    source = {"age": np.arange(8.0), "sick": np.array([0, 0, 0, 0, 0, 0, 0, 1])}
    declared = {"age": DECLARED["age"], "sick": DECLARED["sick"]}
    found = informed_linkage(source, {**source, "sick": source["sick"][::-1].copy()}, declared, knows=0)
    assert (found.value, found.beside) == (6 / 8, {"guessing without the release": 7 / 8})
    assert "0 of the confidential columns" in found.attacker


def test_one_value_is_known_where_nothing_is_said():
    source, declared = made_up()
    assert informed_linkage(source, source, declared) == informed_linkage(source, source, declared, knows=1)


def test_who_knows_nothing_at_all_picks_any_record():
    source = {"pay": np.array([1.0, 1, 2, 3])}
    found = informed_linkage(source, source, {"pay": number(0, 8)}, knows=0)
    assert found.value == pytest.approx((2 / 4 + 2 / 4 + 1 / 4 + 1 / 4) / 4)


def test_ties_are_shared_also_among_many_records_of_one_point():
    source = {"age": np.zeros(1000), "pay": np.arange(1000.0)}
    declared = {"age": DECLARED["age"], "pay": number(0, 1000)}
    assert informed_linkage(source, source, declared, knows=0).value == pytest.approx(1 / 1000)


def test_who_lacks_a_value_is_found_by_that_and_hides_nobody_who_has_one():
    source = {"age": np.array([1.0, np.nan, 3.0]), "pay": np.array([1.0, 2.0, np.nan]), "rent": np.arange(3.0)}
    declared = {"age": number(0, 8, role="quasi_identifier"), "pay": number(), "rent": number()}
    found = informed_linkage(source, source, declared, knows=("pay",))
    assert (found.n, found.value) == (1, 1.0)
    others = {**source, "rent": np.array([0.0, 2.0, 1.0])}  # the two who lack something are found with a wrong rent
    assert informed_linkage(source, others, declared, knows=("pay",)).value == 1.0
    first = {**source, "rent": np.array([5.0, 1.0, 2.0])}  # and here the one who does not
    assert informed_linkage(source, first, declared, knows=("pay",)).value == pytest.approx(2 / 3)


def test_a_value_that_nobody_has_tells_nobody_apart():
    source = {"pay": np.array([np.nan, np.nan]), "rent": np.array([1.0, 2.0])}
    found = informed_linkage(source, source, {"pay": number(), "rent": number()}, knows=("pay",))
    assert (found.n, found.value) == (2, 0.5)


@pytest.mark.parametrize("column", [number(0, 8, missing="category"), ordinal(5, missing="own_group")])
def test_what_is_missing_is_further_from_any_number_than_two_numbers_are_from_each_other(column):
    values = np.array([np.nan, 0, 2, 8]) if column.numeric else np.array([-1, 0, 2, 4])
    spots = places(
        compare({"x": values}, {"x": values}, {"x": column}, None), ["x"], np.ones(4, bool), by_taxonomy=True
    )
    assert (spots.axes, spots.numeric) == (("x", "x"), 1)

    def squared(one, other):
        (number, lacks), (other_number, other_lacks) = spots.original[one], spots.released[other]
        return (number - other_number) ** 2 + (lacks != other_lacks)

    assert squared(0, 0) == 0
    assert min(squared(0, other) for other in (1, 2, 3)) >= 1 == squared(1, 3)


def test_it_needs_a_confidential_column():
    declared = {"age": number(role="quasi_identifier")}
    columns = {"age": np.array([1.0])}
    with pytest.raises(MeasureUndefined, match="must leave a confidential column to be found"):
        informed_linkage(columns, columns, declared, knows=0)


def test_the_order_of_records_does_not_matter():
    source, declared = made_up()
    made = protect(source, declared, Params(method="mdav_id", k=4), seeded(3))
    rows = np.random.default_rng(5).permutation(120)
    sides = [{name: values[rows] for name, values in side.items()} for side in (source, made.columns)]
    expected = informed_linkage(source, made.columns, declared, knows=1)
    assert informed_linkage(*sides, declared, knows=1).value == pytest.approx(expected.value, abs=1e-12)
