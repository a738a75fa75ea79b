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

from penstock.mechanisms.columns import Column
from penstock.tasks.files.source import open_source
from penstock.tasks.files.source_files import SourceUnreadable
from penstock.tasks.files.units import unit_numbers
from penstock.tasks.parts.working_copy import SourceTooLarge
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


# Every group of rows has a dictionary of its own: 20 names of 100 KB, written in a few bytes 200 times.
NAMES, PLACES = 20, 200
WHOSE = """
import json, sys
from pathlib import Path
from penstock.mechanisms.columns import Column
from penstock.mechanisms.refusal import Refusal
from penstock.tasks.files.source import open_source, read_source
from penstock.tasks.files.units import unit_codes, unit_numbers

def most():
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])

declared = {"whose": Column(role="identifier"), "x": Column(role="confidential", type="integer", domain=(0, 1))}
dataset = open_source(sys.argv[1], declared, unit="whose")
before = most()
read = {
    "question": lambda: unit_numbers(dataset, "whose"),
    "release": lambda: read_source(dataset, declared, unit="whose")["whose"],
    "twin": lambda: unit_codes(dataset.to_table(columns=["whose"]).column(0)),
}
codes = read[sys.argv[2]]()
print(json.dumps([len(codes), len(set(codes.tolist())), (most() - before) // 1024]))
"""


def same_names_again_and_again(path: Path, different: bool) -> None:
    schema = pa.schema([("whose", pa.string()), ("x", pa.int64())])
    with pq.ParquetWriter(path, schema, compression="zstd", store_schema=False) as writer:
        for group in range(PLACES):
            first = group * NAMES if different else 0
            names = [f"{first + place:0{LONG}d}" for place in range(NAMES)]
            writer.write_table(pa.table({"whose": names, "x": [0] * NAMES}, schema=schema))


@pytest.mark.parametrize("different", [False, True], ids=["same", "different"])
@pytest.mark.parametrize("reader", telling(["question", "release", "twin"], "question", "twin"))
def test_names_in_a_dictionary_of_every_group_are_never_held_together(
    tmp_path: Path, reader: str, different: bool
) -> None:
    file = tmp_path / "data.parquet"
    same_names_again_and_again(file, different)
    assert file.stat().st_size < 200_000
    ended = subprocess.run(
        [sys.executable, "-c", WHOSE, str(file), reader], capture_output=True, text=True, check=True, cwd=Path.cwd()
    )
    records, units, grown = json.loads(ended.stdout)
    assert (records, units) == (NAMES * PLACES, NAMES * PLACES if different else NAMES)
    if reader == "twin":  # as it once was: all names of all groups at once, 400 MB of them
        assert grown > 300
    else:
        assert grown < 100


def test_numbers_of_units_that_do_not_fit_are_refused_before_a_name_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "data.parquet"
    same_names_again_and_again(file, different=False)
    dataset = open_source(str(file), {"whose": Column(role="identifier")}, unit="whose")
    # 200 times 2 MB are announced; what is held is one group of them, and at most 144 bytes of a name for each record.
    records, group = NAMES * PLACES, NAMES * LONG
    for room, fits in ((3 * group + 400 * records, True), (3 * group, False), (200 * records, False)):
        monkeypatch.setattr("penstock.tasks.files.memory_needed.available", lambda room=room: room)
        if fits:
            assert len(unit_numbers(dataset, "whose")) == records
            continue
        with (
            mock.patch("penstock.tasks.files.units._names") as looked_at,
            pytest.raises(SourceTooLarge, match="must fit into memory with whose records they are") as refused,
        ):
            unit_numbers(dataset, "whose")
        assert (refused.value.code, looked_at.call_count) == ("source-too-large", 0)


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
def test_names_stored_by_how_they_differ_are_refused(tmp_path: Path, encoding: str) -> None:
    """1,000 names of 100 KB that differ at their ends take a few kilobytes; nothing bounds what they unfold to."""
    names = pa.array(["x" * LONG + str(place) for place in range(1000)])
    file = tmp_path / "data.parquet"
    pq.write_table(pa.table({"whose": names}), file, use_dictionary=False, column_encoding={"whose": encoding})
    dataset = open_source(str(file), {"whose": Column(role="identifier")}, unit="whose")
    with pytest.raises(SourceUnreadable):
        unit_numbers(dataset, "whose")
