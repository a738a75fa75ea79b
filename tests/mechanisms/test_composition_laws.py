"""Check the total cost of several releases by laws, and by two oracles that try every pair of tiny data sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.mechanisms.composition import Charge, counts_as, joined
from tests.mechanisms.charges import MODEL_OF, charge, total
from tests.mechanisms.tiny_data_sets import (
    CELLS,
    CONTENTS,
    DataSet,
    Release,
    data_sets,
    graph,
    is_odd,
    joint,
    longest_way,
    worst_ratio,
)

# Under these a changed record may leave its part for another.
MOVING = [
    "replace",
    "replace_within_cell",
    "from_D",
    "from_D_within_cell",
    "bootstrap_replace",
    "bootstrap_within_cell",
]


# --- Laws -------------------------------------------------------------------------------------------------------

epsilons = st.fractions(min_value=Fraction(1, 100), max_value=10, max_denominator=100)
parts = st.sampled_from([None, "north", "south", "east", "west"])
known_by = st.text("uvw", max_size=2)
editions = st.sampled_from([None, None, "2026-10"])
accounts = st.sampled_from(sorted(MODEL_OF))
units = st.sampled_from(["row", "individual"])


def factor(spent: str, account: str) -> Fraction | None:
    return counts_as(MODEL_OF[spent], spent, in_model=MODEL_OF[account], in_adjacency=account)


@st.composite
def books(draw: st.DrawFn) -> tuple[str, str, list[Charge]]:
    """An account, its unit, and charges that it can count."""
    account, unit = draw(accounts), draw(units)
    countable = st.sampled_from([spent for spent in MODEL_OF if factor(spent, account) is not None])
    one = st.builds(charge, epsilons, countable, parts, st.just(unit), known_by, editions)
    return account, unit, draw(st.lists(one, min_size=1, max_size=8))


@given(books())
def test_one_more_charge_never_lowers_the_total(book: tuple[str, str, list[Charge]]) -> None:
    account, unit, charges = book
    assert total(charges[1:], account, unit) <= total(charges, account, unit)


@given(books(), st.data())
def test_the_order_does_not_matter(book: tuple[str, str, list[Charge]], data: st.DataObject) -> None:
    account, unit, charges = book
    assert total(data.draw(st.permutations(charges)), account, unit) == total(charges, account, unit)


@given(books(), st.fractions(min_value=Fraction(1, 10), max_value=Fraction(9, 10), max_denominator=20))
def test_splitting_a_charge_in_two_changes_nothing(book: tuple[str, str, list[Charge]], share: Fraction) -> None:
    account, unit, (first, *others) = book
    halves = [replace(first, epsilon=first.epsilon * s) for s in (share, 1 - share)]
    assert total(halves + others, account, unit) == total([first, *others], account, unit)


@given(books())
def test_the_total_is_at_most_the_sum_and_at_least_each_part(book: tuple[str, str, list[Charge]]) -> None:
    account, unit, charges = book
    counted = [(c.part, (factor(c.adjacency, account) or 0) * c.epsilon) for c in charges]
    found = total(charges, account, unit)
    assert found <= sum(cost for _, cost in counted)
    everywhere = sum(cost for part, cost in counted if part is None)
    for name in {part for part, _ in counted}:
        assert found >= everywhere + sum(cost for part, cost in counted if part == name and part is not None)
    if unit == "individual":
        assert found == sum(cost for _, cost in counted)


@given(books(), st.data())
def test_to_know_more_of_the_records_never_lowers_the_total(
    book: tuple[str, str, list[Charge]], data: st.DataObject
) -> None:
    account, unit, charges = book
    known = [replace(one, records=one.records | frozenset(data.draw(known_by))) for one in charges]
    assert total(charges, account, unit) <= total(known, account, unit)


def merged_by_hand(groups: Sequence[frozenset[str]]) -> list[frozenset[int]]:
    """The groups that are joined, as sets of places: merge any two that share a member until none do."""
    found = [({place}, set(members)) for place, members in enumerate(groups)]
    while pair := next(((a, b) for a, b in combinations(found, 2) if a[1] & b[1]), None):
        found = [one for one in found if one not in pair] + [(pair[0][0] | pair[1][0], pair[0][1] | pair[1][1])]
    return [frozenset(places) for places, _ in found]


@given(st.lists(st.frozensets(st.sampled_from("abcdefgh"), max_size=3), max_size=9))
def test_what_is_joined_is_what_merging_by_hand_finds(groups: list[frozenset[str]]) -> None:
    firsts = joined(groups)
    found = [frozenset(place for place, first in enumerate(firsts) if first == each) for each in set(firsts)]
    assert sorted(found, key=min) == sorted(merged_by_hand(groups), key=min)
    assert all(first == min(places) for places in found for first in {firsts[place] for place in places})


@given(books())
def test_parts_of_the_same_records_cost_what_they_would_under_one_name(book: tuple[str, str, list[Charge]]) -> None:
    """Give all that are joined the same name; then nothing needs to be known of their records."""
    account, unit, charges = book
    marks = [frozenset(one.records | ({f"part {one.part}"} if one.part else set())) for one in charges]
    names = {place: str(min(places)) for places in merged_by_hand(marks) for place in places}
    renamed = [replace(one, records=frozenset(), part=one.part and names[place]) for place, one in enumerate(charges)]
    assert total(charges, account, unit) == total(renamed, account, unit)


# --- First oracle: the table of factors is what the definitions imply, no more and no less ----------------------


@pytest.mark.parametrize("covered", [(-1, 0), (0, 1), None], ids=["n and n-1 rows", "n and n+1 rows", "every size"])
def test_the_factors_are_the_longest_ways_between_adjacent_data_sets(covered: tuple[int, int] | None) -> None:
    """A factor c is right if and only if c steps of the promise always suffice.

    They do suffice, because ratios multiply along the way. Fewer do not: with d(X) the number of steps from X0,
    P(1|X) = q·2^d(X), q small, keeps ln 2 at every step and reaches d·ln 2 in the end; and where no way leads,
    "is it reachable from X0" can be told outright at no cost. The literature leaves open how many rows
    bootstrap_add_remove covers; the factors are the same under every reading.
    """
    universe = data_sets("a0 a1 b0", range(5))
    needed: dict[tuple[str, str], float] = {}
    for actual in data_sets("a0 a1 b0", (2, 3)):
        sizes = None if covered is None else [len(actual) + more for more in covered]
        graphs = {adjacency: graph(adjacency, universe, actual, sizes) for adjacency in MODEL_OF}
        for spent, account in product(graphs, graphs):
            way = longest_way(graphs[spent], graphs[account])
            needed[spent, account] = max(needed.get((spent, account), 0), way)
    finite = {pair: way for pair, way in needed.items() if way < float("inf")}
    assert finite == {pair: c for pair in needed if (c := factor(*pair)) is not None}


# --- Second oracle: the true worst case of a joint release ------------------------------------------------------


def charged(releases: Sequence[Release], adjacency: str, unit: str = "row") -> list[Charge]:
    """In units of ln 2."""
    return [charge(release.power, adjacency, release.part, unit) for release in releases]


def largest_part_only(releases: Sequence[Release]) -> Fraction:
    """The rule that is often printed for every adjacency."""
    return total(charged(releases, "add_remove"), "add_remove")


def assert_covers(epsilon: Fraction, ratio: Fraction) -> None:
    assert epsilon.denominator == 1
    assert ratio <= 2**epsilon.numerator


questions = st.integers(min_value=0, max_value=2 ** len(CONTENTS) - 1)
answers = st.builds(Release, st.integers(1, 3), st.sampled_from([None, "a", "b", "c"]), st.tuples(questions, questions))
sums = st.builds(Release, st.integers(1, 2), st.sampled_from([None, "a", "b"]))
actual_data = st.sampled_from([rows for rows in CONTENTS if len(set(rows)) == 2])


@pytest.mark.parametrize("adjacency", MODEL_OF)
@settings(max_examples=25)
@given(st.lists(answers, min_size=1, max_size=4), actual_data, st.sampled_from(sorted(CELLS)))
def test_no_joint_release_costs_more_than_the_total(
    adjacency: str, releases: list[Release], actual: DataSet, cells: str
) -> None:
    ratio = worst_ratio(releases, adjacency, actual, CELLS[cells])
    assert_covers(total(charged(releases, adjacency), adjacency), ratio)


@settings(max_examples=25)
@given(st.lists(st.tuples(answers, st.sampled_from([None, "a", "b", "c"])), min_size=1, max_size=4), actual_data)
def test_no_name_given_to_a_part_makes_a_joint_release_cost_more_than_the_total(
    named: list[tuple[Release, str | None]], actual: DataSet
) -> None:
    """Whoever names the part wrongly uses the records of the right one, and is known by them."""
    charges = [
        charge(release.power, "add_remove", wrong if release.part else None, records=release.part or "z")
        for release, wrong in named
    ]
    ratio = worst_ratio([release for release, _ in named], "add_remove", actual)
    assert_covers(total(charges, "add_remove"), ratio)


@settings(max_examples=25)
@given(st.lists(answers, max_size=2), st.lists(sums, min_size=1, max_size=2))
def test_no_mixture_of_adjacencies_costs_more_than_the_total(answered: list[Release], summed: list[Release]) -> None:
    ratio = worst_ratio(answered + summed, "replace", ACTUAL)
    assert_covers(total(charged(answered, "replace") + charged(summed, "add_remove")), ratio)


ACTUAL = ("a0", "b0")
SIZES_OF_PARTS = [is_odd("a", 3), is_odd("b", 2), is_odd("c", 1)]


@pytest.mark.parametrize("adjacency", MOVING)
def test_two_parts_are_lost_when_a_record_moves(adjacency: str) -> None:
    ratio = worst_ratio(SIZES_OF_PARTS, adjacency, ACTUAL)
    assert ratio == 2 ** total(charged(SIZES_OF_PARTS, adjacency), adjacency).numerator == 2**5


@pytest.mark.parametrize("adjacency", MOVING)
def test_the_oracle_notices_that_the_largest_part_alone_is_too_little(adjacency: str) -> None:
    with pytest.raises(AssertionError):
        assert_covers(largest_part_only(SIZES_OF_PARTS), worst_ratio(SIZES_OF_PARTS, adjacency, ACTUAL))


@pytest.mark.parametrize("adjacency", ["replace_within_cell", "from_D_within_cell"])
@pytest.mark.parametrize("cells", ["across parts", "one"])
def test_within_cells_a_record_moves_unless_the_cells_are_the_parts(cells: str, adjacency: str) -> None:
    assert worst_ratio(SIZES_OF_PARTS, adjacency, ACTUAL, CELLS[cells]) == 2**5
    assert worst_ratio(SIZES_OF_PARTS, adjacency, ACTUAL, CELLS["parts"]) == 1


@pytest.mark.parametrize("adjacency", ["add_remove", "presence", "bootstrap_add_remove"])
def test_one_part_and_what_covers_all_records_are_lost_when_a_record_comes_or_goes(adjacency: str) -> None:
    releases = [*SIZES_OF_PARTS, is_odd(None, 1)]
    ratio = worst_ratio(releases, adjacency, ACTUAL)
    assert ratio == 2 ** total(charged(releases, adjacency), adjacency).numerator == 2**4


def test_twice_the_largest_part_is_lost_when_a_record_is_replaced_under_a_promise_for_one_added() -> None:
    summed = [Release(2, "a"), Release(1, "b")]
    assert worst_ratio(summed, "add_remove", ACTUAL) == 2 ** total(charged(summed, "add_remove"), "add_remove")
    ratio = worst_ratio(summed, "replace", ACTUAL)
    assert ratio == 2 ** total(charged(summed, "add_remove"), "replace").numerator == 2**4


def test_an_individual_with_rows_in_two_parts_loses_both() -> None:
    releases = [is_odd("a", 3), is_odd("b", 2)]
    with_person, without = joint(releases, ("a0", "b0")), joint(releases, ())
    ratio = max(Fraction(x, y) for x, y in zip(with_person, without, strict=True))
    assert ratio == 2 ** total(charged(releases, "add_remove", "individual"), "add_remove", "individual").numerator
    with pytest.raises(AssertionError):
        assert_covers(largest_part_only(releases), ratio)


def test_a_promise_that_takes_the_size_of_its_part_as_public_would_be_charged_too_little() -> None:
    release = is_odd("a", 3)
    of_one_size = [rows for rows in CONTENTS if sum(record[0] == "a" for record in rows) == 1]
    assert len({tuple(joint([release], rows)) for rows in of_one_size}) == 1
    assert worst_ratio([release], "replace", ACTUAL) == 2**3


@pytest.mark.parametrize("part", [None, "a"])
def test_the_likelihoods_of_the_oracle_add_up_to_the_same_for_every_data_set(part: str | None) -> None:
    for release in (Release(1, part), Release(2, part), Release(2, part, (5, 6))):
        assert len({sum(joint([release], rows)) for rows in CONTENTS}) == 1
