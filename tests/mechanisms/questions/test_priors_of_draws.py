"""A method says whether a prior decides its draw, and that is so."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.mechanisms.columns import Column
from penstock.mechanisms.questions import Method, Query, Terms, methods
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.refinement.priors import Histogram

DECLARED = {"x": Column(role="confidential", type="integer", domain=(0, 100))}
PRIORS = [
    None,
    *(Histogram(kind="histogram", bounds=[0, 50, 100], masses=m) for m in (["9/10", "1/10"], ["1/10", "9/10"])),
]
STATISTICS = ("count", "sum", "mean", "median", "quantile", "minimum", "maximum")
VALUES = np.array([3, 10, 20, 47, 60, 61, 90])


def offered(statistic: str, prior: Histogram | None) -> dict[str, Method]:
    of = None if statistic == "count" else "x"
    query = Query(
        statistic=statistic,  # type: ignore[arg-type]
        of=of,
        share="9/10" if statistic == "quantile" else None,  # type: ignore[arg-type]
        where=[{"column": "x", "at_least": 0, "below": 50}] if statistic == "count" else [],  # type: ignore[arg-type]
    )
    return methods(query, DECLARED, Terms("replace", relaxations=("idp", "bdp"), records=100), prior=prior)


def draws(method: Method) -> list[object]:
    exact = method.add(method.begin(), dict.fromkeys(method.columns, VALUES), len(VALUES))
    return [method.answer(exact, 1, seeded(number)) for number in range(20)]  # type: ignore[arg-type]


@pytest.mark.parametrize("statistic", STATISTICS)
def test_a_prior_decides_a_draw_exactly_where_the_method_says_so(statistic: str) -> None:
    found = [offered(statistic, prior) for prior in PRIORS]
    assert len({tuple(each) for each in found}) == 1
    for name in found[0]:
        told = [draws(each[name]) for each in found]
        if found[0][name].draws_from_prior:
            assert told[0] != told[1] != told[2] != told[0]
        else:
            assert told[0] == told[1] == told[2]


@pytest.mark.parametrize("statistic", STATISTICS)
def test_as_it_is_drawn_a_method_expects_what_it_does_without_a_prior(statistic: str) -> None:
    plain, given = offered(statistic, None), offered(statistic, PRIORS[1])
    for name, method in given.items():
        bare = method.as_drawn()
        assert draws(bare) == draws(method)
        if not method.draws_from_prior:
            assert bare.expected(1, 100) == plain[name].expected(1, 100)  # type: ignore[arg-type]
