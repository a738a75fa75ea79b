"""A module that is hardly ever used is loaded when it is used, and is itself for everybody else."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from penstock.tasks.validation._late_imports import loaded_when_used

MODULE = "wave"  # a small module of Python's own that nothing here uses


@pytest.fixture(autouse=True)
def not_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, MODULE, raising=False)


def test_a_stand_in_loads_its_module_when_something_of_it_is_asked_for() -> None:
    with loaded_when_used(MODULE):
        stand = importlib.import_module(MODULE)
        with pytest.raises(AttributeError):
            _ = stand.open
    assert MODULE not in sys.modules
    assert stand.open is importlib.import_module(MODULE).open
    with pytest.raises(AttributeError):
        _ = stand.nothing_of_this_name


def test_a_module_that_is_there_already_is_left_alone() -> None:
    loaded = importlib.import_module(MODULE)
    with loaded_when_used(MODULE):
        assert importlib.import_module(MODULE) is loaded
    assert sys.modules[MODULE] is loaded


@pytest.mark.slow
def test_a_part_of_a_package_is_itself_afterwards() -> None:
    program = (
        "import sys, scipy\n"
        "from penstock.tasks.validation import _engine\n"
        "assert not {'altair', 'scipy.stats'} & set(sys.modules)\n"
        "import scipy.stats\n"
        "assert scipy.stats is sys.modules['scipy.stats'] and scipy.stats.norm.cdf(0) == 0.5\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
