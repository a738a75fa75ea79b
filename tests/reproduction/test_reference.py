"""docs/reproduction.md is what the command says: cheap tables and errata here, the others with their data sets."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.reproduction.reference import cheap, reference, verdicts_on
from penstock.reproduction.tables import NAMES, TABLES, reproduce_one

PAGE = (Path(__file__).parents[2] / "docs" / "reproduction.md").read_text(encoding="utf-8")
COSTLY = [name for name in NAMES if not cheap(TABLES[name])]


def test_the_page_is_generated() -> None:
    assert reference(verdicts_on(PAGE)) == PAGE


def test_every_table_has_its_verdict() -> None:
    assert list(verdicts_on(PAGE)) == list(NAMES)
    assert "not yet run" not in PAGE
    assert "DIFFERS" not in PAGE


@pytest.mark.slow
@pytest.mark.parametrize("name", COSTLY)
def test_verdicts_with_data_are_those_on_the_page(name: str, data_folder: Path) -> None:
    needs = TABLES[name].needs
    if needs is not None and not needs.is_in(data_folder):
        pytest.skip(f"{needs.name} is not there; set PENSTOCK_DATA to its folder")
    assert reproduce_one(name, data_folder)["table"]["verdict"].replace("|", "\\|") == verdicts_on(PAGE)[name]
