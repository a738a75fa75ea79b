"""What a promise of closeness says, and which columns it is about.

    method    output      several    one partition for     column of groups    table beside the records
    buckets   anatomy     none       the one column        group               buckets
    buckets   anatomy     joint      all columns           group               buckets
    buckets   anatomy     each       every column          group_<name>        buckets_1, buckets_2, ...
    buckets   permuted    any        as above              none: secret        none
    ranked    anatomy                all columns           group               values

Only confidential columns are in buckets and groups, in declared order.

t is promised as a fraction that is not above e^epsilon. With S_m = sum_{i <= m} epsilon^i / i! and m + 2 > epsilon

    S_m <= e^epsilon <= S_m + epsilon^(m+1) / (m+1)! / (1 - epsilon / (m+2))                                     (1)

because the terms left out fall at least as fast as those of a geometric series. Both ends reach e^epsilon, which is
irrational for every fraction other than 0, so (1) decides about every fraction t, and no float is needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from penstock.measures.checks import RecheckImpossible
from penstock.measures.groups.output import BucketOutput
from penstock.mechanisms.columns import Column, named
from penstock.mechanisms.refusal import Fault

__all__ = ["Part", "Promise", "at_most_exponential", "read_promise"]

# With this many digits every decision by (1) ends within a moment.
_WRITTEN = re.compile(r"[0-9]{1,100}(/[1-9][0-9]{0,99})?")
_KINDS = (
    ("t_close", "buckets", "anatomy"),
    ("t_close", "buckets", "permuted"),
    ("prob_k", "ranked", "anatomy"),
)


@dataclass(frozen=True, slots=True)
class Part:
    """Columns that share one partition, the column that shows their groups, and the table that holds the rest."""

    columns: tuple[str, ...]
    key: str
    table: str


@dataclass(frozen=True, slots=True)
class Promise:
    """A promise; t, epsilon, buckets are None where values are published by group, epsilon also where t was given."""

    method: str
    output: str
    k: int
    t: Fraction | None
    epsilon: Fraction | None
    buckets: int | None
    parts: tuple[Part, ...]

    @property
    def anatomy(self) -> bool:
        """Return whether groups are published, and what belongs to them in tables beside the records."""
        return self.output == "anatomy"

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for part in self.parts for name in part.columns)

    def published(self, output: BucketOutput, part: Part, name: str) -> Column | None:
        """Return the column that publishes the labels of the buckets, or None where there is none."""
        if self.anatomy:
            table = output.linked.get(part.table)
            found = None if table is None else table.declared.get(name)
        else:
            found = output.declared.get(name)
        return None if found is None or found.categories is None else found


def read_promise(output: BucketOutput) -> Promise:
    """Return the promise; refuse one that does not say enough to be counted again."""
    RecheckImpossible.raise_for(_faults(output))
    parameters = output.guarantee.parameters
    with_buckets = parameters["method"] == "buckets"
    columns = named(output.source, "confidential")
    parts: tuple[Part, ...]
    if not with_buckets:
        parts = (Part(columns, "group", "values"),)
    elif parameters["several"] == "each":
        parts = tuple(Part((name,), f"group_{name}", f"buckets_{place}") for place, name in enumerate(columns, 1))
    else:
        parts = (Part(columns, "group", "buckets"),)
    return Promise(
        method=parameters["method"],
        output=parameters["output"],
        k=parameters["k"],
        t=Fraction(parameters["t"]) if with_buckets else None,
        epsilon=Fraction(parameters["epsilon"]) if with_buckets and parameters["epsilon"] is not None else None,
        buckets=parameters["buckets"] if with_buckets else None,
        parts=parts,
    )


def _faults(output: BucketOutput) -> Iterator[Fault]:
    parameters = output.guarantee.parameters
    columns = named(output.source, "confidential")

    def fault(name: str, rule: str) -> Fault:
        return Fault(f"guarantee.parameters.{name}", rule, "Correct the guarantee.", repr(parameters.get(name)))

    kind = (output.guarantee.model, parameters.get("method"), parameters.get("output"))
    if kind not in _KINDS:
        yield fault("method", "must be a method of the model of closeness, with its output")
    if not columns:
        yield Fault("columns", "must include a confidential column, which the promise is about", "Declare one.")
    if not _is_whole(parameters.get("k")):
        yield fault("k", "must be a whole number of at least 2")
    if parameters.get("method") != "buckets":
        return
    if not _is_exact(parameters.get("t")):
        yield fault("t", "must be a fraction as text")
    if "epsilon" not in parameters or not (parameters["epsilon"] is None or _is_exact(parameters["epsilon"])):
        yield fault("epsilon", "must be a fraction as text, or None where t was given")
    if not _is_whole(parameters.get("buckets")):
        yield fault("buckets", "must be a whole number of at least 2")
    if parameters.get("several", "") not in (("joint", "each") if len(columns) > 1 else (None,)):
        yield fault("several", "must be joint or each for several confidential columns, None for one")


def _is_whole(number: object) -> bool:
    return type(number) is int and number >= 2


def _is_exact(text: object) -> bool:
    return isinstance(text, str) and _WRITTEN.fullmatch(text) is not None


def at_most_exponential(t: Fraction, epsilon: Fraction) -> bool:
    """Return whether t <= e^epsilon, by (1), for epsilon >= 0."""
    terms, term, place = Fraction(1), Fraction(1), 0
    while t > terms:
        following = term * epsilon / (place + 1)
        if place + 2 > epsilon and t > terms + following / (1 - epsilon / (place + 2)):
            return False
        terms, term, place = terms + following, following, place + 1
    return True
