"""Correct tables pass every check of every model, and each way to break them is found by its own check."""

from __future__ import annotations

import copy
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judged_columns import nominal
from table_maker import BOUNDS, CELLS, EMPTY, FIGURES, NOISY, Made, records

from measures import RecheckImpossible, recheck_table
from measures.table_checks import table_checks
from measures.table_measures import judge_table
from mechanisms.columns import Column
from mechanisms.layout import Figure

BOOTSTRAP = [
    ("bootstrap_replace", "one"),
    ("bootstrap_replace", "per_cell"),
    ("bootstrap_add_remove", "one"),
    ("bootstrap_add_remove", "per_cell"),
    ("bootstrap_within_cell", "one"),
    ("bootstrap_within_cell", "public_membership"),
]
ANY = [
    {},
    {"noise": "box", "margins": "measured", "bounds": BOUNDS},
    {"noise": "staircase", "adjacency": "add_remove"},
    {"model": "bdp", "adjacency": "bootstrap_replace", "scale": "per_cell"},
    {"model": "idp", "adjacency": "from_D", "bounds": BOUNDS},
    {"model": "k_anon", "k": 5},
]
noisy = pytest.mark.parametrize("chosen", ANY[:-1], ids=repr)
every = pytest.mark.parametrize("chosen", ANY, ids=repr)


@pytest.mark.parametrize("noise", ["laplace", "staircase", "box"])
@pytest.mark.parametrize("adjacency", ["replace", "add_remove"])
@pytest.mark.parametrize("margins", ["none", "summed", "measured"])
@pytest.mark.parametrize("bounds", [None, BOUNDS], ids=["domain", "bounds"])
def test_a_correct_private_table_passes(noise, adjacency, margins, bounds):
    assert Made("dp", adjacency, noise, margins, bounds=bounds).failed() == set()


@pytest.mark.parametrize(("adjacency", "scale"), BOOTSTRAP)
@pytest.mark.parametrize("empty_cells", ["noise", "zero"])
@pytest.mark.parametrize("bounds", [None, BOUNDS], ids=["domain", "bounds"])
def test_a_correct_bootstrap_table_passes(adjacency, scale, empty_cells, bounds):
    assert Made("bdp", adjacency, scale=scale, empty_cells=empty_cells, bounds=bounds).failed() == set()


def test_correct_individual_and_exact_tables_pass():
    assert Made("idp", "from_D", bounds=BOUNDS).failed() == set()
    assert Made("k_anon", k=5).failed() == set()


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32), st.sampled_from(ANY[:-1]))
def test_a_correct_table_passes_whatever_is_drawn(seed, chosen):
    """False alarms are possible with probability 1e-9 each."""
    assert Made(**chosen, seed=seed, original=records(40, seed)).failed() == set()


def test_categories_may_be_text_and_columns_read_only():
    made = Made()
    made.original["region"] = np.array(["a", "b", "c"])[made.original["region"]]
    for side in (made.original, made.released, made.hidden):
        for values in side.values():
            values.setflags(write=False)
    assert made.failed() == set()


# columns_as_declared


@every
def test_a_column_too_many_is_found(chosen):
    made = Made(**chosen)
    made.released["shoe_size"] = made.released["count"]
    assert made.failed() == {"columns_as_declared"}


def test_a_missing_standard_error_is_found():
    made = Made()
    del made.released["count_standard_error"]
    assert made.failed() == {"columns_as_declared"}


@pytest.mark.parametrize("value", [-1.0, np.inf])
def test_a_standard_error_that_is_none_is_found(value):
    made = Made()
    made.released["wage_mean_standard_error"][3] = value
    assert made.failed() == {"columns_as_declared"}
    made.released["wage_mean_standard_error"][3] = np.nan
    assert made.failed() == set()


def test_standard_errors_where_the_size_of_the_noise_is_secret_are_found():
    made = Made("idp", "from_D")
    made.layout = replace(made.layout, errors=True)
    for figure in FIGURES:
        made.released[f"{figure.name}_standard_error"] = np.ones(made.layout.rows)
    assert made.failed() == {"columns_as_declared"}


