"""The claims of a manifest, read as those of the kind of output that its mechanism makes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field

from penstock.mechanisms.columns import Role
from penstock.mechanisms.composition import NotCountable, uncovered
from penstock.mechanisms.guarantee import Guarantee, includes, side_by_side
from penstock.mechanisms.mechanism import Kind
from penstock.mechanisms.models import ADDS_UP
from penstock.mechanisms.numbers.exact import stated_number
from penstock.mechanisms.refusal import NotComposable
from penstock.mechanisms.registry import MECHANISMS
from penstock.mechanisms.shared_file import Part, not_alike
from penstock.tasks.outputs._cell_claims import CellClaims
from penstock.tasks.outputs._claims import Beside, Claims, InFile
from penstock.tasks.outputs._group_claims import GroupClaims
from penstock.tasks.outputs._record_claims import RecordClaims

__all__ = ["SEVERAL", "SINGLE", "Beside", "Claims", "Together", "claims_of", "several_claims_of"]

# The formats of the release part of a manifest: with one output, and with several.
SINGLE, SEVERAL = 1, 2
# What each output of several shares with the others.
_SHARED = ("bytes", "reviewers", "spreadsheet")

_CLAIMS: dict[Kind, type[Claims]] = {"records": RecordClaims, "cells": CellClaims, "groups": GroupClaims}


def claims_of(release: Mapping[str, Any]) -> Claims | None:
    """Return what the release part of a manifest claims; None where it does not state all that it must."""
    try:
        mechanism = MECHANISMS.get(release["guarantee"]["parameters"].get("mechanism"))
        claims = _CLAIMS["records" if mechanism is None else mechanism.kind].model_validate(release)
        sound = _states_its_loss(claims.guarantee) and claims.is_sound
        sound = sound and (claims.guarantee.model != "k_anon" or claims.k > 0)
    except (AttributeError, KeyError, TypeError, ValueError):  # pydantic's is a ValueError
        return None
    return claims if sound else None


def _states_its_loss(guarantee: Guarantee) -> bool:
    """Return whether a promise that adds up says how much, so that sums are of numbers above 0."""
    stated = guarantee.parameters
    return guarantee.model not in ADDS_UP or (
        stated_number(stated["epsilon"]) > 0 and 0 <= stated_number(stated.get("delta", "0")) < 1
    )


class Together(BaseModel):
    """What a manifest says of its outputs together. includes: the outputs of each sum; none where each is of its own
    model."""

    model_config = ConfigDict(strict=True)

    guarantees: list[Guarantee] = Field(min_length=1)
    uncovered: list[str]
    includes: dict[str, list[str]] = Field(default={})


class FileClaim(BaseModel):
    """What a manifest says of a file that outputs share. together: sentences for readers."""

    model_config = ConfigDict(strict=True)

    name: str
    outputs: list[str] = Field(min_length=2)
    columns: list[str]
    together: list[str] = Field(min_length=1)


def _are_in_files(claims: Mapping[str, Claims], files: list[FileClaim]) -> bool:
    """Return whether every output is in one file at most, with the others that have its folder, and every file holds
    the columns of its outputs, each once; note in the claims what they share."""
    folders = {name: claim.folder for name, claim in claims.items() if isinstance(claim, RecordClaims)}
    for file in files:
        parts = [(name, claims[name]) for name, folder in folders.items() if folder == file.name]
        columns = [column for _, claim in parts for column in claim.roles]
        shown = [Part(name, claim.guarantee, cast(Mapping[str, Role], claim.roles)) for name, claim in parts]
        if (
            [name for name, _ in parts] != file.outputs
            or sorted(columns) != sorted(set(file.columns))
            or len(columns) != len(file.columns)
            or any(claim.guarantee.model in ADDS_UP for _, claim in parts)
            or len({claim.records for _, claim in parts}) > 1
            or any(True for _ in not_alike(shown))
        ):
            return False
        for _, claim in parts:
            claim.put_into(InFile(tuple(file.columns), {name: each.guarantee for name, each in parts}))
    shared = {f"{file.name}/data" for file in files}
    alone = [part.stem for claim in claims.values() for part in claim.parts if part.stem not in shared]
    return len({file.name for file in files}) == len(files) and len(set(alone)) == len(alone)


def several_claims_of(release: Mapping[str, Any]) -> dict[str, Claims] | None:
    """Return what a manifest claims of each output by its name; None where it does not state all that it must, where
    two have the same files, or where what they promise together is not what their promises come to."""
    try:
        shared = {name: release[name] for name in _SHARED if name in release} | {"penstock": SINGLE}
        outputs = {str(each["name"]): claims_of({**each, **shared}) for each in release["outputs"]}
        together = Together.model_validate_json(json.dumps(release["together"]))
        files = [FileClaim.model_validate(each) for each in release.get("files", ())]
    except (KeyError, TypeError, ValueError):
        return None
    claims = {name: claim for name, claim in outputs.items() if claim is not None}
    if len(claims) < len(release["outputs"]) or not _are_in_files(claims, files):
        return None
    guarantees = {name: claim.guarantee for name, claim in claims.items()}
    try:
        composed = list(side_by_side(list(guarantees.values())))
    except (NotComposable, NotCountable, ValueError):  # of numbers so long that nobody writes them
        return None
    models = {name: guarantee.model for name, guarantee in guarantees.items()}
    stated = (together.guarantees, together.includes, together.uncovered)
    return claims if stated == (composed, includes(guarantees), list(uncovered(models))) else None
