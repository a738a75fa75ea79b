"""Bands, groups and copies in a spec, through the whole line: nobody prepares a derived file off the record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import penstock
from penstock.flows.planning import draw_up_plan
from penstock.flows.preview import preview
from penstock.flows.release import release
from penstock.flows.spec import load_spec
from penstock.flows.spec.data_description import load_description
from penstock.mechanisms.refusal import Refusal, SpecRefused
from penstock.records import open_records
from penstock.records.home import Home
from penstock.tasks.verification.bundle import verify_bundle
from tests.support.private_release import begun
from tests.support.workplace import Workplace, make_table, open_dp_account, predicate

BANDS = {"of": "age", "bands": [16, 30, 65, 100]}
LABELS = ["16 to under 30", "30 to under 65", "65 to 100"]
LAND = {"of": "region", "groups": {"up": ["North", "East"], "down": ["South", "West"]}}


def make_banded(workplace: Workplace, **settings: Any) -> None:
    """A table of bands of age by groups of regions, with the mean of the very ages."""
    make_table(workplace, dimensions=["age_band", "land"], sums=None, means=["age"], **settings)
    workplace.raw["source"]["columns"] |= {
        "age": {"role": "confidential", "type": "integer", "domain": [16, 100]},
        "age_band": {"role": "quasi_identifier", "type": "ordinal", "recode": BANDS},
        "land": {"role": "quasi_identifier", "type": "nominal", "recode": LAND},
    }
    for name in ("region", "education", "income"):
        del workplace.raw["source"]["columns"][name]


def counted(workplace: Workplace) -> pd.DataFrame:
    survey = pq.read_table(workplace.source).to_pandas()
    survey["age_band"] = pd.cut(survey["age"], [16, 30, 65, 101], right=False, labels=LABELS).astype(str)
    survey["land"] = survey["region"].astype(str).map({"North": "up", "East": "up", "South": "down", "West": "down"})
    return survey.groupby(["age_band", "land"]).agg(count=("age", "size"), mean=("age", "mean"))


def test_an_exact_table_of_bands_and_groups_is_that_of_a_derived_file(workplace: Workplace) -> None:
    make_banded(workplace, model="k_anon", epsilon=None, adjacency=None, k=2)
    workplace.raw["gates"] = [{"measure": "smallest_frequency", "min": 2}]
    receipt = release(load_spec(workplace.write_spec()))
    bundle = Path(receipt.path)
    verify_bundle(bundle, Home.open().public_key_path)
    cells = pq.read_table(bundle / "tables/incomes.parquet").to_pandas()
    inner = cells[(cells["age_band"] != "_T") & (cells["land"] != "_T")].set_index(["age_band", "land"])
    expected = counted(workplace)
    assert set(inner.index) == set(expected.index)
    for key, row in expected.iterrows():
        assert inner.loc[key, "count"] == row["count"]
        assert inner.loc[key, "age_mean"] == pytest.approx(row["mean"])
    said = {column["name"]: column for column in predicate(bundle)["release"]["columns"]}
    assert said["age_band"]["categories"] == [*LABELS, "_T"]
    assert said["age_band"]["treatment"].startswith("bands of age; ")
    assert said["land"]["treatment"].startswith("groups of region; ")
    page = (bundle / "report.html").read_text(encoding="utf-8")
    assert "bands of age" in page
    assert "groups of region" in (bundle / "metadata/codebook.xml").read_text(encoding="utf-8")


def test_a_private_table_of_bands_is_charged_for_the_stored_columns(workplace: Workplace) -> None:
    make_banded(workplace)
    open_dp_account(3)
    release(load_spec(workplace.write_spec()))
    [cost] = open_records().ledger.book("survey").costs
    assert cost.claim.about == ("age", "region")


def test_other_bands_of_the_same_records_are_the_same_records(workplace: Workplace) -> None:
    """Another cut is another table that is paid for, and never the first release of other data."""
    make_banded(workplace)
    open_dp_account(3)
    release(load_spec(workplace.write_spec()))
    workplace.raw["source"]["columns"]["age_band"]["recode"] = {"of": "age", "bands": [16, 40, 100]}
    release(load_spec(workplace.write_spec()))
    first, second = open_records().ledger.book("survey").costs
    assert first.claim.values == second.claim.values
    assert (second.claim.repeats, second.claim.epsilon) == (None, 1)
    workplace.raw["budget"]["dataset"] = "elsewhere"
    workplace.raw["source"]["columns"]["age_band"]["recode"] = {"of": "age", "bands": [16, 50, 100]}
    open_dp_account(3, dataset="elsewhere")
    with pytest.raises(Refusal) as refused:
        release(load_spec(workplace.write_spec()))
    assert refused.value.code == "source-elsewhere"


def test_the_same_cut_comes_back_and_its_labels_are_part_of_the_question(workplace: Workplace) -> None:
    make_banded(workplace)
    open_dp_account(3)
    release(load_spec(workplace.write_spec()))
    workplace.raw["name"] = "again"
    assert release(load_spec(workplace.write_spec())).repeats is not None
    workplace.raw["source"]["columns"]["age_band"]["recode"] = {**BANDS, "labels": ["a", "b", "c"]}
    assert release(load_spec(workplace.write_spec())).repeats is None


def declared(workplace: Workplace, bands: list[int]) -> list[dict[str, Any]]:
    recode = {"of": "age", "bands": bands, "labels": ["young", "old"]}
    workplace.raw["source"]["columns"]["age_band"]["recode"] = recode
    return draw_up_plan(load_spec(workplace.write_spec())).declarations


def test_other_bands_under_the_same_labels_declare_the_data_anew(workplace: Workplace) -> None:
    """Otherwise releases that spend next to nothing would bisect the largest value, and no look would be counted."""
    make_banded(workplace)
    assert declared(workplace, [16, 30, 100]) == declared(workplace, [16, 30, 100])
    assert declared(workplace, [16, 30, 100]) != declared(workplace, [16, 30, 99])


def test_in_parts_the_same_is_published(workplace: Workplace) -> None:
    make_banded(workplace, model="k_anon", epsilon=None, adjacency=None, k=2)
    workplace.raw["gates"] = [{"measure": "smallest_frequency", "min": 2}]
    at_once = release(load_spec(workplace.write_spec()))
    workplace.raw |= {"name": "parts", "run": {"memory": "1 GB"}, "budget": {"acknowledges": [at_once.run]}}
    in_parts = release(load_spec(workplace.write_spec()))
    tables = [
        pq.read_table(Path(each.path) / "tables/incomes.parquet").replace_schema_metadata(None)
        for each in (at_once, in_parts)
    ]
    assert tables[0].equals(tables[1])


def test_records_are_released_in_bands_in_place_of_their_numbers(workplace: Workplace) -> None:
    columns = workplace.raw["source"]["columns"]
    columns["age"] = {"role": "quasi_identifier", "type": "ordinal", "recode": {"bands": [16, 30, 65, 100]}}
    with begun(workplace, account=False) as line:
        receipt = line.publish()
    released = pq.read_table(Path(receipt.path) / "data.parquet").to_pandas()
    survey = pq.read_table(workplace.source).to_pandas()
    expected = pd.cut(survey["age"], [16, 30, 65, 101], right=False, labels=LABELS).value_counts().to_dict()
    assert released["age"].astype(str).value_counts().to_dict() == expected


def faults(workplace: Workplace) -> list[str]:
    with pytest.raises(SpecRefused) as refused:
        load_spec(workplace.write_spec())
    return [fault.field for fault in refused.value.faults]


def test_records_do_not_come_with_two_columns_of_one(workplace: Workplace) -> None:
    workplace.raw["source"]["columns"]["band"] = {"role": "quasi_identifier", "type": "ordinal", "recode": BANDS}
    assert faults(workplace) == ["source.columns.band.recode"]


def test_identifiers_are_not_recoded(workplace: Workplace) -> None:
    groups = {"of": "person_id", "groups": {"a": ["p1"], "b": ["p2"]}}
    workplace.raw["source"]["columns"]["who"] = {"role": "quasi_identifier", "type": "nominal", "recode": groups}
    assert faults(workplace) == ["source.columns.who.recode.of"]


def test_parts_are_those_of_the_source(workplace: Workplace) -> None:
    make_banded(workplace, adjacency="add_remove")
    workplace.raw["source"]["columns"]["land"]["recode"] = {"of": "region", "groups": {"up": ["North"]}}
    workplace.raw["budget"]["part"] = "land"
    assert "source.columns.land.recode" in faults(workplace)


def test_a_fault_of_a_recode_is_named_where_it_stands(workplace: Workplace) -> None:
    make_banded(workplace)
    workplace.raw["source"]["columns"]["age_band"]["recode"] = {"of": "age", "band": [0, 1, 2]}
    assert "source.columns.age_band.recode.band" in faults(workplace)


def test_questions_have_bands_of_their_own(workplace: Workplace) -> None:
    make_banded(workplace)
    raw = workplace.raw
    described = {
        "name": "survey",
        "source": raw["source"],
        "budget": {"dataset": "survey"},
        "questions": {"adjacency": "add_remove"},
    }
    workplace.raw = described
    with pytest.raises(SpecRefused) as refused:
        load_description(workplace.write_spec())
    assert {fault.field for fault in refused.value.faults} == {
        "source.columns.age_band.recode",
        "source.columns.land.recode",
    }


def test_a_plan_knows_bands_before_any_row_is_read(workplace: Workplace) -> None:
    make_banded(workplace)
    told = preview(load_spec(workplace.write_spec()), count=True)
    assert told["guarantee"]["parameters"]["epsilon"] == "1"


def test_a_notebook_recodes_too() -> None:
    people = pd.DataFrame({"age": [16, 20, 40, 70, 80, 90], "income": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]})
    declared = {
        "age": {"role": "quasi_identifier", "type": "ordinal", "recode": {"bands": [16, 30, 65, 100]}},
        "pay": {"role": "confidential", "type": "continuous", "domain": [0, 10], "recode": {"of": "income"}},
    }
    chosen = {"mechanism": "probabilistic_k_anonymity", "method": "ir_swap", "k": 2}
    trial = penstock.protect(people, declared, chosen)
    assert sorted(trial.data["age"].astype(str)) == sorted(np.repeat(LABELS, [2, 1, 3]))
    assert sorted(trial.data["pay"]) == [1, 2, 3, 4, 5, 6]
