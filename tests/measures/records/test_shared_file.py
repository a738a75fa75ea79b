"""A file of several treatments: its linkage against brute force on all columns, and what is found of a wrong file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.measures.asked import NOTHING
from penstock.measures.checks import Check
from penstock.measures.records.shared_file import FilePart, SharedFile
from penstock.mechanisms.columns import Column, Columns
from penstock.mechanisms.permutation import permutation
from penstock.mechanisms.probabilistic_k_anonymity import Params, protect
from penstock.mechanisms.randomness import seeded
from tests.measures.judged_columns import nominal, number, ordinal
from tests.measures.records.test_record_linkage import by_brute_force

# Every scaled value of these columns is a multiple of 1/8, so that float distances are exact.
KEYS: dict[str, Column] = {"kind": nominal(4), "rank": ordinal(5)}
AMOUNTS: dict[str, Column] = {"amount": number(0, 8), "level": ordinal(5)}
AMOUNTS = {name: column.model_copy(update={"role": "confidential"}) for name, column in AMOUNTS.items()}
KEYS = {name: column.model_copy(update={"role": "quasi_identifier"}) for name, column in KEYS.items()}
DECLARED = {**KEYS, **AMOUNTS}


def shared(original: Columns, seed: int, k: int = 2) -> SharedFile:
    """A file of keys made alike and amounts swapped, in one random order."""
    chance = seeded(seed)
    rows = len(original["kind"])
    order = permutation(rows, chance)
    parts, released = {}, {}
    for name, method, declared in (("keys", "mdav_id", KEYS), ("amounts", "ir_swap", AMOUNTS)):
        own = {column: original[column] for column in declared}
        made = protect(own, declared, Params(method=method, k=k), chance)  # type: ignore[arg-type]
        columns = {column: values[order] for column, values in made.columns.items()}
        parts[name] = FilePart(columns, order, made.groups, permutes=method == "ir_swap")
        released |= columns
    return SharedFile(original, released, DECLARED, parts)


@st.composite
def records(draw: st.DrawFn) -> dict[str, np.ndarray]:
    rows = draw(st.integers(2, 25))

    def column(name: str) -> np.ndarray:
        highest = int(DECLARED[name].bounds[1])
        return np.array(draw(st.lists(st.integers(0, highest), min_size=rows, max_size=rows)), np.int64)

    original = {name: column(name) for name in DECLARED}
    return {**original, "amount": original["amount"].astype(np.float64)}


def in_source_order(file: SharedFile) -> dict[str, np.ndarray]:
    [origin, _] = [part.origin for part in file.parts.values()]
    back = np.argsort(origin)
    return {name: values[back] for name, values in file.released.items()}


@settings(deadline=None)
@given(records(), st.integers(0, 2**16))
def test_linkage_of_a_file_is_by_definition_that_of_all_its_columns_together(original, seed):
    file = shared(original, seed)
    # Ranks and levels are averaged or exchanged as codes; the distances of the oracle are those of codes.
    expected = by_brute_force(original, in_source_order(file), DECLARED)
    found = file.measures()("record_linkage", NOTHING)
    assert found.value == pytest.approx(float(expected), abs=1e-12)
    assert set(found.columns) == set(DECLARED)
    assert all(check.passed for check in file.checks)


HAND = {
    "kind": np.array([0, 0, 1, 1]),
    "rank": np.array([0, 0, 4, 4]),
    "amount": np.array([0.0, 1.0, 7.0, 8.0]),
    "level": np.array([0, 1, 3, 4]),
}


def by_hand() -> SharedFile:
    """Keys as they are, because they are alike already; the amounts of the first two records exchanged, not the
    levels; rows from the last to the first."""
    origin = np.array([3, 2, 1, 0])
    keys = {name: HAND[name][origin] for name in KEYS}
    amounts = {"amount": np.array([8.0, 7.0, 0.0, 1.0]), "level": HAND["level"][origin]}
    groups = np.array([0, 0, 1, 1])
    parts = {
        "keys": FilePart(keys, origin, dict.fromkeys(KEYS, groups), permutes=False),
        "amounts": FilePart(amounts, origin, dict.fromkeys(AMOUNTS, groups), permutes=True),
    }
    return SharedFile(HAND, {**keys, **amounts}, DECLARED, parts)


def test_linkage_by_hand() -> None:
    # The first two are 1/8 apart from their own in the amount and as far from the other in the level (1/4): nearer to
    # their own in squares, 1/64 against 1/16. So all are found by all columns; by the amount alone, half of them.
    assert by_hand().measures()("record_linkage", NOTHING).value == 1
    alone = replace(
        by_hand(), declared={"amount": DECLARED["amount"]}, released={"amount": by_hand().released["amount"]}
    )
    assert alone.measures()("record_linkage", NOTHING).value == 0.5


def test_probabilities_of_swaps_are_those_of_swapped_columns() -> None:
    found = by_hand().measures()("own_value_probability", NOTHING)
    assert found.columns == ("amount", "level")  # keys are the same in whole groups, which would be 1
    assert found.value == 0.5
    assert set(by_hand().measures()("average_risk", NOTHING).columns) == set(DECLARED)


def failed(file: SharedFile) -> set[str]:
    return {check.name for check in file.checks if not check.passed}


def with_released(change: Callable[[dict[str, np.ndarray]], object]) -> SharedFile:
    released = {name: values.copy() for name, values in by_hand().released.items()}
    change(released)
    return replace(by_hand(), released=released)


def test_a_right_file_passes_every_check() -> None:
    assert failed(by_hand()) == set()
    assert [check.name for check in by_hand().checks] == ["one_order", "own_columns", "same_records"]


def test_parts_in_different_orders_are_found() -> None:
    parts = dict(by_hand().parts)
    parts["amounts"] = replace(parts["amounts"], origin=np.array([0, 1, 2, 3]))
    assert failed(replace(by_hand(), parts=parts)) == {"one_order"}


def test_columns_missing_and_foreign_are_found() -> None:
    def foreign(released: dict[str, np.ndarray]) -> None:
        released["more"] = released["kind"]

    assert failed(with_released(foreign)) == {"own_columns"}
    assert failed(with_released(lambda released: released.pop("level"))) == {"own_columns", "same_records"}


def test_a_column_of_two_parts_is_found() -> None:
    parts = dict(by_hand().parts)
    columns = {**parts["amounts"].columns, "kind": parts["keys"].columns["kind"]}
    parts["amounts"] = replace(parts["amounts"], columns=columns)
    assert failed(replace(by_hand(), parts=parts)) == {"own_columns"}


@pytest.mark.parametrize("name", list(DECLARED))
def test_values_that_stand_in_other_rows_than_they_were_drawn_for_are_found(name: str) -> None:
    def turn(released: dict[str, np.ndarray]) -> None:
        released[name] = released[name][::-1]

    def named(checks: tuple[Check, ...]) -> list[str]:
        return [check.found for check in checks if not check.passed]

    file = with_released(turn)
    assert failed(file) == {"same_records"}
    assert named(file.checks) == [f"a column is not as it was drawn: {name}"]


def test_missing_values_are_equal_to_themselves() -> None:
    file = by_hand()
    amounts = replace(
        file.parts["amounts"],
        columns={**file.parts["amounts"].columns, "amount": np.array([np.nan, 7.0, 0.0, 1.0])},
    )
    parts = {**file.parts, "amounts": amounts}
    released = {**file.released, "amount": np.array([np.nan, 7.0, 0.0, 1.0])}
    assert failed(replace(file, parts=parts, released=released)) == set()
    assert failed(replace(file, parts=parts)) == {"same_records"}
