"""Two manifests told how many events lay between them, so readers could count the runs that were refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.flows.planning import draw_up_plan
from penstock.flows.spec import load_spec
from penstock.records import Action, Home, open_records
from penstock.records.audit import RecordsDisagree, verify_everything
from penstock.records.bundle.bundle import statement_of
from penstock.tasks.run.job import begin
from tests.records.published_home import NOW, publish, sealed_by
from tests.support.private_release import Line
from tests.support.workplace import Workplace, files_of


def test_no_public_file_tells_how_many_events_there_were(workplace: Workplace) -> None:
    log = open_records().log
    with log.transaction() as writer:
        for _ in range(300):
            writer.append(Action.PLANNED, run="r", actor="a", facts={}, occurred=NOW)
    with begin(draw_up_plan(load_spec(workplace.write_spec()))) as job:
        line = Line(job)
        before = log.head().seq
        line.publish()
        numbers = range(before, log.head().seq + 1)
    [bundle] = workplace.bundles()
    statement = statement_of(bundle, Home.located().signing_key().public_key())
    assert set(statement["predicate"]["log_head"]) == {"digest"}
    assert statement["predicate"]["log_head"]["digest"] in {event.digest for event in log.events()}
    for name, content in files_of(bundle).items():
        if name.endswith((".html", ".json", ".xml", ".jsonld")):
            found = [number for number in numbers if f"{number}:{log.events()[number - 1].digest}".encode() in content]
            assert not found, name
    assert verify_everything()["manifests"] == 1


def test_a_digest_that_the_log_never_had_is_found(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(home.root))
    bundle = publish(home, tmp_path / "public")
    sealed_by(bundle, home.signing_key(), None, "ab" * 32)
    with pytest.raises(
        RecordsDisagree, match="must have seen events of this log only: it was cut short or replaced since"
    ):
        verify_everything()


def test_manifests_with_the_number_are_still_compared(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(home.root))
    bundle = publish(home, tmp_path / "public")
    sealed_by(bundle, home.signing_key(), 1, open_records().log.events()[1].digest)
    with pytest.raises(RecordsDisagree, match="must have seen the same event 1"):
        verify_everything()
