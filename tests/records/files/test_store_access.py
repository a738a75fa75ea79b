from __future__ import annotations

import pytest

from penstock.records.files.store_access import AccessRefused, access

KEYS = {"AWS_ACCESS_KEY_ID": "canary-id", "AWS_SECRET_ACCESS_KEY": "canary-secret"}


def test_access_comes_from_the_environment() -> None:
    amazon = access({**KEYS, "AWS_DEFAULT_REGION": "eu-west-1", "AWS_SESSION_TOKEN": "canary-token"})
    assert (amazon.key_id, amazon.secret, amazon.token) == ("canary-id", "canary-secret", "canary-token")
    assert (amazon.region, amazon.endpoint) == ("eu-west-1", "https://s3.eu-west-1.amazonaws.com")
    both = {**KEYS, "AWS_REGION": "eu-north-1", "AWS_DEFAULT_REGION": "eu-west-1"}
    assert access(both).region == "eu-north-1"
    own = access({**KEYS, "AWS_ENDPOINT_URL": "https://one", "AWS_ENDPOINT_URL_S3": "https://store.agency:9000/"})
    assert (own.region, own.endpoint, own.token) == ("us-east-1", "https://store.agency:9000", None)


def test_access_does_not_show_what_is_secret() -> None:
    shown = repr(access({**KEYS, "AWS_REGION": "eu-west-1", "AWS_SESSION_TOKEN": "canary-token"}))
    assert "canary" not in shown


@pytest.mark.parametrize("missing", KEYS)
@pytest.mark.parametrize("given", [{}, {"AWS_PROFILE": "default"}])
def test_keys_must_be_set(missing: str, given: dict[str, str]) -> None:
    keys = {name: value for name, value in KEYS.items() if name != missing}
    with pytest.raises(AccessRefused, match="must both be set where a spec names an object store") as caught:
        access({**keys, **given, "AWS_REGION": "eu-west-1"})
    assert (caught.value.code, caught.value.kind) == ("store-access-refused", "failure")
    assert "canary" not in str(caught.value)


def test_a_region_is_needed_without_an_endpoint() -> None:
    with pytest.raises(AccessRefused, match="AWS_REGION refused"):
        access({**KEYS, "AWS_REGION": ""})


@pytest.mark.parametrize("endpoint", ["http://127.0.0.1:9000", "http://[::1]:9000", "http://localhost:9000"])
def test_http_is_taken_on_this_machine(endpoint: str) -> None:
    found = access({**KEYS, "AWS_ENDPOINT_URL": endpoint})
    assert found.endpoint == endpoint
    assert not found.is_encrypted


@pytest.mark.parametrize(
    ("endpoint", "rule"),
    [
        (
            "http://canary.agency:9000",
            "must be https outside this machine: everybody on the way could read and change what is sent",
        ),
        (
            "http://10.0.0.1:9000",
            "must be https outside this machine: everybody on the way could read and change what is sent",
        ),
        (
            "http://127.0.0.1.canary.org",
            "must be https outside this machine: everybody on the way could read and change what is sent",
        ),
        (
            "http://localhost.canary.org",
            "must be https outside this machine: everybody on the way could read and change what is sent",
        ),
        ("https://user:canary@host", "no more"),
        ("https://host/canary", "no more"),
        ("https://host?canary", "no more"),
        ("https://host#canary", "no more"),
        ("https://host:canary", "no more"),
        ("https://[canary", "no more"),
        ("https://", "no more"),
        ("ftp://canary", "must begin with https://"),
        ("canary:9000", "no more"),
    ],
)
def test_other_endpoints_are_refused_and_not_quoted(endpoint: str, rule: str) -> None:
    with pytest.raises(AccessRefused, match=rule) as caught:
        access({**KEYS, "AWS_ENDPOINT_URL": endpoint})
    assert "canary" not in str(caught.value)
