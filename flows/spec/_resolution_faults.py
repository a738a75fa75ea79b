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
    about = frozenset(declared)
    if mechanism.layout is not None:
        about = frozenset(str(figure.column) for figure in mechanism.layout(settings, declared).figures)
    for name, column in declared.items():
        if column.resolution is not None and name in about:
            idp = " or idp, sizes public" if chosen.mechanism == "statistics" else ""
            kind = chosen.mechanism
            rule = f"must not stand in place of a domain for {kind}, except under bdp{idp}: scales follow it"
            if mechanism.layout is None:
                rule = f"must not stand in place of a domain for {chosen.mechanism}, which needs one"
            remedy = "Declare the domain from public knowledge."
            yield Fault(f"columns.{name}.resolution", rule, remedy, str(column.resolution))
