"""A draft with roles from another tool's file: what was declared is used, what is private stays out of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from penstock.flows.spec import parse_spec
from penstock.mechanisms.refusal import SpecRefused
from penstock.tasks.draft._columns import column_line
from penstock.tasks.draft._values import MOST_CATEGORIES, RARE_BELOW
from penstock.tasks.draft.spec import draft_spec
from penstock.tasks.importers._ddi import roles_from_codebook
from penstock.tasks.importers._sdcmicro import roles_from_call
from penstock.tasks.importers.imported_column import ImportedColumn, ImportedRoles, RolesRefused

ROWS = 40
SURVEY: dict[str, Any] = {
    "household": [row // 2 for row in range(ROWS)],
    "name": [f"person {row}" for row in range(ROWS)],
    "sex": [1, 2] * (ROWS // 2),
    "region": ["N", "S"] * (ROWS // 2),
    "age": [17, 4711] * (ROWS // 2),
    "income": [0.125, 8150.5] * (ROWS // 2),
    "stratum": ["a", "b"] * (ROWS // 2),
    "sampling": [1.5] * ROWS,
    "comment": [f"text {row}" for row in range(ROWS)],
}
CALL = """createSdcObj(survey, keyVars = c("sex", "region"), numVars = c("age"), sensibleVar = "income",
  weightVar = "sampling", hhId = "household", strataVar = "stratum", excludeVars = "name")"""
CODEBOOK = b"""<codeBook xmlns="ddi:codebook:2_5">
<fileDscr><fileTxt><fileStrc><recGrp keyvar="V1"/></fileStrc></fileTxt></fileDscr>
<dataDscr>
<var ID="V1" name="household"/>
<var name="sex"><labl>Sex: as "told"
  # on paper</labl>
  <catgry><catValu>1</catValu><labl>M</labl></catgry><catgry><catValu>02</catValu><labl>F</labl></catgry></var>
<var name="region" nature="ordinal">
  <catgry><catValu>1</catValu><labl>N</labl></catgry><catgry><catValu>2</catValu><labl>S</labl></catgry>
  <catgry><catValu>3</catValu><labl>W</labl></catgry></var>
<var name="age" intrvl="contin"><valrng><range min="0.5" max="120"/></valrng></var>
<var name="income" intrvl="contin"><valrng><range min="0" max="8150.5"/></valrng>
  <sumStat type="max">8150.5</sumStat></var>
<var name="sampling" wgt="wgt"/>
<var name="elsewhere"/>
</dataDscr></codeBook>"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "survey.parquet"
    pq.write_table(pa.table(SURVEY), path)
    return path


def column_remarks(text: str) -> dict[str, str]:
    lines = [line.strip() for line in text.splitlines() if line.startswith('    "')]
    return {line.split('"')[1]: line.partition("  #")[2].strip() for line in lines}


def test_roles_of_sdcmicro_stand_in_the_draft(file: Path) -> None:
    text = draft_spec(file, roles_from_call(CALL))
    source = yaml.safe_load(text)["source"]
    number = {"domain": [0, 0]}
    assert source["columns"] == {
        "household": {"role": "identifier"},
        "sex": {"role": "quasi_identifier", "type": "nominal", "categories": []},
        "region": {"role": "quasi_identifier", "type": "nominal", "categories": ["N", "S"]},
        "age": {"role": "quasi_identifier", "type": "integer", **number},
        "income": {"role": "confidential", "type": "continuous", **number},
        "stratum": {"role": "quasi_identifier", "type": "nominal", "categories": ["a", "b"]},
        "sampling": {"role": "weight"},
        "comment": {"role": "quasi_identifier", "type": "nominal", "categories": []},
    }
    assert source["unit"] == "household"
    assert '    # "name": left out (excludeVars)' in text.splitlines()
    remarks = column_remarks(text)
    assert all("REVIEW: " in remark for remark in remarks.values())
    assert "else confidential" in remarks["age"]
    assert "strataVar" in remarks["stratum"]
    assert "not in the createSdcObj call" in remarks["comment"]
    assert not any(private in text for private in ("4711", "8150", "person 1", "text 1"))


def decided(raw: dict[str, Any]) -> dict[str, Any]:
    """What a person might decide about the draft above."""
    columns = raw["source"]["columns"]
    columns["sex"]["categories"] = [1, 2]
    columns["age"]["domain"] = [0, 120]
    columns["income"]["domain"] = [0, 1_000_000]
    del columns["comment"]
    raw["gates"][0]["max"] = 1
    return raw


