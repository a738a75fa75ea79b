"""The rules of the ledger a second time: lists and sums, no database, no events. An oracle for the real one.

Rows only, and parts only where a record comes or goes, so that one change touches one part.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from records.accounts import Account, Claim

COUNTED = ("dp", "idp", "bdp")

# What one promise is worth under another: the number of steps from one data set of a pair to the other.
WORTH = {
    ("dp add_remove", "dp add_remove"): 1,
    ("dp add_remove", "dp replace"): 2,
    ("dp add_remove", "idp from_D"): 2,
    ("dp add_remove", "bdp bootstrap_add_remove"): 1,
    ("dp add_remove", "bdp bootstrap_replace"): 2,
    ("dp replace", "dp replace"): 1,
    ("dp replace", "idp from_D"): 1,
    ("dp replace", "bdp bootstrap_replace"): 1,
    ("idp from_D", "idp from_D"): 1,
    ("bdp bootstrap_add_remove", "bdp bootstrap_add_remove"): 1,
    ("bdp bootstrap_add_remove", "bdp bootstrap_replace"): 2,
    ("bdp bootstrap_replace", "bdp bootstrap_replace"): 1,
}


class CannotCount(Exception):
    pass


@dataclass
class Line:
    """One draw, or the reservation for one."""

    run: str
    claim: Claim
    state: str = "reserved"


@dataclass
class Rules:
    accounts: dict[tuple[str, str], Account] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)

    def of_run(self, run: str, *states: str) -> list[Line]:
        return [line for line in self.lines if line.run == run and line.state in states]

    def of_dataset(self, dataset: str) -> list[Line]:
        return [line for line in self.lines if line.claim.dataset == dataset]

    def total(self, account: Account, lines: list[Line]) -> Fraction:
        """What the record that is worst off has lost: for each kind of promise, the part where most was spent."""
        whole: dict[str, Fraction] = {}
        parts: dict[str, dict[str, Fraction]] = {}
        for claim in (line.claim for line in lines):
            if claim.epsilon is None or claim.model not in ("dp", account.model):
                continue
            kind = f"{claim.model} {claim.adjacency}"
            if (kind, f"{account.model} {account.adjacency}") not in WORTH:
                raise CannotCount
            whole.setdefault(kind, Fraction(0))
            if claim.part is not None and account.partition is not None and claim.column == account.partition:
                spent = parts.setdefault(kind, {})
                spent[claim.part] = spent.get(claim.part, Fraction(0)) + claim.epsilon
            else:
                whole[kind] += claim.epsilon
        target = f"{account.model} {account.adjacency}"
        return sum(
            (WORTH[kind, target] * (epsilon + max(parts.get(kind, {}).values(), default=0)))
            for kind, epsilon in whole.items()
        ) + Fraction(0)

    def against(self, account: Account, lines: list[Line]) -> set[str]:
        try:
            return {"budget-exceeded"} if self.total(account, lines) > account.limit else set()
        except CannotCount:
            return {"not-countable"}

    def against_opening(self, account: Account) -> set[str]:
        taken = {"account-refused"} if (account.dataset, account.model) in self.accounts else set()
        found = self.against(account, self.of_dataset(account.dataset))
        return taken | {"account-refused" if reason == "budget-exceeded" else reason for reason in found}

    def against_reserving(self, run: str, claim: Claim) -> set[str]:
        """Every reason why this claim must be refused; whichever is told, it is one of them."""
        if any(line.claim == claim for line in self.of_run(run, "reserved")):
            return set()
        lines = [line for line in self.lines if line not in self.of_run(run, "reserved")]
        reasons = set()
        for line in lines:
            same_records = line.claim.source == claim.source
            out = line.state != "refused"
            named_otherwise = None not in (line.claim.dataset, claim.dataset) and line.claim.dataset != claim.dataset
            if same_records and named_otherwise and (out or line.claim.epsilon is not None):
                reasons.add("source-elsewhere")
            related = same_records or (claim.dataset is not None and line.claim.dataset == claim.dataset)
            adds_up = claim.model in COUNTED and line.claim.model in COUNTED
            other_parts = (
                claim.column is not None and claim.column == line.claim.column and claim.part != line.claim.part
            )
            if related and out and line.run != run and not adds_up and not other_parts:
                reasons |= {"second-release"} - ({"second-release"} if line.run in claim.acknowledges else set())
        if claim.epsilon is not None and claim.dataset is not None:
            reasons |= self._against_spending(run, claim, lines)
        return reasons

    def _against_spending(self, run: str, claim: Claim, lines: list[Line]) -> set[str]:
        if (claim.dataset, claim.model) not in self.accounts:
            return {"account-missing"}
        wanted = [*(line for line in lines if line.claim.dataset == claim.dataset), Line(run, claim)]
        reasons = set()
        for (dataset, model), account in self.accounts.items():
            if dataset == claim.dataset and claim.model in ("dp", model):
                reasons |= self.against(account, wanted)
        return reasons

    def reserve(self, run: str, claim: Claim) -> None:
        if not any(line.claim == claim for line in self.of_run(run, "reserved")):
            self.lines = [line for line in self.lines if line not in self.of_run(run, "reserved")]
            self.lines.append(Line(run, claim))

    def spend(self, run: str) -> None:
        self.of_run(run, "reserved")[-1].state = "spent"

    def settle(self, run: str, outcome: str) -> None:
        self.lines = [line for line in self.lines if line not in self.of_run(run, "reserved")]
        drawn = self.of_run(run, "spent")
        for line in drawn:
            line.state = outcome if line is drawn[-1] else "refused"
