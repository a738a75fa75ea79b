"""Scheduled releases for ten minutes, while server, worker, flow runs and `penstock serve` itself are killed at random.

    make soak                                  or: python tests/faults/soak.py --minutes 10 --seed 7

Two specs start every minute: one draws and spends each time, the other is a table that is drawn once and repeated.
Whatever dies is started again, as systemd would. Afterwards each spec is run once more by hand, so that what was
interrupted goes on; then every release must be whole or absent, each drawn once and charged once for each draw, the
ledger must add up, and the log must verify. The last line is `N passed, N failed`.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import yaml

from penstock.records import Action, Event, Home, open_records
from penstock.records.audit import verify_everything
from penstock.records.files.digest import plain_file
from penstock.records.run import unfinished
from penstock.tasks.verification.bundle import verify_bundle
from tests.support.living_processes import MARK, processes, wait_for_death
from tests.support.workplace import Workplace, make_private, make_table, open_dp_account

PENSTOCK = str(Path(sys.executable).with_name("penstock"))
COST = Fraction(1, 50)
LIMIT = 50
# What is killed, by what stands in its command line, and how often it is chosen.
VICTIMS = {
    "penstock.server._flow_process": 6,
    "penstock.server.worker_process": 2,
    "penstock.server.server_process": 2,
    "penstock serve": 1,
}


class Soak:
    """A home with two scheduled specs, and a `penstock serve` that is started again whenever it ended."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port
        self.home, self.published = folder / "home", folder / "published"
        os.environ["PENSTOCK_HOME"] = str(self.home)
        os.environ[MARK] = str(folder)
        specs = folder / "specs"
        specs.mkdir()
        place = Workplace(folder)
        make_private(place, epsilon=str(COST))
        self.specs = [self._write(place, "private")]
        table = Workplace(folder)
        make_table(table, epsilon=str(COST))
        self.specs.append(self._write(table, "table"))
        open_dp_account(LIMIT)
        schedules = [
            {"cron": "* * * * *", "active": True, "parameters": {"spec": spec.name, "started_by": "schedule"}}
            for spec in self.specs
        ]
        settings = {"name": "soak", "specs": str(specs), "timezone": "UTC", "at_once": 2}
        (folder / "settings.yaml").write_text(yaml.safe_dump({**settings, "schedules": {"release": schedules}}))
        self.starts = 0
        self.serving: subprocess.Popen[bytes] | None = None

    def _write(self, place: Workplace, name: str) -> Path:
        path = self.folder / "specs" / f"{name}.yaml"
        raw = {**place.raw, "name": name}
        raw["source"] = {**raw["source"], "path": str(place.source)}
        raw["publish"] = {**raw["publish"], "path": str(self.published)}
        path.write_text(yaml.safe_dump(raw, sort_keys=False), encoding="utf-8")
        return path

    def keep_up(self) -> None:
        """Start `penstock serve` if it is not there."""
        if self.serving is not None and self.serving.poll() is None:
            return
        self.starts += 1
        command = [PENSTOCK, "serve", "--port", str(self.port), "--settings", str(self.folder / "settings.yaml")]
        with (self.folder / "serve.txt").open("ab") as output:
            self.serving = subprocess.Popen(command, stdout=output, stderr=output, cwd="/")

    def kill_one(self, chance: random.Random) -> str | None:
        """Kill a process of the chosen kind; None if there is none now."""
        [kind] = chance.choices(list(VICTIMS), weights=list(VICTIMS.values()))
        found = [pid for pid, line in processes(str(self.folder)).items() if kind in line]
        if not found:
            return None
        os.kill(chance.choice(found), signal.SIGKILL)
        return kind

    def stop(self) -> None:
        if self.serving is not None and self.serving.poll() is None:
            self.serving.terminate()
            self.serving.wait()
        for pid in processes(str(self.folder)):
            if pid != os.getpid():
                wait_for_death(pid)

    def go_on(self) -> list[int]:
        """Run each spec by hand until nothing is unfinished; exit codes."""
        codes = []
        for _ in range(20):
            for spec in self.specs:
                codes.append(subprocess.run([PENSTOCK, "run", str(spec)], capture_output=True).returncode)
            if not unfinished(Home.located()):
                break
        return codes

    def faults(self, codes: list[int]) -> Iterator[tuple[str, bool]]:
        """What must hold, and whether it does."""
        records = open_records()
        events = records.log.events()
        bundles = sorted(path.parent for path in self.published.rglob("manifest.json"))
        told = {event.facts["destination"] for event in events if event.action is Action.PUBLISHED}
        yield "runs that were interrupted went on by hand", set(codes) == {0} and not unfinished(Home.located())
        yield "every release is whole: its files are what its manifest says", all(map(self._verifies, bundles))
        folders = {path for path in self.published.glob("*/*") if path.is_dir()}
        yield "every release is whole or absent: no other folder is there", folders == set(bundles)
        yield "the log tells of every bundle, and of no other", told == set(map(str, bundles))
        yield "each run was published at most once", _at_most_once(events, Action.PUBLISHED)
        yield "what was published is what was drawn", all(map(_is_as_drawn(events), bundles))
        account = records.ledger.book("survey").as_dict("survey")["accounts"][0]
        drawn = sum(event.action is Action.SPENT for event in events)
        yield f"the ledger adds up: {drawn} draws", Fraction(account["spent"]) == drawn * COST
        yield "log, ledger, signatures and manifests agree", bool(verify_everything([self.published])["events"])
        left = {path.name for path in (self.home / "runs").glob("*/*")} - {
            "outcome.json",
            "report.html",
            "validation.html",
            "assessment.json",
        }
        yield "no working file is left", not left

    def _verifies(self, bundle: Path) -> bool:
        return bool(verify_bundle(bundle, Home.located().public_key_path))


