"""One running release: its plan, its run folder, its place in the audit log.

`begin(plan)` opens it. However the run ends (published, refused, failed, interrupted), the end is
on record, and a refused run leaves no working file behind. A run that died is resumed by the next
run of the same spec, so that what was drawn is not drawn again.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mechanisms.refusal import Refusal
from records import Action, Home, Log, LogAppendFailed, Run, open_records
from tasks.plan import Plan

__all__ = ["KEPT", "Job", "begin"]

# What remains of a finished run on the confidential side; the rest are working files.
KEPT = ("report.html", "validation.html", "assessment.json")


@dataclass(slots=True)
class Job:
    """What the steps share: references and records, never rows."""

    plan: Plan
    home: Home
    run: Run
    log: Log
    actor: str
    started: datetime
    seconds: dict[str, float] = field(default_factory=dict)

    def record(self, action: Action, **facts: Any) -> None:
        """Append to the audit log; a failed append stops the release."""
        self.log.append(action, run=self.run.id, actor=self.actor, facts=facts, occurred=datetime.now(UTC))

    @property
    def bundle(self) -> Path:
        """The staged bundle, on the confidential side until it is published."""
        return self.run.path("bundle")

    @property
    def destination(self) -> Path:
        return self.plan.publish / self.plan.name / self.run.id


@contextmanager
def begin(plan: Plan) -> Iterator[Job]:
    """Open a run, or resume the one of this spec that died; put its end on record."""
    home = Home.open()
    started = datetime.now(UTC)
    log = open_records(home=home).log
    run = Run.begin(home, plan.spec_digest, now=started)
    actor = pwd.getpwuid(os.getuid()).pw_name
    job = Job(plan=plan, home=home, run=run, log=log, actor=actor, started=started)
    try:
        yield job
    except LogAppendFailed:
        raise  # what cannot be recorded cannot be recorded as failed either
    except Refusal as refusal:
        if refusal.kind == "failure":
            job.record(Action.FAILED, code=refusal.code)
        else:
            job.record(Action.REFUSED, code=refusal.code, reasons=[str(fault) for fault in refusal.faults])
            run.finish({"outcome": "refused", "code": refusal.code}, keep=KEPT)
        raise
    except BaseException as error:
        job.record(Action.FAILED, code=type(error).__name__)
        raise
    finally:
        run.close()
