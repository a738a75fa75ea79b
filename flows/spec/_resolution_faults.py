"""Columns that have a resolution in place of a domain, which few outputs can do with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from penstock.mechanisms.columns import Column
from penstock.mechanisms.refusal import Fault
from penstock.mechanisms.registry import AnyParams, mechanism_of

__all__ = ["resolution_faults"]


def resolution_faults(chosen: AnyParams, settings: AnyParams, declared: Mapping[str, Column]) -> Iterator[Fault]:
    """Yield the columns of an output that need a domain; its settings must be without other faults.

    Cells need one of the columns that they are about only, records and groups of all.
    """
    mechanism = mechanism_of(chosen)
    if mechanism.takes_resolution(settings):
        return
    counted = mechanism.counted(settings, declared)
    idp = " or idp, sizes public" if chosen.mechanism == "statistics" else ""
    exception = f", except under bdp{idp}: scales follow it" if mechanism.spends(settings) else ", which needs one"
    for name, column in declared.items():
        if column.resolution is not None and name in counted:
            rule = f"must not stand in place of a domain for {chosen.mechanism}{exception}"
            remedy = "Declare the domain from public knowledge."
            yield Fault(f"columns.{name}.resolution", rule, remedy, str(column.resolution))
