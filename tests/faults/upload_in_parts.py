"""Seals and uploads a folder in parts of 5 MB; told to die, it does so once the store has the first part."""

from __future__ import annotations

import io
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import boto3
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from penstock.records.bundle import bundle
from penstock.records.bundle._upload import upload
from penstock.records.files import object_store
from penstock.records.files.addresses import ObjectPath, place_of

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PATIENCE = 60.0


class Dying(io.FileIO):
    """A file whose reader is killed when the store has a part of it."""

    place: ObjectPath

    def read(self, size: int | None = -1) -> Any:
        if self.tell():
            self._await_first_part()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().read(-1 if size is None else size)

    def _await_first_part(self) -> None:
        client = boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"], region_name="us-east-1")
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            for begun in client.list_multipart_uploads(Bucket=self.place.bucket).get("Uploads", ()):
                named = {"Bucket": self.place.bucket, "Key": begun["Key"], "UploadId": begun["UploadId"]}
                if client.list_parts(**named).get("Parts"):
                    return
            time.sleep(0.05)


def main(folder: Path, place: ObjectPath, die: bool) -> None:
    object_store.BLOCK_BYTES = 5 << 20
    if die:
        put = object_store.obstore.put
        Dying.place = place

        def put_dying(store: Any, key: str, file: Any, **options: Any) -> Any:
            return put(store, key, Dying(file.name) if hasattr(file, "name") else file, **options)

        object_store.obstore.put = put_dying  # type: ignore[assignment]
        bundle.seal(
            folder,
            subject=bundle.subjects(folder),
            release={},
            approval={"required": 0, "decisions": []},
            log_head={"seq": 7, "digest": "d"},
            key=KEY,
        )
    upload(folder, place, KEY.public_key())


if __name__ == "__main__":
    target = place_of(sys.argv[2])
    if isinstance(target, ObjectPath):
        main(Path(sys.argv[1]), target, "die" in sys.argv[3:])
