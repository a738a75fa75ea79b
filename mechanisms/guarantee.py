"""The promise that travels with every protected output, and how promises add up.

A guarantee is data that a program can check: model, parameters, adjacency, unit, what is public,
what must stay secret, and what is assumed. The sources' formulas that do not hold never get one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from penstock.mechanisms import phrases
from penstock.mechanisms.composition import Charge, composed, composed_delta, counts_as, uncovered
from penstock.mechanisms.models import ADDS_UP, MODELS, Model
from penstock.mechanisms.refusal import NotComposable

__all__ = ["Guarantee", "compose", "in_words", "includes", "not_together", "side_by_side", "sum_in_short"]


class Guarantee(BaseModel):
    """What is promised, to whom, under which assumptions, and what it is not."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: Model
    parameters: dict[str, Any]
    adjacency: str
    unit: Literal["row", "individual"]
    statement: str
    public: tuple[str, ...]
    secret: tuple[str, ...]
    assumptions: tuple[str, ...]
    not_promised: tuple[str, ...]
    postprocessing: Literal["any", "data_independent_only"]
    composes_with: str
    audit: tuple[str, ...]

    @property
    def in_short(self) -> str:
        """Return the promise on one line."""
        return MODELS[self.model].in_short(self.parameters, self.adjacency)

    @property
    def compared(self) -> str:
        """Return between which data sets it compares, as far as there are words for it."""
        return phrases.neighbours(self.adjacency, self.unit)


def compose(guarantees: Sequence[Guarantee]) -> Guarantee:
    """Return the promise of several outputs about the same records.

    dp, idp and bdp add up, sum of epsilon_i and of delta_i, within one model, adjacency and unit (also for
    adaptive choices). prob_k, t_close and k_anon have no composition theorem and stand alone.
    """
    if not guarantees:
        raise NotComposable.at("protect", rule="must list at least one mechanism", remedy="Add a mechanism.")
    first = guarantees[0]
    if len(guarantees) == 1:
        return first
    models = sorted({g.model for g in guarantees})
    if len(models) > 1 or first.model not in ADDS_UP:
        raise NotComposable.at(
            "protect",
            rule="must make promises of one model: no composition theorem covers these about the same records",
            got=models,
            remedy="Release one mechanism per spec.",
        )
    if len({(g.adjacency, g.unit) for g in guarantees}) > 1:
        raise NotComposable.at(
            "protect",
            rule="must use one adjacency and one unit: promises add up only then",
            got=sorted({g.adjacency for g in guarantees}),
            remedy="Use the same adjacency for every mechanism.",
        )
    total = sum((Fraction(g.parameters["epsilon"]) for g in guarantees), Fraction(0))
    deltas = sum((Fraction(g.parameters.get("delta", 0)) for g in guarantees), Fraction(0))
    # Place by place: what i records spend in each. An output that says nothing of i records leaves it open for all.
    several = [sum(each, Fraction(0)) for each in zip(*map(_of_several, guarantees), strict=False)]
    return _joined(first, guarantees, total, deltas, several, [g.parameters for g in guarantees], "Together")


def _of_several(guarantee: Guarantee) -> list[Fraction]:
    """Return what 1, 2, ... replaced records of the actual data spend together, as far as it is promised."""
    return [Fraction(each) for each in guarantee.parameters.get("group_epsilons", ())]


