"""A fault of a spec with several outputs names the output, and the column or mechanism that was meant."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from penstock.flows.planning import draw_up_plan
from penstock.flows.spec import parse_spec
from penstock.mechanisms.refusal import Fault, SpecRefused

DP = {"mechanism": "table", "model": "dp", "epsilon": "1/5", "adjacency": "add_remove"}
SPEC: dict[str, Any] = {
    "name": "labour",
    "source": {
        "path": "/nowhere/labour.parquet",
        "unit": "row",
        "columns": {
            "sex": {"role": "quasi_identifier", "type": "nominal", "categories": ["f", "m"]},
            "region": {"role": "quasi_identifier", "type": "nominal", "categories": ["N", "S"]},
            "hours": {"role": "confidential", "type": "integer", "domain": [0, 80]},
            "weight": {"role": "weight", "domain": [0, 400]},
        },
    },
    "budget": {"dataset": "labour", "epsilon": "1"},
    "protect": [
        {"table": "by_sex", "dimensions": ["sex"], **DP},
        {"table": "by_region", "dimensions": ["region"], **DP},
        {"table": "persons", "dimensions": ["region", "sex"], "weight": {"column": "weight"}, **DP},
    ],
    "gates": [{"measure": "privacy_loss", "max": 1}],
    "publish": {"path": "/nowhere/published"},
}
SECTIONS = (*SPEC, "approve")


def faults(**changes: Any) -> list[Fault]:
    """The faults of the spec above; changes: of a section, else of its second output, whose name is `name_of_it`."""
    raw = copy.deepcopy(SPEC)
    for key, value in changes.items():
        (raw if key in SECTIONS else raw["protect"][1])[key.removesuffix("_of_it")] = value
    with pytest.raises(SpecRefused) as refused:
        parse_spec(raw)
    return list(refused.value.faults)


def told(**changes: Any) -> list[tuple[str, str]]:
    return [(fault.field, fault.remedy) for fault in faults(**changes)]


def test_the_output_is_named_beside_its_place() -> None:
    assert told(dimension=["region"]) == [
        ("protect.1 (by_region).dimension", "Did you mean dimensions? Otherwise remove it.")
    ]
    assert [fault.field for fault in faults(table="people", k=3)] == ["protect.1 (people).k"]
    assert faults(table="No Name")[0].field == "protect.1.table"  # what is refused as a name names nothing


def test_one_output_keeps_its_bare_place() -> None:
    [only] = [{**SPEC["protect"][2], "k": 3}]
    assert [fault.field for fault in faults(protect=[only])] == ["protect.0.k"]


def test_a_misspelt_column_mechanism_or_number_is_answered_by_the_one_that_was_meant() -> None:
    assert told(dimensions=["regoin"]) == [
        (
            "protect.1 (by_region).dimensions",
            "Did you mean region? Otherwise declare it as quasi_identifier or confidential.",
        )
    ]
    assert told(mechanism="tabel")[0][1] == "Did you mean table? Otherwise name the mechanism."
    assert told(epsilon=0.2) == [("protect.1 (by_region).epsilon", 'Write "0.2" or "1/5".')]
    assert told(epsilon=float("inf"))[0][1].startswith("Correct it")
    assert told(weight="weight") == [("protect.1 (by_region).weight", "Write {column: weight}.")]
    for no_name in ("the weight", "w" * 61):
        assert told(weight=no_name) == [("protect.1 (by_region).weight", "Write {column: COLUMN}.")]
    assert told(weight=3)[0][1].startswith("Correct it")


def test_a_column_that_is_declared_and_not_among_those_of_the_output_is_told_as_that() -> None:
    first, second = faults(columns=["regoin"])
    assert (first.rule, first.got) == ("must be among the columns of its output", "'region'")
    assert second.remedy == "Did you mean region? Otherwise declare it in source.columns, or remove it."


def test_a_fault_of_a_column_names_the_outputs_that_make_it_one() -> None:
    columns = copy.deepcopy(SPEC["source"]["columns"])
    del columns["weight"]["domain"]
    columns["region"]["missing"] = "category"
    found = {fault.field: fault.rule for fault in faults(source={**SPEC["source"], "columns": columns})}
    assert found["source.columns.weight.domain"].endswith("(for persons)")
    assert found["source.columns.region.missing"].endswith("(for by_region, persons)")


def test_a_weight_enters_only_the_tables_that_name_it() -> None:
    plan = draw_up_plan(parse_spec(copy.deepcopy(SPEC)))
    by_sex, _, persons = plan.outputs
    assert "weight" not in by_sex.declared
    assert "weight" not in by_sex.released
    assert "weight" not in by_sex.content("digest")["columns"]
    assert "weight" not in (by_sex.claim("").about or ())
    assert "weight" in persons.declared
    assert "weight" in (persons.claim("").about or ())
    with_columns = copy.deepcopy(SPEC)
    with_columns["protect"][0]["columns"] = ["sex", "region", "hours"]  # as one had to write it
    assert draw_up_plan(parse_spec(with_columns)).outputs[0].content("d") == by_sex.content("d")


def test_a_weight_that_an_output_lists_or_that_nothing_is_weighted_by_is_refused() -> None:
    rule = "must not be weight, unless the table says that it is weighted by it (for by_region)"
    [listed] = faults(columns=["region", "weight"])
    assert (listed.field, listed.rule) == ("source.columns.weight.role", rule)
    assert listed.remedy.endswith("Or leave it out of the columns of these outputs.")
    [unused] = faults(protect=SPEC["protect"][:2])
    assert (unused.field, unused.rule) == (
        "source.columns.weight.role",
        "must not be weight, unless an output is weighted by it",
    )
    [alone] = faults(protect=SPEC["protect"][:1])
    assert alone.rule == "must not be weight, unless the table says that it is weighted by it"
    each = [{**entry, "columns": entry["dimensions"]} for entry in SPEC["protect"][:2]]
    assert parse_spec({**copy.deepcopy(SPEC), "protect": each})  # every output says what it uses


def test_a_table_name_that_is_given_twice_is_one_fault_of_each() -> None:
    assert [fault.field for fault in faults(table="by_sex")] == ["protect.0 (by_sex).table", "protect.1 (by_sex).table"]
    assert [fault.field for fault in faults(name_of_it="by_sex")] == [
        "protect.0 (by_sex).table",
        "protect.1 (by_sex).name",
    ]


@pytest.mark.parametrize("odd", [0, 1, 2])
def test_the_odd_adjacency_is_the_one_that_is_refused(odd: int) -> None:
    protect = copy.deepcopy(SPEC["protect"])
    protect[odd]["adjacency"] = "replace"
    [fault] = faults(protect=protect)
    assert fault.field == f"protect.{odd} ({protect[odd]['table']}).adjacency"
    assert (fault.rule.split(",")[0], fault.got) == ("must be add_remove", "replace")


def test_outputs_spend_together_what_the_budget_must_allow() -> None:
    with pytest.raises(SpecRefused, match="must be at least 3/5, what the 3 outputs spend together, got 1/2"):
        draw_up_plan(parse_spec({**copy.deepcopy(SPEC), "budget": {"dataset": "labour", "epsilon": "1/2"}}))


def test_reviewers_are_listed_as_people_write_them() -> None:
    [fault] = faults(approve={"reviewers": 2, "allowed": ["ben"]})
    assert fault.got == "ben"
    [fault] = faults(approve={"reviewers": 1})
    assert fault.got == "nobody"


@pytest.mark.parametrize("edition", ["2026-13", "2026-00 final", "2026-Q5", "2026-1", "2026-02-30", "2025-26"])
def test_an_edition_that_is_written_like_a_period_and_is_none_is_refused(edition: str) -> None:
    [fault] = faults(source={**SPEC["source"], "edition": edition})
    assert fault.rule.startswith("must begin with a period that there is")


@pytest.mark.parametrize("edition", ["2026-12", "2026", "spring", "2026-2027", "2026-W45", "2026-Q4 final", "y2025-26"])
def test_other_editions_are_names_or_periods(edition: str) -> None:
    assert parse_spec({**copy.deepcopy(SPEC), "source": {**SPEC["source"], "edition": edition}})
