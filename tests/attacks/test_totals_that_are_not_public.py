"""Under `replace` the number of all records of a data set is public; that of some of its files is not.

The whole of a partitioned data set was released, then one of its files under the same name, without budget.part: the
exact grand total said how many records the part has. A replaced record may leave it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import penstock
from penstock.mechanisms.refusal import Refusal
from tests.support.workplace import Workplace, make_table, open_dp_account

FILE = "data/region=North/p.parquet"


def use(workplace: Workplace, path: str, name: str, **settings: Any) -> None:
    """Switch the workplace to a count by education of this source, which spends 1/10 and says how many there are."""
    if workplace.raw["protect"][0]["mechanism"] != "table":
        make_table(workplace)
    counted = {"mechanism": "table", "dimensions": ["education"], "epsilon": "1/10", "adjacency": "replace"}
    workplace.raw["protect"] = [{"table": "counts", "model": "dp", "exact_total": True, **counted, **settings}]
    workplace.raw["name"], workplace.raw["source"]["path"] = name, path
    workplace.raw["publish"]["formats"] = ["parquet"]


def partition(workplace: Workplace) -> Path:
    """Write the survey as a folder for each region, which is then a column of none of its files; return the folder."""
    table = pq.read_table(workplace.source)
    pq.write_to_dataset(table, workplace.folder / "data", partition_cols=["region"], basename_template="p{i}.parquet")
    for file in (workplace.folder / "data").rglob("*.parquet"):
        file.rename(file.with_name("p.parquet"))
    workplace.raw["source"]["columns"].pop("region")
    return workplace.folder / "data"


def released(workplace: Workplace) -> str:
    """The code of the refusal, or "published"."""
    try:
        penstock.release(penstock.load_spec(workplace.write_spec()))
    except Refusal as refusal:
        return refusal.code
    return "published"


@pytest.fixture
def parts(workplace: Workplace) -> Workplace:
    make_table(workplace)
    partition(workplace)
    return workplace


def as_folder(workplace: Workplace) -> str:
    return "data/region=North"


def as_file(workplace: Workplace) -> str:
    return FILE


def as_link(workplace: Workplace) -> str:
    (workplace.folder / "north").symlink_to(workplace.folder / "data/region=North")
    return "north"


def as_copy(workplace: Workplace) -> str:
    (workplace.folder / "north.parquet").write_bytes((workplace.folder / FILE).read_bytes())
    return "north.parquet"


def saved_again(workplace: Workplace) -> str:
    pq.write_table(pq.ParquetFile(workplace.folder / FILE).read(), workplace.folder / "again.parquet", row_group_size=7)
    return "again.parquet"


@pytest.mark.parametrize("part", [as_folder, as_file, as_link, as_copy, saved_again])
def test_some_files_of_a_data_set_have_no_exact_total(parts: Workplace, part: Callable[[Workplace], str]) -> None:
    open_dp_account(5)
    use(parts, "data", "whole")
    assert released(parts) == "published"
    use(parts, part(parts), "north")
    assert released(parts) in ("spec-refused", "total-not-public")


@pytest.mark.parametrize("place", ["data/region=North", "s3://bucket/data/region=North/p.parquet", FILE])
def test_what_lies_below_a_folder_of_one_value_has_no_exact_total(parts: Workplace, place: str) -> None:
    """Whatever was charged before: nothing else says that it is a part."""
    use(parts, place, "north")
    with pytest.raises(Refusal) as refusal:
        penstock.load_spec(parts.write_spec())
    assert [fault.field for fault in refusal.value.faults] == ["protect.0.exact_total"]


def test_after_an_exact_total_nothing_else_is_that_data_set(parts: Workplace) -> None:
    """In the other order: once the number of some records was published as that of all, the others are none."""
    open_dp_account(5)
    use(parts, as_copy(parts), "north")
    assert released(parts) == "published"
    use(parts, "data", "whole", exact_total=False)
    assert released(parts) == "total-not-public"
    parts.raw["source"]["edition"] = "2026"
    assert released(parts) == "published"


def test_a_data_set_of_which_parts_are_counted_has_no_exact_total(parts: Workplace) -> None:
    """Its parts may spend beside each other; without budget.part nothing says that this source is all of them."""
    open_dp_account(5, partition="region")
    use(parts, as_copy(parts), "north")
    assert released(parts) == "total-not-public"
    use(parts, "data", "whole", exact_total=False)
    assert released(parts) == "published"


@pytest.mark.parametrize("part", [as_folder, as_copy])
def test_some_files_may_be_released_where_no_total_is_exact(parts: Workplace, part: Callable[[Workplace], str]) -> None:
    open_dp_account(5)
    use(parts, "data", "whole", exact_total=False)
    assert released(parts) == "published"
    use(parts, part(parts), "north", exact_total=False)
    assert released(parts) == "published"


def test_a_record_that_leaves_a_file_is_hidden_in_the_figures_of_that_file(parts: Workplace) -> None:
    """A table without dimensions had noise by the width of the domain, as if no record could leave its only cell. Of
    one file of a data set a replaced record may: its total moved by a hundred times the noise, for one epsilon."""
    parts.raw["source"]["columns"]["income"] |= {"domain": [99_000, 100_000], "outside": "clamp"}
    open_dp_account(5)
    use(parts, "data", "whole", exact_total=False)
    assert released(parts) == "published"
    use(parts, as_copy(parts), "north", exact_total=False, dimensions=[], sums=["income"], noise="laplace")
    assert released(parts) == "published"
    [bundle] = [each for each in parts.bundles() if "north" in str(each)]
    assert pq.read_table(bundle / "tables/counts.parquet")["income_sum_standard_error"][0].as_py() > 100_000


RELAXED: dict[str, dict[str, Any]] = {
    "bdp": {"adjacency": "bootstrap_replace", "scale": "one", "empty_cells": "noise", "acknowledges": ["bdp"]},
    "idp": {"adjacency": "from_D", "acknowledges": ["idp"]},
}


@pytest.mark.parametrize("model", RELAXED)
@pytest.mark.parametrize("part", [as_folder, as_copy])
def test_a_relaxed_table_of_some_files_does_not_print_how_many_records_they_have(
    parts: Workplace, model: Any, part: Callable[[Workplace], str]
) -> None:
    """Under `bdp` and `idp` the count of a whole file is exact as well, without anybody asking for an exact total."""
    parts.raw["source"]["columns"]["income"] |= {"domain": [0, 100_000], "outside": "clamp"}
    open_dp_account(5)
    open_dp_account(5, model=model, adjacency=RELAXED[model]["adjacency"])
    use(parts, "data", "whole", exact_total=False)
    assert released(parts) == "published"
    settings = {"model": model, "dimensions": [], "sums": ["income"], "exact_total": False, **RELAXED[model]}
    use(parts, part(parts), "north", **settings)
    assert released(parts) in ("spec-refused", "total-not-public")
    use(parts, "data", "all", **settings)
    assert released(parts) == "published"


@pytest.mark.parametrize("statistic", ["sum", "mean"])
@pytest.mark.parametrize("part", [as_folder, as_copy])
def test_statistics_of_some_files_do_not_take_their_number_as_public(
    parts: Workplace, statistic: str, part: Callable[[Workplace], str]
) -> None:
    """The standard error of a mean told how many records a file has, and the noise of a sum hid no record that left."""
    parts.raw["source"]["columns"]["income"] |= {"domain": [99_000, 100_000], "outside": "clamp"}
    open_dp_account(5)
    asked = {
        "mechanism": "statistics",
        "model": "dp",
        "epsilon": "1/10",
        "figures": [{"statistic": statistic, "of": "income"}],
    }

    def use_statistics(path: str, name: str) -> None:
        parts.raw["protect"] = [{**asked, "table": "figures", "adjacency": "replace"}]
        parts.raw["name"], parts.raw["source"]["path"] = name, path

    use_statistics("data", "whole")
    assert released(parts) == "published"
    use_statistics(part(parts), "north")
    assert released(parts) in ("spec-refused", "total-not-public")
    use_statistics("data", "again")
    assert released(parts) == "published"


def test_the_same_records_have_their_exact_total_however_they_are_saved(workplace: Workplace) -> None:
    open_dp_account(5)
    use(workplace, "survey.parquet", "first")
    assert released(workplace) == "published"
    table = pq.read_table(workplace.source)
    pq.write_table(table, workplace.folder / "again.parquet", row_group_size=50)
    use(workplace, "again.parquet", "second", epsilon="1/5")
    assert released(workplace) == "published"


def test_each_edition_has_an_exact_total_of_its_own(workplace: Workplace) -> None:
    open_dp_account(5)
    use(workplace, "survey.parquet", "monthly")
    for seed, edition in enumerate(("2026-10", "2026-11"), start=3):
        workplace.write_survey(200 + seed, seed=seed)
        workplace.raw["source"]["edition"] = edition
        assert released(workplace) == "published"


def test_a_refused_output_says_which_one_it_is(parts: Workplace) -> None:
    """Of several outputs the one whose total would be exact."""
    open_dp_account(5)
    use(parts, "data", "whole")
    assert released(parts) == "published"
    use(parts, as_copy(parts), "north")
    parts.raw["protect"].append(
        {**parts.raw["protect"][0], "table": "others", "exact_total": False, "sums": ["income"]}
    )
    with pytest.raises(Refusal) as refusal:
        penstock.release(penstock.load_spec(parts.write_spec()))
    assert [fault.field for fault in refusal.value.faults] == ["counts.adjacency"]
