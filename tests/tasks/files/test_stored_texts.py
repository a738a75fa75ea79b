"""However texts are stored, they are the same categories and the same units."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from penstock.mechanisms.columns import Column
from penstock.tasks.draft._values import MOST_CATEGORIES, RARE_BELOW, folded, frequent_values, has_missing
from penstock.tasks.files.source import open_source, read_source

DECLARED = {
    "id": Column(role="identifier"),
    "region": Column(role="quasi_identifier", type="nominal", categories=("N", "S"), missing="category"),
}
KINDS = [
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.int32(), pa.large_string()),
]


def stored(path: Path, kind: pa.DataType, *, encoded: bool = True, **columns: list[Any]) -> Path:
    table = pa.table({name: pa.array(values, pa.string()).cast(kind) for name, values in columns.items()})
    pq.write_table(table, path, row_group_size=3, use_dictionary=encoded)
    return path


@pytest.mark.parametrize("encoded", [True, False])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_units_and_categories_are_those_of_the_texts(tmp_path: Path, kind: pa.DataType, encoded: bool) -> None:
    file = stored(
        tmp_path / "data.parquet",
        kind,
        encoded=encoded,
        id=["b", "a", "b", "c", "a", "b", "d"],
        region=["N", None, "S", "S", "N", "N", "S"],
    )
    read = read_source(open_source(str(file), DECLARED, unit="id"), DECLARED, unit="id")
    assert read["id"].tolist() == [0, 1, 0, 2, 1, 0, 3]
    assert read["region"].tolist() == [0, -1, 1, 1, 0, 0, 1]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_draft_counts_them_alike(tmp_path: Path, kind: pa.DataType) -> None:
    file = stored(tmp_path / "data.parquet", kind, complete=["N", "S"] * RARE_BELOW, gaps=["N", None] * RARE_BELOW)
    dataset = ds.dataset(str(file), format="parquet")
    looked_at = folded(str(file), dataset, None)
    assert frequent_values(looked_at, "complete") == (["N", "S"], True, True)
    assert frequent_values(looked_at, "gaps") == (["N"], False, True)
    assert [has_missing(looked_at, name) for name in ("complete", "gaps")] == [False, True]


@pytest.mark.parametrize(
    "values",
    [[f"p{row}" for row in range(MOST_CATEGORIES + 1)], ["x" * 10_001] * RARE_BELOW],
    ids=["too many", "too long"],
)
def test_what_cannot_be_categories_is_not_counted_to_its_end(tmp_path: Path, values: list[str]) -> None:
    file = stored(tmp_path / "data.parquet", pa.string(), name=values)
    dataset = ds.dataset(str(file), format="parquet")
    assert frequent_values(folded(str(file), dataset, None), "name") == ([], False, False)
