"""What an event of the audit log can say, and which of them are signed and noted."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["NOTED", "SIGNED", "Action"]


class Action(StrEnum):
    """The kinds of event. Names are never removed or reinterpreted; a new meaning gets a new name."""

    PLANNED = "PLANNED"
    INGESTED = "INGESTED"
    VALIDATED = "VALIDATED"
    PROTECTING = "PROTECTING"
    PROTECTED = "PROTECTED"
    CHECKED = "CHECKED"
    PUBLISHING = "PUBLISHING"
    PUBLISHED = "PUBLISHED"
    REFUSED = "REFUSED"
    FAILED = "FAILED"
    RESUMED = "RESUMED"
    BUDGET_OPENED = "BUDGET_OPENED"
    BUDGET_RAISED = "BUDGET_RAISED"
    RESERVED = "RESERVED"
    SPENT = "SPENT"
    SETTLED = "SETTLED"
    RETURNED = "RETURNED"
    KEY_TRUSTED = "KEY_TRUSTED"
    KEY_WITHDRAWN = "KEY_WITHDRAWN"
    WAITING = "WAITING"
    APPROVED = "APPROVED"
    DECLINED = "DECLINED"
    DECISION_REFUSED = "DECISION_REFUSED"
    REPEATED = "REPEATED"
    OVERLAPS = "OVERLAPS"
    FOUND_PUBLISHED = "FOUND_PUBLISHED"
    LEFT_OUT = "LEFT_OUT"
    LOOKED = "LOOKED"
    LOOKS_LIMITED = "LOOKS_LIMITED"
    USER_ADDED = "USER_ADDED"
    USER_SECRET_CHANGED = "USER_SECRET_CHANGED"
    USER_REMOVED = "USER_REMOVED"
    SIGNED_IN = "SIGNED_IN"
    SIGN_IN_REFUSED = "SIGN_IN_REFUSED"
    SIGNED_OUT = "SIGNED_OUT"
    REPORT_READ = "REPORT_READ"
    CANCEL_ASKED = "CANCEL_ASKED"
    ANALYST_ALLOWED = "ANALYST_ALLOWED"
    SITTING_OPENED = "SITTING_OPENED"
    ANSWERED = "ANSWERED"
    ASKED_AGAIN = "ASKED_AGAIN"
    QUESTION_REFUSED = "QUESTION_REFUSED"


# Events that end a run or record a person's decision are signed at once; the checkpoint covers everything before it.
SIGNED = frozenset(
    {
        Action.PUBLISHED,
        Action.REFUSED,
        Action.FOUND_PUBLISHED,
        Action.BUDGET_OPENED,
        Action.BUDGET_RAISED,
        Action.LOOKS_LIMITED,
        Action.ANALYST_ALLOWED,
        Action.KEY_TRUSTED,
        Action.KEY_WITHDRAWN,
        Action.USER_ADDED,
        Action.USER_SECRET_CHANGED,
        Action.USER_REMOVED,
        Action.WAITING,
        Action.APPROVED,
        Action.DECLINED,
    }
)

# Events that the home writes down once they are on record (sighting.py): an older database would undo them.
# Those of questions are many, and noting each keeps the walk to the head short (_walk.py).
NOTED = SIGNED | {Action.SPENT, Action.ANSWERED, Action.ASKED_AGAIN, Action.QUESTION_REFUSED}
