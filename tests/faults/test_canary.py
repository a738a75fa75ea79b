"""No value of the data, no random draw, no group and no private key leaves by a side door.

Unique values stand in every column. Releases pass, fail at each stage, also with library errors that
quote values, wait for reviewers, and are refused by them or by the ledger; officers and auditors look
at the records. Then every file, database and output is searched for every canary, as text and as
bytes. The sources, what is staged and what is published are the only places allowed for values, the
working files of a run for draws and groups, and their own files for keys.

A canary has at least 14 digits or 8 bytes, so one that is found by chance among 100 MB has a
probability below 1e-3 (it was 8 digits once: a clock's microseconds before a year looked like it).
"""

from __future__ import annotations

import base64
import json
import os
import random
import sqlite3
import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

ROWS = 60
AGES = [73_000_001_700_017 + 1_009 * row for row in range(ROWS)]
INCOMES = [81_234_567_012_345.25 + 977.25 * row for row in range(ROWS)]
SAVINGS = [65_432_109_876_543.5 + 1_013.5 * row for row in range(ROWS)]
WEIGHTS = [47_118_130_078_125.5 + 31.5 * row for row in range(ROWS)]
IDS = [f"CANARY-PERSON-{row:05d}-Q" for row in range(ROWS)]
REGION = "CANARY-REGION-Z"
# The data themselves: the working copies, what is staged and what is published.
DATA_FILES = {"protected.parquet", "data.parquet", "data.csv"}
# What is not searched: the sources, the notes of what must not be found, and the reviewers' own folder.
NOT_SEARCHED = {"sources", "noted", "people", "canaries.json"}
GROUPS_AT_ONCE = 20


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


def draws(noted: Path) -> dict[str, bytes]:
    """The random words of every draw, and the groups of every column, in runs that are long enough to be unique."""
    forms: dict[str, bytes] = {}
    for place, word in enumerate(map(int, (noted / "words").read_text().split())):
        forms[f"word {place}"] = str(word).encode()
        forms[f"word {place} uint64"] = struct.pack("<Q", word)
    for place, line in enumerate((noted / "groups").read_text().splitlines()):
        labels = json.loads(line)[:GROUPS_AT_ONCE]
        forms.update({f"groups {place} {joint!r}": joint.join(map(str, labels)).encode() for joint in (", ", ",", " ")})
        for kind in (np.int8, np.int16, np.int32, np.int64):
            forms[f"groups {place} {kind.__name__}"] = np.array(labels, dtype=kind).tobytes()
    return forms


def private_key(name: str, path: Path) -> dict[str, bytes]:
    """A private key as it lies in its file, and as its bare bytes are written."""
    key = load_pem_private_key(path.read_bytes(), password=None)
    assert isinstance(key, Ed25519PrivateKey)
    raw = key.private_bytes_raw()
    body = b"".join(path.read_bytes().splitlines()[1:-1])
    return {
        f"{name} PEM": body,
        f"{name} bytes": raw,
        f"{name} hexadecimal": raw.hex().encode(),
        f"{name} base64": base64.b64encode(raw),
    }


def found_in(content: bytes, forms: dict[str, bytes]) -> list[str]:
    return [name for name, form in forms.items() if form in content]


def leaks(folder: Path, forms: dict[str, bytes]) -> list[str]:
    """Every form in every file below the folder, except where data belong."""
    found = []
    for path in sorted(folder.rglob("*")):
        searched = path.is_file() and path.name not in DATA_FILES and path.suffix != ".npy"
        if searched and not NOT_SEARCHED & set(path.relative_to(folder).parts):
            found += [f"{path}: {name}" for name in found_in(path.read_bytes(), forms)]
    return found


@dataclass(frozen=True)
class Searched:
    """The folder of all runs, what was printed, and how each scenario ended."""

    folder: Path
    output: str
    outcomes: dict[str, str]


