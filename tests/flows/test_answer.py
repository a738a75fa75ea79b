"""A question from its text to its answer: charged once, stored, refused on record, and never by what the data hold."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import yaml

from penstock.flows.answer import Wish, answer, settled
from penstock.flows.query_text import QueryRefused, parse_query
from penstock.flows.release import release
from penstock.flows.spec import load_spec
from penstock.flows.spec.data_description import load_description
from penstock.mechanisms.refusal import Refusal
from penstock.records import Home, open_records
from penstock.records.home import login
from penstock.records.ledger.questions import standing
from penstock.tasks.questions import asking, identity, reading
from penstock.tasks.questions._sealed import QuestionFailed
from tests.support.question_house import allow, asked, rested, set_up
from tests.support.workplace import Workplace, open_dp_account

NORTH = "count where region is North"


@pytest.fixture(autouse=True)
def files_rest_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identity, "_AT_REST", 10**6)


def events() -> list[tuple[str, Any]]:
    return [(event.action.value, event.facts) for event in open_records().log.events()]


def actions() -> list[str]:
    return [action for action, _ in events()][3:]  # after the officer, the account and the allowance


def left() -> tuple[Fraction, Fraction]:
    found = standing(open_records().log, dataset="survey", model="dp", analyst=login())
    return found.left, found.left_to_analyst


def test_a_question_is_charged_once_and_asked_again_for_nothing(either_workplace: Workplace) -> None:
    data = set_up(either_workplace)
    first = asked(data, NORTH, epsilon="1/4")
    truth = pc.sum(pc.equal(pq.read_table(either_workplace.source)["region"], "North")).as_py()
    assert isinstance(first.value, int)
    assert abs(first.value - truth) < 200  # of 400 records; further off has a probability below 1e-20
    assert (first.repeated, first.left, first.left_to_analyst) == (False, Fraction(7, 4), Fraction(7, 4))
    again = asked(data, NORTH, epsilon="1/4")
    assert (again.values, again.id, again.repeated) == (first.values, first.id, True)
    assert left() == (Fraction(7, 4), Fraction(7, 4))
    dearer = asked(data, NORTH, epsilon="1/2")
    assert (dearer.id != first.id, dearer.repeated) == (True, False)
    assert left() == (Fraction(5, 4), Fraction(5, 4))
    assert actions() == ["SITTING_OPENED", "ANSWERED", "ASKED_AGAIN", "ANSWERED"]
    open_records().log.verify()
    open_records().ledger.verify()


def test_an_empty_account_refuses_on_record_and_still_repeats(either_workplace: Workplace) -> None:
    data = set_up(either_workplace, limit=1, allowed="3")
    first = asked(data, NORTH, epsilon="1")
    with pytest.raises(Refusal) as refused:
        asked(data, "count where region is South", epsilon="1/8")
    assert (refused.value.code, refused.value.faults[0].field) == ("budget-exceeded", "epsilon")
    assert events()[-1][0] == "QUESTION_REFUSED"
    assert events()[-1][1]["code"] == "budget-exceeded"
    assert asked(data, NORTH, epsilon="1").values == first.values


def test_the_same_in_other_words_is_the_same_question(workplace: Workplace) -> None:
    data = set_up(workplace)
    first = asked(data, "count where region is South or North and age from 20 below 60", epsilon="1/4")
    other = asked(data, "count where age from 20 below 60 and region is North or South", epsilon="0.25")
    assert (other.id, other.repeated) == (first.id, True)


def test_each_analyst_has_an_allowance(workplace: Workplace) -> None:
    data = set_up(workplace, limit=2, allowed="1/4")
    first = asked(data, NORTH, epsilon="1/4")
    with pytest.raises(Refusal) as refused:
        asked(data, NORTH, epsilon="1/8")
    assert (refused.value.code, refused.value.faults[0].field) == ("allowance-exceeded", "epsilon")
    with pytest.raises(Refusal) as refused:
        asked(data, NORTH, analyst="mallory", epsilon="1/4")  # not even a stored answer
    assert (refused.value.code, refused.value.faults[0].field) == ("analyst-not-allowed", "analyst")
    with pytest.raises(Refusal) as refused:
        asked(data, NORTH, analyst="mallory", epsilon="1/8")
    assert refused.value.code == "analyst-not-allowed"
    allow("1/8", analyst="ada")
    assert asked(data, NORTH, analyst="ada", epsilon="1/4").values == first.values
    assert asked(data, NORTH, analyst="ada", epsilon="1/8").left_to_analyst == 0


def test_a_release_that_no_sum_covers_is_acknowledged_in_the_description(workplace: Workplace) -> None:
    """It was refused with a remedy that no description could follow."""
    workplace.raw["budget"] = {"dataset": "survey"}
    first = str(release(load_spec(workplace.write_spec())).run)  # swapped records
    data = set_up(workplace)
    with pytest.raises(Refusal, match=first) as refused:
        asked(data, NORTH, epsilon="1/4")
    assert (refused.value.code, refused.value.faults[0].field) == ("second-release", "budget.acknowledges")
    file = workplace.folder / "data.yaml"
    description = yaml.safe_load(file.read_text("utf-8"))
    description["budget"]["acknowledges"] = [first]
    file.write_text(yaml.safe_dump(description), "utf-8")
    assert asked(load_description(file), NORTH, epsilon="1/4").left == Fraction(7, 4)
    open_records().ledger.verify()


def test_a_stored_answer_reads_no_row(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    data = set_up(workplace)
    first = asked(data, NORTH, epsilon="1/4")

    def never(*_: object, **__: object) -> None:
        raise AssertionError("a row was read")

    monkeypatch.setattr(identity, "_read", never)
    monkeypatch.setattr(reading, "evaluate", never)
    assert asked(data, NORTH, epsilon="1/4").values == first.values
    with pytest.raises(QuestionFailed):  # the twin: another question does read
        asked(data, NORTH, epsilon="1/8")


def test_refusals_are_decided_before_any_row_is_read(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    data = set_up(workplace, limit=1, allowed="1", most="1/2")
    asked(data, NORTH, epsilon="1/2")
    asked(data, "count where region is South", epsilon="1/2")
    monkeypatch.setattr(asking, "evaluate_question", None)
    for text, wanted, field in (
        ("count where region is West", {"epsilon": "1/4"}, "epsilon"),
        ("count where region is Mars", {"epsilon": "1/4"}, "query.where.0.is_in"),
        ("count where region is West", {"epsilon": "3/4"}, "epsilon"),
        ("count where region is West", {}, "epsilon"),
        ("count where region is West", {"epsilon": "1/4", "scale": "3"}, "epsilon"),
        ("count where region is West", {"epsilon": "0"}, "epsilon"),
        ("count where region is West", {"within": "1", "confidence": "1"}, "confidence"),
        ("median of income", {"epsilon": "1/4", "method": "laplace"}, "method"),
        ("median of income", {"epsilon": "1/4", "method": "magic"}, "method"),
        ("median of income", {"epsilon": "1/4", "method": "individual"}, "method"),
        ("median of income", {"scale": "5", "method": "exponential"}, "scale"),
        ("count where region is West", {"within": "1/1000000", "method": "laplace"}, "within"),
    ):
        with pytest.raises(Refusal) as refused:
            asked(data, text, **wanted)
        assert refused.value.faults[0].field == field, (text, wanted)
        assert refused.value.code in ("query-refused", "allowance-exceeded", "budget-exceeded")
        assert events()[-1] == (
            "QUESTION_REFUSED",
            {"analyst": login(), "code": refused.value.code, "dataset": "survey", "key": events()[-1][1]["key"]},
        )


def test_a_text_that_is_no_question_is_refused_on_record(workplace: Workplace) -> None:
    data = set_up(workplace)
    with pytest.raises(QueryRefused):
        answer(data, lambda: Wish(query=parse_query("select *"), epsilon=Fraction(1)), analyst=login())
    assert events()[-1][1]["code"] == "query-refused"


def test_protocol_1_fixes_the_price_of_every_question(workplace: Workplace) -> None:
    data = set_up(workplace, each="1/10")
    assert asked(data, NORTH).epsilon == Fraction(1, 10)
    assert asked(data, NORTH, epsilon="1/10").repeated  # it may be said again
    for wanted in ({"epsilon": "1/5"}, {"scale": "5"}, {"within": "5"}):
        with pytest.raises(QueryRefused) as refused:
            asked(data, NORTH, **wanted)
        assert [fault.field for fault in refused.value.faults] == [*wanted]


def test_protocol_1_prime_charges_sensitivity_by_scale(workplace: Workplace) -> None:
    data = set_up(workplace)
    assert asked(data, NORTH, scale="4").epsilon == Fraction(1, 4)


def test_a_wanted_error_finds_the_least_epsilon(workplace: Workplace) -> None:
    data = set_up(workplace)
    found = asked(data, NORTH, within="20", confidence="0.95")
    assert found.half_width is not None
    assert found.half_width <= 20
    cheaper = settled(data, Wish(query=parse_query(NORTH), epsilon=found.epsilon * 9 / 10), Home.located())
    assert (cheaper.expected().half_width or 0) > 20


@pytest.mark.parametrize(
    "text", ["mean of income", "median of age", "sum of age where region is North", "maximum of age"]
)
def test_statistics_are_near_the_truth(text: str, workplace: Workplace) -> None:
    data = set_up(workplace, limit=60, allowed="60")
    table = pq.read_table(workplace.source)
    truth = {
        "mean of income": pc.mean(pc.min_element_wise(table["income"], 1e6)).as_py(),
        "median of age": float(np.median(table["age"])),
        "sum of age where region is North": pc.sum(table.filter(pc.equal(table["region"], "North"))["age"]).as_py(),
        "maximum of age": pc.max(table["age"]).as_py(),
    }[text]
    found = asked(data, text, epsilon="50")
    assert float(found.value) == pytest.approx(truth, rel=0.02)


def test_groups_are_the_declared_categories_whether_they_have_records_or_not(workplace: Workplace) -> None:
    table = pq.read_table(workplace.source)
    pq.write_table(table.filter(pc.not_equal(table["region"], "West")), workplace.source)
    data = set_up(workplace)
    found = asked(data, "count by region", epsilon="2")
    assert [*found.values] == ["North", "South", "East", "West"]


def test_nothing_that_the_records_hold_is_refused(workplace: Workplace) -> None:
    """Nulls, NaN, infinite and far values, undeclared categories, no records at all: each gets an answer."""
    table = pq.read_table(workplace.source)
    wild = {
        "person_id": table["person_id"],
        "age": pa.array([None if row % 3 else 10**12 for row in range(len(table))], pa.int64()),
        "region": pa.array([None if row % 2 else "Mars" for row in range(len(table))]),
        "education": table["education"],
        "income": pa.array([(float("nan"), float("inf"), -1e300, None)[row % 4] for row in range(len(table))]),
        "savings": table["savings"],
    }
    data = set_up(workplace, limit=50, allowed="50", adjacency="add_remove")
    for records in (pa.table(wild), table.slice(0, 0), table.slice(0, 1)):
        pq.write_table(records, workplace.source)
        rested(workplace.source)
        for text in ("count by region", "mean of income", "median of age", "sum of income by region", "minimum of age"):
            found = asked(data, text, epsilon="1/2")
            assert all(isinstance(value, int | float) for value in found.values.values())


def test_a_source_that_changes_meanwhile_is_refused(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    data = set_up(workplace)
    evaluate = reading.evaluate

    def slowly(*given: Any) -> Any:
        found = evaluate(*given)
        workplace.write_survey(401, seed=2)
        return found

    monkeypatch.setattr(reading, "evaluate", slowly)
    with pytest.raises(Refusal) as refused:
        asked(data, NORTH, epsilon="1/4")
    assert (refused.value.code, refused.value.faults[0].field) == ("source-unreadable", "source.path")
    assert left() == (2, 2)


def test_other_records_get_another_answer(workplace: Workplace) -> None:
    data = set_up(workplace)
    first = asked(data, NORTH, epsilon="1/4")
    workplace.write_survey(400, seed=2)
    rested(workplace.source)
    assert asked(data, NORTH, epsilon="1/4").id != first.id


def test_units_are_bounded(workplace: Workplace) -> None:
    """One person with all the records counts as often as may be."""
    table = pq.read_table(workplace.source)
    one = table.set_column(table.schema.get_field_index("person_id"), "person_id", pa.array(["same"] * len(table)))
    pq.write_table(one, workplace.source)
    workplace.raw["source"]["unit"] = "person_id"
    data = set_up(workplace, limit=60, allowed="60", unit="individual", adjacency="add_remove", rows_per_unit=2)
    assert abs(int(asked(data, "count", epsilon="50").value) - 2) <= 3  # P(more) < 1e-20


def test_the_log_names_no_value_and_no_individual(workplace: Workplace) -> None:
    workplace.raw["source"]["unit"] = "person_id"
    person = pq.read_table(workplace.source)["person_id"][7].as_py()
    data = set_up(workplace, unit="individual", adjacency="presence", rows_per_unit=1)
    text = f"value of income for {json.dumps(person)}"
    found = asked(data, text, epsilon="1")
    assert asked(data, text, epsilon="1").values == found.values
    told = json.dumps([facts for _, facts in events()], default=str)
    assert json.dumps(person) not in told
    assert str(found.value) not in told


def test_an_edition_is_part_of_the_question(workplace: Workplace) -> None:
    workplace.raw["source"]["edition"] = "2026-10"
    data = set_up(workplace)
    first = asked(data, NORTH, epsilon="1/4")
    file = workplace.folder / "data.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("2026-10", "2026-11"), encoding="utf-8")
    second = asked(load_description(file), NORTH, epsilon="1/4")
    assert (second.repeated, second.id != first.id) == (False, True)


EXAMPLES = Path(__file__).parents[2] / "deployments" / "examples" / "data"


@pytest.mark.parametrize(("name", "wanted"), [("adult-questions", {"epsilon": "1/2"}), ("adult", {})])
def test_the_examples_are_answered(name: str, wanted: dict[str, str], workplace: Workplace, data_folder: Path) -> None:
    data = load_description(EXAMPLES / f"{name}.yaml", source=data_folder / "adult.parquet")
    open_dp_account(3, dataset="adult-1994")
    allow("3", dataset="adult-1994")
    table = pq.read_table(data_folder / "adult.parquet", columns=["sex", "class"])
    rich = table.filter(pc.equal(table["class"], ">50K"))["sex"]
    found = asked(data, 'count where class is ">50K" by sex', **wanted)
    for sex, value in found.values.items():
        assert abs(int(value) - pc.sum(pc.equal(rich, sex)).as_py()) < 1000  # further off: below 1e-20
