"""Soria-Comas 2013 (thesis), Table 6.1: SSE of MDAV on four attributes of the CASC Census file."""

from __future__ import annotations

import numpy as np
import pytest
from pyarrow import parquet

from penstock.mechanisms.columns import Column
from penstock.mechanisms.probabilistic_k_anonymity import Params, protect
from penstock.mechanisms.randomness import seeded
from tests.support.public_data import DATA

CENSUS = DATA / "census_casc.parquet"
ATTRIBUTES = ["FICA", "FEDTAX", "INTVAL", "POTHVAL"]


@pytest.mark.skipif(not CENSUS.exists(), reason="the Census file is not there; set PENSTOCK_DATA to its folder")
@pytest.mark.parametrize(
    ("k", "printed"), [(2, "3.0655e+09"), (5, "1.2015e+10"), (15, "2.4100e+10"), (30, "4.0043e+10")]
)
def test_the_sum_of_squared_errors_is_the_printed_one(k, printed):
    table = parquet.read_table(CENSUS, columns=ATTRIBUTES)
    columns = {name: table[name].to_numpy().astype(np.float64) for name in ATTRIBUTES}
    declared = {
        name: Column(role="quasi_identifier", type="continuous", domain=(0.0, 1.5 * float(values.max())))
        for name, values in columns.items()
    }
    released = protect(columns, declared, Params(method="mdav_id", k=k), seeded(1)).columns
    error = sum(((released[name] - columns[name]) ** 2).sum() for name in ATTRIBUTES)
    assert f"{error:.4e}" == printed
