"""The table for other platforms, read back by two libraries that are not ours and by the official schemas."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pysdmx.io
import pytest
import sdmx
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from pysdmx.errors import Invalid
from pysdmx.model import Codelist
from pysdmx.model.dataset import ActionType

from penstock.mechanisms.layout import TOTAL, Figure, Layout, error_of
from penstock.reports.sdmx import AGENCY, identifiers, sdmx_csv, sdmx_structure

PREPARED = datetime(2026, 11, 2, 4, 15, tzinfo=UTC)
COUNT = Figure("count", "count", None, True)
SUM = Figure("income_sum", "sum", "income", False)
MEAN = Figure("mean of income, €", "mean", "income", False)

AWKWARD = (
    "Married, spouse absent",
    "<=50K",
    ">50K",
    'say "hi"',
    "it's <b>&amp;</b>",
    "Zürich",
    "Zurich",
    "ZURICH_2",
    "=1+1",
    "@cmd",
    "01",
    "1",
    "-1",
    "1e5",
    "5-9",
    "TRUE",
    "NA",
    "nan",
    "Москва",
    "東京",
    "_T",
    "two\nlines",
    "a" * 80,
    "a" * 90,
    "control \x01 character",
)


@dataclass(frozen=True)
class Table:
    layout: Layout
    columns: dict[str, NDArray[Any]]
    exact: tuple[str, ...] = ()

    def csv(self, version: str = "1.0") -> str:
        return "".join(sdmx_csv(self.layout, self.columns, version=version, exact=self.exact))

    def structure(self, version: str = "1.0") -> str:
        return sdmx_structure(self.layout, version=version, prepared=PREPARED)


def table(
    dimensions: dict[str, tuple[str, ...]],
    levels: Sequence[tuple[str, ...]],
    figures: Sequence[Figure] = (COUNT, SUM, MEAN),
    *,
    errors: bool = True,
    exact: tuple[str, ...] = (),
    name: str = "Earnings, 2026",
) -> Table:
    layout = Layout(name, dimensions, tuple(levels), tuple(figures), errors)
    seeded = np.random.default_rng(20261102)
    columns: dict[str, NDArray[Any]] = dict(layout.codes())
    for figure in figures:
        size = 10.0 ** seeded.integers(-12, 12, layout.rows)
        whole = seeded.integers(-50, 2**53, layout.rows)
        columns[figure.name] = whole if figure.whole else seeded.normal(size=layout.rows) * size
        if errors:
            columns[error_of(figure.name)] = seeded.exponential(size=layout.rows) * size
    return Table(layout, columns, exact)


def awkward(**other: Any) -> Table:
    dimensions = {"marital status": AWKWARD, "Figure": ("yes", "no")}
    return table(dimensions, [("marital status", "Figure"), ("Figure",), ()], exact=("count",), **other)


def expected(given: Table) -> list[tuple[tuple[str, ...], str, Any, str, Any]]:
    """(labels, figure, value, status, standard error) of every observation, straight from the columns."""
    found = []
    for row, figure in product(range(given.layout.rows), given.layout.figures):
        labels = tuple(given.layout.labels(name)[given.columns[name][row]] for name in given.layout.dimensions)
        error = given.columns[error_of(figure.name)][row] if given.layout.errors else None
        value = given.columns[figure.name][row]
        status = "O" if np.isnan(value) else "A" if figure.name in given.exact else "E"
        found.append((labels, figure.name, value, status, None if error is None or np.isnan(error) else error))
    return found


def same(read: str, value: Any) -> bool:
    """The same bits; every NaN is the same."""
    if np.isnan(value):
        return read == "NaN"
    return np.float64(read).tobytes() == np.float64(value).tobytes()


def files(given: Table, folder: Path) -> tuple[Path, Path]:
    data, structure = folder / "table.csv", folder / "structure.xml"
    data.write_bytes(given.csv().encode("ascii"))
    structure.write_text(given.structure(), encoding="utf-8")
    return data, structure


def code_names(structures: Sequence[Any]) -> dict[str, dict[str, str]]:
    lists = [structure for structure in structures if isinstance(structure, Codelist)]
    return {one.id: {code.id: code.name for code in one.items} for one in lists}


def shown(label: str) -> str:
    """A category as XML can hold it; a total has a word of its own."""
    return label.replace("\x01", "\ufffd")


def test_pysdmx_reads_the_structure_and_the_official_schemas_accept_it(tmp_path: Path) -> None:
    _, path = files(awkward(), tmp_path)
    message = pysdmx.io.read_sdmx(path, validate=True)
    names = code_names(message.structures)
    assert list(names) == [
        "CL_EARNINGS_2026__MARITAL_STATUS",
        "CL_EARNINGS_2026__FIGURE_2",
        "CL_EARNINGS_2026__FIGURE",
        "CL_OBS_STATUS",
        "CL_CONF_STATUS",
    ]
    assert list(names["CL_EARNINGS_2026__MARITAL_STATUS"].values()) == [*map(shown, AWKWARD), "Total"]
    assert list(names["CL_EARNINGS_2026__FIGURE_2"].items()) == [("YES", "yes"), ("NO", "no"), (TOTAL, "Total")]
    assert list(names["CL_EARNINGS_2026__FIGURE"].values()) == ["count", "income_sum", "mean of income, €"]
    structure = message.get_data_structure_definitions()[0]
    assert structure.short_urn == f"DataStructure={AGENCY}:DSD_EARNINGS_2026(1.0)"
    assert [component.id for component in structure.components.dimensions] == ["MARITAL_STATUS", "FIGURE_2", "FIGURE"]
    assert [component.id for component in structure.components.measures] == ["OBS_VALUE"]
    attributes = {component.id: component.required for component in structure.components.attributes}
    assert attributes == {"OBS_STATUS": True, "CONF_STATUS": True, "STD_ERR": False}
    flow = message.get_dataflows()[0]
    assert (flow.id, flow.name) == ("EARNINGS_2026", "Earnings, 2026")


def test_the_schemas_notice_an_identifier_that_is_not_allowed(tmp_path: Path) -> None:
    _, path = files(awkward(), tmp_path)
    path.write_text(path.read_text(encoding="utf-8").replace('id="LE_50K"', 'id="&lt;=50K"'), encoding="utf-8")
    with pytest.raises(Invalid, match="<=50K"):
        pysdmx.io.read_sdmx(path, validate=True)


@pytest.mark.parametrize("errors", [True, False])
@pytest.mark.parametrize("defined", [True, False])
def test_pysdmx_reads_every_observation_back_with_the_same_codes_bits_and_statuses(
    errors: bool, defined: bool, tmp_path: Path
) -> None:
    given = awkward(errors=errors)
    if not defined:
        given.columns[MEAN.name][3] = np.nan
        if errors:
            given.columns[error_of(MEAN.name)][3] = np.nan
    data, structure = files(given, tmp_path)
    names = code_names(pysdmx.io.read_sdmx(structure).structures)
    (dataset,) = pysdmx.io.read_sdmx(data).data
    assert dataset.action == ActionType.Replace
    assert dataset.structure == f"Dataflow={AGENCY}:EARNINGS_2026(1.0)"
    frame = dataset.data.fillna("")
    for read, (labels, figure, value, status, error) in zip(frame.to_dict("records"), expected(given), strict=True):
        assert names["CL_EARNINGS_2026__FIGURE"][read["FIGURE"]] == figure
        for component, label in zip(("MARITAL_STATUS", "FIGURE_2"), labels, strict=True):
            total = read[component] == TOTAL
            assert names[f"CL_EARNINGS_2026__{component}"][read[component]] == ("Total" if total else shown(label))
            assert not total or label == TOTAL
        assert same(read["OBS_VALUE"], value)
        assert (read["OBS_STATUS"], read["CONF_STATUS"]) == (status, "F")
        assert read.get("STD_ERR", "") == "" if error is None else same(read["STD_ERR"], error)


def test_pysdmx_finds_data_and_structure_in_agreement(tmp_path: Path) -> None:
    data, structure = files(awkward(), tmp_path)
    (dataset,) = pysdmx.io.get_datasets(data, structure)
    assert list(dataset.data.columns) == [
        "MARITAL_STATUS",
        "FIGURE_2",
        "FIGURE",
        "OBS_VALUE",
        "OBS_STATUS",
        "CONF_STATUS",
        "STD_ERR",
    ]
    assert len(dataset.data) == awkward().layout.rows * 3


def test_sdmx1_reads_every_observation_back_with_the_same_codes_bits_and_statuses(tmp_path: Path) -> None:
    given = awkward()
    data, structure = files(given, tmp_path)
    with structure.open("rb") as source:
        flow = sdmx.read_sdmx(source).dataflow["EARNINGS_2026"]
    with data.open("rb") as source:
        (dataset,) = sdmx.read_sdmx(source, format="CSV", structure=flow).data
    assert dataset.action == sdmx.model.common.ActionType.replace
    lists = {
        dimension.id: dimension.local_representation.enumerated for dimension in flow.structure.dimensions.components
    }
    for read, (labels, figure, value, status, error) in zip(dataset.obs, expected(given), strict=True):
        key = {name: part.value for name, part in read.dimension.values.items()}
        names = {name: str(lists[name][code].name) for name, code in key.items()}
        assert names.pop("FIGURE") == figure
        wanted = ["Total" if key[name] == TOTAL else shown(label) for name, label in zip(names, labels, strict=True)]
        assert list(names.values()) == wanted
        attributes = {name: one.value for name, one in read.attached_attribute.items()}
        assert (attributes["OBS_STATUS"], attributes["CONF_STATUS"]) == (status, "F")
        assert same(read.value, value)
        assert same(attributes["STD_ERR"], error)


def test_the_status_codes_have_their_official_names() -> None:
    """SDMX cross-domain code lists CL_OBS_STATUS (version 2.2) and CL_CONF_STATUS (version 1.3)."""
    official = {
        ("CL_OBS_STATUS", "A"): "Normal value",
        ("CL_OBS_STATUS", "E"): "Estimated value",
        ("CL_OBS_STATUS", "O"): "Missing value",
        ("CL_CONF_STATUS", "F"): "Free (free for publication)",
    }
    names = code_names(pysdmx.io.read_sdmx(awkward().structure()).structures)
    found = {(one, code): name for one in ("CL_OBS_STATUS", "CL_CONF_STATUS") for code, name in names[one].items()}
    assert found == official


def test_the_header_is_that_of_the_field_guide_and_lines_end_as_in_rfc_4180() -> None:
    small = table({"sex": ("f", "m")}, [("sex",), ()], [COUNT], exact=("count",))
    small.columns["count"], small.columns["count_standard_error"] = np.array([7, 0, 7]), np.array([0.0, 0.5, 2.0])
    assert small.csv("1.2.0") == (
        "STRUCTURE,STRUCTURE_ID,ACTION,SEX,FIGURE,OBS_VALUE,OBS_STATUS,CONF_STATUS,STD_ERR\r\n"
        "dataflow,PENSTOCK:EARNINGS_2026(1.2.0),R,F,COUNT,7,A,F,0\r\n"
        "dataflow,PENSTOCK:EARNINGS_2026(1.2.0),R,M,COUNT,0,A,F,0.5\r\n"
        "dataflow,PENSTOCK:EARNINGS_2026(1.2.0),R,_T,COUNT,7,A,F,2\r\n"
    )


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (5.0, "5"),
        (-3.0, "-3"),
        (0.1, "0.1"),
        (1 / 3, "0.3333333333333333"),
        (1e22, "1e+22"),
        (1e-7, "1e-07"),
        (5e-324, "5e-324"),
        (123456789012345.6, "123456789012345.6"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (np.nan, "NaN"),
    ],
)
def test_a_number_is_the_shortest_decimal_that_is_read_as_the_same(value: float, written: str) -> None:
    one = table({"sex": ("f",)}, [("sex",)], [SUM], errors=False)
    one.columns["income_sum"] = np.array([value])
    (line,) = csv.DictReader(io.StringIO(one.csv()))
    assert line["OBS_VALUE"] == written
    assert line["OBS_STATUS"] == ("O" if np.isnan(value) else "E")
    assert line["STD_ERR"] == ""


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_number_comes_back_bit_by_bit(value: float) -> None:
    one = table({"sex": ("f",)}, [("sex",)], [SUM])
    one.columns["income_sum"] = np.array([value])
    (line,) = csv.DictReader(io.StringIO(one.csv()))
    assert np.float64(line["OBS_VALUE"]).tobytes() == np.float64(value).tobytes()
    assert not line["OBS_VALUE"].endswith(".0")


def test_a_long_table_is_written_in_pieces_without_a_seam() -> None:
    dimensions = {"a": tuple(map(str, range(300))), "b": tuple(map(str, range(130)))}
    long = table(dimensions, [("a", "b"), ("b",)], [COUNT, SUM])
    pieces = list(sdmx_csv(long.layout, long.columns, version="1.0"))
    assert len(pieces) > 2
    read = [
        (line["A"], line["B"], line["FIGURE"], float(line["OBS_VALUE"]), float(line["STD_ERR"]))
        for line in csv.DictReader(io.StringIO("".join(pieces)))
    ]
    names = {"count": "COUNT", "income_sum": "INCOME_SUM"}
    coded = [
        (*(label if label == TOTAL else f"C{label}" for label in labels), names[figure], float(value), error)
        for labels, figure, value, _, error in expected(long)
    ]
    assert read == coded


def test_a_table_without_dimensions_has_one_line_for_each_figure() -> None:
    alone = table({}, [()])
    lines = list(csv.DictReader(io.StringIO(alone.csv())))
    assert [line["FIGURE"] for line in lines] == ["COUNT", "INCOME_SUM", "MEAN_OF_INCOME"]
    pysdmx.io.read_sdmx(alone.structure(), validate=True)


@pytest.mark.parametrize(
    ("name", "identifier"),
    [
        ("Married, spouse absent", "MARRIED_SPOUSE_ABSENT"),
        ("<=50K", "LE_50K"),
        (">50K", "GT_50K"),
        ("65+", "C65_PLUS"),
        ("-1", "MINUS_1"),
        ("01", "C01"),
        ("5-9", "C5-9"),
        ("=1+1", "C1_PLUS_1"),
        ("true", "C_TRUE"),
        ("NA", "C_NA"),
        ("Zürich", "ZURICH"),
        ("Straße", "STRASSE"),
        ("_T", "T"),
        ("東京", "C1"),
        ("", "C1"),
        ("x" * 60, "X" * 50),
    ],
)
def test_an_identifier_resembles_its_name(name: str, identifier: str) -> None:
    assert identifiers([name]) == (identifier,)


def test_names_that_would_collide_are_numbered() -> None:
    assert identifiers(["a b", "A.B", "a_b_2", "a-b"]) == ("A_B", "A_B_2", "A_B_2_2", "A-B")
    assert identifiers(["figure"], ("FIGURE", "FIGURE_2")) == ("FIGURE_3",)


names = st.lists(st.text(alphabet=st.sampled_from("aAbÄ 1_-<+.€東"), max_size=60) | st.text(max_size=5), unique=True)


@given(names, st.integers(min_value=0))
def test_identifiers_are_valid_distinct_and_keep_when_names_are_added(wanted: list[str], cut: int) -> None:
    chosen = identifiers(wanted, ("A", "C1"))
    assert len(set(chosen)) == len(wanted)
    assert not {"A", "C1"} & set(chosen)
    assert all(re.fullmatch(r"[A-Z][A-Z0-9_-]*", identifier) for identifier in chosen)
    assert not any("__" in identifier for identifier in chosen)
    assert identifiers(wanted[:cut], ("A", "C1")) == chosen[:cut]


def test_dimensions_never_take_a_name_that_the_format_uses(tmp_path: Path) -> None:
    taken = ("structure id", "Action", "figure", "obs_value", "STD_ERR", "time period", "dataflow")
    given = table(dict.fromkeys(taken, ("x", "y")), [taken], [COUNT])
    header = given.csv().partition("\r\n")[0].split(",")
    assert len(set(header)) == len(header)
    assert header[3:10] == [f"{name.upper().replace(' ', '_')}_2" for name in taken]
    data, structure = files(given, tmp_path)
    assert len(pysdmx.io.get_datasets(data, structure)[0].data) == 2**7


@pytest.mark.parametrize("version", ["1", "1.0.0.0", "01.0", "1.0-draft", "", "1.0)", "٣.1"])
def test_a_version_is_two_or_three_numbers(version: str) -> None:
    one = table({"sex": ("f", "m")}, [("sex",)])
    with pytest.raises(ValueError, match="two or three whole numbers"):
        sdmx_csv(one.layout, one.columns, version=version)
    with pytest.raises(ValueError, match="two or three whole numbers"):
        sdmx_structure(one.layout, version=version, prepared=PREPARED)


def test_columns_that_do_not_fit_are_not_written() -> None:
    one = table({"sex": ("f", "m")}, [("sex",)])
    with pytest.raises(ValueError, match="order of the layout"):
        sdmx_csv(one.layout, {**one.columns, "sex": np.array([1, 0])}, version="1.0")
