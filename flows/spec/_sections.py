"""The sections of a spec: where the data are, what is asked of them, who agrees, where the bundle appears.

Unknown keys are refused, and nothing that decides about privacy has a default.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from penstock.mechanisms.columns import MOST_COLUMNS, Column
from penstock.mechanisms.numbers.exact import ExactNumber
from penstock.mechanisms.refusal import Fault
from penstock.records.approval.rule import Rule, RuleRefused
from penstock.records.files.addresses import AddressRefused, place_of
from penstock.tasks.editions import is_no_period
from penstock.tasks.formats import READABLE, FormatName

__all__ = [
    "Acknowledged",
    "Approve",
    "Budget",
    "Describe",
    "Publish",
    "Run",
    "Section",
    "Source",
    "Validate",
    "verifiable",
]

# The promise of every output names all of them.
Acknowledged = Annotated[tuple[Annotated[str, Field(max_length=200)], ...], Field(max_length=1_000)]
_ANSWERS = "answers"  # as records/published_answers.py calls their folder


class Section(BaseModel):
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        hide_input_in_errors=True,  # an address that is refused may hold a password
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
    )


class Source(Section):
    """Where the confidential microdata lie and what their columns mean."""

    path: str = Field(
        description="Parquet file, folder of Parquet files, or Hive-partitioned folder; a local path or "
        "s3://bucket/folder. ${VAR} expands."
    )
    unit: str = Field(
        description="What is protected: row, or the column of role identifier that tells whose record it is; then "
        "protect says how many records of each are used (rows_per_unit), or counts each once (tables under k_anon)."
    )
    # None if not given, so that such a spec keeps the digest that it always had.
    edition: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9]([A-Za-z0-9 ._-]{0,78}[A-Za-z0-9])?$",
        description='For data that change under one name: the public name of this state of them, such as "2026-10". A '
        "new edition is drawn and charged anew, whether or not a byte changed; without one, releases that spend assume "
        "that the records never change. Where it is a period, or begins with one and a space (2026, 2026-Q3, 2026-11, "
        '2026-11-09, "2026-Q3 final"), the release is about that period. Letters, digits, spaces and . _ - inside, at '
        "most 80.",
    )
    # None if not given, so that such a spec keeps the digest that it always had.
    where: str | None = Field(
        default=None,
        min_length=1,
        max_length=10_000,
        description="Which records the release is about, as in a question: region is North or South and age from 18 "
        "below 65. Under differential privacy with adjacency add_remove only: how many they are is then secret.",
    )
    columns: dict[str, Column] = Field(
        min_length=1, max_length=MOST_COLUMNS, description="Every column to read. Others are never read."
    )

    @field_validator("edition")
    @classmethod
    def _has_a_folder_of_its_own(cls, edition: str | None) -> str | None:
        if edition is not None and edition.casefold() == _ANSWERS:
            rule = f"must not be {_ANSWERS}: published answers to questions lie in the folder of that name"
            raise PydanticCustomError("taken", rule)
        if edition is not None and is_no_period(edition):
            rule = "must begin with a period that there is, such as 2026, 2026-Q3 or 2026-11-09, or with a letter"
            raise PydanticCustomError("no_period", rule)
        return edition

    @model_validator(mode="after")
    def _lies_somewhere(self) -> Self:
        _require_place(self.path)
        return self


class Validate(Section):
    """What the data must satisfy beyond what the columns imply."""

    suite: str | None = Field(
        default=None,
        description="A Great Expectations suite as JSON, added to the derived one. Not where epsilon is spent: "
        "it decides on the data whether a release appears.",
    )
    min_rows: int = Field(default=1, ge=1, le=2**53, strict=True, description="Fewest records the source may have.")


class Budget(Section):
    """What the release spends, and of which data set. Limits are set by `penstock budget open`."""

    dataset: str | None = Field(
        default=None,
        min_length=1,
        description="Name under which all releases about the same people are counted. Needed where epsilon is spent.",
    )
    epsilon: ExactNumber | None = Field(
        default=None,
        description='The most that this release may spend, exact: "2" or "1/2". Needed where epsilon is spent; '
        "k-anonymity spends none.",
    )
    part: str | None = Field(
        default=None,
        description="A column with one category: only records of that part are used, and other parts may "
        "spend beside it, if the account was opened with this column as its partition.",
    )
    acknowledges: Acknowledged = Field(
        default=(),
        description="Earlier releases of the same records, by id, which no common promise covers; and outputs of this "
        "release, by name, which none covers together with the others.",
    )


class Approve(Section):
    """Who must agree before publication."""

    reviewers: Literal[0, 1, 2] = Field(default=0, description="How many must approve. One refusal ends the run.")
    allowed: tuple[str, ...] = Field(default=(), description="Who may: names whose keys are trusted.")
    within: timedelta = Field(
        default=timedelta(days=14), description="How long the run waits, such as P14D or PT12H; then it is refused."
    )

    @property
    def rule(self) -> Rule | None:
        """Return what the reviewers are asked; None where there are none."""
        return Rule(self.reviewers, self.allowed, self.within) if self.reviewers else None

    @model_validator(mode="after")
    def _can_be_given(self) -> Self:
        faults: tuple[Fault, ...] = ()
        if self.allowed and not self.reviewers:
            faults = (
                Fault("reviewers", "must be 1 or 2 where names are given: 0 asks nobody", "Set it to 1 or 2.", "0"),
            )
        try:
            _ = self.rule
        except RuleRefused as refusal:
            faults = refusal.faults
        if faults:
            raise PydanticCustomError("faults", "cannot be given", {"faults": list(faults)})
        return self


class Publish(Section):
    """Where the bundle appears."""

    path: str = Field(
        description="Folder of published releases, a local path or s3://bucket/folder; the bundle is "
        "<path>/<name>/<release-id>, or <path>/<name>/<edition>/<release-id>. ${VAR} expands."
    )
    formats: tuple[FormatName, ...] = Field(
        default=("parquet",),
        min_length=1,
        description="Formats of the released data. sdmx, for tables, beside one of the others: SDMX-CSV 2.0 with its "
        "structure.",
    )

    # None if not given, so that such a spec keeps the digest that it always had.
    spreadsheet: Literal["refuse", "escape"] | None = Field(
        default=None,
        description="What becomes of names and categories that a spreadsheet would run as formulas, where csv is asked "
        "for: the spec is refused (so if nothing is said), or they are written with an apostrophe before them.",
    )

    @field_validator("formats")
    @classmethod
    def _can_be_verified(cls, formats: tuple[str, ...]) -> tuple[str, ...]:
        return verifiable(formats)

    @model_validator(mode="after")
    def _lies_somewhere(self) -> Self:
        _require_place(self.path)
        return self


def verifiable(formats: tuple[str, ...]) -> tuple[str, ...]:
    """Return the formats, or raise what is wrong with them: verification must be able to read one of them."""
    if len(set(formats)) < len(formats):
        raise PydanticCustomError("repeated", "must not list a format twice")
    readable = [each.name for each in READABLE]
    if not set(formats) & set(readable):
        rule = f"must list {' or '.join(readable)} beside {formats[0]}: `penstock verify` reads those"
        raise PydanticCustomError("alone", rule)
    return formats


def _require_place(path: str) -> None:
    try:
        place_of(path)
    except AddressRefused as refusal:
        raise PydanticCustomError("faults", "is no place", {"faults": list(refusal.faults)}) from None


class Describe(Section):
    """What readers are told that the columns do not say: for the descriptions in the bundle's folder metadata."""

    title: str | None = Field(default=None, min_length=1, description="Title of the release. Its name, if not given.")
    publisher: str | None = Field(default=None, min_length=1, description="The organisation that publishes it.")
    license: str | None = Field(
        default=None, pattern=r"^https?://[^\s<>\"{}|\\^`]+$", description="Address of the licence, https://..."
    )
    keywords: tuple[Annotated[str, Field(min_length=1)], ...] | None = Field(
        default=None, min_length=1, description="Words under which a catalogue lists it."
    )
    language: str | None = Field(
        default=None, pattern=r"^[a-z]{2}$", description="Language of names and categories, two letters: en."
    )


