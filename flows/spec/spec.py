"""The spec: one typed file that says everything about one release, checked before any row is read.

YAML or JSON. Unknown keys are refused, and privacy parameters, bounds and gates have no defaults.
A refused spec lists every fault with field, rule, value and remedy.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pydantic import Field, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError, PydanticKnownError

from penstock.flows.spec._entries import MOST_OUTPUTS, Protection, own
from penstock.flows.spec._faults import disagreements, every_fault
from penstock.flows.spec._known_keys import KnownKeys
from penstock.flows.spec._named_places import by_name
from penstock.flows.spec._paths import inside_faults, part_faults, path_text, read_taxonomies, resolve
from penstock.flows.spec._run_faults import run_faults
from penstock.flows.spec._sections import Approve, Budget, Describe, Publish, Run, Section, Source, Validate
from penstock.measures.gates import MOST_GATES, Gate
from penstock.mechanisms.columns import Column
from penstock.mechanisms.refusal import Fault, SpecRefused
from penstock.mechanisms.registry import MECHANISMS
from penstock.records.files.outside_text import OutsideFile
from penstock.records.files.outside_values import require_values

if TYPE_CHECKING:
    from penstock.mechanisms.questions import Condition

__all__ = [
    "KEYS",
    "Approve",
    "Budget",
    "Describe",
    "Publish",
    "ReleaseSpec",
    "Run",
    "Source",
    "Validate",
    "json_schema",
    "load_spec",
    "parse_spec",
    "read_keys",
    "resolve_spec",
]


class ReleaseSpec(Section):
    """One release: source, validation, protection, gates, approval, publication."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,79}$", description="Lower case letters, digits, . _ and -")
    source: Source = Field(description="The confidential data and their columns.")
    validation: Validate = Field(
        default_factory=Validate, alias="validate", description="Checks beyond what the columns imply."
    )
    budget: Budget = Field(default_factory=Budget, description="What the release spends, and of which data set.")
    protect: tuple[Protection, ...] = Field(
        min_length=1,
        max_length=MOST_OUTPUTS,
        description="The outputs: how the data are protected in each, by a mechanism that is named by its `mechanism`. "
        "They are planned, charged, reviewed and published together.",
    )
    # None only where every output has gates of its own.
    gates: tuple[Gate, ...] | None = Field(
        default=None,
        min_length=1,
        max_length=MOST_GATES,
        description="Limits that every output must keep that has none of its own; at least one. Where epsilon is "
        "spent, on public facts only (expected_error, privacy_loss): whether a release appears must not depend on "
        "the data.",
    )
    approve: Approve = Field(default_factory=Approve, description="Reviewers, if any.")
    publish: Publish = Field(description="Where the bundle appears, in which formats.")
    # None if not given, so that such a spec keeps the digest that it always had.
    describe: Describe | None = Field(
        default=None, description="Title, publisher, licence and the like, for catalogues."
    )
    run: Run = Field(default_factory=Run, description="Where the work is done, and in how much memory.")

    @field_validator("protect", "gates", mode="before")
    @classmethod
    def _can_be_listed(cls, listed: object, field: ValidationInfo) -> object:
        """Refuse too long a list, before its items are looked at and their faults are listed."""
        most = MOST_GATES if field.field_name == "gates" else MOST_OUTPUTS
        if isinstance(listed, list | tuple) and len(listed) > most:
            known = {"field_type": "List", "max_length": most, "actual_length": len(listed)}
            raise PydanticKnownError("too_long", known)
        return listed

    @model_validator(mode="after")
    def _sections_agree(self) -> Self:
        protect, gates = dict(enumerate(self.protect)), dict(enumerate(self.gates or ()))
        faults = disagreements(
            self.source.unit,
            self.columns,
            protect,
            gates,
            self.budget.part,
            self.publish.formats,
            self.validation.suite,
            self.publish.spreadsheet,
            self.budget.acknowledges,
        )
        if self.source.where is not None:
            from penstock.flows.spec._where import where_faults  # questions, for those who choose records

            in_parts = self.run.engine != "local" or self.run.bytes is not None
            faults += where_faults(self.source.where, self.columns, protect, in_parts=in_parts)
        faults += [
            *inside_faults(self.source.path, self.publish.path, "publish.path"),
            *part_faults(self.source.path, protect),
        ]
        if self.run.engine != "local" or self.run.bytes is not None:
            asked = "engine" if self.run.engine != "local" else "memory"
            limits = [*gates.values(), *(gate for entry in self.protect for gate in own(entry, "gates") or ())]
            faults += run_faults(
                asked, self.run.bytes, self.source.unit, self.columns, self.validation.suite, protect, limits
            )
        if faults:
            raise PydanticCustomError("faults", "sections disagree", {"faults": faults})
        return self

    @property
    def part(self) -> str | None:
        """Return the part of the data set that this release is about, if it is about one."""
        column = self.columns[self.budget.part] if self.budget.part is not None else None
        return None if column is None or column.categories is None else str(column.categories[0])

    @property
    def unit(self) -> str | None:
        """Return the column that says whose record it is; None where each record is protected by itself."""
        return None if self.source.unit == "row" else self.source.unit

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """Return what the records that the release is about satisfy; none: all records."""
        if self.source.where is None:
            return ()
        from penstock.flows.spec._where import conditions_of

        return conditions_of(self.source.where)

    @property
    def columns(self) -> dict[str, Column]:
        return self.source.columns

    @property
    def data_columns(self) -> dict[str, Column]:
        """Return the columns that are read: all but the direct identifiers."""
        return {name: column for name, column in self.columns.items() if column.role != "identifier"}


