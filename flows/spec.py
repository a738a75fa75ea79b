"""The spec: one typed file that says everything about one release, checked before any row is read.

YAML or JSON. Unknown keys are refused, and privacy parameters, bounds and gates have no defaults.
A refused spec lists every fault with field, rule, value and remedy.
"""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from measures.gates import Gate
from mechanisms import probabilistic_k_anonymity
from mechanisms.columns import Column
from mechanisms.exact import ExactNumber
from mechanisms.refusal import Fault, SpecRefused
from records.approval import Rule, RuleRefused

__all__ = [
    "Approve",
    "Budget",
    "Publish",
    "ReleaseSpec",
    "Source",
    "Validate",
    "json_schema",
    "load_spec",
    "parse_spec",
]

_Part = TypeVar("_Part", bound=BaseModel)

MECHANISMS = {"probabilistic_k_anonymity": probabilistic_k_anonymity}


class _Section(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_by_name=True, validate_by_alias=True, serialize_by_alias=True
    )


class Source(_Section):
    """Where the confidential microdata lie and what their columns mean."""

    path: str = Field(description="Parquet file, folder of Parquet files, or Hive-partitioned folder. ${VAR} expands.")
    unit: str = Field(description="What is protected: row, or the name of the column that identifies the unit.")
    columns: dict[str, Column] = Field(min_length=1, description="Every column to read. Others are never read.")


class Validate(_Section):
    """What the data must satisfy beyond what the columns imply."""

    suite: str | None = Field(default=None, description="A Great Expectations suite as JSON, added to the derived one.")
    min_rows: int = Field(default=1, ge=1, strict=True, description="Fewest records the source may have.")


class Budget(_Section):
    """What the release spends, and of which data set. Limits are set by `penstock budget open`."""

    dataset: str | None = Field(
        default=None, min_length=1, description="Name under which all releases about the same people are counted."
    )
    epsilon: ExactNumber | None = Field(
        default=None, description='The most that this release may spend, exact: "2" or "1/2". k-anonymity spends none.'
    )
    part: str | None = Field(
        default=None,
        description="A column with one category: only records of that part are used, and other parts may "
        "spend beside it, if the account was opened with this column as its partition.",
    )
    acknowledges: tuple[str, ...] = Field(
        default=(),
        description="Earlier releases of the same records, by id, which no common promise covers.",
    )


class Approve(_Section):
    """Who must agree before publication."""

    reviewers: Literal[0, 1, 2] = Field(default=0, description="How many must approve. One refusal ends the run.")
    allowed: tuple[str, ...] = Field(default=(), description="Who may: names whose keys are trusted.")
    within: timedelta = Field(
        default=timedelta(days=14), description="How long the run waits, such as P14D or PT12H; then it is refused."
    )

    @property
    def rule(self) -> Rule | None:
        """What the reviewers are asked; None where nobody is."""
        return Rule(self.reviewers, self.allowed, self.within) if self.reviewers else None

    @model_validator(mode="after")
    def _can_be_given(self) -> Self:
        faults: tuple[Fault, ...] = ()
        if self.allowed and not self.reviewers:
            faults = (Fault("reviewers", "0 asks nobody, but names are given", "Set it to 1 or 2.", "0"),)
        try:
            _ = self.rule
        except RuleRefused as refusal:
            faults = refusal.faults
        if faults:
            raise PydanticCustomError("faults", "cannot be given", {"faults": list(faults)})
        return self


class Publish(_Section):
    """Where the bundle appears."""

    path: str = Field(
        description="Folder of published releases; the bundle is <path>/<name>/<release-id>. ${VAR} expands."
    )
    formats: tuple[Literal["parquet", "csv"], ...] = Field(
        default=("parquet",), min_length=1, description="Formats of the released data."
    )

    @field_validator("formats")
    @classmethod
    def _no_repetition(cls, formats: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(formats)) < len(formats):
            raise PydanticCustomError("repeated", "no format twice")
        return formats


