"""A real S3 server on this machine, and stores that misbehave, for tests of object storage."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer

# They must not be found anywhere else than in the environment.
KEY_ID, SECRET, TOKEN = "CANARYKEYID77", "canary-secret-77", "canary-token-77"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_SESSION_TOKEN": TOKEN}


class Bucket:
    """A bucket of the server, seen with a client that is not the product's."""

    def __init__(self, endpoint: str, name: str) -> None:
        self.name = name
        self.endpoint = endpoint
        self.client: Any = boto3.client(
            "s3",
            endpoint_url=endpoint,
            region_name="us-east-1",
            aws_access_key_id="another",
            aws_secret_access_key="another",
        )
        self.client.create_bucket(Bucket=name)

    def put(self, key: str, content: bytes) -> None:
        self.client.put_object(Bucket=self.name, Key=key, Body=content)

    def get(self, key: str) -> bytes:
        return bytes(self.client.get_object(Bucket=self.name, Key=key)["Body"].read())

    def keys(self, prefix: str = "") -> list[str]:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix=prefix)
        return sorted(found["Key"] for page in pages for found in page.get("Contents", ()))

    def files(self, prefix: str) -> dict[str, bytes]:
        """Every object below a prefix, by its name relative to it."""
        return {key.removeprefix(prefix): self.get(key) for key in self.keys(prefix)}

    def address(self, key: str = "") -> str:
        return f"s3://{self.name}/{key}"


@contextmanager
def running_server() -> Iterator[str]:
    """The endpoint of an S3 server that forgets everything when it ends."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # it would log every request
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


def use_store(monkeypatch: pytest.MonkeyPatch, endpoint: str) -> None:
    """Let the environment point to this store."""
    for name in ("AWS_ENDPOINT_URL_S3", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {**CREDENTIALS, "AWS_ENDPOINT_URL": endpoint}.items():
        monkeypatch.setenv(name, value)


@contextmanager
def answering(status: int, body: bytes) -> Iterator[str]:
    """The endpoint of a store that gives the same answer to everything."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_PUT = do_POST = do_HEAD = do_DELETE = do_GET  # names of the library

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def silent() -> Iterator[str]:
    """The endpoint of a store that takes every connection and never answers."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(64)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def nowhere() -> str:
    """An endpoint where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}"


DENIED = (403, f"<Error><Code>AccessDenied</Code><Message>{KEY_ID}</Message></Error>".encode())
