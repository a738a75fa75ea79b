"""What versions up to 0.3 charged and drew under their digest of a source is found by this one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from penstock.records import open_records
from penstock.records.ledger.ledger import SecondRelease, SourceElsewhere
from penstock.tasks import ingest
from penstock.tasks.files.source_digest import SourceDigest, digest_source
from penstock.tasks.parts.ingest import start_over_if_changed
from tests.support.private_release import begun
from tests.support.workplace import OPENED, Workplace, budget_of, make_table


@contextmanager
def as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Sources are known by the names and contents of their files alone, and records by nothing."""

    def former(dataset: ds.Dataset, root: str, key: bytes) -> Any:
        return SimpleNamespace(
            content=digest_source(dataset, root, key).formerly,
            formerly=None,
            by_folder=False,
            files=(),
            is_of=lambda told: True,
        )

    with monkeypatch.context() as patch:
        patch.setattr(ingest, "digest_source", former)
        patch.setattr(ingest, "digest_of_values", lambda *_: None)
        yield


def publish(workplace: Workplace, *, account: bool = False) -> Any:
    with begun(workplace, account=account) as line:
        return line.publish()


def figures(receipt: Any) -> Any:
    return pq.read_table(Path(receipt.path) / "tables/incomes.parquet").to_pydict()


def test_an_old_table_comes_back_and_is_not_drawn_again(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    make_table(workplace)
    with as_before(monkeypatch):
        first = publish(workplace, account=True)
    workplace.raw["name"] = "again"
    assert figures(publish(workplace)) == figures(first)
    assert budget_of() == ("1", "3", ["published", "published"])


def test_an_old_table_of_a_partitioned_folder_is_drawn_again(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its digest did not say of which partitions, so nobody knows whether it is the answer."""
    make_table(workplace)
    pq.write_to_dataset(pq.read_table(workplace.source), workplace.folder / "survey", partition_cols=["region"])
    workplace.raw["source"]["path"] = "survey"
    with as_before(monkeypatch):
        publish(workplace, account=True)
    workplace.raw["name"] = "again"
    publish(workplace)
    assert budget_of()[0] == "2"


@pytest.mark.parametrize("folder", [False, True], ids=["a file", "a partitioned folder"])
def test_what_was_charged_binds_the_records_to_its_name(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch, folder: bool
) -> None:
    make_table(workplace)
    if folder:
        pq.write_to_dataset(pq.read_table(workplace.source), workplace.folder / "survey", partition_cols=["region"])
        workplace.raw["source"]["path"] = "survey"
    with as_before(monkeypatch):
        publish(workplace, account=True)
    [_, old] = [event.facts for event in open_records().log.events() if event.action.value in ("RESERVED", OPENED[1])]
    assert (old["values"], old["formerly"]) == (None, None)
    workplace.raw["budget"]["dataset"] = "other"
    workplace.raw["protect"][0]["means"] = []
    with pytest.raises(SourceElsewhere, match="must be the name under which these records are counted: survey"):
        publish(workplace)


def test_a_release_without_a_name_is_found(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    with as_before(monkeypatch):
        publish(workplace)
    workplace.raw["name"] = "again"
    with pytest.raises(
        SecondRelease, match="must list the earlier releases of the same records, because no theorem covers both"
    ):
        publish(workplace)
    # A copy under another name is recognised by what this version writes down, and was not by what they did.
    workplace.raw["budget"] = {"acknowledges": [cost.run for cost in open_records().ledger.books()[""].costs]}
    publish(workplace)
    shutil.copy(workplace.source, workplace.folder / "copy.parquet")
    workplace.raw["source"]["path"] = "copy.parquet"
    with pytest.raises(
        SecondRelease, match="must list the earlier releases of the same records, because no theorem covers both"
    ):
        publish(workplace)


@pytest.mark.parametrize(
    ("known", "by_folder", "stays"),
    [("former", False, True), ("content", False, True), ("another", False, False), ("former", True, False)],
)
def test_a_run_that_they_began_starts_over_only_if_its_source_may_be_another(
    workplace: Workplace, known: str, by_folder: bool, stays: bool
) -> None:
    with begun(workplace, account=False) as line:
        line.job.run.commit("source", {"digest": known})
        start_over_if_changed(line.job, SourceDigest("content", "former", by_folder))
        assert (line.job.run.committed("source") is not None) == stays


def test_a_run_that_they_began_goes_on(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    with begun(workplace, account=False) as line, as_before(monkeypatch):
        _, staged = line.protect()
        begun_by = line.job.run.id
    with begun(workplace, account=False) as line:
        assert line.job.run.id == begun_by
        _, again = line.protect()
        assert again.digest == staged.digest


def test_the_claim_says_what_the_source_was_called(workplace: Workplace) -> None:
    make_table(workplace)
    with begun(workplace) as line:
        source = line.ingest()
        line.reserve(source)
        [cost] = line.job.ledger.book("survey").costs
        assert (cost.claim.source, cost.claim.values, cost.claim.formerly) == (
            source.digest,
            source.values,
            source.formerly,
        )
        assert len({source.digest, source.values, source.formerly, None}) == 4
        line.reserve(source)  # it finds its reservation again
        assert len(line.job.ledger.book("survey").costs) == 1
