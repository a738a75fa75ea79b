"""Bundles of blocks of records: what can be seen of their promise, and claims about them that do not hold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest

from tests.tasks.published_bundle import K, Published, broken


@pytest.fixture
def published(tmp_path: Path) -> Published:
    return Published(tmp_path, "mdav_id")


@pytest.mark.parametrize(
    ("mode", "told"),
    [
        ("records", f"As in blocks of records, every combination of age, income, region occurs at least {K} times."),
        (
            "marginals",
            f"As in blocks of records, every value of age occurs at least {K} times; every value of region occurs at "
            f"least {K} times; every value of income occurs at least {K} times.",
        ),
    ],
)
def test_of_private_data_the_blocks_can_be_seen_and_the_noise_cannot(
    published: Published, mode: str, told: str
) -> None:
    published.release_privately(mode)
    found = {each.name: each for each in published.verify()}
    assert (found["blocks"].checked, found["blocks"].text) == (True, told)
    assert found["noise"].checked is False
    assert "k-anonymity" not in found


@pytest.mark.parametrize("name", ["data.parquet", "data.csv"])
@pytest.mark.parametrize("mode", ["records", "marginals"])
def test_a_value_that_is_rarer_than_a_block_is_noticed(published: Published, name: str, mode: str) -> None:
    def single_out(table: pa.Table) -> pa.Table:
        values = table["income"].to_pylist()
        values[0] += 1
        return table.set_column(table.column_names.index("income"), "income", pa.array(values))

    published.release_privately(mode)
    published.change(name, single_out)
    [fault] = broken(published).faults
    assert fault.field == name
    combination = "age, income, region" if mode == "records" else "income"
    assert fault.rule == f"must have at least {K} records for every combination of {combination}"


def test_rows_that_mix_the_values_of_blocks_are_noticed_where_rows_are_records(published: Published) -> None:
    """Every single value is as frequent as before; only the combinations are not."""

    def turn(table: pa.Table) -> pa.Table:
        values = table["income"].to_pylist()
        return table.set_column(table.column_names.index("income"), "income", pa.array([values[-1], *values[:-1]]))

    published.release_privately("records")
    published.change("data.parquet", turn)
    assert "every combination of age, income, region" in str(broken(published))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda chosen: chosen.update(parts={}),
        lambda chosen: chosen["parts"][0].pop("k"),
        lambda chosen: chosen["parts"][0].update(k=0),
        lambda chosen: chosen["parts"][0].update(k="5"),
        lambda chosen: chosen["parts"][0].update(columns=[]),
        lambda chosen: chosen["parts"][0].update(columns={}),
        lambda chosen: chosen["parts"][0]["columns"].pop("age"),
        lambda chosen: chosen["parts"][0]["columns"].update(more={}),
        lambda chosen: chosen["parts"].append(chosen["parts"][0]),
        lambda chosen: chosen.update(
            parts=[{"k": 1, "columns": {name: {}}} for name in ("age", "region", "income")]  # rows are records
        ),
    ],
)
def test_facts_that_do_not_fit_the_columns_are_noticed(published: Published, spoil: Callable[[Any], Any]) -> None:
    published.release_privately("records")
    spoil(published.manifest["settled"])
    published.seal()
    assert "must state guarantee, records, columns, bytes and reviewers in format 1" in str(broken(published))


def test_private_data_that_state_nothing_settled_cannot_be_checked_and_are_refused(published: Published) -> None:
    published.release_privately("records")
    del published.manifest["settled"]
    published.seal()
    assert "must state guarantee" in str(broken(published))
