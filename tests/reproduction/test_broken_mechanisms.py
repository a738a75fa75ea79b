"""A mechanism with a wrong constant makes `penstock reproduce` end with 1, and the number says that it differs."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.mechanisms.noise import accuracy
from penstock.mechanisms.refinement import axes
from penstock.mechanisms.refinement.refine import Factors
from penstock.mechanisms.statistics import smooth
from penstock.mechanisms.table import sensitivity
from penstock.reproduction import bootstrap, individual, thesis_7
from penstock.reproduction.computed import individual_tables, medians, swap_tables
from tests.support.ended_command import Ended, Typed

Patch = pytest.MonkeyPatch


@pytest.fixture
def ends_with_1(typed: Typed, monkeypatch: Patch) -> Callable[..., Ended]:
    """A table that ends with 0 does so with 1 after something was broken, and names a number that differs."""

    def checked(name: str, breaks: Callable[[], None], *options: object) -> Ended:
        assert typed("reproduce", name, *options).code == 0
        breaks()
        ended = typed("reproduce", name, *options, "--json")
        assert (ended.code, ended.document()["holds"]) == (1, False)
        assert any(row["verdict"] == "differs" for row in ended.document()["table"]["rows"])
        return ended

    monkeypatch.delenv("PENSTOCK_DATA", raising=False)
    return checked


@pytest.mark.parametrize("table", ["thesis-4.1", "thesis-4.minima"])
def test_a_staircase_whose_steps_are_too_high(
    ends_with_1: Callable[..., Ended], monkeypatch: Patch, table: str
) -> None:
    right = accuracy._peak
    ends_with_1(table, lambda: monkeypatch.setattr(accuracy, "_peak", lambda *given: 1.01 * right(*given)))


@pytest.mark.parametrize("table", ["thesis-4.example-5", "thesis-4.4"])
def test_boxes_that_grow_too_fast(ends_with_1: Callable[..., Ended], monkeypatch: Patch, table: str) -> None:
    right = accuracy._volume

    def larger(sides: Any, i: int | Fraction) -> Fraction:
        return right(sides, i) * (1 + Fraction(i) / 50)

    ends_with_1(table, lambda: monkeypatch.setattr(accuracy, "_volume", larger))


def test_refinement_with_the_masses_as_printed(ends_with_1: Callable[..., Ended], monkeypatch: Patch) -> None:
    """p_u and p_d are exchanged in print."""
    right = Factors.share_inside.fget
    assert right is not None
    exchanged = property(lambda self: 1 - right(self))
    ends_with_1("thesis-5.3", lambda: monkeypatch.setattr(Factors, "share_inside", exchanged))


def test_ordinal_answers_at_equal_distances(ends_with_1: Callable[..., Ended], monkeypatch: Patch) -> None:
    right = axes._OnLine.steps_beyond

    def equal(self: Any, which: int) -> Any:
        apart, beyond = right(self, which)
        return np.minimum(apart, 1), beyond

    ends_with_1("thesis-5.1", lambda: monkeypatch.setattr(axes._OnLine, "steps_beyond", equal))


@pytest.mark.slow
def test_smooth_sensitivity_that_falls_too_fast(ends_with_1: Callable[..., Ended], monkeypatch: Patch) -> None:
    """As in print: by e^-epsilon, three times the beta of the noise."""
    right = smooth.smooth_sensitivity_of_median

    def printed(values: Any, low: int, high: int, beta: float) -> float:
        return right(values, low, high, 3 * beta)

    def breaks() -> None:
        individual._errors.cache_clear()
        monkeypatch.setattr(medians, "smooth_sensitivity_of_median", printed)

    ends_with_1("individual-medians", breaks)
    individual._errors.cache_clear()


def test_laplace_noise_of_half_the_scale(ends_with_1: Callable[..., Ended], monkeypatch: Patch) -> None:
    right = individual_tables.laplace_width
    ends_with_1(
        "individual-1",
        lambda: monkeypatch.setattr(individual_tables, "laplace_width", lambda *given: right(*given) / 2),
    )


def test_counts_for_closeness_that_are_cut_elsewhere(ends_with_1: Callable[..., Ended], monkeypatch: Patch) -> None:
    """The larger block stands at the top of the column."""

    def at_the_top(records: int, k: int) -> Any:
        return np.append(np.arange(0, records - k, k)[: records // k], records)

    ends_with_1("thesis-7.4", lambda: monkeypatch.setattr(thesis_7, "from_both_ends", at_the_top))


def test_a_table_of_magnitudes_with_the_sensitivity_in_print(
    ends_with_1: Callable[..., Ended], monkeypatch: Patch, data_folder: Path
) -> None:
    """The largest range of a cell, whatever may happen to a record."""

    def in_print(cells: Any, measure: str, adjacency: str) -> int:
        return int(sensitivity.ranges(cells, measure).max())

    ends_with_1(
        "bootstrap-scales",
        lambda: monkeypatch.setattr(bootstrap, "magnitude_table_sensitivity", in_print),
        "--data",
        data_folder,
    )


def test_mdav_with_groups_of_one_more(ends_with_1: Callable[..., Ended], monkeypatch: Patch, data_folder: Path) -> None:
    right = swap_tables.mdav
    ends_with_1(
        "thesis-3.7",
        lambda: monkeypatch.setattr(swap_tables, "mdav", lambda points, k: right(points, k + 1)),
        "--data",
        data_folder,
    )


@pytest.mark.slow
def test_blocks_of_a_sorted_column_that_are_twice_as_large(
    ends_with_1: Callable[..., Ended], monkeypatch: Patch, data_folder: Path
) -> None:
    right = swap_tables.from_both_ends
    ends_with_1(
        "thesis-3.11",
        lambda: monkeypatch.setattr(swap_tables, "from_both_ends", lambda records, k: right(records, 2 * k)),
        "--data",
        data_folder,
    )
