"""A differentially private release, from the source to the bundle: what is drawn, kept, checked and told."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from penstock.flows.planning import draw_up_plan
from penstock.flows.spec import load_spec
from penstock.measures.gates import GateRefused
from penstock.measures.public_facts import stated_errors
from penstock.mechanisms.refusal import ValueMissing, ValueOutsideDomain
from penstock.mechanisms.registry import mechanism_of
from penstock.records import Action
from penstock.tasks import protect
from penstock.tasks.files.columns import load_columns
from penstock.tasks.ingest import Ingested
from penstock.tasks.run.step import StepFailed
from penstock.tasks.verification.bundle import verify_bundle
from tests.support.private_release import REGIONS, ROWS, Line, begun, make_private, make_units
from tests.support.workplace import Workplace, predicate

BY_RECORD = ["il1s", "record_linkage", "sse"]
both = pytest.mark.parametrize("mode", ["records", "marginals"])


def assessment(line: Line) -> dict[str, Any]:
    return dict(json.loads(line.job.run.path("assessment.json").read_text(encoding="utf-8")))


@both
def test_the_published_bundle_verifies_and_says_what_was_settled(workplace: Workplace, mode: str) -> None:
    make_private(workplace, mode=mode)
    with begun(workplace) as line:
        receipt = line.publish()
        bundle = Path(receipt.path)
        found = {each.name: each for each in verify_bundle(bundle, line.job.home.public_key_path)}
        assert line.job.log.events()[-1].action is Action.PUBLISHED
    assert receipt.promise == "dp, epsilon = 1, adjacency replace"
    assert found["blocks"].checked
    release = predicate(bundle)["release"]
    assert release["penstock"] == 1
    assert receipt.records == release["records"] == release["settled"]["records"] == ROWS
    assert len(release["settled"]["parts"]) == (1 if mode == "records" else 4)
    assert {name for part in release["settled"]["parts"] for name in part["columns"]} == set(
        pq.read_schema(bundle / "data.parquet").names
    )
    assert pq.read_table(bundle / "data.parquet").num_rows == ROWS
    page = (bundle / "report.html").read_text(encoding="utf-8")
    assert "rows are not persons" in page
    assert release["guarantee"]["statement"] in page
    assert workplace.working_files() == []


@both
def test_columns_are_described_as_they_are_released(workplace: Workplace, mode: str) -> None:
    make_private(workplace, mode=mode)
    with begun(workplace) as line:
        columns = {column["name"]: column for column in line.stage()["release"]["columns"]}
    assert list(columns) == ["age", "region", "education", "income"]
    assert columns["region"]["categories"][:4] == ["North", "South", "East", "West"]
    assert set(columns["region"]["categories"]) == set(REGIONS)
    assert "broader concept" in columns["region"]["treatment"]
    assert (columns["income"]["outside"], columns["age"]["outside"]) == ("clamp", "refuse")


def test_what_is_kept_secret_tells_where_every_released_row_came_from(workplace: Workplace) -> None:
    make_private(workplace, k=20)
    with begun(workplace) as line:
        _, staged = line.protect()
        secrets = load_columns(staged.secrets)
        released = pq.read_table(staged.data).to_pylist()
    assert set(secrets) == {"origin", *(f"group {name}" for name in ("age", "region", "education", "income"))}
    assert sorted(secrets["origin"].tolist()) == list(range(ROWS))
    blocks: dict[int, set[tuple[Any, ...]]] = {}
    for row, source_row in zip(released, secrets["origin"].tolist(), strict=True):
        blocks.setdefault(secrets["group age"][source_row], set()).add(tuple(row.values()))
    assert len(blocks) == ROWS // 20
    assert all(len(rows) == 1 for rows in blocks.values())


@both
def test_every_check_is_made_and_the_gate_looks_at_public_facts(workplace: Workplace, mode: str) -> None:
    make_private(workplace, mode=mode)
    with begun(workplace) as line:
        _, staged, decision = line.assess()
        told = assessment(line)
    assert decision.verdict.word == "pass"
    assert [result.gate for result in decision.results] == [*line.job.plan.guarantee.audit, "expected_error"]
    stated = [facts["expected_error"] for part in staged.chosen["parts"] for facts in part["columns"].values()]
    assert decision.results[-1].value == max(stated)
    measured = [taken["name"] for taken in told["measurements"]]
    assert {"expected_error", "mean_change", "variance_change"} <= set(measured)
    assert ("average_risk" in measured) == (mode == "records")
    if mode == "records":
        assert set(BY_RECORD) <= set(measured)
    else:
        assert set(BY_RECORD) <= set(told["undefined"])


def test_a_gate_that_the_expected_error_does_not_keep_refuses_before_anything_is_spent(workplace: Workplace) -> None:
    make_private(workplace)
    workplace.raw["gates"] = [{"measure": "expected_error", "max": 0.01}]
    with begun(workplace) as line:
        source = line.ingest()
        with pytest.raises(GateRefused, match="7832 for region, which follows from these settings"):
            line.reserve(source)
        book = line.job.ledger.book("survey")
    assert book.costs == ()


def test_the_gate_knows_that_only_some_records_of_a_unit_are_used(workplace: Workplace) -> None:
    """Of 400 records 100 are used, and their error lies between the limits."""
    make_private(workplace, k=20, order="lexicographic")
    make_units(workplace, most=1)
    errors = {}
    for records in (100, 400):
        plan = draw_up_plan(load_spec(workplace.write_spec()))
        chosen = mechanism_of(plan.params).chosen(plan.params, plan.declared, records)
        errors[records] = max(stated_errors(chosen).values())
    assert errors[100] != errors[400]
    low, high = sorted(errors.values())
    limit = (low + high) / 2
    workplace.raw["gates"] = [{"measure": "expected_error", "max": limit}]
    with begun(workplace) as line:
        source = line.ingest()
        if errors[100] > limit:
            with pytest.raises(GateRefused):
                line.reserve(source)
        else:
            line.reserve(source)


def test_the_original_of_a_released_category_is_the_category_that_was_read(workplace: Workplace) -> None:
    """With a huge epsilon and single records for blocks nearly everything is released as it is."""
    make_private(workplace, epsilon="1000000000", k=1, order="lexicographic")
    workplace.raw["budget"]["epsilon"] = "1000000000"
    columns = workplace.raw["source"]["columns"]
    workplace.raw["source"]["columns"] = {name: columns[name] for name in ("person_id", "region")}
    with begun(workplace, limit=10**9) as line:
        line.assess()
        told = assessment(line)
    [sse] = [taken for taken in told["measurements"] if taken["name"] == "sse"]
    assert sse["value"] == 0


@both
def test_a_resumed_run_finds_what_was_drawn_and_what_was_settled(workplace: Workplace, mode: str) -> None:
    make_private(workplace, mode=mode)
    with begun(workplace) as line:
        _, first = line.protect()
    with begun(workplace, account=False) as line:
        assert line.job.run.resumed
        _, again = line.protect()
        actions = [event.action for event in line.job.log.events()]
        assert line.publish().records == ROWS
    assert again == first
    assert actions.count(Action.SPENT) == 1


def public_side(workplace: Workplace) -> tuple[dict[str, Any], str]:
    """The release part and the page of a staged release, without what names this run and these files."""
    with begun(workplace) as line:
        release = line.stage()["release"]
        page = (line.job.bundle / "report.html").read_text(encoding="utf-8")
    for run_or_file in ("release", "created", "spec_sha256", "bytes"):
        del release[run_or_file]
    page = re.sub(r"[0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}|[0-9]+:[0-9a-f]{64}|[0-9a-f]{64}|[0-9.]+ kB", "", page)
    return release, page


@both
def test_what_the_public_is_told_does_not_depend_on_the_data(
    workplace: Workplace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    """Other data, same number of records: gates, facts, columns and page are the same to the last digit."""
    make_private(workplace, mode=mode)
    first = public_side(workplace)
    (tmp_path / "other").mkdir()
    other = Workplace(tmp_path / "other")
    monkeypatch.setenv("PENSTOCK_HOME", str(other.home))
    make_private(other, mode=mode)
    other.write_survey(ROWS, seed=2)
    assert public_side(other) == first


def test_the_number_of_records_is_public(workplace: Workplace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin of the test above: what may be told is seen by it."""
    make_private(workplace)
    first = public_side(workplace)
    (tmp_path / "other").mkdir()
    other = Workplace(tmp_path / "other")
    monkeypatch.setenv("PENSTOCK_HOME", str(other.home))
    make_private(other)
    other.write_survey(ROWS + 1)
    assert public_side(other) != first


