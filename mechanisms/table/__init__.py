"""Tables of counts, totals and means by declared dimensions, with noise by model or exact.

    settings      what may be asked, and every reason why it cannot be had
    _mechanism    `protect`: cells counted, noise drawn, figures made
    cells         counts and, for each measure, sums and extremes of every declared cell, the empty ones included
    merging       cells of parts of the records, put together
    together      cells of several tables, counted in one pass
    _chosen       who spends what of epsilon, and with which noise: public facts
    _bounds       public bounds of a measure in every cell
    draws         noise under differential privacy: which kind, how large, drawn
    _relaxed      how much noise the relaxations need, from the actual records
    sensitivity   how far one record moves a count, a total or a whole table, adjacency by adjacency
    scales        the scale of the noise of every cell that follows from it, bound to its adjacency
    noise         discrete Laplace noise of these scales
    _figures      from noisy totals to published figures;  _margins: sums, and least squares
    _coarser      levels of a taxonomy: groups of the categories of a dimension;  _folding: cells put together by them
    _zeros        cells that cannot have records, by public rules
    _exact_total  where the grand total of counts is public;  _known_total: counts fitted to it
    _linked       several tables that share cells;  _linked_fit: their figures, fitted together
    _cube         least squares where some levels of a cube were measured;  _rounding: whole numbers near it
    _promise      what is promised under each model, and what is not
    _expect       what to expect before any row is read;  _explain: what data users need to know
    _weights      sampling weights: their figures, and values times weights as whole numbers;  _weighted_words: in words
    _squares      sums of squares under noise, and the sampling errors that they make
    _strata       sampling errors of exact figures by strata
    _exact        exact figures that are not sums of whole numbers: contributors, weighted figures, sampling errors
    _possible     what measures can come to
    _kernels      the compiled loops

Cells are numbered 0, 1, ... in the order of the declared categories, the last dimension fastest. Values are signed
whole numbers on a public grid, so every sum and every sensitivity is exact.
"""

from __future__ import annotations

from penstock.mechanisms.mechanism import ByCell, Mechanism, of_figures
from penstock.mechanisms.stated import TableChosen, TableParameters
from penstock.mechanisms.table._exact_total import prints_number
from penstock.mechanisms.table._expect import expect
from penstock.mechanisms.table._explain import advice, treatments
from penstock.mechanisms.table._mechanism import (
    Params,
    cells_from_columns,
    chosen_facts,
    count_cells,
    counts_units,
    excludes,
    faults,
    layout,
    memory_of_cells,
    needs_all,
    of_units,
    promise,
    protect,
    protect_cells,
    spends,
    takes_resolution,
    takes_units,
)
from penstock.mechanisms.table._possible import possible
from penstock.mechanisms.table.merging import as_columns, merged
from penstock.mechanisms.table.together import counted_together, taken

__all__ = [
    "MECHANISM",
    "Params",
    "chosen_facts",
    "count_cells",
    "faults",
    "layout",
    "promise",
    "protect",
    "protect_cells",
]

MECHANISM = Mechanism(
    name="table",
    params=Params,
    kind="cells",
    faults=faults,
    promise=promise,
    protect=protect,
    expect=expect,
    treatments=treatments,
    advice=advice,
    spends=spends,
    takes_units=takes_units,
    stated=TableParameters,
    possible=possible,
    layout=layout,
    chosen=chosen_facts,
    chosen_form=TableChosen,
    in_parts=ByCell(
        memory=memory_of_cells,
        count=count_cells,
        as_columns=as_columns,
        from_columns=cells_from_columns,
        merged=merged,
        protect_cells=protect_cells,
        needs_all=needs_all,
        together=counted_together,
        taken=taken,
    ),
    counts_units=counts_units,
    of_units=of_units,
    excludes=excludes,
    prints_number=prints_number,
    takes_resolution=takes_resolution,
    counted=of_figures(layout),
)
