"""Releases that share columns with this one: found when the cost is reserved, looked at together at the gates.

Which releases they are, under which models, is public, and so is the verdict: where a sum of epsilons covers a pair
it passes, in whichever order the two came out, and elsewhere a person must look.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from penstock.measures.gates import GateRefused, GateResult, Verdict
from penstock.mechanisms.composition import TOGETHER, why_not_together
from penstock.records.ledger.accounts import Claim
from penstock.records.log.log import Action
from penstock.tasks.run.job import Job

__all__ = ["differencing", "record_overlaps", "require_somebody_to_look"]

_RULE = "releases of the same data set that share columns are looked at together"
_UNKNOWN = "what both promise together is not on record"  # for a run that an earlier version began


def record_overlaps(job: Job, claims: Sequence[Claim]) -> None:
    """Put on record which releases share columns with the outputs of this one, which of its outputs do with each other,
    and why a pair is not counted together."""
    shared: dict[str, list[str]] = {}
    uncovered: dict[str, str] = {}
    for place, claim in enumerate(claims):
        for name, other, of_one_data_set in (*_earlier(job, claim), *_beside(claim, claims[:place])):
            columns = shared.setdefault(name, [])
            columns += [column for column in claim.shares_with(other) if column not in columns]
            reason = why_not_together(claim.model, other.model, of_one_data_set=of_one_data_set)
            if reason is not None:
                uncovered.setdefault(name, reason)
    if shared:
        job.record(Action.OVERLAPS, releases=shared, uncovered=uncovered)


def _earlier(job: Job, claim: Claim) -> Iterator[tuple[str, Claim, bool]]:
    """Yield other releases that share columns with an output, by run, and whether they are of one actual data set."""
    partition = job.ledger.partition_of(claim)
    for cost in job.ledger.overlapping(claim, run=job.run.id):
        yield cost.run, cost.claim, claim.is_known_to_be_of_data_of(cost.claim, partition)


def _beside(claim: Claim, others: Sequence[Claim]) -> Iterator[tuple[str, Claim, bool]]:
    """Yield the outputs of the same release, by name, of which one could be subtracted from the other."""
    for other in others:
        if claim.shares_with(other) and (claim.may_be_table or other.may_be_table):
            yield f"output {other.output} of this release", other, True


def require_somebody_to_look(job: Job) -> None:
    """Refuse, before the draw, a pair that nobody could review: it would only be refused after the draw."""
    found = differencing(job)
    if found is not None and found.verdict is not Verdict.PASS and job.plan.rule is None:
        raise GateRefused.at(
            f"gates.{found.gate}",
            rule=f"needs the decision of a reviewer: {found.rule}: {found.reason}",
            remedy="Name reviewers in approve.",
        )


def differencing(job: Job) -> GateResult | None:
    """Return the verdict on subtracting this release from an earlier one, or one of its outputs from another; None
    where nothing shares a column."""
    found = [event.facts for event in job.log.events(job.run.id) if event.action is Action.OVERLAPS]
    if not found:
        return None
    # An attempt that died between two outputs asked about all of them, the next one about those that were left.
    releases, uncovered = dict[str, list[str]](), dict[str, str]()
    for facts in found:
        for name, columns in facts["releases"].items():
            releases[name] = list(dict.fromkeys([*releases.get(name, []), *columns]))
        uncovered |= _uncovered(facts)
    pairs = "; ".join(
        f"{name} shares {', '.join(columns)}: {uncovered.get(name, TOGETHER)}" for name, columns in releases.items()
    )
    return GateResult("differencing", Verdict.REVIEW if uncovered else Verdict.PASS, _RULE, None, None, pairs)


def _uncovered(facts: Mapping[str, Any]) -> dict[str, str]:
    return facts.get("uncovered", dict.fromkeys(facts["releases"], _UNKNOWN))  # type: ignore[no-any-return]
