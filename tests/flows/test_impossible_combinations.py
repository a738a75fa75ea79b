"""Tables with combinations that cannot occur through the whole line; and records that have one all the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import penstock
from penstock.flows.planning import draw_up_plan
from penstock.flows.preview import preview
from penstock.flows.release import release
from penstock.flows.spec import load_spec
from penstock.mechanisms.combinations import CombinationImpossible
from penstock.records import open_records
from penstock.records.home import Home
from penstock.records.ledger.looks import looks_of
from penstock.records.log.log import Action
from penstock.tasks.verification.bundle import verify_bundle
from tests.support.cluster import write_parts
from tests.support.workplace import (
    COMBINATIONS,
    Workplace,
    budget_of,
    make_table,
    make_units,
    open_dp_account,
    predicate,
)

ROWS = 800
MEASURED = {"margins": "measured", "margin_share": "1/2"}
EXACT = {"model": "k_anon", "epsilon": None, "adjacency": None, "k": 2}


def is_impossible(table: pa.Table | pd.DataFrame) -> Any:
    frame = table.to_pandas() if isinstance(table, pa.Table) else table
    region, education = frame["region"].astype(str), frame["education"].astype(str)
    return ((region == "South") & education.isin(["bachelor", "master"])) | (
        (region == "East") & (education == "primary")
    )


def make_possible(workplace: Workplace, **settings: Any) -> pa.Table:
    """A table with impossible combinations, of records that have none."""
    make_table(workplace, impossible=COMBINATIONS, **settings)
    return keep_possible(workplace)


def keep_possible(workplace: Workplace) -> pa.Table:
    survey = workplace.write_survey(ROWS)
    survey = survey.filter(pa.array(~is_impossible(survey)))
    pq.write_table(survey, workplace.source)
    return survey


def put_in_parts(workplace: Workplace) -> None:
    folder = workplace.folder / "survey"
    write_parts(pq.read_table(workplace.source), folder)
    workplace.raw["source"]["path"] = "survey"
    workplace.raw["run"] = {"memory": "100 MB"}


def released(workplace: Workplace) -> Path:
    bundle = Path(release(load_spec(workplace.write_spec())).path)
    findings = {
        found.name.rpartition(": ")[2]: found.checked for found in verify_bundle(bundle, Home.open().public_key_path)
    }
    assert findings["impossible combinations"]
    return bundle


def cells(bundle: Path) -> pd.DataFrame:
    return pq.read_table(bundle / "tables/incomes.parquet").to_pandas()


@pytest.mark.parametrize("settings", [{}, MEASURED, EXACT, {"noise": "box"}])
def test_impossible_cells_are_published_as_exact_zeros(workplace: Workplace, settings: dict[str, Any]) -> None:
    make_possible(workplace, **settings)
    if settings != EXACT:
        open_dp_account(4)
    spec = load_spec(workplace.write_spec())
    sentence = "Of these cells 3 cannot have records, by declaration: they are exact zeros."
    assert sentence in preview(spec, count=False)["expect"]
    bundle = released(workplace)
    table = cells(bundle)
    none = table[is_impossible(table)]
    others = table[~is_impossible(table)]
    assert len(none) == 3
    assert (none[["count", "income_sum"]] == 0).all().all()
    assert none["income_mean"].isna().all()
    if settings != EXACT:
        assert (none[["count_standard_error", "income_sum_standard_error"]] == 0).all().all()
        assert (others["count_standard_error"] > 0).all()
        assert (others["income_sum_standard_error"] > 0).all()
    stated = predicate(bundle)["release"]
    as_lists = [{name: [each] if isinstance(each, str) else each for name, each in c.items()} for c in COMBINATIONS]
    assert stated["guarantee"]["parameters"]["impossible"] == as_lists
    assert "which combinations of categories are impossible" in stated["guarantee"]["public"]
    assert "impossible_cells_are_zero" in stated["guarantee"]["audit"]
    for entry in stated["settled"]["measured"]:
        drawn = sum(each["cells"] for each in entry["classes"])
        assert drawn == (13 if len(entry["level"]) == 2 else 4 if entry["level"] else 1)
    for page in ("report.html", "metadata/codebook.xml"):
        assert "combinations that are declared impossible are exact zeros" in " ".join(
            (bundle / page).read_text(encoding="utf-8").split()
        )


def test_their_status_is_that_of_exact_figures(workplace: Workplace) -> None:
    make_possible(workplace)
    open_dp_account(4)
    lines = (released(workplace) / "tables/incomes.sdmx.csv").read_text(encoding="utf-8").splitlines()
    south = [line.split(",") for line in lines if ",SOUTH,MASTER," in line]
    assert [(line[5], line[6], line[7]) for line in south] == [
        ("COUNT", "0", "A"),
        ("INCOME_SUM", "0", "A"),
        ("INCOME_MEAN", "NaN", "O"),
    ]
    assert sum(line.endswith(",A,F,0") for line in lines) == 2 * 3


def add_one(workplace: Workplace, survey: pa.Table) -> None:
    """One record of a combination that cannot be."""
    full = workplace.write_survey(ROWS)
    pq.write_table(pa.concat_tables([survey, full.filter(pa.array(is_impossible(full)))[:1]]), workplace.source)


@pytest.mark.parametrize("in_parts", [False, True])
def test_a_record_that_cannot_be_is_refused_before_anything_is_reserved(workplace: Workplace, in_parts: bool) -> None:
    survey = make_possible(workplace)
    open_dp_account(4)
    add_one(workplace, survey)
    if in_parts:
        put_in_parts(workplace)
    with pytest.raises(CombinationImpossible) as refusal:
        release(load_spec(workplace.write_spec()))
    assert (refusal.value.code, refusal.value.kind) == ("combination-impossible", "data")
    # Neither which combination it was nor how many records have one.
    assert str(refusal.value) == (
        "impossible refused: must name only combinations that no record has. Correct the combinations or the data."
    )
    actions = [event.action for event in open_records().log.events()][2:]
    assert actions == [Action.PLANNED, Action.LOOKED, Action.REFUSED]
    assert budget_of() == ("0", "4", [])
    assert workplace.public_files() == []


def test_it_is_booked_like_an_undeclared_category(workplace: Workplace) -> None:
    """The same events, with as many declarations and one more: that no record has the combinations."""

    def booked(change: Callable[[], None]) -> tuple[list[Action], int]:
        change()
        before = len(list(open_records().log.events()))
        with pytest.raises(penstock.Refusal):
            release(load_spec(workplace.write_spec()))
        events = list(open_records().log.events())[before:]
        (look,) = [event for event in events if event.action is Action.LOOKED]
        return [event.action for event in events], len(look.facts["declared"])

    survey = make_possible(workplace)
    open_dp_account(4)
    unlike, of_combination = booked(lambda: add_one(workplace, survey))

    def undeclared() -> None:
        workplace.raw["source"]["columns"]["region"]["categories"] = ["North", "South", "East"]
        del workplace.raw["protect"][0]["impossible"]

    alike, of_category = booked(undeclared)
    assert unlike == alike
    assert of_combination == of_category + len(COMBINATIONS)
    found = looks_of(open_records().log, "survey")
    assert len(found.runs) == 2


def test_another_combination_is_another_declaration(workplace: Workplace) -> None:
    make_possible(workplace)
    declared = draw_up_plan(load_spec(workplace.write_spec())).declarations
    workplace.raw["protect"][0]["impossible"] = COMBINATIONS[:1]
    fewer = draw_up_plan(load_spec(workplace.write_spec())).declarations
    assert [each for each in declared if each not in fewer] == [
        {"impossible": {"region": ["East"], "education": ["primary"]}}
    ]


def test_only_records_that_are_used_count(workplace: Workplace) -> None:
    """Records that a public condition leaves out may have any combination."""
    survey = make_possible(workplace, adjacency="add_remove")
    open_dp_account(4, adjacency="add_remove")
    add_one(workplace, survey)
    one = pq.read_table(workplace.source).slice(survey.num_rows)["age"][0].as_py()
    workplace.raw["source"]["columns"]["age"] = {
        "role": "quasi_identifier",
        "type": "integer",
        "domain": [16, 100],
    }
    workplace.raw["source"]["where"] = f"age below {one}"
    released(workplace)
    workplace.raw["source"]["where"] = f"age below {one + 1}"
    with pytest.raises(CombinationImpossible):
        release(load_spec(workplace.write_spec()))


def test_categories_are_those_of_recoded_columns(workplace: Workplace) -> None:
    """Bands of numbers: the stored number decides in which category a record is."""
    make_table(workplace, dimensions=["stage", "education"])
    columns = workplace.raw["source"]["columns"]
    columns["stage"] = {
        "role": "quasi_identifier",
        "type": "ordinal",
        "recode": {"of": "age", "bands": [16, 25, 100], "labels": ["young", "adult"]},
    }
    del columns["region"]
    workplace.raw["protect"][0]["impossible"] = [{"stage": "young", "education": "master"}]
    open_dp_account(4)
    survey = workplace.write_survey(ROWS)
    cannot = pc.and_(pc.less(survey["age"], 25), pc.equal(survey["education"].cast(pa.string()), "master"))
    assert pc.any(cannot).as_py()
    with pytest.raises(CombinationImpossible):
        release(load_spec(workplace.write_spec()))
    pq.write_table(survey.filter(pc.invert(cannot)), workplace.source)
    table = cells(released(workplace))
    assert table[(table["stage"] == "young") & (table["education"] == "master")]["count"].tolist() == [0]


@pytest.mark.parametrize("settings", [{}, EXACT])
def test_cells_are_counted_in_parts(workplace: Workplace, settings: dict[str, Any]) -> None:
    make_possible(workplace, **settings)
    if not settings:
        open_dp_account(4)
    put_in_parts(workplace)
    table = cells(released(workplace))
    assert table[is_impossible(table)]["count"].tolist() == [0, 0, 0]


def test_tables_that_are_counted_in_one_pass_have_their_own_zeros(workplace: Workplace) -> None:
    make_possible(workplace, epsilon="1/2")
    cells_of = {**workplace.raw["protect"][0], "name": "cells"}
    margin = {name: value for name, value in cells_of.items() if name != "impossible"}
    margin |= {"name": "regions", "table": "regions", "dimensions": ["region"]}
    workplace.raw["protect"] = [cells_of, margin]
    open_dp_account(4)
    bundle = released(workplace)
    table = cells(bundle)
    assert table[is_impossible(table)]["count"].tolist() == [0, 0, 0]
    regions = pq.read_table(bundle / "tables/regions.parquet").to_pandas()
    assert (regions["count_standard_error"] > 0).all()


def test_refusals_of_several_outputs_name_the_output(workplace: Workplace) -> None:
    survey = make_possible(workplace, epsilon="1/2")
    other = {**workplace.raw["protect"][0], "name": "others", "table": "others"}
    other["impossible"] = [{"region": "North", "education": "primary"}]
    workplace.raw["protect"] = [{**workplace.raw["protect"][0], "name": "cells"}, other]
    open_dp_account(4)
    assert survey.num_rows
    with pytest.raises(CombinationImpossible) as refusal:
        release(load_spec(workplace.write_spec()))
    assert [fault.field for fault in refusal.value.faults] == ["others.impossible"]


def test_weights_and_contributors_have_zeros_too(workplace: Workplace) -> None:
    make_possible(workplace, **EXACT, weight={"column": "weight"})
    workplace.raw["source"]["columns"]["weight"] = {"role": "weight", "domain": [0, 500]}
    make_units(workplace, 1)
    del workplace.raw["protect"][0]["rows_per_unit"]
    survey = pq.read_table(workplace.source)
    pq.write_table(survey.filter(pa.array(~is_impossible(survey))), workplace.source)
    workplace.raw["protect"][0]["k"] = 2
    table = cells(released(workplace))
    none = table[is_impossible(table)]
    assert (none[["records", "contributors", "weighted_count", "income_weighted_sum"]] == 0).all().all()
    assert none["income_weighted_mean"].isna().all()


def test_weights_under_noise_have_zeros_too(workplace: Workplace) -> None:
    make_possible(workplace, weight={"column": "weight"})
    workplace.raw["source"]["columns"]["weight"] = {"role": "weight", "domain": [0, 500]}
    open_dp_account(4)
    table = cells(released(workplace))
    assert (table[is_impossible(table)][["weighted_count", "weighted_count_standard_error"]] == 0).all().all()


def test_bounded_contributions_have_zeros_too(workplace: Workplace) -> None:
    make_table(workplace, impossible=COMBINATIONS, adjacency="add_remove")
    make_units(workplace, 2)
    survey = pq.read_table(workplace.source)
    pq.write_table(survey.filter(pa.array(~is_impossible(survey))), workplace.source)
    open_dp_account(4, unit="individual", adjacency="add_remove")
    table = cells(released(workplace))
    assert table[is_impossible(table)]["count"].tolist() == [0, 0, 0]


def test_a_trial_refuses_them_too(workplace: Workplace) -> None:
    survey = make_possible(workplace)
    declared = {name: workplace.raw["source"]["columns"][name] for name in ("region", "education", "income")}
    asked = workplace.raw["protect"][0]
    assert penstock.protect(survey, declared, asked).chosen["cells"] == 16
    add_one(workplace, survey)
    with pytest.raises(CombinationImpossible):
        penstock.protect(pq.read_table(workplace.source), declared, asked)


def test_a_table_that_comes_back_has_its_zeros(workplace: Workplace) -> None:
    make_possible(workplace)
    open_dp_account(4)
    first = released(workplace)
    workplace.raw["name"] = "again"
    workplace.raw["budget"]["acknowledges"] = [first.name]
    second = released(workplace)
    pd.testing.assert_frame_equal(cells(first), cells(second))
    assert budget_of()[0] == "1"
