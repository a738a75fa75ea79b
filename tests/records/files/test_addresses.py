from __future__ import annotations

from pathlib import Path

import pytest

from penstock.records.files.addresses import AddressRefused, ObjectPath, is_address, place_of


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("/public/survey", Path("/public/survey")),
        ("published", Path("published")),
        ("s3://public", ObjectPath("public", "")),
        ("s3://public/", ObjectPath("public", "")),
        ("s3://public/income/2026-10/", ObjectPath("public", "income/2026-10")),
        ("s3://con.fi/income/region=N/x.parquet", ObjectPath("con.fi", "income/region=N/x.parquet")),
    ],
)
def test_a_place_is_a_path_or_an_address(text: str, place: Path | ObjectPath) -> None:
    assert place_of(text) == place
    assert is_address(text) == isinstance(place, ObjectPath)


def test_an_address_is_walked_like_a_path() -> None:
    place = place_of("s3://public/income/") / "survey" / "one"
    assert str(place) == "s3://public/income/survey/one"
    assert (place.name, str(place.parent)) == ("one", "s3://public/income/survey")
    assert str(ObjectPath("public", "") / "one") == "s3://public/one"
    assert place_of(str(place)) == place


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("gs://bucket/secret-77", "must begin with s3://"),
        ("az://bucket/secret-77", "must begin with s3://"),
        ("file:///secret-77", "must begin with s3://"),
        ("https://user:secret-77@host/x", "must begin with s3://"),
        ("S3://bucket/secret-77", "must begin with s3://"),
        ("s3://user:secret-77@bucket/x", "must not hold credentials or options"),
        ("s3://bucket/x?secret_key=secret-77", "must not hold credentials or options"),
        ("s3://bucket/x#secret-77", "must not hold credentials or options"),
        ("s3:///secret-77", "must name a bucket after s3://"),
        ("s3://b/secret-77", "must name a bucket after s3://"),
        ("s3://Bucket/secret-77", "must name a bucket after s3://"),
        ("s3://bucket:443/secret-77", "must name a bucket after s3://"),
        ("s3://bucket//secret-77", "plain names"),
        ("s3://bucket/../secret-77", "plain names"),
        ("s3://bucket/./secret-77", "plain names"),
        ("s3://bucket/secret-77%2F..", "plain names"),
        ("s3://bucket/secret-77\\x", "plain names"),
        ("s3://bucket/secret-77 x", "plain names"),
        ("s3://bucket/secret-77\n", "plain names"),
    ],
)
def test_other_addresses_are_refused_and_not_quoted(text: str, rule: str) -> None:
    with pytest.raises(AddressRefused, match=rule) as caught:
        place_of(text, "publish.path")
    assert (caught.value.code, caught.value.kind) == ("address-refused", "spec")
    assert caught.value.faults[0].field == "publish.path"
    assert "secret-77" not in str(caught.value)
