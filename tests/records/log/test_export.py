"""The exported log is checked with the public key alone; whoever changes it is found."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.records import Action, Home, LogAltered, open_records
from penstock.records.files.digest import canonical
from penstock.records.log.chain import GENESIS
from penstock.records.log.export import ExportAltered, verify_export, write_export
from penstock.records.signing.keyfile import KeyDamaged
from penstock.records.signing.signing import public_pem
from tests.records.database_faults import tamper
from tests.records.export_by_hand import holds
from tests.records.published_home import NOW, decided, publish
from tests.records.reviewers import public

KIND = "application/vnd.penstock.export+json"
COUNT = 7


def exported(home: Home) -> bytes:
    stream = io.BytesIO()
    assert write_export(open_records(home=home).log, stream) == open_records(home=home).log.head().seq
    return stream.getvalue()


def with_events(home: Home, folder: Path) -> Home:
    """Decisions with a reason in any script, and a publication."""
    decided(home, "r1", "rita", reason="gelesen; прочитано; 読んだ \U0001f4d6")
    publish(home, folder)
    log = open_records(home=home).log
    for facts in ({"share": 0.1, "text": 'a "quoted\\" line\u2028\x85'}, {"deep": {"list": [1, None, True, -1e-300]}}):
        log.append(Action.PLANNED, run="r2", actor="maker", facts=facts, occurred=NOW)
    return home


@pytest.fixture
def file(home: Home, tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    path.write_bytes(exported(with_events(home, tmp_path / "public")))
    return path


@pytest.fixture
def key(home: Home) -> Path:
    return home.public_key_path


def altered(path: Path, key: Path) -> str:
    """The message; no line of the log is quoted in it."""
    with pytest.raises(ExportAltered, match="Do not rely on it") as caught:
        verify_export(path, key)
    assert (caught.value.code, caught.value.kind) == ("export-altered", "integrity")
    assert "rita" not in str(caught.value)
    assert "r2" not in str(caught.value)
    return str(caught.value)


def test_an_export_holds_by_both_checks(either_home: Home, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(exported(with_events(either_home, tmp_path / "public")))
    head = open_records(home=either_home).log.head()
    expected = {"events": COUNT, "head": {"seq": COUNT, "digest": head.digest}}
    assert verify_export(path, either_home.public_key_path) == expected
    assert holds(path, either_home.public_key_path)


def test_an_export_of_no_events_holds(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(exported(home))
    assert verify_export(path, home.public_key_path) == {"events": 0, "head": {"seq": 0, "digest": GENESIS}}
    assert holds(path, home.public_key_path)


def test_an_export_stays_true_when_the_log_goes_on(home: Home, file: Path, key: Path) -> None:
    open_records(home=home).log.append(Action.PLANNED, run="r3", actor="a", facts={}, occurred=NOW)
    assert verify_export(file, key)["events"] == COUNT
    earlier, later = file.read_bytes().splitlines(), exported(home).splitlines()
    assert earlier[:-1] == later[: len(earlier) - 1]


@pytest.mark.parametrize(
    "change",
    [
        f"DELETE FROM log_events WHERE seq = {COUNT}",
        "DELETE FROM log_events WHERE seq = 2",
        "UPDATE log_events SET actor = 'x' WHERE seq = 2",
        "DELETE FROM log_checkpoints",
        "UPDATE log_head SET seal = 'x'",
    ],
)
def test_a_log_that_is_not_sound_is_not_signed(either_home: Home, tmp_path: Path, change: str) -> None:
    """Otherwise the signature would say that a log which was cut short is whole."""
    records = open_records(home=with_events(either_home, tmp_path / "public"))
    tamper(either_home, change)
    stream = io.BytesIO()
    with pytest.raises(LogAltered):
        write_export(records.log, stream)
    assert stream.getvalue() == b""


def exchanged(lines: list[bytes], at: int) -> list[bytes]:
    order = list(range(len(lines)))
    order[at], order[(at + 1) % COUNT] = order[(at + 1) % COUNT], order[at]
    return [lines[place] for place in order]


ON_ONE_LINE: dict[str, Callable[[list[bytes], int], list[bytes]]] = {
    "altered": lambda lines, at: [*lines[:at], lines[at].replace(b'"code"', b'"code" '), *lines[at + 1 :]],
    "removed": lambda lines, at: lines[:at] + lines[at + 1 :],
    "doubled": lambda lines, at: [*lines[: at + 1], *lines[at:]],
    "added": lambda lines, at: [*lines[:at], b"{}\n", *lines[at:]],
    "left empty": lambda lines, at: [*lines[:at], b"\n", *lines[at:]],
    "exchanged": exchanged,
}


@pytest.mark.parametrize("way", ON_ONE_LINE)
def test_every_line_that_is_changed_is_noticed(file: Path, key: Path, way: str) -> None:
    lines = file.read_bytes().splitlines(keepends=True)
    for at in range(COUNT):
        changed = ON_ONE_LINE[way](lines, at)
        assert changed != lines
        file.write_bytes(b"".join(changed))
        assert "lines refused: must be those that were signed; they were altered" in altered(file, key)
        assert not holds(file, key)


def test_lines_in_another_order_are_noticed(file: Path, key: Path) -> None:
    *lines, last = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([*reversed(lines), last]))
    assert "lines refused" in altered(file, key)


def test_an_export_that_was_cut_anywhere_is_noticed(file: Path, key: Path) -> None:
    whole = file.read_bytes()
    ends = {0, 1, *range(len(whole) // 97, len(whole), len(whole) // 97), len(whole) - 2}
    for end in ends | {place for place, byte in enumerate(whole) if byte == ord("\n")} - {len(whole) - 1}:
        file.write_bytes(whole[:end])
        altered(file, key)


def test_the_last_line_of_another_export_does_not_fit(
    home: Home, file: Path, key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    *lines, last = file.read_bytes().splitlines(keepends=True)
    open_records(home=home).log.append(Action.PLANNED, run="r3", actor="a", facts={}, occurred=NOW)
    *later, later_last = exported(home).splitlines(keepends=True)
    for body, end in ((lines, later_last), (later, last)):
        file.write_bytes(b"".join([*body, end]))
        assert "lines refused" in altered(file, key)
    file.write_bytes(b"".join([*lines, last, *later[COUNT:], later_last]))  # both, one after the other
    assert "lines refused" in altered(file, key)
    other = Home.open(tmp_path / "other")
    file.write_bytes(b"".join([*lines, exported(other).splitlines(keepends=True)[-1]]))
    assert "last line refused: must be a signed export, with key" in altered(file, key)


def test_another_key_is_noticed(file: Path, tmp_path: Path) -> None:
    (tmp_path / "other.pub").write_bytes(public_pem(public("stranger")))
    assert "last line refused: must be a signed export" in altered(file, tmp_path / "other.pub")
    assert not holds(file, tmp_path / "other.pub")


def test_what_the_home_signed_as_something_else_is_no_export(home: Home, file: Path, key: Path) -> None:
    *lines, last = file.read_bytes().splitlines(keepends=True)
    payload = canonical({"events": COUNT, "head": json.loads(lines[-1])["digest"], "sha256": sha256(lines)})
    log = open_records(home=home).log
    for kind in (KIND.replace("export", "checkpoint"), KIND):
        file.write_bytes(b"".join([*lines, canonical({"export": log.sealed(payload, kind)}), b"\n"]))
        if kind == KIND:
            assert file.read_bytes() == b"".join([*lines, last])
        else:
            altered(file, key)


def sha256(lines: list[bytes]) -> str:
    return hashlib.sha256(b"".join(lines)).hexdigest()


DEEP = b"[" * 200_000
HOSTILE = [
    b"",
    b"\n",
    b"\n\n\n",
    b"not JSON\n",
    b"\xff\xfe\x00\n",
    b"null\n",
    b"[]\n",
    b"1\n",
    b'"export"\n',
    b"{}\n",
    DEEP + b"\n",
    b'{"export":' + DEEP + b"\n",
    b'{"export":' + DEEP + b"]" * 200_000 + b"}\n",
    b'{"export":' + b"9" * 10_000 + b"}\n",
    b'{"export":null}\n',
    b'{"export":{"payload":1,"payloadType":2,"signatures":3}}\n',
    b'{"export":{"payload":"","payloadType":"","signatures":[]}}\n',
    b'{"export":{"payload":"","payloadType":"","signatures":[{"keyid":[],"sig":{}}]}}\n',
    b'{"export":{"payload":"\\ud800","payloadType":"\\ud800","signatures":[{"keyid":"\\ud800","sig":"\\ud800"}]}}\n',
]


@pytest.mark.parametrize("content", HOSTILE, ids=lambda content: ascii(content[:50])[2:-1])
def test_a_file_that_is_no_export_is_refused(home: Home, tmp_path: Path, content: bytes) -> None:
    open_records(home=home)
    (tmp_path / "hostile").write_bytes(content)
    message = altered(tmp_path / "hostile", home.public_key_path)
    assert "last line refused: must be a signed export" in message
    assert len(message) < 300


def test_a_path_without_an_export_is_refused(home: Home, tmp_path: Path) -> None:
    open_records(home=home)
    assert "must be a readable file (No such file or directory)" in altered(tmp_path / "no", home.public_key_path)
    assert "must be a readable file (Is a directory)" in altered(tmp_path, home.public_key_path)


def test_without_a_public_key_nothing_is_verified(home: Home, file: Path, tmp_path: Path) -> None:
    with pytest.raises(KeyDamaged, match="must hold an Ed25519 public key in PEM that you can read") as caught:
        verify_export(file, tmp_path / "absent.pub")
    assert caught.value.kind == "integrity"
    with pytest.raises(KeyDamaged, match="must hold an Ed25519 public key"):
        verify_export(file, home.keys / "signing.pem")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, Path, Path]:
    """An export, its key, and a file to write."""
    folder = tmp_path_factory.mktemp("export")
    with pytest.MonkeyPatch.context() as settings:
        settings.delenv("PENSTOCK_DB", raising=False)
        home = with_events(Home.open(folder / "home"), folder / "public")
        return exported(home), home.public_key_path, folder / "log.jsonl"


@given(place=st.floats(0, 1, exclude_max=True), byte=st.integers(0, 255), insert=st.booleans())
@example(place=0.99999, byte=10, insert=True)
@example(place=0.0, byte=10, insert=True)
def test_a_byte_that_is_changed_or_added_is_noticed_or_changes_nothing_that_is_said(
    whole: tuple[bytes, Path, Path], place: float, byte: int, insert: bool
) -> None:
    """Around the envelope of the last line spaces and other fields are not signed; all else is."""
    content, key, path = whole
    at = int(place * len(content))
    changed = content[:at] + bytes([byte]) + content[at + (not insert) :]
    path.write_bytes(changed)
    true = {"events": COUNT, "head": {"seq": COUNT, "digest": json.loads(content.splitlines()[-2])["digest"]}}
    try:
        assert verify_export(path, key) == true
        assert changed.splitlines()[:COUNT] == content.splitlines()[:COUNT]
    except ExportAltered:
        assert changed != content


@given(content=st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_file_is_refused_in_words(whole: tuple[bytes, Path, Path], content: bytes) -> None:
    _, key, path = whole
    path.write_bytes(content)
    altered(path, key)


Json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)
Envelope = st.fixed_dictionaries(
    {},
    optional={
        "payload": Json,
        "payloadType": st.just(KIND) | Json,
        "signatures": st.lists(st.fixed_dictionaries({}, optional={"keyid": Json, "sig": Json}), max_size=2) | Json,
    },
)


@given(envelope=Envelope | Json)
def test_any_envelope_is_refused_in_words(whole: tuple[bytes, Path, Path], envelope: object) -> None:
    _, key, path = whole
    path.write_bytes(json.dumps({"export": envelope}).encode())
    altered(path, key)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda events, said: events[2].update(seq=9), "line 3 refused: must follow the line before"),
        (lambda events, said: events[2].update(previous="x"), "line 3 refused: must follow the line before"),
        (lambda events, said: events[2].update(digest="x"), "line 4 refused: must follow the line before"),
        (lambda events, said: events.pop(2), "line 3 refused: must follow the line before"),
        (lambda events, said: events.pop(), "last line refused: must name the last event"),
        (lambda events, said: said.update(events=3), "last line refused: must name the last event"),
        (lambda events, said: said.update(head="x"), "last line refused: must name the last event"),
    ],
)
def test_a_signed_export_of_a_broken_log_is_noticed(
    home: Home, file: Path, key: Path, change: Callable[[list[dict[str, Any]], dict[str, Any]], None], message: str
) -> None:
    """By an older version, or by somebody with the signing key."""
    events = [json.loads(line) for line in file.read_bytes().splitlines()[:-1]]
    said: dict[str, Any] = {"events": COUNT, "head": events[-1]["digest"]}
    change(events, said)
    lines = [canonical(event) + b"\n" for event in events]
    payload = canonical({**said, "sha256": sha256(lines)})
    seal = open_records(home=home).log.sealed(payload, KIND)
    file.write_bytes(b"".join([*lines, canonical({"export": seal}), b"\n"]))
    assert message in altered(file, key)
    assert not holds(file, key)
