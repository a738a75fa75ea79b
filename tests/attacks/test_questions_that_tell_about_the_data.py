"""Whether a question is answered, refused, charged or repeated tells nothing about the records.

The attack: ask so that only a certain record would be refused, cost something else, or change what is said. The twin is
a release, which refuses a value outside its domain, and for that is counted as a look.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.flows.spec import load_spec
from penstock.mechanisms.refusal import Refusal, ValueOutsideDomain
from penstock.records import open_records
from penstock.tasks.questions import identity
from tests.support.question_house import asked, rested, set_up
from tests.support.workplace import Workplace, make_private

# Text, and what it may cost; some cannot be asked.
QUESTIONS = (
    ("count where region is North", {"epsilon": "1/8"}),
    ("count where region is North", {"epsilon": "1/8"}),
    ("mean of income where age from 99 by region", {"epsilon": "1/8"}),
    ("median of income where region is West", {"epsilon": "1/8"}),
    ("maximum of age", {"epsilon": "1/8"}),
    ("sum of savings by education", {"within": "10000000"}),
    ("quantile 99/100 of income", {"epsilon": "1/8"}),
    ("count where region is Mars", {"epsilon": "1/8"}),
    ("count where age from 400", {"epsilon": "1/8"}),
    ("minimum of age", {"epsilon": "5"}),
    ("mean of age", {"scale": "1/1000"}),
)


def records(place: Workplace, change: str) -> pa.Table:
    table = pq.read_table(place.source)
    last = {name: table[name].to_pylist()[-1] for name in table.column_names}
    changed: dict[str, Any] = {
        "as it is": {},
        "outside": {"age": 5_000, "income": -1e9},
        "undeclared": {"region": "Mars", "education": "none"},
        "missing": {"age": None, "region": None, "income": None, "person_id": None},
        "infinite": {"income": float("inf"), "savings": float("nan")},
    }[change]
    return table.slice(0, len(table) - 1).to_pylist(), {**last, **changed}, table.schema


def told(data: Any) -> list[str]:
    found = []
    for text, wanted in QUESTIONS:
        try:
            answer = asked(data, text, **wanted)
        except Refusal as refusal:
            found.append(f"{refusal.code}: {refusal}")
        else:
            kinds = sorted({type(value).__name__ for value in answer.values.values()})
            facts = (answer.epsilon, answer.standard_error, answer.half_width, answer.expect, answer.repeated)
            found.append(f"answered {[*answer.values]} {kinds} {facts} {answer.left}")
    return found


def outcome(folder: Path, change: str, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], list[tuple[str, Any]]]:
    """What is told, and what goes on record, of data whose last record is so."""
    folder.mkdir()
    place = Workplace(folder)
    monkeypatch.setenv("PENSTOCK_HOME", str(place.home))
    monkeypatch.delenv("PENSTOCK_DB", raising=False)
    monkeypatch.setattr(identity, "_AT_REST", 10**6)
    rows, last, schema = records(place, change)
    pq.write_table(pa.Table.from_pylist([*rows, last], schema=schema), place.source)
    rested(place.source)
    found = told(set_up(place, limit=2, allowed="2"))
    secret = ("key", "answer", "source", "values", "formerly", "files", "subjects")  # keyed digests
    events = [
        (event.action.value, {name: value for name, value in event.facts.items() if name not in secret})
        for event in open_records().log.events()
        if event.action.value in ("ANSWERED", "ASKED_AGAIN", "QUESTION_REFUSED", "SITTING_OPENED")
    ]
    return found, events


@pytest.mark.parametrize("change", ["outside", "undeclared", "missing", "infinite"])
def test_everything_but_the_answers_is_the_same_for_any_record(
    change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, logged = outcome(tmp_path / "one", "as it is", monkeypatch)
    after, also = outcome(tmp_path / "other", change, monkeypatch)
    assert before == after
    assert logged == also
    assert {text.split()[0] for text in before} == {"answered", "query-refused:", "allowance-exceeded:"}


def test_the_twin_a_release_refuses_such_a_record(workplace: Workplace) -> None:
    from penstock.flows.release import release
    from tests.support.workplace import open_dp_account

    rows, last, schema = records(workplace, "outside")
    pq.write_table(pa.Table.from_pylist([*rows, last], schema=schema), workplace.source)
    make_private(workplace)
    open_dp_account(10)
    with pytest.raises(ValueOutsideDomain):
        release(load_spec(workplace.write_spec()))
