"""One file of records with several treatments, through the steps of a release: a hand-made file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.flows.planning import draw_up_plan
from penstock.flows.spec import load_spec
from penstock.measures import measure
from penstock.measures.gates import Decision, GateRefused
from penstock.mechanisms.columns import Column
from penstock.mechanisms.shared_file import in_random_order
from penstock.records.run import RunDamaged
from penstock.tasks import assess, ingest, protect, reserve
from penstock.tasks.files.columns import load_columns
from penstock.tasks.files.joined import PROMISES_KEY
from penstock.tasks.gate import pass_gates
from penstock.tasks.ingest import Ingested
from penstock.tasks.outputs import drawn
from penstock.tasks.outputs.output import Staged
from penstock.tasks.run.job import Job, begin
from tests.measures.records.test_record_linkage import by_brute_force
from tests.support.shared_file import HAND, make_small
from tests.support.workplace import Workplace

ROWS = len(HAND["age"])
JUDGED = {
    **dict.fromkeys(("age", "income", "tax"), Column(role="confidential", type="integer", domain=(0, 8))),
    "sex": Column(role="quasi_identifier", type="nominal", categories=("f", "m")),
}

# Groups of two columns that were not moved together.
SAME, OWN = np.zeros(ROWS, np.int64), np.arange(ROWS)


class Line:
    """A release up to its gates."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.source: Ingested = ingest.ingest.fn(job)  # type: ignore[attr-defined]

    def draw(self) -> tuple[Staged, ...]:
        reserve.reserve.fn(self.job, self.source)  # type: ignore[attr-defined]
        return protect.protect.fn(self.job, self.source)  # type: ignore[attr-defined, no-any-return]

    def judge(self, staged: tuple[Staged, ...]) -> Decision:
        _, decision = assess.assess.fn(self.job, self.source, staged)  # type: ignore[attr-defined]
        return decision  # type: ignore[no-any-return]

    @property
    def assessed(self) -> dict[str, Any]:
        [file] = json.loads(self.job.run.path("assessment.json").read_text(encoding="utf-8"))["files"]
        return dict(file)

    @property
    def origins(self) -> list[list[int]]:
        secrets = [load_columns(each.run.path("secrets")) for each in self.job.outputs]
        return [columns["origin"].tolist() for columns in secrets]

    @property
    def file(self) -> dict[str, list[Any]]:
        return pq.read_table(self.job.run.path("file-people.parquet")).to_pydict()  # type: ignore[no-any-return]


@contextmanager
def begun(workplace: Workplace) -> Iterator[Line]:
    with begin(draw_up_plan(load_spec(workplace.write_spec()))) as job:
        yield Line(job)


@pytest.fixture
def small(workplace: Workplace) -> Workplace:
    make_small(workplace)
    return workplace


def test_every_row_joins_one_records_keys_with_its_amounts_in_one_random_order(small: Workplace) -> None:
    with begun(small) as line:
        staged = line.draw()
        one, other = line.origins
        assert one == other
        assert sorted(one) == list(range(ROWS))
        parts = [pq.read_table(each.data).to_pydict() for each in staged]
        assert line.file == {name: {**parts[0], **parts[1]}[name] for name in ("age", "income", "sex", "tax")}

        # By hand: records with near ages are alike, and every row has the keys of the group of its record.
        source = [HAND["age"][row] for row in one]
        assert all((age < 4) == (true < 4) for age, true in zip(line.file["age"], source, strict=True))
        assert min(Counter(zip(line.file["age"], line.file["sex"], strict=True)).values()) >= 2
        # Pairs along the values are 0 1, 2 3, 5 6, 7 8; a row has a value of the pair of its record.
        pairs = [{0: 0, 1: 0, 2: 1, 3: 1, 5: 2, 6: 2, 7: 3, 8: 3}[HAND["income"][row]] for row in one]
        shown = [{0: 0, 1: 0, 2: 1, 3: 1, 5: 2, 6: 2, 7: 3, 8: 3}[value] for value in line.file["income"]]
        assert shown == pairs
        assert sorted(line.file["tax"]) == sorted(HAND["tax"])


