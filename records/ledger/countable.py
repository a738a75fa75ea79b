"""Whether an account can count a claim, whatever it holds. It knows no log, so that a plan needs no database."""

from __future__ import annotations

from penstock.mechanisms.models import ADDS_UP
from penstock.mechanisms.refusal import Refusal
from penstock.records.ledger.accounts import Claim

__all__ = ["ClaimRefused", "require_countable"]

# Under any other adjacency the number of records of a part would be taken as public, and a moving record would show.
_PARTS_APART = ("add_remove", "presence", "from_D_add_remove", "bootstrap_add_remove")


class ClaimRefused(Refusal):
    """The claim is not one that the ledger can count."""

    code = "claim-refused"
    kind = "budget"
    remedy = "Correct the budget section, or the epsilon or delta of the spec."


def require_countable(claim: Claim) -> None:
    """Refuse a claim that no account can count, whatever it holds."""
    if not 0 <= claim.delta < 1 or (claim.delta and (claim.model != "dp" or claim.epsilon is None)):
        raise ClaimRefused.at(
            "delta",
            rule="must be below 1, and not be given except where epsilon is spent under dp",
            got=str(claim.delta),
            remedy="Correct it in the mechanism, or leave it out.",
        )
    if claim.model not in ADDS_UP:
        if claim.epsilon is not None:
            raise ClaimRefused.at(
                "epsilon",
                rule=f"must not be given for a release under {claim.model}",
                got=str(claim.epsilon),
                remedy="Leave it out.",
            )
        return
    if claim.dataset is None:
        raise ClaimRefused.at(
            "budget.dataset",
            rule=f"must be given for a release under {claim.model}, which spends the budget of a data set",
            remedy="Name the data set.",
        )
    if claim.part is not None and claim.adjacency not in _PARTS_APART:
        raise ClaimRefused.at(
            "budget.part",
            rule=f"cannot be used with adjacency {claim.adjacency}: a record that moves would change two sizes",
            remedy=f"Use one of {', '.join(_PARTS_APART)}, or spend for the whole data set.",
        )
    if (claim.unit == "individual") != (claim.whose is not None):
        raise ClaimRefused.at(
            "source.unit",
            rule="must name the column that tells whose record it is for a release for individuals, and only then",
            got=claim.unit,
            remedy="Name the column, or row.",
        )
    if claim.repeats is not None and claim.epsilon is None:
        return  # the draw that comes out again was charged
    if claim.repeats is not None or claim.epsilon is None or claim.epsilon <= 0:
        raise ClaimRefused.at(
            "epsilon", rule="must be above 0", got=str(claim.epsilon), remedy="Set it in the mechanism."
        )
