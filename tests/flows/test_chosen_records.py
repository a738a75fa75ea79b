"""`source.where`: a release of some of the records, chosen by public conditions."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.flows.preview import preview
from penstock.flows.release import release
from penstock.flows.spec import load_spec
from penstock.flows.spec._where import conditions_of
from penstock.flows.spec.data_description import load_description
from penstock.mechanisms.columns import Column
from penstock.mechanisms.questions import satisfied
from penstock.mechanisms.refusal import Refusal, SpecRefused
from penstock.records import open_records
from penstock.records.home import Home
from penstock.tasks.verification.bundle import verify_bundle
from tests.support.workplace import Workplace, make_table, make_units, open_dp_account, predicate

WHERE = "region is North or South and age from 30 below 65"
AGE = {"role": "confidential", "type": "integer", "domain": [16, 100]}


def make_chosen(workplace: Workplace, where: str = WHERE, **settings: Any) -> None:
    make_table(workplace, dimensions=["education"], sums=None, means=["income"], **settings)
    workplace.raw["source"]["columns"]["age"] = AGE
    workplace.raw["source"]["where"] = where


def make_exact(workplace: Workplace, where: str = WHERE) -> None:
    make_chosen(workplace, where, model="k_anon", epsilon=None, adjacency=None, k=2)
    workplace.raw["gates"] = [{"measure": "smallest_frequency", "min": 2}]


def those(workplace: Workplace) -> Any:
    survey = pq.read_table(workplace.source).to_pandas()
    return survey[survey["region"].isin(["North", "South"]) & survey["age"].between(30, 64)]


def cells(receipt: Any) -> Any:
    return pq.read_table(Path(receipt.path) / "tables/incomes.parquet").to_pandas().set_index("education")


def test_an_exact_table_is_that_of_the_chosen_records(workplace: Workplace) -> None:
    make_exact(workplace)
    receipt = release(load_spec(workplace.write_spec()))
    verify_bundle(Path(receipt.path), Home.open().public_key_path)
    found, expected = cells(receipt), those(workplace)
    assert found.loc["_T", "count"] == len(expected)
    assert found.loc["master", "count"] == (expected["education"] == "master").sum()
    assert found.loc["_T", "income_mean"] == pytest.approx(expected["income"].clip(0, 100_000).mean())
    guarantee = predicate(Path(receipt.path))["release"]["guarantee"]
    assert f"which records it is about: {WHERE}" in guarantee["public"]
    assert f"hiding of anybody in the data that they satisfy: {WHERE}" in guarantee["not_promised"]
    page = (Path(receipt.path) / "report.html").read_text(encoding="utf-8")
    assert f"<dt>Only where</dt><dd>{WHERE}</dd>" in page


def test_a_private_table_of_some_records_hides_how_many_they_are(workplace: Workplace) -> None:
    make_chosen(workplace, adjacency="add_remove", epsilon="100")
    workplace.raw["budget"]["epsilon"] = "100"
    workplace.raw["gates"] = [{"measure": "privacy_loss", "max": 100}]
    open_dp_account(100, adjacency="add_remove")
    receipt = release(load_spec(workplace.write_spec()))
    assert cells(receipt).loc["_T", "count"] == pytest.approx(len(those(workplace)), abs=5)
    [cost] = open_records().ledger.book("survey").costs
    assert sorted(cost.claim.about or ()) == ["age", "education", "income", "region"]
    guarantee = predicate(Path(receipt.path))["release"]["guarantee"]
    assert "number of records" not in guarantee["public"]
    assert not any("satisfy" in limit for limit in guarantee["not_promised"])


def test_no_record_at_all_is_released_like_any_other_number_where_the_number_is_secret(workplace: Workplace) -> None:
    """A refusal would tell that nobody satisfies the conditions, for nothing."""
    make_chosen(workplace, "age from 99.5", adjacency="add_remove")
    workplace.raw["source"]["columns"]["age"] = {**AGE, "type": "continuous", "outside": "clamp"}
    survey = pq.read_table(workplace.source)
    assert int(np.max(survey["age"].to_numpy())) < 99
    open_dp_account(3, adjacency="add_remove")
    receipt = release(load_spec(workplace.write_spec()))
    assert len(cells(receipt)) == 5
    verify_bundle(Path(receipt.path), Home.open().public_key_path)


def test_statistics_of_no_record_at_all_are_released_too(workplace: Workplace) -> None:
    make_chosen(workplace, "age from 99.5", adjacency="add_remove")
    workplace.raw["source"]["columns"]["age"] = {**AGE, "type": "continuous", "outside": "clamp"}
    figures = [
        {"statistic": "count"},
        {"statistic": "median", "of": "income"},
        {"statistic": "maximum", "of": "income"},
        {"statistic": "variance", "of": "income"},
    ]
    workplace.raw["protect"] = [
        {
            "mechanism": "statistics",
            "table": "incomes",
            "groups": ["education"],
            "figures": figures,
            "model": "dp",
            "epsilon": "1",
            "adjacency": "add_remove",
        }
    ]
    open_dp_account(3, adjacency="add_remove")
    receipt = release(load_spec(workplace.write_spec()))
    assert len(cells(receipt)) == 4
    verify_bundle(Path(receipt.path), Home.open().public_key_path)


def test_no_record_at_all_is_refused_where_nothing_hides_it(workplace: Workplace) -> None:
    make_exact(workplace, "age from 99")
    with pytest.raises(Refusal) as refused:
        release(load_spec(workplace.write_spec()))
    assert (refused.value.code, refused.value.faults[0].field) == ("table-empty", "source.where")
    assert workplace.bundles() == []


def test_all_records_of_a_unit_are_chosen_one_by_one(workplace: Workplace) -> None:
    make_chosen(workplace, adjacency="add_remove", epsilon="100")
    make_units(workplace, 1)
    workplace.raw["budget"]["epsilon"] = "100"
    workplace.raw["gates"] = [{"measure": "privacy_loss", "max": 100}]
    open_dp_account(100, adjacency="add_remove", unit="individual")
    receipt = release(load_spec(workplace.write_spec()))
    units = those(workplace)["person_id"].nunique()
    assert cells(receipt).loc["_T", "count"] == pytest.approx(units, abs=5)


def test_records_are_released_that_satisfy_the_conditions(workplace: Workplace) -> None:
    workplace.raw["source"]["where"] = "region is North and age from 30 below 65"
    workplace.raw["source"]["columns"]["region"]["categories"] = ["North", "South", "East", "West"]
    receipt = release(load_spec(workplace.write_spec()))
    released = pq.read_table(Path(receipt.path) / "data.parquet").to_pandas()
    survey = pq.read_table(workplace.source).to_pandas()
    expected = survey[(survey["region"] == "North") & survey["age"].between(30, 64)]
    assert sorted(released["income"]) == sorted(expected["income"])
    assert set(released["region"].astype(str)) == {"North"}


def test_other_conditions_are_another_table_of_the_same_records(workplace: Workplace) -> None:
    make_chosen(workplace, adjacency="add_remove")
    open_dp_account(3, adjacency="add_remove")
    first = release(load_spec(workplace.write_spec()))
    workplace.raw["name"] = "again"
    assert release(load_spec(workplace.write_spec())).repeats == first.run
    workplace.raw["source"]["where"] = "region is North and age from 30 below 65"
    assert release(load_spec(workplace.write_spec())).repeats is None
    costs = open_records().ledger.book("survey").costs
    assert len({cost.claim.values for cost in costs}) == 1
    assert [cost.claim.epsilon for cost in costs] == [1, None, 1]


def test_the_fewest_records_are_asked_of_the_source_and_not_of_those_that_are_chosen(workplace: Workplace) -> None:
    make_exact(workplace)
    chosen = len(those(workplace))
    workplace.raw["validate"] = {"min_rows": chosen + 1}
    release(load_spec(workplace.write_spec()))
    workplace.raw |= {"name": "more", "validate": {"min_rows": 10**6}}
    with pytest.raises(Refusal) as refused:
        release(load_spec(workplace.write_spec()))
    assert refused.value.code == "too-few-records"


def faults(workplace: Workplace) -> list[tuple[str, str]]:
    with pytest.raises(SpecRefused) as refused:
        load_spec(workplace.write_spec())
    return [(fault.field, fault.rule) for fault in refused.value.faults]


@pytest.mark.parametrize(
    ("where", "rule"),
    [
        ("region", "needs is, from or below, at character 7"),
        ("region is Nowhere", "declared categories only"),
        ("person_id is p1", "neither identifier nor weight"),
        ("age is 30", "must"),
        ("age from 0", "declared domain"),
        ("age from 65 below 30", "above at_least"),
        ("region is North; drop table", "needs where, and, or, by, or the end"),
        (" and ".join(["region is North"] * 21), "at most 20 conditions"),
    ],
)
def test_conditions_that_cannot_be_are_refused(workplace: Workplace, where: str, rule: str) -> None:
    make_exact(workplace, where)
    [(field, told)] = list(dict.fromkeys(faults(workplace)))[:1]
    assert field.startswith("source.where")
    assert rule in told


@pytest.mark.parametrize(
    "settings",
    [{"adjacency": "replace"}, {"model": "bdp", "adjacency": "bootstrap_add_remove", "acknowledges": ["bdp"]}],
)
def test_a_promise_that_takes_the_number_as_public_is_refused(workplace: Workplace, settings: dict[str, Any]) -> None:
    make_chosen(workplace, **settings)
    assert any(field == "source.where" and "number of records as public" in rule for field, rule in faults(workplace))


def test_parts_are_refused(workplace: Workplace) -> None:
    make_exact(workplace)
    workplace.raw["run"] = {"memory": "1 GB"}
    assert any(field == "source.where" and "in parts" in rule for field, rule in faults(workplace))


def test_questions_have_conditions_of_their_own(workplace: Workplace) -> None:
    make_exact(workplace)
    source, budget = workplace.raw["source"], {"dataset": "survey"}
    questions = {"adjacency": "add_remove"}
    workplace.raw = {"name": "survey", "source": source, "budget": budget, "questions": questions}
    with pytest.raises(SpecRefused) as refused:
        load_description(workplace.write_spec())
    assert [fault.field for fault in refused.value.faults] == ["source.where"]


def test_a_plan_counts_nobody_who_satisfies_the_conditions(workplace: Workplace) -> None:
    make_exact(workplace)
    told = preview(load_spec(workplace.write_spec()), count=True)
    assert any("How many of its records satisfy source.where is not counted." in sentence for sentence in told["cost"])
    assert not any("rows" in line and "at least" in line for line in told["validation"])


DECLARED = {
    "age": Column(role="confidential", type="integer", domain=(0, 120), missing="category"),
    "pay": Column(role="confidential", type="continuous", domain=(0, 10), outside="clamp"),
    "sex": Column(role="quasi_identifier", type="nominal", categories=("F", "M", "X"), missing="category"),
}


@given(
    st.lists(
        st.tuples(
            st.one_of(st.just(float("nan")), st.integers(0, 120).map(float)),
            st.one_of(st.just(float("nan")), st.floats(-5, 15)),
            st.integers(-1, 2),
        ),
        min_size=1,
        max_size=20,
    ),
    st.integers(0, 119),
    st.fractions(0, 9, max_denominator=7),
)
def test_the_chosen_records_are_those_of_which_the_conditions_hold(
    rows: list[tuple[float, float, int]], first: int, least: Fraction
) -> None:
    """One record at a time; a number outside its domain counts as the nearest bound, a missing value satisfies
    nothing."""
    where = f"age from {first} below 120 and pay from {least} and sex is F or X"
    columns = {name: np.array([row[place] for row in rows]) for place, name in enumerate(("age", "pay", "sex"))}
    found = satisfied(conditions_of(where), columns, DECLARED)
    expected = [
        age == age
        and pay == pay
        and first <= age < 120
        and Fraction(min(max(pay, 0.0), 10.0)) >= least
        and sex in (0, 2)
        for age, pay, sex in rows
    ]
    assert found.tolist() == expected
