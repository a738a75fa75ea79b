"""What every step of a release has in common, in one decorator.

* No retry, no cache, no stored result: a second draw would be a second release, and a stored
  result would be microdata in Prefect's files.
* Errors are sealed: pyarrow and numpy put values into their messages, so only our own refusals
  leave a step; anything else leaves as StepFailed with the kind of error and the line of code.
* Within a flow run a step is a task of it; elsewhere it is the plain function.
* The time is noted for the confidential report, and the run's page shows how far it is.
"""

from __future__ import annotations

import errno
import functools
import logging
import time
import traceback
from collections.abc import Callable
from types import TracebackType
from typing import Concatenate, ParamSpec, TypeVar, cast

from prefect.cache_policies import NO_CACHE
from prefect.context import FlowRunContext
from prefect.tasks import Task

from penstock.mechanisms.refusal import Refusal
from penstock.tasks.files.memory_release import give_back_memory
from penstock.tasks.run.job import Job
from penstock.tasks.run.page import show_progress

__all__ = ["StepFailed", "sealed", "step"]

P = ParamSpec("P")
R = TypeVar("R")

_progress = logging.getLogger("penstock")


class StepFailed(Refusal):
    """A step stopped on something that is not a refusal: a full disk, a defect."""

    code = "step-failed"
    kind = "failure"
    remedy = "Mend the cause that the message names, and run again; nothing was published."


class sealed:  # reads as a word in a with statement
    """A context in which any foreign error becomes StepFailed, which holds no text of the original."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None or isinstance(error, Refusal) or not isinstance(error, Exception):
            return
        place = traceback.extract_tb(trace)[-1]
        what = type(error).__name__
        if isinstance(error, OSError) and error.errno is not None:
            what += f" {errno.errorcode.get(error.errno, error.errno)}"
        failed = StepFailed.at(
            self._name,
            rule=f"must run to its end; {what} at {place.filename}:{place.lineno}",
            remedy="Mend the cause and run again. Nothing was published.",
        )
        try:
            raise failed from None
        finally:
            # Not shown, but there: a cluster's libraries pickle the context of an error.
            failed.__context__ = None


class Step(Task[P, R]):
    """A Prefect task that is a plain function outside a flow run, where its engine would ask for a server."""

    # Prefect's own signature is one of eight overloads, which also know coroutines and `return_state`.
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:  # type: ignore[override]
        if FlowRunContext.get() is None:
            return self.fn(*args, **kwargs)
        return super().__call__(*args, **kwargs)


def step(name: str) -> Callable[[Callable[Concatenate[Job, P], R]], Callable[Concatenate[Job, P], R]]:
    """Make a step named `name` of a function whose first argument is the job."""

    def decorate(function: Callable[Concatenate[Job, P], R]) -> Callable[Concatenate[Job, P], R]:
        @functools.wraps(function)
        def run(job: Job, *args: P.args, **kwargs: P.kwargs) -> R:
            _progress.info(name)
            began = time.perf_counter()
            with sealed(name):
                show_progress(job, name)
                result = function(job, *args, **kwargs)
            job.seconds[name] = time.perf_counter() - began
            give_back_memory()
            return result

        made = Step(run, name=name, retries=0, cache_policy=NO_CACHE, persist_result=False, log_prints=False)
        return cast(Callable[Concatenate[Job, P], R], made)

    return decorate
