"""Measures of a whole table: of public facts, whatever the data are, and of the size of its noise."""

from __future__ import annotations

from penstock.measures import public_facts
from penstock.measures.cells import _noise as table_noise
from penstock.measures.cells._promise import read_promise
from penstock.measures.cells.output import TableOutput
from penstock.measures.cells.totals import recounted
from penstock.measures.measurement import Measurement, MeasureUndefined
from penstock.mechanisms.models import ADDS_UP

__all__ = ["expected_error", "noise_chance", "privacy_loss"]


def expected_error(output: TableOutput) -> Measurement:
    """See penstock.measures.public_facts.expected_error; figures without a stated error are left out."""
    _, error = public_facts.worst_error(output.chosen)
    stated = public_facts.stated_errors(output.chosen)
    return Measurement(
        name="expected_error",
        value=error,
        direction="lower_is_better",
        n=_records(output),
        columns=tuple(stated),
        by_column=stated,
        missing=public_facts.NO_VALUE,
    )


def privacy_loss(output: TableOutput) -> Measurement:
    """See penstock.measures.public_facts.privacy_loss; epsilon is that of the guarantee."""
    columns = tuple(figure.name for figure in output.layout.figures)
    return public_facts.promised_loss(output.guarantee.parameters.get("epsilon"), columns, _records(output))


def noise_chance(output: TableOutput) -> Measurement:
    """Return an upper bound on the chance of noise as small as this table's, if it was drawn as promised.

    Near 0, something is wrong with the noise. _noise_size has the formula; sound noise gives a value of at most
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
