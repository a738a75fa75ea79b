"""What is declared about a column before any row is read.

Arrays that stand for a column:

* integer, continuous: numbers; a missing value is NaN in a float64 array;
* ordinal, nominal: either the category values themselves (an array of text), or integer codes
  into `categories`, -1 standing for missing. An integer array is always read as codes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictFloat,
    StrictInt,
    StrictStr,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from penstock.mechanisms.numbers.exact import ExactNumber
from penstock.mechanisms.numbers.reach import reach_of
from penstock.mechanisms.recode import MOST_CATEGORIES, Recode
from penstock.mechanisms.refusal import ColumnTypeWrong, Fault, ValueOutsideDomain
from penstock.mechanisms.taxonomy import Taxonomy

__all__ = [
    "MOST_CATEGORIES",
    "MOST_COLUMNS",
    "Bound",
    "Column",
    "ColumnType",
    "Columns",
    "Declared",
    "MissingRule",
    "OutsideRule",
    "Role",
    "named",
    "reach_faults",
]

# Limits to what one spec may declare: every plan, page and description lists it, so every command bears its cost.
MOST_COLUMNS = 2_000

Role = Literal["identifier", "quasi_identifier", "confidential", "weight"]
ColumnType = Literal["integer", "continuous", "ordinal", "nominal"]
MissingRule = Literal["refuse", "category", "own_group"]
OutsideRule = Literal["refuse", "clamp"]
Bound = StrictInt | Annotated[StrictFloat, Field(allow_inf_nan=False)]
Categories = tuple[StrictStr, ...] | tuple[StrictInt, ...]
# A spec file may name a file instead, which is read before the spec is checked.
Parents = Annotated[
    Mapping[StrictStr, tuple[StrictStr, ...]],
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}},
                {"type": "string"},
            ]
        }
    ),
]

Columns = Mapping[str, NDArray[Any]]

# Integers up to here are exact in float64, which carries integer columns with missing values.
_EXACT_INTEGER = 2**53
# Squares and quotients of numbers between these stay far from the limits of floating point.
_FARTHEST, _NARROWEST = 1e150, 1e-150


class Column(BaseModel):
    """One column: its role, its type, and what values it may take."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: Role = Field(
        description="identifier: dropped when read, never written. quasi_identifier: an outsider may "
        "know it. confidential: what must not be learnt. weight: sampling weight; its domain, if it is declared, goes "
        "from 0 or more to the largest weight."
    )
    type: ColumnType | None = Field(
        default=None,
        description="integer or continuous numbers, ordinal or nominal categories. "
        "Not needed for identifiers and weights.",
    )
    resolution: ExactNumber | None = Field(
        default=None,
        exclude_if=lambda given: given is None,  # so that specs from before there was any keep their digests
        description="In place of a domain, where nobody knows one: what values are told apart, such as 100 or 0.01, "
        "from public knowledge. Values up to 2^28 times as large fit, in either direction. For table and statistics "
        "under bdp, whose noise does not follow the domain, and for medians, quantiles and second maxima under idp.",
    )
    domain: tuple[Bound, Bound] | None = Field(
        default=None,
        validate_default=True,
        description="Lowest and highest possible value, from public knowledge, never from the data.",
    )
    outside: OutsideRule = Field(
        default="refuse",
        description="refuse: a number outside the domain stops the release. clamp: it counts as the nearest bound "
        "(top and bottom coding), so that bounds can be tight; totals and means are then pulled towards the bounds.",
    )
    taxonomy: Parents | None = Field(
        default=None,
        description="nominal only: what is above each category, {child: [parents]}, the root with []; in a spec file "
        "also the path of a JSON file that holds it, of a hierarchy of ARX (.csv: value;generalisation;...;top), or of "
        "one of τ-ARGUS (.hrc: one category a line, its level told by leading @). Public: it may not be made from the "
        "data.",
    )
    recode: Recode | None = Field(
        default=None,
        exclude_if=lambda given: given is None,  # so that specs from before there was any keep their digests
        description="What the column is made of, where the source has it in another form: bands of numbers, groups of "
        "categories, or a column of another name. Bands and groups name the categories themselves.",
    )
    categories: Categories | None = Field(
        default=None,
        validate_default=True,
        description="Every possible category; for ordinal columns from lowest to highest. With a taxonomy: its leaves, "
        "if not listed. Only the nominal column that budget.part names may have a single one.",
    )
    missing: MissingRule = Field(
        default="refuse",
        description="refuse: a missing value stops the release. category: missing counts as a value of its own. "
        "own_group: records without a value are swapped among themselves only (ir_swap).",
    )

    @model_validator(mode="before")
    @classmethod
    def _holds_what_can_be_listed(cls, raw: object) -> object:
        if not isinstance(raw, Mapping):
            return raw
        faults = []
        if isinstance(raw.get("taxonomy"), str):
            rule = "must not be a path where the spec is not a file"
            remedy = "Put the spec into a file, or give {child: [parents]} itself."
            faults.append(Fault("taxonomy", rule, remedy, repr(raw["taxonomy"])))
        for field in ("categories", "taxonomy"):  # before each entry is looked at and its faults are listed
            listed = raw.get(field)
            if isinstance(listed, Mapping | Sequence) and len(listed) > MOST_CATEGORIES:
                faults.append(Fault(field, f"must list at most {MOST_CATEGORIES:,}", "Group them.", f"{len(listed):,}"))
        faults = faults or list(_mixed_faults(raw.get("categories")))
        if faults:
            raise PydanticCustomError("faults", "cannot be listed", {"faults": faults})
        return raw

    @field_validator("categories")
    @classmethod
    def _follow_if_not_listed(cls, categories: Categories | None, others: ValidationInfo) -> Categories | None:
        recode = others.data.get("recode")
        if categories is None and recode is not None and recode.categories is not None:
            return recode.categories  # type: ignore[no-any-return]
        parents = others.data.get("taxonomy")
        if categories is not None or parents is None or others.data.get("type") != "nominal":
            return categories
        return None if Taxonomy.faults(parents) else Taxonomy(parents).leaves

    @field_validator("domain")
    @classmethod
    def _reach_if_not_known(
        cls, domain: tuple[Bound, Bound] | None, others: ValidationInfo
    ) -> tuple[Bound, Bound] | None:
        resolution = others.data.get("resolution")
        if domain is not None or not resolution or others.data.get("type") not in ("integer", "continuous"):
            return domain
        return reach_of(resolution, whole=others.data["type"] == "integer")

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        faults = list(self._faults())
        if faults:
            raise PydanticCustomError("faults", "the column is inconsistent", {"faults": faults})
        return self

    def _faults(self) -> list[Fault]:
        faults: list[Fault] = []

        def refuse(field: str, rule: str, remedy: str, got: object = None) -> None:
            faults.append(Fault(field, rule, remedy, "" if got is None else repr(got)))

        described = self.role in ("quasi_identifier", "confidential")
        if not described:
            bounded = ("domain", "outside") if self.role == "weight" else ()
            for field in ("resolution", "domain", "taxonomy", "categories", "recode"):
                if field not in bounded and field in self.model_fields_set and getattr(self, field) is not None:
                    refuse(field, f"must not be given for role {self.role}", "Remove it.")
            if self.role == "identifier" and self.type is not None:
                refuse("type", "must not be given for role identifier", "Remove it.")
            for field in ("outside", "missing"):
                if field not in bounded and getattr(self, field) != "refuse":
                    refuse(field, f"must be refuse for role {self.role}", "Remove it.", getattr(self, field))
            return [*faults, *(self._weight_faults() if self.role == "weight" else ())]
        if self.recode is not None:
            unfit = list(self._recode_faults(self.recode))
            if unfit:
                return unfit
        if self.taxonomy is not None and self.type != "nominal":
            refuse("taxonomy", f"must not be given for type {self.type}", "Remove it, or declare the type nominal.")
        unsound = [] if self.taxonomy is None or self.type != "nominal" else Taxonomy.faults(self.taxonomy)
        faults += unsound
        if self.type is None:
            refuse("type", f"must be given for role {self.role}", "Choose integer, continuous, ordinal or nominal.")
        elif self.numeric:
            faults += self._resolution_faults()
            if self.categories is not None:
                refuse(
                    "categories", f"must not be given for type {self.type}", "Remove it, or declare the type nominal."
                )
            if self.domain is None:
                refuse(
                    "domain",
                    f"must be given for type {self.type}",
                    "Declare [lowest, highest] from public knowledge.",
                )
            elif not self.domain[0] < self.domain[1]:
                # A draft of `penstock init` leaves [0, 0] for its reader to replace.
                remedy = "Swap or widen them."
                if self.domain == (0, 0):
                    remedy = (
                        "Replace the placeholder with the lowest and highest possible value, from public knowledge."
                    )
                refuse("domain", "must have a lowest value below the highest", remedy, self.domain)
            elif any(reach_faults("domain", self.domain)):
                faults += reach_faults("domain", self.domain)
            elif self.type == "integer" and not all(
                float(b).is_integer() and abs(b) <= _EXACT_INTEGER for b in self.domain
            ):
                refuse("domain", "must have whole bounds up to 2^53 for an integer", "Round outwards.", self.domain)
        else:
            if self.resolution is not None:
                refuse("resolution", f"must not be given for type {self.type}", "Remove it.", str(self.resolution))
            if self.domain is not None:
                refuse("domain", f"must not be given for type {self.type}", "List categories instead.")
            if self.outside != "refuse":
                refuse("outside", f"must be refuse for type {self.type}", "Remove it.", self.outside)
            if self.categories is None:
                if not unsound:  # otherwise the leaves are what is missing
                    refuse("categories", f"must be given for type {self.type}", "List every possible category.")
            elif len(self.categories) < (1 if self.type == "nominal" else 2):
                refuse("categories", "must list at least two", "List every possible category.", self.categories)
            elif len(set(self.categories)) < len(self.categories):
                refuse("categories", "must not list a category twice", "Remove the repetition.")
            elif self.taxonomy is not None and not unsound and not set(self.categories) <= set(self.taxonomy):
                refuse("categories", "must list concepts of the taxonomy only", "Correct one of them.")
        return faults

    def _resolution_faults(self) -> Iterator[Fault]:
        resolution, whole = self.resolution, self.type == "integer"
        if resolution is None:
            return
        if resolution <= 0 or (whole and resolution.denominator > 1):
            rule = f"must be {'a whole number ' if whole else ''}above 0"
            yield Fault("resolution", rule, "Write what values are told apart.", repr(str(resolution)))
        elif self.domain != reach_of(resolution, whole=whole):
            rule = "must not be given beside a domain: it says what is told apart where none is known"
            yield Fault("resolution", rule, "Remove one of the two.", repr(str(resolution)))

    def _weight_faults(self) -> Iterator[Fault]:
        if self.type not in (None, "continuous"):
            rule = "must be continuous for a weight, as its group mean is"
            yield Fault("type", rule, "Remove it.", repr(self.type))
        if self.domain is not None and not 0 <= self.domain[0] < self.domain[1]:
            rule = "must go from 0 or more to a higher value for a weight"
            yield Fault("domain", rule, "Declare [0, the largest weight].", repr(self.domain))
        elif self.domain is not None:
            yield from reach_faults("domain", self.domain)
        elif self.outside != "refuse":
            rule = "must be refuse for a weight without a domain"
            yield Fault("outside", rule, "Declare its domain, or remove it.", repr(self.outside))

    def _recode_faults(self, recode: Recode) -> Iterator[Fault]:
        yield from recode.faults(self.type)
        made = recode.categories
        if made is not None and self.taxonomy is not None:
            yield Fault("taxonomy", "must not be given for bands or groups", "Remove it.")
        elif made is not None and self.categories is not None and tuple(self.categories) != made:
            yield Fault("categories", "must not be given for bands or groups, which name them", "Remove it.")

    def __hash__(self) -> int:
        """Return a hash of all but the taxonomy, because a mapping has no hash; equal columns have equal hashes."""
        known = (self.role, self.type, self.domain, self.resolution, self.outside, self.categories, self.missing)
        return hash(known)

    @property
    def numeric(self) -> bool:
        return self.type in ("integer", "continuous") or self.role == "weight"

    @property
    def bounds(self) -> tuple[float, float]:
        """Return the declared domain; for categories, the first and last code."""
        if self.domain is not None:
            return float(self.domain[0]), float(self.domain[1])
        if self.categories is not None:
            return 0.0, float(len(self.categories) - 1)
        raise ValueError("a column without domain or categories has no bounds")

    def clamped(self, values: NDArray[Any]) -> NDArray[Any]:
        """Move numbers outside the domain to its nearest bound, where that is declared; missing ones stay missing."""
        if self.outside != "clamp":
            return values
        low, high = self.bounds
        if values.dtype.kind == "i":
            return np.clip(values.astype(np.int64, copy=False), int(low), int(high))
        return np.clip(values.astype(np.float64, copy=False), low, high)

    def require_codes(self, values: NDArray[Any], name: str) -> None:
        """Refuse integers that are no codes of categories, nor -1 for a missing one."""
        if values.size and not (values.min() >= -1 and values.max() < len(self.categories or ())):
            raise ValueOutsideDomain.at(
                name,
                rule="must hold codes that point into categories",
                remedy="Correct the categories or the data.",
            )

    def codes(self, values: NDArray[Any], name: str) -> NDArray[np.int64]:
        """Return category codes 0..C-1, -1 where missing, for an array of codes or of category values."""
        categories = self.categories or ()
        if values.dtype.kind in "iu":
            self.require_codes(values, name)
            return values.astype(np.int64, copy=False)
        if values.dtype.kind not in "OUT":
            raise ColumnTypeWrong.at(
                name,
                rule=f"must be an array of categories or of integer codes for type {self.type}",
                got=str(values.dtype),
                remedy="Convert it before calling.",
            )
        place = {category: code for code, category in enumerate(categories)}
        place[None] = -1  # an object array marks missing values with None
        try:
            return np.fromiter((place[value] for value in values.tolist()), np.int64, len(values))
        except KeyError:
            raise ValueOutsideDomain.at(
                name, rule="must hold declared categories only", remedy="Correct the categories or the data."
            ) from None


