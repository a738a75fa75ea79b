"""What several outputs say alike is said once; nothing is lost and nothing is put into an output's mouth."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.mechanisms.guarantee import Guarantee
from penstock.reports.page_facts import PublicReport, SeveralPublic
from penstock.reports.pages import public_report
from penstock.reports.promise_parts import common, lines_of, without
from tests.records import page_facts as facts
from tests.reports.page_maker import text_of

LISTS = ("assumptions", "not_promised", "public")
sentences = st.lists(st.sampled_from("abcdef"), unique=True, max_size=5)


def output(name: str, **other: Any) -> PublicReport:
    usage = other.pop("usage", ["use it"])
    changed = {"parameters": {"epsilon": "1/2", "tables": {"sex_education": ["sex"]}}, **other}
    guarantee = facts.DP_GUARANTEE.model_copy(update=changed)
    tables = {name: facts.sheet()}
    return facts.public(name=name, guarantee=guarantee, rows_are="cells", tables=tables, usage=usage, noise=[])


def page_of(*outputs: PublicReport, **other: Any) -> str:
    about: dict[str, Any] = {"name": "survey", "release": "r", "date": "d", "gates": [], "files": [], "log_head": "h"}
    about |= {"together": ["Together they keep it."], **other}
    return public_report(SeveralPublic(outputs=outputs, **about))


@given(st.lists(st.tuples(sentences, sentences, sentences, sentences), min_size=2, max_size=4))
def test_what_is_said_once_and_what_is_left_are_all_that_an_output_says(told: list[Any]) -> None:
    outputs = [
        output(f"t{place}", assumptions=a, not_promised=n, public=p, usage=u) for place, (a, n, p, u) in enumerate(told)
    ]
    once = common(outputs)
    for each in outputs:
        left = without(each, once)
        for name in LISTS:
            assert sorted([*getattr(once, name), *getattr(left, name)]) == sorted(getattr(each.guarantee, name))
        assert sorted([*once.usage, *left.usage]) == sorted(each.usage)
        assert sorted([*once.lines, *left.lines]) == sorted(lines_of(each.guarantee))
        assert (once.statement or left.statement) == each.guarantee.statement


def test_of_one_output_nothing_is_said_apart() -> None:
    alone = output("t")
    assert common([alone]) == common([])
    assert without(alone, common([alone])).statement == alone.guarantee.statement


def test_a_page_of_many_outputs_says_what_they_share_once() -> None:
    outputs = [output(f"t{place}", not_promised=("every figure is noisy", f"limit {place}")) for place in range(3)]
    text = text_of(page_of(*outputs))
    for once in (outputs[0].guarantee.statement, "every figure is noisy", "use it", "reaches 1.96", "A row is a cell"):
        assert text.count(once) == 1, once
    for place in range(3):
        assert text.count(f"limit {place}") == 1
    assert text.count("4 cells and 5 totals") == 3


def test_tables_that_are_read_differently_keep_their_guides() -> None:
    exact = facts.public(
        name="exact",
        guarantee=facts.GUARANTEE.model_copy(update={"model": "k_anon"}),
        rows_are="cells",
        tables={"exact": facts.sheet(errors=False)},
    )
    text = text_of(page_of(output("noisy"), exact))
    assert text.count("reaches 1.96 standard errors") == 1
    assert text.count("No noise was added.") == 1
    assert text.count("A row is a cell") == 2


def test_the_overview_names_linked_tables_and_speaks_of_cells_and_totals() -> None:
    linked = facts.public(
        name="all", guarantee=facts.DP_GUARANTEE, tables={"sex_education": facts.sheet(), "hours": facts.sheet()}
    )
    page = page_of(linked, output("t"))
    overview = text_of(page.partition("<tbody>")[2].partition("</tbody>")[0])
    assert "2 tables" in overview
    assert overview.count("4 cells and 5 totals") == 3
    assert "sex_ education" in overview  # it may break after the underscore
    assert "differential privacy, epsilon =" in overview
    assert "adjacency" not in overview
    assert '<th scope="col" class="n">Rows</th>' in page


def test_names_of_tables_and_columns_are_shown_as_they_are() -> None:
    named = dict(lines_of(output("t").guarantee))
    assert named["tables: sex_education"] == "sex"
    gate = {
        "gate": "k_anonymity_of_keys",
        "rule": "k_anonymity_of_keys of x_y holds",
        "verdict": "pass",
        "output": "keys",
    }
    text = text_of(page_of(output("t"), output("s"), gates=[gate]))
    assert "keys: k anonymity of keys k anonymity of keys of x_y holds passed" in text


@pytest.mark.parametrize(
    ("adjacency", "unit", "words"),
    [
        ("add_remove", "row", "whichever record is added or removed (add_remove)"),
        ("replace", "individual", "whichever individual's records (all of them together, by equally many others) is"),
        ("none", "row", "none"),
        ("bootstrap_replace", "individual", "bootstrap_replace"),
    ],
)
def test_neighbouring_data_sets_are_told_in_words(adjacency: str, unit: str, words: str) -> None:
    guarantee: Guarantee = facts.DP_GUARANTEE.model_copy(update={"adjacency": adjacency, "unit": unit})
    assert dict(lines_of(guarantee))["neighbouring data sets"].startswith(words)


@pytest.mark.parametrize("several", [False, True])
def test_the_heading_is_the_title_and_the_name_stands_below(several: bool) -> None:
    title = "Labour Force <Survey>, October 2026"
    named = page_of(output("a"), output("b"), title=title) if several else public_report(facts.public(title=title))
    name = "survey" if several else "income-survey-2026-10"
    assert "<h1>Labour Force &lt;Survey&gt;, October 2026</h1>" in named
    assert f"<dt>Name</dt><dd><code>{name}</code></dd>" in named
    plain = page_of(output("a"), output("b")) if several else public_report(facts.public())
    assert f"<h1>{name}</h1>" in plain
    assert "<dt>Name</dt>" not in plain


def test_bounds_have_separators_and_keep_all_their_digits() -> None:
    column = {"name": "x", "type": "continuous", "categories": None, "role": "figure", "treatment": "none"}
    of = [{**column, "domain": [0, 150_000]}, {**column, "name": "y", "domain": [-0.125, 1_234_567.5]}]
    text = text_of(public_report(facts.public(columns=of)))
    assert "x continuous 0 to 150,000 figure none" in text
    assert "y continuous -0.125 to 1,234,567.5 figure none" in text


def test_without_a_promise_together_no_heading_speaks_of_one() -> None:
    page = page_of(output("a"), together=())
    assert "What is promised together" not in page
    assert "<h2>The outputs</h2>" in page
