"""The rows and columns of a table, against a list of all its cells."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.mechanisms.layout import TOTAL, Coarser, Figure, Layout, error_of

COUNT = Figure("count", "count", None, True)
SUM = Figure("output_sum", "sum", "output", False)


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    sizes = draw(st.lists(st.integers(1, 4), max_size=4))
    dimensions = {f"d{place}": tuple(f"c{code}" for code in range(size)) for place, size in enumerate(sizes)}
    margins = [kept for size in range(len(sizes)) for kept in combinations(dimensions, size)]
    chosen = draw(st.permutations(margins)) if margins else []
    levels = (tuple(dimensions), *chosen[: draw(st.integers(0, len(chosen)))])
    figures = draw(st.sampled_from([(), (COUNT,), (COUNT, SUM)]))
    return Layout("table", dimensions, levels, figures, draw(st.booleans()))


@st.composite
def layouts_with_groups(draw: st.DrawFn) -> Layout:
    """The same with one or two coarser levels of the first dimension, which some margins keep in its place."""
    plain = draw(layouts().filter(lambda layout: bool(layout.dimensions)))
    first, categories = next(iter(plain.dimensions.items()))
    coarser = {}
    for name in ("upper", "lower")[: draw(st.integers(1, 2))]:
        number = draw(st.integers(1, len(categories)))
        groups = draw(st.permutations([*range(number), *(0 for _ in categories[number:])]))
        coarser[name] = Coarser(first, tuple(f"{name}{group}" for group in range(number)), tuple(groups))
    more = tuple(
        tuple(draw(st.sampled_from([*coarser])) if name == first else name for name in level)
        for level in plain.levels
        if first in level
    )
    return replace(plain, levels=(*plain.levels, *dict.fromkeys(more)), coarser=coarser)


@given(layouts_with_groups())
def test_groups_stand_in_the_column_of_their_dimension(layout: Layout) -> None:
    rows = []
    for level in layout.levels:
        for cell in product(*(layout.categories(name) for name in level)):
            named = {layout.dimension_of(name): label for name, label in zip(level, cell, strict=True)}
            rows.append(tuple(named.get(name, TOTAL) for name in layout.dimensions))
    codes = layout.codes()
    assert layout.rows == len(rows)
    assert [
        tuple(layout.labels(name)[codes[name][row]] for name in layout.dimensions) for row in range(layout.rows)
    ] == rows
    for place, name in enumerate(layout.dimensions):
        assert (TOTAL in layout.labels(name)) == any(row[place] == TOTAL for row in rows)


def rows_of(layout: Layout) -> list[tuple[str, ...]]:
    """The categories of every row, by definition: levels in turn, cells of a level with the last dimension fastest."""
    rows = []
    for level in layout.levels:
        for cell in product(*(layout.dimensions[name] for name in level)):
            named = dict(zip(level, cell, strict=True))
            rows.append(tuple(named.get(name, TOTAL) for name in layout.dimensions))
    return rows


@given(layouts())
def test_codes_and_labels_spell_every_row(layout: Layout) -> None:
    codes = layout.codes()
    assert list(codes) == list(layout.dimensions)
    assert all(column.dtype == np.int32 and len(column) == layout.rows for column in codes.values())
    spelt = [tuple(layout.labels(name)[codes[name][row]] for name in layout.dimensions) for row in range(layout.rows)]
    assert spelt == rows_of(layout)


@given(layouts())
def test_levels_start_where_the_cells_before_them_end(layout: Layout) -> None:
    lengths = [len(list(product(*(layout.dimensions[name] for name in level)))) for level in layout.levels]
    assert layout.starts == tuple(sum(lengths[:place]) for place in range(len(lengths) + 1))
    assert layout.rows == len(rows_of(layout)) == layout.starts[-1]


@given(layouts())
def test_the_total_is_a_label_exactly_where_a_row_has_it(layout: Layout) -> None:
    for place, name in enumerate(layout.dimensions):
        shown = {row[place] for row in rows_of(layout)}
        assert set(layout.labels(name)) == shown
        assert layout.labels(name)[: len(layout.dimensions[name])] == layout.dimensions[name]


@given(layouts())
def test_every_figure_is_followed_by_its_error_where_errors_are_published(layout: Layout) -> None:
    expected = list(layout.dimensions)
    for figure in layout.figures:
        expected += [figure.name, error_of(figure.name)] if layout.errors else [figure.name]
    assert list(layout.columns) == expected


@given(layouts())
def test_the_shape_of_a_level_is_in_its_own_order(layout: Layout) -> None:
    for level in (*layout.levels, tuple(reversed(layout.levels[0]))):
        assert layout.shape(level) == tuple(len(layout.dimensions[name]) for name in level)


def test_a_table_without_dimensions_is_one_row() -> None:
    layout = Layout("table", {}, ((),), (COUNT,), False)
    assert (layout.rows, layout.starts, layout.shape(()), layout.codes()) == (1, (0, 1), (), {})
    assert layout.columns == ("count",)


def test_no_two_figures_share_the_name_of_an_error() -> None:
    assert error_of("count") == "count_standard_error"
    assert error_of("output_sum") != error_of("output_mean")


def test_a_dimension_that_does_not_exist_is_an_error() -> None:
    layout = Layout("table", {"d": ("a", "b")}, (("d",),), (COUNT,), False)
    with pytest.raises(KeyError):
        layout.shape(("e",))
