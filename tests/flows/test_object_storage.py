"""Releases from and to an object store: the whole line against a real S3 server on this machine."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from s3_server import Bucket
from workplace import PASSED, Workplace

from flows import release as flow
from flows.spec import load_spec
from records import open_records
from records.addresses import place_of
from records.audit import verify_everything
from tasks.publish import Receipt
from tasks.verification import verify_bundle


@pytest.fixture(autouse=True)
def _prefect(prefect_home: Path) -> None:
    """Every test here runs a flow."""


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
    assert set(files) == {"data.parquet", "data.csv", "report.html", "manifest.json"}
    assert bucket.keys("public/survey/") == sorted(
        [f"public/survey/{receipt.run}.claim", *(f"public/survey/{receipt.run}/{name}" for name in files)]
    )
    released, original = pq.read_table(io.BytesIO(files["data.parquet"])), pq.read_table(workplace.source)
    assert sorted(released["income"].to_pylist()) == sorted(original["income"].to_pylist())
    assert workplace.working_files() == []

    place = place_of(receipt.path)
    assert {"signature", "digests"} <= {
        found.name for found in verify_bundle(place, workplace.home / "keys" / "signing.pub") if found.checked
    }
    assert verify_everything([place_of(bucket.address("public"))])["manifests"] == 1
    assert verify_everything()["not_reached"] == []


def test_the_same_files_have_the_same_digest_wherever_they_lie(workplace: Workplace, bucket: Bucket) -> None:
    release(workplace)
    in_store(workplace, bucket)
    # The ledger knows the records again by their digest: a second release of them is refused.
    with pytest.raises(Exception, match="acknowledge"):
        release(workplace)
