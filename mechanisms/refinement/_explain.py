"""Advice for users of refined answers."""

from __future__ import annotations

from penstock.mechanisms import clamping
from penstock.mechanisms.columns import Declared, named
from penstock.mechanisms.combinations import linked
from penstock.mechanisms.refinement._mechanism import OUTPUT_ROLES, Params

__all__ = ["advice", "treatments"]

_TREATMENT = "one random answer in place of each value: drawn from a public prior, more often near the value"
_TREATED_TOGETHER = (
    "one random answer in place of the values of {} together: drawn from a public prior without impossible "
    "combinations, more often near the values"
)
_BEFORE = (
    "That holds before the farthest answers were replaced; at most the share of a column's answers that the manifest "
    "calls `moved` was."
)
_DRAWN_TOGETHER = (
    "{} were drawn together. Combinations that are stated as impossible do not occur, whether or not the source has "
    "them; other relations between these columns are those of the prior more than those of the source."
)


def treatments(params: Params, declared: Declared) -> dict[str, str]:
    """Return what was done to each released column."""
    names = named(declared, *OUTPUT_ROLES)
    together = {name: group for group in linked(params.impossible, names) for name in group}
    moved = "" if params.delta is None else "; a bounded share of them, the farthest, replaced by the truth"
    return {
        name: (_TREATED_TOGETHER.format(", ".join(together[name])) if name in together else _TREATMENT) + moved
        for name in names
    }


def advice(params: Params, declared: Declared) -> tuple[str, ...]:
    """Return how to use data released under this mechanism."""
    names = named(declared, *OUTPUT_ROLES)
    may_be = clamping.may_be_clamped(declared, names)
    groups = linked(params.impossible, names)
    by_itself = "drawn by itself where nothing else is said" if groups else "drawn by itself"
    return (
        f"A row has answers about one record, each {by_itself}: relations between columns are weaker than in the "
        "source, and distributions lean towards the priors.",
        *(_DRAWN_TOGETHER.format(", ".join(group)) for group in groups),
        "Priors, distances and factors are public, so estimates can be corrected for them: an answer has at least the "
        "lower factor and at most the upper one times its prior probability, whatever the truth is.",
        *(() if params.delta is None else (_BEFORE,)),
        *clamping.advised(may_be, declared, "values and means", errors=False),
        "Any further processing is allowed. Sampling errors do not include the effect of the protection.",
    )
