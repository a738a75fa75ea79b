"""Releases that share columns with this one: found when the cost is reserved, looked at together at the gates.

Which releases they are, under which models, is public, and so is the verdict: where a sum of epsilons covers a pair
it passes, in whichever order the two came out, and elsewhere a person must look.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock.measures.gates import GateRefused, GateResult, Verdict
from penstock.mechanisms.composition import TOGETHER, why_not_together
from penstock.records.log.actions import Action

if TYPE_CHECKING:  # a plan loads neither Prefect nor a database for this
    from penstock.records.ledger.accounts import Claim
    from penstock.records.ledger.ledger import Ledger
    from penstock.tasks.run.job import Job
    from penstock.tasks.run.plan import Plan

__all__ = ["differencing", "outputs_beside", "overlaps_foreseen", "record_overlaps", "require_somebody_to_look"]

_GATE = "differencing"
_RULE = "releases of the same data set that share columns are looked at together"
# Another release or output, by its run or name, what it asked of the ledger, and whether both are known to be of one
# actual data set.
_Other = tuple[str, "Claim", bool]
_UNKNOWN = "what both promise together is not on record"  # for a run that an earlier version began


def record_overlaps(job: Job, claims: Sequence[Claim]) -> None:
    """Put on record which releases share columns with the outputs of this one, which of its outputs do with each other,
    and why a pair is not counted together."""
    shared, uncovered = _overlaps(claims, _earlier(job, claims))
    if shared:
        job.record(Action.OVERLAPS, releases=shared, uncovered=uncovered)


def overlaps_foreseen(
    plan: Plan, claims: Sequence[Claim], ledger: Ledger | None, new: Collection[str | None]
) -> GateRefused | None:
    """Return the refusal of a pair that nobody could review, as far as it is known before any record is read.

    claims: of outputs that will be in the release. ledger: of this home, if it has one. new: the outputs that are
    certainly not tables that come back, which share nothing with the release that drew them.
    """
    if plan.rule is not None:
        return None

    asked = [claim for claim in claims if claim.output in new]
    found = [] if ledger is None else ledger.overlapping(asked, run="")
    costs_of = {claim.output: costs for claim, costs in zip(asked, found, strict=False)}
    earlier = [
        # Of another edition it is of other data.
        [(cost.run, cost.claim, claim.edition == cost.claim.edition) for cost in costs_of.get(claim.output, ())]
        for claim in claims
    ]
    shared, uncovered = _overlaps(claims, earlier)
    return _nobody_looks(shared, uncovered) if uncovered else None


def _overlaps(
    claims: Sequence[Claim], earlier: Sequence[Iterable[_Other]]
) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Return the columns that others share with the outputs of a release, and why a pair is not counted together, by
    the run or the outputs. earlier: for each output other releases that share columns with it."""
    shared: dict[str, list[str]] = {}
    uncovered: dict[str, str] = {}
    for place, (claim, before) in enumerate(zip(claims, earlier, strict=True)):
        for name, other, of_one_data_set in (*before, *_of_this_release(claim, claims[:place])):
            columns = shared.setdefault(name, [])
            columns += [column for column in claim.shares_with(other) if column not in columns]
            reason = why_not_together(claim.model, other.model, of_one_data_set=of_one_data_set)
            if reason is not None:
                uncovered.setdefault(name, reason)
    return shared, uncovered


def _earlier(job: Job, claims: Sequence[Claim]) -> list[list[_Other]]:
    """Return for each output the other releases that share columns with it."""
    found = zip(claims, job.ledger.partitions_of(claims), job.ledger.overlapping(claims, run=job.run.id), strict=True)
    return [
        [(cost.run, cost.claim, claim.is_known_to_be_of_data_of(cost.claim, partition)) for cost in costs]
        for claim, partition, costs in found
    ]


def _of_this_release(claim: Claim, others: Sequence[Claim]) -> Iterator[_Other]:
    for other in outputs_beside(claim, others):
        yield f"{other.output} beside {claim.output} in this release", other, True


def outputs_beside(claim: Claim, others: Sequence[Claim]) -> Iterator[Claim]:
    """Yield the outputs of the same release of which one could be subtracted from the other."""
    for other in others:
        if claim.shares_with(other) and (claim.may_be_table or other.may_be_table):
            yield other


def require_somebody_to_look(job: Job) -> None:
    """Refuse, before the draw, a pair that nobody could review: it would only be refused after the draw."""
    shared, uncovered = _on_record(job)
    if uncovered and job.plan.rule is None:
        raise _nobody_looks(shared, uncovered)


def _nobody_looks(shared: Mapping[str, Sequence[str]], uncovered: Mapping[str, str]) -> GateRefused:
    """Return the refusal, which tells only of those that a person must look at."""
    return GateRefused.at(
        f"gates.{_GATE}",
        rule=f"needs the decision of a reviewer: {_RULE}: {_in_words(shared, uncovered, uncovered)}",
        remedy="Name reviewers in approve.",
    )


def differencing(job: Job) -> GateResult | None:
    """Return the verdict on subtracting this release from an earlier one, or one of its outputs from another; None
    where nothing shares a column."""
    shared, uncovered = _on_record(job)
    verdict = Verdict.REVIEW if uncovered else Verdict.PASS
    first = [*uncovered, *(name for name in shared if name not in uncovered)]
    return GateResult(_GATE, verdict, _RULE, None, None, _in_words(shared, uncovered, first)) if shared else None


def _on_record(job: Job) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Return the columns that others share with the outputs of a release, and why a pair is not counted together."""
    found = [event.facts for event in job.log.events(job.run.id) if event.action is Action.OVERLAPS]
    # An attempt that died between two outputs asked about all of them, the next one about those that were left.
    releases, uncovered = dict[str, list[str]](), dict[str, str]()
    for facts in found:
        for name, columns in facts["releases"].items():
            releases[name] = list(dict.fromkeys([*releases.get(name, []), *columns]))
        uncovered |= _uncovered(facts)
    return releases, uncovered


def _in_words(shared: Mapping[str, Sequence[str]], uncovered: Mapping[str, str], names: Iterable[str]) -> str:
    return "; ".join(f"{name} shares {', '.join(shared[name])}: {uncovered.get(name, TOGETHER)}" for name in names)


def _uncovered(facts: Mapping[str, Any]) -> dict[str, str]:
    return facts.get("uncovered", dict.fromkeys(facts["releases"], _UNKNOWN))  # type: ignore[no-any-return]
