"""How a table can be protected, as the form of `release-table` asks for it.

The form shows one tab for each class, named after the class. A tab sends its own fields and no others; what another
tab was filled with is refused, so that what is seen is what is run. No tab asks for a limit of what is measured on
the data: whoever could choose it would find the measured value by asking again and again (_table_limits.py).
"""

# Annotations are not postponed here: Prefect reads those of a served flow apart from this module's names.

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler
from pydantic_core import CoreSchema

__all__ = [
    "BootstrapDifferentialPrivacy",
    "DifferentialPrivacy",
    "ExactWithThreshold",
    "IndividualDifferentialPrivacy",
    "Protection",
]

_EXACT = r"^[0-9]{1,30}(\.[0-9]{1,30}|/[0-9]{1,30})?$"


def _asked(place: int, description: str, **rules: Any) -> Any:
    """Return a field at its place in the form; without a default it has to be filled in."""
    return Field(description=description, json_schema_extra={"position": place}, **rules)


def _kind(name: str) -> Any:
    """Return the field that tells the choices apart; it is last, because there is nothing to fill in."""
    return _asked(9, "Which of the tabs this is; leave it as it is.", default=name)


def _epsilon() -> Any:
    return _asked(1, "Privacy loss of the whole table, written exactly: 1, 0.5 or 1/2.", pattern=_EXACT)


class _Choice(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    model: ClassVar[str]

    def settings(self) -> dict[str, Any]:
        """Return the keys of `protect` in a spec."""
        filled = {name: value for name, value in self if name != "kind" and value is not None}
        return {"model": self.model, **filled}


class _Relaxed(_Choice):
    acknowledged: bool

    def settings(self) -> dict[str, Any]:
        found = super().settings()
        known = found.pop("acknowledged")
        return {**found, "acknowledges": [self.model] if known else []}


class DifferentialPrivacy(_Choice):
    """Noise that hides whether any one record is in the data. It spends epsilon of the data set's account."""

    model: ClassVar = "dp"
    kind: Literal["differential privacy"] = _kind("differential privacy")
    epsilon: str = _epsilon()
    adjacency: Literal["replace", "add_remove"] = _asked(
        2,
        "What is hidden. replace: what any one record says; the number of records is public. add_remove: whether a "
        "record is there at all.",
    )
    rows_per_unit: int | None = _asked(
        3,
        "Only where the data description says whose record each is: the most records that are used of each.",
        default=None,
        ge=1,
    )


class ExactWithThreshold(_Choice):
    """Exact figures, no noise: refused where a cell has fewer records than the data description allows."""

    model: ClassVar = "k_anon"
    kind: Literal["exact with threshold"] = _kind("exact with threshold")
    # Prefect's page shows the tab that has most of the fields sent, so one must be this tab's own.
    threshold: Literal["of the data description"] = _asked(
        1,
        "The fewest records of a cell, and the gates: as the data description sets them.",
        default="of the data description",
    )

    def settings(self) -> dict[str, Any]:
        return {"model": self.model}


class BootstrapDifferentialPrivacy(_Relaxed):
    """A relaxation: noise that follows the actual extremes, its size secret. Many such tables can be undone."""

    model: ClassVar = "bdp"
    kind: Literal["bootstrap differential privacy"] = _kind("bootstrap differential privacy")
    epsilon: str = _epsilon()
    adjacency: Literal["bootstrap_replace", "bootstrap_add_remove", "bootstrap_within_cell"] = _asked(
        2, "In what data sets made of the actual records may differ. within_cell: everybody's cell is public."
    )
    scale: Literal["one", "per_cell", "public_membership"] = _asked(
        3, "one: the noise of the most sensitive cell for all. public_membership: only with bootstrap_within_cell."
    )
    empty_cells: Literal["noise", "zero"] = _asked(4, "zero: printed as exact zeros, which tells that they are empty.")
    acknowledged: bool = _asked(5, "I know that this compares only data sets made of the actual records.")


class IndividualDifferentialPrivacy(_Relaxed):
    """A relaxation: only the actual data set is compared with its neighbours; the size of the noise is secret."""

    model: ClassVar = "idp"
    kind: Literal["individual differential privacy"] = _kind("individual differential privacy")
    epsilon: str = _epsilon()
    acknowledged: bool = _asked(2, "I know that this compares only with the actual data set.")

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "adjacency": "from_D"}


class _Tabs:
    """A schema with anyOf, shown as tabs; the form shows a choice by tag as raw text, or loses what was typed."""

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        schema = handler(core)
        if "oneOf" in schema:
            schema["anyOf"] = schema.pop("oneOf")
            schema.pop("discriminator")
        return schema


Protection = Annotated[
    DifferentialPrivacy | ExactWithThreshold | BootstrapDifferentialPrivacy | IndividualDifferentialPrivacy,
    Field(discriminator="kind"),
    _Tabs(),
]
