"""Error and linkages of a release beside another."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from penstock.measures import Measurement, MeasureUndefined, balance, measure
from tests.measures.judged_columns import number


def measured(name, value, columns=("x",)):
    return Measurement(
        name=name, value=value, direction="lower_is_safer", n=4, columns=columns, missing="none", attacker="anybody"
    )


def two(error, linkage, columns=("x",)):
    return measured("sse", error, columns), measured("record_linkage", linkage, columns)


def test_the_score_is_the_ratio_of_both_factors():
    found = balance(two(900.0, 0.4), two(100.0, 0.1))
    assert (found.error_factor, found.linkage_factor) == (3.0, 4.0)
    assert found.score == 0.75


def test_it_takes_the_measurements_of_releases():
    declared = {"x": number()}
    original = {"x": np.array([1.0, 2.0, 4.0, 8.0])}
    near, far = ({"x": original["x"] + step} for step in (0.25, 0.5))
    sides = [
        tuple(measure(name)(original, side, declared) for name in ("sse", "record_linkage")) for side in (far, near)
    ]
    assert balance(*sides).error_factor == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("after", "rule"),
    [
        (two(0.0, 0.1), "must have an error and a linkage above 0"),
        (two(1.0, 0.0), "must have an error and a linkage above 0"),
        (two(1.0, 0.1)[::-1], "must be the measurements sse and record_linkage"),
        (two(1.0, 0.1, ("y",)), "must be about the same columns as before"),
    ],
)
def test_what_has_no_factor_is_refused(after, rule):
    with pytest.raises(MeasureUndefined, match=rule):
        balance(two(1.0, 1.0), after)


def test_columns_may_stand_in_another_order():
    before, after = two(4.0, 1.0, ("x", "y")), two(1.0, 0.5, ("y", "x"))
    assert balance(before, after).score == 1.0
    assert replace(before[0], value=1.0).value == 1.0
