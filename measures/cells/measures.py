"""Measures of released tables by name.

risk       table_rules.py     smallest_frequency, largest_share, two_largest_share, p_percent
           table_noise.py     noise_chance
utility    table_errors.py    cell_error, largest_cell_error, margin_error
public     foreseen.py        expected_error, privacy_loss: of public facts, whatever the data are
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from penstock.measures import foreseen
from penstock.measures.cells import _noise as table_noise
from penstock.measures.cells import _rules as table_rules
from penstock.measures.cells import errors as table_errors
from penstock.measures.cells._promise import read_promise
from penstock.measures.cells.output import TableOutput
from penstock.measures.cells.totals import recounted
from penstock.measures.measurement import Measurement, MeasureUndefined
from penstock.mechanisms.guarantee import ADDS_UP

__all__ = ["TABLE_MEASURES", "judge_table", "table_measure_names"]


def expected_error(output: TableOutput) -> Measurement:
    """See penstock.measures.foreseen.expected_error; figures without a stated error are left out."""
    _, error = foreseen.worst_error(output.settled)
    stated = foreseen.stated_errors(output.settled)
    return Measurement(
        name="expected_error",
        value=error,
        direction="lower_is_better",
        n=_records(output),
        columns=tuple(stated),
        by_column=stated,
        missing=foreseen.NO_VALUE,
    )


def privacy_loss(output: TableOutput) -> Measurement:
    """See penstock.measures.foreseen.privacy_loss; epsilon is that of the guarantee."""
    columns = tuple(figure.name for figure in output.layout.figures)
    return foreseen.promised_loss(output.guarantee.parameters.get("epsilon"), columns, _records(output))


def noise_chance(output: TableOutput) -> Measurement:
    """How likely noise as small as that of this table is, at most, if it was drawn as promised.

    Near 0 something is wrong with the noise. _noise_size has the formula; sound noise gives a value of at most
    alpha with probability alpha at most. No gate may use it: sound noise could miss any limit, and whether a table
    appears would then depend on it. Limits: few cells, or noise of a scale below 1, tell little.
    """
    if output.guarantee.parameters.get("mechanism") != "table" or output.guarantee.model not in ADDS_UP:
        raise MeasureUndefined.at("noise_chance", rule="needs a table with noise", remedy="Use another measure.")
    promise = read_promise(output)
    return Measurement(
        name="noise_chance",
        value=table_noise.noise_chance(promise, recounted(output, promise.measures)),
        direction="higher_is_safer",
        n=_records(output),
        columns=tuple(promise.measures),
        attacker="none: it looks for defects",
        missing="refused",
    )


def _records(output: TableOutput) -> int:
    if output.counted is not None:
        return output.counted.records
    return max(len(values) for values in output.original.values())


TABLE_MEASURES: dict[str, Callable[[TableOutput], Measurement]] = {
    "cell_error": table_errors.cell_error,
    "expected_error": expected_error,
    "largest_cell_error": table_errors.largest_cell_error,
    "largest_share": table_rules.largest_share,
    "margin_error": table_errors.margin_error,
    "noise_chance": noise_chance,
    "p_percent": table_rules.p_percent,
    "privacy_loss": privacy_loss,
    "smallest_frequency": table_rules.smallest_frequency,
    "two_largest_share": table_rules.two_largest_share,
}


def table_measure_names() -> tuple[str, ...]:
    """Every measure of tables, in alphabetical order."""
    return tuple(TABLE_MEASURES)


def judge_table(name: str, output: TableOutput) -> Measurement:
    """One measure of a released table; a measure of records has no value for it."""
    if name not in TABLE_MEASURES:
        raise MeasureUndefined.at(
            name, rule=f"must be one of {', '.join(TABLE_MEASURES)} for a table", remedy="Choose one of these."
        )
    # Infinite values and sums beyond the range of floats end below as a refusal, so numpy need not warn.
    with np.errstate(over="ignore", invalid="ignore"):
        found = TABLE_MEASURES[name](output)
    if not all(map(math.isfinite, (found.value, *found.by_column.values()))):
        raise MeasureUndefined.at(name, rule="must have a finite value", remedy="Correct the data.")
    return found
