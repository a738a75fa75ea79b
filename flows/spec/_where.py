"""Which records a release is about: conditions in the language of questions, on declared columns.

Under differential privacy they are allowed where a record more or less is hidden. Proof. Leaving out the records that
do not satisfy a public condition maps two data sets that differ in one record to two that differ in at most one; so
what is promised for one record added or removed holds of the records that are left. Their number is not public then, so
a promise that takes it as public, such as that for a replaced record, does not hold of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from penstock.flows.query_text import QueryRefused, parse_conditions
from penstock.mechanisms.columns import Column
from penstock.mechanisms.questions import MOST_CONDITIONS, Condition, condition_faults
from penstock.mechanisms.refusal import Fault
from penstock.mechanisms.registry import AnyParams, mechanism_of

__all__ = ["conditions_of", "where_faults"]

_FIELD = "source.where"


def conditions_of(where: str) -> tuple[Condition, ...]:
    """Return the conditions in a text that was found to be without fault."""
    return tuple(Condition.model_validate(each) for each in parse_conditions(where, _FIELD))


def where_faults(
    where: str, columns: Mapping[str, Column], params: Mapping[int, AnyParams], *, in_parts: bool
) -> Iterator[Fault]:
    """Yield every reason why records cannot be chosen like this."""
    try:
        conditions = conditions_of(where)
    except QueryRefused as refused:
        yield from refused.faults
        return
    if len(conditions) > MOST_CONDITIONS:
        rule = f"must have at most {MOST_CONDITIONS} conditions"
        yield Fault(_FIELD, rule, "Choose by fewer.", str(len(conditions)))
        return
    for condition in conditions:
        for fault in condition_faults(condition, columns, _FIELD):
            yield replace(fault, field=f"{_FIELD}.{condition.column}")
    if in_parts:
        rule = "must not be given where the source is read in parts: records are chosen where all of them are held"
        yield Fault(_FIELD, rule, "Leave run out, or prepare a file of these records.")
    for place, chosen in params.items():
        strata = getattr(getattr(chosen, "weight", None), "strata", None)
        if strata is not None:
            rule = "must not be given with source.where: how many were sampled in a stratum is counted in all records"
            yield Fault(f"protect.{place}.weight.strata", rule, "Take what chooses them as a dimension.", repr(strata))
        model, adjacency = getattr(chosen, "model", "dp"), getattr(chosen, "adjacency", None)
        if mechanism_of(chosen).spends(chosen) and (model, adjacency) != ("dp", "add_remove"):
            rule = f"must not be given under {model} {adjacency}, which takes the number of records as public"
            yield Fault(_FIELD, rule, "Release under dp with adjacency: add_remove, or leave it out.")
