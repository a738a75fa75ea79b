"""Outputs that share a file: what they may be, and every reason why they may not share it."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from penstock.flows.planning import draw_up_plan
from penstock.flows.spec import parse_spec
from penstock.mechanisms.refusal import Fault, SpecRefused
from tests.flows.good_specs import GOOD

SWAP = {"mechanism": "probabilistic_k_anonymity"}
SHARED: dict[str, Any] = {
    **GOOD,
    "source": {
        "path": "income.parquet",
        "unit": "row",
        "columns": {
            **GOOD["source"]["columns"],
            "tax": {"role": "confidential", "type": "integer", "domain": [0, 200000]},
        },
    },
    "budget": {"acknowledges": ["keys", "amounts"]},
    "protect": [
        {
            **SWAP,
            "name": "keys",
            "method": "mdav_id",
            "k": 5,
            "columns": ["age", "region", "weight"],
            "file": "people",
        },
        {**SWAP, "name": "amounts", "method": "ir_swap", "k": 25, "columns": ["income", "tax"], "file": "people"},
    ],
    "gates": [{"measure": "record_linkage", "max": 0.4}],
}
Raw = dict[str, Any]


def changed(change: Callable[[Raw], object]) -> Raw:
    raw = copy.deepcopy(SHARED)
    change(raw)
    return raw


def without_name(fault: Fault) -> Fault:
    """The fault without the name of its output, which stands beside its place (test_named_places.py)."""
    return replace(fault, field=re.sub(r" \([a-z0-9_]+\)", "", fault.field))


def faults(change: Callable[[Raw], object]) -> list[Fault]:
    with pytest.raises(SpecRefused) as refused:
        parse_spec(changed(change))
    return list(map(without_name, refused.value.faults))


def only_fault(change: Callable[[Raw], object]) -> Fault:
    [fault] = faults(change)
    return fault


def entry(raw: Raw, place: int, **settings: Any) -> None:
    raw["protect"][place] |= settings
    raw["protect"][place] = {name: value for name, value in raw["protect"][place].items() if value is not None}


def test_outputs_that_share_a_file_are_planned_with_it() -> None:
    plan = draw_up_plan(parse_spec(SHARED))
    [file] = plan.files
    assert (file.name, file.outputs) == ("people", ("keys", "amounts"))
    assert list(file.declared) == ["age", "region", "income", "weight", "tax"]  # as they are declared
    assert [each.output.folder for each in plan.outputs] == ["people", "people"]
    assert [gate.measure for gate in file.gates] == ["record_linkage"]
    for own, beside in (("keys", "income, tax"), ("amounts", "age, region, weight")):
        [promise] = [each.guarantee for each in plan.outputs if each.output_name == own]
        assert promise.not_promised[-1].endswith(f"beside these in people, record by record: {beside}")
    assert set(file.together) <= set(plan.together)


def test_a_spec_without_shared_files_keeps_its_digest_and_its_promise() -> None:
    raw = changed(lambda raw: [each.pop("file") for each in raw["protect"]])
    plan = draw_up_plan(parse_spec(raw))
    assert plan.files == ()
    assert "file" not in str(plan.spec)
    assert not any("record by record" in limit for each in plan.outputs for limit in each.guarantee.not_promised)


def test_a_file_of_one_output_is_refused() -> None:
    fault = only_fault(lambda raw: raw["protect"][1].pop("file"))
    assert (fault.field, fault.got) == ("protect.0.file", "'people'")
    assert "at least two outputs" in fault.rule


def test_a_file_where_there_is_one_output_is_refused() -> None:
    def change(raw: Raw) -> None:
        raw["protect"] = [{**SWAP, "method": "ir_swap", "k": 5, "file": "people"}]
        raw["budget"] = {}

    assert [fault.field for fault in faults(change)] == ["protect.0.file"]


@pytest.mark.parametrize("name", ["keys", "amounts", "metadata", "tables"])
def test_a_file_has_a_name_of_its_own(name: str) -> None:
    fault = only_fault(lambda raw: [entry(raw, place, file=name) for place in (0, 1)])
    assert (fault.field, fault.got) == ("protect.0.file", repr(name))
    assert fault.rule.startswith("must differ from the names of all outputs")


def test_columns_of_two_outputs_are_refused_in_one_file_too() -> None:
    found = faults(lambda raw: entry(raw, 1, columns=["income", "tax", "age"]))
    assert "protect.1.columns" in [fault.field for fault in found]
    assert "'age'" in [fault.got for fault in found]


def test_bands_of_a_column_do_not_stand_beside_the_column_of_another_output() -> None:
    def change(raw: Raw) -> None:
        bands = {"role": "quasi_identifier", "type": "ordinal", "recode": {"of": "income", "bands": [0, 1000, 500000]}}
        raw["source"]["columns"]["band"] = bands
        raw["source"]["columns"]["income"]["domain"] = [0, 500000]
        raw["protect"][0]["columns"].append("band")

    fault = only_fault(change)
    assert (fault.field, fault.got) == ("protect.1.columns", "'income'")
    assert fault.rule.startswith("must not include a column made of what band is made of")


@pytest.mark.parametrize("name", ["region", "weight"])
def test_a_column_that_singles_out_records_beside_those_made_alike_is_refused(name: str) -> None:
    def change(raw: Raw) -> None:
        entry(raw, 0, columns=[each for each in raw["protect"][0]["columns"] if each != name])
        entry(raw, 1, columns=[*raw["protect"][1]["columns"], name])

    fault = only_fault(change)
    assert (fault.field, fault.got) == ("protect.1.columns", repr(name))


def test_two_outputs_that_each_make_some_quasi_identifiers_alike_are_refused() -> None:
    def change(raw: Raw) -> None:
        entry(raw, 0, columns=["age", "weight"])
        entry(raw, 1, method="mdav_id", k=5, columns=["region", "income", "tax"])

    fault = only_fault(change)
    assert (fault.field, fault.got) == ("protect.1.columns", "'region'")


def test_unchanged_quasi_identifiers_may_stand_beside_swapped_values() -> None:
    def change(raw: Raw) -> None:
        entry(raw, 0, method="mdav_swap", columns=["age", "region", "weight", "income"])
        entry(raw, 1, columns=["tax"])

    assert draw_up_plan(parse_spec(changed(change))).files


def test_formats_of_a_file_agree() -> None:
    fault = only_fault(lambda raw: entry(raw, 1, formats=["parquet"]))
    assert fault.field == "protect.1.formats"
    assert parse_spec(changed(lambda raw: [entry(raw, place, formats=["csv"]) for place in (0, 1)]))


def test_a_part_of_a_file_is_not_left_out() -> None:
    fault = only_fault(lambda raw: entry(raw, 1, on_refusal="leave_out"))
    assert (fault.field, fault.got) == ("protect.1.on_refusal", "leave_out")


@pytest.mark.parametrize("gates", [[{"measure": "average_risk", "max": 0.3}], None])
def test_a_gate_on_the_linkage_of_a_file_is_needed(gates: list[Raw] | None) -> None:
    def change(raw: Raw) -> None:
        raw["gates"] = gates
        for place in (0, 1):
            entry(raw, place, gates=[{"measure": "average_risk", "max": 0.3}])

    fault = only_fault(change)
    assert fault.field == "gates"
    assert fault.rule.startswith("must include record_linkage")


def test_a_gate_that_judges_no_records_is_refused_for_a_file() -> None:
    def change(raw: Raw) -> None:
        raw["gates"].append({"measure": "cell_error", "max": 1})
        for place in (0, 1):
            entry(raw, place, gates=[{"measure": "average_risk", "max": 0.3}])

    assert only_fault(change).field == "gates.1.measure"


PRIVATE = {"mechanism": "dp_microaggregation", "epsilon": "1", "adjacency": "replace", "k": "auto"}
UNIFORM = {"kind": "uniform"}
REFINED = {"mechanism": "refinement", "epsilon": "1", "adjacency": "replace", "priors": {"income": UNIFORM}}
GROUPS = {"mechanism": "closeness", "method": "ranked", "output": "anatomy", "k": 5}
CELLS = {"mechanism": "table", "table": "cells", "dimensions": ["region"], "model": "k_anon", "k": 5}


@pytest.mark.parametrize("settings", [PRIVATE, REFINED, GROUPS, CELLS], ids=lambda settings: str(settings["mechanism"]))
def test_only_promises_that_hold_column_by_column_share_a_file(settings: Raw) -> None:
    def change(raw: Raw) -> None:
        columns = {"columns": ["income"]} if settings is not CELLS else {}
        if settings is GROUPS:
            columns = {"columns": ["income", "region"]}
        raw["protect"][1] = {**settings, "name": "amounts", "file": "people", **columns}
        raw["source"]["columns"]["income"] |= {"outside": "refuse"}
        raw["budget"] |= {"dataset": "income", "epsilon": "1"}

    [fault] = [fault for fault in faults(change) if fault.field == "protect.1.file"]
    assert fault.rule.startswith(f"must not be given under {settings['mechanism']}: its promise does not hold")


def test_a_file_does_not_stand_beside_outputs_that_spend() -> None:
    def change(raw: Raw) -> None:
        cells = {"mechanism": "table", "table": "cells", "dimensions": ["region"], "model": "dp", "epsilon": "1"}
        raw["protect"].append({**cells, "adjacency": "replace", "gates": [{"measure": "privacy_loss", "max": 1}]})
        raw["budget"] = {"dataset": "income", "epsilon": "1", "acknowledges": ["keys", "amounts", "cells"]}

    [fault] = [fault for fault in faults(change) if fault.field.startswith("protect.")]
    assert fault.field == "protect.0.file"
    assert fault.rule.startswith("must not be given beside outputs that spend epsilon")


@pytest.mark.parametrize("setting", ["memory", "engine"])
def test_a_file_is_not_made_in_parts(setting: str) -> None:
    def change(raw: Raw) -> None:
        run = {"memory": {"memory": "4 GB"}, "engine": {"engine": "dask", "address": "tcp://scheduler:8786"}}
        raw["run"] = run[setting]

    rules = [fault.rule for fault in faults(change) if fault.field.startswith("run.")]
    assert any("protect.0.file" in rule for rule in rules)


def test_what_nothing_covers_is_acknowledged() -> None:
    assert only_fault(lambda raw: raw.pop("budget")).field == "budget.acknowledges"


def test_what_an_intruder_knows_of_a_file_must_leave_a_column_of_it() -> None:
    """Each output has gates of its own, so that of the release is about the file alone."""

    def ask(knows: int) -> Callable[[Raw], object]:
        def change(raw: Raw) -> None:
            raw["gates"] = [*raw["gates"], {"measure": "informed_linkage", "knows": knows, "max": 0.5}]
            for entry in raw["protect"]:
                entry["gates"] = [{"measure": "average_risk", "max": 0.5}]

        return change

    parse_spec(changed(ask(1)))
    [fault] = faults(ask(2))
    assert fault.field == "gates.1.knows"
    assert fault.rule == "must leave a confidential column to be found: at most 1 of 2 here"


def test_a_gate_of_the_release_that_an_output_has_no_answer_to_names_it() -> None:
    """Keys alone have no confidential column that anybody could find."""
    gate = {"measure": "informed_linkage", "knows": 1, "max": 0.5}
    [fault] = faults(lambda raw: raw["gates"].append(gate))
    assert "it holds for every output without gates of its own: keys" in fault.rule


def test_a_part_of_a_file_publishes_all_of_its_records() -> None:
    def sample(raw: Raw) -> None:
        raw["protect"][1]["sample"] = "1/10"

    assert [(each.field, each.got) for each in faults(sample) if "other parts hold all records" in each.rule] == [
        ("protect.1.sample", "'1/10'")
    ]
