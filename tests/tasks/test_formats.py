"""Formats: one list, which specs, forms, bundles and verification know."""

from __future__ import annotations

import subprocess
import sys
from typing import get_args

import pytest

from penstock.flows.forms.table import release_table
from penstock.flows.spec import ReleaseSpec
from penstock.measures.kinds import KINDS
from penstock.tasks.formats import FORMATS, READABLE, FormatName, media_type, sheet_stem


def test_the_names_of_a_spec_are_those_of_the_formats() -> None:
    assert get_args(FormatName) == tuple(FORMATS)


def test_specs_and_forms_offer_every_format() -> None:
    schema = ReleaseSpec.model_json_schema()["$defs"]["Publish"]["properties"]["formats"]
    assert schema["items"]["enum"] == list(FORMATS)
    form = release_table.parameters.properties["formats"]
    assert form["items"]["enum"] == list(FORMATS)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_output_has_a_format_that_is_verified(kind: str) -> None:
    assert [each for each in READABLE if kind in each.kinds]


def test_no_two_formats_write_the_same_file() -> None:
    suffixes = [suffix for each in FORMATS.values() for suffix in each.media_types]
    assert len(set(suffixes)) == len(suffixes)


@pytest.mark.parametrize(
    ("name", "kind", "stem"),
    [
        ("data.parquet", "application/vnd.apache.parquet", "data"),
        ("tables/incomes.csv", "text/csv", "tables/incomes"),
        ("tables/incomes.sdmx.csv", "application/vnd.sdmx.data+csv", None),
        ("tables/incomes.structure.xml", "application/vnd.sdmx.structure+xml", None),
    ],
)
def test_a_file_is_known_by_its_longest_suffix(name: str, kind: str, stem: str | None) -> None:
    assert (media_type(name), sheet_stem(name)) == (kind, stem)


@pytest.mark.parametrize("module", ["penstock.flows.spec", "penstock.tasks.formats"])
def test_the_names_of_formats_load_no_library(module: str) -> None:
    """A command that only reads a spec starts without them."""
    code = f"import sys, {module}; print([name for name in ('pyarrow', 'prefect', 'numba') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