class ReleaseSpec(_Section):
    """One release: source, validation, protection, gates, approval, publication."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,79}$", description="Lower case letters, digits, . _ and -")
    source: Source = Field(description="The confidential data and their columns.")
    validation: Validate = Field(
        default_factory=Validate, alias="validate", description="Checks beyond what the columns imply."
    )
    budget: Budget = Field(default_factory=Budget, description="What the release spends, and of which data set.")
    protect: tuple[probabilistic_k_anonymity.Params, ...] = Field(
        min_length=1, description="The mechanisms, in order. Each names its `mechanism`."
    )
    gates: tuple[Gate, ...] = Field(min_length=1, description="Limits that the release must keep; at least one.")
    approve: Approve = Field(default_factory=Approve, description="Reviewers, if any.")
    publish: Publish = Field(description="Where the bundle appears, in which formats.")

    @field_validator("protect", mode="before")
    @classmethod
    def _names_its_mechanism(cls, protect: Any) -> Any:
        faults = []
        for place, item in enumerate(protect if isinstance(protect, list | tuple) else ()):
            if isinstance(item, Mapping) and item.get("mechanism") not in MECHANISMS:
                faults.append(
                    Fault(
                        f"{place}.mechanism",
                        f"must be one of {', '.join(MECHANISMS)}",
                        "Name the mechanism.",
                        repr(item["mechanism"]) if "mechanism" in item else "",
                    )
                )
        if faults:
            raise PydanticCustomError("faults", "unknown mechanism", {"faults": faults})
        return protect

    @model_validator(mode="after")
    def _sections_agree(self) -> Self:
        faults = _disagreements(self.source.unit, self.columns, dict(enumerate(self.protect)))
        faults += _part_faults(self.budget.part, self.columns)
        if faults:
            raise PydanticCustomError("faults", "sections disagree", {"faults": faults})
        return self

    @property
    def part(self) -> str | None:
        """The part of the data set that this release is about, if it is about one."""
        column = self.columns[self.budget.part] if self.budget.part is not None else None
        return None if column is None or column.categories is None else str(column.categories[0])

    @property
    def columns(self) -> dict[str, Column]:
        return self.source.columns

    @property
    def data_columns(self) -> dict[str, Column]:
        """The columns that are read: all but the direct identifiers."""
        return {name: column for name, column in self.columns.items() if column.role != "identifier"}


def parse_spec(raw: object) -> ReleaseSpec:
    """The spec, or a refusal that lists every fault."""
    try:
        return ReleaseSpec.model_validate(raw)
    except ValidationError as error:
        details = error.errors(include_url=False)
        # A list whose items are faulty is also called too short; the items say it better.
        told = [
            d for d in details if d["type"] != "too_short" or not any(_lies_in(d["loc"], o["loc"]) for o in details)
        ]
        found = [fault for detail in told for fault in _faults_of(detail)]
        raise SpecRefused(*dict.fromkeys([*found, *_faults_between(raw)])) from None


def load_spec(path: Path, *, source: str | None = None, publish: str | None = None) -> ReleaseSpec:
    """Read a spec file; paths in it are relative to the file, and `source`/`publish` replace them."""
    try:
        text = path.read_text(encoding="utf-8")
        raw = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    except (OSError, UnicodeDecodeError) as error:
        raise SpecRefused.at(
            str(path), rule="must be a readable text file", got=type(error).__name__, remedy="Check the path."
        ) from None
    except (json.JSONDecodeError, yaml.YAMLError):
        raise SpecRefused.at(str(path), rule="must be valid YAML or JSON", remedy="Correct the syntax.") from None
    if not isinstance(raw, dict):
        raise SpecRefused.at(str(path), rule="must hold keys and values", remedy="See `penstock schema`.")
    faults: list[Fault] = []
    for section, key, given in (("source", "path", source), ("validate", "suite", None), ("publish", "path", publish)):
        part = raw.get(section)
        if not isinstance(part, dict) or not isinstance(given or part.get(key), str):
            continue
        base = Path.cwd() if given else path.parent
        part[key] = _resolve(given or part[key], base, f"{section}.{key}", faults)
    try:
        spec = parse_spec(raw)
    except SpecRefused as refusal:
        raise SpecRefused(*faults, *refusal.faults) from None
    SpecRefused.raise_for(faults)
    return spec


def json_schema() -> dict[str, Any]:
    """The JSON Schema of the spec, for editors and other platforms."""
    schema = ReleaseSpec.model_json_schema(by_alias=True)
    params = schema["$defs"]["Params"]  # in a spec, unlike in Python, the mechanism must be named
    params["required"].append("mechanism")
    params["properties"]["mechanism"].pop("default")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Penstock release spec", **schema}


def _resolve(text: str, base: Path, field: str, faults: list[Fault]) -> str:
    def expand(match: re.Match[str]) -> str:
        value = os.environ.get(match[1])
        if value is None:
            faults.append(Fault(field, "names a variable that is not set", "Set the variable.", match[0]))
            return match[0]
        return value

    expanded = re.sub(r"\$\{(\w+)\}", expand, text)
    if "://" in expanded:
        faults.append(Fault(field, "must be a local path in this version", "Use a mounted folder.", repr(text)))
        return text
    return str((base / expanded).resolve())


_KNOWN_KEYS = sorted(
    {
        name
        for model in (
            ReleaseSpec,
            Source,
            Validate,
            Budget,
            Approve,
            Publish,
            Column,
            Gate,
            probabilistic_k_anonymity.Params,
        )
        for key, info in model.model_fields.items()
        for name in (info.alias or key,)
    }
)


def _faults_of(error: ErrorDetails) -> Iterable[Fault]:
    """Field, rule, value and remedy of one pydantic error."""
    # A union of text and whole-number categories adds its branch to the place; readers do not need it.
    place = [str(part) for part in error["loc"] if not str(part).startswith(("tuple[", "function-"))]
    is_number = bool(place) and place[-1] in ("int", "float")
    if is_number:
        place.pop()
    field = ".".join(place) or "spec"
    context = error.get("ctx", {})
    kind, value = error["type"], error["input"]
    if kind == "faults":
        for fault in context["faults"]:
            yield Fault(f"{field}.{fault.field}" if place else fault.field, fault.rule, fault.remedy, fault.got)
        return
    if kind == "extra_forbidden":
        near = difflib.get_close_matches(place[-1], _KNOWN_KEYS, 1)
        remedy = f"Did you mean {near[0]}? Otherwise remove it." if near else "Remove it."
        yield Fault(field, "unknown key", remedy)
        return
    if kind == "missing":
        yield Fault(field, "needed", "Add it; `penstock schema` describes it.")
        return
    if is_number:
        yield Fault(field, "must be a finite number", "Write a number.", repr(value))
        return
    rule = f"must be {context['expected']}" if kind == "literal_error" else error["msg"][0].lower() + error["msg"][1:]
    got = repr(value)
    remedy = "Correct it; `penstock schema` describes what is allowed."
    yield Fault(field, rule, remedy, got if len(got) <= 80 else got[:77] + "...")


def _lies_in(outer: tuple[int | str, ...], inner: tuple[int | str, ...]) -> bool:
    return len(inner) > len(outer) and inner[: len(outer)] == outer


def _faults_between(raw: object) -> list[Fault]:
    """Disagreements between the sections that are valid by themselves, so that no fault hides another."""
    if not isinstance(raw, Mapping):
        return []
    source = _mapping(raw, "source")
    declared = _mapping(source, "columns")
    columns = _valid_parts(Column, declared)
    protect = raw.get("protect")
    params = _valid_parts(
        probabilistic_k_anonymity.Params, dict(enumerate(protect if isinstance(protect, list | tuple) else ()))
    )
    if not columns or len(columns) < len(declared):
        return []
    part = _mapping(raw, "budget").get("part")
    return _disagreements(source.get("unit"), columns, params) + _part_faults(part, columns)


def _disagreements(
    unit: object, columns: Mapping[str, Column], params: Mapping[int, probabilistic_k_anonymity.Params]
) -> list[Fault]:
    faults: list[Fault] = []
    if unit != "row" and isinstance(unit, str):
        faults.append(
            Fault(
                "source.unit",
                "probabilistic_k_anonymity protects rows; a unit with several rows has no guarantee",
                "Prepare one row per unit and set unit: row.",
                repr(unit),
            )
        )
    for place, chosen in params.items():
        for fault in probabilistic_k_anonymity.faults(chosen, columns):
            room = "source" if fault.field.startswith("columns") else f"protect.{place}"
            faults.append(Fault(f"{room}.{fault.field}", fault.rule, fault.remedy, fault.got))
    if len(params) > 1:
        faults.append(
            Fault(
                "protect",
                "probabilistic k-anonymity has no composition theorem",
                "Name one mechanism per spec.",
                f"{len(params)} mechanisms",
            )
        )
    return faults


def _part_faults(part: object, columns: Mapping[str, Column]) -> list[Fault]:
    """Parts are disjoint if each release reads the records of one category only; the domain check sees to that."""
    if not isinstance(part, str) or (part in columns and len(columns[part].categories or ()) == 1):
        return []
    remedy = "Declare the column with the one category that this release is about."
    return [Fault("budget.part", "must be a declared column with exactly one category", remedy, repr(part))]


def _mapping(raw: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    part = raw.get(key)
    return part if isinstance(part, Mapping) else {}


def _valid_parts(model: type[_Part], parts: Mapping[Any, Any]) -> dict[Any, _Part]:
    valid: dict[Any, _Part] = {}
    for place, part in parts.items():
        try:
            valid[place] = model.model_validate(part)
        except ValidationError:
            continue  # the whole spec reports it
    return valid
