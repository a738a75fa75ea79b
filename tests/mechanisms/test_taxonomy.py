"""Taxonomies: what they are, how far categories are apart, and how far one record moves a choice."""

from __future__ import annotations

import itertools
import json
import math
import pickle
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from penstock.mechanisms.columns import Column
from penstock.mechanisms.refusal import SettingRefused
from penstock.mechanisms.taxonomy import (
    GRID,
    MOST_ANCESTORS,
    Taxonomy,
    boundaries,
    candidates,
    marginality,
    reach,
    score_table,
)

Parents = dict[str, list[str]]

# Sailing is a water sport and a race, so it has two parents.
SPORTS: Parents = {
    "sport": [],
    "water": ["sport"],
    "race": ["sport"],
    "swimming": ["water"],
    "sailing": ["race", "water"],
    "running": ["race"],
    "chess": ["sport"],
}
# The boundaries of this one are nearer to each other than two other leaves are.
NARROW_BOUNDARIES: Parents = {
    "r": [],
    "a": ["r"],
    "b": ["a"],
    "c": ["a"],
    "d": ["a"],
    "e": ["b"],
    "f": ["b"],
    "g": ["c"],
    "h": ["c"],
}


def nominal(parents: Parents, categories: tuple[str, ...] | None = None) -> Column:
    return Column.model_validate(
        {"role": "confidential", "type": "nominal", "taxonomy": parents, "categories": categories}
    )


@st.composite
def taxonomies(draw: st.DrawFn) -> Parents:
    """Random graphs without cycles under one root, with at least two leaves, their keys in any order."""
    names = draw(st.permutations("abcdefghij"[: draw(st.integers(3, 10))]))
    parents: Parents = {names[0]: []}
    for place, name in enumerate(names[1:], 1):
        parents[name] = draw(st.lists(st.sampled_from(names[:place]), min_size=1, max_size=3, unique=True))
    if len(names) - len({parent for above in parents.values() for parent in above}) < 2:
        parents["z"] = [names[0]]
        parents["y"] = [names[0]]
    return {name: parents[name] for name in draw(st.permutations(list(parents)))}


def ancestors_by_definition(parents: Parents, concept: str) -> set[str]:
    return {concept}.union(*(ancestors_by_definition(parents, parent) for parent in parents[concept]))


def depth_first_by_definition(parents: Parents) -> list[str]:
    [root] = (concept for concept, above in parents.items() if not above)
    met: list[str] = []

    def visit(concept: str) -> None:
        if concept not in met:
            met.append(concept)
            for child, above in parents.items():
                if concept in above:
                    visit(child)

    visit(root)
    return met


def test_leaves_come_first_and_both_parts_are_depth_first() -> None:
    taxonomy = Taxonomy(SPORTS)
    assert taxonomy.leaves == ("swimming", "sailing", "running", "chess")
    assert taxonomy.concepts == (*taxonomy.leaves, "sport", "water", "race")


@given(taxonomies())
def test_the_order_of_concepts_is_depth_first_in_the_order_of_the_mapping(parents: Parents) -> None:
    taxonomy = Taxonomy(parents)
    met = depth_first_by_definition(parents)
    inner = {parent for above in parents.values() for parent in above}
    assert list(taxonomy.leaves) == [concept for concept in met if concept not in inner]
    assert list(taxonomy.concepts) == sorted(met, key=lambda concept: concept in inner)
    assert set(taxonomy.concepts) == set(parents)


@given(taxonomies())
def test_ancestors_are_all_that_is_above_and_the_concept_itself(parents: Parents) -> None:
    taxonomy = Taxonomy(parents)
    for concept in parents:
        assert taxonomy.ancestors(concept) == ancestors_by_definition(parents, concept)


def test_a_deep_taxonomy_needs_no_deep_stack() -> None:
    names = [str(level) for level in range(1200)]
    chain: Parents = {child: [parent] for parent, child in itertools.pairwise(names)}
    assert Taxonomy({**chain, "0": [], "side": ["0"]}).leaves == ("1199", "side")


def diamonds(levels: int) -> Parents:
    """Two concepts a level, each below both of the level before."""
    pairs = {f"{side}{level}": [f"a{level - 1}", f"b{level - 1}"] for level in range(1, levels) for side in "ab"}
    return {"root": [], "a0": ["root"], "b0": ["root"], **pairs}


