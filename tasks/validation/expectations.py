"""Validation: what the declared columns imply, what the user adds, and what became of it.

An expectation is a Great Expectations configuration, {"type": "expect_...", "kwargs": {...}}, with an
optional "description". The user's suite is checked against the declared columns before any row is
read. Results say which expectation failed and how many rows failed it. They belong on the
confidential side: a count can be small.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from penstock.mechanisms.columns import Column
from penstock.mechanisms.phrases import counted
from penstock.mechanisms.refusal import Fault, Refusal, as_rule
from penstock.records.files.digest import canonical
from penstock.records.files.outside_text import OutsideFile
from penstock.tasks.validation._row_conditions import Condition, NotACondition, row_condition
from penstock.tasks.validation._suite_settings import pattern_faults, quantile_faults, setting_faults

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Expectation",
    "ExpectationResult",
    "SuiteRefused",
    "ValidationFailed",
    "asked_about",
    "derived_suite",
    "described",
    "digest_of_suite",
    "suite_faults",
    "user_suite",
    "validate",
    "whole_suite",
]

Expectation = dict[str, Any]
Source = Literal["derived", "suite"]

_REMEDY = "Correct the suite file."
_COLUMN_SETTINGS = ("column", "column_A", "column_B", "column_list", "column_set")

# Keys that GX writes into a saved suite; those after `description` say nothing about the data.
_SUITE_KEYS = frozenset({"name", "expectations", "meta", "notes", "id", "suite_parameters"})
_EXPECTATION_KEYS = frozenset({"type", "kwargs", "description", "severity", "meta", "notes", "id", "rendered_content"})

# A whole number as text, also when missing values have made the column floating point. Exact up to
# 2^53, the largest bound of an integer column; floating-point text changes shape only at 10^16.
_WHOLE_NUMBER = r"^-?[0-9]+(\.0)?$"

_LONGEST_LIST = 12
_MOST_EXPECTATIONS = 500


class SuiteRefused(Refusal):
    """The user's suite cannot be read, or expects something that cannot be checked here."""

    code = "suite-refused"
    kind = "spec"
    remedy = "Correct the named part of the suite, or remove it."


class ValidationFailed(Refusal):
    """The data are not what the columns declare or the suite expects."""

    code = "validation-failed"
    kind = "data"
    remedy = "Read the validation page of the run, then correct the data or the declared columns."

    @classmethod
    def from_results(cls, results: Iterable[ExpectationResult]) -> Self:
        """Return a refusal with one fault per failed expectation of the declared columns: type, column, rule; no count.

        It has one for the user's whole suite: which of hundreds failed would be hundreds of answers for one look.
        """
        failed = [result for result in results if not result.success]
        faults = [
            Fault(
                result.column or "table",
                rule=f"must meet {result.expectation}: {result.rule}",
                remedy="Correct the data, or the declared column.",
            )
            for result in failed
            if result.source == "derived"
        ]
        if len(faults) < len(failed):
            faults.append(
                Fault(
                    "validate.suite",
                    rule="must hold; at least one expectation failed",
                    remedy="Read the validation page of the run, on the confidential side.",
                )
            )
        return cls(*faults)


@dataclass(frozen=True, slots=True)
class ExpectationResult:
    """The result of one expectation. `rule` is made of settings only.

    unexpected: rows that failed it, where it is about rows and was not met; a missing value counts
    only where missing values are the question. total: all rows.
    """

    expectation: str
    column: str | None
    rule: str
    source: Source
    success: bool
    unexpected: int | None
    total: int


def derived_suite(declared: Mapping[str, Column], min_rows: int) -> list[Expectation]:
    """Return what the declared columns imply. Identifiers are not in the table, so nothing is expected of them.

    min_rows: 0 where any number of rows will do.
    """

    def expect(kind: str, description: str, **kwargs: Any) -> Expectation:
        return {"type": kind, "kwargs": kwargs, "description": description, "meta": {"source": "derived"}}

    enough = expect("expect_table_row_count_to_be_between", f"at least {counted(min_rows, 'row')}", min_value=min_rows)
    suite = [enough] if min_rows else []
    for name, column in declared.items():
        if column.role == "identifier":
            continue
        suite.append(expect("expect_column_to_exist", "the column exists", column=name))
        if column.missing == "refuse":
            suite.append(expect("expect_column_values_to_not_be_null", "no value is missing", column=name))
        if column.type == "integer":
            suite.append(
                expect(
                    "expect_column_values_to_match_regex",
                    "every value is a whole number",
                    column=name,
                    regex=_WHOLE_NUMBER,
                )
            )
        if column.domain is not None:
            low, high = column.domain
            clamped = ", once those outside count as the nearest bound" if column.outside == "clamp" else ""
            suite.append(
                expect(
                    "expect_column_values_to_be_between",
                    f"every value lies from {low} to {high}{clamped}",
                    column=name,
                    min_value=low,
                    max_value=high,
                )
            )
        if column.categories is not None:
            suite.append(
                expect(
                    "expect_column_values_to_be_in_set",
                    f"every value is one of {_shown(column.categories)}",
                    column=name,
                    value_set=list(column.categories),
                )
            )
        if column.role == "weight" and column.domain is None:
            suite.append(
                expect(
                    "expect_column_values_to_be_between",
                    "every weight is above 0 and finite",
                    column=name,
                    min_value=0,
                    strict_min=True,
                    max_value=sys.float_info.max,
                )
            )
    return suite


