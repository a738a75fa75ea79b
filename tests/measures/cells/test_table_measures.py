"""Measures of tables: the classic rules as exact numbers, errors of figures, public facts."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.measures import Gate, MeasureUndefined, Verdict, decide, judge, measure_names
from penstock.measures.checks import Check
from penstock.mechanisms.columns import Column
from penstock.mechanisms.layout import Figure
from tests.measures.table_maker import BOUNDS, CELLS, FIGURES, Made

RULES = ("largest_share", "p_percent", "smallest_frequency", "two_largest_share")
ERRORS = ("cell_error", "largest_cell_error", "margin_error")
STATED = {
    "count": {"standard_error": 1.0, "expected_error": 1.5},
    "output_sum": {"standard_error": 1.0, "expected_error": 2.25},
}


def stated(**chosen):
    made = Made(**chosen)
    made.chosen["figures"] = STATED
    return made


def of_values(values, places=None, k=2):
    """A table of whole numbers in chosen cells; wages are all 1."""
    values = np.array(values)
    places = np.zeros(len(values), int) if places is None else np.array(places)
    original = {"region": places // 2, "kind": places % 2, "output": values, "wage": np.ones(len(values))}
    domain = (min(int(values.min()), -1), max(int(values.max()), 1))

    class Wide(Made):
        def _limits(self, name, cell):
            self.declared["output"] = Column(role="confidential", type="integer", domain=domain)
            return super()._limits(name, cell)

    return Wide("k_anon", original=original, k=k).output()


def passes(gate, found):
    check = Check("cell_sizes", True, "", "")
    return decide([gate], {found.name: found}, [check]).verdict is Verdict.PASS


def test_names_are_sorted_and_all_can_be_gated():
    assert list(measure_names("cells")) == sorted({*RULES, *ERRORS, "expected_error", "noise_chance", "privacy_loss"})
    assert set(measure_names("cells")) <= set(measure_names())
    assert set(measure_names("cells")) & set(measure_names("records")) == {"expected_error", "privacy_loss"}


@pytest.mark.parametrize("name", measure_names("cells"))
def test_every_measure_says_what_it_means_and_turns_into_json(name):
    for chosen in (
        {},
        {"model": "idp", "adjacency": "from_D", "bounds": BOUNDS},
        {"margins": "measured", "noise": "box"},
    ):
        found = judge(name, stated(**chosen).output())
        assert found.name == name
        assert json.loads(json.dumps(found.as_dict(), allow_nan=False))["concerns"] == found.concerns
        assert (found.concerns == "risk") == bool(found.attacker)
        assert (found.n, found.weights) == (90, "not used")
        assert found.missing
        assert found.columns


@pytest.mark.parametrize("name", measure_names("cells"))
def test_every_measure_takes_read_only_columns(name):
    made = stated()
    for side in (made.original, made.released, made.hidden):
        for values in side.values():
            values.setflags(write=False)
    assert judge(name, made.output()).n == 90


@pytest.mark.parametrize("name", sorted(set(measure_names("records")) - set(measure_names("cells"))))
def test_a_measure_of_records_has_no_value_for_a_table(name):
    with pytest.raises(MeasureUndefined, match="needs records; the output is tables"):
        judge(name, Made().output())


# The classic rules.


def by_definition(made, column):
    """For every cell that has a value other than 0: x_1 / X, (x_1 + x_2) / X and 100 (X - x_1 - x_2) / x_1."""
    for values in made.values[column]:
        sizes = sorted(map(abs, values), reverse=True)
        if any(sizes):
            first, second = (*sizes, 0)[:2]
            total = sum(sizes)
            yield (
                Fraction(first, total),
                Fraction(first + second, total),
                Fraction(100 * (total - first - second), first),
            )


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(6, 60))
def test_rules_are_those_of_the_definitions(seed, n):
    from tests.measures.table_maker import records

    made = Made("k_anon", original=records(n, seed))
    output = made.output()
    assert judge("smallest_frequency", output).value == min(count for count in made.totals["count"] if count)
    expected = {
        column: [max(one), max(two), min(three)]
        for column in ("output", "wage")
        for one, two, three in [zip(*by_definition(made, column), strict=True)]
    }
    for place, (name, worst) in enumerate((("largest_share", max), ("two_largest_share", max), ("p_percent", min))):
        found = judge(name, output)
        assert found.by_column.keys() == expected.keys()
        for column, exact in expected.items():
            assert found.by_column[column] == pytest.approx(float(exact[place]), rel=3e-16)
        assert found.value == worst(found.by_column.values())


def test_contributions_count_as_they_enter_the_table():
    """Clamped to the public bounds of their cell: 60 and 60, not 100 and 60."""
    made = Made(bounds={"output": [{"cells": {"region": ["a"]}, "domain": [0, 60]}]})
    made.original = {name: values[:2] for name, values in made.original.items()}
    made.original["region"][:] = made.original["kind"][:] = 0
    made.original["output"][:] = [100, 60]
    assert judge("largest_share", made.output()).by_column["output"] == 0.5


def test_losses_count_by_their_size():
    """A total of 1 that cancels: sizes 100, 99, so no part is above 100/199."""
    found = judge("largest_share", of_values([100, -99]))
    assert found.by_column["output"] == pytest.approx(100 / 199, rel=1e-15)


def test_two_equal_largest_contributors_are_two():
    output = of_values([40, 40, 20])
    assert judge("largest_share", output).by_column["output"] == 0.4
    assert judge("two_largest_share", output).by_column["output"] == 0.8
    assert judge("p_percent", output).by_column["output"] == 50


def test_one_contributor_among_zeros_is_the_whole_total():
    output = of_values([0, 7, 0])
    assert judge("largest_share", output).by_column["output"] == 1
    assert judge("p_percent", output).by_column["output"] == 0


def test_the_worst_cell_counts_and_cells_of_zeros_do_not():
    output = of_values([5, 5, 9, 1, 0, 0], places=[0, 0, 1, 1, 2, 2])
    assert judge("largest_share", output).by_column["output"] == 0.9
    assert judge("smallest_frequency", output).value == 2


LARGE = 2**49


@pytest.mark.parametrize(
    ("name", "gate", "on_the_limit"),
    [
        ("largest_share", {"max": 0.75}, [3 * LARGE, LARGE]),
        ("largest_share", {"max": 0.85}, [17 * LARGE // 16, 3 * LARGE // 16]),
        ("two_largest_share", {"max": 0.9}, [6 * LARGE // 8, 3 * LARGE // 8, LARGE // 8]),
        ("p_percent", {"min": 10}, [10 * LARGE // 8, 5 * LARGE // 8, LARGE // 8]),
        ("p_percent", {"min": 12.5}, [LARGE, LARGE // 2, LARGE // 8]),
    ],
)
def test_a_gate_passes_on_its_limit_and_fails_one_unit_of_a_large_cell_beyond(name, gate, on_the_limit):
    """One unit of 2^50: the quotient differs from the limit in its sixteenth digit only."""
    limit = Gate(measure=name, **gate)
    assert passes(limit, judge(name, of_values(on_the_limit)))
    first, *others = on_the_limit
    assert not passes(limit, judge(name, of_values([first, *others[:-1], others[-1] - 1])))
    assert passes(limit, judge(name, of_values([first, *others[:-1], others[-1] + 1])))


@pytest.mark.parametrize(("m", "passed"), [(3, True), (4, False)])
def test_a_gate_on_the_frequency_is_the_rule_of_minimum_frequency(m, passed):
    found = judge("smallest_frequency", of_values([1, 2, 3, 4, 5, 6, 7], places=[0, 0, 0, 4, 4, 4, 4]))
    assert (found.value, found.direction) == (3, "higher_is_safer")
    assert passes(Gate(measure="smallest_frequency", min=m), found) == passed


@pytest.mark.parametrize("name", ["largest_share", "two_largest_share", "p_percent"])
def test_a_column_of_zeros_has_no_shares(name):
    with pytest.raises(MeasureUndefined, match="a value other than 0 in output"):
        judge(name, of_values([0, 0]))


@pytest.mark.parametrize("name", ["largest_share", "two_largest_share", "p_percent"])
def test_a_table_of_counts_and_statistics_of_other_mechanisms_have_no_shares(name):
    made = Made()
    made.layout = replace(made.layout, figures=FIGURES[:1])
    with pytest.raises(MeasureUndefined, match="needs a table of sums or means"):
        judge(name, made.output())
    made = Made()
    made.parameters["mechanism"] = "statistics"
    with pytest.raises(MeasureUndefined, match="needs a table of sums or means"):
        judge(name, made.output())


# Errors.


def test_an_exact_table_of_values_inside_their_domains_has_no_error():
    output = of_values([4, 5, 6, -7], places=[0, 0, 2, 2])
    for name in ERRORS:
        assert judge(name, output).value == 0


def test_errors_are_those_of_the_definition():
    made = Made()
    region, kind = made.original["region"], made.original["kind"]
    cells = [(region == r) & (kind == k) for r, k in CELLS]
    margins = [*(region == r for r in range(3)), *(kind == k for k in range(2)), np.ones(90, bool)]
    wage = made.original["wage"]
    for rows, chosen, names in (
        (slice(0, 6), cells, ("cell_error", "largest_cell_error")),
        (slice(6, None), margins, ("margin_error", None)),
    ):
        true = {
            "count": np.array([row.sum() for row in chosen]),
            "output_sum": np.array([made.original["output"][row].sum() for row in chosen]),
            "wage_sum": np.array([wage[row].sum() for row in chosen]),
            "wage_mean": np.array([wage[row].mean() if row.any() else np.nan for row in chosen]),
        }
        for name, size in zip(names, (np.nanmean, np.nanmax), strict=True):
            if name is None:
                continue
            found = judge(name, made.output())
            expected = {
                figure: size(np.abs(made.released[figure][rows] - values)) / np.nanmean(np.abs(values))
                for figure, values in true.items()
            }
            assert found.by_column == pytest.approx(expected)
            assert found.value == max(found.by_column.values())


def test_a_mean_that_is_left_out_has_no_error():
    made = Made("idp", "from_D")
    made.released["wage_mean"][0] = np.nan
    assert judge("cell_error", made.output()).value > 0


def test_a_table_without_margins_has_no_error_of_margins():
    with pytest.raises(MeasureUndefined, match="needs a table with margins"):
        judge("margin_error", Made(margins="none").output())


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_without_scale_is_undefined(name):
    made = Made()
    made.original["output"][:] = 0
    with pytest.raises(MeasureUndefined, match="sum other than 0: an error has no scale without one"):
        judge(name, made.output())


def test_statistics_that_are_not_counted_here_have_no_error():
    made = Made()
    made.layout = replace(
        made.layout, figures=(Figure("count", "count", None, True), Figure("m", "median", "wage", False))
    )
    assert judge("cell_error", made.output()).columns == ("count",)
    made.layout = replace(made.layout, figures=(Figure("m", "median", "wage", False),))
    with pytest.raises(MeasureUndefined, match="needs a count, a sum or a mean"):
        judge("cell_error", made.output())


def test_an_error_beyond_floats_is_refused():
    made = Made()
    made.released["wage_sum"][0] = np.inf
    with pytest.raises(MeasureUndefined, match="must have a finite value"):
        judge("cell_error", made.output())


# Public facts.


def test_the_expected_error_is_the_largest_that_is_stated():
    found = judge("expected_error", stated().output())
    assert (found.value, found.concerns) == (2.25, "utility")
    assert found.by_column == {"count": 1.5, "output_sum": 2.25}


def test_an_expected_error_that_is_not_stated_is_undefined():
    with pytest.raises(MeasureUndefined, match="states the error to expect"):
        judge("expected_error", Made().output())


@pytest.mark.parametrize(
    ("epsilon", "limit", "passed"), [("0.3", 0.3, True), ("3/10", 0.3, True), ("1/3", 0.3333, False)]
)
def test_the_privacy_loss_is_the_promised_epsilon(epsilon, limit, passed):
    found = judge("privacy_loss", Made(epsilon=epsilon).output())
    assert Fraction(repr(found.value)) >= Fraction(epsilon)
    assert passes(Gate(measure="privacy_loss", max=limit), found) == passed


def test_an_exact_table_has_no_privacy_loss():
    with pytest.raises(MeasureUndefined, match="needs a mechanism that states its epsilon"):
        judge("privacy_loss", Made("k_anon").output())


def test_public_measures_of_a_table_look_at_no_value():
    made = stated()
    values = {name: judge(name, made.output()).value for name in ("expected_error", "privacy_loss")}
    for side in (made.original, made.released):
        for column in side.values():
            column[:] = 0
    made.hidden.clear()
    assert {name: judge(name, made.output()).value for name in values} == values
