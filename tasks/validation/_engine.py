"""The part that speaks Great Expectations (GX). Importing it costs seconds, so import it late.

Two things about GX shape this module. A GX result holds failing values of the data in every result
format but BOOLEAN_ONLY, so that is the only one used, and a count is asked for separately as an
integer metric. And GX reports its own errors with values of the data in text, traceback, log and
warning, so all four are dropped: an expectation that raised is a failed expectation, nothing more.

Expectations that take a pattern never reach GX, which would match it by backtracking (_patterns.py).
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pandas as pd

from penstock.tasks.validation._late_imports import loaded_when_used
from penstock.tasks.validation._patterns import MATCHED_BY_PATTERN, values_against_patterns
from penstock.tasks.validation._row_conditions import Condition

# Read by GX when it is imported.
os.environ["GX_ANALYTICS_ENABLED"] = "False"
os.environ["DO_NOT_TRACK"] = "1"

# One expectation, which cannot run here, and two metrics that none of ours has use these; loading them takes as long as
# all the rest of GX.
_SELDOM_USED = ("altair", "scipy.stats")

_show_warning = warnings.showwarning
with warnings.catch_warnings(), loaded_when_used(*_SELDOM_USED):
    warnings.simplefilter("ignore")
    import great_expectations as gx
    from great_expectations.compatibility.pydantic import ValidationError
    from great_expectations.exceptions import GreatExpectationsError
    from great_expectations.expectations import core
    from great_expectations.expectations.expectation import Expectation
    from great_expectations.expectations.expectation_configuration import ExpectationConfiguration

if warnings.showwarning is not _show_warning:
    logging.captureWarnings(False)  # GX turns it on for the whole process; that is not its choice to make

__all__ = ["Outcome", "kwargs_of", "run", "settings_errors", "silence"]

_RESULT_FORMAT = {"result_format": "BOOLEAN_ONLY"}

# Kwargs that steer GX rather than say what is expected. `condition_parser` would evaluate text as code.
_NOT_SETTINGS = frozenset({"batch_id", "condition_parser", "library_metadata", *Expectation.__fields__})

# They need SQL or a second table; the divergence draws progress bars that cannot be turned off; a JSON schema may point
# to an address, which is fetched.
_NOT_ON_FRAMES = frozenset(
    {
        "expect_column_kl_divergence_to_be_less_than",
        "expect_column_values_to_match_json_schema",
        "expect_column_values_to_match_like_pattern",
        "expect_column_values_to_match_like_pattern_list",
        "expect_column_values_to_not_match_like_pattern",
        "expect_column_values_to_not_match_like_pattern_list",
        "expect_query_results_to_match_comparison",
        "expect_table_row_count_to_equal_other_table",
        "unexpected_rows_expectation",
    }
)

_classes: list[Any] = [found for found in vars(core).values() if isinstance(found, type)]
_KINDS: dict[str, Any] = {
    kind.expectation_type: kind
    for kind in _classes
    if not kind.is_abstract() and kind.expectation_type not in _NOT_ON_FRAMES
}

# What GX and pandas raise outside GX's own net, for instance on a column of an unexpected type.
_RAISED = (
    GreatExpectationsError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NotImplementedError,
    TypeError,
    ValueError,
    re.error,
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of an expectation: whether it was met; how many rows were not as expected, where GX counts rows."""

    success: bool
    unexpected: int | None