def _is_derived(expectation: Expectation) -> bool:
    return expectation.get("meta") == {"source": "derived"}


def user_suite(path: str | Path) -> list[Expectation]:
    """Return the expectations in a JSON file: a suite as GX 1.x saves it, or a bare list of expectations."""
    read = OutsideFile(Path(path), "validate.suite", SuiteRefused, got=repr(str(path))).json()
    if isinstance(read, dict):
        unknown = sorted(set(read) - _SUITE_KEYS)
        if unknown or "expectations" not in read:
            raise SuiteRefused.at(
                "validate.suite", rule="must have name and expectations", got=sorted(read), remedy=_REMEDY
            )
        read = read["expectations"]
    if not isinstance(read, list) or not read:
        raise SuiteRefused.at(
            "validate.suite",
            rule="must hold a list of at least one expectation",
            got=type(read).__name__,
            remedy="Write the expectations, or leave the suite out of the spec.",
        )
    if len(read) > _MOST_EXPECTATIONS:
        raise SuiteRefused.at(
            "validate.suite",
            rule=f"must hold at most {_MOST_EXPECTATIONS} expectations",
            got=len(read),
            remedy="Keep those that matter.",
        )
    SuiteRefused.raise_for(fault for place, item in enumerate(read) for fault in _shape_faults(place, item))
    kept = ("type", "kwargs", "description")
    return [{key: item[key] for key in kept if item.get(key) is not None} for item in read]


def digest_of_suite(expectations: Iterable[Expectation]) -> str:
    """Return a digest of what the user's own expectations ask, however their file is laid out."""
    return hashlib.sha256(canonical([each for each in expectations if not _is_derived(each)])).hexdigest()


def _shape_faults(place: int, item: object) -> Iterator[Fault]:
    field = f"validate.suite[{place}]"
    if not isinstance(item, dict):
        yield Fault(field, "must be an object with type and kwargs", _REMEDY, type(item).__name__)
        return
    if not isinstance(item.get("type"), str):
        yield Fault(f"{field}.type", "must name an expectation", _REMEDY)
    if not isinstance(item.get("kwargs"), dict):
        yield Fault(f"{field}.kwargs", "must be an object", _REMEDY)
    if not isinstance(item.get("description") or "", str):
        yield Fault(f"{field}.description", "must be text", _REMEDY)
    for key in sorted(set(item) - _EXPECTATION_KEYS):
        yield Fault(f"{field}.{key}", "must be a known key", "Remove it.")
    if item.get("severity", "critical") != "critical":
        yield Fault(
            f"{field}.severity",
            "must not be given: every failed expectation stops the release",
            "Remove it, or remove the expectation.",
            repr(item["severity"]),
        )


def suite_faults(expectations: Sequence[Expectation], declared: Mapping[str, Column]) -> tuple[Fault, ...]:
    """Return everything wrong with the user's expectations that can be known without reading data."""
    added = [expectation for expectation in expectations if not _is_derived(expectation)]
    if not added:
        return ()
    faults = [*pattern_faults(added), *quantile_faults(added)]
    if faults:  # before each of them is looked at
        return tuple(faults)
    from penstock.tasks.validation import _engine as engine

    read = [name for name, column in declared.items() if column.role != "identifier"]
    for place, expectation in enumerate(added):
        field, kind, kwargs = f"validate.suite[{place}]", expectation["type"], expectation["kwargs"]
        known = engine.kwargs_of(kind)
        if known is None:
            faults.append(
                Fault(
                    f"{field}.type", "must be an expectation that can run here", "Use one for data frames.", repr(kind)
                )
            )
            continue
        before = len(faults)
        for setting in sorted(set(kwargs) - known):
            faults.append(Fault(f"{field}.kwargs.{setting}", f"must be a setting of {kind}", "Remove it."))
        for setting in sorted(set(kwargs) & known):
            faults.extend(setting_faults(f"{field}.kwargs.{setting}", setting, kwargs[setting]))
        if len(faults) == before:
            faults.extend(
                Fault(f"{field}.kwargs.{setting}".rstrip("."), as_rule(message), _REMEDY)
                for setting, message in engine.settings_errors(kind, _without_condition(kwargs)).items()
            )
        faults.extend(
            Fault(
                f"{field}.kwargs",
                "must be about columns that the spec reads",
                "Declare the column with a role other than identifier, or remove the expectation.",
                repr(name),
            )
            for name in _columns_of(kwargs)
            if name not in read
        )
    return tuple(faults)


