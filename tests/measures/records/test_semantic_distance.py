"""Linkage and squared errors in a taxonomy: known cases, and brute force in whole numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.measures import MeasureUndefined, measure
from penstock.mechanisms.columns import Column
from penstock.mechanisms.taxonomy import GRID, Taxonomy
from tests.measures.judged_columns import number

LEAVES, CONCEPTS = ("a1", "a2", "b1", "b2", "c1", "c2", "d1", "d2"), ("A", "B", "C", "D")
TREE = {"top": [], **{each: ["top"] for each in CONCEPTS}, **{leaf: [leaf[0].upper()] for leaf in LEAVES}}
COLUMN = Column(
    role="quasi_identifier", type="nominal", taxonomy=TREE, categories=(*LEAVES, *CONCEPTS, "top"), missing="category"
)
DECLARED = {"where": COLUMN, "age": number(0, 8, role="quasi_identifier")}
PLAIN = {"where": COLUMN.model_copy(update={"taxonomy": None}), "age": DECLARED["age"]}


def places(*names):
    return np.array([COLUMN.categories.index(name) for name in names])


def test_concepts_that_stand_for_leaves_link_where_equality_sees_nothing():
    original, released = {"where": places("a1", "b1", "c1", "d1")}, {"where": places("A", "B", "C", "D")}
    linkage, error = measure("record_linkage"), measure("sse")
    assert linkage(original, released, PLAIN).value == 0.25
    assert linkage(original, released, DECLARED).value == 1.0  # the better of the two attackers
    assert linkage(original, released, DECLARED, scaling="taxonomy").value == 1.0
    assert linkage(original, released, DECLARED).beside == {
        "categories equal or different": 0.25,
        "categories by taxonomy": 1.0,
    }
    assert error(original, released, DECLARED).value == 4.0
    assert error(original, released, DECLARED, scaling="taxonomy").value == pytest.approx(
        4 * math.log2(4 / 3) ** 2, abs=1e-4
    )


def test_a_swap_inside_a_concept_costs_less_than_one_across():
    original = {"where": places("a1", "a2", "b1", "b2")}
    inside, across = {"where": places("a2", "a1", "b2", "b1")}, {"where": places("b1", "b2", "a1", "a2")}
    error = measure("sse")
    assert error(original, inside, DECLARED).value == error(original, across, DECLARED).value == 4
    assert (
        error(original, inside, DECLARED, scaling="taxonomy").value
        < error(original, across, DECLARED, scaling="taxonomy").value
    )


def by_brute_force(original, released):
    """Squared distances in units of 2^-38: of ages exactly, of categories as whole scores."""
    listed = COLUMN.categories
    scores = Taxonomy(TREE).scores(listed, listed)

    def distance(j, i):
        one, other = int(released["where"][j]), int(original["where"][i])
        score = GRID * (one != other) if -1 in (one, other) else int(scores[one, other])
        return 64 * score**2 + (int(released["age"][j]) - int(original["age"][i])) ** 2 * 2**32

    n = len(original["age"])
    linked, error = 0.0, 0
    for j in range(n):
        distances = [distance(j, i) for i in range(n)]
        linked += (distances[j] == min(distances)) / distances.count(min(distances))
        error += distance(j, j) - (int(released["age"][j]) - int(original["age"][j])) ** 2 * 2**32
    return linked / n, error / (64 * 2**32)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_it_is_what_brute_force_says(data):
    n = data.draw(st.integers(1, 60))

    def column(least, most):
        return np.array(data.draw(st.lists(st.integers(least, most), min_size=n, max_size=n)))

    widest = data.draw(st.sampled_from([3, 12]))
    sides = [{"where": column(-1, widest), "age": column(0, 3).astype(float)} for _ in range(2)]
    share, error = by_brute_force(*sides)
    assert measure("record_linkage")(*sides, DECLARED, scaling="taxonomy").value == pytest.approx(share, abs=1e-12)
    plain = measure("record_linkage")(*sides, PLAIN).value
    assert measure("record_linkage")(*sides, DECLARED).value == pytest.approx(max(share, plain), abs=1e-12)
    assert measure("sse")(*sides, DECLARED, scaling="taxonomy").by_column["where"] == pytest.approx(error, abs=1e-9)


def test_many_categories_are_searched_in_a_tree_of_many_levels():
    """More categories in a box than are looked at for a bound."""
    rng = np.random.default_rng(8)
    leaves = [f"l{i:03}" for i in range(300)]
    tree = {"top": [], **{f"g{i:02}": ["top"] for i in range(30)}, **{leaf: [f"g{leaf[1:3]}"] for leaf in leaves}}
    column = Column(role="quasi_identifier", type="nominal", taxonomy=tree)
    declared = {"where": column, "age": DECLARED["age"]}
    n = 1500
    original = {"where": rng.integers(0, 300, n), "age": rng.integers(0, 9, n).astype(float)}
    released = {"where": (original["where"] + rng.integers(0, 12, n)) % 300, "age": original["age"]}
    listed = [str(each) for each in column.categories]
    squares = (Taxonomy(tree).scores(listed, listed) / GRID) ** 2
    apart = squares[released["where"][:, None], original["where"][None, :]]
    apart = apart + ((released["age"][:, None] - original["age"][None, :]) / 8) ** 2
    nearest = apart == apart.min(axis=1, keepdims=True)
    expected = (nearest.diagonal() / nearest.sum(axis=1)).mean()
    found = measure("record_linkage")(original, released, declared, scaling="taxonomy")
    assert found.value == pytest.approx(expected, abs=1e-12)


def test_a_table_of_too_many_categories_is_refused(monkeypatch):
    monkeypatch.setattr("penstock.measures.records.distances._MOST_CATEGORIES", 3)
    columns = {"where": places("a1", "b1", "c1", "d1")}
    with pytest.raises(MeasureUndefined, match="must have at most 3 categories that occur"):
        measure("record_linkage")(columns, columns, DECLARED)


def test_missing_values_are_left_out_of_errors_unless_they_are_a_category():
    lacking = {**DECLARED, "where": COLUMN.model_copy(update={"missing": "own_group"})}
    original, released = {"where": np.array([0, -1, 2])}, {"where": np.array([1, 2, 2])}
    error = measure("sse")
    assert error(original, released, lacking, scaling="taxonomy").n == 2
    as_category = error(original, released, DECLARED, scaling="taxonomy")
    assert (as_category.n, as_category.value > 1) == (3, True)