def _at_most_once(events: list[Event], action: Action) -> bool:
    return max(Counter(event.run for event in events if event.action is action).values(), default=0) <= 1


def _is_as_drawn(events: list[Event]) -> Callable[[Path], bool]:
    """Whether the data of a bundle are those of the last draw of its run, or of the run whose table it repeats."""
    drawn = {event.run: event.facts["data"] for event in events if event.action is Action.PROTECTED}

    def matches(bundle: Path) -> bool:
        data = [*bundle.glob("data.parquet"), *bundle.glob("tables/*.parquet")]
        return drawn.get(bundle.name) in {plain_file(path) for path in data}

    return matches


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--port", type=int, default=4299)
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="penstock-soak-"))
    chance, killed = random.Random(asked.seed), Counter[str]()
    print(f"{asked.minutes:g} minutes in {folder}, seed {asked.seed}", flush=True)
    soak = Soak(folder, asked.port)
    end = time.monotonic() + 60 * asked.minutes
    try:
        while time.monotonic() < end:
            soak.keep_up()
            time.sleep(chance.uniform(10, 50))  # a start takes half a minute, so some kills hit one
            victim = soak.kill_one(chance)
            if victim is not None:
                killed[victim] += 1
    finally:
        soak.stop()
    codes = soak.go_on()
    happened = Counter(event.action.value for event in open_records().log.events())
    kills = ", ".join(f"{kind} {count}" for kind, count in killed.items())
    print(f"started {soak.starts} times; killed: {kills or 'nothing'}")
    print(
        ", ".join(f"{action} {happened[action]}" for action in ("PLANNED", "RESUMED", "SPENT", "PUBLISHED", "REFUSED"))
    )
    results = list(soak.faults(codes))
    for what, holds in results:
        print(f"{'holds' if holds else 'FAILS'}  {what}")
    failed = sum(not holds for _, holds in results)
    if not failed:
        shutil.rmtree(folder)
    print(f"{len(results) - failed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
