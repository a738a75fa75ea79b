"""`penstock keys`, `sign`, `approve` and `refuse` as people type them: what they print, how they exit."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from penstock.flows.planning import draw_up_plan
from penstock.flows.spec import load_spec
from penstock.records import Action, Home, open_records
from penstock.records.approval.approval import DecisionSignatureWrong
from penstock.records.approval.decision import sign_decision, verify_decision
from penstock.records.home import login
from penstock.records.run import unfinished
from penstock.records.signing.signing import existing_private_key, key_id, public_key
from penstock.tasks.approve import take_decision
from penstock.tasks.run.job import attend
from tests.support.ended_command import Typed
from tests.support.waiting_release import (
    NOT_ALLOWED,
    STARTER,
    WaitingRelease,
    actions,
    at_home,
    events,
    introduce,
    make_waiting,
    move_clock,
)
from tests.support.workplace import Workplace

DIGEST = "ab" * 32


@pytest.fixture(scope="module")
def waits(tmp_path_factory: pytest.TempPathFactory) -> WaitingRelease:
    return make_waiting(tmp_path_factory.mktemp("waits"), 2)


@pytest.fixture
def waiting(waits: WaitingRelease, monkeypatch: pytest.MonkeyPatch) -> WaitingRelease:
    waits.as_it_was()
    at_home(waits.place.folder, monkeypatch)
    return waits


def test_a_run_that_waits_says_so_and_how_to_decide(waiting: WaitingRelease, typed: Typed) -> None:
    ended = typed("run", waiting.place.spec_file)
    assert (ended.code, ended.err) == (6, "")
    assert ended.out.splitlines() == [
        "Waiting for approval survey",
        f"  run                 {waiting.run}",
        f"  content             {waiting.waiting.content}",
        "  approvals missing   2 of 2",
        f"  may decide          anna, ben, {STARTER}, {login()}",
        f"  until               {waiting.waiting.until}",
        "  looks               0 of 10 allowed: "
        "runs that published nothing new or declared data anew; outputs left out",
        f"  confidential report {waiting.folder}/report.html",
        f"  decide              penstock approve {waiting.run} --reviewer NAME --key FILE",
    ]


def test_a_run_that_waits_is_one_document_for_a_program(waiting: WaitingRelease, typed: Typed) -> None:
    ended = typed("run", waiting.place.spec_file, "--json")
    assert ended.code == 6
    assert ended.document() == {"waiting": json.loads(json.dumps(waiting.waiting.as_dict()))}
    assert ended.document()["waiting"]["missing"] == 2


def test_an_approval_that_is_not_the_last_says_what_is_missing(waiting: WaitingRelease, typed: Typed) -> None:
    first = typed(*waiting.decision("approve", "anna", "--json"))
    assert first.code == 6
    assert first.document() == {"waiting": {**json.loads(json.dumps(waiting.waiting.as_dict())), "missing": 1}}
    last = typed(*waiting.decision("approve", "ben", "--json"))
    assert last.code == 0
    [bundle] = waiting.place.bundles()
    assert (last.document()["run"], last.document()["path"]) == (waiting.run, str(bundle))


def test_a_refusal_is_a_decision_that_was_carried_out(waiting: WaitingRelease, typed: Typed) -> None:
    ended = typed(*waiting.decision("refuse", "anna", "--reason", "too wide", "--json"))
    assert ended.code == 0
    assert ended.document() == {"run": waiting.run, "decision": "refuse"}


def test_a_refusal_in_words(waiting: WaitingRelease, typed: Typed) -> None:
    ended = typed(*waiting.decision("refuse", "anna", "--reason", "too wide"))
    assert (ended.code, ended.out, ended.err) == (0, "On record: anna decided to refuse.\n", "")


@pytest.mark.parametrize(
    ("reviewer", "key", "code"),
    [
        ("nobody", "anna", "reviewer-not-trusted"),
        ("ANNA", "anna", "reviewer-not-trusted"),
        ("anna", "ben", "decision-signature-wrong"),
        (NOT_ALLOWED, NOT_ALLOWED, "reviewer-not-allowed"),
        (STARTER, STARTER, "own-run"),
        (login(), login(), "own-run"),
    ],
)
@pytest.mark.parametrize("word", ["approve", "refuse"])
def test_a_decision_that_does_not_count_is_on_record_and_changes_nothing(
    waiting: WaitingRelease, typed: Typed, word: str, reviewer: str, key: str, code: str
) -> None:
    staged = waiting.staged_files()
    ended = typed(*waiting.decision(word, reviewer, "--reason", "canary", "--json", key=key))
    assert (ended.code, ended.document()["refused"], ended.document()["exit_code"]) == (6, code, 6)
    assert "canary" not in ended.out
    assert waiting.since() == ["DECISION_REFUSED"]
    last = events(waiting.run)[-1]
    assert last.facts == {"reviewer": reviewer, "code": code, "content": waiting.waiting.content}
    assert waiting.is_waiting()
    assert waiting.staged_files() == staged


def test_the_same_reviewer_does_not_decide_twice(waiting: WaitingRelease, typed: Typed) -> None:
    typed(*waiting.decision("approve", "anna"))
    for word in ("approve", "refuse"):
        again = typed(*waiting.decision(word, "anna", "--reason", "again", "--json"))
        assert (again.code, again.document()["refused"]) == (6, "decided-twice")
    assert waiting.since() == ["APPROVED", "DECISION_REFUSED", "DECISION_REFUSED"]
    assert waiting.is_waiting()


def test_a_withdrawn_key_decides_nothing(waiting: WaitingRelease, typed: Typed) -> None:
    assert typed("keys", "withdraw", "anna", "--reason", "left").code == 0
    ended = typed(*waiting.decision("approve", "anna", "--json"))
    assert (ended.code, ended.document()["refused"]) == (6, "reviewer-not-trusted")
    assert waiting.is_waiting()


def test_an_approval_after_the_deadline_is_on_record_and_the_run_has_ended(
    waiting: WaitingRelease, typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    move_clock(monkeypatch, timedelta(days=15))
    ended = typed(*waiting.decision("approve", "anna", "--json"))
    assert (ended.code, ended.document()["refused"]) == (6, "deadline-passed")
    assert waiting.since() == ["SETTLED", "REFUSED", "DECISION_REFUSED"]
    assert waiting.outcome()["code"] == "approval-expired"
    assert waiting.place.public_files() == []
    assert waiting.place.working_files() == []


def test_a_signature_over_another_digest_does_not_count(waiting: WaitingRelease) -> None:
    """As a form may hand it in."""
    signature = sign_decision(existing_private_key(waiting.key("anna")), content=DIGEST, decision="approve", reason="")
    plan = draw_up_plan(load_spec(waiting.place.spec_file))
    with attend(plan, run=waiting.run) as job, pytest.raises(DecisionSignatureWrong):
        take_decision(job, reviewer="anna", decision="approve", reason="", signature=signature)
    assert waiting.since() == ["DECISION_REFUSED"]
    assert waiting.is_waiting()


@pytest.mark.parametrize("run", ["20260101T000000Z-00000000", "-", "no run at all", "../../etc"])
def test_a_run_that_never_waited_cannot_be_decided_about(waiting: WaitingRelease, typed: Typed, run: str) -> None:
    before = len(events())
    ended = typed("approve", "--reviewer", "anna", "--key", waiting.key("anna"), "--json", "--", run)
    assert (ended.code, ended.document()["refused"]) == (6, "nothing-waits")
    assert len(events()) == before


def test_a_run_that_died_before_it_asked_cannot_be_decided_about(workplace: Workplace, typed: Typed) -> None:
    workplace.raw["approve"] = {"reviewers": 1, "allowed": ["anna"]}
    introduce(workplace.folder, "anna")
    with attend(draw_up_plan(load_spec(workplace.write_spec()))) as job:
        run = job.run.id
    ended = typed("approve", run, "--reviewer", "anna", "--key", workplace.folder / "anna.pem", "--json")
    assert (ended.code, ended.document()["refused"]) == (6, "nothing-waits")
    assert list(unfinished(Home.open())) == [run]


def test_a_run_whose_folder_is_gone_cannot_be_approved(waiting: WaitingRelease, typed: Typed) -> None:
    waiting.folder.rename(waiting.place.folder / "elsewhere")
    ended = typed(*waiting.decision("approve", "anna", "--json"))
    assert (ended.code, ended.document()["refused"]) == (6, "nothing-waits")
    assert waiting.since() == []


def test_a_run_that_another_process_has_in_hand_is_left_to_it(waiting: WaitingRelease, typed: Typed) -> None:
    with attend(draw_up_plan(load_spec(waiting.place.spec_file)), run=waiting.run):
        ended = typed(*waiting.decision("approve", "anna", "--json"))
    assert (ended.code, ended.document()["refused"]) == (1, "run-refused")
    assert waiting.since() == []


def test_a_decision_after_publication_is_on_record_and_changes_nothing(waiting: WaitingRelease, typed: Typed) -> None:
    for name in ("anna", "ben"):
        typed(*waiting.decision("approve", name))
    bundles = waiting.place.bundles()
    late = typed(*waiting.decision("refuse", "anna", "--reason", "I have changed my mind", "--json"))
    assert (late.code, late.document()["refused"]) == (6, "decided-twice")
    assert actions(waiting.run)[-2:] == ["PUBLISHED", "DECISION_REFUSED"]
    assert waiting.place.bundles() == bundles


def test_a_server_that_does_not_answer_is_noticed_before_the_decision_is_on_record(
    waiting: WaitingRelease, typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:1/api")
    ended = typed(*waiting.decision("approve", "anna", "--json"))
    assert (ended.code, ended.document()["refused"]) == (1, "server-not-ready")
    assert waiting.since() == []


@pytest.mark.parametrize("reason", ["", "   ", "two\nlines", "x" * 501])
def test_a_reason_that_cannot_stand_on_record_is_refused_before_it_is_signed(
    waiting: WaitingRelease, typed: Typed, reason: str
) -> None:
    ended = typed(*waiting.decision("refuse", "anna", "--reason", reason, "--json"))
    assert (ended.code, ended.document()["refused"]) == (6, "decision-refused")
    assert [fault["field"] for fault in ended.document()["faults"]] == ["reason"]
    assert waiting.since() == []


def test_without_a_key_file_nothing_is_decided(waiting: WaitingRelease, typed: Typed) -> None:
    ended = typed(*waiting.decision("approve", "anna", "--json", key="nobody"))
    assert (ended.code, ended.document()["refused"]) == (7, "key-damaged")
    assert waiting.since() == []


def test_a_key_is_made_trusted_listed_and_withdrawn(workplace: Workplace, typed: Typed) -> None:
    path = workplace.folder / "eva.pem"
    made = typed("keys", "new", path, "--json").document()
    identity = key_id(public_key(path.with_name("eva.pem.pub")))
    assert made == {"key_id": identity, "private": str(path), "public": f"{path}.pub"}
    trusted = typed("keys", "trust", "eva", f"{path}.pub", "--reason", "hired", "--json")
    assert trusted.document() == {"name": "eva", "key_id": identity}
    [listed] = typed("keys", "list", "--json").document()["people"]
    assert (listed["name"], listed["key_id"]) == ("eva", identity)
    assert typed("keys", "withdraw", "eva", "--reason", "left", "--json").document() == {"name": "eva"}
    assert typed("keys", "list", "--json").document() == {"people": []}
    assert [event.action for event in open_records().log.events()] == [Action.KEY_TRUSTED, Action.KEY_WITHDRAWN]


def test_keys_in_words(workplace: Workplace, typed: Typed) -> None:
    path = workplace.folder / "eva.pem"
    made = typed("keys", "new", path).out
    identity = key_id(public_key(path.with_name("eva.pem.pub")))
    assert made == f"Key {identity}: keep {path} to yourself; hand {path}.pub to whoever runs `penstock keys trust`.\n"
    trusted = typed("keys", "trust", "eva", f"{path}.pub", "--reason", "hired").out
    assert trusted == f"eva decides with key {identity}.\n"
    header, line = typed("keys", "list").out.splitlines()
    assert header.split() == ["name", "key", "since"]
    assert line.split()[:2] == ["eva", identity]
    assert typed("keys", "withdraw", "eva", "--reason", "left").out == "The key of eva is withdrawn.\n"


@pytest.mark.parametrize("command", [["keys", "list"], ["keys", "withdraw", "eva", "--reason", "left"]])
def test_where_there_are_no_records_nobody_is_looked_up(workplace: Workplace, typed: Typed, command: list[str]) -> None:
    ended = typed(*command, "--json")
    assert (ended.code, ended.document()["refused"]) == (7, "records-absent")
    assert not workplace.home.exists()


@pytest.mark.parametrize(
    ("options", "decision", "reason"),
    [([], "approve", ""), (["--refuse", "--reason", "too wide"], "refuse", "too wide")],
)
def test_a_signature_is_made_without_a_home(
    workplace: Workplace, typed: Typed, options: list[str], decision: str, reason: str
) -> None:
    path = workplace.folder / "eva.pem"
    typed("keys", "new", path)
    document = typed("sign", DIGEST, "--key", path, *options, "--json").document()
    assert (document["decision"], document["reason"]) == (decision, reason)
    assert typed("sign", DIGEST, "--key", path, *options).out == f"{document['signature']}\n"
    verify_decision(
        public_key(path.with_name("eva.pem.pub")),
        content=DIGEST,
        decision=decision,
        reason=reason,
        signature=document["signature"],
    )
    assert not workplace.home.exists()


@pytest.mark.parametrize(
    ("digest", "options", "field"), [(DIGEST, ["--refuse"], "reason"), (DIGEST.upper(), [], "content")]
)
def test_what_could_never_count_is_not_signed(
    workplace: Workplace, typed: Typed, digest: str, options: list[str], field: str
) -> None:
    path = workplace.folder / "eva.pem"
    typed("keys", "new", path)
    ended = typed("sign", digest, "--key", path, *options, "--json")
    assert (ended.code, ended.document()["refused"]) == (6, "decision-refused")
    assert [fault["field"] for fault in ended.document()["faults"]] == [field]
