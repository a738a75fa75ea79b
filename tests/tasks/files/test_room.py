"""Memory is counted from footers before anything is read, and footers that contradict themselves are refused."""

from __future__ import annotations

import resource
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from penstock.mechanisms.columns import Column
from penstock.tasks.files import memory_needed as room
from penstock.tasks.files.memory_needed import available, require_room, require_room_to_look
from penstock.tasks.files.source import SourceUnreadable, open_source, read_source
from penstock.tasks.parts.working_copy import SourceTooLarge

AGE = Column(role="quasi_identifier", type="integer", domain=(0, 120))
REGION = Column(role="quasi_identifier", type="nominal", categories=("N", "S" * 1000))
DECLARED = {"age": AGE, "region": REGION}
ROWS = 10_000


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table({"age": np.ones(ROWS, int), "region": ["N"] * ROWS}), path, row_group_size=3000)
    return path


def test_columns_that_later_steps_hold_need_more_room_than_those_that_are_seen_once(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = open_source(str(file), DECLARED)
    monkeypatch.setattr(room, "available", lambda: 1000 * ROWS)
    require_room(dataset, DECLARED, ())
    with pytest.raises(SourceTooLarge, match="must fit into memory with its declared columns decoded") as refusal:
        require_room(dataset, DECLARED, ("region",))  # its longest category alone takes a thousand bytes a record
    assert str(ROWS) not in str(refusal.value)
    require_room(dataset, DECLARED, ("age",))


def test_nothing_is_read_where_there_is_no_room(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "available", lambda: ROWS)
    with pytest.raises(SourceTooLarge):
        read_source(open_source(str(file), DECLARED), DECLARED)


def test_long_texts_count_as_they_are_announced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"{place:01000d}" for place in range(1000)]
    pq.write_table(pa.table({"age": [1] * 1000, "region": texts}), tmp_path / "data.parquet")
    dataset = open_source(str(tmp_path), {"age": AGE, "region": REGION})
    monkeypatch.setattr(room, "available", lambda: 900_000)
    with pytest.raises(SourceTooLarge):
        require_room(dataset, {"age": AGE}, ("age",))
    monkeypatch.setattr(room, "available", lambda: 1_200_000)
    require_room(dataset, {"age": AGE}, ("age",))


def test_what_is_only_looked_at_needs_room_for_its_largest_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"{place:01000d}" for place in range(1000)]
    pq.write_table(pa.table({"age": [1] * 1000, "one": texts, "other": texts}), tmp_path / "data.parquet")
    dataset = ds.dataset(str(tmp_path), format="parquet")
    monkeypatch.setattr(room, "available", lambda: 1_100_000)
    require_room_to_look(dataset)
    for least in (1_000_000, 15_000):
        monkeypatch.setattr(room, "available", lambda least=least: least)
        with pytest.raises(SourceTooLarge, match="each of its columns"):
            require_room_to_look(dataset)


@pytest.mark.parametrize("group", [2, -1])
def test_a_footer_that_contradicts_itself_is_refused(group: int) -> None:
    told = SimpleNamespace(num_rows=group, id=0)
    footer = SimpleNamespace(num_rows=3, num_row_groups=1, num_columns=0, row_group=lambda _: told)
    fragment = SimpleNamespace(row_groups=[told], metadata=footer, path="data.parquet")
    dataset = SimpleNamespace(schema=pa.schema([]), get_fragments=lambda: [fragment], filesystem=None)
    with pytest.raises(SourceUnreadable):
        require_room(dataset, {}, ())


def test_what_is_left_is_never_more_than_the_address_space(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    free = available()
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1000, 1000))
    assert free > 0 == available()


def test_groups_of_processes_leave_what_their_limits_say(tmp_path: Path) -> None:
    own, root = tmp_path / "own", tmp_path / "cgroup"
    (root / "outer" / "inner").mkdir(parents=True)
    for group, most in (("outer", "5000"), ("outer/inner", "max")):
        (root / group / "memory.max").write_text(f"{most}\n")
        (root / group / "memory.stat").write_text("anon 1000\nfile 3000\nshmem 500\n")
    own.write_text("0::/outer/inner\n")
    assert room._left_of_groups(own, root) == [3500]
    assert room._left_of_groups(tmp_path / "nowhere", root) == []
    own.write_text("3:memory:/old\n")
    assert room._left_of_groups(own, root) == []
