"""The roles of a problem as sdcMicro's createSdcObj() describes it, from R or from JSON with the same names.

    keyVars       quasi_identifier, categories           weightVar    weight
    numVars       quasi_identifier, numbers              hhId         identifier, the unit
    sensibleVar   confidential                           excludeVars  left out

pramVars, strataVar and ghostVars have no counterpart and become remarks. dat, options, seed, randomizeRecords and alpha
say nothing about roles: their values are not read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NoReturn

from penstock.mechanisms.refusal import Fault
from penstock.records.files.outside_text import from_json
from penstock.records.files.outside_values import OutsideWrong
from penstock.tasks.importers._r_call import Argument, Computed, Value, arguments_of
from penstock.tasks.importers.imported_column import ImportedColumn, ImportedRoles, RolesRefused

__all__ = ["roles_from_call", "roles_from_json"]

# In the order of the call, as R matches by place.
_ARGUMENTS = (
    *("dat", "keyVars", "numVars", "pramVars", "ghostVars", "weightVar", "hhId", "strataVar", "sensibleVar"),
    *("excludeVars", "options", "seed", "randomizeRecords", "alpha"),
)
_WITHOUT_ROLES = ("dat", "options", "seed", "randomizeRecords", "alpha")
_ONE_NAME = ("weightVar", "hhId")
_ROLES_OF_ARGUMENTS = {
    "keyVars": ImportedColumn(role="quasi_identifier", kind="nominal", remarks=("keyVars",)),
    "numVars": ImportedColumn(
        role="quasi_identifier",
        kind="number",
        remarks=("numVars: a quasi_identifier if an outsider may know it, else confidential",),
    ),
    "sensibleVar": ImportedColumn(role="confidential", remarks=("sensibleVar",)),
    "weightVar": ImportedColumn(role="weight", remarks=("weightVar",)),
    "hhId": ImportedColumn(role="identifier", remarks=("hhId: tells whose record it is",)),
    "excludeVars": ImportedColumn(left_out=True, remarks=("excludeVars",)),
}
_REMARKS = {
    "pramVars": "pramVars: there is no PRAM here",
    "strataVar": "strataVar: there are no strata here",
    "ghostVars": "ghostVars: follows no other column here",
}


def roles_from_call(text: str) -> ImportedRoles:
    """Return the roles in the text of an R script with one call of createSdcObj."""
    given: dict[str, Value] = {}
    for name, argument in _matched(arguments_of("createSdcObj", text)).items():
        try:
            given[name] = None if name in _WITHOUT_ROLES else argument.value()
        except Computed:
            _refuse(name, "must be names in quotes, c(...) of them, or NULL; nothing is computed", "Write the names.")
    return _roles(given)


def roles_from_json(text: str) -> ImportedRoles:
    """Return the roles in an object with the arguments as keys."""
    try:
        given = from_json(text)
    except OutsideWrong as wrong:
        _refuse("--roles", wrong.rule, wrong.remedy)
    if not isinstance(given, dict):
        _refuse("--roles", "must be an object", 'Write {"keyVars": ["age"], ...}.')
    RolesRefused.raise_for(_unknown(name) for name in given if name not in _ARGUMENTS)
    return _roles(given)


def _matched(arguments: list[Argument]) -> dict[str, Argument]:
    """Match arguments as R does: whole names first, then the only name with that beginning, then by place."""
    matched = {name: each for each in arguments if (name := each.name or "") in _ARGUMENTS}
    if len(matched) < sum(each.name in _ARGUMENTS for each in arguments):
        _refuse("--roles", "must not give an argument twice", "Keep one of them.")
    free = [name for name in _ARGUMENTS if name not in matched]
    for each in arguments:
        if each.name is not None and each.name not in _ARGUMENTS:
            meant = [name for name in free if name.startswith(each.name)]
            if len(meant) != 1 or meant[0] in matched:
                raise RolesRefused(_unknown(each.name))
            matched[meant[0]] = each
    by_place = [each for each in arguments if each.name is None]
    free = [name for name in free if name not in matched]
    if len(by_place) > len(free):
        _refuse("--roles", f"must give at most the {len(_ARGUMENTS)} arguments of createSdcObj", "Correct the call.")
    return {**matched, **dict(zip(free, by_place, strict=False))}


def _unknown(name: str) -> Fault:
    return Fault(
        name, "must be one argument of createSdcObj, or its beginning and that of no other", "Write the whole name."
    )


def _roles(given: Mapping[str, Value]) -> ImportedRoles:
    named = {argument: _names(argument, value) for argument, value in given.items() if argument not in _WITHOUT_ROLES}
    columns: dict[str, ImportedColumn] = {}
    source: dict[str, str] = {}
    for argument, imported in _ROLES_OF_ARGUMENTS.items():
        for column in named.get(argument, ()):
            if column in columns:
                rule = f"must not name a column that {source[column]} names too"
                _refuse(argument, rule, "Remove it from one of them; a column has one role.", column)
            columns[column], source[column] = imported, argument
    for argument, remark in _REMARKS.items():
        for column in named.get(argument, ()):
            before = columns.get(column, ImportedColumn(kind="nominal" if argument == "pramVars" else None))
            columns[column] = replace(before, remarks=tuple(dict.fromkeys((*before.remarks, remark))))
    if not columns:
        _refuse("--roles", "must name columns", "Name at least the key variables.")
    ignored = [argument for argument in ("options", "seed", "randomizeRecords", "alpha") if argument in given]
    return ImportedRoles(
        origin="createSdcObj call",
        columns=columns,
        whole_file=True,
        unit=next(iter(named.get("hhId", ())), None),
        remarks=(f"not taken over: {', '.join(ignored)}",) if ignored else (),
    )


def _names(argument: str, value: Value) -> list[str]:
    """Return the column names in a value; of ghostVars, those that follow a key variable."""
    if argument == "ghostVars":
        return [name for follower in _ghosts(value) for name in follower]
    names = _list_of_names(argument, value)
    if argument in _ONE_NAME and len(names) > 1:
        _refuse(argument, "must name one column", "Name one.", names)
    return names


def _ghosts(value: Value) -> list[list[str]]:
    """Return the second elements of list(list("key", c("follower", ...)), ...)."""
    pairs = [] if value is None else value
    if not isinstance(pairs, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        _refuse("ghostVars", "must be a list of pairs", 'Write list(list("key", c("follower")), ...).')
    return [_list_of_names("ghostVars", pair[1]) for pair in pairs if isinstance(pair, list)]


def _list_of_names(argument: str, value: Value) -> list[str]:
    names = [] if value is None else value if isinstance(value, list) else [value]
    found = [name for name in names if isinstance(name, str) and name]
    if len(found) < len(names):
        _refuse(argument, "must be names of columns, not their places", "Write the names in quotes.")
    if len(set(found)) < len(found):
        _refuse(argument, "must not name a column twice", "Remove the repetition.")
    return found


def _refuse(field: str, rule: str, remedy: str, got: object = None) -> NoReturn:
    raise RolesRefused(Fault(field, rule, remedy, "" if got is None else repr(got))) from None
