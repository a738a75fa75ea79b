"""Who must approve, and within what time. It knows no log, so that a spec is checked without a database."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from penstock.mechanisms.refusal import Fault, Refusal
from penstock.records.people.names import is_name

__all__ = ["Rule", "RuleRefused"]

_LONGEST_WAIT = timedelta(days=3650)


class RuleRefused(Refusal):
    """The approval that the spec asks for can never be given, or is always given."""

    code = "approval-rule-refused"
    kind = "spec"
    remedy = "Correct approve in the spec: reviewers, names and time."


@dataclass(frozen=True, slots=True)
class Rule:
    """The number of allowed reviewers who must approve, and the time within which they must."""

    reviewers: int
    allowed: tuple[str, ...]
    within: timedelta

    def __post_init__(self) -> None:
        faults = []
        if self.reviewers not in (1, 2):
            faults.append(Fault("reviewers", "must be 1 or 2", "Correct the spec.", repr(self.reviewers)))
        if not all(is_name(name) for name in self.allowed):
            faults.append(Fault("allowed", "must be names of people", "Write them as trusted.", repr(self.allowed)))
        if len({name.casefold() for name in self.allowed}) < max(len(self.allowed), self.reviewers):
            rule = "must be different people, at least as many as must approve"
            named = ", ".join(self.allowed) or "nobody"
            faults.append(Fault("allowed", rule, "Name more reviewers, each once.", named))
        if not timedelta(0) < self.within <= _LONGEST_WAIT:
            rule = f"must be more than nothing and at most {_LONGEST_WAIT.days} days"
            faults.append(Fault("within", rule, "Correct the spec.", str(self.within)))
        RuleRefused.raise_for(faults)
