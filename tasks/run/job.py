"""One running release: its plan, its run folder, its place in the audit log.

`begin(plan)` opens it. However the run ends (published, refused, failed, interrupted), the end is
on record and in the ledger, and a refused run leaves no working file behind. A run that died, or that
waits for its reviewers, is resumed by the next run of the same spec, so that what was drawn is not
drawn again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

from prefect.context import FlowRunContext
from prefect.exceptions import Pause

from penstock.mechanisms.refusal import Fault, Refusal
from penstock.records import Action, Home, Ledger, Log, LogAppendFailed, Run, open_records
from penstock.records.files.addresses import Place
from penstock.records.home import login
from penstock.records.ledger.looks import note_left_out, on_record
from penstock.records.run import RunDamaged
from penstock.tasks.run._lineage import tell_lineage
from penstock.tasks.run.events import tell
from penstock.tasks.run.plan import Plan

__all__ = ["KEPT", "Job", "attend", "begin"]

# What remains of a finished run on the confidential side; the rest are working files.
KEPT = ("report.html", "validation.html", "assessment.json")
_LEFT_OUT = "left-out"


@dataclass(slots=True)
class Job:
    """The things that the steps share: references and records, never rows."""

    plan: Plan
    home: Home
    run: Run
    log: Log
    ledger: Ledger
    actor: str
    started: datetime
    seconds: dict[str, float] = field(default_factory=dict)
    progress: UUID | None = None  # the bar on the run's page
    whole: Job | None = None  # of one of several outputs: the release that it belongs to
    counted: dict[str, Any] = field(default_factory=dict)  # cells that serve several outputs of this attempt

    @property
    def outputs(self) -> tuple[Job, ...]:
        """Return a job for each output that was not left out; this one where there is one."""
        return tuple(each for each in self.every_output if not each.is_left_out)

    @property
    def every_output(self) -> tuple[Job, ...]:
        """Return the same with those that were left out."""
        if not self.plan.is_of_several:
            return (self,)
        return tuple(
            replace(self, plan=plan, run=self.run.within(str(plan.output_name)), whole=self)
            for plan in self.plan.outputs
        )

    @property
    def is_left_out(self) -> bool:
        """Return whether this output was refused, and the others are published without it."""
        return self.whole is not None and self.run.committed(_LEFT_OUT) is not None

    def leave_out(self, refusal: Refusal) -> None:
        """Leave this output out of the release, for ever, and put it on record before.

        Where no epsilon is spent on it that tells something about the data, and counts as a look at them.
        """
        name = str(self.plan.output_name)
        fields = (fault.field.removeprefix(f"{name}.").removeprefix("gates.") for fault in refusal.faults)
        facts = {"code": refusal.code, "because": list(fields)}
        if self.plan.spends:
            self.record(Action.LEFT_OUT, output=name, **facts)
        else:
            note_left_out(self.log, run=self.run.id, output=name, why=facts, actor=self.actor, now=datetime.now(UTC))
            self.tell(Action.LEFT_OUT, refusal.code)
        self.run.commit(_LEFT_OUT, facts)

    def stay_left_out(self, source: str) -> None:
        """Leave out what an attempt of this run put on record as left out, for the same source, and died over; refuse
        what its folder says is left out and the log does not."""
        events = self.log.events(self.run.id)
        for output, facts in on_record(events, source).items():
            self.run.within(output).commit(_LEFT_OUT, facts)
        told = {event.facts["output"] for event in events if event.action is Action.LEFT_OUT}
        remedy = "Find out who changed it. This run ends here; the next one begins anew."
        RunDamaged.raise_for(
            Fault(f"{each.plan.output_name}.{_LEFT_OUT}.json", "must be on record", remedy)
            for each in self.every_output
            if each.is_left_out and each.plan.output_name not in told
        )

    @property
    def left_out(self) -> tuple[dict[str, Any], ...]:
        """Return the outputs that are left out, each with the gates or settings that refused it."""
        gone = ((each.plan.output_name, each.run.committed(_LEFT_OUT)) for each in self.every_output)
        return tuple(_left_out({"output": name, **facts}) for name, facts in gone if facts is not None)

    def left_out_by(self, run: str) -> tuple[dict[str, Any], ...]:
        """Return the same of a run that has ended, from the log."""
        events = self.log.events(run)
        return tuple(_left_out(event.facts) for event in events if event.action is Action.LEFT_OUT)

    def record(self, action: Action, **facts: Any) -> None:
        """Append to the audit log; a failed append stops the release."""
        self.log.append(action, run=self.run.id, actor=self.actor, facts=facts, occurred=datetime.now(UTC))
        self.tell(action, facts.get("code", ""))

    def tell(self, action: Action, code: str = "") -> None:
        """Tell other platforms what is on record now; nothing depends on whether they hear it."""
        tell(action, run=self.run.id, name=self.plan.name, spec=self.plan.spec_digest, code=code)
        tell_lineage(self, action, code or None)

    def settle(self, outcome: Literal["published", "refused"]) -> None:
        """Tell the ledger how the run ended. What was drawn stays spent."""
        gone = [each.plan.output_name for each in self.every_output if each.is_left_out]
        self.ledger.settle(self.run.id, outcome, actor=self.actor, now=datetime.now(UTC), left_out=gone)

    @property
    def is_staged(self) -> bool:
        """Return whether the content is settled, with the pages that reviewers read; these are not written again."""
        return (self.whole or self).run.committed("staged") is not None

    @property
    def bundle(self) -> Path:
        """Return the staged bundle, on the confidential side until it is published."""
        return (self.whole or self).run.path("bundle")

    @property
    def destination(self) -> Place:
        return self.plan.folder / self.run.id


def _left_out(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return an output that was left out, and because of what; earlier versions kept only the code of the refusal."""
    return {"output": facts["output"], "because": facts.get("because", [facts["code"]])}


@contextmanager
def begin(plan: Plan, *, run: str | None = None) -> Iterator[Job]:
    """Open a run, or resume the one of this spec that did not end; put its end on record."""
    with attend(plan, run=run) as job:
        try:
            yield job
        except (LogAppendFailed, Pause):
            raise  # what cannot be recorded cannot be recorded as failed either; a suspended run has not ended
        except Refusal as refusal:
            if refusal.kind == "failure":
                job.record(Action.FAILED, code=refusal.code)
            else:
                end_refused(job, refusal)
            raise
        except BaseException as error:
            job.record(Action.FAILED, code=type(error).__name__)
            raise


@contextmanager
def attend(plan: Plan, *, run: str | None = None) -> Iterator[Job]:
    """Open a run to look after it: whatever happens meanwhile does not end it."""
    home = Home.open()
    started = datetime.now(UTC)
    records = open_records(home=home)
    context = FlowRunContext.get()
    # Only a run of its own belongs to a flow run, not one that it looks after.
    owner = str(context.flow_run.id) if run is None and context is not None and context.flow_run is not None else None
    with Run.begin(home, plan.spec_digest, now=started, run_id=run, owner=owner, about=plan.spec) as opened:
        yield Job(
            plan=plan,
            home=home,
            run=opened,
            log=records.log,
            ledger=records.ledger,
            actor=login(),
            started=started,
        )


def end_refused(job: Job, refusal: Refusal) -> None:
    """Put a refusal on record and finish the run."""
    job.settle("refused")
    job.record(Action.REFUSED, code=refusal.code, reasons=[str(fault) for fault in refusal.faults])
    head = job.log.head()
    outcome = {"outcome": "refused", "code": refusal.code, "log_head": {"seq": head.seq, "digest": head.digest}}
    job.run.finish(outcome, keep=KEPT)
