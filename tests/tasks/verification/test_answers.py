"""A published answer verifies; whatever is changed in it, or signed by somebody else, does not."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from penstock.mechanisms.refusal import Refusal
from penstock.records import Home
from penstock.records.files.digest import canonical
from penstock.records.published_answers import KIND
from penstock.records.signing import envelope, signing
from penstock.tasks.verification.answer import AnswerFinding, verify_answer
from tests.support.question_house import asked, set_up
from tests.support.workplace import Workplace

NORTH = "count where region is North or South by education"


@pytest.fixture
def published(workplace: Workplace) -> Path:
    data = set_up(workplace, publish=str(workplace.published))
    found = asked(data, NORTH, epsilon="1/4")
    assert found.path == str(workplace.published / "survey" / "answers" / f"{found.id}.json")
    return Path(found.path)


def key() -> Path:
    return Home.located().public_key_path


def payload(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(base64.b64decode(json.loads(file.read_bytes())["payload"]))
    return found


def signed_again(file: Path, said: object, kind: str = KIND, signer: Ed25519PrivateKey | None = None) -> None:
    content = said if isinstance(said, bytes) else canonical(said)
    made = envelope.sealed(content, kind, signer or Home.open().signing_key())
    file.write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")


def test_it_verifies_and_says_what_cannot_be_seen(published: Path) -> None:
    findings = {each.name: each for each in verify_answer(published, key())}
    assert {name for name, each in findings.items() if each.checked} == {"signature", "question", "promise", "answer"}
    assert findings["question"].text == f"It answers: {NORTH}"
    assert not findings["noise"].checked
    assert oct(published.stat().st_mode)[-3:] == "644"


def test_it_tells_the_answer_itself(published: Path) -> None:
    [found] = [each for each in verify_answer(published, key()) if isinstance(each, AnswerFinding)]
    said = payload(published)["answer"]
    assert found.answer["query"] == NORTH
    assert found.answer["values"] == dict(zip(said["groups"], said["values"], strict=True))
    assert len(found.answer["values"]) == 4
    assert found.answer["standard_error"] == said["standard_error"]
    assert found.answer["promise"] == said["guarantee"]["statement"]
    assert found.as_dict()["answer"] == found.answer


def test_a_wrong_key_is_told_as_such_and_a_changed_answer_as_changed(published: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.pub"
    other.write_bytes(signing.public_pem(Ed25519PrivateKey.generate().public_key()))
    with pytest.raises(Refusal) as refused:
        verify_answer(published, other)
    [fault] = refused.value.faults
    assert fault.field == "signature"
    assert fault.rule.startswith("must be made over this content")
    assert "another publisher's key" in fault.remedy
    assert signing.key_id(signing.public_key(key())) in fault.got
    told = json.loads(published.read_bytes())
    for keyid in (told["signatures"][0]["keyid"], "\x1b[2J"):
        told["signatures"][0]["keyid"] = keyid
        told["payload"] = base64.b64encode(b"{}").decode()
        published.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
        with pytest.raises(Refusal) as refused:
            verify_answer(published, key())
        [fault] = refused.value.faults
        assert (fault.field, fault.got) == ("signature", "")
        assert fault.remedy.startswith("Do not use it")


def test_asked_again_it_appears_again_if_it_is_gone_and_stays_if_it_is_there(
    published: Path, workplace: Workplace
) -> None:
    from penstock.flows.spec.data_description import load_description

    data, before = load_description(workplace.folder / "data.yaml"), published.read_bytes()
    asked(data, NORTH, epsilon="1/4")
    assert published.read_bytes() == before
    published.unlink()
    assert asked(data, NORTH, epsilon="1/4").repeated
    assert payload(published)["answer"] == json.loads(base64.b64decode(json.loads(before)["payload"]))["answer"]


def test_any_changed_byte_of_the_payload_is_refused(published: Path) -> None:
    told = json.loads(published.read_bytes())
    content = base64.b64decode(told["payload"])
    for place in range(0, len(content), 97):
        changed = bytearray(content)
        changed[place] ^= 1
        told["payload"] = base64.b64encode(changed).decode()
        published.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
        with pytest.raises(Refusal) as refused:
            verify_answer(published, key())
        assert (refused.value.code, refused.value.kind) == ("published-answer-altered", "integrity")


@pytest.mark.parametrize(
    ("place", "value", "code"),
    [
        ("values", [1], "claim-broken"),
        ("errors", [1.0, 2.0, 3.0, 4.0, 5.0], "claim-broken"),
        ("epsilon", "1/8", "claim-broken"),
        ("method", "magic", "claim-broken"),
        ("method", "exponential", "claim-broken"),
        ("groups", ["x", "y", "z", "a"], "claim-broken"),
        ("query", {"statistic": "sum"}, "claim-broken"),
        ("columns", {}, "claim-broken"),
        ("epsilon", "1/0", "claim-broken"),
        ("epsilon", "1e99999999", "claim-broken"),
        ("format", 2, "published-answer-altered"),
        ("extra", 1, "published-answer-altered"),
        ("guarantee", {}, "published-answer-altered"),
    ],
)
def test_a_signed_answer_whose_parts_disagree_is_refused(published: Path, place: str, value: Any, code: str) -> None:
    said = payload(published)
    said["answer"][place] = value
    signed_again(published, said)
    with pytest.raises(Refusal) as refused:
        verify_answer(published, key())
    assert refused.value.code == code


def _with_a_remark(text: str) -> str:
    return text.replace("{", '{\n  "correction": "The right count is 42.",', 1)


def _with_a_second_signature(text: str) -> str:
    told = json.loads(text)
    told["signatures"].append({"keyid": "another", "sig": "AAAA"})
    return json.dumps(told, indent=2) + "\n"


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text + " ",
        lambda text: text.replace("{", "{ ", 1),
        lambda text: text.replace("{", '{\n  "payload": "e30=",', 1),
        _with_a_remark,
        _with_a_second_signature,
    ],
    ids=["a blank at the end", "a blank", "another payload before it", "a remark", "a second signature"],
)
def test_nothing_stands_beside_what_was_signed(published: Path, change: Callable[[str], str]) -> None:
    published.write_text(change(published.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(Refusal) as refused:
        verify_answer(published, key())
    assert refused.value.code == "published-answer-altered"


def test_another_key_another_kind_and_another_form_are_refused(published: Path) -> None:
    said = payload(published)
    for write in (
        lambda: signed_again(published, said, signer=Ed25519PrivateKey.generate()),
        lambda: signed_again(published, said, kind="application/vnd.in-toto+json"),
        lambda: signed_again(published, json.dumps(said, indent=1).encode()),
        lambda: signed_again(published, []),
        lambda: published.write_bytes(b"no json"),
        lambda: published.write_bytes(b"[]"),
        lambda: published.write_bytes(b'{"payload": 5}'),
    ):
        write()
        with pytest.raises(Refusal) as refused:
            verify_answer(published, key())
        assert refused.value.code == "published-answer-altered"


def test_a_file_too_large_or_without_key_is_refused(published: Path, tmp_path: Path) -> None:
    with pytest.raises(Refusal) as refused:
        verify_answer(published, tmp_path / "none.pub")
    assert (refused.value.code, refused.value.faults[0].field) == ("key-missing", "--key")
    os.truncate(published, (16 << 20) + 1)
    with pytest.raises(Refusal, match="must have at most 16 MiB"):
        verify_answer(published, key())
    published.unlink()
    with pytest.raises(Refusal, match="answer refused: must be a file that exists"):
        verify_answer(published, key())
    published.mkdir()
    with pytest.raises(Refusal, match="must be readable"):
        verify_answer(published, key())


def test_answers_about_one_individual_are_not_published(workplace: Workplace) -> None:
    workplace.raw["source"]["unit"] = "person_id"
    publish = str(workplace.published)
    data = set_up(workplace, unit="individual", adjacency="presence", rows_per_unit=1, publish=publish)
    assert asked(data, 'value of income for "P00001"', epsilon="1").path is None
    assert not workplace.published.exists()


def test_a_folder_in_the_home_or_one_that_cannot_be_written_is_refused(workplace: Workplace) -> None:
    data = set_up(workplace, publish=str(workplace.home / "answers"))
    with pytest.raises(Refusal) as refused:
        asked(data, NORTH, epsilon="1/4")
    assert refused.value.code == "destination-in-home"
    (workplace.folder / "file").write_text("", encoding="utf-8")
    update = {"questions": data.questions.model_copy(update={"publish": str(workplace.folder / "file")})}
    blocked = data.model_copy(update=update)
    with pytest.raises(Refusal) as refused:
        asked(blocked, NORTH, epsilon="1/4")
    assert (refused.value.code, refused.value.faults[0].field) == ("answer-not-writable", "questions.publish")
    update = {"questions": data.questions.model_copy(update={"publish": str(workplace.published)})}
    assert asked(data.model_copy(update=update), NORTH, epsilon="1/4").repeated  # charged once
