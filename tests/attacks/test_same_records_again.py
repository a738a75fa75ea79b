"""The same people under a second name: a copy that was renamed or saved again must not get a second budget.

And the other way round: a folder whose partitions were renamed holds other records, and must not get the old answer.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from penstock.flows.spec import load_spec
from penstock.records import open_records
from penstock.records.ledger.accounts import Account
from penstock.records.ledger.ledger import SecondRelease, SourceElsewhere
from penstock.records.ledger.limits import Officer, open_account
from penstock.tasks.publish import Receipt
from tests.support.workplace import OFFICER, Workplace, budget_of, make_table, open_dp_account


def release(workplace: Workplace) -> Receipt:
    from penstock.flows.release import release as flow

    return flow(load_spec(workplace.write_spec()))


def renamed(source: Path) -> str:
    return str(shutil.copy(source, source.with_name("other.parquet")))


def put_into_a_folder(source: Path) -> str:
    folder = source.with_name("folder")
    folder.mkdir()
    shutil.copy(source, folder / "part-0.parquet")
    return str(folder)


def saved_again(source: Path) -> str:
    """Other compression, encoding, row groups, order of rows and columns, types and metadata; the same values."""
    survey = pq.read_table(source)
    survey = survey.take(np.random.default_rng(5).permutation(survey.num_rows))
    survey = survey.select(sorted(survey.column_names, reverse=True)).replace_schema_metadata({"saved": "again"})
    place = survey.column_names.index("age")
    survey = survey.set_column(place, "age", survey["age"].cast(pa.float64()))
    path = source.with_name("again.parquet")
    pq.write_table(survey, path, compression="zstd", use_dictionary=False, row_group_size=70)
    return str(path)


def cut_into_files(source: Path) -> str:
    survey, folder = pq.read_table(source), source.with_name("cut")
    folder.mkdir()
    for start in range(0, survey.num_rows, 130):
        pq.write_table(survey.slice(start, 130), folder / f"{start}.parquet")
    return str(folder)


def cut_by_region(source: Path) -> str:
    folder = source.with_name("by-region")
    pq.write_to_dataset(pq.read_table(source), folder, partition_cols=["region"])
    return str(folder)


copies = pytest.mark.parametrize("copy", [renamed, put_into_a_folder, saved_again, cut_into_files, cut_by_region])


@copies
def test_a_copy_under_a_second_name_gets_no_second_budget(workplace: Workplace, copy: Callable[[Path], str]) -> None:
    make_table(workplace)
    open_dp_account(1)
    release(workplace)
    open_account_of("copy")
    workplace.raw["source"]["path"] = copy(workplace.source)
    workplace.raw["budget"]["dataset"] = "copy"
    workplace.raw["protect"][0]["means"] = []  # another question: the same one would only get the same answer
    with pytest.raises(SourceElsewhere, match="under which these records are counted: survey"):
        release(workplace)
    assert budget_of("copy") == ("0", "1", [])


def open_account_of(dataset: str) -> None:
    """A second account; its officer is known already."""
    account = Account(dataset=dataset, model="dp", limit=Fraction(1), adjacency="replace", unit="row", partition=None)
    officer = Officer("olga", OFFICER, "agreed in the board")
    open_account(open_records().log, account, officer, actor="olga", now=datetime.now(UTC))


@copies
def test_a_copy_without_a_name_is_a_second_release(workplace: Workplace, copy: Callable[[Path], str]) -> None:
    release(workplace)
    workplace.raw["source"]["path"] = copy(workplace.source)
    with pytest.raises(
        SecondRelease, match="must list the earlier releases of the same records, because no theorem covers both"
    ):
        release(workplace)


@pytest.mark.parametrize("copy", [saved_again, cut_by_region])
def test_a_copy_is_recognised_where_the_records_are_never_held_together(
    workplace: Workplace, copy: Callable[[Path], str]
) -> None:
    release(workplace)
    workplace.raw |= {
        "run": {"memory": "200 MB"},
        "source": {**workplace.raw["source"], "path": copy(workplace.source)},
    }
    with pytest.raises(
        SecondRelease, match="must list the earlier releases of the same records, because no theorem covers both"
    ):
        release(workplace)


def by_region(workplace: Workplace, names: dict[str, str]) -> None:
    """The survey in folders, those of some regions called after others; every file has one name."""
    folder = workplace.folder / "survey"
    shutil.rmtree(folder, ignore_errors=True)
    survey = pq.read_table(workplace.source)
    for region, name in names.items():
        below = folder / f"region={name}"
        below.mkdir(parents=True)
        pq.write_table(survey.filter(pc.equal(survey["region"], region)).drop_columns("region"), below / "a.parquet")
    workplace.raw["source"]["path"] = "survey"


def counts(receipt: Receipt) -> dict[str, Any]:
    table = pq.read_table(next(Path(receipt.path).rglob("*.parquet"))).to_pylist()
    return {row["region"]: row["count"] for row in table if row["education"] == "_T"}


def test_renamed_partitions_do_not_get_the_old_answer(workplace: Workplace) -> None:
    make_table(workplace, epsilon="1000000", sums=[], means=[])
    workplace.raw["budget"]["epsilon"] = "1000000"
    workplace.raw["gates"] = [{"measure": "privacy_loss", "max": 1e9}]
    open_dp_account(10_000_000)
    by_region(workplace, {"East": "East", "North": "North", "South": "South"})
    before = counts(release(workplace))
    by_region(workplace, {"East": "East", "North": "North", "South": "West"})
    after = counts(release(workplace))
    assert before["West"] == after["South"] == 0
    assert before["South"] == after["West"] > 0
    assert budget_of()[0] == "2000000"


def test_partition_names_are_compared_as_they_are_read(workplace: Workplace) -> None:
    release(workplace)
    by_region(workplace, {"North": "%4Eorth", "South": "South", "East": "East", "West": "W%65st"})
    with pytest.raises(
        SecondRelease, match="must list the earlier releases of the same records, because no theorem covers both"
    ):
        release(workplace)
