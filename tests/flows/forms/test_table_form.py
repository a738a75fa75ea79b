"""The form of a table: what it shows, what spec it makes, and which field of it a refusal names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from prefect import get_client
from prefect.exceptions import ParameterTypeError
from prefect.states import State
from prefect.utilities.callables import parameter_schema

from penstock.cli._demo import DATA_DESCRIPTION
from penstock.flows.forms import _table_plan
from penstock.flows.forms._table_protections import DifferentialPrivacy
from penstock.flows.forms.table import release_table, spec_of_tables
from penstock.flows.preview import preview
from penstock.flows.run_ends import REFUSED
from penstock.measures.gates import GateRefused
from penstock.mechanisms.refusal import SpecRefused
from penstock.records import open_records
from penstock.records.ledger.ledger import SecondRelease
from penstock.tasks.publish import Receipt
from penstock.tasks.verification.bundle import verify_bundle
from tests.support.workplace import Workplace, budget_of, make_table, open_dp_account

PRIVATE = {"kind": "differential privacy", "epsilon": "1", "adjacency": "replace"}
EXACT = {"kind": "exact with threshold"}
BOOTSTRAP = {
    "kind": "bootstrap differential privacy",
    "epsilon": "1",
    "adjacency": "bootstrap_replace",
    "scale": "one",
    "empty_cells": "noise",
    "acknowledged": True,
}
INDIVIDUAL = {
    "kind": "individual differential privacy",
    "epsilon": "1",
    "acknowledged": True,
}


def noisy() -> dict[str, Any]:
    """Limits of tables with noise."""
    return {"gates": [{"measure": "privacy_loss", "max": 1}]}


def exact(smallest: int = 2, **others: dict[str, float]) -> dict[str, Any]:
    """Limits of exact tables: the fewest records of a cell, and gates on other measures."""
    others = {"smallest_frequency": {"min": smallest}, **others}
    return {"k": 2, "gates": [{"measure": name, **limit} for name, limit in others.items()]}


class Form:
    """A data description in the folder of specs, and a form that can be filled in."""

    def __init__(self, workplace: Workplace) -> None:
        make_table(workplace)
        self.workplace = workplace
        self.description: dict[str, Any] = {
            "name": "survey",
            "source": workplace.raw["source"],
            "budget": {"dataset": "survey"},
            "publish": {"path": "published"},
            "tables": {"dp": noisy(), "bdp": noisy(), "idp": noisy(), "k_anon": exact()},
        }

    def filled(self, **fields: Any) -> dict[str, Any]:
        (self.workplace.folder / "survey-data.yaml").write_text(yaml.safe_dump(self.description))
        asked = {"data": "survey-data.yaml", "table": "incomes", "dimensions": ["region", "education"]}
        return {**asked, "sums": ["income"], "protection": PRIVATE, "started_by": "carl", **fields}

    def send(self, **fields: Any) -> Any:
        return release_table(**self.filled(**fields))

    def refusal(self, **fields: Any) -> dict[str, str]:
        with pytest.raises(SpecRefused) as refused:
            self.send(**fields)
        return {fault.field: fault.rule for fault in refused.value.faults}


@pytest.fixture
def form(workplace: Workplace, monkeypatch: pytest.MonkeyPatch, prefect_home: Path) -> Form:
    monkeypatch.setenv("PENSTOCK_SPECS", str(workplace.folder))
    return Form(workplace)


def schema() -> dict[str, Any]:
    return parameter_schema(release_table).model_dump()


def tabs_of(shown: dict[str, Any]) -> dict[str, Any]:
    return {name: tab for name, tab in shown["definitions"].items() if name != "FurtherTable"}


def test_the_form_explains_every_field_and_shows_them_in_the_order_of_the_work() -> None:
    shown = schema()
    fields = [shown["properties"], *(choice["properties"] for choice in shown["definitions"].values())]
    assert len(fields) == 6
    for properties in fields:
        assert all(field["description"] for field in properties.values())
        assert len({field["position"] for field in properties.values()}) == len(properties)
    ordered = sorted(fields[0], key=lambda name: fields[0][name]["position"])
    assert (ordered[0], ordered[-1]) == ("data", "started_by")
    assert ordered.index("dimensions") < ordered.index("protection") < ordered.index("reviewers")


def test_the_protection_is_shown_as_tabs_that_each_allow_their_own_fields_only() -> None:
    shown = schema()
    protection = shown["properties"]["protection"]
    assert [tab["$ref"].rpartition("/")[2] for tab in protection["anyOf"]] == [
        "DifferentialPrivacy",
        "ExactWithThreshold",
        "BootstrapDifferentialPrivacy",
        "IndividualDifferentialPrivacy",
    ]
    assert "oneOf" not in protection
    assert "discriminator" not in protection
    assert all(tab["additionalProperties"] is False for tab in shown["definitions"].values())
    assert shown["definitions"]["FurtherTable"]["properties"]["protection"]["anyOf"] == protection["anyOf"]


def test_nothing_that_decides_about_privacy_is_filled_in() -> None:
    shown = schema()
    assert {"data", "table", "dimensions", "protection", "started_by"} <= set(shown["required"])
    needed = {name: set(tab["required"]) for name, tab in shown["definitions"].items() if "required" in tab}
    assert needed == {
        "DifferentialPrivacy": {"epsilon", "adjacency"},
        "BootstrapDifferentialPrivacy": set(BOOTSTRAP) - {"kind"},
        "IndividualDifferentialPrivacy": set(INDIVIDUAL) - {"kind"},
        "FurtherTable": {"table", "dimensions", "protection"},
    }
    assert all("default" in tab["properties"]["kind"] for tab in tabs_of(shown).values())


def test_a_table_under_differential_privacy_is_published_and_charged(form: Form) -> None:
    open_dp_account(3)
    receipt = form.send(means=["income"], formats=["parquet", "sdmx"])
    assert isinstance(receipt, Receipt)
    assert receipt.name == "survey-incomes"
    files = {path.name for path in (Path(receipt.path) / "tables").iterdir()}
    assert {"incomes.parquet", "incomes.sdmx.csv"} <= files
    assert budget_of()[:2] == ("1", "2")
    verify_bundle(Path(receipt.path), form.workplace.home / "keys" / "signing.pub")


@pytest.mark.slow
@pytest.mark.parametrize(("model", "chosen"), [("bdp", BOOTSTRAP), ("idp", INDIVIDUAL)])
def test_the_relaxations_can_be_chosen_by_who_says_to_know_them(form: Form, model: Any, chosen: dict[str, Any]) -> None:
    open_dp_account(3, model=model, adjacency=chosen.get("adjacency", "from_D"))
    assert "protection.acknowledged" in form.refusal(protection={**chosen, "acknowledged": False})
    assert form.send(protection=chosen).promise.startswith(f"{model}, epsilon = 1")


def test_exact_figures_pass_their_gates(form: Form) -> None:
    gates = {"largest_share": {"max": 0.9}, "two_largest_share": {"max": 0.95}, "p_percent": {"min": 1}}
    form.description["tables"]["k_anon"] = exact(**gates)
    assert form.send(protection=EXACT, totals=False).promise == "k_anon, k = 2, no noise"


def test_gates_on_totals_are_those_of_tables_that_show_any(form: Form) -> None:
    form.description["tables"]["k_anon"] = exact(largest_share={"max": 0.0001})
    assert form.send(protection=EXACT, sums=[]).promise == "k_anon, k = 2, no noise"
    form.description["tables"]["k_anon"]["gates"] = [{"measure": "largest_share", "max": 0.9}]
    assert form.refusal(protection=EXACT, sums=[]) == {
        "data.tables.k_anon.gates": "must include a gate that judges something other than totals: the table shows none"
    }


def test_a_protection_whose_limits_the_description_does_not_set_cannot_be_chosen(form: Form) -> None:
    del form.description["tables"]["k_anon"]
    rule = "must be set in the data description before such a table can be asked for"
    assert form.refusal(protection=EXACT) == {"data.tables.k_anon": rule}
    del form.description["tables"]
    assert form.refusal() == {"data.tables.dp": rule}


@pytest.mark.parametrize(
    ("tables", "named"),
    [
        ([noisy()], {"data.tables": "must have limits by model: dp, k_anon, bdp, idp"}),
        ({"dp": noisy(), "exact": noisy()}, {"data.tables": "must have limits by model: dp, k_anon, bdp, idp"}),
        ({"dp": {**noisy(), "k": 3}}, {"data.tables.dp": "must have gates, no other key"}),
        ({"dp": [noisy()]}, {"data.tables.dp": "must have gates, no other key"}),
        ({"dp": {}}, {"data.tables.dp.gates": "must list at least one gate"}),
        ({"dp": {"gates": []}}, {"data.tables.dp.gates": "must list at least one gate"}),
        (
            {"dp": {"gates": [{"measure": "privacy_loss", "min": 2, "max": 1}]}},
            {"data.tables.dp.gates.0.min": "must not exceed max"},
        ),
        ({"dp": {"gates": [3]}}, {"data.tables.dp.gates.0": "must hold keys and values"}),
    ],
)
def test_a_fault_of_the_limits_names_its_place_in_the_description(form: Form, tables: Any, named: Any) -> None:
    form.description["tables"] = tables
    assert form.refusal() == named


def test_the_threshold_stands_in_the_description(form: Form) -> None:
    form.description["tables"]["k_anon"]["k"] = 1
    assert set(form.refusal(protection=EXACT)) == {"data.tables.k_anon.k"}
    del form.description["tables"]["k_anon"]["k"]
    assert set(form.refusal(protection=EXACT)) == {"data.tables.k_anon.k"}


def test_the_second_gate_of_the_description_is_named_by_its_own_place_where_the_first_is_left_out(form: Form) -> None:
    gates = [{"measure": "largest_share", "max": 0.9}, {"measure": "smallest_frequency"}]
    form.description["tables"]["k_anon"]["gates"] = gates
    assert set(form.refusal(protection=EXACT, sums=[])) == {"data.tables.k_anon.gates.1.max"}


@pytest.mark.slow
def test_a_second_exact_table_of_the_same_records_names_the_first(form: Form) -> None:
    first = form.send(protection=EXACT).run
    with pytest.raises(SecondRelease, match=first):
        form.send(protection=EXACT, dimensions=["region"])
    with pytest.raises(GateRefused, match="Name reviewers"):
        form.send(protection=EXACT, dimensions=["region"], earlier_releases=[first])
    form.description["tables"]["k_anon"] = exact(300)
    asked = {"earlier_releases": [first], "reviewers": 1, "reviewer_names": ["anna"]}
    with pytest.raises(GateRefused, match="smallest_frequency at least 300"):  # it came as far as its gates
        form.send(protection=EXACT, dimensions=["region"], **asked)


def test_a_refused_run_is_named_so_and_its_message_has_code_and_reason(form: Form) -> None:
    form.description["tables"]["k_anon"] = exact(300)
    ended: State[Any] = release_table(**form.filled(protection=EXACT), return_state=True)
    assert (ended.name, ended.is_failed()) == (REFUSED, True)
    assert ended.message is not None
    assert ended.message.startswith("gate-refused: gates.smallest_frequency refused: must hold for what is published")
    with get_client(sync_client=True) as client:
        assert ended.state_details.flow_run_id is not None
        kept = client.read_flow_run(ended.state_details.flow_run_id).state
    assert kept is not None
    assert (kept.name, kept.message) == (REFUSED, ended.message)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"dimensions": ["income"]}, {"dimensions": "must have categories"}),
        ({"sums": ["height"]}, {"sums": "must be a declared column that is not an identifier or weight"}),
        (
            {"count": False, "sums": []},
            {"count": "must be true where there are no sums or means: a table has at least one figure"},
        ),
        ({"protection": {**PRIVATE, "epsilon": "0"}}, {"protection.epsilon": "must be above 0"}),
        (
            {"protection": {**PRIVATE, "rows_per_unit": 2}},
            {"protection.rows_per_unit": "must not be given where the unit is a row"},
        ),
        (
            {"formats": ["sdmx"]},
            {"formats": "must list parquet or csv beside sdmx: `penstock verify` reads those"},
        ),
        ({"formats": ["csv", "csv"]}, {"formats": "must not list a format twice"}),
        (
            {"reviewers": 2, "reviewer_names": ["anna"]},
            {"reviewer_names": "must be different people, at least as many as must approve"},
        ),
        ({"reviewer_names": ["anna"]}, {"reviewers": "must be 1 or 2 where names are given: 0 asks nobody"}),
    ],
)
def test_a_fault_names_the_field_of_the_form(form: Form, fields: dict[str, Any], named: dict[str, str]) -> None:
    assert form.refusal(**fields) == named


def test_a_fault_of_the_data_description_names_its_key(form: Form) -> None:
    del form.description["name"]
    form.description["budget"] = {}
    form.description["source"]["columns"]["age"] = {"role": "weight"}
    assert {"data.name", "data.source.columns.age.role"} <= set(form.refusal())
    form.description |= {"name": "survey"}
    del form.description["source"]["columns"]["age"]
    assert "data.budget.dataset" in form.refusal()


def test_a_data_description_may_allow_less_than_the_form_asks(form: Form) -> None:
    form.description["budget"]["epsilon"] = "1/2"
    assert form.refusal() == {"data.budget.epsilon": "must be at least 1, what the mechanisms spend together"}


def test_what_is_said_elsewhere_may_not_stand_in_the_data_description_too(form: Form) -> None:
    form.description |= {"gates": [{"measure": "privacy_loss", "max": 9}], "protect": []}
    form.description["publish"]["formats"] = ["csv"]
    form.description["approve"] = {"reviewers": 1, "allowed": ["anna"]}
    refused = form.refusal(reviewers=1, reviewer_names=["carl"])
    assert set(refused) == {"data.gates", "data.protect", "data.publish.formats", "reviewers"}


@pytest.mark.slow
def test_the_data_description_can_say_who_approves(form: Form) -> None:
    open_dp_account(3)
    form.description["approve"] = {"reviewers": 1, "allowed": ["anna"]}
    waiting = form.send()
    assert (waiting.required, waiting.allowed) == (1, ("anna",))


@pytest.mark.parametrize("merged", [{**PRIVATE, "k": 5}, {**EXACT, "epsilon": "1"}, {**BOOTSTRAP, "k": 2}])
def test_fields_of_two_tabs_together_are_refused(form: Form, merged: dict[str, Any]) -> None:
    filled = form.filled(protection=merged)
    with pytest.raises(ParameterTypeError):
        release_table(**filled)
    shown = schema()
    by_server = Draft202012Validator({**shown, "definitions": shown["definitions"]})
    assert not by_server.is_valid(filled)
    assert by_server.is_valid(form.filled())


def test_the_data_descriptions_that_come_with_penstock_can_be_released(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_DATA", str(tmp_path))
    monkeypatch.setenv("PENSTOCK_PUBLISH", str(tmp_path / "published"))
    (tmp_path / "panel-data.yaml").write_text(DATA_DESCRIPTION, encoding="utf-8")
    examples = Path(__file__).parents[3] / "deployments" / "examples" / "data"
    protection = DifferentialPrivacy(epsilon="1", adjacency="replace")
    for description, dimensions in ((tmp_path / "panel-data.yaml", ["region"]), (examples / "adult.yaml", ["sex"])):
        asked = {"table": "persons", "dimensions": dimensions}
        spec = spec_of_tables(description, [(asked, protection)], formats=["csv"])
        assert spec.name.endswith("-persons")


def test_a_plan_is_shown_before_anything_is_spent(form: Form) -> None:
    planned = release_table(**form.filled(plan_only=True), return_state=True)
    assert planned.message == "Planned: nothing stands against a run. Nothing was spent."
    open_dp_account(4, dataset="another")
    planned = release_table(**form.filled(plan_only=True), return_state=True)
    assert planned.message == "Planned: a run would be refused (account-missing). Nothing was spent."
    assert not [event for event in open_records().log.events() if event.action in ("PLANNED", "LOOKED")]
    assert not form.workplace.bundles()


def test_the_plan_on_the_page_says_what_the_plan_of_the_spec_says(form: Form) -> None:
    form.filled()
    asked = {"table": "incomes", "dimensions": ["region", "education"], "sums": ["income"]}
    private = DifferentialPrivacy(epsilon="1", adjacency="replace")
    description = form.workplace.folder / "survey-data.yaml"
    one = preview(spec_of_tables(description, [(asked, private)], formats=["csv"]), count=False)
    two = preview(
        spec_of_tables(
            description, [(asked, private), ({**asked, "table": "more", "sums": []}, private)], formats=["csv"]
        ),
        count=False,
    )
    for planned in (one, two):
        page = "\n".join(_table_plan._lines(planned))
        outputs = planned.get("outputs", [planned])
        said = [*planned["cost"], *planned["review"], *(text for each in outputs for text in each["expect"])]
        assert [text for text in said if _table_plan._plain(text) not in page] == []
    assert _table_plan._plain("<b>a_b") == r"\<b\>a\_b"
