"""The preview of a release, as `penstock plan` shows it: what it promises, what to expect, what it costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from penstock.flows.account_left import account_left, home_records
from penstock.flows.planning import draw_up_plan
from penstock.flows.spec import ReleaseSpec
from penstock.measures.gates import GateRefused
from penstock.measures.possible import faults_known_before, impossible
from penstock.measures.public_facts import known_before
from penstock.measures.registry import MEASURES
from penstock.mechanisms.composition import counts_as, uncovered, why_not_together
from penstock.mechanisms.guarantee import Guarantee, includes
from penstock.mechanisms.models import ADDS_UP
from penstock.mechanisms.refusal import Fault, Kind, Refusal, TableEmpty, TooFewRecords
from penstock.mechanisms.registry import mechanism_of
from penstock.records.bundle.outside import require_outside
from penstock.records.files.addresses import is_address
from penstock.records.home import Home, login
from penstock.records.ledger.accounts import Claim
from penstock.tasks.editions import Edition, earlier_editions, edition_in_words
from penstock.tasks.foreseen import Known, what_is_known
from penstock.tasks.overlaps import outputs_beside
from penstock.tasks.run.plan import Plan
from penstock.tasks.validation.expectations import described, whole_suite

__all__ = ["OutputPreview", "Preview", "RefusalPreview", "TogetherPreview", "examine", "preview"]

# Here a record may be added or removed, so the promise hides how many there are.
_SIZE_IS_SECRET = ("add_remove", "presence", "from_D_add_remove", "bootstrap_add_remove")


class OutputPreview(TypedDict):
    """One of several outputs; settled, expect and gates as below, of it alone.

    promise: its guarantee on one line. may_be_left_out: whether the others are published if this one is refused.
    """

    name: str
    mechanism: str
    promise: str
    guarantee: dict[str, Any]
    settled: dict[str, Any] | None
    expect: list[str]
    gates: list[str]
    may_be_left_out: bool


class TogetherPreview(TypedDict):
    """What several outputs promise together, as the manifest will state it; in_words: the same in sentences. includes:
    the outputs of the sum of each model, where one includes outputs under another."""

    guarantees: list[dict[str, Any]]
    includes: NotRequired[dict[str, list[str]]]
    uncovered: list[str]
    in_words: list[str]


class RefusalPreview(TypedDict):
    """What a run would be refused for; kind: what callers should do next, as of every refusal."""

    code: str
    kind: Kind
    faults: list[dict[str, str]]


class Preview(TypedDict):
    """A release as it is known before it runs; every list holds sentences.

    guarantee: the promise, as the manifest will state it. records: how many there are, if they were counted.
    settled: what the mechanism chooses from public facts, as the manifest will state it; None if it leaves nothing open
    or the number of records is not known. publishes_to: the folder in which the bundle will appear.
    Of a release with several outputs guarantee, settled and gates stand in `outputs`, and `together` says what they
    promise together. edition: this one, and the period that it is about. earlier_editions: what was published of other
    states of the same data, as this home knows it.
    refusals: what a run would be refused for by the accounts and releases of this home, or for want of reviewers,
    before it reads any row; in its order.
    """

    name: str
    edition: NotRequired[str]
    spec_digest: str
    guarantee: NotRequired[dict[str, Any]]
    together: NotRequired[TogetherPreview]
    outputs: NotRequired[list[OutputPreview]]
    records: int | None
    records_are_public: bool
    settled: NotRequired[dict[str, Any] | None]
    expect: list[str]
    validation: list[str]
    gates: NotRequired[list[str]]
    cost: list[str]
    review: list[str]
    publishes_to: str
    earlier_editions: NotRequired[list[Edition]]
    refusals: NotRequired[list[RefusalPreview]]


def examine(spec: ReleaseSpec) -> Plan:
    """Return the plan of a spec; refuse whatever a run would refuse before it starts because of what the spec says."""
    plan = draw_up_plan(spec)
    require_outside(plan.series, Home.located())
    whole_suite(plan.declared, plan.fewest, plan.suite, used=plan.used_columns)  # refuses a suite that cannot run
    GateRefused.raise_for(_whole_refused(plan, None))
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
    public = all(_is_size_public(each.guarantee) for each in plan.outputs)
    if rows is not None and not public:
        source += f" Its {rows:,} records were counted; that number is confidential and no part of the release."
    if plan.where:
        source += " How many of its records satisfy source.where is not counted."
    if rows == 0:
        raise TableEmpty.at("source.path", rule="must have at least one record", remedy="Check the source.")
    used = None if plan.where else rows
    GateRefused.raise_for(_whole_refused(plan, used))
    home = home_records() if plan.spends or plan.edition is not None or plan.dataset is not None else None
    events = [] if home is None else home.log.events()
    earlier = earlier_editions(events, plan)
    known = what_is_known(plan, Home.located(), None if home is None else home.ledger, events, again=False)
    planned: Preview = {
        "name": plan.name,
        "spec_digest": plan.spec_digest,
        "records": rows,
        "records_are_public": public,
        "expect": list(_made(plan)),
        "validation": list(described(expectations)),
        "cost": [*_cost(plan, known), *account_left(plan, home), *_free(plan, known), source],
        "review": list(_review(plan, known)),
        "publishes_to": str(plan.folder),
    }
    if plan.edition is not None:
        planned["edition"] = edition_in_words(plan.edition)
    if earlier:
        planned["earlier_editions"] = earlier
    if known.refusals:
        planned["refusals"] = [_refusal(each) for each in known.refusals]
    if plan.is_of_several:
        planned["outputs"] = [_output(each, used) for each in plan.outputs]
        planned["together"] = _together(plan)
        return planned
    chosen = _chosen(plan, used)
    planned["guarantee"], planned["settled"] = plan.guarantee.model_dump(mode="json"), chosen
    planned["expect"] += _expected(plan, used)
    planned["gates"] = list(_gates(plan, chosen))
    return planned


def _refusal(refusal: Refusal) -> RefusalPreview:
    return {"code": refusal.code, "kind": refusal.kind, "faults": [asdict(fault) for fault in refusal.faults]}


def _output(plan: Plan, rows: int | None) -> OutputPreview:
    """Return the preview of one of several outputs."""
    chosen = _chosen(plan, rows)
    left_out = _refused(plan, rows, chosen) if plan.may_be_left_out else ()
    return {
        "name": str(plan.output_name),
        "mechanism": plan.params.mechanism,
        "promise": plan.guarantee.in_short,
        "guarantee": plan.guarantee.model_dump(mode="json"),
        "settled": chosen,
        "expect": [*_expected(plan, rows), *(f"It will be left out: {fault}" for fault in left_out)],
        "gates": list(_gates(plan, chosen)),
        "may_be_left_out": plan.may_be_left_out,
    }


def _together(plan: Plan) -> TogetherPreview:
    included = includes({str(each.name): each.guarantee for each in plan.entries})
    stated: TogetherPreview = {
        "guarantees": [each.model_dump(mode="json") for each in plan.promises],
        "uncovered": list(uncovered({str(each.name): each.guarantee.model for each in plan.entries})),
        "in_words": list(plan.together),
    }
    if included:
        stated["includes"] = included
    return stated


def _is_size_public(guarantee: Guarantee) -> bool:
    return "number of records" in guarantee.public or guarantee.adjacency not in _SIZE_IS_SECRET


def _expected(plan: Plan, rows: int | None) -> list[str]:
    """Return what to expect of one output."""
    return [*_used(plan, rows), *mechanism_of(plan.params).expect(plan.params, plan.declared, rows)]


def _whole_refused(plan: Plan, rows: int | None) -> Iterator[Fault]:
    """Yield the faults of every output without which there is no release; of each, where all would be left out."""
    faults = {each.output_name: [*_refused(each, rows, _chosen(each, rows))] for each in plan.outputs}
    for each in plan.outputs:
        if not each.may_be_left_out or all(faults.values()):
            for fault in faults[each.output_name]:
                yield fault.of_output(each.output_name)


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
    if mechanism_of(plan.params).counts_units(plan.params):
        yield f"Each contributor ({plan.unit}) counts once in a cell, however many records it has there."
        return
    all_used = "" if rows is None else f"; what follows holds if all {rows:,} are used, and fewer have larger errors"
    all_used = all_used if plan.output.needs_records else ""
    most = plan.guarantee.parameters["rows_per_unit"]
    are = "record of each {} is" if most == 1 else "records of each {} are"
    yield f"At most {most:,} {are.format(plan.unit)} used, chosen at random{all_used}."
    yield (
        f"Epsilon is the loss of whoever has one value of {plan.unit}: every release on this account must identify "
        f"individuals by {plan.unit}."
    )


def _gates(plan: Plan, chosen: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield the limits, each with its value where that follows from public facts."""
    known = {} if chosen is None else known_before(chosen)
    for gate in plan.gates:
        if gate.measure in known:
            what, value = known[gate.measure]
            what = what if plan.output_name is None else what.replace("the whole release", "this output")
            yield f"{gate.rule}: it will be {value:.4g} ({what})"
        else:
            work = MEASURES[gate.measure].work
            yield f"{gate.rule}; {work}" if work else gate.rule


