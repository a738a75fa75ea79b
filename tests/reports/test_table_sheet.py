"""A table as it is drawn: what is shown, in which order, and where on its axis."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from penstock.mechanisms.layout import Coarser, Figure, Layout, error_of
from penstock.reports.pages import public_report
from penstock.reports.table_sheet import Axis, Mark, described, must_fit, sheet_of
from tests.records import page_facts as facts
from tests.reports.page_maker import text_of

COUNT = Figure("count", "count", None, True)
SUM = Figure("sum", "sum", "income", False)
MEAN = Figure("mean", "mean", "income", False)


def line(values: list[float], errors: list[float] | None, figure: Figure) -> tuple[Axis | None, list[Mark]]:
    """Axis and marks of a table with one dimension and one figure."""
    layout = Layout("t", {"a": tuple(map(str, range(len(values))))}, (("a",),), (figure,), errors is not None)
    columns: dict[str, NDArray[Any]] = {**layout.codes(), figure.name: np.array(values)}
    if errors is not None:
        columns[error_of(figure.name)] = np.array(errors, np.float64)
    (level,) = sheet_of(layout, columns, len(values)).levels
    return level.axes[0], [row.marks[0] for row in level.rows]


def axis_of(values: list[float], errors: list[float] | None, figure: Figure) -> Axis:
    axis, _ = line(values, errors, figure)
    assert axis is not None
    return axis


def counts_of(layout: Layout) -> dict[str, NDArray[Any]]:
    return {**layout.codes(), "count": np.arange(layout.rows)}


def test_totals_come_first_and_every_level_has_an_axis_of_its_own() -> None:
    sheet = facts.sheet()
    assert [level.dimensions for level in sheet.levels] == [(), ("sex",), ("region",), ("sex", "region")]
    assert [len(level.rows) for level in sheet.levels] == [1, 2, 2, 4]
    assert [axis.last for level in sheet.levels if (axis := level.axes[0]) is not None] == ["260", "220", "130", "130"]
    assert sheet.levels[3].rows[1].labels == ("f", "East")
    assert (sheet.cells, sheet.totals, sheet.shown) == (4, 5, 9)


def test_a_mark_stands_where_its_number_is() -> None:
    axis, marks = line([0, 50, 100], [10.0, 0.0, 5.0], COUNT)
    assert axis == Axis("-20", "110", zero=15.38)  # 20 of 130
    assert marks[1] == Mark("50", "0.0".rjust(4, "\u2007"), at=53.85, low=53.85, high=53.85)
    assert marks[0].low == pytest.approx(100 * (20 - 19.6) / 130, abs=0.01)
    assert marks[2].high == pytest.approx(100 * (100 + 9.8 + 20) / 130, abs=0.01)


@pytest.mark.parametrize(("figure", "first"), [(COUNT, "0"), (SUM, "0"), (MEAN, "90")])
def test_counts_and_sums_are_drawn_from_zero_and_means_where_their_intervals_are(figure: Figure, first: str) -> None:
    values: list[float] = [92, 108] if figure.whole else [92.0, 108.0]
    assert axis_of(values, [1.0, 1.0], figure).first == first
    # Without an interval nothing would show that a difference is noise.
    assert axis_of(values, None, figure).first == axis_of(values, [np.nan, np.nan], figure).first == "0"


def test_numbers_are_shown_to_the_second_digit_of_their_error() -> None:
    _, marks = line([1234.5678, -0.0001, 98765.4321], [0.0567, 1.5, 250.0], MEAN)
    assert [mark.value for mark in marks] == ["1,234.568", "0.000", "98,765.432"]
    assert [(mark.error or "").strip("\u2007") for mark in marks] == ["0.057", "1.500", "250.000"]
    _, marks = line([7, 1_234_567], [2.83, 2.83], COUNT)
    assert [(mark.value, mark.error) for mark in marks] == [("7", "2.8"), ("1,234,567", "2.8")]
    _, marks = line([1234.5678, 2.0], None, MEAN)
    assert [(mark.value, mark.error) for mark in marks] == [("1,234.6", None), ("2.0", None)]
    _, marks = line([1e-11, 1.5e20], None, MEAN)
    assert [mark.value for mark in marks] == ["0", "1.5e+20"]


def test_a_figure_that_is_not_defined_is_not_drawn() -> None:
    axis, marks = line([np.nan, 4.0], [np.nan, 1.0], MEAN)
    assert axis is not None
    assert marks[0] == Mark("undefined", None, None, None, None)
    assert marks[1].at is not None
    assert axis.first == "2.0"


def test_a_column_without_a_value_has_no_axis() -> None:
    for errors in (None, [np.nan, np.nan]):
        axis, marks = line([np.nan, np.nan], errors, MEAN)
        assert axis is None
        assert set(marks) == {Mark("undefined", None, None, None, None)}
    gone = facts.sheet()
    assert gone.unknown == ()
    layout = Layout("t", {"a": ("x", "y")}, (("a",),), (MEAN,), True)
    nothing = {"mean": np.full(2, np.nan), "mean_standard_error": np.full(2, np.nan)}
    page = public_report(
        facts.public(guarantee=facts.DP_GUARANTEE, tables={"t": sheet_of(layout, {**layout.codes(), **nothing})})
    )
    assert "undefined" in page
    assert "<svg" not in page
    assert "No standard error is stated of" not in page


def test_a_figure_without_any_error_is_named_and_its_heading_promises_none() -> None:
    layout = Layout("t", {"a": ("x", "y")}, (("a",),), (MEAN, COUNT), True)
    columns: dict[str, NDArray[Any]] = {
        **layout.codes(),
        "mean": np.array([22_315.0, 22_040.0]),
        "mean_standard_error": np.array([np.nan, np.nan]),
        "count": np.array([4, 5]),
        "count_standard_error": np.array([1.5, 1.5]),
    }
    sheet = sheet_of(layout, columns)
    assert sheet.unknown == ("mean",)
    assert [level.stated for level in sheet.levels] == [(False, True)]
    page = public_report(facts.public(guarantee=facts.DP_GUARANTEE, rows_are="cells", tables={"t": sheet}))
    assert page.count("± s.e.") == 1
    assert "No standard error is stated of mean: the dot alone says nothing of the noise in it." in text_of(page)


def test_without_published_errors_there_is_no_interval() -> None:
    _, marks = line([1, 2, 3], None, COUNT)
    assert {(mark.error, mark.low, mark.high) for mark in marks} == {(None, None, None)}


def test_a_long_table_shows_its_totals_and_its_first_cells() -> None:
    dimensions = {"a": tuple(map(str, range(40))), "b": tuple(map(str, range(30)))}
    layout = Layout("t", dimensions, (("a", "b"), ("a",), ("b",), ()), (COUNT,), False)
    sheet = sheet_of(layout, counts_of(layout))
    assert [(len(level.rows), level.count) for level in sheet.levels] == [(1, 1), (40, 40), (30, 30), (129, 1200)]
    assert sheet.shown == 200
    assert sheet.levels[3].rows[128].labels == ("4", "8")


def test_totals_leave_a_quarter_of_the_page_to_the_cells() -> None:
    dimensions = {"a": tuple(map(str, range(300))), "b": ("x", "y")}
    layout = Layout("t", dimensions, (("a", "b"), ("a",), ("b",), ()), (COUNT,), False)
    sheet = sheet_of(layout, counts_of(layout))
    assert [len(level.rows) for level in sheet.levels] == [1, 149, 0, 50]
    few = Layout("t", {"a": dimensions["a"], "b": ("x",)}, (("b",), ("a",)), (COUNT,), False)
    assert [len(level.rows) for level in sheet_of(few, counts_of(few)).levels] == [199, 1]


def test_a_figure_is_described_in_words() -> None:
    assert described(COUNT) == "number of records"
    assert described(Figure("x", "upper_quartile", "income", False)) == "upper quartile of income"
    assert described(Figure("x", "number_of_groups", None, True)) == "number of groups"


finite = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(st.tuples(finite, finite.map(abs)), min_size=1, max_size=5), st.sampled_from([SUM, MEAN]))
def test_every_mark_lies_on_its_axis_however_large_or_small_the_numbers(
    numbers: list[tuple[float, float]], figure: Figure
) -> None:
    axis, marks = line([value for value, _ in numbers], [error for _, error in numbers], figure)
    places = [place for mark in marks for place in (mark.low, mark.at, mark.high) if place is not None]
    assert all(0 <= place <= 100 for place in places)
    assert (axis is None) == (places == [])
    assert axis is None or axis.zero is None or 0 < axis.zero < 100
    for mark in marks:
        if mark.low is not None and mark.at is not None and mark.high is not None:
            assert mark.low <= mark.at <= mark.high
    assert all(mark.value not in ("", "-0") for mark in marks)


def test_columns_must_be_those_of_the_layout() -> None:
    layout = Layout("t", {"a": ("x", "y")}, (("a",),), (COUNT, MEAN), True)
    fitting: dict[str, NDArray[Any]] = {
        **layout.codes(),
        **{name: np.array([1.0, 2.0]) for name in layout.columns if name != "a"},
    }
    must_fit(layout, fitting)
    without = {name: column for name, column in fitting.items() if name != "mean"}
    for wrong, rule in (
        (without, "no column mean$"),
        ({**fitting, "count": np.arange(3)}, "one value for each row"),
        ({**fitting, "a": np.array([1, 0])}, "order of the layout"),
        ({**fitting, "mean": np.array([1.0, np.inf])}, "finite number, or NaN"),
    ):
        with pytest.raises(ValueError, match=rule):
            must_fit(layout, wrong)
        with pytest.raises(ValueError, match=rule):
            sheet_of(layout, wrong)


def test_an_error_is_drawn_without_an_error_of_its_own_and_one_that_was_left_out_is_not_stated() -> None:
    figures = tuple(
        Figure(f"weighted_count{end}", f"weighted_count{end}", None, False)
        for end in ("", "_sampling_error", "_combined_error")
    )
    layout = Layout("t", {"a": ("p", "q")}, (("a",),), figures, errors=True)
    columns: dict[str, NDArray[Any]] = {
        **layout.codes(),
        "weighted_count": np.array([90.0, 2.0]),
        "weighted_count_standard_error": np.array([3.0, 3.0]),
        "weighted_count_sampling_error": np.array([4.0, np.nan]),
        "weighted_count_combined_error": np.array([5.0, np.nan]),
    }
    sheet = sheet_of(layout, columns)
    assert sheet.combined
    (level,) = sheet.levels
    assert [axis is not None for axis in level.axes] == [True, False, False]  # errors of errors are not drawn
    assert (level.stated, sheet.unknown) == ((True, False, False), ())
    first, second = level.rows
    assert [mark.at for mark in first.marks[1:]] == [None, None]
    assert [mark.error for mark in first.marks] == ["3.0", None, None]
    assert [mark.value for mark in second.marks[1:]] == ["not stated", "not stated"]
    assert described(figures[2]) == "error of the weighted count from noise and sampling together"
    of_sum = Figure("x_weighted_sum_combined_error", "weighted_sum_combined_error", "x", False)
    assert described(of_sum) == "error of the weighted sum of x from noise and sampling together"
    assert not facts.sheet().combined


def test_groups_come_before_their_categories_and_every_label_says_what_is_above_it() -> None:
    coarser = {
        "section": Coarser("nace", ("goods", "services"), (0, 1, 0)),
        "division": Coarser("nace", ("farms", "trade", "plants"), (0, 1, 2)),
    }
    dimensions = {"nace": ("rice", "shops", "steel"), "sex": ("f", "m")}
    levels = (("nace", "sex"), ("section", "sex"), ("nace",), ("sex",), ("division",), ("section",), ())
    layout = Layout("t", dimensions, levels, (COUNT,), False, coarser=coarser)
    sheet = sheet_of(layout, counts_of(layout))
    shown = {level.dimensions: [(row.labels, row.above) for row in level.rows] for level in sheet.levels}
    assert list(shown) == [(), ("section",), ("division",), ("nace",), ("sex",), ("section", "sex"), ("nace", "sex")]
    assert shown["section",] == [(("goods",), ("",)), (("services",), ("",))]
    assert shown["division",] == [(("farms",), ("goods",)), (("trade",), ("services",)), (("plants",), ("goods",))]
    assert shown["nace",][2] == (("steel",), ("goods, plants",))
    assert shown["section", "sex"][3] == (("services", "m"), ("", ""))
    assert shown["nace", "sex"][0] == (("rice", "f"), ("goods, farms", ""))


def test_a_sampling_error_stands_beside_its_figure_and_has_no_axis_of_its_own() -> None:
    total = Figure("income_weighted_sum", "weighted_sum", "income", False)
    error = Figure("income_weighted_sum_sampling_error", "weighted_sum_sampling_error", "income", False)
    records = Figure("records", "count", None, True)
    layout = Layout("t", {"a": ("x", "y")}, (("a",),), (records, total, error), False)
    columns: dict[str, NDArray[Any]] = {
        **layout.codes(),
        "records": np.array([3, 4]),
        total.name: np.array([100.0, 300.0]),
        error.name: np.array([10.0, np.nan]),
    }
    sheet = sheet_of(layout, columns, words={"records": "number of records in the sample"})
    assert (sheet.figures, sheet.sampled, sheet.errors) == (("records", total.name), (False, True), False)
    assert sheet.descriptions == ("number of records in the sample", "weighted sum of income")
    (level,) = sheet.levels
    assert [mark.error for mark in level.rows[0].marks] == [None, "10"]
    assert [mark.error for mark in level.rows[1].marks] == [None, None]
    assert level.rows[0].marks[1].low == pytest.approx(100 * (100 - 19.6) / 300, abs=0.01)


def test_a_sampling_error_is_called_that_of_its_figure() -> None:
    of_sum = Figure("x", "weighted_sum_sampling_error", "income", False)
    of_count = Figure("x", "weighted_count_sampling_error", None, False)
    assert described(of_sum) == "sampling error of the weighted sum of income"
    assert described(of_count) == "sampling error of the weighted count"
