"""SIGTERM ends a process by an exception, and cuts it off after its grace where the main thread never comes back."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from penstock.cli._termination import TERMINATED
from tests.support.living_processes import LONGEST_WAIT

# A handler that does nothing stands for one that the main thread never comes to.
SCRIPT = """
import signal, sys, time
from penstock.cli._termination import end_in_time
end_in_time(0.1)
signal.signal(signal.SIGTERM, lambda *_: None)
signal.signal(signal.SIGUSR1, lambda *_: sys.stdout.write("told\\n") and sys.stdout.flush())
print("ready", flush=True)
while True:
    time.sleep(3600)
"""


@pytest.fixture
def process() -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, text=True)


def test_another_signal_ends_nothing_and_sigterm_ends_it(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGUSR1)
    assert process.stdout.readline() == "told\n"
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert process.wait(LONGEST_WAIT) == TERMINATED == 143
    process.stdout.close()


# The second signal comes while the end is put on record, and must not disturb it.
UNWINDING = """
import os, signal, time
from penstock.cli._termination import Terminated, end_in_time
end_in_time()
try:
    print("ready", flush=True)
    while True:
        time.sleep(3600)
except BaseException as error:
    os.kill(os.getpid(), signal.SIGTERM)
    print(type(error).__name__, flush=True)
    raise
"""


def test_what_is_going_on_puts_its_end_on_record_once() -> None:
    process = subprocess.Popen([sys.executable, "-c", UNWINDING], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    assert process.stdout.readline() == "Terminated\n"
    assert process.wait(LONGEST_WAIT) == TERMINATED
    process.stdout.close()
