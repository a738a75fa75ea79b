"""Releases and refusals as they are written down in this folder, with chance and time taken out.

A change of these files is a change of what users and their programs see: look at it line by line.
`python -m tests.golden.recorded` writes them anew.
"""

from __future__ import annotations

import base64
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any
from unittest import mock

from penstock.cli import main as cli
from penstock.flows.planning import draw_up_plan
from penstock.flows.spec import load_spec
from penstock.mechanisms.models import ADDS_UP
from penstock.records import open_records
from tests.flows.good_specs import DP, GOOD, TABLE, changed
from tests.support.workplace import (
    COMBINATIONS,
    Workplace,
    make_private,
    make_refined,
    make_table,
    make_units,
    open_dp_account,
)
from tests.tasks.close_release import EVERY, make_close_in
from tests.tasks.described_release import RELEASES, prepare

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
EXAMPLES = sorted((ROOT / "deployments" / "examples").glob("*.yaml"))

_CHANCE = (
    (re.compile(r"\b[0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}\b"), "<run>"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "<digest>"),
    (re.compile(r"\b20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:.]+(\+00:00|Z)"), "<time>"),
)


def _statistics(place: Workplace, **settings: Any) -> None:
    make_table(place)
    figures = [{"statistic": "median", "of": "income"}, {"statistic": "mean", "of": "income"}]
    if settings["model"] == "dp":
        figures.append({"statistic": "count"})
    place.raw["protect"] = [
        {
            "mechanism": "statistics",
            "table": "incomes",
            "groups": ["region"],
            "figures": figures,
            "epsilon": "1",
            **settings,
        }
    ]


def _units(place: Workplace) -> None:
    make_table(place, adjacency="add_remove")
    make_units(place, 2)


def _gate_refuses(place: Workplace) -> None:
    place.raw["gates"] = [{"measure": "average_risk", "max": 0.05}, {"measure": "il1s", "max": 1e-9}]


def _values_beyond(place: Workplace) -> None:
    place.raw["source"]["columns"]["income"]["domain"] = [0, 10]


def _too_dear(place: Workplace) -> None:
    make_private(place, epsilon="2")


# Each kind of output, model and method; then releases that are refused when they run.
FORMS: dict[str, Callable[[Workplace], None]] = {
    **{name: lambda place, name=name: prepare(place, name) for name in RELEASES},
    **{name: lambda place, name=name: make_close_in(place, name) for name in EVERY if name not in RELEASES},
    "groups swapped": lambda place: (place.use_mdav("mdav_swap", 40), place.raw.update(gates=place.raw["gates"][:1])),
    "groups averaged": lambda place: (place.use_mdav("mdav_id", 40), place.raw.update(gates=place.raw["gates"][:1])),
    "marginals": lambda place: make_private(place, mode="marginals"),
    "blocks together": lambda place: make_private(place, impossible=COMBINATIONS),
    "refined": make_refined,
    "refined together": lambda place: make_refined(place, impossible=COMBINATIONS),
    "statistics": lambda place: _statistics(place, model="dp", adjacency="replace"),
    "individual statistics": lambda place: _statistics(
        place, model="idp", adjacency="from_D", groups=[], acknowledges=["idp"]
    ),
    "bootstrap statistics": lambda place: _statistics(
        place, model="bdp", adjacency="bootstrap_replace", acknowledges=["bdp"]
    ),
    "table of units": _units,
    "reviewed": lambda place: place.raw.update(approve={"reviewers": 1, "allowed": ["rita"]}),
    "refused by a gate": _gate_refuses,
    "refused by validation": _values_beyond,
    "refused by the budget": _too_dear,
}  # fmt: skip

_COLUMN, _PROTECT, _TABLE = "source/columns", "protect/0", TABLE["protect"][0]
BROKEN: dict[str, Any] = {
    "no mapping": ["a", "list"],
    "unknown key": changed("colour", "red"),
    "name": changed("name", "Has Spaces"),
    "no unit": changed("source/unit", ...),
    "unknown unit": changed("source/unit", "nobody"),
    "domain turned": changed(f"{_COLUMN}/age/domain", [120, 0]),
    "no domain": changed(f"{_COLUMN}/age/domain", ...),
    "one category": changed(f"{_COLUMN}/region/categories", ["N"]),
    "categories twice": changed(f"{_COLUMN}/region/categories", ["N", "N"]),
    "type of an identifier": changed(f"{_COLUMN}/person/type", "integer"),
    "min_rows": changed("validate/min_rows", 0),
    "float epsilon": changed("budget/epsilon", 0.5),
    "no mechanism": changed("protect", []),
    "unknown mechanism": changed(f"{_PROTECT}/mechanism", "magic"),
    "k of one": changed(f"{_PROTECT}/k", 1),
    "k of a column": changed(f"{_PROTECT}/k_by_column", {"income": 2}),
    "seed": changed(f"{_PROTECT}/seed", 1),
    "gate of noise": changed("gates/0/measure", "expected_error"),
    "unknown measure": changed("gates/0/measure", "luck"),
    "gate without limit": changed("gates/0/max", ...),
    "format of tables": changed("publish/formats", ["sdmx"]),
    "reviewers": changed("approve", {"reviewers": 3, "allowed": ["rita"]}),
    "no adjacency": changed(f"{_PROTECT}/adjacency", ..., DP),
    "epsilon of zero": changed(f"{_PROTECT}/epsilon", "0", DP),
    "no rows of a unit": changed(f"{_PROTECT}/rows_per_unit", ..., DP),
    "costs more": changed(f"{_PROTECT}/epsilon", "3", DP),
    "gate on data": changed("gates/0/measure", "record_linkage", DP),
    "gate nobody keeps": changed("gates/0/max", 1e-9, TABLE),
    "unknown dimension": changed(f"{_PROTECT}/dimensions", ["shoe"], TABLE),
    "dimension twice": changed(f"{_PROTECT}/dimensions", ["injury", "injury"], TABLE),
    "sum of a dimension": changed(f"{_PROTECT}/sums", ["injury"], TABLE),
    "unknown model": changed(f"{_PROTECT}/model", "edp", TABLE),
    "not acknowledged": changed(_PROTECT, {**_TABLE, "model": "bdp", "adjacency": "bootstrap_replace"}, TABLE),
    "adjacency of another model": changed(f"{_PROTECT}/adjacency", "from_D", TABLE),
    "two mechanisms": changed("protect", [GOOD["protect"][0], GOOD["protect"][0]]),
    "no budget": changed("budget", ..., TABLE),
}  # fmt: skip


