"""Correct tables pass every check of every model, and each way to break them is found by its own check."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.mechanisms.columns import Column
from tests.measures.table_maker import ANY, BOOTSTRAP, BOUNDS, CELLS, EMPTY, FIGURES, Made, records
from tests.support.order import examples

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


@settings(deadline=None, max_examples=examples(30))
@given(st.integers(0, 2**32), st.sampled_from(ANY[:-1]))
def test_a_correct_table_passes_whatever_is_drawn(seed, chosen):
    """No check depends on chance: whether a sound table appears does not either."""
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


# What is said.


@pytest.mark.parametrize("chosen", ANY[:-1], ids=repr)
def test_what_is_found_names_figures_and_no_values(chosen):
    made = Made(**chosen)
    made.released["region"][0] = 1
    made.released["count"][-1] += 1
    made.hidden = {name: values - 1 if "steps" in name else values for name, values in made.hidden.items()}
    made.parameters["epsilon"] = "1"
    checks = made.checks()
    assert sum(not check.passed for check in checks) >= 4
    assert not any(character.isdigit() for check in checks for character in check.found)
