"""Hostile inputs by the number: mutated specs, Parquet files, suites, taxonomies, code books and scripts of roles.

A case is made from its seed alone, so that one that fails can be made again. Half of the cases change the text byte by
byte, half change what it says. The data hold canaries, values that stand nowhere else and may be in no message.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

ROWS = 60
CANARIES = (b"CANARY", b"7300000170", b"8123456701", b"81234567.01")
REGIONS = ["North", "South", "East", "West"]
TAXONOMY = {name: ["land"] for name in REGIONS} | {"land": []}


@dataclass(frozen=True)
class Case:
    """What is typed, in a folder of its own that holds these files."""

    seed: int
    kind: str
    command: tuple[str, ...]
    files: dict[str, bytes]


def columns() -> dict[str, list[Any]]:
    return {
        "person": [f"CANARY-PERSON-{row}" for row in range(ROWS)],
        "age": [7_300_000_170 + row for row in range(ROWS)],
        "region": [REGIONS[row % 4] for row in range(ROWS)],
        "income": [81_234_567.01 + row for row in range(ROWS)],
    }


def data() -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns()), sink)
    return bytes(sink.getvalue())


def specs() -> list[dict[str, Any]]:
    """One good spec for each mechanism."""
    declared: dict[str, Any] = {
        "person": {"role": "identifier"},
        "age": {"role": "quasi_identifier", "type": "integer", "domain": [7_000_000_000, 8_000_000_000]},
        "region": {"role": "quasi_identifier", "type": "nominal", "categories": REGIONS},
        "income": {"role": "confidential", "type": "continuous", "domain": [0, 100_000_000]},
    }
    common: dict[str, Any] = {
        "name": "survey",
        "source": {"path": "data.parquet", "unit": "row", "columns": declared},
        "validate": {"min_rows": 10},
        "approve": {"reviewers": 1, "allowed": ["rita"], "within": "P3D"},
        "publish": {"path": "published", "formats": ["parquet", "csv"]},
        "describe": {"title": "A survey", "keywords": ["people"], "language": "en"},
    }
    spending = {"budget": {"dataset": "survey", "epsilon": "2"}, "gates": [{"measure": "privacy_loss", "max": 1}]}
    table = {"mechanism": "table", "table": "incomes", "dimensions": ["region"], "sums": ["income"], "model": "dp"}
    each: list[dict[str, Any]] = [
        {
            "protect": [{"mechanism": "probabilistic_k_anonymity", "method": "ir_swap", "k": 3}],
            "gates": [{"measure": "average_risk", "max": 1}],
        },
        {
            "protect": [{"mechanism": "probabilistic_k_anonymity", "method": "mdav_id", "k": 3, "k_by_column": {}}],
            "gates": [{"measure": "record_linkage", "max": 1}],
        },
        {
            **spending,
            "gates": [{"measure": "expected_error", "max": 1}],
            "protect": [{"mechanism": "dp_microaggregation", "epsilon": "1", "adjacency": "replace", "k": "auto"}],
        },
        {**spending, "protect": [{**table, "epsilon": "1", "adjacency": "replace"}]},
        {
            "protect": [{"mechanism": "closeness", "k": 3, "t": "2", "method": "buckets", "output": "anatomy"}],
            "gates": [{"measure": "smallest_group", "min": 3}],
        },
    ]
    return [{**copy.deepcopy(common), **one} for one in each]


SUITE = [
    {
        "type": "expect_column_values_to_be_between",
        "kwargs": {
            "column": "age",
            "min_value": 0,
            "max_value": 10,
            "mostly": 0.5,
            "row_condition": {
                "type": "and",
                "conditions": [
                    {"type": "comparison", "column": {"name": "region"}, "operator": "==", "parameter": "North"},
                    {"type": "nullity", "column": {"name": "income"}, "is_null": False},
                ],
            },
        },
    },
    {"type": "expect_column_values_to_be_in_set", "kwargs": {"column": "region", "value_set": ["North", "South"]}},
    {"type": "expect_column_values_to_match_regex", "kwargs": {"column": "region", "regex": "^[A-Z]"}},
    {"type": "expect_column_mean_to_be_between", "kwargs": {"column": "income", "min_value": 0, "max_value": 1}},
    {"type": "expect_table_row_count_to_be_between", "kwargs": {"min_value": 1}, "description": "some rows"},
    {
        "type": "expect_column_quantile_values_to_be_between",
        "kwargs": {"column": "age", "quantile_ranges": {"quantiles": [0.5], "value_ranges": [[0, 1]]}},
    },
    {"type": "expect_compound_columns_to_be_unique", "kwargs": {"column_list": ["age", "region"]}},
]
BOOK = b"""<?xml version="1.0" encoding="UTF-8"?>
<codeBook xmlns="ddi:codebook:2_5"><dataDscr>
<var ID="V1" name="age" intrvl="contin"><labl>Age</labl><valrng><range min="0" max="120"/></valrng>
<sumStat type="min">16</sumStat></var>
<var ID="V2" name="region" nature="nominal"><labl>Region</labl><catgry><catValu>North</catValu><labl>N</labl></catgry>
<catgry missing="Y"><catValu>9</catValu></catgry></var>
<var ID="V3" name="income" wgt="wgt"><security/><invalrng><item VALUE="9"/></invalrng></var></dataDscr></codeBook>"""
SCRIPT = b"""library(sdcMicro)  # a problem
sdc <- createSdcObj(dat = d, keyVars = c("age", 'region'), numVars = NULL, weightVar = "income", hhId = "person",
  ghostVars = list(list("age", c("region"))), seed = 1e3, alpha = 0.5)
