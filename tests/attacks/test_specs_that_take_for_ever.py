"""A spec that asks for very much is refused before each part is looked at, or is planned in seconds.

`plan` took three minutes for 5,000 figures, half a minute for the measured margins of ten dimensions, most of a minute
for 50,000 gates, and hours for a hierarchy of 100,000 levels.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from penstock.flows.spec._arx_hierarchy import parse_arx_hierarchy
from penstock.flows.spec._entries import MOST_OUTPUTS
from penstock.measures.gates import MOST_GATES
from penstock.measures.registry import measure_names
from penstock.mechanisms.refusal import SpecRefused
from penstock.mechanisms.statistics._settings import MOST_FIGURES
from penstock.mechanisms.table._linked import MOST_DIMENSIONS, MOST_TABLES
from penstock.mechanisms.table.settings import MOST_MARGINS, levels
from tests.attacks.measured_command import measured
from tests.attacks.typed_line import typed
from tests.support.workplace import Workplace

MOST_SECONDS = 30  # of the processor; a tenth of it is usual
SPENDING = {"model": "dp", "epsilon": "1", "adjacency": "add_remove"}


def written(workplace: Workplace) -> Path:
    spec = workplace.folder / "spec.json"
    spec.write_text(json.dumps(workplace.raw), encoding="utf-8")
    return spec


def require_one_fault(workplace: Workplace, field: str, rule: str) -> None:
    refused = typed("plan", written(workplace))
    refused.require_refusal(2)
    assert f"{field}: {rule}" in refused.err
    assert refused.err.count("\n") <= 4


def spending(workplace: Workplace, **settings: Any) -> None:
    workplace.raw["protect"] = [{**SPENDING, **settings}]
    workplace.raw["gates"] = [{"measure": "privacy_loss", "max": 2}]
    workplace.raw["budget"] = {"dataset": "survey", "epsilon": "1"}
    del workplace.raw["source"]["columns"]["weight"]


@pytest.mark.parametrize(
    "gate", [{"measure": "average_risk", "max": 0.5}, {"measure": "average_rsk", "max": 0.5}, None]
)
def test_50_000_gates_are_one_fault(workplace: Workplace, gate: object) -> None:
    workplace.raw["gates"] = [gate] * 50_000
    with mock.patch("penstock.flows.spec._faults._gate_faults") as looked_at:
        require_one_fault(workplace, "gates", f"must list at most {MOST_GATES}")
    assert all(call.args[1] == {} for call in looked_at.call_args_list)


def test_every_measure_can_have_its_gate() -> None:
    assert len(measure_names()) <= MOST_GATES


def test_50_000_protections_are_one_fault(workplace: Workplace) -> None:
    workplace.raw["protect"] *= 50_000
    require_one_fault(workplace, "protect", f"must list at most {MOST_OUTPUTS}")


def figures(many: int) -> list[dict[str, str]]:
    return [{"statistic": "quantile", "of": "income", "share": f"{each}/{many + 1}"} for each in range(1, many + 1)]


def test_too_many_figures_are_one_fault(workplace: Workplace) -> None:
    spending(workplace, mechanism="statistics", figures=figures(MOST_FIGURES + 1))
    require_one_fault(workplace, "protect.0.figures", f"must list at most {MOST_FIGURES:,}")


@pytest.mark.slow
def test_as_many_figures_as_there_may_be_are_planned_soon(workplace: Workplace) -> None:
    spending(workplace, mechanism="statistics", figures=figures(MOST_FIGURES))
    ended = measured("plan", written(workplace))
    assert ended.code == 0, ended.printed
    assert ended.seconds < MOST_SECONDS


def with_dimensions(workplace: Workplace, many: int, **settings: Any) -> None:
    names = [f"d{place}" for place in range(many)]
    column = {"role": "quasi_identifier", "type": "nominal", "categories": ["yes", "no"]}
    workplace.raw["source"]["columns"] |= dict.fromkeys(names, column)
    workplace.raw["source"]["path"] = "prepared_later.parquet"
    spending(workplace, mechanism="table", dimensions=names, **settings)


@pytest.mark.slow
def test_measured_margins_of_ten_dimensions_are_planned_soon(workplace: Workplace) -> None:
    with_dimensions(workplace, 10, margins="measured", margin_share="1/2")
    ended = measured("plan", written(workplace))
    assert ended.code == 0, ended.printed
    assert ended.seconds < MOST_SECONDS


def test_the_levels_are_listed_a_few_times_however_many_there_are(workplace: Workplace) -> None:
    """Once for each of them was quadratic."""
    listed = []
    for many in (3, 7):
        with_dimensions(workplace, many, margins="measured", margin_share="1/2")
        with mock.patch("penstock.mechanisms.table._chosen.levels", side_effect=levels) as called:
            assert typed("plan", written(workplace)).code == 0
        listed.append(called.call_count)
        workplace.raw["source"]["columns"]["weight"] = {"role": "weight"}
    assert listed[0] == listed[1]


@pytest.mark.parametrize(
    ("many", "settings"),
    [
        (11, {}),  # 2,048 margins beside 2,048 sets of dimensions
        (9, {"sums": ["income", "age", "wealth", "debt"]}),  # 512 x 512 x 5
        (20, {"totals": [[]]}),  # one margin only, but a million sets
    ],
)
def test_measured_margins_that_take_for_ever_are_refused(
    workplace: Workplace, many: int, settings: dict[str, Any]
) -> None:
    number = {"role": "confidential", "type": "integer", "domain": [0, 10]}
    workplace.raw["source"]["columns"] |= {"wealth": number, "debt": number}
    with_dimensions(workplace, many, margins="measured", margin_share="1/2", **settings)
    require_one_fault(workplace, "protect.0.totals", "must be fewer: sets of dimensions x levels x measures is at most")


def test_a_table_of_too_many_margins_is_refused(workplace: Workplace) -> None:
    names = [f"d{place}" for place in range(16)]
    margins = [margin for size in range(16) for margin in itertools.combinations(names, size)][: MOST_MARGINS + 1]
    with_dimensions(workplace, 16, totals=margins)
    require_one_fault(workplace, "protect.0.totals", f"must form at most {MOST_MARGINS:,} margins")


def test_3_000_linked_tables_are_one_fault(workplace: Workplace) -> None:
    """Each was compared with each other one: 16,000 took minutes, and 100,000 are no large file."""
    spending(workplace, mechanism="table", tables={f"t{place}": [f"c{place}"] for place in range(3_000)})
    require_one_fault(workplace, "protect.0.tables", f"must list at most {MOST_TABLES:,}")


def test_tables_of_3_000_columns_are_one_fault(workplace: Workplace) -> None:
    names = [f"c{place}" for place in range(3_000)]
    for settings in ({"dimensions": names}, {"tables": {"one": names, "other": [*names[1:], "c"]}}):
        spending(workplace, mechanism="table", **settings)
        require_one_fault(workplace, "protect.0.dimensions", f"must list at most {MOST_DIMENSIONS:,}")
        workplace.raw["source"]["columns"]["weight"] = {"role": "weight"}


def test_no_more_faults_are_told_than_anybody_reads(workplace: Workplace) -> None:
    spending(workplace)
    tables = {f"t{place}": [f"c{place % 30}", f"c{place % 29}"] for place in range(MOST_TABLES)}
    workplace.raw["protect"] = [
        {"mechanism": "table", "name": f"n{place}", "tables": tables, **SPENDING} for place in range(MOST_OUTPUTS)
    ]
    refused = typed("plan", written(workplace))
    refused.require_refusal(2)
    assert refused.err.count("\n") <= 210  # two lines for each of 100
    assert "spec: must be free of faults, and has " in refused.err


def test_100_000_acknowledged_releases_are_one_fault(workplace: Workplace) -> None:
    """Every output's promise names all of them."""
    workplace.raw["budget"] = {"dataset": "survey", "acknowledges": [f"run {place}" for place in range(100_000)]}
    require_one_fault(workplace, "budget.acknowledges", "must list at most")


