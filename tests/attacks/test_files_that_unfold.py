"""A small file that unfolds: constant columns and repeated texts take no room on disk, and as much as any in memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.attacks.measured_command import measured
from tests.attacks.typed_line import typed
from tests.support.order import telling
from tests.support.workplace import Workplace, make_private, make_units, open_dp_account

COLUMNS, GROUP, GROUPS = 3, 1 << 20, 60
# In a process of its own with 3 GB of addresses, of which the program takes about one.
READER = f"""
import json, resource, sys
from pathlib import Path
from penstock.mechanisms.columns import Column
from penstock.mechanisms.refusal import Refusal
from penstock.tasks.files.source import open_source, read_source

declared = {{f"x{{i}}": Column(role="confidential", type="continuous", domain=(0, 1)) for i in range({COLUMNS})}}
def most():  # in KiB; that of getrusage begins with the memory of whoever started this process
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])

dataset = open_source(sys.argv[1], declared)
before = most()
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
try:
    read_source(dataset, declared)
    told = "read"
except Refusal as refusal:
    told = refusal.code
except MemoryError:
    told = "died"
grown = (most() - before) // 1024
print(json.dumps([told, grown]))
"""


def unfolding(path: Path) -> None:
    """1.4 GB of zeros in less than a megabyte."""
    zeros = pa.table({f"x{column}": np.zeros(GROUP) for column in range(COLUMNS)})
    with pq.ParquetWriter(path, zeros.schema, compression="zstd") as writer:
        for _ in range(GROUPS):
            writer.write_table(zeros, row_group_size=GROUP)


def test_what_does_not_fit_is_refused_before_it_is_read(tmp_path: Path) -> None:
    file = tmp_path / "data.parquet"
    unfolding(file)
    assert file.stat().st_size < 1 << 20
    ended = subprocess.run(
        [sys.executable, "-c", READER, str(file)], capture_output=True, text=True, check=True, cwd=Path.cwd()
    )
    told, grown = json.loads(ended.stdout)
    assert told == "source-too-large"
    assert grown < 200  # MB


# A text that comes again is stored once, in a few bytes; written out, it takes its length in every row.
LONG, ROWS, UNITS = 100_000, 30_000, 300
ENOUGH = 1 << 20  # KiB; written out, the texts are 3 GB


def repeated(texts: int) -> pa.DictionaryArray:
    places = pa.array(np.arange(ROWS, dtype=np.int32) * texts // ROWS)
    return pa.DictionaryArray.from_arrays(places, pa.array([f"{place:0{LONG}d}" for place in range(texts)]))


@pytest.mark.slow
@pytest.mark.parametrize("kind", telling(["text", "dictionary", "view"], "view"))
def test_a_draft_does_not_write_repeated_texts_out(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "data.parquet"
    texts: pa.Array = repeated(2)
    if kind == "view":
        texts = pa.array([repeated(2)[place].as_py() for place in (0, -1)] * 50, pa.string_view())
    with pq.ParquetWriter(file, pa.schema([("name", texts.type)]), store_schema=kind != "text") as writer:
        for _ in range(ROWS // len(texts)):
            writer.write_table(pa.table({"name": texts}))
    assert file.stat().st_size < 4 << 20
    ended = measured("init", file)
    assert ended.code == 0
    assert '"name": {role: identifier}' in ended.printed
    assert ended.memory < ENOUGH


@pytest.mark.slow
def test_a_draft_of_many_records_holds_few_of_them(tmp_path: Path) -> None:
    unfolding(tmp_path / "data.parquet")
    ended = measured("init", tmp_path / "data.parquet")
    assert ended.code == 0
    assert ended.memory < ENOUGH // 2  # a column takes as much, and was held several times


@pytest.mark.slow
def test_a_draft_of_what_does_not_fit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unfolding(tmp_path / "data.parquet")
    monkeypatch.setattr("penstock.tasks.files.memory_needed.available", lambda: GROUP * GROUPS)
    with mock.patch("penstock.tasks.draft.spec.column_line") as looked_at:
        refused = typed("init", tmp_path / "data.parquet")
    refused.require_refusal(3)
    assert "source-too-large" in refused.err
    assert looked_at.call_count == 0


@pytest.mark.slow
def test_a_release_does_not_write_out_whose_records_are_whose(workplace: Workplace) -> None:
    make_private(workplace)
    make_units(workplace, 2)
    open_dp_account(4, unit="individual")
    survey = workplace.write_survey(ROWS)
    place = survey.column_names.index("person_id")
    pq.write_table(survey.set_column(place, "person_id", repeated(UNITS)), workplace.source, store_schema=False)
    assert workplace.source.stat().st_size < 8 << 20
    ended = measured("run", workplace.write_spec())
    assert ended.code == 0, ended.printed
    assert ended.memory < ENOUGH
