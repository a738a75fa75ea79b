"""Work on parts, spread: here one after another, or on a Dask cluster. Within a flow run its pieces are Prefect tasks;
elsewhere they are ordered from the cluster directly, and no Prefect server is asked for.

An order and its result hold paths, settings, digests and counts, never rows: what a worker reads and writes lies in
files. Dask repeats lost work by itself, on another worker; so work that is ordered here may be done twice, and a draw,
which must not be, sees to that itself (penstock.tasks.parts._drawn_once).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.context import FlowRunContext, TaskRunContext
from prefect.task_runners import TaskRunner

from penstock.mechanisms.refusal import Refusal
from penstock.tasks.parts.working_copy import piecework
from penstock.tasks.run.step import sealed

__all__ = ["ClusterRefused", "spread"]

# Seconds between looks at the cluster, and how long it may be without workers: a lost one is often started again.
_LOOK_EVERY, _PATIENCE = 5, 120

Order = TypeVar("Order")
R = TypeVar("R")


class ClusterRefused(Refusal):
    """The cluster of the spec cannot do the work."""

    code = "cluster-refused"
    kind = "failure"
    remedy = "Start or mend the cluster, or correct run.address, and run again."


@dataclass(slots=True)
class _WorkItem:
    """The work of the flow on the cluster, and its results."""

    name: str
    work: Callable[[Any], Any]
    orders: Sequence[Any]
    done: list[Any] = field(default_factory=list)


# Not a parameter, which Prefect would store, and not a closure, which would travel to the workers with every order.
_work_item: ContextVar[_WorkItem] = ContextVar("item")


def spread(name: str, work: Callable[[Order], R], orders: Sequence[Order], address: str | None) -> list[R]:
    """Return `[work(order) for order in orders]`, done on the cluster at this address, if there is one."""
    if address is None:
        return [_done_here(name, work, order) for order in orders]
    _require_workers(address)
    if FlowRunContext.get() is None:
        return _ordered(name, work, orders, address)
    from prefect_dask.task_runners import DaskTaskRunner

    runner: TaskRunner[Any] = DaskTaskRunner(address=address)
    item = _WorkItem(name, work, orders)
    token = _work_item.set(item)
    try:
        with _outside_the_step():
            _on_the_cluster.with_options(name=name, task_runner=runner)()
    finally:
        _work_item.reset(token)
    return item.done


def _ordered(name: str, work: Callable[[Order], R], orders: Sequence[Order], address: str) -> list[R]:
    from distributed import Client

    # Not pure: Dask would take an order that reads like an earlier one as the same, and give back its answer.
    with Client(address, set_as_default=False) as client:  # type: ignore[no-untyped-call]
        pieces = [client.submit(_done_here, name, work, order, pure=False) for order in orders]
        _wait_for(pieces)  # all: nobody may write into a run that has ended
        return [piece.result() for piece in pieces]


@flow(persist_result=False, retries=0, log_prints=False)
def _on_the_cluster() -> None:
    _order_all()  # a flow's own code travels with every order, so there is as little of it as possible


def _order_all() -> None:
    item = _work_item.get()
    piece = _piece.with_options(name=item.name)
    ordered = [piece.submit(item.name, item.work, order) for order in item.orders]
    pieces: list[Any] = [*ordered]  # as prefect-dask has them
    _wait_for([future.wrapped_future for future in pieces])  # all: nobody may write into a run that has ended
    item.done.extend(future.result() for future in ordered)


def _wait_for(futures: Sequence[Any]) -> None:
    """Wait until all are done; refuse a cluster whose workers are all lost, and stay lost."""
    from distributed import TimeoutError as NotYet

    seen = time.monotonic()
    while pending := [future for future in futures if future.status == "pending"]:
        try:
            pending[0].exception(timeout=_LOOK_EVERY)
        except NotYet:
            client = futures[0].client
            if client.scheduler_info(n_workers=-1)["workers"]:
                seen = time.monotonic()
            elif time.monotonic() - seen > _PATIENCE:
                client.cancel(futures)
                raise ClusterRefused.at(
                    "run.address",
                    rule="must keep at least one worker; all were lost",
                    remedy="Mend the cluster and run again. Nothing was published.",
                ) from None


@task(retries=0, cache_policy=NO_CACHE, persist_result=False, log_prints=False)
def _piece(name: str, work: Callable[[Any], Any], order: Any) -> Any:
    return _done_here(name, work, order)


def _done_here(name: str, work: Callable[[Order], R], order: Order) -> R:
    with sealed(name), piecework():
        return work(order)


@contextmanager
def _outside_the_step() -> Iterator[None]:
    """Hide the context of the step, which a worker would be sent: it holds the job, and the job's records stay here."""
    token = TaskRunContext.__var__.set(None)  # type: ignore[arg-type]  # as where there is no task
    try:
        yield
    finally:
        TaskRunContext.__var__.reset(token)


def _require_workers(address: str) -> None:
    """Refuse a cluster without workers, which would let the release wait forever."""
    from distributed import Client

    try:
        with Client(address, timeout="20s", set_as_default=False) as client:  # type: ignore[no-untyped-call]
            workers = len(client.scheduler_info(n_workers=-1)["workers"])
    except (OSError, TimeoutError):
        workers = 0
    if not workers:
        raise ClusterRefused.at(
            "run.address",
            rule="must be where a scheduler with at least one worker listens",
            got=address,
            remedy="Start the cluster, or correct the address. Nothing was published.",
        )
