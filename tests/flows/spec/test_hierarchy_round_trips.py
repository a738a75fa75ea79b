"""Any tree, written down as other tools write it, is read as the same tree."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.flows.spec._argus_hierarchy import parse_argus_hierarchy
from penstock.flows.spec._arx_hierarchy import parse_arx_hierarchy
from penstock.mechanisms.refusal import SpecRefused
from penstock.mechanisms.taxonomy import Taxonomy

# What a label may be made of, with all that separates, quotes and leads.
LETTERS = st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp", "Cs"]) | st.sampled_from(";,\"'@ ")


@st.composite
def trees(draw: st.DrawFn, top: str) -> dict[str, list[str]]:
    """A random tree as {child: [parent]}: no concept has a single child, so none can be left out."""
    names = draw(
        st.lists(
            st.text(LETTERS, min_size=1, max_size=6)
            .map(str.strip)
            .filter(lambda name: name and name != top and not name.startswith("@")),
            min_size=6,
            max_size=18,
            unique=True,
        )
    )
    tree: dict[str, list[str]] = {top: []}
    leaves = [top]
    while len(names) > 1:
        parent = leaves.pop(draw(st.integers(0, len(leaves) - 1)))
        number = draw(st.integers(2, min(4, len(names))))
        number = len(names) if len(names) - number == 1 else number
        for name in names[:number]:
            tree[name] = [parent]
            leaves.append(name)
        del names[:number]
    return tree


def children_of(tree: dict[str, list[str]], parent: str) -> list[str]:
    return [child for child, parents in tree.items() if parents == [parent]]


def as_argus(tree: dict[str, list[str]], top: str) -> str:
    def lines(concept: str, depth: int) -> list[str]:
        below = [line for child in children_of(tree, concept) for line in lines(child, depth + 1)]
        return ["@" * depth + concept, *below]

    return "\n".join(line for child in children_of(tree, top) for line in lines(child, 0)) + "\n"


def as_arx(tree: dict[str, list[str]], separator: str) -> str:
    """Short paths repeat their value, as ARX demands rows of one length."""
    inner = {parent for parents in tree.values() for parent in parents}
    paths = []
    for leaf in (concept for concept in tree if concept not in inner):
        path = [leaf]
        while tree[path[-1]]:
            path += tree[path[-1]]
        paths.append(path)
    longest = max(map(len, paths))
    text = io.StringIO()
    # Quoted throughout, so that the other separator is never seen outside quotes.
    writer = csv.writer(text, delimiter=separator, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerows([path[0]] * (longest - len(path)) + path for path in paths)
    return text.getvalue()


@given(trees("Total"))
def test_a_tree_written_for_argus_is_read_as_the_same_tree(tree: dict[str, list[str]]) -> None:
    inner_of_top = children_of(tree, "Total")
    text = as_argus(tree, "Total")
    if set(tree) == {"Total", *inner_of_top}:
        with pytest.raises(SpecRefused, match="begin with @"):
            parse_argus_hierarchy(text)
        return
    read = parse_argus_hierarchy(text)
    assert read == tree
    assert set(Taxonomy(read).leaves) == set(Taxonomy(tree).leaves)


@given(trees("*"), st.sampled_from(";,"))
def test_a_tree_written_for_arx_is_read_as_the_same_tree(tree: dict[str, list[str]], separator: str) -> None:
    read = parse_arx_hierarchy(as_arx(tree, separator))
    assert read == tree
    assert set(Taxonomy(read).leaves) == set(Taxonomy(tree).leaves)


@given(trees("*"), st.data())
def test_branches_of_one_name_are_merged_only_if_they_are_siblings(
    tree: dict[str, list[str]], data: st.DataObject
) -> None:
    inner = sorted({parent for parents in tree.values() for parent in parents} - {"*"})
    if len(inner) < 2:
        return
    kept, renamed = data.draw(st.lists(st.sampled_from(inner), min_size=2, max_size=2, unique=True))
    rows = list(csv.reader(io.StringIO(as_arx(tree, ";")), delimiter=";"))
    text = io.StringIO()
    writer = csv.writer(text, delimiter=";", quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerows([kept if label == renamed else label for label in row] for row in rows)
    below = {concept: {row[0] for row in rows if concept in row} for concept in (kept, renamed)}
    try:
        read = parse_arx_hierarchy(text.getvalue())
    except SpecRefused:
        return
    # Of siblings with one name the file itself says that they are one concept.
    assert tree[kept] == tree[renamed]
    assert {leaf for leaf in below[kept] | below[renamed] if kept in Taxonomy(read).ancestors(leaf)} == (
        below[kept] | below[renamed]
    )
