"""A call in an R script is read as R would read it, or refused; nothing is evaluated."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.tasks.importers._r_call import Computed, Value, arguments_of
from penstock.tasks.importers.imported_column import RolesRefused


def values_of(text: str) -> list[tuple[str | None, Value]]:
    return [(argument.name, argument.value()) for argument in arguments_of("f", text)]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("f()", []),
        ("x <- pkg::f(\n  a = 'one', # a comment, with ) and '\n  \"two\")", [("a", "one"), (None, "two")]),
        ("# f('no')\ny <- 'f('; f(TRUE, NULL, 1, 2L, 1e3)", [(None, v) for v in (True, None, 1.0, 2.0, 1000.0)]),
        ("f(a=c('x', c(\"y\", NULL)), b=list('x', c('y'), NULL))", [("a", ["x", "y"]), ("b", ["x", ["y"], None])]),
        ("f(c(), list())", [(None, []), (None, [])]),
        ("f(`a` = 'x', 'b' = FALSE)", [("a", "x"), ("b", False)]),
        (r"""f('it\'s', "a \"b\" \\")""", [(None, "it's"), (None, 'a "b" \\')]),
        ("""f(r"(a "b" \\ c)", R'--[d]e]--')""", [(None, 'a "b" \\ c'), (None, "d]e")]),
        ("f <- function(x) x\nf.g('no'); f('yes')", [(None, "yes")]),
        ("f (\n'a'\n)", [(None, "a")]),
        ("cat('done\\n', \"\\u00e9\"); f('a')", [(None, "a")]),
        ("f('täglich', 'a\nb')", [(None, "täglich"), (None, "a\nb")]),
    ],
)
def test_literal_values_are_read(text: str, values: list[tuple[str | None, Value]]) -> None:
    assert values_of(text) == values


@pytest.mark.parametrize(
    "value",
    [
        *(
            "names",
            "c(x)",
            "c('a', x)",
            "c(a = 'x')",
            "paste0('a', 'b')",
            "'a' + 'b'",
            "c('a', )",
            "c('a' 'b')",
            "-1",
            "1:3",
        ),
        *(
            r"'a\n'",
            r"c('a', 'b\\\t')",
            "x$y",
            "c",
            "NA",
            "0x1G",
            "if (a) 'b'",
            "function(x) x",
            "c('a')[1]",
            "list(a = 'b')",
            "(1)",
            "x = 'a'",
            "",
        ),
    ],
)
def test_whatever_is_computed_has_no_value(value: str) -> None:
    [*_, argument] = arguments_of("f", f"f('first', v = {value})")
    assert argument.name == "v"
    with pytest.raises(Computed):
        argument.value()


def test_brackets_in_brackets_without_end_have_no_value() -> None:
    [argument] = arguments_of("f", f"f({'c(' * 5000}{')' * 5000})")
    with pytest.raises(Computed):
        argument.value()


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", r"must call f\(\.\.\.\)"),
        ("g('a') # f('b')", r"must call f\(\.\.\.\)"),
        ("f('a')\n\nf('b')", "once; it is called in lines 1, 3"),
        ("f('a', f('b'))", "once"),
        ("x\nf('a", "line 2: must close its quote"),
        ("x\nf(r'(a)", "line 2: must close its quote"),
        ("f(`a", "line 1: must close its quote"),
        ("\nf('a'", "line 2: must close its bracket"),
        ("f(c('a'])", "line 1: must have brackets that match"),
    ],
)
def test_a_script_that_cannot_be_read_is_refused_without_being_quoted(text: str, rule: str) -> None:
    with pytest.raises(RolesRefused, match=rule) as refused:
        arguments_of("f", text)
    [fault] = refused.value.faults
    assert fault.remedy
    assert not fault.got


def written(value: Value, draw: st.DrawFn) -> str:
    """The value as R writes it, with blanks and comments wherever they may be."""
    gap = draw(st.sampled_from(["", " ", "\n", " # ) ' \" c(\n"]))
    if isinstance(value, str):
        quote = draw(st.sampled_from("'\""))
        return gap + quote + value.replace("\\", "\\\\").replace(quote, "\\" + quote) + quote + gap
    if isinstance(value, list):
        return f"{gap}list{gap}({','.join(written(item, draw) for item in value)}{gap}){gap}"
    return gap + {None: "NULL", True: "TRUE", False: "FALSE"}.get(value, str(value)) + gap


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=8)
VALUES: st.SearchStrategy[Value] = st.recursive(
    st.none() | st.booleans() | TEXTS | st.integers(2, 10**6).map(float),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(VALUES, max_size=4), st.data())
def test_what_was_written_is_read(values: list[Value], data: st.DataObject) -> None:
    text = ",".join(written(value, data.draw) for value in values)
    assert [value for _, value in values_of(f"library(x)\nsdc <- f({text})\nplot(sdc)")] == values


@given(st.text(st.sampled_from("f(),='\"`\\c#\n list[]{}r-ab1%<"), max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        for argument in arguments_of("f", text):
            argument.value()
    except (RolesRefused, Computed):
        pass
