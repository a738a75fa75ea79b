"""Whether what a release of statistics states about itself fits together: for whoever has its manifest and no data.

    t c (sum of epsilon_f of figures drawn alone + sum of epsilon_b of boxes) = epsilon                              (1)

t = 2 where a replaced record may leave one of several groups and enter another, else 1; c = records used of each unit.
The promise and the facts name the same figures, with the same epsilon_f, those of the layout; the adjacency is one of
the model and fits the groups; what several records spend together begins with epsilon, does not fall and, with groups,
leaves i + j records what i and j have. How far one record moves a figure cannot be seen: the manifest has no domains.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.layout import Layout
from penstock.mechanisms.numbers.exact import stated_number

__all__ = ["are_statistics_stated"]

_ADJACENCIES = {
    "dp": ("replace", "add_remove"),
    "idp": ("from_D", "from_D_within_cell", "from_D_add_remove"),
    "bdp": ("bootstrap_replace", "bootstrap_add_remove", "bootstrap_within_cell"),
}


def are_statistics_stated(guarantee: Guarantee, settled: Mapping[str, Any], layout: Layout) -> bool:
    """Return whether the promise and the facts of the noise say the same, and figures spend what is promised."""
    try:
        return _fits(guarantee, layout) and _adds_up(guarantee, settled, layout)
    except (AttributeError, KeyError, TypeError, ValueError):
        return False


def _fits(guarantee: Guarantee, layout: Layout) -> bool:
    parameters, adjacency, dimensions = guarantee.parameters, guarantee.adjacency, layout.dimensions
    only = parameters.get("only", {})
    if adjacency not in _ADJACENCIES.get(guarantee.model, ()) or list(parameters["groups"]) != list(dimensions):
        return False
    if only and (guarantee.model != "bdp" or dimensions != {name: (str(each),) for name, each in only.items()}):
        return False
    if adjacency.endswith("_within_cell") and (only or not dimensions):
        return False
    listed = parameters.get("group_epsilons")
    return (adjacency != "from_D" or not dimensions) and (listed is None or _is_kept(guarantee, layout, listed))


def _is_kept(guarantee: Guarantee, layout: Layout, listed: Sequence[str]) -> bool:
    """Return whether i records may spend what is stated of them, in one group or in several."""
    spent = [Fraction(0), *map(stated_number, listed)]
    return (
        guarantee.adjacency in ("from_D", "from_D_within_cell")
        and len(spent) > 2
        and spent[1] == stated_number(guarantee.parameters["epsilon"])
        and all(
            spent[i] >= (spent[j] + spent[i - j] if layout.dimensions else spent[j])
            for i in range(1, len(spent))
            for j in range(i)
        )
    )


def _adds_up(guarantee: Guarantee, settled: Mapping[str, Any], layout: Layout) -> bool:
    parameters, facts = guarantee.parameters, settled["measured"]
    epsilon, names = stated_number(parameters["epsilon"]), [figure.name for figure in layout.figures]
    spent = {name: stated_number(each) for name, each in parameters["epsilon_by_figure"].items()}
    most = parameters.get("rows_per_unit", 1)
    moves = guarantee.adjacency in ("replace", "bootstrap_replace") and layout.dimensions and "only" not in parameters
    alone = [each["figure"] for each in facts if each["noise"] != "box" or "half_widths" in each]
    boxes = [stated_number(box["epsilon"]) for box in settled.get("together", ())]
    return (
        [each["figure"] for each in facts] == names
        and {each["figure"]: stated_number(each["epsilon"]) for each in facts} == spent
        and len(parameters["figures"]) == len(names)
        and stated_number(settled["epsilon"]) == epsilon
        and (guarantee.unit == "individual") == ("rows_per_unit" in parameters)
        and type(most) is int
        and most >= 1
        and min(*spent.values(), *boxes, epsilon) > 0
        and (2 if moves else 1) * most * (sum(spent[name] for name in alone) + sum(boxes)) == epsilon
    )