def test_an_identifier_among_the_figures_is_found():
    made = Made()
    made.declared["count"] = Column(role="identifier")
    assert made.failed() == {"columns_as_declared"}


def test_whole_figures_as_floats_are_found():
    made = Made()
    made.released["count"] = made.released["count"].astype(np.float64)
    assert "columns_as_declared" in made.failed()


@pytest.mark.parametrize(("figure", "value"), [("wage_sum", np.nan), ("wage_mean", np.inf)])
def test_a_figure_that_is_no_number_is_found(figure, value):
    made = Made("bdp", "bootstrap_replace")
    made.released[figure][0] = value
    assert "columns_as_declared" in made.failed()


def test_a_figure_or_dimension_left_out_is_found():
    for name in ("region", "count", "wage_sum", "wage_mean"):
        made = Made()
        del made.released[name]
        assert "columns_as_declared" in made.failed()


# rows_as_declared


@every
def test_two_rows_that_changed_places_are_found(chosen):
    made = Made(**chosen)
    for name in ("region", "kind"):
        made.released[name][[1, 2]] = made.released[name][[2, 1]]
    assert made.failed() == {"rows_as_declared"}


def test_a_margin_with_a_category_for_its_total_is_found():
    made = Made()
    made.released["kind"][-1] = 0
    assert made.failed() == {"rows_as_declared"}


def test_rows_of_a_larger_table_are_those_of_the_layout():
    """A second opinion on the order of rows: the layout's own."""
    made = Made("idp", "from_D")
    made.released |= made.layout.codes()
    assert made.failed() == set()


# margins_add_up


@pytest.mark.parametrize("chosen", [{}, {"margins": "measured"}, {"model": "bdp", "adjacency": "bootstrap_replace"}])
@pytest.mark.parametrize("figure", ["count", "output_sum", "wage_sum"])
@pytest.mark.parametrize("row", [6, 10, 11])
def test_a_margin_that_is_off_by_one_is_found(chosen, figure, row):
    made = Made(**chosen)
    made.released[figure][row] += 1
    # Where margins were measured, means are made from the published figures, so they no longer fit either.
    means = chosen.get("margins") == "measured" and figure != "output_sum"
    assert made.failed() == {"margins_add_up", *(("figures_as_noised",) if means else ())}


def test_a_fitted_cell_that_does_not_fit_is_found():
    made = Made(margins="measured")
    made.released["output_sum"][2] -= 1
    assert made.failed() == {"margins_add_up"}


def test_sums_of_floats_may_differ_by_rounding_only():
    made = Made()
    made.released["wage_sum"][-1] *= 1 + 1e-12
    assert made.failed() == set()
    made.released["wage_sum"][-1] *= 1 + 1e-6
    assert made.failed() == {"margins_add_up"}


def test_figures_beyond_what_whole_numbers_add_up_to_may_be_rounded():
    """As floats where sums would overflow: such noise is larger than all data, and still must be what is published."""
    made = Made()
    made.hidden["noised 0 output"] = np.array([2**62 - 1, -(2**61) - 3, 2**61, 2**60 + 1, 5, -(2**61)])
    made.publish()
    as_floats = made.hidden["noised 0 output"].astype(np.float64)
    made.released["output_sum"] = made.rows(as_floats).astype(np.int64)
    assert made.failed() == set()
    made.released["output_sum"][3] += 2**30
    assert made.failed() == {"figures_as_noised"}
    made.released["output_sum"][-1] += 2**60
    assert made.failed() == {"margins_add_up", "figures_as_noised"}


# epsilon_spent


@noisy
def test_exactly_epsilon_may_be_spent_and_not_a_fraction_more(chosen):
    made = Made(**chosen)
    made.parameters["epsilon"] = str(2 - Fraction(1, 10**12))
    assert made.failed() == {"epsilon_spent"}


def test_every_record_of_a_unit_is_charged():
    made = Made(rows_per_unit=3)
    assert made.failed() == set()
    made.parameters["rows_per_unit"] = 4
    assert made.failed() == {"epsilon_spent"}


