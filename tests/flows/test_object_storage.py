"""Releases from and to an object store: the whole line against a real S3 server on this machine."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from penstock.flows import release as flow
from penstock.flows.spec import load_spec
from penstock.records import open_records
from penstock.records.audit import PublishedMissing, RecordsDisagree, verify_everything
from penstock.records.files.addresses import place_of
from penstock.records.files.object_store import StoreRefused, StoreUnreachable
from penstock.tasks import ingest
from penstock.tasks.files.source import SourceUnreadable
from penstock.tasks.publish import Receipt
from penstock.tasks.verification.bundle import verify_bundle
from tests.support.ended_command import Typed
from tests.support.question_house import asked, set_up
from tests.support.s3_server import DENIED, KEY_ID, SECRET, TOKEN, Bucket, answering, nowhere, use_store
from tests.support.workplace import DESCRIPTIONS, PASSED, Workplace


def release(workplace: Workplace) -> Receipt:
    result = flow.release(load_spec(workplace.write_spec()))
    assert isinstance(result, Receipt)
    return result


def in_store(workplace: Workplace, bucket: Bucket) -> None:
    """The survey lies in the bucket, and the release will."""
    bucket.put("confidential/survey.parquet", workplace.source.read_bytes())
    workplace.raw["source"]["path"] = bucket.address("confidential/survey.parquet")
    workplace.raw["publish"]["path"] = bucket.address("public/")


def actions() -> list[str]:
    return [event.action.value for event in open_records().log.events()]


def test_a_release_from_store_to_store_is_whole_and_of_the_form_of_a_local_one(
    workplace: Workplace, bucket: Bucket
) -> None:
    in_store(workplace, bucket)
    receipt = release(workplace)
    assert actions() == PASSED
    assert receipt.path == bucket.address(f"public/survey/{receipt.run}")
    files = bucket.files(f"public/survey/{receipt.run}/")
    assert set(files) == {"data.parquet", "data.csv", "report.html", "manifest.json", *DESCRIPTIONS}
    beside = ["public/survey/.writable", f"public/survey/{receipt.run}.claim"]
    assert bucket.keys("public/survey/") == sorted(beside + [f"public/survey/{receipt.run}/{name}" for name in files])
    released, original = pq.read_table(io.BytesIO(files["data.parquet"])), pq.read_table(workplace.source)
    assert sorted(released["income"].to_pylist()) == sorted(original["income"].to_pylist())
    assert workplace.working_files() == []

    place = place_of(receipt.path)
    assert {"signature", "digests"} <= {
        found.name for found in verify_bundle(place, workplace.home / "keys" / "signing.pub") if found.checked
    }
    assert verify_everything([place_of(bucket.address("public"))])["manifests"] == 1
    assert verify_everything()["not_reached"] == []


def test_a_source_in_a_store_is_released_under_a_memory_limit(workplace: Workplace, bucket: Bucket) -> None:
    in_store(workplace, bucket)
    workplace.raw["run"] = {"memory": "100 MB"}
    receipt = release(workplace)
    assert actions() == PASSED
    released = pq.read_table(io.BytesIO(bucket.files(f"public/survey/{receipt.run}/")["data.parquet"]))
    assert sorted(released["income"].to_pylist()) == sorted(pq.read_table(workplace.source)["income"].to_pylist())


def test_a_source_that_is_replaced_while_it_is_read_is_refused(
    workplace: Workplace, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_store(workplace, bucket)
    survey = pq.read_table(workplace.source)
    read_source = ingest.read_source

    def replaced_meanwhile(*args: Any, **kwargs: Any) -> Any:
        found = read_source(*args, **kwargs)
        content = io.BytesIO()
        pq.write_table(survey.slice(1), content)
        bucket.put("confidential/survey.parquet", content.getvalue())
        return found

    monkeypatch.setattr(ingest, "read_source", replaced_meanwhile)
    with pytest.raises(SourceUnreadable, match="must not change while it is read"):
        release(workplace)
    assert bucket.keys("public/") == ["public/survey/.writable"]  # only that writing is allowed was tried
    assert actions()[-1] == "REFUSED"


def test_the_same_files_have_the_same_digest_wherever_they_lie(workplace: Workplace, bucket: Bucket) -> None:
    release(workplace)
    in_store(workplace, bucket)
    # The ledger knows the records again by their digest: a second release of them is refused.
    with pytest.raises(Exception, match="acknowledge"):
        release(workplace)


def test_the_commands_take_addresses(workplace: Workplace, bucket: Bucket, typed: Typed) -> None:
    bucket.put("survey.parquet", workplace.source.read_bytes())
    source, public = bucket.address("survey.parquet"), bucket.address("public/")
    planned = typed("plan", workplace.write_spec(), "--source", source, "--publish", public, "--json")
    assert "with --count its columns are checked" in json.loads(planned.out)["cost"][-1]
    counted = typed("plan", workplace.spec_file, "--source", source, "--publish", public, "--count", "--json")
    assert json.loads(counted.out)["records"] == 400
    assert json.loads(counted.out)["publishes_to"] == bucket.address("public/survey")

    receipt = json.loads(typed("run", workplace.spec_file, "--source", source, "--publish", public, "--json").out)
    verified = typed("verify", receipt["path"] + "/", "--json")
    assert (verified.code, json.loads(verified.out)["bundle"]) == (0, receipt["path"] + "/")
    assert json.loads(typed("audit", "verify", "--bundles", public, "--json").out)["manifests"] == 1

    bucket.put(f"public/survey/{receipt['run']}/data.csv", b"altered")
    assert typed("verify", receipt["path"]).code == 7
    assert typed("verify", public).code == 7
    assert typed("verify", "gs://bucket/x").code == 2
    assert typed("audit", "verify", "--bundles", "s3://user:pass-77@bucket/x").code == 2


def secrets_in(*places: Path) -> list[str]:
    """Files below these folders that hold a credential."""
    found = [KEY_ID.encode(), SECRET.encode(), TOKEN.encode()]
    files = [path for place in places for path in place.rglob("*") if path.is_file()]
    return [str(path) for path in files if any(secret in path.read_bytes() for secret in found)]


def test_no_credential_is_written_anywhere(
    workplace: Workplace, bucket: Bucket, prefect_home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    in_store(workplace, bucket)
    receipt = release(workplace)
    assert secrets_in(workplace.folder, prefect_home) == []
    for content in bucket.files("public/").values():
        assert KEY_ID.encode() not in content
        assert SECRET.encode() not in content
    told = json.dumps(receipt.as_dict()) + caplog.text
    assert not any(secret in told for secret in (KEY_ID, SECRET, TOKEN))
    (workplace.folder / "twin").write_text(f"key {SECRET}", encoding="utf-8")
    assert secrets_in(workplace.folder) == [str(workplace.folder / "twin")]


@pytest.mark.parametrize("failure", ["denied", "nobody there", "no bucket"])
def test_a_destination_that_cannot_be_used_stops_the_run_before_it_draws_and_a_rerun_publishes(
    workplace: Workplace, bucket: Bucket, monkeypatch: pytest.MonkeyPatch, failure: str
) -> None:
    workplace.raw["publish"]["path"] = bucket.address("public")
    if failure == "denied":
        with answering(*DENIED) as endpoint:
            use_store(monkeypatch, endpoint)
            with pytest.raises(StoreRefused, match="denies access"):
                release(workplace)
    elif failure == "nobody there":
        use_store(monkeypatch, nowhere())
        with pytest.raises(StoreUnreachable, match="must be in a store that answers"):
            release(workplace)
    else:
        bucket.client.delete_bucket(Bucket=bucket.name)
        with pytest.raises(StoreRefused, match="must be in a bucket that exists in this store"):
            release(workplace)
        bucket.client.create_bucket(Bucket=bucket.name)
    assert actions() == ["FAILED"]
    assert secrets_in(workplace.folder) == []
    use_store(monkeypatch, bucket.endpoint)
    release(workplace)
    assert actions() == ["FAILED", "RESUMED", *PASSED[1:]]


@pytest.mark.slow
def test_a_source_that_cannot_be_reached_fails_and_does_not_end_the_run(
    workplace: Workplace, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_store(workplace, bucket)
    workplace.raw["publish"]["path"] = "published"
    use_store(monkeypatch, nowhere())
    with pytest.raises(StoreUnreachable):
        release(workplace)
    assert actions() == ["PLANNED", "FAILED"]
    use_store(monkeypatch, bucket.endpoint)
    release(workplace)
    assert actions()[-1] == "PUBLISHED"
    assert len(workplace.bundles()) == 1


@pytest.mark.slow
def test_answers_in_a_store_are_held_against_the_log(
    workplace: Workplace, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = asked(set_up(workplace, publish=bucket.address("public")), "count where region is North", epsilon="1/4")
    assert found.path == bucket.address(f"public/survey/answers/{found.id}.json")
    key = f"public/survey/answers/{found.id}.json"
    content, above = bucket.get(key), place_of(bucket.address())
    assert verify_everything(files=True)["answers"] == 1

    bucket.put(f"elsewhere/answers/{'ab' * 32}.json", content)
    assert verify_everything(files=True)["answers"] == 1
    with pytest.raises(RecordsDisagree, match=r"elsewhere.*must be an answer that the log knows of"):
        verify_everything([above], files=True)
    bucket.put(key, content[:200] + b"x" + content[201:])
    with pytest.raises(RecordsDisagree, match=f"{found.path} refused"):
        verify_everything(files=True)
    bucket.client.delete_object(Bucket=bucket.name, Key=key)
    with pytest.raises(PublishedMissing, match=f"{found.path} refused: must be the answer that the log says"):
        verify_everything(files=True)

    use_store(monkeypatch, nowhere())
    with pytest.raises(RecordsDisagree, match="must be in a store that answers") as caught:
        verify_everything([above], files=True)
    assert len(caught.value.faults) == 2  # what was asked for, and what is on record


@pytest.mark.slow
def test_an_audit_fails_when_a_store_on_record_cannot_be_asked(
    workplace: Workplace, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    workplace.raw["publish"]["path"] = bucket.address("public")
    receipt = release(workplace)
    key = f"public/survey/{receipt.run}/manifest.json"
    manifest = bucket.get(key)
    above = place_of(bucket.address())

    use_store(monkeypatch, nowhere())
    with pytest.raises(RecordsDisagree, match="must be in a store that answers") as caught:
        verify_everything([above])
    assert len(caught.value.faults) == 2  # what was asked for, and what is on record

    use_store(monkeypatch, bucket.endpoint)
    bucket.put(key, manifest[:200] + b"x" + manifest[201:])
    with pytest.raises(RecordsDisagree, match=f"{receipt.path} manifest.json refused: must be"):
        verify_everything()
    bucket.client.delete_object(Bucket=bucket.name, Key=key)
    assert verify_everything()["not_reached"] == [receipt.path]

    bucket.put(key, manifest)
    bucket.put("public/survey/copy/manifest.json", b"{}")
    assert verify_everything()["manifests"] == 1
    with pytest.raises(RecordsDisagree, match="survey/copy"):
        verify_everything([above])
