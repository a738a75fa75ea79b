"""Looking ahead under differential privacy: errors, facts and gates as the release would have them, and the cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from penstock.flows.planning import draw_up_plan
from penstock.flows.preview import preview
from penstock.flows.spec import load_spec
from penstock.measures.gates import GateRefused
from penstock.measures.registry import measure
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.refusal import ColumnMissing, TableEmpty
from penstock.mechanisms.registry import mechanism_of
from penstock.tasks.files.source import open_source, read_source
from tests.flows.good_specs import make_dp
from tests.support.ended_command import Typed
from tests.support.workplace import Workplace

INJURIES = {"burn": ["heat"], "scald": ["heat"], "cut": ["any"], "heat": ["any"], "any": []}


def planned(workplace: Workplace, *, count: bool = True) -> dict[str, Any]:
    return preview(load_spec(workplace.write_spec()), count=count)


@pytest.mark.parametrize("mode", ["records", "marginals"])
def test_what_is_settled_ahead_is_what_the_release_settles(workplace: Workplace, mode: str) -> None:
    make_dp(workplace.raw, mode=mode)
    ahead = planned(workplace)
    plan = draw_up_plan(load_spec(workplace.spec_file))
    columns = read_source(open_source(plan.source, plan.declared), plan.declared)
    protected = mechanism_of(plan.params).protect(columns, plan.declared, plan.params, seeded(1))
    assert ahead["settled"] == protected.chosen
    assert ahead["settled"]["records"] == ahead["records"] == 400
    original = {name: columns[name] for name in protected.columns}
    found = measure("expected_error")(original, protected.columns, plan.released, chosen=protected.chosen)
    assert ahead["gates"] == [f"expected_error at most 1: it will be {found.value:.4g} ({worst(found.by_column)})"]


def worst(errors: dict[str, float]) -> str:
    return max(errors, key=lambda name: errors[name])


def test_a_gate_that_public_facts_already_decide_is_refused(workplace: Workplace) -> None:
    make_dp(workplace.raw)
    workplace.raw["gates"] = [{"measure": "expected_error", "max": 0}]
    with pytest.raises(GateRefused, match=r"gates\.expected_error refused: must allow"):
        planned(workplace)
    assert planned(workplace, count=False)["gates"] == ["expected_error at most 0"]


def test_nothing_is_settled_where_it_cannot_be(workplace: Workplace) -> None:
    assert planned(workplace)["settled"] is None  # probabilistic k-anonymity leaves nothing open
    make_dp(workplace.raw)
    assert planned(workplace, count=False)["settled"] is None
    workplace.raw["protect"][0]["k"] = 401
    ahead = planned(workplace)
    assert ahead["settled"] is None
    assert any("will be refused: 400 records are fewer than k = 401" in line for line in ahead["expect"])


def test_an_empty_source_is_refused(workplace: Workplace) -> None:
    make_dp(workplace.raw)
    pq.write_table(pq.read_table(workplace.source).slice(0, 0), workplace.source)
    with pytest.raises(TableEmpty, match=r"source\.path refused: must have at least one record"):
        planned(workplace)


def test_a_plan_knows_its_unit_and_what_comes_out(workplace: Workplace) -> None:
    make_dp(workplace.raw, rows_per_unit=2)
    workplace.raw["source"]["unit"] = "person_id"
    workplace.raw["source"]["columns"]["injury"] = {"role": "confidential", "type": "nominal", "taxonomy": INJURIES}
    plan = draw_up_plan(load_spec(workplace.write_spec()))
    assert plan.unit == "person_id"
    assert list(plan.released) == ["age", "region", "education", "income", "injury"]
    assert plan.released["age"] == plan.declared["age"]
    known, possible = plan.declared["injury"].categories or (), plan.released["injury"].categories or ()
    assert (set(known), set(possible)) == ({"burn", "scald", "cut"}, set(INJURIES))
    assert possible[: len(known)] == known  # so that codes stay what they were


def test_a_plan_of_rows_has_no_unit_and_releases_all_but_identifiers(workplace: Workplace) -> None:
    plan = draw_up_plan(load_spec(workplace.write_spec()))
    assert plan.unit is None
    assert plan.released == plan.data_columns


def test_a_source_without_the_column_of_the_unit_is_refused(workplace: Workplace) -> None:
    make_dp(workplace.raw, rows_per_unit=2)
    workplace.raw["source"]["unit"] = "person_id"
    pq.write_table(pq.read_table(workplace.source).drop_columns(["person_id"]), workplace.source)
    with pytest.raises(ColumnMissing, match="person_id"):
        planned(workplace, count=False)


def test_where_records_are_left_out_the_plan_says_that_errors_may_be_larger(workplace: Workplace) -> None:
    make_dp(workplace.raw, rows_per_unit=2)
    workplace.raw["source"]["unit"] = "person_id"
    first = "At most 2 records of each person_id are used, chosen at random"
    assert planned(workplace, count=False)["expect"][0] == f"{first}."
    assert planned(workplace)["expect"][0].startswith(f"{first}; what follows holds if all 400 are used")


def test_bounding_the_records_of_a_unit_costs_accuracy_and_not_epsilon(workplace: Workplace) -> None:
    make_dp(workplace.raw, k=40)
    by_row = planned(workplace)
    workplace.raw["protect"][0]["rows_per_unit"] = 2
    workplace.raw["source"]["unit"] = "person_id"
    by_person = planned(workplace)
    assert by_row["cost"] == by_person["cost"]
    assert by_row["cost"][0].startswith("Epsilon: 3/2 of the dp account of data set survey")
    assert np.all(np.array(errors(by_person)) > np.array(errors(by_row)))


def errors(ahead: dict[str, Any]) -> list[float]:
    (part,) = ahead["settled"]["parts"]
    return [facts["expected_error"] for facts in part["columns"].values()]


def test_reviewers_of_a_private_release_are_told_to_decide_by_what_is_public(workplace: Workplace) -> None:
    workplace.raw["approve"] = {"reviewers": 1, "allowed": ["anna"]}
    assert len(planned(workplace)["review"]) == 1
    make_dp(workplace.raw)
    assert "decide by what is public" in planned(workplace)["review"][1]


def test_the_printed_plan_tells_the_promise_the_errors_and_the_cost(workplace: Workplace, typed: Typed) -> None:
    make_dp(workplace.raw)
    ended = typed("plan", workplace.write_spec(), "--count")
    assert (ended.code, ended.err) == (0, "")
    for words in ("(3/2)-differential privacy", "blocks of", "income: ", "expected_error at most 1", "Epsilon: 3/2 of"):
        assert words in ended.out
    assert typed("plan", workplace.spec_file, "--count", "--json").document()["settled"]["records"] == 400
