from __future__ import annotations

import numpy as np
import pytest

from penstock.mechanisms.columns import Column
from penstock.mechanisms.points import formulas, points
from penstock.mechanisms.refusal import ColumnTypeWrong, SettingRefused, ValueMissing

DECLARED = {
    "age": Column(role="quasi_identifier", type="integer", domain=(20, 120)),
    "ratio": Column(role="quasi_identifier", type="continuous", domain=(-0.5, 0.1)),
    "school": Column(role="quasi_identifier", type="ordinal", categories=("low", "middle", "high")),
    "region": Column(role="quasi_identifier", type="nominal", categories=("N", "S")),
    "cause": Column(role="quasi_identifier", type="nominal", categories=("x", "y"), missing="category"),
}
COLUMNS = {
    "age": np.array([20, 70, 120]),
    "ratio": np.array([0.1, 0.1, 0.1]),
    "school": np.array(["high", "low", "middle"]),
    "region": np.array([0, 1, 1]),
    "cause": np.array(["x", None, "y"], dtype=object),
}


def of(name, scaling):
    return points(COLUMNS, DECLARED, [name], scaling)


def test_the_domain_becomes_the_unit_interval():
    assert of("age", "domain").ravel().tolist() == [0.0, 0.5, 1.0]
    assert of("school", "domain").ravel().tolist() == [1.0, 0.0, 0.5]


def test_standard_deviations_become_one_and_constant_columns_zero():
    scaled = of("age", "standard_deviation").ravel()
    assert scaled.mean() == pytest.approx(0)
    assert scaled.std() == pytest.approx(1)
    assert of("ratio", "standard_deviation").ravel().tolist() == [0.0, 0.0, 0.0]
    assert of("school", "standard_deviation").ravel().tolist() == [1.0, 0.0, 0.5]


def test_without_scaling_values_and_codes_are_raw():
    assert of("age", "none").ravel().tolist() == [20.0, 70.0, 120.0]
    assert of("school", "none").ravel().tolist() == [2.0, 0.0, 1.0]


def test_different_categories_lie_at_distance_one_and_missing_may_be_one_of_them():
    for scaling in ("domain", "standard_deviation", "none"):
        cause = of("cause", scaling)
        distances = ((cause[:, None] - cause[None]) ** 2).sum(axis=2)
        assert distances == pytest.approx(1 - np.eye(3))
        assert of("region", scaling).shape == (3, 2)


def test_columns_follow_each_other_in_the_order_of_the_names():
    both = points(COLUMNS, DECLARED, ["region", "age"], "domain")
    assert both.shape == (3, 3)
    assert both.dtype == np.float64
    assert (both[:, 2] == of("age", "domain").ravel()).all()


def test_formulas_can_be_read():
    assert formulas(DECLARED, list(DECLARED), "domain") == {
        "age": "(x - 20) / 100",
        "ratio": "(x - -0.5) / 0.6",
        "school": "rank of the category / 2",
        "region": "1 between different categories",
        "cause": "1 between different categories",
    }
    assert formulas(DECLARED, ["age", "school"], "none") == {"age": "x", "school": "rank of the category"}
    assert formulas(DECLARED, ["age"], "standard_deviation") == {"age": "(x - mean) / standard deviation"}


def test_no_columns_are_refused():
    with pytest.raises(SettingRefused, match="must be at least one"):
        points(COLUMNS, DECLARED, [], "domain")


@pytest.mark.parametrize(
    ("name", "values", "rule"),
    [
        ("age", np.array([20.0, np.nan]), "a finite value in every record"),
        ("age", np.array([20.0, np.inf]), "a finite value in every record"),
        ("school", np.array([1, -1]), "a finite value in every record"),
        ("region", np.array([1, -1]), "must have a category in every record"),
    ],
)
def test_a_missing_value_has_no_place(name, values, rule):
    with pytest.raises(ValueMissing, match=rule):
        points({name: values}, DECLARED, [name], "domain")


def test_text_in_a_numeric_column_is_refused():
    with pytest.raises(ColumnTypeWrong, match="age refused: must be an array of numbers"):
        points({"age": np.array(["20"] * 2).astype("<U2")}, DECLARED, ["age"], "domain")
