"""The claims of a manifest, read as those of the kind of output that its mechanism makes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.mechanisms.mechanism import Kind
from penstock.mechanisms.registry import MECHANISMS
from penstock.tasks.outputs._cell_claims import CellClaims
from penstock.tasks.outputs._claims import Beside, Claims
from penstock.tasks.outputs._group_claims import GroupClaims
from penstock.tasks.outputs._record_claims import RecordClaims

__all__ = ["Beside", "Claims", "claims_of"]

_CLAIMS: dict[Kind, type[Claims]] = {"records": RecordClaims, "cells": CellClaims, "groups": GroupClaims}


def claims_of(release: Mapping[str, Any]) -> Claims | None:
    """Return what the release part of a manifest claims; None where it does not state all that it must."""
    try:
        mechanism = MECHANISMS.get(release["guarantee"]["parameters"].get("mechanism"))
        claims = _CLAIMS["records" if mechanism is None else mechanism.kind].model_validate(release)
        sound = claims.is_sound and (claims.guarantee.model != "k_anon" or claims.k > 0)
    except (AttributeError, KeyError, TypeError, ValueError):  # pydantic's is a ValueError
        return None
    return claims if sound else None
