"""Somebody changes what is kept beside a table that was drawn: its hidden account, or the facts that are published.

Only the table itself was compared with the log when it came back, so a repeat could be judged by other secrets and
published with other facts.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from private_release import begun
from workplace import Workplace, make_table

from records.run import RunDamaged


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


CHANGES = (_changed_fact, _fewer_records, _changed_secret, _removed_secret, _added_secret)


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
    from tasks.protect import Staged

    make_table(workplace)
    with monkeypatch.context() as older, begun(workplace) as line:
        older.setattr(Staged, "digests", property(lambda staged: {"data": staged.digest}))
        line.publish()
    workplace.raw["name"] = "again"
    with begun(workplace, account=False) as line, pytest.raises(RunDamaged, match="Move the folder away to draw anew"):
        line.protect()
