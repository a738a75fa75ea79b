"""Releases of one data set take turns; those of others do not wait for them."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from penstock.records.home import Home
from penstock.records.ledger.lock import take_turn


def is_taken(file: Path) -> bool:
    """Whether whoever wants this turn now would have to wait."""
    descriptor = os.open(file, os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def test_a_second_release_of_a_data_set_waits_and_that_of_another_does_not(tmp_path: Path) -> None:
    home = Home.open(tmp_path / "home")
    with take_turn(home, "survey"):
        [survey] = (home.root / "turns").iterdir()
        assert is_taken(survey)
        with take_turn(home, "census"):
            assert len(list((home.root / "turns").iterdir())) == 2
    assert not is_taken(survey)
    with take_turn(home, "survey"):
        assert is_taken(survey)
    assert f"{(home.root / 'turns').stat().st_mode & 0o777:o}" == "700"


def test_a_turn_ends_with_whatever_ends_the_release(tmp_path: Path) -> None:
    home = Home.open(tmp_path / "home")
    child = os.fork()
    if child == 0:
        taken = take_turn(home, "survey")
        taken.__enter__()
        os.kill(os.getpid(), 9)
    os.waitpid(child, 0)
    [survey] = (home.root / "turns").iterdir()
    assert not is_taken(survey)
