"""A run killed between the draws of two outputs that share a file goes on where it was: nothing is drawn twice, and all
rows stay in the order of the first draw."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from penstock.records import open_records
from penstock.tasks.files.columns import load_columns
from penstock.tasks.verification.bundle import verify_bundle
from tests.support.forked_releases import Zygote
from tests.support.order import telling
from tests.support.shared_file import AMOUNTS, KEYS, make_shared
from tests.support.workplace import Workplace

# Whether the keys, and whether the amounts, had been drawn and committed when the process died.
POINTS = {
    "after PROTECTING": (False, False),
    "before marker": (False, False),
    "after marker": (True, False),
    "before files": (True, True),
    "after files": (True, True),
    "after PROTECTED": (True, True),
    "after csv": (True, True),
    "before rename": (True, True),
}


def committed(workplace: Workplace, output: str) -> Path | None:
    """The folder of an output whose draw was committed."""
    found = [path.parent for path in workplace.home.rglob("protected.json") if path.parent.name == output]
    return found[0] if found else None


@pytest.mark.parametrize("point", telling(POINTS, "after marker", "before files", "after files"))
def test_a_run_killed_between_the_draws_resumes_without_drawing_twice(
    workplace: Workplace, zygote: Zygote, point: str
) -> None:
    make_shared(workplace)
    workplace.write_spec()
    assert zygote.run(workplace, point) == -signal.SIGKILL
    assert workplace.bundles() == []
    folders = [committed(workplace, name) for name in ("keys", "amounts")]
    assert tuple(folder is not None for folder in folders) == POINTS[point]
    drawn = {
        name: pq.read_table(folder / "protected.parquet", columns=own).to_pydict()
        for name, own, folder in zip(("keys", "amounts"), (KEYS, AMOUNTS), folders, strict=True)
        if folder is not None
    }
    order = None if folders[0] is None else load_columns(folders[0] / "secrets")["origin"]
    open_records().log.verify()

    assert zygote.run(workplace) == 0
    [bundle] = workplace.bundles()
    verify_bundle(bundle, workplace.home / "keys" / "signing.pub")
    published = pq.read_table(bundle / "people" / "data.parquet").to_pydict()
    for columns in drawn.values():
        assert columns == {name: published[name] for name in columns}
    if order is not None:
        # The incomes stand in the order of the first draw: each is near that of its record, which chance is not.
        true = pq.read_table(workplace.source)["income"].to_numpy()[order]
        shown = np.array(published["income"])
        assert np.corrcoef(true, shown)[0, 1] > 0.9
        assert abs(np.corrcoef(true[::-1], shown)[0, 1]) < 0.5
    [assessment] = workplace.home.rglob("assessment.json")
    [file] = json.loads(assessment.read_text(encoding="utf-8"))["files"]
    assert all(check["passed"] for check in file["checks"])
    assert workplace.working_files() == []
    open_records().log.verify()
    open_records().ledger.verify()
    events = [event.action.value for event in open_records().log.events()]
    assert events.count("PUBLISHED") == 1


def test_a_file_is_put_together_again_as_it_was(workplace: Workplace, zygote: Zygote) -> None:
    """Killed after the file was written and before that was committed: it follows from its parts."""
    make_shared(workplace)
    workplace.write_spec()
    assert zygote.run(workplace, "before files") == -signal.SIGKILL
    [before] = workplace.home.rglob("file-people.parquet")
    content = before.read_bytes()
    assert zygote.run(workplace) == 0
    [bundle] = workplace.bundles()
    assert (bundle / "people" / "data.parquet").read_bytes() == content
