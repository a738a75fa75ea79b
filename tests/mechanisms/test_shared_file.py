"""What stands side by side in a file, and what is said of it."""

from __future__ import annotations

import numpy as np

from penstock.mechanisms.columns import Column, Role
from penstock.mechanisms.probabilistic_k_anonymity import Params, promise, protect
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.registry import MECHANISMS
from penstock.mechanisms.shared_file import Part, in_random_order, not_alike, of_file, side_by_side_in_words

ROLES: dict[str, Role] = {
    "age": "quasi_identifier",
    "sex": "quasi_identifier",
    "income": "confidential",
    "tax": "confidential",
    "weight": "weight",
}


def part(name: str, method: str, k: int, *columns: str) -> Part:
    declared = {
        column: Column(role="weight")
        if ROLES[column] == "weight"
        else Column(role=ROLES[column], type="integer", domain=(0, 100))
        for column in columns
    }
    settings = Params(method=method, k=k)  # type: ignore[arg-type]
    return Part(name, promise(settings, declared), {column: ROLES[column] for column in columns})


def test_quasi_identifiers_and_weights_beside_those_made_alike_are_found() -> None:
    alike = part("keys", "mdav_id", 5, "age")
    other = part("more", "ir_swap", 9, "sex", "income", "weight")
    assert [(each.name, name) for each, name in not_alike([other, alike])] == [("more", "sex"), ("more", "weight")]
    again = part("again", "mdav_id", 5, "sex")
    assert [(each.name, name) for each, name in not_alike([alike, again])] == [("again", "sex")]
    assert list(not_alike([alike, part("amounts", "ir_swap", 9, "income")])) == []
    assert (
        list(not_alike([part("one", "mdav_swap", 9, "age", "income"), part("two", "ir_swap", 9, "sex", "tax")])) == []
    )


def test_the_words_say_who_sees_what_where_keys_are_alike() -> None:
    parts = [part("keys", "mdav_id", 5, "age", "sex"), part("amounts", "ir_swap", 25, "income", "tax")]
    stands, each, by_keys, by_all, limits = side_by_side_in_words("people", parts, ["record_linkage at most 0.4"])
    assert "keys (age, sex); amounts (income, tax)" in stands
    assert "nothing is promised of all columns of people together" in each
    assert "Whoever knows age, sex of somebody finds a group of at least 5 rows" in by_keys
    assert "income, tax, swapped and near the true ones in groups of at least 25 records" in by_keys
    assert "Whoever knows several of age, sex, income, tax" in by_all
    assert limits == "Limits of the file, all columns together: record_linkage at most 0.4."


def test_the_words_say_that_unchanged_keys_find_the_row() -> None:
    parts = [part("one", "mdav_swap", 9, "age", "income"), part("two", "ir_swap", 25, "tax")]
    by_keys = side_by_side_in_words("people", parts, ["record_linkage at most 0.4"])[2]
    assert "may find the one row that is theirs, because these columns are unchanged" in by_keys
    assert "income, swapped in groups of at least 9 records; tax, swapped and near" in by_keys


def test_the_words_say_that_confidential_columns_beside_keys_made_alike_are_unchanged() -> None:
    parts = [part("keys", "mdav_id", 5, "age", "income"), part("amounts", "ir_swap", 25, "tax")]
    assert (
        "income, unchanged; tax, swapped" in side_by_side_in_words("people", parts, ["record_linkage at most 0.4"])[2]
    )


def test_without_quasi_identifiers_nothing_is_said_of_those_who_know_some() -> None:
    parts = [part("one", "ir_swap", 9, "income"), part("two", "ir_swap", 25, "tax")]
    assert len(side_by_side_in_words("people", parts, ["record_linkage at most 0.4"])) == 4


def test_a_promise_in_a_file_ends_at_its_own_columns() -> None:
    own = part("keys", "mdav_id", 5, "age", "income")
    stated = of_file(own.guarantee, "people", own.roles, ["tax"])
    assert own.guarantee.parameters["ties"] == "broken by lowest source row"
    assert stated.parameters == {**own.guarantee.parameters, "ties": "broken at random"}
    assert stated.not_promised == (
        "that values differ inside a group: where all are equal, they are disclosed: income",
        "protection against outsiders who know a value that is published unchanged: income",
        "anything after a second release of the same records",
        "anything for whoever also uses the columns that stand beside these in people, record by record: tax",
    )


def test_only_the_mechanism_whose_promises_hold_column_by_column_shares_files() -> None:
    assert [name for name, each in MECHANISMS.items() if each.shares_file] == ["probabilistic_k_anonymity"]


def limits_in_file(own: Part) -> str:
    return "; ".join(of_file(own.guarantee, "people", own.roles, ["sex"]).not_promised)


def test_a_promise_in_a_file_says_nothing_of_columns_that_others_treat() -> None:
    """The keys of such a file are averaged and its amounts swapped, so neither are unchanged; alone they would be."""
    keys, amounts = part("keys", "mdav_id", 5, "age"), part("amounts", "ir_swap", 25, "income", "tax")
    assert "confidential columns are unchanged" in "; ".join(keys.guarantee.not_promised)
    assert "weights are published unchanged" in "; ".join(amounts.guarantee.not_promised)
    for own in (keys, amounts):
        assert "unchanged" not in limits_in_file(own)
    assert "disclosed" not in limits_in_file(keys)
    assert "; that a record takes part; " in limits_in_file(amounts)


def test_a_promise_in_a_file_names_what_stays_as_it_was() -> None:
    swapped = part("amounts", "mdav_swap", 25, "age", "weight", "tax")
    assert "that a record takes part: published unchanged: age, weight" in limits_in_file(swapped)


def test_what_a_mechanism_makes_in_a_file_has_the_promise_that_was_planned_but_for_its_last_limit() -> None:
    for method, columns in (("mdav_id", ("age", "income")), ("mdav_id", ("age",)), ("ir_swap", ("income", "tax"))):
        own = part("one", method, 2, *columns)
        declared = {name: Column(role=ROLES[name], type="integer", domain=(0, 100)) for name in columns}
        data = {name: np.arange(6) for name in columns}
        settings = Params(method=method, k=2)  # type: ignore[arg-type]
        made = in_random_order(protect, data, declared, settings, seeded(1)).guarantee
        planned = of_file(own.guarantee, "people", own.roles, ["sex"])
        assert made == planned.model_copy(update={"not_promised": planned.not_promised[:-1]})
