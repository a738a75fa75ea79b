"""A first draft of a spec from a Parquet file. It decides nothing that concerns privacy.

Roles are guesses marked REVIEW; bounds and k are left so that the draft is refused until a person
has set them. Categories are listed only if they are frequent: a rare value may be a person.
"""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import yaml

from tasks.source import SourceUnreadable

__all__ = ["draft_spec"]

MOST_CATEGORIES = 60
RARE_BELOW = 10


def draft_spec(path: Path) -> str:
    """The draft as YAML text."""
    try:
        partitioning = "hive" if path.is_dir() else None
        dataset = ds.dataset(str(path), format="parquet", partitioning=partitioning)
        lines = [line for field in dataset.schema for line in _column_lines(dataset, field)]
    except (pa.ArrowException, OSError):
        raise SourceUnreadable.at(
            "DATA", rule="must be readable, complete Parquet", got=str(path), remedy="Check the path and the files."
        ) from None
    name = "".join(c if c.isalnum() and c.isascii() else "-" for c in path.stem.lower()).strip("-")[:80]
    return "\n".join(
        [
            "# A draft. Lines marked REVIEW need your decision; `penstock plan` refuses the spec until they have it.",
            f"name: {_quoted(name or 'release')}",
            "source:",
            f"  path: {_quoted(str(path.resolve()))}",
            "  unit: row",
            "  columns:  # remove the columns that are not to be released",
            *lines,
            "validate:",
            "  min_rows: 1  # REVIEW: fewest records a complete file has",
            "protect:",
            "  - mechanism: probabilistic_k_anonymity",
            "    method: ir_swap  # REVIEW: mdav_id, mdav_swap or ir_swap",
            "    k: 0  # REVIEW: smallest group; the chance of a right guess is at most 1/k",
            "gates:  # REVIEW: the limits that this release must keep",
            "  - {measure: average_risk, max: 0}",
            "  - {measure: correlation_change, max: 0.02}",
            "approve: {reviewers: 0}",
            "publish:",
            "  path: published  # REVIEW: relative to this file",
            "  formats: [parquet, csv]",
            "",
        ]
    )


def _column_lines(dataset: ds.Dataset, field: pa.Field) -> list[str]:
    name, stored = _quoted(field.name), field.type
    value = stored.value_type if pa.types.is_dictionary(stored) else stored
    whole, broken = pa.types.is_integer(value), pa.types.is_floating(value) or pa.types.is_decimal(value)
    if (whole or broken) and _LIKE_A_WEIGHT.search(field.name):
        return [f"    {name}: {{role: weight}}  # REVIEW: a sampling weight?"]
    if whole or broken:
        guess = "role: quasi_identifier, type: integer" if whole else "role: confidential, type: continuous"
        gaps = dataset.to_table(columns=[field.name]).column(0).null_count > 0
        remark = "; values are missing, so choose a missing rule" if gaps else ""
        return [f"    {name}: {{{guess}, {_BOUNDS}{remark}"]
    if not (pa.types.is_string(value) or pa.types.is_large_string(value) or pa.types.is_string_view(value)):
        return [f"    # {name}: stored as {stored}, which a release cannot hold; convert it first"]
    counts = pc.value_counts(dataset.to_table(columns=[field.name]).column(0).cast(pa.string()).combine_chunks())
    values, numbers = counts.field("values").to_pylist(), counts.field("counts").to_pylist()
    if len(values) > MOST_CATEGORIES:
        return [f"    {name}: {{role: identifier}}  # REVIEW: too many different values for a category"]
    frequent = [
        value for value, number in zip(values, numbers, strict=True) if number >= RARE_BELOW and value is not None
    ]
    listed = _quoted(sorted(frequent))
    remark = (
        "complete the list from your code book; rare values are not listed" if len(frequent) < len(values) else "role"
    )
    return [f"    {name}: {{role: quasi_identifier, type: nominal, categories: {listed}}}  # REVIEW: {remark}"]


def _quoted(value: str | list[str]) -> str:
    """Text, or a list of texts, in quotes as YAML reads them again, on one line."""
    return yaml.safe_dump(
        value, default_style='"', default_flow_style=True, allow_unicode=True, width=float("inf")
    ).strip()


_LIKE_A_WEIGHT = re.compile("weight|wgt", re.IGNORECASE)
_BOUNDS = "domain: [0, 0]}  # REVIEW: role, and lowest and highest possible value"
