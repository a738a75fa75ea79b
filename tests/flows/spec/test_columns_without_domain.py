"""A column of which nobody knows a domain has a resolution instead, where no noise follows a domain."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from penstock.flows.planning import draw_up_plan
from penstock.flows.spec import load_spec
from penstock.mechanisms import statistics, table
from penstock.mechanisms.columns import Column
from penstock.mechanisms.numbers.grid import grid_of
from penstock.mechanisms.numbers.reach import reach_of, step_of
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.refusal import Refusal, SettingRefused, SpecRefused, TooFewRecords
from penstock.records.home import Home
from penstock.tasks.verification.bundle import verify_bundle
from tests.support.private_release import begun
from tests.support.workplace import Workplace, make_table

SALARY = Column(role="confidential", type="continuous", resolution="0.01")
DECLARED = {"salary": SALARY, "area": Column(role="quasi_identifier", type="nominal", categories=("N", "S"))}
FIGURES = [{"statistic": each, "of": "salary"} for each in ("sum", "mean", "median", "maximum")]
BDP = {"model": "bdp", "acknowledges": ["bdp"], "epsilon": "1000000", "adjacency": "bootstrap_replace"}


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**9))
def test_a_step_is_the_largest_power_of_two_within_the_resolution(resolution: Fraction) -> None:
    step = Fraction(2) ** step_of(resolution)
    assert step <= resolution < 2 * step
    low, high = reach_of(resolution, whole=False)
    assert -low == high == 2**29 * step > 2**28 * resolution


def test_the_grid_has_its_steps_on_either_side_of_0() -> None:
    grid = grid_of(SALARY, "salary")
    assert (grid.eta, grid.first, grid.steps) == (Fraction(1, 128), -(2**29), 2**30)
    assert SALARY.domain == (grid.low, grid.high) == (-(2.0**22), 2.0**22)
    found = grid.index(np.array([-(2.0**22), -0.01, 0.0, 1e4, 2.0**22]))
    assert (found + grid.first).tolist() == [-(2**29), -1, 0, 1_280_000, 2**29]
    whole = grid_of(Column(role="confidential", type="integer", resolution=1000), "x")
    assert (whole.eta, whole.whole) == (512, True)


def test_a_column_is_read_again_as_it_was_written() -> None:
    assert Column.model_validate(SALARY.model_dump(mode="json")) == SALARY
    assert hash(SALARY) != hash(SALARY.model_copy(update={"resolution": None}))
    plain = Column(role="confidential", type="continuous", domain=(0, 1))
    assert "resolution" not in plain.model_dump(mode="json")


@pytest.mark.parametrize(
    ("settings", "rule"),
    [
        ({"type": "integer", "resolution": "1/2"}, "resolution refused: must be a whole number above 0"),
        ({"type": "continuous", "resolution": 0}, "resolution refused: must be above 0"),
        (
            {"type": "continuous", "resolution": 1, "domain": (0, 1)},
            "resolution refused: must not be given beside a do",
        ),
        (
            {"type": "nominal", "resolution": 1, "categories": ("a", "b")},
            "resolution refused: must not be given for ty",
        ),
        ({"type": "integer", "resolution": 2**30}, "domain refused: must have whole bounds up to 2"),
        ({"role": "identifier", "resolution": 1}, "resolution refused: must not be given for role identifier"),
    ],
)
def test_a_resolution_that_does_not_fit_is_refused(settings: dict[str, Any], rule: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        Column(**{"role": "confidential", **settings})
    faults = [str(fault) for each in refusal.value.errors() for fault in each["ctx"]["faults"]]
    assert any(fault.startswith(rule) for fault in faults)


def test_a_float_is_no_exact_resolution() -> None:
    with pytest.raises(ValidationError, match="exact number"):
        Column(role="confidential", type="continuous", resolution=0.01)


def test_figures_of_salaries_without_bounds_have_noise_by_the_salaries_alone() -> None:
    """At this epsilon none is seen; the steps are those of the data: their width, in 1/128."""
    params = statistics.Params(figures=FIGURES, **BDP)  # type: ignore[arg-type]
    columns = {"salary": np.array([1000.0, 2500.5, 2_000_000.0]), "area": np.array([0, 1, 1])}
    found = statistics.protect(columns, DECLARED, params, seeded(1))
    assert found.hidden["steps 0 salary_sum"].tolist() == [128 * 1_999_000]
    assert found.columns["salary_median"] == pytest.approx(2500.5, abs=200)
    assert found.columns["salary_sum"] == pytest.approx(2_003_500.5, abs=200)
    assert any("0.01" in each or "1/100" in each for each in found.guarantee.assumptions)


def test_sums_of_the_largest_values_fit_into_64_bits() -> None:
    params = statistics.Params(figures=FIGURES, **{**BDP, "epsilon": "1/100000000"})  # type: ignore[arg-type]
    reach = float(SALARY.bounds[1])
    columns = {"salary": np.array([-reach, *[reach] * 999]), "area": np.zeros(1000, np.int64)}
    found = statistics.protect(columns, DECLARED, params, seeded(1))
    assert np.isfinite(found.columns["salary_sum"]).all()
    assert (2**32 - 1) * 2**29 < 2**62


def test_a_variance_needs_a_domain() -> None:
    params = statistics.Params(figures=[{"statistic": "variance", "of": "salary"}], **BDP)  # type: ignore[arg-type]
    with pytest.raises(SettingRefused, match="must not be variance of a column without a domain"):
        statistics.promise(params, DECLARED)


IDP = {"model": "idp", "adjacency": "from_D", "acknowledges": ["idp"], "epsilon": "1"}
INSIDE = [{"statistic": kind, "of": "salary"} for kind in ("median", "second_maximum")]
INSIDE.append({"statistic": "quantile", "of": "salary", "share": "1/2"})


def individual(values: list[float], **settings: Any) -> Any:
    params = statistics.Params(**{**IDP, "figures": INSIDE, **settings})
    columns = {"salary": np.array(values), "area": np.zeros(len(values), np.int64)}
    return statistics.protect(columns, DECLARED, params, seeded(1))


def test_gaps_between_salaries_are_all_that_individual_noise_follows() -> None:
    """In steps of 1/128, half of them for a median: no bound is met, however far it lies."""
    found = individual([1000.0, 2500.5, 4000.0, 2_000_000.0])
    # (x_4 - x_2) / 2; max(x_4 - x_3, x_3 - x_2); max(x_3 - x_2, x_2 - x_1).
    assert found.hidden["steps salary_median"].tolist() == [255_679_936]
    assert found.hidden["steps salary_second_maximum"].tolist() == [128 * 1_996_000]
    assert found.hidden["steps salary_quantile_1_2"].tolist() == [128 * 1500 + 64]
    assert any("0.01" in each or "1/100" in each for each in found.guarantee.assumptions)


@pytest.mark.parametrize(
    ("values", "settings"),
    [
        ([1.0, 2.0], {}),
        ([1.0, 2.0, 3.0], {"figures": [{"statistic": "quantile", "of": "salary", "share": "9/10"}]}),
        ([1.0, 2.0, 3.0], {"group_epsilons": ["1", "2"]}),
    ],
    ids=["two records", "the highest rank", "two replaced of three"],
)
def test_a_group_so_small_that_a_bound_would_be_met_is_refused(values: list[float], settings: dict[str, Any]) -> None:
    """Whether it is depends on the number of records alone, which is public: other values are refused alike."""
    for each in (values, [x * 1000 for x in values]):
        with pytest.raises(TooFewRecords, match=r"^groups refused: must have records on both sides of the figures"):
            individual(each, **settings)


@pytest.mark.parametrize("kind", ["sum", "mean", "variance", "minimum", "maximum"])
def test_figures_whose_individual_noise_follows_a_bound_need_a_domain(kind: str) -> None:
    params = statistics.Params(**{**IDP, "figures": [{"statistic": kind, "of": "salary"}]})
    with pytest.raises(SettingRefused, match="must be one of median, quantile, second_maximum"):
        statistics.promise(params, DECLARED)


def test_the_plan_says_that_its_bounds_say_little() -> None:
    told = statistics.MECHANISM.expect(statistics.Params(figures=FIGURES, **BDP), DECLARED, 10)  # type: ignore[arg-type]
    assert any(
        line.startswith("salary has no declared domain: its values are counted in steps of 1/128") for line in told
    )
    of_table = table.Params(
        dimensions=["area"],
        sums=["salary"],
        scale="per_cell",
        empty_cells="noise",
        **BDP,  # type: ignore[arg-type]
    )
    assert any("salary has no declared domain" in line for line in table.MECHANISM.expect(of_table, DECLARED, 10))
    assert any("4,194,304 from 0" in each for each in table.promise(of_table, DECLARED).assumptions)


def without_domain(workplace: Workplace, **settings: Any) -> None:
    make_table(workplace)
    figures = [{"statistic": each, "of": "income"} for each in ("sum", "mean", "median")]
    workplace.raw["protect"] = [
        {"mechanism": "statistics", "table": "incomes", "figures": figures, "epsilon": "1", **settings}
    ]
    workplace.raw["source"]["columns"]["income"] = {"role": "confidential", "type": "continuous", "resolution": "0.01"}


RELEASED = {"model": "bdp", "adjacency": "bootstrap_replace", "acknowledges": ["bdp"], "groups": ["education"]}


def test_a_release_without_a_domain_is_published_and_verifies(workplace: Workplace) -> None:
    without_domain(workplace, **RELEASED)
    with begun(workplace) as line:
        receipt = line.publish()
    found = pq.read_table(Path(receipt.path) / "tables/incomes.parquet").to_pydict()
    assert len(found["income_sum"]) == 4


def test_a_table_without_a_domain_is_published_too(workplace: Workplace) -> None:
    make_table(
        workplace,
        model="bdp",
        adjacency="bootstrap_replace",
        scale="per_cell",
        empty_cells="noise",
        acknowledges=["bdp"],
    )
    workplace.raw["source"]["columns"]["income"] = {"role": "confidential", "type": "continuous", "resolution": "0.01"}
    with begun(workplace) as line:
        assert Path(line.publish().path).is_dir()


def test_a_value_beyond_the_reach_stops_the_release_and_is_not_told(workplace: Workplace) -> None:
    without_domain(workplace, **RELEASED)
    workplace.raw["source"]["columns"]["income"]["resolution"] = "0.00001"
    with begun(workplace) as line, pytest.raises(Refusal) as refusal:
        line.protect()
    assert "inside the declared domain [-4096.0, 4096.0]" in str(refusal.value)


DP = {"model": "dp", "adjacency": "replace", "groups": ["education"]}
MORE_OR_LESS = {"model": "idp", "adjacency": "from_D_add_remove", "acknowledges": ["idp"]}


def test_an_individual_median_without_a_domain_is_released_and_verifies(workplace: Workplace) -> None:
    settings = {"model": "idp", "adjacency": "from_D", "groups": [], "acknowledges": ["idp"]}
    without_domain(workplace, **{**settings, "figures": [{"statistic": "median", "of": "income"}]})
    with begun(workplace) as line:
        receipt = line.publish()
    assert {finding.name for finding in verify_bundle(Path(receipt.path), Home.open().public_key_path)} >= {"records"}


@pytest.mark.parametrize(
    "entry",
    [
        {
            "mechanism": "statistics",
            "figures": [{"statistic": "median", "of": "income"}],
            "epsilon": "1",
            **MORE_OR_LESS,
        },
        {"mechanism": "statistics", "figures": [{"statistic": "sum", "of": "income"}], "epsilon": "1", **DP},
        {
            "mechanism": "table",
            "dimensions": ["region"],
            "sums": ["income"],
            "model": "dp",
            "epsilon": "1",
            "adjacency": "add_remove",
        },
        {"mechanism": "probabilistic_k_anonymity", "method": "ir_swap", "k": 20},
        {"mechanism": "dp_microaggregation", "epsilon": "1", "mode": "marginals", "k": 20, "adjacency": "replace"},
    ],
)
def test_whatever_follows_a_domain_is_refused_without_one(workplace: Workplace, entry: dict[str, Any]) -> None:
    without_domain(workplace, **RELEASED)
    workplace.raw["protect"] = [entry]
    with pytest.raises(SpecRefused, match=r"source\.columns\.income\.resolution refused: must not stand in place of"):
        draw_up_plan(load_spec(workplace.write_spec()))


def test_cells_that_do_not_look_at_the_column_may_stand_beside(workplace: Workplace) -> None:
    without_domain(workplace, **RELEASED)
    counts = {"mechanism": "table", "table": "counts", "dimensions": ["region"], "model": "dp", "epsilon": "1"}
    workplace.raw["protect"].append({**counts, "adjacency": "replace"})
    workplace.raw["budget"] = {**workplace.raw["budget"], "epsilon": "2"}
    assert len(draw_up_plan(load_spec(workplace.write_spec())).entries) == 2
