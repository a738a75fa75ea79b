"""The words for each kind of output, in faults and refusals."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.mechanisms.mechanism import Kind

__all__ = ["KINDS", "OutputKind"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputKind:
    """One kind of output in words.

    parts: what it consists of. whole: said of an output, after what a measure judges instead.
    judged: what its measures judge.
    """

    parts: str
    whole: str
    judged: str


KINDS: dict[Kind, OutputKind] = {
    "records": OutputKind(
        parts="records",
        whole="",
        judged="records",
    ),
    "cells": OutputKind(
        parts="tables",
        whole=", and the output is a table",
        judged="tables",
    ),
    "groups": OutputKind(
        parts="groups of records",
        whole=", and the output is groups of records",
        judged="groups with buckets",
    ),
}
