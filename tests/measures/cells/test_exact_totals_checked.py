"""An exact grand total is counted again, and believed only where the number of records is public."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.measures import TableOutput
from penstock.measures.checks import RecheckImpossible
from penstock.measures.recheck import recheck
from penstock.mechanisms.columns import Declared
from penstock.mechanisms.layout import error_of
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.table import layout, protect
from penstock.tasks.files.tables import arrow_cells
from penstock.tasks.outputs._cell_claims import exact_total_faults
from tests.support.plain_tables import DECLARED, columns_of, table

MEASURED = {"margins": "measured", "margin_share": "1/2"}
BOXED = {"means": ["x"], "noise": "box", **MEASURED}
RECORDS = [{"area": "north", "size": "small", "x": 1, "y": 2.5}] * 9 + [{"area": "south", "size": "large", "x": 2}] * 4


def output(declared: Declared = DECLARED, **chosen: Any) -> TableOutput:
    params = table(**{"exact_total": True, **chosen})
    columns = dict(columns_of(RECORDS).items())
    drawn = protect(columns, declared, params, seeded(1))
    return TableOutput(
        original=columns,
        declared={name: column for name, column in declared.items() if column.role != "identifier"},
        layout=layout(params, declared),
        released=drawn.columns,
        guarantee=drawn.guarantee,
        chosen=drawn.chosen,
        hidden=drawn.hidden,
    )


def failed(found: TableOutput) -> set[str]:
    return {check.name for check in recheck(found) if not check.passed}


@pytest.mark.parametrize("chosen", [{}, {"means": ["x"]}, {"means": ["x"], "count": False}, MEASURED, BOXED])
def test_a_sound_table_passes(chosen: dict[str, Any]) -> None:
    assert failed(output(**chosen)) == set()


@pytest.mark.parametrize("chosen", [{}, MEASURED])
def test_counts_that_add_up_to_another_number_are_noticed(chosen: dict[str, Any]) -> None:
    found = output(**chosen)
    counts = found.released["count"]
    counts[[0, 4, 6, 8]] += 1  # the first cell and its three totals
    assert failed(found) == {"figures_as_noised"}


def test_the_width_of_the_domain_is_enough_in_one_row_only_where_no_record_can_leave_it() -> None:
    declared = {**DECLARED, "x": DECLARED["x"].model_copy(update={"domain": (1, 2)})}
    whole = {"dimensions": [], "sums": ["x"], "noise": "laplace"}
    assert failed(output(declared, **whole)) == set()
    found = output(declared, exact_total=False, **whole)
    assert failed(found) == set()
    assert found.hidden["steps 0 x"].tolist() == [2]
    found.hidden["steps 0 x"][:] = 1
    found.chosen["measured"][-1]["classes"][0]["half_widths"] = [1]
    assert failed(found) == {"scales_suffice"}


@pytest.mark.parametrize(
    "change",
    [{"adjacency": "add_remove"}, {"parameters": {"rows_per_unit": 2}, "unit": "individual"}],
)
def test_it_is_not_believed_where_the_number_of_records_is_secret(change: dict[str, Any]) -> None:
    found = output()
    parameters = {**found.guarantee.parameters, **change.get("parameters", {})}
    guarantee = found.guarantee.model_copy(update={**change, "parameters": parameters})
    with pytest.raises(RecheckImpossible):
        recheck(TableOutput(**{**{name: getattr(found, name) for name in FIELDS}, "guarantee": guarantee}))


def test_promise_and_account_must_agree_about_it() -> None:
    found = output()
    chosen = {name: value for name, value in found.chosen.items() if name != "exact_total"}
    with pytest.raises(RecheckImpossible):
        recheck(TableOutput(**{**{name: getattr(found, name) for name in FIELDS}, "chosen": chosen}))


def test_a_file_whose_grand_total_has_an_error_is_noticed() -> None:
    found = output()
    assert list(exact_total_faults(arrow_cells(found.released, found.layout), found.layout)) == []
    errors = np.array(found.released[error_of("count")])
    errors[-1] = 0.5
    wrong: pa.Table = arrow_cells({**found.released, error_of("count"): errors}, found.layout)
    assert len(list(exact_total_faults(wrong, found.layout))) == 1


FIELDS = ("original", "declared", "layout", "released", "guarantee", "chosen", "hidden")
