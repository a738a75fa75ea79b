"""Chapter 4 of the thesis: Tables 4.1 to 4.4. Reproduction, no guarantee."""

from __future__ import annotations

from penstock.reproduction.beside_print import Row, by_line
from penstock.reproduction.computed import least_variances, least_widths, regions_of_box_noise, regions_of_laplace_noise
from penstock.reproduction.entry import Given, Printed, Table

__all__ = ["TABLES"]


def variances(printed: Printed, _: Given) -> list[Row]:
    """Return the rows of the thesis, Table 4.1."""
    lines = [line for line in printed["rows"] if line["printed"]]
    return by_line(printed, lines, "epsilon", least_variances([line["epsilon"] for line in lines]))


def widths(printed: Printed, _: Given) -> list[Row]:
    """Return the rows of the thesis, Table 4.2."""
    lines = printed["rows"]
    return by_line(printed, lines, "epsilon", least_widths([line["epsilon"] for line in lines], printed["level"]))


def laplace_regions(printed: Printed, _: Given) -> list[Row]:
    """Return the rows of the thesis, Table 4.3."""
    lines = printed["rows"]
    figures = regions_of_laplace_noise(printed["scale"], [line["level"] for line in lines])
    return by_line(printed, lines, "level", figures)


def box_regions(printed: Printed, _: Given) -> list[Row]:
    """Return the rows of the thesis, Table 4.4."""
    lines, half_widths = printed["rows"], printed["half_widths"]
    core_share = printed["core"][0] / half_widths[0]
    figures = regions_of_box_noise(half_widths, core_share, printed["epsilon"], [line["level"] for line in lines])
    return by_line(printed, lines, "level", figures)


_FILE = "tables_4_1_to_4_4"
TABLES = (
    Table(name="thesis-4.1", file=_FILE, key="table_4_1", rows=variances),
    Table(name="thesis-4.2", file=_FILE, key="table_4_2", rows=widths),
    Table(name="thesis-4.3", file=_FILE, key="table_4_3", rows=laplace_regions),
    Table(name="thesis-4.4", file=_FILE, key="table_4_4", rows=box_regions),
)
