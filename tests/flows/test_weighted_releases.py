"""Tables of sampling weights and of contributors through the whole line, from the spec to what anybody can verify."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock
from penstock.flows.preview import preview
from penstock.flows.release import release
from penstock.flows.spec import load_spec
from penstock.mechanisms.layout import Figure, Layout
from penstock.mechanisms.refusal import SpecRefused, TooFewRecords, ValueOutsideDomain
from penstock.records import open_records
from penstock.records.home import Home
from penstock.records.log.log import Action
from penstock.tasks.outputs._cell_claims import table_faults
from penstock.tasks.verification.bundle import Finding, verify_bundle
from tests.support.private_release import begun
from tests.support.workplace import ROWS, Workplace, make_table, make_units, open_dp_account, predicate

CAP = 120
WEIGHT = {"role": "weight", "domain": [0, CAP], "outside": "clamp"}
NAMES = ["rep_1", "rep_2", "rep_3", "rep_4"]


def make_weighted(workplace: Workplace, **settings: Any) -> None:
    """A table of region, weighted; the survey has weights of 50 to 150, and replicates where half of them are 0."""
    chosen = {"dimensions": ["region"], "weight": {"column": "weight"}, "adjacency": "add_remove", **settings}
    make_table(workplace, **chosen)
    columns = workplace.raw["source"]["columns"]
    del columns["education"]
    columns["weight"] = WEIGHT


def make_exact(workplace: Workplace, **settings: Any) -> None:
    """Weighted by region, without noise, with sampling errors; units are persons of up to four records."""
    replicates = {"column": "weight", "replicates": NAMES, "scale": "1/4"}
    make_weighted(
        workplace, **{"model": "k_anon", "epsilon": None, "adjacency": None, "k": 5, "weight": replicates, **settings}
    )
    workplace.raw["source"]["columns"] |= {name: {"role": "weight", "domain": [0, 300]} for name in NAMES}
    make_units(workplace, 1)
    del workplace.raw["protect"][0]["rows_per_unit"]
    survey, rng = pq.read_table(workplace.source), np.random.default_rng(1)
    for name in NAMES:
        survey = survey.append_column(name, pa.array(survey["weight"].to_numpy() * rng.choice([0.0, 2.0], ROWS)))
    pq.write_table(survey, workplace.source)


def found_in(bundle: Path) -> pd.DataFrame:
    return pq.read_table(bundle / "tables/incomes.parquet").to_pandas().set_index("region")


def verified(bundle: Path) -> dict[str, Finding]:
    return {finding.name: finding for finding in verify_bundle(bundle, Home.open().public_key_path)}


def test_an_exact_table_of_weights_and_contributors_is_released_and_verifies(workplace: Workplace) -> None:
    make_exact(workplace)
    bundle = Path(release(load_spec(workplace.write_spec())).path)
    survey, cells = pq.read_table(workplace.source).to_pandas(), found_in(bundle)
    survey["region"] = survey["region"].astype(str)
    for region in ("North", "South", "East", "West", "_T"):
        those = survey if region == "_T" else survey[survey["region"] == region]
        income = those["income"].clip(0, 100_000)
        assert cells.loc[region, "records"] == len(those)
        assert cells.loc[region, "contributors"] == those["person_id"].nunique()
        w = those["weight"].clip(0, CAP)
        assert cells.loc[region, "weighted_count"] == pytest.approx(w.sum())
        assert cells.loc[region, "income_weighted_sum"] == pytest.approx((w * income).sum())
        assert cells.loc[region, "income_weighted_mean"] == pytest.approx((w * income).sum() / w.sum())
        again = [(those[name] * income).sum() - (w * income).sum() for name in NAMES]
        assert cells.loc[region, "income_weighted_sum_sampling_error"] == pytest.approx(
            np.sqrt(np.square(again).mean())
        )
    findings = verified(bundle)
    assert findings["k-anonymity"].checked
    assert findings["k-anonymity"].text == "Every cell that is not empty has at least 5 contributors."
    assert "except for contributors" in findings["records"].text
    said = predicate(bundle)["release"]
    assert said["guarantee"]["parameters"]["contributors"] == "person_id"
    assert said["guarantee"]["parameters"]["weight"] == {"column": "weight", "replicates": NAMES, "scale": "1/4"}
    assert said["guarantee"]["unit"] == "individual"
    assert [column["name"] for column in said["columns"]] == [
        "region",
        "records",
        "contributors",
        *(f"{name}{end}" for name in WEIGHTED_FIGURES for end in ("", "_sampling_error")),
    ]
    page = (bundle / "report.html").read_text(encoding="utf-8")
    assert "number of different values of person_id among the records there" in page
    assert "mean of income weighted by weight" in page
    assert "its sampling error (s.e.)" in page  # beside its figure, without an axis of its own
    assert "<strong>income_weighted_mean</strong>" in page
    assert "<strong>income_weighted_mean_sampling_error</strong>" not in page
    assert "from sampling, by replicate weights" in (bundle / "metadata/codebook.xml").read_text(encoding="utf-8")
    observed = (bundle / "tables/incomes.sdmx.csv").read_text(encoding="utf-8")
    assert ",WEIGHTED_COUNT_SAMPLING_ERROR," in observed


WEIGHTED_FIGURES = ("weighted_count", "income_weighted_sum", "income_weighted_mean")


def test_a_private_weighted_table_is_released_charged_and_verifies(workplace: Workplace) -> None:
    make_weighted(workplace, epsilon="2")
    workplace.raw["gates"] = [{"measure": "privacy_loss", "max": 2}]
    open_dp_account(4, adjacency="add_remove")
    bundle = Path(release(load_spec(workplace.write_spec())).path)
    survey, cells = pq.read_table(workplace.source).to_pandas(), found_in(bundle)
    survey["region"] = survey["region"].astype(str)
    assert list(cells.columns) == [f"{name}{end}" for name in WEIGHTED_FIGURES for end in ("", "_standard_error")]
    for region in ("North", "South", "East", "West"):
        true = survey.loc[survey["region"] == region, "weight"].clip(0, CAP).sum()
        error = cells.loc[region, "weighted_count_standard_error"]
        # Noise is of the size of one largest weight. More than 25 standard errors off: below 1e-10 a cell.
        assert CAP / 2 < error < 4 * CAP
        assert abs(cells.loc[region, "weighted_count"] - true) < 25 * error
    assert verified(bundle)["records"].checked
    said = predicate(bundle)["release"]["guarantee"]
    assert any("the weight of a record depends on that record" in each for each in said["assumptions"])
    assert any("weight as collected" in each or "income, weight" in each for each in said["not_promised"])


def test_the_plan_says_what_is_counted_and_weighted(workplace: Workplace) -> None:
    make_exact(workplace)
    told = " ".join(preview(load_spec(workplace.write_spec()), count=False)["expect"])
    assert "Each contributor (person_id) counts once in a cell" in told
    assert "fewer than k different values of person_id" in told
    assert "weighted by weight" in told
    assert "4 replicate weights" in told


def test_a_cell_of_too_few_contributors_is_refused_however_many_records_it_has(workplace: Workplace) -> None:
    make_exact(workplace)
    survey = pq.read_table(workplace.source).to_pandas()
    north = survey["region"].astype(str) == "North"
    survey.loc[north, "person_id"] = [f"one of {row % 4}" for row in range(int(north.sum()))]
    survey.to_parquet(workplace.source)
    with pytest.raises(TooFewRecords):
        release(load_spec(workplace.write_spec()))
    assert workplace.bundles() == []


def test_a_weight_beyond_the_cap_is_refused_unless_it_is_clamped(workplace: Workplace) -> None:
    make_weighted(workplace)
    workplace.raw["source"]["columns"]["weight"] = {"role": "weight", "domain": [0, CAP]}
    with begun(workplace) as line:
        with pytest.raises(ValueOutsideDomain) as refused:
            line.ingest()
        assert [fault.field for fault in refused.value.faults] == ["source.columns.weight"]
        assert f"[0, {CAP}]" in refused.value.faults[0].rule
        # Whoever tries caps until one is refused is counted: the cap is part of what is declared.
        assert {"column": "weight", "type": None, "domain": [0, CAP]}.items() <= declared_of(line.job.plan).items()
    assert Action.LOOKED in [event.action for event in open_records().log.events()]


def declared_of(plan: Any) -> dict[str, Any]:
    (found,) = [each for each in plan.declarations if each.get("column") == "weight"]
    return dict(found)


def faults_of(workplace: Workplace) -> dict[str, str]:
    with pytest.raises(SpecRefused) as refused:
        load_spec(workplace.write_spec())
    return {fault.field: fault.rule for fault in refused.value.faults}


def test_parts_cannot_be_weighted(workplace: Workplace) -> None:
    make_weighted(workplace)
    workplace.raw["run"] = {"memory": "1 GB"}
    found = faults_of(workplace)
    assert set(found) == {"run.memory"}
    assert "weighted figures are not added up in parts" in found["run.memory"]


def test_parts_cannot_count_contributors(workplace: Workplace) -> None:
    make_table(workplace, model="k_anon", epsilon=None, adjacency=None, k=5)
    make_units(workplace, 1)
    del workplace.raw["protect"][0]["rows_per_unit"]
    workplace.raw["run"] = {"memory": "1 GB"}
    found = faults_of(workplace)
    assert set(found) == {"run.memory"}
    assert "the records of a unit may lie in different parts" in found["run.memory"]


def test_contributors_are_those_of_the_source_and_all_their_records_are_used(workplace: Workplace) -> None:
    make_exact(workplace)
    workplace.raw["protect"][0]["contributors"] = "region"
    assert set(faults_of(workplace)) == {"protect.0.contributors"}
    workplace.raw["protect"][0]["contributors"] = "person_id"
    load_spec(workplace.write_spec())
    workplace.raw["source"]["unit"] = "row"
    assert set(faults_of(workplace)) == {"protect.0.contributors"}
    workplace.raw["source"]["unit"] = "person_id"
    workplace.raw["protect"][0]["rows_per_unit"] = 2
    assert set(faults_of(workplace)) == {"protect.0.rows_per_unit"}
    workplace.raw["source"]["unit"] = "nobody"
    del workplace.raw["protect"][0]["rows_per_unit"], workplace.raw["protect"][0]["contributors"]
    assert set(faults_of(workplace)) == {"source.unit"}


def test_record_mechanisms_refuse_weights_as_before(workplace: Workplace) -> None:
    workplace.raw["source"]["columns"]["weight"] = WEIGHT
    found = faults_of(workplace)  # ir_swap carries a weight along, and clamps none
    assert "source.columns.weight.outside" in found


def test_a_trial_counts_contributors(workplace: Workplace) -> None:
    firms = pd.DataFrame({"firm": ["a", "a", "b", "b", "c"], "area": ["n"] * 5})
    columns = {
        "firm": {"role": "identifier"},
        "area": {"role": "quasi_identifier", "type": "nominal", "categories": ["n", "s"]},
    }
    asked = {"mechanism": "table", "dimensions": ["area"], "model": "k_anon", "k": 3}
    trial = penstock.protect(firms, columns, asked, unit="firm")
    assert trial.data["contributors"].tolist() == [3, 0, 3]
    with pytest.raises(TooFewRecords):
        penstock.protect(firms, columns, {**asked, "k": 4}, unit="firm")
    assert penstock.protect(firms, columns, {**asked, "k": 4}).data["count"].tolist() == [5, 0, 5]


LAYOUT = Layout(
    "t",
    {"area": ("n", "s")},
    (("area",), ()),
    (Figure("count", "count", None, True), Figure("contributors", "contributors", None, True)),
    errors=False,
)


@pytest.mark.parametrize(
    ("contributors", "faults"),
    [
        ([3, 4, 5], 0),
        ([2, 4, 5], 1),  # fewer than k
        ([7, 4, 7], 1),  # more than records
        ([0, 4, 4], 1),  # records of nobody
    ],
)
def test_whoever_verifies_a_table_sees_that_contributors_are_enough(contributors: list[int], faults: int) -> None:
    table = pa.table({"area": ["n", "s", "_T"], "count": [6, 5, 11], "contributors": contributors})
    assert len(list(table_faults(table, LAYOUT, 3, of_contributors=True))) == faults


def test_a_private_table_of_bounded_units_and_an_exact_one_of_contributors_are_one_release(
    workplace: Workplace,
) -> None:
    make_table(workplace, adjacency="add_remove", dimensions=["education"])
    make_units(workplace, 2)
    private = {**workplace.raw["protect"][0], "gates": [{"measure": "privacy_loss", "max": 1}]}
    exact = {
        "mechanism": "table",
        "table": "exact",
        "dimensions": ["region"],
        "model": "k_anon",
        "k": 5,
        "gates": [{"measure": "smallest_frequency", "min": 5}],
        "on_refusal": "leave_out",
    }
    workplace.raw["protect"] = [private, exact]
    del workplace.raw["gates"]
    workplace.raw["budget"]["acknowledges"] = ["exact"]
    open_dp_account(4, unit="individual", adjacency="add_remove")
    bundle = Path(release(load_spec(workplace.write_spec())).path)
    survey = pq.read_table(workplace.source).to_pandas()
    cells = pq.read_table(bundle / "tables/exact.parquet").to_pandas().set_index("region")
    assert cells.loc["_T", "count"] == ROWS
    assert cells.loc["_T", "contributors"] == survey["person_id"].nunique() == ROWS / 4
    assert verified(bundle)["exact: k-anonymity"].text.endswith("at least 5 contributors.")


def with_strata(workplace: Workplace) -> None:
    make_exact(workplace, weight={"column": "weight", "strata": "stratum"})
    columns = workplace.raw["source"]["columns"]
    for name in NAMES:
        del columns[name]
    columns["stratum"] = {"role": "quasi_identifier", "type": "nominal", "categories": ["town", "country"]}
    survey = pq.read_table(workplace.source).to_pandas()
    of_person = {name: ("town", "country")[place % 2] for place, name in enumerate(survey["person_id"].unique())}
    survey.assign(stratum=survey["person_id"].map(of_person)).to_parquet(workplace.source)


def test_an_exact_table_has_sampling_errors_by_strata_of_its_units(workplace: Workplace) -> None:
    with_strata(workplace)
    bundle = Path(release(load_spec(workplace.write_spec())).path)
    survey, cells = pq.read_table(workplace.source).to_pandas(), found_in(bundle)
    survey["z"] = survey["weight"].clip(0, CAP)
    for region in ("North", "_T"):
        there = survey["z"].where((survey["region"].astype(str) == region) | (region == "_T"), 0.0)
        variance = 0.0
        for _, those in there.groupby([survey["stratum"], survey["person_id"]]).sum().groupby("stratum"):
            variance += len(those) * those.var(ddof=1)
        assert cells.loc[region, "weighted_count_sampling_error"] == pytest.approx(np.sqrt(variance))
    assert verified(bundle)["records"].checked
    assert predicate(bundle)["release"]["guarantee"]["parameters"]["weight"]["strata"] == "stratum"
    assert "by the strata stratum" in (bundle / "metadata/codebook.xml").read_text(encoding="utf-8")
    told = " ".join(preview(load_spec(workplace.write_spec()), count=False)["expect"])
    assert "as if contributors (person_id) had been drawn with replacement" in told


def test_a_unit_in_two_strata_is_refused_and_publishes_nothing(workplace: Workplace) -> None:
    with_strata(workplace)
    survey = pq.read_table(workplace.source).to_pandas()
    survey.loc[0, "stratum"] = {"town": "country", "country": "town"}[survey.loc[0, "stratum"]]
    survey.to_parquet(workplace.source)
    with pytest.raises(ValueOutsideDomain):
        release(load_spec(workplace.write_spec()))
    assert workplace.bundles() == []


def test_strata_are_those_of_all_records(workplace: Workplace) -> None:
    with_strata(workplace)
    workplace.raw["source"]["where"] = "region is North"
    found = faults_of(workplace)
    assert set(found) == {"protect.0.weight.strata"}
    assert "is counted in all records" in found["protect.0.weight.strata"]


def test_a_private_table_has_sampling_errors_and_those_of_both_together(workplace: Workplace) -> None:
    make_weighted(workplace, epsilon="8", weight={"column": "weight", "sampling_error": True})
    workplace.raw["budget"]["epsilon"] = "8"
    workplace.raw["gates"] = [{"measure": "privacy_loss", "max": 8}, {"measure": "expected_error", "max": 5}]
    open_dp_account(8, adjacency="add_remove")
    bundle = Path(release(load_spec(workplace.write_spec())).path)
    survey, cells = pq.read_table(workplace.source).to_pandas(), found_in(bundle)
    error = cells.loc["_T", "weighted_count_sampling_error"]
    # About 250 squares of the largest weight, with noise of a standard error of 7: a fifth of its root is 12 of them.
    assert error == pytest.approx(np.sqrt((survey["weight"].clip(0, CAP) ** 2).sum()), rel=0.2)
    noise = cells.loc["_T", "weighted_count_standard_error"]
    assert cells.loc["_T", "weighted_count_combined_error"] == pytest.approx(np.hypot(noise, error))
    assert "weighted_count_sampling_error_standard_error" not in cells
    assert "income_weighted_mean_sampling_error" not in cells
    assert verified(bundle)["records"].checked
    said = predicate(bundle)["release"]
    roles = {column["name"]: column["role"] for column in said["columns"]}
    assert roles["weighted_count_combined_error"] == "figure"
    assert said["guarantee"]["parameters"]["weight"] == {"column": "weight", "sampling_error": True}
    assert any("that sampling errors fit the design" in each for each in said["guarantee"]["not_promised"])
    page = (bundle / "report.html").read_text(encoding="utf-8")
    assert "combined error has both together" in page
    assert "from noise and sampling together" in (bundle / "metadata/codebook.xml").read_text(encoding="utf-8")
    observed = (bundle / "tables/incomes.sdmx.csv").read_text(encoding="utf-8")
    stated = next(line for line in observed.splitlines() if ",WEIGHTED_COUNT_COMBINED_ERROR," in line)
    assert stated.endswith(",E,F,")


ERRORS = Layout(
    "t",
    {"area": ("n", "s")},
    (("area",), ()),
    tuple(
        Figure(f"weighted_count{end}", f"weighted_count{end}", None, False)
        for end in ("", "_sampling_error", "_combined_error")
    ),
    errors=True,
)


@pytest.mark.parametrize(
    ("sampling", "combined", "faults"),
    [
        ([4.0, None, 12.0], [5.0, None, 13.0], 0),
        (["4", "", "12"], ["5", "", "13"], 0),  # as a CSV file has them
        ([4.0, None, 12.0], [5.1, None, 13.0], 1),
        ([4.0, None, 12.0], [5.0, 3.0, 13.0], 1),  # noise alone is not both
        ([4.0, None, 12.0], [5.0, None, None], 1),
        ([0.0, None, 12.0], [3.0, None, 13.0], 1),  # none is not nothing
    ],
)
def test_whoever_verifies_a_table_sees_that_both_errors_are_in_the_combined_one(
    sampling: list[Any], combined: list[Any], faults: int
) -> None:
    table = pa.table(
        {
            "area": ["n", "s", "_T"],
            "weighted_count": [10.0, 20.0, 30.0],
            "weighted_count_standard_error": [3.0, 3.0, 5.0],
            "weighted_count_sampling_error": sampling,
            "weighted_count_combined_error": combined,
        }
    )
    assert ERRORS.columns == tuple(table.column_names)
    assert len(list(table_faults(table, ERRORS, 0))) == faults
