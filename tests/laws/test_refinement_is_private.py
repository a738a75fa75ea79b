"""Refined files keep epsilon: the exact loss over all tiny data sets, and what the auditor finds in draws of `protect`.

Two records with two columns, so that every file, every neighbour and every output is visited. The output is taken in
the order of the source, which tells more than the shuffled rows of a release.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from penstock.mechanisms.columns import Column
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.refinement import Params, protect
from penstock.mechanisms.refinement._mechanism import questions
from tests.laws.auditor import audit
from tests.mechanisms.noise_chance import assert_law
from tests.mechanisms.refinement.by_definition import exponential

DECLARED = {
    "rank": Column(role="quasi_identifier", type="ordinal", categories=("low", "middle", "high")),
    "ill": Column(role="confidential", type="nominal", categories=("no", "yes")),
}
PRIORS = {
    "rank": {"kind": "masses", "masses": {"low": "9/20", "middle": "1/10", "high": "9/20"}},
    "ill": {"kind": "masses", "masses": {"no": "19/20", "yes": "1/20"}},
}
RECORDS = list(itertools.product(range(3), range(2)))
FILES = list(itertools.product(RECORDS, RECORDS))


def params(epsilon="1", adjacency="replace", **more):
    return Params(epsilon=epsilon, adjacency=adjacency, priors=PRIORS, **more)


def answers_to(chosen):
    """For every record: the probability of each answer to it, and that of each draw from the priors."""
    asked = questions(chosen, DECLARED)
    masses = {
        name: [question.refined.masses(true) for true in range(size)]
        for (name, question), size in zip(asked.items(), (3, 2), strict=True)
    }
    by_record = {
        (rank, ill): {(y, z): masses["rank"][rank][y] * masses["ill"][ill][z] for y, z in RECORDS}
        for rank, ill in RECORDS
    }
    weights = [question.refined.axis.weights.tolist() for question in asked.values()]
    prior = {(y, z): Fraction(weights[0][y] * weights[1][z], sum(weights[0]) * sum(weights[1])) for y, z in RECORDS}
    return by_record, prior


def output_of(laws):
    """The distribution of a file whose records are answered by these."""
    return {output: math.prod(law[row] for law, row in zip(laws, output, strict=True)) for output in FILES}


def loss(pairs):
    """The largest ratio of the probabilities of one output, over pairs of distributions, either way."""
    found = Fraction(1)
    for one, other in pairs:
        assert sum(one.values()) == sum(other.values()) == 1
        for output in FILES:
            assert (one[output] == 0) == (other[output] == 0)
            if one[output]:
                found = max(found, one[output] / other[output], other[output] / one[output])
    return found


def replaced(chosen, records=1):
    """Pair every file with every other that differs in at most this many records."""
    by_record, _ = answers_to(chosen)
    outputs = {file: output_of([by_record[row] for row in file]) for file in FILES}
    for one, other in itertools.combinations(FILES, 2):
        if sum(a != b for a, b in zip(one, other, strict=True)) <= records:
            yield outputs[one], outputs[other]


def not_used(chosen):
    """Every file with the one where the answers about its first record are drawn from the priors."""
    by_record, prior = answers_to(chosen)
    for first, second in FILES:
        yield output_of([by_record[first], by_record[second]]), output_of([prior, by_record[second]])


@pytest.mark.parametrize("epsilon", ["1/1000000000", "1/10", "1", "5", "64"])
def test_a_replaced_record_loses_epsilon_at_most(epsilon):
    most, _ = exponential(Fraction(epsilon))
    assert loss(replaced(params(epsilon))) <= most


@pytest.mark.parametrize("epsilon", ["1/10", "1", "5", "64"])
def test_a_record_that_is_not_used_loses_epsilon_at_most_under_presence(epsilon):
    most, _ = exponential(Fraction(epsilon))
    assert loss(not_used(params(epsilon, "presence"))) <= most


def test_epsilon_is_spent_and_not_wasted():
    """So the tests above look at a mechanism that uses what it may, and would see one that uses more."""
    assert math.log(loss(replaced(params("1")))) > 0.95
    assert math.log(loss(not_used(params("1", "presence")))) > 0.95


def test_the_printed_calibration_loses_twice_its_epsilon_if_a_value_is_replaced():
    """Factors e^epsilon and e^-epsilon, as in the thesis; so under presence twice epsilon is promised for that."""
    printed = loss(replaced(params("1/2", "presence")))
    _, above = exponential(Fraction(1, 2))
    twice, _ = exponential(Fraction(1))
    assert above < printed <= twice
    assert math.log(printed) == pytest.approx(1, rel=0.05)


def test_all_records_of_a_unit_together_lose_epsilon_at_most():
    most, above = exponential(Fraction(1))
    assert loss(replaced(params("1", rows_per_unit=2), records=2)) <= most
    assert loss(replaced(params("1"), records=2)) > above


@pytest.mark.parametrize("shares", [{"rank": "1/10", "ill": "9/10"}, {"rank": "9/10", "ill": "1/10"}])
def test_shares_of_epsilon_add_up_to_it(shares):
    most, _ = exponential(Fraction(2))
    assert loss(replaced(params("2", shares=shares))) <= most


# What is proven above is about masses; protect draws by them. Chance: 1e-9 for each file, over seeds.
COPIES = 40_000


def drawn(chosen, record, seed):
    """Rows that protect gives for copies of one record, as pairs of codes."""
    columns = {name: np.full(COPIES, code) for name, code in zip(DECLARED, record, strict=True)}
    released = protect(columns, DECLARED, chosen, seeded(seed)).columns
    return np.column_stack([released[name] for name in DECLARED])


def assert_rows_by_masses(drawn_with, expected):
    by_record, _ = answers_to(expected)
    for seed, record in enumerate(RECORDS):
        assert_law(drawn(drawn_with, record, seed), {row: float(mass) for row, mass in by_record[record].items()})


@pytest.mark.parametrize("adjacency", ["replace", "presence"])
def test_rows_of_protect_follow_the_masses_that_were_looked_at(adjacency):
    assert_rows_by_masses(params("1", adjacency), params("1", adjacency))


@pytest.mark.parametrize(
    "other", [params("3/2"), params("1", "presence"), params("1", shares={"rank": "1/4", "ill": "3/4"})]
)
def test_the_test_of_rows_notices_other_factors(other):
    with pytest.raises(AssertionError):
        assert_rows_by_masses(other, params("1"))


# An event fixed in advance, 200,000 draws each: a bound above the true loss has probability at most 2e-4.
def audited(chosen, trials=200_000):
    source = seeded(3)

    def draws(ill):
        def of(count):
            columns = {"rank": np.zeros(count, np.int64), "ill": np.full(count, ill)}
            return protect(columns, DECLARED, chosen, source).columns["ill"]

        return of

    return audit(draws(1), draws(0), lambda answers: answers == 1, trials)


ILL_ALONE = {"rank": "1/1000000", "ill": "999999/1000000"}


def test_the_auditor_proves_no_more_than_epsilon_of_a_replaced_value():
    found = audited(params("7/10", shares=ILL_ALONE))
    assert 0.6 < found <= 0.7


def test_the_auditor_catches_the_printed_calibration():
    found = audited(params("7/10", "presence", shares=ILL_ALONE))
    assert 1.2 < found <= 1.4
