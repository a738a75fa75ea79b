"""The settings of probabilistic k-anonymity, and whether they fit the columns."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt

from penstock.mechanisms.columns import Column, Declared, named
from penstock.mechanisms.microaggregation.space import MOST_PAIRS
from penstock.mechanisms.numbers.exact import ExactNumber
from penstock.mechanisms.possible import different_values
from penstock.mechanisms.refusal import Fault
from penstock.mechanisms.taxonomy import candidates

__all__ = ["Params", "by_taxonomy", "faults", "group_sizes", "masks"]

GroupSize = Annotated[StrictInt, Field(ge=2)]


class Params(BaseModel):
    """How groups are formed, how large they are, and what happens inside them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    mechanism: Literal["probabilistic_k_anonymity"] = Field(
        default="probabilistic_k_anonymity", description="The name of this mechanism."
    )
    method: Literal["mdav_id", "mdav_swap", "ir_swap"] = Field(
        description="mdav_id: records with similar quasi-identifiers get the same quasi-identifiers (k-anonymity). "
        "mdav_swap: they exchange their confidential values, all columns together. "
        "ir_swap: in each confidential column by itself, records with similar values exchange them."
    )
    k: GroupSize = Field(
        description="Smallest group. An intruder who knows no confidential value links a record to its values with "
        "probability at most 1/k. Under mdav_swap, who knows one of a person's confidential values finds the others."
    )
    k_by_column: dict[str, GroupSize] = Field(
        default={}, description="ir_swap only: larger groups for the confidential columns named here."
    )
    scaling: Literal["domain", "standard_deviation", "none", "taxonomy"] = Field(
        default="domain",
        description="How MDAV makes columns comparable. domain: the declared domain becomes [0, 1]. "
        "standard_deviation: each numeric column gets standard deviation 1. none: raw values. taxonomy: as domain, and "
        "categories of a nominal column with a taxonomy are as far apart as there; under mdav_id a group then gets the "
        "concept that is nearest to all its values. Not used by ir_swap.",
    )
    groups: Literal["mdav", "v_mdav"] = Field(
        default="mdav",
        exclude_if=lambda given: given == "mdav",  # so that specs from before there was a choice keep their digests
        description="mdav: all groups but one have k records. v_mdav: groups of k to 3k - 2 records, larger where "
        "records lie close together; work grows with the square of the number of records. Not used by ir_swap.",
    )
    gain: ExactNumber | None = Field(
        default=None,
        exclude_if=lambda given: given is None,
        description="v_mdav only, needed there: a record joins a full group if it is nearer to it than gain times its "
        'distance to the nearest record without a group. "1/5" for scattered records, "11/10" for clustered ones.',
    )
    diversity: GroupSize | None = Field(
        default=None,
        exclude_if=lambda given: given is None,
        description="How many different values every group has at least, of each confidential column. Groups that have "
        "fewer join the nearest one. Not for ir_swap.",
    )
    sample: ExactNumber | None = Field(
        default=None,
        exclude_if=lambda given: given is None,
        description='Swaps only: publish a random sample of the swapped records, as a share such as "1/10" or as a '
        "number of records. All records are swapped and judged.",
    )


def faults(params: Params, declared: Declared) -> list[Fault]:
    """Return every reason why these settings do not fit these columns, found before any row is read."""
    found: list[Fault] = []
    confidential = named(declared, "confidential")
    if params.method != "ir_swap" and not named(declared, "quasi_identifier"):
        found.append(
            Fault("method", "needs a quasi_identifier to form groups", "Declare one, or use ir_swap.", params.method)
        )
    if params.method != "mdav_id" and not confidential:
        found.append(Fault("method", "needs a confidential column to swap", "Declare one.", params.method))
    for name, k in params.k_by_column.items():
        field = f"k_by_column.{name}"
        if params.method != "ir_swap":
            rule = "must not be given under MDAV, where groups of one column carry no guarantee"
            found.append(Fault(field, rule, "Remove it, or use ir_swap.", str(k)))
        elif name not in confidential:
            found.append(Fault(field, "must name a confidential column", "Correct the name.", str(k)))
        elif k < params.k:
            found.append(Fault(field, f"must be at least k = {params.k}", "Raise it, or lower k.", str(k)))
    for name, column in declared.items():
        if column.role == "confidential" and column.type == "nominal" and params.method == "ir_swap":
            rule = "must have an order, because ir_swap sorts the values"
            found.append(Fault(f"columns.{name}.type", rule, "Declare it ordinal, or use mdav_swap.", str(column.type)))
        if column.outside == "clamp":
            rule = "must be refuse: what is not masked is promised unchanged"
            found.append(Fault(f"columns.{name}.outside", rule, "Widen the domain, or clamp the data first.", "clamp"))
        allowed = _allowed_missing(params.method, column)
        if column.missing not in allowed:
            rule = f"must be {' or '.join(allowed)} for a {column.role} of type {column.type} under {params.method}"
            found.append(Fault(f"columns.{name}.missing", rule, "Change the rule.", column.missing))
    return [*found, *_group_faults(params, declared)]


