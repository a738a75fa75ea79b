"""The data description for questions: what the data are, and what may be asked of them.

Whoever answers for the data writes it:

    name: adult
    source: {path: ..., unit: row, columns: {...}}      as in a spec
    budget: {dataset: adult-1994}                       whose accounts pay; limits are set by `penstock budget`
    questions: {adjacency: replace, most: "1/4"}        what is hidden, and how much one question may spend

The same file may describe the data for the form of tables too (flows/forms/table.py): its sections `tables`,
`validate`, `publish`, `approve`, `describe` and `run` are for that form, and questions do not look into them. Any other
key is refused.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from penstock.flows.spec._faults import disagreements, every_fault
from penstock.flows.spec._known_keys import KnownKeys
from penstock.flows.spec._paths import inside_faults, path_text, read_taxonomies, resolve
from penstock.flows.spec._sections import Acknowledged, Section, Source
from penstock.flows.spec.spec import read_keys
from penstock.mechanisms.columns import Column
from penstock.mechanisms.numbers.exact import ExactNumber
from penstock.mechanisms.refusal import Fault, SpecRefused
from penstock.records.files.addresses import AddressRefused, place_of
from penstock.records.files.outside_values import require_values

__all__ = ["DataDescription", "DatasetBudget", "Questions", "description_schema", "load_description", "resolve_keys"]

# For the form of tables.
_OF_TABLES = ("tables", "validate", "publish", "approve", "describe", "run")


class DatasetBudget(Section):
    """Whose accounts pay for the questions."""

    dataset: str = Field(
        min_length=1,
        description="Name under which all about the same people is counted: `penstock budget open`.",
    )
    acknowledges: Acknowledged = Field(
        default=(), description="Earlier releases of the same records, by id, which no common promise covers."
    )


class Questions(Section):
    """What may be asked. Who may ask, and how much each analyst may spend, is set by `penstock budget allow`."""

    adjacency: Literal["replace", "add_remove", "presence"] = Field(
        description="What is hidden. replace: what any one record says; how many there are is public. add_remove: also "
        "whether a record is there. presence: for the value of one individual."
    )
    rows_per_unit: int | None = Field(
        default=None,
        ge=1,
        strict=True,
        description="Where source.unit names a column: the most records of each that a question uses.",
    )
    each: ExactNumber | None = Field(
        default=None, description='What every question costs, exact: "1/10". Whoever asks then chooses no epsilon.'
    )
    most: ExactNumber | None = Field(default=None, description='The most that one question may spend, exact: "1/2".')
    relaxations: tuple[Literal["idp", "bdp"], ...] = Field(
        default=(),
        description="Relaxed models that are accepted: they promise less than differential privacy, and need accounts "
        "of their own.",
    )
    publish: str | None = Field(
        default=None,
        description="Folder of published answers, a local path or s3://bucket/folder: each answer appears signed, as "
        "<path>/<name>/answers/<id>.json. ${VAR} expands.",
    )

    @model_validator(mode="after")
    def _can_be_asked(self) -> Self:
        faults = list(self._faults())
        if faults:
            raise PydanticCustomError("faults", "cannot be asked", {"faults": faults})
        return self

    def _faults(self) -> list[Fault]:
        found = [
            Fault(name, "must be above 0", "Write how much, or leave it out.", "0")
            for name in ("each", "most")
            if getattr(self, name) == 0
        ]
        if self.each is not None and self.most is not None and self.each > self.most:
            rule = f"must be at most {self.most}, the most that one question may spend"
            found.append(Fault("each", rule, "Lower it, or raise questions.most.", str(self.each)))
        if len(set(self.relaxations)) < len(self.relaxations):
            found.append(Fault("relaxations", "must not name a model twice", "Remove one of the two."))
        try:
            _ = None if self.publish is None else place_of(self.publish)
        except AddressRefused as refusal:
            found += [Fault("publish", fault.rule, fault.remedy, fault.got) for fault in refusal.faults]
        return found


class DataDescription(Section):
    """One data set that may be asked about."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,79}$", description="Lower case letters, digits, . _ and -")
    source: Source = Field(description="The confidential data and their columns.")
    budget: DatasetBudget = Field(description="Whose accounts pay.")
    questions: Questions = Field(description="What may be asked.")
    tables: dict[str, Any] | None = Field(default=None, description="For the form of tables only.")
    validation: dict[str, Any] | None = Field(
        default=None, alias="validate", description="For the form of tables only."
    )
    publish: dict[str, Any] | None = Field(default=None, description="For the form of tables only.")
    approve: dict[str, Any] | None = Field(default=None, description="For the form of tables only.")
    describe: dict[str, Any] | None = Field(default=None, description="For the form of tables only.")
    run: dict[str, Any] | None = Field(default=None, description="For the form of tables only.")

    @model_validator(mode="after")
    def _sections_agree(self) -> Self:
        faults = [*disagreements(self.source.unit, self.columns, {}, {}, None), *self._unit_faults()]
        rule = "must not be given where questions are asked, which have bands and conditions of their own"
        faults += [
            Fault(f"source.columns.{name}.recode", rule, "Declare the column as it is stored.")
            for name, column in self.columns.items()
            if column.recode is not None
        ]
        rule = "must not stand in place of a domain where questions are asked, which need one"
        faults += [
            Fault(f"source.columns.{name}.resolution", rule, "Declare the domain.", str(column.resolution))
            for name, column in self.columns.items()
            if column.resolution is not None
        ]
        if self.source.where is not None:
            rule = "must not be given where questions are asked, which have conditions of their own"
            faults.append(Fault("source.where", rule, "Remove it."))
        if self.questions.publish is not None:
            faults += inside_faults(self.source.path, self.questions.publish, "questions.publish")
        if faults:
            raise PydanticCustomError("faults", "sections disagree", {"faults": faults})
        return self

    def _unit_faults(self) -> list[Fault]:
        field, most = "questions.rows_per_unit", self.questions.rows_per_unit
        whose = self.source.unit
        faults = []
        if whose == "row" and most is not None:
            remedy = "Remove it, or name the column that tells whose record it is in source.unit."
            faults.append(Fault(field, "must not be given where the unit is a row", remedy, str(most)))
        elif whose != "row" and most is None:
            rule = "must be given where a unit may have several records"
            faults.append(Fault(field, rule, f"Set how many records of each {whose} a question may use at most."))
        return faults

    @property
    def columns(self) -> dict[str, Column]:
        return self.source.columns

    @property
    def whose(self) -> str | None:
        """Return the column that says whose record it is; None where each record is protected by itself."""
        return None if self.source.unit == "row" else self.source.unit

    @property
    def most(self) -> Fraction | None:
        """Return the most that one question may spend; None where only the accounts limit it."""
        return self.questions.most


