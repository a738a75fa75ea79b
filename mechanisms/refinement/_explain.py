"""Advice for users of refined answers."""

from __future__ import annotations

from penstock.mechanisms import clamping
from penstock.mechanisms.columns import Declared, named
from penstock.mechanisms.refinement._mechanism import OUTPUT_ROLES, Params

__all__ = ["advice", "treatments"]

_TREATMENT = "one random answer in place of each value: drawn from a public prior, more often near the value"


def treatments(params: Params, declared: Declared) -> dict[str, str]:
    """Return what was done to each released column."""
    return dict.fromkeys(named(declared, *OUTPUT_ROLES), _TREATMENT)


def advice(params: Params, declared: Declared) -> tuple[str, ...]:
    """Return how to use data released under this mechanism."""
    may_be = clamping.may_be_clamped(declared, named(declared, *OUTPUT_ROLES))
    return (
        "A row has answers about one record, each drawn by itself: relations between columns are weaker than in the "
        "source, and distributions lean towards the priors.",
        "Priors, distances and factors are public, so estimates can be corrected for them: an answer has at least the "
        "lower factor and at most the upper one times its prior probability, whatever the truth is.",
        *clamping.advised(may_be, declared, "values and means", errors=False),
        "Any further processing is allowed. Sampling errors do not include the effect of the protection.",
    )
