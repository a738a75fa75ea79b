"""Which files begin first, which cases wait for `make test-slow`, and how many examples a law tries.

Files that wait for servers, browsers and killed processes take longest, so they begin first and the short ones fill
what is left. Laws try few examples in `make test`, and all of theirs in `make test-slow`.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

__all__ = ["FIRST", "ONE_CASE", "examples", "is_of_another_database", "longest_first", "register_profiles", "telling"]

FIRST = (
    "test_forms.py",
    "test_table_form.py",  # and with it all files that need a Prefect server
    "test_serve.py",
    "test_canary.py",
    "test_killed_workers.py",
    "test_orders_of_a_hostile_server.py",
    "test_every_benchmark.py",
    "test_pages_of_other_sites.py",
    "test_suspended_runs.py",
    "test_taking_over_the_private_server.py",
    "test_other_users_of_the_machine.py",
    "test_production_layout.py",
    "test_files_that_unfold.py",
    "test_killed_runs.py",
    "test_killed_uploads.py",
    "test_published_once.py",
    "test_eight_commands_at_once.py",
    "test_cli_processes.py",
    "test_work_is_bounded.py",
    "test_unfinished_restorations.py",
    "test_fuzz.py",
    "test_platform_examples.py",
    "test_pickles_that_a_server_names.py",
    "test_declarations_that_take_for_ever.py",
    "test_ledger_faults.py",
    "test_question_faults.py",
    "test_laws_of_every_mechanism.py",
    "test_closeness_line.py",
    "test_closeness_canary.py",
)
# Afterwards, folder by folder.
FOLDERS = ("faults", "attacks", "api", "flows", "records", "laws", "golden", "tasks")

# Rooms whose code speaks to the database itself.
_DATABASES = ("store", "log", "ledger")
# Tests with many similar cases of seconds each: the first case runs in `make test`, the others wait.
ONE_CASE = frozenset(
    {
        "test_a_destination_that_cannot_be_used_stops_the_run_before_it_draws_and_a_rerun_publishes",
        "test_a_kill_at_each_moment_of_the_first_opening_leaves_the_database_as_before_or_as_after",
        "test_a_killed_publication_is_finished_by_the_next_run_with_the_same_bytes_and_charged_once",
        "test_a_question_killed_at_any_moment_is_charged_and_stored_or_neither",
        "test_a_sum_whose_records_are_replaced_keeps_epsilon_and_is_not_calibrated_for_added_ones",
        "test_a_taxonomy_in_which_everything_is_above_everything_is_refused",
        "test_an_install_killed_at_any_point_leaves_nothing_or_a_whole_bundle",
        "test_names_of_units_are_not_written_out",
        "test_no_confidential_value_leaves_by_any_door",
        "test_the_expected_error_is_what_simulation_shows",
        "test_the_private_median_passes_between_two_actual_worlds",
    }
)

_MANY = ("_faults", "_laws")  # files that kill at each moment, or try many examples

BRIEF, THOROUGH = "brief", "thorough"
_FEW = 15
# No test is about speed, and a busy machine is no defect.
_UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def longest_first(path: Path) -> tuple[int, int]:
    """Sort by this: the files that take longest, then folders that wait for processes, then the rest."""
    by_file = FIRST.index(path.name) if path.name in FIRST else len(FIRST)
    folder = next((FOLDERS.index(part) for part in path.parts if part in FOLDERS), len(FOLDERS))
    return by_file, folder


def is_of_another_database(path: Path, name: str, case: str) -> bool:
    """Return whether a case repeats on PostgreSQL what another one shows on SQLite, in a room that leaves the database
    to those below it, or with processes killed at each moment, or by many examples: it waits for `make test-slow`."""
    costly = "_kill_" in name or name.startswith(("test_each_", "test_an_older_")) or path.stem.endswith(_MANY)
    costly = costly or not any(room in path.parts for room in _DATABASES)
    return "postgresql" in case.split("-") and costly


def register_profiles() -> None:
    """The profiles of Hypothesis; brief, unless --hypothesis-profile names the other one."""
    settings.register_profile(BRIEF, _UNHURRIED, max_examples=_FEW)
    settings.register_profile(THOROUGH, _UNHURRIED)
    settings.load_profile(BRIEF)


def examples(all_of_them: int, *, at_first: int | None = None) -> int:
    """How many examples a law tries that has said how many are enough: all of them if the run is thorough.

    at_first: how many otherwise, where a quarter of all of them would take too long.
    """
    is_thorough = settings.get_current_profile_name() == THOROUGH
    return all_of_them if is_thorough else min(all_of_them, at_first or max(_FEW, all_of_them // 4))


def telling(cases: Iterable[Any], *most: Any) -> list[Any]:
    """The cases that tell most run in `make test`; the others are slow."""
    given = list(cases)
    assert set(most) <= set(given), "a case that is not among them"
    return [
        case if case in most else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)
        for case in given
    ]
