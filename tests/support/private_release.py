"""A differentially private release of the survey, step by step, without Prefect."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

from penstock.flows.planning import draw_up_plan
from penstock.flows.spec import load_spec
from penstock.measures.gates import Decision
from penstock.records.log.log import Action
from penstock.tasks import assess, ingest, protect, publish, reserve
from penstock.tasks.ingest import Ingested
from penstock.tasks.outputs.output import Staged
from penstock.tasks.publish import Receipt, conclude
from penstock.tasks.run.job import Job, begin
from tests.support.workplace import REGIONS, ROWS, Workplace, make_private, make_units, open_dp_account

__all__ = ["REGIONS", "ROWS", "Line", "begun", "make_private", "make_units"]

NOBODY: dict[str, Any] = {"required": 0, "decisions": []}


class Line:
    """A release up to where a test wants it, with a real run folder, ledger, log and key."""

    def __init__(self, job: Job) -> None:
        self.job = job

    def ingest(self) -> Ingested:
        return ingest.ingest.fn(self.job)  # type: ignore[attr-defined, no-any-return]

    def reserve(self, source: Ingested) -> None:
        reserve.reserve.fn(self.job, source)  # type: ignore[attr-defined]

    def protect(self) -> tuple[Ingested, Staged]:
        source = self.ingest()
        self.reserve(source)
        (staged,) = protect.protect.fn(self.job, source)  # type: ignore[attr-defined]
        self.job.record(Action.PROTECTED, **staged.digests)
        protect.keep_drawn(self.job, (staged,))
        return source, staged

    def assess(self) -> tuple[Ingested, Staged, Decision]:
        source, staged = self.protect()
        _, decision = assess.assess.fn(self.job, source, (staged,))  # type: ignore[attr-defined]
        return source, staged, decision

    def stage(self) -> dict[str, Any]:
        _, staged, decision = self.assess()
        publish.stage.fn(self.job, (staged,), decision)  # type: ignore[attr-defined]
        return publish.staged_content(self.job) or {}

    def publish(self) -> Receipt:
        _, staged, decision = self.assess()
        return self.finish(staged, decision)

    def finish(self, staged: Staged, decision: Decision) -> Receipt:
        """Publish what was assessed."""
        publish.stage.fn(self.job, (staged,), decision)  # type: ignore[attr-defined]
        publish.seal.fn(self.job, NOBODY)  # type: ignore[attr-defined]
        publish.install.fn(self.job)  # type: ignore[attr-defined]
        return conclude(self.job)


@contextmanager
def begun(workplace: Workplace, *, account: bool = True, limit: int = 4) -> Iterator[Line]:
    """A run of the workplace's spec; the first one opens the account that it spends from."""
    plan = draw_up_plan(load_spec(workplace.write_spec()))
    guarantee = plan.guarantee
    if account:
        dataset = workplace.raw["budget"]["dataset"]
        open_dp_account(
            limit,
            dataset=dataset,
            unit=guarantee.unit,
            model=guarantee.model,
            adjacency=guarantee.adjacency,
            delta=4 * Fraction(guarantee.parameters.get("delta", 0)),
        )
    with begin(plan) as job:
        yield Line(job)