def typed(*arguments: object) -> dict[str, Any]:
    """Type a command in this process: exit code, document, and what stands on standard error."""
    out, err = StringIO(), StringIO()
    with mock.patch.object(sys, "argv", ["penstock", *map(str, arguments)]), redirect_stdout(out), redirect_stderr(err):
        try:
            cli.main()
        except SystemExit as ended:
            code = ended.code
    return {"exit": code, "document": json.loads(out.getvalue()), "error": err.getvalue()}


def without_chance(value: Any, folder: Path) -> Any:
    """Return the same document with a word in place of each digest, time, run, size and path."""
    if isinstance(value, dict):
        kept = {name: each for name, each in value.items() if name not in ("environment", "bytes", "code", "seconds")}
        cleared = {without_chance(name, folder): without_chance(each, folder) for name, each in kept.items()}
        if "bytes" in value:
            cleared["bytes"] = sorted(value["bytes"])
        return cleared
    if isinstance(value, list | tuple):
        return [without_chance(each, folder) for each in value]
    if isinstance(value, str):
        value = value.replace(str(folder), "<folder>")
        for pattern, word in _CHANCE:
            value = pattern.sub(word, value)
    return value


def released(folder: Path, form: str) -> dict[str, Any]:
    """One release: its plan, how the command ended, the statement of its manifest, the entries of the log."""
    with mock.patch.dict(os.environ, {"PENSTOCK_HOME": str(folder / "home")}):
        os.environ.pop("PENSTOCK_DB", None)
        place = Workplace(folder)
        FORMS[form](place)
        spec = place.write_spec()
        if form == "reviewed":
            _trust_rita()
        promise = draw_up_plan(load_spec(spec)).guarantee
        if promise.model in ADDS_UP:
            dataset = place.raw["budget"]["dataset"]
            limit = 1 if form == "refused by the budget" else 4
            open_dp_account(limit, dataset=dataset, unit=promise.unit, model=promise.model, adjacency=promise.adjacency)
        found = {"plan": typed("plan", spec, "--json"), "run": typed("run", spec, "--json")}
        events = [
            {"action": event.action.value, "actor": event.actor, "facts": dict(event.facts)}
            for event in open_records().log.events()
        ]
        statements = [statement(bundle) for bundle in place.bundles()]
    return dict(without_chance({**found, "statements": statements, "log": events}, folder))


def statement(bundle: Path) -> dict[str, Any]:
    envelope = json.loads((bundle / "manifest.json").read_bytes())
    return dict(json.loads(base64.b64decode(envelope["payload"])))


def refused(folder: Path) -> dict[str, Any]:
    """The answer of `penstock plan` to each broken spec."""
    found = {}
    with mock.patch.dict(os.environ, {"PENSTOCK_HOME": str(folder / "home")}):
        for name, raw in BROKEN.items():
            spec = folder / "spec.json"
            spec.write_text(json.dumps(raw), encoding="utf-8")
            found[name] = without_chance(typed("plan", spec, "--json"), folder)
    return found


def planned(example: Path, folder: Path) -> dict[str, Any]:
    """The plan of an example whose data are absent."""
    away = {"PENSTOCK_HOME": str(folder / "home"), "PENSTOCK_PUBLISH": "/public", "PENSTOCK_DATA": "/absent"}
    with mock.patch.dict(os.environ, away):
        return dict(without_chance(typed("plan", example, "--json"), folder))


def _trust_rita() -> None:
    from datetime import UTC, datetime

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from penstock.records.people.trusted_keys import trust

    key = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33))).public_key()
    trust(open_records().log, "rita", key, reason="met in person", actor="olga", now=datetime.now(UTC))


def text_of(document: Any) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def file_of(name: str) -> Path:
    return HERE / f"{name.replace(' ', '-')}.json"


def write() -> None:
    for form in FORMS:
        tempfile.tempdir = None  # a command in this process has set it to a folder of its home
        with tempfile.TemporaryDirectory() as folder:
            file_of(form).write_text(text_of(released(Path(folder), form)), encoding="utf-8")
    tempfile.tempdir = None
    with tempfile.TemporaryDirectory() as folder:
        file_of("refusals of specs").write_text(text_of(refused(Path(folder))), encoding="utf-8")
        plans = {example.stem: planned(example, Path(folder)) for example in EXAMPLES}
        file_of("plans of examples").write_text(text_of(plans), encoding="utf-8")


if __name__ == "__main__":
    write()