class Counted(str):
    """A label that counts how often any is compared."""

    compared = 0
    __hash__ = str.__hash__

    def __ne__(self, other: object) -> bool:
        Counted.compared += 1
        return str.__ne__(self, other)


@pytest.mark.parametrize("many", [100, 800])
def test_labels_of_a_hierarchy_are_compared_once_for_each_level(many: int) -> None:
    from penstock.flows.spec._arx_hierarchy import _require_one_meaning

    top = Counted("*")
    rows = [
        (line, [Counted(value), *itertools.repeat(Counted(label), many), top])
        for line, (value, label) in enumerate((("North", "a"), ("South", "b")), start=1)
    ]
    Counted.compared = 0
    _require_one_meaning(rows, top)
    assert Counted.compared <= 3 * len(rows) * many


def test_a_hierarchy_of_very_many_levels_is_refused(workplace: Workplace) -> None:
    many = 100_000
    text = "".join(f"{value}{f';{label}' * many};*\n" for value, label in (("North", "a"), ("South", "b")))
    with pytest.raises(SpecRefused, match="line 1: must have at most 1,000 levels"):
        parse_arx_hierarchy(text)
    (workplace.folder / "regions.csv").write_text(text, encoding="utf-8")
    region = {"role": "quasi_identifier", "type": "nominal", "taxonomy": "regions.csv"}
    workplace.raw["source"]["columns"]["region"] = region
    refused = typed("plan", written(workplace))
    refused.require_refusal(2)
    assert "source.columns.region.taxonomy: line 1: must have at most 1,000 levels" in refused.err
    assert "North" not in refused.err
