"""The rules of the ledger a second time: lists and sums, no database, no events. An oracle for the real one.

Rows only, and parts only where a record comes or goes, so that one change touches one part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from penstock.records.ledger.accounts import Account, Claim

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

    @property
    def table(self) -> str:
        return self.claim.repeats or self.run


def share_a_digest(one: Claim, other: Claim) -> bool:
    return one.source == other.source or (one.values is not None and one.values == other.values)


def may_share_a_digest(one: Claim, other: Claim) -> bool:
    """Also as earlier versions knew the records."""
    former = {one.source, one.formerly} & {other.source, other.formerly}
    return share_a_digest(one, other) or bool(former - {None})


def copies_of(claim: Claim, others: list[Claim], alike: Callable[[Claim, Claim], bool]) -> list[Claim]:
    """All that are of the same records, one step after the other."""
    found = [claim]
    while more := [other for other in others if other not in found and any(alike(other, each) for each in found)]:
        found += more
    return found[1:]


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
        target = f"{account.model} {account.adjacency}"
        claims = [line.claim for line in lines]
        claims = [claim for claim in claims if claim.epsilon is not None and claim.model in ("dp", account.model)]
        parts: dict[str, set[str]] = {}  # for each part those that are the same, itself among them
        for claim in claims:
            if self.part(account, claim):
                parts.setdefault(str(claim.part), {str(claim.part)})
        for one in claims:
            same = {str(c.part) for c in (one, *copies_of(one, claims, may_share_a_digest)) if self.part(account, c)}
            together = set().union(*(parts[part] for part in same))
            parts |= dict.fromkeys(together, together)
        total = Fraction(0)
        for kind, edition in {(f"{claim.model} {claim.adjacency}", claim.edition) for claim in claims}:
            if (kind, target) not in WORTH:
                raise CannotCount
            mine = [c for c in claims if (f"{c.model} {c.adjacency}", c.edition) == (kind, edition)]
            whole = [c.epsilon for c in mine if not self.part(account, c) and c.epsilon]
            by_part = [
                sum(c.epsilon for c in mine if c.part in same and self.part(account, c) and c.epsilon)
                for same in parts.values()
            ]
            total += WORTH[kind, target] * (sum(whole, Fraction(0)) + max(by_part, default=Fraction(0)))
        return total

    def part(self, account: Account, claim: Claim) -> bool:
        return claim.part is not None and account.partition is not None and claim.column == account.partition

    def is_of_two(self, account: Account, lines: list[Line]) -> bool:
        """Whether a promise about one data set was made about two, as far as can be known."""
        claims = [c.claim for c in lines if c.claim.model == account.model != "dp" and c.claim.values is not None]
        return any(
            one.edition != other.edition
            or (
                (one.column, one.part) == (other.column, other.part)
                and one != other
                and other not in copies_of(one, claims, share_a_digest)
            )
            for one in claims
            for other in claims
        )

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
        copies = copies_of(claim, [line.claim for line in lines], may_share_a_digest)
        of_records = [line for line in lines if line.claim in copies or line.claim == claim]
        of_name = [line for line in lines if claim.dataset is not None and line.claim.dataset == claim.dataset]
        acknowledged = {
            line.table
            for line in (*of_records, *of_name)
            if line.run in claim.acknowledges and line.state != "refused" and line.run != run
        }
        for line in lines:
            same_records = line in of_records
            out = line.state != "refused"
            named_otherwise = None not in (line.claim.dataset, claim.dataset) and line.claim.dataset != claim.dataset
            if same_records and named_otherwise and (out or line.claim.epsilon is not None):
                reasons.add("source-elsewhere")
            related = same_records or line in of_name
            adds_up = claim.model in COUNTED and line.claim.model in COUNTED
            other_parts = (
                claim.column is not None
                and claim.column == line.claim.column
                and claim.part != line.claim.part
                and claim.edition == line.claim.edition
                and not same_records
            )
            # A run that reserves anew after somebody repeated its table is about the same table, if of the same source.
            own = line.table == run and line.claim.source == claim.source
            known = line.table in acknowledged or line.table == claim.repeats or own
            if related and out and line.run != run and not adds_up and not other_parts and not known:
                reasons.add("second-release")
        if claim.model in COUNTED and claim.dataset is not None:
            reasons |= self._against_spending(run, claim, lines)
        return reasons

    def _against_spending(self, run: str, claim: Claim, lines: list[Line]) -> set[str]:
        if (claim.dataset, claim.model) not in self.accounts:
            return {"account-missing"} if claim.repeats is None else set()
        wanted = [*(line for line in lines if line.claim.dataset == claim.dataset), Line(run, claim)]
        reasons = {"other-data"} if self.is_of_two(self.accounts[claim.dataset, claim.model], wanted) else set()
        for (dataset, model), account in self.accounts.items():
            if dataset == claim.dataset and claim.model in ("dp", model) and claim.repeats is None:
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
