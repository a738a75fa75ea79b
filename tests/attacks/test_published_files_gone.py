"""Published files were replaced or taken away, and the check of the log looked at manifests only."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from penstock.records import Action, Home, open_records
from penstock.records.audit import PublishedMissing, RecordsDisagree, verify_everything
from tests.records.published_home import NOW, publish


@pytest.fixture
def bundle(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PENSTOCK_HOME", str(home.root))
    publish(home, tmp_path / "public")
    return publish(home, tmp_path / "public")


def test_a_replaced_file_is_found(bundle: Path) -> None:
    assert verify_everything(files=True)["files"] == 2
    (bundle / "data.csv").write_text("a\n2\n")
    assert verify_everything()["manifests"] == 2  # it does not look
    with pytest.raises(RecordsDisagree, match=r"data\.csv refused: must have the listed digest; it was altered"):
        verify_everything(files=True)


def test_a_file_that_is_gone_has_a_refusal_of_its_own(bundle: Path) -> None:
    (bundle / "data.csv").unlink()
    with pytest.raises(PublishedMissing, match=r"data\.csv refused: must exist") as caught:
        verify_everything(files=True)
    assert (caught.value.code, caught.value.kind) == ("published-missing", "integrity")


def test_a_bundle_that_is_gone_is_listed_and_refused_where_files_are_asked_for(bundle: Path) -> None:
    shutil.rmtree(bundle)
    assert verify_everything()["not_reached"] == [str(bundle)]
    with pytest.raises(PublishedMissing, match=f"{bundle} refused: must hold the bundle that the log says"):
        verify_everything(files=True)


def test_one_that_is_gone_does_not_hide_one_that_was_replaced(bundle: Path) -> None:
    other = next(path for path in bundle.parent.iterdir() if path != bundle)
    shutil.rmtree(bundle)
    (other / "more").write_text("x")
    with pytest.raises(RecordsDisagree) as caught:
        verify_everything(files=True)
    assert {fault.rule for fault in caught.value.faults} == {
        "must be listed; it was added",
        "must hold the bundle that the log says was published here; it is gone",
    }


def test_a_clock_that_was_set_back_is_flagged_and_is_no_damage(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deadlines and dates of approvals rest on the clock."""
    monkeypatch.setenv("PENSTOCK_HOME", str(home.root))
    log = open_records().log
    for seconds in (0, 3600, 3590, 10, 20, 7200):
        moment = NOW + timedelta(seconds=seconds)
        log.append(Action.PLANNED, run="r", actor="a", facts={}, occurred=moment)
    found = verify_everything()
    # Writers take the time before they wait for their turn, so some seconds are nobody's doing.
    assert found["backwards"] == [4, 5]
