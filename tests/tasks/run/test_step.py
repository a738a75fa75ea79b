"""What leaves a step: our own refusals as they are, anything foreign without a word of its text."""

from __future__ import annotations

import errno
import inspect
import os
import pickle
import traceback
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.mechanisms.refusal import Refusal, ValueMissing
from penstock.tasks.run.step import StepFailed, sealed, step

SECRET = "Anna-Maria-4711"


def failure_of(action: Callable[[], object]) -> StepFailed:
    with pytest.raises(StepFailed) as failed, sealed("protect"):
        action()
    return failed.value


def everything_said(failed: StepFailed) -> str:
    """Every form in which an error is shown, stored or sent."""
    with_context = "".join(traceback.format_exception(failed, chain=True))
    pickled = pickle.dumps(failed)
    again = pickle.loads(pickled)
    return "\n".join(
        [str(failed), repr(failed), repr(failed.args), with_context, repr(pickled), str(again), repr(again)]
    )


def as_libraries_do() -> dict[str, Callable[[], object]]:
    def raise_from() -> None:
        try:
            int(SECRET)
        except ValueError as error:
            raise RuntimeError(f"row {SECRET}") from error

    def with_note() -> None:
        error = ValueError(SECRET)
        error.add_note(f"in row {SECRET}")
        raise error

    def in_a_group() -> None:
        raise ExceptionGroup(SECRET, [ValueError(SECRET)])

    def key() -> object:
        known: dict[str, int] = {}
        return known[SECRET]

    return {
        "python": lambda: int(SECRET),
        "numpy": lambda: np.array([SECRET]).astype(np.float64),
        "pyarrow": lambda: pa.array([SECRET]).cast(pa.int64()),
        "key": key,
        "file": lambda: open(f"/nowhere/{SECRET}", encoding="utf-8"),
        "cause": raise_from,
        "note": with_note,
        "group": in_a_group,
    }


@pytest.mark.parametrize("kind", list(as_libraries_do()))
def test_the_text_of_a_foreign_error_is_nowhere(kind: str) -> None:
    action = as_libraries_do()[kind]
    assert SECRET not in everything_said(failure_of(action))


@pytest.mark.parametrize("kind", list(as_libraries_do()))
def test_the_search_finds_the_text_where_an_error_is_not_sealed(kind: str) -> None:
    with pytest.raises(Exception) as foreign:  # noqa: PT011  # the kinds differ, the search is the same
        as_libraries_do()[kind]()
    assert SECRET in "".join(traceback.format_exception(foreign.value))


@given(st.text(st.characters(codec="ascii", categories=["Lu", "Nd"]), min_size=6, max_size=12))
def test_no_text_whatsoever_comes_through(text: str) -> None:
    secret = f"<{text}>"

    def fail() -> None:
        raise ValueError(secret)

    assert secret not in everything_said(failure_of(fail))


def test_the_kind_of_error_and_the_line_of_code_remain() -> None:
    def fail() -> None:
        raise ZeroDivisionError(SECRET)

    failed = failure_of(fail)
    [fault] = failed.faults
    assert fault.field == "protect"
    line = inspect.getsourcelines(fail)[1] + 1
    assert fault.rule == f"must run to its end; ZeroDivisionError at {__file__}:{line}"
    assert "Nothing was published" in fault.remedy
    assert (failed.code, failed.kind) == ("step-failed", "failure")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.ENOENT])
def test_an_error_of_the_system_keeps_the_name_of_its_number(number: int) -> None:
    def fail() -> None:
        raise OSError(number, os.strerror(number), f"/data/{SECRET}")

    said = everything_said(failure_of(fail))
    assert f" {errno.errorcode[number]} at " in said
    assert SECRET not in said


def test_a_number_that_the_system_does_not_know_stays_a_number() -> None:
    def fail() -> None:
        raise OSError(99_999, SECRET)

    assert "OSError 99999 at " in str(failure_of(fail))


def test_an_error_of_the_system_without_a_number_has_none() -> None:
    def fail() -> None:
        raise OSError(SECRET)

    assert "OSError at " in str(failure_of(fail))


@pytest.mark.parametrize(
    "passes",
    [
        ValueMissing.at("income", rule="must have a value in every record", remedy="Complete the data."),
        StepFailed.at("seal", rule="must run to its end", remedy="Run again."),
        KeyboardInterrupt(),
        SystemExit(3),
    ],
    ids=lambda error: type(error).__name__,
)
def test_refusals_and_interrupts_pass_as_they_are(passes: BaseException) -> None:
    with pytest.raises(type(passes)) as passed, sealed("protect"):
        raise passes
    assert passed.value is passes


def test_nothing_is_raised_where_nothing_failed() -> None:
    with sealed("protect"):
        pass


def job() -> Any:
    return SimpleNamespace(seconds={})


def test_a_step_hands_on_its_result_and_notes_its_time() -> None:
    @step("add")
    def add(job: Any, left: int, *, right: int) -> int:
        """The sum."""
        return left + right

    running = job()
    assert add.fn(running, 1, right=2) == 3  # type: ignore[attr-defined]
    assert list(running.seconds) == ["add"]
    assert running.seconds["add"] >= 0
    assert add.__doc__ == "The sum."


def test_a_step_seals_what_it_runs() -> None:
    @step("divide")
    def divide(job: Any) -> float:
        raise ValueError(SECRET)

    with pytest.raises(StepFailed, match="divide refused") as failed:
        divide.fn(job())  # type: ignore[attr-defined]
    assert SECRET not in everything_said(failed.value)


def test_no_step_is_retried_cached_or_stored_by_prefect() -> None:
    from prefect.cache_policies import NO_CACHE
    from prefect.tasks import Task

    from penstock.tasks import assess, ingest, protect, publish, report, reserve, validate
    from penstock.tasks.run.steps import STEPS

    modules = (assess, ingest, protect, publish, report, reserve, validate)
    found = {id(task): task for module in modules for task in vars(module).values() if isinstance(task, Task)}
    assert {task.name for task in found.values()} == set(STEPS)  # the progress line knows them all
    for task in found.values():
        assert task.retries == 0
        assert task.cache_policy == NO_CACHE
        assert task.persist_result is False
        assert task.log_prints is False


def test_a_refusal_is_not_an_accident() -> None:
    assert issubclass(StepFailed, Refusal)
