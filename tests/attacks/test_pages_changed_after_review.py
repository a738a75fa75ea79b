"""Somebody changes the confidential report after the run began to wait, so that reviewers read something else.

What they sign said nothing about it: the release was approved on figures that were never measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.flows.planning import draw_up_plan
from penstock.flows.spec import load_spec
from penstock.records import Action
from penstock.records.files.digest import keyed_file
from penstock.records.run import RunDamaged
from penstock.tasks import ingest, publish, validate
from penstock.tasks.approve import ask_reviewers, awaits_review, take_decision
from penstock.tasks.report import report
from penstock.tasks.run.job import KEPT, begin
from tests.support.private_release import NOBODY, Line
from tests.support.workplace import Workplace

PAGES = ("report.html", "assessment.json", "validation.html")


@pytest.fixture
def line(workplace: Workplace) -> Iterator[Line]:
    """A release that has staged its bundle and will ask a reviewer."""
    workplace.raw["approve"] = {"reviewers": 1, "allowed": ["anna"]}
    with begin(draw_up_plan(load_spec(workplace.write_spec()))) as job:
        job.record(Action.PLANNED, name="survey")
        line = Line(job)
        source = ingest.ingest.fn(job)  # type: ignore[attr-defined]
        expectations = validate.draw_up_expectations.fn(job)  # type: ignore[attr-defined]
        met = validate.validate.fn(job, source, expectations)  # type: ignore[attr-defined]
        source, staged, decision = line.assess()
        report.fn(job, source, len(met), decision)  # type: ignore[attr-defined]
        publish.stage.fn(job, (staged,), decision)  # type: ignore[attr-defined]
        yield line


def one_byte_more(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b" ")


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("change", [one_byte_more, Path.unlink], ids=["changed", "removed"])
def test_a_page_that_changed_is_not_approved_nor_published(line: Line, page: str, change: object) -> None:
    job = line.job
    assert ask_reviewers(job) is None
    assert awaits_review(job)
    change(job.run.path(page))  # type: ignore[operator]
    for act in (
        lambda: take_decision(job, reviewer="anna", decision="approve", reason="", signature=""),
        lambda: ask_reviewers(job),
        lambda: publish.seal.fn(job, NOBODY),  # type: ignore[attr-defined]
    ):
        with pytest.raises(RunDamaged, match=f"{page} refused: must be as it was when the reviewers were asked"):
            act()


def test_their_digests_are_signed_and_on_record_and_tell_nothing_without_the_key(line: Line) -> None:
    job = line.job
    assert ask_reviewers(job) is None
    settled = publish.staged_content(job)
    assert settled is not None
    key = job.home.secret_key()
    expected = {page: keyed_file(key, job.run.path(page)) for page in PAGES}
    assert settled["release"]["confidential"] == expected
    [waiting] = [event for event in job.log.events(job.run.id) if event.action is Action.WAITING]
    assert (waiting.facts["content"], waiting.facts["confidential"]) == (settled["content"], expected)
    assert set(PAGES) == set(KEPT)


def test_a_run_that_died_before_it_asked_does_not_write_its_pages_anew(line: Line) -> None:
    """What was settled stays as it is; otherwise its own second attempt would look like somebody's change."""
    job, before = line.job, {page: line.job.run.path(page).read_bytes() for page in PAGES}
    source = line.ingest()
    met = validate.validate.fn(job, source, validate.draw_up_expectations.fn(job))  # type: ignore[attr-defined]
    _, _, decision = line.assess()
    job.seconds["assess"] = 12.0
    report.fn(job, source, len(met), decision)  # type: ignore[attr-defined]
    assert {page: job.run.path(page).read_bytes() for page in PAGES} == before
