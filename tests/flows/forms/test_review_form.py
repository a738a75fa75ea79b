"""The form of a reviewer: a signature that was made elsewhere is taken, and the run goes on; or it is refused."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.flows.forms.review import review_release
from penstock.flows.run_ends import REFUSED
from penstock.records.approval.approval import NothingWaits, OwnRun
from penstock.records.approval.decision import DecisionSignatureWrong
from tests.support.ended_command import Typed
from tests.support.waiting_release import STARTER, WaitingRelease, at_home, make_waiting

pytestmark = pytest.mark.usefixtures("prefect_home")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> WaitingRelease:
    return make_waiting(tmp_path_factory.mktemp("review-form"), 2)


@pytest.fixture
def waiting(made: WaitingRelease, monkeypatch: pytest.MonkeyPatch) -> WaitingRelease:
    made.as_it_was()
    at_home(made.place.folder, monkeypatch)
    return made


def signature(waiting: WaitingRelease, typed: Typed, name: str, *more: str) -> str:
    return typed("sign", waiting.waiting.content, "--key", waiting.key(name), *more).out


def send(waiting: WaitingRelease, reviewer: str, signature: str, **fields: Any) -> Any:
    filled = {"run": waiting.run, "decision": "approve", "reviewer": reviewer, "signature": signature, **fields}
    return review_release(**filled, return_state=True)


def test_the_last_approval_in_the_form_publishes_exactly_what_was_staged(waiting: WaitingRelease, typed: Typed) -> None:
    staged = waiting.staged_files()
    first = send(waiting, "anna", signature(waiting, typed, "anna"))
    assert first.is_completed()
    assert first.message == "On record: anna decided to approve. Approvals missing: 1 of 2."
    assert waiting.is_waiting()
    last = send(waiting, "ben", signature(waiting, typed, "ben"))
    assert last.is_completed()
    [bundle] = waiting.place.bundles()
    assert last.message == f"On record: ben decided to approve. Published at {bundle}."
    assert {name: content for name, content in staged.items() if (bundle / name).read_bytes() != content} == {}


def test_a_refusal_in_the_form_ends_the_run(waiting: WaitingRelease, typed: Typed) -> None:
    why = "the cells are too small"
    given = signature(waiting, typed, "anna", "--refuse", "--reason", why)
    ended = send(waiting, "anna", given, decision="refuse", reason=why)
    assert ended.message == "On record: anna decided to refuse. The run was told."
    assert (waiting.outcome()["outcome"], waiting.place.bundles()) == ("refused", [])


def test_a_decision_that_does_not_count_fails_the_flow_run_with_its_code(waiting: WaitingRelease, typed: Typed) -> None:
    own = signature(waiting, typed, STARTER)
    for refusal, reviewer, given in ((DecisionSignatureWrong, "anna", own), (OwnRun, STARTER, own)):
        ended = send(waiting, reviewer, given)
        assert (ended.name, ended.is_failed()) == (REFUSED, True)
        assert ended.message.startswith(f"{refusal.code}: ")
        assert waiting.is_waiting()
    ended = send(waiting, "anna", own, run="20260101T000000Z-00000000")
    assert ended.message.startswith(f"{NothingWaits.code}: ")


def test_no_private_key_can_be_given_in_the_form() -> None:
    from prefect.utilities.callables import parameter_schema

    shown = parameter_schema(review_release).model_dump()
    assert set(shown["properties"]) == {"run", "decision", "reviewer", "signature", "reason"}
    assert shown["required"] == ["run", "decision", "reviewer", "signature"]
    assert all(field["description"] for field in shown["properties"].values())