def test_the_draft_is_refused_until_its_unit_is_decided_and_then_it_is_a_spec(file: Path) -> None:
    raw = yaml.safe_load(draft_spec(file, roles_from_call(CALL)))
    with pytest.raises(SpecRefused) as refused:
        parse_spec(raw)
    assert {fault.field for fault in refused.value.faults} == {
        "source.columns.sex.categories",
        "source.columns.age.domain",
        "source.columns.income.domain",
        "source.columns.comment.categories",
        "protect.0.k",
    }
    raw = decided(raw)
    raw["protect"][0]["k"] = 5
    with pytest.raises(SpecRefused, match="protects rows, and a unit with several has no guarantee"):
        parse_spec(raw)
    raw["source"]["unit"] = "row"
    assert parse_spec(raw).unit is None


def test_the_unit_may_stay_where_a_mechanism_bounds_its_rows(file: Path) -> None:
    raw = decided(yaml.safe_load(draft_spec(file, roles_from_call(CALL))))
    dp = {"mechanism": "dp_microaggregation", "epsilon": "1", "adjacency": "replace", "k": 10, "rows_per_unit": 4}
    raw["protect"] = [dp]
    raw["gates"] = [{"measure": "privacy_loss", "max": 4}]
    raw["budget"] = {"dataset": "survey", "epsilon": "4"}
    del raw["source"]["columns"]["sampling"]
    assert parse_spec(raw).unit == "household"


def test_what_a_code_book_declares_stands_in_the_draft(file: Path) -> None:
    text = draft_spec(file, roles_from_codebook(CODEBOOK))
    raw = yaml.safe_load(text)
    columns = raw["source"]["columns"]
    assert columns["household"] == {"role": "identifier"}
    assert columns["sex"] == {"role": "quasi_identifier", "type": "nominal", "categories": [1, 2]}
    assert columns["region"] == {"role": "quasi_identifier", "type": "ordinal", "categories": ["N", "S", "W"]}
    assert columns["age"] == {"role": "quasi_identifier", "type": "integer", "domain": [0, 120]}
    assert columns["income"] == {"role": "confidential", "type": "continuous", "domain": [0, 0]}
    assert columns["sampling"] == {"role": "weight"}
    assert raw["source"]["unit"] == "row"
    remarks = column_remarks(text)
    assert remarks["sex"].startswith('"Sex: as \\"told\\" # on paper" REVIEW: ')
    assert "computed from the data" in remarks["income"]
    assert "not in the DDI Codebook" in remarks["comment"]
    assert '# Not in the data: "elsewhere".' in text.splitlines()
    assert "8150" not in text
    with pytest.raises(SpecRefused) as refused:
        parse_spec(raw)
    assert {fault.field for fault in refused.value.faults} == {
        "source.columns.income.domain",
        "source.columns.name.categories",
        "source.columns.comment.categories",
        "protect.0.k",
    }
    columns["income"]["domain"] = [0, 1_000_000]
    raw["gates"][0]["max"] = 1
    del columns["name"], columns["comment"]
    raw["protect"][0]["k"] = 5
    assert parse_spec(raw).columns["region"].categories == ("N", "S", "W")


def told(**columns: ImportedColumn) -> ImportedRoles:
    return ImportedRoles(origin="test", columns=columns, whole_file=False)


