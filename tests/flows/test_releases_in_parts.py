"""Releases whose records are never held together, under a memory limit: the same line, the same checks, figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.flows.release import release
from penstock.flows.spec import load_spec
from penstock.measures import MeasureUndefined
from penstock.mechanisms import table
from penstock.mechanisms.randomness import system
from penstock.records import open_records
from penstock.tasks.files.source import SourceUnreadable, open_source, read_source
from penstock.tasks.files.tables import read_table
from penstock.tasks.parts import ingest as ingest_parts
from penstock.tasks.parts.working_copy import SourceTooLarge
from penstock.tasks.verification.bundle import verify_bundle
from tests.support.cluster import write_hive, write_parts
from tests.support.workplace import PASSED, Workplace, budget_of, make_table, open_dp_account


def in_files(workplace: Workplace, kind: str, rows: int = 400) -> None:
    survey = workplace.write_survey(rows)
    folder = workplace.folder / "survey"
    if kind == "hive":
        write_hive(survey, folder, "region")
    else:
        write_parts(survey, folder)
    workplace.raw["source"]["path"] = "survey"
    workplace.raw["run"] = {"memory": "100 MB"}


def released(workplace: Workplace) -> Path:
    receipt = release(load_spec(workplace.write_spec()))
    bundle = Path(receipt.path)
    verify_bundle(bundle, workplace.home / "keys" / "signing.pub")
    assert workplace.working_files() == []
    open_records().log.verify()
    open_records().ledger.verify()
    return bundle


def assessed(workplace: Workplace, bundle: Path) -> dict[str, Any]:
    return dict(json.loads((workplace.home / "runs" / bundle.name / "assessment.json").read_text()))


@pytest.mark.parametrize("kind", ["hive", "plain"])
def test_a_table_is_released_in_parts(workplace: Workplace, kind: str) -> None:
    make_table(workplace)
    in_files(workplace, kind)
    open_dp_account(4)
    released(workplace)
    assert [event.action.value for event in open_records().log.events()][2:] == PASSED
    assert budget_of()[0] == "1"


def test_an_exact_table_in_parts_is_the_one_that_is_made_at_once(workplace: Workplace) -> None:
    make_table(workplace, model="k_anon", epsilon=None, adjacency=None, k=2)
    in_files(workplace, "plain")
    bundle = released(workplace)
    spec = load_spec(workplace.spec_file)
    columns = read_source(open_source(str(workplace.source), spec.columns), spec.columns)
    [params] = spec.protect
    assert isinstance(params, table.Params)
    at_once = table.protect(columns, spec.data_columns, params, system()).columns
    in_parts = read_table(bundle / "tables" / "incomes.parquet", table.layout(params, spec.columns))
    assert {name: values.tolist() for name, values in in_parts.items()} == {
        name: values.tolist() for name, values in at_once.items()
    }


@pytest.mark.parametrize("kind", ["hive", "plain"])
def test_swapped_records_are_released_in_parts(workplace: Workplace, kind: str) -> None:
    in_files(workplace, kind)
    bundle = released(workplace)
    assert [event.action.value for event in open_records().log.events()] == PASSED
    checks = {check["name"]: check["passed"] for check in assessed(workplace, bundle)["checks"]}
    assert checks == dict.fromkeys(
        ["group_sizes", "permutation_within_groups", "unchanged_columns", "identifiers_absent"], True
    )
    before, after = pq.read_table(workplace.source), pq.read_table(bundle / "data.parquet")
    for name in ("income", "savings", "age", "weight"):
        assert sorted(before[name].drop_null().to_pylist()) == sorted(after[name].drop_null().to_pylist())
    assert before["income"].to_pylist() != after["income"].to_pylist()


def test_what_groups_tell_is_measured_in_parts_as_at_once(workplace: Workplace) -> None:
    """By column: all values of a group are in the column, though not all columns are ever held together."""
    in_files(workplace, "plain")
    workplace.raw["gates"] = [{"measure": "own_value_probability", "of": "confidential", "max": 1}]
    found = {each["name"]: each for each in assessed(workplace, released(workplace))["measurements"]}
    for name in ("own_value_probability", "l_diversity", "entropy_l_diversity", "emd_closeness"):
        worst = min if found[name]["direction"] == "higher_is_safer" else max
        assert found[name]["by_column"].keys() == {"income", "savings"}
        assert found[name]["value"] == worst(found[name]["by_column"].values())
    k = workplace.raw["protect"][0]["k"]
    # No income occurs twice, so a group of k to 2k - 1 has as many.
    assert (
        k <= found["l_diversity"]["by_column"]["income"] == found["entropy_l_diversity"]["by_column"]["income"] < 2 * k
    )
    assert found["own_value_probability"]["by_column"]["income"] == pytest.approx(
        1 / found["l_diversity"]["by_column"]["income"]
    )
    assert 0.4 < found["emd_closeness"]["by_column"]["income"] <= 0.5  # the group at an end of the column


def test_what_looks_at_pairs_of_records_has_no_value_in_parts(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The spec refuses such a gate; if it did not, the run would."""
    in_files(workplace, "plain")
    monkeypatch.setattr("penstock.flows.spec.spec.run_faults", lambda *args: [])
    workplace.raw["gates"] = [{"measure": "informed_linkage", "knows": 1, "max": 1}]
    with pytest.raises(MeasureUndefined, match="needs records that are held together"):
        release(load_spec(workplace.write_spec()))
    refused(workplace)


def refused(workplace: Workplace) -> None:
    assert workplace.public_files() == []
    assert [event.action.value for event in open_records().log.events()][-1] == "REFUSED"


def test_a_source_that_changes_while_it_is_read_is_refused(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_files(workplace, "plain")
    spread = ingest_parts.spread

    def changed_meanwhile(*args: Any) -> Any:
        found = spread(*args)
        file = workplace.folder / "survey" / "0.parquet"
        pq.write_table(pq.read_table(file).slice(1), file)
        return found

    monkeypatch.setattr(ingest_parts, "spread", changed_meanwhile)
    with pytest.raises(SourceUnreadable, match="must not change while it is read"):
        release(load_spec(workplace.write_spec()))
    refused(workplace)


def test_a_column_that_is_too_large_for_the_limit_is_refused(workplace: Workplace) -> None:
    survey = workplace.write_survey(1_000)
    pq.write_table(pa.concat_tables([survey] * 540), workplace.source, row_group_size=50_000)
    workplace.raw["run"] = {"memory": "100 MB"}
    with pytest.raises(SourceTooLarge, match="bytes per record while it is swapped"):
        release(load_spec(workplace.write_spec()))
    refused(workplace)
