"""Record linkage against brute force in exact arithmetic, against SciPy, and at its edges."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import cKDTree

from penstock.measures import MeasureUndefined, measure
from penstock.mechanisms.columns import Column, Columns, Declared
from penstock.mechanisms.points import points
from tests.measures.judged_columns import nominal, number, ordinal

record_linkage = measure("record_linkage")

# Every scaled value of these columns is a multiple of 1/8, so that float distances are exact.
GRID: dict[str, Column] = {"number": number(0, 8), "rank": ordinal(5), "kind": nominal(4)}


def by_brute_force(original: Columns, released: Columns, declared: Declared) -> Fraction:
    """The definition, record by record, in fractions."""

    def distance(j: int, candidate: int) -> Fraction:
        total = Fraction(0)
        for name in released:
            x, y = int(original[name][candidate]), int(released[name][j])
            low, high = declared[name].bounds
            total += int(x != y) if declared[name].type == "nominal" else (Fraction(x - y) / Fraction(high - low)) ** 2
        return total

    n = len(next(iter(released.values())))
    linked = Fraction(0)
    for j in range(n):
        distances = [distance(j, candidate) for candidate in range(n)]
        nearest = [candidate for candidate in range(n) if distances[candidate] == min(distances)]
        linked += Fraction(1, len(nearest)) if j in nearest else 0
    return linked / n


@st.composite
def grids(draw: st.DrawFn) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    names = draw(st.lists(st.sampled_from(sorted(GRID)), min_size=1, unique=True))
    n = draw(st.integers(1, 40))
    largest = draw(st.sampled_from([0, 1, 3, 8]))

    def column(name: str) -> np.ndarray:
        highest = min(largest, int(GRID[name].bounds[1]))
        codes = draw(st.lists(st.integers(0, highest), min_size=n, max_size=n))
        return np.array(codes, np.float64 if name == "number" else np.int64)

    original = {name: column(name) for name in names}
    changed = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    return original, {name: np.where(changed, column(name), values) for name, values in original.items()}


@settings(deadline=None)
@given(grids())
def test_it_equals_brute_force_with_ties_duplicates_and_constants(pair):
    original, released = pair
    found = record_linkage(original, released, GRID)
    assert found.value == pytest.approx(float(by_brute_force(original, released, GRID)), abs=1e-12)
    assert found.n == len(next(iter(original.values())))
    assert found.interval is None


@pytest.mark.parametrize("spread", [9, 60, 4000])
def test_it_equals_brute_force_in_a_tree_of_many_levels(spread):
    rng = np.random.default_rng(spread)
    declared = {name: number(0, 4096) for name in ("a", "b", "c")}
    original = {name: rng.integers(0, spread, 1500).astype(float) for name in declared}
    released = {name: values + rng.integers(-1, 2, 1500) * (1 + spread // 60) for name, values in original.items()}
    x, y = (np.column_stack(list(side.values())) for side in (original, released))
    distances = ((y[:, None, :] - x[None, :, :]) ** 2).sum(axis=2)  # integers: exact
    nearest = distances == distances.min(axis=1, keepdims=True)
    expected = (nearest.diagonal() / nearest.sum(axis=1)).mean()
    assert record_linkage(original, released, declared).value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("axes", "noise"), [(1, 0.001), (3, 0.1), (5, 0.3), (8, 1.0)])
def test_it_agrees_with_scipy_on_continuous_data(axes, noise):
    rng = np.random.default_rng(axes)
    x = rng.normal(size=(3000, axes))
    y = x + rng.normal(scale=noise, size=x.shape)
    declared = {f"c{i}": number(-10, 10) for i in range(axes)}
    sides = [{f"c{i}": side[:, i].copy() for i in range(axes)} for side in (x, y)]
    neighbours = cKDTree(x).query(y)[1]
    assert record_linkage(*sides, declared).value == pytest.approx((neighbours == np.arange(3000)).mean(), abs=1e-12)


def test_nominal_columns_have_the_distance_of_scaled_indicators():
    rng = np.random.default_rng(7)
    declared = {"kind": nominal(6), "number": number(0, 1), "rank": ordinal(4)}
    original = {"kind": rng.integers(0, 6, 400), "number": rng.random(400), "rank": rng.integers(0, 4, 400)}
    released = {
        "kind": np.where(rng.random(400) < 0.3, rng.integers(0, 6, 400), original["kind"]),
        "number": original["number"] + rng.normal(scale=0.8, size=400),  # so that categories do not always outweigh it
        "rank": rng.integers(0, 4, 400),
    }
    x, y = (points(side, declared, tuple(declared), "domain") for side in (original, released))
    neighbours = cKDTree(x).query(y)[1]
    assert record_linkage(original, released, declared).value == pytest.approx((neighbours == np.arange(400)).mean())


@pytest.mark.parametrize(("other", "linked"), [(0.9, 0.0), (1.0, 0.5), (1.1, 1.0)])
def test_two_different_categories_are_as_far_apart_as_the_ends_of_a_domain(other, linked):
    """The first record changed its category only; the second, of that category, lies `other` away."""
    declared = {"kind": nominal(2), "x": number(0, 1)}
    original = {"kind": np.array([0, 1]), "x": np.array([0.0, other])}
    released = {"kind": np.array([1, 1]), "x": np.array([0.0, other])}
    assert record_linkage(original, released, declared).value == (linked + 1) / 2


def test_unchanged_distinct_records_are_all_linked():
    values = {"x": np.arange(100.0)}
    assert record_linkage(values, values, {"x": number(0, 100)}).value == 1.0


def test_constant_data_links_one_record_in_n():
    values = {"x": np.full(50, 3.0)}
    assert record_linkage(values, values, {"x": number()}).value == pytest.approx(1 / 50)


def test_duplicates_are_ties_also_where_scaling_rounds():
    """0.1 + 0.2 and 0.3 differ in the last bit, so each of the three equal pairs is one half."""
    original = {"x": np.array([0.1, 0.1, 0.3, 0.3, 0.1 + 0.2, 0.1 + 0.2])}
    assert record_linkage(original, original, {"x": number(0, 0.7)}).value == 0.5


def test_a_minus_zero_is_a_zero():
    original = {"x": np.array([0.0, -0.0])}
    assert record_linkage(original, original, {"x": number(-1, 1)}).value == 0.5


def test_a_single_record_is_linked():
    assert record_linkage({"x": np.array([1.0])}, {"x": np.array([5.0])}, {"x": number()}).value == 1.0


def test_many_duplicates_cost_no_more_than_their_distinct_records():
    """2 x 3 distinct originals behind 60,000 records: a pairwise search would need 3.6e9 distances."""
    rng = np.random.default_rng(3)
    declared = {"kind": nominal(2), "rank": ordinal(3)}
    original = {"kind": rng.integers(0, 2, 60_000), "rank": rng.integers(0, 3, 60_000)}
    released = {"kind": original["kind"], "rank": rng.integers(0, 3, 60_000)}
    sizes = np.bincount(original["kind"] * 3 + original["rank"], minlength=6)
    own = original["kind"] * 3 + original["rank"]
    kept = released["rank"] == original["rank"]
    expected = (kept / sizes[own]).mean()
    assert record_linkage(original, released, declared).value == pytest.approx(expected, rel=1e-12)


@settings(deadline=None)
@given(grids(), st.randoms(use_true_random=False))
def test_the_order_of_records_does_not_matter(pair, chance):
    rows = list(range(len(next(iter(pair[0].values())))))
    chance.shuffle(rows)
    shuffled = [{name: values[rows] for name, values in side.items()} for side in pair]
    assert record_linkage(*shuffled, GRID).value == pytest.approx(record_linkage(*pair, GRID).value, abs=1e-12)


def test_incomplete_records_are_left_out_and_n_says_so():
    original = {"x": np.array([1.0, np.nan, 3.0, 4.0]), "kind": np.array(["a", "b", None, "a"], object)}
    released = {"x": np.array([1.0, 2.0, 3.0, 8.0]), "kind": np.array(["a", "b", "a", "a"], object)}
    found = record_linkage(original, released, {"x": number(), "kind": nominal(2)})
    assert (found.n, found.value) == (2, 1.0)
    assert "left out" in found.missing


def test_missing_as_a_category_is_a_value():
    codes = {"kind": np.array([0, -1, -1])}
    found = record_linkage(codes, codes, {"kind": nominal(2, missing="category")})
    assert (found.n, found.value) == (3, pytest.approx(2 / 3))


def test_text_and_codes_give_the_same_value():
    codes = [np.array([0, 1, 2, 1, 0]), np.array([0, 2, 2, 1, 1])]
    letters = np.array(["a", "b", "c"])
    declared = {"rank": ordinal(3)}
    by_code = record_linkage({"rank": codes[0]}, {"rank": codes[1]}, declared)
    by_text = record_linkage({"rank": letters[codes[0]]}, {"rank": letters[codes[1]]}, declared)
    assert by_text == by_code


def test_inputs_stay_as_they_were():
    original, released = {"x": np.array([-0.0, 2.0])}, {"x": np.array([1.0, -0.0])}
    record_linkage(original, released, {"x": number(-1, 5)})
    assert np.signbit(original["x"][0])
    assert np.signbit(released["x"][1])


def test_it_refuses_when_no_record_is_complete():
    with pytest.raises(MeasureUndefined, match="needs a complete record"):
        record_linkage({"x": np.array([np.nan])}, {"x": np.array([1.0])}, {"x": number()})
