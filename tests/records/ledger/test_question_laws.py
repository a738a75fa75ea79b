"""Questions, releases, allowances and limits in any order, against sums over plain lists."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from penstock.mechanisms.refusal import Refusal
from penstock.records import Home, Records, open_records
from penstock.records.ledger._balances import Balance
from penstock.records.ledger.accounts import Claim
from penstock.records.ledger.limits import open_account, raise_limit
from penstock.records.ledger.questions import allow_analyst, ask, standing
from tests.records.ledger_cases import HOW, account, claim, officer, with_accounts
from tests.records.question_cases import verified
from tests.support.order import examples

ANALYSTS = st.sampled_from(["ann", "ann", "bob", "cy"])  # cy is not allowed anything at first
EPSILONS = st.sampled_from([Fraction(1, 3), Fraction(1, 2), Fraction(1, 7), Fraction(104, 4099)])
KEYS = st.sampled_from([*(f"k{number}" for number in range(40)), "common", "common"])
PEOPLE = st.none() | st.sampled_from(["i1", "i2", "i3"])
ABOUT = st.sampled_from([None, None, None, ("age",)])


@dataclass(frozen=True)
class Line:
    """A question that was answered, or a release (without an analyst)."""

    dataset: str
    epsilon: Fraction
    analyst: str | None = None
    person: str | None = None


class Oracle:
    """Lists and sums. The account of `rows` counts a replaced record, which costs a question about records twice."""

    def __init__(self) -> None:
        self.limits: dict[str, Fraction] = {}
        self.allowed: dict[tuple[str, str], Fraction] = {}
        self.lines: list[Line] = []
        self.keys: set[str] = set()

    def total(self, lines: list[Line]) -> Fraction:
        everybody = sum((line.epsilon for line in lines if line.person is None), Fraction(0))
        of_one: defaultdict[str, Fraction] = defaultdict(Fraction)
        for line in lines:
            if line.person is not None:
                of_one[line.person] += line.epsilon
        return (2 if any(line.dataset.endswith("rows") for line in lines) else 1) * (
            everybody + max(of_one.values(), default=Fraction(0))
        )

    def spent(self, dataset: str) -> Fraction:
        return self.total([line for line in self.lines if line.dataset == dataset])

    def spent_by(self, dataset: str, analyst: str) -> Fraction:
        return self.total([line for line in self.lines if (line.dataset, line.analyst) == (dataset, analyst)])

    def against(self, line: Line) -> set[str]:
        """Every reason against a question or a release."""
        reasons = set()
        if line.analyst is not None and (line.dataset, line.analyst) not in self.allowed:
            return {"analyst-not-allowed"}
        with_it = [*self.lines, line]
        if self.total([each for each in with_it if each.dataset == line.dataset]) > self.limits[line.dataset]:
            reasons.add("budget-exceeded")
        mine = [each for each in with_it if (each.dataset, each.analyst) == (line.dataset, line.analyst)]
        if line.analyst is not None and self.total(mine) > self.allowed[line.dataset, line.analyst]:
            reasons.add("allowance-exceeded")
        return reasons


class QuestionMachine(RuleBasedStateMachine):
    """Names are made new for every example, so that many can share one database."""

    def __init__(self, records: Records, example: int) -> None:
        super().__init__()
        self.records, self.prefix, self.rules, self.numbers = records, f"{example}-", Oracle(), count()

    def agree(self, reasons: set[str], act: Callable[[], object]) -> bool:
        before = self.records.log.head()
        try:
            act()
            told = None
        except Refusal as refusal:
            told = refusal.code
        assert told in reasons if reasons else told is None
        if told is not None:
            assert self.records.log.head() == before
        return told is None

    def claim(self, dataset: str, epsilon: Fraction, about: tuple[str, ...] | None) -> Claim:
        wanted = claim(dataset=dataset, source=f"source of {dataset}", epsilon=epsilon, about=about, table=True)
        people = dataset.endswith("people")
        return replace(wanted, adjacency="presence", unit="individual", whose="id") if people else wanted

    @initialize(limit=EPSILONS, share=EPSILONS)
    def open(self, limit: Fraction, share: Fraction) -> None:
        for name, adjacency, unit in (("rows", "replace", "row"), ("people", "presence", "individual")):
            dataset = self.prefix + name
            self.rules.limits[dataset] = 9 * limit
            wanted = account(dataset=dataset, adjacency=adjacency, unit=unit, limit=9 * limit)
            open_account(self.records.log, wanted, officer(), **HOW)
            for analyst in ("ann", "bob"):
                self.allow(name, analyst, 6 * share)

    @rule(name=st.sampled_from(["rows", "people"]), analyst=ANALYSTS, epsilon=EPSILONS)
    def allow(self, name: str, analyst: str, epsilon: Fraction) -> None:
        dataset = self.prefix + name
        before = self.rules.allowed.get((dataset, analyst), Fraction(0))
        reasons = {"account-refused"} if epsilon <= before else set()
        log = self.records.log
        if self.agree(reasons, lambda: allow_analyst(log, dataset, "dp", analyst, epsilon, officer(), **HOW)):
            self.rules.allowed[dataset, analyst] = epsilon

    @rule(name=st.sampled_from(["rows", "people"]), by=EPSILONS)
    def raise_limit(self, name: str, by: Fraction) -> None:
        dataset = self.prefix + name
        self.rules.limits[dataset] += by
        raise_limit(self.records.log, dataset, "dp", self.rules.limits[dataset], officer(), **HOW)

    @rule(analyst=ANALYSTS, key=KEYS, epsilon=EPSILONS, person=PEOPLE, about=ABOUT, whole=st.booleans())
    def ask(
        self,
        analyst: str,
        key: str,
        epsilon: Fraction,
        person: str | None,
        about: tuple[str, ...] | None,
        whole: bool,
    ) -> None:
        """Of everybody or of one; of people only one sitting counts, so what it is about does not matter."""
        dataset = self.prefix + ("rows" if person is None and whole else "people")
        line = Line(dataset, epsilon, analyst, person)
        key = f"{dataset} {key}"
        again = key in self.rules.keys
        reasons = self.rules.against(line)
        reasons = reasons & {"analyst-not-allowed"} if again else reasons

        def act() -> None:
            found = ask(
                self.records.log,
                self.claim(dataset, epsilon, about),
                analyst=analyst,
                key=key,
                individual=person,
                draw=lambda: key.encode(),
                facts={},
                **HOW,
            )
            assert (found.answer, found.repeated) == (key.encode(), again)

        if self.agree(reasons, act) and not again:
            self.rules.lines.append(line)
            self.rules.keys.add(key)

    @rule(name=st.sampled_from(["rows", "people"]), epsilon=EPSILONS)
    def release(self, name: str, epsilon: Fraction) -> None:
        dataset, run = self.prefix + name, f"{self.prefix}{next(self.numbers)}"
        wanted = self.claim(dataset, epsilon, None)
        line = Line(dataset, epsilon)
        if self.agree(self.rules.against(line), lambda: self.records.ledger.reserve(wanted, run=run, **HOW)):
            self.rules.lines.append(line)

    @invariant()
    def what_is_left_is_what_the_lists_say(self) -> None:
        for dataset, limit in self.rules.limits.items():
            for analyst in ("ann", "bob", "cy"):
                found = standing(self.records.log, dataset=dataset, model="dp", analyst=analyst)
                spent, mine = self.rules.spent(dataset), self.rules.spent_by(dataset, analyst)
                assert (found.limit, found.spent, found.left) == (limit, spent, limit - spent)
                allowed = self.rules.allowed.get((dataset, analyst), Fraction(0))
                assert (found.allowed, found.spent_by_analyst, found.left_to_analyst) == (
                    allowed,
                    mine,
                    allowed - mine,
                )
                assert spent <= limit
                assert mine <= allowed

    def teardown(self) -> None:
        verified(self.records)


QUIET = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large]


@pytest.mark.law
def test_the_sums_hold_in_any_order(home: Home) -> None:
    run_state_machine_as_test(
        lambda: QuestionMachine(with_accounts(open_records("sqlite://", home)), 0),
        settings=settings(
            max_examples=examples(40, at_first=4), stateful_step_count=25, deadline=None, suppress_health_check=QUIET
        ),
    )


@pytest.mark.slow
def test_the_sums_hold_on_both_databases(either_home: Home) -> None:
    records, numbers = with_accounts(open_records(home=either_home)), count()
    run_state_machine_as_test(
        lambda: QuestionMachine(records, next(numbers)),
        settings=settings(max_examples=3, stateful_step_count=20, deadline=None, suppress_health_check=QUIET),
    )


def test_the_machine_notices_a_balance_that_forgets(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin that must fail."""
    monkeypatch.setattr(
        Balance, "with_question", lambda one, epsilon: Balance(max(one.sum, epsilon), one.questions + 1)
    )
    with pytest.raises((AssertionError, Refusal, ExceptionGroup)):
        run_state_machine_as_test(
            lambda: QuestionMachine(with_accounts(open_records("sqlite://", home)), 0),
            settings=settings(
                max_examples=100, stateful_step_count=25, derandomize=True, database=None, phases=[Phase.generate]
            ),
        )
