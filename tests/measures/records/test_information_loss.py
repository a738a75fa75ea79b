"""Information loss against the formulas written with plain numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from penstock.measures import MeasureUndefined, measure
from tests.measures.judged_columns import nominal, number, ordinal

MIXED = {"x": number(-100, 100), "y": number(-100, 100), "rank": ordinal(4), "kind": nominal(3)}
VALUES = st.floats(-100, 100).map(lambda value: round(value, 3))


@st.composite
def pairs(draw):
    n = draw(st.integers(2, 30))

    def side():
        return {
            "x": draw(arrays(np.float64, n, elements=VALUES)),
            "y": draw(arrays(np.float64, n, elements=VALUES)),
            "rank": draw(arrays(np.int64, n, elements=st.integers(0, 3))),
            "kind": draw(arrays(np.int64, n, elements=st.integers(0, 2))),
        }

    return side(), side()


def large(n: int = 50_000) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Several blocks of rows; far from 0, so that careless sums lose digits."""
    rng = np.random.default_rng(5)
    x = 1e6 + rng.normal(size=n)
    y = 0.5 * x + rng.normal(size=n)
    rank = np.clip((x - 1e6 + rng.normal(size=n)).astype(int) + 1, 0, 3)
    original = {"x": x, "y": y, "rank": rank, "kind": rng.integers(0, 3, n)}
    released = {name: rng.permutation(values) for name, values in original.items()}
    released["x"] = released["x"] + 0.25
    return original, released


@settings(deadline=None)
@given(pairs())
def test_sse_is_the_sum_of_squared_raw_distances(pair):
    x, y = pair
    expected = {name: float(((x[name] - y[name]) ** 2).sum()) for name in ("x", "y", "rank")}
    expected["kind"] = float((x["kind"] != y["kind"]).sum())
    found = measure("sse")(x, y, MIXED)
    assert found.by_column == pytest.approx(expected)
    assert found.value == pytest.approx(sum(expected.values()))
    assert found.columns == tuple(MIXED)


@settings(deadline=None)
@given(pairs())
def test_il1s_is_the_mean_over_cells(pair):
    x, y = pair
    names = ("x", "y", "rank")
    assume(all(len(set(x[name])) > 1 for name in names))
    cells = [np.abs(x[name] - y[name]) / (np.sqrt(2) * x[name].std(ddof=1)) for name in names]
    found = measure("il1s")(x, y, MIXED)
    assert found.value == pytest.approx(np.mean(cells))
    assert found.by_column == pytest.approx({name: cell.mean() for name, cell in zip(names, cells, strict=True)})


@settings(deadline=None)
@given(pairs())
def test_means_and_variances_change_relative_to_the_original(pair):
    x, y = pair
    assume(all(x[name].std() > 1e-3 for name in ("x", "y")))
    means = {name: abs(y[name].mean() - x[name].mean()) / x[name].std(ddof=1) for name in ("x", "y")}
    variances = {name: abs(y[name].var() / x[name].var() - 1) for name in ("x", "y")}
    for name, expected in (("mean_change", means), ("variance_change", variances)):
        found = measure(name)(x, y, MIXED)
        assert found.by_column == pytest.approx(expected, rel=1e-6, abs=1e-9)
        assert found.value == max(found.by_column.values())


@settings(deadline=None)
@given(pairs())
def test_correlation_change_is_the_largest_over_pairs(pair):
    x, y = pair
    names = ("x", "y", "rank")
    assume(all(side[name].std() > 1e-3 for side in pair for name in names))
    change = np.abs(np.corrcoef([y[name] for name in names]) - np.corrcoef([x[name] for name in names]))
    found = measure("correlation_change")(x, y, MIXED)
    assert found.value == pytest.approx(change.max(), abs=1e-7)
    assert list(found.by_column.values()) == pytest.approx(change.max(axis=0), abs=1e-7)


def test_values_far_from_zero_and_in_many_blocks_keep_their_digits():
    x, y = large()
    means = {name: abs(y[name].mean() - x[name].mean()) / x[name].std(ddof=1) for name in ("x", "y")}
    assert measure("mean_change")(x, y, MIXED).by_column == pytest.approx(means, abs=1e-9)
    variances = max(abs(y[name].var() / x[name].var() - 1) for name in ("x", "y"))
    assert measure("variance_change")(x, y, MIXED).value == pytest.approx(variances, abs=1e-9)
    names = ("x", "y", "rank")
    change = np.abs(np.corrcoef([y[name] for name in names]) - np.corrcoef([x[name] for name in names]))
    assert measure("correlation_change")(x, y, MIXED).value == pytest.approx(change.max(), abs=1e-9)
    assert measure("sse")(x, y, MIXED).by_column["x"] == pytest.approx(((x["x"] - y["x"]) ** 2).sum(), rel=1e-12)


