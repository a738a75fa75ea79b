"""The page of `penstock reproduce --html`: tables, figures and errata in one file that asks nothing of a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from penstock.reproduction.entry import Figure
from penstock.reproduction.pictures import drawn
from penstock.reproduction.tables import counted

__all__ = ["page"]


def page(document: Mapping[str, Any], figures: Mapping[str, Sequence[Figure]]) -> str:
    """Return the page of a document of `penstock reproduce`. figures: those of each table, by its name."""
    tables = document.get("tables") or ([document["table"]] if "table" in document else [])
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
    )
    return environment.get_template("reproduction.html").render(
        label=document["label"],
        counted=counted(tables),
        tables=[_with_figures(table, figures.get(table["name"], ())) for table in tables],
        errata=document.get("errata", ()),
    )


def _with_figures(table: Mapping[str, Any], figures: Sequence[Figure]) -> dict[str, Any]:
    return {
        **table,
        "has_intervals": any(row["interval"] for row in table["rows"]),
        "figures": [
            {
                "title": figure.title,
                "alternative": figure.alternative,
                "columns": figure.columns,
                "numbers": [[_shown(number) for number in line] for line in figure.numbers],
                "picture": Markup(drawn(figure, f"{table['name'].replace('.', '-')}-{place}")),  # ours
            }
            for place, figure in enumerate(figures)
        ],
    }


def _shown(number: float | str) -> str:
    return number if isinstance(number, str) else f"{number:.6g}"
