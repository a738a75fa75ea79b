"""Every mechanism by its name in a spec, and what the release line asks of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel

from mechanisms import closeness, dp_microaggregation, probabilistic_k_anonymity, statistics, table
from mechanisms.columns import Column, Columns, Declared
from mechanisms.foresight import closeness as closeness_foresight
from mechanisms.foresight import dp_microaggregation as dp_foresight
from mechanisms.foresight import probabilistic_k_anonymity as swap_foresight
from mechanisms.foresight import statistics as statistics_foresight
from mechanisms.foresight import table as table_foresight
from mechanisms.guarantee import Guarantee
from mechanisms.layout import Layout
from mechanisms.protected import Protected
from mechanisms.randomness import Randomness
from mechanisms.refusal import Fault
from mechanisms.usage import closeness as closeness_usage
from mechanisms.usage import dp_microaggregation as dp_usage
from mechanisms.usage import probabilistic_k_anonymity as swap_usage
from mechanisms.usage import statistics as statistics_usage
from mechanisms.usage import table as table_usage

__all__ = ["MECHANISMS", "AnyParams", "Judged", "Mechanism", "mechanism_of", "spends"]

AnyParams = (
    probabilistic_k_anonymity.Params | dp_microaggregation.Params | closeness.Params | table.Params | statistics.Params
)

# What an output consists of, and so which checks and measures fit it.
Judged = Literal["records", "cells", "groups"]


@dataclass(frozen=True, slots=True)
class Mechanism:
    """A mechanism's settings and functions; each takes settings of its own kind only.

    faults: reasons why settings and declared columns do not fit.
    released_columns: the declaration of the output, where it consists of records.
    layout: what the output looks like, where it is a table; None where it consists of records.
    settled_facts: what `protect` will state as settled for so many records, from public facts alone.
    foresee, treatments, advice: sentences for who decides, and for who uses the data.
    judged: as records beside their originals, as cells of a table, or as groups of records and what is told of each.
    """

    params: type[BaseModel]
    faults: Callable[[Any, Declared], list[Fault]]
    promise: Callable[[Any, Declared], Guarantee]
    protect: Callable[[Columns, Declared, Any, Randomness], Protected]
    released_columns: Callable[[Any, Declared], dict[str, Column]]
    settled_facts: Callable[[Any, Declared, int], dict[str, Any]]
    foresee: Callable[[Any, Declared, int | None], tuple[str, ...]]
    treatments: Callable[[Any, Declared], dict[str, str]]
    advice: Callable[[Any, Declared], tuple[str, ...]]
    layout: Callable[[Any, Declared], Layout] | None = None
    judged: Judged = "records"


MECHANISMS: dict[str, Mechanism] = {
    "probabilistic_k_anonymity": Mechanism(
        probabilistic_k_anonymity.Params,
        probabilistic_k_anonymity.faults,
        probabilistic_k_anonymity.promise,
        probabilistic_k_anonymity.protect,
        probabilistic_k_anonymity.released_columns,
        probabilistic_k_anonymity.settled_facts,
        swap_foresight.foresee,
        swap_usage.treatments,
        swap_usage.advice,
    ),
    "dp_microaggregation": Mechanism(
        dp_microaggregation.Params,
        dp_microaggregation.faults,
        dp_microaggregation.promise,
        dp_microaggregation.protect,
        dp_microaggregation.released_columns,
        dp_microaggregation.settled_facts,
        dp_foresight.foresee,
        dp_usage.treatments,
        dp_usage.advice,
    ),
    "closeness": Mechanism(
        closeness.Params,
        closeness.faults,
        closeness.promise,
        closeness.protect,
        closeness.released_columns,
        closeness.settled_facts,
        closeness_foresight.foresee,
        closeness_usage.treatments,
        closeness_usage.advice,
        judged="groups",
    ),
    "table": Mechanism(
        table.Params,
        table.faults,
        table.promise,
        table.protect,
        table.released_columns,
        table.settled_facts,
        table_foresight.foresee,
        table_usage.treatments,
        table_usage.advice,
        table.layout,
        judged="cells",
    ),
    "statistics": Mechanism(
        statistics.Params,
        statistics.faults,
        statistics.promise,
        statistics.protect,
        statistics.released_columns,
        statistics.settled_facts,
        statistics_foresight.foresee,
        statistics_usage.treatments,
        statistics_usage.advice,
        statistics.layout,
        judged="cells",
    ),
}


def mechanism_of(params: AnyParams) -> Mechanism:
    """The mechanism that these settings are for."""
    return MECHANISMS[params.mechanism]


def spends(params: AnyParams) -> bool:
    """Whether a release with these settings spends epsilon; that of closeness is a bound that adds up with nothing."""
    return not isinstance(params, closeness.Params) and getattr(params, "epsilon", None) is not None