@pytest.mark.parametrize(
    ("values", "about", "drafted", "remark"),
    [
        (
            ["1", "2"],
            ImportedColumn(codes=("1", "2"), labels=("N", "S")),
            {"categories": ["1", "2"]},
            "categories of the code book",
        ),
        (
            ["N", "S"],
            ImportedColumn(codes=("1", "2"), labels=("N", "S")),
            {"categories": ["N", "S"]},
            "categories of the code book",
        ),
        (
            [1.0, 2.0],
            ImportedColumn(codes=("1.0", "2")),
            {"categories": [1, 2]},
            "stored as double, so convert it first",
        ),
        ([1, 2], ImportedColumn(codes=("1", "x")), {"categories": []}, "no whole numbers"),
        ([1, 2], ImportedColumn(codes=("1", "2.5")), {"categories": []}, "no whole numbers"),
        (["1", "2"], ImportedColumn(kind="number"), {"type": "continuous"}, "stored as string, so convert it first"),
        ([1.5, 2.5], ImportedColumn(kind="nominal"), {"categories": []}, "stored as double, so convert it first"),
        (["1", "2"], ImportedColumn(role="weight"), {"role": "weight"}, "stored as string, so convert it first"),
        ([1, 2], ImportedColumn(domain=(-0.5, 7.2)), {"domain": [-1, 8]}, "right only if nobody took it from the data"),
        (
            [1.0, 2.0],
            ImportedColumn(domain=(0.0, 1e20)),
            {"domain": [0.0, 1e20]},
            "right only if nobody took it from the data",
        ),
        (["1", None], ImportedColumn(codes=("1", "2")), {"categories": ["1", "2"]}, "missing rule"),
        ([1, None], ImportedColumn(kind="nominal"), {"categories": []}, "missing rule"),
        ([1.0, None], ImportedColumn(role="confidential"), {"role": "confidential"}, "missing rule"),
    ],
)
def test_storage_and_what_was_told_meet_in_one_line(
    values: list[Any], about: ImportedColumn, drafted: dict[str, Any], remark: str, tmp_path: Path
) -> None:
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table({"a": values * RARE_BELOW}), path)
    if about.codes:
        about = ImportedColumn(kind="nominal", codes=about.codes, labels=about.labels)
    text = draft_spec(path, told(a=about))
    column = yaml.safe_load(text)["source"]["columns"]["a"]
    assert {key: column[key] for key in drafted} == drafted
    assert remark in column_remarks(text)["a"]


@pytest.mark.parametrize(
    ("about", "drafted"),
    [
        (ImportedColumn(label="anything"), {"role": "identifier"}),
        (ImportedColumn(role="confidential"), {"role": "confidential", "type": "nominal", "categories": []}),
        (ImportedColumn(kind="nominal"), {"role": "quasi_identifier", "type": "nominal", "categories": []}),
    ],
)
def test_many_different_values_are_never_listed(about: ImportedColumn, drafted: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table({"a": [f"p{row}" for row in range(MOST_CATEGORIES + 1)] * RARE_BELOW}), path)
    assert yaml.safe_load(draft_spec(path, told(a=about)))["source"]["columns"]["a"] == drafted


@pytest.mark.parametrize(
    "about",
    [
        ImportedColumn(role="confidential", kind="nominal"),
        ImportedColumn(kind="ordinal", codes=("N", "S")),
        ImportedColumn(label="Region"),
    ],
)
def test_a_rare_value_is_not_listed_whatever_was_told(about: ImportedColumn, tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table({"a": ["N", "S"] * RARE_BELOW + ["Atlantis"] * (RARE_BELOW - 1)}), path)
    text = draft_spec(path, told(a=about))
    assert yaml.safe_load(text)["source"]["columns"]["a"]["categories"] == ["N", "S"]
    assert "Atlantis" not in text


def test_a_call_about_columns_that_the_data_lack_is_refused_with_each_of_them(file: Path) -> None:
    with pytest.raises(RolesRefused, match="must name columns of the data only") as refused:
        draft_spec(file, roles_from_call("createSdcObj(keyVars = c('sex', 'Region'), excludeVars = 'nmae')"))
    assert [fault.got for fault in refused.value.faults] == ["'Region'", "'nmae'"]


def test_a_code_book_of_other_data_is_refused(file: Path) -> None:
    with pytest.raises(RolesRefused, match="must describe a column of the data"):
        draft_spec(file, told(x=ImportedColumn(), y=ImportedColumn()))


def test_of_many_variables_that_the_data_lack_some_are_named(file: Path) -> None:
    text = draft_spec(file, told(sex=ImportedColumn(), **{f"x{number}": ImportedColumn() for number in range(13)}))
    [line] = [line for line in text.splitlines() if line.startswith("# Not in the data")]
    assert line.endswith('"x9" and 3 more.')


@given(st.text(st.characters(codec="utf-8"), max_size=30), st.lists(st.text(min_size=1, max_size=5), max_size=3))
def test_no_label_or_code_can_break_out_of_its_line(label: str, codes: list[str]) -> None:
    about = ImportedColumn(label=label, kind="nominal", codes=tuple(codes))
    dataset = ds.dataset(pa.table({"a": ["x"]}))
    line = column_line(dataset, dataset.schema.field("a"), about)
    read = yaml.safe_load(line)
    assert list(read) == ["a"]
    assert set(read["a"]) == {"role", "type", "categories"}
    assert len(line.splitlines()) == 1
