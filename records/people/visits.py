"""What users do on the pages, for the audit log.

    SIGNED_IN, SIGN_IN_REFUSED, SIGNED_OUT    run "-"
    REPORT_READ, CANCEL_ASKED                 the run that it is about, if there is one

The name typed at a refused sign-in is on record only if it is that of a user: people type their password there, too.
"""

from __future__ import annotations

from datetime import datetime

from penstock.mechanisms.refusal import Refusal
from penstock.records.log.log import Action, Event, Log
from penstock.records.people.trusted_keys import REGISTER
from penstock.records.people.users import find_user

__all__ = ["NOBODY", "VISITS", "VisitRefused", "note_visit"]

NOBODY = "-"  # the actor of a refused sign-in under a name that no user has
_AT_THE_DOOR = frozenset({Action.SIGNED_IN, Action.SIGN_IN_REFUSED, Action.SIGNED_OUT})
_ABOUT_A_RUN = frozenset({Action.REPORT_READ, Action.CANCEL_ASKED})
VISITS = _AT_THE_DOOR | _ABOUT_A_RUN


class VisitRefused(Refusal):
    """The event to note is not something that users do on the pages."""

    code = "visit-refused"
    remedy = "Report this defect; nothing was written."


def note_visit(log: Log, action: Action, *, name: str, now: datetime, run: str = REGISTER, **facts: str) -> Event:
    """Put on record what the user of this name did; when this returns, it is on disk."""
    if action not in VISITS:
        raise VisitRefused.at(
            "action",
            rule=f"must be one of {', '.join(sorted(VISITS))}",
            got=str(action),
            remedy="Use one of these; other events are written by those who cause them.",
        )
    if run != REGISTER and action not in _ABOUT_A_RUN:
        raise VisitRefused.at(
            "run", rule=f"must be {REGISTER}, because {action} is about no run", got=run, remedy="Leave it out."
        )
    if action is Action.SIGN_IN_REFUSED:
        user = find_user(log, name)
        name = NOBODY if user is None else user.name
    return log.append(action, run=run, actor=name, facts=facts, occurred=now)