def _joined(
    like: Guarantee,
    guarantees: Sequence[Guarantee],
    epsilon: Fraction,
    delta: Fraction,
    several: Sequence[Fraction],
    parts: Sequence[Mapping[str, Any]],
    together: str,
) -> Guarantee:
    """Return a sum under the model and adjacency of one of them."""
    spent: dict[str, Any] = {"delta": str(delta)} if delta else {}
    words = f", delta = {delta}" if delta else ""
    if several:
        spent["group_epsilons"] = [str(each) for each in several]
        words += "".join(f"; of {i} records {each}" for i, each in enumerate(several[1:], start=2))
    elif any(map(_of_several, guarantees)):
        words += "; of several records nothing is said, because not every output says it"
    return like.model_copy(
        update={
            "parameters": {"epsilon": str(epsilon), **spent, "parts": list(parts)},
            "statement": " ".join(dict.fromkeys(g.statement for g in guarantees))
            + f" {together}: epsilon = {epsilon}{words}.{_several(like, epsilon, delta or None)}",
            "public": _union(g.public for g in guarantees),
            "secret": _union(g.secret for g in guarantees),
            "assumptions": _union(g.assumptions for g in guarantees),
            "not_promised": _union(g.not_promised for g in guarantees),
            "postprocessing": "any" if all(g.postprocessing == "any" for g in guarantees) else "data_independent_only",
            "audit": _union(g.audit for g in guarantees),
        }
    )


def side_by_side(guarantees: Sequence[Guarantee]) -> tuple[Guarantee, ...]:
    """Return what several outputs about the same records promise: one promise for each model whose promises add up, and
    each of the others by itself. What is under dp counts in the sum of every such model, as in its account."""
    alone = [each for each in guarantees if each.model not in ADDS_UP]
    models = dict.fromkeys(each.model for each in guarantees if each.model in ADDS_UP)
    return (*(_sum_of(model, guarantees) for model in models), *alone)


def _sum_of(model: Model, guarantees: Sequence[Guarantee]) -> Guarantee:
    """Return the sum (1) of composition.py that the account of one model is charged, in the adjacency of its own."""
    counted = [each for each in guarantees if each.model in (model, "dp")]
    own = compose([each for each in counted if each.model == model])
    if {each.model for each in counted} == {model}:
        return own
    charges = [
        Charge(
            model=each.model,
            epsilon=Fraction(each.parameters["epsilon"]),
            delta=Fraction(each.parameters.get("delta", 0)),
            adjacency=each.adjacency,
            unit=each.unit,
        )
        for each in counted
    ]
    epsilon = composed(charges, model=model, adjacency=own.adjacency, unit=own.unit)
    delta = composed_delta(charges, model=model, adjacency=own.adjacency, unit=own.unit)
    # What is under dp spends i times as much where i records are replaced.
    beside = epsilon - Fraction(own.parameters["epsilon"])
    several = [each + i * beside for i, each in enumerate(_of_several(own), start=1)]
    parts = [
        {"model": each.model, "adjacency": each.adjacency, "counts": str(_times(each, own)), **each.parameters}
        for each in counted
    ]
    return _joined(
        own, counted, epsilon, delta, several, parts, f"Together, under {model} with adjacency {own.adjacency}"
    )


def _times(guarantee: Guarantee, total: Guarantee) -> Fraction:
    """Return how often an epsilon counts in a sum; `composed` refused before what does not count there."""
    times = counts_as(guarantee.model, guarantee.adjacency, in_model=total.model, in_adjacency=total.adjacency)
    return Fraction(0) if times is None else times


def includes(guarantees: Mapping[str, Guarantee]) -> dict[str, list[str]]:
    """Return the outputs that the sum of each model includes, where one includes outputs under another model; nothing
    where the sum of each model is of its own outputs only."""
    counted = _counted(guarantees)
    mixed = any(guarantees[name].model != model for model, names in counted.items() for name in names)
    return counted if mixed else {}


def _counted(guarantees: Mapping[str, Guarantee]) -> dict[str, list[str]]:
    """Return the outputs that the sum of each model includes."""
    models = dict.fromkeys(each.model for each in guarantees.values() if each.model in ADDS_UP)
    return {model: [name for name, each in guarantees.items() if each.model in (model, "dp")] for model in models}


def sum_in_short(guarantee: Guarantee, included: Mapping[str, Sequence[str]]) -> str:
    """Return a promise on one line, with the outputs of its sum where `includes` states them."""
    names = included.get(guarantee.model, ())
    return f"{guarantee.in_short}: {', '.join(names)}" if names else guarantee.in_short


