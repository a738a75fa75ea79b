"""Differentially private microdata by insensitive microaggregation.

    1  clamp every value to its declared domain and put it on the public grid (penstock.mechanisms.numbers.grid)
    2  sort the records by a public total order and cut them into J = floor(n / k) blocks (orders.py)
    3  number:    add to each block's sum one discrete Laplace draw, alpha = exp(-w_i epsilon / D_i);
                  divide by the size of the block, round to the grid, clamp
       category:  draw each block's category from the whole public list or taxonomy,
                  P(a) ~ exp(-w_i epsilon m(S, a) / (2 D_i)),  m(S, a) = sum over the block of delta(x, a);
                  columns with combinations that cannot be are drawn together, without these (_joint.py)
    4  write each block's values as often as it has records, and put all rows in random order

Theorem. With sum w_i = 1 the output is epsilon-differentially private under `replace`, n public.
Proof. The order is fixed before any data are seen, so replacing one record changes the list of block sums of
attribute i by at most D_i in L1 (orders, (1)), and costs the draws of that attribute w_i epsilon together: for
numbers by the triangle inequality |s + x| - |s' + x| <= |s - s'| summed over blocks, for categories by
mechanisms.taxonomy.reach, also where several are drawn together (_joint.py). Attributes add up to epsilon. Block sizes
depend on n and k only; rounding, clamping, repetition and a uniform permutation do not look at the data again.

Marginals mode does the same for each attribute by itself, where D = R (the order is natural), and puts
every column in a random order of its own: rows mean nothing then. Kept together, such columns would show exactly
which records share their blocks, and that is not private at any epsilon.

Source: Soria-Comas 2013 (thesis), chapter 6, for the idea; theorem and proof are ours. Departures: one draw for each
block instead of each record, D_i instead of the domain's width, the diameter instead of the distance of two
boundaries, epsilon split over the attributes, integers instead of floats. As printed, Algorithm 6.2 loses up to
(3k - 2) epsilon; docs/mechanisms/dp_microaggregation.md says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, StrictInt

from penstock.mechanisms import clamping, phrases
from penstock.mechanisms.columns import Column, Columns, Declared, Role, named
from penstock.mechanisms.combinations import MOST_COMBINATIONS, Combination
from penstock.mechanisms.dp_microaggregation._attributes import Attribute, attribute_of
from penstock.mechanisms.dp_microaggregation._choice import MOST_CORNER_ATTRIBUTES, Choice, choose_order
from penstock.mechanisms.dp_microaggregation._joint import combination_faults, linked_columns
from penstock.mechanisms.dp_microaggregation.orders import Blocks, Snake
from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.numbers.exact import ExactNumber
from penstock.mechanisms.numbers.shares import share_faults
from penstock.mechanisms.permutation import permutation
from penstock.mechanisms.protected import Protected
from penstock.mechanisms.randomness import Randomness
from penstock.mechanisms.refusal import Fault, SettingRefused, TooFewRecords
from penstock.mechanisms.sound import require_sound
from penstock.mechanisms.taxonomy import candidates

__all__ = ["ChosenPart", "Params", "chosen_facts", "faults", "promise", "protect", "released_columns", "settle"]

OUTPUT_ROLES: tuple[Role, ...] = ("quasi_identifier", "confidential")
# The cost of comparing grows with the cube: seconds here, minutes at ten times as many.
MOST_CHOICES = 640


class Params(BaseModel):
    """How much may be learnt about one record, and how the blocks are formed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    mechanism: Literal["dp_microaggregation"] = Field(
        default="dp_microaggregation", description="The name of this mechanism."
    )
    epsilon: ExactNumber = Field(
        gt=0,
        description='Privacy loss of the whole release, exact: "1" or "1/2". Replacing one record by any other changes '
        "the probability of no output by more than the factor e^epsilon.",
    )
    adjacency: Literal["replace", "add_remove"] = Field(
        description="replace: two data sets are neighbours if one record differs; the number of records is public. "
        "Nothing else is proven for this mechanism.",
        json_schema_extra={"enum": ["replace"]},
    )
    k: Annotated[StrictInt, Field(ge=1)] | Literal["auto"] = Field(
        description="Records in a block. auto: the size with the smallest expected error, from public facts only."
    )
    order: Literal["auto", "natural", "lexicographic", "corner", "corners_in_turn", "snake"] = Field(
        default="auto",
        description="How records are sorted before they are cut into blocks. auto: the order with the smallest "
        "expected error. natural: one column by itself. snake: along a winding path through the domain. corner and "
        "corners_in_turn: by distance from corners of the domain. lexicographic: by the first column, then the next.",
    )
    mode: Literal["records", "marginals"] = Field(
        default="records",
        description="records: rows are protected records. marginals: every column is protected and shuffled by itself, "
        "far more exactly, but rows mean nothing.",
    )
    shares: dict[str, ExactNumber] = Field(
        default={}, description="How epsilon is divided among the columns; must add up to 1. Equal where not given."
    )
    impossible: list[Combination] = Field(
        default=[],
        max_length=MOST_COMBINATIONS,
        exclude_if=lambda given: not given,  # so that specs from before there were any keep their digests
        description="Combinations that cannot occur, each as two or more columns with a category, or a list of them: "
        "{relationship: Husband, marital-status: [Divorced, Widowed]}. From public rules, never from the data. Columns "
        "that they link get one draw for a block together, and never one of these; they spend their shares as before.",
    )
    rows_per_unit: Annotated[StrictInt, Field(ge=1)] | None = Field(
        default=None,
        description="Where a person or business has several records: the most that are used of each, chosen at random. "
        "Epsilon then protects all of them together.",
    )