def test_a_measure_that_is_not_drawn_is_found():
    made = Made()
    made.settled["measured"] = [entry for entry in made.settled["measured"] if entry["measures"] != ["count"]]
    assert "epsilon_spent" in made.failed()


def test_counts_need_no_epsilon_only_where_everybody_s_cell_is_public():
    assert "noised 0 count" not in Made("bdp", "bootstrap_within_cell", scale="one").hidden
    made = Made("bdp", "bootstrap_replace")
    made.settled["measured"] = [entry for entry in made.settled["measured"] if entry["measures"] != ["count"]]
    made.hidden = {name: values for name, values in made.hidden.items() if "count" not in name}
    made.publish()
    assert made.failed() == {"epsilon_spent"}


def test_a_measure_that_is_drawn_twice_is_found():
    made = Made()
    made.settled["measured"].append(made.settled["measured"][0])
    made.parameters["epsilon"] = "3"
    assert made.failed() == {"epsilon_spent"}


@pytest.mark.parametrize("epsilon", ["0", "-1/2"])
def test_an_epsilon_that_is_not_above_zero_is_found(epsilon):
    made = Made()
    made.settled["measured"][1]["epsilon"] = epsilon
    assert made.failed() == {"epsilon_spent"}


def test_one_epsilon_for_several_measures_is_found_unless_noise_is_a_box():
    made = Made()
    first, second, _ = made.settled["measured"]
    first["measures"] += second["measures"]
    first["classes"][0]["half_widths"] += second["classes"][0]["half_widths"]
    made.settled["measured"].remove(second)
    assert made.failed() == {"epsilon_spent"}


# scales_suffice


@pytest.mark.parametrize("measure", ["count", "output", "wage"])
@pytest.mark.parametrize("adjacency", ["replace", "add_remove"])
@pytest.mark.parametrize("margins", ["summed", "measured"])
def test_one_step_less_than_the_bounds_need_is_found(measure, adjacency, margins):
    made = Made("dp", adjacency, margins=margins, bounds=BOUNDS)
    levels = range(len(made.layout.levels)) if margins == "measured" else (0,)
    for level, last in product(levels, (0, -1)):
        broken = copy.deepcopy(made)
        broken.hidden[f"steps {level} {measure}"][last] -= 1
        none_left = broken.hidden[f"steps {level} {measure}"][last] == 0
        assert broken.failed() - ({"figures_as_noised"} if none_left else set()) == {"scales_suffice"}


def test_bounds_that_are_stated_too_small_are_found():
    """Half-widths, steps and noise agree with each other, but not with what is declared."""
    made = Made(bounds={"output": [{"cells": {"kind": ["a", "b"]}, "domain": [-5, 60]}]})
    made.parameters["bounds"]["output"][0]["domain"] = [-5, 61]
    assert "scales_suffice" in made.failed()


@pytest.mark.parametrize("noise", ["laplace", "staircase", "box"])
@pytest.mark.parametrize("change", [{"cells": 5}, {"cells": 7}, {"half_widths": [2, 2, 2]}], ids=repr)
def test_classes_that_are_not_those_of_the_cells_are_found(noise, change):
    made = Made(noise=noise)
    found = made.settled["measured"][0]["classes"][0]
    if "half_widths" in change:
        change = {"half_widths": change["half_widths"][: len(found["half_widths"])]}
        found.update({"core": [0] * len(found["half_widths"])} if noise == "box" else {})
    found.update(change)
    assert made.failed() == {"scales_suffice"}


def test_a_class_that_is_stated_twice_is_found():
    made = Made()
    made.settled["measured"][0]["classes"] *= 2
    assert "scales_suffice" in made.failed()


@pytest.mark.parametrize(("adjacency", "scale"), BOOTSTRAP)
@pytest.mark.parametrize("measure", ["count", "output", "wage"])
def test_one_step_less_than_a_bootstrap_adjacency_needs_is_found(adjacency, scale, measure):
    made = Made("bdp", adjacency, scale=scale)
    if f"steps 0 {measure}" not in made.hidden:
        return
    for cell, values in enumerate(made.values[measure]):
        broken = copy.deepcopy(made)
        broken.hidden[f"steps 0 {measure}"][cell] -= 1
        none_left = broken.hidden[f"steps 0 {measure}"][cell] == 0
        # A cell without records may have any noise, unless one scale is for all.
        short = bool(values) or scale == "one" or none_left
        assert broken.failed() - ({"figures_as_noised"} if none_left else set()) == (
            {"scales_suffice"} if short else set()
        )


