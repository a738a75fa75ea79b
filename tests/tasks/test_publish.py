"""A bundle is staged once, sealed as it was staged, and published as it was sealed."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from penstock.flows.planning import draw_up_plan
from penstock.flows.spec import load_spec
from penstock.measures.gates import Decision, GateResult, Verdict
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.registry import mechanism_of
from penstock.records import Action
from penstock.records.bundle import bundle
from penstock.records.bundle.bundle import BundleAltered, BundleRefused
from penstock.records.files.digest import canonical, plain_file
from penstock.records.run import RunDamaged, RunRefused
from penstock.tasks import publish
from penstock.tasks.files.columns import load_columns, write_release
from penstock.tasks.ingest import Ingested, ingest
from penstock.tasks.outputs.output import Staged
from penstock.tasks.publish import already_published, conclude, staged_content
from penstock.tasks.run.job import Job, begin
from penstock.tasks.verification.bundle import ClaimBroken, verify_bundle
from tests.support.workplace import DESCRIPTIONS, Workplace, files_of
from tests.tasks.signed_by_hand import approved

# Outside a flow the functions of the steps are called without Prefect.
stage, seal, install = publish.stage.fn, publish.seal.fn, publish.install.fn  # type: ignore[attr-defined]

SECRET = 0.123456789
DECISION = Decision(
    Verdict.PASS, (GateResult("average_risk", Verdict.PASS, "average_risk at most 0.05", SECRET, None, "inside"),)
)
NOBODY: dict[str, Any] = {"required": 0, "decisions": []}
REVIEWER = Ed25519PrivateKey.from_private_bytes(bytes(32))


class Line:
    """A release up to its last steps, with a real run folder, log and key."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.source: Ingested = ingest.fn(job)  # type: ignore[attr-defined]
        plan, data = job.plan, job.run.path("protected.parquet")
        protected = mechanism_of(plan.params).protect(
            load_columns(self.source.folder), plan.data_columns, plan.params, seeded(1)
        )
        write_release(data, protected.columns, plan.released, protected.guarantee, np.arange(self.source.rows))
        secrets = job.run.path("secrets")
        self.staged = Staged(
            data, plain_file(data), protected.masked, self.source.rows, protected.chosen, secrets, plan.released
        )
        job.record(Action.PROTECTED, data=self.staged.digest)

    def stage(self) -> dict[str, Any]:
        stage(self.job, (self.staged,), DECISION)
        return self.content()

    def content(self) -> dict[str, Any]:
        settled = staged_content(self.job)
        assert settled is not None
        return settled

    def files(self) -> dict[str, bytes]:
        return files_of(self.job.bundle)

    def statement(self, folder: Path | None = None) -> dict[str, Any]:
        return bundle.check(folder or self.job.bundle, self.job.home.signing_key().public_key())


@pytest.fixture
def line(workplace: Workplace) -> Iterator[Line]:
    with begin(draw_up_plan(load_spec(workplace.write_spec()))) as job:
        yield Line(job)


@pytest.fixture
def reviewed_line(workplace: Workplace) -> Iterator[Line]:
    workplace.raw["approve"] = {"reviewers": 1, "allowed": ["anna"]}
    with begin(draw_up_plan(load_spec(workplace.write_spec()))) as job:
        yield Line(job)


def test_nothing_is_staged_before_it_is(line: Line) -> None:
    assert staged_content(line.job) is None


def test_what_is_staged_is_settled_in_full(line: Line) -> None:
    before = line.job.log.head()
    settled = line.stage()
    assert set(settled) == {"content", "subject", "release", "records"}
    assert [file["name"] for file in settled["subject"]] == ["data.csv", "data.parquet", *DESCRIPTIONS, "report.html"]
    assert settled["content"] == bundle.content_digest(settled["subject"], settled["release"])
    assert settled["records"] == settled["release"]["records"] == line.source.rows
    release = settled["release"]
    assert set(release) == {
        "penstock",
        "name",
        "release",
        "created",
        "records",
        "guarantee",
        "settled",
        "columns",
        "gates",
        "reviewers",
        "spec_sha256",
        "bytes",
        "environment",
    }
    assert release["penstock"] == 1
    assert release["bytes"] == {name: len(content) for name, content in line.files().items()}
    assert release["gates"] == DECISION.public()
    assert release["settled"] == {}  # nothing is left open by a swap
    assert before.digest in line.files()["report.html"].decode()


def test_the_environment_names_software_and_the_kind_of_machine_only(line: Line) -> None:
    environment = line.stage()["release"]["environment"]
    assert set(environment) == {"penstock", "python", "platform", "packages"}
    assert environment["platform"] == f"{platform.system()} {platform.machine()}"
    assert "penstock" not in environment["packages"]


def test_no_measured_value_no_path_and_no_user_is_staged_for_the_public(line: Line) -> None:
    settled = json.dumps(line.stage())
    for secret in (str(SECRET), str(line.job.home.root), str(line.job.plan.source), f'"{line.job.actor}"'):
        assert secret not in settled


def test_staging_again_changes_nothing_although_the_log_has_moved_on(line: Line) -> None:
    settled, files = line.stage(), line.files()
    line.job.record(Action.CHECKED, verdict="PASS")
    assert line.stage() == settled
    assert line.files() == files


def test_what_a_killed_attempt_left_of_the_bundle_is_cleared_away(line: Line) -> None:
    line.job.bundle.mkdir()
    (line.job.bundle / "data.csv").write_bytes(b"half")
    (line.job.bundle / "more").write_bytes(b"x")
    assert "more" not in {file["name"] for file in line.stage()["subject"]}