def faults(params: Params, declared: Declared) -> list[Fault]:
    """Return every reason why these settings do not fit these columns, found before any row is read."""
    found: list[Fault] = []
    names = named(declared, *OUTPUT_ROLES)
    if not names:
        rule = "must have at least one column to protect"
        found.append(Fault("columns", rule, "Declare a quasi_identifier or confidential."))
    if params.epsilon <= 0:
        found.append(Fault("epsilon", "must be above 0", "Say how much may be learnt.", str(params.epsilon)))
    if params.adjacency == "add_remove":
        rule = "must be replace: one record more can make one block more, which shows, so no other adjacency is proven"
        found.append(Fault("adjacency", rule, "Use replace.", "add_remove"))
    found += _order_faults(params, len(names))
    found += share_faults(params.shares, names, "column")
    for name, column in declared.items():
        if column.role == "weight":
            rule = "must not be weight: it has no declared bounds, so nothing can be promised about it"
            remedy = "Declare it confidential and continuous with a domain, or leave it out."
            found.append(Fault(f"columns.{name}.role", rule, remedy, "weight"))
        elif column.role in OUTPUT_ROLES and column.missing != "refuse":
            rule = "must be refuse: a missing value can neither be averaged nor compared"
            found.append(Fault(f"columns.{name}.missing", rule, "Complete the data first.", column.missing))
        elif max(len(column.categories or ()), len(column.taxonomy or ())) > MOST_CHOICES:
            rule = (
                f"must be at most {MOST_CHOICES} with their concepts; every one is compared with every pair of others"
            )
            found.append(Fault(f"columns.{name}.categories", rule, "Group them.", str(len(column.categories or ()))))
        elif len(column.categories or (1, 2)) < 2:
            rule = "must be more than one: a single category has nothing to protect, and would take a share of epsilon"
            found.append(Fault(f"columns.{name}.categories", rule, "Leave it out."))
    if params.impossible and params.mode == "marginals":
        rule = "must not be given for marginals, whose rows are no combinations of anything"
        found.append(Fault("impossible", rule, "Remove it, or use mode: records."))
    return [*found, *combination_faults(params.impossible, declared, names)]


def _order_faults(params: Params, attributes: int) -> Iterator[Fault]:
    if params.mode == "marginals" and params.order not in ("auto", "natural"):
        yield Fault("order", "must be natural for marginals, each column by itself", "Remove it.", params.order)
    elif params.mode == "records" and params.order == "natural" and attributes > 1:
        yield Fault("order", "must not be natural for several columns", "Use snake, or mode: marginals.", params.order)
    elif params.order == "corners_in_turn" and attributes > MOST_CORNER_ATTRIBUTES:
        rule = f"must not be used for more than {MOST_CORNER_ATTRIBUTES} columns"
        yield Fault("order", rule, "Use snake.", params.order)


def released_columns(params: Params, declared: Declared) -> dict[str, Column]:
    """Return the columns of the output: a category may come back as any concept of its taxonomy."""
    return {
        name: column if column.taxonomy is None else column.model_copy(update={"categories": candidates(column)})
        for name, column in declared.items()
        if column.role in OUTPUT_ROLES
    }


