"""Names in a file stay names: none adds a line to a draft, moves a terminal's cursor, or becomes a setting.

Whoever makes the Parquet file or the code book does not write the spec: a draft that held their lines could bring a
column of their choice, a destination or a weaker k into a file that a person then reads only for its REVIEW marks.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from penstock.records.files.outside_yaml import from_yaml
from tests.attacks.typed_line import typed

INJECTED = "x\npublish: {path: /elsewhere}\n#"
HOSTILE = [
    "two\nlines",
    "publish:\n  path: elsewhere",
    "return\rhere",
    "next\x85line",
    "separate\u2028line\u2029paragraph",
    "tab\there",
    "a: b",
    "a # b",
    "- a",
    "? a",
    "{a: b}",
    "[a]",
    "&a",
    "*a",
    "!a",
    "<<",
    "=",
    "~",
    "no",
    "null",
    "1",
    "1:30",
    "2026-01-01",
    "'",
    '"',
    "\\",
    "%YAML 1.1",
    "---",
    "...",
    "@a",
    "`a`",
    "",
    " a ",
    "\ufeffmark",
    "right to left \u202eevol",
    "x" * 500,
]
UNFIT = ["zero\0byte", "\x1b[2J\x1b]0;owned\x07", "bell\x07", "\x7f", "\x9b31m", "\ufffe"]


def draft_of(path: Path, table: pa.Table) -> str:
    pq.write_table(table, path)
    ended = typed("init", path, "-o", path.with_suffix(".yaml"))
    assert ended.code == 0, ended
    return path.with_suffix(".yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_draft_says_exactly_the_names_of_the_file(tmp_path: Path, name: str) -> None:
    columns = {name: [1, 2], "age": [1, 2], "kept": [name or "empty"] * 20 and [name] * 2}
    table = pa.table({name: [1] * 20, "age": [2] * 20, "kept": [name] * 20})
    assert set(columns) == set(table.column_names)
    text = draft_of(tmp_path / "data.parquet", table)
    plain = draft_of(tmp_path / "plain.parquet", pa.table({"plain": [1] * 20, "age": [2] * 20, "kept": ["a"] * 20}))
    assert len(text.splitlines()) == len(plain.splitlines())
    for read in (from_yaml(text), yaml.safe_load(text)):
        assert list(read["source"]["columns"]) == [name, "age", "kept"]
        assert read["source"]["columns"]["kept"]["categories"] == [name]
        assert list(read) == ["name", "source", "validate", "budget", "protect", "gates", "approve", "publish"]


@pytest.mark.parametrize("name", UNFIT)
def test_a_name_that_no_text_can_hold_is_refused(tmp_path: Path, name: str) -> None:
    pq.write_table(pa.table({name: [1, 2]}), tmp_path / "data.parquet")
    ended = typed("init", tmp_path / "data.parquet")
    ended.require_refusal(3)
    assert not set(ended.text) & set("\0\x1b\x07\x9b\x7f")


STORED = {
    "field of a structure": pa.array([{INJECTED: 1}] * 3),
    "field of a structure in a list": pa.array([[{INJECTED: 1}]] * 3),
    "time zone": pa.array([0] * 3, pa.timestamp("us", tz="UTC")),
}


@pytest.mark.parametrize("case", STORED)
def test_a_name_inside_a_type_adds_no_line(tmp_path: Path, case: str) -> None:
    """What a column is stored as is told in a comment, and a type is written with the names of its fields."""
    text = draft_of(tmp_path / "data.parquet", pa.table({"age": [1] * 3, "odd": STORED[case]}))
    read = from_yaml(text)
    assert read["publish"]["path"] == "published"
    assert [line for line in text.splitlines() if "elsewhere" in line and not line.lstrip().startswith("#")] == []
    assert list(read["source"]["columns"]) == ["age"]


def test_a_code_book_adds_no_line(tmp_path: Path) -> None:
    book = """<codeBook xmlns="ddi:codebook:2_5"><dataDscr>
      <var name="age"><labl>x&#10;publish: {path: /elsewhere}&#10;&#133;a&#8232;b</labl>
      <catgry><catValu>1&#10;k: 1</catValu><labl>{INJECTED}&#8233;</labl></catgry>
      <catgry><catValu>2</catValu><labl>b</labl></catgry></var>
      <var name="not&#10;publish: {path: /elsewhere}"><labl>a</labl></var></dataDscr></codeBook>"""
    (tmp_path / "book.xml").write_text(book, encoding="utf-8")
    pq.write_table(pa.table({"age": ["1"] * 20}), tmp_path / "data.parquet")
    ended = typed("init", tmp_path / "data.parquet", "--roles", tmp_path / "book.xml", "-o", tmp_path / "draft.yaml")
    assert ended.code == 0, ended
    text = (tmp_path / "draft.yaml").read_text(encoding="utf-8")
    read = from_yaml(text)
    assert (read["publish"]["path"], list(read["source"]["columns"])) == ("published", ["age"])
    assert [line for line in text.split("\n") if line.startswith("publish")] == ["publish:"]


def test_names_are_shown_without_moving_the_cursor(tmp_path: Path) -> None:
    """Refusals name columns, and a name may hold what a terminal obeys."""
    spec = tmp_path / "\x1b[2Jspec.yaml"
    spec.write_text('name: survey\n"k\\u202Eye": 1\n', encoding="utf-8")
    for ended in (typed("plan", spec), typed("plan", spec, "--json"), typed("plan", tmp_path / "\x9b2Jnone.yaml")):
        assert ended.code == 2
        assert not set(ended.text) & set("\x1b\x9b\u202e")
