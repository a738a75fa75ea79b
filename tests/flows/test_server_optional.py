"""A flow that needs no server: a plain call where none is named, a flow run where one is or where one is going on."""

from __future__ import annotations

from pathlib import Path

import pytest
from prefect import flow
from prefect.context import FlowRunContext
from prefect.exceptions import ParameterTypeError

from penstock.flows.release import release
from penstock.flows.server_optional import ServerOptional, server_optional
from penstock.tasks.run.step import Step


@server_optional("half")
def half(number: int, *, twice: bool = False) -> tuple[float, bool]:
    """Halve, and say whether this is a flow run."""
    if number < 0:
        raise ArithmeticError("negative")
    return (number if twice else number / 2), FlowRunContext.get() is not None


@flow(name="around", persist_result=False)
def around(number: int) -> tuple[float, bool]:
    return half(number)


def test_where_no_server_is_named_it_is_a_call_of_the_function() -> None:
    assert half(4) == (2, False)
    assert half(4, twice=True) == (4, False)
    with pytest.raises(ArithmeticError, match="negative"):
        half(-1)


def test_where_a_server_is_named_it_is_a_flow_run(prefect_home: Path) -> None:
    assert half(4) == (2, True)
    with pytest.raises(ArithmeticError, match="negative"):
        half(-1)


def test_within_a_flow_run_it_is_one_of_its_own(prefect_home: Path) -> None:
    assert around(4) == (2, True)


def test_arguments_are_checked_against_their_types_either_way(request: pytest.FixtureRequest) -> None:
    for _ in range(2):
        assert half("4")[0] == 2  # type: ignore[arg-type]
        with pytest.raises(ParameterTypeError):
            half("many")  # type: ignore[arg-type]
        request.getfixturevalue("prefect_home")


def test_the_release_is_such_a_flow_and_its_results_are_never_stored_or_retried() -> None:
    assert isinstance(release, ServerOptional)
    assert (release.name, release.persist_result, release.retries, release.log_prints) == ("release", False, 0, False)


def test_a_step_is_a_task_within_a_flow_run_and_a_plain_function_elsewhere(prefect_home: Path) -> None:
    from prefect.context import TaskRunContext

    made = Step(lambda: TaskRunContext.get() is not None, name="is a task", persist_result=False)

    @flow(name="of one step", persist_result=False)
    def of_one_step() -> bool:
        return made()

    assert (made(), of_one_step()) == (False, True)