def test_orders_differ_from_run_to_run(small: Workplace) -> None:
    found = set()
    for number in range(4):  # all alike once in 8!^3
        small.raw["name"] = f"survey-{number}"
        with begun(small) as line:
            line.draw()
            found.add(tuple(line.origins[0]))
            small.raw["budget"]["acknowledges"].append(line.job.run.id)
    assert len(found) > 1


def test_linkage_measured_on_the_file_is_that_of_all_columns_by_definition(small: Workplace) -> None:
    with begun(small) as line:
        line.judge(line.draw())
        back = np.argsort(line.origins[0])
        released, original = {}, {}
        for name in JUDGED:
            codes = {"f": 0, "m": 1}
            released[name] = np.array([codes.get(value, value) for value in line.file[name]])[back]
            original[name] = np.array([codes.get(value, value) for value in HAND[name]])
        expected = float(by_brute_force(original, released, JUDGED))
        measured = {each["name"]: each for each in line.assessed["measurements"]}
        assert measured["record_linkage"]["value"] == pytest.approx(expected, abs=1e-12)
        assert set(measured["record_linkage"]["columns"]) == set(JUDGED)
        assert measured["own_value_probability"]["columns"] == ["income", "tax"]
        assert [check["name"] for check in line.assessed["checks"]] == ["one_order", "own_columns", "same_records"]


def test_what_an_informed_intruder_finds_in_a_file_is_measured_over_all_of_it(small: Workplace) -> None:
    """Keys that are alike in one treatment, amounts swapped by another; each amount is looked for by the other one."""
    small.raw["gates"].append({"measure": "informed_linkage", "knows": 1, "max": 1})
    small.raw["gates"].append({"measure": "own_value_probability", "of": "confidential", "max": 1})
    for entry in small.raw["protect"]:
        entry["gates"] = [{"measure": "average_risk", "max": 0.5}]
    with begun(small) as line:
        line.judge(line.draw())
        back = np.argsort(line.origins[0])
        codes = {"f": 0, "m": 1}
        released, original = (
            {name: np.array([codes.get(value, value) for value in side[name]])[order] for name in JUDGED}
            for side, order in ((line.file, back), (HAND, np.arange(ROWS)))
        )
        declared = {**JUDGED, "age": JUDGED["age"].model_copy(update={"role": "quasi_identifier"})}
        expected = measure("informed_linkage")(
            original, released, declared, knows=1, groups={"income": SAME, "tax": OWN}
        )
        measured = {each["name"]: each for each in line.assessed["measurements"]}
        assert measured["informed_linkage"]["value"] == pytest.approx(expected.value, abs=1e-12)
        assert measured["informed_linkage"]["by_column"].keys() == {"income", "tax"}
        # Amounts are looked at in the groups in which they were swapped, which are pairs of different values.
        assert measured["own_value_probability"]["value"] == 0.5
        assert measured["l_diversity"]["value"] == measured["entropy_l_diversity"]["value"] == 2
    assert "informed_linkage (knows 1) at most 1" in [gate.rule for gate in line.job.plan.files[0].gates]


def test_every_treatment_gets_the_records_in_an_order_of_its_own(small: Workplace) -> None:
    """What decides ties is not the order of the source, which may follow a column of the other treatment."""
    pq.write_table(pa.table({**HAND, "age": [1, 2, 3, 4, 5, 6, 7, 8], "sex": ["f"] * ROWS}), small.source)
    with begun(small) as line:
        line.draw()
        assert {each.plan.guarantee.parameters["ties"] for each in line.job.outputs} == {"broken at random"}
    orders = []

    def noted(protect: Any, columns: Any, declared: Any, params: Any, randomness: Any) -> Any:
        def watched(given: Any, *rest: Any) -> Any:
            orders.append(
                [columns[name].tolist() == given[name].tolist() for name in ("age", "income") if name in given]
            )
            return protect(given, *rest)

        return in_random_order(watched, columns, declared, params, randomness)

    small.raw["name"] = "again"
    small.raw["budget"]["acknowledges"].append(line.job.run.id)
    with mock.patch.object(drawn, "in_random_order", noted), begun(small) as line:
        line.draw()
    assert orders in ([[False], [False]], [[True], [False]], [[False], [True]])  # as it was once in 8! each


