"""Texts that a spreadsheet would run: which they are, and that escaping loses nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.mechanisms.spreadsheet import begins_like_a_formula, escaped, plain


@pytest.mark.parametrize(
    "text", ["=1", "+a", "-a", "@a", "\t=1", "\ra", "\na", "＝1", "＋a", "－1", "＠a", "-1+1", "--1"]
)
def test_what_begins_like_a_formula_is_escaped(text: str) -> None:
    assert begins_like_a_formula(text)
    assert escaped(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "a", "a=1", "-9", "+1", "-1.5", "-1,5", "-", "+", "1-2", " =1"])
def test_other_texts_and_numbers_are_left(text: str) -> None:
    assert not begins_like_a_formula(text)
    assert escaped(text) == text


@given(st.text("'=+-@a1\t", max_size=6))
def test_every_text_is_read_as_it_was(text: str) -> None:
    assert plain(escaped(text)) == text
    assert not begins_like_a_formula(escaped(text))
