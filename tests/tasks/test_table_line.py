"""A table through every step of the line: drawn, re-checked, judged, staged in every format, sealed and verified."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet as pq
import pysdmx.io
import pytest

from penstock.measures.gates import GateRefused, Verdict
from penstock.mechanisms.refusal import ValueOutsideDomain
from penstock.mechanisms.registry import MECHANISMS
from penstock.records import open_records
from penstock.records.home import Home
from penstock.records.ledger.ledger import BudgetExceeded, ReservationMissing
from penstock.records.log.log import Action
from penstock.records.run import RunDamaged
from penstock.tasks import protect
from penstock.tasks.files.tables import read_table
from penstock.tasks.gate import pass_gates
from penstock.tasks.overlaps import differencing
from penstock.tasks.verification.bundle import ClaimBroken, verify_bundle
from tests.support.private_release import Line, begun
from tests.support.workplace import (
    DESCRIPTIONS,
    ROWS,
    Workplace,
    budget_of,
    files_of,
    make_table,
    make_units,
    open_dp_account,
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


@pytest.mark.parametrize("settings", MODELS.values(), ids=MODELS)
def test_a_table_is_released_and_verifies(workplace: Workplace, settings: dict[str, object]) -> None:
    make_table(workplace, **settings)
    with begun(workplace) as line:
        receipt = line.publish()
    bundle = Path(receipt.path)
    assert set(files_of(bundle)) == {
        "tables/incomes.parquet",
        "tables/incomes.csv",
        "tables/incomes.sdmx.csv",
        "tables/incomes.structure.xml",
        *DESCRIPTIONS,
        "manifest.json",
        "report.html",
    }
    findings = verify_bundle(bundle, Home.open().public_key_path)
    assert any("every total is the sum of its cells" in finding.text for finding in findings)
    table = pq.read_table(bundle / "tables/incomes.parquet")
    assert table.num_rows == receipt.records == 16 + 4 + 4 + 1
    assert receipt.rows_are == "cells"
    assert budget_of()[0] == "1"
    assert workplace.working_files() == []


def test_an_exact_table_is_released_and_verifies(workplace: Workplace) -> None:
    workplace.write_survey(2000)
    make_table(workplace, model="k_anon", epsilon=None, adjacency=None, k=2)
    with begun(workplace, account=False) as line:
        receipt = line.publish()
    table = pq.read_table(Path(receipt.path) / "tables/incomes.parquet").to_pydict()
    source = pq.read_table(workplace.source)
    assert table["count"][-1] == source.num_rows
    assert table["income_mean"][-1] == pytest.approx(np.clip(source["income"].to_numpy(), 0, 1e5).mean(), rel=1e-8)
    verify_bundle(Path(receipt.path), Home.open().public_key_path)


def test_the_public_side_tells_the_size_of_the_noise_only_where_it_may(workplace: Workplace) -> None:
    make_table(workplace, model="bdp", **RELAXED["bdp"])
    with begun(workplace) as line:
        _, staged = line.protect()
        hidden = {path.name for path in staged.secrets.iterdir()}
        content = line.stage()
    assert hidden
    told = json.dumps(content["release"])
    assert "standard_error" not in told
    assert "half_widths" not in told


def test_a_table_about_units_uses_a_bounded_number_of_records_of_each(workplace: Workplace) -> None:
    make_table(workplace, adjacency="add_remove")
    make_units(workplace, 2)
    with begun(workplace) as line:
        _, staged, decision = line.assess()
        assert decision.verdict is Verdict.PASS
        counted = read_table(staged.data, line.job.plan.output.layout)["count"][-1]
    # 100 persons with two records each; the noise of 25 cells has a standard error below 20 each at epsilon 1/2.
    assert abs(counted - ROWS / 2) < 1000


def test_the_same_question_gets_the_same_answer_and_is_charged_once(workplace: Workplace) -> None:
    make_table(workplace)
    with begun(workplace, limit=1) as line:
        first = line.publish()
    workplace.raw["name"] = "again"
    workplace.raw["protect"][0]["table"] = "renamed"
    with begun(workplace, account=False) as line:
        second = line.publish()
    one = pq.read_table(Path(first.path) / "tables/incomes.parquet")
    two = pq.read_table(Path(second.path) / "tables/renamed.parquet")
    assert one.to_pydict() == two.to_pydict()
    assert budget_of() == ("1", "0", ["published", "published"])
    repeated = [event for event in open_records().log.events(second.run) if event.action is Action.REPEATED]
    assert [event.facts["of"] for event in repeated] == [first.run] == [second.repeats]
    assert first.repeats is None
    verify_bundle(Path(second.path), Home.open().public_key_path)


@pytest.mark.parametrize(
    "change",
    [
        lambda raw: raw["protect"][0].update(epsilon="1/2"),
        lambda raw: raw["protect"][0].update(margins="none"),
        lambda raw: raw["source"]["columns"]["income"].update(domain=[0, 50_000]),
    ],
    ids=["epsilon", "margins", "bounds"],
)
def test_another_question_is_drawn_anew(workplace: Workplace, change) -> None:
    make_table(workplace)
    with begun(workplace) as line:
        line.publish()
    change(workplace.raw)
    workplace.raw["name"] = "other"
    with begun(workplace, account=False) as line:
        line.publish()
    assert len(budget_of()[2]) == 2


def test_other_records_are_another_question(workplace: Workplace) -> None:
    make_table(workplace)
    with begun(workplace) as line:
        line.publish()
    workplace.write_survey(ROWS, seed=2)
    workplace.raw["name"] = "other"
    with begun(workplace, account=False) as line:
        line.publish()
    assert len(budget_of()[2]) == 2


def answer_folder(workplace: Workplace) -> Path:
    [folder] = (workplace.home / "answers").iterdir()
    return folder


def test_an_answer_that_was_changed_is_refused(workplace: Workplace) -> None:
    make_table(workplace)
    with begun(workplace) as line:
        line.publish()
    data = answer_folder(workplace) / "data"
    data.write_bytes(data.read_bytes() + b" ")
    workplace.raw["name"] = "again"
    with begun(workplace, account=False) as line, pytest.raises(RunDamaged, match="as the audit log says"):
        line.protect()


def test_an_answer_that_the_log_does_not_know_is_refused(workplace: Workplace) -> None:
    make_table(workplace)
    with begun(workplace) as line:
        line.protect()  # died before PROTECTED was on record
    told = answer_folder(workplace) / "answer.json"
    facts = json.loads(told.read_text(encoding="utf-8"))
    told.write_text(json.dumps({**facts, "run": "20260101T000000Z-00000000"}), encoding="utf-8")
    workplace.raw["name"] = "again"
    with begun(workplace, account=False) as line, pytest.raises(RunDamaged, match="as the audit log says"):
        line.protect()


def overlap_result(line: Line):
    _, _, decision = line.assess()
    return decision, next((result for result in decision.results if result.gate == "differencing"), None)


def test_a_table_that_overlaps_an_earlier_one_is_flagged(workplace: Workplace) -> None:
    make_table(workplace)
    with begun(workplace) as line:
        earlier = line.publish()
    workplace.raw["name"] = "other"
    workplace.raw["protect"][0].update(dimensions=["region"], means=[], sums=[])
    with begun(workplace, account=False) as line:
        decision, flag = overlap_result(line)
    assert flag is not None
    assert decision.verdict is flag.verdict is Verdict.PASS
    assert flag.reason == f"{earlier.run} shares region: the ledger counts both together"


def test_tables_without_a_common_column_are_not_flagged(workplace: Workplace) -> None:
    make_table(workplace, dimensions=["region"], sums=[], means=[])
    with begun(workplace) as line:
        line.publish()
    workplace.raw["name"] = "other"
    workplace.raw["protect"][0].update(dimensions=["education"])
    with begun(workplace, account=False) as line:
        assert overlap_result(line)[1] is None


def test_an_exact_table_that_overlaps_needs_a_person_to_look(workplace: Workplace) -> None:
    workplace.write_survey(2000)
    make_table(workplace, model="k_anon", epsilon=None, adjacency=None, k=2)
    with begun(workplace, account=False) as line:
        earlier = line.publish()
    workplace.raw["name"] = "other"
    workplace.raw["protect"][0].update(dimensions=["region"])
    workplace.raw["budget"] = {"acknowledges": [earlier.run]}
    with pytest.raises(GateRefused, match="Name reviewers in approve"), begun(workplace, account=False) as line:
        line.protect()
    workplace.raw["approve"] = {"reviewers": 1, "allowed": ["anna"]}
    with begun(workplace, account=False) as line:
        decision, flag = overlap_result(line)
        assert flag is not None
        assert decision.verdict is flag.verdict is Verdict.REVIEW
        pass_gates(line.job, decision)


def test_what_an_earlier_version_found_is_looked_at_by_a_person(workplace: Workplace) -> None:
    """It said which releases overlap, and not under which models they were."""
    make_table(workplace)
    with begun(workplace) as line:
        line.job.record(Action.OVERLAPS, releases={"r1": ["region"]})
        found = differencing(line.job)
    assert found is not None
    assert (found.verdict, found.reason) == (
        Verdict.REVIEW,
        "r1 shares region: what both promise together is not on record",
    )


def test_an_answer_that_is_gone_when_it_is_wanted_is_not_drawn_for_nothing(workplace: Workplace) -> None:
    make_table(workplace)
    with begun(workplace) as line:
        line.publish()
    workplace.raw["name"] = "again"
    with begun(workplace, account=False) as line:
        source = line.ingest()
        line.reserve(source)
        shutil.rmtree(answer_folder(workplace))
        with pytest.raises(ReservationMissing):
            protect.protect.fn(line.job, source)  # type: ignore[attr-defined]
        line.reserve(source)
        assert [cost.claim.epsilon for cost in line.job.ledger.book("survey").costs] == [1, 1]


def test_a_public_gate_that_cannot_hold_refuses_before_anything_is_reserved(workplace: Workplace) -> None:
    make_table(workplace)
    workplace.raw["gates"] = [{"measure": "expected_error", "max": 0.01}]
    with begun(workplace) as line, pytest.raises(GateRefused, match="expected_error"):
        line.protect()
    assert budget_of() == ("0", "4", [])


@pytest.mark.parametrize("forgets", [False, True])
def test_the_report_tells_of_noise_that_is_too_small(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch, forgets: bool
) -> None:
    """Not a gate, because sound noise could miss it. 16 cells with two measures; false alarm at most 1e-6."""
    real = MECHANISMS["table"].protect

    def forgetful(columns, declared, params, randomness):
        drawn = real(columns, declared, params, randomness)
        exact = real(columns, declared, params.model_copy(update={"epsilon": params.epsilon * 10**6}), randomness)
        return replace(exact, guarantee=drawn.guarantee, chosen=drawn.chosen)

    make_table(workplace)
    workplace.raw["protect"][0].update(dimensions=["region", "education"], noise="laplace")
    if forgets:
        monkeypatch.setitem(MECHANISMS, "table", replace(MECHANISMS["table"], protect=forgetful))
    with begun(workplace) as line:
        _, _, decision = line.assess()
        assessed = json.loads(line.job.run.path("assessment.json").read_text(encoding="utf-8"))
    chance = next(taken["value"] for taken in assessed["measurements"] if taken["name"] == "noise_chance")
    assert decision.verdict is Verdict.PASS
    assert (chance < 1e-6) is forgets


def altered(bundle: Path, name: str, change) -> None:
    table = pq.read_table(bundle / name)
    pq.write_table(change(table), bundle / name)


CHANGES = {
    "a total": (
        lambda t: t.set_column(2, "count", pa.array([*t["count"].to_pylist()[:-1], t["count"][-1].as_py() + 1])),
        "totals of count that are the sums of their cells",
    ),
    "the order of its cells": (lambda t: t.take([1, 0, *range(2, t.num_rows)]), "in its order of education"),
    "a row": (lambda t: t.slice(1), "must have as many records as the manifest says"),
    "a column": (lambda t: t.drop_columns(["count"]), "the columns that the manifest lists"),
}


@pytest.mark.parametrize(("change", "rule"), CHANGES.values(), ids=CHANGES)
def test_a_table_that_does_not_bear_out_its_manifest_is_refused(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch, change, rule: str
) -> None:
    """Signed as it is, so that only the content of the table can be wrong."""
    from penstock.tasks.outputs.cells import Cells

    make_table(workplace)
    workplace.raw["publish"]["formats"] = ["parquet"]
    real = Cells.write

    def write_wrongly(output, job, staged):
        real(output, job, staged)
        path = job.bundle / "tables" / "incomes.parquet"
        table = pq.read_table(path)
        path.unlink()  # a hard link to the staged file
        pq.write_table(change(table), path)

    monkeypatch.setattr(Cells, "write", write_wrongly)
    with begun(workplace) as line:
        receipt = line.publish()
    with pytest.raises(ClaimBroken, match=rule):
        verify_bundle(Path(receipt.path), Home.open().public_key_path)


def test_the_csv_holds_the_same_figures(workplace: Workplace) -> None:
    make_table(workplace)
    with begun(workplace) as line:
        bundle = Path(line.publish().path)
    parquet = pq.read_table(bundle / "tables/incomes.parquet").to_pydict()
    assert pyarrow.csv.read_csv(bundle / "tables/incomes.csv").to_pydict() == parquet
    assert predicate(bundle)["release"]["layout"]["levels"] == [["region", "education"], ["region"], ["education"], []]


def release_of_part(workplace: Workplace, region: str, epsilon: str = "1") -> None:
    """A table of the records of one region, from a file that holds no others."""
    survey = workplace.write_survey(ROWS)
    kept = survey.filter(pa.compute.equal(survey["region"], region))
    pq.write_table(kept, workplace.source)
    columns = workplace.raw["source"]["columns"]
    columns["region"] = {"role": "quasi_identifier", "type": "nominal", "categories": [region]}
    workplace.raw["name"] = f"survey-{region.lower()}-{epsilon[0]}"
    workplace.raw["protect"][0] |= {"dimensions": ["education"], "epsilon": epsilon}
    workplace.raw["budget"] |= {"part": "region", "epsilon": epsilon}
    with begun(workplace, account=False) as line:
        line.publish()


def test_parts_of_a_data_set_spend_beside_each_other(workplace: Workplace) -> None:
    make_table(workplace, adjacency="add_remove")
    open_dp_account(1, adjacency="add_remove", partition="region")
    release_of_part(workplace, "North")
    release_of_part(workplace, "South")
    assert budget_of() == ("1", "0", ["published", "published"])
    with pytest.raises(BudgetExceeded, match="must not exceed what the dp account of survey has left, 0 of 1"):
        release_of_part(workplace, "North", epsilon="1/2")


def test_a_part_with_records_of_another_is_refused(workplace: Workplace) -> None:
    make_table(workplace, adjacency="add_remove")
    open_dp_account(1, adjacency="add_remove", partition="region")
    workplace.raw["source"]["columns"]["region"]["categories"] = ["North"]
    workplace.raw["protect"][0]["dimensions"] = ["education"]
    workplace.raw["budget"]["part"] = "region"
    with begun(workplace, account=False) as line, pytest.raises(ValueOutsideDomain):
        line.protect()


def test_readers_that_are_not_ours_read_the_published_files(workplace: Workplace) -> None:
    """pysdmx for SDMX with its structure, DuckDB for Parquet and CSV; all tell the same figures."""
    make_table(workplace)
    with begun(workplace) as line:
        tables = Path(line.publish().path) / "tables"
    [dataset] = pysdmx.io.get_datasets(tables / "incomes.sdmx.csv", tables / "incomes.structure.xml")
    counts = dataset.data[dataset.data["FIGURE"] == "COUNT"]
    published = pq.read_table(tables / "incomes.parquet").to_pydict()
    assert [int(value) for value in counts["OBS_VALUE"]] == published["count"]
    assert [float(value) for value in counts["STD_ERR"]] == published["count_standard_error"]
    assert set(counts["OBS_STATUS"]) == {"E"}
    assert set(counts["CONF_STATUS"]) == {"F"}
    assert list(counts["REGION"])[-1] == published["region"][-1] == "_T"
    for name in ("incomes.parquet", "incomes.csv"):
        read = duckdb.sql(f"select * from '{tables / name}'").to_arrow_table().to_pydict()
        assert read["count"] == published["count"]
        assert read["income_sum"] == published["income_sum"]
