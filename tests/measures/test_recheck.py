"""Correct outputs pass every check, and each way to break an output is found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.mechanisms import probabilistic_k_anonymity as pka
from penstock.mechanisms.columns import Column
from penstock.mechanisms.randomness import seeded
from tests.measures.judged_columns import nominal, number, ordinal, promise, rechecked
from tests.measures.masked_records import GROUPS, Averaged, K, N, Swapped, source
from tests.support.order import examples

both_swaps = pytest.mark.parametrize("method", ["ir_swap", "mdav_swap"])


@both_swaps
def test_a_correct_swap_passes(method):
    assert Swapped(method).failed() == set()


def test_a_correct_microaggregation_passes():
    assert Averaged().failed() == set()


@both_swaps
def test_a_swap_across_groups_is_found(method):
    output = Swapped(method)
    output.released["income"][[2, 3]] = output.released["income"][[3, 2]]
    assert output.failed() == {"permutation_within_groups"}


@both_swaps
def test_an_altered_value_is_found(method):
    output = Swapped(method)
    output.released["income"][0] += 1e-12
    assert output.failed() == {"permutation_within_groups"}


@both_swaps
def test_a_value_that_replaces_its_neighbour_is_found(method):
    output = Swapped(method)
    output.released["rank"][3:6] = [1, 2, 2]
    assert output.failed() == {"permutation_within_groups"}


@both_swaps
def test_a_group_that_is_too_small_is_found(method):
    output = Swapped(method)
    labels = GROUPS.copy()
    labels[0] = 4
    output.released = source()
    output.groups = {"income": labels, "rank": labels}
    assert output.failed() == {"group_sizes"}


def test_each_column_has_its_own_k():
    output = Swapped(k={"income": K, "rank": K + 1})
    assert output.failed() == {"group_sizes"}
    output.groups["rank"] = np.arange(N) // 6
    assert output.failed() == set()


def test_columns_may_have_different_groups_under_ir_swap_only():
    for method, failed in (("ir_swap", set()), ("mdav_swap", {"permutation_within_groups"})):
        output = Swapped(method)
        output.groups["rank"] = np.arange(N) // 6
        assert output.failed() == failed


def test_one_tuple_that_is_split_is_found():
    """Both columns are permutations inside their groups, but one record's values went apart."""
    output = Swapped("mdav_swap")
    output.released["income"][[0, 1]] = output.released["income"][[1, 0]]
    assert output.failed() == {"permutation_within_groups"}
    output = Swapped("ir_swap")
    output.released["income"][[0, 1]] = output.released["income"][[1, 0]]
    assert output.failed() == set()


@both_swaps
@pytest.mark.parametrize("name", ["age", "region", "weight"])
def test_an_altered_column_that_is_not_masked_is_found(method, name):
    output = Swapped(method)
    output.released[name][-1] = 1
    assert output.failed() == {"unchanged_columns"}


def test_an_altered_confidential_column_is_found_under_microaggregation():
    output = Averaged()
    output.released["income"][[0, 1]] = output.released["income"][[1, 0]]
    assert output.failed() == {"unchanged_columns"}


def test_a_missing_value_that_moved_is_found_in_an_unmasked_column():
    output = Swapped(age=number(0, 100, role="quasi_identifier", missing="category"))
    output.original["age"][0] = output.released["age"][0] = np.nan
    assert output.failed() == set()
    output.released["age"][[0, 3]] = output.released["age"][[3, 0]]
    assert output.failed() == {"unchanged_columns"}


def with_missing_incomes():
    """Incomes 0 and 6 are missing; the rest is swapped in two groups, the missing form a third."""
    output = Swapped(income=number(0, 100, missing="own_group"))
    labels = np.where(np.arange(N) < 6, 0, 1)
    labels[[0, 6]] = 2
    output.original["income"][[0, 6]] = np.nan
    output.released["income"] = output.original["income"].copy()
    output.released["income"][[1, 2]] = output.original["income"][[2, 1]]
    output.groups["income"] = labels
    return output


def test_missing_values_in_a_group_of_their_own_need_no_k():
    assert with_missing_incomes().failed() == set()


def test_a_missing_value_that_moved_into_a_group_is_found():
    output = with_missing_incomes()
    output.released["income"][[0, 1]] = output.released["income"][[1, 0]]
    assert output.failed() == {"group_sizes", "permutation_within_groups"}


def test_a_value_hidden_in_the_group_of_missing_values_is_found():
    output = with_missing_incomes()
    output.groups["income"][1] = 2
    output.released["income"] = output.original["income"].copy()
    assert output.failed() == {"group_sizes"}


def test_missing_values_inside_an_ordinary_group_are_found():
    output = with_missing_incomes()
    output.groups["income"][0] = 0
    assert output.failed() == {"group_sizes"}


def test_missing_ranks_in_a_group_of_their_own_pass():
    output = Swapped(rank=ordinal(5, missing="own_group"))
    for side in (output.original, output.released):
        side["rank"][:K] = -1
    assert output.failed() == set()


@pytest.mark.parametrize("name", ["id", "shoe_size"])
@pytest.mark.parametrize("output", [Swapped, Averaged])
def test_an_identifier_or_an_undeclared_column_is_found(output, name):
    broken = output()
    broken.released[name] = np.arange(N)
    assert broken.failed() == {"identifiers_absent"}


@pytest.mark.parametrize("name", ["age", "region", "weight"])
def test_a_key_with_one_record_too_few_is_found(name):
    output = Averaged()
    output.released[name][0] = output.released[name][-1]
    assert output.failed() == {"k_anonymity_of_keys"}


