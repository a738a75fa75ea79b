"""The public report of a release, from what is public of each of its outputs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from penstock.mechanisms.columns import Column
from penstock.mechanisms.guarantee import in_words
from penstock.mechanisms.registry import mechanism_of
from penstock.records.bundle import bundle
from penstock.reports.page_facts import PublicReport, SeveralPublic, SharedPublic
from penstock.reports.pages import public_report
from penstock.tasks.descriptions import DescribedFile, files_of
from penstock.tasks.editions import Edition
from penstock.tasks.outputs.output import Staged
from penstock.tasks.run.job import Job

__all__ = ["public_page"]

Facts = Mapping[str, Any]


def public_page(
    job: Job,
    outputs: Sequence[tuple[Job, Staged]],
    described: Sequence[Facts],
    shared: Sequence[DescribedFile],
    gates: Sequence[Facts],
    earlier: Sequence[Edition],
) -> str:
    """Return the page on the files that are already in the bundle. described: what the manifest states of each output.

    shared: the files that several outputs share. gates: the public results of all. earlier: editions that were
    published before.
    """
    log_head, subject = job.log.head().digest, bundle.subjects(job.bundle)
    files = [
        {
            "name": file["name"],
            "bytes": (job.bundle / file["name"]).stat().st_size,
            "sha256": file["digest"]["sha256"],
        }
        for file in subject
    ]
    pages = [
        _page(each, staged, facts, gates, files, log_head)
        for (each, staged), facts in zip(outputs, described, strict=True)
    ]
    title = job.plan.spec.get("describe", {}).get("title")
    if not job.plan.is_of_several:
        return public_report(replace(pages[0], edition=job.plan.edition, earlier=earlier, title=title))
    return public_report(
        SeveralPublic(
            name=job.plan.name,
            release=job.run.id,
            date=job.started.date().isoformat(),
            together=in_words({page.name: page.guarantee for page in pages}),
            outputs=pages,
            shared=[
                SharedPublic(
                    name=each.file.name,
                    outputs=each.file.outputs,
                    records=each.records,
                    together=each.file.together,
                    columns=each.columns,
                )
                for each in shared
            ],
            gates=gates,
            files=files,
            log_head=log_head,
            where=job.plan.spec["source"].get("where"),
            edition=job.plan.edition,
            earlier=earlier,
            title=title,
        )
    )


def _page(
    job: Job, staged: Staged, facts: Facts, gates: Sequence[Facts], files: Sequence[Facts], log_head: str
) -> PublicReport:
    """Return the facts of the page of one output."""
    plan = job.plan
    return PublicReport(
        name=plan.output_name or plan.name,
        release=job.run.id,
        date=job.started.date().isoformat(),
        records=plan.output.published_rows(staged),
        guarantee=plan.guarantee,
        # Those of a file that several outputs share are told with the file.
        columns=facts["columns"] if plan.file_of(plan.output_name) is None else (),
        noise=list(_noise(staged.chosen, plan.released)),
        gates=gates,
        files=files if plan.output_name is None else files_of(plan.output, files),
        usage=mechanism_of(plan.params).advice(plan.params, plan.declared),
        log_head=log_head,
        rows_are=plan.output.rows_are,
        tables=plan.output.sheets(staged),
        linked=facts.get("linked", []),
        labels=plan.output.labels(staged),
        known=[{**part, "factors": [_rounded_up(each) for each in part["factors"]]} for part in _known(staged)],
        where=plan.spec["source"].get("where"),
    )


def _known(staged: Staged) -> Sequence[Mapping[str, Any]]:
    """Return what is stated for somebody who knows members of a group; nothing where there are none."""
    known: Sequence[Mapping[str, Any]] = staged.chosen.get("after_known", ())
    return known


def _rounded_up(factor: str) -> str:
    """Return an exact number with four decimals, not below it."""
    return f"{math.ceil(Fraction(factor) * 10_000) / 10_000:.4f}"


def _noise(settled: Mapping[str, Any], columns: Mapping[str, Column]) -> Iterator[dict[str, Any]]:
    """Yield how exact each column is, from public facts."""
    stated = {name: (part, facts) for part in settled.get("parts", ()) for name, facts in part["columns"].items()}
    stated |= {name: ({}, facts) for name, facts in settled.get("answers", {}).items()}
    stated |= {name: (joint, facts) for joint in settled.get("joint", ()) for name, facts in joint["answers"].items()}
    for name, column in columns.items():
        if name not in stated:
            continue
        part, facts = stated[name]
        low, high = column.bounds
        yield {
            "column": name,
            "epsilon": facts.get("epsilon") or part["epsilon"],
            "delta": facts.get("delta") or part.get("delta"),
            "moved": None if "moved" not in {**part, **facts} else float(Fraction((part | facts)["moved"])),
            "together": [] if "epsilon" in facts else [other for other in part["columns"] if other != name],
            "order": part.get("order"),
            "k": part.get("k"),
            "expected_error": facts["expected_error"],
            "unit_error": facts["expected_error"] * (high - low) if column.numeric else None,
            "noise_error": facts.get("noise_error"),
        }