def in_words(guarantees: Mapping[str, Guarantee]) -> tuple[str, ...]:
    """Return what several outputs, by name, promise together: what adds up, and which of them nothing covers
    together."""
    added = [each for each in side_by_side(list(guarantees.values())) if each.model in ADDS_UP]
    counted = _counted(guarantees)
    sums = []
    for each in added:
        names = counted[each.model]
        which = f"Together the {len(names)} outputs {', '.join(names)} keep" if len(names) > 1 else f"{names[0]} keeps"
        own = [guarantees[name] for name in names]
        together = _several(each, Fraction(each.parameters["epsilon"]), _delta(each))
        sums.append(f"{which} {_kept(each)}.{together}{''.join(_additions(own, each))}")
        sums += _counted_more_than_once(each, {name: guarantees[name] for name in names})
    models = {name: each.model for name, each in guarantees.items()}
    alone = uncovered(models)
    if alone:
        listed = [f"{name} ({models[name]})" for name in alone]
        if len(alone) == 1:
            holds = "Its promise holds for whoever has that output alone."
        else:
            holds = "The promise of each holds for whoever has only that output."
        sums.append(f"{not_together(listed, len(models))} {holds}")
    return tuple(sums)


def not_together(listed: Sequence[str], outputs: int) -> str:
    """Return the sentence that no theorem covers these outputs. outputs: how many the release has in all."""
    which = "this output" if len(listed) == 1 else "these outputs"
    others = " with the others" if len(listed) < outputs else ""
    return f"No theorem covers {which} together{others}: {', '.join(listed)}."


def _counted_more_than_once(total: Guarantee, counted: Mapping[str, Guarantee]) -> Iterator[str]:
    """Yield which outputs count more than once in a sum, because one of its changes is several of theirs."""
    times = {name: _times(each, total) for name, each in counted.items() if each.model != total.model}
    often = max(times.values(), default=1)  # outputs under dp have one adjacency, so all of them count alike
    if often != 1:
        change = f"one change under {total.adjacency} is {often} of theirs"
        yield f"In this sum the epsilon of {', '.join(times)} counts {often} times: {change}."


def _several(guarantee: Guarantee, epsilon: Fraction, delta: Fraction | None) -> str:
    """Return what is promised of several units together, where differential privacy promises it."""
    if guarantee.model != "dp":
        return ""
    return f" {phrases.factor_of_several(guarantee.adjacency, guarantee.unit, epsilon, delta)}".rstrip()


def _delta(guarantee: Guarantee) -> Fraction | None:
    return Fraction(guarantee.parameters["delta"]) if "delta" in guarantee.parameters else None


def _kept(guarantee: Guarantee) -> str:
    """Return a promise that adds up as a sentence goes on after "keeps"."""
    epsilon, delta = Fraction(guarantee.parameters["epsilon"]), _delta(guarantee)
    kept = f"{phrases.exponent(epsilon)}-{MODELS[guarantee.model].title}"
    kept += "" if delta is None else f" with delta = {delta}"
    if guarantee.model != "dp":
        return f"{kept}, given the size of the noise"
    return f"{kept}: {guarantee.compared}, {phrases.factor(epsilon, delta)}"


def _additions(guarantees: Sequence[Guarantee], total: Guarantee) -> Iterator[str]:
    """Yield how epsilons, and deltas if there are any, add up, each as often as it counts; nothing of a single one."""
    for name in ("epsilon", "delta") if len(guarantees) > 1 else ():
        often = [1 if each.model == total.model else _times(each, total) for each in guarantees]
        each_spends = [Fraction(each.parameters.get(name, 0)) for each in guarantees]
        spent = Counter(times * each for times, each in zip(often, each_spends, strict=True))
        added = sum((times * each for each, times in spent.items()), Fraction(0))
        if added:
            told = " + ".join(f"{times} x {each}" if times > 1 else str(each) for each, times in spent.items() if each)
            yield f" {name.capitalize()} adds up: {told} = {added}."


def _union(parts: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item for part in parts for item in part))
