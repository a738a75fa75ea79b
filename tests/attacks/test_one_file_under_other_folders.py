"""The same file below folders such as region=North and region=South: other columns and another part, but nobody else.

A folder's name costs nothing to make up, so whoever is in a file is known by its bytes, wherever it lies.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.flows.spec import load_spec
from penstock.mechanisms.refusal import ColumnDuplicated, ColumnTypeWrong
from penstock.records import open_records
from penstock.records.ledger.accounts import Account
from penstock.records.ledger.ledger import BudgetExceeded, SecondRelease, SourceElsewhere
from penstock.records.ledger.limits import Officer, open_account
from penstock.tasks.publish import Receipt
from tests.support.workplace import OFFICER, Workplace, budget_of, make_table, open_dp_account


def release(workplace: Workplace) -> Receipt:
    from penstock.flows.release import release as flow

    return flow(load_spec(workplace.write_spec()))


def below(workplace: Workplace, file: Path, folder: str) -> None:
    """The source is now a folder that holds nothing but a link to the file, below another folder."""
    root = workplace.folder / f"only {folder}"
    (root / folder).mkdir(parents=True)
    os.symlink(file, root / folder / f"{folder}.parquet")
    workplace.raw["source"]["path"] = root.name


def declare(workplace: Workplace, name: str, *categories: str) -> None:
    workplace.raw["source"]["columns"][name] = {
        "role": "quasi_identifier",
        "type": "nominal",
        "categories": list(categories),
    }


def as_part(workplace: Workplace, file: Path, region: str) -> None:
    below(workplace, file, f"region={region}")
    workplace.raw["source"]["columns"]["region"]["categories"] = [region]
    workplace.raw["budget"] = {"dataset": "survey", "epsilon": "1", "part": "region"}


def test_one_file_is_not_charged_as_several_parts(workplace: Workplace) -> None:
    make_table(workplace, adjacency="add_remove", dimensions=["education"])
    open_dp_account(2, adjacency="add_remove", partition="region")
    file = workplace.folder / "x.parquet"
    pq.write_table(workplace.write_survey(400).drop_columns(["region"]), file)
    for spent, region in enumerate(["North", "South"], start=1):
        as_part(workplace, file, region)
        release(workplace)
        assert budget_of()[0] == str(spent)
    as_part(workplace, file, "East")
    with pytest.raises(BudgetExceeded):
        release(workplace)


def test_files_of_different_parts_are_charged_beside_each_other(workplace: Workplace) -> None:
    make_table(workplace, adjacency="add_remove", dimensions=["education"])
    open_dp_account(1, adjacency="add_remove", partition="region")
    survey = workplace.write_survey(400).drop_columns(["region"])
    for place, region in enumerate(["North", "South"]):
        file = workplace.folder / f"{region}.parquet"
        pq.write_table(survey.slice(200 * place, 200), file)
        as_part(workplace, file, region)
        release(workplace)
    assert budget_of()[:2] == ("1", "0")


def test_a_declared_folder_does_not_hide_a_second_release(workplace: Workplace) -> None:
    release(workplace)
    below(workplace, workplace.source, "zz=0")
    declare(workplace, "zz", "0", "1")
    with pytest.raises(
        SecondRelease, match="must list the earlier releases of the same records, because no theorem covers both"
    ):
        release(workplace)


def test_a_file_among_others_is_a_second_release(workplace: Workplace) -> None:
    release(workplace)
    below(workplace, workplace.source, "zz=0")
    more = workplace.folder / "only zz=0" / "zz=1"
    more.mkdir()
    pq.write_table(pq.read_table(workplace.source).slice(0, 50), more / "more.parquet")
    declare(workplace, "zz", "0", "1")
    with pytest.raises(
        SecondRelease, match="must list the earlier releases of the same records, because no theorem covers both"
    ):
        release(workplace)


def test_a_declared_folder_gets_no_second_budget(workplace: Workplace) -> None:
    make_table(workplace)
    open_dp_account(1)
    release(workplace)
    account = Account(dataset="other", model="dp", limit=Fraction(1), adjacency="replace", unit="row", partition=None)
    officer = Officer("olga", OFFICER, "agreed in the board")
    open_account(open_records().log, account, officer, actor="olga", now=datetime.now(UTC))
    below(workplace, workplace.source, "zz=1")
    declare(workplace, "zz", "0", "1")
    workplace.raw["budget"]["dataset"] = "other"
    with pytest.raises(SourceElsewhere, match="under which these records are counted: survey"):
        release(workplace)
    assert budget_of("other") == ("0", "1", [])


def test_a_folder_does_not_overrule_what_the_file_says(workplace: Workplace) -> None:
    below(workplace, workplace.source, "region=North")
    with pytest.raises(ColumnDuplicated, match=r"source\.columns\.region"):
        release(workplace)


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan")])
def test_a_missing_value_saved_as_another_number_that_is_none_is_found(workplace: Workplace, number: float) -> None:
    release(workplace)
    survey = pq.read_table(workplace.source)
    assert survey["savings"].null_count
    place = survey.column_names.index("savings")
    pq.write_table(survey.set_column(place, "savings", survey["savings"].fill_null(number)), workplace.source)
    with pytest.raises(
        SecondRelease, match="must list the earlier releases of the same records, because no theorem covers both"
    ):
        release(workplace)


def test_one_record_in_a_narrow_type_does_not_round_the_others(workplace: Workplace) -> None:
    release(workplace)
    survey, folder = pq.read_table(workplace.source), workplace.folder / "two"
    first, place = survey.slice(0, 1), survey.column_names.index("income")
    folder.mkdir()
    narrow = pa.array([30000.0], pa.float32())
    pq.write_table(first.set_column(place, "income", narrow), folder / "0.parquet")
    pq.write_table(survey.slice(1), folder / "1.parquet")
    workplace.raw["source"]["path"] = "two"
    with pytest.raises(ColumnTypeWrong, match="must be stored in the same type in every file"):
        release(workplace)
