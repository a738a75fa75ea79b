"""The plan of a question and its answer, as `penstock ask` and `penstock verify` show them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from penstock.cli._screen import Screen, console, shown, table_of
from penstock.mechanisms.numbers.rounded import answer_text, exact_text, figure_text

__all__ = ["show_answer", "show_plan", "show_published"]

_PLANNED = ("method", "model", "standard error", "95 % within", "costs", "then left", "and to you")


def show_plan(screen: Screen, planned: Mapping[str, Any]) -> None:
    """Show a table of the methods that could answer, and why the others cannot."""
    if screen.as_json:
        screen.show("", {name: value for name, value in planned.items() if name != "picture"})
        return
    out = console()
    wanted = "" if planned["wanted"] is None else f", {planned['wanted']}"
    out.print(f"[bold]{shown(planned['query'])}[/bold]{shown(wanted)}\n")
    methods = planned["methods"]
    if methods:
        table = table_of(*_PLANNED, right=_PLANNED[2:])
        for each in methods:
            bound = "≤ " if each["is_upper_bound"] else "~ " if each["is_typical"] else ""
            table.add_row(
                each["method"],
                each["model"],
                _figure(each["standard_error"], before=bound),
                _figure(each["half_width"], before=bound),
                exact_text(each["epsilon"]),
                exact_text(each["left"] or "–"),
                exact_text(each["left_to_analyst"] or "–"),
            )
        out.print(table)
        out.print()
    else:
        out.print("No method can answer this as asked:")
    by_all = _of_all([each["expect"] for each in methods])
    for each in methods:
        for sentence in each["expect"]:
            if sentence not in by_all:
                out.print(f"  {each['method']}: {shown(sentence)}")
    for sentence in by_all:
        out.print(f"  {shown(sentence)}")
    for name, why in planned["cannot"].items():
        out.print(f"  [yellow]not {shown(name)}[/yellow]: {shown(why)}")
    if any(each["is_upper_bound"] for each in methods):
        out.print("  ≤: the worst case; the size of the noise follows the data and is secret.")
    if any(each["is_typical"] for each in methods):
        out.print("  ~: if the data are as the sentence of that method supposes.")
    if any(None in (each["left"], each["left_to_analyst"]) for each in methods):
        out.print(f"  –: {planned['nothing_left']}.")
    out.print("Nothing was spent, and no row was read.")


def show_answer(screen: Screen, answer: Mapping[str, Any]) -> None:
    """Show the answer, how far it may stray, its promise, and what is left."""
    if screen.as_json:
        screen.show("", answer)
        return
    spent = "asked before: nothing was spent" if answer["repeated"] else f"epsilon {exact_text(answer['epsilon'])}"
    left, to_you = exact_text(answer["left"]), exact_text(answer["left_to_analyst"])
    _show(
        answer,
        ("cost", spent),
        ("left", f"{left} of the account, {to_you} to you"),
        ("promise", answer["promise"]),
        ("published", answer["path"] or ""),
    )


def show_published(answer: Mapping[str, Any]) -> None:
    """Show a published answer, once it was checked."""
    edition = "" if answer["edition"] is None else f", edition {answer['edition']}"
    _show(
        answer,
        ("epsilon", exact_text(answer["epsilon"])),
        ("promise", answer["promise"]),
        ("data", f"{answer['name']}{edition}"),
    )
    console().print()


def _show(answer: Mapping[str, Any], *facts: tuple[str, str]) -> None:
    """Show question, values by group, expected error and method; then these facts."""
    out = console()
    out.print(f"[bold]{shown(answer['query'])}[/bold]")
    errors = answer["errors"]
    table = table_of("group", "answer", *(("standard error",) if errors else ()), right=("answer", "standard error"))
    texts = {
        group: answer_text(value, errors[group] if errors else answer["standard_error"])
        for group, value in answer["values"].items()
    }
    for group, text in texts.items():
        table.add_row(shown(group), shown(text), *((_figure(errors[group]),) if errors else ()))
    if list(texts) == [""]:
        out.print(f"  [bold green]{shown(texts[''])}[/bold green]")
    else:
        out.print(table)
    for label, value in (*_expected(answer), ("method", f"{answer['method']}, {answer['model']}"), *facts):
        if value:
            out.print(f"  {label:16}{shown(value)}")


def _expected(answer: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what is known of the error of an answer, with the label that stands before it."""
    errors = answer["errors"]
    if errors:
        only = f"standard error about {_figure(errors[''])}, " if list(errors) == [""] else "as above, "
        yield "expected error", f"{only}from the noisy number of records that take part"
        yield from (("", sentence) for sentence in answer["expect"])
        return
    error = "" if answer["standard_error"] is None else f"standard error {_figure(answer['standard_error'])}"
    near = "" if answer["half_width"] is None else f"95 % within ± {_figure(answer['half_width'])}"
    bound = ", at most" if answer["is_upper_bound"] else ", supposing what follows" if answer["is_typical"] else ""
    yield "expected error", ", ".join(filter(None, (error, near))) + bound if error or near else "as follows"
    for sentence in answer["expect"]:
        yield "", sentence


def _of_all(told: Sequence[Sequence[str]]) -> list[str]:
    """Return what several methods tell alike, to be shown once; the first sentence of each is about its own error."""
    if len(told) < 2:
        return []
    return [sentence for sentence in told[0][1:] if all(sentence in each[1:] for each in told)]


def _figure(value: float | None, before: str = "") -> str:
    return "not known" if value is None else before + figure_text(value)