def load_description(path: Path, *, source: object = None) -> DataDescription:
    """Read a data description; paths in it are relative to the file, and `source`, a text or a path, replaces its
    own."""
    return resolve_keys(read_keys(path), path.parent, source=source)


def resolve_keys(raw: dict[str, Any], folder: Path, *, source: object = None) -> DataDescription:
    """Return the description with these keys; paths in it are relative to the folder."""
    require_values("data", raw, SpecRefused)
    faults: list[Fault] = []
    given = None if source is None else path_text("source.path", source)
    for section, key in (("source", "path"), ("questions", "publish")):
        part = raw.get(section)
        if not isinstance(part, dict):
            continue
        if section == "source" and given is not None:
            part[key] = resolve(given, Path.cwd(), f"{section}.{key}", faults, local=False)
        elif isinstance(part.get(key), str):
            part[key] = resolve(part[key], folder, f"{section}.{key}", faults, local=False)
    faults += read_taxonomies(raw, folder)
    try:
        description = DataDescription.model_validate(raw)
    except ValidationError as error:
        told = {fault.field for fault in faults}
        mine = every_fault(error, {name: part for name, part in raw.items() if name not in _OF_TABLES}, _KEYS)
        raise SpecRefused(*faults, *(fault for fault in mine if fault.field not in told)) from None
    SpecRefused.raise_for(faults)
    return description


def description_schema() -> dict[str, Any]:
    """Return the JSON Schema of a data description, for editors and other platforms."""
    schema = DataDescription.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Penstock data description", **schema}


_KEYS = KnownKeys(description_schema)
