"""A run killed with SIGKILL at any point leaves no release or a whole one, and a rerun finishes.

The kills are real: the process that releases dies at each boundary between steps and inside
publication. Afterwards nothing is half published, the log verifies, the next run of the same spec
publishes once, and what was drawn before the kill is not drawn again. Where epsilon is spent, a draw
that was lost is spent nevertheless.
"""

from __future__ import annotations

import signal
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from penstock.records import open_records
from penstock.tasks.verification.bundle import verify_bundle
from tests.support.forked_releases import Zygote
from tests.support.order import telling
from tests.support.workplace import (
    PASSED,
    Workplace,
    budget_of,
    files_of,
    make_close,
    make_private,
    make_table,
    open_dp_account,
)

REFUSED = 1  # the child ends with the refusal as an uncaught exception

INSIDE_PUBLICATION = [
    "after csv",
    "before manifest",
    "after manifest",
    "before sealed",
    "after sealed",
    "before rename",
    "after rename",
    "before outcome",
    "after outcome",
]
POINTS = [*(f"after {event}" for event in PASSED), "before SETTLED", "before PUBLISHED", *INSIDE_PUBLICATION]
# From here on the bundle is in place when the process dies: the next run of the spec gives its receipt back.
PUBLISHED = {
    "after rename",
    "before SETTLED",
    "after SETTLED",
    "before PUBLISHED",
    "after PUBLISHED",
    "before outcome",
    "after outcome",
}
# Here the draw may have begun and was not staged: it is spent, and the rerun is charged again.
LOST = {"after SPENT", "after PROTECTING"}
# Before this the draw was not yet staged, and the rerun draws for the first time that counts.
NOT_STAGED = {"after PLANNED", "after LOOKED", "after INGESTED", "after VALIDATED", "after RESERVED", *LOST}

# Of a release that spends: how often it is charged in the end, and whether what the process had drawn is published.
SPENDING = {
    "after VALIDATED": (1, False),
    "after RESERVED": (1, False),
    "after SPENT": (2, False),
    "after PROTECTING": (2, False),
    "before marker": (2, False),
    "after marker": (1, True),
    "before rename": (1, True),
    "after rename": (1, True),
}


def nothing_is_half_published(workplace: Workplace) -> None:
    for bundle in workplace.bundles():
        verify_bundle(bundle, workplace.home / "keys" / "signing.pub")
    places = {bundle: bundle.relative_to(workplace.published) for bundle in workplace.bundles()}
    shown = {f"{place}/{name}" for bundle, place in places.items() for name in files_of(bundle)}
    assert set(workplace.public_files()) == shown


def staged(workplace: Workplace, name: str) -> list[Path]:
    """The file of this name that a run has drawn; once it is published, only its bundle has it."""
    return sorted(workplace.home.rglob(name))[:1]


def drawn(workplace: Workplace) -> bytes | None:
    staged = list(workplace.home.rglob("protected.parquet"))
    return staged[0].read_bytes() if staged else None


@pytest.mark.parametrize(
    "point",
    telling(
        POINTS,
        "after PROTECTING",
        "after csv",
        "after sealed",
        "after rename",
        "before PUBLISHED",
    ),
)
def test_a_killed_run_leaves_nothing_or_a_whole_release_and_a_rerun_finishes(
    workplace: Workplace, zygote: Zygote, point: str
) -> None:
    workplace.write_spec()
    assert zygote.run(workplace, point) == -signal.SIGKILL
    nothing_is_half_published(workplace)
    open_records().log.verify()
    assert len(workplace.bundles()) == (point in PUBLISHED)
    before = workplace.bundles()
    first = drawn(workplace)

    assert zygote.run(workplace) == 0
    nothing_is_half_published(workplace)
    open_records().log.verify()
    open_records().ledger.verify()
    assert workplace.working_files() == []
    events = [event.action.value for event in open_records().log.events()]
    assert len(workplace.bundles()) == 1
    assert events.count("RESERVED") == (2 if point in LOST else 1)
    assert [cost.state for cost in open_records().ledger.books()[""].costs][-1] == "published"
    assert before in ([], workplace.bundles())
    assert events.count("PUBLISHED") == 1
    assert events[-1] == ("FOUND_PUBLISHED" if point in PUBLISHED else "PUBLISHED")
    if point in NOT_STAGED:
        return
    assert events.count("PROTECTING") == 1
    if first is not None:
        assert (workplace.bundles()[0] / "data.parquet").read_bytes() == first


