"""Releases that share columns with this one: found when the cost is reserved, looked at together at the gates.

Which releases they are, under which models, is public, and so is the verdict: where a sum of epsilons covers a pair
it passes, in whichever order the two came out, and elsewhere a person must look.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.measures.gates import GateRefused, GateResult, Verdict
from penstock.mechanisms.composition import TOGETHER, why_not_together
from penstock.records.ledger.accounts import Claim
from penstock.records.log.log import Action
from penstock.tasks.run.job import Job

__all__ = ["differencing", "record_overlaps", "require_somebody_to_look"]

_RULE = "releases of the same data set that share columns are looked at together"
_UNKNOWN = "what both promise together is not on record"  # for a run that an earlier version began


def record_overlaps(job: Job, claims: Sequence[Claim]) -> None:
    """Put on record which releases share columns with the outputs of this one, and why a pair is not counted
    together."""
    shared: dict[str, list[str]] = {}
    uncovered: dict[str, str] = {}
    for claim in claims:
        partition = job.ledger.partition_of(claim)
        for cost in job.ledger.overlapping(claim, run=job.run.id):
            known = claim.is_known_to_be_of_data_of(cost.claim, partition)
            reason = why_not_together(claim.model, cost.claim.model, of_one_data_set=known)
            columns = shared.setdefault(cost.run, [])
            columns += [name for name in claim.shares_with(cost.claim) if name not in columns]
            if reason is not None:
                uncovered.setdefault(cost.run, reason)
    if shared:
        job.record(Action.OVERLAPS, releases=shared, uncovered=uncovered)


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
    """Return the verdict on subtracting this release from an earlier one; None where it shares no column with any."""
    found = [event.facts for event in job.log.events(job.run.id) if event.action is Action.OVERLAPS]
    if not found:
        return None
    releases = found[-1]["releases"]
    uncovered = found[-1].get("uncovered", dict.fromkeys(releases, _UNKNOWN))
    pairs = "; ".join(
        f"{run} shares {', '.join(columns)}: {uncovered.get(run, TOGETHER)}" for run, columns in releases.items()
    )
    return GateResult("differencing", Verdict.REVIEW if uncovered else Verdict.PASS, _RULE, None, None, pairs)
