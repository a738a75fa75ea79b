"""The plan of a release, as `penstock plan` shows it: of one output, or of several under what they share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from penstock.cli._screen import Screen, console, shown

__all__ = ["show_planned"]

# The lists of a promise that are shown, each with its title.
_OF_A_PROMISE = {"assumptions": "Assumes", "not_promised": "Does not promise", "secret": "Stays secret"}


def show_planned(screen: Screen, planned: Mapping[str, Any]) -> None:
    """Show the plan as paragraphs, or as one document."""
    if screen.as_json:
        screen.show("", planned)
        return
    out = console()
    edition = f", {planned['edition']}" if "edition" in planned else ""
    out.print(f"[bold]{shown(planned['name'])}[/bold]{shown(edition)}\n")
    if "outputs" not in planned:
        promise = planned["guarantee"]
        _paragraph("Promise", [promise["statement"]])
        for key, title in _OF_A_PROMISE.items():
            _paragraph(title, promise[key])
        _paragraph("To expect", planned["expect"])
        _paragraph("Validation", planned["validation"])
        _paragraph("Gates", planned["gates"])
    else:
        _show_outputs(planned)
        _paragraph("Validation", planned["validation"])
    _paragraph("Cost", planned["cost"])
    _paragraph("Review", planned["review"])
    earlier = planned.get("earlier_editions", ())
    if earlier:
        told = (f"{each['edition']}: published on {each['date']} as {each['release']}" for each in earlier)
        _paragraph("Earlier editions", told)
    for refusal in planned.get("refusals", ()):
        faults = [f"{each['field']}: {_rule(each)}. {each['remedy']}" for each in refusal["faults"]]
        _paragraph(f"A run would be refused ({refusal['code']})", [*faults, f"See docs/refusals.md#{refusal['code']}"])


def _rule(fault: Mapping[str, str]) -> str:
    return fault["rule"] + (f", got {fault['got']}" if fault["got"] else "")


def _show_outputs(planned: Mapping[str, Any]) -> None:
    """Show what the outputs are and promise together, then each by itself. What several say is shown once, under their
    names."""
    outputs = planned["outputs"]
    _paragraph("Outputs", [_in_short(each) for each in outputs])
    _paragraph("Of one cell", _at_a_glance(outputs))
    _paragraph("Promised together", planned["together"]["in_words"])
    for key, title in _OF_A_PROMISE.items():
        shared = [(said, names) for said, names in _said_by(outputs, key).items() if len(names) > 1]
        every = [f"every output: {said}" for said, names in shared if len(names) == len(outputs)]
        some = [f"{', '.join(names)}: {said}" for said, names in shared if len(names) < len(outputs)]
        _paragraph(title, [*every, *some])
    _paragraph("To expect", planned["expect"])
    for place, each in enumerate(outputs, start=1):
        console().print(f"[bold]Output {place} of {len(outputs)}: {shown(each['name'])}[/bold]\n")
        _paragraph("Promise", [each["guarantee"]["statement"]])
        for key, title in _OF_A_PROMISE.items():
            said_by = _said_by(outputs, key)
            _paragraph(title, [said for said in each["guarantee"][key] if len(said_by[said]) == 1])
        _paragraph("To expect", each["expect"])
        _paragraph("Gates", each["gates"])


def _in_short(output: Mapping[str, Any]) -> str:
    refused = "; left out if it is refused" if output["may_be_left_out"] else ""
    return f"{output['name']}: {output['mechanism']}; {output['promise']}{refused}"


def _at_a_glance(outputs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what outputs state before they are made, in columns: cells, epsilon, largest standard errors. Of figures
    whose error differs from cell to cell, the section of the output says more."""
    rows = [("output", "cells", "epsilon", "standard error at most")]
    for each in outputs:
        settled = each["settled"] or {}
        errors = {name: facts.get("standard_error") for name, facts in settled.get("figures", {}).items()}
        told = [f"{name} {_figure(error)}" for name, error in errors.items() if error is not None]
        told += [f"{name}: see below" for name in _more_figures(each) if name not in errors]
        cells = settled.get("cells", settled.get("groups"))
        if told and cells is not None:
            rows.append((each["name"], f"{cells:,}", settled.get("epsilon", ""), ", ".join(told)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [] if len(rows) == 1 else ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def _more_figures(output: Mapping[str, Any]) -> list[str]:
    """Return the figures of an output with noise whose errors may differ from cell to cell."""
    settled, promise = output["settled"], output["guarantee"]["parameters"]
    if not settled or not {"epsilon", "table"} <= settled.keys():
        return []
    secret = () if "figures" in settled else settled["measured"][0].get("measures", ())
    of_statistics = [each["figure"] for each in settled["measured"] if "figure" in each]
    return [*of_statistics, *secret, *(f"mean of {name}" for name in promise.get("means", ()))]


def _figure(error: float) -> str:
    """Return a number with three significant digits."""
    rounded = float(f"{error:.3g}")
    return f"{rounded:,.0f}" if rounded >= 100 else f"{rounded:g}"


def _said_by(outputs: Sequence[Mapping[str, Any]], key: str) -> dict[str, list[str]]:
    """Return which outputs say a sentence of their promises, by that sentence."""
    found: dict[str, list[str]] = {}
    for each in outputs:
        for said in dict.fromkeys(each["guarantee"][key]):
            found.setdefault(said, []).append(each["name"])
    return found


def _paragraph(title: str, lines: Iterable[str]) -> None:
    """Show sentences under a title; nothing where there are none."""
    out, told = console(), list(lines)
    if not told:
        return
    out.print(f"[bold]{title}[/bold]")
    for line in told:
        out.print(f"  {shown(line)}")
    out.print()