def test_values_beyond_a_clamped_domain_are_kept_for_measures_and_released_inside_it(workplace: Workplace) -> None:
    make_private(workplace)
    workplace.raw["source"]["columns"]["income"]["domain"] = [20_000, 30_000]
    with begun(workplace) as line:
        source, staged = line.protect()
        incomes = load_columns(source.folder)["income"]
        released = pq.read_table(staged.data)["income"].to_numpy()
    assert incomes.min() < 20_000 < 30_000 < incomes.max()
    assert 20_000 <= released.min() <= released.max() <= 30_000
    workplace.raw["source"]["columns"]["income"]["outside"] = "refuse"
    with begun(workplace, account=False) as line, pytest.raises(ValueOutsideDomain, match="income"):
        line.ingest()


@both
@pytest.mark.parametrize("most", [1, 3])
def test_no_unit_gives_more_records_than_promised(workplace: Workplace, mode: str, most: int) -> None:
    make_private(workplace, mode=mode)
    make_units(workplace, most)
    with begun(workplace) as line:
        _, staged = line.protect()
        secrets = load_columns(staged.secrets)
        receipt = line.publish()
        release = predicate(Path(receipt.path))["release"]
    kept, records = secrets["kept"], ROWS * most // 4
    assert np.bincount(kept // 4).tolist() == [most] * (ROWS // 4)  # four records in a row are one person's
    assert sorted(secrets["origin"].tolist()) == kept.tolist()
    assert len(secrets["group age"]) == len(kept) == records
    assert staged.records == receipt.records == release["records"] == release["settled"]["records"] == records
    assert release["guarantee"]["parameters"]["rows_per_unit"] == most
    assert release["guarantee"]["unit"] == "individual"


def test_rows_of_blocks_come_from_the_records_that_were_kept(workplace: Workplace) -> None:
    make_private(workplace, k=10)
    make_units(workplace, 2)
    with begun(workplace) as line:
        _, staged = line.protect()
        secrets = load_columns(staged.secrets)
        ages = pq.read_table(staged.data).column("age").to_numpy()
    label = dict(zip(secrets["kept"].tolist(), secrets["group age"].tolist(), strict=True))
    by_block: dict[int, set[int]] = {}
    for age, source_row in zip(ages.tolist(), secrets["origin"].tolist(), strict=True):
        by_block.setdefault(label[source_row], set()).add(age)
    assert len(by_block) == ROWS // 2 // 10
    assert all(len(values) == 1 for values in by_block.values())


def test_nothing_of_a_units_name_is_kept_on_the_confidential_side(workplace: Workplace) -> None:
    make_private(workplace)
    make_units(workplace, 2)
    with begun(workplace) as line:
        source, _, _ = line.assess()
        assert source.units is not None
        assert load_columns(source.units)["unit"].tolist() == [row // 4 for row in range(ROWS)]
        assert "person_id" not in load_columns(source.folder)
        files = [path for path in workplace.home.rglob("*") if path.is_file()]
        assert not [path for path in files if b"person 1" in path.read_bytes()]


def test_how_many_units_or_records_were_left_out_is_not_on_record(workplace: Workplace) -> None:
    make_private(workplace)
    make_units(workplace, 2)
    with begun(workplace) as line:
        line.protect()
        [drawing] = [event for event in line.job.log.events() if event.action is Action.PROTECTING]
    assert set(drawing.facts) == {"guarantee"}
    assert drawing.facts["guarantee"]["parameters"]["rows_per_unit"] == 2


def test_a_record_without_a_unit_is_refused(workplace: Workplace) -> None:
    make_private(workplace)
    make_units(workplace, 2)
    survey = pq.read_table(workplace.source)
    whose = [None, *survey["person_id"].to_pylist()[1:]]
    place = survey.column_names.index("person_id")
    pq.write_table(survey.set_column(place, "person_id", [whose]), workplace.source)
    with begun(workplace) as line, pytest.raises(ValueMissing, match="must tell of every record whose it is"):
        line.ingest()


def test_units_that_were_not_read_are_an_error_and_never_all_records(workplace: Workplace) -> None:
    make_private(workplace)
    make_units(workplace, 2)
    with begun(workplace) as line:
        source = line.ingest()
        without = Ingested(source.folder, source.digest, source.rows)
        line.reserve(source)
        with pytest.raises(StepFailed, match=r"ValueError at .*protect\.py"):
            protect.protect.fn(line.job, without)  # type: ignore[attr-defined]
        assert line.job.run.committed("protected") is None


@both
def test_the_whole_flow_publishes_and_warns_whoever_reads_the_confidential_report(
    workplace: Workplace, mode: str
) -> None:
    from penstock.flows.release import release
    from penstock.flows.spec import load_spec

    make_private(workplace, mode=mode)
    make_units(workplace, 3)
    with begun(workplace) as line:
        line.reserve(line.ingest())  # an account, and a run that the flow resumes
    receipt = release(load_spec(workplace.spec_file))
    assert receipt.records == 300
    report = Path(receipt.confidential_report).read_text(encoding="utf-8")
    assert "300 of 400 in the source" in report
    assert "Do not decide about publication by these values." in report
    assert workplace.working_files() == []
