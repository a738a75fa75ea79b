"""Types the command of one case after the other, each in a forked child: what one does, no other feels.

Everything is imported once. A child may take 20 seconds of computing and 6 GB of addresses; what it took is measured.
Run by itself it makes a long run: fuzz_server.py FIRST COUNT [--releases].
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

import great_expectations  # noqa: F401  # imported here once instead of in every child

import penstock.flows.release  # noqa: F401
from penstock.cli import main as cli
from penstock.flows.preview import preview
from penstock.flows.spec import load_spec, parse_spec
from penstock.mechanisms.refusal import Refusal
from penstock.tasks.draft.spec import draft_spec
from tests.attacks import fuzz_cases

SECONDS = 20
WAIT = 300  # by the clock: a busy machine is no defect
MEGABYTES = 2000
ACCIDENT = 70
TABLE = frozenset({0, 1, 2, 3, 4, 5, 6, 7})


@dataclass(frozen=True)
class Ended:
    """How a case ended; seconds: of computing."""

    seed: int
    kind: str
    command: str
    code: int
    seconds: float
    clock: float
    megabytes: float
    faults: tuple[str, ...]


def warm_up() -> None:
    """Draw up every plan once, draft, and refuse a spec: what they keep in memory, every child has."""
    with tempfile.TemporaryDirectory() as folder:
        for spec in fuzz_cases.specs():
            files = {"data.parquet": fuzz_cases.data(), "spec.json": fuzz_cases.as_json(spec)}
            fuzz_cases.put_down(fuzz_cases.Case(0, "", (), files), Path(folder))
            preview(load_spec(Path(folder, "spec.json")), count=True)
        draft_spec(Path(folder, "data.parquet"))
        with contextlib.suppress(Refusal):
            parse_spec({"unknown": 1})


def in_child(case: fuzz_cases.Case, folder: Path) -> int:
    """Type the command. Whatever is no refusal and no exit is an accident."""
    output = os.open(folder / ".output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
    sys.stdout, sys.stderr = (os.fdopen(each, "w", closefd=False) for each in (1, 2))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.chdir(folder)
    os.environ["PENSTOCK_HOME"] = str(folder / "home")
    sys.argv = ["penstock", *case.command]
    code = ACCIDENT
    try:
        cli.main()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0
    except BaseException:  # noqa: BLE001  # it is what is looked for
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def run_case(case: fuzz_cases.Case) -> Ended:
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    fuzz_cases.put_down(case, folder)
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        code = ACCIDENT
        try:
            code = in_child(case, folder)
        finally:
            os._exit(code)
    status, used = 0, None
    while used is None:
        ended, status, usage = os.wait4(child, os.WNOHANG)
        if ended:
            used = usage
        elif time.monotonic() - began > WAIT:
            os.kill(child, signal.SIGKILL)
            _, status, used = os.wait4(child, 0)
        else:
            time.sleep(0.01)
    output = (folder / ".output").read_bytes() if (folder / ".output").exists() else b""
    code = os.waitstatus_to_exitcode(status)
    seconds, megabytes = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    faults = [name for name, found in (
        (f"exit code {code}", code not in TABLE),
        ("traceback", b"Traceback (most recent call last)" in output),
        ("computed too long", seconds >= SECONDS or code in (-signal.SIGXCPU, -signal.SIGKILL)),
        ("waited too long", time.monotonic() - began > WAIT),
        ("took too much memory", megabytes > MEGABYTES),
        ("told a value of the data", any(canary in output for canary in told_by_nobody(case))),
        ("control characters on the screen", b"\x1b" in output or b"\0" in output),
    ) if found]  # fmt: skip
    if faults:
        with contextlib.suppress(OSError):
            kept = Path(os.environ.get("FUZZ_KEPT", tempfile.gettempdir())) / f"fuzz-kept-{case.kind}-{case.seed}"
            shutil.copytree(folder, kept, dirs_exist_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    clock = time.monotonic() - began
    return Ended(case.seed, case.kind, " ".join(case.command), code, seconds, clock, megabytes, tuple(faults))


def told_by_nobody(case: fuzz_cases.Case) -> tuple[bytes, ...]:
    """The canaries, but for those that stand in a name of a column: names are told."""
    named = case.kind == "parquet" and b"CANARY" in case.files["data.parquet"]
    return tuple(each for each in fuzz_cases.CANARIES if not (named and each == b"CANARY"))


def long_run(first: int, count: int, releases: bool) -> None:
    """Many cases; the figures at the end."""
    warm_up()
    codes: Counter[str] = Counter()
    ended: list[Ended] = []
    for seed in range(first, first + count):
        ended.append(run_case(fuzz_cases.case(seed, releases=releases)))
        codes[f"{ended[-1].kind} {ended[-1].code}"] += 1
        if ended[-1].faults:
            sys.stderr.write(json.dumps(asdict(ended[-1])) + "\n")
            sys.stderr.flush()
    figures = {
        "cases": len(ended),
        "codes": dict(sorted(codes.items())),
        "faults": [asdict(each) for each in ended if each.faults],
        "longest": max((round(each.seconds, 1), each.kind, each.seed) for each in ended),
        "longest by the clock": max((round(each.clock, 1), each.kind, each.seed) for each in ended),
        "largest": max((round(each.megabytes), each.kind, each.seed) for each in ended),
    }
    sys.stdout.write(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    long_run(int(sys.argv[1]), int(sys.argv[2]), "--releases" in sys.argv)
