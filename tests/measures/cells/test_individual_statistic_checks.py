"""Statistics with noise that follows the actual data: scales that are too small for them are found."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.measures.checks import RecheckImpossible
from tests.measures.cells.checked_statistics import KINDS, Release

SECRET_SIZE = ["one more or less", "one more or less in a group"]
SCALES = ["from_D", "within cells", "several records", "several records within cells", *SECRET_SIZE]


@pytest.mark.parametrize("case", SCALES)
@pytest.mark.parametrize("name", [f"income_{kind}" for kind in KINDS] + ["income_quantile_2_3"])
def test_noise_for_less_than_the_actual_data_move_is_found(case, name):
    release = Release(case)
    # A variance is rounded up to its unit, so one less may still do.
    release.hidden[f"steps {name}"][-1] -= 2 if name == "income_variance" else 1
    assert release.failed() == {"scale_covers_data"}
    (check,) = (check for check in release.checks() if not check.passed)
    assert check.found == f"the noise of a figure is too small: {name}"


OF_ONE_CATEGORY = [{"statistic": "count", "of": "sex", "category": "f"}]


@pytest.mark.parametrize("case", ["from_D", "several records", "one more or less"])
def test_the_noise_of_a_count_of_one_category_is_checked(case):
    release = Release(case, figures=OF_ONE_CATEGORY)
    assert release.failed() == set()
    release.hidden["steps sex_count_f"][:] -= 1
    assert release.failed() == {"scale_covers_data"}


@pytest.mark.parametrize("category", ["x", None])
def test_a_count_of_no_declared_category_is_not_understood(category):
    release = Release("from_D", figures=OF_ONE_CATEGORY)
    release.guarantee.parameters["figures"][0]["category"] = category
    with pytest.raises(RecheckImpossible):
        release.checks()


@pytest.mark.parametrize(
    "figures", [[{"statistic": "mean", "of": "age"}], [{"statistic": "second_maximum", "of": "age"}]]
)
def test_groups_too_small_for_one_record_less_are_not_checked_against_a_guess(figures):
    release = Release("one more or less in a group", figures=figures)
    release.original = {name: values[:2] for name, values in release.original.items()}
    with pytest.raises(RecheckImpossible, match="enough records in every group"):
        release.checks()


@pytest.mark.parametrize("case", ["several records", "several records within cells"])
@pytest.mark.parametrize("listed", [["2", "1", "7"], ["3", "6", "9"]])
def test_epsilons_of_several_records_that_cannot_be_kept_are_found(case, listed):
    release = Release(case)
    release.guarantee.parameters["group_epsilons"] = listed
    assert "epsilon_spent" in release.failed()


def test_two_records_of_two_groups_that_spend_more_than_is_stated_are_found():
    release = Release("several records within cells")
    release.guarantee.parameters["group_epsilons"] = ["2", "7/2", "7"]
    assert "epsilon_spent" in release.failed()


def test_noise_for_one_record_only_is_found_where_several_are_protected():
    release = Release("from_D")
    release.guarantee.parameters["group_epsilons"] = ["2", "2"]
    assert release.failed() == {"scale_covers_data"}


def test_a_finer_unit_of_a_variance_with_the_same_steps_is_found():
    release = Release("from_D")
    release.hidden["lattice income_variance"] -= 1
    assert release.failed() == {"scale_covers_data"}


def test_noise_of_scale_0_is_found_even_where_nothing_moves():
    release = Release("from_D")
    release.original = {**release.original, "income": np.full(120, 100.0)}
    release.hidden["steps income_median"][:] = 0
    assert "scale_covers_data" in release.failed()


def test_records_in_other_groups_than_stated_are_found():
    release = Release("within cells")
    release.original = {**release.original, "sex": 1 - release.original["sex"]}
    assert release.failed() == {"scale_covers_data"}
