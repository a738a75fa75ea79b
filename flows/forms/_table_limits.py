"""The limits of a table that is asked for in the form: they stand in the data description, for each model.

    tables:
      k_anon: {k: 3, gates: [{measure: smallest_frequency, min: 3}, {measure: largest_share, max: 0.5}]}
      dp:     {gates: [{measure: privacy_loss, max: 1}]}

Whoever answers for the data writes them; whoever fills in the form chooses among what they allow. A model without an
entry cannot be chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.mechanisms.refusal import Fault, SpecRefused

__all__ = ["SECTION", "TableLimits", "limits_of"]

SECTION = "tables"
_MODELS = ("dp", "k_anon", "bdp", "idp")
# They judge totals; in a table that shows none there is nothing for them to judge.
_OF_TOTALS = frozenset({"largest_share", "two_largest_share", "p_percent"})


@dataclass(frozen=True, slots=True)
class TableLimits:
    """The threshold, under k_anon, and the gates of a table, as its spec has them.

    places: the place of each gate in the description.
    """

    settings: Mapping[str, Any]
    gates: tuple[Any, ...]
    places: tuple[str, ...]


def limits_of(description: Mapping[str, Any], model: str, *, totals: bool) -> TableLimits:
    """Return what the description says of tables under this model; refuse if it says nothing. totals: any is shown."""
    section = description.get(SECTION, {})
    if not isinstance(section, Mapping) or not section.keys() <= set(_MODELS):
        raise SpecRefused.at(
            f"data.{SECTION}", rule=f"must have limits by model: {', '.join(_MODELS)}", remedy="Correct it."
        )
    place, entry = f"data.{SECTION}.{model}", section.get(model)
    if entry is None:
        raise SpecRefused.at(
            place,
            rule="must be set in the data description before such a table can be asked for",
            remedy="Choose another protection, or have whoever answers for the data write them.",
        )
    allowed = {"gates", "k"} if model == "k_anon" else {"gates"}
    if not isinstance(entry, Mapping) or not entry.keys() <= allowed:
        raise SpecRefused.at(
            place, rule=f"must have {' and '.join(sorted(allowed))}, no other key", remedy="Correct it."
        )
    gates = entry.get("gates")
    if not isinstance(gates, list) or not gates:
        raise SpecRefused.at(
            f"{place}.gates", rule="must list at least one gate", remedy="List the gates of such tables."
        )
    kept = {f"{place}.gates.{number}": gate for number, gate in enumerate(gates) if totals or not _judges_totals(gate)}
    SpecRefused.raise_for(_unjudged(place) if not kept else ())
    settings = {name: value for name, value in entry.items() if name != "gates"}
    return TableLimits(settings, tuple(kept.values()), tuple(kept))


def _judges_totals(gate: object) -> bool:
    return isinstance(gate, Mapping) and gate.get("measure") in _OF_TOTALS


def _unjudged(place: str) -> list[Fault]:
    rule = "must include a gate that judges something other than totals: the table shows none"
    return [Fault(f"{place}.gates", rule, "Show a sum or a mean, or have a gate of counts added.")]
