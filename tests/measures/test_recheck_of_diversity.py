"""How many different values groups hold, counted again on what is released."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.mechanisms import probabilistic_k_anonymity as pka
from penstock.mechanisms.columns import Column
from penstock.mechanisms.randomness import seeded
from tests.measures.judged_columns import nominal, number, promise, rechecked
from tests.measures.masked_records import Averaged

DECLARED = {"age": number(0, 100, role="quasi_identifier"), "cause": nominal(3, missing="category")}


def failed(output, least):
    output.differing(least)
    return output.failed()


def test_groups_with_enough_different_values_pass():
    output = Averaged()
    output.original["rank"] = output.released["rank"] = np.arange(12) % 5
    assert failed(output, 2) == set()


def test_a_group_whose_values_are_alike_is_found():
    output = Averaged()
    output.original["rank"] = output.released["rank"] = np.array([0, 1, 2, 3, 3, 3, 0, 1, 2, 0, 1, 2])
    assert failed(output, 2) == {"values_differ_in_groups"}


def test_one_value_too_few_is_found():
    output = Averaged()
    output.original["rank"] = output.released["rank"] = np.arange(12) % 3
    assert failed(output, 3) == set()
    output.original["rank"] = output.released["rank"] = np.array([0, 1, 2, 0, 1, 2, 0, 1, 1, 0, 1, 2])
    assert failed(output, 3) == {"values_differ_in_groups"}


def test_a_missing_value_and_another_sign_of_zero_are_no_values_that_differ():
    columns = {"age": np.repeat([1.0, 2.0], 3), "cause": np.array([0, -1, 0, 1, 2, 1])}
    guarantee = promise("k_anon", method="mdav_id", k=3, diversity=2)
    groups = {"age": np.repeat([0, 1], 3)}
    checks = rechecked(columns, columns, DECLARED, guarantee, ("age",), groups)
    assert [check.name for check in checks if not check.passed] == ["values_differ_in_groups"]
    declared = {"age": DECLARED["age"], "income": number(-5, 5)}
    columns = {"age": columns["age"], "income": np.array([0.0, -0.0, 0.0, 1.0, 2.0, 3.0])}
    checks = rechecked(columns, columns, declared, guarantee, ("age",), groups)
    assert [check.name for check in checks if not check.passed] == ["values_differ_in_groups"]


def test_groups_without_any_value_are_found():
    columns = {"age": np.repeat([1.0, 2.0], 3), "cause": np.full(6, -1)}
    guarantee = promise("k_anon", method="mdav_id", k=3, diversity=2)
    checks = rechecked(columns, columns, DECLARED, guarantee, ("age",), {"age": np.repeat([0, 1], 3)})
    assert [check.name for check in checks if not check.passed] == ["values_differ_in_groups"]


@pytest.mark.parametrize("labels", [np.array([0, 0, 0, 1, 1, 1]), None])
def test_under_a_swap_the_groups_in_which_values_moved_are_counted(labels):
    columns = {"age": np.arange(6.0), "cause": np.array([0, 0, 0, 0, 1, 2])}
    guarantee = promise("prob_k", method="mdav_swap", k=3, diversity=2)
    groups = {} if labels is None else {"cause": labels}
    checks = rechecked(columns, columns, DECLARED, guarantee, ("cause",), groups)
    assert "values_differ_in_groups" in [check.name for check in checks if not check.passed]


@pytest.mark.parametrize("method", ["mdav_id", "mdav_swap"])
def test_real_outputs_pass_and_the_same_groups_promised_more_do_not(method):
    rng = np.random.default_rng(3)
    declared = {"age": Column(role="quasi_identifier", type="integer", domain=(0, 99)), "cause": nominal(4)}
    columns = {"age": rng.integers(0, 100, 300), "cause": rng.integers(0, 4, 300)}
    output = pka.protect(columns, declared, pka.Params(method=method, k=3, diversity=3), seeded(1))
    for least, passes in ((3, True), (4, False)):
        parameters = {**output.guarantee.parameters, "diversity": least}
        guarantee = output.guarantee.model_copy(update={"parameters": parameters})
        checks = rechecked(columns, output.columns, declared, guarantee, output.masked, output.groups)
        assert all(check.passed for check in checks) == passes
