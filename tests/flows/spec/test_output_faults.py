"""What is refused of outputs beside each other, before any row is read."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from penstock.flows.planning import draw_up_plan
from penstock.flows.spec import load_spec
from penstock.mechanisms.refusal import Fault, SpecRefused
from tests.support.several import add_records, make_exact, make_several
from tests.support.workplace import Workplace


def without_name(fault: Fault) -> Fault:
    """The fault without the name of its output, which stands beside its place (test_named_places.py)."""
    return replace(fault, field=re.sub(r" \([a-z0-9_]+\)", "", fault.field))


def faults(workplace: Workplace) -> dict[str, Fault]:
    with pytest.raises(SpecRefused) as caught:
        draw_up_plan(load_spec(workplace.write_spec()))
    return {fault.field: fault for fault in map(without_name, caught.value.faults)}


def change(workplace: Workplace, place: int, **settings: Any) -> None:
    entry = workplace.raw["protect"][place] | settings
    workplace.raw["protect"][place] = {name: value for name, value in entry.items() if value is not None}


def test_outputs_of_one_name_are_refused(workplace: Workplace) -> None:
    make_several(workplace)
    change(workplace, 1, table="by_region")
    found = faults(workplace)
    assert {"protect.0.table", "protect.1.table"} == found.keys()
    assert found["protect.1.table"].rule == "must differ from that of every other output"


def test_an_output_that_asks_again_is_told_which_one_asked_before(workplace: Workplace) -> None:
    make_several(workplace)
    first = workplace.raw["protect"][0]
    workplace.raw["protect"][1] = {**first, "table": "again"}
    told = f"must ask for something else than {first['table']}: the same figures would be drawn twice"
    assert faults(workplace)["protect.1"].rule == told


def test_two_tables_may_not_have_one_file_under_two_names(workplace: Workplace) -> None:
    make_several(workplace)
    change(workplace, 1, table="by_region", name="other")
    assert faults(workplace).keys() == {"protect.0.table", "protect.1.table"}


def test_records_need_a_name_where_there_are_several_outputs(workplace: Workplace) -> None:
    make_several(workplace)
    add_records(workplace, name=None)
    change(workplace, 3, name=None)
    workplace.raw["budget"]["acknowledges"] = []
    assert faults(workplace)["protect.3.name"].rule == "must be given where there are several outputs"


def test_a_column_that_nobody_declared_is_refused(workplace: Workplace) -> None:
    make_several(workplace)
    add_records(workplace, columns=["age", "shoe_size"])
    assert faults(workplace)["protect.3.columns"].got == "'shoe_size'"


def test_an_identifier_is_no_column_of_an_output(workplace: Workplace) -> None:
    make_several(workplace)
    add_records(workplace, columns=["age", "person_id"])
    assert faults(workplace)["protect.3.columns"].got == "'person_id'"


def test_a_table_uses_no_column_that_is_not_its_own(workplace: Workplace) -> None:
    make_several(workplace)
    change(workplace, 0, columns=["education"])
    assert faults(workplace)["protect.0.dimensions"].got == "'region'"


def test_records_of_two_outputs_share_no_column(workplace: Workplace) -> None:
    make_several(workplace)
    add_records(workplace)
    add_records(workplace, name="others", columns=["education", "age"])
    workplace.raw["budget"]["acknowledges"] = ["people", "others"]
    fault = faults(workplace)["protect.4.columns"]
    assert (fault.got, fault.rule) == ("'age'", "must not include age, which is already released by people")


@pytest.mark.parametrize(("key", "value"), [("columns", ["age"]), ("on_refusal", "leave_out")])
def test_what_is_only_for_several_outputs_is_refused_for_one(workplace: Workplace, key: str, value: Any) -> None:
    workplace.raw["protect"][0][key] = value
    assert faults(workplace)[f"protect.0.{key}"].rule == "must not be given where there is one output"


def test_one_output_may_have_a_name_gates_and_formats(workplace: Workplace) -> None:
    workplace.raw["protect"][0] |= {"name": "people", "gates": workplace.raw.pop("gates"), "formats": ["parquet"]}
    plan = draw_up_plan(load_spec(workplace.write_spec()))
    assert (plan.output_name, plan.formats) == (None, ("parquet",))
    assert [gate.measure for gate in plan.gates] == ["average_risk", "mean_change"]


def test_outputs_without_gates_of_their_own_need_those_of_the_release(workplace: Workplace) -> None:
    make_several(workplace)
    gates = workplace.raw.pop("gates")
    assert faults(workplace).keys() == {"gates"}
    for place in range(3):
        change(workplace, place, gates=gates)
    assert [len(each.gates) for each in draw_up_plan(load_spec(workplace.write_spec())).outputs] == [1, 1, 1]


def test_gates_of_an_output_are_named_as_its_own(workplace: Workplace) -> None:
    make_several(workplace)
    change(workplace, 1, gates=[{"measure": "smallest_frequency", "min": 2}])
    rule = "must be public: whether a release appears would otherwise tell about the confidential data"
    assert faults(workplace)["protect.1.gates.0.measure"].rule == rule


def test_formats_of_an_output_are_named_as_its_own(workplace: Workplace) -> None:
    make_several(workplace)
    add_records(workplace, formats=["parquet", "sdmx"])
    assert faults(workplace)["protect.3.formats"].got == "sdmx"


def test_what_looks_at_the_data_beside_epsilon_must_be_left_out(workplace: Workplace) -> None:
    make_several(workplace)
    add_records(workplace)
    change(workplace, 3, on_refusal=None)
    assert "must be leave_out beside outputs that spend epsilon" in faults(workplace)["protect.3.on_refusal"].rule


def test_adjacencies_that_do_not_add_up_are_refused(workplace: Workplace) -> None:
    make_several(workplace)
    change(workplace, 2, adjacency="add_remove")
    fault = faults(workplace)["protect.2.adjacency"]
    assert (fault.rule, fault.got) == (
        "must be replace, as for the other outputs under dp: only then do they add up",
        "add_remove",
    )


def test_what_nothing_covers_must_be_named(workplace: Workplace) -> None:
    make_several(workplace)
    add_records(workplace)
    workplace.raw["budget"]["acknowledges"] = []
    fault = faults(workplace)["budget.acknowledges"]
    assert fault.rule == "must name outputs that no theorem covers together with the others: people (k_anon)"
    assert "add: people." in fault.remedy


def test_exact_tables_must_each_be_named(workplace: Workplace) -> None:
    make_exact(workplace)
    workplace.raw["budget"]["acknowledges"] = ["regions"]
    assert "educations (k_anon)" in faults(workplace)["budget.acknowledges"].rule


def test_what_the_sum_covers_must_not_be_named(workplace: Workplace) -> None:
    make_several(workplace)
    workplace.raw["budget"]["acknowledges"] = ["incomes"]
    assert faults(workplace)["budget.acknowledges"].got == "'incomes'"


def test_two_relaxations_are_named_and_dp_is_covered_by_each(workplace: Workplace) -> None:
    make_several(workplace)
    relaxed = {"gates": [{"measure": "privacy_loss", "max": 1}]}
    change(workplace, 1, model="idp", adjacency="from_D", acknowledges=["idp"], **relaxed)
    change(
        workplace,
        2,
        model="bdp",
        adjacency="bootstrap_replace",
        acknowledges=["bdp"],
        scale="one",
        empty_cells="noise",
        **relaxed,
    )
    rule = faults(workplace)["budget.acknowledges"].rule
    assert rule.endswith(": by_education (idp), incomes (bdp)")


def test_the_budget_covers_the_whole_release(workplace: Workplace) -> None:
    make_several(workplace)
    workplace.raw["budget"]["epsilon"] = "1/2"
    fault = faults(workplace)["budget.epsilon"]
    assert fault.rule.startswith("must be at least 1")


def test_more_outputs_than_anybody_reads_are_refused(workplace: Workplace) -> None:
    make_several(workplace)
    workplace.raw["protect"] *= 50
    assert faults(workplace)["protect"].rule == "must list at most 100"


def test_a_gate_of_the_release_names_the_outputs_that_it_does_not_fit(workplace: Workplace) -> None:
    """The remedy was to choose another measure, although the others have this one."""
    make_several(workplace)
    add_records(workplace, gates=None)
    change(workplace, 3, gates=None)
    workplace.raw["gates"] = [{"measure": "expected_error", "max": 100}]
    fault = faults(workplace)["gates.0.measure"]
    assert "needs epsilon to be spent" in fault.rule
    assert fault.rule.endswith("it holds for every output without gates of its own: people")
    assert fault.remedy.endswith("Or give gates of its own to each of these, in protect.")
    change(workplace, 3, gates=[{"measure": "average_risk", "max": 0.2}])
    draw_up_plan(load_spec(workplace.write_spec()))


def test_a_gate_that_fits_no_output_names_none(workplace: Workplace) -> None:
    make_several(workplace)
    workplace.raw["gates"] = [{"measure": "sse", "max": 100}]
    fault = faults(workplace)["gates.0.measure"]
    assert fault.rule.startswith("must be public")
    assert "every output" not in fault.rule


def test_medians_beside_tables_are_refused_for_a_gate_on_their_error_before_the_draw(workplace: Workplace) -> None:
    make_several(workplace)
    medians = {"mechanism": "statistics", "groups": ["region"], "figures": [{"statistic": "median", "of": "income"}]}
    change(workplace, 2, dimensions=None, means=None, **medians)
    workplace.raw["gates"] = [{"measure": "expected_error", "max": 100}]
    fault = faults(workplace)["gates.0.measure"]
    assert fault.rule.startswith("needs a count or a sum, whose error is stated before the draw")
    assert fault.rule.endswith(": incomes")
