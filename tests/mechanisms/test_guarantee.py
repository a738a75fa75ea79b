"""Promises add up where a theorem says so, and nowhere else."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from penstock.mechanisms.composition import NotCountable
from penstock.mechanisms.guarantee import Guarantee, compose, in_words, includes, side_by_side
from penstock.mechanisms.models import Model
from penstock.mechanisms.refusal import NotComposable

ADDS_UP: list[Model] = ["dp", "idp", "bdp"]
STANDS_ALONE: list[Model] = ["prob_k", "t_close", "k_anon"]

fractions = st.fractions(min_value=0, max_value=10)


def promised(model: Model = "dp", epsilon: object = "1/2", **changes: Any) -> Guarantee:
    settings: dict[str, Any] = {
        "model": model,
        "parameters": {"epsilon": str(epsilon)} if model in ADDS_UP else {"k": 5},
        "adjacency": "replace one row",
        "unit": "row",
        "statement": f"{model} holds.",
        "public": ("number of records",),
        "secret": ("noise",),
        "assumptions": ("one record describes one individual",),
        "not_promised": ("accuracy",),
        "postprocessing": "any",
        "composes_with": "sum",
        "audit": ("ratio",),
    }
    return Guarantee(**{**settings, **changes})


@given(st.sampled_from(ADDS_UP), st.lists(fractions, min_size=2, max_size=6))
def test_epsilons_of_one_model_add_up_exactly(model: Model, epsilons: list[Fraction]) -> None:
    total = compose([promised(model, epsilon) for epsilon in epsilons])
    assert total.model == model
    assert Fraction(total.parameters["epsilon"]) == sum(epsilons, Fraction(0))
    assert [Fraction(part["epsilon"]) for part in total.parameters["parts"]] == epsilons


def test_tenths_add_up_as_tenths_and_not_as_floats() -> None:
    assert compose([promised(epsilon="0.1"), promised(epsilon="0.2")]).parameters["epsilon"] == "3/10"


@given(fractions, fractions, fractions)
def test_composing_in_steps_gives_the_same_epsilon(a: Fraction, b: Fraction, c: Fraction) -> None:
    x, y, z = promised(epsilon=a), promised(epsilon=b), promised(epsilon=c)
    steps = compose([compose([x, y]), z])
    assert steps.parameters["epsilon"] == compose([x, y, z]).parameters["epsilon"]


@pytest.mark.parametrize("model", [*ADDS_UP, *STANDS_ALONE])
def test_one_promise_alone_stays_as_it_is(model: Model) -> None:
    alone = promised(model)
    assert compose([alone]) is alone


def test_what_any_part_assumes_hides_or_denies_holds_for_the_whole_once() -> None:
    other = promised(
        public=("grid",), secret=("noise", "seed"), assumptions=("bounds are public",), not_promised=("sums",)
    )
    total = compose([promised(), other])
    assert total.public == ("number of records", "grid")
    assert total.secret == ("noise", "seed")
    assert total.assumptions == ("one record describes one individual", "bounds are public")
    assert total.not_promised == ("accuracy", "sums")
    assert total.audit == ("ratio",)
    assert "Together: epsilon = 1." in total.statement


def test_the_weakest_rule_of_postprocessing_holds_for_the_whole() -> None:
    strict = promised("idp", postprocessing="data_independent_only")
    assert compose([promised("idp"), strict]).postprocessing == "data_independent_only"
    assert compose([strict, promised("idp")]).postprocessing == "data_independent_only"


def test_no_promise_at_all_is_refused() -> None:
    with pytest.raises(NotComposable, match="at least one mechanism"):
        compose([])


@pytest.mark.parametrize("model", STANDS_ALONE)
def test_a_model_without_a_composition_theorem_is_refused_twice(model: Model) -> None:
    with pytest.raises(NotComposable, match="no composition theorem") as refused:
        compose([promised(model), promised(model)])
    assert refused.value.kind == "spec"


@given(st.lists(st.sampled_from([*ADDS_UP, *STANDS_ALONE]), min_size=2, max_size=4, unique=True))
def test_a_mixture_of_models_is_refused(models: list[Model]) -> None:
    with pytest.raises(NotComposable, match="no composition theorem") as refused:
        compose([promised(model) for model in models])
    assert refused.value.faults[0].got == repr(sorted(models))


@pytest.mark.parametrize("change", [{"adjacency": "add or remove one row"}, {"unit": "individual"}])
def test_another_adjacency_or_unit_is_refused(change: dict[str, str]) -> None:
    with pytest.raises(NotComposable, match="one adjacency and one unit"):
        compose([promised(), promised(**change)])


def test_a_guarantee_survives_the_way_through_json() -> None:
    assert Guarantee.model_validate_json(promised().model_dump_json()) == promised()


def test_a_guarantee_cannot_be_changed_or_extended() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        promised().model = "k_anon"  # type: ignore[misc]
    with pytest.raises(ValidationError, match="extra_forbidden"):
        promised(certified=True)


# How often one epsilon under dp counts under a relaxation: a replacement is one record that goes and one that comes.
TIMES = {
    ("replace", "idp", "from_D"): 1,
    ("add_remove", "idp", "from_D"): 2,
    ("replace", "idp", "from_D_within_cell"): 1,
    ("add_remove", "bdp", "bootstrap_add_remove"): 1,
    ("add_remove", "bdp", "bootstrap_replace"): 2,
    ("replace", "bdp", "bootstrap_within_cell"): 1,
}
positive = st.fractions(min_value=Fraction(1, 100), max_value=10)


@given(st.sampled_from(sorted(TIMES)), st.lists(positive, min_size=1, max_size=3), st.lists(positive, min_size=1))
def test_what_is_under_dp_counts_in_the_sum_of_a_relaxation_beside_it(
    case: tuple[str, Model, str], strict: list[Fraction], relaxed: list[Fraction]
) -> None:
    adjacency, model, other = case
    promises = {
        **{f"d{n}": promised("dp", epsilon, adjacency=adjacency) for n, epsilon in enumerate(strict)},
        **{f"r{n}": promised(model, epsilon, adjacency=other) for n, epsilon in enumerate(relaxed)},
    }
    own, total = side_by_side(list(promises.values()))
    assert (own.model, Fraction(own.parameters["epsilon"])) == ("dp", sum(strict))
    assert (total.model, total.adjacency) == (model, other)
    assert Fraction(total.parameters["epsilon"]) == TIMES[case] * sum(strict) + sum(relaxed)
    parts = total.parameters["parts"]
    assert sum(Fraction(part["epsilon"]) * Fraction(part["counts"]) for part in parts) == TIMES[case] * sum(
        strict
    ) + sum(relaxed)
    assert includes(promises) == {"dp": [name for name in promises if name[0] == "d"], model: list(promises)}
    sentences = [sentence for sentence in in_words(promises) if "counts 2 times" in sentence]
    assert len(sentences) == TIMES[case] - 1


def test_sums_without_outputs_of_another_model_are_as_they_were() -> None:
    promises = {"a": promised("idp"), "b": promised("idp"), "c": promised("k_anon")}
    assert includes(promises) == {}
    assert side_by_side(list(promises.values())) == (compose([promises["a"], promises["b"]]), promises["c"])


def test_delta_counts_in_the_sum_of_a_relaxation_beside_it() -> None:
    approximate = promised("dp", adjacency="replace", parameters={"epsilon": "1/2", "delta": "1/1000"})
    total = side_by_side([approximate, promised("idp", adjacency="from_D")])[1]
    assert (total.parameters["epsilon"], total.parameters["delta"]) == ("1", "1/1000")
    assert total.in_short == "idp, epsilon = 1, delta = 1/1000, adjacency from_D"


@pytest.mark.parametrize(
    "strict",
    [
        promised("dp", adjacency="presence"),
        promised("dp", adjacency="replace", unit="individual"),
        promised("dp", adjacency="add_remove", parameters={"epsilon": "1", "delta": "1/1000"}),
    ],
)
def test_what_a_relaxation_beside_it_cannot_count_is_in_no_sum(strict: Guarantee) -> None:
    with pytest.raises(NotCountable):
        side_by_side([strict, promised("idp", adjacency="from_D")])


def of_tables(*epsilons: str, **other: Any) -> dict[str, Guarantee]:
    return {f"t{place}": promised("dp", epsilon, **other) for place, epsilon in enumerate(epsilons)}


def test_what_outputs_promise_together_is_said_in_words_that_need_no_key() -> None:
    [told] = in_words(of_tables("1/5", "2/5", "1/5", adjacency="add_remove"))
    assert told == (
        "Together the 3 outputs t0, t1, t2 keep (4/5)-differential privacy: whichever record is added or removed, the "
        "probability of every set of outputs changes by a factor of at most e^(4/5). "
        "Whichever i records, of one person or of several, are changed like that, the factor is at most e^(i x 4/5). "
        "Epsilon adds up: 2 x 1/5 + 2/5 = 4/5."
    )
    [of_units] = in_words(of_tables("1", "1", adjacency="replace", unit="individual"))
    assert "2-differential privacy: whichever individual's records (all of them together, by equally many" in of_units


def test_deltas_add_up_in_words_too() -> None:
    with_delta = promised(adjacency="replace", parameters={"epsilon": "1", "delta": "1/1000000"})
    [told] = in_words({"a": with_delta, "b": promised("dp", "1", adjacency="replace")})
    assert "2-differential privacy with delta = 1/1000000: whichever" in told
    assert "and beyond that by at most 1/1000000" in told
    assert told.endswith("Epsilon adds up: 2 x 1 = 2. Delta adds up: 1/1000000 = 1/1000000.")


def test_a_relaxation_holds_given_the_size_of_the_noise_together_too() -> None:
    both = {name: promised("bdp", "1/2", adjacency="bootstrap_replace") for name in ("a", "b")}
    assert in_words(both) == (
        "Together the 2 outputs a, b keep 1-bootstrap differential privacy, given the size of the noise. "
        "Epsilon adds up: 2 x 1/2 = 1.",
    )
    [alone, uncovered] = in_words({"a": promised("dp", "1", adjacency="replace"), "b": promised("k_anon")})
    assert alone.startswith("a keeps 1-differential privacy: whichever")
    assert "adds up" not in alone
    assert uncovered == (
        "No theorem covers this output together with the others: b (k_anon). "
        "Its promise holds for whoever has that output alone."
    )


def test_outputs_that_stand_alone_are_not_said_to_have_others_beside_them() -> None:
    [told] = in_words({"a": promised("prob_k"), "b": promised("k_anon")})
    assert told == (
        "No theorem covers these outputs together: a (prob_k), b (k_anon). "
        "The promise of each holds for whoever has only that output."
    )
    several = {"a": promised("prob_k"), "b": promised("k_anon"), "c": promised("dp", "1", adjacency="replace")}
    assert "these outputs together with the others: a (prob_k), b (k_anon)." in in_words(several)[-1]
