"""The output of given settings, by the kind that their mechanism makes."""

from __future__ import annotations

from penstock.mechanisms.columns import Declared
from penstock.mechanisms.mechanism import Kind
from penstock.mechanisms.registry import AnyParams, mechanism_of
from penstock.tasks.outputs.cells import Cells
from penstock.tasks.outputs.groups import Groups
from penstock.tasks.outputs.output import Output
from penstock.tasks.outputs.part_of_file import PartOfFile
from penstock.tasks.outputs.records import Records

__all__ = ["output_of"]

_KINDS: dict[Kind, type[Output]] = {each.kind: each for each in (Records, Cells, Groups)}


def output_of(params: AnyParams, declared: Declared, name: str | None = None, file: str | None = None) -> Output:
    """Return the output that these settings make of these columns. name: where it is one of several. file: that it
    shares with others."""
    if file is not None:
        return PartOfFile(params, declared, file)
    kind = _KINDS[mechanism_of(params).kind]
    return kind(params, declared, "" if name is None or kind.is_table else name)