def _refused(plan: Plan, rows: int | None, chosen: Mapping[str, Any] | None) -> Iterator[Fault]:
    """Yield a fault for each gate that a run would refuse whatever the records say, as far as can be seen from here."""
    if rows is not None:
        yield from impossible(dict(enumerate(plan.gates)), plan.params, plan.declared, rows)
    if chosen is not None:
        yield from faults_known_before(plan.gates, chosen)


def _cost(plan: Plan, known: Known) -> Iterator[str]:
    claims = {each.output_name: each.claim("") for each in plan.outputs}
    where = f"data set {plan.dataset}" if plan.dataset is not None else "the digest of its source"
    part = "" if plan.part is None else f", part {plan.part[1]} of {plan.part[0]}"
    for promise in plan.promises:
        if promise.model not in ADDS_UP:
            continue
        charged = {name: claim for name, claim in claims.items() if claim.model in (promise.model, "dp")}
        delta = Fraction(promise.parameters.get("delta", 0))
        may_cost_less = {*known.drawn, *(each.output_name for each in plan.outputs if each.may_be_left_out)}
        most = "at most " if any(name in may_cost_less for name in charged) else ""
        spent = f"Epsilon: {most}{promise.parameters['epsilon']}" + (f", and delta: {delta}," if delta else "")
        each = (
            ", ".join(_counted(name, claim, promise) for name, claim in charged.items()) if plan.is_of_several else ""
        )
        account = f"the {promise.model} account of {where}{part}"
        yield f"{spent} of {account}, whatever becomes of the run{each and f': {each}'}."
    others = [name for name, claim in claims.items() if claim.epsilon is None]
    if others:
        what = f" for {', '.join(map(str, others))}" if plan.is_of_several else ""
        yield f"Epsilon: none{what}, the promise is not differential privacy. The release is registered under {where}."
        yield "Another release of the same records is refused unless its spec acknowledges this one by its id."


