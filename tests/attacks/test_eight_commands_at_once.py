"""Eight commands of one home at the same time all end well: none waits for a server, and none gives up on one.

The attack is what an office does at noon. Each command used to start a Prefect server of its own, and on two cores one
of them gave up because its server did not start in time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from penstock.cli._demo import synthetic_survey
from penstock.mechanisms.randomness import seeded
from penstock.records import open_records
from penstock.tasks.verification.bundle import verify_bundle
from tests.support.living_processes import LONGEST_WAIT, MARK, processes
from tests.support.workplace import PASSED, Workplace

pytestmark = pytest.mark.slow


def specs(workplace: Workplace, count: int) -> list[Path]:
    """So many specs, each with records of its own."""
    written = []
    for number in range(count):
        source = workplace.folder / f"survey-{number}.parquet"
        pq.write_table(synthetic_survey(200, seeded(100 + number)), source)
        raw = json.loads(json.dumps(workplace.raw))
        raw["name"] = f"survey-{number}"
        raw["source"]["path"] = source.name
        raw["gates"] = [{"measure": "average_risk", "max": 0.06}]
        spec = workplace.folder / f"spec-{number}.yaml"
        spec.write_text(yaml.safe_dump(raw, sort_keys=False), encoding="utf-8")
        written.append(spec)
    return written


# Two are enough to meet; eight are an office on two cores.
@pytest.mark.parametrize("count", [2, pytest.param(8, marks=pytest.mark.slow)])
def test_eight_commands_of_one_home_at_once_all_publish(workplace: Workplace, count: int) -> None:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT", "PENSTOCK"))}
    mark = str(workplace.folder)
    running = [
        subprocess.Popen(
            [str(Path(sys.executable).with_name("penstock")), "run", str(spec), "--json"],
            env={**inherited, "PENSTOCK_HOME": str(workplace.home), MARK: mark},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for spec in specs(workplace, count)
    ]
    told = [command.communicate(timeout=8 * LONGEST_WAIT) for command in running]
    ends = [(command.returncode, errors) for command, (_, errors) in zip(running, told, strict=True)]
    assert ends == [(0, "")] * count
    assert processes(mark) == {}

    receipts = [json.loads(printed) for printed, _ in told]
    assert {receipt["name"] for receipt in receipts} == {f"survey-{number}" for number in range(count)}
    assert sorted(Path(receipt["path"]) for receipt in receipts) == workplace.bundles()
    for bundle in workplace.bundles():
        verify_bundle(bundle, workplace.home / "keys" / "signing.pub")
    records = open_records()
    records.ledger.verify()
    assert records.log.verify().count == count * len(PASSED)
    for receipt in receipts:
        assert [event.action.value for event in records.log.events(receipt["run"])] == PASSED
    assert workplace.working_files() == []
