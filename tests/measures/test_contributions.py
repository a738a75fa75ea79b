"""The contributions to a cell, against their definition: sorted sizes, cell by cell, in Python's own numbers."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.measures.cells.rules import contributions
from penstock.measures.cells.totals import find_cells
from tests.measures.cells.test_table_measures import of_values

RECORDS = st.lists(st.tuples(st.integers(0, 3), st.integers(-5, 5) | st.integers(-(2**40), 2**40)), min_size=1)


def by_definition(records, cells):
    """X, x_1 and x_2 of each cell."""
    found = []
    for cell in range(cells):
        sizes = sorted((abs(value) for place, value in records if place == cell), reverse=True)
        found.append((sum(sizes), *(*sizes, 0, 0)[:2]))
    return tuple(map(list, zip(*found, strict=True)))


@settings(max_examples=200, deadline=None)
@given(RECORDS)
def test_contributions_are_those_of_the_definition(records):
    """Ties, losses, zeros, cells with one record and without any."""
    output = of_values([value for _, value in records], [place for place, _ in records])
    cells = find_cells(output)
    found = contributions(output, cells, "output")
    assert tuple(each.tolist() for each in found) == by_definition(records, len(cells.counts))


def test_the_definition_notices_a_tie_that_is_counted_once():
    records = [(0, 3), (0, -3), (0, 1)]
    assert by_definition(records, 1) == ([7], [3], [3])
    output = of_values([value for _, value in records])
    assert [each.tolist()[0] for each in contributions(output, find_cells(output), "output")] == [7, 3, 3]


def test_records_are_not_changed():
    output = of_values([5, 4, 3])
    contributions(output, find_cells(output), "output")
    assert output.original["output"].tolist() == [5, 4, 3]
