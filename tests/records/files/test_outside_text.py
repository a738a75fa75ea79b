"""Files from outside: what they may be, and what their texts may say."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from penstock.mechanisms.refusal import SpecRefused
from penstock.records.files.outside_text import OutsideFile, from_json
from penstock.records.files.outside_values import (
    DEEPEST,
    LONGEST_TEXT,
    MOST_VALUES,
    OutsideWrong,
    first_unfit,
    require_bounds,
    require_values,
)
from penstock.records.files.outside_yaml import from_yaml


def outside(path: Path, **settings: Any) -> OutsideFile:
    return OutsideFile(path, "spec", SpecRefused, **settings)


def broken(text: str, parse: Any = from_yaml) -> str:
    with pytest.raises(OutsideWrong) as wrong:
        parse(text)
    assert wrong.value.remedy
    return str(wrong.value.rule)


def test_a_file_is_read_without_the_mark_of_editors(tmp_path: Path) -> None:
    (tmp_path / "a").write_text('\ufeff{"a": [1, 2.5, true, null, "ä"]}', encoding="utf-8")
    said = {"a": [1, 2.5, True, None, "ä"]}
    assert outside(tmp_path / "a").json() == outside(tmp_path / "a").yaml() == said


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (b"\xff", "must be text in UTF-8"),
        (b"a\nb\0", "line 2: must not hold control characters"),
        (b"a\n\nb\x1b", "line 3: must not hold control characters"),
        (b"a" * (2 << 20), "at most 1 MB"),
    ],
)
def test_what_is_no_text_is_refused(tmp_path: Path, content: bytes, rule: str) -> None:
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(SpecRefused, match=rule):
        outside(tmp_path / "a", largest=1 << 20).text()


def test_what_is_no_ordinary_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, rule in (
        (tmp_path, "must be an ordinary file"),
        (tmp_path / "pipe", "must be an ordinary file"),
        (Path("/dev/null"), "must be an ordinary file"),
        (tmp_path / "none", "must be a readable file"),
        (tmp_path / ("n" * 300), "must be a readable file"),
        (tmp_path / "a\0b", "must have a name that files can have"),
    ):
        with pytest.raises(SpecRefused, match=rule) as refused:
            outside(path, got="'shown'").content()
        assert "got 'shown'" in str(refused.value)


# YAML

plain_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8").filter(lambda sign: first_unfit(sign) is None), max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(plain_values)
def test_yaml_means_what_it_means_to_others(value: Any) -> None:
    for text in (yaml.safe_dump(value, allow_unicode=True), yaml.safe_dump(value, default_flow_style=True)):
        assert from_yaml(text) == yaml.safe_load(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", None),
        ("a: yes", {"a": True}),
        ("a: ~", {"a": None}),
        ("a:", {"a": None}),
        ("a: 1_000", {"a": 1000}),
        ("a: -0", {"a": 0}),
        ("a: 1e-9", {"a": "1e-9"}),
        ("a: 1.5e+3", {"a": 1500.0}),
        ("a: '010'", {"a": "010"}),
        ("a: |\n  b\n  c\n", {"a": "b\nc\n"}),
        ("a: &x [1, {b: c}]\nd: *x\ne: [*x]", {"a": [1, {"b": "c"}], "d": [1, {"b": "c"}], "e": [[1, {"b": "c"}]]}),
        ("a: &x y\n*x : z", {"a": "y", "y": "z"}),
        ("%YAML 1.1\n---\na: b\n...\n", {"a": "b"}),
    ],
)
def test_usual_yaml_is_read(text: str, said: Any) -> None:
    assert from_yaml(text) == said


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("a: 1\nb: 2\na: 3", "line 3: must not hold a key twice"),
        ("a: {b: 1, b: 1}", "line 1: must not hold a key twice"),
        ("a: 1\n<<: {b: 2}", "line 2: must not use merge keys"),
        ("b: *x", "line 1: must not use an alias (*name)"),
        ("a: &x [*x]", "line 1: must not use an alias (*name) for what is not complete"),
        ("a: &x {b: [*x]}", "line 1: must not use an alias (*name) for what is not complete"),
        ("a: &x <<\nb: *x", "must not use merge keys"),
        ("\n".join(["a0: &a0 [1]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 31))]), "500,000 values"),
        ("\n".join(["a0: &a0 [1]", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 40))]), f"at most {DEEPEST} deep"),
        ("a: !!str b", "line 1: must not use tags"),
        ("a: ! b", "line 1: must not use tags"),
        ("1: a", "line 1: must have a text as key"),
        ("[a]: b", "line 1: must have a text as key"),
        ("a: 1\n---\nb: 1", "line 3: must be one document only"),
        ("a: [", "must be valid YAML"),
        ("a: 010", "must not hold a word that YAML would read as something else"),
        ("a: 0x10", "must not hold a word that YAML would read as something else"),
        ("a: 0b1", "must not hold a word that YAML would read as something else"),
        ("a: 1:30", "must not hold a word that YAML would read as something else"),
        ("a: 1:30.5", "must not hold a word that YAML would read as something else"),
        ("a: .nan", "must not hold a word that YAML would read as something else"),
        ("a: 2026-01-01", "must not hold a word that YAML would read as something else"),
        ("a: =", "must not hold a word that YAML would read as something else"),
        ("a: 1.0e+999", "must hold finite numbers only"),
        ("a: " + "9" * 41, "more than 40 digits"),
        ("a: 1." + "9" * 39, "more than 40 digits"),
        ("a: &x " + "b" * 9999 + "\nc: [" + "*x," * 1700 + "]", "line 2: must hold at most 16,777,216"),
        ("a: &x {" + "b" * 1000 + ": 1}\nc: [" + "*x," * 17000 + "]", "line 2: must hold at most 16,777,216"),
        ("a: [" + ("b" * 9999 + ",") * 1700 + "]", "line 1: must hold at most 16,777,216"),
        ('a: "\\0"', "must not hold control characters"),
        ("a: " + "b" * (LONGEST_TEXT + 1), "more than 10,000 characters"),
        ("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1), f"at most {DEEPEST} deep"),
        ("[" + "1," * MOST_VALUES + "1]", "at most 500,000 values"),
    ],
)
def test_tricks_and_sizes_of_yaml_are_refused(text: str, rule: str) -> None:
    assert rule in broken(text)


# JSON


@given(plain_values)
def test_json_means_what_it_means_to_others(value: Any) -> None:
    assert from_json(json.dumps(value)) == value


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("{", "line 1: must be valid JSON"),
        ('{"a": 1, "a": 1}', "must not hold a key twice"),
        ("[NaN]", "must hold finite numbers only"),
        ("[-Infinity]", "must hold finite numbers only"),
        ("[1e999]", "must hold finite numbers only"),
        ("[" + "9" * 41 + "]", "more than 40 digits"),
        ("[1." + "9" * 39 + "]", "more than 40 digits"),
        ("[1e" + "0" * 39 + "]", "more than 40 digits"),
        ("[" * (DEEPEST + 2) + "]" * (DEEPEST + 2), f"at most {DEEPEST} deep"),
        ("[" * 100_000, f"at most {DEEPEST} deep"),
        ('["\\u0000"]', "must not hold control characters"),
        ('{"\\udfff": 1}', "must not hold control characters"),
    ],
)
def test_tricks_and_sizes_of_json_are_refused(text: str, rule: str) -> None:
    assert rule in broken(text, from_json)


def test_values_from_elsewhere_keep_the_same_rules() -> None:
    require_bounds({"a": [1, (2.5, None)], "b": {"c": True}})
    deep: list[Any] = []
    deep.append(deep)
    many = ["x" * 9999] * 1700
    for value, rule in ((deep, "deep"), ([10**40], "digits"), (many, "all texts"), ({"\ud800": 1}, "halves")):
        with pytest.raises(SpecRefused, match=rule):
            require_values("spec", value, SpecRefused)
