"""A promise of blocks that does not say enough, or facts that make no sense, refuse."""

from __future__ import annotations

import copy

import pytest

from penstock.measures import RecheckImpossible
from penstock.mechanisms.columns import Column
from tests.measures.records.blocks import CHECKS, FACTS, Blocks


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": None},
        {"epsilon": "much"},
        {"epsilon": 1.0},
        {"epsilon": "1/0"},
        {"mode": "rows"},
        {"k": 0},
        {"k": "some"},
        {"k": True},
        {"rows_per_unit": 0},
        {"rows_per_unit": None},
    ],
    ids=repr,
)
def test_a_promise_that_cannot_be_rechecked_refuses(change):
    output = Blocks()
    parameters = {**output.guarantee.parameters, **change}
    output.guarantee = output.guarantee.model_copy(update={"parameters": parameters})
    with pytest.raises(RecheckImpossible, match="for individuals rows_per_unit") as refused:
        output.failed()
    assert refused.value.kind == "gate"
    del parameters[next(iter(change))]
    with pytest.raises(RecheckImpossible, match="for individuals rows_per_unit"):
        output.failed()


def test_a_promise_about_no_column_refuses():
    output = Blocks()
    output.declared = {"id": Column(role="identifier")}
    with pytest.raises(RecheckImpossible, match="about at least one column"):
        output.failed()


@pytest.mark.parametrize(
    "change",
    [
        {"sensitivity": 0},
        {"sensitivity": -5},
        {"sensitivity": 1.5},
        {"sensitivity": "100"},
        {"scale": "0"},
        {"scale": "-300"},
        {"scale": "1/0"},
        {"scale": "wide"},
        {"scale": None},
        {"scale": 300.0},
        {"grid": "0"},
        {"grid": "fine"},
        {"epsilon": []},
    ],
    ids=repr,
)
def test_facts_that_make_no_sense_refuse(change):
    output = Blocks()
    output.facts("age").update(change)
    with pytest.raises(RecheckImpossible, match="must state k, blocks, grid, sensitivity, scale and epsilon"):
        output.failed()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda facts: facts.clear(),
        lambda facts: facts.update(parts=None),
        lambda facts: facts.update(parts=[1]),
        lambda facts: facts["parts"][0].pop("k"),
        lambda facts: facts["parts"][0].update(k=0),
        lambda facts: facts["parts"][0].update(k="3"),
        lambda facts: facts["parts"][0].update(blocks=None),
        lambda facts: facts["parts"][0]["columns"].pop("age"),
        lambda facts: facts["parts"][0]["columns"].update(more=FACTS["age"]),
        lambda facts: facts["parts"][0]["columns"].update(age=None),
        lambda facts: facts["parts"].append(copy.deepcopy(facts["parts"][0])),
    ],
)
def test_facts_that_are_missing_or_stated_twice_refuse(spoil):
    output = Blocks()
    spoil(output.chosen)
    with pytest.raises(RecheckImpossible, match="of every released column, once"):
        output.failed()


def test_a_check_that_is_promised_and_not_known_refuses():
    output = Blocks()
    output.guarantee = output.guarantee.model_copy(update={"audit": (*CHECKS, "noise_drawn")})
    with pytest.raises(RecheckImpossible, match="must name only checks that are run"):
        output.failed()
