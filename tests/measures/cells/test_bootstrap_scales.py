"""Correct statistics under bootstrap differential privacy pass every check, and each way to break them is found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.measures.checks import RecheckImpossible
from penstock.mechanisms import statistics
from penstock.mechanisms.columns import Column
from penstock.mechanisms.refusal import ScaleZero
from tests.measures.cells.checked_statistics import Checked
from tests.support.order import examples

DECLARED = {
    "region": Column(role="quasi_identifier", type="nominal", categories=("N", "S", "E")),
    "sex": Column(role="quasi_identifier", type="nominal", categories=("f", "m")),
    "income": Column(role="confidential", type="continuous", domain=(-500, 4000), outside="clamp"),
    "age": Column(role="quasi_identifier", type="integer", domain=(3, 120)),
}
KINDS = ["sum", "mean", "variance", "median", "minimum", "maximum", "second_maximum"]
CASES = {
    "all replaced": {"adjacency": "bootstrap_replace"},
    "all more or less": {"adjacency": "bootstrap_add_remove"},
    "within groups": {"adjacency": "bootstrap_within_cell", "groups": ["region", "sex"]},
    "among groups": {"adjacency": "bootstrap_replace", "groups": ["region", "sex"]},
    "groups more or less": {"adjacency": "bootstrap_add_remove", "groups": ["region", "sex"]},
    "one group replaced": {"adjacency": "bootstrap_replace", "only": {"region": "S", "sex": "m"}},
    "one group more or less": {"adjacency": "bootstrap_add_remove", "only": {"region": "S"}},
}
PUBLIC = ("all replaced", "within groups")
SECRET = [case for case in CASES if case not in (*PUBLIC, "all more or less")]


def survey(rows=120, seed=1):
    """One income lies outside the domain, and is clamped."""
    chance = np.random.default_rng(seed)
    return {
        "region": np.array(["N", "S", "E"], dtype=object)[np.arange(rows) % 3],
        "sex": np.arange(rows) // 3 % 2,
        "income": np.append(4001, chance.random(rows - 1) * 4400 - 450),
        "age": chance.integers(0, 125, rows).clip(3, 120),
    }


class Release(Checked):
    """A correct release that a test may break before it is checked."""

    def __init__(self, case, seed=1, columns=None, column="income", kinds=KINDS):
        asked = [{"statistic": kind, "of": column} for kind in kinds]
        asked += [{"statistic": "quantile", "of": column, "share": "2/3"}]
        asked += [] if case in PUBLIC else [{"statistic": "count"}]
        params = statistics.Params(epsilon="2", figures=asked, model="bdp", acknowledges=["bdp"], **CASES[case])
        super().__init__(params, columns or survey(seed=seed), seed, DECLARED)


@pytest.mark.parametrize("case", CASES)
def test_a_correct_release_passes_the_checks_that_its_guarantee_names(case):
    release = Release(case)
    assert tuple(check.name for check in release.checks()) == release.guarantee.audit
    assert release.failed() == set()


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32))
def test_no_correct_release_fails_whatever_the_data_and_whatever_is_drawn(case, seed):
    assert Release(case, seed).failed() == set()


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.integers(3, 9), min_size=12, max_size=40), st.sampled_from(KINDS), st.sampled_from([*CASES]))
def test_scales_are_recomputed_as_the_mechanism_has_them_where_values_are_tied_and_groups_are_small(values, kind, case):
    columns = {**survey(len(values)), "age": np.array(values)}
    try:
        release = Release(case, columns=columns, column="age", kinds=[kind])
    except ScaleZero:
        return
    assert release.failed() == set()


def test_empty_groups_need_no_noise_of_any_size_but_some():
    columns = survey()
    columns["region"] = np.where(columns["region"] == "E", "N", columns["region"])
    release = Release("among groups", columns=columns)
    release.hidden["steps 0 income_sum"][4:] = 1
    assert release.failed() == set()
    release.hidden["steps 0 income_sum"][4] = 0
    assert release.failed() == {"scale_covers_data"}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", [f"income_{kind}" for kind in KINDS] + ["income_quantile_2_3"])
def test_noise_for_less_than_the_records_move_is_found(case, name):
    last = {"income_mean": 1, "income_variance": 2}.get(name, 0) if case in SECRET else 0
    for place in range(last + 1):
        release = Release(case)
        release.hidden[f"steps {place} {name}"][-1] -= 1
        assert release.failed() == {"scale_covers_data"}
    (check,) = (check for check in release.checks() if not check.passed)
    assert check.found == f"the noise of a figure is too small: {name}"


def test_noise_of_a_finer_unit_with_the_same_steps_is_found():
    release = Release("all replaced")
    release.facts("income_mean")["parts"] *= 2
    assert release.failed() == {"scale_covers_data"}


def test_noise_for_another_adjacency_is_found():
    """A record that stays in its group moves a sum by less than one that leaves it."""
    columns = {**survey(), "income": np.linspace(3000, 3900, 120)}
    within, among = Release("within groups", columns=columns), Release("among groups", columns=columns)
    among.hidden["steps 0 income_sum"] = within.hidden["steps 0 income_sum"]
    assert among.failed() == {"scale_covers_data"}


def test_records_in_other_groups_than_stated_are_found():
    release = Release("one group replaced")
    release.original = {**release.original, "sex": 1 - release.original["sex"]}
    assert release.failed() == {"scale_covers_data"}


@pytest.mark.parametrize("case", CASES)
def test_a_figure_that_spends_more_than_its_share_is_found(case):
    release = Release(case)
    release.facts("income_median")["epsilon"] = "1/2"
    assert release.failed() == {"epsilon_spent"}


IMPOSSIBLE = {
    "no parts": lambda r: r.facts("income_mean").pop("parts"),
    "a sum of parts": lambda r: r.facts("income_sum").update(parts=2),
    "a median of whole steps": lambda r: r.facts("income_median").update(parts=1),
    "another noise": lambda r: r.facts("income_mean").update(noise="box"),
    "another chosen group": lambda r: r.guarantee.parameters.update(only={"region": "N", "sex": "m"}),
    "no chosen group": lambda r: r.guarantee.parameters.update(only={"region": "S"}),
    "within cells, one group": lambda r: setattr(
        r, "guarantee", r.guarantee.model_copy(update={"adjacency": "bootstrap_within_cell"})
    ),
    "another model": lambda r: setattr(
        r, "guarantee", r.guarantee.model_copy(update={"model": "idp", "adjacency": "from_D_within_cell"})
    ),
}


@pytest.mark.parametrize("reason", IMPOSSIBLE)
def test_what_cannot_be_understood_is_not_checked_against_a_guess(reason):
    release = Release("one group replaced")
    IMPOSSIBLE[reason](release)
    with pytest.raises(RecheckImpossible, match=r"guarantee\.parameters refused"):
        release.checks()


def test_a_promise_within_cells_needs_groups():
    release = Release("all replaced")
    release.guarantee = release.guarantee.model_copy(update={"adjacency": "bootstrap_within_cell"})
    with pytest.raises(RecheckImpossible):
        release.checks()


@pytest.mark.parametrize("name", ["steps 0 income_median", "steps 2 income_variance"])
def test_a_secret_account_that_is_incomplete_is_refused(name):
    release = Release("among groups")
    del release.hidden[name]
    with pytest.raises(RecheckImpossible, match=f"hidden.{name} refused"):
        release.checks()
    release = Release("among groups")
    release.hidden[name] = release.hidden[name].astype(np.float64)
    with pytest.raises(RecheckImpossible, match=f"hidden.{name} refused"):
        release.checks()
