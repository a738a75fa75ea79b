"""Tables with an exact grand total keep epsilon where the number of all records is public, and nowhere else."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from penstock.mechanisms.table._chosen import settle
from penstock.mechanisms.table.settings import levels
from tests.laws.test_table_is_private import BASE, DIVIDED, MARGINS, TINY, by_noise, neighbours, sound, worst
from tests.support.plain_tables import Record, records_of, totals

EXACT = {"exact_total": True}


@by_noise
@pytest.mark.parametrize("margins", MARGINS)
def test_no_pair_of_neighbours_loses_more_than_epsilon_beside_an_exact_total(noise: str, margins: str) -> None:
    for name, divided in DIVIDED.items():
        if name == "x" or (noise == "box" and "shares" in divided):
            continue
        params = sound(noise=noise, epsilon="3/2", **MARGINS[margins], **divided, **EXACT)
        assert worst(params) <= Fraction(3, 2), name


@by_noise
def test_what_the_grand_total_spent_goes_to_the_other_margins(noise: str) -> None:
    """A total that is drawn wastes its share where the number of records is public; here all of epsilon is lost."""
    every = {"noise": noise, "epsilon": "3/2", **MARGINS["all measured"]}
    assert worst(sound(**every)) < worst(sound(**every, **EXACT)) == Fraction(3, 2)
    drawn = [entry for entry in settle(sound(**every, **EXACT), TINY) if not levels(sound(**every))[entry.level]]
    assert drawn == []


def test_every_pair_of_neighbours_has_the_same_exact_total() -> None:
    params = sound(**EXACT)
    assert all(len(first) == len(second) for first, second in neighbours(params, records_of(x=[0], z=[0])))


def test_the_number_of_records_of_a_part_is_not_public() -> None:
    """A replaced record leaves one part and enters another: exact totals of parts tell the two data sets apart."""
    params = sound(**EXACT)
    first: list[Record] = [*BASE, {"area": "north", "size": "small", "x": 0, "z": 0}]
    second: list[Record] = [*BASE, {"area": "south", "size": "small", "x": 0, "z": 0}]
    assert len(first) == len(second)
    of_parts = [
        [totals([each for each in data if each["area"] == area], (), "count", params, TINY)[0] for area in ("north",)]
        for data in (first, second)
    ]
    assert not np.array_equal(*of_parts)
