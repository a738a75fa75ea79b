"""A named server that fails, lies or dies: one refusal in our words, and what the function has done stays done."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from prefect.settings import PREFECT_API_URL, PREFECT_CLIENT_MAX_RETRIES, temporary_settings

from penstock.flows.prefect_setup import ServerNotReady
from penstock.flows.server_optional import server_in_our_words, server_optional
from penstock.mechanisms.refusal import SpecRefused
from tests.support.broken_server import BROKEN, SECRET, broken_server
from tests.support.order import telling
from tests.support.workplace import Workplace

DYING = "dies_when_the_run_has_begun"


@contextmanager
def named(how: str) -> Iterator[None]:
    """Name such a server; Prefect asks it once, because its patience is not what is tested."""
    with broken_server(how) as url, temporary_settings({PREFECT_API_URL: url, PREFECT_CLIENT_MAX_RETRIES: 0}):
        yield


def defect() -> str:
    raise ArithmeticError("a defect of ours")


def refusal() -> str:
    raise SpecRefused.at("k", rule="at least 2", remedy="Raise it.")


def asks_the_server() -> str:
    from prefect.artifacts import create_markdown_artifact

    create_markdown_artifact("a page of the run", key="page")
    return "not reached"


def ended(function: Callable[[], str], how: str) -> str:
    with named(how):
        return server_optional("tried")(function)()


@pytest.mark.parametrize("how", [how for how in BROKEN if how != DYING])
def test_a_server_that_is_not_prefects_ends_the_call_in_one_refusal(how: str) -> None:
    done: list[str] = []

    def function() -> str:
        done.append("it ran")
        return "done"

    with pytest.raises(ServerNotReady) as caught:
        ended(function, how)
    assert (caught.value.code, caught.value.kind, done) == ("server-not-ready", "failure", [])
    [fault] = caught.value.faults
    assert fault.field == "PREFECT_API_URL"
    assert SECRET not in str(caught.value)
    assert "127.0.0.1" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_a_server_that_dies_takes_nothing_away_of_what_was_done() -> None:
    assert ended(lambda: "published", DYING) == "published"


def test_a_server_that_dies_does_not_hide_why_the_function_ended() -> None:
    with pytest.raises(ArithmeticError, match="a defect of ours"):
        ended(defect, DYING)
    with pytest.raises(SpecRefused, match="at least 2"):
        ended(refusal, DYING)


def test_a_function_that_needs_a_dead_server_ends_in_one_refusal() -> None:
    with pytest.raises(ServerNotReady):
        ended(asks_the_server, DYING)


def test_a_refusal_passes_and_so_does_whatever_ends_the_process() -> None:
    with pytest.raises(SpecRefused), server_in_our_words():
        refusal()
    with pytest.raises(KeyboardInterrupt), server_in_our_words():
        raise KeyboardInterrupt


@pytest.mark.slow
@pytest.mark.parametrize("how", telling(["fails", DYING], DYING))
def test_a_command_prints_our_lines_only(tmp_path: Path, how: str) -> None:
    place = Workplace(tmp_path)
    settings = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT", "PENSTOCK"))}
    with broken_server(how) as url:
        command = subprocess.run(
            [sys.executable, "-m", "penstock", "run", str(place.write_spec())],
            cwd=tmp_path,
            env={
                **settings,
                "PENSTOCK_HOME": str(place.home),
                "PREFECT_API_URL": url,
                "PREFECT_CLIENT_MAX_RETRIES": "0",
            },
            capture_output=True,
            text=True,
            check=False,
        )
    assert (command.returncode, command.stdout) == (1, "")
    assert [line.split(":")[0].strip() for line in command.stderr.splitlines()] == [
        "Refused (server-not-ready)",
        "PREFECT_API_URL",
        "Mend the server or unset the variable, and run again",
        "See docs/refusals.md#server-not-ready",
    ]
    assert place.bundles() == []
