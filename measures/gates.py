"""Limits on measures, and the one decision they lead to.

A gate is a pure function of a limit and a measurement. All gates run, so that a reviewer sees every
reason at once; the worst verdict wins; what was not measured or not checked refuses.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, Self

from pydantic import BaseModel, Field, StrictFloat, StrictInt, model_validator
from pydantic_core import PydanticCustomError

from penstock.measures.asked import Asked
from penstock.measures.checks import Check
from penstock.measures.measurement import Measurement
from penstock.measures.registry import MEASURES, measure_names
from penstock.mechanisms.refusal import Fault, Refusal

__all__ = ["MOST_GATES", "Decision", "Gate", "GateRefused", "GateResult", "Verdict", "decide"]

MOST_GATES = 100  # one for each measure, of which there are fewer


class Verdict(IntEnum):
    """The verdicts in rising severity, so that the worst is the maximum."""

    PASS = 0
    REVIEW = 1
    REFUSE = 2

    @property
    def word(self) -> str:
        return self.name.lower()


class _Limit(BaseModel):
    """Which measure, and its limits: what comes first in a gate."""

    measure: str = Field(
        description="Name of the measure; docs/measures.md describes each.",
        json_schema_extra={"enum": list(measure_names())},
    )
    min: StrictInt | StrictFloat | None = Field(default=None, description="Lowest value that may be released.")
    max: StrictInt | StrictFloat | None = Field(default=None, description="Highest value that may be released.")


class Gate(Asked, _Limit):
    """One limit on one measure. A value on the limit is inside it."""

    @model_validator(mode="after")
    def _is_a_limit(self) -> Self:
        faults = []
        if self.measure not in measure_names():
            rule = f"must be one of {', '.join(measure_names())}"
            faults.append(Fault("measure", rule, "Choose one of these.", repr(self.measure)))
        else:
            faults += MEASURES[self.measure].faults_of_gate(self)
        bounds = {name: bound for name, bound in (("min", self.min), ("max", self.max)) if bound is not None}
        for name, bound in bounds.items():
            if not math.isfinite(bound):
                faults.append(Fault(name, "must be a finite number", "Give a limit that can be missed.", repr(bound)))
        if not bounds:
            faults.append(Fault("max", "must be given where min is not", "Set max, min or both."))
        elif self.min is not None and self.max is not None and self.min > self.max:
            faults.append(Fault("min", "must not exceed max", "Swap them.", repr(self.min)))
        if faults:
            raise PydanticCustomError("faults", "the gate is inconsistent", {"faults": faults})
        return self

    @property
    def rule(self) -> str:
        """Return the limit in words, from settings only."""
        limits = [f"at least {_shown(self.min)}"] if self.min is not None else []
        limits += [f"at most {_shown(self.max)}"] if self.max is not None else []
        asked = f" ({self.in_words})" if self.said else ""
        return f"{self.measure}{asked} {' and '.join(limits)}"

    def holds(self, value: float) -> bool:
        """Return whether the value is inside the limits."""
        return (self.min is None or value >= self.min) and (self.max is None or value <= self.max)


@dataclass(frozen=True, slots=True)
class GateResult:
    """The result of one gate. value, interval and reason are confidential. output: which of several it is about."""

    gate: str
    verdict: Verdict
    rule: str
    value: float | None
    interval: tuple[float, float] | None
    reason: str
    output: str | None = None

    def public(self) -> dict[str, str]:
        about = {} if self.output is None else {"output": self.output}
        return {**about, "gate": self.gate, "rule": self.rule, "verdict": self.verdict.word}

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, which has no NaN and no infinity."""
        interval = None if self.interval is None else [_finite(end) for end in self.interval]
        return {**self.public(), "value": _finite(self.value), "interval": interval, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class Decision:
    """One verdict with all its reasons."""

    verdict: Verdict
    results: tuple[GateResult, ...]

    @classmethod
    def together(cls, decisions: Mapping[str | None, Decision], *more: GateResult) -> Self:
        """Return the decision about a release, from those about its outputs by name and results about all of it: the
        worst verdict wins."""
        results = (
            *(replace(r, output=name) for name, decision in decisions.items() for r in decision.results),
            *more,
        )
        verdicts = [*(each.verdict for each in decisions.values()), *(each.verdict for each in more)]
        return cls(max(verdicts), results)

    def public(self) -> dict[str, Any]:
        """Return what may be published: gates, rules and verdicts, without any measured value."""
        return {"verdict": self.verdict.word, "results": [result.public() for result in self.results]}

    def as_dict(self) -> dict[str, Any]:
        """Return everything, for the confidential side."""
        return {"verdict": self.verdict.word, "results": [result.as_dict() for result in self.results]}


class GateRefused(Refusal):
    """A gate refused the release. The faults name gate and rule, never the measured value."""

    code = "gate-refused"
    kind = "gate"
    remedy = "Read the confidential report, then protect more or change the limit."

    @classmethod
    def by(cls, decision: Decision, report: str | None = None) -> Self:
        """Return the refusal for a decision that is not a plain pass: in doubt nothing is published. report: where the
        confidential one is, if there is one yet."""
        read = "Read the confidential report" + ("" if report is None else f", {report}")
        return cls(
            *(
                Fault(
                    f"gates.{result.gate}" if result.output is None else f"{result.output}.gates.{result.gate}",
                    f"must hold for what is published: {result.rule}",
                    f"{read}, then protect more, or change the limit.",
                )
                for result in decision.results
                if result.verdict is not Verdict.PASS
            )
        )


def decide(gates: Sequence[Gate], measurements: Mapping[str, Measurement], checks: Sequence[Check]) -> Decision:
    """Run every gate and every check; the worst verdict wins.

    Refused: a failed check, no checks at all, a measurement that is missing or not finite, a value
    outside its limits. To review: a value inside whose interval reaches outside.
    """
    results = [_checked(check) for check in checks]
    if not results:
        rule = "the guarantee is re-checked on the output"
        results.append(GateResult("recheck", Verdict.REFUSE, rule, None, None, "no check was run"))
    results += [_gated(gate, measurements.get(gate.measure)) for gate in gates]
    return Decision(max(result.verdict for result in results), tuple(results))


def _checked(check: Check) -> GateResult:
    verdict = Verdict.PASS if check.passed else Verdict.REFUSE
    return GateResult(check.name, verdict, check.rule, None, None, check.found)


def _gated(gate: Gate, found: Measurement | None) -> GateResult:
    if found is None or found.name != gate.measure:
        return GateResult(gate.measure, Verdict.REFUSE, gate.rule, None, None, "it was not measured")
    verdict, reason = Verdict.PASS, "inside"
    if not all(map(math.isfinite, (found.value, *(found.interval or ())))):
        verdict, reason = Verdict.REFUSE, "the value or its interval is not finite"
    elif not gate.holds(found.value):
        verdict, reason = Verdict.REFUSE, "outside"
    elif found.interval is not None and not all(map(gate.holds, found.interval)):
        verdict, reason = Verdict.REVIEW, "inside, but its interval reaches outside"
    return GateResult(gate.measure, verdict, gate.rule, found.value, found.interval, reason)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _shown(limit: float) -> str:
    """Return a limit as it was given: rounded to six digits it would be another one."""
    short = f"{limit:g}"
    return short if float(short) == limit else f"{limit!r}".removesuffix(".0")
