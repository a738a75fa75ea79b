"""Errors as figures of their own, and groups of categories, in SDMX."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pysdmx.io

from penstock.mechanisms.layout import TOTAL, Coarser, Figure, Layout
from penstock.reports.sdmx import sdmx_csv, sdmx_structure
from tests.reports.test_sdmx import COUNT, PREPARED, Table, code_names, files


def test_errors_are_figures_of_their_own_without_a_standard_error() -> None:
    figures = tuple(
        Figure(f"weighted_count{end}", f"weighted_count{end}", None, False)
        for end in ("", "_sampling_error", "_combined_error")
    )
    layout = Layout("t", {}, ((),), figures, errors=True)
    columns = {
        "weighted_count": np.array([90.0]),
        "weighted_count_standard_error": np.array([3.0]),
        "weighted_count_sampling_error": np.array([np.nan]),
        "weighted_count_combined_error": np.array([np.nan]),
    }
    lines = "".join(sdmx_csv(layout, columns, version="1.0")).splitlines()[1:]
    assert [line.split(",R,")[1] for line in lines] == [
        "WEIGHTED_COUNT,90,E,F,3",
        "WEIGHTED_COUNT_SAMPLING_ERROR,NaN,O,F,",
        "WEIGHTED_COUNT_COMBINED_ERROR,NaN,O,F,",
    ]
    said = "or it is an error that is not clear of its own noise"
    assert said in sdmx_structure(layout, version="1.0", prepared=PREPARED)
    without = Layout("t", {}, ((),), figures[:2], errors=False)
    assert said not in sdmx_structure(without, version="1.0", prepared=PREPARED)


def test_codes_of_coarser_levels_have_parents_and_the_official_schemas_accept_them(tmp_path: Path) -> None:
    coarser = {
        "section": Coarser("nace", ("Goods", "Services"), (0, 1, 0)),
        "division": Coarser("nace", ("goods", "Trade", "Plants"), (0, 1, 2)),
    }
    levels = (("nace", "sex"), ("section",), ("division", "sex"), ())
    layout = Layout(
        "t", {"nace": ("rice", "shops", "steel"), "sex": ("f", "m")}, levels, (COUNT,), False, coarser=coarser
    )
    given = Table(layout, {**layout.codes(), "count": np.arange(layout.rows)})
    data, path = files(given, tmp_path)
    names = code_names(pysdmx.io.read_sdmx(path, validate=True).structures)
    assert list(names["CL_T__NACE"].items()) == [
        ("RICE", "rice"),
        ("SHOPS", "shops"),
        ("STEEL", "steel"),
        ("GOODS", "Goods"),
        ("SERVICES", "Services"),
        ("GOODS_2", "goods"),
        ("TRADE", "Trade"),
        ("PLANTS", "Plants"),
        (TOTAL, "Total"),
    ]
    parents = dict(
        re.findall(r'<str:Code id="(\w+)">(?:(?!</str:Code>).)*<str:Parent>(\w+)</str:Parent>', path.read_text())
    )
    assert parents == {
        "RICE": "GOODS_2",
        "SHOPS": "TRADE",
        "STEEL": "PLANTS",
        "GOODS_2": "GOODS",
        "TRADE": "SERVICES",
        "PLANTS": "GOODS",
    }
    read = data.read_text(encoding="ascii").splitlines()[1:]
    assert [line.split(",")[3:5] for line in read[6:9]] == [["GOODS", TOTAL], ["SERVICES", TOTAL], ["GOODS_2", "F"]]
