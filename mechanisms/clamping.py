"""What is said in public where values may be clamped: that they may be, never whether any was.

A value beyond its bounds counts as the nearest of them, so what is made from such values is pulled towards the bounds.
How far depends on the data, and is secret where a promise is about what can be learnt from them.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.mechanisms.columns import Declared

__all__ = ["advised", "expected", "may_be_clamped", "not_promised"]


def may_be_clamped(declared: Declared, used: Iterable[str], tighter: Iterable[str] = ()) -> tuple[str, ...]:
    """Return those of the used columns whose values may count as a bound.

    tighter: columns with bounds of their own in some cells.
    """
    bounded = set(tighter)
    return tuple(name for name in dict.fromkeys(used) if declared[name].outside == "clamp" or name in bounded)


def not_promised(columns: tuple[str, ...], pulled: str) -> tuple[str, ...]:
    """Return what the promise leaves out because of clamping; pulled: what is made from the values."""
    if not columns:
        return ()
    return (
        f"{pulled} of {', '.join(columns)} as collected: a value beyond its bounds counts as the nearest of them, so "
        "they are pulled towards the bounds; whether and how far is not stated, because it depends on the data",
    )


def advised(columns: tuple[str, ...], declared: Declared, pulled: str, *, errors: bool) -> tuple[str, ...]:
    """Return advice on clamping for readers; errors: whether standard errors are published."""
    if not columns:
        return ()
    cover = " Standard errors do not cover it." if errors else ""
    return (
        f"A value of {_bounded(columns, declared)} beyond its bounds counts as the nearest of them, so {pulled} are "
        "pulled towards the bounds. Whether any was, and how far, is not stated, because it depends on the data."
        + cover,
    )


def expected(columns: tuple[str, ...], declared: Declared, pulled: str) -> tuple[str, ...]:
    """Return what the person who chooses the settings should expect of clamping."""
    if not columns:
        return ()
    return (
        f"A value of {_bounded(columns, declared)} beyond its bounds counts as the nearest of them, so {pulled} are "
        "pulled towards the bounds. No error stated here has that in it; the confidential report will. Choose bounds "
        "that few values leave.",
    )


def _bounded(columns: tuple[str, ...], declared: Declared) -> str:
    """Return the columns with their domains; those of single cells are parameters of the promise."""
    domains = ((name, declared[name].domain or declared[name].bounds) for name in columns)
    return ", ".join(f"{name} ({low:,.15g} to {high:,.15g})" for name, (low, high) in domains)
