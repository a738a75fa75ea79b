"""Somebody changes what is kept beside a table that was drawn: its hidden account, or the facts that are published.

Only the table itself was compared with the log when it came back, so a repeat could be judged by other secrets and
published with other facts. Or somebody puts the answer to another question in its place: each was what its run had
drawn, and nothing said for which records, settings or edition.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.records.run import RunDamaged
from tests.support.private_release import begun
from tests.support.workplace import ROWS, Workplace, make_table, open_dp_account


def _changed_fact(folder: Path) -> None:
    told = json.loads((folder / "answer.json").read_text(encoding="utf-8"))
    told["facts"]["settled"]["forged"] = "quieter than it was"
    (folder / "answer.json").write_text(json.dumps(told), encoding="utf-8")


def _fewer_records(folder: Path) -> None:
    told = json.loads((folder / "answer.json").read_text(encoding="utf-8"))
    told["facts"]["records"] += 1
    (folder / "answer.json").write_text(json.dumps(told), encoding="utf-8")


def _secrets(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / "secrets").rglob("*") if path.is_file())


def _changed_secret(folder: Path) -> None:
    path = _secrets(folder)[0]
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content))


def _removed_secret(folder: Path) -> None:
    _secrets(folder)[0].unlink()


def _added_secret(folder: Path) -> None:
    first = _secrets(folder)[0]
    first.with_name(f"more{first.suffix}").write_bytes(first.read_bytes())


def _broken_account(folder: Path) -> None:
    (folder / "answer.json").write_text("{")


def _account_of_another_form(folder: Path) -> None:
    (folder / "answer.json").write_text("[]")


def _account_without_its_run(folder: Path) -> None:
    (folder / "answer.json").write_text('{"digest": "d", "facts": {}}')


def _removed_account(folder: Path) -> None:
    (folder / "answer.json").unlink()


def _changed_data(folder: Path) -> None:
    (folder / "data").write_bytes((folder / "data").read_bytes()[:-1] + b"\0")


def _removed_data(folder: Path) -> None:
    (folder / "data").unlink()


CHANGES = (
    _changed_fact,
    _fewer_records,
    _changed_secret,
    _removed_secret,
    _added_secret,
    _broken_account,
    _account_of_another_form,
    _account_without_its_run,
    _removed_account,
    _changed_data,
    _removed_data,
)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__.strip("_"))
def test_an_answer_comes_back_whole_and_unchanged_or_not_at_all(
    workplace: Workplace, change: Callable[[Path], None]
) -> None:
    make_table(workplace)
    with begun(workplace) as line:
        line.publish()
    [folder] = (workplace.home / "answers").iterdir()
    change(folder)
    workplace.raw["name"] = "again"
    with begun(workplace, account=False) as line, pytest.raises(RunDamaged, match="as the audit log says"):
        line.protect()


def test_an_answer_whose_account_is_not_on_record_does_not_come_back(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Versions that did not put it there; nobody can tell any more whether it is what was drawn."""
    from penstock.tasks.outputs.output import Staged

    make_table(workplace)
    with monkeypatch.context() as older, begun(workplace) as line:
        older.setattr(Staged, "digests", property(lambda staged: {"data": staged.digest}))
        line.publish()
    workplace.raw["name"] = "again"
    with begun(workplace, account=False) as line, pytest.raises(RunDamaged, match="Move the folder away to draw anew"):
        line.protect()


def _other_records(place: Workplace) -> None:
    place.write_survey(ROWS, seed=9)


def _less_noise(place: Workplace) -> None:
    place.raw["protect"][0]["epsilon"] = "1/2"


def _another_edition(place: Workplace) -> None:
    place.raw["source"]["edition"] = "2026-12"


def _other_bounds(place: Workplace) -> None:
    place.raw["source"]["columns"]["income"]["domain"] = [0, 10**9]


QUESTIONS = (_other_records, _less_noise, _another_edition, _other_bounds)


@pytest.mark.parametrize("change", QUESTIONS, ids=lambda change: change.__name__.strip("_"))
def test_the_answer_to_another_question_does_not_come_back(
    workplace: Workplace, change: Callable[[Workplace], None]
) -> None:
    make_table(workplace)
    workplace.raw["source"]["edition"] = "2026-11"
    open_dp_account(9)
    with begun(workplace, account=False) as line:
        line.publish()
    [first] = (workplace.home / "answers").iterdir()
    change(workplace)
    workplace.raw["name"] = "second"
    with begun(workplace, account=False) as line:
        line.publish()
    [second] = [folder for folder in (workplace.home / "answers").iterdir() if folder != first]
    shutil.rmtree(second)
    shutil.copytree(first, second)
    workplace.raw["name"] = "third"
    with begun(workplace, account=False) as line, pytest.raises(RunDamaged, match="as the audit log says"):
        line.protect()
    assert len(workplace.bundles()) == 2


def test_a_run_asks_nothing_before_it_has_read_its_source(workplace: Workplace) -> None:
    """The question is about the records that it read."""
    from penstock.tasks.protect import _question

    make_table(workplace)
    with begun(workplace) as line, pytest.raises(ValueError, match="before it has read its source"):
        _question(line.job)
