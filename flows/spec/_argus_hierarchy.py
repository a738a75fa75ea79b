"""A hierarchy file of τ-ARGUS (.hrc), as a taxonomy.

    Coast          one category per line; the number of leading @ is its level
    @Port          below the nearest line above that has one @ less
    @Beach
    Inland

The top is implied. It is called Total, unless there is a single category at the upper level: that one covers everything
and is the top itself. A category occurs once; the file is refused where one is repeated, at whatever level, because
nothing says whether both mean the same. τ-ARGUS can be set to another leading string than @; such a file has no line
that begins with @, and is refused.
"""

from __future__ import annotations

from typing import NoReturn

from penstock.mechanisms.refusal import SpecRefused

__all__ = ["parse_argus_hierarchy"]

LEAD = "@"
TOP = "Total"


def parse_argus_hierarchy(text: str) -> dict[str, list[str]]:
    """Return {child: [parents]} in the order of the lines. Refusals name the line and never quote it."""
    path: list[str] = []
    above: dict[str, list[str]] = {}
    for line, written in enumerate(text.rstrip().split("\n"), start=1):
        name = written.strip().lstrip(LEAD)
        level = len(written.strip()) - len(name)
        name = name.strip()
        if not name or name.startswith(LEAD):
            _refuse(f"line {line}: must name a category after its {LEAD}", "Correct or remove the line.")
        if level > len(path):
            _refuse(
                f"line {line}: must have at most one {LEAD} more than the line before, none in line 1",
                "Add the levels between.",
            )
        if name in above:
            _refuse(f"line {line}: must not name a category twice", "Rename one of them.")
        del path[level:]
        above[name] = path[-1:]
        path.append(name)
    if not any(above.values()):
        rule = f"must have lines that begin with {LEAD}"
        _refuse(rule, f"Write {LEAD} for another leading string; list categories where there are no levels.")
    uppermost = [name for name, parents in above.items() if not parents]
    if len(uppermost) == 1:
        return above
    if TOP in above:
        _refuse(
            f"line {[*above].index(TOP) + 1}: must not be {TOP}, the name of the implied top", "Rename the category."
        )
    return {**{name: parents or [TOP] for name, parents in above.items()}, TOP: []}


def _refuse(rule: str, remedy: str) -> NoReturn:
    raise SpecRefused.at("taxonomy", rule=rule, remedy=remedy)