def test_keys_are_counted_over_all_groups():
    """Two groups with one key: 2k records; taking one away leaves enough of it, but not of the new key."""
    output = Averaged()
    for name in output.masked:
        output.released[name][:6] = output.released[name][0]
    assert output.failed() == set()


def test_a_group_that_is_too_small_is_found_under_microaggregation():
    output = Averaged()
    output.groups["weight"] = np.where(np.arange(N) == 0, 4, GROUPS)
    assert output.failed() == {"group_sizes"}


def test_a_key_column_left_out_is_found():
    output = Averaged()
    del output.released["age"]
    assert output.failed() == {"k_anonymity_of_keys", "group_sizes"}


def test_a_column_left_out_is_found():
    output = Swapped()
    del output.released["age"], output.released["rank"]
    assert output.failed() == {"unchanged_columns", "group_sizes", "permutation_within_groups"}


@pytest.mark.parametrize("masked", [(), ("income",), ("income", "rank", "age")])
def test_the_mechanism_cannot_say_by_itself_what_is_masked(masked):
    output = Swapped()
    output.masked = masked
    assert output.failed() == {"group_sizes"}


@pytest.mark.parametrize("labels", [None, np.zeros(N), np.zeros(N - 1, int), GROUPS - 1, GROUPS * 10**9])
def test_groups_that_cannot_be_counted_are_found(labels):
    output = Swapped()
    output.groups = {"rank": GROUPS} if labels is None else {"rank": GROUPS, "income": labels}
    assert output.failed() == {"group_sizes", "permutation_within_groups"}


def test_numbers_that_changed_their_type_are_found():
    output = Swapped()
    output.original["age"] = output.original["age"].astype(np.int64)
    output.original["income"] = np.arange(N)
    assert output.failed() == {"unchanged_columns", "permutation_within_groups"}


def test_a_change_of_sign_of_zero_is_found():
    output = Swapped()
    output.released["income"][2] = -0.0
    assert output.failed() == {"permutation_within_groups"}


def test_text_and_codes_are_the_same_values():
    output = Swapped()
    letters = np.array(list("abcde"))
    output.released["rank"] = letters[output.released["rank"]]
    assert output.failed() == set()


@pytest.mark.parametrize("output", [Swapped, Averaged])
def test_columns_and_groups_may_be_read_only(output):
    fixed = output()
    for side in (fixed.original, fixed.released, fixed.groups):
        for values in side.values():
            values.setflags(write=False)
    assert fixed.failed() == set()


def test_what_is_found_names_columns_and_no_values():
    output = Swapped()
    output.released["income"][[2, 3]] = output.released["income"][[3, 2]]
    checks = rechecked(
        output.original, output.released, output.declared, output.guarantee, output.masked, output.groups
    )
    found = {check.name: check.found for check in checks}["permutation_within_groups"]
    assert found.endswith(": income")
    assert not any(character.isdigit() for check in checks for character in check.found)
    assert checks[0].as_dict()["passed"] is True


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=300))
def test_the_comparison_of_groups_equals_counting(records):
    """Against sorted lists: groups of any size, so that both ways of sorting inside groups are used."""
    drawn, before, after = (np.array(column) for column in zip(*records, strict=True))
    labels = np.unique(drawn, return_inverse=True)[1]
    declared = {"rank": ordinal(4)}
    guarantee = promise("prob_k", method="mdav_swap", k=2)
    checks = rechecked({"rank": before}, {"rank": after}, declared, guarantee, ("rank",), {"rank": labels})
    sizes, permuted = checks[0], checks[1]
    assert permuted.passed == all(sorted(before[labels == g]) == sorted(after[labels == g]) for g in set(labels))
    assert sizes.passed == all((labels == g).sum() >= 2 for g in set(labels))


@settings(deadline=None, max_examples=examples(50))
@given(st.integers(0, 10**6), st.integers(4, 200), st.integers(2, 4))
def test_real_outputs_of_every_method_pass(seed, n, k):
    rng = np.random.default_rng(seed)
    declared = {
        "id": Column(role="identifier"),
        "age": number(0, 100, role="quasi_identifier"),
        "region": nominal(4, role="quasi_identifier", missing="category"),
        "income": number(0, 10),
        "weight": Column(role="weight"),
    }
    columns = {
        "age": rng.integers(0, 100, n).astype(float),
        "region": rng.integers(-1, 4, n),
        "income": rng.integers(0, 10, n).astype(float),
        "weight": rng.random(n) + 0.5,
    }
    for method in ("mdav_id", "mdav_swap", "ir_swap"):
        output = pka.protect(columns, declared, pka.Params(method=method, k=k), seeded(seed))
        checks = rechecked(columns, output.columns, declared, output.guarantee, output.masked, output.groups)
        assert all(check.passed for check in checks), checks


def test_a_real_output_with_missing_values_passes():
    declared = {"income": number(0, 100, missing="own_group"), "rank": ordinal(5, missing="own_group")}
    columns = {"income": np.arange(40.0), "rank": np.arange(40) % 5}
    columns["income"][[3, 9]], columns["rank"][5] = np.nan, -1
    output = pka.protect(columns, declared, pka.Params(method="ir_swap", k=4, k_by_column={"rank": 7}), seeded(1))
    checks = rechecked(columns, output.columns, declared, output.guarantee, output.masked, output.groups)
    assert all(check.passed for check in checks), checks
