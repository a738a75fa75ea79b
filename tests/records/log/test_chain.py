from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.records.log.chain import GENESIS, Entry, SealedHead, digest_of, find_faults, seal
from tests.support.damage import became

UNTIMED = settings(deadline=None)  # a busy machine is no fault
KEY = b"k" * 32


def history(count: int, *, key: bytes = KEY, mark: str = "") -> tuple[list[Entry], SealedHead]:
    """`count` events as the log would write them; `mark` tells two histories of one log apart."""
    entries: list[Entry] = []
    previous = GENESIS
    for seq in range(1, count + 1):
        draft = Entry(
            seq, "2026-11-16T02:15:00+00:00", "r", "PLANNED", "a", "1", f'{{"n":"{mark}{seq}"}}', previous, ""
        )
        previous = digest_of(key, draft, seq)
        entries.append(draft._replace(digest=previous))
    return entries, SealedHead(count, previous, "", seal(key, count, previous, ""))


def found(entries: list[Entry], head: SealedHead | None, key: bytes = KEY) -> list[tuple[str, str]]:
    """Field and first word of every fault."""
    faults = find_faults(key, sorted(entries, key=lambda entry: entry.seq), head)
    return [became(fault) for fault in faults]


@given(st.integers(0, 12))
@UNTIMED
def test_an_untouched_history_has_no_faults(count: int) -> None:
    assert found(*history(count)) == []


CHANGES = st.one_of(
    st.tuples(st.just("drop"), st.integers(0, 9), st.just(0)),
    st.tuples(st.just("renumber"), st.integers(0, 9), st.integers(-1, 12)),
    st.tuples(st.just("swap"), st.integers(0, 9), st.integers(0, 9)),
    st.tuples(st.just("copy"), st.integers(0, 9), st.integers(1, 12)),
    st.tuples(st.just("alter"), st.integers(0, 9), st.integers(1, 8)),
    st.tuples(st.just("head"), st.integers(0, 9), st.just(0)),
)


def changed(entries: list[Entry], head: SealedHead, change: tuple[str, int, int]) -> tuple[list[Entry], SealedHead]:
    what, at, other = change
    if what == "head":
        return entries, history(at)[1]
    if at >= len(entries):
        return entries, head
    entries = list(entries)
    entry = entries[at]
    if what == "drop":
        del entries[at]
    elif what == "renumber":
        entries[at] = entry._replace(seq=other)
    elif what == "swap" and other < len(entries):
        entries[at], entries[other] = entries[other]._replace(seq=entry.seq), entry._replace(seq=entries[other].seq)
    elif what == "copy":
        entries.append(entry._replace(seq=other))
    elif what == "alter":
        name = Entry._fields[other]
        entries[at] = entry._replace(**{name: getattr(entry, name) + "x"})
    return entries, head


@given(st.integers(1, 10), st.lists(CHANGES, max_size=4))
@UNTIMED
def test_a_history_has_faults_exactly_when_it_is_not_one_that_was_written(
    count: int, changes: list[tuple[str, int, int]]
) -> None:
    entries, head = history(count)
    for change in changes:
        entries, head = changed(entries, head, change)
    # The one thing that cannot be seen: a shorter log put back together with its own head.
    written = [history(length) for length in range(11)]
    is_written = (sorted(entries), head) in [(sorted(past), past_head) for past, past_head in written]
    assert (found(entries, head) == []) == is_written


def test_each_event_of_a_renumbered_history_is_traced_to_its_number() -> None:
    entries, head = history(6)
    del entries[1]
    closed_up = [entry._replace(seq=place) for place, entry in enumerate(entries, 1)]
    assert found(closed_up, head) == [(f"event {n}", "reordered") for n in (3, 4, 5, 6)] + [("event 2", "removed")]


def test_the_first_event_is_traced_also_when_its_neighbour_is_gone() -> None:
    entries, head = history(5)
    moved = [entries[0]._replace(seq=9), *entries[2:]]
    assert found(moved, head) == [("event 1", "reordered"), ("event 2", "removed")]


def test_swapped_events_are_both_named() -> None:
    entries, head = changed(*history(5), ("swap", 1, 3))
    assert found(entries, head) == [("event 4", "reordered"), ("event 2", "reordered")]


def test_an_event_put_back_from_another_history_is_named() -> None:
    entries, head = history(5)
    entries[2] = history(5, mark="other")[0][2]
    assert found(entries, head) == [("event 3", "inserted"), ("event 4", "inserted")]


def test_a_copy_in_the_place_of_a_removed_event_is_named_as_both() -> None:
    entries, head = history(5)
    entries[3] = entries[1]._replace(seq=4)
    assert found(entries, head) == [("event 4", "inserted"), ("event 4", "removed")]


def test_many_removed_events_are_named_as_one_stretch() -> None:
    entries, head = history(9)
    faults = find_faults(KEY, [entries[0], entries[7]], head)
    assert [fault.field for fault in faults] == ["events 2 to 7", "event 9"]


def test_a_head_that_is_gone_altered_old_or_foreign_is_named() -> None:
    entries, head = history(4)
    assert found(entries, None) == [("head", "removed")]
    assert found(entries, head._replace(seal="x")) == [("head", "altered")]
    assert found(entries, head._replace(seq="four")) == [("head", "altered")]
    assert found(entries, head._replace(digest=b"\x00")) == [("head", "altered")]
    assert found(entries, history(3)[1]) == [("head", "replaced")]
    assert found(entries, history(4, mark="other")[1]) == [("head", "replaced")]
    assert found([], SealedHead(0, "x", "", seal(KEY, 0, "x", ""))) == [("head", "replaced")]


def test_another_key_is_named_as_such_and_not_as_a_thousand_faults() -> None:
    assert [field for field, _ in found(*history(1000), key=b"another")] == ["key"]


def test_an_event_without_a_number_is_named() -> None:
    entries, head = history(2)
    assert ("event 0", "inserted") in found([*entries, entries[0]._replace(seq=0)], head)
    faults = find_faults(KEY, [*entries, entries[0]._replace(seq=None, digest="x")], head)
    assert [fault.field for fault in faults] == ["event 0"]


def test_a_shorter_history_with_its_own_head_is_not_noticed() -> None:
    """The limit that the documentation states."""
    assert found(*history(3)) == []
