"""The preview of a release, as `penstock plan` shows it: what it promises, what to expect, what it costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypedDict

from penstock.flows.planning import draw_up_plan
from penstock.flows.spec import ReleaseSpec
from penstock.measures.gates import GateRefused
from penstock.measures.possible import faults_known_before, impossible
from penstock.measures.public_facts import known_before
from penstock.mechanisms.models import ADDS_UP
from penstock.mechanisms.refusal import Fault, TableEmpty, TooFewRecords
from penstock.mechanisms.registry import mechanism_of
from penstock.records.bundle.outside import require_outside
from penstock.records.files.addresses import is_address
from penstock.records.home import Home, login
from penstock.tasks.run.plan import Plan
from penstock.tasks.validation.expectations import described, whole_suite

__all__ = ["Preview", "examine", "preview"]

# Here a record may be added or removed, so the promise hides how many there are.
_SIZE_IS_SECRET = ("add_remove", "presence", "bootstrap_add_remove")


class Preview(TypedDict):
    """A release as it is known before it runs; every list holds sentences.

    guarantee: the promise, as the manifest will state it. records: how many there are, if they were counted.
    settled: what the mechanism chooses from public facts, as the manifest will state it; None if it leaves nothing open
    or the number of records is not known. publishes_to: the folder in which the bundle will appear.
    """

    name: str
    spec_digest: str
    guarantee: dict[str, Any]
    records: int | None
    records_are_public: bool
    settled: dict[str, Any] | None
    expect: list[str]
    validation: list[str]
    gates: list[str]
    cost: list[str]
    review: list[str]
    publishes_to: str


def examine(spec: ReleaseSpec) -> Plan:
    """Return the plan of a spec; refuse whatever a run would refuse before it starts because of what the spec says."""
    plan = draw_up_plan(spec)
    require_outside(plan.publish / plan.name, Home.located())
    whole_suite(plan.declared, plan.fewest, plan.suite, used=plan.used_columns)  # refuses a suite that cannot run
    GateRefused.raise_for(
        fault.of_output(each.output_name)
        for each in plan.outputs
        for fault in _refused(each, None, _chosen(each, None))
    )
    return plan


def preview(spec: ReleaseSpec, *, count: bool) -> Preview:
    """Return the plan as one document. Read the source's schema if it exists and, if asked, count its records.

    Where that number is secret, the document is for the confidential side and says so.
    """
    plan = examine(spec)
    expectations = whole_suite(plan.declared, plan.fewest, plan.suite, used=plan.used_columns)
    rows = None
    source = "The source does not exist yet; its columns were not checked."
    if is_address(plan.source) and not count:
        source = "The source is in an object store; with --count its columns are checked."
    elif count or Path(plan.source).exists():
        from penstock.tasks.files.source import count_rows, open_source  # pyarrow, and pandas with it

        dataset = open_source(plan.source, plan.declared, unit=plan.unit)
        source = "The source has every declared column in the declared type."
        rows = count_rows(dataset) if count else None
    public = "number of records" in plan.guarantee.public or plan.guarantee.adjacency not in _SIZE_IS_SECRET
    if rows is not None and not public:
        source += f" Its {rows:,} records were counted; that number is confidential and no part of the release."
    if plan.where:
        source += " How many of its records satisfy source.where is not counted."
    if rows == 0:
        raise TableEmpty.at("source.path", rule="must have at least one record", remedy="Check the source.")
    used = None if plan.where else rows
    chosen = _chosen(plan, used)
    GateRefused.raise_for(_refused(plan, used, chosen))
    return {
        "name": plan.name,
        "spec_digest": plan.spec_digest,
        "guarantee": plan.guarantee.model_dump(mode="json"),
        "records": rows,
        "records_are_public": public,
        "settled": chosen,
        "expect": [
            *_made(plan),
            *_used(plan, used),
            *mechanism_of(plan.params).expect(plan.params, plan.declared, used),
        ],
        "validation": list(described(expectations)),
        "gates": list(_gates(plan, chosen)),
        "cost": [*_cost(plan), source],
        "review": list(_review(plan)),
        "publishes_to": str(plan.publish / plan.name),
    }


def _chosen(plan: Plan, rows: int | None) -> dict[str, Any] | None:
    """Return what the mechanism would choose from public facts; None if it leaves nothing open, or they are unknown."""
    if rows is None and plan.output.needs_records:
        return None
    try:
        return mechanism_of(plan.params).chosen(plan.params, plan.declared, rows or 0) or None
    except TooFewRecords:
        return None  # the mechanism's own sentences say so


def _made(plan: Plan) -> Iterator[str]:
    """Yield which records a release is about, and what is made of its columns while they are read."""
    where = plan.spec["source"].get("where")
    if where is not None:
        yield f"It is about the records of which this holds: {where}."
    for name, column in plan.declared.items():
        if column.recode is not None:
            yield f"{name}: {column.recode.in_words}."


def _used(plan: Plan, rows: int | None) -> Iterator[str]:
    if plan.unit is None:  # where there is one, these settings take units
        return
    all_used = "" if rows is None else f"; what follows holds if all {rows:,} are used, and fewer have larger errors"
    all_used = all_used if plan.output.needs_records else ""
    most = plan.guarantee.parameters["rows_per_unit"]
    yield f"At most {most} records of each {plan.unit} are used, chosen at random{all_used}."
    yield f"Epsilon is the loss of whoever has one value of {plan.unit}: an account takes only releases by one column."


def _gates(plan: Plan, chosen: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield the limits, each with its value where that follows from public facts."""
    known = {} if chosen is None else known_before(chosen)
    for gate in plan.gates:
        if gate.measure in known:
            what, value = known[gate.measure]
            yield f"{gate.rule}: it will be {value:.4g} ({what})"
        else:
            yield gate.rule


def _refused(plan: Plan, rows: int | None, chosen: Mapping[str, Any] | None) -> Iterator[Fault]:
    """Yield a fault for each gate that a run would refuse whatever the records say, as far as can be seen from here."""
    if rows is not None:
        yield from impossible(dict(enumerate(plan.gates)), plan.params, plan.declared, rows)
    if chosen is not None:
        yield from faults_known_before(plan.gates, chosen)


def _cost(plan: Plan) -> Iterator[str]:
    claim = plan.claim("")
    epsilon = claim.epsilon
    where = f"data set {plan.dataset}" if plan.dataset is not None else "the digest of its source"
    if epsilon is None:
        yield f"Epsilon: none, the promise is not differential privacy. The release is registered under {where}."
        yield "Another release of the same records is refused unless its spec acknowledges this one by its id."
    else:
        part = "" if plan.part is None else f", part {plan.part[1]} of {plan.part[0]}"
        spent = f"Epsilon: {epsilon}" + (f", and delta: {claim.delta}," if claim.delta else "")
        yield f"{spent} of the {plan.guarantee.model} account of {where}{part}, whatever becomes of the run."


def _review(plan: Plan) -> Iterator[str]:
    rule = plan.rule
    if rule is None:
        yield "Nobody is asked; it is published when every gate passes."
        return
    who = ", ".join(rule.allowed)
    time = str(rule.within).removesuffix(", 0:00:00")
    yield f"{rule.reviewers} of {who} must approve within {time}; who starts the run does not count."
    left = [name for name in rule.allowed if name.casefold() != login().casefold()]
    if len(left) < rule.reviewers:
        yield f"Started by {login()}, it will be refused: too few others may approve."
    if plan.guarantee.model in ADDS_UP:
        yield "They must decide by what is public: a decision that the confidential data call for tells about them."
