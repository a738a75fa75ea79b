"""Differentially private microdata by insensitive microaggregation.

    _mechanism    settings, promise and `protect`: records in blocks along a public order, one noisy value each
    orders        blocks along a public order, and how far one replaced record can move them
    _attributes   how a column becomes levels, what is drawn for a block, what error to expect
    _joint        columns that are drawn together, because some combinations of them cannot be
    _choice       which order and how many blocks: the smallest expected error, from public facts alone
    _expect       what to expect before any row is read;  _explain: what data users need to know

Others use what is exported here, and `orders`.
"""

from __future__ import annotations

from penstock.mechanisms.dp_microaggregation._expect import expect
from penstock.mechanisms.dp_microaggregation._explain import advice, treatments
from penstock.mechanisms.dp_microaggregation._mechanism import (
    OUTPUT_ROLES,
    ChosenPart,
    Params,
    chosen_facts,
    faults,
    promise,
    protect,
    released_columns,
    settle,
)
from penstock.mechanisms.mechanism import Mechanism, always, unbounded
from penstock.mechanisms.stated import BlocksChosen, BlocksParameters

__all__ = [
    "MECHANISM",
    "OUTPUT_ROLES",
    "ChosenPart",
    "Params",
    "chosen_facts",
    "faults",
    "promise",
    "protect",
    "released_columns",
    "settle",
]

MECHANISM = Mechanism(
    name="dp_microaggregation",
    params=Params,
    kind="records",
    faults=faults,
    promise=promise,
    protect=protect,
    expect=expect,
    treatments=treatments,
    advice=advice,
    spends=always,
    takes_units=always,
    stated=BlocksParameters,
    possible=unbounded,
    released_columns=released_columns,
    chosen=chosen_facts,
    chosen_form=BlocksChosen,
)
