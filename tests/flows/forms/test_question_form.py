"""The form of a question: what it shows, what it charges to whom, and that no answer is in Prefect."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from prefect import get_client
from prefect.states import State
from prefect.utilities.callables import parameter_schema

from penstock.flows.forms.question import answer_question
from penstock.flows.release_by_reference import SPECS
from penstock.flows.run_ends import REFUSED
from penstock.records import open_records
from penstock.records.ledger.questions import standing, stored_answer
from tests.support.question_house import allow, set_up
from tests.support.workplace import Workplace

ASKED: dict[str, Any] = {
    "data": "data.yaml",
    "statistic": "count",
    "where": ["region is North or South", "age from 20 below 60"],
    "by": "education",
    "epsilon": "1/4",
    "started_by": "rita",
}


@pytest.fixture
def form(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> Workplace:
    set_up(workplace, limit=1, allowed="1")
    allow("1/2", analyst="rita")
    monkeypatch.setenv(SPECS, str(workplace.folder))
    monkeypatch.setenv("PENSTOCK_REPORTS_URL", "http://penstock.example/reports")
    return workplace


def run(**changes: Any) -> State[Any]:
    """Run the flow without a server; refusals come as states."""
    state: State[Any] = answer_question.fn(**{**ASKED, **changes})
    return state


def left() -> Fraction:
    return standing(open_records().log, dataset="survey", model="dp", analyst="rita").left_to_analyst


def key_of_answer() -> str:
    [key] = {event.facts["key"] for event in open_records().log.events() if event.action.value == "ANSWERED"}
    return str(key)


def test_the_form_describes_every_field_and_asks_for_no_individual() -> None:
    schema = parameter_schema(answer_question).model_dump(exclude_unset=True)
    assert all(facts.get("description") for facts in schema["properties"].values())
    assert "individual" not in schema["properties"]
    assert "value" not in json.dumps(schema["properties"]["statistic"])
    Draft202012Validator.check_schema(schema)


def test_an_answer_is_charged_to_whoever_started_it_and_then_free(form: Workplace) -> None:
    state = run()
    assert (state.name, left()) == ("Completed", Fraction(1, 4))
    assert "Epsilon 1/4 was spent" in str(state.message)
    again = run()
    assert (left(), "nothing was spent" in str(again.message)) == (Fraction(1, 4), True)
    refused = run(epsilon="1/2")
    assert refused.name == REFUSED
    assert str(refused.message).startswith("allowance-exceeded: epsilon refused")
    assert run(started_by="mallory").name == REFUSED


def test_a_plan_spends_nothing(form: Workplace) -> None:
    before = open_records().log.head()
    state = run(plan_only=True, epsilon="", within="30")
    assert (state.name, open_records().log.head()) == ("Completed", before)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"where": ["region is North", "age frm 20"]}, "query-refused: where.1 refused: needs is, from or below"),
        ({"of": "income"}, "query-refused: query.of refused"),
        ({"epsilon": "1/0"}, "query-refused: epsilon refused"),
        ({"epsilon": ""}, "query-refused: epsilon refused"),
        ({"data": "../data.yaml"}, "spec-refused: data refused"),
        ({"method": "laplace", "statistic": "median", "of": "age"}, "query-refused: method refused"),
    ],
)
def test_a_fault_names_the_field(changes: dict[str, Any], told: str, form: Workplace) -> None:
    state = run(**changes)
    assert state.name == REFUSED
    assert str(state.message).startswith(told), state.message


def test_no_answer_is_in_prefect(form: Workplace, prefect_home: Path) -> None:
    """Neither in the state, nor in an artifact, a parameter or a file; only a link to its page."""
    state = answer_question(**ASKED, return_state=True)
    stored = stored_answer(open_records().log, key_of_answer())
    assert stored is not None
    values = json.dumps(json.loads(stored.answer)["values"], separators=(",", ":"))
    with get_client(sync_client=True) as client:
        flow_run = client.read_flow_run(state.state_details.flow_run_id)
        artifacts = client.request("POST", "/artifacts/filter", json={}).json()
        states = client.request("GET", "/flow_run_states/", params={"flow_run_id": str(flow_run.id)}).json()
    mine = [each for each in artifacts if each["flow_run_id"] == str(flow_run.id)]
    told = json.dumps([mine, states, flow_run.model_dump(mode="json")], default=str).replace(" ", "")
    assert values not in told
    assert [each["key"] for each in mine] == ["question-answer"]
    assert f"http://penstock.example/answers/{key_of_answer()}/" in mine[0]["data"]
    files = [path for path in prefect_home.rglob("*") if path.is_file()]
    assert files
    assert not any(values.encode() in path.read_bytes().replace(b" ", b"") for path in files)


def test_a_run_is_named_after_its_question() -> None:
    from penstock.flows.forms.question import run_name

    given = {
        "data": "survey.yaml",
        "statistic": "mean",
        "of": "age",
        "where": ["sex is F", "age from 18"],
        "by": "region",
    }
    assert run_name(given) == "mean of age where sex is F and age from 18 by region (survey.yaml)"
    assert (
        run_name({"data": "survey.yaml", "statistic": "count", "of": "", "where": [], "by": ""})
        == "count (survey.yaml)"
    )
    assert len(run_name({**given, "where": ["sex is F"] * 100})) < 100
