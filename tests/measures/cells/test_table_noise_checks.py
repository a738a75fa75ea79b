"""What a table spends, whether its noise suffices and whether its figures come from it: each fault by its own check."""

from __future__ import annotations

import copy
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.measures.registry import judge
from penstock.mechanisms.columns import Column
from tests.measures.judged_columns import nominal
from tests.measures.table_maker import ANY, BOOTSTRAP, BOUNDS, CELLS, EMPTY, FIGURES, Made, records
from tests.support.order import examples

noisy = pytest.mark.parametrize("chosen", ANY[:-1], ids=repr)
every = pytest.mark.parametrize("chosen", ANY, ids=repr)


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
    made.chosen["measured"] = [entry for entry in made.chosen["measured"] if entry["measures"] != ["count"]]
    assert "epsilon_spent" in made.failed()


def test_counts_need_no_epsilon_only_where_everybody_s_cell_is_public():
    assert "noised 0 count" not in Made("bdp", "bootstrap_within_cell", scale="one").hidden
    made = Made("bdp", "bootstrap_replace")
    made.chosen["measured"] = [entry for entry in made.chosen["measured"] if entry["measures"] != ["count"]]
    made.hidden = {name: values for name, values in made.hidden.items() if "count" not in name}
    made.publish()
    assert made.failed() == {"epsilon_spent"}


def test_a_measure_that_is_drawn_twice_is_found():
    made = Made()
    made.chosen["measured"].append(made.chosen["measured"][0])
    made.parameters["epsilon"] = "3"
    assert made.failed() == {"epsilon_spent"}


@pytest.mark.parametrize("epsilon", ["0", "-1/2"])
def test_an_epsilon_that_is_not_above_zero_is_found(epsilon):
    made = Made()
    made.chosen["measured"][1]["epsilon"] = epsilon
    assert made.failed() == {"epsilon_spent"}


def test_one_epsilon_for_several_measures_is_found_unless_noise_is_a_box():
    made = Made()
    first, second, _ = made.chosen["measured"]
    first["measures"] += second["measures"]
    first["classes"][0]["half_widths"] += second["classes"][0]["half_widths"]
    made.chosen["measured"].remove(second)
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
    found = made.chosen["measured"][0]["classes"][0]
    if "half_widths" in change:
        change = {"half_widths": change["half_widths"][: len(found["half_widths"])]}
        found.update({"core": [0] * len(found["half_widths"])} if noise == "box" else {})
    found.update(change)
    assert made.failed() == {"scales_suffice"}


def test_a_class_that_is_stated_twice_is_found():
    made = Made()
    made.chosen["measured"][0]["classes"] *= 2
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


@settings(deadline=None, max_examples=examples(60))
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
    made.chosen["measured"] = [{"level": ["region"], "measures": ["output"], "epsilon": "1"}]
    made.original = {"region": np.zeros(2, int), "output": np.array([3, 90])}
    made.released = {"region": np.zeros(1, int), "output_sum": np.array([200])}
    for steps, failed in ((110, set()), (109, {"scales_suffice"})):
        made.hidden = {"noised 0 output": np.array([200]), "steps 0 output": np.array([steps])}
        assert made.failed() == failed


@settings(deadline=None, max_examples=examples(60))
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
        assert (judge("noise_chance", made.output()).value <= 1e-9) is not drawn


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