def _free(plan: Plan, known: Known) -> Iterator[str]:
    """Yield what comes back without being drawn again, if the records are the same."""
    if known.drawn:
        what = ", ".join(map(str, known.drawn)) if plan.is_of_several else "This table"
        yield (
            f"Drawn before: {what}. From the same records the same figures come back, with the same noise and free of "
            "charge; whether the records are the same is known only once they are read."
        )
    if known.published is not None:
        yield f"This spec was published before, by run {known.published}: from the same source its receipt comes back."
    if known.open is not None:
        yield f"Run {known.open} of this spec has not ended: the next run goes on there, with what it has reserved."


def _counted(name: str | None, claim: Claim, total: Guarantee) -> str:
    """Return what one output adds to a sum."""
    word, model = total.adjacency, total.model
    times = 1 if claim.model == model else counts_as(claim.model, claim.adjacency, in_model=model, in_adjacency=word)
    often = "" if times == 1 else f" counted {times} times"
    return f"{name} {claim.epsilon}{often}"


def _shared(plan: Plan) -> Iterator[str]:
    """Yield what reviewers must look at: outputs of which one could be subtracted from another, and no sum covers
    both."""
    claims = [each.claim("") for each in plan.outputs]
    for place, first in enumerate(claims):
        for second in outputs_beside(first, claims[place + 1 :]):
            reason = why_not_together(second.model, first.model, of_one_data_set=True)
            if reason is not None:
                columns = ", ".join(second.shares_with(first))
                yield f"{first.output} and {second.output} share {columns}, so a reviewer must look: {reason}."


def _review(plan: Plan, known: Known) -> Iterator[str]:
    rule = plan.rule
    shared = list(_shared(plan))
    yield from shared
    if rule is None and shared:
        yield "Nobody is asked, so it will be refused: name reviewers in approve."
        return
    if rule is None and known.refusals:
        yield "Nobody is asked."
        return
    if rule is None:
        yield "Nobody is asked; it is published when every gate passes."
        return
    who = ", ".join(rule.allowed)
    time = str(rule.within).removesuffix(", 0:00:00")
    yield f"{rule.reviewers} of {who} must approve within {time}; who starts the run does not count."
    left = [name for name in rule.allowed if name.casefold() != login().casefold()]
    if len(left) < rule.reviewers:
        yield f"Started by {login()}, it will be refused: too few others may approve."
    if plan.spends:
        yield "They must decide by what is public: a decision that the confidential data call for tells about them."
