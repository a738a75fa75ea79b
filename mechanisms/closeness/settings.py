"""The settings of closeness, and whether they fit the declared columns."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt

from penstock.mechanisms.closeness._labels import BETWEEN, TO
from penstock.mechanisms.closeness.bound import LARGEST_T, below_exp
from penstock.mechanisms.columns import Column, Declared, named
from penstock.mechanisms.numbers.exact import ExactNumber, readable
from penstock.mechanisms.points import Scaling
from penstock.mechanisms.refusal import Fault
from penstock.mechanisms.taxonomy import Taxonomy

__all__ = ["KEY", "RECORDS", "Params", "faults", "group_keys"]

# Columns of the output that are in no source.
KEY = "group"
RECORDS = "records"

GroupSize = Annotated[StrictInt, Field(ge=2)]


class Params(BaseModel):
    """How close groups are to the whole, how large they are, and what is published of them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    mechanism: Literal["closeness"] = Field(default="closeness", description="The name of this mechanism.")
    method: Literal["buckets", "ranked"] = Field(
        description="buckets: confidential values become intervals or sets of categories, and every group has every "
        "bucket in its share of the whole up to a factor t. "
        "ranked: groups of records with similar confidential values, which are published as lists (k-anonymous "
        "Anatomy); no closeness."
    )
    output: Literal["anatomy", "permuted"] = Field(
        description="anatomy: records with their group, and a linked table with the buckets (or values) of each group. "
        "permuted: records with bucket labels, permuted inside groups that stay secret."
    )
    epsilon: ExactNumber | None = Field(
        default=None,
        description='buckets: the bound is e^epsilon on what is believed after over before; exact: "1/2". Or give t.',
    )
    t: ExactNumber | None = Field(
        default=None, description='buckets: the bound itself, t = e^epsilon, exact: "2" or "3/2". Above 1, at most 100.'
    )
    k: GroupSize = Field(description="Smallest group. Groups are larger where t demands it.")
    several: Literal["joint", "each"] | None = Field(
        default=None,
        description="buckets of more than one confidential column. joint: one bucket for all of them together, by "
        "microaggregation. each: buckets and groups of its own for each column; for m columns together the "
        "bound is t^m.",
    )
    scaling: Scaling = Field(
        default="domain",
        description="How columns are made comparable where records are compared. domain: the declared domain becomes "
        "[0, 1]. standard_deviation: each numeric column gets standard deviation 1. none: raw values.",
    )

    @property
    def model(self) -> str:
        return "t_close" if self.method == "buckets" else "prob_k"

    @property
    def bound(self) -> Fraction:
        """Return t, a fraction not above e^epsilon."""
        return self.t if self.t is not None else below_exp(self.epsilon or Fraction(0))


def faults(params: Params, declared: Declared) -> list[Fault]:
    """Return every reason why these settings do not fit these columns, found before any row is read."""
    found = [*_faults_of_bound(params), *_faults_of_columns(params, declared)]
    confidential = named(declared, "confidential")
    if not named(declared, "quasi_identifier"):
        rule = "needs a quasi_identifier: groups are of records that outsiders know"
        found.append(Fault("method", rule, "Declare one.", params.method))
    if not confidential:
        found.append(Fault("method", "needs a confidential column", "Declare one.", params.method))
    if params.method == "ranked" and params.output != "anatomy":
        rule = "must be anatomy under ranked; swapping among similar values is ir_swap of probabilistic_k_anonymity"
        found.append(Fault("output", rule, "Write anatomy, or use that mechanism.", params.output))
    wanted = params.method == "buckets" and len(confidential) > 1
    if wanted and params.several is None:
        rule = "must be given for more than one confidential column"
        found.append(Fault("several", rule, "Write joint or each."))
    if not wanted and params.several is not None:
        unused = "under ranked" if params.method == "ranked" else "for one confidential column"
        rule = f"must not be given {unused}"
        found.append(Fault("several", rule, "Remove it.", params.several))
    taken = [*group_keys(params, declared).values(), *([RECORDS] if params.method == "buckets" else [])]
    for name in taken if params.output == "anatomy" else ():
        if name in declared:
            rule = "must not have the name of a column of the output"
            found.append(Fault(f"columns.{name}", rule, "Rename it in the source."))
    return found


def _faults_of_bound(params: Params) -> list[Fault]:
    given = [name for name in ("epsilon", "t") if getattr(params, name) is not None]
    if params.method == "ranked":
        return [Fault(name, "must not be given under ranked", "Remove it, or use buckets.") for name in given]
    if len(given) != 1:
        return [Fault("epsilon", "must be given, or else t, but not both", "Give one of them.")]
    if 1 < params.bound <= LARGEST_T:
        return []
    rule = f"must give a t = e^epsilon above 1 and at most {LARGEST_T}"
    return [Fault(given[0], rule, "Choose another bound.", readable(getattr(params, given[0])))]


def _faults_of_columns(params: Params, declared: Declared) -> list[Fault]:
    found = []
    for name, column in declared.items():
        if column.outside == "clamp":
            rule = "must be refuse: what is not masked is promised unchanged"
            found.append(Fault(f"columns.{name}.outside", rule, "Widen the domain, or clamp the data first.", "clamp"))
        as_category = column.role == "quasi_identifier" and column.type == "nominal"
        if column.missing != "refuse" and not (as_category and column.missing == "category"):
            rule = "must be refuse" + (" or category" if as_category else f" for a {column.role} of type {column.type}")
            found.append(Fault(f"columns.{name}.missing", rule, "Change the rule.", column.missing))
        if params.method == "buckets" and column.role == "confidential":
            found += _faults_of_names(name, column)
    return found


def _faults_of_names(name: str, column: Column) -> Iterator[Fault]:
    """Yield faults of names that would let a label be read in more than one way."""
    categories = [str(category) for category in column.categories or ()]
    known = set(categories)
    mark = BETWEEN.strip()
    if column.type == "nominal" and any(mark in concept for concept in (*categories, *(column.taxonomy or ()))):
        rule = f"must not contain {mark} in a category or concept, because it parts categories in labels"
        yield Fault(f"columns.{name}.categories", rule, "Rename it.")
    if column.type == "ordinal" and any(TO in f" {category} " for category in categories):
        rule = f"must not contain the word {TO.strip()}, because it joins the ends of a range in labels"
        yield Fault(f"columns.{name}.categories", rule, "Rename the category.")
    if column.taxonomy is not None:
        taxonomy = Taxonomy(column.taxonomy)
        if any(known & taxonomy.ancestors(category) - {category} for category in categories):
            rule = "must not list a concept above another category, because a label that names it would mean both"
            yield Fault(f"columns.{name}.categories", rule, "List leaves of the taxonomy only.")


def group_keys(params: Params, declared: Declared) -> dict[tuple[str, ...], str]:
    """Return the confidential columns, those with one partition together, and the name of their column of groups."""
    confidential = named(declared, "confidential")
    if params.several != "each":
        return {confidential: KEY}
    return {(name,): f"{KEY}_{name}" for name in confidential}
