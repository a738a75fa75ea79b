"""Which records of an individual are left out: said with the figures, and measured on the confidential side."""

from __future__ import annotations

import json
import re
from pathlib import Path

from penstock.tasks import report
from penstock.tasks.files.columns import load_columns
from tests.support.private_release import begun
from tests.support.workplace import (
    ROWS,
    Workplace,
    make_table,
    make_units,
    predicate,
)

RELAXED = {
    "bdp": {"adjacency": "bootstrap_replace", "scale": "per_cell", "empty_cells": "noise", "acknowledges": ["bdp"]},
    "idp": {"adjacency": "from_D", "acknowledges": ["idp"]},
}
MODELS = {
    "dp": {},
    "dp measured": {"margins": "measured", "margin_share": "1/2", "adjacency": "add_remove"},
    **{name: {"model": name, **settings} for name, settings in RELAXED.items()},
}


def test_the_share_of_records_left_out_is_in_the_confidential_report_and_nowhere_in_public(
    workplace: Workplace,
) -> None:
    make_table(workplace, adjacency="add_remove", rows_per_unit=None)
    make_units(workplace, 3, records_of_each=7)
    with begun(workplace) as line:
        source, staged, decision = line.assess()
        used = len(load_columns(staged.secrets, only=("kept",))["kept"])
        assert used == sum(min(3, min(7, ROWS - first)) for first in range(0, ROWS, 7))
        report.report.fn(line.job, source, 0, decision)  # type: ignore[attr-defined]
        receipt = line.finish(staged, decision)
    page = Path(receipt.confidential_report).read_text(encoding="utf-8")
    told = re.sub(r"\s+", " ", page)
    assert f"at most 3 records are used, chosen at random: {used:,} of {ROWS:,} records were" in told
    assert f"{100 * (ROWS - used) / ROWS:.1f} % were left out" in told
    confidential = [f"{used}", f"{used:,}", f"{ROWS - used}", f"{ROWS - used:,}", f"{100 * (ROWS - used) / ROWS:.1f} %"]
    shown = (Path(receipt.path) / "report.html").read_text(encoding="utf-8")
    release = json.dumps(predicate(Path(receipt.path))["release"])
    # Noise makes any number now and then, so the noisy figures are not looked at.
    words = re.sub(r"<style>.*?</style>|<table class=\"figures.*?</table>", "", shown, flags=re.DOTALL)
    for figure in confidential:
        apart = re.compile(rf"(?<![\w,.]){re.escape(figure)}(?![\w,.])")
        assert not apart.search(words), figure
        assert not apart.search(release), figure
    for text in (shown, release, (Path(receipt.path) / "metadata/codebook.xml").read_text(encoding="utf-8")):
        assert "of each individual at most 3 records are used, chosen at random" in text
        assert "(records used, at most 3 of each individual)" in text
        assert "unbiased" not in text


def test_where_all_records_are_used_none_is_called_left_out(workplace: Workplace) -> None:
    make_table(workplace)
    with begun(workplace) as line:
        source, _, decision = line.assess()
        report.report.fn(line.job, source, 0, decision)  # type: ignore[attr-defined]
        assert "Records left out" not in line.job.run.path("report.html").read_text(encoding="utf-8")
