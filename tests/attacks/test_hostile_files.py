"""Whatever stands in a file, a command ends with a refusal and its exit code: no traceback, no wait, no other meaning.

Each row is a file that gave a traceback, a wait without end, or a release of something else than a person reads in it.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from tests.attacks.typed_line import typed
from tests.support.workplace import Workplace, make_private

LONG_PATH = "d/" * 2500 + "x"
LONG_NAME = "n" * 5000


def put(raw: dict[str, Any], place: str, value: Any) -> None:
    """Set the value at a place such as source.columns.age.domain."""
    *rooms, key = place.split(".")
    part: Any = raw
    for room in rooms:
        part = part[int(room)] if isinstance(part, list) else part.setdefault(room, {})
    part[key] = value


VALUES: dict[str, tuple[str, Any]] = {
    "zero byte in the source": ("source.path", "a\0b"),
    "zero byte in the destination": ("publish.path", "a\0b"),
    "zero byte in the suite": ("validate.suite", "a\0b"),
    "zero byte in a taxonomy": ("source.columns.region.taxonomy", "a\0b.json"),
    "half a character in the source": ("source.path", "\ud800"),
    "half a character in a category": ("source.columns.region.categories", ["N", "\udfff"]),
    "half a character in a column": ("source.columns.\ud800", {"role": "identifier"}),
    "half a character in a title": ("describe", {"title": "\ud800"}),
    "half a character in an unknown key": ("\ud800", 1),
    "half a character in the unit": ("source.unit", "\ud800"),
    "escape sequence in a category": ("source.columns.region.categories", ["N", "\x1b]0;owned\x07"]),
    "long path of the source": ("source.path", LONG_PATH),
    "long name of the source": ("source.path", LONG_NAME),
    "long path of the suite": ("validate.suite", LONG_PATH),
    "long path of a taxonomy": ("source.columns.region.taxonomy", LONG_PATH + ".json"),
    "long path of the destination": ("publish.path", LONG_PATH),
    "long name of the destination": ("publish.path", LONG_NAME),
    "domain of 10^400": ("source.columns.income.domain", [0, 10**400]),
    "domain of whole numbers to 10^400": ("source.columns.age.domain", [0, 10**400]),
    "domain from minus 10^400": ("source.columns.income.domain", [-(10**400), 10**400]),
    "limit of 10^400": ("gates", [{"measure": "average_risk", "max": 10**400}]),
    "groups of 10^400": ("protect.0.k", 10**400),
    "10^400 rows": ("validate.min_rows", 10**400),
    "10^30 rows": ("validate.min_rows", 10**30),
    "a wait of ages": ("approve", {"reviewers": 1, "allowed": ["rita"], "within": "P999999999999999999D"}),
    "a wait of 10^30 seconds": ("approve", {"reviewers": 1, "allowed": ["rita"], "within": 10**30}),
    "a wait beyond the calendar": ("approve", {"reviewers": 1, "allowed": ["rita"], "within": "P900000000D"}),
    "10^400 as a category": ("source.columns.region.categories", [1, 10**400]),
    "10^30 as a category": ("source.columns.region.categories", [1, 10**30]),
    "no columns": ("source.columns", {}),
    "columns that are a list": ("source.columns", [["age"]]),
    "a list as a role": ("source.columns.age.role", []),
    "a mechanism without a name": ("protect", [{"k": 3}]),
    "a mechanism that is a list": ("protect", [{"mechanism": []}]),
    "protect as text": ("protect", "swap"),
    "gates as a number": ("gates", 3),
}


@pytest.mark.parametrize("case", VALUES)
def test_a_value_that_no_setting_can_have_is_refused(workplace: Workplace, case: str) -> None:
    workplace.raw["source"]["columns"] = copy.deepcopy(workplace.raw["source"]["columns"])
    put(workplace.raw, *VALUES[case])
    spec = workplace.folder / "spec.json"
    spec.write_text(json.dumps(workplace.raw), encoding="utf-8")
    typed("plan", spec).require_refusal(2, 3)


TEXTS: dict[str, bytes] = {
    "3,000 levels.yaml": b"name: " + b"[" * 3000 + b"]" * 3000,
    "3,000 levels of keys.yaml": b"".join(b" " * depth + b"a:\n" for depth in range(3000)),
    "100,000 levels.yaml": b"[" * 100_000,
    "3,000 levels.json": b'{"a": ' * 3000 + b"1" + b"}" * 3000,
    "100,000 levels.json": b"[" * 100_000,
    "5,000 digits.yaml": b"name: " + b"9" * 5000,
    "5,000 digits.json": b'{"name": ' + b"9" * 5000 + b"}",
    "5,000 binary digits.yaml": b"name: 0b" + b"1" * 5000,
    "5,000 sexagesimal digits.yaml": b"name: 1" + b":30" * 5000,
    "infinite.yaml": b"gates: [{measure: average_risk, max: .inf}]",
    "not a number.json": b'{"name": NaN}',
    "zero byte.yaml": b"name: a\0b",
    "zero byte in quotes.yaml": b'name: "a\\0b"',
    "zero byte.json": b'{"name": "a\\u0000b"}',
    "half a character.json": b'{"\\ud800": 1}',
    "half a character.yaml": b'name: "\\ud800"',
    "no UTF-8.yaml": b"name: \xff\xfe",
    "UTF-16.yaml": "name: survey".encode("utf-16"),
    "a tag.yaml": b"name: !!python/object/apply:os.system [true]",
    "an own tag.yaml": b"name: !x y",
    "a set.yaml": b"name: !!set {a, b}",
    "a binary.yaml": b"name: !!binary aGVsbG8=",
    "two documents.yaml": b"name: a\n---\nname: b\n",
    "a key that is a list.yaml": b"? [a, b]\n: 1\n",
    "a key that is a date.yaml": b"2026-01-01: 1\n",
    "a date.yaml": b"name: 2026-01-01\n",
    "a date that is none.yaml": b"name: 2026-99-99\n",
    "an equals sign.yaml": b"name: =\n",
    "nothing.yaml": b"",
    "nothing.json": b"",
    "a list.yaml": b"- a\n",
    "unclosed.yaml": b"name: [a\n",
    "aliases without end.yaml": b"a0: &a0 [x]\n"
    + b"".join(b"a%d: &a%d [*a%d, *a%d, *a%d]\n" % (n, n, n - 1, n - 1, n - 1) for n in range(1, 40)),
    "an alias of itself.yaml": b"name: &a [*a]\n",
    "a text that is meant 220,000 times.yaml": b"describe: {publisher: &a %s, keywords: [%s]}"
    % (b"x" * 9999, b"*a," * 220_000),
    "a decimal of a million digits.yaml": b"name: 0." + b"1" * 1_000_000,
    "a decimal of a million digits.json": b'{"name": 0.' + b"1" * 1_000_000 + b"}",
    "an exponent of a million digits.json": b'{"name": 1e' + b"0" * 1_000_000 + b"}",
    "17 MB.yaml": b"name: " + b"x" * (17 << 20),
    "a million values.yaml": b"name: [" + b"1," * 1_000_000 + b"]",
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_that_is_no_spec_is_refused(tmp_path: Path, name: str) -> None:
    spec = tmp_path / name
    spec.write_bytes(TEXTS[name])
    typed("plan", spec).require_refusal(2)


def test_a_key_that_stands_twice_is_refused(workplace: Workplace) -> None:
    """A reviewer reads k: 20 at the top of a long file; the release would use the k: 2 at its end."""
    text = yaml.safe_dump(workplace.raw, sort_keys=False)
    for spoilt in (
        text + "name: other\n",
        text.replace("    k: 20", "    k: 20\n    k: 2").replace("  k: 20", "  k: 20\n  k: 2"),
    ):
        assert spoilt != text
        workplace.spec_file.write_text(spoilt, encoding="utf-8")
        refused = typed("plan", workplace.spec_file)
        refused.require_refusal(2)
        assert "must not hold a key twice" in refused.err
    spec = workplace.folder / "spec.json"
    spec.write_text(json.dumps(workplace.raw)[:-1] + ', "name": "other"}', encoding="utf-8")
    typed("plan", spec).require_refusal(2)


def test_a_merge_key_is_refused(workplace: Workplace) -> None:
    """What it brings in stands elsewhere in the file, or in a part that nobody reads as settings."""
    text = yaml.safe_dump(workplace.raw, sort_keys=False)
    for spoilt in (
        text + "<<: {validate: {min_rows: 1}}\n",
        text.replace("publish:\n", "publish:\n  <<: {path: here}\n"),
    ):
        workplace.spec_file.write_text(spoilt, encoding="utf-8")
        refused = typed("plan", workplace.spec_file)
        refused.require_refusal(2)
        assert "merge" in refused.err


def test_words_that_yaml_reads_as_something_else_are_refused(workplace: Workplace) -> None:
    """As a list of regions, 01, 07 and 1:30 would be 1, 7 and 90."""
    for written in ("[01, 07]", "[1:30, 2:30]", "[0x1, 0x2]", "[0b1, 0b10]"):
        raw = copy.deepcopy(workplace.raw)
        raw["source"]["columns"]["region"]["categories"] = "HERE"
        text = yaml.safe_dump(raw, sort_keys=False).replace("HERE", written)
        workplace.spec_file.write_text(text, encoding="utf-8")
        refused = typed("plan", workplace.spec_file)
        refused.require_refusal(2)
        assert "quotes" in refused.err


DEEP_JSON = b'{"a": ' * 3000 + b"1" + b"}" * 3000
DEEP_XML = b"<codeBook>" + b"<a>" * 100_000 + b"</a>" * 100_000 + b"</codeBook>"
LAUGHS = b"""<!DOCTYPE codeBook [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><codeBook>&b;</codeBook>"""
BESIDE: dict[str, tuple[str, bytes]] = {
    "suite of 3,000 levels": ("suite.json", DEEP_JSON),
    "suite with 5,000 digits": (
        "suite.json",
        b'[{"type": "expect_table_row_count_to_equal", "kwargs": {"value": ' + b"9" * 5000 + b"}}]",
    ),
    "suite with half a character": (
        "suite.json",
        b'[{"type": "expect_column_to_exist", "kwargs": {"column": "\\ud800"}}]',
    ),
    "suite with a key twice": (
        "suite.json",
        b'[{"type": "expect_column_to_exist", "kwargs": {"column": "age", "column": "income"}}]',
    ),
    "suite with a number in half": (
        "suite.json",
        b'[{"type": "expect_column_values_to_be_between", "kwargs": {"column": "age", "min_value": 1e999}}]',
    ),
    "taxonomy of 3,000 levels": ("regions.json", DEEP_JSON),
    "taxonomy with 5,000 digits": ("regions.json", b'{"a": ' + b"9" * 5000 + b"}"),
    "taxonomy with half a character": ("regions.json", b'{"\\ud800": [], "b": ["\\ud800"], "c": ["\\ud800"]}'),
    "hierarchy with a zero byte": ("regions.csv", b"a;b\0;c\n"),
    "hierarchy with a cell of a megabyte": ("regions.csv", b"a;" + b"b" * 1_000_000 + b";c\n"),
    "hierarchy with lines of carriage returns": ("regions.csv", b"a;b\rc;d\r"),
    "hierarchy with a zero byte in τ-ARGUS": ("regions.hrc", b"a\n@b\0\n"),
}


@pytest.mark.parametrize("case", BESIDE)
def test_a_hostile_file_beside_a_spec_is_refused(workplace: Workplace, case: str) -> None:
    name, content = BESIDE[case]
    (workplace.folder / name).write_bytes(content)
    if name == "suite.json":
        workplace.raw["validate"] = {"suite": name}
    else:
        workplace.raw["source"]["columns"]["region"]["taxonomy"] = name
    typed("plan", workplace.write_spec()).require_refusal(2)


ROLES: dict[str, bytes] = {
    "levels.json": DEEP_JSON,
    "digits.json": b'{"keyVars": ' + b"9" * 5000 + b"}",
    "half.json": b'{"keyVars": ["\\ud800"]}',
    "levels.xml": DEEP_XML,
    "laughs.xml": LAUGHS,
    "zero.xml": b"<codeBook>\0</codeBook>",
    "encoding.xml": b'<?xml version="1.0" encoding="\xff"?><codeBook/>',
    "brackets.R": b"createSdcObj(" + b"c(" * 50_000,
    "zero.R": b'createSdcObj(dat, keyVars = "a\0b")',
    "binary.R": bytes(range(256)),
}


@pytest.mark.parametrize("name", ROLES)
def test_a_hostile_file_of_roles_is_refused(workplace: Workplace, name: str) -> None:
    roles = workplace.folder / name
    roles.write_bytes(ROLES[name])
    typed("init", workplace.source, "--roles", roles).require_refusal(2)


@pytest.mark.parametrize("name", ["book.xml", "roles.R", "roles.json"])
def test_a_large_file_of_roles_is_refused_before_it_is_parsed(workplace: Workplace, name: str) -> None:
    """The tree of a code book of 64 MB took gigabytes."""
    roles = workplace.folder / name
    roles.write_bytes(b" " * (8 * 2**20 + 1))
    refused = typed("init", workplace.source, "--roles", roles)
    refused.require_refusal(2)
    assert "at most 8 MB" in refused.err


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


KINDS: dict[str, Callable[[Path], None]] = {
    "pipe": make_pipe,
    "folder": Path.mkdir,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "circle of links": lambda path: path.symlink_to(path),
    "nothing": lambda path: None,
}
DOORS = ("spec.yaml", "spec.json", "suite.json", "regions.json", "regions.csv", "roles.R", "roles.xml", "key.pub")


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_ordinary_file_is_refused_without_waiting_for_it(workplace: Workplace, kind: str, door: str) -> None:
    path = workplace.folder / door
    path.unlink(missing_ok=True)
    KINDS[kind](path)
    if door == "suite.json":
        workplace.raw["validate"] = {"suite": door}
    elif door.startswith("regions"):
        workplace.raw["source"]["columns"]["region"]["taxonomy"] = door
    if door.startswith("roles"):
        typed("init", workplace.source, "--roles", path).require_refusal(2)
    elif door == "key.pub":
        typed("verify", workplace.folder, "--key", path).require_refusal(1, 2, 7)
    else:
        typed("plan", path if door.startswith("spec") else workplace.write_spec()).require_refusal(2)


@pytest.mark.parametrize("kind", KINDS)
def test_a_source_that_is_no_ordinary_file_is_refused_without_waiting_for_it(workplace: Workplace, kind: str) -> None:
    workplace.source.unlink()
    KINDS[kind](workplace.source)
    spec = workplace.write_spec()
    typed("init", workplace.source).require_refusal(3)
    ended = typed("plan", spec)
    if kind in ("nothing", "circle of links"):
        assert (ended.code, "does not exist yet" in ended.out) == (0, True)
    else:
        ended.require_refusal(2, 3)
    typed("plan", spec, "--count").require_refusal(2, 3)


@pytest.mark.parametrize("folder", [b"k=\xff\xfe", b"region=\xff\xfe", b"\xff", b"region=%FF%FE", b"%FF=a"])
def test_a_source_in_folders_whose_names_are_no_text_is_refused(workplace: Workplace, folder: bytes) -> None:
    data = workplace.folder / "data"
    below = os.path.join(os.fsencode(data), folder)
    os.makedirs(below)
    table = pq.read_table(workplace.source)
    is_region = folder.startswith(b"region")
    pq.write_table(table.drop_columns("region") if is_region else table, data / "a.parquet")
    os.rename(data / "a.parquet", os.path.join(below, b"a.parquet"))
    workplace.raw["source"]["path"] = "data"
    spec = workplace.write_spec()
    for command in (("plan", spec, "--count"), ("init", data)):
        ended = typed(*command)
        if b"%" in folder:  # escapes stand for something, if only for the mark of what is no character
            assert ended.code in (0, 3)
        else:
            ended.require_refusal(3)
            assert "UTF-8" in ended.err


@pytest.mark.parametrize("kind", KINDS)
def test_a_private_key_that_is_no_ordinary_file_is_refused_without_waiting_for_it(
    workplace: Workplace, kind: str
) -> None:
    key = workplace.folder / "anna.pem"
    KINDS[kind](key)
    typed("sign", "0" * 64, "--key", key).require_refusal(1, 2, 7)


def damaged(content: bytes) -> dict[str, bytes]:
    """A Parquet file with its footer spoilt in ways that its magic number does not show."""
    end = len(content) - 8
    size = int.from_bytes(content[end : end + 4], "little")
    footer = content[end - size : end]
    name = footer.index(b"region")
    return {
        "cut off": content[: len(content) // 2],
        "only magic": b"PAR1PAR1",
        "only a magic": b"PAR1",
        "empty": b"",
        "footer longer than the file": content[:end] + (2**31 - 1).to_bytes(4, "little") + b"PAR1",
        "negative footer": content[:end] + (2**32 - 1).to_bytes(4, "little") + b"PAR1",
        "footer of zeros": content[: end - size] + bytes(size) + content[end:],
        "footer of ones": content[: end - size] + b"\xff" * size + content[end:],
        "footer backwards": content[: end - size] + footer[::-1] + content[end:],
        "name that is no text": content[: end - size]
        + (footer[:name] + b"\xff\xfe\xff\xfe\xff\xfe" + footer[name + 6 :]).replace(b"ARROW:schema", b"ARROW:schemx")
        + content[end:],
        "data of zeros": content[:4] + bytes(end - size - 4) + content[end - size :],
    }


@pytest.mark.parametrize("case", damaged(b"PAR1" + b"region" + (6).to_bytes(4, "little") + b"PAR1"))
def test_a_damaged_source_is_refused_by_every_command(workplace: Workplace, case: str) -> None:
    spec = workplace.write_spec()
    workplace.source.write_bytes(damaged(workplace.source.read_bytes())[case])
    by_a_release = [("run", spec)] if case in ("footer of ones", "name that is no text", "data of zeros") else []
    for command in (("init", workplace.source), ("plan", spec, "--count"), *by_a_release):
        ended = typed(*command)
        assert ended.code in ((0, 3) if case == "data of zeros" and command[0] == "plan" else (3,)), (command, ended)
        assert "Traceback" not in ended.text


def test_a_name_that_is_no_text_is_refused(workplace: Workplace) -> None:
    """Arrow keeps names as bytes; Python meets them when it looks."""
    pq.write_table(pa.table({"a\nb": [1]}), workplace.source)
    content = workplace.source.read_bytes().replace(b"a\nb", b"a\xffb")
    workplace.source.write_bytes(content)
    typed("init", workplace.source).require_refusal(3)


def test_long_names_on_the_command_line_are_refused(workplace: Workplace) -> None:
    for long in (LONG_NAME, LONG_PATH):
        typed("plan", long).require_refusal(2)
        typed("init", long).require_refusal(2, 3)
        typed("init", workplace.source, "--roles", long + ".R").require_refusal(2)
        typed("plan", workplace.write_spec(), "--source", long).require_refusal(2, 3)
        typed("verify", long).require_refusal(1, 2, 7)


def test_exact_numbers_are_bounded(workplace: Workplace) -> None:
    make_private(workplace)
    for epsilon in ("9" * 5000, "1/" + "9" * 5000, "1e999999999", 10**400):
        put(workplace.raw, "budget.epsilon", epsilon)
        spec = workplace.folder / "spec.json"
        spec.write_text(json.dumps(workplace.raw), encoding="utf-8")
        typed("plan", spec).require_refusal(2)