@pytest.mark.parametrize("name", ["sse", "il1s", "mean_change", "variance_change", "correlation_change"])
def test_nothing_changed_gives_zero(name):
    original, _ = large(1000)
    found = measure(name)(original, original, MIXED)
    assert found.value == pytest.approx(0, abs=1e-12)
    assert found.concerns == "utility"
    assert found.direction == "lower_is_better"
    assert found.attacker == ""
    assert found.interval is None
    assert found.n == 1000


def test_a_permuted_column_keeps_mean_and_variance():
    x, y = large()
    for name in ("mean_change", "variance_change"):
        assert measure(name)({"y": x["y"]}, {"y": y["y"]}, MIXED).value == pytest.approx(0, abs=1e-9)


def test_only_records_with_a_value_on_both_sides_count():
    x = {"x": np.array([1.0, 2.0, np.nan, 4.0, 7.0]), "rank": np.array([0, 1, 2, -1, 3])}
    y = {"x": np.array([1.5, np.nan, 3.0, 5.0, 7.0]), "rank": np.array([1, 1, 2, 2, 3])}
    kept, released = np.array([1.0, 4.0, 7.0]), np.array([1.5, 5.0, 7.0])
    sse = measure("sse")(x, y, MIXED)
    assert sse.by_column == pytest.approx({"x": 1.25, "rank": 1.0})
    assert sse.n == 3
    mean = measure("mean_change")(x, y, MIXED)
    assert mean.value == pytest.approx(0.5 / kept.std(ddof=1))
    assert measure("variance_change")(x, y, MIXED).value == pytest.approx(abs(released.var() / kept.var() - 1))
    il1s = measure("il1s")(x, y, MIXED)
    parts = [1.5 / (np.sqrt(2) * kept.std(ddof=1)), 1 / (np.sqrt(2) * np.std([0, 1, 2, 3], ddof=1))]
    assert il1s.value == pytest.approx(sum(parts) / 7)


def test_correlations_use_the_complete_records_of_each_pair():
    rng = np.random.default_rng(2)
    declared = {name: number(-100, 100) for name in "abc"}
    x = {name: rng.normal(size=200) for name in declared}
    y = {name: values + rng.normal(size=200) for name, values in x.items()}
    for side, name, rows in ((x, "a", slice(0, 60)), (y, "b", slice(40, 90)), (x, "c", slice(150, 160))):
        side[name][rows] = np.nan
    change, counts = [], []
    for first, second in ("ab", "ac", "bc"):
        kept = ~np.isnan([x[first], y[first], x[second], y[second]]).any(axis=0)
        r = [np.corrcoef(side[first][kept], side[second][kept])[0, 1] for side in (x, y)]
        change.append(abs(r[1] - r[0]))
        counts.append(int(kept.sum()))
    found = measure("correlation_change")(x, y, declared)
    assert found.value == pytest.approx(max(change))
    assert found.n == min(counts)


@pytest.mark.parametrize("name", ["il1s", "mean_change", "variance_change"])
def test_a_constant_column_counts_zero_while_unchanged_and_refuses_once_changed(name):
    constant = {"x": np.full(7, 0.1)}
    assert measure(name)(constant, constant, MIXED).value == 0
    with pytest.raises(MeasureUndefined, match="x refused: needs original values that differ"):
        measure(name)(constant, {"x": np.array([0.1] * 6 + [0.2])}, MIXED)


@pytest.mark.parametrize("name", ["il1s", "mean_change", "variance_change"])
def test_a_spread_too_small_for_floats_refuses_like_a_constant(name):
    with pytest.raises(MeasureUndefined, match="has no scale"):
        measure(name)({"x": np.array([0.0, 1e-200])}, {"x": np.array([0.0, 2e-200])}, MIXED)


@pytest.mark.parametrize("side", [0, 1])
def test_a_correlation_with_a_constant_column_refuses(side):
    varied = {"x": np.array([1.0, 2.0, 4.0]), "y": np.array([3.0, 1.0, 2.0])}
    pair = [varied, varied]
    pair[side] = {**varied, "y": np.full(3, 0.1)}
    with pytest.raises(MeasureUndefined, match="y refused: needs values that vary"):
        measure("correlation_change")(*pair, MIXED)


def test_a_column_that_is_constant_where_its_partner_is_present_refuses():
    x = {"x": np.array([0.1, 0.1, 0.1, 5.0, 6.0]), "y": np.array([1.0, 2.0, 4.0, np.nan, np.nan])}
    with pytest.raises(MeasureUndefined, match="without variation"):
        measure("correlation_change")(x, x, MIXED)


def test_a_pair_of_columns_that_share_no_record_refuses():
    x = {"x": np.array([1.0, 2.0, np.nan, np.nan]), "y": np.array([np.nan, np.nan, 1.0, 2.0])}
    with pytest.raises(MeasureUndefined, match="at least two records with both values"):
        measure("correlation_change")(x, x, MIXED)


