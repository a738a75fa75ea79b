"""What releases cost together: golden cases, laws, and two oracles that go through every pair of tiny data sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.mechanisms.composition import Charge, NotCountable, composed, counts_as, joined, why_not_together
from penstock.mechanisms.models import Model
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

MODEL_OF: dict[str, Model] = {
    "add_remove": "dp",
    "replace": "dp",
    "replace_within_cell": "dp",
    "presence": "dp",
    "from_D": "idp",
    "from_D_within_cell": "idp",
    "bootstrap_add_remove": "bdp",
    "bootstrap_replace": "bdp",
    "bootstrap_within_cell": "bdp",
}
# Under these a changed record may leave its part for another.
MOVING = [
    "replace",
    "replace_within_cell",
    "from_D",
    "from_D_within_cell",
    "bootstrap_replace",
    "bootstrap_within_cell",
]


def charge(
    epsilon: object,
    adjacency: str = "replace",
    part: str | None = None,
    unit: str = "row",
    records: str = "",
    edition: str | None = None,
) -> Charge:
    """records: names of what the records are known by, one letter each."""
    return Charge(
        model=MODEL_OF[adjacency],
        epsilon=Fraction(str(epsilon)),
        adjacency=adjacency,
        unit=unit,
        part=part,
        records=frozenset(records),
        edition=edition,
    )


def total(charges: Sequence[Charge], adjacency: str = "replace", unit: str = "row") -> Fraction:
    return composed(charges, model=MODEL_OF[adjacency], adjacency=adjacency, unit=unit)


# --- Golden cases -----------------------------------------------------------------------------------------------


def test_nothing_released_costs_nothing() -> None:
    assert total([]) == 0


def test_tenths_add_up_as_tenths_and_not_as_floats() -> None:
    assert total([charge("0.1"), charge("0.2")]) == Fraction(3, 10)


PARTS = [charge(1, part="north"), charge(2, part="south"), charge(4, part="east"), charge("1/2")]


def test_the_two_largest_parts_count_where_a_record_may_move() -> None:
    assert total(PARTS) == Fraction(13, 2)


@pytest.mark.parametrize(
    ("adjacency", "expected"),
    [
        ("add_remove", 4),
        ("presence", 4),
        ("bootstrap_add_remove", 4),
        ("replace", 6),
        ("replace_within_cell", 6),
        ("from_D", 6),
        ("from_D_within_cell", 6),
        ("bootstrap_replace", 6),
        ("bootstrap_within_cell", 6),
    ],
)
def test_parts_under_every_adjacency(adjacency: str, expected: int) -> None:
    charges = [charge(e, adjacency, part) for e, part in ((1, "north"), (2, "south"), (4, "east"))]
    assert total(charges, adjacency) == expected


def test_inside_one_part_everything_adds_up() -> None:
    charges = [charge(1, "add_remove", "north"), charge(2, "add_remove", "north"), charge(2, "add_remove", "south")]
    assert total(charges, "add_remove") == 3


@pytest.mark.parametrize(
    ("known_by", "expected"),
    [
        (("a", "b", "c"), 4),
        (("a", "a", "c"), 4),
        (("a", "b", "a"), 5),
        (("ax", "bx", "by"), 7),
        (("ax", "by", "xy"), 7),
    ],
)
def test_parts_of_the_same_records_are_one_part_also_by_way_of_a_third(known_by: list[str], expected: int) -> None:
    parts = zip((1, 2, 4), ("north", "south", "east"), known_by, strict=True)
    charges = [charge(e, "add_remove", part, records=records) for e, part, records in parts]
    assert total(charges, "add_remove") == expected


def test_a_charge_on_all_records_shows_that_two_parts_are_the_same() -> None:
    parts = [charge(1, "add_remove", "north", records="a"), charge(2, "add_remove", "south", records="b")]
    assert total([*parts, charge(4, "add_remove")], "add_remove") == 6
    assert total([*parts, charge(4, "add_remove", records="ab")], "add_remove") == 7


def test_a_charge_that_does_not_count_joins_nothing() -> None:
    parts = [charge(1, "add_remove", "north", records="a"), charge(2, "add_remove", "south", records="b")]
    assert total([*parts, charge(1, "from_D", records="ab")], "add_remove") == 2


def test_editions_add_up_because_a_record_may_have_moved_between_them() -> None:
    charges = [charge(1, "add_remove", "north", edition="1"), charge(2, "add_remove", "south", edition="2")]
    assert total(charges, "add_remove") == 3
    assert total([*charges, charge(4, "add_remove", "south", edition="1")], "add_remove") == 4 + 2


@pytest.mark.parametrize(
    ("one", "other", "same", "reason"),
    [
        ("dp", "dp", False, None),
        ("dp", "idp", False, None),
        ("bdp", "dp", False, None),
        ("idp", "idp", True, None),
        ("idp", "idp", False, "idp is about one actual data set, and they are not known to be of one"),
        ("bdp", "bdp", False, "bdp is about one actual data set, and they are not known to be of one"),
        ("idp", "bdp", True, "one is under idp, the other under bdp: together they promise only what both compare"),
        ("k_anon", "dp", True, "one is under k_anon, the other under dp, and no theorem covers both"),
        ("dp", "t_close", True, "one is under dp, the other under t_close, and no theorem covers both"),
        ("prob_k", "prob_k", True, "one is under prob_k, the other under prob_k, and no theorem covers both"),
    ],
)
def test_a_pair_is_covered_by_a_sum_of_epsilons_or_there_is_a_reason(
    one: Model, other: Model, same: bool, reason: str | None
) -> None:
    assert why_not_together(one, other, of_one_data_set=same) == reason
    assert (why_not_together(other, one, of_one_data_set=same) is None) is (reason is None)


def test_groups_are_combined_under_their_own_adjacency_then_converted_then_added() -> None:
    added = [charge(1, "add_remove", "north"), charge(3, "add_remove", "south")]
    replaced = [charge(1, "replace", "north"), charge(3, "replace", "south")]
    assert total(added + replaced) == 2 * 3 + (1 + 3)


def test_a_dp_charge_counts_in_the_accounts_of_the_other_models_too() -> None:
    charges = [charge(1, "replace"), charge(1, "add_remove"), charge(5, "from_D"), charge(7, "bootstrap_replace")]
    assert total(charges, "replace") == 1 + 2
    assert total(charges, "from_D") == 1 + 2 + 5
    assert total(charges, "from_D_within_cell") == 1 + 2 + 5
    assert total(charges, "bootstrap_replace") == 1 + 2 + 7


def test_a_promise_from_the_actual_data_covers_replacements_within_a_cell_but_not_the_other_way_round() -> None:
    assert total([charge(1, "from_D"), charge(2, "replace_within_cell")], "from_D_within_cell") == 3
    with pytest.raises(NotCountable, match="must be one under which a promise says someth"):
        total([charge(1, "from_D_within_cell")], "from_D")


def test_an_individual_may_have_rows_in_every_part_so_parts_add_up() -> None:
    charges = [charge(e, "add_remove", part, "individual") for e, part in ((1, "north"), (2, "south"), (4, "east"))]
    assert total(charges, "add_remove", "individual") == 7


# --- Refusals ---------------------------------------------------------------------------------------------------


def test_a_promise_of_the_account_s_model_that_says_nothing_there_is_refused() -> None:
    with pytest.raises(NotCountable, match="must be one under which a promise says someth") as refused:
        total([charge(1), charge(2)], "add_remove")
    assert (refused.value.code, refused.value.kind) == ("not-countable", "budget")
    assert len(refused.value.faults) == 1


@pytest.mark.parametrize(
    ("spent", "account"),
    [
        ("presence", "from_D"),
        ("replace_within_cell", "from_D"),
        ("presence", "from_D_within_cell"),
        ("replace", "bootstrap_add_remove"),
        ("presence", "bootstrap_replace"),
    ],
)
def test_a_dp_charge_that_another_model_cannot_count_is_refused_there(spent: str, account: str) -> None:
    with pytest.raises(
        NotCountable, match=f"must be one under which a promise says something about {MODEL_OF[account]} {account}"
    ):
        total([charge(1, spent)], account)


def test_another_unit_is_refused_in_both_directions() -> None:
    with pytest.raises(NotCountable, match="must be the unit of the account, individual, got 'row'"):
        total([charge(1)], unit="individual")
    with pytest.raises(NotCountable, match="must be the unit of the account, row, got 'individual'"):
        total([charge(1, unit="individual")], unit="row")


def test_a_charge_of_a_model_that_does_not_count_is_left_out_whatever_its_unit() -> None:
    assert total([charge(1, "from_D", unit="individual"), charge(1, "bootstrap_replace")], "replace") == 0


def test_every_fault_is_named_once() -> None:
    charges = [charge(1), charge(1, unit="individual"), charge(2)]
    with pytest.raises(NotCountable) as refused:
        total(charges, "add_remove")
    assert [fault.field for fault in refused.value.faults] == ["charge.adjacency", "charge.unit"]


@pytest.mark.parametrize(("model", "adjacency"), [("dp", "neighbouring"), ("dp", "from_D"), ("k_anon", "replace")])
def test_a_word_outside_the_vocabulary_is_refused(model: Model, adjacency: str) -> None:
    with pytest.raises(NotCountable, match=r"charge\.adjacency refused: .*remove, dp replace, dp replace"):
        Charge(model=model, epsilon=Fraction(1), adjacency=adjacency, unit="row")
    with pytest.raises(NotCountable, match=r"charge\.adjacency refused"):
        counts_as(model, adjacency, in_model=model, in_adjacency=adjacency)
    with pytest.raises(NotCountable, match=r"budget\.adjacency refused"):
        counts_as("dp", "replace", in_model=model, in_adjacency=adjacency)
    with pytest.raises(NotCountable, match=r"budget\.adjacency refused"):
        composed([], model=model, adjacency=adjacency, unit="row")


@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(-1, 3), 0.5, "1/2", float("nan")])
def test_an_epsilon_that_is_no_positive_fraction_is_refused(epsilon: Fraction) -> None:
    with pytest.raises(NotCountable, match=r"charge\.epsilon refused: must be a fraction above 0"):
        Charge(model="dp", epsilon=epsilon, adjacency="replace", unit="row")


def test_a_part_without_a_name_is_refused() -> None:
    with pytest.raises(NotCountable, match=r"charge\.part refused"):
        charge(1, part="")


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
