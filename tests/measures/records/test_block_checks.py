"""Correct blocks pass every check whatever was drawn, and each way to break them is found."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.mechanisms import dp_microaggregation as dp
from penstock.mechanisms.columns import Column
from penstock.mechanisms.randomness import seeded
from tests.measures.judged_columns import number, ordinal, rechecked
from tests.measures.records.blocks import DECLARED, FACTS, LABELS, Blocks, K, N
from tests.support.order import examples

both = pytest.mark.parametrize("mode", ["records", "marginals"])


@both
@pytest.mark.parametrize("k", ["auto", K])
def test_correct_blocks_pass(mode, k):
    assert Blocks(mode, k).failed() == set()


@both
def test_columns_and_groups_may_be_read_only(mode):
    fixed = Blocks(mode)
    for side in (fixed.original, fixed.released, fixed.groups):
        for values in side.values():
            values.setflags(write=False)
    assert fixed.failed() == set()


@both
@pytest.mark.parametrize(("place", "other"), [(0, 1), (3, 1), (3, 0)])
def test_a_record_in_another_block_is_found(mode, place, other):
    output = Blocks(mode)
    output.groups["income"][place] = other
    assert "block_sizes" in output.failed()


@both
def test_a_last_block_that_is_not_the_larger_one_is_found(mode):
    output = Blocks(mode)
    turned = (LABELS + 1) % 3
    output.groups = dict.fromkeys(output.groups, turned)
    assert output.failed() == {"block_sizes"}


@both
def test_another_k_than_promised_is_found(mode):
    assert Blocks(mode, k=K + 1).failed() == {"block_sizes"}


@both
def test_another_k_than_the_blocks_have_is_found(mode):
    output = Blocks(mode)
    for part in output.chosen["parts"]:
        part["k"] = 4
    assert "block_sizes" in output.failed()
    for part in output.chosen["parts"]:
        part["k"] = N + 1
    assert "block_sizes" in output.failed()


@both
@pytest.mark.parametrize("blocks", [2, 4])
def test_another_number_of_blocks_than_stated_is_found(mode, blocks):
    output = Blocks(mode)
    output.chosen["parts"][0]["blocks"] = blocks
    assert output.failed() == {"block_sizes"}


@both
def test_facts_about_another_number_of_records_are_found(mode):
    output = Blocks(mode)
    output.chosen["records"] = N + 1
    assert output.failed() == {"block_sizes"}


def test_records_whose_columns_have_different_blocks_are_found():
    """Blocks of the right sizes, but another partition in one column: rows would show who shares blocks."""
    output = Blocks()
    other = LABELS[::-1].copy()
    output.groups["income"] = other
    output.released["income"] = np.array([0.25, 100.0, 17.5])[other]
    assert output.failed() == {"block_sizes"}
    apart = Blocks("marginals")
    apart.groups["income"], apart.released["income"] = other, output.released["income"]
    assert apart.failed() == set()


def test_columns_that_are_stated_together_or_apart_against_the_promise_are_found():
    for mode, other in (("records", "marginals"), ("marginals", "records")):
        output = Blocks(mode)
        output.chosen = Blocks(other).chosen
        assert output.failed() == {"block_sizes"}
    output = Blocks("marginals")
    first, second, _ = output.chosen["parts"]
    first["columns"] |= second["columns"]
    second["columns"] = {}
    assert output.failed() == {"block_sizes"}


@pytest.mark.parametrize("masked", [(), ("age", "region"), ("age", "region", "income", "more")])
def test_the_mechanism_cannot_say_by_itself_what_is_masked(masked):
    output = Blocks()
    output.masked = masked
    assert output.failed() == {"block_sizes"}


@both
@pytest.mark.parametrize("labels", [None, np.zeros(N), np.zeros(N - 1, int), LABELS - 1, LABELS * 10**9])
def test_blocks_that_cannot_be_counted_are_found(mode, labels):
    output = Blocks(mode)
    output.groups = dict.fromkeys(("age", "region"), LABELS) | ({} if labels is None else {"income": labels})
    assert {"block_sizes", "one_value_per_block"} == output.failed()


@both
@pytest.mark.parametrize("name", ["age", "region", "income"])
def test_a_row_with_another_value_than_its_block_is_found(mode, name):
    output = Blocks(mode)
    output.released[name][0] = output.released[name][1]
    assert output.failed() == {"one_value_per_block"}


def test_values_of_blocks_in_other_rows_are_found_where_rows_are_records():
    shuffled = np.random.default_rng(1).permutation(N)
    for mode, failed in (("records", {"one_value_per_block"}), ("marginals", set())):
        output = Blocks(mode)
        for name in output.released:
            output.released[name] = output.released[name][shuffled]
        assert output.failed() == failed


@pytest.mark.parametrize(
    ("counts", "possible"),
    [
        ([3, 3, 5], True),
        ([6, 5], True),
        ([3, 8], True),
        ([11], True),
        ([9, 2], False),  # the larger block would have to be torn
        ([3, 4, 4], False),
        ([4, 7], False),
        ([1, 10], False),
        ([5, 5, 1], False),
    ],
)
def test_in_marginals_values_occur_as_often_as_blocks_have_records(counts, possible):
    output = Blocks("marginals")
    output.released["age"] = np.repeat(np.arange(len(counts)), counts)
    assert ("one_value_per_block" not in output.failed()) == possible


@given(st.integers(1, 30), st.integers(1, 8), st.randoms(use_true_random=False))
def test_the_count_of_marginals_equals_a_search_for_blocks(n, k, chance):
    """Against brute force: whether sizes k, .., k + n mod k can be dealt out so that the counts come about."""
    if n < k:
        return
    sizes = [k] * (n // k - 1) + [k + n % k]
    counts = [0] * chance.randint(1, 4)
    for _ in range(n):
        counts[chance.randrange(len(counts))] += 1
    if chance.random() < 0.5:
        counts = [0] * len(counts)
        for size in sizes:
            counts[chance.randrange(len(counts))] += size
    reachable = {(0,) * len(counts)}
    for size in sizes:
        reachable = {
            (*filled[:place], filled[place] + size, *filled[place + 1 :])
            for filled in reachable
            for place in range(len(counts))
            if filled[place] + size <= counts[place]
        }
    output = Blocks("marginals")
    output.declared = {"age": DECLARED["age"]}
    output.released = output.original = {"age": np.repeat(np.arange(len(counts)), counts)}
    output.groups, output.masked = {"age": np.repeat(np.arange(len(sizes)), sizes)}, ("age",)
    facts = {"age": FACTS["age"]}
    output.chosen = {"records": n, "parts": [{"k": k, "blocks": len(sizes), "columns": facts}]}
    assert (output.failed() == set()) == (tuple(counts) in reachable)


@both
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("age", -1),
        ("age", 101),
        ("region", -1),
        ("income", -0.25),
        ("income", 100.25),
        ("income", 0.125),
        ("income", np.nan),
        ("income", np.inf),
    ],
)
def test_a_value_outside_what_is_public_is_found(mode, name, value):
    output = Blocks(mode)
    output.released[name] = np.where(LABELS == 1, value, output.released[name])
    assert output.failed() == {"published_values"}


def test_a_bound_that_lies_off_the_grid_may_be_published():
    output = Blocks()
    output.declared["income"] = number(0.1, 99.9)
    output.released["income"] = np.array([0.1, 99.9, 17.5])[LABELS]
    assert output.failed() == set()


def test_whole_numbers_on_a_coarse_grid_are_checked():
    output = Blocks()
    output.facts("age")["grid"] = "4"
    assert output.failed() == {"published_values"}  # 37 is none of 0, 4, 8, ..
    output.released["age"] = np.array([20, 100, 36])[LABELS]
    assert output.failed() == set()


@pytest.mark.parametrize("grid", ["3", "1/3", "3/4"])
def test_a_grid_that_is_no_power_of_two_is_found(grid):
    output = Blocks()
    output.facts("income")["grid"] = grid
    assert output.failed() == {"published_values"}


def test_numbers_stored_as_another_type_are_found():
    output = Blocks()
    output.released["age"] = output.released["age"].astype(np.float64)
    assert output.failed() == {"published_values"}


def test_categories_as_text_are_not_what_is_staged():
    output = Blocks()
    output.released["region"] = np.array(list("abcd"))[output.released["region"]]
    assert output.failed() == {"published_values"}


def test_a_column_left_out_is_found():
    output = Blocks()
    del output.released["income"]
    assert output.failed() == {"one_value_per_block", "published_values"}


@pytest.mark.parametrize("name", ["id", "shoe_size"])
def test_an_identifier_or_an_undeclared_column_is_found(name):
    output = Blocks()
    output.declared["id"] = Column(role="identifier")
    output.released[name] = np.arange(N)
    assert output.failed() == {"identifiers_absent"}


def test_exactly_epsilon_may_be_spent_and_not_a_fraction_more():
    assert Blocks(epsilon="1").failed() == set()
    assert Blocks(epsilon=str(1 - Fraction(1, 10**12))).failed() == {"epsilon_spent"}


@pytest.mark.parametrize("name", list(FACTS))
def test_a_scale_that_is_a_trifle_too_small_is_found(name):
    output = Blocks(epsilon="2")
    output.facts(name)["scale"] = str(Fraction(output.facts(name)["scale"]) * Fraction(10**12 - 1, 10**12))
    assert output.failed() == {"epsilon_spent"}


def test_a_category_costs_twice_its_sensitivity():
    """With the scale that would do for a number of this sensitivity, it spends twice what is stated."""
    output = Blocks(epsilon="2")
    output.facts("region")["scale"] = str(Fraction(65536, Fraction("1/3")))
    assert output.failed() == {"epsilon_spent"}


def test_every_record_of_a_unit_is_charged():
    assert Blocks(rows_per_unit=2, epsilon="2").failed() == set()
    assert Blocks(rows_per_unit=2, epsilon="1").failed() == {"epsilon_spent"}


def test_what_is_found_names_columns_and_no_values():
    output = Blocks()
    output.released["income"][0] = 3.0
    checks = output.checks()
    found = {check.name: check.found for check in checks}["one_value_per_block"]
    assert found.endswith(": income")
    assert not any(character.isdigit() for check in checks for character in check.found)


REGIONS = {"all": [], "west": ["all"], "east": ["all"], "a": ["west"], "b": ["east"], "c": ["east"]}


@settings(max_examples=examples(40))
@given(
    st.integers(0, 10**6),
    st.integers(1, 120),
    st.sampled_from(["records", "marginals"]),
    st.sampled_from(["auto", 1, 2, 7]),
    st.sampled_from(["1/100", "1", "40"]),
    st.sampled_from([None, 3]),
)
def test_real_outputs_pass_whatever_was_drawn(seed, n, mode, k, epsilon, rows_per_unit):
    rng = np.random.default_rng(seed)
    declared = {
        "id": Column(role="identifier"),
        "age": Column(role="quasi_identifier", type="integer", domain=(0, 100)),
        "region": Column.model_validate({"role": "quasi_identifier", "type": "nominal", "taxonomy": REGIONS}),
        "rank": ordinal(4),
        "income": number(0.1, 99.7),
    }
    columns = {
        "age": rng.integers(0, 101, n),
        "region": rng.integers(0, 3, n),
        "rank": rng.integers(0, 4, n),
        "income": rng.uniform(-50, 150, n),  # clamped by the mechanism
    }
    params = dp.Params(epsilon=epsilon, adjacency="replace", k=k, mode=mode, rows_per_unit=rows_per_unit)
    if k != "auto" and k > n:
        return
    output = dp.protect(columns, declared, params, seeded(seed))
    released = {name: np.empty_like(values) for name, values in output.columns.items()}
    for name, values in output.columns.items():
        released[name][output.origin] = values
    checks = rechecked(
        columns,
        released,
        dp.released_columns(params, declared),
        output.guarantee,
        output.masked,
        output.groups,
        output.chosen,
    )
    assert all(check.passed for check in checks), checks
    assert {check.name for check in checks} == set(output.guarantee.audit)
