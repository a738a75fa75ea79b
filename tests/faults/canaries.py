"""Canaries: unique values for every column, every form in which they or a secret could be found, and the search.

A canary has at least 14 digits or 8 bytes, so one that is found by chance among 100 MB has a
probability below 1e-3 (it was 8 digits once: a clock's microseconds before a year looked like it).
Noise, and the sums that it hides, are shorter: all of a column are looked for together.
"""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
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
AT_ONCE = 20
# Domains of the releases that add noise: narrow, so that the canaries are not all one point of the public grid.
PRIVATE = {"age": [73_000_000_000_000, 73_000_010_000_000], "income": [81_234_567_000_000, 81_234_567_100_000]}


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
    """Every form of what was drawn: words one by one, and lists in runs that are long enough to be unique.

    groups: of every column. sums, noise: of all blocks of a number.
    """
    forms: dict[str, bytes] = {}
    for place, word in enumerate(map(int, (noted / "words").read_text().split())):
        forms[f"word {place}"] = str(word).encode()
        forms[f"word {place} uint64"] = struct.pack("<Q", word)
    whole, wide = (np.int8, np.int16, np.int32, np.int64), (np.int64, np.float64)
    for name, kinds in (("groups", whole), ("sums", wide), ("noise", wide)):
        for place, line in enumerate((noted / name).read_text().splitlines()):
            values = json.loads(line)[:AT_ONCE]
            for joint in (", ", ",", " "):
                forms[f"{name} {place} {joint!r}"] = joint.join(map(str, values)).encode()
            for kind in kinds:
                forms[f"{name} {place} {kind.__name__}"] = np.array(values, dtype=kind).tobytes()
    return forms


def released_values(published: Path) -> dict[str, bytes]:
    """Every noisy number of the differentially private releases, but for those that were cut off at a public bound."""
    forms: dict[str, bytes] = {}
    for path in published.glob("dp-*/*/data.parquet"):
        for name, code in (("age", "<q"), ("income", "<d")):
            for value in set(pq.read_table(path)[name].to_pylist()) - set(PRIVATE[name]):
                forms[f"{name} {value}"] = str(value).split(".")[0].encode()
                forms[f"{name} {value} {code}"] = struct.pack(code, value)
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
        searched = path.is_file() and path.name not in DATA_FILES and path.suffix != ".column"
        if searched and not NOT_SEARCHED & set(path.relative_to(folder).parts):
            found += [f"{path}: {name}" for name in found_in(path.read_bytes(), forms)]
    return found
