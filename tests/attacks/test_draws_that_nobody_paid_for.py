"""Of a release with several outputs one was drawn as often as anybody liked, and charged once: killed after the draw,
begun again with another file under the same path and killed there, which made the run forget its draw, and begun again
with the first file, for which it had been charged. Each draw is other noise on the same answer."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from penstock.records import Action, open_records
from penstock.tasks.verification.bundle import verify_bundle
from tests.support.forked_releases import Zygote
from tests.support.several import TABLES, make_several
from tests.support.workplace import Workplace, budget_of, make_refined, open_dp_account

AGAIN = 3
EACH = Fraction(1, 4)


def make_records(workplace: Workplace) -> None:
    """Two outputs of records: one epsilon each, and neither comes back."""
    make_refined(workplace)
    [entry] = workplace.raw["protect"]
    priors = entry.pop("priors")
    workplace.raw["protect"] = [
        {**entry, "name": name, "epsilon": "1/4", "columns": [column], "priors": {column: priors[column]}}
        for name, column in (("one", "region"), ("two", "education"))
    ]
    workplace.raw["gates"] = [{"measure": "privacy_loss", "max": 1}]


def make_tables(workplace: Workplace, **settings: Any) -> None:
    make_several(workplace, **settings)
    workplace.raw["protect"] = workplace.raw["protect"][:2]


MAKE: dict[str, tuple[Callable[[Workplace], None], str, str]] = {
    "records": (make_records, "one", "two"),
    "tables": (make_tables, *TABLES[:2]),
}


class Copies:
    """Two files that take turns under one path."""

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace
        self._first = workplace.folder / "first"
        shutil.copy2(workplace.source, self._first)

    def put_another(self) -> None:
        self._workplace.write_survey(400, seed=7)

    def put_back(self) -> None:
        shutil.copyfile(self._first, self._workplace.source)


def drawn(workplace: Workplace, output: str) -> str | None:
    found = [path for path in workplace.home.rglob("protected.json") if path.parent.name == output]
    return None if not found else str(json.loads(found[0].read_bytes())["digest"])


def charged(output: str | None = None) -> list[tuple[str, int]]:
    """Every charge of an output: the run and the attempt, once the draw has begun."""
    events = open_records().log.events()
    reserved = {
        (event.run, event.facts["attempt"]): event.facts
        for event in events
        if event.action is Action.RESERVED and event.facts.get("output") == output
    }
    places = [(event.run, event.facts["attempt"]) for event in events if event.action is Action.SPENT]
    return [place for place in places if place in reserved and reserved[place]["epsilon"] is not None]


def spent() -> Fraction:
    return Fraction(budget_of()[0])


def is_sound(workplace: Workplace) -> None:
    [bundle] = workplace.bundles()
    verify_bundle(bundle, workplace.home / "keys" / "signing.pub")
    open_records().log.verify()
    open_records().ledger.verify()
    assert workplace.working_files() == []


def test_records_are_not_drawn_again_for_nothing_by_changing_the_file_and_changing_it_back(
    workplace: Workplace, zygote: Zygote
) -> None:
    make_records(workplace)
    workplace.write_spec()
    open_dp_account(4)
    copies, draws = Copies(workplace), list[str | None]()
    for place in range(AGAIN):
        assert zygote.run(workplace, "before drawing of two") == -signal.SIGKILL
        draws.append(drawn(workplace, "one"))
        assert len(charged("one")) == place + 1
        copies.put_another()
        assert zygote.run(workplace, "after INGESTED") == -signal.SIGKILL
        copies.put_back()
    assert len({*draws}) == AGAIN
    assert zygote.run(workplace) == 0
    assert len(charged("one")) == AGAIN + 1
    assert len(charged("two")) == 1
    assert spent() == EACH * (AGAIN + 2)
    is_sound(workplace)


@pytest.mark.parametrize("output", MAKE)
def test_a_draw_that_was_charged_and_lost_is_charged_again_also_after_a_restart(
    workplace: Workplace, zygote: Zygote, output: str
) -> None:
    """The first file, another, and the first again; killed each time after the charge and before the draw was kept."""
    make, one, two = MAKE[output]
    make(workplace)
    workplace.write_spec()
    open_dp_account(4)
    copies = Copies(workplace)
    assert zygote.run(workplace, f"before marker of {one}") == -signal.SIGKILL
    copies.put_another()
    assert zygote.run(workplace, f"before marker of {one}") == -signal.SIGKILL
    copies.put_back()
    assert zygote.run(workplace, f"before marker of {one}") == -signal.SIGKILL
    assert zygote.run(workplace) == 0
    assert (len(charged(one)), len(charged(two))) == (4, 1)
    assert spent() == EACH * 5
    is_sound(workplace)


def test_a_table_that_was_drawn_and_not_kept_for_its_question_is_charged_again(
    workplace: Workplace, zygote: Zygote
) -> None:
    """Killed between its draw and the copy that would come back; then the run forgets it."""
    make_tables(workplace)
    workplace.write_spec()
    open_dp_account(4)
    copies = Copies(workplace)
    one, two = TABLES[:2]
    assert zygote.run(workplace, f"after marker of {one}") == -signal.SIGKILL
    assert not list((workplace.home / "answers").glob("*/*.parquet"))
    copies.put_another()
    assert zygote.run(workplace, "after INGESTED") == -signal.SIGKILL
    copies.put_back()
    assert zygote.run(workplace) == 0
    assert (len(charged(one)), len(charged(two))) == (2, 1)
    is_sound(workplace)


@pytest.mark.parametrize("model", ["idp", "bdp"])
def test_nor_is_it_under_the_relaxations(workplace: Workplace, zygote: Zygote, model: str) -> None:
    adjacency = "from_D" if model == "idp" else "bootstrap_replace"
    make_tables(workplace, model=model, adjacency=adjacency, acknowledges=[model])
    workplace.raw["protect"][0] |= {"sums": ["income"]}
    workplace.raw["protect"][1] |= {"sums": ["income"]}
    for entry in workplace.raw["protect"] if model == "bdp" else ():
        entry |= {"scale": "per_cell", "empty_cells": "noise"}
    workplace.write_spec()
    open_dp_account(4, model=model, adjacency=adjacency)  # type: ignore[arg-type]
    copies, one = Copies(workplace), TABLES[0]
    assert zygote.run(workplace, f"after marker of {one}") == -signal.SIGKILL
    copies.put_another()
    # About other data the account promises nothing, and the run ends.
    assert zygote.run(workplace, "after INGESTED") == -signal.SIGKILL
    copies.put_back()
    assert zygote.run(workplace) == 0
    assert len(charged(one)) == 2
    is_sound(workplace)


def test_a_single_output_is_charged_for_every_draw(workplace: Workplace, zygote: Zygote) -> None:
    make_refined(workplace)
    workplace.write_spec()
    open_dp_account(9)
    copies = Copies(workplace)
    for _ in range(AGAIN):
        assert zygote.run(workplace, "after marker") == -signal.SIGKILL
        copies.put_another()
        assert zygote.run(workplace, "after INGESTED") == -signal.SIGKILL
        copies.put_back()
    assert zygote.run(workplace) == 0
    assert len(charged()) == spent() == AGAIN + 1
    is_sound(workplace)
