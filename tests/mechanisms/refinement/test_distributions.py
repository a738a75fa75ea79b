"""Which distributions can be named is derived from scipy anew; each gives weights in bounded time, or a refusal."""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from scipy import stats
from scipy.stats import rv_continuous, rv_discrete

from penstock.flows.priors import prior_of
from penstock.flows.query_text import QueryRefused
from penstock.mechanisms.columns import Column
from penstock.mechanisms.refinement.distributions import (
    BY_INCOMPLETE_BETA,
    DISTRIBUTIONS,
    MOST_PARAMETER,
    chances,
)
from penstock.mechanisms.refinement.priors import AnyPrior, Distribution, faults_of, grid_for, weights
from penstock.mechanisms.refinement.refine import MOST_WEIGHT
from penstock.mechanisms.refusal import SettingRefused
from tests.support.order import examples

AGE = Column(role="confidential", type="integer", domain=(-5, 5))
FINE = Column(role="confidential", type="integer", domain=(-(2**15), 2**15))
EVERY = {name: each for name in dir(stats) if isinstance(each := getattr(stats, name), rv_continuous | rv_discrete)}
# What integrates, adds up or searches for each point.
SLOW = {"quad", "nquad", "vectorize", "frompyfunc", "_integrate_pdf", "brentq", "integral", "kolmogn"}
# Series in compiled code that grow with their parameters: read in scipy 1.17, and measured at 2^16 points.
SERIES = {"chndtr", "ncfdtr", "nctdtr", "smirnov", "_smirnovc", "_hypergeom_cdf", "_normalized_gen_harmonic"}


def own(distribution: Any) -> bool:
    return type(distribution)._cdf not in (rv_continuous._cdf, rv_discrete._cdf)