def test_a_gate_of_the_release_looks_at_all_columns_of_the_file(small: Workplace) -> None:
    small.raw["gates"] = [{"measure": "record_linkage", "max": 0}]
    for entry in small.raw["protect"]:
        entry["gates"] = [{"measure": "average_risk", "max": 0.5}]
    with begun(small) as line:
        decision = line.judge(line.draw())
        assert line.assessed["decision"]["verdict"] == "refuse"
        with pytest.raises(GateRefused) as refused:
            pass_gates(line.job, decision)
    assert [fault.field for fault in refused.value.faults] == ["people.gates.record_linkage"]


def test_an_entrys_own_gates_look_at_its_own_columns(small: Workplace) -> None:
    small.raw["protect"][1]["gates"] = [{"measure": "mean_change", "max": 0}]  # ages change, amounts do not
    with begun(small) as line:
        decision = line.judge(line.draw())
    own = [result for result in decision.results if result.output == "amounts" and result.gate == "mean_change"]
    assert [result.value for result in own] == [0]
    assert {result.output for result in decision.results} == {"keys", "amounts", "people"}


def test_linkage_of_a_file_is_measured_though_it_is_costly_and_its_parts_have_no_gate_on_it(small: Workplace) -> None:
    for entry in small.raw["protect"]:
        entry["gates"] = [{"measure": "average_risk", "max": 0.5}]
    with begun(small) as line:
        line.judge(line.draw())
        assert "record_linkage" in {each["name"] for each in line.assessed["measurements"]}


@pytest.mark.parametrize(
    ("name", "values", "check", "output"),
    [
        ("age", [*range(ROWS)], "k_anonymity_of_keys", "keys"),
        ("tax", [8] * ROWS, "permutation_within_groups", "amounts"),
    ],
)
def test_the_promise_is_counted_again_on_the_file_and_not_on_the_parts(
    small: Workplace, name: str, values: list[int], check: str, output: str
) -> None:
    with begun(small) as line:
        staged = line.draw()
        data = line.job.run.path("file-people.parquet")
        table = pq.read_table(data)
        place = table.column_names.index(name)
        pq.write_table(table.set_column(place, table.schema.field(place), [values]), data)
        decision = line.judge(staged)
    failed = {(result.output, result.gate) for result in decision.results if result.verdict.word == "refuse"}
    assert {(output, check), ("people", "same_records")} <= failed


def test_a_file_that_changed_since_it_was_staged_ends_the_run(small: Workplace) -> None:
    with begun(small) as line:
        line.draw()
        data = line.job.run.path("file-people.parquet")
        data.write_bytes(data.read_bytes() + b" ")
        with pytest.raises(RunDamaged) as refused:
            protect.protect.fn(line.job, line.source)  # type: ignore[attr-defined]
    assert [fault.field for fault in refused.value.faults] == ["file-people.parquet"]


def test_the_file_is_on_record_and_carries_every_promise(small: Workplace) -> None:
    with begun(small) as line:
        staged = line.draw()
        digests = protect.drawn_digests(line.job, staged)
        assert digests["outputs"].keys() == {"keys", "amounts"}
        assert digests["files"].keys() == {"people"}
        schema = pq.read_schema(line.job.run.path("file-people.parquet"))
        carried = json.loads(schema.metadata[PROMISES_KEY])
        assert carried == {
            str(each.plan.output_name): each.plan.guarantee.model_dump(mode="json") for each in line.job.outputs
        }


def test_parts_of_many_row_groups_are_joined(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.tasks.files.columns.ROW_GROUP", 3)
    make_small(workplace)
    with begun(workplace) as line:
        line.judge(line.draw())
        assert len(line.file["age"]) == ROWS
        assert line.assessed["decision"]["verdict"] == "pass"
