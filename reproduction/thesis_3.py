"""Chapter 3 of the thesis: who can be linked, and correlations after MDAV-ID, MDAV-SWAP and IR-SWAP. No guarantee.

Tables 3.6, 3.7      no chance: to the printed digits; Table 3.7 to within a stated distance besides
Tables 3.8, 3.9      one run of the source beside a hundred of ours
Tables 3.10, 3.11    a hundred runs beside a hundred; in Table 3.10, whose entries the source does not
                     name, to within a stated share besides
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.columns import Column
from penstock.mechanisms.randomness import Randomness, seeded
from penstock.reproduction.beside_print import (
    Row,
    beside,
    half_a_unit,
    near,
    of_runs,
    ours,
    printed_tables,
    statement,
)
from penstock.reproduction.computed import (
    chances_of_linking,
    chances_of_staying,
    chances_told_by_groups,
    correlations,
    exchanged_in_blocks,
    exchanged_in_sequence,
    exchanged_together,
    means_of_all,
    moments_of_changes,
    over_runs,
    shares_told,
)
from penstock.reproduction.entry import DataSet, Given, Printed, Table
from penstock.tasks.files.source import open_source, read_source

__all__ = ["CENSUS", "EIA", "TABLES"]

Values = NDArray[np.float64]

_RUNS = 100
# Above every value in either file; they are read and not protected.
_LARGEST = 10**9
_FILE, _EXAMPLES = "tables_3_6_to_3_11", "examples_of_chapter_3"
_EXCHANGES: Mapping[str, Callable[[Values, int, int, Randomness], Values]] = {
    "MDAV-SWAP": exchanged_in_sequence,
    "IR-SWAP": exchanged_in_blocks,
}


def examples(printed: Printed, _: Given) -> list[Row]:
    """Return the formulas of Examples 1 to 3, of permutations in groups, and of random groups."""
    densities = np.array([[Fraction(cell) for cell in row] for row in printed["densities"]], dtype=object)
    one, two = densities[:2, :1], densities[:2, :2]
    together, crossed = two[0, 0] * two[1, 1], two[0, 1] * two[1, 0]
    same_group = np.full((printed["group"], printed["group"]), Fraction(1), dtype=object)
    apart = np.kron(np.eye(2, dtype=int), same_group)
    drawn = printed["random_groups"]
    return [
        _exact("Example 1", one[0, 0] / (one[0, 0] + one[1, 0]), chances_of_linking(one)[0, 0]),
        _exact("Example 2", together / (together + crossed), chances_of_linking(two)[0, 0]),
        _exact("Example 3", _as_in_example_3(densities), chances_of_linking(densities)[0, 0]),
        _exact("permuted in groups of k, own group", Fraction(1, printed["group"]), chances_of_linking(apart)[0, 0]),
        _exact("permuted in groups of k, other group", Fraction(0), chances_of_linking(apart)[0, -1]),
        statement(
            "random groups, chance of the record in the own place",
            drawn["printed"],
            str(chances_of_staying(drawn["records"], drawn["k"])[0]),
            corrected=drawn["corrected"],
            note="a permutation inside any group leaves a record in its place with probability 1/k, not 1/|T|",
        ),
    ]


def informed_intruders(printed: Printed, _: Given) -> list[Row]:
    """Return Table 3.5, and how sure the groups of one attribute make the intruder of another."""
    names = [f"A{place}" for place in range(printed["confidential"] + 1)]
    example = printed["counter_example"]
    told = chances_told_by_groups(np.array(example["A1"]), np.array(example["A2"]), example["k"])
    known = {f"I{unknown[1:]}": ", ".join(n for n in names if n != unknown) + f" | {unknown}" for unknown in names[1:]}
    return [
        *(statement(intruder, text, known[intruder]) for intruder, text in printed["printed"].items()),
        statement(
            "I1, with groups on the unexchanged file, at most",
            example["printed"],
            str(max(told)),
            corrected=example["corrected"],
            note="the groups of A2 are those of A1, and what is released of A2 shows them",
        ),
    ]


def medical_file(printed: Printed, _: Given) -> list[Row]:
    """Return what a 3-anonymous file says of a person in a group that shares one value."""
    known = np.column_stack([printed["age"], printed["zip_code"]]).astype(np.float64)
    told = shares_told(known, np.array(printed["aids"]), printed["k"])
    found = [Fraction(1, printed["k"]), told[0]]
    return [
        statement(name, text, str(value)) for (name, text), value in zip(printed["printed"].items(), found, strict=True)
    ]


def correlations_of_census(printed: Printed, given: Given) -> list[Row]:
    """Return the rows of Table 3.6."""
    found = correlations(given.data, _first())
    return [
        beside(name, value, text, corrected=printed["corrected"].get(name))
        for (name, text), value in zip(_entries(printed), found.tolist(), strict=True)
    ]


def correlations_of_means(printed: Printed, given: Given) -> list[Row]:
    """Return the rows of Table 3.7."""
    found = correlations(means_of_all(given.data, printed["k"]), _first())
    return [
        _within(beside(name, value, text), value, printed["within"], f"to within {printed['within']}")
        for (name, text), value in zip(_entries(printed), found.tolist(), strict=True)
    ]


def correlations_in_sequence(printed: Printed, given: Given) -> list[Row]:
    """Return the rows of Table 3.8; ours: the records that one known value finds where whole tuples move."""
    first, names = _first(), printed_tables(_FILE)["census"]
    moved = exchanged_together(given.data, first, printed["k"], seeded(8))
    key = names.index(printed["known"])
    found = sum(bool((moved[moved[:, key] == record[key], first:] == record[first:]).all()) for record in given.data)
    whole = ours(f"records found by {printed['known']} where whole tuples move", found, printed["found"])
    return [*_single_runs(printed, given, exchanged_in_sequence), whole]


def correlations_in_blocks(printed: Printed, given: Given) -> list[Row]:
    """Return the rows of Table 3.9."""
    return _single_runs(printed, given, exchanged_in_blocks)


def changes_in_census(printed: Printed, given: Given) -> list[Row]:
    """Return the rows of Table 3.10."""
    return _changes(printed, given, _first())


def changes_in_eia(printed: Printed, given: Given) -> list[Row]:
    """Return the rows of Table 3.11."""
    return _changes(printed, given, 0)


def _changes(printed: Printed, given: Given, first: int) -> list[Row]:
    """Return mean and standard deviation of the changes, for every k and method."""
    before, lines, share = correlations(given.data, first), printed["rows"], printed["within"]
    rows = []
    for place, line in enumerate(lines):
        k, columns = line["k"], line["printed"]
        means = moments_of_changes(before, correlations(means_of_all(given.data, k), first))
        for name, value, text in zip(_moments(k, "MDAV-ID", printed), means.tolist(), columns["MDAV-ID"], strict=True):
            rows.append(_within_share(beside(name, value, text), value, share))
        for method, exchange in _EXCHANGES.items():
            after = over_runs(exchange, given.data, first, k, _RUNS, seeded(k))
            moments = moments_of_changes(before, after).T
            for name, runs, text in zip(_moments(k, method, printed), moments, columns[method], strict=True):
                row = of_runs(name, runs, text, source_runs=printed["runs"])
                rows.append(_within_share(row, float(runs.mean()), share))
        given.progress((place + 1) / len(lines))
    return rows


def _single_runs(printed: Printed, given: Given, exchange: Callable[..., Values]) -> list[Row]:
    """Return a row for each printed correlation of one run, beside as many of ours."""
    runs = over_runs(exchange, given.data, _first(), printed["k"], _RUNS, seeded(printed["k"]))
    rows = []
    for (name, text), values in zip(_entries(printed), runs.T, strict=True):
        if name in printed["corrected"]:
            rows.append(_corrected(of_runs(name, values, printed["corrected"][name], source_runs=1), text))
            continue
        row = of_runs(name, np.full(2, values[0]) if np.ptp(values) == 0 else values, text, source_runs=1)
        because = printed["cannot_be"].get(name)
        if because is not None and row.verdict == "differs":
            row = replace(row, verdict="not reproducible", note=f"not reproducible because {because}")
        rows.append(row)
    return rows


def _corrected(row: Row, printed: str) -> Row:
    """Return the row of a misprint, judged by what it must read."""
    held: Any = "corrected" if row.holds else "differs"
    note = f"must read {row.printed}, {row.note}"
    return replace(row, printed=printed, corrected=row.printed, verdict=held, note=note)


def _within_share(row: Row, value: float, share: float) -> Row:
    text = row.printed or ""
    return _within(row, value, share * abs(float(text)), f"to within {share:.0%}") if share else row


def _within(row: Row, value: float, reach: float, note: str) -> Row:
    """Return a row that is neither the same nor within chance as close, if it is within a reach and half a unit."""
    text = row.printed or ""
    if row.verdict != "differs":
        return row
    is_close = abs(value - float(text)) <= reach + half_a_unit(text)
    return near(row.name, value, text, is_close, note)


def _exact(name: str, formula: Any, found: Any) -> Row:
    return statement(name, str(formula), str(found), note="the printed formula on densities of ours")


def _as_in_example_3(densities: NDArray[np.object_]) -> Any:
    """Return the quotient of Example 3 for three released records, written out as it is printed."""
    people = range(len(densities))
    ways = [(i, j, k) for i in people for j in people for k in people if len({i, j, k}) == 3]
    weights = {way: densities[way[0], 0] * densities[way[1], 1] * densities[way[2], 2] for way in ways}
    return sum(weight for way, weight in weights.items() if way[0] == 0) / sum(weights.values())


def _first() -> int:
    """Return the place of the first confidential attribute of the Census file."""
    first: int = printed_tables(_FILE)["quasi_identifiers"]
    return first


def _entries(printed: Printed) -> Iterator[tuple[str, str]]:
    """Yield name and print of every entry, row by row; a row ends with the last column."""
    columns = printed["columns"]
    for row, texts in printed["printed"].items():
        for column, text in zip(columns[-len(texts) :], texts, strict=True):
            yield f"{row} with {column}", text


def _moments(k: int, method: str, printed: Printed) -> Sequence[str]:
    return [f"k {k}, {method}, {moment}" for moment in printed["order"]]


def _read(path: Path, file: str) -> Values:
    """Read all numerical attributes of a file, one in each column."""
    declared = {
        name: Column(role="quasi_identifier", type="continuous", domain=(-_LARGEST, _LARGEST))
        for name in printed_tables(_FILE)[file]
    }
    columns = read_source(open_source(str(path), declared), declared)
    return np.column_stack([columns[name] for name in declared])


CENSUS = DataSet(("census_casc.parquet",), lambda folder: _read(folder / "census_casc.parquet", "census"))
EIA = DataSet(("eia.parquet",), lambda folder: _read(folder / "eia.parquet", "eia"))
_CHANCE = "to the printed digits or within chance"
TABLES = (
    Table(name="thesis-3.1", file=_EXAMPLES, key="medical", rows=medical_file),
    Table(name="thesis-3.2", file=_EXAMPLES, key="examples", rows=examples),
    Table(name="thesis-3.5", file=_EXAMPLES, key="intruders", rows=informed_intruders),
    Table(name="thesis-3.6", file=_FILE, key="table_3_6", rows=correlations_of_census, needs=CENSUS),
    Table(
        name="thesis-3.7",
        file=_FILE,
        key="table_3_7",
        rows=correlations_of_means,
        needs=CENSUS,
        criterion="to the printed digits or to within 0.012",
    ),
    *(
        Table(
            name=f"thesis-3.{number}",
            file=_FILE,
            key=f"table_3_{number}",
            rows=rows,
            needs=needs,
            runs=_RUNS,
            criterion=text,
        )
        for number, rows, needs, text in (
            (8, correlations_in_sequence, CENSUS, _CHANCE),
            (9, correlations_in_blocks, CENSUS, _CHANCE),
            (10, changes_in_census, CENSUS, f"{_CHANCE}, or to within 15 %"),
            (11, changes_in_eia, EIA, _CHANCE),
        )
    ),
)
