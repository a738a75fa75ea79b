"""What is wrong with the unit of a spec: whose records are protected together, and how many of each are used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from penstock.mechanisms.columns import Column
from penstock.mechanisms.refusal import Fault
from penstock.mechanisms.registry import AnyParams, mechanism_of

__all__ = ["unit_faults"]


def unit_faults(unit: object, columns: Mapping[str, Column], params: Mapping[int, AnyParams]) -> Iterator[Fault]:
    """Yield the faults of source.unit, and of what each entry in protect says of units."""
    if not isinstance(unit, str):
        return
    for place, chosen in params.items():
        field = f"protect.{place}.rows_per_unit"
        most = getattr(chosen, "rows_per_unit", None)
        if mechanism_of(chosen).counts_units(chosen):
            yield from _contributor_faults(unit, chosen, place)
            continue
        if not mechanism_of(chosen).takes_units(chosen):
            if unit != "row":
                named = f"{chosen.mechanism} under {chosen.model}" if hasattr(chosen, "model") else chosen.mechanism
                rule = f"must be row: {named} protects rows, and a unit with several has no guarantee"
                yield Fault("source.unit", rule, "Prepare one row per unit and set unit: row.", repr(unit))
                return
        elif unit == "row" and most is not None:
            remedy = "Remove it, or name the column that tells whose record it is in source.unit."
            yield Fault(field, "must not be given where the unit is a row", remedy, str(most))
        elif unit != "row" and most is None:
            rule = "must be given where a unit may have several records"
            yield Fault(field, rule, f"Set how many records of each {unit} may be used at most.")
    if unit != "row" and (unit not in columns or columns[unit].role != "identifier"):
        rule = "must be row, or a declared column with role identifier"
        yield Fault("source.unit", rule, "Declare the column that tells whose record it is.", repr(unit))


def _contributor_faults(unit: str, chosen: AnyParams, place: int) -> Iterator[Fault]:
    """Yield a fault where an entry says of contributors what source.unit does not; rows_per_unit is its mechanism's."""
    given = getattr(chosen, "contributors", None)
    if given is not None and given != unit:
        remedy = "Remove it, and name the column that tells whose record it is in source.unit."
        yield Fault(f"protect.{place}.contributors", "must be source.unit, from which it is taken", remedy, repr(given))
