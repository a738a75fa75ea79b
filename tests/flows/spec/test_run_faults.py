"""What `run` may say, and what a release in parts cannot do."""

from __future__ import annotations

import pytest

from penstock.flows.planning import draw_up_plan
from penstock.flows.spec import Run, load_spec
from penstock.mechanisms.refusal import SpecRefused
from tests.support.workplace import Workplace, make_close, make_private, make_table, make_units

DASK = {"engine": "dask", "address": "tcp://10.0.0.1:8786"}
LIMIT = {"memory": "2 GB"}


def refused(workplace: Workplace, run: dict[str, str]) -> dict[str, str]:
    workplace.raw["run"] = run
    with pytest.raises(SpecRefused) as caught:
        load_spec(workplace.write_spec())
    return {fault.field: fault.rule for fault in caught.value.faults}


@pytest.mark.parametrize(
    ("run", "field", "rule"),
    [
        ({"engine": "dask"}, "run.address", "must be given with engine: dask"),
        ({"address": "tcp://10.0.0.1:8786"}, "run.address", "must not be given without a Dask cluster"),
        ({"engine": "dask", "address": "10.0.0.1"}, "run.address", "tcp:// or tls://"),
        ({"engine": "dask", "address": "tcp://user@host:1"}, "run.address", "tcp:// or tls://"),
        ({"engine": "spark"}, "run.engine", "must be 'local' or 'dask'"),
        ({"memory": "much"}, "run.memory", "must be a whole number of MB, GB or TB"),
        ({"memory": "0 GB"}, "run.memory", "must be a whole number of MB, GB or TB"),
        ({"memory": "99 MB"}, "run.memory", "at least 100 MB"),
        ({"workers": "2"}, "run.workers", "must be a known key"),
    ],
)
def test_a_run_that_does_not_fit_together_is_refused(
    workplace: Workplace, run: dict[str, str], field: str, rule: str
) -> None:
    assert rule in refused(workplace, run)[field]


@pytest.mark.parametrize(("run", "field"), [(DASK, "run.engine"), (LIMIT, "run.memory")])
class TestWhatNeedsAllRecordsTogether:
    def test_groups_of_whole_records_are_refused(self, workplace: Workplace, run: dict[str, str], field: str) -> None:
        workplace.use_mdav("mdav_swap", 20)
        assert "groups of whole records" in refused(workplace, run)[field]

    def test_other_mechanisms_are_refused(self, workplace: Workplace, run: dict[str, str], field: str) -> None:
        make_private(workplace)
        assert "dp_microaggregation looks at all records" in refused(workplace, run)[field]

    def test_closeness_is_refused(self, workplace: Workplace, run: dict[str, str], field: str) -> None:
        make_close(workplace, ["income"], {"method": "buckets", "output": "anatomy", "t": "2", "k": 10})
        assert "closeness looks at all records" in refused(workplace, run)[field]

    def test_units_with_several_records_are_refused(
        self, workplace: Workplace, run: dict[str, str], field: str
    ) -> None:
        make_table(workplace)
        make_units(workplace, 2)
        assert "records of a unit" in refused(workplace, run)[field]

    def test_a_suite_of_the_users_own_is_refused(self, workplace: Workplace, run: dict[str, str], field: str) -> None:
        workplace.raw["validate"] = {"suite": "suite.json"}
        assert "suite, which may ask about all records together" in refused(workplace, run)[field]

    def test_a_gate_on_pairs_of_records_is_refused(self, workplace: Workplace, run: dict[str, str], field: str) -> None:
        workplace.raw["gates"] = [{"measure": "record_linkage", "max": 0.1}]
        assert "different parts" in refused(workplace, run)[field]
        workplace.raw["gates"] = [{"measure": "informed_linkage", "knows": 1, "max": 0.1}]
        assert "different parts" in refused(workplace, run)[field]


def test_a_table_with_more_cells_than_the_limit_holds_is_refused(workplace: Workplace) -> None:
    make_table(workplace)
    columns = workplace.raw["source"]["columns"]
    columns["region"]["categories"] = [f"region {place}" for place in range(500)]
    columns["education"]["categories"] = [f"level {place}" for place in range(500)]
    assert "must be enough for the cells of the table" in refused(workplace, {"memory": "100 MB"})["run.memory"]


@pytest.mark.parametrize("run", [DASK, LIMIT, {**DASK, **LIMIT}])
def test_where_the_work_is_done_changes_neither_promise_nor_digest(workplace: Workplace, run: dict[str, str]) -> None:
    plain = draw_up_plan(load_spec(workplace.write_spec()))
    workplace.raw["run"] = run
    plan = draw_up_plan(load_spec(workplace.write_spec()))
    assert (plan.spec_digest, plan.guarantee) == (plain.spec_digest, plain.guarantee)
    assert plan.content("digest") == plain.content("digest")
    assert plan.in_parts
    assert not plain.in_parts
    assert plan.spec["run"] == {"engine": "local", **run}


@pytest.mark.parametrize(("text", "number"), [("100 MB", 100 * 10**6), ("2GB", 2 * 10**9), ("1 TB", 10**12)])
def test_a_limit_is_read_in_powers_of_ten(text: str, number: int) -> None:
    assert Run(memory=text).bytes == number
