"""Knowledge refinement: answers drawn from a public prior that was sharpened around the truth.

    refine        the algorithm, its theorem, and exact draws: begin here
    axes          the points that an answer can be, and which of them lie near a true one
    priors        priors as data: masses, uniform, histogram, distribution
    distributions which distributions of scipy.stats can be named, and their weights
    _joint        columns that are answered together, because some combinations of their values cannot be
    _mechanism    settings and `protect`: one answer for each value of a file of records
    _promise      what is promised;  _expect: what to expect before any row is read;  _explain: what data users need

Others use what is exported here, `refine`, `axes` and `priors`.
"""

from __future__ import annotations

from penstock.mechanisms.columns import Column, Declared, named
from penstock.mechanisms.mechanism import Mechanism, always, unbounded
from penstock.mechanisms.refinement._expect import expect
from penstock.mechanisms.refinement._explain import advice, treatments
from penstock.mechanisms.refinement._mechanism import OUTPUT_ROLES, Params, chosen_facts, faults, promise, protect
from penstock.mechanisms.stated import RefinementChosen, RefinementParameters

__all__ = ["MECHANISM", "Params", "chosen_facts", "faults", "promise", "protect", "released_columns"]


def released_columns(params: Params, declared: Declared) -> dict[str, Column]:
    """Return the columns of the output: an answer is a value that the column could have."""
    return {name: declared[name] for name in named(declared, *OUTPUT_ROLES)}


MECHANISM = Mechanism(
    name="refinement",
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
    stated=RefinementParameters,
    possible=unbounded,
    released_columns=released_columns,
    chosen=chosen_facts,
    chosen_form=RefinementChosen,
)
