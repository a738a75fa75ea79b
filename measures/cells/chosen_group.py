"""The records of the one group of which a table shows figures, where it shows those of one group only.

Measures of its cells see no other records, and of the columns that choose it only the category that does.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock.measures.cells.output import TableOutput

__all__ = ["of_chosen_group"]


def of_chosen_group(output: TableOutput) -> TableOutput:
    """Return the output with the records of its group alone; as it is where no group was chosen."""
    only = output.guarantee.parameters.get("only", {})
    if not only:
        return output
    inside = np.ones(len(next(iter(output.original.values()))), np.bool_)
    for name, category in only.items():
        column = output.declared[name]
        inside &= column.codes(output.original[name], name) == list(column.categories or ()).index(category)
    original = {name: values[inside] for name, values in output.original.items()}
    of_group = {name: np.zeros(int(inside.sum()), np.int64) for name in only}
    single = {name: output.declared[name].model_copy(update={"categories": (each,)}) for name, each in only.items()}
    return replace(output, original={**original, **of_group}, declared={**output.declared, **single})
