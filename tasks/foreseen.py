"""What a release is refused for whatever its records hold: told by a plan, and by a run before it reads any row.

The spec, public facts and this home's records decide it, so nothing of the data is answered, and no look at them is
counted. It is a courtesy only: what is refused here the reserving transaction would refuse too, and it alone decides
who is granted what. So in doubt nothing is refused here:

* a run of this spec that is open is resumed with what it has reserved; of one that was published the receipt comes
  back from the same source;
* a table that was drawn before comes back from the same records, and costs nothing. Which records these are is not
  known before they are read. So an output asks nothing of the account and acknowledges nothing if a stored answer of
  its question exists for any source that was ever charged to the data set;
* an output that may be left out by a gate that public facts decide may not be there when the cost is reserved.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from penstock.mechanisms.models import ADDS_UP
from penstock.mechanisms.refusal import Refusal
from penstock.records.ledger.answers import answer_key, is_kept
from penstock.records.log.actions import Action
from penstock.tasks.overlaps import overlaps_foreseen

if TYPE_CHECKING:  # a plan loads neither Prefect nor a database for this
    from penstock.records.home import Home
    from penstock.records.ledger.ledger import Ledger
    from penstock.records.log.log import Event
    from penstock.tasks.run.job import Job
    from penstock.tasks.run.plan import Plan

__all__ = ["Known", "require_nothing_foreseen", "what_is_known"]

_ENDED = (Action.REFUSED, Action.FOUND_PUBLISHED, Action.PUBLISHED)


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a release before any row of its source is read.

    open, published: a run of the same spec that is open, and the last one that was published. drawn: the outputs of
    whose question a stored answer exists, which comes back if the records are the same. refusals: what a run would be
    refused for, in its order.
    """

    open: str | None = None
    published: str | None = None
    drawn: tuple[str | None, ...] = ()
    refusals: tuple[Refusal, ...] = ()


def require_nothing_foreseen(job: Job, *, again: bool) -> None:
    """Refuse, before any row is read, what needs none to be refused. again: as for `what_is_known`."""
    events = job.log.events()
    if any(event.action is Action.RESERVED for event in events if event.run == job.run.id):
        return  # it is judged by what it has reserved already
    others = [event for event in events if event.run != job.run.id]
    for refusal in what_is_known(job.plan, job.home, job.ledger, others, again=again).refusals:
        raise refusal


def what_is_known(plan: Plan, home: Home, ledger: Ledger | None, events: Iterable[Event], *, again: bool) -> Known:
    """Return what this home knows of a release. ledger: None where it has no records. events: of the whole log, but for
    those of the run that asks. again: whether it will be released once more if it was published."""
    going_on, published = _runs_of(plan, events)
    drawn = () if ledger is None else tuple(_drawn(plan, home, ledger))
    if going_on is not None or (published is not None and not again):
        return Known(going_on, published, drawn)
    certain = [each.claim("") for each in plan.outputs if not _may_be_left_out_before(each)]
    charged = [claim for claim in certain if claim.output not in drawn]
    refused = [] if ledger is None else ledger.refusals_of(charged, run="", now=datetime.now(UTC))
    unseen = overlaps_foreseen(plan, certain, ledger, [claim.output for claim in charged])
    return Known(None, published, drawn, (*refused, *(() if unseen is None else (unseen,))))


def _runs_of(plan: Plan, events: Iterable[Event]) -> tuple[str | None, str | None]:
    """Return a run of this spec that did not end, and the last one that was published."""
    going_on, published = dict[str, None](), None
    for event in events:
        if event.action is Action.PLANNED and event.facts.get("spec") == plan.spec_digest:
            going_on[event.run] = None
        elif event.run in going_on and event.action in _ENDED:
            del going_on[event.run]
            published = event.run if event.action is Action.PUBLISHED else published
    return next(iter(going_on), None), published


def _drawn(plan: Plan, home: Home, ledger: Ledger) -> Iterator[str | None]:
    """Yield the outputs that were drawn from any records that the data set was charged for."""
    if plan.dataset is None:
        return
    claims = [cost.claim for cost in ledger.book(plan.dataset).costs]
    sources = {source for claim in claims for source in (claim.source, claim.formerly) if source is not None}
    for each in plan.outputs:
        if each.output.comes_back and _is_kept(each, home, sources):
            yield each.output_name


def _is_kept(plan: Plan, home: Home, sources: Collection[str]) -> bool:
    return any(is_kept(home, answer_key(home, plan.content(source))) for source in sources)


def _may_be_left_out_before(plan: Plan) -> bool:
    """Return whether an output may be left out before its cost is reserved: by a gate that public facts decide."""
    return plan.may_be_left_out and bool(plan.gates) and plan.guarantee.model in ADDS_UP
