"""Records that were named as a folder of every bundle, beside a table that spends epsilon: the bundle could never be
staged, so epsilon was spent for nothing, again in every run; or files lay where readers look for others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.flows.release import release
from penstock.flows.spec import load_spec
from penstock.mechanisms.refusal import SpecRefused
from penstock.tasks.publish import Receipt
from penstock.tasks.verification.bundle import verify_bundle
from tests.support.several import add_records, make_several
from tests.support.shared_file import make_shared
from tests.support.workplace import Workplace, budget_of, files_of, open_dp_account

OF_EVERY_BUNDLE = ("tables", "metadata", "data")
# These may be tables, whose files lie in a folder of their own.
AS_TABLES = ("tables", "metadata", "data")


def renamed(workplace: Workplace, place: int, **settings: Any) -> None:
    workplace.raw["protect"][place] |= settings


@pytest.mark.parametrize("table", ["data", "by_region"])
@pytest.mark.parametrize("name", OF_EVERY_BUNDLE)
def test_records_are_not_named_as_what_every_bundle_has(workplace: Workplace, name: str, table: str) -> None:
    make_several(workplace)
    renamed(workplace, 0, table=table)
    add_records(workplace, name=name)
    workplace.raw["budget"]["acknowledges"] = [name]
    open_dp_account(2)
    with pytest.raises(SpecRefused, match=r"protect\.3 \(\w+\)\.name.*must differ from what every bundle has"):
        release(load_spec(workplace.write_spec()))
    assert budget_of()[0] == "0"
    assert workplace.public_files() == []


@pytest.mark.parametrize("name", OF_EVERY_BUNDLE)
def test_nor_is_a_file_that_several_share_or_a_part_of_it(workplace: Workplace, name: str) -> None:
    make_shared(workplace)
    for place in (0, 1):
        renamed(workplace, place, file=name)
    with pytest.raises(SpecRefused, match=r"protect\.0 \(\w+\)\.file.*what every bundle has"):
        load_spec(workplace.write_spec())
    for place in (0, 1):
        renamed(workplace, place, file="people")
    renamed(workplace, 1, name=name)
    workplace.raw["budget"]["acknowledges"] = ["keys", name]
    with pytest.raises(SpecRefused, match=r"protect\.1 \(.+\)\.name.*what every bundle has"):
        load_spec(workplace.write_spec())


@pytest.mark.parametrize("name", ["manifest.json", "report.html", "Tables", "METADATA", "a/b", "..", "people.", "é"])
def test_no_name_is_anything_but_small_letters_digits_and_underscores(workplace: Workplace, name: str) -> None:
    """So no two differ in their case alone, which some file systems do not see."""
    make_several(workplace)
    add_records(workplace, name=name)
    for place, key in ((3, "name"), (0, "table")):
        with pytest.raises(SpecRefused, match=rf"protect\.{place}.*{key}"):
            load_spec(workplace.write_spec())
        renamed(workplace, 3, name="people")
        renamed(workplace, 0, table=name)


def test_tables_of_these_names_lie_beside_records_of_the_names_of_pages(workplace: Workplace) -> None:
    make_several(workplace)
    for place, name in enumerate(AS_TABLES):
        renamed(workplace, place, table=name)
    add_records(workplace, name="report")
    workplace.raw["budget"]["acknowledges"] = ["report"]
    open_dp_account(2)
    receipt = release(load_spec(workplace.write_spec()))
    assert isinstance(receipt, Receipt)
    bundle = Path(receipt.path)
    assert {f"tables/{name}.parquet" for name in AS_TABLES} | {"report/data.parquet"} <= files_of(bundle).keys()
    verify_bundle(bundle, workplace.home / "keys" / "signing.pub")
