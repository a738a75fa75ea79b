"""A table that was drawn before is not drawn again: it comes back as it was, and nothing is spent."""

from __future__ import annotations

from penstock.records.files.digest import plain_file
from penstock.records.ledger.answers import Answer, answer_key, content_of, damaged_answer, find_answer, keep_answer
from penstock.records.log.log import Action
from penstock.tasks.run.job import Job

__all__ = ["drawn_before", "keep", "question", "repeated"]


def drawn_before(job: Job, *sources: str) -> Answer | None:
    """Return the answer to the same question about the same records, if any; refuse one that is not what was drawn.

    sources: every digest under which earlier versions and this one know the records.
    """
    if not job.plan.output.comes_back:
        return None
    keys = (question(job, source) for source in sources)
    found = ((key, find_answer(job.home, key)) for key in keys)
    key, answer = next(((key, each) for key, each in found if each is not None), ("", None))
    if answer is None:
        return None
    content = content_of(job.home, key, answer.digest, answer.facts, answer.secrets)
    drawn = [
        (facts["data"], facts.get("answer"))
        for event in job.log.events(answer.run)
        if event.action is Action.PROTECTED
        for facts in event.facts.get("outputs", {"": event.facts}).values()
    ]
    # Versions before 0.4 put only the data on record: what lies beside them cannot be trusted any more.
    if (answer.digest, content) not in drawn or plain_file(answer.data) != answer.digest:
        raise damaged_answer(answer.data.parent)
    return answer


def question(job: Job, source: str) -> str:
    """Return the key of what this run asks about the records with this digest."""
    return answer_key(job.home, job.plan.content(source))


def repeated(job: Job, run: str) -> str | None:
    """Return the run whose figures this one publishes again, if none of its own are among them; where outputs come from
    several runs, all of these."""
    events = job.log.events(run)
    drawn = {event.facts.get("output"): event.facts["of"] for event in events if event.action is Action.REPEATED}
    left_out = {event.facts["output"] for event in events if event.action is Action.LEFT_OUT}
    outputs = {event.facts.get("output") for event in events if event.action is Action.RESERVED} - left_out
    if not outputs <= drawn.keys():
        return None
    return ", ".join(sorted({drawn[name] for name in outputs})) or None


def keep(job: Job, key: str, answer: Answer) -> None:
    """Remember what this run drew, unless an answer is there already."""
    if find_answer(job.home, key) is None:
        keep_answer(job.home, key, answer)
