"""createSdcObj(...) of sdcMicro becomes roles, as R script and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.tasks.importers._sdcmicro import roles_from_call, roles_from_json
from penstock.tasks.importers.imported_column import RolesRefused
from penstock.tasks.importers.roles_file import read_roles

SCRIPT = """
library(sdcMicro)
sdc <- createSdcObj(
  dat = subset(survey, age > 15),      # not read
  keyVars = c("region", 'education'),
  numVars = c("age"), pramVars = "region", ghostVars = list(list("region", c("town", "street"))),
  weightVar = "weight", hhId = "household", strataVar = "stratum", sensibleVar = c("income"),
  excludeVars = c("name"), options = list(a = 1 + 1), seed = 17, randomizeRecords = TRUE, alpha = 0.5
)
"""
AS_JSON = {
    "dat": "survey",
    "keyVars": ["region", "education"],
    "numVars": "age",
    "pramVars": ["region"],
    "ghostVars": [["region", ["town", "street"]]],
    "weightVar": "weight",
    "hhId": "household",
    "strataVar": "stratum",
    "sensibleVar": ["income"],
    "excludeVars": ["name"],
    "options": {"a": 2},
    "seed": 17,
    "randomizeRecords": True,
    "alpha": 0.5,
}


def test_every_argument_becomes_a_role_or_a_remark() -> None:
    told = roles_from_call(SCRIPT)
    assert {name: column.role for name, column in told.columns.items()} == {
        "region": "quasi_identifier",
        "education": "quasi_identifier",
        "age": "quasi_identifier",
        "income": "confidential",
        "weight": "weight",
        "household": "identifier",
        "name": None,
        "stratum": None,
        "town": None,
        "street": None,
    }
    assert told.columns["region"].kind == "nominal"
    assert told.columns["region"].remarks == ("keyVars", "pramVars: there is no PRAM here")
    assert told.columns["age"].kind == "number"
    assert "confidential" in told.columns["age"].remarks[0]
    assert told.columns["name"].left_out
    assert told.unit == "household"
    assert told.remarks == ("not taken over: options, seed, randomizeRecords, alpha",)


def test_the_same_as_json_tells_the_same() -> None:
    assert roles_from_json(json.dumps(AS_JSON)) == roles_from_call(SCRIPT)


@pytest.mark.parametrize(
    "call",
    [
        "createSdcObj(survey, c('region'), 'age', w = 'weight')",  # as sdcMicro's own examples have it
        "createSdcObj(w = 'weight', survey, key = 'region', 'age')",
        "survey |> createSdcObj(keyVars = 'region', numVars = 'age', weightVar = 'weight')",
    ],
)
def test_arguments_are_matched_as_r_matches_them(call: str) -> None:
    told = roles_from_call(call)
    assert {name: (column.role, column.remarks[0].split(":")[0]) for name, column in told.columns.items()} == {
        "region": ("quasi_identifier", "keyVars"),
        "age": ("quasi_identifier", "numVars"),
        "weight": ("weight", "weightVar"),
    }
    assert told.unit is None
    assert told.remarks == ()


@pytest.mark.parametrize(
    ("arguments", "field", "rule"),
    [
        ("keyVars = selected", "keyVars", "nothing is computed"),
        ("keyVars = c('a', names(x)[2])", "keyVars", "nothing is computed"),
        ("keyVars = 1", "keyVars", "not their places"),
        ("keyVars = c('a', 2)", "keyVars", "not their places"),
        ("keyVars = ''", "keyVars", "not their places"),
        ("keyVars = c('a', 'a')", "keyVars", "must not name a column twice"),
        ("keyVars = 'a', sensibleVar = 'a'", "sensibleVar", "must not name a column that keyVars names too"),
        ("keyVars = 'a', excludeVars = 'a'", "excludeVars", "must not name a column that keyVars names too"),
        ("keyVars = 'a', weightVar = c('b', 'c')", "weightVar", "one column"),
        ("keyVars = 'a', hhId = c('b', 'c')", "hhId", "one column"),
        ("keyVars = 'a', ghostVars = 'b'", "ghostVars", "a list of pairs"),
        ("keyVars = 'a', ghostVars = list(list('a'))", "ghostVars", "a list of pairs"),
        ("keyVars = 'a', ghostVars = list(list('a', 2))", "ghostVars", "not their places"),
        (
            "keyVars = 'a', colour = 'b'",
            "colour",
            "must be one argument of createSdcObj, or its beginning and that of no other",
        ),
        (
            "keyVars = 'a', se = 'b'",
            "se",
            "must be one argument of createSdcObj, or its beginning and that of no other",
        ),
        (
            "keyVars = 'a', w = 'b', we = 'c'",
            "we",
            "must be one argument of createSdcObj, or its beginning and that of no other",
        ),
        ("keyVars = 'a', keyVars = 'b'", "--roles", "must not give an argument twice"),
        ("keyVars = NULL", "--roles", "must name columns"),
        (", ".join(["NULL"] * 15), "--roles", "14 arguments"),
    ],
)
def test_what_cannot_be_taken_for_roles_is_refused_by_its_argument(arguments: str, field: str, rule: str) -> None:
    with pytest.raises(RolesRefused, match=rule) as refused:
        roles_from_call(f"createSdcObj({arguments})")
    assert [fault.field for fault in refused.value.faults] == [field]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ('{"keyVars": ["a"],\n}', "line 2: must be valid JSON"),
        ('["a"]', "must be an object"),
        ('{"keyVars": ["a"], "keyVars": ["b"]}', "must not hold a key twice"),
        (
            '{"keyVars": ["a"], "w": "b"}',
            "w refused: must be one argument",
        ),
        ('{"keyVars": {"a": 1}}', "not their places"),
        ("{}", "must name columns"),
    ],
)
def test_json_that_tells_no_roles_is_refused(text: str, rule: str) -> None:
    with pytest.raises(RolesRefused, match=rule):
        roles_from_json(text)


@pytest.mark.parametrize(
    ("name", "content", "rule"),
    [
        ("roles.csv", b"a", r"must be an R script \(.R, .txt\), .json or .xml"),
        ("roles.R", None, r"readable file \(No such file"),
        ("roles.R", b"createSdcObj('\xe9')", "must be text in UTF-8"),
        ("roles.txt", b"Dear Anna", "must call createSdcObj"),
        ("roles.json", b"[", "valid JSON"),
        ("roles.xml", b"<a", "well-formed"),
    ],
)
def test_a_file_that_is_none_of_these_is_refused_by_its_name(
    name: str, content: bytes | None, rule: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(RolesRefused, match=rule) as refused:
        read_roles(path)
    [fault] = refused.value.faults
    assert fault.got == repr(str(path))


@pytest.mark.parametrize(
    ("name", "text"), [("a.R", SCRIPT), ("a.r", SCRIPT), ("a.txt", SCRIPT), ("a.JSON", json.dumps(AS_JSON))]
)
def test_the_suffix_tells_the_kind_of_file(name: str, text: Any, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8-sig")
    assert read_roles(tmp_path / name) == roles_from_call(SCRIPT)
