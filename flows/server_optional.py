"""A flow that needs no Prefect server.

Where PREFECT_API_URL names a server, a call is a flow run of it. Where none is named, a call runs the function itself,
in this process. Prefect would start a server of its own for such a call: a process that takes a port of loopback,
which every user of the machine can race for and answer on in its place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

from prefect.context import FlowRunContext
from prefect.flows import Flow
from prefect.settings import PREFECT_API_URL
from prefect.utilities.callables import call_with_parameters, get_call_parameters

__all__ = ["ServerOptional", "server_optional"]

P = ParamSpec("P")
R = TypeVar("R")


class ServerOptional(Flow[P, R]):
    """A flow of Prefect's that is a plain function where there is no server and no flow run around it."""

    # Prefect's own signature is one of eight overloads, which also know coroutines and `return_state`.
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:  # type: ignore[override]
        """Run the function; arguments are checked against its types either way."""
        if PREFECT_API_URL.value() is not None or FlowRunContext.get() is not None:
            return super().__call__(*args, **kwargs)
        given = self.validate_parameters(get_call_parameters(self.fn, args, kwargs))
        return cast(R, call_with_parameters(self.fn, given))


def server_optional(name: str) -> Callable[[Callable[P, R]], ServerOptional[P, R]]:
    """Decorate a function as such a flow. Nothing is retried or stored: that would be a second draw, or microdata."""

    def decorate(function: Callable[P, R]) -> ServerOptional[P, R]:
        return ServerOptional(function, name=name, persist_result=False, log_prints=False, retries=0)

    return decorate
