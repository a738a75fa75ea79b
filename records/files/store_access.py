"""Access to an S3 store, from the environment alone.

    AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY     needed; AWS_SESSION_TOKEN with temporary keys
    AWS_REGION or AWS_DEFAULT_REGION             needed without an endpoint
    AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL      a store that is not Amazon's: https, or http on this machine

Nothing else is consulted: no file of profiles, no service of the machine. No variable can switch a check off.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from penstock.mechanisms.refusal import Refusal

__all__ = ["CONNECT_SECONDS", "REQUEST_SECONDS", "Access", "AccessRefused", "access"]

CONNECT_SECONDS = 10.0
REQUEST_SECONDS = 60.0  # for one request, which carries no more than one part of a file


class AccessRefused(Refusal):
    """The environment does not say how to reach the store, or says it in a way that is not safe."""

    code = "store-access-refused"
    remedy = "Set the named variables in the environment of the run."


@dataclass(frozen=True, slots=True)
class Access:
    """The access data of the store; secrets are never shown."""

    key_id: str = field(repr=False)
    secret: str = field(repr=False)
    token: str | None = field(repr=False)
    region: str
    endpoint: str

    @property
    def is_encrypted(self) -> bool:
        return self.endpoint.startswith("https://")


def access(environment: Mapping[str, str] = os.environ) -> Access:
    """Return the access that the environment gives now."""

    def first(*names: str) -> str | None:
        return next((environment[name] for name in names if environment.get(name)), None)

    key_id, secret = first("AWS_ACCESS_KEY_ID"), first("AWS_SECRET_ACCESS_KEY")
    if key_id is None or secret is None:
        raise AccessRefused.at(
            "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY",
            rule="must both be set where a spec names an object store",
            remedy="Set them in the environment of the run.",
        )
    region = first("AWS_REGION", "AWS_DEFAULT_REGION")
    endpoint = first("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
    if endpoint is None and region is None:
        raise AccessRefused.at("AWS_REGION", rule="must be set where no endpoint is", remedy="Set it.")
    return Access(
        key_id=key_id,
        secret=secret,
        token=first("AWS_SESSION_TOKEN"),
        region=region or "us-east-1",  # what stores without regions expect
        endpoint=f"https://s3.{region}.amazonaws.com" if endpoint is None else _required_safe(endpoint),
    )


def _required_safe(endpoint: str) -> str:
    """Return the endpoint without a slash at its end. A refused one is not quoted: it may hold a password."""
    remedy = "Set it to https://host[:port], or http://127.0.0.1:port."
    try:
        parts = urlsplit(endpoint)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or endpoint.rstrip("/") != f"{parts.scheme}://{parts.netloc}" or "@" in parts.netloc:
        raise AccessRefused.at("AWS_ENDPOINT_URL", rule="must be a scheme, a host and a port, no more", remedy=remedy)
    if parts.scheme not in ("http", "https"):
        raise AccessRefused.at("AWS_ENDPOINT_URL", rule="must begin with https://", remedy=remedy)
    if parts.scheme == "http" and not _is_this_machine(host):
        rule = "must be https outside this machine: everybody on the way could read and change what is sent"
        raise AccessRefused.at("AWS_ENDPOINT_URL", rule=rule, remedy=remedy)
    return f"{parts.scheme}://{parts.netloc}"


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
