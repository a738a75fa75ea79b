"""Lineage events: what they say of a release, read with OpenLineage's own classes, and what they must not say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.mechanisms.models import ADDS_UP
from penstock.records.log.log import Action
from penstock.reports.lineage import named_place
from tests.support.lineage_receiver import Receiver, read_event, receiving
from tests.support.private_release import begun
from tests.support.workplace import Workplace, make_private, make_table
from tests.tasks.close_release import make_close_in

IDENTITY, MASKED = ("DIRECT", "IDENTITY", False), ("DIRECT", "TRANSFORMATION", True)
GROUPED, TOTALLED, EXACT = (
    ("INDIRECT", "GROUP_BY", True),
    ("DIRECT", "AGGREGATION", True),
    ("DIRECT", "AGGREGATION", False),
)
CELL = {("region", GROUPED), ("education", GROUPED)}
UNUSABLE = "OPENLINEAGE_URL must be an http address without a password"
READ = ("age", "region", "education", "income", "weight")


def completed(workplace: Workplace, receiver: Receiver) -> tuple[Path, dict[str, Any]]:
    """The bundle and the event of a release from the draw to its publication."""
    spends = workplace.raw["protect"][0].get("model", workplace.raw["protect"][0]["mechanism"])
    with begun(workplace, account=spends in (*ADDS_UP, "dp_microaggregation")) as line:
        folder = Path(line.publish().path)
    [event] = receiver.events
    read_event(event)
    assert event["eventType"] == "COMPLETE"
    return folder, event


def origins(output: dict[str, Any]) -> dict[str, set[tuple[str, tuple[str, str, bool]]]]:
    """For each released column the columns that it comes from, and how."""
    found = {}
    for name, lineage in output["facets"]["columnLineage"]["fields"].items():
        found[name] = {
            (field["field"], (how["type"], how["subtype"], how["masking"]))
            for field in lineage["inputFields"]
            for how in field["transformations"]
        }
    return found


def test_swapped_columns_are_masked_and_the_others_are_themselves(workplace: Workplace, receiver: Receiver) -> None:
    folder, event = completed(workplace, receiver)
    [output] = event["outputs"]
    assert (output["namespace"], output["name"]) == ("file", str(folder))
    unchanged = {name: {(name, IDENTITY)} for name in ("age", "region", "education", "weight")}
    assert origins(output) == unchanged | {name: {(name, MASKED)} for name in ("income", "savings")}
    assert [field["name"] for field in output["facets"]["schema"]["fields"]] == list(origins(output))


def test_the_source_is_named_with_its_declared_columns_and_no_statistic(
    workplace: Workplace, receiver: Receiver
) -> None:
    _, event = completed(workplace, receiver)
    [source] = event["inputs"]
    assert (source["namespace"], source["name"]) == ("file", str(workplace.source))
    assert set(source["facets"]) == {"schema"}
    described = {
        field["name"]: (field.get("type"), field["description"]) for field in source["facets"]["schema"]["fields"]
    }
    assert described["person_id"] == (None, "identifier, never read")
    assert described["age"] == ("integer", "quasi_identifier")
    assert list(described) == list(workplace.raw["source"]["columns"])


def test_the_gates_are_assertions_with_rule_and_outcome_only(workplace: Workplace, receiver: Receiver) -> None:
    _, event = completed(workplace, receiver)
    stated = event["inputs"][0]["inputFacets"]["dataQualityAssertions"]["assertions"]
    assert {"average_risk", "mean_change", "group_sizes"} <= {each["assertion"] for each in stated}
    for each in stated:
        assert set(each) == {"assertion", "success", "description"}
        assert each["success"] is True
    [risk] = [each for each in stated if each["assertion"] == "average_risk"]
    assert risk["description"] == "Of the release made from it: average_risk at most 0.05"


def test_private_records_are_masked_throughout(workplace: Workplace, receiver: Receiver) -> None:
    make_private(workplace)
    _, event = completed(workplace, receiver)
    [output] = event["outputs"]
    assert origins(output) == {name: {(name, MASKED)} for name in ("age", "region", "education", "income")}


def test_figures_come_from_their_column_and_from_their_cell(workplace: Workplace, receiver: Receiver) -> None:
    make_table(workplace)
    _, event = completed(workplace, receiver)
    [output] = event["outputs"]
    found = origins(output)
    assert found["region"] == {("region", GROUPED)}
    assert found["count"] == found["count_standard_error"] == CELL
    assert found["income_sum"] == found["income_mean_standard_error"] == {("income", TOTALLED), *CELL}


def test_a_table_that_was_drawn_before_has_the_lineage_of_its_own_bundle(
    workplace: Workplace, receiver: Receiver
) -> None:
    make_table(workplace)
    places = []
    for account in (True, False):
        with begun(workplace, account=account) as line:
            places.append(line.publish().path)
    first, second = receiver.events
    read_event(second)
    assert [event["outputs"][0]["name"] for event in receiver.events] == places
    assert len(set(places)) == 2
    assert first["run"]["runId"] != second["run"]["runId"]


def test_exact_figures_are_not_called_masked(workplace: Workplace, receiver: Receiver) -> None:
    workplace.write_survey(2000)
    make_table(workplace, model="k_anon", epsilon=None, adjacency=None, k=2)
    _, event = completed(workplace, receiver)
    assert origins(event["outputs"][0])["income_sum"] == {("income", EXACT), *CELL}


def test_a_table_beside_the_records_is_an_output_of_its_own(workplace: Workplace, receiver: Receiver) -> None:
    make_close_in(workplace)
    folder, event = completed(workplace, receiver)
    records, buckets = event["outputs"]
    assert buckets["name"] == f"{folder}/tables/buckets"
    everything = {(name, GROUPED) for name in READ}
    assert origins(records)["group"] == origins(buckets)["group"] == origins(buckets)["records"] == everything
    assert origins(records)["age"] == {("age", IDENTITY)}
    assert origins(buckets)["income"] == {("income", MASKED)}


def test_no_value_no_measurement_and_no_digest_is_in_an_event(workplace: Workplace, receiver: Receiver) -> None:
    survey = pq.read_table(workplace.source)
    canaries = [f"canary-{row}-of-the-survey" for row in range(survey.num_rows)]
    place = survey.column_names.index("person_id")
    survey = survey.set_column(place, "person_id", pa.array(canaries))
    pq.write_table(survey, workplace.source)
    with begun(workplace, account=False) as line:
        line.job.record(Action.PLANNED)
        line.publish()
        digests = [
            event.facts[key] for event in line.job.log.events() for key in ("data", "manifest") if key in event.facts
        ]
    assert receiver.kinds == ["START", "COMPLETE"]
    sent = json.dumps([{**event, "eventTime": ""} for event in receiver.events])  # a time may look like a value
    values = {repr(value) for name in ("income", "savings", "weight") for value in survey[name].to_pylist() if value}
    [assessment] = workplace.home.rglob("assessment.json")
    measured = {repr(each["value"]) for each in json.loads(assessment.read_bytes())["measurements"]}
    assert len(values) > 800
    assert len(measured) > 3
    for secret in (*canaries, *digests, *(text for text in values | measured if len(text) > 5)):
        assert secret not in sent
    assert "average_risk at most 0.05" in sent  # the reader of this test does read


def test_nothing_is_sent_where_no_receiver_is_named(
    workplace: Workplace, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    for unset in (None, ""):
        if unset is None:
            monkeypatch.delenv("OPENLINEAGE_URL")
        else:
            monkeypatch.setenv("OPENLINEAGE_URL", unset)
        with begun(workplace, account=False) as line:
            line.job.record(Action.PLANNED)
    assert receiver.requests == []
    assert not (workplace.home / "lineage.log").exists()


def test_address_namespace_and_key_come_from_the_environment(
    workplace: Workplace, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    with begun(workplace, account=False) as line:
        line.job.record(Action.PLANNED)
        monkeypatch.setenv("OPENLINEAGE_URL", f"{receiver.address}/catalogue/")
        monkeypatch.setenv("OPENLINEAGE_ENDPOINT", "/in/v2")
        monkeypatch.setenv("OPENLINEAGE_API_KEY", "hunter2")
        monkeypatch.setenv("OPENLINEAGE_NAMESPACE", "statistics")
        line.job.record(Action.PLANNED)
    (plain_path, plain, first), (path, keyed, second) = receiver.requests
    assert (plain_path, path) == ("/api/v1/lineage", "/catalogue/in/v2")
    assert "Authorization" not in plain
    assert keyed["Authorization"] == "Bearer hunter2"
    assert keyed["Content-Type"] == "application/json"
    assert (first["job"]["namespace"], second["job"]["namespace"]) == ("penstock", "statistics")
    assert first["run"]["runId"] != second["run"]["runId"]
    assert "hunter2" not in json.dumps(receiver.events)


def told(workplace: Workplace) -> list[str]:
    """What the log of lineage says, without time and run."""
    return [line.split(" ", 2)[2] for line in (workplace.home / "lineage.log").read_text(encoding="utf-8").splitlines()]


def test_a_redirection_is_not_followed(workplace: Workplace, receiver: Receiver) -> None:
    with receiving() as elsewhere:
        receiver.answer, receiver.location = 307, f"{elsewhere.address}/api/v1/lineage"
        with begun(workplace, account=False) as line:
            line.job.record(Action.PLANNED)
        assert elsewhere.requests == []
    assert told(workplace) == ["START not taken: HTTP 307"]


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("ftp://user:hunter2@host", UNUSABLE),
        ("file:///etc/passwd", UNUSABLE),
        ("http://user:hunter2@127.0.0.1:1", UNUSABLE),
        ("http://[::1", "ValueError"),
        ("http://127.0.0.1:1", "URLError"),
    ],
)
def test_an_address_that_cannot_be_used_is_told_without_it(
    workplace: Workplace,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    address: str,
    reason: str,
) -> None:
    monkeypatch.setenv("OPENLINEAGE_URL", address)
    with begun(workplace, account=False) as line:
        line.job.record(Action.PLANNED)
    assert told(workplace) == [f"START not taken: {reason}"]
    shown = capfd.readouterr()
    for text in (shown.out, shown.err, (workplace.home / "lineage.log").read_text(encoding="utf-8")):
        assert "hunter2" not in text
        assert "127.0.0.1" not in text


def test_a_log_that_cannot_be_written_stops_nothing(workplace: Workplace, receiver: Receiver) -> None:
    receiver.answer = 500
    with begun(workplace, account=False) as line:
        (workplace.home / "lineage.log").mkdir()
        assert Path(line.publish().path).is_dir()


@pytest.mark.parametrize(
    ("place", "namespace", "name"),
    [
        ("/data/survey.parquet", "file", "/data/survey.parquet"),
        ("file:///data/a%20b", "file", "/data/a b"),
        ("file://host/data", "file://host", "data"),
        ("s3://bucket/income/2026-10/", "s3://bucket", "income/2026-10"),
        ("s3://bucket", "s3://bucket", "/"),
        ("s3://key:hunter2@bucket/x", "s3://bucket", "x"),
        ("abfss://container@account.dfs.core.windows.net/x/y", "abfss://container@account.dfs.core.windows.net", "x/y"),
    ],
)
def test_data_sets_are_named_as_the_standard_names_them(place: str, namespace: str, name: str) -> None:
    assert named_place(place) == {"namespace": namespace, "name": name}


def test_the_reader_of_these_tests_is_strict(workplace: Workplace, receiver: Receiver) -> None:
    _, event = completed(workplace, receiver)
    for spoil in (
        lambda e: e.update(more=1),
        lambda e: e.pop("run"),
        lambda e: e.pop("producer"),
        lambda e: e["run"].update(runId="7"),
        lambda e: e.update(eventType="DONE"),
        lambda e: e["inputs"][0].update(facets=e["inputs"][0]["inputFacets"]),
        lambda e: e["outputs"][0]["facets"]["schema"].update(_schemaURL="https://openlineage.io/other"),
        lambda e: e["outputs"][0]["facets"]["schema"]["fields"][0].update(type=7),
    ):
        spoilt = json.loads(json.dumps(event))
        spoil(spoilt)
        with pytest.raises((AssertionError, ValueError, TypeError)):
            read_event(spoilt)