def test_all_that_is_above_is_bounded_together() -> None:
    """Of a chain of n the sum is n(n + 1)/2, and a concept that is reached in many ways counts once."""
    names = [str(level) for level in range(1413)]
    chain: Parents = {"0": [], "side": ["0"], **{child: [parent] for parent, child in itertools.pairwise(names)}}
    assert sum(range(1414)) + 2 <= MOST_ANCESTORS < sum(range(1415)) + 2
    assert Taxonomy.faults(chain) == []
    assert Taxonomy.faults(diamonds(690)) == []
    for large in ({**chain, "1413": ["1412"]}, diamonds(720), {**chain, **{f"s{n}": ["1400"] for n in range(10)}}):
        (fault,) = Taxonomy.faults(large)
        assert "at most 1,000,000 concepts above others in all" in fault.rule
        with pytest.raises(SettingRefused):
            Taxonomy(large)


def test_a_taxonomy_cannot_be_changed_from_outside_and_is_equal_by_content_and_order() -> None:
    given = {concept: list(above) for concept, above in SPORTS.items()}
    taxonomy = Taxonomy(given)
    given["chess"].append("race")
    assert taxonomy == Taxonomy(SPORTS) == pickle.loads(pickle.dumps(taxonomy))
    assert hash(taxonomy) == hash(Taxonomy(SPORTS))
    assert taxonomy != Taxonomy(dict(sorted(SPORTS.items())))
    with pytest.raises(AttributeError):
        taxonomy.leaves = ()  # type: ignore[misc]


@pytest.mark.parametrize(
    ("parents", "rules"),
    [
        ({"a": ["r"], "b": ["r"], "r": [], "c": ["q"]}, ["must have every parent as a concept"]),
        ({"a": ["r"], "b": ["r"], "r": [], "s": []}, ["exactly one concept"]),
        ({"a": ["r"], "b": ["r"], "r": ["s"], "s": ["r"]}, ["exactly one concept", "above itself"]),
        ({"a": ["r"], "b": ["r"], "r": [], "x": ["y"], "y": ["x", "r"]}, ["above itself"]),
        ({"a": ["r", "a"], "b": ["r"], "r": []}, ["its own parent"]),
        ({"a": ["r", "r"], "b": ["r"], "r": []}, ["must not list a parent twice"]),
        ({"a": ["r"], "r": []}, ["at least two leaves"]),
        ({"r": []}, ["at least two leaves"]),
        ({}, ["exactly one concept", "at least two leaves"]),
        ({"": ["r"], "b": ["r"], "r": []}, ["text that is not empty"]),
        ({" ": ["r"], "b": ["r"], "r": []}, ["text that is not empty"]),
        ({1: ["r"], "b": ["r"], "r": []}, ["text that is not empty"]),
        ({"a": [None], "b": ["r"], "r": []}, ["must name parents by text that is not empty"]),
        ({"a": "r", "b": ["r"], "r": []}, ["must give parents as a list"]),
        (
            {"a": None, "b": ["r"], "r": [""]},
            ["must give parents as a list", "must name parents by text that is not empty"],
        ),
    ],
)
def test_what_is_no_taxonomy_is_refused_with_every_reason(parents: Any, rules: list[str]) -> None:
    faults = Taxonomy.faults(parents)
    assert [rule in fault.rule for fault, rule in zip(faults, rules, strict=True)] == [True] * len(rules)
    assert all(fault.field == "taxonomy" and fault.remedy and fault.got for fault in faults)
    with pytest.raises(SettingRefused) as refused:
        Taxonomy(parents)
    assert list(refused.value.faults) == faults


def test_a_taxonomy_without_faults_has_none() -> None:
    assert Taxonomy.faults(SPORTS) == []


def test_distances_by_hand() -> None:
    taxonomy = Taxonomy(SPORTS)
    # {swimming, water, sport} and {sailing, race, water, sport}: 3 of 5 not shared; {chess, sport}: 3 of 4.
    assert taxonomy.distance("swimming", "sailing") == math.log2(1 + 3 / 5)
    assert taxonomy.distance("swimming", "chess") == math.log2(1 + 3 / 4)
    assert taxonomy.distance("swimming", "water") == math.log2(1 + 1 / 3)


