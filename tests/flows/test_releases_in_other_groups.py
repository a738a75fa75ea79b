"""Groups by taxonomy, of variable size, with different values: through the whole line, to a bundle that verifies."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from penstock.flows.release import release
from penstock.flows.spec import load_spec
from penstock.records.home import Home
from penstock.tasks.publish import Receipt
from penstock.tasks.verification.bundle import verify_bundle
from tests.support.workplace import ROWS, Workplace, predicate

REGIONS = {
    "North": ["Land"],
    "South": ["Land"],
    "East": ["Coast"],
    "West": ["Coast"],
    "Land": ["All"],
    "Coast": ["All"],
    "All": [],
}


@pytest.mark.parametrize("method", ["mdav_id", "mdav_swap"])
def test_a_release_in_other_groups_is_published_and_verifies(workplace: Workplace, method: str) -> None:
    workplace.use_mdav(method, 12)
    workplace.raw["source"]["columns"]["region"]["taxonomy"] = REGIONS
    workplace.raw["protect"][0] |= {"scaling": "taxonomy", "groups": "v_mdav", "gain": "1/5", "diversity": 10}
    workplace.raw["gates"] = [{"measure": "average_risk", "max": 0.1}, {"measure": "record_linkage", "max": 1}]
    receipt = release(load_spec(workplace.write_spec()))
    assert isinstance(receipt, Receipt)
    bundle = Path(receipt.path)
    stated = predicate(bundle)["release"]
    assert {"groups": "v_mdav", "gain": "1/5", "diversity": 10}.items() <= stated["guarantee"]["parameters"].items()
    region = next(column for column in stated["columns"] if column["name"] == "region")
    found = pq.read_table(bundle / "data.parquet")
    assert found.num_rows == ROWS
    assert set(found.column("region").to_pylist()) <= set(region["categories"])
    assert ("Land" in region["categories"]) == (method == "mdav_id")
    checked = {each.name: each.text for each in verify_bundle(bundle, Home.open().public_key_path)}
    if method == "mdav_id":
        assert "at least 10 different values" in checked["diversity"]
        sizes = found.group_by(["age", "region", "education", "weight"]).aggregate([([], "count_all")])
        assert min(sizes.column("count_all").to_pylist()) >= 12
