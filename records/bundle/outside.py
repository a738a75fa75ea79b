"""A bundle is published outside the home. It knows no bundle, so that a plan is drawn up without what signs one."""

from __future__ import annotations

import os
from pathlib import Path

from penstock.mechanisms.refusal import Refusal
from penstock.records.files.addresses import ObjectPath, Place
from penstock.records.home import Home

__all__ = ["DestinationInHome", "require_outside"]


class DestinationInHome(Refusal):
    """The destination lies inside the home, among the keys and runs of the confidential side."""

    code = "destination-in-home"
    kind = "spec"
    remedy = "Publish outside PENSTOCK_HOME."


def require_outside(place: Place, home: Home) -> None:
    """Refuse a folder in the home, whatever links lead there: a bundle among the runs would count as a damaged run."""
    if isinstance(place, ObjectPath):
        return
    root = Path(os.path.realpath(home.root))
    if Path(os.path.realpath(place)).is_relative_to(root):
        raise DestinationInHome.at(
            "publish.path",
            rule="must lie outside of the home, which is the confidential side",
            got=str(place),
            remedy="Publish elsewhere, or set PENSTOCK_HOME to another folder.",
        )
