"""A table whose promise, facts, layout or records do not allow a re-check is refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from penstock.measures import RecheckImpossible
from penstock.measures.cells.checks import table_checks
from penstock.measures.recheck import recheck
from penstock.mechanisms.columns import Column
from penstock.mechanisms.layout import Figure
from tests.measures.table_maker import NOISY, Made


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