def test_the_scales_of_the_sources_are_found():
    """V_i for records that may change their cell, and half of what a replaced count needs."""
    made = Made("bdp", "bootstrap_replace", scale="per_cell")
    spread = [max(values, default=1) - min(values, default=0) for values in made.values["output"]]
    made.hidden["steps 0 output"] = np.array(spread)
    assert "scales_suffice" in made.failed()
    made = Made("bdp", "bootstrap_replace")
    made.hidden["steps 0 count"] //= 2
    assert made.failed() == {"scales_suffice"}


@pytest.mark.parametrize("empty_cells", ["noise", "zero"])
@pytest.mark.parametrize("cell", [0, EMPTY])
def test_an_exact_zero_is_allowed_in_empty_cells_only_and_only_where_it_is_promised(empty_cells, cell):
    made = Made("bdp", "bootstrap_replace", scale="per_cell", empty_cells=empty_cells)
    for measure in made.measures:
        made.hidden[f"steps 0 {measure}"][cell] = 0
        made.hidden[f"noised 0 {measure}"][cell] = made.totals[measure][cell]
    made.publish()
    assert made.failed() == (set() if (empty_cells, cell) == ("zero", EMPTY) else {"scales_suffice"})


def test_a_cell_of_one_record_is_not_printed_exactly_although_its_spread_is_zero():
    original = records()
    lonely = (original["region"] == 0) & (original["kind"] == 0)
    kept = ~lonely
    kept[np.flatnonzero(lonely)[0]] = True
    original = {name: values[kept] for name, values in original.items()}
    made = Made("bdp", "bootstrap_within_cell", scale="public_membership", original=original)
    assert made.hidden["steps 0 output"][0] == 0
    assert made.failed() == {"scales_suffice"}


@pytest.mark.parametrize("measure", ["count", "output", "wage"])
def test_one_step_less_than_any_record_of_the_domain_needs_is_found(measure):
    for bounds, cell in product((None, BOUNDS), (0, EMPTY)):
        made = Made("idp", "from_D", bounds=bounds)
        made.hidden[f"steps 0 {measure}"][cell] -= 1
        assert made.failed() == {"scales_suffice"}


