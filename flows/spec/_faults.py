"""What is wrong with a spec: field, rule, value and remedy of every fault, told at once.

Two kinds: what pydantic finds in one place, and sections that are valid by themselves but disagree. The second kind
is looked for among the valid parts of a faulty spec too, so that no fault hides another.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import isfinite
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from penstock.flows.spec._entries import MOST_OUTPUTS, Protection, columns_of, name_of, own, settings_of
from penstock.flows.spec._file_faults import file_faults, files_of
from penstock.flows.spec._known_keys import KnownKeys
from penstock.flows.spec._named_places import about_columns, misspelt, of_several
from penstock.flows.spec._output_faults import output_faults
from penstock.flows.spec._resolution_faults import resolution_faults
from penstock.flows.spec._unit_faults import unit_faults
from penstock.measures.gates import MOST_GATES, Gate
from penstock.measures.kinds import KINDS
from penstock.measures.possible import impossible, unfit
from penstock.measures.registry import MEASURES, measure_names, public_measures
from penstock.mechanisms.columns import Column
from penstock.mechanisms.recode import stored_name
from penstock.mechanisms.refusal import Fault, as_rule
from penstock.mechanisms.registry import MECHANISMS, AnyParams, mechanism_of
from penstock.mechanisms.spreadsheet import begins_like_a_formula
from penstock.tasks.formats import FORMATS
from penstock.tasks.formats.format import Format

__all__ = ["disagreements", "every_fault"]

_Part = TypeVar("_Part")

# How a text must be written; nobody should have to read a pattern.
_WRITTEN = {
    r"^[a-z0-9][a-z0-9._-]{0,79}$": "must be lower case letters, digits, . _ and -, at most 80, not beginning "
    "with a sign",
    r"^[A-Za-z0-9]([A-Za-z0-9 ._-]{0,78}[A-Za-z0-9])?$": "must be letters and digits, with spaces and . _ - inside, at "
    "most 80",
    r"^https?://[^\s<>\"{}|\\^`]+$": "must be an address that begins with https:// or http://",
    r"^[a-z]{2}$": "must be two lower case letters, such as en",
    r"^[1-9][0-9]{0,5} ?(MB|GB|TB)$": "must be a whole number of MB, GB or TB, such as 4 GB",
    r"^[a-z][a-z0-9_]{0,49}$": "must be lower case letters, digits and _, at most 50, beginning with a letter",
}
_NO_GATES = Fault("gates", "must be given", "Add it; `penstock schema` describes it.")
# Nobody reads more, and each takes time to put into words.
_MOST_TOLD = 100


def every_fault(error: ValidationError, raw: object, known: KnownKeys, *, of_release: bool = False) -> list[Fault]:
    """Return all faults of a refused spec; the fault of an unknown key names the nearest one that may stand there.

    of_release: whether it is a whole spec, which must have gates.
    """
    details = error.errors(include_url=False)
    found: list[Fault] = []
    for detail in details[:_MOST_TOLD]:
        # A list whose items are faulty is also called too short; the items say it better.
        if detail["type"] == "too_short" and any(_lies_in(detail["loc"], other["loc"]) for other in details):
            continue
        # A number or a word: the fault of the number came just before.
        if detail["type"] == "literal_error" and str(detail["loc"][-1]).startswith("literal["):
            found[-1] = replace(found[-1], rule=f"{found[-1].rule} or {detail['ctx']['expected']}")
            continue
        found += _faults_of(detail, known)
    if len(details) > _MOST_TOLD:
        return [*dict.fromkeys(found), _more(len(details) - _MOST_TOLD)]
    found = list(dict.fromkeys([*found, *_faults_between(raw, of_release=of_release)]))
    return found if len(found) <= _MOST_TOLD else [*found[:_MOST_TOLD], _more(len(found) - _MOST_TOLD)]


def _more(many: int) -> Fault:
    return Fault("spec", f"must be free of faults, and has {many:,} more", "Correct these first.")


def disagreements(
    unit: object,
    columns: Mapping[str, Column],
    params: Mapping[int, AnyParams],
    gates: Mapping[int, Gate] | None,
    part: object,
    formats: object = (),
    suite: object = None,
    spreadsheet: object = None,
    acknowledges: object = (),
) -> list[Fault]:
    """Return faults between sections: what each mechanism says of the columns, its unit, gates and formats, the outputs
    beside each other, and the part. gates: of the release; None where none are asked for. acknowledges: what
    budget.acknowledges says; None where not all outputs are known."""
    faults = [*unit_faults(unit, columns, params), *_format_faults(params, formats), *_suite_faults(params, suite)]
    every_format = [*_known(formats), *(each for chosen in params.values() for each in _known(own(chosen, "formats")))]
    if spreadsheet != "escape" and any(each.runs_formulas for each in every_format):
        faults += _formula_faults(columns)
    several = len(params) > 1 or acknowledges is None
    # Each with the outputs because of which it is one.
    of_columns: dict[Fault, list[AnyParams]] = {}
    of_gates: dict[Fault, list[str]] = {}
    for place, chosen in params.items():
        settings, declared = settings_of(chosen, unit), columns_of(chosen, columns, several=several)
        found = [
            about_columns(each, chosen, columns, declared) for each in mechanism_of(chosen).faults(settings, declared)
        ]
        if not found:
            found = [*resolution_faults(chosen, settings, declared)]
        for fault in found:
            if fault.field.startswith("columns."):
                of_columns.setdefault(replace(fault, field=f"source.{fault.field}"), []).append(chosen)
            else:
                faults.append(replace(fault, field=f"protect.{place}.{fault.field}"))
        mine, where = (gates, "") if own(chosen, "gates") is None else (own(chosen, "gates"), f"protect.{place}.")
        limits: dict[int, Gate] = dict(mine) if isinstance(mine, Mapping) else dict(enumerate(mine or ()))
        misplaced = list(_gate_faults(settings, limits))
        if not found and not misplaced:  # otherwise nobody can say what is possible
            misplaced = list(impossible(limits, settings, declared))
        for fault in misplaced:
            if where or not several:
                faults.append(replace(fault, field=f"{where}{fault.field}"))
            else:
                of_gates.setdefault(fault, []).append(name_of(chosen) or f"protect.{place}")
    faults += [_of_outputs(fault, names, len(params)) for fault, names in of_gates.items()]
    faults += of_several(of_columns) if several else of_columns
    if params and acknowledges is not None:
        faults += output_faults(params, columns, acknowledges)
        faults += file_faults(params, columns, gates)
        for parts in files_of(params).values():  # the gates of the release hold for each file too
            faults += _gate_faults(settings_of(next(iter(parts.values()))), gates or {})
            together = [columns_of(entry, columns, several=True) for entry in parts.values()]
            faults += unfit(gates or {}, {name: each for some in together for name, each in some.items()})
    if gates is not None and not gates and any(own(chosen, "gates") is None for chosen in params.values()):
        faults.append(_NO_GATES)
    faults += [*_part_faults(part, columns), *_exact_total_faults(part, params)]
    return list(dict.fromkeys([*faults, *_recode_faults(part, columns, params)]))


def _of_outputs(fault: Fault, names: Sequence[str], outputs: int) -> Fault:
    """Return what is wrong with a gate of the release, for the outputs that it does not fit; none is named if it fits
    no output."""
    if len(names) == outputs:
        return fault
    listed = ", ".join(names)
    remedy = f"{fault.remedy} Or give gates of its own to each of these, in protect."
    return replace(
        fault, rule=f"{fault.rule}; it holds for every output without gates of its own: {listed}", remedy=remedy
    )


def _gate_faults(params: AnyParams, gates: Mapping[int, Gate]) -> Iterator[Fault]:
    """Yield the faults of gates. A promise that covers every output must also cover whether there is one, so that may
    not depend on the data."""
    spent = mechanism_of(params).spends(params)
    kind = mechanism_of(params).kind
    # Under the relaxations the size of the noise, and so the error to expect, is secret.
    asked: set[str] = set()
    stated = public_measures() if getattr(params, "model", "dp") == "dp" else public_measures() - {"expected_error"}
    for place, gate in gates.items():
        field, got = f"gates.{place}.measure", repr(gate.measure)
        public = gate.measure in public_measures()
        if gate.measure in asked:  # many limits of one measure would bracket its value in a single refusal
            remedy = "A measure has one gate, whatever else is set there: choose one, with min and max in it."
            yield Fault(field, "must not be in two gates", remedy, got)
            continue
        asked.add(gate.measure)
        if spent and gate.measure not in stated:
            rule = "must be public: whether a release appears would otherwise tell about the confidential data"
            remedy = f"Gate on {' or '.join(sorted(stated))}; read the confidential report for the others."
            yield Fault(field, rule, remedy, got)
        elif public and not spent:
            rule = f"needs epsilon to be spent, which these settings of {params.mechanism} do not"
            yield Fault(field, rule, "Choose another measure.", got)
        elif kind not in MEASURES[gate.measure].functions:
            judged = [words.parts for other, words in KINDS.items() if other in MEASURES[gate.measure].functions]
            rule = f"needs {' or '.join(judged)}{KINDS[kind].whole}"
            yield Fault(field, rule, f"Choose one of {', '.join(measure_names(kind))}.", got)


def _suite_faults(params: Mapping[int, AnyParams], suite: object) -> Iterator[Fault]:
    """Yield a fault for a suite where epsilon is spent: it decides on the data whether a release appears. What the
    columns declare is assumed of every data set."""
    if suite is not None and any(mechanism_of(chosen).spends(chosen) for chosen in params.values()):
        rule = (
            "must not be given where epsilon is spent: whether a release appears would tell about the data for nothing"
        )
        yield Fault("validate.suite", rule, "Remove it; declare domains, categories and missing values instead.")


def _format_faults(params: Mapping[int, AnyParams], formats: object) -> Iterator[Fault]:
    for place, chosen in params.items():
        mine = own(chosen, "formats")
        field = "publish.formats" if mine is None else f"protect.{place}.formats"
        for each in _known(formats if mine is None else mine):
            if mechanism_of(chosen).kind not in each.kinds:
                served = " and ".join(KINDS[kind].parts for kind in each.kinds)
                yield Fault(field, f"must not include {each.name}, which is for {served}", "Remove it.", each.name)


def _known(formats: object) -> list[Format]:
    """Return the known formats named in a value that may not even be a list."""
    named = formats if isinstance(formats, list | tuple) else ()
    return [each for name, each in FORMATS.items() if name in named]


def _formula_faults(columns: Mapping[str, Column]) -> Iterator[Fault]:
    """Yield a fault for each text that begins like a formula; every text that a cell can show is declared."""
    remedy = "Rename it, or set publish.spreadsheet: escape."
    for name, column in columns.items():
        if column.role == "identifier":
            continue
        for field, texts in (("", (name,)), (".categories", column.categories), (".taxonomy", column.taxonomy)):
            found = next((text for text in texts or () if isinstance(text, str) and begins_like_a_formula(text)), None)
            if found is not None:
                yield Fault(
                    f"source.columns.{name}{field}",
                    "must not begin like a formula, which a spreadsheet would run",
                    remedy,
                    repr(found),
                )


def _part_faults(part: object, columns: Mapping[str, Column]) -> Iterator[Fault]:
    """Yield the faults of a part. Parts are disjoint if each release reads the records of one category only; the domain
    check sees to that."""
    if isinstance(part, str) and (part not in columns or len(columns[part].categories or ()) != 1):
        remedy = "Declare the column with the one category that this release is about."
        yield Fault("budget.part", "must be a declared column with exactly one category", remedy, repr(part))
    elif isinstance(part, str) and columns[part].missing != "refuse":
        rule = "must be refuse: a record that belongs to no part would be counted in each"
        yield Fault(f"source.columns.{part}.missing", rule, "Complete the data first.", columns[part].missing)
    yield from _single_category_faults(part, columns)


def _exact_total_faults(part: object, params: Mapping[int, AnyParams]) -> Iterator[Fault]:
    """Yield a fault for each table of a part that would publish how many records the part has."""
    for place, chosen in params.items():
        if part is not None and getattr(chosen, "exact_total", False):
            rule = "must not be given for a part: a replaced record may enter another, so its number is not public"
            yield Fault(f"protect.{place}.exact_total", rule, "Remove it, or release the whole data set.", "True")


def _recode_faults(part: object, columns: Mapping[str, Column], params: Mapping[int, AnyParams]) -> Iterator[Fault]:
    """Yield the faults of columns that are made of stored ones."""
    kinds = [chosen for chosen in params.values() if mechanism_of(chosen).kind != "cells"]
    shown = [columns_of(chosen, columns, several=len(params) > 1) for chosen in kinds]
    known = {name: column for name, column in columns.items() if column.role != "identifier"}
    for name, column in known.items():
        if column.recode is None:
            continue
        stored, field = stored_name(name, column), f"source.columns.{name}.recode"
        others = [other for other, each in known.items() if other != name and stored_name(other, each) == stored]
        if name == part:
            rule = "must not be given for the column that tells the parts: they are those of the source"
            yield Fault(field, rule, "Name the stored column in budget.part.")
        elif stored in columns and stored not in known:
            yield Fault(
                f"{field}.of", "must not name an identifier, which is never read", "Name another.", repr(stored)
            )
        elif any(name in released and other in released for released in shown for other in others):
            rule = (
                f"must not be made of what {others[0]} is made of too: together they tell whose values belong together"
            )
            yield Fault(field, rule, "Leave one of the two out, or release a table.")


def _single_category_faults(part: object, columns: Mapping[str, Column]) -> Iterator[Fault]:
    for name, column in columns.items():
        if name != part and len(column.categories or ()) == 1:
            rule = "must be at least two, unless the column says which part of the data set this release is about"
            yield Fault(f"source.columns.{name}.categories", rule, "List every possible category, or set budget.part.")


def _faults_between(raw: object, *, of_release: bool) -> list[Fault]:
    """Return the disagreements between the sections that are valid by themselves."""
    if not isinstance(raw, Mapping):
        return []
    source = _mapping(raw, "source")
    declared = _mapping(source, "columns")
    columns = _valid_parts(TypeAdapter(Column), declared)
    publish = _mapping(raw, "publish")
    part, formats, spreadsheet = _mapping(raw, "budget").get("part"), publish.get("formats"), publish.get("spreadsheet")
    suite = _mapping(raw, "validate").get("suite")
    asked = _places(raw, "protect", MOST_OUTPUTS)
    no_gates = raw.get("gates") is None and not all(isinstance(e, Mapping) and e.get("gates") for e in asked.values())
    missing = [_NO_GATES] if of_release and no_gates else []
    if not columns or len(columns) < len(declared):
        return [*missing, *_single_category_faults(part, columns)]
    params: Mapping[int, AnyParams] = _valid_parts(TypeAdapter(Protection), asked)
    gates = _valid_parts(TypeAdapter(Gate), _places(raw, "gates", MOST_GATES)) or None
    # What outputs are beside each other is known where all of them are.
    acknowledges = _mapping(raw, "budget").get("acknowledges", ()) if len(params) == len(asked) else None
    unit = source.get("unit")
    return [
        *missing,
        *disagreements(unit, columns, params, gates, part, formats, suite, spreadsheet, acknowledges),
    ]


def _faults_of(error: ErrorDetails, known: KnownKeys) -> Iterator[Fault]:
    """Yield field, rule, value and remedy of one pydantic error."""
    kind, value, context = error["type"], error["input"], error.get("ctx", {})
    place = [str(part) for part in error["loc"]]
    if place[:1] == ["protect"]:
        del place[2:3]  # the name of the mechanism, by which its settings were chosen
        if place[2:3] == ["priors"]:
            del place[4:5]  # the kind of the prior
    is_number = False
    if kind != "extra_forbidden":  # otherwise the last part is the key that somebody wrote
        # Unions add their branch to the place; readers do not need it.
        place = [part for part in place if not part.startswith(("tuple[", "function-", "constrained-"))]
        is_number = bool(place) and place[-1] in ("int", "float")
        place = place[:-1] if is_number else place
    field = ".".join(place) or "spec"
    if kind == "faults":
        for fault in context["faults"]:
            yield replace(fault, field=".".join(filter(None, [*place, fault.field])))
        return
    if kind.startswith("union_tag_"):
        got = repr(context["tag"]) if "tag" in context else ""
        if place[:1] == ["protect"] and len(place) > 2:  # a part of the settings that comes in several kinds
            kinds = str(context.get("expected_tags", "")).replace("'", "")
            yield Fault(f"{field}.kind", f"must be one of {kinds}" if kinds else "must be given", "Name the kind.", got)
            return
        fault = Fault(f"{field}.mechanism", f"must be one of {', '.join(MECHANISMS)}", "Name the mechanism.", got)
        yield misspelt(fault, got[1:-1], MECHANISMS)
        return
    if kind == "extra_forbidden":
        near = difflib.get_close_matches(place[-1], known.at(error["loc"][:-1]), 1)
        elsewhere = place[-1] in known.everywhere
        remedy = "It belongs elsewhere in a spec: move it there, or remove it." if elsewhere else "Remove it."
        remedy = f"Did you mean {near[0]}? Otherwise remove it." if near else remedy
        yield Fault(field, "must be a known key", remedy)
        return
    if kind == "missing":
        yield Fault(field, "must be given", "Add it; `penstock schema` describes it.")
        return
    if is_number:
        yield Fault(field, "must be a finite number", "Write a number.", repr(value))
        return
    got = f"{len(value):,}" if kind == "too_long" else str(value) if isinstance(value, Fraction) else repr(value)
    remedy = "Correct it; `penstock schema` describes what is allowed."
    if place[-1:] == ["k"] and value == 0:  # the placeholder in a draft of `penstock init`
        remedy = "Replace the placeholder with the size of the smallest group."
    rule = _rule(kind, context, error["msg"])
    if rule.startswith("must be an exact number in quotes") and isinstance(value, float) and isfinite(value):
        remedy = f'Write "{value}" or "{Fraction(str(value))}".'
    yield Fault(field, rule, remedy, got if len(got) <= 80 else got[:77] + "...")


def _rule(kind: str, context: Mapping[str, Any], message: str) -> str:
    """Return the rule that was broken, with the commonest messages of pydantic in our words."""
    if kind == "literal_error":
        return f"must be {context['expected']}"
    if kind == "greater_than_equal":
        return f"must be at least {context['ge']}"
    if kind == "too_long":
        return f"must list at most {context['max_length']:,}"
    if kind == "greater_than":
        return f"must be above {context['gt']}"
    if kind == "int_type":
        return "must be a whole number"
    if kind == "string_pattern_mismatch":
        return _WRITTEN.get(context["pattern"], as_rule(message))
    if kind in ("tuple_type", "list_type"):
        return "must be a list"
    if kind in ("dict_type", "model_type", "model_attributes_type"):
        return "must hold keys and values"
    return as_rule(message)


def _lies_in(outer: tuple[int | str, ...], inner: tuple[int | str, ...]) -> bool:
    return len(inner) > len(outer) and inner[: len(outer)] == outer


def _mapping(raw: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    part = raw.get(key)
    return part if isinstance(part, Mapping) else {}


def _places(raw: Mapping[str, Any], key: str, most: int) -> dict[int, Any]:
    """Return the items of a list by their place; none if the list is refused for its length."""
    part = raw.get(key)
    return dict(enumerate(part)) if isinstance(part, list | tuple) and len(part) <= most else {}


def _valid_parts(kind: TypeAdapter[_Part], parts: Mapping[Any, Any]) -> dict[Any, _Part]:
    valid: dict[Any, _Part] = {}
    for place, part in parts.items():
        try:
            valid[place] = kind.validate_python(part)
        except ValidationError:
            continue  # the whole spec reports it
    return valid
