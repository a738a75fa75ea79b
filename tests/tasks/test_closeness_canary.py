"""No confidential value of a release of groups leaves by any door: bundle, log, artifact, report or message."""

from __future__ import annotations

import struct
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.flows.spec import load_spec
from penstock.records import open_records
from penstock.records.home import Home
from penstock.tasks.verification.bundle import verify_bundle
from tests.support.order import telling
from tests.support.workplace import PASSED, Workplace
from tests.tasks.close_release import text_of

# Values that occur nowhere else, as text and as bytes; none is a round number, as ends of intervals are.
CANARIES = {
    "income": [81_234_567_012_345.25 + 977.25 * row for row in range(60)],
    "savings": [65_432_109_876_543.5 + 1_013.5 * row for row in range(60)],
}


def with_canaries(workplace: Workplace, **settings: Any) -> dict[str, bytes]:
    """Two columns of canaries; all forms in which one of them could be found."""
    survey = workplace.write_survey(60)
    columns = workplace.raw["source"]["columns"]
    for name, values in CANARIES.items():
        # In random order: the release must not lean on the order of the source either.
        shuffled = np.random.default_rng(5).permutation(values)
        survey = survey.set_column(survey.column_names.index(name), name, pa.array(shuffled))
        columns[name] = {"role": "confidential", "type": "continuous", "domain": [0, 1e15]}
    pq.write_table(survey, workplace.source)
    workplace.raw |= {
        "protect": [{"mechanism": "closeness", "k": 5, **settings}],
        "gates": [{"measure": "smallest_group", "min": 5}],
    }
    forms = {}
    for name, values in CANARIES.items():
        for row, value in enumerate(values):
            assert int(value) % 1000
            digits = str(int(value))
            forms[f"{name} {row}"] = digits.encode()
            forms[f"{name} {row} with exponent"] = f"{digits[0]}.{digits[1:]}".encode()
            forms[f"{name} {row} float64"] = struct.pack("<d", value)
    return forms


def searched(workplace: Workplace, prefect_home: Path) -> dict[str, bytes]:
    """Everything that a run left: the bundle (its Parquet files decoded too), the home, and what Prefect keeps."""
    found = {}
    for folder in (workplace.home, workplace.published, prefect_home):
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            found[str(path)] = path.read_bytes()
            if path.suffix == ".parquet":
                found[f"{path} decoded"] = repr(pq.read_table(path).to_pydict()).encode()
    return found


def leaks(workplace: Workplace, prefect_home: Path, forms: dict[str, bytes]) -> list[str]:
    places = searched(workplace, prefect_home)
    assert any("report.html" in place for place in places)
    return sorted({place for place, content in places.items() for form in forms.values() if form in content})


@pytest.mark.parametrize(
    ("several", "output"),
    telling(product(["joint", "each"], ["anatomy", "permuted"]), ("joint", "anatomy"), ("each", "permuted")),
)
def test_no_confidential_value_leaves_by_any_door(
    workplace: Workplace, prefect_home: Path, caplog: pytest.LogCaptureFixture, several: str, output: str
) -> None:
    """Neither in the bundle nor in a log, artifact, report or message."""
    from penstock.flows.release import release

    forms = with_canaries(workplace, method="buckets", t="2", several=several, output=output)
    receipt = release(load_spec(workplace.write_spec()))
    assert [event.action.value for event in open_records().log.events()] == PASSED
    assert leaks(workplace, prefect_home, forms) == []
    assert not any(form.decode("latin-1") in caplog.text for form in forms.values())
    verify_bundle(Path(receipt.path), Home.open().public_key_path)
    report = text_of(Path(receipt.confidential_report))
    assert "closeness ratio" in report
    assert "values in buckets" in report


@pytest.mark.slow
def test_the_search_finds_values_where_they_are_published(workplace: Workplace, prefect_home: Path) -> None:
    from penstock.flows.release import release

    forms = with_canaries(workplace, method="ranked", output="anatomy")
    release(load_spec(workplace.write_spec()))
    found = leaks(workplace, prefect_home, forms)
    assert {Path(place.split()[0]).name for place in found} == {"values.parquet", "values.csv"}
