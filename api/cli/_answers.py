"""What `penstock ask` shows: the plan of a question, and its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.cli._screen import Screen, console, shown, table_of

__all__ = ["show_answer", "show_plan"]

_PLANNED = ("method", "model", "standard error", "95 % within", "costs", "then left", "and to you")


def show_plan(screen: Screen, planned: Mapping[str, Any]) -> None:
    """Show a table of the methods that could answer, and why the others cannot."""
    if screen.as_json:
        screen.show("", {name: value for name, value in planned.items() if name != "picture"})
        return
    out = console()
    out.print(f"[bold]{shown(planned['query'])}[/bold]\n")
    table = table_of(*_PLANNED, right=_PLANNED[2:])
    for each in planned["methods"]:
        bound = "≤ " if each["is_upper_bound"] else "~ " if each["is_typical"] else ""
        table.add_row(
            each["method"],
            each["model"],
            _figure(each["standard_error"], before=bound),
            _figure(each["half_width"], before=bound),
            each["epsilon"],
            each["left"] or "–",
            each["left_to_analyst"] or "–",
        )
    out.print(table)
    out.print()
    by_all = _of_all([each["expect"] for each in planned["methods"]])
    for each in planned["methods"]:
        for sentence in each["expect"]:
            if sentence not in by_all:
                out.print(f"  {each['method']}: {shown(sentence)}")
    for sentence in by_all:
        out.print(f"  {shown(sentence)}")
    for name, why in planned["cannot"].items():
        out.print(f"  [yellow]not {shown(name)}[/yellow]: {shown(why)}")
    if any(each["is_upper_bound"] for each in planned["methods"]):
        out.print("  ≤: the worst case; the size of the noise follows the data and is secret.")
    if any(each["is_typical"] for each in planned["methods"]):
        out.print("  ~: if the data are as the sentence of that method supposes.")
    if any(each["left_to_analyst"] is None for each in planned["methods"]):
        out.print("  –: there is no account, or too little is left of it.")
    out.print("Nothing was spent, and no row was read.")


def show_answer(screen: Screen, answer: Mapping[str, Any]) -> None:
    """Show the answer, how far it may stray, its promise, and what is left."""
    if screen.as_json:
        screen.show("", answer)
        return
    out = console()
    out.print(f"[bold]{shown(answer['query'])}[/bold]")
    error = "" if answer["standard_error"] is None else f"standard error {_figure(answer['standard_error'])}"
    near = "" if answer["half_width"] is None else f"95 % within ± {_figure(answer['half_width'])}"
    bound = ", at most" if answer["is_upper_bound"] else ", supposing what follows" if answer["is_typical"] else ""
    errors = answer["errors"]
    table = table_of("group", "answer", *(("standard error",) if errors else ()), right=("answer", "standard error"))
    for group, value in answer["values"].items():
        table.add_row(shown(group), shown(_value(value)), *((_figure(errors[group]),) if errors else ()))
    if list(answer["values"]) == [""]:
        out.print(f"  [bold green]{shown(_value(answer['values']['']))}[/bold green]")
    else:
        out.print(table)
    spent = "asked before: nothing was spent" if answer["repeated"] else f"epsilon {answer['epsilon']}"
    expected = ", ".join(filter(None, (error, near))) + bound if error or near else "as follows"
    if errors:
        only = f"standard error about {_figure(errors[''])}, " if list(errors) == [""] else "as above, "
        expected = f"{only}from the noisy number of records that take part"
    for label, value in (
        ("expected error", expected),
        *(("", sentence) for sentence in answer["expect"]),
        ("method", f"{answer['method']}, {answer['model']}"),
        ("cost", spent),
        ("left", f"{answer['left']} of the account, {answer['left_to_analyst']} to you"),
        ("promise", answer["promise"]),
        ("published", answer["path"] or ""),
    ):
        if value:
            out.print(f"  {label:16}{shown(value)}")


def _of_all(told: Sequence[Sequence[str]]) -> list[str]:
    """Return what several methods tell alike, to be shown once; the first sentence of each is about its own error."""
    if len(told) < 2:
        return []
    return [sentence for sentence in told[0][1:] if all(sentence in each[1:] for each in told)]


def _figure(value: float | None, before: str = "") -> str:
    return "not known" if value is None else f"{before}{value:,.4g}"


def _value(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,}" if isinstance(value, int) else f"{value:,.10g}"