_CANNOT_RUN = Outcome(False, None)


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Let no log record and no warning out of GX, or pandas beneath it: they may quote values.

    Every GX logger is switched off each time, because others may switch it on or listen to it by name;
    loggers born later inherit a level that nothing reaches. Warnings are caught into a list and
    forgotten, since pandas turns some ignored ones on again.
    """
    logging.getLogger("great_expectations").setLevel(logging.CRITICAL + 1)
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] == "great_expectations":
            logging.getLogger(name).disabled = True
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("ignore")
        yield


def kwargs_of(kind: str) -> frozenset[str] | None:
    """Return the settings that an expectation type takes; None for a type that cannot run here."""
    found = _KINDS.get(kind)
    return None if found is None else frozenset(found.__fields__) - _NOT_SETTINGS


def settings_errors(kind: str, kwargs: Mapping[str, Any]) -> dict[str, str]:
    """Return what is wrong with each setting of a known type; GX reads the settings only, never data.

    Only the first complaint about a setting is kept: the others say that it is no other kind of
    value either. The empty name stands for all settings together.
    """
    with silence():
        try:
            _KINDS[kind](**kwargs)
        except ValidationError as error:
            found: dict[str, str] = {}
            for complaint in error.errors():
                found.setdefault(str(complaint["loc"][0]), str(complaint["msg"]))
            together = found.pop("__root__", "")
            return found or {"": together}
    return {}


def run(frame: pd.DataFrame, asked: Sequence[tuple[str, Mapping[str, Any], Condition | None]]) -> list[Outcome]:
    """Return one outcome for each expectation (its type, its settings, the rows that it is about), in order.

    They run one at a time: GX returns the results of a whole suite in an order of its own, and one
    expectation that it cannot start would take all others with it.
    """
    with silence():
        context = gx.get_context(mode="ephemeral")
        context.variables.progress_bars = {"globally": False}
        source = context.data_sources.add_pandas("memory")
        batch = source.add_dataframe_asset("frame").add_batch_definition_whole_dataframe("all")

        outcomes: list[Outcome] = []
        try:
            # One frame after the other: validators share an engine, and the last one's frame is what all of them see.
            for condition, group in groupby(asked, key=lambda each: each[2]):
                rows = frame if condition is None else _chosen(frame, condition)
                request = None if rows is None else batch.build_batch_request({"dataframe": rows})
                validator = None if request is None else context.get_validator(batch_request=request)
                for kind, kwargs, _ in group:
                    if rows is None:
                        outcomes.append(_CANNOT_RUN)
                    elif kind in MATCHED_BY_PATTERN:
                        outcomes.append(_pattern_outcome(rows, kind, kwargs))
                    else:
                        outcomes.append(_outcome(validator, kind, kwargs))
            return outcomes
        finally:
            context.data_sources.delete("memory")  # GX keeps its last context, which would keep the data


def _outcome(validator: Any, kind: str, kwargs: Mapping[str, Any]) -> Outcome:
    configuration = ExpectationConfiguration(type=kind, kwargs=dict(kwargs))
    try:
        (result,) = validator.graph_validate(configurations=[configuration], runtime_configuration=dict(_RESULT_FORMAT))
        if result.success is True:
            return Outcome(True, None)
        return Outcome(False, _unexpected_count(validator, kind, kwargs))
    except _RAISED:
        return _CANNOT_RUN


def _pattern_outcome(rows: pd.DataFrame, kind: str, kwargs: Mapping[str, Any]) -> Outcome:
    """Decide as GX does: `mostly` is a share of the values that are there, and where there are none nothing fails."""
    try:
        unexpected, asked = values_against_patterns(rows[kwargs["column"]], kind, kwargs)
    except _RAISED:
        return _CANNOT_RUN
    if not asked or (asked - unexpected) / asked >= kwargs.get("mostly", 1):
        return Outcome(True, None)
    return Outcome(False, unexpected)


def _chosen(frame: pd.DataFrame, condition: Condition) -> pd.DataFrame | None:
    """Return the rows that a condition chooses; None where it cannot be asked, such as a text against a number."""
    try:
        return frame[condition.rows(frame)]
    except _RAISED:
        return None


def _unexpected_count(validator: Any, kind: str, kwargs: Mapping[str, Any]) -> int | None:
    """Return GX's own count of unexpected rows: the integer metric beside the one that decided."""
    name = f"{getattr(_KINDS[kind], 'map_metric', None)}.unexpected_count"
    expectation = _KINDS[kind](**kwargs, batch_id=validator.active_batch_id)
    needed = expectation.get_validation_dependencies(validator.execution_engine, dict(_RESULT_FORMAT))
    metric = needed.metric_configurations.get(name)
    if metric is None:
        return None
    computed, _ = validator.compute_metrics([metric])
    count = computed.get(metric.id)
    return None if count is None else int(count)
