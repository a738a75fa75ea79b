"""A wide file or a long list costs seconds or is refused, before anything is done with each of its parts.

`init` of 100,000 columns and `plan` of as many, or of 200,000 categories in YAML, took minutes. The tests count what
is looked at, or bound the time of the processor generously, because a busy machine is no defect.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from penstock.mechanisms.columns import MOST_CATEGORIES, MOST_COLUMNS
from penstock.mechanisms.dp_microaggregation._mechanism import MOST_CHOICES
from penstock.tasks.draft._columns import quoted
from penstock.tasks.draft._values import MOST_CHARACTERS
from tests.attacks.measured_command import Measured, measured
from tests.attacks.typed_line import typed
from tests.support.order import telling
from tests.support.workplace import Workplace, make_private

MOST_SECONDS = 60  # of the processor, whatever else it does; a tenth of it is usual
COLUMN = {"role": "confidential", "type": "continuous", "domain": [0, 10]}


def wide(path: Path, columns: int) -> None:
    names = [f"c{place}" for place in range(columns)]
    pq.write_table(pa.table([pa.array([1.0])] * columns, names=names), path)


def test_a_draft_of_a_file_with_too_many_columns_looks_at_none(tmp_path: Path) -> None:
    wide(tmp_path / "data.parquet", MOST_COLUMNS + 1)
    with mock.patch("penstock.tasks.draft.spec.column_line") as looked_at:
        typed("init", tmp_path / "data.parquet").require_refusal(3)
    assert looked_at.call_count == 0


def test_a_spec_with_too_many_columns_is_refused(workplace: Workplace) -> None:
    workplace.raw["source"]["columns"] = {f"c{place}": COLUMN for place in range(MOST_COLUMNS + 1)}
    refused = typed("plan", written(workplace))
    refused.require_refusal(2)
    assert "source.columns" in refused.err
    assert len(refused.err) < 2000


@pytest.mark.slow
def test_a_draft_of_100_000_columns_is_refused_soon(tmp_path: Path) -> None:
    wide(tmp_path / "data.parquet", 100_000)
    require_soon(measured("init", tmp_path / "data.parquet"), 3, "at most 2,000 columns")


def test_long_texts_of_many_columns_are_not_listed_as_categories(tmp_path: Path) -> None:
    """59 texts of 10,000 characters in each of 100 columns took half a minute to put in quotes."""
    texts = pa.array([f"{place:02d}{'x' * 9_990}" for place in range(59)] * 10)
    names = [f"c{place}" for place in range(100)]
    pq.write_table(pa.table([texts] * len(names), names=names), tmp_path / "data.parquet")
    drafted = typed("init", tmp_path / "data.parquet")
    assert drafted.code == 0, drafted
    assert drafted.out.count("role: identifier}") == len(names)
    assert drafted.out.count("too many or too long values for a category") == len(names)
    assert len(drafted.out) < 100_000


@pytest.mark.slow
def test_columns_share_the_characters_of_their_categories(tmp_path: Path) -> None:
    share = MOST_CHARACTERS // 1000
    short = pa.array([letter * (share // 4) for letter in "abcd"] * 10)
    long = pa.array([letter * (share // 4 + 1) for letter in "abcd"] * 10)
    others = {f"c{place}": pa.array([1.0] * 40) for place in range(998)}
    pq.write_table(pa.table({"short": short, "long": long, **others}), tmp_path / "data.parquet")
    drafted = typed("init", tmp_path / "data.parquet").out
    assert f'categories: ["{"a" * (share // 4)}"' in drafted
    assert '"long": {role: identifier}' in drafted


@pytest.mark.slow
@given(texts=st.lists(st.text(st.characters(codec="utf-8")), max_size=5))
def test_texts_in_quotes_are_read_again_as_they_were(texts: list[str]) -> None:
    """They are written by the rules of JSON, which takes a hundredth of the time."""
    for written in (texts, *texts):
        assert "\n" not in quoted(written)
        assert yaml.safe_load(quoted(written)) == written


@pytest.mark.slow
@pytest.mark.parametrize("suffix", telling(["json", "yaml"], "yaml"))
def test_a_spec_of_100_000_columns_is_refused_soon(workplace: Workplace, suffix: str) -> None:
    workplace.raw["source"]["columns"] = {f"c{place}": COLUMN for place in range(100_000)}
    # Values are counted before columns, where they are too many for a file.
    require_soon(measured("plan", written(workplace, suffix)), 2, "source.columns", "at most 500,000 values")


@pytest.mark.slow
def test_a_spec_for_a_source_of_100_000_columns_is_planned_soon(workplace: Workplace) -> None:
    wide(workplace.source, 100_000)
    workplace.raw["source"]["columns"] = {"c7": COLUMN, "c8": {**COLUMN, "role": "quasi_identifier"}}
    workplace.raw["gates"] = [{"measure": "average_risk", "max": 0.05}]
    ended = measured("plan", written(workplace), "--count")
    assert ended.code == 0, ended.printed
    assert ended.seconds < MOST_SECONDS


@pytest.mark.parametrize("suffix", telling(["json", "yaml"], "yaml"))
def test_a_column_of_200_000_categories_is_refused_soon(workplace: Workplace, suffix: str) -> None:
    workplace.raw["source"]["columns"]["region"]["categories"] = [f"x{place}" for place in range(200_000)]
    require_soon(measured("plan", written(workplace, suffix)), 2, f"at most {MOST_CATEGORIES:,}")


def require_soon(ended: Measured, code: int, *reasons: str) -> None:
    assert ended.code == code, ended.printed
    assert any(reason in ended.printed for reason in reasons), ended.printed
    assert len(ended.printed) < 2000
    assert ended.seconds < MOST_SECONDS


def written(workplace: Workplace, suffix: str = "json") -> Path:
    """JSON is also YAML."""
    spec = workplace.folder / f"spec.{suffix}"
    spec.write_text(json.dumps(workplace.raw), encoding="utf-8")
    return spec


@pytest.mark.parametrize("listed", [[f"x{place}" for place in range(200_000)], [None] * 200_000])
def test_a_column_with_too_many_categories_is_refused_with_one_fault(workplace: Workplace, listed: list[Any]) -> None:
    workplace.raw["source"]["columns"]["region"]["categories"] = listed
    refused = typed("plan", written(workplace))
    refused.require_refusal(2)
    assert refused.err.count(f"at most {MOST_CATEGORIES:,}") == 1
    assert len(refused.err) < 2000


def test_faults_of_many_parts_are_told_in_short(workplace: Workplace) -> None:
    """Each unknown key is compared with every known one, to say which was meant."""
    workplace.raw |= {f"kee{place}": 1 for place in range(20_000)}
    workplace.raw["source"]["columns"]["region"]["categories"] = [None] * 60_000
    with mock.patch("penstock.flows.spec._faults.difflib.get_close_matches", return_value=[]) as compared:
        refused = typed("plan", written(workplace))
    refused.require_refusal(2)
    assert compared.call_count <= 100
    assert refused.err.count("\n") < 300
    assert "must be free of faults, and has" in refused.err


def test_choices_that_are_compared_with_each_other_are_few(workplace: Workplace) -> None:
    make_private(workplace)
    names = [f"x{place}" for place in range(MOST_CHOICES + 1)]
    region = {"role": "quasi_identifier", "type": "nominal"}
    for declared in (
        {**region, "categories": names},
        {**region, "taxonomy": {**{name: ["all"] for name in names}, "all": []}},
        {**region, "categories": names[:2], "taxonomy": {**{name: ["all"] for name in names}, "all": []}},
    ):
        workplace.raw["source"]["columns"]["region"] = declared
        refused = typed("plan", written(workplace))
        refused.require_refusal(2)
        assert (
            f"at most {MOST_CHOICES} with their concepts; every one is compared with every pair of others"
            in refused.err
        )


@pytest.mark.parametrize("shape", ["chain", "bundle"])
def test_a_taxonomy_in_which_everything_is_above_everything_is_refused(workplace: Workplace, shape: str) -> None:
    """Of 12,000 concepts in a row, those above each of them took 3.6 GB."""
    names = [f"x{place}" for place in range(12_000)]
    taxonomy: dict[str, list[str]] = {"all": [], **{name: ["all"] for name in names}}
    if shape == "chain":
        taxonomy |= {child: [parent] for parent, child in itertools.pairwise(names)}
    else:
        taxonomy |= {"knot": names, **{f"y{place}": ["knot"] for place in range(12_000)}}
    workplace.raw["source"]["columns"]["region"] = {
        "role": "quasi_identifier",
        "type": "nominal",
        "taxonomy": {**taxonomy, "other": ["all"]},
    }
    refused = typed("plan", written(workplace))
    refused.require_refusal(2)
    assert "concepts above others in all" in refused.err
    assert len(refused.err) < 2000


def test_a_long_list_in_a_script_is_read_once(tmp_path: Path) -> None:
    """Every name was taken from a copy of all that were left: 50,000 of them took minutes."""
    from penstock.tasks.importers._r_call import _Token, arguments_of

    names = ", ".join(f'"v{place}"' for place in range(50_000))
    (argument,) = arguments_of("createSdcObj", f"createSdcObj(c({names}))")
    copied = 0
    original = tuple.__getitem__

    class Counting(tuple):  # type: ignore[type-arg]
        def __getitem__(self, key: Any) -> Any:
            nonlocal copied
            copied += isinstance(key, slice)
            return original(self, key)

    assert isinstance(argument.tokens[0], _Token)
    found = type(argument)(argument.name, Counting(argument.tokens)).value()
    assert isinstance(found, list)
    assert (len(found), copied) == (50_000, 0)