def parse_spec(raw: object) -> ReleaseSpec:
    """Return the spec, or raise a refusal that lists every fault."""
    require_values("spec", raw, SpecRefused)
    try:
        return _parsed(raw)
    except SpecRefused as refusal:
        raise SpecRefused(*by_name(refusal.faults, raw)) from None


def _parsed(raw: object) -> ReleaseSpec:
    """Do what parse_spec does, for values whose bounds were checked."""
    try:
        return ReleaseSpec.model_validate(raw)
    except ValidationError as error:
        raise SpecRefused(*every_fault(error, raw, KEYS, of_release=True)) from None


def load_spec(path: Path, *, source: object = None, publish: object = None) -> ReleaseSpec:
    """Read a spec file; paths in it are relative to the file, and `source`/`publish`, texts or paths, replace them."""
    raw = read_keys(path)
    try:
        return resolve_spec(raw, path.parent, source=source, publish=publish)
    except SpecRefused as refusal:
        raise SpecRefused(*by_name(refusal.faults, raw)) from None


def read_keys(path: Path) -> dict[str, Any]:
    """Return what a YAML or JSON file says, unchanged."""
    file = OutsideFile(path, str(path), SpecRefused)
    raw = file.json() if path.suffix == ".json" else file.yaml()
    if not isinstance(raw, dict):
        raise SpecRefused.at(str(path), rule="must hold keys and values", remedy="See `penstock schema`.")
    return raw


def resolve_spec(raw: dict[str, Any], folder: Path, *, source: object = None, publish: object = None) -> ReleaseSpec:
    """Return the spec with these keys; paths in it are relative to the folder."""
    require_values("spec", raw, SpecRefused)
    faults: list[Fault] = []
    for section, key, given in (("source", "path", source), ("validate", "suite", None), ("publish", "path", publish)):
        part = raw.get(section)
        if not isinstance(part, dict):
            continue
        if given is not None:
            part[key] = resolve(path_text(section, given), Path.cwd(), f"{section}.{key}", faults, local=False)
        elif isinstance(part.get(key), str):
            part[key] = resolve(part[key], folder, f"{section}.{key}", faults, local=key == "suite")
    faults += read_taxonomies(raw, folder)
    try:
        spec = _parsed(raw)
    except SpecRefused as refusal:
        told = {fault.field for fault in faults}
        raise SpecRefused(*faults, *(fault for fault in refusal.faults if fault.field not in told)) from None
    SpecRefused.raise_for(faults)
    return spec


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of the spec, for editors and other platforms."""
    drawn_up = ReleaseSpec.model_json_schema(by_alias=True)
    text = json.dumps(drawn_up)
    for key, model in drawn_up["$defs"].items():
        if "mechanism" in model["properties"]:  # all of these are called Params in Python
            text = text.replace(key, model["properties"]["mechanism"]["const"])
    schema = json.loads(text)
    for name in MECHANISMS:
        params = schema["$defs"][name]
        params["title"] = name
        params["required"].insert(0, "mechanism")  # in a spec, unlike in Python, it must be named
        params["properties"]["mechanism"].pop("default")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Penstock release spec", **schema}


KEYS = KnownKeys(json_schema)
