"""Every method that answers questions, on all small data sets and their neighbours, laid side by side."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from penstock.mechanisms.questions import NAMES, Terms, methods
from penstock.mechanisms.refinement.priors import Masses
from penstock.mechanisms.refusal import SettingRefused
from tests.laws.questions_by_definition import (
    SHAPES,
    STATISTICS,
    asked,
    columns_of,
    data_sets,
    neighbours,
    records_of,
    values_by_group,
)
from tests.laws.replay.side_by_side import prove

EPSILON = Fraction(6, 5)
PRIOR = Masses(kind="masses", masses={"-1": "1/10", "0": "2/5", "1": "1/5", "2": "3/10"})


def offered(name, statistic, shape, adjacency):
    query, declared, _ = asked(statistic, shape, adjacency)
    terms = Terms(adjacency, relaxations=("idp", "bdp"), records=3 if adjacency == "replace" else None)
    prior = PRIOR if name == "refinement" and statistic != "count" else None
    try:
        return methods(query, declared, terms, prior=prior).get(name)
    except SettingRefused:
        return None


CASES = [
    (name, *case)
    for name, *case in product(NAMES, STATISTICS, SHAPES, ("replace", "add_remove"))
    if offered(name, *case) is not None
]
IN_SHORT = [case for case in CASES if case[2] in ("everybody", "groups and a condition")]


def pairs(method, shape, adjacency):
    """Data sets of three records and their neighbours; made of records of the first, where only these count."""
    records = records_of(shape, narrow=True)
    for data in data_sets(shape, 3, narrow=True):
        if len(data) == 3:
            allowed = sorted(set(data), key=repr) if method.model == "bdp" else records
            yield from (
                (data, other)
                for other in neighbours(data, allowed, adjacency)
                # Groups without records are answered from the prior, in a draw of their own; that truths, and none,
                # cost no more is counted in test_questions_are_private.py.
                if method.name != "refinement" or same_groups_have_records(method, shape, adjacency, data, other)
            )


def same_groups_have_records(method, shape, adjacency, *both):
    statistic = method.asked.query.statistic
    one, other = ([bool(values) for values in values_by_group(data, shape, statistic, adjacency)] for data in both)
    return statistic == "count" or one == other


def run_of(method):
    def run(data, source):
        exact = method.add(method.begin(), columns_of(data), rows=len(data))
        return {"answers": repr(method.drawn(exact, EPSILON, source))}

    return run


def prove_case(case, patch, every):
    name, statistic, shape, adjacency = case
    method = offered(name, statistic, shape, adjacency)
    worst = 0.0
    for first, second in list(pairs(method, shape, adjacency))[::every]:
        found = prove(run_of(method), first, second, EPSILON, patch, scale_of_first=method.model != "dp")
        worst = max(worst, found.epsilon)
    return worst


@pytest.mark.parametrize("case", IN_SHORT, ids=lambda case: " ".join(case))
def test_what_enters_an_answer_costs_no_more_than_it_spends(case, monkeypatch):
    prove_case(case, monkeypatch, 293)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(case))
def test_what_enters_an_answer_costs_no_more_than_it_spends_on_every_pair(case, monkeypatch):
    prove_case(case, monkeypatch, 3)


def test_every_method_is_laid_side_by_side():
    assert {name for name, *_ in CASES} == set(NAMES)
