"""What a release in parts, on a cluster or under a memory limit, cannot do; refused before any row is read."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from measures.gates import Gate
from mechanisms import probabilistic_k_anonymity, table
from mechanisms.columns import Column
from mechanisms.refusal import Fault
from mechanisms.registry import AnyParams

__all__ = ["run_faults"]

# The cells of a table are held several times: by the mechanism, by the re-check, and once more while parts are added.
_BYTES_A_CELL = 400
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
        if isinstance(chosen, table.Params):
            cells = prod(len(columns[name].categories or ()) for name in chosen.dimensions if name in columns)
            if memory is not None and cells * _BYTES_A_CELL * (1 + len({*chosen.sums, *chosen.means})) > memory:
                rule = "the cells of the table alone take more"
                faults.append(Fault("run.memory", rule, "Allow more, or take fewer dimensions.", str(memory)))
        elif not isinstance(chosen, probabilistic_k_anonymity.Params):
            rule = f"{chosen.mechanism} looks at all records together, not at parts or single columns"
            faults.append(Fault(field, rule, local, f"protect.{place}"))
        elif chosen.method != "ir_swap":
            rule = f"{chosen.method} forms groups of whole records, which needs all of them together"
            faults.append(Fault(field, rule, local, f"protect.{place}"))
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
