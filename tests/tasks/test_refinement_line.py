"""Answers from refined priors through every step of the line: drawn, charged, checked, published, told."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.flows.preview import preview
from penstock.flows.release import release
from penstock.flows.spec import load_spec
from penstock.measures.gates import GateRefused
from penstock.mechanisms.refusal import Refusal, SpecRefused
from penstock.records import Action
from penstock.records.home import Home
from penstock.tasks import assess
from penstock.tasks.files.columns import load_columns
from penstock.tasks.verification.bundle import verify_bundle
from tests.support.private_release import Line, begun
from tests.support.workplace import (
    COMBINATIONS,
    ROWS,
    Workplace,
    budget_of,
    make_refined,
    make_units,
    open_dp_account,
    predicate,
)

CHECKS = ["factors_bounded", "possible_answers", "epsilon_spent", "identifiers_absent"]
COLUMNS = ["age", "region", "education", "income"]
both = pytest.mark.parametrize("adjacency", ["replace", "presence"])


@both
def test_the_published_bundle_verifies_and_says_what_was_settled(workplace: Workplace, adjacency: str) -> None:
    make_refined(workplace, adjacency=adjacency)
    with begun(workplace) as line:
        receipt = line.publish()
        assert line.job.log.events()[-1].action is Action.PUBLISHED
    assert receipt.promise == f"dp, epsilon = 1, adjacency {adjacency}"
    bundle = Path(receipt.path)
    assert verify_bundle(bundle, Home.open().public_key_path)
    said = predicate(bundle)["release"]
    assert receipt.records == said["records"] == said["settled"]["records"] == ROWS
    assert set(said["settled"]["answers"]) == set(COLUMNS)
    assert [each["gate"] for each in said["gates"]["results"]] == [*CHECKS, "expected_error", "privacy_loss"]
    assert {each["verdict"] for each in said["gates"]["results"]} == {"pass"}
    assert budget_of()[:2] == ("1", "3")
    assert workplace.working_files() == []


def test_answers_are_possible_ones_and_identifiers_are_gone(workplace: Workplace) -> None:
    make_refined(workplace)
    with begun(workplace) as line:
        table = pq.read_table(Path(line.publish().path) / "data.parquet")
    assert (table.column_names, table.num_rows) == (COLUMNS, ROWS)
    answers = table.to_pydict()
    assert set(answers["region"]) == {"North", "South", "East"}  # West is what the prior excludes
    assert set(answers["education"]) == {"primary", "secondary", "bachelor", "master"}
    assert 16 <= min(answers["age"]) <= max(answers["age"]) <= 100
    assert 0 <= min(answers["income"]) <= max(answers["income"]) <= 100_000


def test_a_staged_answer_that_is_impossible_stops_the_release(workplace: Workplace) -> None:
    """The check is made on the file that was staged, so a defect between drawing and writing is seen."""
    make_refined(workplace)
    with begun(workplace) as line:
        source, staged = line.protect()
        table = pq.read_table(staged.data)
        place = table.column_names.index("income")
        incomes = [-1.0, *table["income"].to_pylist()[1:]]
        pq.write_table(table.set_column(place, table.schema.field("income"), [incomes]), staged.data)
        _, decision = assess.assess.fn(line.job, source, (staged,))  # type: ignore[attr-defined]
    assert decision.verdict.word == "refuse"
    assert [result.gate for result in decision.results if result.verdict.word != "pass"] == ["possible_answers"]


def impossible_ones(table: pa.Table) -> int:
    """How many records have one of the combinations that cannot be."""
    pairs = zip(table["region"].to_pylist(), table["education"].to_pylist(), strict=True)
    return sum(pair in {("South", "bachelor"), ("South", "master"), ("East", "primary")} for pair in pairs)


@both
def test_impossible_combinations_are_not_published_and_the_bundle_says_what_was_answered_together(
    workplace: Workplace, adjacency: str
) -> None:
    make_refined(workplace, adjacency=adjacency, impossible=COMBINATIONS)
    assert impossible_ones(pq.read_table(workplace.source)) > ROWS / 10
    with begun(workplace) as line:
        receipt = line.publish()
    bundle = Path(receipt.path)
    assert verify_bundle(bundle, Home.open().public_key_path)
    assert impossible_ones(pq.read_table(bundle / "data.parquet")) == 0
    said = predicate(bundle)["release"]
    [joint] = said["settled"]["joint"]
    assert (joint["columns"], joint["epsilon"]) == (["region", "education"], "1/2")
    assert set(said["settled"]["answers"]) == {"age", "income"}
    assert said["guarantee"]["parameters"]["joint"][0]["impossible"] == [
        {"region": ["South"], "education": ["bachelor", "master"]},
        {"region": ["East"], "education": ["primary"]},
    ]
    gates = [each["gate"] for each in said["gates"]["results"]]
    assert gates == [*CHECKS[:2], "possible_combinations", *CHECKS[2:], "expected_error", "privacy_loss"]
    assert {each["verdict"] for each in said["gates"]["results"]} == {"pass"}
    assert budget_of()[:2] == ("1", "3")


def test_a_staged_combination_that_is_impossible_stops_the_release(workplace: Workplace) -> None:
    make_refined(workplace, impossible=COMBINATIONS)
    with begun(workplace) as line:
        source, staged = line.protect()
        table = pq.read_table(staged.data)
        for name, value in (("region", "East"), ("education", "primary")):
            values = [value, *table[name].to_pylist()[1:]]
            field = table.schema.field(name)
            table = table.set_column(table.column_names.index(name), field, pa.array(values).cast(field.type))
        pq.write_table(table, staged.data)
        _, decision = assess.assess.fn(line.job, source, (staged,))  # type: ignore[attr-defined]
    assert decision.verdict.word == "refuse"
    assert [result.gate for result in decision.results if result.verdict.word != "pass"] == ["possible_combinations"]


def test_the_public_page_and_the_plan_say_what_was_answered_together(workplace: Workplace) -> None:
    make_refined(workplace, impossible=COMBINATIONS)
    told = preview(load_spec(workplace.write_spec()), count=False)["expect"]
    assert any(sentence.startswith("region, education are answered together") for sentence in told)
    with begun(workplace) as line:
        page = " ".join(public_page(line).split())
    assert "1/2 together with education" in page
    assert "1/2 together with region" in page
    assert "region, education were drawn together" in page
    assert "no impossible combination is released" in page


def test_what_the_public_is_told_of_combinations_does_not_depend_on_those_in_the_data(
    workplace: Workplace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_refined(workplace, impossible=COMBINATIONS)
    first = public_side(workplace)
    (tmp_path / "other").mkdir()
    other = Workplace(tmp_path / "other")
    monkeypatch.setenv("PENSTOCK_HOME", str(other.home))
    make_refined(other, impossible=COMBINATIONS)
    other.write_survey(ROWS, seed=2)
    assert public_side(other) == first


def test_a_combination_that_does_not_fit_is_refused_by_the_plan(workplace: Workplace) -> None:
    make_refined(workplace, impossible=[*COMBINATIONS, {"region": "Nowhere", "age": "3"}, {"region": "West"}])
    with pytest.raises(SpecRefused) as refusal:
        load_spec(workplace.write_spec())
    fields = [fault.field for fault in refusal.value.faults]
    assert fields == ["protect.0.impossible.2.region", "protect.0.impossible.2.age", "protect.0.impossible.3"]


def public_page(line: Line) -> str:
    line.stage()
    page = (line.job.bundle / "report.html").read_text(encoding="utf-8")
    return re.sub(r"<(style|script).*?</\1>|<[^>]*>", " ", page, flags=re.DOTALL)


@both
def test_the_public_page_speaks_of_answers_and_not_of_blocks(workplace: Workplace, adjacency: str) -> None:
    make_refined(workplace, adjacency=adjacency)
    with begun(workplace) as line:
        page = public_page(line)
        statement = line.job.plan.guarantee.statement
    assert "one random answer" in page
    assert not re.search(r"\bblocks?\b|\bbucket|\bcluster|rows are not persons", page)
    assert statement in page.replace("&#39;", "'")
    for name in COLUMNS:
        assert name in page


def public_side(workplace: Workplace) -> tuple[dict[str, Any], str]:
    """The release part and the page of a staged release, without what names this run and these files."""
    with begun(workplace) as line:
        said = line.stage()["release"]
        page = (line.job.bundle / "report.html").read_text(encoding="utf-8")
    for run_or_file in ("release", "created", "spec_sha256", "bytes"):
        del said[run_or_file]
    page = re.sub(r"[0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}|[0-9]+:[0-9a-f]{64}|[0-9a-f]{64}|[0-9.]+ kB", "", page)
    return said, page


@pytest.mark.parametrize(("rows", "alike"), [(ROWS, True), (ROWS + 1, False)])
def test_what_the_public_is_told_depends_on_the_number_of_records_alone(
    workplace: Workplace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, alike: bool
) -> None:
    make_refined(workplace)
    first = public_side(workplace)
    (tmp_path / "other").mkdir()
    other = Workplace(tmp_path / "other")
    monkeypatch.setenv("PENSTOCK_HOME", str(other.home))
    make_refined(other)
    other.write_survey(rows, seed=2)
    assert (public_side(other) == first) is alike


def test_rows_are_published_in_an_order_of_their_own(workplace: Workplace) -> None:
    """With a certain epsilon the answers are the values: the same ones, and in another order."""
    make_refined(workplace, epsilon="64", priors={"age": {"kind": "uniform"}})
    columns = workplace.raw["source"]["columns"]
    workplace.raw["source"]["columns"] = {name: columns[name] for name in ("person_id", "age")}
    workplace.raw["budget"]["epsilon"] = "64"
    workplace.raw["gates"] = [{"measure": "privacy_loss", "max": 64}]
    with begun(workplace, limit=64) as line:
        source, staged = line.protect()
        ages = load_columns(source.folder)["age"]
        released = pq.read_table(staged.data)["age"].to_numpy()
    assert np.abs(np.sort(released) - np.sort(ages)).sum() <= 84  # one answer in a million is another one
    assert (released == ages).mean() < 0.2


def test_an_expected_error_beyond_its_gate_refuses_before_anything_is_spent(workplace: Workplace) -> None:
    make_refined(workplace)
    workplace.raw["gates"] = [{"measure": "expected_error", "max": 0.01}]
    with begun(workplace) as line:
        source = line.ingest()
        with pytest.raises(GateRefused):
            line.reserve(source)
        assert line.job.ledger.book("survey").costs == ()
    assert workplace.bundles() == []


def test_a_privacy_loss_beyond_its_gate_is_refused_by_the_plan(workplace: Workplace) -> None:
    make_refined(workplace)
    workplace.raw["gates"] = [{"measure": "privacy_loss", "max": 0.99}]
    with pytest.raises(SpecRefused) as refusal:
        load_spec(workplace.write_spec())
    assert refusal.value.faults[0].field == "gates.0.max"


def test_the_whole_flow_publishes_and_a_second_release_finds_the_account_empty(workplace: Workplace) -> None:
    make_refined(workplace)
    open_dp_account(1)
    receipt = release(load_spec(workplace.write_spec()))
    verify_bundle(Path(receipt.path), Home.open().public_key_path)
    assert budget_of()[:2] == ("1", "0")
    workplace.raw["name"] = "again"
    make_other_answers(workplace)
    with pytest.raises(Refusal) as refusal:
        release(load_spec(workplace.write_spec()))
    assert refusal.value.code == "budget-exceeded"
    assert budget_of()[:2] == ("1", "0")
    assert len(workplace.bundles()) == 1


def make_other_answers(workplace: Workplace) -> None:
    """Ask for something that was not drawn before, so that it must be paid for."""
    workplace.raw["protect"][0]["priors"]["education"] = {
        "kind": "masses",
        "masses": {"primary": "1/2", "master": "1/2"},
    }


def test_a_plan_tells_what_to_expect_before_any_row_is_read(workplace: Workplace) -> None:
    make_refined(workplace, adjacency="presence")
    told = preview(load_spec(workplace.write_spec()), count=False)
    assert any("one random answer" in sentence for sentence in told["expect"])
    assert [name for name in COLUMNS if any(each.startswith(f"{name}: ") for each in told["expect"])] == COLUMNS
    assert "e^2" in told["guarantee"]["statement"]


def test_no_unit_gives_more_records_than_promised(workplace: Workplace) -> None:
    make_refined(workplace)
    make_units(workplace, 3)
    with begun(workplace) as line:
        _, staged = line.protect()
        secrets = load_columns(staged.secrets)
        receipt = line.publish()
    said = predicate(Path(receipt.path))["release"]
    assert np.bincount(secrets["kept"] // 4).tolist() == [3] * (ROWS // 4)
    assert receipt.records == said["settled"]["records"] == 3 * ROWS // 4
    assert said["guarantee"]["unit"] == "individual"
    assert said["settled"]["answers"]["age"]["epsilon"] == "1/12"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("protect.0.priors.age", None),
        ("protect.0.priors.region.masses", {"kind": "masses", "masses": {"North": "1/2"}}),
        ("protect.0.priors.income", {"kind": "distribution", "name": "rvs"}),
    ],
)
def test_a_prior_that_does_not_fit_is_refused_by_the_plan(workplace: Workplace, field: str, value: Any) -> None:
    make_refined(workplace)
    name = field.split(".")[3]
    priors = workplace.raw["protect"][0]["priors"]
    priors.pop(name) if value is None else priors.update({name: value})
    with pytest.raises(Refusal) as refusal:
        load_spec(workplace.write_spec())
    assert any(name in fault.field and "priors" in fault.field for fault in refusal.value.faults)


def test_what_is_measured_of_answers_is_kept_on_the_confidential_side(workplace: Workplace) -> None:
    make_refined(workplace)
    with begun(workplace) as line:
        _, staged, decision = line.assess()
        told = json.loads(line.job.run.path("assessment.json").read_text(encoding="utf-8"))
    assert decision.verdict.word == "pass"
    stated = [facts["expected_error"] for facts in staged.chosen["answers"].values()]
    assert {result.gate: result.value for result in decision.results}["expected_error"] == max(stated)
    assert {"expected_error", "privacy_loss", "mean_change"} <= {taken["name"] for taken in told["measurements"]}
