"""Several treatments of one file of records: what their promises are worth side by side, and what nothing bounds.

    file = (M_1(A_1), ..., M_m(A_m)), its rows in one random order                                  (1)
    P(file | A_1, ..., A_m) = P(order) * P(M_1(A_1)) * ... * P(M_m(A_m))                            (2)

A_i are disjoint stored columns of the same records; M_i reads A_i alone, draws by itself, and row r of what it makes is
about record r. The order of the source is no part of A_i: it may follow another column, and MDAV breaks ties by it. So
each M_i gets the records in an order of its own, drawn for it.

A swap has the same distribution for all A_i that differ by a permutation inside its groups; by (2) so has the file,
whatever the other columns are. k-anonymity counts the rows that agree in A_i, and other columns beside them change
none. So each of these promises holds of its own columns.

Nothing is promised of the columns together. Rows that agree in A_1 differ in A_2, so whoever knows something of both
may find one row. For the same reason no part may spend epsilon: its promise is about all that is released of a record,
and rows that other columns tell apart show without noise which answer is whose.

Where quasi-identifiers are made alike, all of the file must be made alike together: one of them beside the groups, or
groups of another part, would single out records inside a group.

Source: (2) and its consequences are ours; for the promises see penstock.mechanisms.probabilistic_k_anonymity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from penstock.mechanisms import phrases
from penstock.mechanisms.columns import Columns, Declared, Role
from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.permutation import permutation
from penstock.mechanisms.protected import Protected
from penstock.mechanisms.randomness import Randomness

__all__ = ["Part", "in_random_order", "not_alike", "of_file", "side_by_side_in_words"]


@dataclass(frozen=True, slots=True)
class Part:
    """One output whose columns stand in the file. roles: of its columns, in their order."""

    name: str
    guarantee: Guarantee
    roles: Mapping[str, Role]

    def named(self, *roles: Role) -> list[str]:
        return [name for name, role in self.roles.items() if role in roles]

    @property
    def makes_alike(self) -> bool:
        """Return whether it makes quasi-identifiers and weights alike in groups; otherwise they are unchanged."""
        return self.guarantee.model == "k_anon"


def not_alike(parts: Sequence[Part]) -> Iterator[tuple[Part, str]]:
    """Yield the quasi-identifiers and weights that single out records whose others are made alike, each with its part:
    those outside of the first part that makes them alike."""
    first = next((part for part in parts if part.makes_alike), None)
    if first is not None:
        yield from (
            (part, name) for part in parts if part is not first for name in part.named("quasi_identifier", "weight")
        )


def in_random_order(
    protect: Callable[[Columns, Declared, Any, Randomness], Protected],
    columns: Columns,
    declared: Declared,
    params: Any,
    randomness: Randomness,
) -> Protected:
    """Apply a mechanism that shares files to records in an order drawn for it; return them in the order given."""
    order = permutation(len(next(iter(columns.values()))), randomness)
    made = protect({name: values[order] for name, values in columns.items()}, declared, params, randomness)
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return replace(
        made,
        columns={name: values[back] for name, values in made.columns.items()},
        groups={name: labels[back] for name, labels in made.groups.items()},
        guarantee=_of_part(made.guarantee, {name: column.role for name, column in declared.items()}),
    )


def _of_part(guarantee: Guarantee, roles: Mapping[str, Role]) -> Guarantee:
    """Return the promise of a part: ties do not follow the order of the source, and where it speaks of confidential
    columns or quasi-identifiers it means its own, because others of the file may be treated otherwise."""
    limits = tuple(said for limit in guarantee.not_promised for said in _of_own_columns(limit, roles))
    parameters = {**guarantee.parameters, "ties": "broken at random"}
    return guarantee.model_copy(update={"parameters": parameters, "not_promised": limits})


def _of_own_columns(limit: str, roles: Mapping[str, Role]) -> Iterator[str]:
    """Yield a limit as it holds of the columns of one part; nothing where it has no such column."""
    confidential = ", ".join(name for name, role in roles.items() if role == "confidential")
    unchanged = ", ".join(name for name, role in roles.items() if role in ("quasi_identifier", "weight"))
    if limit == phrases.TAKES_PART:
        yield "that a record takes part" + (f": published unchanged: {unchanged}" if unchanged else "")
    elif limit == phrases.VALUES_DIFFER:
        if confidential:
            yield f"that values differ inside a group: where all are equal, they are disclosed: {confidential}"
    elif limit == phrases.VALUES_KNOWN:
        if confidential:
            yield f"protection against outsiders who know a value that is published unchanged: {confidential}"
    else:
        yield limit


def of_file(guarantee: Guarantee, file: str, roles: Mapping[str, Role], others: Sequence[str]) -> Guarantee:
    """Add to the promise of a part that it ends at its own columns, of which alone it then speaks. others: columns
    beside them."""
    limit = (
        f"anything for whoever also uses the columns that stand beside these in {file}, record by record: "
        f"{', '.join(others)}"
    )
    own = _of_part(guarantee, roles)
    return own.model_copy(update={"not_promised": (*own.not_promised, limit)})


def side_by_side_in_words(file: str, parts: Sequence[Part], limits: Sequence[str]) -> tuple[str, ...]:
    """Return what stands in a file, and what somebody can do who combines its columns; from settings alone. limits: the
    rules of its gates."""
    told = "; ".join(f"{part.name} ({', '.join(part.roles)})" for part in parts)
    confidential = [name for part in parts for name in part.named("confidential")]
    keys = [name for part in parts for name in part.named("quasi_identifier")]
    known = ", ".join([*keys, *confidential])
    return (
        f"The file {file} holds these outputs side by side, and each row is about one record: {told}.",
        f"Each promise holds of the columns of its own output; nothing is promised of all columns of {file} together.",
        *_found_by_keys(parts, keys),
        f"Whoever knows several of {known} of somebody, even roughly, may compare all columns of {file} and find the "
        "one row that is theirs, with all that it holds. How often that succeeds by taking the nearest row is measured "
        "on the file (record_linkage), and limited; it is no promise.",
        f"Limits of the file, all columns together: {'; '.join(limits)}.",
    )


def _found_by_keys(parts: Sequence[Part], keys: Sequence[str]) -> Iterator[str]:
    """Yield what somebody sees who knows the quasi-identifiers of a record, where there are any."""
    if not keys:
        return
    sees = "; ".join(_seen(part) for part in parts if part.named("confidential"))
    alike = next((part for part in parts if part.makes_alike), None)
    if alike is None:
        found = "may find the one row that is theirs, because these columns are unchanged, and sees in it"
    else:
        k = alike.guarantee.parameters["k"]
        found = f"finds a group of at least {k} rows, one of which is theirs, and sees in each of them"
    yield f"Whoever knows {', '.join(keys)} of somebody {found} {sees}."


def _seen(part: Part) -> str:
    names, parameters = ", ".join(part.named("confidential")), part.guarantee.parameters
    if part.makes_alike:
        return f"{names}, unchanged"
    near = "and near the true ones " if parameters["method"] == "ir_swap" else ""
    return f"{names}, swapped {near}in groups of at least {parameters['k']} records"
