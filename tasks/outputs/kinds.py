"""The output of given settings, by the kind that their mechanism makes."""

from __future__ import annotations

from penstock.mechanisms.columns import Declared
from penstock.mechanisms.mechanism import Kind
from penstock.mechanisms.registry import AnyParams, mechanism_of
from penstock.tasks.outputs.cells import Cells
from penstock.tasks.outputs.groups import Groups
from penstock.tasks.outputs.output import Output
from penstock.tasks.outputs.records import Records

__all__ = ["output_of"]

_KINDS: dict[Kind, type[Output]] = {"records": Records, "cells": Cells, "groups": Groups}


def output_of(params: AnyParams, declared: Declared) -> Output:
    """Return the output that these settings make of these columns."""
    return _KINDS[mechanism_of(params).kind](params, declared)
