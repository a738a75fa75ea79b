"""What a release in parts, on a cluster or under a memory limit, cannot do; refused before any row is read."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.measures.gates import Gate
from penstock.mechanisms.columns import Column
from penstock.mechanisms.mechanism import ByCell, ByColumn
from penstock.mechanisms.refusal import Fault
from penstock.mechanisms.registry import AnyParams, mechanism_of

__all__ = ["run_faults"]

# They look at pairs of records, which lie in different parts.
_BETWEEN_RECORDS = frozenset({"record_linkage"})


def run_faults(
    asked: str,
    memory: int | None,
    unit: str,
    columns: Mapping[str, Column],
    suite: str | None,
    params: Mapping[int, AnyParams],
    gates: Mapping[int, Gate],
) -> list[Fault]:
    """asked: the setting of `run` that asks for parts."""
    field, local = f"run.{asked}", "Remove it, or choose ir_swap or a table."
    faults: list[Fault] = []
    for place, chosen in params.items():
        in_parts = mechanism_of(chosen).in_parts
        if isinstance(in_parts, ByCell):
            if memory is not None and in_parts.memory(chosen, columns) > memory:
                rule = "the cells of the table alone take more"
                faults.append(Fault("run.memory", rule, "Allow more, or take fewer dimensions.", str(memory)))
            continue
        reason: str | None = f"{chosen.mechanism} looks at all records together, not at parts or single columns"
        if isinstance(in_parts, ByColumn):
            reason = in_parts.needs_all(chosen)
        if reason is not None:
            faults.append(Fault(field, reason, local, f"protect.{place}"))
    if unit != "row":
        rule = "the records of a unit may lie in different parts"
        faults.append(Fault(field, rule, "Prepare one row per unit, or remove it.", f"source.unit {unit}"))
    if suite is not None:
        rule = "a suite of your own may ask about all records together; only what the columns imply is checked in parts"
        faults.append(Fault(field, rule, "Remove the suite, or this setting.", "validate.suite"))
    for gate in gates.values():
        if gate.measure in _BETWEEN_RECORDS:
            rule = "compares records that lie in different parts"
            faults.append(Fault(field, rule, "Remove the gate, or this setting.", gate.measure))
    return faults
