"""An output without epsilon was refused because of one record, and took the tables under differential privacy with it:
whether they appeared told what that record held. Its gate had no value there, which is refused in another place than a
gate that does not hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.flows.release import release
from penstock.flows.spec import load_spec
from penstock.measures.gates import GateRefused
from penstock.measures.measurement import MeasureUndefined
from penstock.records import open_records
from penstock.tasks.publish import Receipt
from penstock.tasks.verification.bundle import verify_bundle
from tests.support.several import add_records, make_exact, make_several
from tests.support.shared_file import make_shared
from tests.support.workplace import Workplace, budget_of, files_of, open_dp_account, predicate

RECORDS = 60
NEVER_MEASURED = {"measure": "largest_share", "max": 0.5}
HELD = {"measure": "smallest_frequency", "min": 2}
EXACT = {"mechanism": "table", "table": "beside", "dimensions": ["b"], "model": "k_anon", "k": 2}
SWAPPED = {"mechanism": "probabilistic_k_anonymity", "name": "beside", "method": "ir_swap", "k": 5}
# An output without epsilon, and two values of one record, of which the first leaves its gate or a figure without one.
BESIDE: dict[str, tuple[dict[str, Any], float, float]] = {
    "a share of nothing": ({**EXACT, "sums": ["v"], "columns": ["b", "v"], "gates": [NEVER_MEASURED]}, 0, 1),
    "a correlation with what never changes": (
        {**SWAPPED, "columns": ["v", "u"], "gates": [{"measure": "correlation_change", "max": 2}]},
        0,
        1,
    ),
    "weights whose sum no number holds": (
        {**EXACT, "weight": {"column": "w"}, "columns": ["b", "w"], "gates": [HELD]},
        1.7e308,
        1,
    ),
    "too few records for a cell": (
        {**EXACT, "columns": ["b"], "gates": [HELD]},
        -1,
        1,
    ),
}


def make_pair(workplace: Workplace, beside: dict[str, Any], value: float) -> None:
    """A table that spends epsilon beside an output that does not; `value` is what one record holds."""
    swapped, shared = [0] * RECORDS, ["p"] * RECORDS
    swapped[7] = int(value) if 0 <= value < 10 else 0
    wide = [1.0] * RECORDS
    wide[3], wide[7] = 1e308, max(value, 1.0)
    if value < 0:
        shared[7] = "q"
    columns = {"a": ["x", "y"] * (RECORDS // 2), "b": shared, "v": swapped, "u": list(range(RECORDS)), "w": wide}
    pq.write_table(pa.table(columns), workplace.source)
    names = {"a": ["x", "y"], "b": ["p", "q"]}
    workplace.raw["source"]["columns"] = {
        **{n: {"role": "quasi_identifier", "type": "nominal", "categories": given} for n, given in names.items()},
        "v": {"role": "confidential", "type": "integer", "domain": [0, 10]},
        "u": {"role": "confidential", "type": "integer", "domain": [0, 100]},
        "w": {"role": "weight"},
    }
    spends = {"mechanism": "table", "model": "dp", "epsilon": "1/100", "adjacency": "replace"}
    workplace.raw |= {
        "budget": {"dataset": "survey", "epsilon": "1", "acknowledges": ["beside"]},
        "protect": [
            {"table": "noisy", "dimensions": ["a"], "columns": ["a"], **spends},
            {**beside, "on_refusal": "leave_out"},
        ],
        "gates": [{"measure": "privacy_loss", "max": 1}],
        "publish": {"path": "published", "formats": ["parquet"]},
    }


def published(workplace: Workplace) -> Receipt:
    receipt = release(load_spec(workplace.write_spec()))
    assert isinstance(receipt, Receipt)
    return receipt


def left_out() -> list[Any]:
    return [event.facts["output"] for event in open_records().log.events() if event.action.value == "LEFT_OUT"]


def nowhere(workplace: Workplace, name: str) -> None:
    """Nothing in the bundle knows of an output of this name."""
    [bundle] = workplace.bundles()
    assert not [path for path in files_of(bundle) if name in path]
    stated = predicate(bundle)["release"]
    assert name not in str({key: value for key, value in stated.items() if key != "environment"})
    assert name not in (bundle / "report.html").read_text(encoding="utf-8")
    verify_bundle(bundle, workplace.home / "keys" / "signing.pub")
    open_records().log.verify()
    open_records().ledger.verify()
    assert workplace.working_files() == []


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize("second", [False, True])
def test_the_tables_that_spend_appear_whatever_one_record_holds(
    workplace: Workplace, beside: str, second: bool
) -> None:
    output, *values = BESIDE[beside]
    make_pair(workplace, output, values[second])
    open_dp_account(1)
    receipt = published(workplace)
    assert (Path(receipt.path) / "tables" / "noisy.parquet").exists()
    assert budget_of()[0] == "1/100"
    if not second:
        assert left_out() == ["beside"]
        nowhere(workplace, "beside")
        assert "beside" in Path(receipt.confidential_report).read_text(encoding="utf-8")


def test_where_nothing_is_spent_a_gate_without_a_value_leaves_its_output_out_where_the_spec_says_so(
    workplace: Workplace,
) -> None:
    without_value(workplace, on_refusal="leave_out")
    published(workplace)
    assert left_out() == ["educations"]
    nowhere(workplace, "educations")


def test_and_refuses_all_where_it_does_not(workplace: Workplace) -> None:
    without_value(workplace)
    with pytest.raises(MeasureUndefined, match=r"educations\."):
        published(workplace)
    assert workplace.bundles() == []


def without_value(workplace: Workplace, **settings: Any) -> None:
    make_exact(workplace, sums=["income"], gates=[NEVER_MEASURED], **settings)
    survey = pq.read_table(workplace.source)
    place = survey.column_names.index("income")
    pq.write_table(survey.set_column(place, "income", pa.array([0.0] * survey.num_rows)), workplace.source)


@pytest.mark.parametrize("limit", [0.5, None])
def test_an_output_beside_a_shared_file_is_left_out_and_the_file_is_not(
    workplace: Workplace, limit: float | None
) -> None:
    """Judged before the file is, it was counted among its parts."""
    make_shared(workplace)
    columns = workplace.raw["source"]["columns"]
    survey = pq.read_table(workplace.source)
    for name in ("height", "size"):
        columns[name] = {"role": "confidential", "type": "continuous", "domain": [0, 10]}
        survey = survey.append_column(name, pa.array([7.0] * survey.num_rows))
    pq.write_table(survey, workplace.source)
    gate = {"measure": "own_value_probability", "max": limit} if limit else {"measure": "correlation_change", "max": 2}
    method = {"method": "ir_swap", "k": 5}
    workplace.raw["protect"].append(
        {
            "name": "tall",
            "mechanism": "probabilistic_k_anonymity",
            "columns": ["height", "size"],
            "gates": [gate],
            "on_refusal": "leave_out",
            **method,
        }
    )
    workplace.raw["budget"]["acknowledges"].append("tall")
    published(workplace)
    assert left_out() == ["tall"]
    nowhere(workplace, "tall")


def test_a_part_of_a_shared_file_takes_the_file_with_it(workplace: Workplace) -> None:
    make_shared(workplace)
    workplace.raw["protect"][1]["gates"] = [{"measure": "mean_change", "max": 0}, {"measure": "il1s", "max": 0}]
    with pytest.raises(GateRefused, match=r"amounts\.gates\.il1s"):
        published(workplace)
    assert workplace.bundles() == []


def test_a_release_whose_other_outputs_pass_is_as_it_was(workplace: Workplace) -> None:
    make_several(workplace)
    add_records(workplace)
    open_dp_account(1)
    published(workplace)
    assert left_out() == []
