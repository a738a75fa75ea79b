"""Any order of opening, raising, reserving, drawing and settling, against the rules written a second time."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import count

import pytest
from hypothesis import HealthCheck, Phase, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from penstock.mechanisms.refusal import Refusal
from penstock.records import Action, Home, Records, open_records
from penstock.records.ledger.accounts import Account, Claim
from penstock.records.ledger.limits import open_account, raise_limit
from tests.records.ledger_cases import HOW, account, claim, officer, with_accounts
from tests.records.ledger_rules import Rules
from tests.support.order import examples

RUNS = st.sampled_from(["r0", "r1", "r2", "r3"])
NAMES = st.sampled_from(["a", "a", "a", "b"])
ADJACENCIES = {
    "dp": ("add_remove", "replace"),
    "idp": ("from_D",),
    "bdp": ("bootstrap_add_remove", "bootstrap_replace"),
}
KINDS = st.sampled_from([(model, adjacency) for model, known in ADJACENCIES.items() for adjacency in known])
EPSILONS = st.sampled_from([Fraction(1, 3), Fraction(1, 2), Fraction(1), Fraction(104, 4099)])
KEPT = ("model", "epsilon", "adjacency", "column", "part", "edition")
ACKNOWLEDGED = st.sampled_from([(), ("r0", "r1", "r2", "r3"), ("r1",)])
UNCOUNTED = st.tuples(st.sampled_from(["prob_k", "t_close", "k_anon"]), st.just("none"))


@st.composite
def claims(draw: st.DrawFn) -> Claim:
    """Mostly such as can be granted, or all that is tried would be refused."""
    counted = draw(st.sampled_from([True, True, True, False]))
    model, adjacency = draw(st.just(("dp", "add_remove")) | KINDS if counted else UNCOUNTED)
    dataset = draw(NAMES if counted else st.none() | NAMES)
    repeats = draw(st.sampled_from([None, None, None, None, "r0"]))
    may_split = adjacency in ("add_remove", "bootstrap_add_remove", "none")
    column, part = draw(st.sampled_from([(None, None), ("region", "N"), ("region", "S"), ("sex", "N")]))
    return claim(
        dataset=dataset,
        source=draw(st.sampled_from([f"{dataset}1", f"{dataset}2", f"{dataset}3", "a1"])),
        values=draw(st.sampled_from([None, None, f"{dataset}v", f"{dataset}w"])),
        formerly=draw(st.sampled_from([None, None, None, f"{dataset}1"])),
        edition=draw(st.sampled_from([None, None, None, "2026-10"])),
        model=model,
        epsilon=draw(EPSILONS) if counted and repeats is None else None,
        repeats=repeats,
        adjacency=adjacency,
        column=column if may_split else None,
        part=part if may_split else None,
        acknowledges=draw(ACKNOWLEDGED),
    )


class LedgerMachine(RuleBasedStateMachine):
    """Names are made new for every example, so that many can share one database."""

    def __init__(self, records: Records, example: int) -> None:
        super().__init__()
        self.records = records
        self.prefix = f"{example}-"
        self.rules = Rules()

    def mine(self, wanted: Claim) -> Claim:
        """The claim under the names of this example."""
        return claim(
            **{
                **{name: getattr(wanted, name) for name in KEPT},
                "values": None if wanted.values is None else self.prefix + wanted.values,
                "formerly": None if wanted.formerly is None else self.prefix + wanted.formerly,
                "repeats": None if wanted.repeats is None else self.prefix + wanted.repeats,
                "dataset": None if wanted.dataset is None else self.prefix + wanted.dataset,
                "source": self.prefix + wanted.source,
                "acknowledges": tuple(self.prefix + run for run in wanted.acknowledges),
            }
        )

    def agree(self, reasons: set[str], act: Callable[[], object]) -> bool:
        """Refused if and only if the rules have a reason, and for one of them; then nothing was written."""
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

    @initialize(partition=st.sampled_from([None, "region"]))
    def open_the_first(self, partition: str | None) -> None:
        for name in ("a", "b"):
            self.open(name, ("dp", "add_remove"), Fraction(1, 2), partition)

    @rule(name=NAMES, kind=KINDS, limit=EPSILONS, partition=st.sampled_from([None, "region"]))
    def open(self, name: str, kind: tuple[str, str], limit: Fraction, partition: str | None) -> None:
        model, adjacency = kind
        wanted = account(
            dataset=self.prefix + name, model=model, adjacency=adjacency, limit=2 * limit, partition=partition
        )
        if self.agree(
            self.rules.against_opening(wanted), lambda: open_account(self.records.log, wanted, officer(), **HOW)
        ):
            self.rules.accounts[wanted.dataset, wanted.model] = wanted

    @rule(name=NAMES, model=st.sampled_from(sorted(ADJACENCIES)), by=EPSILONS, lower=st.booleans())
    def raise_limit(self, name: str, model: str, by: Fraction, lower: bool) -> None:
        found = self.rules.accounts.get((self.prefix + name, model))
        limit = (found.limit if found else Fraction(1)) + (-by if lower else by)
        reasons = {"account-refused"} if found is None or lower else set()
        if self.agree(
            reasons, lambda: raise_limit(self.records.log, self.prefix + name, model, limit, officer(), **HOW)
        ):
            raised = {field: getattr(found, field) for field in ("dataset", "model", "adjacency", "unit", "partition")}
            self.rules.accounts[self.prefix + name, model] = Account(limit=limit, **raised)

    def _reserve(self, run: str, wanted: Claim) -> None:
        run = self.prefix + run
        drawn = len(self.rules.of_run(run, "spent", "published", "refused"))
        reasons = self.rules.against_reserving(run, wanted)
        note(f"{run} {wanted} {reasons}")
        if self.agree(reasons, lambda: self.records.ledger.reserve(wanted, run=run, **HOW)):
            self.rules.reserve(run, wanted)
            # Charged once while nothing was drawn, and once more after each draw.
            assert len(self.rules.of_run(run, "reserved", "spent", "published", "refused")) == drawn + 1

    @rule(run=RUNS, wanted=claims())
    def reserve(self, run: str, wanted: Claim) -> None:
        self._reserve(run, self.mine(wanted))

    @rule(run=RUNS, wanted=claims(), outcome=st.sampled_from(["published", "refused"]))
    def run_through(self, run: str, wanted: Claim, outcome: str) -> None:
        """What most runs do."""
        self._reserve(run, self.mine(wanted))
        if self.rules.of_run(self.prefix + run, "reserved"):
            draws = self.rules.of_run(self.prefix + run, "reserved")[-1].claim.repeats is None
            self.agree(
                set(), lambda: self.records.ledger.spend(self.prefix + run, draws=(None,) if draws else (), **HOW)
            )
            self.rules.spend(self.prefix + run)
            self.settle(run, outcome)

    @precondition(lambda self: self.rules.lines)
    @rule(run=RUNS, data=st.data())
    def reserve_again(self, run: str, data: st.DataObject) -> None:
        """Killed and resumed, or another run that wants the same."""
        line = data.draw(st.sampled_from(range(len(self.rules.lines))))
        self._reserve(run, self.rules.lines[line].claim)

    @precondition(lambda self: self.rules.lines)
    @rule(data=st.data(), draws=st.booleans())
    def spend(self, data: st.DataObject, draws: bool) -> None:
        """A reservation for a repeat is none for a draw."""
        run = data.draw(st.sampled_from([line.run for line in self.rules.lines]))
        enough = [line for line in self.rules.of_run(run, "reserved") if not draws or line.claim.repeats is None]
        reasons = set() if enough else {"reservation-missing"}
        if self.agree(reasons, lambda: self.records.ledger.spend(run, draws=(None,) if draws else (), **HOW)):
            self.rules.spend(run)

    @rule(run=RUNS, outcome=st.sampled_from(["published", "refused"]))
    def settle(self, run: str, outcome: str) -> None:
        run = self.prefix + run
        drawn = len(self.rules.of_run(run, "spent", "published", "refused"))
        self.agree(set(), lambda: self.records.ledger.settle(run, outcome, **HOW))  # type: ignore[arg-type]
        self.rules.settle(run, outcome)
        assert len(self.rules.of_run(run, "published", "refused")) == drawn  # nothing drawn is given back

    @invariant()
    def the_ledger_says_what_the_rules_say_and_no_limit_is_exceeded(self) -> None:
        for name in ("a", "b"):
            dataset = self.prefix + name
            book = self.records.ledger.book(dataset)
            lines = self.rules.of_dataset(dataset)
            assert [(cost.run, cost.claim, cost.state) for cost in book.costs] == [
                (line.run, line.claim, line.state) for line in lines
            ]
            assert {(dataset, str(model)): one for model, one in book.accounts.items()} == {
                key: one for key, one in self.rules.accounts.items() if key[0] == dataset
            }
            for one in book.accounts.values():
                assert one.spent(book.costs) == self.rules.total(one, lines) <= one.limit

    def teardown(self) -> None:
        self.records.log.verify()
        self.records.ledger.verify()
        states: dict[tuple[str, int], list[Action]] = {}
        for entry in self.records.log.events():
            if entry.run.startswith(self.prefix):
                states.setdefault((entry.run, entry.facts["attempt"]), []).append(entry.action)
        for history in states.values():
            assert Action.RETURNED not in history[history.index(Action.SPENT) :] if Action.SPENT in history else True


QUIET = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large]


def test_the_rules_hold_in_any_order(home: Home) -> None:
    def machine() -> LedgerMachine:
        return LedgerMachine(with_accounts(open_records("sqlite://", home)), 0)

    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples(20, at_first=6), stateful_step_count=25, deadline=None, suppress_health_check=QUIET
        ),
    )


def test_the_rules_hold_on_both_databases(either_home: Home) -> None:
    records, numbers = with_accounts(open_records(home=either_home)), count()
    run_state_machine_as_test(
        lambda: LedgerMachine(records, next(numbers)),
        settings=settings(max_examples=3, stateful_step_count=20, deadline=None, suppress_health_check=QUIET),
    )


def test_the_machine_notices_a_ledger_that_gives_back_what_was_drawn(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin that must fail."""
    spent = Account.spent
    monkeypatch.setattr(Account, "spent", lambda one, costs: spent(one, [cost for cost in costs if cost.blocks]))

    def machine() -> LedgerMachine:
        return LedgerMachine(with_accounts(open_records("sqlite://", home)), 0)

    with pytest.raises(AssertionError):
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=500, stateful_step_count=25, derandomize=True, database=None, phases=[Phase.generate]
            ),
        )
