"""What a release in parts, on a cluster or under a memory limit, cannot do; refused before any row is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.measures.gates import Gate
from penstock.measures.registry import MEASURES
from penstock.mechanisms.columns import Column
from penstock.mechanisms.mechanism import ByCell, ByColumn
from penstock.mechanisms.refusal import Fault
from penstock.mechanisms.registry import AnyParams, mechanism_of

__all__ = ["run_faults"]


def run_faults(
    asked: str,
    memory: int | None,
    unit: str,
    columns: Mapping[str, Column],
    suite: str | None,
    params: Mapping[int, AnyParams],
    gates: Iterable[Gate],
) -> list[Fault]:
    """Return what a release in parts cannot do. asked: the setting of `run` that asks for parts."""
    field, local = f"run.{asked}", "Remove it, or choose ir_swap or a table."
    faults: list[Fault] = []
    for place, chosen in params.items():
        if getattr(chosen, "file", None) is not None:
            rule = f"cannot be used with protect.{place}.file: linkage is measured over all records of a file"
            faults.append(Fault(field, rule, "Remove it, or the file."))
        in_parts = mechanism_of(chosen).in_parts
        reason: str | None = f"{chosen.mechanism} looks at all records together, not at parts or single columns"
        if isinstance(in_parts, ByCell) and memory is not None and in_parts.memory(chosen, columns) > memory:
            rule = "must be enough for the cells of the table"
            faults.append(Fault("run.memory", rule, "Allow more, or take fewer dimensions.", str(memory)))
        if isinstance(in_parts, ByColumn | ByCell):
            reason = in_parts.needs_all(chosen)
        if reason is not None:
            faults.append(Fault(field, f"cannot be used with protect.{place}: {reason}", local))
    if unit != "row":
        rule = f"cannot be used with source.unit {unit}: the records of a unit may lie in different parts"
        faults.append(Fault(field, rule, "Prepare one row per unit, or remove it."))
    if suite is not None:
        rule = "cannot be used with validate.suite, which may ask about all records together"
        faults.append(Fault(field, rule, "Remove the suite, or this setting."))
    for gate in gates:
        if MEASURES[gate.measure].between_records:
            rule = f"cannot be used with a gate on {gate.measure}, which compares records of different parts"
            faults.append(Fault(field, rule, "Remove the gate, or this setting."))
    return faults