@given(taxonomies())
def test_the_distance_is_a_metric_up_to_1(parents: Parents) -> None:
    taxonomy = Taxonomy(parents)
    for one, other in itertools.product(parents, repeat=2):
        distance = taxonomy.distance(one, other)
        assert distance == taxonomy.distance(other, one)
        assert (distance == 0) == (taxonomy.ancestors(one) == taxonomy.ancestors(other)) == (one == other)
        assert 0 <= distance <= 1
        assert all(distance <= taxonomy.distance(one, via) + taxonomy.distance(via, other) + 1e-12 for via in parents)


@cache
def is_the_nearest_step(score: int, apart: int, union: int) -> bool:
    """|2^16 log2((union + apart) / union) - score| < 1/2, in whole numbers: raise 2 to both sides' 2^17-fold."""
    large, small = (union + apart) ** (2 * GRID), union ** (2 * GRID)
    return 2 * large > small << (2 * score) and large < small << (2 * score + 1)


@given(taxonomies())
@settings(max_examples=25)
def test_scores_are_the_distance_rounded_to_the_grid_exactly(parents: Parents) -> None:
    taxonomy = Taxonomy(parents)
    concepts = taxonomy.concepts
    scores = taxonomy.scores(taxonomy.leaves, concepts)
    assert scores.dtype == np.int64
    assert scores.shape == (len(taxonomy.leaves), len(concepts))
    for (row, leaf), (column, concept) in itertools.product(enumerate(taxonomy.leaves), enumerate(concepts)):
        first, second = taxonomy.ancestors(leaf), taxonomy.ancestors(concept)
        assert is_the_nearest_step(int(scores[row, column]), len(first ^ second), len(first | second))
        assert scores[row, column] == round(GRID * taxonomy.distance(leaf, concept))


def test_the_grid_test_notices_a_score_that_is_one_step_off() -> None:
    right = round(GRID * math.log2(1 + 3 / 5))
    assert [is_the_nearest_step(score, 3, 5) for score in (right - 1, right, right + 1)] == [False, True, False]


@given(taxonomies())
def test_reach_is_a_pseudo_metric_and_is_the_distance_up_to_rounding(parents: Parents) -> None:
    taxonomy = Taxonomy(parents)
    column = nominal(parents)
    scores = score_table(column)
    apart = reach(scores)
    assert apart.dtype == np.int64
    assert (apart == apart.T).all()
    assert (np.diagonal(apart) == 0).all()
    assert (apart[:, None, :] <= apart[:, :, None] + apart[None, :, :]).all()
    for (x, one), (y, other) in itertools.product(enumerate(taxonomy.leaves), repeat=2):
        assert scores[x, y] <= apart[x, y] <= GRID * taxonomy.distance(one, other) + 1
        assert apart[x, y] == max(abs(int(scores[x, a]) - int(scores[y, a])) for a in range(len(parents)))


def test_flat_categories_differ_or_do_not() -> None:
    column = Column(role="confidential", type="nominal", categories=("N", "S", "E"))
    assert score_table(column).tolist() == [[0, GRID, GRID], [GRID, 0, GRID], [GRID, GRID, 0]]
    assert candidates(column) == ("N", "S", "E")
    assert reach(score_table(column)).max() == GRID
    assert boundaries(column) == (0, 1)


@given(st.integers(2, 60))
def test_ordinal_categories_lie_on_a_line_whose_steps_add_up_exactly(count: int) -> None:
    column = Column(role="confidential", type="ordinal", categories=tuple(range(count)))
    scores = score_table(column)
    step = int(scores[0, 1])
    assert abs(step * (count - 1) - GRID) <= (count - 1) / 2
    assert scores.tolist() == [[abs(x - a) * step for a in range(count)] for x in range(count)]
    assert (reach(scores) == scores).all()
    assert boundaries(column) == (0, count - 1)
    assert candidates(column) == tuple(range(count))


@given(taxonomies(), st.data())
def test_the_code_of_a_category_is_its_code_as_a_candidate(parents: Parents, data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.sampled_from(list(parents)), min_size=2, unique=True))
    column = nominal(parents, tuple(chosen))
    labels = candidates(column)
    assert list(labels[: len(chosen)]) == chosen
    assert sorted(map(str, labels)) == sorted(parents)
    assert score_table(column).shape == (len(chosen), len(parents))
    assert (np.diagonal(score_table(column)) == 0).all()
    assert candidates(nominal(parents))[: len(Taxonomy(parents).leaves)] == Taxonomy(parents).leaves


