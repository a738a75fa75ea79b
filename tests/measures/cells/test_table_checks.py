"""Correct tables pass every check of every model, and each way to break them is found by its own check."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.measures import RecheckImpossible
from penstock.measures.cells.checks import table_checks
from penstock.measures.recheck import recheck
from penstock.mechanisms.columns import Column
from penstock.mechanisms.layout import Figure
from tests.measures.table_maker import ANY, BOOTSTRAP, BOUNDS, CELLS, EMPTY, FIGURES, NOISY, Made, records
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


# What is said, and what is refused.


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


def test_a_check_that_the_guarantee_names_must_be_run():
    made = Made()
    made.guarantee = made.guarantee.model_copy(update={"audit": (*NOISY, "cell_sizes")})
    with pytest.raises(RecheckImpossible, match="must name only checks that are run"):
        recheck(made.output())
    assert len(table_checks(made.output())) == len(NOISY)


def test_a_table_of_an_unknown_mechanism_is_refused():
    made = Made()
    made.parameters["mechanism"] = "chart"
    with pytest.raises(
        RecheckImpossible, match="must be one of table, statistics for a table to be re-checked, got 'chart'"
    ):
        made.checks()


def test_a_table_of_another_model_is_refused():
    made = Made()
    made.guarantee = made.guarantee.model_copy(update={"model": "prob_k"})
    with pytest.raises(RecheckImpossible, match="must be one of dp, bdp, idp, k_anon for a table"):
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
    change(made.chosen["measured"][0])
    with pytest.raises(RecheckImpossible, match="just such a table"):
        made.checks()


@pytest.mark.parametrize("core", [[0, 0], [1, 0, 0], [0, 0, -1], [0.0, 0, 0]])
def test_a_core_that_is_none_is_refused(core):
    made = Made(noise="box")
    made.chosen["measured"][0]["classes"][0]["core"] = core
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
        (
            lambda made: made.original.update(wage=made.original["wage"][:-1]),
            "must have at least one record, and as many values in every column",
        ),
        (lambda made: made.original.clear(), "at least one record"),
        (lambda made: made.original.update({n: v[:0] for n, v in made.original.items()}), "at least one record"),
        (lambda made: made.original.pop("region"), "with its declared categories"),
        (lambda made: made.declared.pop("region"), "with its declared categories"),
        (lambda made: made.declared.update(region=made.declared["kind"]), "with its declared categories"),
        (lambda made: made.original["region"].__setitem__(0, -1), "must have a declared category in every record"),
        (lambda made: made.original["wage"].__setitem__(0, np.nan), "must have a value in every record"),
        (lambda made: made.original.pop("wage"), "a numeric column of the records"),
        (lambda made: made.declared.pop("wage"), "a numeric column of the records"),
        (lambda made: made.declared.update(wage=made.declared["kind"]), "a numeric column of the records"),
        (lambda made: made.original.update(wage=made.original["wage"].astype(str)), "a numeric column of the records"),
        (lambda made: made.chosen["steps"].pop("wage"), "a power of two"),
        (lambda made: made.chosen["steps"].update(wage="1/3"), "a power of two"),
        (lambda made: made.chosen["steps"].update(wage="0"), "a power of two"),
        (lambda made: made.chosen["steps"].update(wage=str(Fraction(1, 2**49))), "not too fine"),
        (
            lambda made: made.parameters.update(bounds={"wage": [{"domain": [1, 2]}]}),
            "must be bounds inside the declared domain, with their cells",
        ),
        (
            lambda made: made.parameters.update(bounds={"wage": [{"cells": {"age": ["a"]}, "domain": [1, 2]}]}),
            "must be bounds inside the declared domain, with their cells",
        ),
        (
            lambda made: made.parameters.update(bounds={"wage": [{"cells": {"kind": ["z"]}, "domain": [1, 2]}]}),
            "must be bounds inside the declared domain, with their cells",
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
    made.chosen["steps"]["output"] = "8"
    made.original["output"][:] = 2**53
    made.original = {name: np.repeat(values, 1000) for name, values in made.original.items()}
    with pytest.raises(RecheckImpossible, match=r"less than 2\^62"):
        made.checks()
