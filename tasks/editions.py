"""Earlier editions of a release: what was published under its name, in its folder, of other states of its data.

They are public facts: whoever reads the folder sees each of them, with its manifest. So a release that went to another
folder, waits for its reviewers, or was refused is not among them. The audit log says which were published, and the
ledger's events in it of which edition each was.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypedDict

from penstock.records.files.addresses import place_of
from penstock.records.log.actions import Action
from penstock.reports.period import is_no_period, period_of

if TYPE_CHECKING:
    from penstock.records.log.log import Event
    from penstock.tasks.run.plan import Plan

__all__ = ["Edition", "earlier_editions", "edition_in_words", "is_no_period"]


def edition_in_words(edition: str) -> str:
    """Return an edition with the period that it is about, if its name begins with one."""
    period = period_of(edition)
    return f"edition {edition}" + (", a name without a period" if period is None else f", period {period.in_words}")


class Edition(TypedDict):
    """One published edition: release is its id, date the day on which it was published."""

    release: str
    edition: str
    date: str


def earlier_editions(events: Iterable[Event], plan: Plan) -> list[Edition]:
    """Return the published releases of other editions of the same data set, oldest first. events: of the whole log."""
    if plan.edition is None:
        return []
    editions, found = dict[str, str](), list[Edition]()
    for event in events:
        facts = event.facts
        if event.action is Action.RESERVED and facts["dataset"] == plan.dataset and facts.get("edition") is not None:
            editions[event.run] = facts["edition"]
        elif event.action is Action.PUBLISHED and editions.get(event.run, plan.edition) != plan.edition:
            place = place_of(facts["destination"])
            if place.parent.parent == plan.series:
                found.append({"release": event.run, "edition": editions[event.run], "date": event.occurred[:10]})
    return found
