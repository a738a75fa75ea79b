"""The release line from spec to bundle."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from sqlalchemy import text

from penstock.flows.spec import load_spec
from penstock.measures.gates import GateRefused
from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.protected import Protected
from penstock.mechanisms.refusal import Refusal, TooFewRecords, ValueOutsideDomain
from penstock.mechanisms.registry import MECHANISMS
from penstock.records import LogAppendFailed, open_records
from penstock.records.bundle.places import DestinationNotWritable
from penstock.records.log.log import Action
from penstock.records.run import RunDamaged
from penstock.tasks.outputs.drawn import PromiseDiffers
from penstock.tasks.publish import Receipt
from penstock.tasks.validation.expectations import SuiteRefused, ValidationFailed
from penstock.tasks.verification.bundle import verify_bundle
from tests.support.workplace import DESCRIPTIONS, PASSED, Workplace, files_of, predicate


def release(workplace: Workplace) -> Receipt:
    from penstock.flows.release import release as flow

    return flow(load_spec(workplace.write_spec()))


def actions() -> list[str]:
    return [event.action.value for event in open_records().log.events()]


@pytest.mark.parametrize(("method", "k"), [("ir_swap", 20), ("mdav_swap", 5), ("mdav_id", 5)])
def test_a_release_is_published_whole_verifies_and_is_on_record(workplace: Workplace, method: str, k: int) -> None:
    if method != "ir_swap":
        workplace.use_mdav(method, k)
        workplace.raw["gates"] = [{"measure": "record_linkage", "max": 0.5}]
    receipt = release(workplace)
    bundle = Path(receipt.path)
    assert workplace.bundles() == [bundle]
    assert set(files_of(bundle)) == {
        "data.parquet",
        "data.csv",
        *DESCRIPTIONS,
        "report.html",
        "manifest.json",
    }
    verify_bundle(bundle, workplace.home / "keys" / "signing.pub")
    assert actions() == PASSED
    assert open_records().log.verify().count == len(PASSED)
    assert workplace.working_files() == []
    assert "CONFIDENTIAL" in Path(receipt.confidential_report).read_text(encoding="utf-8")


def test_the_released_file_is_the_swapped_source_in_another_order(workplace: Workplace) -> None:
    source = pq.read_table(workplace.source)
    bundle = Path(release(workplace).path)
    released = pq.read_table(bundle / "data.parquet")
    assert "person_id" not in released.column_names
    for name in ("age", "income", "weight"):
        assert np.array_equal(np.sort(released[name].to_numpy()), np.sort(source[name].to_numpy()))
    assert released["savings"].null_count == source["savings"].null_count
    assert not np.array_equal(released["age"].to_numpy(), source["age"].to_numpy())
    from_csv = pyarrow.csv.read_csv(bundle / "data.csv")
    assert from_csv["income"].to_pylist() == released["income"].to_pylist()
    assert from_csv["region"].to_pylist() == released["region"].to_pylist()


def test_the_parquet_file_carries_its_guarantee(workplace: Workplace) -> None:
    bundle = Path(release(workplace).path)
    carried = Guarantee.model_validate_json(pq.read_schema(bundle / "data.parquet").metadata[b"penstock.guarantee"])
    assert carried.model == "prob_k"
    assert carried.model_dump(mode="json") == predicate(bundle)["release"]["guarantee"]


def test_the_manifest_holds_the_head_of_the_log_before_publication(workplace: Workplace) -> None:
    bundle = Path(release(workplace).path)
    head = predicate(bundle)["log_head"]
    events = open_records().log.events()
    assert [event.action for event in events if event.digest == head["digest"]] == [Action.PUBLISHING]


def test_a_second_release_says_that_no_promise_covers_both(workplace: Workplace) -> None:
    first = release(workplace).run
    workplace.raw["budget"] = {"acknowledges": [first]}
    bundle = Path(release(workplace).path)
    stated = predicate(bundle)["release"]["guarantee"]["not_promised"][-1]
    assert stated == f"anything for readers who also have the earlier releases of the same records: {first}"
    assert stated in (bundle / "report.html").read_text(encoding="utf-8")
    verify_bundle(bundle, workplace.home / "keys" / "signing.pub")


@pytest.mark.parametrize("change", [{"parameters": {"k": 2}}, {"not_promised": ("something else",)}])
def test_a_mechanism_that_promises_something_else_than_planned_is_refused(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    name = "probabilistic_k_anonymity"
    mechanism = MECHANISMS[name]

    def promising_more(*arguments: Any) -> Protected:
        made = mechanism.protect(*arguments)
        return replace(made, guarantee=made.guarantee.model_copy(update=change))

    monkeypatch.setitem(MECHANISMS, name, replace(mechanism, protect=promising_more))
    caught = refused(workplace, PromiseDiffers)
    assert "something else than was planned" in str(caught)


def test_only_the_formats_asked_for_are_published(workplace: Workplace) -> None:
    workplace.raw["publish"]["formats"] = ["csv"]
    bundle = Path(release(workplace).path)
    assert {path.name for path in bundle.glob("data.*")} == {"data.csv"}


def refused(workplace: Workplace, refusal: type[Refusal]) -> Refusal:
    with pytest.raises(refusal) as caught:
        release(workplace)
    assert workplace.bundles() == []
    assert workplace.public_files() == []
    assert actions()[-1] == "REFUSED"
    assert workplace.working_files() == []
    open_records().log.verify()
    return caught.value


def test_a_gate_refuses_and_the_report_remains(workplace: Workplace) -> None:
    workplace.raw["gates"] = [{"measure": "il1s", "max": 0}]
    caught = refused(workplace, GateRefused)
    assert [fault.field for fault in caught.faults] == ["gates.il1s"]
    assert len(list(workplace.home.rglob("report.html"))) == 1


def test_a_value_outside_its_domain_refuses_at_ingest(workplace: Workplace) -> None:
    workplace.raw["source"]["columns"]["income"]["domain"] = [0, 10]
    refused(workplace, ValueOutsideDomain)
    assert actions() == ["PLANNED", "LOOKED", "REFUSED"]


def test_too_few_records_are_refused(workplace: Workplace) -> None:
    workplace.raw["validate"] = {"min_rows": 401}
    refused(workplace, TooFewRecords)


def test_a_failed_expectation_refuses_and_its_page_remains(workplace: Workplace) -> None:
    suite = workplace.folder / "suite.json"
    suite.write_text(
        json.dumps([{"type": "expect_column_values_to_be_between", "kwargs": {"column": "age", "min_value": 200}}])
    )
    workplace.raw["validate"] = {"suite": "suite.json"}
    refused(workplace, ValidationFailed)
    assert len(list(workplace.home.rglob("validation.html"))) == 1


def test_a_suite_on_a_column_that_is_not_read_is_refused(workplace: Workplace) -> None:
    suite = workplace.folder / "suite.json"
    suite.write_text(json.dumps([{"type": "expect_column_values_to_be_unique", "kwargs": {"column": "person_id"}}]))
    workplace.raw["validate"] = {"suite": "suite.json"}
    refused(workplace, SuiteRefused)


@contextmanager
def failing_append(action: str) -> Iterator[None]:
    """While this lasts, the database refuses events of this action, as a full disk would."""
    name = f"refuse_{action}"
    with open_records().engine.begin() as connection:
        connection.execute(
            text(
                f"CREATE TRIGGER {name} BEFORE INSERT ON log_events WHEN NEW.action = '{action}' "
                "BEGIN SELECT RAISE(ABORT, 'no space'); END"
            )
        )
    yield
    with open_records().engine.begin() as connection:
        connection.execute(text(f"DROP TRIGGER {name}"))


@pytest.mark.parametrize("action", PASSED[:-2])  # the last two come after the bundle
def test_a_failed_append_stops_the_release(workplace: Workplace, action: str) -> None:
    with failing_append(action), pytest.raises(LogAppendFailed):
        release(workplace)
    assert workplace.bundles() == []
    assert action not in actions()
    release(workplace)
    assert actions()[-1] == "PUBLISHED"


def test_a_run_that_failed_is_resumed_with_what_it_drew(workplace: Workplace) -> None:
    with failing_append("CHECKED"), pytest.raises(LogAppendFailed):
        release(workplace)
    [drawn] = workplace.home.rglob("protected.parquet")
    first = drawn.read_bytes()
    bundle = Path(release(workplace).path)
    assert (bundle / "data.parquet").read_bytes() == first
    assert actions().count("PROTECTING") == 1


@pytest.mark.parametrize("change", [lambda path: path.write_bytes(b"other"), Path.unlink])
def test_what_was_drawn_and_then_changed_is_refused_and_not_drawn_again(
    workplace: Workplace, change: Callable[[Path], object]
) -> None:
    with failing_append("CHECKED"), pytest.raises(LogAppendFailed):
        release(workplace)
    [drawn] = workplace.home.rglob("protected.parquet")
    change(drawn)
    with pytest.raises(RunDamaged, match="as it was staged"):
        release(workplace)
    assert workplace.bundles() == []
    assert actions().count("PROTECTING") == 1
    assert actions()[-1] == "REFUSED"


def test_a_resumed_run_whose_source_changed_starts_over(workplace: Workplace) -> None:
    with failing_append("CHECKED"), pytest.raises(LogAppendFailed):
        release(workplace)
    changed = workplace.write_survey(400, seed=2)
    bundle = Path(release(workplace).path)
    released = pq.read_table(bundle / "data.parquet")
    assert sorted(released["income"].to_pylist()) == sorted(changed["income"].to_pylist())
    assert actions().count("PROTECTING") == 2
    assert len(list((workplace.home / "runs").glob("2*"))) == 1


def test_a_destination_that_cannot_be_written_fails_before_the_draw_and_a_rerun_publishes(workplace: Workplace) -> None:
    workplace.published.write_text("a file where a folder should be", encoding="utf-8")
    with pytest.raises(DestinationNotWritable, match="publish"):
        release(workplace)
    assert actions()[-1] == "FAILED"
    assert "RESERVED" not in actions()
    workplace.published.unlink()
    release(workplace)
    assert len(workplace.bundles()) == 1
    assert actions().count("PROTECTING") == 1
