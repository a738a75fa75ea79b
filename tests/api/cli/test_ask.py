"""`penstock ask`: the plan spends nothing, the answer is charged once, refusals have their exit codes."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from typing import Any

import pytest

from penstock.records import open_records
from penstock.records.home import login
from tests.support.ended_command import Typed
from tests.support.question_house import set_up
from tests.support.workplace import Workplace

NORTH = "count where region is North"


def ask(typed: Typed, *arguments: object) -> Any:
    ended = typed("ask", "data.yaml", *arguments, "--json")
    return ended.code, json.loads(ended.out)


@pytest.fixture
def house(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> Workplace:
    set_up(workplace, limit=1, allowed="1", publish="published")
    monkeypatch.chdir(workplace.folder)
    return workplace


def test_a_plan_shows_methods_and_a_picture_and_spends_nothing(house: Workplace, typed: Typed) -> None:
    before = open_records().log.head()
    code, planned = ask(typed, "--query", NORTH, "--epsilon", "1/4", "--plan", "--picture", "picture.svg")
    assert code == 0
    assert [each["method"] for each in planned["methods"]][:2] == ["laplace", "staircase"]
    assert planned["methods"][0]["left"] == planned["methods"][0]["left_to_analyst"] == "3/4"
    assert planned["methods"][0]["half_width"] == 12
    assert planned["records"] == 400
    assert set(planned["cannot"]) >= {"exponential", "individual", "bootstrap"}
    assert ET.parse(house.folder / "picture.svg").getroot().tag.endswith("svg")
    assert open_records().log.head() == before
    ended = typed("ask", "data.yaml", "--query", NORTH, "--epsilon", "1/4", "--plan")
    assert "laplace" in ended.out
    assert "Nothing was spent" in ended.out


def test_a_plan_needs_no_home_and_no_source(workplace: Workplace, typed: Typed) -> None:
    set_up(workplace, adjacency="add_remove")
    workplace.source.unlink()
    place = workplace.folder / "data.yaml"
    ended = typed("ask", place, "--query", NORTH, "--within", "20", "--plan", "--json")
    planned = json.loads(ended.out)
    assert planned["records"] is None
    assert planned["methods"][0]["half_width"] <= 20


def test_an_answer_is_shown_charged_published_and_repeated(house: Workplace, typed: Typed) -> None:
    code, first = ask(typed, "--query", NORTH, "--epsilon", "1/4")
    assert (code, first["repeated"], first["left"], first["epsilon"]) == (0, False, "3/4", "1/4")
    assert list(first["values"]) == [""]
    code, again = ask(typed, "--query", NORTH, "--epsilon", "0.25")
    assert (code, again["values"], again["repeated"]) == (0, first["values"], True)
    ended = typed("verify", first["path"])
    assert (ended.code, "checked" in ended.out) == (0, True)
    ended = typed("ask", "data.yaml", "--query", "count by region", "--scale", "20")
    assert ended.code == 0
    assert "North" in ended.out
    assert "expected error" in ended.out


def test_what_no_error_covers_is_shown_once_in_a_plan_and_with_the_answer(house: Workplace, typed: Typed) -> None:
    clamped = "count as the nearest bound"
    wanted = ("ask", "data.yaml", "--query", "sum of age where region is North", "--epsilon", "1/8")
    planned = typed(*wanted, "--plan").out
    assert " ".join(planned.split()).count(clamped) == 1
    assert "laplace: Standard error" in planned
    assert clamped in " ".join(typed(*wanted).out.split())
    found = " ".join(typed("ask", "data.yaml", "--query", "median of age", "--epsilon", "1/8").out.split())
    assert "expected error as follows With probability 95 % the answer misses its rank by less than" in found
    mean = typed("ask", "data.yaml", "--query", "mean of age where region is North", "--epsilon", "1/8").out
    assert "for k records that take part" in " ".join(mean.split())


def test_a_query_may_be_a_file_and_a_prior_too(house: Workplace, typed: Typed) -> None:
    (house.folder / "q.yaml").write_text("{statistic: median, of: age}", encoding="utf-8")
    (house.folder / "prior.yaml").write_text("{kind: uniform}", encoding="utf-8")
    wanted = ("--query", "q.yaml", "--epsilon", "1/4", "--method", "refinement", "--prior", "prior.yaml")
    code, found = ask(typed, *wanted)
    assert (code, found["query"], found["method"]) == (0, "median of age", "refinement")
    (house.folder / "prior.yaml").write_text("{kind: magic}", encoding="utf-8")
    code, refused = ask(typed, *wanted)
    assert (code, refused["refused"], refused["faults"][0]["field"]) == (2, "query-refused", "prior.kind")
    (house.folder / "prior.yaml").write_text("{kind: masses, masses: 5}", encoding="utf-8")
    code, refused = ask(typed, *wanted)
    assert (code, refused["faults"][0]["field"]) == (2, "prior.masses")


@pytest.mark.parametrize(
    ("arguments", "code", "refused"),
    [
        (("--query", "count where", "--epsilon", "1/4"), 2, "query-refused"),
        (("--query", NORTH, "--epsilon", "a quarter"), 2, "query-refused"),
        (("--query", NORTH, "--epsilon", "2"), 5, "allowance-exceeded"),
        (("--query", NORTH), 2, "query-refused"),
        (("--query", "absent.yaml", "--epsilon", "1/4"), 2, "query-refused"),
    ],
)
def test_refusals_have_exit_codes(
    house: Workplace, typed: Typed, arguments: tuple[str, ...], code: int, refused: str
) -> None:
    found, told = ask(typed, *arguments)
    assert (found, told["refused"]) == (code, refused)
    assert open_records().log.events()[-1].facts["code"] == refused


def test_another_source_is_asked(house: Workplace, typed: Typed) -> None:
    other = house.folder / "other.parquet"
    other.write_bytes(house.source.read_bytes())
    house.source.unlink()
    code, found = ask(typed, "--query", NORTH, "--epsilon", "1/4", "--source", other)
    assert (code, found["method"]) == (0, "laplace")
    assert ask(typed, "--query", NORTH, "--epsilon", "1/8")[0] == 3


def test_whoever_runs_it_is_charged(house: Workplace, typed: Typed) -> None:
    ask(typed, "--query", NORTH, "--epsilon", "1/4")
    [answered] = [event for event in open_records().log.events() if event.action.value == "ANSWERED"]
    assert (answered.facts["analyst"], answered.actor) == (login(), login())
    assert answered.facts["question"] == {"method": "laplace", "name": "survey", "query": NORTH}


def test_a_picture_belongs_to_a_plan_and_its_fault_names_it(house: Workplace, typed: Typed) -> None:
    before = open_records().log.head()
    code, refused = ask(typed, "--query", NORTH, "--epsilon", "1/4", "--picture", "picture.svg")
    assert (code, refused["faults"][0]["field"]) == (2, "--picture")
    assert "needs --plan" in refused["faults"][0]["rule"]
    assert (open_records().log.head(), (house.folder / "picture.svg").exists()) == (before, False)
    (house.folder / "picture.svg").write_text("mine", encoding="utf-8")
    code, refused = ask(typed, "--query", NORTH, "--epsilon", "1/4", "--plan", "--picture", "picture.svg")
    assert (code, refused["refused"], refused["faults"][0]["field"]) == (1, "output-refused", "--picture")
    assert (house.folder / "picture.svg").read_text(encoding="utf-8") == "mine"


def test_a_plan_says_first_that_nothing_can_answer_and_repeats_what_was_wanted(house: Workplace, typed: Typed) -> None:
    near = typed("ask", "data.yaml", "--query", NORTH, "--within", "50", "--confidence", "0.99", "--plan").out
    assert near.splitlines()[0] == f"{NORTH}, 99 % within 50"
    out = typed("ask", "data.yaml", "--query", "median of age", "--scale", "5", "--plan").out
    assert out.splitlines()[2] == "No method can answer this as asked:"
    assert "standard error" not in out
    assert "not laplace: " in out
    assert "–:" not in out


def test_a_published_answer_is_shown_as_it_is_checked(house: Workplace, typed: Typed) -> None:
    _, found = ask(typed, "--query", "count by region", "--epsilon", "1/4")
    out = typed("verify", found["path"]).out
    for told in ("count by region", "North", f"{found['values']['North']:,}", found["promise"], "standard error"):
        assert told in out
    findings = json.loads(typed("verify", found["path"], "--json").out)["findings"]
    [answer] = [each["answer"] for each in findings if each["name"] == "answer"]
    assert (answer["values"], answer["promise"]) == (found["values"], found["promise"])
    ended = typed("verify", "absent.json", "--json")
    assert json.loads(ended.out)["faults"][0]["rule"] == "must be a file that exists"


def test_log_and_budget_say_what_was_asked_of_which_data_set(
    house: Workplace, typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "250")  # no line is folded
    for _ in range(2):
        ask(typed, "--query", NORTH, "--epsilon", "1/4")
    ask(typed, "--query", NORTH, "--epsilon", "2")
    lines = {line.split()[4]: line.rstrip() for line in typed("audit", "show").out.splitlines()[1:]}
    assert lines["ANSWERED"].endswith(f"survey: {NORTH}")
    assert lines["ASKED_AGAIN"].endswith(f"survey: {NORTH}")
    assert lines["QUESTION_REFUSED"].endswith("survey: allowance-exceeded")
    assert lines["SITTING_OPENED"].endswith(f"survey: {login()}")
    assert lines["ANALYST_ALLOWED"].endswith(f"survey: {login()}")
    shown = [line for line in typed("budget", "show").out.splitlines() if line.startswith("questions-")]
    assert [line.split()[-1] for line in shown] == ["questions"]
