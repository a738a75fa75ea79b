"""Individual differential privacy: Tables 1 and 2. Reproduction, no guarantee."""

from __future__ import annotations

from penstock.reproduction.beside_print import Row, beside, by_line, number, ours
from penstock.reproduction.computed import errors_of_counts, intervals_of_medians
from penstock.reproduction.entry import Given, Printed, Table

__all__ = ["TABLES"]


def median_intervals(printed: Printed, _: Given) -> list[Row]:
    """Return the rows of individual differential privacy, Table 1."""
    lines = printed["rows"]
    figures = intervals_of_medians(printed["epsilon"], printed["level"], [line["gamma"] for line in lines])
    rows = [beside("individual", float(figures[0, 0]), printed["individual"]["printed"])]
    for line, (_, as_in_print, tight) in zip(lines, figures.tolist(), strict=True):
        rows.append(beside(f"gamma {line['gamma']}", as_in_print, line["printed"], corrected=line.get("corrected")))
        rows.append(ours(f"gamma {line['gamma']} tight", tight, str(line["tight"])))
    return rows


def count_errors(printed: Printed, _: Given) -> list[Row]:
    """Return the rows of individual differential privacy, Table 2."""
    lines = printed["rows"]
    return by_line(printed, lines, "epsilon", errors_of_counts([number(line["epsilon"]) for line in lines]))


_FILE = "individual_tables"
TABLES = (
    Table(name="individual-1", file=_FILE, key="table_1", rows=median_intervals),
    Table(name="individual-2", file=_FILE, key="table_2", rows=count_errors),
)
