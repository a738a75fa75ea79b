"""What the promises of several outputs say alike is said once, and by each output only the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.models import ADDS_UP, MODELS
from penstock.reports.page_facts import PublicReport
from penstock.reports.table_sheet import TableSheet
from penstock.reports.words import flat, number

__all__ = ["PromiseParts", "common", "lines_of", "without"]

Lines = Sequence[tuple[str, str]]
Said = TypeVar("Said")


@dataclass(frozen=True, slots=True, kw_only=True)
class PromiseParts:
    """What is said of one output, or of all. lines: parameters, each with its value as text. guide: a table that shows
    how all are to be read, and whether they have noise; None where they are read differently."""

    statement: str = ""
    lines: Lines = ()
    assumptions: Sequence[str] = ()
    not_promised: Sequence[str] = ()
    public: Sequence[str] = ()
    usage: Sequence[str] = ()
    guide: tuple[TableSheet, bool] | None = None


def lines_of(guarantee: Guarantee) -> Lines:
    """Return the parameters of a promise in words."""
    compared = guarantee.compared
    named = compared if compared == guarantee.adjacency else f"{compared} ({guarantee.adjacency})"
    return [
        ("model", MODELS[guarantee.model].title),
        *((name, number(value)) for name, value in flat(guarantee.parameters)),
        ("neighbouring data sets", named),
        ("who is protected", "each record" if guarantee.unit == "row" else "each individual, with all their records"),
    ]


def common(outputs: Sequence[PublicReport]) -> PromiseParts:
    """Return what is said of every one of several outputs; nothing where there is one."""
    if len(outputs) < 2:
        return PromiseParts()
    statements = {each.guarantee.statement for each in outputs}
    return PromiseParts(
        statement=statements.pop() if len(statements) == 1 else "",
        lines=_in_all(outputs, lambda each: lines_of(each.guarantee)),
        assumptions=_in_all(outputs, lambda each: each.guarantee.assumptions),
        not_promised=_in_all(outputs, lambda each: each.guarantee.not_promised),
        public=_in_all(outputs, lambda each: each.guarantee.public),
        usage=_in_all(outputs, lambda each: each.usage),
        guide=_guide(outputs),
    )


def without(report: PublicReport, said: PromiseParts) -> PromiseParts:
    """Return what is left to say of an output."""
    own = report.guarantee
    return PromiseParts(
        statement="" if own.statement == said.statement else own.statement,
        lines=_rest(lines_of(own), said.lines),
        assumptions=_rest(own.assumptions, said.assumptions),
        not_promised=_rest(own.not_promised, said.not_promised),
        public=_rest(own.public, said.public),
        usage=_rest(report.usage, said.usage),
    )


def _in_all(outputs: Sequence[PublicReport], told: Callable[[PublicReport], Iterable[Said]]) -> list[Said]:
    every = [list(told(each)) for each in outputs]
    return [said for said in every[0] if all(said in each for each in every)]


def _rest(told: Iterable[Said], said: Iterable[Said]) -> list[Said]:
    gone = list(said)
    return [each for each in told if each not in gone]


def _guide(outputs: Sequence[PublicReport]) -> tuple[TableSheet, bool] | None:
    """Return one of the tables, if all of them are read alike, and whether they have noise."""
    tables = [(table, each.guarantee.model in ADDS_UP) for each in outputs for table in each.tables.values()]
    kinds = {(table.errors, any(table.sampled), noisy) for table, noisy in tables}
    return tables[0] if len(kinds) == 1 else None
