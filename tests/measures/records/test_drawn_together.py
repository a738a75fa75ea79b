"""Blocks whose columns are drawn together: what the mechanism releases passes, and each way to break it is found."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from penstock.measures.checks import Check
from penstock.mechanisms.columns import Column
from penstock.mechanisms.dp_microaggregation import MECHANISM, Params
from penstock.mechanisms.randomness import seeded
from tests.measures.judged_columns import rechecked

TREE = {"oak": ["tree"], "ash": ["tree"], "rose": ["plant"], "tree": ["plant"], "plant": []}
DECLARED = {
    "sex": Column(role="quasi_identifier", type="nominal", categories=("f", "m")),
    "plant": Column(role="confidential", type="nominal", taxonomy=TREE),
    "school": Column(role="confidential", type="ordinal", categories=(1, 2, 3)),
    "kin": Column(role="confidential", type="nominal", categories=("husband", "child")),
}
IMPOSSIBLE = [{"plant": ["oak", "ash"], "sex": "m"}, {"kin": "child", "school": 3}]
N = 30
# Codes of released concepts: the leaves in depth-first order, then the others.
ROSE, OAK, ASH, PLANT, TREES = range(5)


class Together:
    """A correct release that a test may break before it is checked."""

    def __init__(self) -> None:
        params = Params.model_validate(
            {"epsilon": "1", "adjacency": "replace", "k": 10, "order": "corner", "impossible": IMPOSSIBLE}
        )
        chance = np.random.default_rng(1)
        self.original: dict[str, Any] = {
            name: chance.integers(0, len(each.categories or ()), N) for name, each in DECLARED.items()
        }
        found = MECHANISM.protect(self.original, DECLARED, params, seeded(1))
        assert found.origin is not None
        self.released = {name: np.empty(N, np.int64) for name in DECLARED}
        for name, values in found.columns.items():
            self.released[name][found.origin] = values
        self.declared = dict(MECHANISM.released_columns(params, DECLARED))
        self.guarantee, self.masked, self.groups = found.guarantee, found.masked, found.groups
        self.chosen: dict[str, Any] = copy.deepcopy(dict(found.chosen))

    @property
    def joint(self) -> Any:
        return self.chosen["parts"][0]["joint"][0]

    def put(self, **codes: int) -> None:
        """Give the first block these values."""
        for name, code in codes.items():
            self.released[name][self.groups[name] == 0] = code

    def checks(self) -> tuple[Check, ...]:
        return rechecked(
            self.original, self.released, self.declared, self.guarantee, self.masked, self.groups, self.chosen
        )

    def failed(self) -> list[str]:
        return [check.name for check in self.checks() if not check.passed]


def test_what_is_released_passes() -> None:
    output = Together()
    assert output.failed() == []
    assert "possible_combinations" in {check.name for check in output.checks()}


@pytest.mark.parametrize(
    ("sex", "plant", "is_possible"),
    [(0, OAK, True), (1, OAK, False), (1, ASH, False), (1, TREES, False), (1, PLANT, True), (1, ROSE, True)],
)
def test_a_concept_is_judged_by_what_it_stands_for(sex: int, plant: int, is_possible: bool) -> None:
    output = Together()
    output.put(sex=sex, plant=plant)
    assert output.failed() == ([] if is_possible else ["possible_combinations"])


def test_each_group_of_columns_is_looked_at() -> None:
    output = Together()
    output.put(kin=1, school=2)
    (found,) = [check for check in output.checks() if not check.passed]
    assert found.found.endswith(": school, kin")


@pytest.mark.parametrize(
    "change",
    [
        lambda output: output.joint.update(scale="1"),
        lambda output: output.joint.update(scale="none"),
        lambda output: output.joint["weights"].update(sex=output.joint["weights"]["sex"] + 1),
        lambda output: output.joint["weights"].pop("sex"),
        lambda output: output.joint.update(impossible=[]),
        lambda output: output.joint.update(declared={}),
        lambda output: output.joint.update(columns=["sex", "kin"]),
        lambda output: output.chosen["parts"][0].pop("joint"),
        lambda output: output.chosen["parts"][0].update(joint=[output.joint] * 2),
        lambda output: output.guarantee.parameters.pop("impossible"),
        lambda output: output.guarantee.parameters["impossible"].reverse(),
    ],
)
def test_facts_that_do_not_fit_the_promise_fail(change: Any) -> None:
    output = Together()
    output.guarantee = output.guarantee.model_copy(deep=True)
    change(output)
    assert "possible_combinations" in output.failed()


def test_a_column_that_spends_more_than_its_share_is_found_by_its_scale() -> None:
    output = Together()
    facts = output.chosen["parts"][0]["columns"]
    output.joint["weights"] = dict.fromkeys(output.joint["weights"], 1)
    for name in output.joint["columns"]:
        facts[name]["scale"] = output.joint["scale"] = "1000"
    assert output.failed() == ["epsilon_spent"]
