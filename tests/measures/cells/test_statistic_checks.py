"""Correct statistics pass every check whatever was drawn, and each way to break them is found."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.measures.checks import RecheckImpossible
from penstock.mechanisms.refusal import ScaleZero
from tests.measures.cells.checked_statistics import (
    CASES,
    DP_CHECKS,
    KINDS,
    NOISES,
    Release,
    survey,
)
from tests.support.order import examples

EACH = [(case, noise) for case in CASES for noise in NOISES if noise == "auto" or CASES[case]["model"] == "dp"]


@pytest.mark.parametrize(("case", "noise"), EACH)
def test_a_correct_release_passes_the_checks_that_its_guarantee_names(case, noise):
    release = Release(case, noise=noise)
    assert tuple(check.name for check in release.checks()) == release.guarantee.audit
    assert release.failed() == set()
    assert release.guarantee.audit[:4] == DP_CHECKS


@pytest.mark.parametrize(("case", "noise"), EACH)
@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**32))
def test_no_correct_release_fails_whatever_the_data_and_whatever_is_drawn(case, noise, seed):
    assert Release(case, seed, noise=noise).failed() == set()


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.integers(3, 9), min_size=12, max_size=40), st.sampled_from(KINDS))
def test_scales_are_recomputed_as_the_mechanism_has_them_where_values_are_tied(values, kind):
    """Few different values, even in small groups: a scale of 0 is refused, and every other one passes."""
    columns = {**survey(len(values)), "age": np.array(values)}
    try:
        release = Release("within cells", columns=columns, figures=[{"statistic": kind, "of": "age"}])
    except ScaleZero:
        return
    assert release.failed() == set()


# Columns and rows


def test_a_column_that_is_missing_or_not_declared_is_found():
    release = Release("replace")
    release.released["person"] = np.zeros(1, np.int64)
    assert release.failed() == {"columns_as_declared"}
    release = Release("replace")
    del release.released["income_mean"]
    assert release.failed() == {"columns_as_declared", "within_bounds"}


def test_a_count_that_is_no_whole_number_is_found():
    release = Release("replace among groups")
    release.released["count"] = release.released["count"] + 0.5
    assert release.failed() == {"columns_as_declared"}


def test_a_standard_error_that_is_withheld_is_found():
    release = Release("replace")
    del release.released["income_sum_standard_error"]
    assert release.failed() == {"columns_as_declared", "within_bounds"}


@pytest.mark.parametrize("case", ["replace among groups", "within cells"])
def test_groups_in_another_order_are_found(case):
    release = Release(case)
    release.released["sex"] = release.released["sex"][::-1]
    assert release.failed() == {"rows_as_declared"}


def test_a_group_that_is_left_out_is_found():
    release = Release("replace among groups")
    release.released = {name: values[:-1] for name, values in release.released.items()}
    assert release.failed() == {"rows_as_declared"}


def test_figures_of_other_length_than_the_groups_are_found():
    release = Release("replace")
    release.released["income_mean"] = np.repeat(release.released["income_mean"], 2)
    assert release.failed() == {"rows_as_declared"}


# Bounds


@pytest.mark.parametrize("kind", KINDS[1:])
@pytest.mark.parametrize("wrong", [-500.1, 6e6, np.nan, np.inf])
def test_a_figure_outside_its_bounds_is_found_and_its_value_is_not_told(kind, wrong):
    release = Release("replace")
    release.released[f"income_{kind}"][0] = wrong
    assert release.failed() == {"within_bounds"}
    (check,) = (check for check in release.checks() if not check.passed)
    assert check.found == f"a figure is missing or lies elsewhere: income_{kind}"


def test_a_negative_or_infinite_standard_error_is_found():
    for wrong in (-1.0, np.inf):
        release = Release("replace")
        release.released["income_mean_standard_error"][0] = wrong
        assert release.failed() == {"within_bounds"}


def test_a_sum_may_be_any_finite_number():
    release = Release("replace")
    release.released["income_sum"][0] = -1e12
    assert release.failed() == set()
    release.released["income_sum"][0] = np.nan
    assert release.failed() == {"within_bounds"}


# Epsilon


@pytest.mark.parametrize("case", CASES)
def test_a_figure_that_spends_more_than_its_share_is_found(case):
    release = Release(case, noise="laplace")
    release.facts("income_median")["epsilon"] = "21/80"
    release.facts("income_sum")["epsilon"] = "1/4"
    assert release.failed() == {"epsilon_spent"}


def test_an_epsilon_that_was_not_divided_among_groups_is_found():
    release = Release("replace among groups")
    for facts in release.chosen["measured"]:
        facts["epsilon"] = "2/9"
    assert release.failed() == {"epsilon_spent"}


def test_an_epsilon_that_was_not_divided_among_the_records_of_a_unit_is_found():
    release = Release("add_remove")
    release.guarantee.parameters["rows_per_unit"] = 4
    assert release.failed() == {"epsilon_spent"}


@pytest.mark.parametrize("case", ["replace", "replace among groups", "add_remove"])
@pytest.mark.parametrize("kind", ["sum", "mean", "variance"])
def test_noise_for_less_than_one_record_can_move_is_found(case, kind):
    places = len(Release(case, noise="laplace").facts(f"income_{kind}")["half_widths"])
    for place in range(places):
        release = Release(case, noise="laplace")
        widths = release.facts(f"income_{kind}")["half_widths"]
        if widths[place] > 1:
            widths[place] -= 1
            assert release.failed() == {"epsilon_spent"}


# Totals that are drawn together


PRIVATE = ["replace", "replace among groups", "add_remove"]


@pytest.mark.parametrize("case", PRIVATE)
def test_totals_together_that_spend_more_than_the_figures_had_are_found(case):
    release = Release(case)
    (box,) = release.chosen["together"]
    box["epsilon"] = str(Fraction(box["epsilon"]) * Fraction(1001, 1000))
    assert release.failed() == {"epsilon_spent"}


@pytest.mark.parametrize("case", PRIVATE)
def test_noise_for_less_than_one_record_can_move_a_total_is_found(case):
    answers = Release(case).chosen["together"][0]["answers"]
    assert [answer["answer"] for answer in answers if answer["answer"] != "count"] == ["sum", "sum", "squares"]
    for place, answer in enumerate(answers):
        release = Release(case)
        changed = release.chosen["together"][0]["answers"][place]
        changed["half_width"] -= 1
        changed["core"] = 0
        if answer["half_width"] > 1:
            assert release.failed() == {"epsilon_spent"}
        else:
            with pytest.raises(RecheckImpossible):
                release.checks()


def test_noise_for_a_sum_of_values_that_were_moved_less_is_found():
    """From another origin values lie farther away, and a record moves their sum by more."""
    release = Release("add_remove")
    (summed, *_) = (a for a in release.chosen["together"][0]["answers"] if a["answer"] == "sum")
    summed["less"] = [0]
    assert release.failed() == {"epsilon_spent"}


def test_a_box_that_spends_nothing_is_found():
    release = Release("replace")
    release.chosen["together"][0]["epsilon"] = "0"
    assert release.failed() == {"epsilon_spent"}


def drop(kind):
    def change(release):
        box = release.chosen["together"][0]
        box["answers"] = [answer for answer in box["answers"] if answer["answer"] != kind]

    return change


def answer_of(release, kind):
    return next(answer for answer in release.chosen["together"][0]["answers"] if answer["answer"] == kind)


NOT_UNDERSTOOD = {
    "no count": drop("count"),
    "no sum": drop("sum"),
    "no squares": drop("squares"),
    "no box": lambda r: r.chosen.pop("together"),
    "a core as large as the half-width": lambda r: answer_of(r, "sum").update(core=2**40),
    "another answer": lambda r: answer_of(r, "sum").update(answer="cubes"),
    "a column that is not declared": lambda r: answer_of(r, "sum").update(of="wealth"),
    "a sum on another grid": lambda r: answer_of(r, "sum").update(grid="1/1024"),
    "a total that is drawn twice": lambda r: r.chosen["together"].append(r.chosen["together"][0]),
    "squares around another middle": lambda r: answer_of(r, "squares")["less"].__setitem__(0, 5),
    "squares around a middle that is no point": lambda r: answer_of(r, "squares")["less"].__setitem__(0, -5),
    "squares of which nothing is said": lambda r: answer_of(r, "squares").update(less=[1]),
    "a count of a column": lambda r: answer_of(r, "count").update(of="income"),
}


@pytest.mark.parametrize("reason", NOT_UNDERSTOOD)
def test_totals_of_which_the_figures_are_not_made_are_not_understood(reason):
    release = Release("replace among groups")
    NOT_UNDERSTOOD[reason](release)
    with pytest.raises(RecheckImpossible, match=r"guarantee\.parameters refused"):
        release.checks()


def test_a_count_that_is_public_is_not_drawn():
    release = Release("replace")
    count = {"answer": "count", "grid": "1", "less": [], "half_width": 1, "core": 0}
    release.chosen["together"][0]["answers"].append(count)
    with pytest.raises(RecheckImpossible):
        release.checks()


def test_a_step_that_is_larger_than_the_sensitivity_is_not_understood():
    release = Release("replace", noise="staircase")
    facts = release.facts("income_sum")
    facts["step"] = facts["half_widths"][0] + 1
    with pytest.raises(RecheckImpossible):
        release.checks()


@pytest.mark.parametrize(("case", "least"), [("replace", 3), ("replace among groups", 2), ("add_remove", 2)])
def test_a_score_that_moves_farther_than_stated_is_found(case, least):
    release = Release(case)
    facts = release.facts("income_quantile_2_3")
    assert facts["score_sensitivity"] == least
    facts["score_sensitivity"] -= 1
    assert release.failed() == {"epsilon_spent"}


def test_the_half_widths_of_one_group_do_not_do_for_several():
    one, several = Release("replace"), Release("replace among groups")
    several.facts("income_median")["score_sensitivity"] = one.facts("income_median")["score_sensitivity"]
    assert several.failed() == set()  # more noise than needed
    one.facts("income_median")["score_sensitivity"] = 1
    assert one.failed() == {"epsilon_spent"}


# What cannot be understood is refused


IMPOSSIBLE = {
    "no epsilon": lambda r: r.guarantee.parameters.pop("epsilon"),
    "an epsilon that is a float": lambda r: r.guarantee.parameters.update(epsilon=2.0),
    "no figures": lambda r: r.guarantee.parameters.pop("figures"),
    "another figure": lambda r: r.guarantee.parameters["figures"][0].update(statistic="mean"),
    "fewer figures": lambda r: r.chosen["measured"].pop(),
    "other groups": lambda r: r.guarantee.parameters.update(groups=["sex"]),
    "other rows": lambda r: r.chosen.update(groups=7),
    "another noise": lambda r: r.chosen["measured"][0].update(noise="gaussian"),
    "a grid that is no power of two": lambda r: r.chosen["measured"][0].update(grid="1/3"),
    "a grid of nothing": lambda r: r.chosen["measured"][0].update(grid="0"),
    "a figure of another name": lambda r: r.chosen["measured"][0].update(figure="income_total"),
    "a quantile of everything": lambda r: r.guarantee.parameters["figures"][-1].update(share="1"),
}


@pytest.mark.parametrize("reason", IMPOSSIBLE)
@pytest.mark.parametrize("case", ["replace", "from_D"])
def test_what_cannot_be_understood_is_not_checked_against_a_guess(case, reason):
    release = Release(case)
    IMPOSSIBLE[reason](release)
    with pytest.raises(RecheckImpossible, match=r"guarantee\.parameters refused"):
        release.checks()


@pytest.mark.parametrize(
    "update",
    [
        {"adjacency": "from_D"},
        {"model": "idp"},
        {"model": "prob_k"},
        {"adjacency": "bootstrap_replace"},
        {"unit": "individual"},
    ],
)
def test_a_promise_of_another_kind_is_not_understood(update):
    release = Release("replace")
    release.guarantee = release.guarantee.model_copy(update=update)
    with pytest.raises(RecheckImpossible):
        release.checks()


def test_epsilons_of_several_records_belong_to_individual_promises_only():
    release = Release("replace")
    release.guarantee.parameters["group_epsilons"] = ["2", "4"]
    with pytest.raises(RecheckImpossible):
        release.checks()


def test_units_of_several_rows_have_no_promise_under_idp():
    release = Release("from_D")
    release.guarantee = release.guarantee.model_copy(update={"unit": "individual"})
    release.guarantee.parameters["rows_per_unit"] = 2
    with pytest.raises(RecheckImpossible):
        release.checks()


def test_individual_promises_with_groups_hold_within_cells_only():
    release = Release("within cells")
    release.guarantee = release.guarantee.model_copy(update={"adjacency": "from_D"})
    with pytest.raises(RecheckImpossible):
        release.checks()


@pytest.mark.parametrize("widths", [[1], ["1", "2"], [0, 1], [1.0, 2.0]])
def test_half_widths_that_are_no_whole_numbers_are_not_understood(widths):
    release = Release("add_remove")
    release.facts("income_mean")["half_widths"] = widths
    with pytest.raises(RecheckImpossible):
        release.checks()


@pytest.mark.parametrize("name", ["steps income_median", "lattice income_variance"])
def test_a_secret_account_that_is_incomplete_is_refused(name):
    release = Release("from_D")
    del release.hidden[name]
    with pytest.raises(RecheckImpossible, match=f"hidden.{name} refused"):
        release.checks()
    release = Release("from_D")
    release.hidden[name] = release.hidden[name].astype(np.float64)
    with pytest.raises(RecheckImpossible, match=f"hidden.{name} refused"):
        release.checks()


def test_a_group_too_small_for_its_figures_is_refused():
    release = Release("within cells")
    release.original = {name: values[:6] for name, values in release.original.items()}
    with pytest.raises(RecheckImpossible, match="must have enough records in every group for its figures"):
        release.checks()
