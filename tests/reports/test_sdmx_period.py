"""A table about a period has its TIME_PERIOD, in the data as in their structure; another has none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pysdmx.io
import sdmx

from penstock.reports.sdmx import sdmx_csv, sdmx_structure
from tests.reports.test_sdmx import COUNT, PREPARED, Table, table


def small() -> Table:
    given = table({"time period": ("early", "late")}, [("time period",), ()], [COUNT], exact=("count",))
    given.columns["count"], given.columns["count_standard_error"] = np.array([7, 0, 7]), np.array([0.0, 0.5, 2.0])
    return given


def files(folder: Path, period: str | None) -> tuple[Path, Path]:
    given, data, structure = small(), folder / "table.csv", folder / "structure.xml"
    data.write_text("".join(sdmx_csv(given.layout, given.columns, version="1.0", period=period)), encoding="ascii")
    told = sdmx_structure(given.layout, version="1.0", prepared=PREPARED, timed=period is not None)
    structure.write_text(told, encoding="utf-8")
    return data, structure


def test_every_observation_says_its_period_beside_a_dimension_of_that_name(tmp_path: Path) -> None:
    data, _ = files(tmp_path, "2026-Q3")
    lines = data.read_text(encoding="ascii").splitlines()
    assert lines[0].endswith(",TIME_PERIOD_2,FIGURE,TIME_PERIOD,OBS_VALUE,OBS_STATUS,CONF_STATUS,STD_ERR")
    assert lines[1] == "dataflow,PENSTOCK:EARNINGS_2026(1.0),R,EARLY,COUNT,2026-Q3,7,A,F,0"
    assert len(lines) == 4


def test_the_official_schemas_accept_the_structure_and_two_readers_find_data_and_structure_in_agreement(
    tmp_path: Path,
) -> None:
    data, structure = files(tmp_path, "2026-Q3")
    message = pysdmx.io.read_sdmx(structure, validate=True)
    components = message.get_data_structure_definitions()[0].components
    assert [each.id for each in components.dimensions] == ["TIME_PERIOD_2", "FIGURE", "TIME_PERIOD"]
    (dataset,) = pysdmx.io.get_datasets(data, structure)
    assert set(dataset.data["TIME_PERIOD"]) == {"2026-Q3"}
    with structure.open("rb") as source:
        flow = sdmx.read_sdmx(source).dataflow["EARNINGS_2026"]
    with data.open("rb") as source:
        (read,) = sdmx.read_sdmx(source, format="CSV", structure=flow).data
    assert [each.dimension.values["TIME_PERIOD"].value for each in read.obs] == ["2026-Q3"] * 3


def test_without_a_period_there_is_no_such_dimension(tmp_path: Path) -> None:
    data, structure = files(tmp_path, None)
    assert ",TIME_PERIOD," not in data.read_text(encoding="ascii").partition("\n")[0]
    assert 'TIME_PERIOD"' not in structure.read_text(encoding="utf-8")
