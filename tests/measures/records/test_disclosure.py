"""Confidential values inside classes of records: against counting in plain Python, linear programs and SciPy."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import wasserstein_distance

from penstock.measures import MeasureUndefined, measure
from penstock.mechanisms.columns import Column
from penstock.mechanisms.probabilistic_k_anonymity import Params, protect
from penstock.mechanisms.randomness import seeded
from tests.measures.judged_columns import nominal, number, ordinal

NAMES = ("l_diversity", "entropy_l_diversity", "emd_closeness")
TREE = {"top": [], "P": ["top"], "Q": ["top"], "a": ["P"], "b": ["P"], "c": ["Q"], "d": ["Q"], "e": ["top"]}
DECLARED = {
    "key": ordinal(4, role="quasi_identifier"),
    "kind": nominal(3, role="quasi_identifier"),
    "pay": number(0, 8),
    "rank": ordinal(4),
    "job": Column(role="confidential", type="nominal", taxonomy=TREE, missing="category"),
}


@st.composite
def files(draw):
    n = draw(st.integers(1, 30))

    def codes(least, most):
        return np.array(draw(st.lists(st.integers(least, most), min_size=n, max_size=n)))

    return {
        "key": codes(0, 2),
        "kind": codes(0, 1),
        "pay": codes(0, 8).astype(float),
        "rank": codes(0, 3),
        "job": codes(-1, 4),
    }


def classes(columns, name):
    """Values of the column by class, in plain Python."""
    found = defaultdict(list)
    for key, kind, value in zip(columns["key"], columns["kind"], columns[name].tolist(), strict=True):
        found[key, kind].append(value)
    return list(found.values())


def height_of_both(one, other):
    """Height of the lowest concept above both over the height of the root; missing hangs below the root."""
    heights = {"top": 2, "P": 1, "Q": 1, "a": 0, "b": 0, "c": 0, "d": 0, "e": 0}
    names = ("a", "b", "c", "d", "e")
    if one == other:
        return Fraction(0)
    if -1 in (one, other):
        return Fraction(1)

    def above(name):
        return {name, *(x for parent in TREE[name] for x in above(parent))}

    both = above(names[one]) & above(names[other])
    return Fraction(min(heights[each] for each in both), 2)


def least_work(inside, everybody, distance):
    """The transportation problem itself, as a linear program."""
    values = sorted({*inside, *everybody})
    p = [inside.count(v) / len(inside) for v in values]
    q = [everybody.count(v) / len(everybody) for v in values]
    m = len(values)
    cost = [float(distance(values.index(a), values.index(b), a, b, m)) for a, b in itertools.product(values, values)]
    rows = np.zeros((2 * m, m * m))
    for i, j in itertools.product(range(m), range(m)):
        rows[i, i * m + j] = rows[m + j, i * m + j] = 1
    return linprog(cost, A_eq=rows, b_eq=[*p, *q]).fun


@settings(deadline=None, max_examples=40)
@given(files())
def test_it_is_what_counting_and_linear_programs_say(columns):
    tree = DECLARED["job"].categories
    assert tree == ("a", "b", "c", "d", "e")
    distances = {
        "pay": lambda i, j, a, b, m: abs(i - j) / max(m - 1, 1),
        "rank": lambda i, j, a, b, m: abs(i - j) / max(m - 1, 1),
        "job": lambda i, j, a, b, m: a != b,
    }
    found = {name: measure(name)(columns, columns, DECLARED) for name in NAMES}
    by_tree = measure("emd_closeness")(columns, columns, DECLARED, scaling="taxonomy")
    for name, distance in distances.items():
        held, everybody = classes(columns, name), columns[name].tolist()
        assert found["l_diversity"].by_column[name] == min(len(set(values)) for values in held)
        entropies = [
            -sum(c / len(values) * math.log(c / len(values)) for c in Counter(values).values()) for values in held
        ]
        effective = found["entropy_l_diversity"].by_column[name]
        assert effective == pytest.approx(math.exp(min(entropies)), rel=1e-9)
        assert effective <= math.exp(min(entropies)) * (1 + 1e-14)
        work = max(least_work(values, everybody, distance) for values in held)
        assert found["emd_closeness"].by_column[name] == pytest.approx(work, abs=1e-9)
    work = max(
        least_work(values, columns["job"].tolist(), lambda i, j, a, b, m: height_of_both(a, b))
        for values in classes(columns, "job")
    )
    assert by_tree.by_column["job"] == pytest.approx(work, abs=1e-9)
    assert by_tree.by_column["job"] <= found["emd_closeness"].by_column["job"] + 1e-12
    for each in found.values():
        worst = min if each.direction == "higher_is_safer" else max
        assert each.value == worst(each.by_column.values())
        assert each.n == len(columns["key"])


@settings(deadline=None, max_examples=60)
@given(files(), st.data())
def test_the_chance_of_a_value_is_its_share_in_the_class(columns, data):
    """Also where released values are not those of the originals: what is read in the class is what counts."""
    rows = data.draw(st.permutations(range(len(columns["key"]))))
    original = {**columns, "pay": columns["pay"][list(rows)]}
    found = measure("own_value_probability")(original, columns, DECLARED, of="confidential")
    for name in ("pay", "rank", "job"):
        shares = []
        for i, own in enumerate(original[name].tolist()):
            class_of = [
                v
                for v, key, kind in zip(columns[name].tolist(), columns["key"], columns["kind"], strict=True)
                if (key, kind) == (columns["key"][i], columns["kind"][i])
            ]
            shares.append(Fraction(class_of.count(own), len(class_of)))
        assert found.by_column[name] == pytest.approx(float(max(shares)), abs=1e-12)
        assert Fraction(repr(found.by_column[name])) >= max(shares)
        if found.value == found.by_column[name] and list(found.by_column.values()).count(found.value) == 1:
            assert found.beside["mean over records"] == pytest.approx(float(sum(shares) / len(shares)))
            most = max(Counter(original[name].tolist()).values()) / len(shares)
            assert found.beside["guessing without the release"] == pytest.approx(most)


@pytest.mark.parametrize("records", [40, 3000])
def test_the_distance_of_numbers_is_that_of_scipy_on_ranks(records):
    rng = np.random.default_rng(records)
    columns = {"key": rng.integers(0, 4, records), "pay": np.round(rng.lognormal(size=records), 1)}
    declared = {"key": DECLARED["key"], "pay": number(0, 1000)}
    every, ranks = np.unique(columns["pay"], return_inverse=True)
    expected = max(
        wasserstein_distance(ranks[columns["key"] == key], ranks) / (len(every) - 1)
        for key in np.unique(columns["key"])
    )
    assert measure("emd_closeness")(columns, columns, declared).value == pytest.approx(expected, rel=1e-12)


AIDS = {
    "age": number(0, 100, role="quasi_identifier"),
    "aids": Column(role="confidential", type="nominal", categories=("yes", "no")),
}


def test_a_k_anonymous_file_that_tells_who_is_ill_is_found_out():
    """Three groups of equal ages, one with the illness in all of its records, one in none: k-anonymity sees nothing."""
    source = {
        "age": np.array([20.0, 21, 22, 40, 41, 42, 60, 61, 62]),
        "aids": np.array(["yes"] * 3 + ["no"] * 3 + ["yes", "no", "no"], object),
    }
    made = protect(source, AIDS, Params(method="mdav_id", k=3), seeded(1))
    assert len(np.unique(made.columns["age"])) == 3

    def take(name, **asked):
        return measure(name)(source, made.columns, AIDS, groups=made.groups, **asked)

    assert take("average_risk").value == pytest.approx(1 / 3)
    found = take("own_value_probability", of="confidential")
    assert (found.value, found.by_column) == (1.0, {"aids": 1.0})
    assert found.beside["mean over records"] == pytest.approx((6 * 1 + 1 / 3 + 2 * 2 / 3) / 9)
    assert found.beside["guessing without the release"] == pytest.approx(5 / 9)
    assert take("l_diversity").value == take("entropy_l_diversity").value == 1.0
    assert take("emd_closeness").value == pytest.approx(5 / 9)


def test_values_that_were_swapped_are_looked_at_in_their_groups():
    groups = {"pay": np.array([0, 0, 0, 1, 1, 1])}
    columns = {"key": np.arange(6) % 4, "pay": np.array([1.0, 1, 2, 3, 4, 5])}
    declared = {"key": DECLARED["key"], "pay": number(0, 8)}

    def take(name, **asked):
        return measure(name)(columns, columns, declared, groups=groups, permuted=True, **asked)

    assert take("l_diversity").value == 2
    assert take("own_value_probability").value == 2 / 3
    assert take("own_value_probability", of="confidential").value == pytest.approx(2 / 3)
    # The same columns with the groups of nothing that was permuted: the classes are those of equal keys.
    assert measure("l_diversity")(columns, columns, declared, groups=groups).value == 1


def test_records_without_a_value_of_their_own_group_do_not_count():
    declared = {"pay": number(0, 8, missing="own_group")}
    columns = {"pay": np.array([1.0, 2, 3, 4, np.nan, np.nan])}
    found = measure("l_diversity")(
        columns, columns, declared, groups={"pay": np.array([0, 0, 1, 1, 2, 2])}, permuted=True
    )
    assert (found.value, found.n) == (2.0, 4)


def test_without_quasi_identifiers_all_records_are_one_class():
    columns = {"rank": np.array([0, 1, 1, 2])}
    assert measure("l_diversity")(columns, columns, {"rank": ordinal(4)}).value == 3
    assert measure("emd_closeness")(columns, columns, {"rank": ordinal(4)}).value == 0


def test_a_constant_column_moves_nowhere():
    columns = {"key": np.array([0, 1, 1]), "pay": np.full(3, 5.0)}
    assert measure("emd_closeness")(columns, columns, {"key": DECLARED["key"], "pay": number()}).value == 0


def test_values_that_are_equally_frequent_count_in_full():
    """exp of the logarithm of 3 is below 3, and a gate of 3 must hold."""
    columns = {"rank": np.array([0, 0, 1, 1, 2, 2])}
    assert measure("entropy_l_diversity")(columns, columns, {"rank": ordinal(4)}).value == 3.0


@pytest.mark.parametrize("name", NAMES)
def test_they_need_a_confidential_column_and_true_values(name):
    declared = {"key": DECLARED["key"], "pay": number()}
    columns = {"key": np.array([0, 1]), "pay": np.array([1.0, 2.0])}
    with pytest.raises(MeasureUndefined, match="needs a confidential column beside the quasi-identifiers"):
        measure(name)(columns, {"key": columns["key"]}, declared)
    with pytest.raises(MeasureUndefined, match="needs released values that are true"):
        measure(name)(columns, columns, declared, chosen={"epsilon": "1"})


def test_what_is_compared_by_rank_needs_a_value():
    columns = {"pay": np.array([1.0, np.nan])}
    with pytest.raises(MeasureUndefined, match="needs a value in every record that is compared by rank"):
        measure("emd_closeness")(columns, columns, {"pay": number(missing="category")})


def test_a_concept_with_two_parents_has_no_height_of_its_own():
    several = Column(role="confidential", type="nominal", taxonomy={**TREE, "a": ["P", "Q"]})
    columns = {"job": np.array([0, 1])}
    with pytest.raises(MeasureUndefined, match="only where no concept above a confidential column has two parents"):
        measure("emd_closeness")(columns, columns, {"job": several}, scaling="taxonomy")


def test_sums_that_would_overflow_are_refused(monkeypatch):
    monkeypatch.setattr("penstock.measures.records._earth_mover._LARGEST", 100)
    columns = {"rank": np.arange(40) % 4}
    with pytest.raises(MeasureUndefined, match="needs fewer records, or fewer different values"):
        measure("emd_closeness")(columns, columns, {"rank": ordinal(4)})
