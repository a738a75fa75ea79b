"""The plan of a question: what each method costs and leaves, from public facts alone."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from penstock.flows.answer import Wish, _chosen
from penstock.flows.query_text import QueryRefused, parse_query
from penstock.flows.question_plan import QuestionPlan, plan_question
from penstock.flows.spec.data_description import DataDescription
from penstock.mechanisms.refusal import Refusal
from penstock.records import Home, open_records
from penstock.records.home import login
from tests.support.question_house import asked, set_up
from tests.support.workplace import Workplace, open_dp_account


def planned(data: DataDescription, text: str, **wanted: str) -> QuestionPlan:
    numbers = {name: value if name == "method" else Fraction(value) for name, value in wanted.items()}
    return plan_question(data, Wish(query=parse_query(text), **numbers), analyst=login())  # type: ignore[arg-type]


def test_it_says_what_the_answer_then_does(workplace: Workplace) -> None:
    data = set_up(workplace, limit=2, allowed="1")
    [laplace, *_] = planned(data, "count by region", epsilon="1/4")["methods"]
    found = asked(data, "count by region", epsilon="1/4")
    assert (laplace["method"], laplace["epsilon"]) == (found.method, str(found.epsilon))
    assert (laplace["left"], laplace["left_to_analyst"]) == (str(found.left), str(found.left_to_analyst))
    assert (laplace["standard_error"], laplace["half_width"]) == (found.standard_error, found.half_width)
    assert laplace["promise"] == found.promise


def test_what_cannot_be_paid_is_planned_and_says_so(workplace: Workplace) -> None:
    data = set_up(workplace, limit=1, allowed="1/8", relaxations=["idp", "bdp"])
    found = {
        each["method"]: each for each in planned(data, "sum of age where region is North", epsilon="1/4")["methods"]
    }
    assert (found["laplace"]["left"], found["laplace"]["left_to_analyst"]) == ("3/4", None)
    assert found["individual"]["left"] is None  # no account of idp
    assert found["individual"]["is_upper_bound"]
    open_dp_account(1, model="idp", adjacency="from_D")
    found = {
        each["method"]: each for each in planned(data, "sum of age where region is North", epsilon="1/4")["methods"]
    }
    assert (found["individual"]["left"], found["individual"]["left_to_analyst"]) == ("3/4", None)


def test_the_number_of_records_is_told_only_where_it_is_public(workplace: Workplace) -> None:
    data = set_up(workplace)
    assert planned(data, "mean of age", epsilon="1/4")["records"] == 400
    questions = data.questions.model_copy(update={"adjacency": "add_remove"})
    hidden = data.model_copy(update={"questions": questions})
    assert planned(hidden, "mean of age", epsilon="1/4")["records"] is None


def test_each_method_has_its_own_least_epsilon(workplace: Workplace) -> None:
    data = set_up(workplace)
    found = planned(data, "count where region is North", within="30")
    assert {each["method"] for each in found["methods"]} >= {"laplace", "staircase"}
    assert all(each["half_width"] is not None and each["half_width"] <= 30 for each in found["methods"])
    only = planned(data, "count where region is North", within="30", method="staircase")
    assert [each["method"] for each in only["methods"]] == ["staircase"]
    scaled = planned(data, "count where region is North", scale="8")
    assert [each["epsilon"] for each in scaled["methods"] if each["method"] == "laplace"] == ["1/8"]
    assert "staircase" in scaled["cannot"]


def test_a_wanted_error_that_cannot_be_promised_is_refused_with_its_reason(workplace: Workplace) -> None:
    data = set_up(workplace, relaxations=["bdp"])
    found = planned(data, "mean of age by region", within="5")["cannot"]
    assert "number of records that take part, which is not known" in found["laplace"]
    assert found["laplace"] == found["bootstrap"]
    assert "give a prior" in planned(data, "median of age", within="5")["cannot"]["exponential"]
    with pytest.raises(QueryRefused, match="cannot be kept by laplace: the error depends on the number of records"):
        asked(data, "mean of age by region", within="5", method="laplace")


def test_a_plan_makes_no_home_and_goes_on_no_record(
    workplace: Workplace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = set_up(workplace)
    before = open_records().log.head()
    planned(data, "count by region", epsilon="1/4")
    with pytest.raises(QueryRefused):
        planned(data, "count by nothing", epsilon="1/4")
    assert open_records().log.head() == before
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "nowhere"))
    for adjacency in ("replace", "add_remove"):  # under replace the number of records is looked up
        questions = data.questions.model_copy(update={"adjacency": adjacency})
        found = planned(data.model_copy(update={"questions": questions}), "count by region", epsilon="1/4")
        assert found["methods"][0]["left"] is None
        assert not Home.located().root.exists()


def test_damaged_records_are_not_passed_over(workplace: Workplace) -> None:
    data = set_up(workplace)
    (workplace.home / "penstock.db").write_bytes(b"no database")
    with pytest.raises(Refusal):
        planned(data, "count by region", epsilon="1/4")


def test_a_relaxed_method_is_never_the_usual_one() -> None:
    with pytest.raises(QueryRefused) as refused:
        _chosen({}, Wish(query=parse_query("count"), epsilon=Fraction(1)))
    assert refused.value.faults[0].field == "method"


def test_what_is_left_of_one_person_is_not_told(workplace: Workplace) -> None:
    workplace.raw["source"]["unit"] = "person_id"
    data = set_up(workplace, unit="individual", adjacency="presence", rows_per_unit=1)
    found = planned(data, 'value of income for "P00001"', epsilon="1")
    assert {(each["left"], each["left_to_analyst"]) for each in found["methods"]} == {(None, None)}
    assert found["nothing_left"] == "what is left depends on the person, and is not told"
    assert found["wanted"] is None
    assert planned(data, "count", within="50", confidence="0.99")["wanted"] == "99 % within 50"