def names_in(function: Any) -> set[str]:
    """Every name that a function uses; the base class' own `_cdf` is called `super._cdf`."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    found = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            of_base = isinstance(node.value, ast.Call) and getattr(node.value.func, "id", "") == "super"
            found.add(f"super.{node.attr}" if of_base else node.attr)
    return found


def qualifies(name: str) -> bool:
    kind = type(EVERY[name])
    if not own(EVERY[name]):
        return False
    used = names_in(kind._cdf) | (names_in(kind._sf) if "_sf" in vars(kind) else set())
    return not used & (SLOW | SERIES | {"super._cdf"}) and name not in NOT_FOR_NUMBERS


# A parameter that is a list; a distribution on the circle, whose function goes on rising; gamma, with a warning.
NOT_FOR_NUMBERS = {"poisson_binom", "vonmises", "erlang"}


def test_everything_that_scipy_evaluates_in_bounded_time_can_be_named_and_nothing_else() -> None:
    assert {name for name in EVERY if qualifies(name)} == set(DISTRIBUTIONS)
    assert list(DISTRIBUTIONS) == sorted(DISTRIBUTIONS)


@pytest.mark.parametrize("name", ["zipf", "geninvgauss", "irwinhall", "skewnorm", "ksone", "ncx2", "levy_stable"])
def test_the_rule_notices_what_is_integrated_added_up_or_searched_for(name: str) -> None:
    assert not qualifies(name)


def test_the_circle_is_no_line_and_a_list_is_no_number() -> None:
    assert stats.vonmises(1).cdf(100) > 1
    assert stats.poisson_binom([0.1, 0.2]).cdf(2) == 1
    with pytest.raises(ValueError, match=r"broadcast|non-scalar|axis|dim"):
        stats.poisson_binom(p=0.5).cdf(np.arange(3.0))


def by_beta(name: str) -> bool:
    # Boost's, reached by these names; `t` and `bernoulli` take their own short ways.
    reached = {"betainc", "betaincc", "_binom_cdf", "_nbinom_cdf", "fdtr"}
    used = names_in(type(EVERY[name])._cdf)
    return bool(used & reached) or ("beta" in used and bool(used & {"_cdf", "_sf"}))


def test_what_is_an_incomplete_beta_function_has_bounded_parameters() -> None:
    assert {name for name in DISTRIBUTIONS if by_beta(name)} == BY_INCOMPLETE_BETA


def parameters_of(name: str) -> list[str]:
    return [each.strip() for each in (EVERY[name].shapes or "").split(",") if each.strip()]


ORDINARY = (0.3, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 10.0)
EXTREME = (1e-308, 1e-9, 1e-3, 20.0, 1e3, 1e5, 1e7, 1e15, 1e300, -1e-308, -1.0, -1e5, -1e300, 0.0)


def usual(name: str) -> dict[str, float]:
    """Return parameters that the distribution has, found by trying."""
    shapes = parameters_of(name)
    chance = np.random.default_rng(1)
    for _ in range(1000):
        chosen = chance.choice(ORDINARY, len(shapes))
        if np.all(EVERY[name]._argcheck(*chosen)):
            return dict(zip(shapes, map(float, chosen), strict=True))
    raise AssertionError(f"{name} has none of these parameters")


def prior(name: str, parameters: dict[str, float]) -> Distribution:
    return Distribution(kind="distribution", name=name, parameters=parameters)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_every_one_gives_the_chances_that_scipy_gives(name: str) -> None:
    """All that is possible lies within the domain of 2^16 points: its mass is one."""
    chosen = {**usual(name), "loc": 1.0}
    if isinstance(EVERY[name], rv_continuous):
        chosen["scale"] = 5.0
    found = chances(name, tuple(chosen.items()), grid_for(FINE, "x"), "f")
    frozen = EVERY[name](**chosen)
    with np.errstate(all="ignore"):
        inside = frozen.cdf(2**15 + 0.5) - frozen.cdf(-(2**15) - 0.5)
    assert found.sum() == pytest.approx(inside, abs=2**-12)
    assert inside > 0.3  # the tails of levy and its like lie outside, and they alone
    assert (found >= 0).all()
    used = weights(prior(name, chosen), FINE, "x")
    assert used.min() >= 0
    assert 0 < used.sum() <= MOST_WEIGHT
    assert ((used > 0) == (found > 0)).all()


@pytest.mark.law
@given(data=st.data())
@settings(max_examples=examples(60))
def test_whatever_is_asked_of_any_there_are_weights_or_a_refusal(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(DISTRIBUTIONS))
    number = st.sampled_from(ORDINARY + EXTREME) | st.floats(allow_nan=False, allow_infinity=False)
    keys = [*parameters_of(name), "loc", "scale"]
    chosen = {**usual(name), **data.draw(st.dictionaries(st.sampled_from(keys), number, max_size=4))}
    if len(chosen) > 6:
        return
    column = data.draw(st.sampled_from((AGE, FINE)))
    refused = faults_of(prior(name, chosen), column, "x")
    if refused:
        assert {fault.field.partition(".parameters")[0] for fault in refused} == {"priors.x"}
        return
    found = weights(prior(name, chosen), column, "x")
    assert found.dtype == np.int64
    assert found.min() >= 0
    assert 0 < int(found.sum()) <= MOST_WEIGHT


BULK = [
    ("beta", {"a": 1e5, "b": 1e5, "loc": -2e7, "scale": 4e7}),
    ("rdist", {"c": 1e5, "scale": 1e7}),
    ("jf_skew_t", {"a": 1e5, "b": 1e5, "scale": 1e7}),
    ("binom", {"n": 1e5, "p": 0.5, "loc": -5e4}),
    ("gengamma", {"a": 150.0, "c": 1.0, "scale": 100.0}),
    ("tukeylambda", {"lam": 0.5, "scale": 2e4}),
    ("poisson", {"mu": 1e15, "loc": -1e15}),
]


@pytest.mark.parametrize(("name", "parameters"), BULK)
def test_where_all_points_lie_in_the_middle_it_ends_too(name: str, parameters: dict[str, float]) -> None:
    """There the continued fraction is longest: beta(1e15, 1e15) took a thousandth of a second for each point."""
    found = chances(name, tuple(parameters.items()), grid_for(FINE, "x"), "f")
    assert (found > 0).sum() > 1000


@pytest.mark.parametrize("name", sorted(BY_INCOMPLETE_BETA))
def test_a_parameter_that_would_take_for_ever_is_refused(name: str) -> None:
    for key in parameters_of(name):
        given_ = {**usual(name), key: MOST_PARAMETER * 1.01}
        with pytest.raises(SettingRefused) as refusal:
            weights(prior(name, given_), AGE, "x")
        [fault] = refusal.value.faults
        assert fault.field == f"priors.x.parameters.{key}"
        assert "histogram" in fault.remedy
    whole = isinstance(EVERY[name], rv_discrete)  # these have no scale
    wide = {"loc": -2.0} if whole else {"loc": -1e6, "scale": 1e6}
    weights(prior(name, {**usual(name), **wide}), AGE, "x")  # where it lies, and how wide, is not bounded


def test_what_floats_do_not_carry_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the three signs by itself; the twin, which shows none, is accepted."""

    class Odd:
        def __init__(self, below: Any, above: Any) -> None:
            self.cdf, self.sf = below, above

    rising = np.linspace(0, 1, 12)
    falling = np.where(np.arange(12) == 6, 0.3, rising)
    cases = {
        "falls": (falling, 1 - falling),
        "above 1": (rising * 1.01, 1 - rising * 1.01),
        "below 0": (rising - 0.01, 1.01 - rising),
        "does not add up": (rising, (1 - rising) * 0.99),
    }
    for told, (below, above) in cases.items():
        monkeypatch.setattr(stats, "norm", lambda below=below, above=above: Odd(lambda _: below, lambda _: above))
        with pytest.raises(SettingRefused) as refusal:
            chances("norm", (), grid_for(AGE, "x"), told)
        [fault] = refusal.value.faults
        assert (fault.field, fault.rule) == (told, "must be such that floats carry norm")
    monkeypatch.setattr(stats, "norm", lambda: Odd(lambda _: rising, lambda _: 1 - rising))
    assert len(chances("norm", (), grid_for(AGE, "x"), "sound")) == 11


