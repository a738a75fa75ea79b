"""The fold of a file is that of its records one by one: what one record counts for depends on no other.

Whatever the batches, the groups of rows, the values that are missing elsewhere, and the loops; for the numbers at the
ends of every type that is read. Warnings are errors here.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import reduce
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.mechanisms.columns import Column
from penstock.mechanisms.questions import Exact, Method, Query, Terms, _fold, methods
from penstock.mechanisms.randomness import seeded
from penstock.tasks.files.source import open_source
from penstock.tasks.questions import _batches, reading
from tests.support.order import examples

pytestmark = pytest.mark.filterwarnings("error")

FAR = (0, 3, -7, 50, 2**53, 2**53 + 1, 2**60 + 1, 2**63 - 513, 2**63 - 1, 2**63, 12 * 10**18, 2**64 - 1)
WHOLE = tuple(sorted({*FAR, *(-number for number in FAR), -(2**63)}))
FLOATS = (
    float("nan"),
    float("inf"),
    -float("inf"),
    0.0,
    -0.0,
    2.5,
    3.4999999,
    60.0,
    2.0**53,
    -(2.0**63),
    2.0**64,
    1e300,
)
DECIMALS = tuple(map(Decimal, ("0.5", "2.5", "3", "-99999999999999999999999.5", "99999999999999999999999", "1.00001")))
SIGNED = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
UNSIGNED = (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
STORED: dict[pa.DataType, tuple[Any, ...]] = {
    **{
        kind: tuple(n for n in WHOLE if -(2 ** (kind.bit_width - 1)) <= n < 2 ** (kind.bit_width - 1))
        for kind in SIGNED
    },
    **{kind: tuple(n for n in WHOLE if 0 <= n < 2**kind.bit_width) for kind in UNSIGNED},
    pa.float16(): tuple(np.float16(n) for n in FLOATS[:8]),
    pa.float32(): tuple(float(np.float32(n)) for n in FLOATS[:11]),
    pa.float64(): FLOATS,
    pa.decimal128(38, 5): DECIMALS,
    pa.decimal256(70, 3): DECIMALS[:-1],
}
SMALL_DOMAIN, ODD, WIDE, FARTHEST = (0, 10), (-2.5, 4), (-(2**52), 2**52), (-(10**19), 18 * 10**18)
ENDS = {
    SMALL_DOMAIN: (3, Fraction(7, 2), 10),
    ODD: (-1, Fraction(5, 2)),
    WIDE: (2**51 + 1, -5),
    FARTHEST: (2**53 + 1, 2**60 + 1, 2**63 - 1, 2**63, 12 * 10**18, -(2**63)),
}
SIDES = ("a", "b", "other", None)


@st.composite
def cases(draw: Any) -> dict[str, Any]:
    kind = draw(st.sampled_from(list(STORED)))
    domain = draw(st.sampled_from([*ENDS]))
    whole = domain in (SMALL_DOMAIN, WIDE) and draw(st.booleans())
    records = st.tuples(st.sampled_from([None, *STORED[kind]]), st.sampled_from(SIDES))
    rows = [(*record, f"p{place}") for place, record in enumerate(draw(st.lists(records, max_size=6)))]
    ends = st.none() | st.sampled_from(ENDS[domain])
    return {
        "kind": kind,
        "column": Column(
            role="confidential",
            type="integer" if whole else "continuous",
            domain=domain,
            outside="clamp",
            missing=draw(st.sampled_from(["refuse", "category"])),
        ),
        "rows": rows,
        "statistic": draw(st.sampled_from(["count", "sum", "mean", "median", "minimum", "maximum", "value"])),
        "band": (draw(ends), draw(ends)),
        "by": draw(st.booleans()),
        "adjacency": draw(st.sampled_from(["replace", "add_remove"])),
        "group": draw(st.sampled_from([1, 2, 100])),
        "batch": draw(st.sampled_from([1, 3, 1 << 17])),
        "small": draw(st.sampled_from([0, 2, 200_000])),
        "at_once": draw(st.sampled_from([0, 1, 1 << 21])),
    }


def declared(case: dict[str, Any]) -> dict[str, Column]:
    side = Column(role="quasi_identifier", type="nominal", categories=("a", "b"), missing="category")
    return {"v": case["column"], "side": side, "who": Column(role="identifier")}


def method_of(case: dict[str, Any]) -> Method:
    statistic, (low, high) = case["statistic"], case["band"]
    if low is not None and high is not None and low >= high:
        low = None
    where = [] if low is None and high is None else [{"column": "v", "at_least": low, "below": high}]
    is_value = statistic == "value"
    query = Query.model_validate(
        {
            "statistic": statistic,
            "of": None if statistic == "count" else "v",
            "where": () if is_value else where,
            "by": "side" if case["by"] and not is_value else None,
            "individual": "p1" if is_value else None,
        }
    )
    of_all = statistic == "count" and not where and not case["by"]  # not asked where the number of records is public
    terms = Terms("presence", whose="who") if is_value else Terms("add_remove" if of_all else case["adjacency"])
    found = methods(query, declared(case), terms)
    return found.get("exponential") or found.get("laplace") or found["refinement"]


def evaluated(method: Method, case: dict[str, Any], rows: list[Any], folder: Path) -> Exact:
    table = pa.table(
        {
            "v": pa.array([value for value, _, _ in rows], case["kind"]),
            "side": pa.array([side for _, side, _ in rows], pa.string()),
            "who": pa.array([who for _, _, who in rows], pa.string()),
        }
    )
    pq.write_table(table, folder / "data.parquet", row_group_size=case["group"])
    source = open_source(str(folder / "data.parquet"), declared(case), unit="who")
    return reading.evaluate(source, method, declared(case), method.asked.terms, seeded(1))


def told(method: Method, exact: Exact) -> Any:
    """All that an answer can depend on."""
    steps = None
    if method._fold.what == "points":
        steps = [[each.at(rank) for rank in range(1, each.size + 1)] for each in method._fold.ordered(exact)]
    return exact.rows, exact.table.tolist(), steps, exact.value


def by_definition(method: Method, row: tuple[Any, str | None, str]) -> tuple[int, int] | None:
    """The group and the step of a record on the grid; None where it takes no part."""
    value, side, _ = row
    query = method.asked.query
    group = ("a", "b").index(side) if side in ("a", "b") else -1
    missing = value is None or not isfinite(value)
    number = Fraction(0) if missing else Fraction(float(value) if not isinstance(value, int) else value)
    for condition in query.where:
        if missing or (
            condition.at_least is not None and method.asked.declared["v"].domain[0] < condition.at_least > number
        ):
            return None
        if condition.below is not None and number >= condition.below:
            return None
    if query.by is not None and group < 0:
        return None
    place = group if query.by is not None else 0
    if query.of is None:
        return place, 0
    grid = method.asked.numbers
    if missing and not method.asked.everybody:
        return None
    is_exact = grid.whole and grid.exponent == 0
    number = Fraction(grid.low) if missing else number if is_exact else Fraction(float(number))
    clamped = min(max(number, Fraction(grid.low)), Fraction(grid.high))
    return place, (clamped / grid.eta + Fraction(1, 2)).__floor__() - grid.first


@pytest.mark.law
@settings(max_examples=examples(400))
@given(case=cases())
def test_a_file_counts_for_what_its_records_count_for_one_by_one(case, tmp_path_factory):
    folder = tmp_path_factory.mktemp("law")
    method = method_of(case)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_fold, "SMALL", case["small"])
        patch.setattr(reading, "_BATCH", case["batch"])
        patch.setattr(_batches, "_MOST_AT_ONCE", case["at_once"])
        together = told(method, evaluated(method, case, case["rows"], folder))
        patch.setattr(_fold, "SMALL", 10)
        alone = [evaluated(method, case, [row], folder) for row in case["rows"]]
    assert together == told(method, reduce(method.join, alone, method.begin()))
    if method._fold.what == "value":
        known = [value for value, _, who in case["rows"] if who == "p1" and value is not None and isfinite(value)]
        assert together[3] == (None if not known else known[0] if isinstance(known[0], int) else float(known[0]))
        return
    places = [place for row in case["rows"] if (place := by_definition(method, row)) is not None]
    groups = [[step for group, step in places if group == number] for number in range(len(method.groups))]
    if method._fold.what == "points":
        assert together[2] == [sorted(steps) for steps in groups]
        return
    assert [row[0] for row in together[1]] == [len(steps) for steps in groups]
    if method._fold.what == "totals":
        assert [row[1] for row in together[1]] == [sum(steps) for steps in groups]


@pytest.mark.parametrize("beside", [5, None], ids=["whole", "with a missing one"])
@pytest.mark.parametrize("small", [0, 200_000], ids=["compiled", "plain"])
@pytest.mark.parametrize(
    ("kind", "value", "domain", "step"),
    [
        (pa.int64(), 2**63 - 1, (0, 100), 100),
        (pa.int64(), -(2**63), (0, 100), 0),
        (pa.uint64(), 2**64 - 1, (0, 100), 100),
        (pa.uint8(), 30, (0, 100), 30),
        (pa.uint16(), 30, (0, 100), 30),
        (pa.uint32(), 2**32 - 1, (0, 100), 100),
    ],
)
def test_what_a_record_counts_for_does_not_depend_on_the_one_beside_it(
    kind: pa.DataType,
    value: int,
    domain: Any,
    step: int,
    small: int,
    beside: int | None,
    tmp_path: Path,
    monkeypatch: Any,
) -> None:
    monkeypatch.setattr(_fold, "SMALL", small)
    column = Column(role="confidential", type="integer", domain=domain, outside="clamp")
    case = {"kind": kind, "column": column, "group": 100}
    method = methods(Query(statistic="median", of="v"), declared(case), Terms("replace"))["exponential"]
    exact = evaluated(method, case, [(value, None, "p"), (beside, None, "q")], tmp_path)
    assert told(method, exact)[2] == [sorted([step, beside or 0])]


@pytest.mark.parametrize("beside", [5, None])
def test_whole_numbers_are_compared_as_whole_numbers(beside: int | None, tmp_path: Path) -> None:
    column = Column(role="quasi_identifier", type="continuous", domain=FARTHEST, outside="clamp", missing="category")
    for kind, value, end, expected in (
        (pa.int64(), 2**60 + 1, 2**60 + 2, 0),
        (pa.int64(), 2**60 + 1, 2**60 + 1, 1),
        (pa.int64(), 2**63 - 1, 2**63, 0),
        (pa.uint64(), 2**64 - 1, 12 * 10**18, 1),
        (pa.uint64(), 2**63 + 1, 12 * 10**18, 0),
    ):
        case = {"kind": kind, "column": column, "group": 100}
        reached = Query.model_validate({"statistic": "count", "where": [{"column": "v", "at_least": end}]})
        method = methods(reached, declared(case), Terms("replace"))["laplace"]
        exact = evaluated(method, case, [(value, None, "p"), (beside, None, "q")], tmp_path)
        assert exact.counts.tolist() == [expected]
