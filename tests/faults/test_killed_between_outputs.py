"""A run with several outputs that is killed between two of them: all or nothing, each drawn once and charged once.

Three tables spend 1/4, 1/4 and 1/2. Only a draw that had begun and was not staged is spent twice.
"""

from __future__ import annotations

import signal
from fractions import Fraction
from typing import Any

import pyarrow.parquet as pq
import pytest

from penstock.records import open_records
from penstock.tasks.verification.bundle import verify_bundle
from tests.support.forked_releases import Zygote
from tests.support.order import telling
from tests.support.several import TABLES, add_records, make_several
from tests.support.workplace import ROWS, Workplace, budget_of, open_dp_account

# What is spent in the end, and which outputs were staged when the process died.
POINTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "before RESERVED": ("1", ()),
    "after RESERVED": ("1", ()),
    "before SPENT": ("1", ()),
    "after SPENT": ("5/4", ()),
    "after PROTECTING": ("5/4", ()),
    "after drawing of by_region": ("5/4", ()),
    "before marker of by_region": ("5/4", ()),
    "after marker of by_region": ("1", TABLES[:1]),
    "before drawing of by_education": ("1", TABLES[:1]),
    "after drawing of by_education": ("5/4", TABLES[:1]),
    "before marker of by_education": ("5/4", TABLES[:1]),
    "after marker of by_education": ("1", TABLES[:2]),
    "before marker of incomes": ("3/2", TABLES[:2]),
    "after marker of incomes": ("1", TABLES),
    "after PROTECTED": ("1", TABLES),
    "before rename": ("1", TABLES),
    "after rename": ("1", TABLES),
}


def figures(workplace: Workplace) -> dict[str, Any]:
    """Return what is staged of each output, by name."""
    staged = workplace.home.rglob("outputs/*/protected.json")
    return {path.parent.name: pq.read_table(path.parent / "protected.parquet").to_pydict() for path in staged}


@pytest.mark.parametrize(
    "point",
    telling(POINTS, "after SPENT", "before marker of by_education", "after marker of by_education"),
)
def test_a_run_killed_between_outputs_draws_each_once_and_publishes_all(
    workplace: Workplace, zygote: Zygote, point: str
) -> None:
    spent, staged = POINTS[point]
    make_several(workplace)
    workplace.write_spec()
    open_dp_account(4)
    assert zygote.run(workplace, point) == -signal.SIGKILL
    open_records().log.verify()
    open_records().ledger.verify()
    assert len(workplace.bundles()) == (point == "after rename")
    first = {} if point == "after rename" else figures(workplace)
    if point != "after rename":
        assert set(first) == set(staged)

    assert zygote.run(workplace) == 0
    open_records().log.verify()
    open_records().ledger.verify()
    assert workplace.working_files() == []
    [bundle] = workplace.bundles()
    verify_bundle(bundle, workplace.home / "keys" / "signing.pub")
    for name, before in first.items():
        assert pq.read_table(bundle / "tables" / f"{name}.parquet").to_pydict() == before
    charged, left, states = budget_of()
    assert (charged, Fraction(left)) == (spent, 4 - Fraction(spent))
    assert states.count("published") == 3
    assert states.count("refused") == len(states) - 3 == (spent != "1")


@pytest.mark.parametrize("point", ["after marker of by_education", "after PROTECTED"])
def test_another_spec_asks_what_a_killed_run_has_drawn(workplace: Workplace, zygote: Zygote, point: str) -> None:
    """It was refused as changed: what the killed run had drawn was kept without being on record."""
    make_several(workplace)
    workplace.write_spec()
    open_dp_account(4)
    assert zygote.run(workplace, point) == -signal.SIGKILL
    workplace.raw["name"] = "another"
    workplace.write_spec()
    assert zygote.run(workplace) == 0  # it draws, and pays for, what it cannot know
    workplace.raw["name"] = "survey"
    workplace.write_spec()
    assert zygote.run(workplace) == 0
    open_records().log.verify()
    open_records().ledger.verify()
    for bundle in workplace.bundles():
        verify_bundle(bundle, workplace.home / "keys" / "signing.pub")
    # What was drawn before the kill is drawn twice, each time for a charge; the rest once, and comes back.
    assert budget_of()[0] == {"after marker of by_education": "3/2", "after PROTECTED": "2"}[point]


def test_a_source_that_changes_between_two_kills_and_changes_back(workplace: Workplace, zygote: Zygote) -> None:
    make_several(workplace)
    workplace.write_spec()
    open_dp_account(4)
    assert zygote.run(workplace, "after marker of by_education") == -signal.SIGKILL
    first = workplace.source.read_bytes()
    workplace.write_survey(ROWS, seed=7)
    assert zygote.run(workplace, "after RESERVED") == -signal.SIGKILL
    workplace.source.write_bytes(first)
    assert zygote.run(workplace) == 0
    open_records().ledger.verify()
    assert budget_of()[0] == "3/2"


def test_what_only_the_folder_of_a_killed_run_leaves_out_is_refused(workplace: Workplace, zygote: Zygote) -> None:
    """The others were published without it, and nothing on record said so."""
    make_several(workplace)
    workplace.write_spec()
    open_dp_account(4)
    assert zygote.run(workplace, "after marker of by_region") == -signal.SIGKILL
    [outputs] = workplace.home.glob("runs/*/outputs")
    (outputs / "incomes" / "left-out.json").write_text('{"because":[],"code":"gate-refused"}')
    assert zygote.run(workplace) != 0
    assert workplace.bundles() == []
    open_records().ledger.verify()
    assert budget_of()[0] == "1/4"
    assert zygote.run(workplace) == 0
    assert len(list(workplace.bundles()[0].glob("tables/*.csv"))) == 3


@pytest.mark.parametrize("point", telling(["after LEFT_OUT", "after CHECKED"], "after LEFT_OUT"))
def test_an_output_that_was_left_out_stays_out_after_a_kill(workplace: Workplace, zygote: Zygote, point: str) -> None:
    make_several(workplace)
    add_records(workplace, gates=[{"measure": "il1s", "max": 1e-9}])
    workplace.write_spec()
    open_dp_account(4)
    assert zygote.run(workplace, point) == -signal.SIGKILL
    assert zygote.run(workplace) == 0
    assert workplace.working_files() == []
    [bundle] = workplace.bundles()
    verify_bundle(bundle, workplace.home / "keys" / "signing.pub")
    assert not list(bundle.rglob("*people*"))
    assert [event.action.value for event in open_records().log.events()].count("LEFT_OUT") == 1
    assert budget_of()[0] == "1"
