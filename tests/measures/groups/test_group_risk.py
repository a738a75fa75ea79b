"""Risk that follows from groups, against counting by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.measures import MeasureUndefined, measure
from tests.measures.judged_columns import nominal, number, ordinal

DECLARED = {"x": number(missing="own_group"), "y": number(), "kind": nominal(3)}


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), min_size=1, max_size=200))
def test_both_equal_counting_by_hand(records):
    drawn, values = (np.array(column) for column in zip(*records, strict=True))
    labels = np.unique(drawn, return_inverse=True)[1]
    sizes, copies = Counter(drawn.tolist()), Counter(records)
    columns, groups = {"kind": values}, {"kind": labels}
    assert measure("average_risk")(columns, columns, DECLARED, groups=groups).value == len(sizes) / len(records)
    found = measure("own_value_probability")(columns, columns, DECLARED, groups=groups, permuted=True)
    assert found.value == max(count / sizes[label] for (label, _), count in copies.items())
    assert found.concerns == "risk"
    assert found.attacker


def test_the_riskiest_column_decides():
    columns = {"y": np.array([1.0, 2.0, 3.0, 4.0]), "kind": np.array([0, 0, 1, 2])}
    groups = {"y": np.zeros(4, np.int64), "kind": np.array([0, 0, 1, 1])}
    average = measure("average_risk")(columns, columns, DECLARED, groups=groups)
    assert (average.value, average.by_column) == (0.5, {"y": 0.25, "kind": 0.5})
    own = measure("own_value_probability")(columns, columns, DECLARED, groups=groups, permuted=True)
    assert (own.value, own.by_column) == (1.0, {"y": 0.25, "kind": 1.0})


def test_average_risk_of_1080_records_in_groups_of_300_or_more_is_below_one_in_300():
    labels = np.minimum(np.arange(1080) // 300, 2)
    columns = {"y": np.arange(1080.0)}
    found = measure("average_risk")(columns, columns, {"y": number(0, 1080)}, groups={"y": labels})
    assert found.value == 3 / 1080


def test_values_repeat_by_value_and_not_by_representation():
    columns = {"y": np.array([0.0, -0.0, 5.0])}
    own = measure("own_value_probability")(
        columns, columns, DECLARED, groups={"y": np.zeros(3, np.int64)}, permuted=True
    )
    assert own.value == pytest.approx(2 / 3)


def test_records_without_a_value_in_their_own_group_are_left_out():
    columns = {"x": np.array([1.0, 2.0, np.nan, np.nan, np.nan])}
    groups = {"x": np.array([0, 0, 1, 1, 1])}
    average = measure("average_risk")(columns, columns, DECLARED, groups=groups)
    assert (average.value, average.n) == (0.5, 2)
    assert measure("own_value_probability")(columns, columns, DECLARED, groups=groups, permuted=True).value == 0.5


@pytest.mark.parametrize("name", ["average_risk", "own_value_probability"])
def test_they_refuse_without_usable_groups(name):
    columns = {"y": np.array([1.0, 2.0])}

    def judged(groups):
        return measure(name)(columns, columns, DECLARED, groups=groups, permuted=True)

    for groups in (None, {}, {"kind": np.zeros(2, np.int64)}):
        with pytest.raises(MeasureUndefined, match=f"{name} refused: needs the groups"):
            judged(groups)
    for labels in (np.zeros(3, np.int64), np.zeros(2)):
        with pytest.raises(MeasureUndefined, match="one integer group label per record"):
            judged({"y": labels})
    for labels in (np.array([-1, 0]), np.array([0, 2**40])):
        with pytest.raises(MeasureUndefined, match="count from 0"):
            judged({"y": labels})
    nothing = {"x": np.array([np.nan])}
    with pytest.raises(MeasureUndefined, match="needs a record with a value"):
        measure(name)(nothing, nothing, DECLARED, groups={"x": np.zeros(1, np.int64)}, permuted=True)


def test_nobody_gets_an_own_value_where_nothing_is_permuted():
    columns, groups = {"y": np.array([1.0, 1.0])}, {"y": np.zeros(2, np.int64)}
    with pytest.raises(MeasureUndefined, match="needs values that were permuted inside groups"):
        measure("own_value_probability")(columns, columns, DECLARED, groups=groups)
    assert measure("average_risk")(columns, columns, DECLARED, groups=groups).value == 0.5


def test_ordinal_values_may_be_text():
    columns = {"rank": np.array(["a", "b", "b", "b"])}
    found = measure("own_value_probability")(
        columns, columns, {"rank": ordinal(2)}, groups={"rank": np.array([0, 0, 1, 1])}, permuted=True
    )
    assert found.value == 1.0
