"""Soria-Comas, PhD thesis, Table 6.1: error and risk of standard MDAV on the Census file, to the printed digits.

A reproduction: the domain is taken from the data as in the source, so nothing is promised here.
"""

from __future__ import annotations

import numpy as np
import pytest
from pyarrow import parquet

from penstock.measures import measure
from penstock.mechanisms import probabilistic_k_anonymity as pka
from penstock.mechanisms.columns import Column
from penstock.mechanisms.randomness import seeded
from penstock.reproduction.beside_print import printed_tables
from tests.support.public_data import DATA

CENSUS = DATA / "census_casc.parquet"
TABLE = printed_tables("table_6_1")


@pytest.mark.skipif(not CENSUS.exists(), reason="the Census file is not there; set PENSTOCK_DATA to its folder")
@pytest.mark.parametrize("row", TABLE["rows"], ids=lambda row: f"k={row['k']}")
def test_mdav_has_the_printed_error_and_linkage(row):
    table = parquet.read_table(CENSUS, columns=TABLE["columns"])
    columns = {name: table[name].to_numpy().astype(np.float64) for name in TABLE["columns"]}
    declared = {
        name: Column(role="quasi_identifier", type="continuous", domain=(0.0, 1.5 * float(values.max())))
        for name, values in columns.items()
    }
    released = pka.protect(columns, declared, pka.Params(method="mdav_id", k=row["k"]), seeded(1)).columns
    sse = measure("sse")(columns, released, declared).value
    percent = 100 * measure("record_linkage")(columns, released, declared).value
    assert (f"{sse:.2E}", f"{percent:.3g}") == (row["printed"]["sse"], row["printed"]["record_linkage"])
    assert (f"{sse:.4e}", f"{percent:.3f}") == (
        f"{row['recomputed']['sse']:.4e}",
        f"{row['recomputed']['record_linkage']:.3f}",
    )
