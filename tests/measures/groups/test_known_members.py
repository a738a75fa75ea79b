"""What is stated for somebody who knows members of a group is compared with the counts, and what is wrong is found."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from penstock.measures.groups._counts import counts_of, largest_after
from tests.measures.bucket_maker import BUCKETED, Made

every_bucketed = pytest.mark.parametrize("chosen", BUCKETED, ids=repr)


class Stated(Made):
    """A correct output that states it too."""

    def __init__(self, **chosen: Any) -> None:
        super().__init__(**chosen)
        self.guarantee = self.guarantee.model_copy(update={"audit": (*self.guarantee.audit, "after_known")})
        self.chosen["after_known"] = self.counted()

    def counted(self) -> list[dict[str, Any]]:
        found = []
        for part, _, _ in self.parts():
            rows = list(
                zip(self.groups[part[0]].tolist(), *(self.buckets[name].tolist() for name in part), strict=True)
            )
            found.append({"columns": list(part), **by_definition(rows)})
        return found


def by_definition(rows: list[Any]) -> dict[str, Any]:
    """From (group, bucket) of every record, without arrays."""
    groups, buckets = sorted({row[0] for row in rows}), sorted({row[1:] for row in rows})
    fewest = min(sum(row == (g, *b) for row in rows) for g in groups for b in buckets)
    factors = []
    for known in range(min(fewest, 20)):
        most = Fraction(0)
        for g in groups:
            size = sum(row[0] == g for row in rows)
            for b in buckets:
                share = Fraction(sum(row[1:] == b for row in rows), len(rows))
                held = sum(row == (g, *b) for row in rows)
                # Known members in any number of this bucket that there may be.
                for here in range(max(0, known - (size - held)), min(known, held) + 1):
                    belief = Fraction(held - here, size - known)
                    most = max(most, belief / share, share / belief)
        factors.append(str(most))
    return {"factors": factors, "unbounded_from": fewest}


@every_bucketed
def test_what_follows_from_the_counts_passes(chosen: Any) -> None:
    assert Stated(**chosen).failed() == set()


@every_bucketed
@pytest.mark.parametrize(
    "spoil",
    [
        lambda chosen: chosen.pop("after_known"),
        lambda chosen: chosen.update(after_known=None),
        lambda chosen: chosen["after_known"].pop(),
        lambda chosen: chosen["after_known"][-1].update(unbounded_from=99),
        lambda chosen: chosen["after_known"][-1].update(columns=["age"]),
        lambda chosen: chosen["after_known"][-1]["factors"].append("9"),
        lambda chosen: chosen["after_known"][-1]["factors"].__setitem__(0, "7/9"),
    ],
)
def test_what_is_stated_otherwise_fails(chosen: Any, spoil: Any) -> None:
    made = Stated(**chosen)
    spoil(made.chosen)
    assert made.failed() == {"after_known"}


def test_counts_that_cannot_be_taken_fail() -> None:
    made = Stated(**BUCKETED[0])
    made.groups = {}
    assert "after_known" in made.failed()


def test_a_bucket_that_may_be_used_up_has_no_bound() -> None:
    counts = counts_of(np.repeat([0, 1], 6), np.array([0, 0, 0, 1, 1, 1] * 2))
    assert [largest_after(counts, known) for known in range(4)] == [1, Fraction(5, 4), 2, None]
    assert largest_after(None, 0) is None
