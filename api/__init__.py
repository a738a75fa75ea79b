"""Penstock: confidential microdata in, a protected bundle with a promise out.

    import penstock

    spec = penstock.load_spec("spec.yaml")     # a refusal lists every fault
    penstock.plan(spec)                        # the promise, the expected error, the cost; reads no row
    penstock.release(spec)                     # the receipt, or what the run waits for
    penstock.verify("published/survey/...")    # what of a bundle could be checked, and what could not
    penstock.ask("data.yaml", "mean of age", epsilon="1/4")    # a question, charged to its analyst; plan_question first
    penstock.protect(table, columns, params)   # a mechanism in a notebook: a trial, never a release
    penstock.measure("record_linkage")         # a judgement of released records

What is refused is raised as `penstock.Refusal`, with its `code`, its `kind` and all its `faults`. These names load what
they need when they are first used; the command line starts without them. `Preview`, `Receipt`, `Waiting`, `Finding`,
`Trial`, `Answer` and `QuestionPlan` are what these functions return.

cli/      the command line; `python -m penstock` is `penstock`
server/   `penstock serve`
_front    the spec, the plan, the release and the verification, as the command line has them
_questions  a question and its plan, as the command line has them
_trial    a mechanism on a table in memory
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock._front import load_spec, plan, release, verify
    from penstock._questions import ask, load_description, plan_question
    from penstock._trial import Trial, measure, protect
    from penstock.flows.preview import Preview
    from penstock.flows.question_plan import QuestionPlan
    from penstock.flows.spec import ReleaseSpec
    from penstock.flows.spec.data_description import DataDescription
    from penstock.mechanisms.columns import Column
    from penstock.mechanisms.questions import Query
    from penstock.mechanisms.randomness import seeded
    from penstock.mechanisms.refusal import Fault, Refusal
    from penstock.tasks.approve import Waiting
    from penstock.tasks.publish import Receipt
    from penstock.tasks.questions.answered import Answer
    from penstock.tasks.verification.bundle import Finding

__all__ = [
    "Answer",
    "Column",
    "DataDescription",
    "Fault",
    "Finding",
    "Preview",
    "Query",
    "QuestionPlan",
    "Receipt",
    "Refusal",
    "ReleaseSpec",
    "Trial",
    "Waiting",
    "ask",
    "load_description",
    "load_spec",
    "measure",
    "plan",
    "plan_question",
    "protect",
    "release",
    "seeded",
    "verify",
]

_PLACES = {
    "_front": ("load_spec", "plan", "release", "verify"),
    "_questions": ("ask", "load_description", "plan_question"),
    "_trial": ("Trial", "measure", "protect"),
    "flows.preview": ("Preview",),
    "flows.question_plan": ("QuestionPlan",),
    "flows.spec": ("ReleaseSpec",),
    "flows.spec.data_description": ("DataDescription",),
    "mechanisms.columns": ("Column",),
    "mechanisms.questions": ("Query",),
    "mechanisms.randomness": ("seeded",),
    "mechanisms.refusal": ("Fault", "Refusal"),
    "tasks.approve": ("Waiting",),
    "tasks.publish": ("Receipt",),
    "tasks.questions.answered": ("Answer",),
    "tasks.verification.bundle": ("Finding",),
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Return a public name from the module that has it."""
        for place, names in _PLACES.items():
            if name in names:
                return getattr(import_module(f"{__name__}.{place}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names too, for completion in notebooks."""
    return sorted({*globals(), *__all__})
