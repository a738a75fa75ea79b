"""The fields of the form of a table: which of them a fault of the spec is about, that the form and the data description
made together.

Where several tables are asked for, the name of the table comes first: `ages.dimensions`, as in the refusal of a gate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from penstock.flows.forms._table_limits import SECTION
from penstock.mechanisms.refusal import Fault

__all__ = ["in_the_form"]

# The keys of an entry in protect, and the fields of the form that fill them.
_OF_A_TABLE = {
    "name": "table",
    "table": "table",
    "dimensions": "dimensions",
    "count": "count",
    "sums": "sums",
    "means": "means",
    "margins": "totals",
    "acknowledges": "protection.acknowledged",
    "": "protection",
}
_ELSEWHERE = {
    "publish.formats": "formats",
    "approve.reviewers": "reviewers",
    "approve.allowed": "reviewer_names",
}


def in_the_form(fault: Fault, names: Sequence[str], gates: Sequence[Sequence[str]]) -> Fault:
    """Return the same fault, at the field where it can be mended: one of the form, or one of the data description.

    names: of the tables. gates: of each table, the place of each of its gates in the description.
    """
    places = dict(_places(names, gates))
    for place in sorted(places, key=len, reverse=True):  # the nearest one
        if fault.field == place or fault.field.startswith(f"{place}."):
            return replace(fault, field=places[place] + fault.field.removeprefix(place))
    return replace(fault, field=f"data.{fault.field}")


def _places(names: Sequence[str], gates: Sequence[Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Yield each place in the spec that the form fills, and its field."""
    yield from _ELSEWHERE.items()
    yield "protect", "more_tables"
    alone = len(names) == 1
    yield "budget.acknowledges", "earlier_releases" if alone else "not_covered_together"
    for number, before in enumerate(_told_apart(names)):
        entry, own = f"protect.{number}", "" if alone else f"{before}."
        for key, field in _OF_A_TABLE.items():
            yield f"{entry}.{key}".removesuffix("."), f"{own}{field}"
        yield f"{entry}.k", f"data.{SECTION}.k_anon.k"
        for gate, place in enumerate(gates[number]):
            yield f"gates.{gate}" if alone else f"{entry}.gates.{gate}", place


def _told_apart(names: Sequence[str]) -> list[str]:
    """Return the names, with a number where one is given twice."""
    count: Mapping[str, int] = Counter(names)
    return [name if count[name] == 1 else f"{name} ({place})" for place, name in enumerate(names, start=1)]
