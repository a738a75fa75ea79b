"""A prior in a file of its own, for a question: what anybody may believe of a value before asking."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from pydantic import BaseModel, TypeAdapter, ValidationError

from penstock.flows.query_text import QueryRefused
from penstock.mechanisms.refinement.priors import AnyPrior
from penstock.mechanisms.refusal import Fault, as_rule
from penstock.records.files.outside_text import OutsideFile
from penstock.records.files.outside_values import require_values

__all__ = ["prior_of", "read_prior"]

_PRIOR: TypeAdapter[AnyPrior] = TypeAdapter(AnyPrior)


def read_prior(path: Path) -> AnyPrior:
    """Return the prior in a YAML or JSON file, with the keys of protect.priors.NAME in a spec."""
    file = OutsideFile(path, str(path), QueryRefused)
    return prior_of(file.json() if path.suffix == ".json" else file.yaml())


def prior_of(raw: object) -> AnyPrior:
    """Return the prior with these keys; refuse with every fault."""
    if not isinstance(raw, BaseModel):
        require_values("prior", raw, QueryRefused)
    try:
        return _PRIOR.validate_python(raw)
    except ValidationError as error:
        raise QueryRefused(*_told(error)) from None


def _told(error: ValidationError) -> Iterator[Fault]:
    for each in error.errors(include_url=False, include_input=False):
        if each["type"].startswith("union_tag"):
            yield Fault("prior.kind", "must be one of masses, uniform, histogram, distribution", "Name the kind.")
            continue
        place = ".".join(["prior", *map(str, each["loc"][1:])])
        if each["type"] == "faults":
            yield from (replace(fault, field=place) for fault in each["ctx"]["faults"])
            continue
        yield Fault(place, as_rule(each["msg"]), "Correct it; docs/spec.md has every key, under protect.priors.NAME.")
