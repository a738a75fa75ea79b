"""Outputs that are refused while the others are published without them, where the spec says so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from penstock.measures.gates import GateRefused
from penstock.mechanisms.refusal import Refusal
from penstock.tasks.run.job import Job

__all__ = ["require_one_left", "unless_left_out"]

# Refusals because of what the settings come to or what the data hold. Every other one, such as a changed file or a
# budget that is used up, is about the whole release.
_OF_ONE_OUTPUT = frozenset({"gate", "data"})
# Where epsilon is spent, gates look at public facts; that an output is missing because of the data would cost more.
_WHERE_EPSILON_IS_SPENT = frozenset({"gate"})


@contextmanager
def unless_left_out(job: Job) -> Iterator[None]:
    """Leave the output out if it is refused inside and the spec allows it; otherwise pass the refusal on."""
    try:
        yield
    except Refusal as refusal:
        kinds = _WHERE_EPSILON_IS_SPENT if job.plan.spends else _OF_ONE_OUTPUT
        if job.whole is None:
            raise
        if not job.plan.may_be_left_out or refusal.kind not in kinds:
            raise refusal.of_output(job.plan.output_name) from None
        job.leave_out(refusal)


def require_one_left(job: Job) -> None:
    """Refuse a release of which every output was left out."""
    if not job.outputs:
        raise GateRefused.at(
            "protect",
            rule="must have at least one output that is not refused",
            remedy="Read the confidential report, then protect more or change the limits.",
        )
