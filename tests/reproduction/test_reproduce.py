"""`penstock reproduce`: printed tables beside recomputed ones, and how a difference is told."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.mechanisms.refusal import SpecRefused
from penstock.reproduction import bootstrap, thesis_4, thesis_6
from penstock.reproduction.beside_print import as_printed, beside, half_a_unit, ours, printed_tables, verdict
from penstock.reproduction.tables import NAMES, reproduce_one
from tests.support.ended_command import Ended, Typed
from tests.support.rooms import MODULES, imports

ROOT = Path(__file__).parents[2]
TO_THE_DIGITS = "agree to the printed digits"
WITHOUT_DATA = {
    "thesis-4.1": f"6 of 6 {TO_THE_DIGITS}",
    "thesis-4.2": f"6 of 6 {TO_THE_DIGITS}",
    "thesis-4.3": f"3 of 6 {TO_THE_DIGITS}; wrong in print: 10663 -> 10664, 5445 -> 5446, 3662 -> 3661",
    "thesis-4.4": f"1 of 6 {TO_THE_DIGITS}; wrong in print: 6.99 -> 6.69, 1790.2 -> 1789.5, 916.6 -> 916.9, "
    "3.90 -> 3.91, 611.2 -> 611.0",
    "thesis-5.3": f"7 of 8 {TO_THE_DIGITS}; wrong in print: 0.816061 -> 0.816060",
    "thesis-5.4": f"10 of 10 {TO_THE_DIGITS}; ours, corrected: 4.4366 value replaced as printed, "
    "2.2974 value replaced by our factors",
    "thesis-5.5": f"16 of 20 {TO_THE_DIGITS}; wrong in print: 0.476 -> 0.049, 0.549 -> 0.293, 0.607 -> 0.393, "
    "0.684 -> 0.632",
    "refinement-2": f"6 of 8 {TO_THE_DIGITS}; wrong in print: 0.996322 -> 0.996321, 0.003912 -> 0.003914",
    "refinement-delta": f"0 of 2 {TO_THE_DIGITS}; wrong in print: 0.2 -> 0.4, 0.2 -> 0.3; ours, corrected: "
    "0.2000 person by 0.1000, 0.2000 statistic by 0.0667, 0.000 left of a tail of 0.4",
    "individual-1": f"2 of 3 {TO_THE_DIGITS}; wrong in print: 101.7 -> 101.6; "
    "ours, corrected: 25.412 gamma 2 tight, 9.053 gamma 3 tight",
    "individual-2": f"10 of 10 {TO_THE_DIGITS}",
}
WITH_DATA = {
    "bootstrap-1": f"35 of 36 {TO_THE_DIGITS}; wrong in print: 900 -> 9000",
    "bootstrap-2": f"9 of 9 {TO_THE_DIGITS}",
    "bootstrap-3": f"9 of 9 {TO_THE_DIGITS}",
    "bootstrap-4": f"9 of 9 {TO_THE_DIGITS}",
    "bootstrap-scales": "ours, corrected: 17528 bootstrap_within_cell, 17610 bootstrap_add_remove, "
    "32130 bootstrap_replace, 1.8331 times epsilon lost by the printed scale",
}
# They stand on docs/reproduction.md, and those that take longer have tests of their own.
ELSEWHERE = set(NAMES) - set(WITHOUT_DATA) - set(WITH_DATA)
DATA_SETS = {"thesis": "census_casc.parquet", "bootstrap": "ricefarms.parquet"}


@pytest.fixture(autouse=True)
def no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PENSTOCK_DATA", raising=False)
    monkeypatch.setenv("COLUMNS", "500")


@pytest.fixture
def public_data(data_folder: Path) -> Path:
    for name in DATA_SETS.values():
        if not (data_folder / name).exists():
            pytest.skip(f"{name} is not there; set PENSTOCK_DATA to its folder")
    return data_folder


def data_set(name: str) -> str:
    return DATA_SETS[name.partition("-")[0]]


def verdicts(ended: Ended) -> dict[str, str]:
    return {table["name"]: table["verdict"] for table in ended.document()["tables"]}


def lines(ended: Ended) -> list[list[str]]:
    """The cells of every line on the screen."""
    return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in ended.out.splitlines()]


def test_without_data_every_table_is_listed_and_says_what_it_needs(typed: Typed) -> None:
    """Not to be recomputed is not to hold."""
    ended = typed("reproduce", "--json")
    needing = {name: f"needs the data set {data_set(name)}, pass --data" for name in WITH_DATA}
    assert ended.code == 1
    assert {name: text for name, text in verdicts(ended).items() if name not in ELSEWHERE} == WITHOUT_DATA | needing
    assert tuple(verdicts(ended)) == NAMES


def test_with_the_data_every_table_is_as_it_should_be(typed: Typed, public_data: Path) -> None:
    ended = typed("reproduce", *WITHOUT_DATA, *WITH_DATA, "--data", public_data, "--json")
    assert ended.code == 0
    assert verdicts(ended) == WITHOUT_DATA | WITH_DATA


def test_the_folder_can_be_named_by_a_variable(
    typed: Typed, public_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_DATA", str(public_data))
    ended = typed("reproduce", "bootstrap-scales", "--json")
    assert ended.document()["table"]["verdict"] == WITH_DATA["bootstrap-scales"]


def test_a_folder_without_the_files_is_like_none(typed: Typed, tmp_path: Path) -> None:
    assert typed("reproduce", "bootstrap", "--data", tmp_path).out == typed("reproduce", "bootstrap").out


def test_the_list_names_the_label_every_table_its_source_and_its_verdict(typed: Typed) -> None:
    ended = typed("reproduce")
    assert (ended.code, ended.err) == (1, "")
    shown = lines(ended)
    assert shown[0] == ["reproduction, no guarantee"]
    assert ["thesis-4.4", "Soria-Comas 2013, Table 4.4", WITHOUT_DATA["thesis-4.4"]] in shown
    assert [line[0] for line in shown[3:-2]] == list(NAMES)
    assert re.match(r"\d+ numbers: \d+ same, \d+ corrected; not recomputed: thesis-3.6, ", shown[-1][0])


def test_one_table_stands_on_the_screen_with_every_number(typed: Typed) -> None:
    ended = typed("reproduce", "thesis-4.4")
    assert (ended.code, ended.err) == (0, "")
    shown = lines(ended)
    assert shown[0] == ["reproduction, no guarantee"]
    assert ["level 0.99, half_width", "6.99", "6.68855", "corrected, must read 6.69"] in shown
    assert ["level 0.95, half_width", "4.79", "4.78772", "same"] in shown
    assert [WITHOUT_DATA["thesis-4.4"]] in shown
    assert shown[-1][0].startswith("J. Soria-Comas, PhD thesis 2013")


def test_what_the_source_cuts_off_agrees_and_says_so(typed: Typed) -> None:
    assert ["epsilon 1, staircase", "5.98", "5.98653", "same, cut off in print"] in lines(
        typed("reproduce", "thesis-4.2")
    )


def test_what_is_not_in_print_stands_in_lines_of_its_own(typed: Typed, public_data: Path) -> None:
    shown = lines(typed("reproduce", "bootstrap-scales", "--data", public_data))
    for name, scale in (("within_cell", "17528"), ("add_remove", "17610"), ("replace", "32130")):
        assert [f"bootstrap_{name}", scale, "corrected, ours, not in print"] in shown


@pytest.mark.parametrize("name", [*WITHOUT_DATA, *WITH_DATA])
def test_the_document_of_a_table_has_one_shape(typed: Typed, name: str, request: pytest.FixtureRequest) -> None:
    folder = ("--data", request.getfixturevalue("public_data")) if name in WITH_DATA else ()
    ended = typed("reproduce", name, *folder, "--json")
    document = ended.document()
    assert ended.code == 0
    assert set(document) == {"label", "holds", "table"}
    assert (document["label"], document["holds"]) == ("reproduction, no guarantee", True)
    table = document["table"]
    rows = table.pop("rows")
    needs = data_set(name) if name in WITH_DATA else None
    assert (table["name"], table["needs"], table["holds"]) == (name, needs, True)
    assert set(table) == {
        "name",
        "title",
        "what",
        "remark",
        "source",
        "place",
        "needs",
        "runs",
        "unavailable",
        "verdict",
        "holds",
    }
    assert all(isinstance(table[text], str) for text in ("title", "what", "remark", "source", "place", "verdict"))
    assert min(len(table[text]) for text in ("title", "what", "source", "place", "verdict")) > 0
    assert len({row["name"] for row in rows}) == len(rows)
    for row in rows:
        assert set(row) == {
            "name",
            "printed",
            "corrected",
            "recomputed",
            "interval",
            "verdict",
            "agrees",
            "holds",
            "note",
        }
        assert (row["agrees"] is None) == (row["printed"] is None)
        assert row["holds"] is True
        assert row["agrees"] is True or row["corrected"] is not None
        float(row["recomputed"])


def test_the_document_of_all_tables_tells_what_was_not_recomputed(typed: Typed) -> None:
    document = typed("reproduce", "--json").document()
    assert set(document) == {"label", "holds", "tables"}
    without = {table["name"] for table in document["tables"] if table["holds"] is None}
    assert without - ELSEWHERE == set(WITH_DATA)
    assert all(bool(table["rows"]) == (table["holds"] is not None) for table in document["tables"])


@pytest.mark.parametrize(
    ("names", "listed"),
    [
        (["thesis-4"], [name for name in NAMES if name.startswith("thesis-4")]),
        (["refinement-2", "thesis-4.1", "refinement"], ["thesis-4.1", "refinement-2", "refinement-delta"]),
    ],
)
def test_names_stand_for_tables_chapters_and_sources(typed: Typed, names: list[str], listed: list[str]) -> None:
    ended = typed("reproduce", *names, "--json")
    assert (ended.code, list(verdicts(ended))) == (0, listed)


def test_half_a_number_is_no_chapter(typed: Typed) -> None:
    assert typed("reproduce", "thesi").code == 2


@pytest.fixture
def wrong_variances(monkeypatch: pytest.MonkeyPatch) -> None:
    right: Callable[..., Any] = thesis_4.least_variances
    monkeypatch.setattr(thesis_4, "least_variances", lambda epsilons: right(epsilons) + np.array([0, 0.01]))


@pytest.mark.usefixtures("wrong_variances")
def test_a_number_that_should_agree_and_does_not_ends_the_list_with_1(typed: Typed) -> None:
    """Chapter 4 needs no data, so that nothing else could."""
    ended = typed("reproduce", "thesis-4", "--json")
    assert (ended.code, ended.document()["holds"]) == (1, False)
    assert verdicts(ended)["thesis-4.1"] == (
        f"3 of 6 {TO_THE_DIGITS}; DIFFERS: epsilon 0.1, staircase, recomputed 199.92668, "
        "epsilon 0.5, staircase, recomputed 7.92702, epsilon 1, staircase, recomputed 1.92810"
    )
    assert typed("reproduce", "thesis-4").code == 1


@pytest.mark.usefixtures("wrong_variances")
def test_a_number_that_should_agree_and_does_not_ends_its_table_with_1(typed: Typed) -> None:
    ended = typed("reproduce", "thesis-4.1")
    assert ended.code == 1
    assert ["epsilon 1, staircase", "1.92", "1.92810", "DIFFERS"] in lines(ended)
    assert typed("reproduce", "thesis-4.2").code == 0


def test_a_number_that_agrees_with_a_misprint_is_wrong(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    as_misprinted = np.array([[6.99, 1789.5], [4.79, 916.9], [3.91, 611.0]])
    monkeypatch.setattr(thesis_4, "regions_of_box_noise", lambda *settings: as_misprinted)
    ended = typed("reproduce", "thesis-4.4")
    assert ended.code == 1
    assert ["level 0.99, half_width", "6.99", "6.99000", "DIFFERS, must read 6.69"] in lines(ended)


def test_a_scale_of_ours_that_is_not_what_it_was_ends_with_1(
    typed: Typed, public_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootstrap, "magnitude_table_sensitivity", lambda *settings: 17_528)
    ended = typed("reproduce", "bootstrap-scales", "--data", public_data)
    assert ended.code == 1
    assert ["bootstrap_replace", "17528", "DIFFERS, ours, not in print"] in lines(ended)


def test_what_hangs_on_chance_ends_with_1_where_it_is_too_far_from_the_print(
    typed: Typed, public_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thesis_6, "percent_linked", lambda census, files: np.zeros(len(files)))
    ended = typed("reproduce", "thesis-6.2", "--data", public_data, "--json")
    wrong = [row["name"] for row in ended.document()["table"]["rows"] if not row["holds"]]
    assert ended.code == 1
    assert "epsilon 10.0, k 1, record_linkage" in wrong
    assert not [name for name in wrong if "sse" in name]


def test_an_unknown_name_is_refused_with_the_list_of_names(typed: Typed) -> None:
    ended = typed("reproduce", "thesis-9.9")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.splitlines() == [
        "Refused (spec-refused)",
        f"  NAME: must be errata alone, or one of {', '.join(NAMES)}, got 'thesis-9.9'.",
        "    Choose one of them, or what several begin with.",
        "  See docs/refusals.md#spec-refused",
    ]


@pytest.mark.parametrize("name", WITH_DATA)
def test_a_named_table_without_its_data_set_is_refused(typed: Typed, tmp_path: Path, name: str) -> None:
    for folder in ((), ("--data", tmp_path)):
        ended = typed("reproduce", name, *folder)
        assert (ended.code, ended.out) == (2, "")
        assert f"--data: must hold the data set {data_set(name)} for {name}." in ended.err


@pytest.mark.parametrize("arguments", [(), ("thesis-4.1",)])
def test_a_folder_that_is_not_there_is_refused(typed: Typed, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    ended = typed("reproduce", *arguments, "--data", tmp_path / "nowhere")
    assert (ended.code, ended.out) == (2, "")
    assert "--data: must be a folder, got" in ended.err


def test_refusals_do_not_need_the_command_line() -> None:
    with pytest.raises(SpecRefused, match="one of thesis"):
        reproduce_one("4.1", None)


def test_a_damaged_file_is_refused_as_data(typed: Typed, tmp_path: Path) -> None:
    (tmp_path / "ricefarms.parquet").write_bytes(b"not Parquet")
    ended = typed("reproduce", "--data", tmp_path)
    assert (ended.code, ended.out) == (3, "")
    assert "source-unreadable" in ended.err


def test_another_file_of_that_name_is_refused_or_differs(typed: Typed, tmp_path: Path) -> None:
    farms = tmp_path / "ricefarms.parquet"
    pq.write_table(pa.table({"status": ["tenant"], "varieties": ["high"], "noutput": [5]}), farms)
    assert typed("reproduce", "bootstrap-1", "--data", tmp_path).code == 3
    pq.write_table(pa.table({"status": ["owner"], "varieties": ["high"], "noutput": [5]}), farms)
    assert typed("reproduce", "bootstrap-1", "--data", tmp_path).code == 1


@pytest.mark.parametrize(
    ("value", "like", "cut_off", "text"),
    [
        (5.9865, "5.98", False, "5.99"),
        (5.9865, "5.98", True, "5.98"),
        (2.9957, "3", False, "3"),
        (3.0655e9, "3.07E+09", False, "3.07E+09"),
        (9000, "900", False, "9000"),
    ],
)
def test_digits_are_those_of_the_print(value: float, like: str, cut_off: bool, text: str) -> None:
    assert as_printed(value, like, cut_off=cut_off) == text


@pytest.mark.parametrize(
    ("printed", "half"), [("3", 0.5), ("0.44", 0.005), ("2.9", 0.05), ("1.62E+13", 0.5e11), ("80.0", 0.05)]
)
def test_half_a_unit_is_that_of_the_last_digit(printed: str, half: float) -> None:
    assert half_a_unit(printed) == pytest.approx(half)


def test_a_verdict_counts_what_agrees_and_lists_the_rest() -> None:
    rows = [
        beside("a", 1.0, "1.0"),
        beside("b", 2.0, "3.0", corrected="2.0"),
        beside("c", 2.0, "3.0"),
        ours("d", 4, "4"),
    ]
    assert verdict(rows, "in all") == (
        "1 of 3 agree in all; wrong in print: 3.0 -> 2.0; ours, corrected: 4 d; DIFFERS: c, recomputed 2.0000"
    )


def test_every_file_of_printed_numbers_is_packed_and_names_its_place() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = settings["tool"]["setuptools"]["package-data"]["penstock.reproduction"]
    packed = {path.stem for path in (ROOT / "reproduction").glob(patterns[0])}
    assert packed == {path.stem for path in (ROOT / "reproduction" / "printed").iterdir()}
    for name in packed:
        assert {"source", "place"} <= set(printed_tables(name))


def test_nothing_on_the_way_of_a_release_can_reach_the_reproduction() -> None:
    imported = {str(path.relative_to(ROOT)): imports(path) for path in MODULES}

    def importers(module: str) -> set[str]:
        return {
            path
            for path, names in imported.items()
            if any(name == module or name.startswith(f"{module}.") for name in names)
        }

    for path in importers("penstock.reproduction"):
        assert path.startswith("reproduction/") or path == "api/cli/_reproduce.py"
    assert importers("penstock.cli._reproduce") == {"api/cli/main.py"}
