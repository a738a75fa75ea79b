"""A plan that is content is no trap: what a run refuses for what the spec says, the plan refuses, and so does the run
before it starts a server."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.cli import main as cli
from penstock.flows import prefect_setup as named_server
from penstock.flows.preview import preview
from penstock.flows.spec import load_spec
from penstock.mechanisms.refusal import Refusal
from tests.attacks.typed_line import typed
from tests.support.workplace import Workplace, make_table


def part_under_replace(place: Workplace) -> None:
    """Records of one part under `replace`: one that moves changes the size of both parts."""
    make_table(place, dimensions=["education"])
    place.raw["source"]["columns"]["region"]["categories"] = ["North"]
    place.raw["budget"]["part"] = "region"


def impossible_gate(place: Workplace) -> None:
    """The loss of a table is known before it is made."""
    make_table(place)
    place.raw["gates"] = [{"measure": "privacy_loss", "max": 0.5}]


def suite_that_is_none(place: Workplace) -> None:
    (place.folder / "suite.json").write_text('[{"type": "expect_the_best", "kwargs": {}}]', encoding="utf-8")
    place.raw["validate"] = {"suite": "suite.json"}


CASES = [
    (part_under_replace, "claim-refused", 5),
    (impossible_gate, "spec-refused", 2),
    (suite_that_is_none, "suite-refused", 2),
]


@pytest.mark.parametrize(("make", "code", "exit_code"), CASES)
def test_what_the_spec_alone_decides_is_refused_by_the_plan_and_by_the_run_before_a_server_is_asked(
    workplace: Workplace,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[Workplace], None],
    code: str,
    exit_code: int,
) -> None:
    make(workplace)
    workplace.write_spec()
    with pytest.raises(Refusal) as refused:
        preview(load_spec(workplace.spec_file), count=False)
    assert refused.value.code == code

    monkeypatch.setattr(named_server, "set_up_prefect", lambda *_: pytest.fail("a server was asked"))
    monkeypatch.setattr(sys, "argv", ["penstock", "run", str(workplace.spec_file)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == exit_code
    assert not Path(workplace.home).exists()


def test_a_plan_says_that_whoever_asks_could_not_start_it(workplace: Workplace) -> None:
    from penstock.records.home import login

    workplace.raw["approve"] = {"reviewers": 1, "allowed": [login()]}
    assert preview(load_spec(workplace.write_spec()), count=False)["review"][-1] == (
        f"Started by {login()}, it will be refused: too few others may approve."
    )
    workplace.raw["approve"]["allowed"].append("anna")
    assert len(preview(load_spec(workplace.write_spec()), count=False)["review"]) == 1


@pytest.mark.parametrize(("adjacency", "public"), [("add_remove", False), ("replace", True)])
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_a_plan_that_counts_says_whether_the_number_is_confidential(
    workplace: Workplace, adjacency: str, public: bool, form: list[str]
) -> None:
    """Under add_remove the promise hides how many records there are; the plan printed it like any other number."""
    make_table(workplace, adjacency=adjacency)
    said = "number is confidential and no part of the release"
    for counts in ([], ["--count"]):
        told = typed("plan", workplace.write_spec(), *counts, *form)
        assert told.code == 0
        assert (said in " ".join(told.out.split())) == (bool(counts) and not public)
        if form:
            assert json.loads(told.out)["records_are_public"] == public


def test_a_plan_is_made_without_prefect_which_would_speak_and_leave_files() -> None:
    script = "import sys, penstock.flows.preview; sys.exit('prefect' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
