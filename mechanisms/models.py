"""The models of promises, each declared once: what it is called, whether it adds up, and what outsiders cannot check.

A new model is one entry here, and the mechanism that promises it. How charges of one model count in an account of
another is a theorem for each pair of adjacencies, and stands in `composition`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, get_args

__all__ = ["ADDS_UP", "MODELS", "Budgeted", "Model", "PromiseModel"]

Budgeted = Literal["dp", "idp", "bdp"]
Model = Literal["dp", "idp", "bdp", "prob_k", "t_close", "k_anon"]

Parameters = Mapping[str, Any]

_NOISE = ("noise", "That noise of the promised size was drawn cannot be seen in the data.")
_NOT_DP = "This is not differential privacy."
_WITH_DELTA = ("Approximate DP", "Differential privacy, except within the probability delta.")
_RELAXED = f"A relaxation of differential privacy, given a secret size of the noise. {_NOT_DP}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromiseModel:
    """One model of promises.

    title: as readers of reports see it. variant, meaning: as registries of deployments call it, and what it says.
    unseen: the name of what nobody outside can check, and why; None where the data show it.
    loss: the name under which registries state epsilon; None where nothing adds up.
    permutes: whether the released values of a masked column are those of the source, in another order.
    """

    name: Model
    title: str
    variant: str
    meaning: str
    unseen: tuple[str, str] | None
    loss: str | None = None
    permutes: bool = False

    @property
    def adds_up(self) -> bool:
        """Return whether a composition theorem covers several releases; the others stand alone."""
        return self.loss is not None

    @property
    def is_differential_privacy(self) -> bool:
        return self.loss == "epsilon"

    def variant_of(self, parameters: Parameters) -> tuple[str, str]:
        """Return how registries call a promise with these parameters, and what that means."""
        return _WITH_DELTA if "delta" in parameters else (self.variant, self.meaning)

    def in_short(self, parameters: Parameters, adjacency: str) -> str:
        """Return a promise of this model on one line."""
        if self.adds_up:
            delta = f", delta = {parameters['delta']}" if "delta" in parameters else ""
            return f"{self.name}, epsilon = {parameters['epsilon']}{delta}, adjacency {adjacency}"
        if self.name == "t_close":
            bound = "t" if parameters["epsilon"] is None else "epsilon"
            return f"{self.name}, {bound} = {parameters[bound]}, k = {parameters['k']}, {parameters['output']}"
        return f"{self.name}, k = {parameters['k']}, {parameters.get('method', 'no noise')}"

    def in_words(self, parameters: Parameters) -> str:
        """Return the same for readers, who do not know the names of models and neighbours."""
        return self.in_short(parameters, "").replace(self.name, self.title, 1).removesuffix(", adjacency ")

    def stated(self, parameters: Parameters) -> dict[str, str]:
        """Return the numbers of a promise under the names by which registries know them, as exact text.

        Only differential privacy itself gets the name epsilon; its relaxations have names of their own.
        """
        if self.loss is not None:
            delta = {"delta": str(parameters.get("delta", 0))} if self.is_differential_privacy else {}
            return {self.loss: str(parameters["epsilon"]), **delta}
        return {name: str(parameters[name]) for name in ("k", "t") if parameters.get(name) is not None}


_ALL = (
    PromiseModel(
        name="dp",
        title="differential privacy",
        variant="Pure DP",
        meaning="Differential privacy, without delta.",
        unseen=_NOISE,
        loss="epsilon",
    ),
    PromiseModel(
        name="idp",
        title="individual differential privacy",
        variant="Individual DP",
        meaning=_RELAXED,
        unseen=_NOISE,
        loss="individual_epsilon",
    ),
    PromiseModel(
        name="bdp",
        title="bootstrap differential privacy",
        variant="Bootstrap DP",
        meaning=_RELAXED,
        unseen=_NOISE,
        loss="bootstrap_epsilon",
    ),
    PromiseModel(
        name="prob_k",
        title="probabilistic k-anonymity",
        variant="Probabilistic k-anonymity",
        meaning=f"A bound on the probability of a right guess. {_NOT_DP}",
        unseen=("swapping", "That values were swapped at random in groups cannot be seen in the data."),
        permutes=True,
    ),
    PromiseModel(
        name="t_close",
        title="t-closeness, as a ratio of shares",
        variant="t-closeness as a ratio of shares",
        meaning=f"A bound on what is believed of anybody's bucket. {_NOT_DP}",
        unseen=(
            "closeness",
            "How close the groups are to the whole cannot be recomputed: no table of buckets is here.",
        ),
    ),
    PromiseModel(
        name="k_anon",
        title="k-anonymity",
        variant="k-anonymity",
        meaning=f"A smallest number of records that look alike. {_NOT_DP}",
        unseen=None,
    ),
)
MODELS: Mapping[Model, PromiseModel] = MappingProxyType({model.name: model for model in _ALL})
ADDS_UP: frozenset[Model] = frozenset(model.name for model in _ALL if model.adds_up)

if set(MODELS) != set(get_args(Model)) or set(get_args(Budgeted)) != ADDS_UP:
    raise TypeError("every model has one entry, and those that add up have accounts")
