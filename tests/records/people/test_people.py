from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.records import Action, Home, Log, open_records
from penstock.records.log.log import EventRefused
from penstock.records.people.trusted_keys import (
    KeyTaken,
    NameTaken,
    PersonRefused,
    PersonUnknown,
    is_name,
    people,
    trust,
    withdraw,
)
from penstock.records.signing.signing import key_id
from tests.records.reviewers import REASON, public


@pytest.fixture
def log(either_home: Home) -> Log:
    return open_records(home=either_home).log


@pytest.fixture
def how(now: datetime) -> dict[str, Any]:
    return {"actor": "officer", "reason": REASON, "now": now}


def test_the_log_is_the_register(log: Log, home: Home, how: dict[str, Any]) -> None:
    anna = trust(log, "anna", public("anna"), **how)
    assert (anna.name, anna.public_key, anna.since) == ("anna", public("anna"), "2026-11-16T02:15:00+00:00")
    assert people(open_records(home=home).log) == {"anna": anna}
    (event,) = log.events("-")
    assert (event.action, event.actor) == (Action.KEY_TRUSTED, "officer")
    assert event.facts == {
        "name": "anna",
        "key_id": key_id(public("anna")),
        "public_key": public("anna").public_bytes_raw().hex(),
        "reason": REASON,
    }


def test_the_register_is_read_the_same_inside_a_transaction(log: Log, how: dict[str, Any]) -> None:
    trust(log, "anna", public("anna"), **how)
    with log.transaction() as writer:
        assert people(writer) == people(log)


def test_a_withdrawn_key_is_trusted_no_more(log: Log, how: dict[str, Any]) -> None:
    trust(log, "anna", public("anna"), **how)
    bert = trust(log, "bert", public("bert"), **how)
    withdraw(log, "anna", **how)
    assert people(log) == {"bert": bert}
    event = log.events("-")[-1]
    assert event.action is Action.KEY_WITHDRAWN
    assert event.facts == {"name": "anna", "key_id": key_id(public("anna")), "reason": REASON}


def test_a_name_may_get_a_new_key_after_a_withdrawal(log: Log, how: dict[str, Any]) -> None:
    trust(log, "anna", public("anna"), **how)
    withdraw(log, "anna", **how)
    assert people(log) == {} != {"anna": trust(log, "anna", public("anna's second"), **how)} == people(log)


@pytest.mark.parametrize("name", ["anna", "Anna", "ANNA"])
def test_a_name_that_has_a_key_gets_no_other(log: Log, how: dict[str, Any], name: str) -> None:
    trust(log, "anna", public("anna"), **how)
    with pytest.raises(NameTaken, match=f"must have no trusted key, got '{name}'") as caught:
        trust(log, name, public("bert"), **how)
    assert (caught.value.code, caught.value.kind) == ("name-taken", "approval")
    assert len(log.events()) == 1


@pytest.mark.parametrize("name", ["anna", "bert"])
@pytest.mark.parametrize("withdrawn", [True, False])
def test_a_key_is_trusted_once_for_one_name(log: Log, how: dict[str, Any], name: str, withdrawn: bool) -> None:
    trust(log, "anna", public("anna"), **how)
    if withdrawn:
        withdraw(log, "anna", **how)
    with pytest.raises(KeyTaken if withdrawn or name == "bert" else NameTaken) as caught:
        trust(log, name, public("anna"), **how)
    assert caught.value.kind == "approval"
    assert caught.value.code in ("key-taken", "name-taken")
    assert len(log.events()) == 1 + withdrawn


@pytest.mark.parametrize("name", ["anna", "Anna", "carla"])
def test_what_is_not_trusted_cannot_be_withdrawn(log: Log, how: dict[str, Any], name: str) -> None:
    trust(log, "anna", public("anna"), **how)
    withdraw(log, "anna", **how)
    with pytest.raises(PersonUnknown, match="must have a trusted key") as caught:
        withdraw(log, name, **how)
    assert (caught.value.code, caught.value.kind) == ("person-unknown", "approval")


@pytest.mark.parametrize("name", ["", ".anna", "-", "an na", "anna\n", "ännä", "a" * 65, "a/b", "\ud800"])
def test_what_is_no_name_is_refused(log: Log, how: dict[str, Any], name: str) -> None:
    for attempt in (lambda: trust(log, name, public("anna"), **how), lambda: withdraw(log, name, **how)):
        with pytest.raises(PersonRefused, match="1 to 64 letters") as caught:
            attempt()
        assert (caught.value.code, caught.value.kind) == ("person-refused", "approval")
    assert log.events() == []


@given(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", fullmatch=True))
def test_a_name_is_plain_text(name: str) -> None:
    assert is_name(name)
    assert not is_name(name + "\n")


@pytest.mark.parametrize("reason", ["", "  ", "canary\n", "canary" * 100])
def test_trust_and_withdrawal_need_a_reason_of_one_line(log: Log, how: dict[str, Any], reason: str) -> None:
    trust(log, "bert", public("bert"), **how)
    how["reason"] = reason
    for attempt in (lambda: trust(log, "anna", public("anna"), **how), lambda: withdraw(log, "bert", **how)):
        with pytest.raises(PersonRefused, match="reason refused") as caught:
            attempt()
        assert "canary" not in str(caught.value)
    assert set(people(log)) == {"bert"}


def test_a_moment_without_time_zone_is_refused(log: Log, how: dict[str, Any], now: datetime) -> None:
    with pytest.raises(EventRefused):
        trust(log, "anna", public("anna"), **{**how, "now": now.replace(tzinfo=None)})
    assert people(log) == {}
