"""How a refused flow run ends: its state is named Refused, its message begins with the code, and others are told."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar, cast

from prefect.states import Failed

from penstock.mechanisms.refusal import Refusal
from penstock.tasks.run.events import tell_unbegun

__all__ = ["REFUSED", "before_a_run", "told_by_code"]

P = ParamSpec("P")
R = TypeVar("R")

REFUSED = "Refused"


def told_by_code(function: Callable[P, R]) -> Callable[P, R]:
    """End a refused flow run in a state that says so; whoever called the flow still gets the refusal raised."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except Refusal as refusal:
            name = "Failed" if refusal.kind == "failure" else REFUSED
            return cast(R, Failed(name=name, message=f"{refusal.code}: {refusal}", data=refusal))

    return run


@contextmanager
def before_a_run(name: str) -> Iterator[None]:
    """Tell other platforms of a refusal that no run will report, because none has begun. name: what was asked for."""
    try:
        yield
    except Refusal as refusal:
        tell_unbegun(name, refusal.code)
        raise
