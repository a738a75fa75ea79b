"""The check of coarser levels: their groups are those of the declared taxonomy.

category c of a dimension is in group g of its level number p  <=>  g is concept p + 1 of the way from the root
to c, the root being concept 0                                                                               (1)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.measures.cells.output import TableOutput

__all__ = ["coarser_as_declared"]


def coarser_as_declared(output: TableOutput, promised: Mapping[str, Sequence[str]]) -> bool:
    """Return whether the coarser levels are the promised ones, for each dimension from coarse to fine, and hold (1)."""
    layout = output.layout
    named = {name: [own for own, each in layout.coarser.items() if each.dimension == name] for name in promised}
    if sum(map(len, named.values())) != len(layout.coarser):
        return False
    for dimension, names in promised.items():
        taxonomy = output.declared[dimension].taxonomy
        if taxonomy is None or not names or named[dimension] != list(names):
            return False
        ways = [_way(taxonomy, category) for category in layout.dimensions[dimension]]
        if any(len(way) != len(names) + 2 for way in ways):
            return False
        for place, coarse in enumerate(layout.coarser[name] for name in names):
            if len(set(coarse.labels)) < len(coarse.labels) or set(coarse.groups) != set(range(len(coarse.labels))):
                return False
            if [coarse.labels[group] for group in coarse.groups] != [way[place + 1] for way in ways]:
                return False
    return True


def _way(taxonomy: Mapping[str, Sequence[str]], category: str) -> list[str]:
    """Return the concepts from the root to a category; of several parents there is no way."""
    way = [category]
    while len(taxonomy[way[0]]) == 1:
        way.insert(0, taxonomy[way[0]][0])
    return [] if taxonomy[way[0]] else way