@dataclass(frozen=True, slots=True)
class ChosenPart:
    """Columns that are cut into blocks together: how, and what each of them may spend."""

    attributes: dict[str, Attribute]
    epsilons: tuple[Fraction, ...]
    choice: Choice

    def facts(self) -> dict[str, Any]:
        """Return all of it as public data; numbers that a promise rests on are exact.

        sorted_by: the columns as the order takes them. intervals: into how many a snake cuts each; the last is whole.
        """
        choice = self.choice
        columns = {}
        together = {name: scale for joint in choice.joints for name, scale in joint.scales.items()}
        for place, (name, attribute) in enumerate(self.attributes.items()):
            sensitivity, epsilon = choice.sensitivities[place], self.epsilons[place]
            columns[name] = {
                "epsilon": str(epsilon),
                "sensitivity": sensitivity,
                "expected_error": choice.errors[place],
                **attribute.facts(together.get(name) or attribute.scale(sensitivity, epsilon), choice.k),
            }
        return {
            "order": choice.order.name,
            "sorted_by": list(self.attributes),
            **({"intervals": [*choice.order.columns, 1]} if isinstance(choice.order, Snake) else {}),
            "k": choice.k,
            "blocks": choice.blocks,
            "columns": columns,
            **({"joint": [joint.facts() for joint in choice.joints]} if choice.joints else {}),
        }

    def draw(
        self, levels: Sequence[NDArray[np.int64]], blocks: Blocks, randomness: Randomness
    ) -> dict[str, NDArray[Any]]:
        """Draw the protected values of every block: numbers, or codes of candidates."""
        drawn: dict[str, NDArray[Any]] = {}
        for joint in self.choice.joints:
            drawn |= joint.draw(levels, blocks, randomness)
        for place, (name, attribute) in enumerate(self.attributes.items()):
            if name not in drawn:
                sensitivity, epsilon = self.choice.sensitivities[place], self.epsilons[place]
                drawn[name] = attribute.draw(levels[place], blocks, sensitivity, epsilon, randomness)
        return {name: drawn[name] for name in self.attributes}


def settle(params: Params, declared: Declared, records: int) -> tuple[ChosenPart, ...]:
    """Decide what the settings leave open, by the number of records and the declared columns alone.

    Records mode settles all columns together, marginals mode each by itself.
    """
    SettingRefused.raise_for(faults(params, declared))
    if records < (1 if params.k == "auto" else params.k):
        raise TooFewRecords.at(
            "k", rule="must not exceed the number of records", got=params.k, remedy="Lower k, or wait for more records."
        )
    names = named(declared, *OUTPUT_ROLES)
    # Group privacy: what protects one record protects c of them at c times the loss.
    loss = params.epsilon / (params.rows_per_unit or 1)
    epsilons = {name: loss * params.shares.get(name, Fraction(1, len(names))) for name in names}
    together = [names] if params.mode == "records" else [(name,) for name in names]
    return tuple(_settle({name: epsilons[name] for name in part}, params, declared, records) for part in together)


def chosen_facts(params: Params, declared: Declared, records: int) -> dict[str, Any]:
    """Return what `protect` will state as settled, before any record is looked at."""
    return _facts(params, settle(params, declared, records), records)


def _facts(params: Params, chosen: Sequence[ChosenPart], records: int) -> dict[str, Any]:
    return {"records": records, "epsilon": str(params.epsilon), "parts": [part.facts() for part in chosen]}


def _settle(epsilons: Mapping[str, Fraction], params: Params, declared: Declared, records: int) -> ChosenPart:
    attributes = {name: attribute_of(declared[name], name) for name in epsilons}
    each = tuple(epsilons.values())
    linked = linked_columns(params.impossible, declared, tuple(epsilons))
    choice = choose_order(list(attributes.values()), each, records, params.order, params.k, linked)
    return ChosenPart(attributes, each, choice)


_STATEMENT = "{epsilon}-differential privacy: whichever {unit} is {change}, {factor}. {several}"
_TOGETHER = (
    " {}: one draw for a block for all of them together, never a combination that is declared impossible, "
    "whatever combinations the records have."
)
_OUTPUT = {
    "records": "The output is a file of records; each carries the protected mean or category of a block of records.",
    "marginals": "The output is one list of protected values for each column, each in a random order of its own; "
    "a row is not a record.",
}