"""
ROLES = {"keyVars": ["age", "region"], "numVars": None, "hhId": "person", "sensibleVar": ["income"]}

HOSTILE_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63) - 1, 10**30, 10**400, 0.1, -0.0, 1e308, 5e-324, float("inf")),
    *(
        float("nan"),
        "",
        " ",
        "a",
        "x" * 20_000,
        "a\0b",
        "\ud800",
        "\x1b[2J",
        "\u202e",
        "1/3",
        "1e999",
        "9" * 5000,
        "-1",
    ),
    *([], {}, [[]], {"a": {}}, [None] * 3, ["a", "a"], [1, "a"], ["x"] * 5000, "=1+1", "${HOME}", "${NOT SET}"),
    *("/dev/zero", "/dev/stdin", "/proc/self/mem", "..", "a/" * 3000, "n" * 300, "s3://a:b@c/d", "s3://bucket/../x"),
    *("P9999999999D", "row", "person", "region", "income", "age", "refuse", "clamp", "category", "auto", "dp", "table"),
    *("identifier", "weight", "integer", "nominal", [0, 1], [1, 0], [0, 1e300], [0, 1e-300], [-(2**53), 2**53]),
)
# What met a weak reader most often.
WORST: tuple[Any, ...] = (
    *(10**400, -(10**400), 10**30, 2**63, float("inf"), float("nan"), 1e308, 5e-324, "a\0b", "\ud800", "9" * 5000),
    *("a/" * 3000, "n" * 300, "/dev/zero", "\x1b[2J", None, [], {}, True, "", ["x"] * 5000, "P9999999999D"),
)
TOKENS = (
    *(b"&a ", b"*a", b"<<: ", b"!!", b"!!python/object:x ", b"\t", b"{", b"[", b"}", b"]", b"---\n", b"\0", b"\xff"),
    *(b"@", b"`", b"\xe2\x80\xa8", b"- ", b"? ", b": ", b"'", b'"', b"\\", b"\n", b"\r", b"\\u0000", b"\\ud800"),
    *(b"[" * 3000, b"<!DOCTYPE a [<!ENTITY b 'c'>]>", b"&lt;", b"<a>", b"</var>", b"c(", b"list(", b"#", b"NaN"),
    *(b";", b",", b"@@", b"\xef\xbb\xbf", b"CDATA", b"]]>", b'r"(', b"\\x", b"%in%", b"0x1f", b"1:30", b"~", b"="),
    *(b"true", b"1e999", b"%", b"9" * 5000),
)


def with_bytes(content: bytes, chance: random.Random) -> bytes:
    """A few changes of bytes, anywhere."""
    changed = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 4, 8))):
        place = chance.randrange(len(changed) + 1)
        length = chance.choice((1, 1, 2, 8, 64))
        how = chance.randrange(6)
        if how == 0 and place < len(changed):
            changed[place] ^= 1 << chance.randrange(8)
        elif how == 1:
            del changed[place : place + length]
        elif how == 2:
            changed[place:place] = changed[place : place + length] * chance.choice((1, 2, 100))
        elif how == 3:
            del changed[place:]
        elif how == 4:
            other = chance.randrange(len(changed) + 1)
            changed[place : place + length] = changed[other : other + length]
        else:
            changed[place:place] = chance.choice(TOKENS)
    return bytes(changed)


def with_values(tree: Any, chance: random.Random) -> Any:
    """A few changes of what a tree of lists and mappings says."""
    changed = copy.deepcopy(tree)
    for _ in range(chance.choice((1, 1, 2, 3, 6))):
        places: list[tuple[Any, Any]] = []
        waiting = [changed]
        while waiting:
            part = waiting.pop()
            keys = list(part) if isinstance(part, dict) else range(len(part)) if isinstance(part, list) else ()
            for key in keys:
                places.append((part, key))
                waiting.append(part[key])
        if not places:
            return changed
        (part, key), (other, its) = chance.choice(places), chance.choice(places)
        how = chance.randrange(8)
        if how == 0:
            del part[key]
        elif how == 1 and isinstance(part, dict):
            name = chance.choice([value for value in HOSTILE_VALUES if isinstance(value, str)])
            part[name] = part.pop(key) if chance.random() < 0.5 else copy.deepcopy(part[key])
        elif how == 2:
            part[key] = copy.deepcopy(other[its])
        elif how == 3 and isinstance(part[key], list):
            part[key] = part[key] * chance.choice((2, 50))
        elif how == 4:
            for _ in range(chance.choice((1, 3, 40))):
                part[key] = [part[key]] if chance.random() < 0.5 else {"a": part[key]}
        else:
            part[key] = copy.deepcopy(chance.choice(chance.choice((HOSTILE_VALUES, WORST))))
    return changed


def as_json(tree: Any) -> bytes:
    return json.dumps(tree).encode()


def as_yaml(tree: Any) -> bytes:
    try:
        return yaml.safe_dump(tree, sort_keys=False, allow_unicode=True).encode(errors="surrogatepass")
    except (yaml.YAMLError, ValueError, RecursionError):
        return as_json(tree)


def changed(tree: Any, write: Callable[[Any], bytes], chance: random.Random) -> bytes:
    return with_values_written(tree, write, chance) if chance.random() < 0.6 else with_bytes(write(tree), chance)


def with_values_written(tree: Any, write: Callable[[Any], bytes], chance: random.Random) -> bytes:
    try:
        return write(with_values(tree, chance))
    except ValueError:  # Python does not write numbers of more than 4,300 digits
        return write(tree)


def strange_table(chance: random.Random) -> bytes:
    """A sound Parquet file whose columns are not what the spec says."""
    known = columns()
    table = {name: pa.array(values) for name, values in known.items()}
    strange: list[Callable[[], pa.Array]] = [
        lambda: pa.array([None] * ROWS, pa.null()),
        lambda: pa.array([chance.choice((True, None)) for _ in range(ROWS)]),
        lambda: pa.array([float("nan")] * ROWS),
        lambda: pa.array([float("inf")] * ROWS),
        lambda: pa.array([chance.choice((0.0, -0.0, 1e308, 5e-324, None)) for _ in range(ROWS)]),
        lambda: pa.array([2**64 - 1] * ROWS, pa.uint64()),
        lambda: pa.array([-(2**63)] * ROWS, pa.int64()),
        lambda: pa.array([Decimal("7300000170.01")] * ROWS),
        lambda: pa.array(["CANARY-REGION"] * 5 + ["North"] * (ROWS - 5)),
        lambda: pa.array(["CANARY-REGION"] * 5 + ["North"] * (ROWS - 5)).dictionary_encode(),
        lambda: pa.array([b"CANARY\xff"] * ROWS),
        lambda: pa.array([["CANARY"]] * ROWS),
        lambda: pa.array([{"CANARY": 1}] * ROWS),
        lambda: pa.array([0] * ROWS, pa.timestamp("ns", tz="Europe/Paris")),
        lambda: pa.array([0] * ROWS, pa.duration("s")),
        lambda: pa.array([7_300_000_170] * ROWS),
        lambda: pa.array([chance.choice((1, None)) for _ in range(ROWS)], pa.int8()),
        lambda: pa.array(["x" * chance.choice((0, 1, 5000)) for _ in range(ROWS)], pa.large_string()),
    ]
    for _ in range(chance.choice((1, 1, 2))):
        table[chance.choice(list(table))] = chance.choice(strange)()
    made = pa.table(table)
    how = chance.randrange(6)
    if how == 0:
        made = made.slice(0, chance.choice((0, 1, 2)))
    elif how == 1:
        made = made.append_column(chance.choice(made.column_names), made.column(0))
    elif how == 2:
        made = made.rename_columns([chance.choice((name, name + "\n", "", "CANARY")) for name in made.column_names])
    sink = pa.BufferOutputStream()
    pq.write_table(made, sink, row_group_size=chance.choice((None, 7)))
    return bytes(sink.getvalue())


def broken_parquet(chance: random.Random) -> bytes:
    """A Parquet file with changed bytes, in its footer more often than elsewhere."""
    content = data()
    end = len(content) - 8
    start = end - int.from_bytes(content[end : end + 4], "little")
    if chance.random() < 0.7:
        footer = with_bytes(content[start:end], chance)
        return content[:start] + footer + len(footer).to_bytes(4, "little") + b"PAR1"
    return with_bytes(content, chance)


def hierarchy(suffix: str) -> bytes:
    if suffix == "csv":
        return "\n".join(f"{name};land;all" for name in REGIONS).encode()
    return b"land\n" + b"".join(f"@{name}\n".encode() for name in REGIONS)


KINDS = ("spec", "parquet", "suite", "taxonomy", "codebook", "roles")


def case(seed: int, kind: str | None = None, *, releases: bool = False) -> Case:
    """The case with this number. releases: whether files of data and suites are also given to `run`."""
    chance = random.Random(seed)
    kind = kind or KINDS[seed % len(KINDS)]
    files = {"data.parquet": data()}
    spec = chance.choice(specs())
    plan = ["plan", "spec.yaml", *(["--count"] if chance.random() < 0.5 else [])]
    if chance.random() < 0.3:
        plan.append("--json")
    if kind == "spec":
        suffix = chance.choice(("yaml", "json"))
        files[f"spec.{suffix}"] = changed(spec, as_json if suffix == "json" else as_yaml, chance)
        command = [plan[0], f"spec.{suffix}", *plan[2:]]
    elif kind == "parquet":
        files["data.parquet"] = chance.choice((broken_parquet, strange_table))(chance)
        command = chance.choice((["init", "data.parquet"], plan, ["run", "spec.yaml"] if releases else plan))
    elif kind == "suite":
        spec = specs()[0]
        spec["validate"] = {"suite": "suite.json"}
        files["suite.json"] = changed(SUITE, as_json, chance)
        command = ["run", "spec.yaml"] if releases else plan
    elif kind == "taxonomy":
        suffix = chance.choice(("json", "csv", "hrc"))
        written = as_json(TAXONOMY) if suffix == "json" else hierarchy(suffix)
        files[f"regions.{suffix}"] = (
            changed(TAXONOMY, as_json, chance) if suffix == "json" else with_bytes(written, chance)
        )
        spec["source"]["columns"]["region"]["taxonomy"] = f"regions.{suffix}"
        command = plan
    elif kind == "codebook":
        files["book.xml"] = with_bytes(BOOK, chance)
        command = ["init", "data.parquet", "--roles", "book.xml"]
    else:
        name = chance.choice(("roles.R", "roles.json"))
        files[name] = with_bytes(SCRIPT, chance) if name == "roles.R" else changed(ROLES, as_json, chance)
        command = ["init", "data.parquet", "--roles", name]
    if command[0] == "run":
        spec["approve"] = {"reviewers": 0}  # or the run would wait
    if kind != "spec":
        files["spec.yaml"] = as_yaml(spec)
    return Case(seed, kind, tuple(command), files)


def put_down(case: Case, folder: Path) -> None:
    """The files of a case in an empty folder."""
    for name, content in case.files.items():
        (folder / name).write_bytes(content)
