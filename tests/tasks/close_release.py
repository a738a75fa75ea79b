"""Releases of groups that are close to the whole, in every form, of a small survey."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from penstock.records.bundle import bundle
from penstock.records.home import Home
from penstock.tasks.files.columns import GUARANTEE_KEY
from penstock.tasks.verification.bundle import Finding, verify_bundle
from tests.support.private_release import NOBODY, begun
from tests.support.workplace import Workplace, make_close, predicate

__all__ = ["EVERY", "House", "K", "Signed", "make_close_in", "published", "text_of"]

K = 10
BUCKETS: dict[str, Any] = {"method": "buckets", "output": "anatomy", "t": "2"}
RANKED: dict[str, Any] = {"method": "ranked", "output": "anatomy"}
# Confidential columns, settings.
EVERY: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "anatomy": (("income",), BUCKETS),
    "permuted": (("income",), {**BUCKETS, "output": "permuted"}),
    "by epsilon": (("income",), {"method": "buckets", "output": "anatomy", "epsilon": "1/2"}),
    "nominal": (("region",), BUCKETS),
    "joint": (("education", "income"), {**BUCKETS, "several": "joint"}),
    "joint permuted": (("education", "income"), {**BUCKETS, "several": "joint", "output": "permuted"}),
    "each": (("education", "income"), {**BUCKETS, "several": "each"}),
    "each permuted": (("education", "income"), {**BUCKETS, "several": "each", "output": "permuted"}),
    "ranked": (("income",), RANKED),
    "ranked together": (("education", "income"), RANKED),
}


def make_close_in(workplace: Workplace, form: str = "anatomy", **settings: Any) -> None:
    """Switch the workplace to one of these releases."""
    confidential, chosen = EVERY[form]
    make_close(workplace, confidential, {"k": K, **chosen, **settings})


def published(workplace: Workplace, form: str = "anatomy", **settings: Any) -> Path:
    make_close_in(workplace, form, **settings)
    with begun(workplace, account=False) as line:
        return Path(line.publish().path)


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


class House:
    """Published bundles of every form, each made once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[str, tuple[Path, Home]] = {}

    def bundle(self, form: str = "anatomy") -> Path:
        """To be read; whoever wants to change one takes a copy."""
        return self._bundle(form)[0]

    def copy(self, folder: Path, form: str = "anatomy") -> Signed:
        """A bundle to be changed."""
        made, home = self._bundle(form)
        return Signed(Path(shutil.copytree(made, folder / "copy")), home)

    def _bundle(self, form: str) -> tuple[Path, Home]:
        if form not in self._made:
            place = self._folder / form.replace(" ", "-")
            place.mkdir()
            workplace = Workplace(place)
            with pytest.MonkeyPatch.context() as patched:
                patched.setenv("PENSTOCK_HOME", str(workplace.home))
                patched.delenv("PENSTOCK_DB", raising=False)
                self._made[form] = published(workplace, form), Home.open()
        return self._made[form]


class Signed:
    """A published bundle in the hands of somebody who has the key and may be careless or dishonest."""

    def __init__(self, folder: Path, home: Home) -> None:
        self.folder, self.home = folder, home
        self.release: dict[str, Any] = predicate(folder)["release"]

    def seal(self) -> None:
        """State the present sizes, and sign."""
        subject = bundle.subjects(self.folder)
        self.release["bytes"] = {file["name"]: (self.folder / file["name"]).stat().st_size for file in subject}
        bundle.seal(
            self.folder,
            subject=subject,
            release=self.release,
            approval=NOBODY,
            log_head={"seq": 12, "digest": "d"},
            key=self.home.signing_key(),
        )

    def change(self, name: str, change: Callable[[pa.Table], pa.Table]) -> None:
        """Rewrite one table and sign again."""
        path = self.folder / name
        if name.endswith(".csv"):
            pyarrow.csv.write_csv(change(pyarrow.csv.read_csv(path)), path)
        else:
            pq.write_table(change(pq.read_table(path)), path)
        self.seal()

    def promise(self, **parameters: Any) -> None:
        """State other parameters of the promise, in the manifest and in every file; None takes one away."""
        stated = {**self.release["guarantee"]["parameters"], **parameters}
        self.release["guarantee"]["parameters"] = {name: value for name, value in stated.items() if value is not None}
        self.carry()

    def carry(self) -> None:
        """Put the guarantee of the manifest into every file."""
        text = json.dumps(self.release["guarantee"]).encode()
        for path in sorted(self.folder.rglob("*.parquet")):
            table = pq.read_table(path).replace_schema_metadata({GUARANTEE_KEY: text})
            pq.write_table(table, path)
        self.seal()

    def verify(self) -> list[Finding]:
        return verify_bundle(self.folder, self.home.public_key_path)