def spec(**changes: object) -> dict[str, object]:
    wide = {"type": "continuous", "domain": [0, 1e15]}
    raw: dict[str, object] = {
        "name": "canary",
        "source": {
            "path": "SOURCE",
            "unit": "row",
            "columns": {
                "person": {"role": "identifier"},
                "age": {"role": "quasi_identifier", "type": "integer", "domain": [0, 10**15]},
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


def scenario(name: str, *, inject: str = "", review: str = "", source: str = "", **changes: object) -> dict[str, Any]:
    """A release of its own records, or of those of another scenario."""
    raw = json.loads(json.dumps(spec(**changes)))
    raw["name"] = name
    raw["source"]["path"] = f"SOURCES/{source or name}.parquet"
    if review:
        raw["approve"] = {"reviewers": 1, "allowed": ["rita", "mallory"]}
    return {"name": name, "spec": raw, "inject": inject, "review": review}


def swap(k: int) -> list[dict[str, object]]:
    return [{"mechanism": "probabilistic_k_anonymity", "method": "ir_swap", "k": k}]


def write_sources(folder: Path, names: list[str]) -> None:
    """The same canaries for every scenario, each time in another order: the same records would be a second release."""
    folder.mkdir()
    for seed, name in enumerate(names):
        order = random.Random(seed).sample(range(ROWS), ROWS)
        table = pa.table(
            {
                "person": [IDS[row] for row in order],
                "age": [AGES[row] for row in order],
                "region": ([REGION, "S"] if name == "unknown-category" else ["N", "S"]) * (ROWS // 2),
                "income": [INCOMES[row] for row in order],
                "savings": [SAVINGS[row] for row in order],
                "weight": [WEIGHTS[row] for row in order],
            }
        )
        pq.write_table(table, folder / f"{name}.parquet")


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Searched:
    folder = tmp_path_factory.mktemp("canary")
    suite = [
        {"type": "expect_column_max_to_be_between", "kwargs": {"column": "income", "max_value": 1}},
        {"type": "expect_column_values_to_be_in_set", "kwargs": {"column": "age", "value_set": [1]}},
        {"type": "expect_column_distinct_values_to_be_in_set", "kwargs": {"column": "savings", "value_set": [1]}},
        {"type": "expect_column_mean_to_be_between", "kwargs": {"column": "weight", "max_value": 1}},
    ]
    (folder / "suite.json").write_text(json.dumps(suite))
    (folder / "canaries.json").write_text(json.dumps([IDS, AGES, INCOMES, SAVINGS, WEIGHTS]))
    (folder / "in-the-way").write_text("a file where a folder should be")
    (folder / "noted").mkdir()
    narrow = scenario("outside-domain")
    narrow["spec"]["source"]["columns"]["income"]["domain"] = [0, 10]
    scenarios = [
        scenario("passes"),
        narrow,
        scenario("unknown-category"),
        scenario("ingest-error", inject="ingest"),
        scenario("suite-fails", validate={"suite": str(folder / "suite.json")}),
        scenario("validate-error", inject="validate"),
        scenario("too-few", protect=swap(61)),
        scenario("protect-error", inject="protect"),
        scenario("gate-refuses", gates=[{"measure": "il1s", "max": 0}]),
        scenario("assess-error", inject="assess"),
        scenario("seal-error", inject="seal"),
        scenario("publish-error", publish={"path": str(folder / "in-the-way")}),
        scenario("second-release", source="passes"),
        scenario("declined", review="refuse"),
        scenario("approved", review="approve"),
        scenario("suspended", review="suspended"),
    ]
    write_sources(folder / "sources", [str(each["name"]) for each in scenarios])
    text = json.dumps(scenarios).replace("SOURCES", str(folder / "sources"))
    (folder / "scenarios.json").write_text(text.replace("PUBLISHED", str(folder / "published")))
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("PREFECT", "PENSTOCK"))},
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
    return Searched(folder, output, {name: outcome for _, name, outcome in lines})


def test_every_scenario_ended_where_it_should(searched: Searched) -> None:
    assert searched.outcomes == {
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
        "second-release": "second-release",
        "declined": "refuse:6,0",
        "approved": "approve:6,0",
        "suspended": "Suspended:0:Completed",
        "budget-open": "0",
        "budget-raise": "0",
        "budget-show": "0",
        "keys-list": "0",
        "audit-show": "0",
        "audit-export": "0",
        "audit-verify": "0",
    }


def test_the_places_that_are_searched_are_full(searched: Searched) -> None:
    """A search of nothing finds nothing."""
    folder = searched.folder
    assert len(searched.output) > 5000  # the talkative setting was on
    assert (folder / "home" / "prefect" / "prefect.db").stat().st_size > 100_000
    assert list((folder / "home" / "runs").rglob("report.html"))
    assert list((folder / "home" / "runs").rglob("validation.html"))
    exported = {json.loads(line).get("action") for line in (folder / "log.jsonl").read_text().splitlines()}
    assert exported >= {"WAITING", "APPROVED", "DECLINED", "DECISION_REFUSED", "BUDGET_OPENED", "SETTLED", "REFUSED"}
    with sqlite3.connect(folder / "home" / "prefect" / "prefect.db") as database:
        inputs = [value for (value,) in database.execute("SELECT value FROM flow_run_input")]
    database.close()
    assert any("rita, mallory" in value for value in inputs)  # the question
    assert any('"signature"' in value and "read the report of this release" in value for value in inputs)  # the answer


def test_no_canary_is_printed_or_logged(searched: Searched) -> None:
    assert found_in(searched.output.encode(), canaries()) == []


def test_no_canary_is_in_any_log_database_store_report_or_manifest(searched: Searched) -> None:
    assert leaks(searched.folder, canaries()) == []


def test_no_random_draw_and_no_group_is_printed_or_kept(searched: Searched) -> None:
    forms = draws(searched.folder / "noted")
    assert sum(name.startswith("word") for name in forms) > 100
    assert sum(name.startswith("groups") for name in forms) > 100
    assert found_in(searched.output.encode(), forms) == []
    assert leaks(searched.folder, forms) == []


def test_no_run_that_ended_keeps_what_it_drew(searched: Searched) -> None:
    ended = [path.parent for path in (searched.folder / "home" / "runs").rglob("outcome.json")]
    assert len(ended) >= 8
    assert [path for run in ended for path in run.rglob("*") if path.suffix in (".npy", ".parquet")] == []


def test_no_private_key_of_a_person_is_printed_or_comes_near_the_home(searched: Searched) -> None:
    people = searched.folder / "people"
    for name in ("rita", "olga", "mallory"):
        forms = private_key(name, people / name)
        assert found_in(searched.output.encode(), forms) == []
        assert leaks(searched.folder, forms) == []


def test_no_key_of_the_home_is_outside_its_folder_of_keys(searched: Searched) -> None:
    keys = searched.folder / "home" / "keys"
    secret = (keys / "secret.key").read_bytes()
    forms = {**private_key("signing", keys / "signing.pem"), "secret": secret, "secret hex": secret.hex().encode()}
    assert found_in(searched.output.encode(), forms) == []
    assert {line.split(":")[0] for line in leaks(searched.folder, forms)} == {
        str(keys / "secret.key"),
        str(keys / "signing.pem"),
    }


def test_no_identifier_is_in_the_staged_or_published_data(searched: Searched) -> None:
    for path in searched.folder.rglob("*"):
        if path.is_file() and (path.suffix == ".npy" or path.name in DATA_FILES):
            table = pq.read_table(path) if path.suffix == ".parquet" else None
            names = table.column_names if table is not None else []
            assert "person" not in names
            assert not any(identifier.encode() in path.read_bytes() for identifier in IDS)


def test_the_search_finds_a_canary_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text(f"failed for {AGES[3]}")
    (tmp_path / "result.pickle").write_bytes(b"\x80\x04" + struct.pack("<d", INCOMES[7]))
    (tmp_path / "data.csv").write_text(str(AGES[4]))
    assert [line.split(": ")[1] for line in leaks(tmp_path, canaries())] == ["age 3", "income 7 float64"]


def test_the_search_finds_draws_groups_and_keys_that_are_there(tmp_path: Path) -> None:
    noted = tmp_path / "noted"
    noted.mkdir()
    (noted / "words").write_text("17320508075688772935\n14142135623730950488\n")
    labels = random.Random(1).choices(range(12), k=ROWS)
    (noted / "groups").write_text(json.dumps(labels) + "\n")
    key = Ed25519PrivateKey.generate().private_bytes_raw()
    (tmp_path / "one.db").write_bytes(b"x" + struct.pack("<Q", 17320508075688772935) + b"14142135623730950488")
    (tmp_path / "two.json").write_text(json.dumps({"labels": labels}))
    (tmp_path / "three.db").write_bytes(np.array(labels, dtype=np.int32).tobytes() + key)
    found = [line.split(": ")[1] for line in leaks(tmp_path, {**draws(noted), "key": key})]
    assert sorted(found) == ["groups 0 ', '", "groups 0 int32", "key", "word 0 uint64", "word 1"]