@given(taxonomies(), st.randoms(use_true_random=False))
def test_no_score_depends_on_the_order_of_keys_in_a_stored_spec(parents: Parents, order: Any) -> None:
    column = nominal(parents)
    stored = json.loads(column.model_dump_json())
    keys = list(stored["taxonomy"])
    order.shuffle(keys)
    again = Column.model_validate({**stored, "taxonomy": {key: stored["taxonomy"][key] for key in keys}})
    assert again == column
    assert hash(again) == hash(column)
    assert candidates(again) == candidates(column)
    assert (score_table(again) == score_table(column)).all()
    assert boundaries(again) == boundaries(column)


@given(taxonomies())
def test_the_boundaries_are_the_most_marginal_category_and_the_one_farthest_from_it(parents: Parents) -> None:
    column = nominal(parents)
    categories = Taxonomy(parents).leaves
    distance = {
        pair: round(GRID * Taxonomy(parents).distance(*pair)) for pair in itertools.product(categories, repeat=2)
    }
    sums = [sum(distance[one, other] for other in categories if other != one) for one in categories]
    bottom = sums.index(max(sums))
    from_bottom = [distance[other, categories[bottom]] for other in categories]
    assert marginality(column).tolist() == sums
    assert boundaries(column) == (bottom, from_bottom.index(max(from_bottom)))


def test_the_diameter_can_exceed_the_distance_of_the_boundaries() -> None:
    """Found by trying all trees of nine concepts: 0.678 between the boundaries, 0.737 between other leaves."""
    column = nominal(NARROW_BOUNDARIES)
    bottom, top = boundaries(column)
    assert column.categories is not None
    assert Taxonomy(NARROW_BOUNDARIES).distance(*(str(column.categories[c]) for c in (bottom, top))) == math.log2(1.6)
    assert reach(score_table(column)).max() == round(GRID * math.log2(5 / 3))
    assert round(math.log2(1.6), 3) == 0.678
    assert round(math.log2(5 / 3), 3) == 0.737


def loss(scores: NDArray[np.int64], block: list[int], changed: list[int], epsilon: float, sensitivity: int) -> float:
    """The largest |ln P(a) - ln P'(a)| of the exponential mechanism on two blocks."""

    def log_chances(codes: list[int]) -> NDArray[np.float64]:
        weights = -epsilon * scores[codes].sum(axis=0) / (2 * sensitivity)
        return np.asarray(weights - np.logaddexp.reduce(weights))

    return float(np.abs(log_chances(block) - log_chances(changed)).max())


@given(taxonomies(), st.data(), st.floats(0.01, 50))
def test_one_record_costs_a_block_at_most_its_reach(parents: Parents, data: st.DataObject, epsilon: float) -> None:
    scores = score_table(nominal(parents))
    apart = reach(scores)
    codes = st.integers(0, len(scores) - 1)
    block, new = data.draw(st.lists(codes, min_size=1, max_size=8)), data.draw(codes)
    lost = loss(scores, block, [new, *block[1:]], epsilon, int(apart.max()))
    assert lost <= epsilon * apart[block[0], new] / apart.max() + 1e-9
    assert lost <= epsilon + 1e-9


def test_the_loss_test_notices_the_distance_of_the_boundaries_as_sensitivity() -> None:
    column = nominal(NARROW_BOUNDARIES)
    scores = score_table(column)
    bottom, top = boundaries(column)
    x, y = np.unravel_index(int(reach(scores).argmax()), (len(scores), len(scores)))
    block, changed = [int(x)] * 9, [int(y)] + [int(x)] * 8
    assert loss(scores, block, changed, 40.0, int(scores[bottom, top])) > 40 * 1.08
    assert loss(scores, block, changed, 40.0, int(reach(scores).max())) <= 40


def test_numbers_have_no_distances_between_categories() -> None:
    with pytest.raises(ValueError, match="only a column with categories"):
        score_table(Column(role="confidential", type="integer", domain=(0, 9)))
