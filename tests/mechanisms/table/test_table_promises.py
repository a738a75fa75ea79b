"""What a table promises in words, model by model, and what it does not."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.table import promise
from tests.support.plain_tables import DECLARED, MODELS, table

SUMS = {"sums": ["x"]}


def promised(model: str = "dp", **chosen: Any) -> Guarantee:
    return promise(table(model, **SUMS, **chosen), DECLARED)


def test_differential_privacy_speaks_of_any_record() -> None:
    found = promised(epsilon="1/2")
    assert found.statement == (
        "(1/2)-differential privacy: whichever record is replaced by any other that the declared columns allow, the "
        "probability of every set of outputs changes by a factor of at most e^(1/2). Whichever i records, of one "
        "person or of several, are changed like that, the factor is at most e^(i x 1/2). The output is one table; "
        "every declared cell is in it."
    )
    assert "number of records" in found.public
    assert "size of the noise" in found.public
    assert "hiding the number of records, which is public" in found.not_promised
    assert (found.postprocessing, found.composes_with) == ("any", "dp: epsilons add up")


def test_added_and_removed_records_hide_their_number() -> None:
    found = promised(adjacency="add_remove", epsilon="3")
    assert "3-differential privacy: whichever record is added or removed, the" in found.statement
    assert "number of records" not in found.public
    assert not any("number of records" in text for text in found.not_promised)


def test_a_unit_is_all_its_records_together() -> None:
    for adjacency in ("replace", "add_remove"):
        found = promised(rows_per_unit=4, adjacency=adjacency)
        assert found.unit == "individual"
        assert "individual's records (all of them together" in found.statement
        assert "at most 4 of the records used describe one individual" in found.assumptions
        hidden = "hiding how many records an individual has, up to 4"
        assert (hidden in found.not_promised) == (adjacency == "replace")
    assert "at most 1 of the records used describes one individual" in promised(rows_per_unit=1).assumptions
    assert "one record describes one individual" in promised().assumptions


@pytest.mark.parametrize("model", ["bdp", "idp"])
def test_relaxations_say_that_they_hold_given_the_size_of_the_noise(model: str) -> None:
    found = promised(model)
    assert f"1-{'bootstrap' if model == 'bdp' else 'individual'} differential privacy" in found.statement
    assert "given the size of the noise" in found.statement
    assert "size of the noise" in found.secret
    assert "size of the noise" not in found.public
    assert "the size of the noise of the actual data would have been used for all data sets compared" in (
        found.assumptions
    )
    assert found.postprocessing == "data_independent_only"
    assert found.not_promised[0].startswith("differential privacy: ")
    assert any("reconstruction" in text for text in found.not_promised)


def test_it_is_said_whether_empty_cells_are_hidden() -> None:
    hides, shows = promised("bdp", empty_cells="noise"), promised("bdp", empty_cells="zero")
    assert ("emptiness of cells" in hides.secret, "emptiness of cells" in hides.public) == (True, False)
    assert ("emptiness of cells" in shows.secret, "emptiness of cells" in shows.public) == (False, True)
    assert any("exact zeros" in text for text in shows.not_promised)


def test_public_membership_is_not_called_secret_anywhere() -> None:
    found = promised("bdp", adjacency="bootstrap_within_cell", scale="public_membership")
    assert "cell of every record" in found.public
    assert "everybody knows the cell of every record" in found.assumptions
    assert "emptiness of cells" not in found.secret
    assert "replaced by another of the same cell" in found.statement
    assert any("who is in which cell" in text for text in found.not_promised)


def test_an_exact_table_promises_no_more_than_sizes() -> None:
    found = promised("k_anon", k=7)
    assert found.statement.startswith(
        "7-anonymity: every cell that is not empty has at least 7 records. The figures are exact. "
    )
    assert found.adjacency == "none"
    assert found.composes_with == "nothing: no theorem covers two releases"
    assert any("differencing" in text for text in found.not_promised)
    assert "noise" not in found.secret


def test_a_relaxation_does_not_hide_a_refusal() -> None:
    for model in ("bdp", "idp"):
        assert any("is refused, which tells that there is such a cell" in text for text in promised(model).not_promised)
    for model in ("dp", "k_anon"):
        assert not any("hiding a refusal" in text for text in promised(model).not_promised)


@pytest.mark.parametrize("model", MODELS)
def test_values_that_may_be_clamped_are_said_to_pull_the_totals(model: str) -> None:
    loose = {**DECLARED, "x": DECLARED["x"].model_copy(update={"outside": "clamp"})}
    [told] = [text for text in promise(table(model, **SUMS), loose).not_promised if "pulled towards the bounds" in text]
    assert told.startswith("totals and means of x as collected")
    assert not any("pulled" in text for text in promised(model).not_promised)
    elsewhere = promise(table(model, sums=["y"]), loose)  # x is declared and not used
    assert not any("pulled" in text for text in elsewhere.not_promised)
    if model == "k_anon":
        exact = promise(table(model, **SUMS), loose).statement
        assert "exact; those of x are of values clamped to their bounds. " in exact
        assert "The figures are exact. " in promised(model).statement


def test_tight_bounds_are_said_to_pull() -> None:
    bounds = {"x": [{"cells": {"area": ["north"]}, "domain": [0, 1]}]}
    assert any("pulled towards the bounds" in text for text in promised(bounds=bounds).not_promised)
    assert promised(bounds=bounds).parameters["bounds"] == bounds
    assert "bounds" not in promised().parameters


def test_parameters_are_the_settings_that_matter_as_plain_data() -> None:
    found = promised(noise="auto", totals=[], margins="summed").parameters
    assert found == {
        "mechanism": "table",
        "dimensions": ["area", "size"],
        "count": True,
        "sums": ["x"],
        "epsilon": "1",
        "noise": "box",
        "margins": "summed",
        "totals": [],
        "measures": ["count", "x"],
    }
    assert "totals" not in promised().parameters
    assert promised("k_anon").parameters["noise"] == "none"


@pytest.mark.parametrize("model", MODELS)
def test_nothing_is_both_public_and_secret(model: str) -> None:
    found = promised(model)
    assert not set(found.public) & set(found.secret)
    assert len(set(found.audit)) == len(found.audit) >= 5
    checks = {"cell_sizes", "values_exact"} if model == "k_anon" else {"epsilon_spent", "scales_suffice"}
    assert checks <= set(found.audit)
