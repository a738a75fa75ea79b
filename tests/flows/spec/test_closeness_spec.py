"""A spec of groups: it spends nothing although it may name an epsilon, protects rows, and is judged as groups."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from penstock.flows.planning import draw_up_plan
from penstock.flows.preview import preview
from penstock.flows.spec import load_spec, parse_spec
from penstock.measures.registry import MEASURES, measure_names, public_measures
from penstock.mechanisms.refusal import Fault, SpecRefused
from penstock.mechanisms.registry import MECHANISMS, AnyParams, mechanism_of
from tests.flows.good_specs import DP, GOOD, TABLE
from tests.support.workplace import Workplace

CLOSE: dict[str, Any] = {
    **GOOD,
    "budget": {},
    "protect": [{"mechanism": "closeness", "method": "buckets", "output": "anatomy", "epsilon": "1/2", "k": 5}],
    "gates": [{"measure": "closeness_ratio", "max": 1.6}],
}


def spends(params: AnyParams) -> bool:
    return mechanism_of(params).spends(params)


def faults_of(**changes: Any) -> tuple[Fault, ...]:
    with pytest.raises(SpecRefused) as refused:
        parse_spec({**CLOSE, **changes})
    return refused.value.faults


def gated(good: dict[str, Any], measure: str) -> dict[str, Any]:
    needed = dict.fromkeys(MEASURES[measure].needs, 0)
    return {**copy.deepcopy(good), "gates": [{"measure": measure, "max": 100, **needed}]}


def rule_of(raw: dict[str, Any]) -> str:
    with pytest.raises(SpecRefused) as refused:
        parse_spec(raw)
    [fault] = refused.value.faults
    assert fault.field == "gates.0.measure"
    return fault.rule


def _spends(raw: dict[str, Any]) -> bool:
    params = parse_spec(raw).protect[0]
    return mechanism_of(params).spends(params)


def test_an_epsilon_of_closeness_is_not_spent() -> None:
    plan = draw_up_plan(parse_spec(CLOSE))
    assert plan.claim("").epsilon is None
    assert not mechanism_of(plan.params).spends(plan.params)
    assert _spends(DP)
    assert _spends(TABLE)
    assert not _spends(GOOD)


@pytest.mark.parametrize("measure", measure_names("groups"))
def test_every_measure_of_groups_may_be_gated(measure: str) -> None:
    parse_spec(gated(CLOSE, measure))


@pytest.mark.parametrize("measure", sorted(set(measure_names()) - set(measure_names("groups"))))
def test_no_other_measure_may(measure: str) -> None:
    rule = rule_of(gated(CLOSE, measure))
    if measure in public_measures():
        assert rule == "needs epsilon to be spent, which these settings of closeness do not"
        return
    families = {"records": measure_names("records"), "tables": measure_names("cells")}
    judged = " or ".join(name for name, measures in families.items() if measure in measures)
    assert rule == f"needs {judged}, and the output is groups of records"


def test_a_measure_of_groups_is_refused_elsewhere() -> None:
    assert rule_of(gated(GOOD, "closeness_ratio")) == "needs groups of records"
    assert rule_of(gated(GOOD, "p_percent")) == "needs tables"
    exact = {"mechanism": "table", "dimensions": ["injury"], "model": "k_anon", "k": 5}
    table = {**TABLE, "protect": [exact], "budget": {}}
    assert rule_of(gated(table, "closeness_ratio")) == "needs groups of records, and the output is a table"
    assert rule_of(gated(table, "mean_change")) == "needs records, and the output is a table"
    assert rule_of(gated(DP, "closeness_ratio")).startswith(
        "must be public: whether a release appears would otherwise tell about the confidential data"
    )


def test_closeness_protects_rows() -> None:
    source = {**GOOD["source"], "unit": "person"}
    [fault] = faults_of(source=source)
    assert fault.field == "source.unit"
    assert fault.rule == "must be row: closeness under t_close protects rows, and a unit with several has no guarantee"


def test_groups_are_not_published_as_sdmx() -> None:
    [fault] = faults_of(publish={"path": "out", "formats": ["parquet", "sdmx"]})
    assert (fault.field, fault.rule) == ("publish.formats", "must not include sdmx, which is for tables")


def test_every_mechanism_says_how_it_is_judged() -> None:
    assert {name: mechanism.kind for name, mechanism in MECHANISMS.items()} == {
        "probabilistic_k_anonymity": "records",
        "dp_microaggregation": "records",
        "closeness": "groups",
        "table": "cells",
        "statistics": "cells",
        "refinement": "records",
    }
    for mechanism in MECHANISMS.values():
        assert (mechanism.kind == "cells") is (mechanism.layout is not None)


def test_looking_ahead_tells_what_is_settled_and_that_nothing_is_spent(workplace: Workplace) -> None:
    columns = workplace.raw["source"]["columns"]
    del columns["savings"]
    workplace.raw |= {"protect": CLOSE["protect"], "gates": CLOSE["gates"]}
    ahead = preview(load_spec(workplace.write_spec()), count=True)
    plan = draw_up_plan(load_spec(workplace.spec_file))
    assert ahead["settled"] == MECHANISMS["closeness"].chosen(plan.params, plan.declared, 400)
    assert ahead["cost"][0].startswith("Epsilon: none, the promise is not differential privacy.")
    assert ahead["gates"] == ["closeness_ratio at most 1.6"]
    assert not any("are used, chosen at random" in line for line in ahead["expect"])
    assert preview(load_spec(workplace.spec_file), count=False)["settled"] is None
