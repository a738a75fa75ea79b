"""Which methods can answer a question, and why the others cannot."""

from __future__ import annotations

from collections.abc import Callable

from penstock.mechanisms.columns import Declared
from penstock.mechanisms.questions._additive import Laplace, Staircase
from penstock.mechanisms.questions._asked import Asked
from penstock.mechanisms.questions._bootstrap import bootstrap
from penstock.mechanisms.questions._faults import faults
from penstock.mechanisms.questions._individual import Individual
from penstock.mechanisms.questions._means import LaplaceMean
from penstock.mechanisms.questions._ranks import Exponential
from penstock.mechanisms.questions._refined import MOST_CATEGORIES, Refinement, prior_faults
from penstock.mechanisms.questions._relaxed import ORDERED
from penstock.mechanisms.questions.method import Method
from penstock.mechanisms.questions.query import Query, Terms
from penstock.mechanisms.refinement.priors import AnyPrior
from penstock.mechanisms.refusal import SettingRefused

__all__ = ["NAMES", "methods", "why_not"]

_OF_ONE = "a question about one individual is answered by refinement alone"
_NOT_ACCEPTED = "the owner of the data does not accept {}"
_SEVERAL = "for units of several rows it is not proven"


def methods(query: Query, declared: Declared, terms: Terms, *, prior: AnyPrior | None = None) -> dict[str, Method]:
    """Return the methods that can answer, by name; refuse a question, or a prior, with faults."""
    asked = _asked(query, declared, terms, prior)
    return {name: make(asked, prior) for name, (make, reason) in _OFFERS.items() if reason(asked) is None}


def why_not(query: Query, declared: Declared, terms: Terms, *, prior: AnyPrior | None = None) -> dict[str, str]:
    """Return for every other method why it cannot answer."""
    asked = _asked(query, declared, terms, prior)
    reasons = {name: reason(asked) for name, (_, reason) in _OFFERS.items()}
    return {name: reason for name, reason in reasons.items() if reason is not None}


def _asked(query: Query, declared: Declared, terms: Terms, prior: AnyPrior | None) -> Asked:
    SettingRefused.raise_for(faults(query, declared, terms))
    asked = Asked(query, declared, terms)
    if _not_by_refinement(asked) is None or query.statistic in ORDERED:
        SettingRefused.raise_for(prior_faults(prior, asked))
    return asked


def _not_by_laplace(asked: Asked) -> str | None:
    if asked.query.statistic == "value":
        return _OF_ONE
    if asked.query.statistic in ORDERED:
        return "one record can move it across the whole domain, so the noise would be as wide"
    return None


def _not_by_staircase(asked: Asked) -> str | None:
    if asked.query.statistic == "value":
        return _OF_ONE
    if asked.query.statistic not in ("count", "sum"):
        return "it is for counts and sums"
    return None if asked.query.by is None else "it is for one group"


def _not_by_exponential(asked: Asked) -> str | None:
    if asked.query.statistic == "value":
        return _OF_ONE
    return None if asked.query.statistic in ORDERED else "it is for medians, quantiles and extremes"


def _not_individually(asked: Asked) -> str | None:
    if asked.query.statistic == "value":
        return _OF_ONE
    if "idp" not in asked.terms.relaxations:
        return _NOT_ACCEPTED.format("individual differential privacy")
    if asked.query.statistic == "count":
        return "a count moves by 1 whatever the data are, so nothing is gained"
    if asked.adjacency != "replace":
        return "its promise is about records that are replaced, and takes their number as public"
    return None if asked.terms.rows_per_unit == 1 else _SEVERAL


def _not_by_bootstrap(asked: Asked) -> str | None:
    if asked.query.statistic == "value":
        return _OF_ONE
    if "bdp" not in asked.terms.relaxations:
        return _NOT_ACCEPTED.format("bootstrap differential privacy")
    return None if asked.terms.rows_per_unit == 1 else _SEVERAL


def _not_by_refinement(asked: Asked) -> str | None:
    if asked.query.statistic == "sum":
        return "a sum has no public range; ask for the mean"
    if asked.query.statistic == "count" and (asked.adjacency != "replace" or not asked.terms.records):
        return "a count has a public range only where the number of all records is public and known"
    if asked.query.statistic == "value" and len(asked.column.categories or ()) > MOST_CATEGORIES:
        return f"it compares each category with each, and takes at most {MOST_CATEGORIES}"
    return None


_Make = Callable[[Asked, AnyPrior | None], Method]
_OFFERS: dict[str, tuple[_Make, Callable[[Asked], str | None]]] = {
    "laplace": (
        lambda asked, _: LaplaceMean(asked) if asked.query.statistic == "mean" else Laplace(asked),
        _not_by_laplace,
    ),
    "staircase": (lambda asked, _: Staircase(asked), _not_by_staircase),
    "exponential": (Exponential, _not_by_exponential),
    "individual": (lambda asked, _: Individual(asked), _not_individually),
    "bootstrap": (lambda asked, _: bootstrap(asked), _not_by_bootstrap),
    "refinement": (Refinement, _not_by_refinement),
}
NAMES = tuple(_OFFERS)
