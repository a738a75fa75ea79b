"""What we corrected in the sources: every counter-example stands, and one that does not is told."""

from __future__ import annotations

import dataclasses

import pytest

from penstock.reproduction import errata
from penstock.reproduction.errata import ERRATA, CounterExample, Erratum
from penstock.reproduction.errata.erratum import found
from tests.support.ended_command import Typed

NAMES = [erratum.name for erratum in ERRATA]
# The largest losses and other numbers that were computed elsewhere, by hand or by brute force.
KNOWN = {
    "individual-scale": {"loss at the printed scale": "10"},
    "individual-smooth": {"loss with beta as printed": "2"},
    "individual-admissible": {"loss with gamma 10": "1.05443"},
    "bootstrap-accuracy": {"gamma is 5 percent": "0.951097"},
    "bootstrap-whole": {"change of the table": "32130", "loss at epsilon 1": "1.83307"},
    "bootstrap-900": {"range with 9000": "8766"},
    "thesis-ties": {"ties by place": "1", "ties at random": "1/2"},
    "thesis-exponent": {"one more": "1"},
    "thesis-comparison": {"box noise": "4.0338 and 403.38", "Laplace with half of epsilon each": "8 and 800"},
    "thesis-masses": {"chance of the truth in Example 8 as printed": "1.35914"},
    "thesis-delta": {"delta of a person": "0.4", "delta of a statistic": "0.3"},
    "thesis-last-step": {"before": "[2, 3]", "after": "[3, 2]"},
    "thesis-every-record": {"loss": "13"},
    "thesis-boundaries": {"distance of the boundaries": "0.6781", "diameter": "0.737"},
    "thesis-random-groups": {"promised chance": "1/4", "chance": "1/2"},
    "thesis-sequence": {"by the rule": "3", "in the sequence": "2"},
    "thesis-categories-error": {"by the factors": "88.5425"},
    "thesis-recipe": {"closeness": "51/25"},
}


@pytest.mark.parametrize("erratum", ERRATA, ids=NAMES)
def test_every_counter_example_stands(erratum: Erratum) -> None:
    shown = erratum.counter_example()
    assert shown.stands is True
    assert shown.case
    assert dict(shown.numbers).items() >= KNOWN.get(erratum.name, {}).items()
    assert all((erratum.source, erratum.place, erratum.printed, erratum.right))


def test_names_differ_and_every_known_number_has_its_erratum() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert set(KNOWN) <= set(NAMES)


def test_the_command_shows_every_erratum_with_its_numbers(typed: Typed) -> None:
    ended = typed("reproduce", "errata")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.count("the counter-example stands") == len(ERRATA)
    assert "loss at the printed scale: 10" in ended.out
    document = typed("reproduce", "errata", "--json").document()
    assert document["holds"] is True
    assert [erratum["name"] for erratum in document["errata"]] == NAMES


def test_a_counter_example_that_does_not_stand_ends_with_1(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    def harmless() -> CounterExample:
        return found("nothing is wrong", False, loss=0.0)

    monkeypatch.setattr(errata, "ERRATA", (dataclasses.replace(ERRATA[0], counter_example=harmless),))
    ended = typed("reproduce", "errata")
    assert ended.code == 1
    assert "IT DOES NOT STAND" in ended.out


def test_errata_are_asked_for_alone(typed: Typed) -> None:
    ended = typed("reproduce", "errata", "thesis-4.1")
    assert (ended.code, ended.out) == (2, "")
    assert "NAME: must be errata alone" in ended.err
