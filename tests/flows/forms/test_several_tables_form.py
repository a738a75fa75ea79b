"""Several tables in one form: what release they make, and which table and field a refusal names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from prefect.states import State

from penstock.flows.forms._further_table import FurtherTable
from penstock.flows.forms.table import release_table, spec_of_tables
from penstock.flows.planning import draw_up_plan
from penstock.flows.spec import ReleaseSpec, resolve_spec
from penstock.mechanisms.refusal import SpecRefused
from penstock.tasks.verification.bundle import verify_bundle
from tests.flows.forms.test_table_form import EXACT, INDIVIDUAL, PRIVATE, Form, exact, form
from tests.support.workplace import budget_of, open_dp_account, predicate

__all__ = ["form"]  # a fixture

SCHOOLING: dict[str, Any] = {
    "table": "schooling",
    "dimensions": ["education"],
    "protection": {**PRIVATE, "epsilon": "0.25"},
}


def spec(form: Form, *more: dict[str, Any], **fields: Any) -> ReleaseSpec:
    """The spec that the form makes, without its run."""
    filled = form.filled(**fields)
    asked = {name: filled[name] for name in ("table", "dimensions", "sums")}
    first = FurtherTable.model_validate({**asked, "protection": filled["protection"]})
    tables = [(each.asked, each.protection) for each in (first, *map(FurtherTable.model_validate, more))]
    return spec_of_tables(
        form.workplace.folder / "survey-data.yaml",
        tables,
        formats=["parquet", "csv"],
        uncovered=fields.get("not_covered_together", ()),
    )


def test_each_table_is_an_output_with_the_gates_of_its_own_protection(form: Form) -> None:
    made = spec(
        form,
        SCHOOLING,
        {**SCHOOLING, "table": "ages", "protection": EXACT},
        not_covered_together=["ages"],
    )
    plan = draw_up_plan(made)
    assert [each.output_name for each in plan.outputs] == ["incomes", "schooling", "ages"]
    gates = [[gate.rule for gate in each.gates] for each in plan.outputs]
    assert gates == [["privacy_loss at most 1"], ["privacy_loss at most 1"], ["smallest_frequency at least 2"]]
    assert [each.may_be_left_out for each in plan.outputs] == [False, False, True]
    assert [str(each.parameters.get("epsilon")) for each in plan.promises] == ["5/4", "None"]
    assert (str(made.budget.epsilon), made.gates, made.name) == ("5/4", None, "survey-incomes")


@pytest.mark.parametrize(("adjacency", "allowed"), [("replace", "5/4"), ("add_remove", "9/4")])
def test_the_budget_allows_what_the_account_of_a_relaxation_is_charged(
    form: Form, adjacency: str, allowed: str
) -> None:
    """A record more or less counts twice among replacements."""
    relaxed = {**SCHOOLING, "protection": {**INDIVIDUAL, "epsilon": "1/4"}}
    made = spec(form, relaxed, protection={**PRIVATE, "adjacency": adjacency})
    assert str(made.budget.epsilon) == allowed


def test_one_table_makes_the_spec_that_it_always_made(form: Form) -> None:
    """Old parameters of schedules: the same keys, so the same digest."""
    made = spec(form)
    raw = {
        "name": "survey-incomes",
        "source": form.workplace.raw["source"],
        "budget": {"dataset": "survey", "epsilon": "1"},
        "protect": [
            {
                "mechanism": "table",
                "table": "incomes",
                "dimensions": ["region", "education"],
                "count": True,
                "sums": ["income"],
                "means": [],
                "margins": "summed",
                "model": "dp",
                "epsilon": "1",
                "adjacency": "replace",
            }
        ],
        "gates": [{"measure": "privacy_loss", "max": 1}],
        "publish": {"path": "published", "formats": ["parquet", "csv"]},
    }
    by_hand = resolve_spec(raw, form.workplace.folder)
    assert draw_up_plan(made).spec_digest == draw_up_plan(by_hand).spec_digest


def test_tables_of_one_form_are_charged_once_together_and_published_in_one_bundle(form: Form) -> None:
    open_dp_account(3)
    receipt = form.send(more_tables=[SCHOOLING])
    bundle = Path(receipt.path)
    assert receipt.name == "survey-incomes"
    assert {"incomes.csv", "schooling.csv"} <= {path.name for path in (bundle / "tables").iterdir()}
    assert budget_of() == ("5/4", "7/4", ["published", "published"])
    assert [each["name"] for each in predicate(bundle)["release"]["outputs"]] == ["incomes", "schooling"]
    verify_bundle(bundle, form.workplace.home / "keys" / "signing.pub")


def test_an_exact_table_that_is_refused_is_left_out_and_the_noisy_one_is_published(form: Form) -> None:
    open_dp_account(3)
    form.description["tables"]["k_anon"] = exact(300)
    more = [{"table": "ages", "dimensions": ["education"], "protection": EXACT}]
    receipt = form.send(dimensions=["region"], more_tables=more, not_covered_together=["ages"])
    names = {path.name for path in (Path(receipt.path) / "tables").iterdir()}
    assert "incomes.csv" in names
    assert "ages.csv" not in names


def test_exact_tables_alone_are_refused_as_a_whole_and_the_refusal_names_the_table(form: Form) -> None:
    more = [{"table": "ages", "dimensions": ["education"], "protection": EXACT}]
    form.description["tables"]["k_anon"] = exact(60)  # of 400 records in four regions, and in four unequal levels
    filled = form.filled(
        protection=EXACT, dimensions=["region"], sums=[], more_tables=more, not_covered_together=["incomes", "ages"]
    )
    ended: State[Any] = release_table(**filled, return_state=True)
    assert str(ended.message).startswith("gate-refused: ages.gates.smallest_frequency refused")


@pytest.mark.parametrize(
    ("fields", "more", "named"),
    [
        ({"dimensions": ["income"]}, [SCHOOLING], {"incomes.dimensions": "must have categories"}),
        ({}, [{**SCHOOLING, "dimensions": ["income"]}], {"schooling.dimensions": "must have categories"}),
        (
            {},
            [SCHOOLING, {**SCHOOLING, "table": "ages", "sums": ["height"]}],
            {"ages.sums": "must be a declared column that is not an identifier or weight"},
        ),
        (
            {},
            [{**SCHOOLING, "protection": {**PRIVATE, "epsilon": "0"}}],
            {"schooling.protection.epsilon": "must be above 0"},
        ),
        (
            {},
            [{**SCHOOLING, "protection": {**PRIVATE, "adjacency": "add_remove"}}],
            {
                "schooling.protection.adjacency": "must be replace, as for the other outputs under dp: only then do "
                "they add up"
            },
        ),
        (
            {},
            [{**SCHOOLING, "protection": EXACT}],
            {
                "not_covered_together": "must name outputs that no theorem covers together with the others: "
                "schooling (k_anon)"
            },
        ),
        ({}, [SCHOOLING] * 100, {"more_tables": "must list at most 100"}),
        ({"formats": ["csv", "csv"]}, [SCHOOLING], {"formats": "must not list a format twice"}),
        (
            {"reviewer_names": ["anna"]},
            [SCHOOLING],
            {"reviewers": "must be 1 or 2 where names are given: 0 asks nobody"},
        ),
    ],
)
def test_a_fault_names_the_table_and_the_field_of_the_form(
    form: Form, fields: dict[str, Any], more: list[dict[str, Any]], named: dict[str, str]
) -> None:
    assert form.refusal(**fields, more_tables=more) == named


def test_two_tables_of_one_name_are_told_apart_by_their_number(form: Form) -> None:
    refused = form.refusal(more_tables=[{**SCHOOLING, "table": "incomes"}])
    assert set(refused) == {"incomes (1).table", "incomes (2).table"}


def test_limits_are_named_by_their_place_in_the_description(form: Form) -> None:
    form.description["tables"]["dp"]["gates"] = [{"measure": "privacy_loss", "max": 0.5}]
    assert set(form.refusal(more_tables=[SCHOOLING])) == {"data.tables.dp.gates.0.max"}
    form.description["tables"]["k_anon"]["k"] = 1
    more = [{**SCHOOLING, "protection": EXACT}]
    assert set(form.refusal(protection=EXACT, more_tables=more)) == {"data.tables.k_anon.k"}


def test_the_description_may_allow_less_than_all_tables_spend(form: Form) -> None:
    form.description["budget"]["epsilon"] = "1"
    assert form.refusal(more_tables=[SCHOOLING]) == {
        "data.budget.epsilon": "must be at least 5/4, what the 2 outputs spend together"
    }


def test_an_epsilon_that_is_no_number_is_named_where_it_stands(form: Form) -> None:
    protection = {**PRIVATE, "epsilon": "1/0"}
    with pytest.raises(SpecRefused) as refused:
        form.send(more_tables=[{**SCHOOLING, "protection": protection}])
    assert "schooling.protection.epsilon" in {fault.field for fault in refused.value.faults}
