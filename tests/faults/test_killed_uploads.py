"""A run killed while it publishes to an object store leaves no release or a whole one, and a rerun finishes.

What was drawn before the kill is what is published, also if the source changed meanwhile: readers may have seen
a part of it. It is charged once.
"""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.records import open_records
from penstock.records.audit import verify_everything
from penstock.records.bundle.places import bundles_below
from penstock.records.files.addresses import ObjectPath, place_of
from penstock.tasks.verification.bundle import verify_bundle
from tests.support.forked_releases import ROOT, Zygote
from tests.support.order import telling
from tests.support.s3_server import Bucket
from tests.support.workplace import Workplace, budget_of, make_private, open_dp_account

# Whether the release exists when the process dies.
POINTS = {
    "before claim": False,
    "after claim": False,
    "after upload": False,
    "before appearance": False,
    "after appearance": True,
}


@pytest.mark.parametrize("point", telling(POINTS, "after claim", "after upload", "after appearance"))
def test_a_killed_publication_is_finished_by_the_next_run_with_the_same_bytes_and_charged_once(
    workplace: Workplace, zygote: Zygote, bucket: Bucket, point: str
) -> None:
    make_private(workplace)
    workplace.raw["publish"]["path"] = bucket.address("public")
    workplace.write_spec()
    open_dp_account(4)
    public = place_of(bucket.address("public"))
    key = workplace.home / "keys" / "signing.pub"

    assert zygote.run(workplace, point) == -signal.SIGKILL
    [drawn] = workplace.home.rglob("protected.parquet")
    first = drawn.read_bytes()
    assert len(bundles_below(public)) == POINTS[point]
    open_records().log.verify()
    if not POINTS[point]:  # once it is published, another source would be another release
        workplace.write_survey(400, seed=2)

    assert zygote.run(workplace) == 0
    [place] = bundles_below(public)
    verify_bundle(place, key)
    assert bucket.get(f"{str(place).removeprefix(bucket.address())}/data.parquet") == first
    assert budget_of() == ("1", "3", ["published"])
    assert verify_everything([public])["manifests"] == 1
    assert [event.action.value for event in open_records().log.events()].count("PROTECTING") == 1
    assert workplace.working_files() == []


def test_an_upload_killed_between_two_parts_of_a_file_is_finished_by_the_next(tmp_path: Path, bucket: Bucket) -> None:
    content = os.urandom(12 << 20)
    place = ObjectPath(bucket.name, "public/release-1")
    command = [sys.executable, str(Path(__file__).with_name("upload_in_parts.py")), str(tmp_path), str(place)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    (tmp_path / "data.parquet").write_bytes(content)

    killed = subprocess.run([*command, "die"], env=environment, check=False)
    assert killed.returncode == -signal.SIGKILL
    [begun] = bucket.client.list_multipart_uploads(Bucket=bucket.name)["Uploads"]
    assert begun["Key"] == "public/release-1/data.parquet"
    assert bucket.keys() == ["public/release-1.claim"]

    subprocess.run(command, env=environment, check=True)
    assert bucket.keys("public/release-1/") == ["public/release-1/data.parquet", "public/release-1/manifest.json"]
    assert hashlib.sha256(bucket.get("public/release-1/data.parquet")).digest() == hashlib.sha256(content).digest()
