"""Gates that public facts decide: they refuse before anything is spent, and a plan says so."""

from __future__ import annotations

from collections.abc import Iterator

from measures.foreseen import foretold
from mechanisms.guarantee import ADDS_UP
from mechanisms.refusal import Fault
from mechanisms.registry import mechanism_of
from tasks.plan import Plan

__all__ = ["foreseen_faults"]

_REMEDY = {
    "expected_error": "Allow more for {}, or spend more epsilon.",
    "privacy_loss": "Spend less, or allow more.",
}


def foreseen_faults(plan: Plan, records: int) -> Iterator[Fault]:
    """The gates that a release of this many records cannot pass. Those of a table do not depend on their number."""
    if plan.guarantee.model not in ADDS_UP:
        return  # their gates are judged on the output
    known = foretold(mechanism_of(plan.params).settled_facts(plan.params, plan.declared, records))
    for gate in plan.gates:
        if gate.measure in known:
            what, value = known[gate.measure]
            if not gate.holds(value):
                yield Fault(f"gates.{gate.measure}", gate.rule, _REMEDY[gate.measure].format(what), f"{value:.4g}")
