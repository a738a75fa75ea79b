"""Publish: the staged bundle is completed, signed, and appears at its destination whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict, dataclass
from typing import Any

from measures.gates import Decision
from mechanisms.usage import advice, treatments
from records import bundle
from records.digest import plain_file
from records.log import Action
from records.pages import PublicReport, public_report
from tasks.ingest import Ingested
from tasks.job import KEPT, Job
from tasks.protect import Staged
from tasks.report import versions
from tasks.step import step
from tasks.tables import write_csv

__all__ = ["Receipt", "already_published", "conclude", "install", "seal"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """Where the release is and what it promises."""

    name: str
    run: str
    records: int
    promise: str
    path: str
    manifest: str
    public_report: str
    confidential_report: str
    seconds: dict[str, float]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@step("seal")
def seal(job: Job, source: Ingested, staged: Staged, decision: Decision) -> None:
    """Complete the bundle with its formats, public report, manifest and signature; once for each run."""
    if job.run.committed("sealed") is not None:
        return
    plan, head = job.plan, job.log.head()
    shutil.rmtree(job.bundle, ignore_errors=not job.bundle.exists())
    job.bundle.mkdir(mode=0o700)
    if "parquet" in plan.formats:
        os.link(staged.data, job.bundle / "data.parquet")
    if "csv" in plan.formats:
        write_csv(staged.data, job.bundle / "data.csv")
    columns = _described_columns(job)
    files = [
        {
            "name": path.name,
            "bytes": path.stat().st_size,
            "sha256": staged.digest if path.suffix == ".parquet" else plain_file(path),
        }
        for path in sorted(job.bundle.glob("data.*"))
    ]
    page = public_report(
        PublicReport(
            name=plan.name,
            release=job.run.id,
            date=job.started.date().isoformat(),
            records=source.rows,
            guarantee=plan.guarantee,
            columns=columns,
            gates=decision.public()["results"],
            files=files,
            usage=advice(plan.params),
            log_head=f"{head.seq}:{head.digest}",
        )
    )
    (job.bundle / "report.html").write_text(page, encoding="utf-8")
    manifest = {
        "penstock": 1,
        "name": plan.name,
        "release": job.run.id,
        "created": job.started.isoformat(timespec="seconds"),
        "records": source.rows,
        "guarantee": plan.guarantee.model_dump(mode="json"),
        "columns": columns,
        "gates": decision.public(),
        "spec_sha256": plan.spec_digest,
        "log_head": {"seq": head.seq, "digest": head.digest},
        "versions": versions(),
    }
    key = job.home.signing_key()
    digest = bundle.seal(job.bundle, manifest, key, key.public_key())
    job.run.commit("sealed", {"manifest": digest, "destination": str(job.destination), "records": source.rows})


@step("publish")
def install(job: Job) -> None:
    """Move the sealed bundle to its destination."""
    bundle.install(job.bundle, job.destination)


def already_published(job: Job) -> bool:
    """Whether this run died after its bundle had appeared and before that was recorded."""
    sealed = job.run.committed("sealed")
    manifest = job.destination / "manifest.json"
    return sealed is not None and manifest.exists() and plain_file(manifest) == sealed["manifest"]


def conclude(job: Job) -> Receipt:
    """Record the publication, remove the working files, hand out the receipt."""
    sealed = job.run.committed("sealed") or {}
    job.record(Action.PUBLISHED, manifest=sealed["manifest"], destination=str(job.destination))
    receipt = Receipt(
        name=job.plan.name,
        run=job.run.id,
        records=sealed["records"],
        promise=f"{job.plan.guarantee.model}, k = {job.plan.params.k}, {job.plan.params.method}",
        path=str(job.destination),
        manifest=sealed["manifest"],
        public_report=str(job.destination / "report.html"),
        confidential_report=str(job.run.path("report.html")),
        seconds=dict(job.seconds),
    )
    job.run.finish({"outcome": "published", "manifest": sealed["manifest"]}, keep=KEPT)
    return receipt


def _described_columns(job: Job) -> list[dict[str, Any]]:
    treated = treatments(job.plan.params, job.plan.declared)
    described = []
    for name, column in job.plan.data_columns.items():
        declared = json.loads(column.model_dump_json())
        facts = {key: declared[key] for key in ("role", "type", "domain", "categories", "missing")}
        described.append({"name": name, **facts, "type": column.type or "continuous", "treatment": treated[name]})
    return described
