"""A further table of one release, as the form of `release-table` asks for it."""

# Annotations are not postponed here: Prefect reads those of a served flow apart from this module's names.

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from penstock.flows.forms._table_protections import Protection

__all__ = ["FurtherTable", "Name", "TableName", "asked_of"]

Name = Annotated[str, Field(min_length=1)]
TableName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,49}$")]


def _at(place: int, description: str, **rules: Any) -> Any:
    """Return a field at its place in the form."""
    return Field(description=description, json_schema_extra={"position": place}, **rules)


class FurtherTable(BaseModel):
    """One more table of the same records, with a protection of its own."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    table: TableName = _at(1, "Name of the table and of its files: lower case letters, digits and underscores.")
    dimensions: list[Name] = _at(2, "Columns of categories, by name.", min_length=1)
    count: bool = _at(3, "Whether the number of records of every cell is shown.", default=True)
    sums: list[Name] = _at(4, "Columns of numbers whose totals are shown, by name.", default=[])
    means: list[Name] = _at(5, "Columns of numbers whose means are shown, by name.", default=[])
    totals: bool = _at(6, "Whether totals and sub-totals are shown too.", default=True)
    protection: Protection = _at(7, "Choose a tab, as above.")

    @property
    def asked(self) -> dict[str, Any]:
        """Return the keys of `protect` that say what it shows."""
        return asked_of(
            self.table, self.dimensions, count=self.count, sums=self.sums, means=self.means, totals=self.totals
        )


def asked_of(
    table: str, dimensions: list[str], *, count: bool, sums: list[str], means: list[str], totals: bool
) -> dict[str, Any]:
    """Return the keys of `protect` that say what a table shows."""
    shown = {"dimensions": dimensions, "count": count, "sums": sums, "means": means}
    return {**shown, "table": table, "margins": "summed" if totals else "none"}
