"""What a setting of an expectation may be: a value of the known kind and nothing that could be run or filled in.

A setting that is not listed here is refused, so that a new one of Great Expectations is looked at before it is used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from penstock.mechanisms.refusal import Fault
from penstock.tasks.validation._row_conditions import NotACondition, row_condition

__all__ = ["pattern_faults", "quantile_faults", "setting_faults"]

_LONGEST_TEXT = 1000
_LONGEST_LIST = 65_536
_MOST_QUANTILES = 1000  # of a suite: each is sought by itself, in milliseconds
_MOST_PATTERNS = 200  # of a suite: each is compiled, and matched with every value
# RE2 writes a repetition out, in time that can grow with the square of the result: for 20,000, less than a second.
_MOST_UNFOLDED = 20_000
_REPETITION = re.compile(r"\{([0-9]{1,4})(,?)([0-9]{0,4})\}")  # RE2 refuses more than 1000
_BY_NAME = re.compile(r"\\p", re.IGNORECASE)
_A_NAMED_CLASS = 200  # counts as this many letters: \pL takes as long to compile
# The regular expression of a format is Python's own, and backtracks where its parts touch: a millisecond for ten.
_MOST_PARTS = 10
_COMPARISON = '{"type": "comparison", "column": {"name": "age"}, "operator": "<", "parameter": 16}'


def setting_faults(field: str, setting: str, value: object) -> Iterator[Fault]:
    """Yield what is wrong with the shape of one setting."""
    if setting not in _KINDS:
        yield Fault(field, "must not be given here", "Remove it.")
        return
    fits, rule, remedy = _KINDS[setting]
    if setting == "row_condition":
        try:
            row_condition(value)
        except NotACondition as reason:
            yield Fault(field, str(reason), remedy)
    elif isinstance(value, dict) and "$PARAMETER" in value:
        yield Fault(field, "must be a value; parameters are not filled in", "Write the value.")
    elif not fits(value):
        yield Fault(field, rule, remedy)


def pattern_faults(expectations: Sequence[Mapping[str, Mapping[str, object]]]) -> list[Fault]:
    """Return what is wrong with all patterns of a suite together, found without compiling one."""
    settings = [expectation["kwargs"] for expectation in expectations]
    patterns = [setting["regex"] for setting in settings if "regex" in setting]
    for setting in settings:
        several = setting.get("regex_list")
        patterns += several if isinstance(several, list) else []
    if len(patterns) > _MOST_PATTERNS:
        rule = f"must hold at most {_MOST_PATTERNS} patterns in all"
        return [Fault("validate.suite", rule, "Keep those that matter.", str(len(patterns)))]
    size = sum(_unfolded(pattern) for pattern in patterns if isinstance(pattern, str))
    if size > _MOST_UNFOLDED:
        rule = f"must have patterns of at most {_MOST_UNFOLDED:,} characters in all, with repetitions written out"
        return [Fault("validate.suite", rule, "Repeat less, or use * and +.", f"{size:,}")]
    return []


def quantile_faults(expectations: Sequence[Mapping[str, Mapping[str, object]]]) -> list[Fault]:
    """Return what is wrong with all quantiles of a suite together."""
    asked = [expectation["kwargs"].get("quantile_ranges") for expectation in expectations]
    listed = sum(
        max((len(part) for part in ranges.values() if isinstance(part, list)), default=0)
        for ranges in asked
        if isinstance(ranges, dict)
    )
    if listed <= _MOST_QUANTILES:
        return []
    rule = f"must hold at most {_MOST_QUANTILES:,} quantiles in all"
    return [Fault("validate.suite", rule, "Keep those that matter.", f"{listed:,}")]


def _unfolded(pattern: str) -> int:
    """Return at least the length of a pattern whose repetitions are written out.

    The beginnings of groups are not looked for: what repeats a group counts as repeating everything before it.
    """
    size = end = 0
    for found in _REPETITION.finditer(pattern):
        times = max(1, int(found[1]) + len(found[2]), int(found[3] or 0))
        piece = pattern[end : found.start()]
        size += _length(piece)
        if piece[-1:] in (")", "}", "*", "+", "?", ""):
            size *= times
        else:
            size += times * (_length(piece) if piece.endswith("]") else _length(piece[-3:]) - len(piece[-3:]) + 1)
        end = found.end()
    return size + _length(pattern[end:])


def _length(piece: str) -> int:
    return len(piece) + _A_NAMED_CLASS * len(_BY_NAME.findall(piece))


def _is_text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST_TEXT


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_scalar(value: object) -> bool:
    return isinstance(value, int | float) or _is_text(value)  # a bool is an int


def _is_list_of(value: object, fits: Callable[[object], bool]) -> bool:
    return isinstance(value, list) and len(value) <= _LONGEST_LIST and all(map(fits, value))


def _is_pair(value: object, fits: Callable[[object], bool]) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(fits, value))


def _is_number_or_nothing(value: object) -> bool:
    return value is None or _is_number(value)


def _is_pattern(value: object) -> bool:
    """Return whether RE2 reads the pattern: it matches in time proportional to the text, whatever both are."""
    if not isinstance(value, str) or len(value) > _LONGEST_TEXT:
        return False
    import pyarrow as pa
    import pyarrow.compute as pc  # and pandas with it, which a suite without patterns need not wait for

    try:
        pc.match_substring_regex(pa.array([""]), value)
    except (pa.ArrowInvalid, UnicodeEncodeError):
        return False
    return True


def _is_format(value: object) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST_TEXT and value.count("%") <= _MOST_PARTS


def _are_ranges(value: object) -> bool:
    return (
        isinstance(value, dict)
        and set(value) == {"quantiles", "value_ranges"}
        and _is_list_of(value["quantiles"], _is_number)
        and _is_list_of(value["value_ranges"], lambda pair: _is_pair(pair, _is_number_or_nothing))
    )


_Kind = tuple[Callable[[object], bool], str, str]
_TEXT: _Kind = (_is_text, f"must be text of at most {_LONGEST_TEXT} characters", "Write the text.")
_NUMBER: _Kind = (_is_number, "must be a number", "Write the number.")
_SWITCH: _Kind = (lambda value: isinstance(value, bool), "must be true or false", "Write one of them.")
_BOUND: _Kind = (lambda value: value is None or _is_scalar(value), "must be a number or a text", "Write the value.")
_TEXTS: _Kind = (lambda value: _is_list_of(value, _is_text), "must be a list of texts", "Write the list.")
_VALUES: _Kind = (lambda value: _is_list_of(value, _is_scalar), "must be a list of numbers or texts", "Write the list.")
_PAIRS: _Kind = (
    lambda value: _is_list_of(value, lambda pair: _is_pair(pair, _is_scalar)),
    "must be a list of pairs of numbers or texts",
    "Write the list.",
)
_RULE = "must be a regular expression without look-around and references to groups"
_SHORTER = "Write it in the language of RE2."
_PATTERN: _Kind = (_is_pattern, _RULE, _SHORTER)
_PATTERNS: _Kind = (
    lambda value: _is_list_of(value, _is_pattern),
    "must be a list of regular expressions without look-around and references to groups",
    _SHORTER,
)
_FORMAT: _Kind = (_is_format, f"must be a format of at most {_MOST_PARTS} parts (%)", "Shorten it.")
_RANGES: _Kind = (_are_ranges, "must be quantiles and value_ranges, as lists of numbers and pairs", "Write the lists.")

_METHOD: _Kind = (
    lambda value: isinstance(value, bool) or _is_text(value),
    "must be false, or a method by its name",
    "Remove it.",
)
_CONDITION: _Kind = (lambda _: True, "", f"Write an object such as {_COMPARISON}.")  # judged by itself

_KINDS: Mapping[str, _Kind] = {
    "row_condition": _CONDITION,
    "value_set": _VALUES,
    "value_pairs_set": _PAIRS,
    "regex": _PATTERN,
    "regex_list": _PATTERNS,
    "quantile_ranges": _RANGES,
    "allow_relative_error": _METHOD,
    "double_sided": _SWITCH,
    **dict.fromkeys(("column", "column_A", "column_B", "ignore_row_if", "match_on", "method"), _TEXT),
    "type_": _TEXT,
    "strftime_format": _FORMAT,
    **dict.fromkeys(("column_list", "column_set", "type_list"), _TEXTS),
    **dict.fromkeys(("min_value", "max_value"), _BOUND),
    **dict.fromkeys(("mostly", "sum_total", "value", "threshold", "multiplier", "column_index"), _NUMBER),
    **dict.fromkeys(("strict_min", "strict_max", "strictly", "ties_okay", "or_equal", "exact_match"), _SWITCH),
}
