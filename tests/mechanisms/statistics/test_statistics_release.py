"""Whole releases of statistics: what comes out, what is told about it, and what is not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.mechanisms.columns import Column
from penstock.mechanisms.noise.laplace import discrete_laplace
from penstock.mechanisms.randomness import seeded, system
from penstock.mechanisms.refusal import ColumnMissing, ScaleZero, SettingRefused, TableEmpty, ValueMissing
from penstock.mechanisms.statistics import Params, _mechanism, chosen_facts, layout, promise, protect
from tests.support.order import examples

DECLARED = {
    "person": Column(role="identifier"),
    "region": Column(role="quasi_identifier", type="nominal", categories=("N", "S", "E")),
    "sex": Column(role="quasi_identifier", type="nominal", categories=("f", "m")),
    "income": Column(role="confidential", type="continuous", domain=(-500, 4000)),
    "age": Column(role="quasi_identifier", type="integer", domain=(0, 120)),
}
# Noise of this size is 0 with a probability that no test will live to see otherwise; box noise keeps a small core.
SILENT = "1000000000"
KINDS = ["sum", "mean", "variance", "median", "minimum", "maximum", "second_maximum"]


def figures(*kinds, of="age"):
    return [{"statistic": kind, "of": of} for kind in kinds]


def quantile(share, of="age"):
    return {"statistic": "quantile", "of": of, "share": share}


def params(**chosen):
    base = {"figures": figures("median"), "model": "dp", "epsilon": "1", "adjacency": "replace"}
    return Params.model_validate({**base, **chosen})


def idp(**chosen):
    return params(**{"model": "idp", "adjacency": "from_D", "acknowledges": ["idp"], **chosen})


def survey(rows=400, seed=1):
    chance = np.random.default_rng(seed)
    return {
        "region": np.array(["N", "S", "E"], dtype=object)[chance.integers(0, 3, rows)],
        "sex": chance.integers(0, 2, rows),
        "income": chance.random(rows) * 4500 - 500,
        "age": chance.integers(0, 121, rows),
    }


COLUMNS = survey()


def by_hand(kind, values):
    ordered = np.sort(values)
    return {
        "sum": ordered.sum(),
        "mean": ordered.mean(),
        "variance": ordered.var(),
        "median": np.median(ordered),
        "minimum": ordered[0],
        "maximum": ordered[-1],
        "second_maximum": ordered[-2],
    }[kind]


def groups_by_hand(columns):
    codes = {"N": 0, "S": 1, "E": 2}
    region = np.array([codes[name] for name in columns["region"]])
    return [(region == r) & (columns["sex"] == s) for r in range(3) for s in range(2)]


# The exponential mechanism draws a middle value where the median lies between two.
TOLERANCE = {"mean": 0.5, "variance": 40, "median": 2}


@pytest.mark.parametrize("adjacency", ["replace", "add_remove"])
def test_almost_without_noise_figures_are_those_of_the_records_group_by_group(adjacency):
    chosen = params(
        groups=["region", "sex"],
        figures=[{"statistic": "count"}, *figures(*KINDS)],
        adjacency=adjacency,
        epsilon=SILENT,
    )
    table = protect(COLUMNS, DECLARED, chosen, seeded(1)).columns
    groups = groups_by_hand(COLUMNS)
    assert table["region"].tolist() == [0, 0, 1, 1, 2, 2]
    assert table["sex"].tolist() == [0, 1, 0, 1, 0, 1]
    assert table["count"].tolist() == [int(group.sum()) for group in groups]
    for kind in KINDS:
        wanted = [by_hand(kind, COLUMNS["age"][group]) for group in groups]
        assert table[f"age_{kind}"] == pytest.approx(wanted, abs=TOLERANCE.get(kind, 1e-9))


def test_almost_without_noise_figures_of_all_records_are_those_of_the_records():
    chosen = params(figures=[*figures(*KINDS), quantile("9/10")], epsilon=SILENT)
    table = protect(COLUMNS, DECLARED, chosen, seeded(1)).columns
    for kind in KINDS:
        assert table[f"age_{kind}"] == pytest.approx([by_hand(kind, COLUMNS["age"])], abs=TOLERANCE.get(kind, 1e-9))
    assert table["age_quantile_9_10"][0] == np.sort(COLUMNS["age"])[360 - 1]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "second_maximum"])
def test_almost_without_noise_the_figures_of_idp_are_those_of_the_records_group_by_group(kind):
    chosen = idp(
        groups=["region", "sex"],
        figures=figures(kind, of="income"),
        adjacency="from_D_within_cell",
        epsilon=SILENT,
    )
    table = protect(COLUMNS, DECLARED, chosen, seeded(1)).columns
    wanted = [by_hand(kind, COLUMNS["income"][group]) for group in groups_by_hand(COLUMNS)]
    # Half a step of the grid for each value, and of the coarser grid of a variance.
    near = {"sum": 0.2, "variance": 60}.get(kind, 0.004)
    assert table[f"income_{kind}"] == pytest.approx(wanted, abs=near)


@pytest.mark.parametrize(
    "chosen",
    [
        params(
            groups=["region"], figures=[{"statistic": "count"}, *figures("sum", "mean"), *figures("sum", of="income")]
        ),
        params(figures=[quantile("1/4", "income"), *figures("maximum")]),
        idp(figures=figures("sum", "mean", "variance", of="income")),
    ],
    ids=["groups", "one group", "idp"],
)
def test_a_table_has_the_columns_and_rows_of_its_layout(chosen):
    drawn = layout(chosen, DECLARED)
    table = protect(COLUMNS, DECLARED, chosen, seeded(1))
    assert tuple(table.columns) == drawn.columns
    assert all(values.shape == (drawn.rows,) for values in table.columns.values())
    for figure in drawn.figures:
        assert table.columns[figure.name].dtype == (np.int64 if figure.whole else np.float64)
    assert all(table.columns[name].dtype == np.int32 for name in drawn.dimensions)
    assert table.chosen == chosen_facts(chosen, DECLARED, 400)
    assert table.guarantee == promise(chosen, DECLARED)


def test_standard_errors_are_those_of_the_noise_and_empty_where_none_is_known():
    chosen = params(figures=figures("sum", "median", "maximum"), epsilon="3", noise="laplace")
    table = protect(COLUMNS, DECLARED, chosen, seeded(1)).columns
    # Laplace noise of scale 120: sqrt(2) * 120, less a quarter of a step.
    assert table["age_sum_standard_error"][0] == pytest.approx(2**0.5 * 120, rel=1e-4)
    assert np.isnan(table["age_median_standard_error"]).all()
    assert np.isnan(table["age_maximum_standard_error"]).all()


def test_errors_that_are_the_same_everywhere_are_stated_beforehand():
    chosen = params(groups=["sex"], figures=[{"statistic": "count"}, *figures("sum", "mean")], epsilon="6")
    stated = chosen_facts(chosen, DECLARED, 400)
    table = protect(COLUMNS, DECLARED, chosen, seeded(1)).columns
    assert list(stated["figures"]) == ["count", "age_sum"]
    assert stated["figures"]["age_sum"]["standard_error"] == table["age_sum_standard_error"][0]
    assert stated["figures"]["age_sum"]["expected_error"] == pytest.approx(table["age_sum_standard_error"][0] / 120)
    assert stated["figures"]["count"]["expected_error"] == stated["figures"]["count"]["standard_error"]


def test_kind_and_size_of_the_noise_are_public_under_dp():
    chosen = params(
        groups=["sex"],
        figures=[{"statistic": "count"}, *figures("sum", "mean", "median")],
        epsilon="8",
        noise="laplace",
    )
    stated = chosen_facts(chosen, DECLARED, 400)
    assert (stated["table"], stated["groups"]) == ("statistics", 2)
    count, total, mean, median = stated["measured"]
    assert count == {"figure": "count", "epsilon": "1", "noise": "laplace", "grid": "1", "half_widths": [1]}
    assert total["half_widths"] == [120]
    assert (mean["noise"], mean["half_widths"]) == ("box", [1, 60])
    assert (median["noise"], median["score_sensitivity"]) == ("exponential", 1)


def test_nothing_public_depends_on_the_data_or_on_their_number():
    for chosen in (
        params(groups=["sex"], figures=[{"statistic": "count"}, *figures(*KINDS)]),
        idp(figures=figures("sum", "variance")),
    ):
        assert chosen_facts(chosen, DECLARED, 3) == chosen_facts(chosen, DECLARED, 10**6)
        few, many = (protect(survey(n, seed=n), DECLARED, chosen, seeded(1)) for n in (50, 500))
        assert few.chosen == many.chosen


def test_the_size_of_the_noise_is_secret_under_idp():
    table = protect(COLUMNS, DECLARED, idp(figures=figures("sum", "variance", of="income")), seeded(1))
    assert [sorted(facts) for facts in table.chosen["measured"]] == [["epsilon", "figure", "grid", "noise"]] * 2
    assert "figures" not in table.chosen
    assert set(table.hidden) == {"steps income_sum", "steps income_variance", "lattice income_variance"}
    assert not any("error" in name for name in table.columns)


def test_nothing_secret_is_kept_under_dp():
    assert protect(COLUMNS, DECLARED, params(), seeded(1)).hidden == {}


def test_groups_without_records_have_a_row_like_others():
    only_north = {name: values[COLUMNS["region"] == "N"] for name, values in COLUMNS.items()}
    chosen = params(groups=["region"], figures=[{"statistic": "count"}, *figures(*KINDS), quantile("1/2")])
    table = protect(only_north, DECLARED, chosen, seeded(1)).columns
    for name, values in table.items():
        assert len(values) == 3
        assert name.endswith("error") or np.isfinite(values).all()
    assert set(table["count_standard_error"]) == {table["count_standard_error"][0]}


def test_values_outside_the_domain_are_clamped():
    wild = {**COLUMNS, "age": np.where(COLUMNS["age"] > 60, 10_000, -10_000)}
    table = protect(wild, DECLARED, params(figures=figures("minimum", "maximum"), epsilon=SILENT), seeded(1)).columns
    assert (table["age_minimum"][0], table["age_maximum"][0]) == (0, 120)


@pytest.mark.parametrize("chosen", [params(figures=figures(*KINDS)), idp(figures=figures("sum", "mean"))])
def test_the_same_seed_gives_the_same_table_and_the_input_stays_as_it_was(chosen):
    before = {name: values.copy() for name, values in COLUMNS.items()}
    one, two = (protect(COLUMNS, DECLARED, chosen, seeded(3)).columns for _ in range(2))
    for name in one:
        assert np.array_equal(one[name], two[name], equal_nan=True)
    for name, values in COLUMNS.items():
        assert np.array_equal(values, before[name])


def test_a_release_may_draw_from_the_system():
    chosen = params(groups=["sex"], figures=[{"statistic": "count"}, *figures(*KINDS)])
    assert len(protect(COLUMNS, DECLARED, chosen, system()).columns["count"]) == 2
    assert len(protect(COLUMNS, DECLARED, idp(figures=figures("sum")), system()).columns["age_sum"]) == 1


def test_text_and_codes_of_groups_give_the_same_table():
    codes = {**COLUMNS, "region": np.array([("N", "S", "E").index(r) for r in COLUMNS["region"]])}
    chosen = params(groups=["region"], figures=figures("sum", "median"))
    one, two = (protect(columns, DECLARED, chosen, seeded(3)).columns for columns in (COLUMNS, codes))
    assert all(np.array_equal(one[name], two[name], equal_nan=True) for name in one)


@settings(max_examples=examples(40))
@given(
    st.integers(1, 30),
    st.integers(0, 2**32),
    st.sampled_from(["replace", "add_remove"]),
    st.booleans(),
    st.sampled_from(["1/100", "1", "50"]),
)
def test_every_figure_lies_where_it_can(rows, seed, adjacency, grouped, epsilon):
    chosen = params(
        groups=["region"] if grouped else [],
        figures=[*figures(*KINDS[1:], of="income"), quantile("1/10", "income")],
        adjacency=adjacency,
        epsilon=epsilon,
    )
    table = protect(survey(rows, seed), DECLARED, chosen, seeded(seed)).columns
    for figure in layout(chosen, DECLARED).figures:
        low, high = (0, 4500**2 / 4) if figure.statistic == "variance" else (-500, 4000)
        assert ((table[figure.name] >= low) & (table[figure.name] <= high)).all()


# Guarantees


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        (params(), "whichever record is replaced by any other"),
        (params(adjacency="add_remove", epsilon="1/2"), "whichever record is added or removed"),
        (params(rows_per_unit=3), "whichever individual's records (all of them together, by equally many others)"),
        (idp(), "whichever record of the actual data set is replaced by any other that"),
        (idp(adjacency="from_D_within_cell", groups=["region"]), "replaced by any other of the same group"),
    ],
)
def test_the_guarantee_says_what_is_compared(chosen, words):
    guarantee = promise(chosen, DECLARED)
    assert words in guarantee.statement
    assert (guarantee.model, guarantee.adjacency) == (chosen.model, chosen.adjacency)
    assert guarantee.parameters["epsilon"] == str(chosen.epsilon)
    assert guarantee.unit == ("individual" if chosen.rows_per_unit else "row")


def test_fractions_are_written_as_exponents_in_brackets():
    assert "e^(1/2)" in promise(params(epsilon="1/2"), DECLARED).statement
    assert "e^2." in promise(params(epsilon="2"), DECLARED).statement


def test_the_guarantee_of_idp_says_what_it_does_not_promise():
    guarantee = promise(idp(), DECLARED)
    assert guarantee.postprocessing == "data_independent_only"
    assert (
        "holds conditionally on the noise scale; there is no bound on what the scale itself reveals"
        in guarantee.statement
    )
    told = " ".join(guarantee.not_promised)
    for words in ("(0, 0, 0)", "(0, 0, 1)", "repeat themselves", "only because the mechanism is fixed"):
        assert words in told
    assert {"size of the noise", "local sensitivity"} <= set(guarantee.secret)
    assert "size of the noise" not in guarantee.public
    assert guarantee.audit[-1] == "scale_covers_data"


def test_the_guarantee_of_dp_lets_the_noise_be_known_and_anything_be_made_of_the_table():
    guarantee = promise(params(), DECLARED)
    assert guarantee.postprocessing == "any"
    assert "size of the noise" in guarantee.public
    assert guarantee.audit == ("columns_as_declared", "rows_as_declared", "epsilon_spent", "within_bounds")


def test_the_number_of_records_is_public_exactly_where_it_stays_the_same():
    for chosen in (params(), params(adjacency="add_remove"), idp()):
        public = "number of records" in promise(chosen, DECLARED).public
        assert public == (chosen.adjacency != "add_remove")


# Refusals


def test_bad_data_are_refused():
    with pytest.raises(ColumnMissing):
        protect({"age": COLUMNS["age"]}, DECLARED, params(), seeded(1))
    with pytest.raises(TableEmpty):
        protect({name: values[:0] for name, values in COLUMNS.items()}, DECLARED, params(), seeded(1))
    with pytest.raises(ValueMissing):
        protect({**COLUMNS, "income": np.full(400, np.nan)}, DECLARED, params(), seeded(1))
    with pytest.raises(SettingRefused):
        protect(COLUMNS, DECLARED, params(figures=[{"statistic": "count"}]), seeded(1))


def test_more_records_than_sums_can_hold_are_refused(monkeypatch):
    monkeypatch.setattr(_mechanism, "MOST_RECORDS", 399)
    with pytest.raises(SettingRefused, match="source refused: must have fewer than"):
        protect(COLUMNS, DECLARED, params(), seeded(1))


def test_ties_that_would_be_printed_exactly_are_refused_under_idp_and_not_under_dp():
    equal = {**COLUMNS, "age": np.full(400, 30)}
    with pytest.raises(ScaleZero, match="age_median refused"):
        protect(equal, DECLARED, idp(), seeded(1))
    assert protect(equal, DECLARED, params(epsilon="50"), seeded(1)).columns["age_median"].tolist() == [30]


def test_the_noise_of_idp_is_that_of_the_settings():
    """One sum, its noise drawn again by hand from the same seed."""
    table = protect(COLUMNS, DECLARED, idp(figures=figures("sum"), epsilon="1/3"), seeded(9))
    (steps,) = table.hidden["steps age_sum"].tolist()
    noise = discrete_laplace(steps, Fraction(1, 3), 1, seeded(9))
    assert table.columns["age_sum"].tolist() == (COLUMNS["age"].sum() + noise).tolist()
