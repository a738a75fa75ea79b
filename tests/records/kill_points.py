"""Real processes, killed with SIGKILL before and after each call that changes the disk."""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

CHANGES = ("chmod", "fsync", "link", "mkdir", "rename", "rmdir", "unlink")
MOST_POINTS = 400


def in_child(action: Callable[[], object]) -> int:
    """Run `action` in a forked process; its wait status."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            action()
            status = 0
        except BaseException:
            traceback.print_exc()
            raise
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1]


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def was_killed(status: int) -> bool:
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def kill_points(action: Callable[[int], object]) -> Iterator[int]:
    """Kill `action(point)` at point 0, 1, 2 ..; yield after each kill, end when it ran through.

    The action works in a place of its own for each point.
    """
    for point in range(MOST_POINTS):
        status = in_child(lambda at=point: killed_at(at, lambda: action(at)))
        if not was_killed(status):
            assert status == 0, "the action failed by itself"
            return
        yield point
    raise AssertionError("more points than expected")


def killed_at(point: int, action: Callable[[], object]) -> None:
    """Run `action` in this process, which dies at the point; for a child."""
    counter = count()

    def wrapped(call: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(*args: Any, **kwargs: Any) -> Any:
            if next(counter) == point:
                die()
            result = call(*args, **kwargs)
            if next(counter) == point:
                die()
            return result

        return guarded

    for name in CHANGES:
        setattr(os, name, wrapped(getattr(os, name)))
    action()
