"""Releases of every model and form, with their descriptions as readers that are not ours see them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lxml import etree
from rdflib import Graph

from penstock.mechanisms.models import ADDS_UP
from penstock.records.bundle import bundle as bundles
from penstock.records.home import Home
from tests.support.private_release import begun
from tests.support.workplace import DESCRIPTIONS, Workplace, make_private, make_table, predicate
from tests.tasks.close_release import make_close_in

__all__ = ["PLACE", "RELEASES", "Released", "prepare"]

PLACE = "https://agency.example/releases/one/"
RELEASES = {
    "swapped": ("prob_k", {}),
    "private": ("dp", {}),
    "table": ("dp", {}),
    "bootstrap table": (
        "bdp",
        {
            "model": "bdp",
            "adjacency": "bootstrap_replace",
            "scale": "per_cell",
            "empty_cells": "noise",
            "acknowledges": ["bdp"],
        },
    ),
    "individual table": ("idp", {"model": "idp", "adjacency": "from_D", "acknowledges": ["idp"]}),
    "exact table": ("k_anon", {"model": "k_anon", "epsilon": None, "adjacency": None, "k": 2}),
    "anatomy": ("t_close", {}),
    "by epsilon": ("t_close", {}),
    "ranked": ("prob_k", {}),
}


def prepare(workplace: Workplace, kind: str) -> None:
    """Switch the workplace to this kind of release."""
    _, settings = RELEASES[kind]
    if kind == "private":
        make_private(workplace)
    elif "table" in kind:
        if kind == "exact table":
            workplace.write_survey(2000)
        make_table(workplace, **settings)
    elif kind != "swapped":
        make_close_in(workplace, kind)


class Released:
    """A bundle with its descriptions, as their readers see them."""

    def __init__(self, folder: Path, kind: str, words: dict[str, Any] | None = None) -> None:
        self.workplace = Workplace(folder)
        self.model, _ = RELEASES[kind]
        prepare(self.workplace, kind)
        if words is not None:
            self.workplace.raw["describe"] = words
        with pytest.MonkeyPatch.context() as patched:
            patched.setenv("PENSTOCK_HOME", str(self.workplace.home))
            patched.delenv("PENSTOCK_DB", raising=False)
            with begun(self.workplace, account=self.model in ADDS_UP) as line:
                self.bundle = Path(line.publish().path)
            self.key = Home.open().public_key_path

    @property
    def release(self) -> dict[str, Any]:
        return dict(predicate(self.bundle)["release"])

    @property
    def graph(self) -> Graph:
        text = (self.bundle / "metadata/dataset.jsonld").read_text(encoding="utf-8")
        return Graph().parse(data=text, format="json-ld", base=f"{PLACE}metadata/dataset.jsonld")

    @property
    def codebook(self) -> Any:
        return etree.parse(self.bundle / "metadata/codebook.xml")

    @property
    def deployment(self) -> dict[str, Any]:
        return dict(json.loads((self.bundle / "metadata/deployment.json").read_bytes())["deployment"])

    @property
    def data_files(self) -> list[str]:
        names = (file["name"] for file in bundles.subjects(self.bundle))
        return [name for name in names if name not in (*DESCRIPTIONS, "report.html")]

    @property
    def described(self) -> list[dict[str, Any]]:
        """Every column of every sheet, as the manifest lists them."""
        return [*self.release["columns"], *(c for table in self.release.get("linked", ()) for c in table["columns"])]
