"""How a flow run that was refused looks: its state is named Refused, and its message begins with the code."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

from prefect.states import Failed

from mechanisms.refusal import Refusal

__all__ = ["REFUSED", "told_by_code"]

P = ParamSpec("P")
R = TypeVar("R")

REFUSED = "Refused"


def told_by_code(function: Callable[P, R]) -> Callable[P, R]:
    """End a refused flow run by a state that says so; whoever called the flow still gets the refusal raised."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except Refusal as refusal:
            name = "Failed" if refusal.kind == "failure" else REFUSED
            return cast(R, Failed(name=name, message=f"{refusal.code}: {refusal}", data=refusal))

    return run