_LEAST_MEMORY = 100 * 10**6
_UNITS = {"MB": 10**6, "GB": 10**9, "TB": 10**12}


class Run(Section):
    """Where the work is done and in how much memory. It changes nothing of what is promised or drawn."""

    engine: Literal["local", "dask"] = Field(
        default="local",
        description="local: this machine. dask: a Dask cluster whose workers reach the source and the home of this "
        "machine under the same paths; for ir_swap and tables.",
    )
    address: str | None = Field(
        default=None, description="Where the cluster's scheduler listens, such as tcp://10.0.0.1:8786. dask only."
    )
    memory: str | None = Field(
        default=None,
        pattern=r"^[1-9][0-9]{0,5} ?(MB|GB|TB)$",
        description='The most that the data may take in each process, such as "2 GB"; the program itself takes about '
        "half a gigabyte more. The source is then read part by part. For ir_swap and tables.",
    )

    @property
    def bytes(self) -> int | None:
        """Return the memory limit as a number of bytes."""
        return None if self.memory is None else int(self.memory[:-2]) * _UNITS[self.memory[-2:]]

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        fault = None
        if self.engine == "dask" and self.address is None:
            fault = Fault("address", "must be given with engine: dask", "Set where the scheduler listens.")
        elif self.engine == "local" and self.address is not None:
            remedy = "Remove it, or set engine: dask."
            fault = Fault("address", "must not be given without a Dask cluster", remedy, repr(self.address))
        elif self.address is not None and not re.fullmatch(r"(tcp|tls)://[^\s/@]+:[0-9]{1,5}", self.address):
            rule = "must be tcp:// or tls://, a host and a port"
            fault = Fault("address", rule, "Write it like tcp://10.0.0.1:8786.", repr(self.address))
        elif self.bytes is not None and self.bytes < _LEAST_MEMORY:
            fault = Fault("memory", "must be at least 100 MB", "Allow more.", repr(self.memory))
        if fault is not None:
            raise PydanticCustomError("faults", "cannot be run", {"faults": [fault]})
        return self
