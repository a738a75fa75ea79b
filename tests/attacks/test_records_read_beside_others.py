"""What one record counts for, and whether a question ends at all, does not depend on the records beside it.

The attack: one record without a value made whole numbers of all records floats. 1,000 records of the largest number
were then clamped to the lowest bound, so that a sum moved a thousand times as far as its noise covers; large numbers
fell on the other side of a condition; and narrow unsigned numbers ended in a traceback, unless one was missing. What is
compared here is exact: it is what the noise must cover.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from penstock.flows.answer import Wish, settled
from penstock.flows.query_text import parse_query
from penstock.flows.spec.data_description import DataDescription, load_description
from penstock.mechanisms.questions import Exact, Method
from penstock.mechanisms.questions._additive import moved_by_one_change, totals
from penstock.mechanisms.refusal import Refusal
from penstock.records import Home
from penstock.tasks.questions import asking, reading
from penstock.tasks.questions.identity import identify
from tests.attacks.measured_command import measured
from tests.support.question_house import asked, rested, set_up
from tests.support.workplace import Workplace, make_units

MOST, LARGE, RECORDS = 2**63 - 1, 2**60 + 1, 1000
NUMBER = {"role": "confidential", "outside": "clamp"}
HUNDRED = {**NUMBER, "type": "integer", "domain": [0, 100]}
FAR = {**NUMBER, "type": "continuous", "domain": [0, 18 * 10**18], "missing": "category"}


@pytest.fixture(autouse=True)
def _no_warning() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


def described(place: Workplace, column: dict[str, Any], values: pa.Array) -> DataDescription:
    """A source of one column, of which questions may be asked."""
    pq.write_table(pa.table({"v": values}), place.source)
    set_up(place, limit=50, allowed="50")
    file = place.folder / "data.yaml"
    raw = yaml.safe_load(file.read_text(encoding="utf-8"))
    raw["source"]["columns"] = {"v": column}
    file.write_text(yaml.safe_dump(raw, sort_keys=False), encoding="utf-8")
    return load_description(file)


def exact_of(place: Workplace, data: DataDescription, text: str, values: pa.Array) -> tuple[Any, Exact]:
    """The exact aggregates of a question over these records, as an answer would be drawn from them."""
    pq.write_table(pa.table({"v": values}), place.source)
    rested(place.source)
    home = Home.open()
    question = settled(data, Wish(query=parse_query(text), epsilon=Fraction(1)), home)
    identity = identify(home, data.source.path, data.columns, unit=data.whose)
    return question.method, asking.evaluate_question(question, identity)


@pytest.mark.parametrize(
    ("kind", "value", "column", "text"),
    [
        ("int64", MOST, HUNDRED, "sum of v"),
        ("int64", MOST, {**HUNDRED, "missing": "category"}, "sum of v"),
        ("int64", LARGE, FAR, f"count where v from {LARGE}"),
        ("uint64", 2**64 - 1, FAR, "sum of v"),
        ("uint64", 2**64 - 1, FAR, "count where v from 12000000000000000000"),
        ("uint8", 30, {**HUNDRED, "missing": "category"}, "sum of v"),
        ("uint16", 30, {**HUNDRED, "missing": "category"}, "count where v below 40"),
        ("uint32", 30, {**HUNDRED, "missing": "category"}, "sum of v where v from 10"),
    ],
)
def test_one_record_moves_an_answer_no_further_than_its_noise_covers(
    kind: str, value: int, column: dict[str, Any], text: str, workplace: Workplace
) -> None:
    def values(last: int | None) -> pa.Array:
        return pa.array([value] * RECORDS + [last], pa.type_for_alias(kind))

    data = described(workplace, column, values(5))
    found = [exact_of(workplace, data, text, values(last)) for last in (5, None)]
    method = found[0][0]
    one, other = (totals(method.asked, exact).tolist() for _, exact in found)
    assert one != [0]
    assert sum(abs(a - b) for a, b in zip(one, other, strict=True)) <= moved_by_one_change(method.asked)


@pytest.mark.parametrize("kind", ["uint8", "uint16", "uint32", "uint64"])
@pytest.mark.parametrize("last", [5, None])
def test_unsigned_numbers_are_answered(kind: str, last: int | None, workplace: Workplace) -> None:
    values = pa.array([30] * 100 + [last], pa.type_for_alias(kind))
    data = described(workplace, {**HUNDRED, "missing": "category"}, values)
    for text in ("mean of v", "count where v below 40", "median of v"):
        asked(data, text, epsilon="1")


@pytest.mark.parametrize("at", ["evaluate", "drawn"])
@pytest.mark.parametrize("error", [OverflowError("4711"), ValueError("4711 of Anna"), MemoryError(), KeyError("Anna")])
def test_whatever_fails_is_one_failure_that_says_nothing_of_it(
    error: Exception, at: str, workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise error

    data = set_up(workplace)
    with monkeypatch.context() as patch:
        patch.setattr(*((reading, "_folded") if at == "evaluate" else (Method, "drawn")), fail)
        with pytest.raises(Refusal) as refused:
            asked(data, "count where region is North", epsilon="1/4")
    assert (refused.value.code, refused.value.kind) == ("question-failed", "failure")
    assert str(refused.value) == (
        "query refused: must be evaluated to its end, which failed. Have the data owner look for the cause. "
        "Nothing was spent."
    )
    assert (refused.value.__cause__, refused.value.__context__) == (None, None)
    assert asked(data, "count where region is North", epsilon="1/4").left == 2 - Fraction(1, 4)


# Written out, the names of the units are 3 GB; in the file each stands once.
LONG, ROWS, UNITS = 100_000, 30_000, 30
ENOUGH = 1 << 20  # KiB


@pytest.mark.parametrize("text", ["count where region is North", "value of income for someone"])
def test_names_of_units_are_not_written_out(text: str, workplace: Workplace) -> None:
    make_units(workplace, 2)
    survey = workplace.write_survey(ROWS)
    places = pa.array(np.arange(ROWS, dtype=np.int32) * UNITS // ROWS)
    names = pa.DictionaryArray.from_arrays(places, pa.array([f"{place:0{LONG}d}" for place in range(UNITS)]))
    column = survey.column_names.index("person_id")
    pq.write_table(survey.set_column(column, "person_id", names), workplace.source)
    assert workplace.source.stat().st_size < 8 << 20
    adjacency = "presence" if text.startswith("value") else "add_remove"
    set_up(workplace, unit="individual", adjacency=adjacency, rows_per_unit=1)
    ended = measured("ask", workplace.folder / "data.yaml", "--query", text, "--epsilon", "1")
    assert ended.code == 0, ended.printed
    assert ended.memory < ENOUGH
