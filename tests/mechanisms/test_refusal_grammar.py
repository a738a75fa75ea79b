"""Every refusal of the product keeps one grammar: `FIELD refused: RULE, got VALUE. REMEDY`.

Rules are collected from the source: where a rule is a name, from what is assigned to it in its function; where a
function only passes a rule on, from its callers. What comes from elsewhere is listed here with its reason.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from penstock.mechanisms.numbers.exact import readable
from penstock.mechanisms.refusal import Fault, as_rule

ROOT = Path(__file__).parents[2]
ROOMS = ("mechanisms", "measures", "flows", "records", "api", "tasks", "reports", "reproduction")
RULE = re.compile(r"((line|variable) \S+: )?(must|needs|cannot)\b")

# Functions that make a refusal of a rule that they are given: the place of the rule among their arguments.
MAKERS = {
    "Fault": 1,
    "fault": 1,
    "_fault": 1,
    "_impossible": 1,
    "_not_together": 1,
    "OutsideWrong": 0,
    "NotACondition": 0,
}
MAKERS_BY_FILE = {
    "mechanisms/columns.py": {"refuse": 1},
    "records/ledger/accounts.py": {"where": 1},
    "records/ledger/_transactions.py": {"where": 1},
    "flows/spec/_argus_hierarchy.py": {"_refuse": 0},
    "flows/spec/_arx_hierarchy.py": {"_refuse": 0},
    "flows/spec/_taxonomies.py": {"_refuse": 0},
    "records/files/outside_text.py": {"_refuse": 0},
    "records/ledger/limits.py": {"_refused": 1},
    "records/store/database.py": {"_refused": 0},
    "records/store/migrations/__init__.py": {"_refused": 0},
    "api/server/_child_process.py": {"_refused": 0},
    "tasks/importers/_ddi.py": {"_refuse": 0},
    "tasks/importers/_r_call.py": {"_refuse": 0},
    "tasks/importers/_sdcmicro.py": {"_refuse": 1},
}
# Passed on from another fault, or made by a function of GIVERS.
PASSED_ON = {
    "each.rule",
    "fault.rule",
    "wrong.rule",
    "found[-1].rule",
    "str(reason)",
    "_KINDS[setting]",
    "_completeness(column)",
    "_domain_rule(column)",
    "as_rule(message)",
    "as_rule(found['msg'])",
    "as_rule(each['msg'])",
    "_rule(kind, context, error['msg'])",
}
# Functions and tables that give rules to the makers.
GIVERS = {
    "flows/spec/_faults.py": ("_rule",),
    "tasks/files/source.py": ("_completeness", "_domain_rule"),
    "tasks/validation/_suite_settings.py": ("_TEXT", "_NUMBER", "_SWITCH", "_BOUND", "_TEXTS", "_VALUES", "_PAIRS"),
    "tasks/verification/bundle.py": ("_broken",),
    "tasks/outputs/_cell_claims.py": ("table_faults",),
    "tasks/formats/published.py": ("form_faults",),
    "tasks/outputs/_group_claims.py": ("_compared",),
    "records/bundle/statement.py": ("MISSING", "_TOO_LARGE"),
    "flows/forms/table.py": ("_ELSEWHERE",),
}


def _is_reading(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


class _Rules:
    """The rules of one file, as far as they can be read."""

    def __init__(self, path: Path) -> None:
        self.file = str(path.relative_to(ROOT))
        self.tree = ast.parse(path.read_text(encoding="utf-8"))
        self.makers = {**MAKERS, **MAKERS_BY_FILE.get(self.file, {})}

    def __iter__(self) -> Iterator[tuple[str, str]]:
        for function in [node for node in ast.walk(self.tree) if _is_reading(node)]:
            for call in [node for node in ast.walk(function) if isinstance(node, ast.Call)]:
                rule = self._rule_of(call)
                for text in [] if rule is None else self._texts(rule, function):
                    yield f"{self.file}:{call.lineno}", text

    def _rule_of(self, call: ast.Call) -> ast.expr | None:
        name = getattr(call.func, "id", getattr(call.func, "attr", ""))
        named = {keyword.arg: keyword.value for keyword in call.keywords}
        if name == "at" and "remedy" in named:
            return named.get("rule")
        if name not in self.makers:
            return None
        place = self.makers[name]
        return named.get("rule", call.args[place] if len(call.args) > place else None)

    def _texts(self, rule: ast.expr, function: ast.AST) -> Iterator[str]:
        if isinstance(rule, ast.Constant):
            yield str(rule.value)
        elif isinstance(rule, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in rule.values)
        elif isinstance(rule, ast.IfExp):
            yield from self._texts(rule.body, function)
            yield from self._texts(rule.orelse, function)
        elif isinstance(rule, ast.BinOp):
            yield from self._texts(rule.left, function)
        elif isinstance(rule, ast.Starred):
            yield from self._texts(rule.value, function)
        elif isinstance(rule, ast.Name):
            yield from self._assigned(rule.id, function)
        elif ast.unparse(rule) not in PASSED_ON:
            yield f"cannot be read: {ast.unparse(rule)}".replace("cannot", "a rule that cannot", 1)

    def _assigned(self, name: str, function: ast.AST) -> Iterator[str]:
        found = False
        for node in [*ast.walk(function), *self.tree.body]:
            if not isinstance(node, ast.Assign):
                continue
            for target in node.targets:
                if isinstance(target, ast.Name) and target.id == name:
                    found = True
                    yield from self._texts(node.value, function)
                elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    for part, value in zip(target.elts, node.value.elts, strict=True):
                        if isinstance(part, ast.Name) and part.id == name:
                            found = True
                            yield from self._texts(value, function)
        parameters = {each.arg for node in ast.walk(function) if _is_reading(node) for each in node.args.args}
        if not found and name not in parameters and name not in {"rule", "said", "MISSING", "_TOO_LARGE"}:
            yield f"a rule of unknown origin: {name}"


def _all_rules() -> list[tuple[str, str]]:
    files = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
    return [found for path in files for found in _Rules(path)]


def test_every_rule_says_what_must_hold() -> None:
    found = _all_rules()
    assert len(found) > 500, "the rules are not found any more"
    wrong = sorted({f"{place} {text}" for place, text in found if not RULE.match(text)})
    assert not wrong, "\n".join(wrong)


def _sentences(node: ast.AST) -> Iterator[str]:
    """Return every text of several words that is not a part of another, a remedy or a docstring."""
    inside = {id(part) for text in ast.walk(node) if isinstance(text, ast.JoinedStr) for part in ast.walk(text)}
    for text in ast.walk(node):
        if isinstance(text, ast.JoinedStr):
            found = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in text.values)
        elif isinstance(text, ast.Constant) and isinstance(text.value, str) and id(text) not in inside:
            found = text.value
        else:
            continue
        if (found.count(" ") > 1 or found.startswith("must ")) and not found.endswith("."):
            yield found


@pytest.mark.parametrize(("file", "name"), [(file, name) for file, names in GIVERS.items() for name in names])
def test_rules_that_are_passed_on_say_what_must_hold(file: str, name: str) -> None:
    body = ast.parse((ROOT / file).read_text(encoding="utf-8")).body
    found = [
        node
        for node in body
        if getattr(node, "name", "") == name
        or name in {getattr(each, "id", "") for each in [*getattr(node, "targets", []), getattr(node, "target", None)]}
    ]
    assert len(found) == 1, f"{name} is no longer in {file} any more"
    texts = [text for text in _sentences(found[0]) if "\n" not in text]
    assert texts, f"{name} holds no rule any more"
    assert [text for text in texts if not RULE.match(text)] == []


def test_rules_say_what_was_got_once_and_end_without_a_full_stop() -> None:
    wrong = [f"{place} {text}" for place, text in _all_rules() if ", got " in text or text.rstrip().endswith(".")]
    assert not wrong, "\n".join(wrong)


def _remedies() -> Iterator[tuple[str, str]]:
    for path in sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py")):
        for call in [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]:
            name = getattr(call.func, "id", getattr(call.func, "attr", ""))
            named = {keyword.arg: keyword.value for keyword in call.keywords}
            given = named.get("remedy", call.args[2] if name == "Fault" and len(call.args) > 2 else None)
            if isinstance(given, ast.Constant) and given.value:
                yield f"{path.relative_to(ROOT)}:{call.lineno}", str(given.value)


def test_every_remedy_is_a_sentence() -> None:
    found = list(_remedies())
    assert len(found) > 200, "the remedies are not found any more"
    no_action = ("Nothing ", "It ", "The ", "There ", "A ", "An ", "Other ")
    wrong = [
        f"{place} {text}" for place, text in found if text.startswith(no_action) or not re.match(r"[A-Z`\"]", text)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("message", "rule"),
    [
        ("Input should be a valid list", "must be a valid list"),
        ("Input should be greater than 0", "must be greater than 0"),
        ("String should match pattern '^a$'", "must match pattern '^a$'"),
        ("must be above 0", "must be above 0"),
        ("Tuple should have at least 1 item after validation, not 0", "must have at least 1 item"),
        ("none is not an allowed value", "must be valid: none is not an allowed value"),
    ],
)
def test_a_message_of_another_library_becomes_a_rule(message: str, rule: str) -> None:
    assert as_rule(message) == rule
    assert RULE.match(as_rule(message))


def test_a_fault_is_written_in_the_grammar() -> None:
    fault = Fault("rounding.base", "must be at least 2", "Set it in the deployment file.", "1")
    assert str(fault) == "rounding.base refused: must be at least 2, got 1. Set it in the deployment file."


@pytest.mark.parametrize(
    ("number", "shown"),
    [("2", "2"), ("3/2", "3/2"), ("2718281828459/1000000000000", "2.71828"), ("0.123456", "1929/15625")],
)
def test_long_fractions_are_shown_as_decimals(number: str, shown: str) -> None:
    assert readable(Fraction(number)) == shown
