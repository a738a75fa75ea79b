"""Where epsilon is spent, no suite of the user's decides on the data whether a release appears.

Published or refused is an answer of one bit about whatever the suite asks, exact, and as often as somebody asks.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from typed_line import typed
from workplace import Workplace, make_private, make_table

LARGEST_INCOME = [{"type": "expect_column_max_to_be_between", "kwargs": {"column": "income", "max_value": 90_000}}]


def ask_with(workplace: Workplace) -> None:
    (workplace.folder / "suite.json").write_text(json.dumps(LARGEST_INCOME), encoding="utf-8")
    workplace.raw["validate"] = {"suite": "suite.json"}
    workplace.write_spec()


@pytest.mark.parametrize(
    "make",
    [make_private, make_table, lambda place: make_table(place, model="bdp", adjacency="bootstrap_add_remove")],
)
def test_a_suite_is_refused_where_epsilon_is_spent(workplace: Workplace, make: Callable[[Workplace], None]) -> None:
    make(workplace)
    ask_with(workplace)
    for command in ("plan", "run"):
        refused = typed(command, workplace.spec_file)
        refused.require_refusal(2)
        assert "validate.suite: asks the data whether a release appears" in refused.err
    del workplace.raw["validate"]
    workplace.write_spec()
    assert "validate.suite" not in typed("plan", workplace.spec_file).err


def test_the_plan_prints_what_will_be_asked(workplace: Workplace) -> None:
    ask_with(workplace)
    planned = typed("plan", workplace.spec_file)
    assert planned.code == 0
    assert "What the spec declares: at least 1 rows; type, domain, categories and missing values of 6" in planned.out
    assert "From the suite, income: max to be between, max value 90000." in planned.out
    assert json.loads(typed("plan", workplace.spec_file, "--json").out)["validation"][1].startswith("From the suite")
