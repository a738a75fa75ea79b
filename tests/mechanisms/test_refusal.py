"""How the house says no: one shape of message, stable codes, and an exit code for every kind."""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Iterator
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.cli.main import EXIT_CODES, refusal_as_dict
from penstock.mechanisms.refusal import Fault, Kind, Refusal, SpecRefused
from tests.support.rooms import NAMES, room_of

ROOMS = {"mechanisms", "measures", "records", "reports", "tasks", "flows", "reproduction", "api"}


def every_refusal() -> list[type[Refusal]]:
    """Refusal and all its subclasses in the project, after every module was imported."""
    for name in NAMES:
        importlib.import_module(name)

    def below(refusal: type[Refusal]) -> Iterator[type[Refusal]]:
        yield refusal
        for child in refusal.__subclasses__():
            yield from below(child)

    return [refusal for refusal in below(Refusal) if refusal.__module__.startswith("penstock")]


EVERY = every_refusal()
words = st.text(st.characters(codec="utf-8", categories=["L", "N", "P"]), min_size=1, max_size=10)
faults = st.builds(Fault, words, words, words, words | st.just(""))


def test_the_search_found_the_refusals_of_every_room() -> None:
    assert {room_of(refusal.__module__) for refusal in EVERY} == ROOMS
    assert len(EVERY) > 25


@pytest.mark.parametrize("refusal", EVERY, ids=lambda refusal: refusal.__name__)
def test_a_refusal_survives_pickling(refusal: type[Refusal]) -> None:
    sent = refusal(Fault("income", "must be below 5", "Lower it.", "7"), Fault("age", "needed", "Add it."))
    received = pickle.loads(pickle.dumps(sent))
    assert type(received) is refusal
    assert received.faults == sent.faults
    assert str(received) == str(sent)


@pytest.mark.parametrize("refusal", EVERY, ids=lambda refusal: refusal.__name__)
def test_a_refusal_has_a_code_a_kind_and_an_exit_code(refusal: type[Refusal]) -> None:
    assert refusal.kind in get_args(Kind)
    assert refusal.code == refusal.code.lower().replace(" ", "-").replace("_", "-")
    shown = refusal_as_dict(refusal(Fault("income", "must be below 5", "Lower it.", "7")))
    assert shown == {
        "refused": refusal.code,
        "exit_code": EXIT_CODES[refusal.kind],
        "faults": [{"field": "income", "rule": "must be below 5", "got": "7", "remedy": "Lower it."}],
    }


def test_every_kind_has_its_own_exit_code_and_none_is_success() -> None:
    assert set(EXIT_CODES) == set(get_args(Kind))
    assert sorted(EXIT_CODES.values()) == [1, 2, 3, 4, 5, 6, 7]


def test_a_message_gives_field_rule_value_and_remedy() -> None:
    refused = SpecRefused.at("protect.0.k", rule="at least 2", got=1, remedy="Choose a larger group.")
    assert str(refused) == "protect.0.k refused: at least 2, got 1. Choose a larger group."


def test_a_reason_that_lies_in_the_data_shows_no_value() -> None:
    refused = SpecRefused.at("income", rule="no value may be missing", remedy="Complete it.")
    assert str(refused) == "income refused: no value may be missing. Complete it."
    assert refused.faults[0].got == ""


def test_nothing_is_a_setting_too() -> None:
    assert SpecRefused.at("k", rule="needed", got=None, remedy="Set it.").faults[0].got == "None"


@given(st.lists(faults, min_size=1, max_size=5))
def test_a_message_has_one_line_for_each_fault(found: list[Fault]) -> None:
    assert str(SpecRefused(*found)).splitlines() == [str(fault) for fault in found]


@given(st.lists(faults, max_size=3))
def test_raise_for_raises_exactly_if_there_is_a_fault(found: list[Fault]) -> None:
    if not found:
        SpecRefused.raise_for(iter(found))
        return
    with pytest.raises(SpecRefused) as refused:
        SpecRefused.raise_for(iter(found))
    assert refused.value.faults == tuple(found)
