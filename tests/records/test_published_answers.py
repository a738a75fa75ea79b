"""Every published answer is held against the log: one that is gone, exchanged, altered or added is found."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from penstock.flows.answer import Answer, answer
from penstock.flows.spec.data_description import DataDescription
from penstock.records import Action, Home, open_records
from penstock.records.audit import PublishedMissing, RecordsDisagree, verify_everything
from penstock.records.files.digest import canonical
from penstock.records.published_answers import KIND, LARGEST
from penstock.records.signing import envelope
from tests.records.reviewers import private
from tests.support.question_house import asked, set_up
from tests.support.workplace import Workplace
from tests.tasks.verification.test_answers import payload, signed_again

UNKNOWN = "must be an answer that the log knows of"


@pytest.fixture
def data(workplace: Workplace) -> DataDescription:
    return set_up(workplace, publish=str(workplace.published))


def count(data: DataDescription, **wanted: str) -> Answer:
    return asked(data, "count where region is North", **{"epsilon": "1/4", **wanted})


def place(found: Answer) -> Path:
    assert found.path is not None
    return Path(found.path)


def rules(*below: Path, kind: type[Exception] = RecordsDisagree) -> list[tuple[str, str]]:
    with pytest.raises(kind) as caught:
        verify_everything(below, files=True)
    return [(fault.field, fault.rule) for fault in caught.value.faults]


def test_answers_that_are_as_they_were_given_are_counted(data: DataDescription) -> None:
    first = count(data)
    assert verify_everything(files=True)["answers"] == 1
    count(data, epsilon="1/8")
    count(data)  # given again, to the same file
    told = verify_everything(files=True)
    assert (told["answers"], told["not_reached"]) == (2, [])
    assert "answers" not in verify_everything()
    events = [event for event in open_records().log.events() if "destination" in event.facts]
    assert [event.action for event in events] == [Action.ANSWERED, Action.ANSWERED, Action.ASKED_AGAIN]
    assert events[0].facts["destination"] == first.path


def test_what_is_not_published_names_no_destination(workplace: Workplace) -> None:
    assert count(set_up(workplace)).path is None
    assert not any("destination" in event.facts for event in open_records().log.events())
    assert verify_everything(files=True)["answers"] == 0


def test_an_answer_that_is_gone_is_found_and_comes_back_by_asking_again(data: DataDescription) -> None:
    file = place(count(data))
    before = file.read_bytes()
    file.unlink()
    [(field, rule)] = rules(kind=PublishedMissing)
    assert (field, rule) == (
        str(file),
        "must be the answer that the log says was published here; it is gone, or was never written",
    )
    assert count(data).repeated
    assert json.loads(before)["payload"] != ""
    assert verify_everything(files=True)["answers"] == 1


def test_a_whole_folder_that_is_gone_is_found(data: DataDescription) -> None:
    file = place(count(data))
    shutil.rmtree(file.parent.parent)
    assert [field for field, _ in rules(kind=PublishedMissing)] == [str(file)]


def test_an_answer_may_be_on_its_way_for_a_minute(data: DataDescription) -> None:
    """It is charged before it is published, and the check may come between."""
    file = place(count(data))
    file.unlink()
    now = datetime.now(UTC)
    assert verify_everything(files=True, now=now)["not_reached"] == [str(file)]
    with pytest.raises(PublishedMissing):
        verify_everything(files=True, now=now + timedelta(minutes=2))


def test_an_answer_that_was_never_written_is_found(data: DataDescription, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    def die(*_: Any) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr("penstock.tasks.questions.signed.publish", die)
        with pytest.raises(Killed):
            count(data)
    assert len(rules(kind=PublishedMissing)) == 1
    count(data)
    assert verify_everything(files=True)["answers"] == 1


def another_content(file: Path) -> None:
    signed_again(file, {**payload(file), "answer": {**payload(file)["answer"], "values": [7]}})


def another_digest(file: Path) -> None:
    signed_again(file, {**payload(file), "digest": "ab" * 32})


def another_signer(file: Path) -> None:
    signed_again(file, payload(file), signer=private("stranger"))


def another_log(file: Path) -> None:
    signed_again(file, {**payload(file), "log_head": {"digest": "ab" * 32}})


def another_form(file: Path) -> None:
    signed_again(file, {**payload(file), "more": 1})


def beside_it(file: Path) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), "note": "unsigned"}, indent=2) + "\n")


def no_json(file: Path) -> None:
    file.write_text("{")


def a_list(file: Path) -> None:
    file.write_bytes(json.dumps(envelope.sealed(canonical([1]), KIND, Home.open().signing_key()), indent=2).encode())


def a_link(file: Path) -> None:
    shutil.copy2(file, file.parent.parent / "copy")
    file.unlink()
    file.symlink_to("../copy")


def a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def too_large(file: Path) -> None:
    with file.open("r+b") as wide:
        wide.truncate(LARGEST + 1)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (another_content, "must be the answer that was given"),
        (another_digest, "must be the answer that was given"),
        (another_signer, "must be signed by this home"),
        (another_log, "must have seen events of this log only: it was cut short or replaced since"),
        (another_form, "must be written as it was published, to the last byte"),
        (beside_it, "must be written as it was published, to the last byte"),
        (a_list, "must be written as it was published, to the last byte"),
        (no_json, "must be a DSSE envelope of one answer"),
        (a_link, "must be a plain file"),
        (a_folder, "must be a plain file"),
        (too_large, "must have at most 16 MiB"),
    ],
)
def test_an_answer_that_is_not_as_it_was_given_is_found(
    data: DataDescription, change: Callable[[Path], None], rule: str
) -> None:
    file = place(count(data))
    change(file)
    assert rules() == [(str(file), rule)]
    assert verify_everything()["events"] > 0  # it does not look


def test_an_answer_in_the_place_of_another_is_found(data: DataDescription) -> None:
    one, other = place(count(data)), place(count(data, epsilon="1/8"))
    shutil.copy2(other, one)
    assert rules() == [(str(one), "must be the answer that was given")]


@pytest.mark.parametrize("name", [f"{'ab' * 32}.json", "more.txt", "notes"])
def test_what_was_never_given_is_found_among_the_answers(data: DataDescription, name: str) -> None:
    file = place(count(data))
    shutil.copy2(file, file.with_name(name))
    assert rules() == [(str(file.with_name(name)), UNKNOWN)]


def test_an_unfinished_write_is_nobodys_answer(data: DataDescription) -> None:
    file = place(count(data))
    file.with_name(".incoming").write_text("x")
    assert verify_everything(files=True)["answers"] == 1


def test_a_folder_that_cannot_be_read_is_found_once(data: DataDescription) -> None:
    file = place(count(data))
    shutil.rmtree(file.parent)
    file.parent.write_text("no folder")
    assert rules() == [(str(file.parent), "must be a folder that can be read (Not a directory)")]


def test_answers_elsewhere_are_compared_where_they_are_looked_for(data: DataDescription, tmp_path: Path) -> None:
    """As those are that earlier versions published, which named no destination."""
    file = place(count(data))
    elsewhere = tmp_path / "elsewhere" / "answers"
    elsewhere.mkdir(parents=True)
    copy, strange = elsewhere / file.name, elsewhere / f"{'cd' * 32}.json"
    shutil.copy2(file, copy)
    (elsewhere / "manifest.txt").write_text("a release may be called answers, too")
    assert verify_everything([tmp_path / "elsewhere"], files=True)["answers"] == 2
    shutil.copy2(file, strange)
    assert verify_everything(files=True)["answers"] == 1
    assert rules(tmp_path / "elsewhere") == [(str(strange), UNKNOWN)]


def test_answers_that_are_given_while_it_reads_are_known(
    data: DataDescription, monkeypatch: pytest.MonkeyPatch
) -> None:
    count(data)
    read = open_records().log.events()
    count(data, epsilon="1/8")
    from penstock.records import published_answers

    calls = []

    def first_as_before(events: Any, *rest: Any, **more: Any) -> Any:
        calls.append(None)
        return published_answers.check_answers(read if len(calls) == 1 else events, *rest, **more)

    monkeypatch.setattr("penstock.records.audit.check_answers", first_as_before)
    assert verify_everything(files=True)["answers"] == 2
    assert len(calls) == 2


def test_a_payload_that_is_signed_and_no_object_is_found(data: DataDescription) -> None:
    file = place(count(data))
    signed_again(file, b"{")
    assert rules() == [(str(file), "must be a DSSE envelope of one answer")]
    assert base64.b64decode(json.loads(file.read_text())["payload"]) == b"{"


def test_asking_goes_on_where_a_destination_was_named(data: DataDescription) -> None:
    """The same question to another place is on record there too."""
    from penstock.flows.answer import Wish
    from penstock.flows.query_text import parse_query
    from penstock.records.home import login

    file = place(count(data))
    moved = data.model_copy(update={"questions": data.questions.model_copy(update={"publish": f"{file.parent}-2"})})
    from fractions import Fraction

    again = answer(
        moved, lambda: Wish(query=parse_query("count where region is North"), epsilon=Fraction(1, 4)), analyst=login()
    )
    assert again.repeated
    assert verify_everything(files=True)["answers"] == 2
    place(again).unlink()
    assert [field for field, _ in rules(kind=PublishedMissing)] == [again.path]
