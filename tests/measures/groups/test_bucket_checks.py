"""Correct groups with buckets pass every check, and groups, permutations and columns that are broken are found."""

from __future__ import annotations

import numpy as np
import pytest

from tests.measures.bucket_maker import ANY, BUCKETED, PERMUTED, K, Made, N
from tests.measures.judged_columns import number

every = pytest.mark.parametrize("chosen", ANY, ids=repr)
every_bucketed = pytest.mark.parametrize("chosen", BUCKETED, ids=repr)
every_permuted = pytest.mark.parametrize("chosen", PERMUTED, ids=repr)


@every
def test_a_correct_output_passes(chosen):
    assert Made(**chosen).failed() == set()


@every
def test_columns_and_groups_may_be_read_only_and_of_other_widths(chosen):
    made = Made(**chosen)
    made.groups = {name: labels.astype(np.int32) for name, labels in made.groups.items()}
    made.original["region"] = made.original["region"].astype(np.int8)
    sides = [made.original, made.released, made.groups, made.buckets, *(t.columns for t in made.linked.values())]
    for values in (values for side in sides for values in side.values()):
        values.setflags(write=False)
    assert made.failed() == set()


@every
def test_what_is_found_names_columns_and_no_values(chosen):
    made = Made(**chosen)
    made.source["age"] = number(0, 200, role="quasi_identifier")
    made.groups = {name: np.where(labels == 0, 1, labels) for name, labels in made.groups.items()}
    made.original = {name: values[::-1] for name, values in made.original.items()}
    checks = made.checks()
    assert sum(not check.passed for check in checks) >= 2
    assert not any(character.isdigit() for check in checks for character in check.found)
    assert {check.name: check.found for check in checks}["unchanged_columns"].endswith(": age, region, weight")


# group_sizes


@every
def test_a_group_that_is_too_small_is_found(chosen):
    made = Made(**chosen)
    made.parameters["k"] = K + 1
    assert made.failed() == {"group_sizes"}


def in_another_group(made, row):
    """One record leaves its group for another one, and everything is published anew."""
    made.groups = {name: labels.copy() for name, labels in made.groups.items()}
    for labels in made.groups.values():
        labels[row] = (labels[row] + 3) % 6
    made.publish()
    return made


@every_bucketed
def test_a_group_of_one_less_is_found_and_so_is_its_missing_bucket(chosen):
    assert in_another_group(Made(**chosen), 0).failed() >= {"group_sizes"}


@every_bucketed
@pytest.mark.parametrize("row", range(0, N, 5))
def test_a_record_in_another_group_than_the_published_one_is_found(chosen, row):
    made = Made(**chosen)
    before = made.released, made.declared, made.linked
    in_another_group(made, row)
    made.released, made.declared, made.linked = before
    assert made.failed() >= {"group_sizes"} | ({"bucket_table"} if made.form == "anatomy" else set())


def test_groups_that_are_not_the_published_ones_are_found():
    """Two whole groups change their numbers in one place only: everything but the numbers is right."""
    made = Made(("income",))
    made.released["group"] = np.array([0, 2, 1, 3, 4, 5, 6])[made.released["group"]]
    assert made.failed() == {"group_sizes"}


@pytest.mark.parametrize("change", [lambda key: key.astype(float), lambda key: key - 1])
def test_published_groups_are_whole_numbers_from_one(change):
    made = Made(("income",))
    made.released["group"] = change(made.released["group"])
    assert made.failed() == {"group_sizes"}


def test_the_declared_groups_are_those_that_exist():
    made = Made(("income",))
    made.declared["group"] = made.key(7)
    assert made.failed() == {"group_sizes"}
    del made.released["group"], made.declared["group"]
    assert made.failed() == {"group_sizes"}


def test_one_group_of_everybody_passes():
    for chosen in ANY:
        made = Made(**chosen)
        made.groups = {name: np.zeros(N, np.int64) for name in made.groups}
        made.publish()
        assert made.failed() == set()