def promise(params: Params, declared: Declared) -> Guarantee:
    """Return what a release with these settings promises, and what it does not."""
    SettingRefused.raise_for(faults(params, declared))
    unit: Literal["row", "individual"] = "row" if params.rows_per_unit is None else "individual"
    names = named(declared, *OUTPUT_ROLES)
    parameters: dict[str, Any] = {
        "epsilon": str(params.epsilon),
        "mechanism": "dp_microaggregation",
        "mode": params.mode,
        "order": "natural" if params.mode == "marginals" else params.order,
        "k": params.k,
        "shares": {name: str(params.shares.get(name, Fraction(1, len(names)))) for name in names},
    }
    if params.rows_per_unit is not None:
        parameters["rows_per_unit"] = params.rows_per_unit
    linked = linked_columns(params.impossible, declared, names)
    if linked:
        parameters["impossible"] = [combination for each in linked for combination in each.stated]
    limits = [
        phrases.NUMBER_OF_RECORDS,
        phrases.COMMON,
        "accuracy: noise and averages replace every value; the expected error is stated with the release",
    ]
    if params.rows_per_unit is not None:
        limits.append(phrases.hides_no_number_of_own_records(params.rows_per_unit))
    if params.mode == "marginals":
        limits.append("any relation between columns: none is kept")
    limits += clamping.not_promised(clamping.may_be_clamped(declared, names), "values and means")
    return Guarantee(
        model="dp",
        parameters=parameters,
        adjacency="replace",
        unit=unit,
        statement=_STATEMENT.format(
            epsilon=phrases.exponent(params.epsilon),
            unit=phrases.unit_in_words("replace", params.rows_per_unit),
            change=phrases.what_changes("replace"),
            factor=phrases.factor(params.epsilon),
            several=phrases.factor_of_several("replace", unit, params.epsilon),
        )
        + _OUTPUT[params.mode]
        + "".join(_TOGETHER.format(", ".join(each.names)) for each in linked),
        public=(
            "number of records",
            "declared domains, categories and taxonomies",
            *(("impossible combinations",) if linked else ()),
            "grid",
            "order",
            "block sizes",
            "shares of epsilon",
            "sensitivities and scales of the noise",
        ),
        secret=("random words", "noise", "block sums", "block of each record", "original row order"),
        assumptions=(
            phrases.BY_DECLARATION.format(
                ("impossible combinations, " if linked else "") + "domains, categories and taxonomies"
            ),
            phrases.one_individual(params.rows_per_unit),
            *phrases.validated_and_decided(),
        ),
        not_promised=tuple(limits),
        postprocessing="any",
        composes_with="dp: epsilons add up",
        audit=(
            "block_sizes",
            "one_value_per_block",
            "published_values",
            *(("possible_combinations",) if linked else ()),
            "epsilon_spent",
            "identifiers_absent",
        ),
    )


def protect(columns: Columns, declared: Declared, params: Params, randomness: Randomness) -> Protected:
    """Return protected records in random order under `promise(params, declared)`; codes refer to `released_columns`."""
    guarantee = promise(params, declared)
    records = require_sound(columns, declared, clamped=True)
    chosen = settle(params, declared, records)
    origin = permutation(records, randomness)
    released: dict[str, NDArray[Any]] = {}
    groups: dict[str, NDArray[np.integer[Any]]] = {}
    for part in chosen:
        levels = [attribute.levels(columns[name], name) for name, attribute in part.attributes.items()]
        blocks = part.choice.order.cut(levels, [a.axis for a in part.attributes.values()], part.choice.k)
        labels = np.empty(records, np.int64)
        labels[blocks.rows] = np.repeat(np.arange(part.choice.blocks), np.diff(blocks.starts))
        # In marginals mode every column has a row order of its own: together they would show who shares blocks.
        places = labels[origin] if params.mode == "records" else labels[permutation(records, randomness)]
        for name, values in part.draw(levels, blocks, randomness).items():
            released[name] = _as_given(values, columns[name], declared[name])[places]
            groups[name] = labels
    facts = _facts(params, chosen, records)
    return Protected(released, guarantee, masked=tuple(released), groups=groups, origin=origin, chosen=facts)


def _as_given(values: NDArray[Any], source: NDArray[Any], column: Column) -> NDArray[Any]:
    """Return categories as text if they came as text, else as codes of the type that they came in, if it holds them."""
    if column.numeric:
        return values
    labels = candidates(column)
    if source.dtype.kind not in "iu":
        return np.take(np.array(labels, dtype=object), values)
    return values.astype(source.dtype if len(labels) <= np.iinfo(source.dtype).max else np.int64)
