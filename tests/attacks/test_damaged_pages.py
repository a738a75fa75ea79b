"""A flipped bit in a page is another value: where the file has sums of its pages, it must not be released."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.mechanisms.columns import Column
from penstock.tasks.files.source import SourceUnreadable, open_source, read_source

DECLARED = {"income": Column(role="confidential", type="continuous", domain=(0, 1e9))}


def flipped(path: Path, value: float, *, sums: bool) -> Path:
    """A file in which one bit of one income is another than was written."""
    incomes = np.arange(1000.0)
    incomes[500] = value
    pq.write_table(
        pa.table({"income": incomes}), path, compression="none", use_dictionary=False, write_page_checksum=sums
    )
    whole = bytearray(path.read_bytes())
    place = whole.index(np.float64(value).tobytes())
    whole[place] ^= 1
    path.write_bytes(bytes(whole))
    return path


def read(path: Path) -> np.ndarray:
    return read_source(open_source(str(path), DECLARED), DECLARED)["income"]


def test_a_page_whose_sum_does_not_hold_is_refused(tmp_path: Path) -> None:
    file = flipped(tmp_path / "data.parquet", 500.25, sums=True)
    with pytest.raises(SourceUnreadable, match="complete Parquet"):
        read(file)


def test_without_sums_nobody_can_tell(tmp_path: Path) -> None:
    file = flipped(tmp_path / "data.parquet", 500.25, sums=False)
    assert read(file)[500] != 500.25


def test_a_pipe_or_a_device_is_no_source(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero")):
        with pytest.raises(SourceUnreadable):
            open_source(str(path), DECLARED)
