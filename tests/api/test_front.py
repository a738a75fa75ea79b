"""`import penstock`: small, typed, light to import, and its examples are true."""

from __future__ import annotations

import ast
import doctest
import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import penstock
from penstock import _front, _questions, _trial
from penstock.cli._demo import SPEC, synthetic_survey
from penstock.mechanisms.randomness import seeded
from tests.support.question_house import set_up
from tests.support.workplace import Workplace

ADDED = {"Column", "DataDescription", "Fault", "Query", "Refusal", "ReleaseSpec", "seeded"}
RETURNED = {"Answer", "Finding", "Preview", "QuestionPlan", "Receipt", "Trial", "Waiting"}


@pytest.fixture
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as the demo leaves it, and a home beside it."""
    (tmp_path / "confidential").mkdir()
    (tmp_path / "specs").mkdir()
    pq.write_table(synthetic_survey(20_000, seeded(1)), tmp_path / "confidential" / "survey.parquet")
    (tmp_path / "specs" / "survey.yaml").write_text(SPEC, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    return tmp_path


def examples(function: object, module: object) -> doctest.TestResults:
    [test] = [
        found
        for found in doctest.DocTestFinder(recurse=False).find(function, module=module)
        if found.examples  # type: ignore[arg-type]
    ]
    return doctest.DocTestRunner().run(test)


@pytest.mark.parametrize("name", ["load_spec", "plan", "release", "verify"])
def test_the_examples_of_the_line_hold(name: str, workshop: Path) -> None:
    assert examples(getattr(_front, name), _front).failed == 0


@pytest.mark.parametrize("name", ["load_description", "plan_question", "ask"])
def test_the_examples_of_questions_hold(name: str, workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    set_up(workplace)
    (workplace.folder / "specs").mkdir()
    (workplace.folder / "data.yaml").rename(workplace.folder / "specs" / "survey-data.yaml")
    monkeypatch.chdir(workplace.folder)
    assert examples(getattr(_questions, name), _questions).failed == 0


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        ({"epsilon": 0.25}, "epsilon"),
        ({"epsilon": True}, "epsilon"),
        ({"within": "1e3"}, "within"),
        ({"epsilon": "1/4", "prior": 5}, "prior"),
        ({"epsilon": "1/4", "prior": {"kind": "magic"}}, "prior.kind"),
    ],
)
def test_a_wrong_call_of_a_question_is_refused_by_field(
    wanted: dict[str, object], field: str, workplace: Workplace
) -> None:
    data = set_up(workplace)
    with pytest.raises(penstock.Refusal) as refused:
        penstock.plan_question(data, "count by region", **wanted)  # type: ignore[arg-type]
    assert (refused.value.code, refused.value.faults[0].field) == ("query-refused", field)
    with pytest.raises(penstock.Refusal) as refused:
        penstock.ask(data, {"statistic": "magic"}, epsilon="1/4")  # type: ignore[arg-type]
    assert refused.value.faults[0].field == "query.statistic"


@pytest.mark.parametrize("part", ["source", "publish"])
def test_a_path_given_beside_the_spec_is_used_whatever_its_type(part: str, workshop: Path) -> None:
    """Once a Path was ignored, and the file that the spec names was released instead."""
    given = workshop / "elsewhere.parquet"
    for each in (given, str(given), "elsewhere.parquet"):
        spec = penstock.load_spec("specs/survey.yaml", **{part: each})
        assert getattr(spec, part).path == str(given)
    for wrong in (5, b"elsewhere.parquet", "", ["elsewhere.parquet"]):
        with pytest.raises(penstock.Refusal) as refused:
            penstock.load_spec("specs/survey.yaml", **{part: wrong})
        assert (refused.value.code, refused.value.faults[0].field) == ("spec-refused", part)


@pytest.mark.parametrize("wrong", [None, 5, b"spec.yaml", {}])
def test_what_is_no_path_and_no_spec_is_refused(wrong: object) -> None:
    calls = {
        "spec": (penstock.load_spec, penstock.plan, penstock.release),
        "bundle": (penstock.verify,),
    }
    for field, functions in calls.items():
        for function in functions:
            with pytest.raises(penstock.Refusal) as refused:
                function(wrong)  # type: ignore[operator]
            assert (refused.value.code, refused.value.faults[0].field) == ("setting-refused", field)


def test_who_asks_for_a_release_is_a_name() -> None:
    with pytest.raises(penstock.Refusal) as refused:
        penstock.release("spec.yaml", started_by=5)  # type: ignore[arg-type]
    assert (refused.value.code, refused.value.faults[0].field) == ("setting-refused", "started_by")


def test_the_example_of_protect_holds() -> None:
    assert examples(_trial.protect, _trial).failed == examples(_trial.measure, _trial).failed == 0


def test_what_is_documented_is_there_and_nothing_else() -> None:
    line = {"load_spec", "measure", "plan", "protect", "release", "verify"}
    questions = {"ask", "load_description", "plan_question"}
    assert set(penstock.__all__) == line | questions | ADDED | RETURNED
    assert set(penstock.__all__) <= set(dir(penstock))
    for name in penstock.__all__:
        assert getattr(penstock, name).__doc__
    with pytest.raises(AttributeError, match="no attribute 'publish'"):
        penstock.publish  # type: ignore[attr-defined]  # noqa: B018


def test_types_and_values_come_from_the_same_places() -> None:
    tree = ast.parse(Path(penstock.__file__).read_text(encoding="utf-8"))
    typed = {
        alias.name: str(node.module).removeprefix("penstock.")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("penstock")
        for alias in node.names
    }
    assert typed == {name: place for place, names in penstock._PLACES.items() for name in names}
    assert set(typed) == set(penstock.__all__)


def test_a_refusal_has_its_code_its_kind_and_its_faults(tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text("name: Survey\n", encoding="utf-8")
    with pytest.raises(penstock.Refusal) as refused:
        penstock.load_spec(str(spec))
    assert (refused.value.code, refused.value.kind) == ("spec-refused", "spec")
    assert {"name", "source", "protect"} <= {fault.field for fault in refused.value.faults}


def test_python_m_penstock_is_the_command_line() -> None:
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-m", "penstock", "schema"], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert json.loads(ended.stdout)["title"] == "ReleaseSpec"