def test_a_number_without_a_group_is_found():
    made = Made(("income",))
    made.groups["income"] = np.where(made.groups["income"] == 5, 6, made.groups["income"])
    made.publish()
    assert made.failed() == {"group_sizes", "closeness"}


@pytest.mark.parametrize("output", ["anatomy", "permuted"])
def test_columns_in_buckets_together_have_one_partition(output):
    made = Made(several="joint", output=output)
    made.groups["rank"] = made.groups["rank"][::-1].copy()
    assert made.failed() == {"group_sizes"}


@every
@pytest.mark.parametrize("labels", [None, np.zeros(N), np.zeros(N - 1, int), -np.ones(N, int), np.full(N, 10**9)])
def test_groups_that_cannot_be_counted_are_found(chosen, labels):
    made = Made(**chosen)
    first = made.columns[0]
    if labels is None:
        del made.groups[first]
    else:
        made.groups[first] = labels
    assert made.failed() >= {"group_sizes", made.guarantee.audit[1]}


def test_groups_of_other_columns_are_found():
    made = Made(("income",))
    made.groups["age"] = made.groups["income"]
    assert made.failed() == {"group_sizes"}


# permutation_within_groups


@every_permuted
def test_buckets_exchanged_between_groups_are_found(chosen):
    made = Made(**chosen)
    name = made.columns[0]
    codes, group = made.released[name], made.groups[name]
    one = 0
    other = int(np.flatnonzero((group != group[one]) & (codes != codes[one]))[0])
    codes[[one, other]] = codes[[other, one]]
    assert made.failed() == {"permutation_within_groups"}


@every_permuted
def test_a_bucket_replaced_by_another_is_found(chosen):
    made = Made(**chosen)
    codes = made.released[made.columns[-1]]
    codes[2] = (codes[2] + 1) % 2
    assert made.failed() == {"permutation_within_groups"}


def test_columns_torn_apart_are_found_where_they_belong_together():
    for several, failed in (("joint", {"permutation_within_groups"}), ("each", set())):
        made = Made(several=several, output="permuted")
        codes, group = made.released["income"], made.groups["income"]
        one = int(np.flatnonzero(group == 0)[0])
        other = int(np.flatnonzero((group == 0) & (codes != codes[one]))[0])
        codes[[one, other]] = codes[[other, one]]
        assert made.failed() == failed


def test_a_permuted_column_left_out_is_found():
    made = Made(several="each", output="permuted")
    del made.released["rank"]
    assert made.failed() == {"permutation_within_groups"}


# unchanged_columns


@every
@pytest.mark.parametrize("name", ["age", "region", "weight"])
def test_an_altered_column_is_found(chosen, name):
    made = Made(**chosen)
    made.released[name][-1] += 1
    assert made.failed() == {"unchanged_columns"}


@every
@pytest.mark.parametrize("name", ["age", "weight"])
def test_a_column_left_out_or_of_another_type_is_found(chosen, name):
    made = Made(**chosen)
    made.original[name] = np.round(made.original[name])
    made.released[name] = made.original[name].astype(int)
    assert made.failed() == {"unchanged_columns"}
    del made.released[name]
    assert made.failed() == {"unchanged_columns"}


def test_a_missing_value_that_moved_is_found():
    made = Made(("income",))
    here, there = np.flatnonzero(made.released["region"] == -1)[0], np.flatnonzero(made.released["region"] == 0)[0]
    made.released["region"][[here, there]] = made.released["region"][[there, here]]
    assert made.failed() == {"unchanged_columns"}


def test_a_column_that_has_no_original_is_found():
    made = Made(("income",))
    del made.original["weight"]
    assert made.failed() == {"unchanged_columns"}


def test_codes_into_other_categories_are_found():
    made = Made(("income",))
    made.declared["region"] = made.declared["region"].model_copy(update={"categories": tuple("dcba")})
    assert made.failed() == {"unchanged_columns"}
