"""Columns that are answered together have the masses of the definition, and what cannot be never comes out."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.mechanisms.columns import Column
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.refinement import Params, chosen_facts, faults, promise, protect
from penstock.mechanisms.refinement._mechanism import asked
from penstock.mechanisms.refinement.refine import UNIT
from tests.mechanisms.noise_chance import assert_law
from tests.mechanisms.refinement import by_definition
from tests.mechanisms.refinement.linked import (
    DECLARED,
    EVEN,
    IMPOSSIBLE,
    N,
    in_words,
    is_impossible,
    only,
    params,
    sample,
)
from tests.support.order import examples

# Masses by definition.
EPSILONS = by_definition.epsilons().filter(lambda each: each.denominator < 10**10)  # those that can be written


@st.composite
def linked_columns(draw):
    """Two or three columns of few categories with small weights, some combinations that cannot be, and shares."""
    sizes = draw(st.lists(st.integers(2, 4), min_size=2, max_size=3))
    names = ["a", "b", "c"][: len(sizes)]
    kinds = [draw(st.sampled_from(["ordinal", "nominal"])) for _ in names]
    declared = {
        name: Column(role="confidential", type=kind, categories=tuple(f"{name}{code}" for code in range(size)))
        for name, kind, size in zip(names, kinds, sizes, strict=True)
    }
    weights, tables = {}, {}
    for name, size in zip(names, sizes, strict=True):
        weights[name] = draw(st.lists(st.integers(0, 5), min_size=size, max_size=size).filter(any))
        if draw(st.booleans()):
            tables[name] = draw(by_definition.tables(size))
    categories = {name: list(declared[name].categories) for name in names}
    parts = {name: st.lists(st.sampled_from(categories[name]), min_size=1, max_size=2) for name in names}
    impossible = draw(st.lists(st.fixed_dictionaries(parts), max_size=2))
    # Each column but the first is linked with the one before it.
    impossible += [{one: draw(parts[one]), other: draw(parts[other])} for one, other in itertools.pairwise(names)]
    whole = draw(st.lists(st.integers(1, 5), min_size=len(names), max_size=len(names)))
    shares = {name: str(Fraction(part, sum(whole))) for name, part in zip(names, whole, strict=True)}
    return declared, weights, tables, impossible, shares


def priors_of(declared, weights):
    return {
        name: {
            "kind": "masses",
            "masses": {
                category: str(Fraction(weight, sum(weights[name])))
                for category, weight in zip(column.categories, weights[name], strict=True)
            },
        }
        for name, column in declared.items()
    }


def expected_masses(declared, weights, tables, impossible, shares, true, up, down):
    distances = [
        by_definition.listed(tables[name]) if name in tables
        else by_definition.on_line if column.type == "ordinal"
        else lambda x, y: int(x != y)
        for name, column in declared.items()
    ]  # fmt: skip

    def cannot_be(codes):
        return is_impossible({n: declared[n].categories[c] for n, c in zip(declared, codes, strict=True)}, impossible)

    ordered = [Fraction(shares[name]) for name in declared]
    return by_definition.refined_together(list(weights.values()), distances, ordered, cannot_be, true, up, down)


@settings(max_examples=examples(600, at_first=60))
@given(
    linked_columns(),
    by_definition.epsilons().filter(lambda each: each.denominator < 10**10),
    st.sampled_from(["replace", "presence"]),
)
def test_masses_equal_the_definition_for_every_true_combination(columns, epsilon, adjacency):
    """Possible or not; so they add up to 1, and what cannot be has none."""
    declared, weights, tables, impossible, shares = columns
    chosen = Params(
        epsilon=str(epsilon), adjacency=adjacency, priors=priors_of(declared, weights), distances=tables,
        shares=shares, impossible=impossible,
    )  # fmt: skip
    found = faults(chosen, declared)
    if found:
        assert [fault.rule.startswith("must leave a combination") for fault in found] == [True]
        return
    [joint] = asked(chosen, declared).joint
    up, down = Fraction(joint.refined.factors.up, UNIT), Fraction(joint.refined.factors.down, UNIT)
    most, _ = by_definition.exponential(epsilon)
    assert (up / down if adjacency == "replace" else max(up, 1 / down)) <= max(most, 1)
    combinations = itertools.product(*(range(len(column.categories)) for column in declared.values()))
    for place, true in enumerate(combinations):
        expected = expected_masses(declared, weights, tables, impossible, shares, true, up, down)
        masses = joint.refined.masses(place)
        assert masses == list(expected.values())
        assert sum(masses) == 1


def test_the_comparison_notices_other_shares_and_combinations():
    """The factors are the same, as the sum of the shares is."""
    declared = only("kin", "school")
    weights, tables, shares = {"kin": [1, 1, 1], "school": [1, 2, 3, 4]}, {}, {"kin": "1/3", "school": "2/3"}
    impossible = [{"kin": "child", "school": [3, 4]}]
    priors = {"kin": EVEN, "school": {"kind": "masses", "masses": {"1": "1/10", "2": "2/10", "3": "3/10", "4": "4/10"}}}

    def agree(used_shares, used_impossible):
        chosen = Params(epsilon="2", adjacency="replace", priors=priors, shares=used_shares, impossible=used_impossible)
        [joint] = asked(chosen, declared).joint
        up, down = Fraction(joint.refined.factors.up, UNIT), Fraction(joint.refined.factors.down, UNIT)
        truths = enumerate(itertools.product(range(3), range(4)))
        return all(
            joint.refined.masses(place)
            == list(expected_masses(declared, weights, tables, impossible, shares, true, up, down).values())
            for place, true in truths
        )

    assert agree(shares, impossible)
    assert not agree({"kin": "1/4", "school": "3/4"}, impossible)
    assert not agree(shares, [{"kin": "child", "school": 4}])


def test_distances_are_those_from_the_truth_to_the_answer():
    """They need not be the same back: from a husband a child is near, and from a child a husband is far."""
    given = [[0, 9, 1], [9, 0, 1], [9, 1, 0]]
    chosen = Params(
        epsilon="1", adjacency="replace", priors={"kin": EVEN, "sex": EVEN}, distances={"kin": given},
        shares={"kin": "1/100", "sex": "99/100"}, impossible=[{"kin": "husband", "sex": "female"}],
    )  # fmt: skip
    [joint] = asked(chosen, only("kin", "sex")).joint
    masses = joint.refined.masses(1)  # a husband, male: then children, then wives
    assert masses[1] > masses[5] > masses[3]


# What comes out.
@pytest.mark.parametrize("adjacency", ["replace", "presence"])
@pytest.mark.parametrize("epsilon", ["1/1000000000", "3", "64"])
def test_an_impossible_combination_never_comes_out_though_the_data_are_full_of_them(epsilon, adjacency):
    columns = sample(4000)
    assert sum(map(is_impossible, in_words(columns))) > 1000
    released = protect(columns, DECLARED, params(epsilon=epsilon, adjacency=adjacency), seeded(1)).columns
    assert not any(map(is_impossible, in_words(released)))
    alone = protect(columns, DECLARED, params(epsilon=epsilon, adjacency=adjacency, impossible=[]), seeded(1)).columns
    assert any(map(is_impossible, in_words(alone)))


def test_with_a_certain_epsilon_what_is_possible_is_answered_by_itself():
    names = ("kin", "sex", "school")
    columns = sample(declared=only(*names))
    released = protect(columns, only(*names), params(names, epsilon="64"), seeded(1)).columns
    before, after = in_words(columns), in_words(released)
    assert [one == other for one, other in zip(before, after, strict=True)] == [
        not is_impossible(one) for one in before
    ]


def test_answers_have_the_order_and_the_form_of_the_source():
    coded = sample()
    text = {
        name: np.array(DECLARED[name].categories, object)[values] if DECLARED[name].categories else values
        for name, values in coded.items()
    }
    from_codes = protect(coded, DECLARED, params(), seeded(1)).columns
    from_text = protect(text, DECLARED, params(), seeded(1)).columns
    assert list(from_codes) == list(from_text) == list(DECLARED)
    for name, column in DECLARED.items():
        if column.categories:
            assert from_text[name].dtype == object
            assert column.codes(from_text[name], name).tolist() == from_codes[name].tolist()


def assert_drawn_by_masses(drawn_with, expected):
    """Answers about records that are all alike, by chi-square: right draws are refused once in 1e9 seeds."""
    names = ("kin", "sex", "school")
    [joint] = asked(expected, only(*names)).joint
    for true in ((0, 1, 0), (0, 0, 3)):  # the second cannot be
        columns = {name: np.full(40_000, code) for name, code in zip(names, true, strict=True)}
        released = protect(columns, only(*names), drawn_with, seeded(1)).columns
        masses = joint.refined.masses(int(np.ravel_multi_index(true, (3, 2, 4))))
        law = dict(zip(itertools.product(range(3), range(2), range(4)), map(float, masses), strict=True))
        assert_law(np.column_stack([released[name] for name in names]), law)


def test_combinations_are_drawn_by_their_masses():
    names = ("kin", "sex", "school")
    assert_drawn_by_masses(params(names), params(names))
    for other in (
        params(names, epsilon="5/2"),
        params(names, adjacency="presence"),
        params(names, impossible=IMPOSSIBLE[:2]),
    ):
        with pytest.raises(AssertionError):
            assert_drawn_by_masses(other, params(names))


def test_without_combinations_nothing_is_other_than_it_was():
    """The settings are written as before too: a spec is known by them."""
    plain = Params(epsilon="1", adjacency="replace", priors=dict.fromkeys(DECLARED, EVEN))
    assert "impossible" not in plain.model_dump(mode="json")
    assert params().model_dump(mode="json")["impossible"][1] == {"sex": ["male"], "kin": ["wife"]}
    assert Params.model_validate(params().model_dump(mode="json")) == params()
    promised, facts = promise(plain, DECLARED), chosen_facts(plain, DECLARED, N)
    assert "joint" not in facts
    assert "joint" not in promised.parameters
    assert list(facts["answers"]) == list(promised.parameters["epsilon_by_column"]) == list(DECLARED)
    assert "possible_combinations" not in promised.audit
    assert not any("combination" in text or "together" in text for text in (promised.statement, *promised.public))