def test_a_parameter_by_which_scipy_divides_is_refused() -> None:
    with pytest.raises(ZeroDivisionError):
        stats.genhalflogistic(c=0.0)
    with pytest.raises(SettingRefused, match="must be those of genhalflogistic"):
        weights(prior("genhalflogistic", {"c": 0.0}), AGE, "x")


@pytest.mark.parametrize(("name", "near"), [("gaussian", None), ("nrom", "norm"), ("levy_stable", None)])
def test_what_cannot_be_named_is_refused_with_a_remedy(name: str, near: str | None) -> None:
    with pytest.raises(QueryRefused) as refusal:
        prior_of({"kind": "distribution", "name": name})
    [fault] = refusal.value.faults
    assert fault.field == "prior.name"
    assert fault.got == repr(name)
    assert "give a histogram" in fault.remedy
    assert near is None or f"Did you mean {near}?" in fault.remedy
    with pytest.raises(ValidationError):
        prior(name, {})


def test_a_schema_lists_them() -> None:
    found = TypeAdapter(AnyPrior).json_schema()["$defs"]["Distribution"]["properties"]["name"]
    assert found["enum"] == list(DISTRIBUTIONS)


def test_a_plan_that_asks_again_gets_the_same_without_waiting() -> None:
    grid = grid_for(AGE, "x")
    first = chances("norm", (("loc", 1.0),), grid, "f")
    assert chances("norm", (("loc", 1.0),), grid, "f") is first
    assert not first.flags.writeable
