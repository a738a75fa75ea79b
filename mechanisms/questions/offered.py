"""Which methods can answer a question, and why the others cannot."""

from __future__ import annotations

from penstock.mechanisms.columns import Declared
from penstock.mechanisms.questions._additive import Laplace, Staircase
from penstock.mechanisms.questions._asked import Asked
from penstock.mechanisms.questions._faults import faults
from penstock.mechanisms.questions.method import Method
from penstock.mechanisms.questions.query import Query, Terms
from penstock.mechanisms.refinement.priors import AnyPrior
from penstock.mechanisms.refusal import SettingRefused

__all__ = ["NAMES", "methods", "why_not"]

NAMES = ("laplace", "staircase", "exponential", "individual", "bootstrap", "refinement")


def methods(query: Query, declared: Declared, terms: Terms, *, prior: AnyPrior | None = None) -> dict[str, Method]:
    """Return the methods that can answer, by name; refuse a question with faults."""
    SettingRefused.raise_for(faults(query, declared, terms))
    asked = Asked(query, declared, terms)
    found: dict[str, Method] = {}
    if query.statistic in ("count", "sum"):
        found["laplace"] = Laplace(asked)
        if query.by is None:
            found["staircase"] = Staircase(asked)
    return found


def why_not(query: Query, declared: Declared, terms: Terms, *, prior: AnyPrior | None = None) -> dict[str, str]:
    """Return for every other method why it cannot answer."""
    known = methods(query, declared, terms, prior=prior)
    return {name: "it is not there yet" for name in NAMES if name not in known}
