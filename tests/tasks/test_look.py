"""When a run looks: before anything that the data answer is told, and only if they answered."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow.parquet as pq
import pytest

from penstock.mechanisms.refusal import ColumnMissing, Refusal, TooFewRecords, ValueMissing, ValueOutsideDomain
from penstock.records import Action, open_records
from penstock.records.ledger.looks import ALLOWED, LooksExhausted, look
from penstock.tasks.files.source_files import SourceUnreadable
from penstock.tasks.parts.working_copy import SourceTooLarge
from tests.support.private_release import begun
from tests.support.workplace import Workplace, make_table


@pytest.fixture
def exact(workplace: Workplace) -> Workplace:
    make_table(workplace, model="k_anon", epsilon=None, adjacency=None, k=2)
    workplace.raw["budget"] = {"dataset": "survey"}
    return workplace


def ingest(workplace: Workplace) -> None:
    with begun(workplace, account=False) as line:
        line.ingest()


def looked() -> int:
    return sum(event.action is Action.LOOKED for event in open_records().log.events())


def let_others_look(times: int) -> None:
    for number in range(times):
        how: dict[str, Any] = {"actor": "a", "now": datetime.now(UTC)}
        look(open_records().log, dataset="survey", source="another file", run=f"other-{number}", **how)


def outside(workplace: Workplace) -> None:
    workplace.raw["source"]["columns"]["income"] |= {"domain": [0, 10], "outside": "refuse"}


def missing(workplace: Workplace) -> None:
    workplace.raw["protect"][0]["sums"] = ["savings"]
    workplace.raw["source"]["columns"]["savings"] = {
        "role": "confidential",
        "type": "continuous",
        "domain": [0, 1000000],
    }


def too_few(workplace: Workplace) -> None:
    workplace.raw["validate"] = {"min_rows": 10**6}


ANSWERS = [(outside, ValueOutsideDomain), (missing, ValueMissing), (too_few, TooFewRecords)]


@pytest.mark.parametrize("run", [{}, {"memory": "200 MB"}], ids=["at once", "in parts"])
@pytest.mark.parametrize(("fault", "refusal"), ANSWERS)
def test_what_the_data_answer_is_told_while_looks_are_left_and_not_after(
    exact: Workplace, fault: Any, refusal: type[Refusal], run: dict[str, str]
) -> None:
    exact.raw |= {"run": run} if run else {}
    fault(exact)
    with pytest.raises(refusal):
        ingest(exact)
    assert looked() == 1
    let_others_look(ALLOWED - 1)
    with pytest.raises(LooksExhausted) as ended:
        ingest(exact)
    assert ended.value.__context__ is None, "the answer does not stand behind the refusal either"
    assert looked() == ALLOWED


@pytest.mark.parametrize("way", ["saved again", "under a folder"])
def test_the_same_records_begin_no_new_count(exact: Workplace, way: str) -> None:
    """Without a name of the data set: the same values in another order, or the same file in a partition."""
    exact.raw["budget"] = {}
    outside(exact)
    for number in range(ALLOWED + 1):
        if way == "saved again":
            table = pq.read_table(exact.source)
            pq.write_table(table.take(list(range(table.num_rows))[::-1]), exact.source, row_group_size=50 + number)
        else:
            folder = exact.folder / f"d{number}" / f"zz={number}"
            folder.mkdir(parents=True)
            (folder / "f.parquet").symlink_to(exact.source)
            exact.raw["source"]["path"] = f"d{number}"
            exact.raw["source"]["columns"]["zz"] = {
                "role": "quasi_identifier",
                "type": "nominal",
                "categories": [str(number), "q"],
            }
        exact.raw["name"] = f"attempt-{number}"
        with pytest.raises(LooksExhausted if number == ALLOWED else ValueOutsideDomain):
            ingest(exact)
    assert looked() == ALLOWED


def test_a_table_too_large_for_the_memory_limit_tells_how_many_records_there_are(
    exact: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact.raw["run"] = {"memory": "200 MB"}
    exact.raw["protect"] = [{"mechanism": "probabilistic_k_anonymity", "method": "ir_swap", "k": 20}]
    exact.raw["gates"] = [{"measure": "average_risk", "max": 1}]
    exact.raw["publish"]["formats"] = ["parquet"]
    exact.raw["source"]["columns"]["income"]["outside"] = "refuse"
    monkeypatch.setattr("penstock.tasks.parts.ingest.BYTES_A_RECORD", 10**9)
    with pytest.raises(SourceTooLarge):
        ingest(exact)
    assert looked() == 1
    let_others_look(ALLOWED - 1)
    with pytest.raises(LooksExhausted):
        ingest(exact)


def test_a_run_that_may_not_look_reads_nothing_into_its_folder(exact: Workplace) -> None:
    let_others_look(ALLOWED)
    with pytest.raises(LooksExhausted):
        ingest(exact)
    assert exact.working_files() == []


@pytest.mark.parametrize("cut", [100, 5], ids=["data", "footer"])
def test_a_damaged_file_is_no_look(exact: Workplace, cut: int) -> None:
    content = bytearray(exact.source.read_bytes())
    if cut == 5:
        del content[-cut:]
    else:
        content[4 : len(content) // 2] = bytes(len(content) // 2 - 4)
    exact.source.write_bytes(bytes(content))
    with pytest.raises(SourceUnreadable):
        ingest(exact)
    assert looked() == 0


def test_a_file_that_is_not_there_or_lacks_a_column_is_no_look(exact: Workplace) -> None:
    exact.raw["source"]["columns"]["height"] = {"role": "confidential", "type": "continuous", "domain": [0, 3]}
    with pytest.raises(ColumnMissing):
        ingest(exact)
    exact.source.unlink()
    with pytest.raises(SourceUnreadable):
        ingest(exact)
    assert looked() == 0