def _columns_of(kwargs: Mapping[str, Any]) -> list[str]:
    """Return every column that an expectation touches, once each, including those of its row condition."""
    names: list[str] = []
    for setting in _COLUMN_SETTINGS:
        value = kwargs.get(setting)
        names.extend([value] if isinstance(value, str) else map(str, value) if isinstance(value, list) else [])
    with suppress(NotACondition):  # reported elsewhere
        names.extend(row_condition(kwargs["row_condition"]).columns if "row_condition" in kwargs else ())
    return list(dict.fromkeys(names))


def _without_condition(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that Great Expectations is given."""
    return {setting: value for setting, value in kwargs.items() if setting != "row_condition"}


def whole_suite(
    declared: Mapping[str, Column], min_rows: int, suite: str | None, *, used: Mapping[str, Column] | None = None
) -> list[Expectation]:
    """Return the derived and the user's expectations, or raise a refusal that lists what is wrong with the suite.

    used: the columns for which anything is derived, as they are used; all if not given. Expectations are also derived
    for the columns that the suite asks about.
    """
    added = [] if suite is None else user_suite(suite)
    SuiteRefused.raise_for(suite_faults(added, declared))
    derived = dict(declared if used is None else used)
    derived |= {name: declared[name] for name in asked_about(added, declared) if name not in derived}
    return [*derived_suite(derived, min_rows), *added]


def asked_about(expectations: Iterable[Expectation], declared: Mapping[str, Column]) -> tuple[str, ...]:
    """Return the columns that must be read for these expectations; all for one that is about how many there are."""
    named: dict[str, None] = {}
    for expectation in expectations:
        every = expectation["type"].startswith("expect_table_column_count")
        named |= dict.fromkeys(declared if every else _columns_of(expectation["kwargs"]))
    return tuple(name for name in named if declared[name].role != "identifier")


def described(expectations: Sequence[Expectation]) -> Iterator[str]:
    """Yield what will be asked of the data, in short: the user's expectations one by one, the derived ones together."""
    derived = [expectation for expectation in expectations if _is_derived(expectation)]
    rows = [each["description"] for each in derived if each["type"] == "expect_table_row_count_to_be_between"]
    columns = len({name for each in derived for name in _columns_of(each["kwargs"])})
    every = "; ".join([*rows, f"type, domain, categories and missing values of {counted(columns, 'column')}"])
    yield f"What the spec declares: {every}."
    for expectation in expectations:
        if not _is_derived(expectation):
            named = ", ".join(_columns_of(_without_condition(expectation["kwargs"]))) or "table"
            yield f"From the suite, {named}: {_rule(expectation)}."


def validate(frame: pd.DataFrame, expectations: Sequence[Expectation]) -> tuple[ExpectationResult, ...]:
    """Run every expectation on the frame; return one result for each, in order.

    An expectation on a column that is not there fails without being run.
    """
    from penstock.tasks.validation import _engine as engine

    present = frozenset(frame.columns)
    runnable = [present.issuperset(_columns_of(expectation["kwargs"])) for expectation in expectations]
    outcomes = iter(engine.run(frame, [_to_run(e) for e, runs in zip(expectations, runnable, strict=True) if runs]))
    results = []
    for expectation, runs in zip(expectations, runnable, strict=True):
        outcome = next(outcomes) if runs else engine.Outcome(False, None)
        named = _columns_of(_without_condition(expectation["kwargs"]))
        results.append(
            ExpectationResult(
                expectation=expectation["type"],
                column=", ".join(named) or None,
                rule=_rule(expectation),
                source="derived" if _is_derived(expectation) else "suite",
                success=outcome.success,
                unexpected=outcome.unexpected,
                total=len(frame),
            )
        )
    return tuple(results)


def _to_run(expectation: Expectation) -> tuple[str, dict[str, Any], Condition | None]:
    kwargs = expectation["kwargs"]
    chosen = row_condition(kwargs["row_condition"]) if "row_condition" in kwargs else None
    return expectation["type"], _without_condition(kwargs), chosen


def _rule(expectation: Expectation) -> str:
    """Return the description if there is one, otherwise the type and its settings in words."""
    if "description" in expectation:
        return str(expectation["description"])
    words = expectation["type"].removeprefix("expect_").removeprefix("column_").replace("_", " ")
    settings = []
    for setting, value in expectation["kwargs"].items():
        if setting in _COLUMN_SETTINGS:
            continue
        if setting == "mostly":
            settings.append(f"for at least {100 * value:g} % of the values")
        elif setting == "row_condition":
            settings.append(f"where {row_condition(value)}")
        else:
            settings.append(f"{setting.replace('_', ' ')} {_shown(value) if isinstance(value, list) else value}")
    return ", ".join([words, *settings])


def _shown(values: Sequence[object]) -> str:
    listed = ", ".join(str(value) for value in values[:_LONGEST_LIST])
    return listed if len(values) <= _LONGEST_LIST else f"{listed} … ({len(values)} in all)"
