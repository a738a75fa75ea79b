"""A flow that needs no Prefect server, and says in our words when a named one fails.

Where PREFECT_API_URL names a server, a call is a flow run of it. Where none is named, a call runs the function itself,
in this process. Prefect would start a server of its own for such a call: a process that takes a port of loopback,
which every user of the machine can race for and answer on in its place.

Everything that matters is done by the function, and is on record. So a server that fails after the function has ended
takes nothing away from its result; one that fails before or during it ends the call in one refusal, which quotes
neither the server nor Prefect.
"""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Any, ParamSpec, TypeVar, cast

from prefect.context import FlowRunContext
from prefect.flows import Flow
from prefect.settings import PREFECT_API_URL
from prefect.utilities.callables import call_with_parameters, get_call_parameters

from penstock.flows.prefect_setup import ServerNotReady
from penstock.mechanisms.refusal import Refusal

__all__ = ["ServerOptional", "server_in_our_words", "server_optional"]

P = ParamSpec("P")
R = TypeVar("R")

_REMEDY = "Mend the server or unset the variable, and run again: what is on record goes on from there."


class server_in_our_words:  # reads as a word in a with statement
    """A context in which an error of Prefect, or of the server it asks, becomes a refusal that quotes neither."""

    def __init__(self, remedy: str = _REMEDY) -> None:
        self._remedy = remedy

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, Exception) and not isinstance(error, Refusal):
            raise ServerNotReady.at(
                "PREFECT_API_URL",
                rule=f"must name a server that answers as Prefect's does ({type(error).__name__})",
                remedy=self._remedy,
            ) from None


@dataclass(slots=True)
class _End:
    """The end of the function itself, whatever became of its flow run.

    of_the_server: whether it ended with an error from within Prefect, which it calls to show its progress.
    """

    returned: bool = False
    result: Any = None
    raised: BaseException | None = None
    of_the_server: bool = False


_END: ContextVar[_End | None] = ContextVar("end of the function", default=None)


class ServerOptional(Flow[P, R]):
    """A Prefect flow that is a plain function where there is no server and no flow run around it."""

    # Prefect's own signature is one of eight overloads, which also know coroutines and `return_state`.
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:  # type: ignore[override]
        """Run the function; arguments are checked against its types either way."""
        given = self.validate_parameters(get_call_parameters(self.fn, args, kwargs))
        if PREFECT_API_URL.value() is None and FlowRunContext.get() is None:
            return cast(R, call_with_parameters(self.fn, given))
        end = _End()
        before = _END.set(end)
        try:
            with server_in_our_words():
                return super().__call__(*args, **kwargs)
        except ServerNotReady:
            if end.returned:
                return cast(R, end.result)
            if end.raised is None or end.of_the_server:
                raise
            raise end.raised from None
        finally:
            _END.reset(before)


def server_optional(name: str) -> Callable[[Callable[P, R]], ServerOptional[P, R]]:
    """Decorate a function as such a flow. Nothing is retried or stored: that would be a second draw, or microdata."""

    def decorate(function: Callable[P, R]) -> ServerOptional[P, R]:
        return ServerOptional(_noted(function), name=name, persist_result=False, log_prints=False, retries=0)

    return decorate


def _noted(function: Callable[P, R]) -> Callable[P, R]:
    """Note how the function ends for whoever called the flow."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        end = _END.get() or _End()
        try:
            end.result = result = function(*args, **kwargs)
        except BaseException as error:
            end.raised = error
            told_to_end = isinstance(error, SystemExit | KeyboardInterrupt)
            end.of_the_server = not told_to_end and any(map(_is_foreign, traceback.walk_tb(error.__traceback__)))
            raise
        end.returned = True
        return result

    return run


def _is_foreign(place: tuple[FrameType, int]) -> bool:
    return str(place[0].f_globals.get("__name__")).partition(".")[0] in ("prefect", "httpx")
