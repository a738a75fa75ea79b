"""Outputs that are refused while the others are published without them, where the spec says so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from penstock.measures.checks import RecheckImpossible
from penstock.measures.gates import GateRefused
from penstock.mechanisms.refusal import Refusal
from penstock.tasks.run.job import Job

__all__ = ["require_one_left", "unless_left_out"]

# Refusals because of what the settings come to or what the data hold, a check that fails among them: the figures of an
# exact table may be too large for any number. Every other one is about the whole release: a changed file, a budget that
# is used up, damage, and a re-check that cannot be made, which is a defect whatever the data are.
_OF_ONE_OUTPUT = frozenset({"gate", "data"})
# Where epsilon is spent, gates look at public facts; that an output is missing because of the data would cost more.
_WHERE_EPSILON_IS_SPENT = frozenset({"gate"})
_NEVER = frozenset[str]()


@contextmanager
def unless_left_out(job: Job, *, drawn: bool = False) -> Iterator[None]:
    """Leave the output out if it is refused inside and the spec allows it; otherwise pass the refusal on.

    drawn: it has been drawn. One that spends epsilon is not left out any more: what fails then is a defect.
    """
    try:
        yield
    except Refusal as refusal:
        if job.whole is None:
            raise
        if not job.plan.may_be_left_out or not _is_of_one_output(job, refusal, drawn):
            raise refusal.of_output(job.plan.output_name) from None
        job.leave_out(refusal)


def _is_of_one_output(job: Job, refusal: Refusal, drawn: bool) -> bool:
    """Return whether a refusal says nothing of the other outputs, which may be published."""
    kinds = _OF_ONE_OUTPUT
    if job.plan.spends:
        kinds = _NEVER if drawn else _WHERE_EPSILON_IS_SPENT
    return refusal.kind in kinds and not isinstance(refusal, RecheckImpossible)


def require_one_left(job: Job) -> None:
    """Refuse a release of which every output was left out."""
    if not job.outputs:
        raise GateRefused.at(
            "protect",
            rule="must have at least one output that is not refused",
            remedy="Read the confidential report, then protect more or change the limits.",
        )