@pytest.mark.parametrize("name", ["data.csv", "data.parquet", *DESCRIPTIONS, "report.html"])
def test_a_change_to_what_waits_for_approval_is_refused(line: Line, name: str) -> None:
    line.stage()
    with open(line.job.bundle / name, "ab") as file:
        file.write(b" ")
    with pytest.raises(
        RunDamaged, match=f"{name} refused: must have the listed digest; it was altered.*This run ends here"
    ):
        staged_content(line.job)
    with pytest.raises(BundleAltered, match=f"{name} refused: must have the listed digest; it was altered"):
        seal(line.job, NOBODY)
    assert line.job.run.committed("sealed") is None


def test_a_file_or_a_link_added_to_what_waits_is_refused(line: Line) -> None:
    line.stage()
    (line.job.bundle / "more.csv").symlink_to(line.job.bundle / "data.csv")
    with pytest.raises(RunDamaged, match=r"more\.csv refused: must be a plain file"):
        staged_content(line.job)


@pytest.mark.parametrize("change", [{"records": 5}, {"content": "0" * 64}, {"release": {}}, {"subject": []}])
def test_a_change_to_the_settled_facts_is_refused(line: Line, change: dict[str, Any]) -> None:
    settled = line.stage()
    facts = {**settled, **change}
    if "records" in change:
        facts["release"] = {**settled["release"], **change}
    (line.job.run.folder / "staged.json").write_bytes(canonical(facts))
    with pytest.raises(RunDamaged, match=r"staged\.json refused: must be as it was written"):
        staged_content(line.job)


def test_settled_facts_that_lack_a_part_are_refused(line: Line) -> None:
    settled = line.stage()
    del settled["subject"]
    (line.job.run.folder / "staged.json").write_bytes(canonical(settled))
    with pytest.raises(RunDamaged, match=r"staged\.json"):
        staged_content(line.job)


def test_what_was_not_staged_is_not_sealed(line: Line) -> None:
    with pytest.raises(RunRefused, match="must be staged before it is sealed"):
        seal(line.job, NOBODY)


def test_the_seal_holds_what_was_staged_with_the_approval_and_the_log_of_its_own_moment(
    reviewed_line: Line,
) -> None:
    line = reviewed_line
    settled = line.stage()
    line.job.record(Action.CHECKED, verdict="PASS")
    approval = {"required": 1, "decisions": [approved(REVIEWER, settled["content"], "Fine.")]}
    seal(line.job, approval)
    stated, head = line.statement(), line.job.log.head()
    assert stated["subject"] == settled["subject"]
    assert stated["predicate"] == {
        "release": settled["release"],
        "approval": approval,
        "log_head": {"digest": head.digest},
    }
    assert line.job.run.committed("sealed") == {
        "manifest": plain_file(line.job.bundle / "manifest.json"),
        "destination": str(line.job.destination),
        "records": line.source.rows,
    }


def test_a_run_is_sealed_once(line: Line) -> None:
    line.stage()
    seal(line.job, NOBODY)
    files = line.files()
    line.job.record(Action.CHECKED, verdict="PASS")
    seal(line.job, NOBODY)
    assert line.files() == files


def test_a_seal_that_was_killed_before_its_commit_is_made_again(line: Line) -> None:
    line.stage()
    (line.job.bundle / "manifest.json").write_bytes(b"half")
    line.content()
    seal(line.job, NOBODY)
    line.statement()


@pytest.mark.parametrize("content", ["0" * 64, None])
def test_an_approval_that_does_not_hold_is_never_sealed(reviewed_line: Line, content: str | None) -> None:
    line = reviewed_line
    line.stage()
    decisions = [] if content is None else [approved(REVIEWER, content)]
    with pytest.raises(ClaimBroken, match="must be given by as many reviewers as were required"):
        seal(line.job, {"required": 1, "decisions": decisions})
    assert not (line.job.bundle / "manifest.json").exists()


def test_a_release_that_reviewers_were_asked_about_is_never_sealed_without_them(reviewed_line: Line) -> None:
    reviewed_line.stage()
    with pytest.raises(ClaimBroken, match="must ask for as many reviewers as the content that they signed"):
        seal(reviewed_line.job, NOBODY)
    assert not (reviewed_line.job.bundle / "manifest.json").exists()


def test_an_approval_of_another_form_is_never_sealed(line: Line) -> None:
    line.stage()
    with pytest.raises(BundleRefused, match=r"predicate\.approval\.more refused"):
        seal(line.job, {**NOBODY, "more": "x"})
    assert not (line.job.bundle / "manifest.json").exists()


def test_the_published_bundle_verifies_and_the_run_is_concluded(
    reviewed_line: Line,
) -> None:
    line = reviewed_line
    settled = line.stage()
    seal(line.job, {"required": 1, "decisions": [approved(REVIEWER, settled["content"], "Fine.")]})
    assert not already_published(line.job)
    install(line.job)
    assert already_published(line.job)
    findings = {found.name: found for found in verify_bundle(line.job.destination, line.job.home.public_key_path)}
    assert findings["approval"].text.startswith(f"1 reviewer approved exactly this content ({settled['content']})")
    receipt = conclude(line.job)
    assert receipt.manifest == plain_file(line.job.destination / "manifest.json")
    assert receipt.records == line.source.rows
    assert receipt.promise == "prob_k, k = 20, ir_swap"
    assert line.job.log.events()[-1].action is Action.PUBLISHED


def test_another_bundle_at_the_destination_is_not_this_release(line: Line) -> None:
    line.stage()
    seal(line.job, NOBODY)
    line.job.destination.mkdir(parents=True)
    (line.job.destination / "manifest.json").write_bytes(b"{}")
    assert not already_published(line.job)
