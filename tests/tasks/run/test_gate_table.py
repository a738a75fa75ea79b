"""What the page of a run shows of its gates: of one output by gate, of several by output and gate."""

from __future__ import annotations

from typing import Any

from penstock.tasks.run.page import gate_table


def result(gate: str, **about: str) -> dict[str, Any]:
    return {**about, "gate": gate, "verdict": "pass", "rule": f"{gate} at most 1"}


def test_the_gates_of_one_output_are_listed_by_name() -> None:
    assert gate_table({"results": [result("privacy_loss")]}) == (
        "| gate | verdict | rule |\n|---|---|---|\n| privacy_loss | pass | privacy_loss at most 1 |"
    )


def test_the_gates_of_several_outputs_name_their_output_and_those_of_the_release_say_so() -> None:
    shown = gate_table({"results": [result("privacy_loss", output="ages"), result("differencing")]})
    assert shown.splitlines() == [
        "| output | gate | verdict | rule |",
        "|---|---|---|---|",
        "| ages | privacy_loss | pass | privacy_loss at most 1 |",
        "| all | differencing | pass | differencing at most 1 |",
    ]
