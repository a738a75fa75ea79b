"""Probabilistic k-anonymity by swapping, and k-anonymity by microaggregation.

    _settings    what a spec says, and whether it fits the columns
    _mechanism   promise and `protect`: groups of similar records, and values swapped inside them
    _groups      how groups are formed on quasi-identifiers, and what stands for one
    _expect      what to expect before any row is read;  _explain: what data users need to know
    _possible    what measures can come to

The groups are formed by penstock.mechanisms.microaggregation. Others use what is exported here.
"""

from __future__ import annotations

from operator import attrgetter

from penstock.mechanisms.mechanism import ByColumn, Mechanism, never
from penstock.mechanisms.probabilistic_k_anonymity._expect import expect
from penstock.mechanisms.probabilistic_k_anonymity._explain import advice, treatments
from penstock.mechanisms.probabilistic_k_anonymity._mechanism import (
    needs_all_records,
    promise,
    protect,
    released_columns,
    swap_column,
)
from penstock.mechanisms.probabilistic_k_anonymity._possible import possible
from penstock.mechanisms.probabilistic_k_anonymity._settings import Params, faults, group_sizes, masks
from penstock.mechanisms.stated import SwapParameters

__all__ = ["MECHANISM", "Params", "faults", "group_sizes", "promise", "protect", "released_columns", "swap_column"]

MECHANISM = Mechanism(
    name="probabilistic_k_anonymity",
    params=Params,
    kind="records",
    faults=faults,
    promise=promise,
    protect=protect,
    expect=expect,
    treatments=treatments,
    advice=advice,
    spends=never,
    takes_units=never,
    stated=SwapParameters,
    possible=possible,
    released_columns=released_columns,
    masks=masks,
    in_parts=ByColumn(needs_all=needs_all_records, sizes=group_sizes, protect_column=swap_column),
    shares_file=True,
    sample=attrgetter("sample"),
)