Declared = Mapping[str, Column]


def reach_faults(field: str, domain: tuple[float, float]) -> Iterator[Fault]:
    """Yield faults of bounds that floating point cannot carry through a computation."""
    low, high = domain
    if max(abs(low), abs(high)) > _FARTHEST:
        rule, remedy = "must not reach beyond 1e150", "Declare what is possible, or use another unit of measurement."
        yield Fault(field, rule, remedy, _shown(domain))
    elif 0 < high - low < _NARROWEST:
        rule, remedy = "must have bounds at least 1e-150 apart", "Use another unit of measurement."
        yield Fault(field, rule, remedy, _shown(domain))


def _mixed_faults(categories: object) -> Iterator[Fault]:
    """Yield one fault of a list that holds anything but texts, or anything but whole numbers."""
    if not isinstance(categories, list | tuple):
        return
    kinds = {type(each) for each in categories}
    if len(kinds) > 1 or not kinds <= {str, int}:
        as_read = next(repr(each) for each in categories if type(each) not in (str, int) or len(kinds) > 1)
        remedy = "Put each in quotes."
        if bool in kinds:
            remedy = 'Put each in quotes, such as "yes": YAML reads yes, no, on and off as true or false.'
        yield Fault("categories", "must be texts only, or whole numbers only", remedy, as_read[:80])


def _shown(domain: tuple[float, float]) -> str:
    """Return the bounds as text; a whole number may have more digits than anybody reads, or Python writes."""
    return ", ".join(repr(bound) if abs(bound) < 10**20 or isinstance(bound, float) else "..." for bound in domain)


def named(declared: Declared, *roles: Role) -> tuple[str, ...]:
    """Return the names of the columns that have one of the roles, in declared order."""
    return tuple(name for name, column in declared.items() if column.role in roles)
