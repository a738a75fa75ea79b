from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.mechanisms.columns import Column
from penstock.mechanisms.microaggregation.mdav import mdav
from penstock.mechanisms.microaggregation.space import (
    Space,
    central_concepts,
    concepts_of,
    mdav_in_space,
    plane,
    v_mdav,
)
from penstock.mechanisms.refusal import TooFewRecords
from penstock.mechanisms.taxonomy import candidates
from tests.mechanisms.space_by_definition import Described, mdav_in_space_by_definition, v_mdav_by_definition
from tests.support.order import examples

# One parent each; several parents and levels of different depth; a concept that is declared beside its leaves.
TREES = (
    {"a1": ["a"], "a2": ["a"], "b1": ["b"], "b2": ["b"], "a": ["any"], "b": ["any"], "any": []},
    {
        "x": ["p", "q"],
        "y": ["q"],
        "z": ["r"],
        "w": ["top"],
        "p": ["top"],
        "q": ["s"],
        "r": ["s"],
        "s": ["top"],
        "top": [],
    },
    {"leaf": ["inner"], "other": ["root"], "inner": ["root"], "root": []},
)
DECLARED = (("a1", "a2", "b1", "b2"), ("w", "x", "y", "z"), ("inner", "leaf", "other"))


def column(which, missing="refuse"):
    return Column(
        role="quasi_identifier", type="nominal", taxonomy=TREES[which], categories=DECLARED[which], missing=missing
    )


@st.composite
def described(draw):
    """The same records as a Space and as they are described: many ties, and some without."""
    n, d, q = draw(st.integers(1, 26)), draw(st.integers(0, 2)), draw(st.integers(1, 2))
    chance = np.random.default_rng(draw(st.integers(0, 2**32)))
    which = [int(chance.integers(len(TREES))) for _ in range(q)]
    missing = [bool(chance.integers(2)) for _ in range(q)]
    coordinates = chance.integers(0, 4, (n, d)) / 7 if chance.integers(2) else chance.random((n, d))
    codes = np.column_stack(
        [chance.integers(0, len(DECLARED[w]) + gone, n) for w, gone in zip(which, missing, strict=True)]
    )
    columns = [column(w, "category" if gone else "refuse") for w, gone in zip(which, missing, strict=True)]
    space = Space(coordinates, codes, tuple(concepts_of(each) for each in columns))
    names = [[*DECLARED[w], None] for w in which]
    rows = [tuple(names[j][code] for j, code in enumerate(row)) for row in codes.tolist()]
    oracle = Described(
        [tuple(row) for row in coordinates.tolist()], rows, [TREES[w] for w in which], [DECLARED[w] for w in which]
    )
    return space, oracle, draw(st.integers(1, max(1, n // 2)))


@given(described())
@settings(deadline=None, max_examples=examples(80))
def test_groups_by_semantic_distance_are_those_of_the_definition(case):
    space, oracle, k = case
    assert mdav_in_space(space, k).tolist() == mdav_in_space_by_definition(oracle, k)


@given(described(), st.sampled_from([Fraction(0), Fraction(1, 5), Fraction(1), Fraction(11, 10), Fraction(3)]))
@settings(deadline=None, max_examples=examples(80))
def test_groups_of_variable_size_are_those_of_the_definition(case, gain):
    space, oracle, k = case
    labels = v_mdav(space, k, gain)
    assert labels.tolist() == v_mdav_by_definition(oracle, k, gain)
    sizes = np.bincount(labels)
    assert k <= sizes.min()
    assert sizes.max() <= 3 * k - 2


@given(st.integers(0, 2**32), st.integers(1, 60), st.integers(1, 4), st.data())
@settings(deadline=None, max_examples=examples(150))
def test_without_taxonomies_groups_are_those_of_mdav(seed, n, d, data):
    chance = np.random.default_rng(seed)
    points = chance.integers(0, 3, (n, d)) / 10 if seed % 2 else chance.normal(size=(n, d))
    k = data.draw(st.integers(1, n))
    assert mdav_in_space(plane(points), k).tolist() == mdav(points, k).tolist()


@given(described())
@settings(deadline=None, max_examples=examples(100))
def test_central_concepts_are_those_of_the_definition(case):
    space, oracle, k = case
    labels = mdav_in_space(space, k)
    for j, tables in enumerate(space.concepts):
        names = oracle.candidates(j)
        found = central_concepts(space.codes[:, j], tables, labels)
        for group, concept in enumerate(found.tolist()):
            assert names[concept] == oracle.central(j, np.flatnonzero(labels == group).tolist())


def test_many_values_under_one_concept_are_represented_by_it_and_few_by_one_of_them():
    siblings = {f"a{i}": ["a"] for i in range(4)}
    declared = Column(
        role="quasi_identifier", type="nominal", taxonomy={**siblings, "b": ["any"], "a": ["any"], "any": []}
    )
    names = candidates(declared)
    codes = np.array([names.index(value) for value in ("a0", "a1", "a2", "a3", "a1", "a2", "b", "b")])
    found = central_concepts(codes, concepts_of(declared), np.array([0, 0, 0, 0, 1, 1, 2, 2]))
    # (6.4) by hand: 3 log2(3/2) = 1.755 for one of four siblings, 4 log2(4/3) = 1.660 for what is above them.
    assert [names[concept] for concept in found.tolist()] == ["a", "a1", "b"]


def test_distances_are_scaled_by_the_diameter_of_the_declared_categories():
    tables = concepts_of(column(2))
    between = tables.squared[tables.own]
    assert between.max() == 1.0
    assert (np.diag(between) == 0).all()


def test_fewer_records_than_a_group_are_refused():
    with pytest.raises(TooFewRecords):
        mdav_in_space(plane(np.zeros((2, 1))), 3)
    with pytest.raises(TooFewRecords):
        v_mdav(plane(np.zeros((2, 1))), 3, Fraction(1))
