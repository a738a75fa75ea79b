"""Check the total cost of several releases case by case, and which charges no account can count."""

from __future__ import annotations

from fractions import Fraction

import pytest

from penstock.mechanisms.composition import Charge, NotCountable, composed, counts_as, why_not_together
from penstock.mechanisms.models import Model
from tests.mechanisms.charges import MODEL_OF, charge, total

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
        ("from_D_add_remove", 4),
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
        ("prob_k", "prob_k", True, "both are under prob_k, and no theorem covers both"),
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
