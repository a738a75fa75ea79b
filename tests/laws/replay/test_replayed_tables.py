"""Settings of tables that the samples of every mechanism do not reach: levels, linked tables, exact totals, cells that
cannot have records; all neighbours of a tiny domain, laid side by side."""

from __future__ import annotations

from fractions import Fraction

import pytest

from penstock.mechanisms.table import protect
from tests.laws import test_linked_tables_are_private as linked
from tests.laws import test_tables_by_levels_are_private as by_levels
from tests.laws.replay.side_by_side import prove
from tests.laws.test_structural_zeros_are_private import IMPOSSIBLE, POSSIBLE
from tests.laws.test_table_is_private import BASE, EVERY, MARGINS, TINY, sound
from tests.support.order import telling
from tests.support.plain_tables import columns_of


def prove_all(params, declared, base, every, patch):
    def run(columns, source):
        protected = protect(columns, declared, params, source)
        return {**protected.columns, "chosen": str(protected.chosen)}

    worst = 0.0
    for place, record in enumerate(every):
        first = columns_of([*base, record], declared)
        others = [[*base, each] for each in every[:place]] if params.adjacency == "replace" else [list(base)]
        for other in others[-2:]:
            found = prove(run, first, columns_of(other, declared), params.epsilon, patch)
            worst = max(worst, found.epsilon)
    return worst


@pytest.mark.parametrize("noise", telling(["laplace", "staircase", "box"], "staircase"))
@pytest.mark.parametrize("margins", telling(linked.MARGINS, "measured"))
@pytest.mark.parametrize("adjacency", telling(["replace", "add_remove"], "add_remove"))
def test_linked_tables(adjacency, noise, margins, monkeypatch):
    params = linked.linked(noise=noise, adjacency=adjacency, sums=["x"], **linked.MARGINS[margins])
    found = prove_all(params, linked.TINY, linked.BASE, linked.EVERY[::5], monkeypatch)
    assert found == pytest.approx(1.5) or adjacency == "replace"


# The fit of levels takes longest.
@pytest.mark.parametrize("noise", telling(["laplace", "staircase", "box"], "box"))
@pytest.mark.parametrize("adjacency", telling(["replace", "add_remove"], "add_remove"))
def test_tables_by_levels(adjacency, noise, monkeypatch):
    params = by_levels.by_parity(noise=noise, adjacency=adjacency, sums=["x"], bounds=by_levels.BOUNDS)
    prove_all(params, by_levels.TINY, by_levels.BASE, by_levels.EVERY[::9], monkeypatch)


@pytest.mark.parametrize("margins", telling(MARGINS, "one measured"))
def test_exact_totals(margins, monkeypatch):
    params = sound(noise="laplace", epsilon="3/2", exact_total=True, sums=["x"], **MARGINS[margins])
    prove_all(params, TINY, BASE, EVERY[::5], monkeypatch)


@pytest.mark.parametrize("margins", telling(MARGINS, "one measured"))
def test_cells_that_cannot_have_records(margins, monkeypatch):
    params = sound(noise="laplace", epsilon="3/2", sums=["x"], **IMPOSSIBLE, **MARGINS[margins])
    prove_all(params, TINY, BASE, POSSIBLE[::4], monkeypatch)


def test_a_whole_file_without_dimensions(monkeypatch):
    params = sound(noise="auto", epsilon="3/2", adjacency="add_remove", dimensions=[], sums=["x", "z"])
    assert prove_all(params, TINY, BASE, EVERY[::3], monkeypatch) == float(Fraction(3, 2))
