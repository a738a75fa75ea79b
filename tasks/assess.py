"""Assess: re-check the promise on the staged file, measure risk and utility, decide at the gates."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.measures.cells.measures import judge_table, table_measure_names
from penstock.measures.cells.output import TableOutput
from penstock.measures.checks import Check
from penstock.measures.clamping import Clamped, clamped_columns, clamped_totals
from penstock.measures.gates import Decision, GateResult, decide
from penstock.measures.groups.measures import bucket_measure_names, judge_buckets
from penstock.measures.groups.output import BucketOutput
from penstock.measures.measurement import Measurement, MeasureUndefined
from penstock.measures.recheck import recheck, recheck_buckets, recheck_table
from penstock.measures.records.comparison import Comparison, compare
from penstock.measures.registry import judge, public_measures, record_measure_names
from penstock.mechanisms.columns import Columns
from penstock.mechanisms.mechanism import Kind
from penstock.mechanisms.models import ADDS_UP
from penstock.mechanisms.registry import mechanism_of
from penstock.tasks.files.columns import load_columns, read_release
from penstock.tasks.files.linked import read_linked
from penstock.tasks.files.tables import read_table
from penstock.tasks.ingest import Ingested
from penstock.tasks.overlaps import differencing
from penstock.tasks.parts.assess import judge_columns
from penstock.tasks.parts.cells import counted_again
from penstock.tasks.protect import Staged
from penstock.tasks.run.job import Job
from penstock.tasks.run.step import step

__all__ = ["assess"]

# Linkage searches every record's neighbourhood; it runs where a gate asks for it. Under noise it ends early, and no
# gate may ask for it where promises add up.
_ONLY_IF_GATED = frozenset({"record_linkage"})
# Associations between a masked and an unchanged column change too, so this one sees all columns.
_OVER_ALL_COLUMNS = frozenset({"correlation_change"})

Judge = Callable[[str], Measurement]
Judgement = tuple[Sequence[Check], Judge, list[str], Sequence[Clamped]]


@step("assess")
def assess(job: Job, source: Ingested, staged: Staged) -> Decision:
    """Every check and every gate runs; the decision and all values stay on the confidential side."""
    checks, take, wanted, clamped = _JUDGED[mechanism_of(job.plan.params).kind](job, source, staged)
    gated = {gate.measure for gate in job.plan.gates}
    measured: dict[str, Measurement] = {}
    undefined: list[str] = []
    for name in wanted:
        try:
            measured[name] = take(name)
        except MeasureUndefined:
            if name in gated:
                raise
            undefined.append(name)
    decision = _with(decide(job.plan.gates, measured, checks), differencing(job))
    assessment = {
        "records": staged.records,
        "decision": decision.as_dict(),
        "checks": [check.as_dict() for check in checks],
        "measurements": [measurement.as_dict() for measurement in measured.values()],
        "undefined": undefined,
        "clamped": [column.as_dict() for column in clamped],
    }
    if not job.is_staged:
        job.run.path("assessment.json").write_text(json.dumps(assessment, indent=2), encoding="utf-8")
    return decision


def _judged_records(job: Job, source: Ingested, staged: Staged) -> Judgement:
    """The checks of released records, how to measure them, by what, and which values were clamped."""
    plan = job.plan
    gated = {gate.measure for gate in plan.gates}
    left_out = frozenset() if plan.guarantee.model in ADDS_UP else _ONLY_IF_GATED | public_measures()
    wanted = [name for name in record_measure_names() if name in gated or name not in left_out]
    if source.parts:
        data, hidden, scratch = staged.data, staged.secrets, job.run.path("scratch")
        checks, take = judge_columns(
            source.parts, staged.declared, plan.guarantee, staged.masked, data, hidden, scratch, plan.address
        )
        return checks, take, wanted, ()  # a column that is swapped is never clamped
    secrets = load_columns(staged.secrets)
    origin, kept = secrets.pop("origin"), secrets.pop("kept", None)
    places = origin if kept is None else np.searchsorted(kept, origin)  # among the rows that were used
    original = load_columns(source.folder, kept)  # a released list of categories begins with the declared ones
    released = read_release(staged.data, staged.declared, places)
    groups = _named(secrets, "group ")
    checks = recheck(original, released, staged.declared, plan.guarantee, staged.masked, groups, staged.settled)

    def compared(columns: Columns) -> Comparison:
        return compare(
            original,
            columns,
            staged.declared,
            groups,
            settled=staged.settled,
            aligned=plan.guarantee.parameters.get("mode") != "marginals",
            permuted=plan.guarantee.model == "prob_k",
        )

    everything, masked = compared(released), compared({name: released[name] for name in staged.masked})
    clamped = clamped_columns(original, plan.data_columns, staged.masked)
    return checks, lambda name: judge(name, everything if name in _OVER_ALL_COLUMNS else masked), wanted, clamped


def _judged_groups(job: Job, source: Ingested, staged: Staged) -> Judgement:
    """The checks of groups of records and of what is told of each, how to measure them, and by what."""
    plan = job.plan
    secrets = load_columns(staged.secrets)
    output = BucketOutput(
        original=load_columns(source.folder),
        source=plan.data_columns,
        released=read_release(staged.data, staged.declared, secrets["origin"]),
        declared=staged.declared,
        linked={table.name: read_linked(table) for table in staged.linked},
        guarantee=plan.guarantee,
        groups=_named(secrets, "group "),
        buckets=_named(secrets, "hidden bucket "),
        settled=staged.settled,
        records=staged.records,
    )
    return recheck_buckets(output), lambda name: judge_buckets(name, output), list(bucket_measure_names()), ()


def _judged_table(job: Job, source: Ingested, staged: Staged) -> Judgement:
    """The checks of a released table, how to measure it, by what, and which values were clamped."""
    plan, layout = job.plan, job.plan.table
    hidden = load_columns(staged.secrets)
    kept = hidden.pop("kept", None)
    output = TableOutput(
        original={} if source.parts else load_columns(source.folder, kept),
        declared=plan.data_columns,
        layout=layout,
        released=read_table(staged.data, layout),
        guarantee=plan.guarantee,
        settled=staged.settled,
        hidden=hidden,
    )
    if source.parts:
        output = counted_again(source.parts, output, plan.address)
    left_out = frozenset() if plan.guarantee.model in ADDS_UP else public_measures()
    wanted = _without(table_measure_names(), left_out)
    return recheck_table(output), lambda name: judge_table(name, output), wanted, clamped_totals(output)


_JUDGED: dict[Kind, Callable[[Job, Ingested, Staged], Judgement]] = {
    "records": _judged_records,
    "groups": _judged_groups,
    "cells": _judged_table,
}


def _named(secrets: Mapping[str, NDArray[Any]], kind: str) -> dict[str, NDArray[Any]]:
    return {name.removeprefix(kind): values for name, values in secrets.items() if name.startswith(kind)}


def _without(names: Iterable[str], left_out: frozenset[str]) -> list[str]:
    return [name for name in names if name not in left_out]


def _with(decision: Decision, result: GateResult | None) -> Decision:
    if result is None:
        return decision
    return Decision(max(decision.verdict, result.verdict), (*decision.results, result))
