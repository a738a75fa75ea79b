"""No value of the data leaves by a side door.

Unique values stand in every column. A release passes, others fail at each stage, also with library
errors that quote values. Then every file, database and output is searched for every canary, as text
and as the bytes of its number. The staged and published data are the only places allowed.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROWS = 60
AGES = [730_000_017 + 1_009 * row for row in range(ROWS)]
INCOMES = [81_234_567.015625 + 977.25 * row for row in range(ROWS)]
SAVINGS = [65_432_109.03125 + 1_013.5 * row for row in range(ROWS)]
WEIGHTS = [4_711_813.0078125 + 31.5 * row for row in range(ROWS)]
IDS = [f"CANARY-PERSON-{row:05d}-Q" for row in range(ROWS)]
REGION = "CANARY-REGION-Z"
# The data themselves: the source, the working copies, what is staged and what is published.
DATA_FILES = {"source.parquet", "bad-region.parquet", "protected.parquet", "data.parquet", "data.csv"}


def canaries() -> dict[str, bytes]:
    """Every form in which a value could be found, by name."""
    forms: dict[str, bytes] = {}
    for row in range(ROWS):
        forms[f"id {row}"] = IDS[row].encode()
        forms[f"age {row}"] = str(AGES[row]).encode()
        forms[f"age {row} int64"] = struct.pack("<q", AGES[row])
        for name, values in (("income", INCOMES), ("savings", SAVINGS), ("weight", WEIGHTS)):
            forms[f"{name} {row}"] = str(values[row]).split(".")[0].encode()
            forms[f"{name} {row} float64"] = struct.pack("<d", values[row])
    forms["region"] = REGION.encode()
    return forms


def found_in(content: bytes) -> list[str]:
    return [name for name, form in canaries().items() if form in content]


def leaks(folder: Path) -> list[str]:
    """Every canary in every file below the folder, except where data belong."""
    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name not in DATA_FILES and path.suffix != ".npy" and path.name != "canaries.json":
            found += [f"{path}: {name}" for name in found_in(path.read_bytes())]
    return found


def spec(**changes: object) -> dict[str, object]:
    wide = {"type": "continuous", "domain": [0, 1e9]}
    raw: dict[str, object] = {
        "name": "canary",
        "source": {
            "path": "SOURCE",
            "unit": "row",
            "columns": {
                "person": {"role": "identifier"},
                "age": {"role": "quasi_identifier", "type": "integer", "domain": [0, 1_000_000_000]},
                "region": {"role": "quasi_identifier", "type": "nominal", "categories": ["N", "S"]},
                "income": {"role": "confidential", **wide},
                "savings": {"role": "confidential", **wide},
                "weight": {"role": "weight"},
            },
        },
        "protect": [{"mechanism": "probabilistic_k_anonymity", "method": "ir_swap", "k": 5}],
        "gates": [{"measure": "record_linkage", "max": 1}, {"measure": "correlation_change", "max": 2}],
        "publish": {"path": "PUBLISHED", "formats": ["parquet", "csv"]},
    }
    raw.update(changes)
    return raw


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, dict[str, str]]:
    folder = tmp_path_factory.mktemp("canary")
    table = pa.table(
        {
            "person": IDS,
            "age": AGES,
            "region": ["N", "S"] * (ROWS // 2),
            "income": INCOMES,
            "savings": SAVINGS,
            "weight": WEIGHTS,
        }
    )
    pq.write_table(table, folder / "source.parquet")
    strange = table.set_column(2, "region", pa.array([REGION, "S"] * (ROWS // 2)))
    pq.write_table(strange, folder / "bad-region.parquet")
    suite = [
        {"type": "expect_column_max_to_be_between", "kwargs": {"column": "income", "max_value": 1}},
        {"type": "expect_column_values_to_be_in_set", "kwargs": {"column": "age", "value_set": [1]}},
        {"type": "expect_column_distinct_values_to_be_in_set", "kwargs": {"column": "savings", "value_set": [1]}},
        {"type": "expect_column_mean_to_be_between", "kwargs": {"column": "weight", "max_value": 1}},
    ]
    (folder / "suite.json").write_text(json.dumps(suite))
    (folder / "canaries.json").write_text(json.dumps([IDS, AGES, INCOMES, SAVINGS, WEIGHTS]))
    (folder / "in-the-way").write_text("a file where a folder should be")
    good = spec()
    narrow = spec()
    narrow["source"] = json.loads(json.dumps(narrow["source"]))
    narrow["source"]["columns"]["income"]["domain"] = [0, 10]  # type: ignore[index]
    unknown = spec()
    unknown["source"] = {**unknown["source"], "path": "STRANGE"}  # type: ignore[dict-item]
    scenarios = [
        {"name": "passes", "spec": good, "inject": ""},
        {"name": "outside-domain", "spec": narrow, "inject": ""},
        {"name": "unknown-category", "spec": unknown, "inject": ""},
        {"name": "ingest-error", "spec": spec(name="ingest-error"), "inject": "ingest"},
        {"name": "suite-fails", "spec": spec(validate={"suite": str(folder / "suite.json")}), "inject": ""},
        {"name": "validate-error", "spec": spec(name="validate-error"), "inject": "validate"},
        {
            "name": "too-few",
            "spec": spec(protect=[{"mechanism": "probabilistic_k_anonymity", "method": "ir_swap", "k": 61}]),
            "inject": "",
        },
        {"name": "protect-error", "spec": spec(name="protect-error"), "inject": "protect"},
        {"name": "gate-refuses", "spec": spec(gates=[{"measure": "il1s", "max": 0}]), "inject": ""},
        {"name": "assess-error", "spec": spec(name="assess-error"), "inject": "assess"},
        {"name": "seal-error", "spec": spec(name="seal-error"), "inject": "seal"},
        {"name": "publish-error", "spec": spec(publish={"path": str(folder / "in-the-way")}), "inject": ""},
    ]
    text = json.dumps(scenarios).replace("SOURCE", str(folder / "source.parquet"))
    text = text.replace("STRANGE", str(folder / "bad-region.parquet")).replace("PUBLISHED", str(folder / "published"))
    (folder / "scenarios.json").write_text(text)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PREFECT")},
        "PENSTOCK_HOME": str(folder / "home"),
        "PREFECT_LOGGING_LEVEL": "DEBUG",
        "PREFECT_LOGGING_TO_API_ENABLED": "true",
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    process = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("canary_driver.py")), str(folder)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    output = process.stdout + process.stderr
    assert process.returncode == 0, output[-4000:]
    lines = [line.split() for line in output.splitlines() if line.startswith("OUTCOME ")]
    return folder, output, {name: outcome for _, name, outcome in lines}


def test_every_scenario_ended_where_it_should(searched: tuple[Path, str, dict[str, str]]) -> None:
    assert searched[2] == {
        "passes": "published",
        "outside-domain": "value-outside-domain",
        "unknown-category": "value-outside-domain",
        "ingest-error": "step-failed",
        "suite-fails": "validation-failed",
        "validate-error": "step-failed",
        "too-few": "too-few-records",
        "protect-error": "step-failed",
        "gate-refuses": "gate-refused",
        "assess-error": "step-failed",
        "seal-error": "step-failed",
        "publish-error": "step-failed",
    }


def test_no_canary_is_printed_or_logged(searched: tuple[Path, str, dict[str, str]]) -> None:
    assert len(searched[1]) > 5000  # the talkative setting was on
    assert found_in(searched[1].encode()) == []


def test_no_canary_is_in_any_log_database_store_report_or_manifest(searched: tuple[Path, str, dict[str, str]]) -> None:
    folder = searched[0]
    assert (folder / "home" / "prefect" / "prefect.db").stat().st_size > 100_000
    assert list((folder / "home" / "runs").rglob("report.html"))
    assert list((folder / "home" / "runs").rglob("validation.html"))
    assert leaks(folder) == []


def test_no_identifier_is_in_the_staged_or_published_data(searched: tuple[Path, str, dict[str, str]]) -> None:
    for path in searched[0].rglob("*"):
        if path.is_file() and (path.suffix == ".npy" or path.name in {"protected.parquet", "data.parquet", "data.csv"}):
            table = pq.read_table(path) if path.suffix == ".parquet" else None
            names = table.column_names if table is not None else []
            assert "person" not in names
            assert not any(identifier.encode() in path.read_bytes() for identifier in IDS)


def test_the_search_finds_a_canary_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text(f"failed for {AGES[3]}")
    (tmp_path / "result.pickle").write_bytes(b"\x80\x04" + struct.pack("<d", INCOMES[7]))
    (tmp_path / "data.csv").write_text(str(AGES[4]))
    assert [line.split(": ")[1] for line in leaks(tmp_path)] == ["age 3", "income 7 float64"]