def test_correlation_change_refuses_fewer_than_two_ordered_columns():
    values = {"x": np.array([1.0, 2.0]), "kind": np.array([0, 1])}
    with pytest.raises(MeasureUndefined, match="at least two numeric or ordinal columns"):
        measure("correlation_change")(values, values, MIXED)


@pytest.mark.parametrize("name", ["il1s", "mean_change", "variance_change"])
def test_measures_of_numbers_refuse_categories_alone(name):
    values = {"kind": np.array([0, 1])}
    with pytest.raises(MeasureUndefined, match=f"{name} refused: needs a numeric"):
        measure(name)(values, values, MIXED)


@pytest.mark.parametrize("name", ["sse", "il1s", "mean_change", "variance_change", "correlation_change"])
def test_a_column_without_any_value_refuses(name):
    x = {"x": np.array([np.nan, 1.0]), "y": np.array([1.0, 2.0])}
    y = {"x": np.array([1.0, np.nan]), "y": np.array([1.0, 2.0])}
    with pytest.raises(MeasureUndefined, match="x refused: needs a record with a value on both sides"):
        measure(name)(x, y, MIXED)


def mixed(n: int = 400) -> tuple[dict, dict, dict]:
    rng = np.random.default_rng(n)
    original = {name: rng.normal(5, 1, n) for name in ("a", "b", "c", "d")}
    original["c"] += original["a"]
    released = {name: values + rng.normal(0, 0.5, n) for name, values in original.items()}
    released["a"] = original["a"]
    original |= {"rank": rng.integers(0, 5, n), "kind": rng.integers(0, 3, n)}
    released |= {"rank": original["rank"], "kind": original["kind"][::-1].copy()}
    declared = {
        "a": number(0, 20, role="quasi_identifier"),
        "b": number(0, 20, role="quasi_identifier"),
        "c": number(0, 20),
        "d": number(0, 20),
        "rank": ordinal(5),
        "kind": nominal(3),
    }
    return original, released, declared


def test_the_mean_change_of_correlations_is_that_over_pairs_with_a_confidential_column():
    original, released, declared = mixed()
    pairs = [(h, i) for h in "ab" for i in ("c", "d", "rank")] + [("c", "d"), ("c", "rank"), ("d", "rank")]
    changes = {
        pair: abs(
            np.corrcoef(released[pair[0]], released[pair[1]])[0, 1]
            - np.corrcoef(original[pair[0]], original[pair[1]])[0, 1]
        )
        for pair in pairs
    }
    found = measure("mean_correlation_change")(original, released, declared)
    assert found.value == pytest.approx(np.mean(list(changes.values())))
    assert found.beside["standard deviation"] == pytest.approx(np.std(list(changes.values())))
    for name in ("a", "b", "c", "d", "rank"):
        assert found.by_column[name] == pytest.approx(np.mean([c for pair, c in changes.items() if name in pair]))
    assert found.value < measure("correlation_change")(original, released, declared).value
    assert found.n == 400


def test_the_mean_change_of_correlations_needs_a_confidential_column_with_an_order():
    original, released, declared = mixed()
    names = ("a", "b", "kind")
    sides = [{name: side[name] for name in names} for side in (original, released)]
    with pytest.raises(MeasureUndefined, match="needs a numeric or ordinal confidential column"):
        measure("mean_correlation_change")(*sides, declared)
    with pytest.raises(MeasureUndefined, match="needs at least two numeric or ordinal columns"):
        measure("mean_correlation_change")({"c": original["c"]}, {"c": released["c"]}, declared)


def test_a_mean_changes_relative_to_itself():
    declared = {"x": number(-100, 100), "y": number(-100, 100)}
    original = {"x": np.array([1.0, 3.0]), "y": np.array([-10.0, -10.0])}
    released = {"x": np.array([1.0, 4.0]), "y": np.array([-9.0, -10.0])}
    found = measure("relative_mean_change")(original, released, declared)
    assert found.by_column == pytest.approx({"x": 0.25, "y": 0.05})
    assert (found.value, found.direction, found.n) == (pytest.approx(0.25), "lower_is_better", 2)


@pytest.mark.parametrize("values", [[0.0, 0.0], [-3.0, 3.0], [0.1, 0.2, -0.3]])
def test_a_mean_of_zero_has_no_relative_change(values):
    columns = {"x": np.array(values)}
    with pytest.raises(MeasureUndefined, match="needs a mean that is not 0"):
        measure("relative_mean_change")(columns, columns, {"x": number(-8, 8)})


def test_relative_changes_need_a_number():
    with pytest.raises(MeasureUndefined, match="needs a numeric column"):
        measure("relative_mean_change")({"k": np.array([0])}, {"k": np.array([1])}, {"k": nominal(2)})
