"""Gates that no release could keep, found before anything is drawn.

Each mechanism says what a measure can come to under given settings (`Mechanism.possible`); what it can come to under
all settings is in the table of measures (`Measure.possible`); privacy_loss is epsilon.

A gate outside of these would refuse every release, after it was drawn; and so would a gate on a measure that has no
value, because what it speaks of was not done. Limits: what is possible for some data need not be for these.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from penstock.measures.asked import NOTHING, Asked
from penstock.measures.gates import Gate
from penstock.measures.public_facts import known_before
from penstock.measures.registry import MEASURES
from penstock.mechanisms.columns import Declared
from penstock.mechanisms.numbers.rounding import not_below
from penstock.mechanisms.possible import ABOVE_0, ANY, Possible, Undefined
from penstock.mechanisms.refusal import Fault
from penstock.mechanisms.registry import AnyParams, mechanism_of

__all__ = ["faults_known_before", "impossible", "possible", "unfit"]


def impossible(
    gates: Mapping[int, Gate], params: AnyParams, declared: Declared, records: int | None = None
) -> Iterator[Fault]:
    """Yield a fault for every gate that no release with these settings, and records where given, could keep."""
    misfits = list(unfit(gates, declared, mechanism_of(params).masks(params, declared)))
    if misfits:  # otherwise nobody can say what is possible
        yield from misfits
        return
    for place, gate in gates.items():
        found, name = possible(gate.measure, params, declared, records, gate), gate.measure
        if isinstance(found, Undefined):
            rule = f"needs {found.needs}, so it has no value here"
            yield Fault(f"gates.{place}.measure", rule, "Gate on another measure.", repr(name))
            continue
        because = f", because of {found.because}" if found.because else ""
        if gate.max is not None and gate.max < found.low:
            least = "is always above 0" if found.low == ABOVE_0 else f"is never below {found.low:.5g}"
            rule = f"must allow what can happen: {name} {least}{because}"
            yield Fault(f"gates.{place}.max", rule, "Raise it, or change the settings.", repr(gate.max))
        if gate.min is not None and gate.min > found.high:
            rule = f"must allow what can happen: {name} is never above {found.high:.5g}{because}"
            yield Fault(f"gates.{place}.min", rule, "Lower it, or change the settings.", repr(gate.min))


def unfit(gates: Mapping[int, Gate], declared: Declared, masked: Collection[str] | None = None) -> Iterator[Fault]:
    """Yield a fault for every gate that asks what the columns that it judges have no answer to. masked: those that are
    changed, if not all are."""
    for place, gate in gates.items():
        chosen = MEASURES[gate.measure]
        judged = declared if chosen.over_all_columns or masked is None else {name: declared[name] for name in masked}
        for fault in chosen.unfit(gate, judged):
            yield replace(fault, field=f"gates.{place}.{fault.field}")


def faults_known_before(gates: Iterable[Gate], chosen: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield a fault for every gate on a public measure that these facts do not decide, or decide and do not keep."""
    known = known_before(chosen)
    for gate in gates:
        if gate.measure not in known:
            if MEASURES[gate.measure].public:
                rule = "needs a value that follows from these settings, and there is none"
                yield Fault(f"gates.{gate.measure}", rule, "Gate on another measure.")
        elif not gate.holds(known[gate.measure][1]):
            what, value = known[gate.measure]
            remedy = "Raise the limit, or spend more epsilon."
            if gate.measure == "privacy_loss":
                remedy = "Spend less, or raise the limit."
            limit = gate.max if gate.max is not None and value > gate.max else gate.min
            rule = f"must allow {value:.4g} for {what}, which follows from these settings"
            yield Fault(f"gates.{gate.measure}", rule, remedy, str(limit))


def possible(
    name: str, params: AnyParams, declared: Declared, records: int | None = None, asked: Asked = NOTHING
) -> Possible | Undefined:
    """Return what this measure can come to; params must fit the declared columns. asked: the settings of the measure;
    mechanisms bound what it is without them."""
    if asked.said and mechanism_of(params).kind != "groups":
        return MEASURES[name].possible
    if name == "privacy_loss":
        epsilon = getattr(params, "epsilon", None)
        loss = not_below(epsilon) if epsilon is not None else 0.0
        return Possible(loss, loss if epsilon is not None else ANY, f"epsilon = {epsilon}" if epsilon else "")
    found = mechanism_of(params).possible(name, params, declared, records)
    return found or MEASURES[name].possible