def test_a_run_that_is_not_killed_needs_no_second(workplace: Workplace, zygote: Zygote) -> None:
    workplace.write_spec()
    assert zygote.run(workplace) == 0
    assert len(workplace.bundles()) == 1


def verified(workplace: Workplace) -> None:
    nothing_is_half_published(workplace)
    open_records().log.verify()
    open_records().ledger.verify()


@pytest.mark.parametrize("point", telling(SPENDING, "after RESERVED", "before marker", "after marker", "after rename"))
def test_a_killed_run_that_spends_is_charged_for_every_draw_and_publishes_one(
    workplace: Workplace, zygote: Zygote, point: str
) -> None:
    charged, kept = SPENDING[point]
    make_private(workplace)
    workplace.write_spec()
    open_dp_account(4)
    assert zygote.run(workplace, point) == -signal.SIGKILL
    verified(workplace)
    assert len(workplace.bundles()) == (point in PUBLISHED)
    first = drawn(workplace)
    assert (first is not None) == (kept or point == "before marker")

    assert zygote.run(workplace) == 0
    verified(workplace)
    assert workplace.working_files() == []
    [bundle] = workplace.bundles()
    if first is not None:
        assert ((bundle / "data.parquet").read_bytes() == first) == kept
    spent, left, states = budget_of()
    assert (spent, left) == (str(charged), str(4 - charged))
    assert states == ["refused"] * (charged - 1) + ["published"]
    events = [event.action.value for event in open_records().log.events()]
    assert events.count("SPENT") == charged
    # The process that died right after it had said that it spends did not come to say that it draws.
    assert events.count("PROTECTING") == charged - (point == "after SPENT")
    assert events.count("PUBLISHED") == 1


@pytest.mark.parametrize(
    ("point", "charged"),
    [
        ("before marker", 2),
        pytest.param("after marker", 1, marks=pytest.mark.slow),
        pytest.param("after rename", 1, marks=pytest.mark.slow),
    ],
)
def test_a_table_whose_run_was_killed_is_charged_for_its_draws_and_not_for_its_repetition(
    workplace: Workplace, zygote: Zygote, point: str, charged: int
) -> None:
    make_table(workplace)
    workplace.write_spec()
    open_dp_account(4)
    assert zygote.run(workplace, point) == -signal.SIGKILL
    assert zygote.run(workplace) == 0
    workplace.raw["name"] = "again"
    workplace.write_spec()
    assert zygote.run(workplace) == 0
    open_records().log.verify()
    open_records().ledger.verify()
    assert budget_of()[0] == str(charged)
    one, two = (pq.read_table(bundle / "tables" / "incomes.parquet") for bundle in workplace.bundles())
    assert one.to_pydict() == two.to_pydict()
    assert workplace.working_files() == []


@pytest.mark.parametrize("point", telling(["before marker", "after marker", "after csv"], "after marker"))
def test_records_and_their_linked_table_are_published_as_drawn_together(
    workplace: Workplace, zygote: Zygote, point: str
) -> None:
    make_close(workplace, ["income"], {"method": "buckets", "output": "anatomy", "t": "2", "k": 10})
    workplace.write_spec()
    assert zygote.run(workplace, point) == -signal.SIGKILL
    assert len(workplace.bundles()) == (point in PUBLISHED)
    first = [path.read_bytes() for name in ("protected.parquet", "buckets.parquet") for path in staged(workplace, name)]

    assert zygote.run(workplace) == 0
    [bundle] = workplace.bundles()
    told = {finding.name: finding.checked for finding in verify_bundle(bundle, workplace.home / "keys" / "signing.pub")}
    assert told["closeness"]
    open_records().log.verify()
    assert workplace.working_files() == []
    published = [(bundle / name).read_bytes() for name in ("data.parquet", "tables/buckets.parquet")]
    assert (published == first) == (point != "before marker")


@pytest.mark.parametrize("point", telling(["after SPENT", "before marker"], "before marker"))
def test_a_draw_that_was_lost_is_not_given_back_when_nothing_is_left(
    workplace: Workplace, zygote: Zygote, point: str
) -> None:
    make_private(workplace)
    workplace.write_spec()
    open_dp_account(1)
    assert zygote.run(workplace, point) == -signal.SIGKILL
    assert budget_of() == ("1", "0", ["spent"])
    assert zygote.run(workplace) == REFUSED
    verified(workplace)
    assert budget_of() == ("1", "0", ["refused"])
    assert workplace.public_files() == []
    assert workplace.working_files() == []
    events = [event for event in open_records().log.events() if event.action.value == "REFUSED"]
    assert [event.facts["code"] for event in events] == ["budget-exceeded"]