def _tables(places, values, cells):
    return np.bincount(places, values, cells)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_local_sensitivity_is_what_the_worst_replacement_does(data):
    """All replacements by any record of the domain, on small tables: the check asks for exactly that many steps."""
    low, high = data.draw(st.sampled_from([(-3, 4), (0, 5), (-6, -2), (2, 3)]))
    tight = sorted(data.draw(st.lists(st.integers(low, high), min_size=2, max_size=2, unique=True)))
    bounds = {"output": [{"cells": {"region": ["b"]}, "domain": tight}]}
    n = data.draw(st.integers(1, 5))
    places = np.array(data.draw(st.lists(st.integers(0, 5), min_size=n, max_size=n)))
    raw = np.array(data.draw(st.lists(st.integers(low, high), min_size=n, max_size=n)))
    limits = [tight if cell // 2 == 1 else (low, high) for cell in range(6)]
    values = np.array([min(max(v, limits[p][0]), limits[p][1]) for p, v in zip(places, raw, strict=True)])
    before, worst = _tables(places, values, 6), 0
    for row, cell in product(range(n), range(6)):
        for v in range(limits[cell][0], limits[cell][1] + 1):
            moved, changed = places.copy(), values.copy()
            moved[row], changed[row] = cell, v
            worst = max(worst, int(np.abs(_tables(moved, changed, 6) - before).sum()))
    original = {"region": places // 2, "kind": places % 2, "output": raw, "wage": np.ones(n)}
    made = _with_domain(original, "idp", "from_D", (low, high), bounds)
    made.hidden["steps 0 output"][:] = worst
    assert "scales_suffice" not in made.failed()
    made.hidden["steps 0 output"][:] = worst - 1
    assert "scales_suffice" in made.failed()


def test_in_a_single_cell_a_replaced_record_stays():
    """Values 3 and 90 between -20 and 100: 100 - 3 against 90 + 20."""
    made = Made("idp", "from_D", margins="none")
    made.declared["region"] = nominal(1, role="quasi_identifier")
    made.layout = replace(made.layout, dimensions={"region": ("a",)}, levels=(("region",),), figures=FIGURES[1:2])
    made.parameters.update(dimensions=["region"], measures=["output"])
    made.settled["measured"] = [{"level": ["region"], "measures": ["output"], "epsilon": "1"}]
    made.original = {"region": np.zeros(2, int), "output": np.array([3, 90])}
    made.released = {"region": np.zeros(1, int), "output_sum": np.array([200])}
    for steps, failed in ((110, set()), (109, {"scales_suffice"})):
        made.hidden = {"noised 0 output": np.array([200]), "steps 0 output": np.array([steps])}
        assert made.failed() == failed


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_bootstrap_sensitivity_is_what_the_worst_change_does(data):
    """All data sets made of records of D and all changes of one record, by the definition of each adjacency."""
    n = data.draw(st.integers(2, 5))
    places = np.array(data.draw(st.lists(st.integers(0, 5), min_size=n, max_size=n)))
    values = np.array(data.draw(st.lists(st.integers(-5, 5), min_size=n, max_size=n)))
    rows = list(zip(places.tolist(), values.tolist(), strict=True))

    def moved(*changes):
        table = np.zeros(6, int)
        for (place, value), sign in changes:
            table[place] += sign * value
        return int(np.abs(table).sum())

    worst = {
        "bootstrap_replace": max(moved((r, -1), (s, 1)) for r, s in product(rows, rows)),
        "bootstrap_add_remove": max(moved((r, 1)) for r in rows),
        "bootstrap_within_cell": max(moved((r, -1), (s, 1)) for r, s in product(rows, rows) if r[0] == s[0]),
    }
    original = {"region": places // 2, "kind": places % 2, "output": values, "wage": np.ones(n)}
    for adjacency, steps in worst.items():
        made = _with_domain(original, "bdp", adjacency, (-5, 5), {})
        made.hidden["steps 0 output"][:] = max(steps, 1)  # 0 would print the exact total
        assert "scales_suffice" not in {check.name for check in made.checks() if _about_output(check)}
        made.hidden["steps 0 output"][:] = max(steps, 1) - 1
        assert "scales_suffice" in {check.name for check in made.checks() if _about_output(check)}


def _about_output(check):
    return not check.passed and "output" in check.found


def _with_domain(original, model, adjacency, domain, bounds):
    """A table whose output has another domain; only its steps matter."""
    narrow = Column(role="confidential", type="integer", domain=domain)

    class Narrow(Made):
        def _limits(self, name, cell):
            self.declared["output"] = narrow
            return super()._limits(name, cell)

        def steps(self, name, level):
            return [1000] * len(CELLS)

    return Narrow(model, adjacency, bounds=bounds, original=original)


# figures_as_noised


@noisy
def test_noise_that_was_forgotten_is_found(chosen):
    """In six cells, at an epsilon that needs much of it; test_noise_size.py: noise of half the size, in many."""
    for drawn in (True, False):
        made = Made(**chosen, epsilon="1/10", drawn=drawn)
        assert made.failed() == set()
        assert (judge_table("noise_chance", made.output()).value <= 1e-9) is not drawn


def test_noise_where_none_may_be_is_found():
    made = Made("bdp", "bootstrap_replace", empty_cells="zero")
    made.hidden["noised 0 count"][EMPTY] += 1
    made.publish()
    assert made.failed() == {"figures_as_noised"}


@pytest.mark.parametrize("chosen", [{}, {"model": "idp", "adjacency": "from_D"}, {"noise": "box", "margins": "none"}])
@pytest.mark.parametrize("figure", ["count", "output_sum", "wage_sum"])
def test_a_published_figure_that_is_not_the_noisy_one_is_found(chosen, figure):
    """Its margins are changed too, so that they add up."""
    made = Made(**chosen)
    cells = made.released[figure][: len(CELLS)].copy()
    cells[1] += 1
    made.released[figure] = made.rows(cells).astype(made.released[figure].dtype)
    assert made.failed() == {"figures_as_noised"}


def test_a_public_count_must_be_the_exact_one():
    made = Made("bdp", "bootstrap_within_cell")
    cells = made.released["count"][: len(CELLS)].copy()
    cells[1] += 1
    made.released["count"] = made.rows(cells)
    assert made.failed() == {"figures_as_noised"}


@pytest.mark.parametrize("margins", ["summed", "measured"])
@pytest.mark.parametrize("row", [0, -1])
def test_a_mean_of_the_exact_figures_is_found(margins, row):
    made = Made(margins=margins)
    wages, counts = (made.rows(np.array(made.totals[name])) for name in ("wage", "count"))
    made.released["wage_mean"][row] = wages[row] / 4 / counts[row] + 1e-6
    assert made.failed() == {"figures_as_noised"}


def test_a_mean_of_fitted_totals_that_nobody_publishes_is_not_traced():
    made = Made(margins="measured")
    made.layout = replace(made.layout, figures=(FIGURES[0], FIGURES[3]))
    made.released = {name: values for name, values in made.released.items() if name in made.layout.columns}
    made.released["wage_mean"][0] = 4.125
    assert made.failed() == set()


def test_a_mean_over_a_figure_that_is_not_stored_as_such_is_found():
    made = Made(margins="measured")
    made.released["count"] = made.released["count"][:-1]
    assert made.failed() == {"columns_as_declared", "margins_add_up", "figures_as_noised"}


@pytest.mark.parametrize("chosen", [{}, {"model": "idp", "adjacency": "from_D"}])
def test_a_mean_is_left_out_exactly_where_the_noisy_count_is_below_one(chosen):
    made = Made(**chosen)
    made.hidden["noised 0 count"][0] = 0
    made.publish()
    assert np.isnan(made.released["wage_mean"][0])
    assert made.failed() == set()
    made.released["wage_mean"][0] = 4.125
    assert made.failed() == {"figures_as_noised"}
    made.publish()
    made.hidden["noised 0 count"][1] = 3
    made.publish()
    made.released["wage_mean"][1] = np.nan
    assert made.failed() == {"figures_as_noised"}


# cell_sizes, values_exact


def test_a_cell_with_fewer_records_than_k_is_found():
    smallest = int(min(count for count in Made("k_anon").totals["count"] if count))
    assert Made("k_anon", k=smallest).failed() == set()
    assert Made("k_anon", k=smallest + 1).failed() == {"cell_sizes"}


@pytest.mark.parametrize("figure", ["count", "output_sum", "wage_sum"])
def test_an_exact_figure_that_is_another_is_found(figure):
    made = Made("k_anon")
    cells = made.released[figure][: len(CELLS)].copy()
    cells[0] += 1
    made.released[figure] = made.rows(cells)
    assert made.failed() == {"values_exact"}


def test_an_exact_mean_that_is_another_is_found():
    made = Made("k_anon")
    assert np.isnan(made.released["wage_mean"][EMPTY])
    made.released["wage_mean"][0] += 1e-6
    assert made.failed() == {"values_exact"}


# What is said, and what is refused.


@noisy
def test_what_is_found_names_figures_and_no_values(chosen):
    made = Made(**chosen, drawn=False)
    made.released["region"][0] = 1
    made.released["count"][-1] += 1
    made.hidden = {name: values - 1 if "steps" in name else values for name, values in made.hidden.items()}
    made.parameters["epsilon"] = "1"
    checks = made.checks()
    assert sum(not check.passed for check in checks) >= 4
    assert not any(character.isdigit() for check in checks for character in check.found)


def test_a_check_that_the_guarantee_names_must_be_run():
    made = Made()
    made.guarantee = made.guarantee.model_copy(update={"audit": (*NOISY, "cell_sizes")})
    with pytest.raises(RecheckImpossible, match="every check that the guarantee names must be run"):
        recheck_table(made.output())
    assert len(table_checks(made.output())) == len(NOISY)


def test_a_table_of_an_unknown_mechanism_is_refused():
    made = Made()
    made.parameters["mechanism"] = "chart"
    with pytest.raises(RecheckImpossible, match="only tables of table, statistics can be re-checked, got 'chart'"):
        made.checks()


def test_a_table_of_another_model_is_refused():
    made = Made()
    made.guarantee = made.guarantee.model_copy(update={"model": "prob_k"})
    with pytest.raises(RecheckImpossible, match="of a table one of dp, bdp, idp, k_anon"):
        made.checks()


@pytest.mark.parametrize(
    ("chosen", "change"),
    [
        ({}, {"epsilon": 1.0}),
        ({}, {"epsilon": "much"}),
        ({}, {"epsilon": None}),
        ({}, {"measures": []}),
        ({}, {"measures": ["count", "output", "output", "wage"]}),
        ({}, {"measures": ["count", "output"]}),
        ({}, {"dimensions": ["kind", "region"]}),
        ({}, {"margins": "none"}),
        ({}, {"margins": "some"}),
        ({}, {"noise": "gauss"}),
        ({"rows_per_unit": 2}, {"rows_per_unit": 0}),
        ({"rows_per_unit": 2}, {"rows_per_unit": True}),
        ({"model": "k_anon"}, {"k": 1}),
        ({"model": "k_anon"}, {"k": "2"}),
        ({"model": "bdp", "adjacency": "bootstrap_replace"}, {"scale": "public_membership"}),
        ({"model": "bdp", "adjacency": "bootstrap_replace"}, {"scale": "all"}),
        ({"model": "bdp", "adjacency": "bootstrap_replace"}, {"empty_cells": "hidden"}),
        ({"model": "bdp", "adjacency": "bootstrap_replace"}, {"margins": "measured"}),
    ],
    ids=repr,
)
def test_a_promise_that_cannot_be_rechecked_is_refused(chosen, change):
    made = Made(**chosen)
    made.parameters.update(change)
    with pytest.raises(RecheckImpossible, match="just such a table") as refused:
        made.checks()
    assert refused.value.kind == "gate"
    for name in change:
        del made.parameters[name]
    with pytest.raises(RecheckImpossible, match="just such a table"):
        made.checks()


@pytest.mark.parametrize(
    ("chosen", "adjacency"),
    [({}, "bootstrap_replace"), ({"model": "idp", "adjacency": "from_D"}, "replace"), ({"model": "k_anon"}, "replace")],
)
def test_an_adjacency_of_another_model_is_refused(chosen, adjacency):
    made = Made(**chosen)
    made.guarantee = made.guarantee.model_copy(update={"adjacency": adjacency})
    with pytest.raises(RecheckImpossible, match="just such a table"):
        made.checks()


def test_several_records_of_a_unit_have_no_proof_under_the_relaxations():
    made = Made("idp", "from_D", rows_per_unit=2)
    with pytest.raises(RecheckImpossible, match="just such a table"):
        made.checks()


@pytest.mark.parametrize(
    "change",
    [
        lambda entry: entry.update(epsilon=0.5),
        lambda entry: entry.update(level=["kind", "region"]),
        lambda entry: entry.update(level=["region"]),
        lambda entry: entry.update(measures=[]),
        lambda entry: entry.update(measures=["shoe_size"]),
        lambda entry: entry.pop("classes"),
        lambda entry: entry["classes"][0].update(cells=0),
        lambda entry: entry["classes"][0].update(half_widths=[1, 2]),
        lambda entry: entry["classes"][0].update(half_widths=[0]),
        lambda entry: entry["classes"][0].update(step=0),
        lambda entry: entry["classes"][0].update(step=10**6),
    ],
)
def test_facts_about_the_noise_that_make_no_sense_are_refused(change):
    made = Made(noise="staircase")
    change(made.settled["measured"][0])
    with pytest.raises(RecheckImpossible, match="just such a table"):
        made.checks()


@pytest.mark.parametrize("core", [[0, 0], [1, 0, 0], [0, 0, -1], [0.0, 0, 0]])
def test_a_core_that_is_none_is_refused(core):
    made = Made(noise="box")
    made.settled["measured"][0]["classes"][0]["core"] = core
    with pytest.raises(RecheckImpossible, match="just such a table"):
        made.checks()


@pytest.mark.parametrize(
    "change",
    [
        {"levels": (("region",), ("region", "kind"))},
        {"levels": (("region", "kind"), ("kind", "region"))},
        {"figures": (Figure("output_median", "median", "output", False),)},
        {"figures": (Figure("age_sum", "sum", "age", True),)},
    ],
    ids=repr,
)
def test_a_layout_of_another_table_is_refused(change):
    made = Made()
    made.layout = replace(made.layout, **change)
    with pytest.raises(RecheckImpossible, match="just such a table"):
        made.checks()


@pytest.mark.parametrize("values", [None, np.zeros(6), np.zeros(5, np.int64)])
def test_a_secret_account_with_gaps_is_refused(values):
    made = Made()
    made.hidden["steps 0 output"] = values
    if values is None:
        del made.hidden["steps 0 output"]
    with pytest.raises(RecheckImpossible, match="one int64 for each cell"):
        made.checks()


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (lambda made: made.original.update(wage=made.original["wage"][:-1]), "as many values of it in every column"),
        (lambda made: made.original.clear(), "at least one record"),
        (lambda made: made.original.update({n: v[:0] for n, v in made.original.items()}), "at least one record"),
        (lambda made: made.original.pop("region"), "with its declared categories"),
        (lambda made: made.declared.pop("region"), "with its declared categories"),
        (lambda made: made.declared.update(region=made.declared["kind"]), "with its declared categories"),
        (lambda made: made.original["region"].__setitem__(0, -1), "every record has a declared category"),
        (lambda made: made.original["wage"].__setitem__(0, np.nan), "every record has a value"),
        (lambda made: made.original.pop("wage"), "a numeric column of the records"),
        (lambda made: made.declared.pop("wage"), "a numeric column of the records"),
        (lambda made: made.declared.update(wage=made.declared["kind"]), "a numeric column of the records"),
        (lambda made: made.original.update(wage=made.original["wage"].astype(str)), "a numeric column of the records"),
        (lambda made: made.settled["steps"].pop("wage"), "a power of two"),
        (lambda made: made.settled["steps"].update(wage="1/3"), "a power of two"),
        (lambda made: made.settled["steps"].update(wage="0"), "a power of two"),
        (lambda made: made.settled["steps"].update(wage=str(Fraction(1, 2**49))), "not too fine"),
        (lambda made: made.parameters.update(bounds={"wage": [{"domain": [1, 2]}]}), "and their cells"),
        (
            lambda made: made.parameters.update(bounds={"wage": [{"cells": {"age": ["a"]}, "domain": [1, 2]}]}),
            "and their cells",
        ),
        (
            lambda made: made.parameters.update(bounds={"wage": [{"cells": {"kind": ["z"]}, "domain": [1, 2]}]}),
            "and their cells",
        ),
        (
            lambda made: made.parameters.update(bounds={"wage": [{"cells": {"kind": ["a"]}, "domain": [1, 9]}]}),
            "inside the declared domain",
        ),
    ],
)
def test_records_that_cannot_be_counted_again_are_refused(change, rule):
    made = Made()
    change(made)
    with pytest.raises(RecheckImpossible, match=rule):
        made.checks()


def test_values_that_add_up_beyond_whole_numbers_are_refused():
    made = Made()
    made.declared["output"] = Column(role="confidential", type="integer", domain=(0, 2**53))
    made.settled["steps"]["output"] = "8"
    made.original["output"][:] = 2**53
    made.original = {name: np.repeat(values, 1000) for name, values in made.original.items()}
    with pytest.raises(RecheckImpossible, match=r"less than 2\^62"):
        made.checks()