def group_sizes(params: Params, declared: Declared) -> dict[str, int]:
    """Return the smallest group of each confidential column under ir_swap."""
    return {name: params.k_by_column.get(name, params.k) for name in named(declared, "confidential")}


def masks(params: Params, declared: Declared) -> tuple[str, ...]:
    """Return the columns that the method changes: all groups of mdav_id are made alike, swaps hand values over."""
    return named(declared, *(("quasi_identifier", "weight") if params.method == "mdav_id" else ("confidential",)))


def by_taxonomy(params: Params, declared: Declared) -> tuple[str, ...]:
    """Return the quasi-identifiers whose categories are compared by their taxonomy."""
    if params.scaling != "taxonomy" or params.method == "ir_swap":
        return ()
    return tuple(name for name in named(declared, "quasi_identifier") if declared[name].taxonomy is not None)


def _group_faults(params: Params, declared: Declared) -> Iterator[Fault]:
    """Yield faults of how groups are formed."""
    ranked = params.method == "ir_swap"
    if params.scaling == "taxonomy":
        compared = by_taxonomy(params, declared)
        if ranked:
            rule = "must not be taxonomy under ir_swap, which sorts values"
            yield Fault("scaling", rule, "Remove it, or use mdav_swap.", params.scaling)
        elif not compared:
            rule = "needs a nominal quasi_identifier with a taxonomy"
            yield Fault("scaling", rule, "Declare one, or use domain.", params.scaling)
        for name in compared:
            pairs = len(declared[name].categories or ()) * len(candidates(declared[name]))
            if pairs > MOST_PAIRS:
                rule = f"must have at most {MOST_PAIRS:,} pairs of a category and a concept for distances by taxonomy"
                yield Fault(f"columns.{name}.taxonomy", rule, "Leave out levels, or use domain.", f"{pairs:,}")
    if params.groups == "v_mdav" and ranked:
        rule = "must be mdav under ir_swap, whose groups are neighbours in sorted order"
        yield Fault("groups", rule, "Remove it, or use mdav_swap.", params.groups)
    if params.groups == "v_mdav" and params.gain is None:
        yield Fault("gain", "must be given for v_mdav", 'Choose it, such as "1/5".')
    elif params.groups != "v_mdav" and params.gain is not None:
        yield Fault("gain", "must not be given without v_mdav", "Remove it, or use v_mdav.", str(params.gain))
    if params.sample is not None:
        yield from _sample_faults(params.method, params.sample, declared)
    if params.diversity is not None:
        yield from _diversity_faults(params.method, params.diversity, declared)


def _sample_faults(method: str, sample: Fraction, declared: Declared) -> Iterator[Fault]:
    if method == "mdav_id":
        rule = "must not be given under mdav_id: of k records that agree, a sample may hold a single one"
        yield Fault("sample", rule, "Remove it, or use a swap.", str(sample))
    if sample == 0 or (sample > 1 and sample.denominator != 1):
        rule = "must be a share below 1, or a whole number of records"
        yield Fault("sample", rule, 'Write it as "1/10" or 1000.', str(sample))
    for name in named(declared, "weight"):
        rule = "must not be a weight where a sample is published, in which weights would no longer add up"
        yield Fault(f"columns.{name}.role", rule, "Leave the column out, or remove sample.", "weight")


def _diversity_faults(method: str, diversity: int, declared: Declared) -> Iterator[Fault]:
    if method == "ir_swap":
        rule = "must not be given under ir_swap, whose groups hold the values nearest to each other"
        yield Fault("diversity", rule, "Remove it and raise k, or use MDAV.", str(diversity))
        return
    confidential = named(declared, "confidential")
    if not confidential:
        rule = "needs a confidential column, of which every group has different values"
        yield Fault("diversity", rule, "Declare one, or remove it.", str(diversity))
    for name in confidential:
        most = different_values(declared[name]) - (declared[name].missing != "refuse")
        if most < diversity:
            rule = f"must be at most the {most:g} different values of {name}"
            yield Fault("diversity", rule, "Lower it.", str(diversity))


def _allowed_missing(method: str, column: Column) -> tuple[str, ...]:
    """Return the allowed rules for missing values, which cannot be ranked or averaged but are values elsewhere."""
    if column.role not in ("quasi_identifier", "confidential"):
        return ("refuse",)
    if column.type == "nominal" or (column.role == "confidential") == (method != "ir_swap"):
        return ("refuse", "category")
    return ("refuse", "own_group") if column.role == "confidential" else ("refuse",)
