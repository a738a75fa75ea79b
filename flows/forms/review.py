"""The form of a reviewer: a decision that was signed elsewhere is taken, and the waiting run goes on.

The signature comes from `penstock sign`, where the reviewer's key is. No private key ever enters Prefect, and a
decision that does not count fails the flow run with the code of its refusal.
"""

# Annotations are not postponed here: Prefect reads those of a served flow apart from this module's names.

from typing import Annotated, Any

from prefect import flow
from prefect.states import Completed
from pydantic import Field

from penstock.flows.release_by_reference import require_home
from penstock.flows.review import Word, hand_in
from penstock.flows.run_ends import told_by_code
from penstock.tasks.approve import Waiting
from penstock.tasks.publish import Receipt

__all__ = ["review_release"]

Line = Annotated[str, Field(min_length=1)]


@flow(name="review", flow_run_name="{decision} {run}", persist_result=False, log_prints=False, retries=0)
@told_by_code
def review_release(*, run: Line, decision: Word, reviewer: Line, signature: Line, reason: str = "") -> Any:
    """Hand in a signed decision about a run that waits. With the last approval needed, the run publishes.

    Args:
        run: The run that waits, such as 20261116T101500Z-1a2b3c4d. Its page and its report name it.
        decision: Your decision about exactly what the run has staged.
        reviewer: Your name, as your key is trusted.
        signature: The text that penstock sign printed.
        reason: The reason that you signed; needed to refuse. Never quote a value.
    """
    require_home()
    given = {"reviewer": reviewer, "decision": decision, "reason": reason, "signature": signature.strip()}
    became = hand_in(run, lambda content: given)
    return Completed(message=f"On record: {reviewer} decided to {decision}. {_told(became)}")


def _told(became: Receipt | Waiting | None) -> str:
    if became is None:
        return "The run was told."
    if isinstance(became, Waiting):
        return f"Approvals missing: {became.missing} of {became.required}."
    return f"Published at {became.path}."
