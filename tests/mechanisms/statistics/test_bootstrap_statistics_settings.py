"""What may be asked of statistics under bootstrap differential privacy, and what is said about it."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest

from penstock.mechanisms.columns import Column
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.refusal import ScaleZero, SettingRefused, TooFewRecords
from penstock.mechanisms.statistics import Params, chosen_facts, faults, layout, promise, protect
from penstock.mechanisms.statistics._bootstrap_settings import membership
from penstock.mechanisms.statistics._expect import expect
from penstock.mechanisms.statistics._explain import advice, treatments
from penstock.mechanisms.statistics._mechanism import MOST_RECORDS, takes_units
from penstock.mechanisms.statistics._settings import epsilons, prints_number, touched

DECLARED = {
    "region": Column(role="quasi_identifier", type="nominal", categories=("N", "S", "E")),
    "sex": Column(role="quasi_identifier", type="nominal", categories=(1, 2)),
    "ill": Column(role="confidential", type="nominal", categories=("no", "yes")),
    "age": Column(role="confidential", type="integer", domain=(0, 100)),
}
COUNT = {"statistic": "count"}
KINDS = ["sum", "mean", "variance", "median", "minimum", "maximum", "second_maximum"]
COLUMNS = {
    "region": np.array([0, 0, 0, 1, 1, 1]),
    "sex": np.array([0, 1, 0, 1, 0, 1]),
    "ill": np.array([0, 0, 1, 1, 0, 1]),
    "age": np.array([1, 40, 90, 7, 30, 31]),
}


def figures(*kinds):
    return [COUNT if kind == "count" else {"statistic": kind, "of": "age"} for kind in kinds]


def bdp(**chosen):
    base = {"figures": figures("sum"), "model": "bdp", "epsilon": "1", "adjacency": "bootstrap_replace"}
    return Params.model_validate({**base, "acknowledges": ["bdp"], **chosen})


def refused(chosen, declared=DECLARED):
    return [str(fault) for fault in faults(chosen, declared)]


WITHIN = {"adjacency": "bootstrap_within_cell", "groups": ["region"]}
MEMBERSHIPS = {
    "all, replaced": ({}, "fixed", 1, True),
    "all, more or less": ({"adjacency": "bootstrap_add_remove"}, "counted", 1, False),
    "groups, replaced": ({"groups": ["region"]}, "moving", 2, False),
    "groups, more or less": ({"groups": ["region"], "adjacency": "bootstrap_add_remove"}, "moving", 1, False),
    "within groups": (WITHIN, "fixed", 1, False),
    "one group": ({"only": {"region": "N", "sex": 1}}, "chosen", 1, False),
}


@pytest.mark.parametrize("case", MEMBERSHIPS)
def test_what_is_public_about_groups_follows_from_the_adjacency(case):
    chosen, what, groups, number_is_public = MEMBERSHIPS[case]
    asked = bdp(**chosen)
    assert faults(asked, DECLARED) == []
    assert (membership(asked), touched(asked), prints_number(asked)) == (what, groups, number_is_public)
    assert sum(epsilons(asked).values()) * groups == 1
    assert not takes_units(asked)


def test_a_mean_of_one_more_or_less_takes_the_source_as_all_of_its_data_set_and_a_sum_does_not():
    """Of a part of a data set, data sets made of its records may hold two: then a mean moves by half of the width."""
    for kinds, whole in ((("sum",), False), (("count", "sum"), False), (("sum", "mean"), True), (("median",), True)):
        assert prints_number(bdp(figures=figures(*kinds), adjacency="bootstrap_add_remove")) == whole
        assert not prints_number(bdp(figures=figures(*kinds), adjacency="bootstrap_add_remove", groups=["region"]))
        assert not prints_number(bdp(figures=figures(*kinds), only={"region": "N"}))


def test_specs_without_a_chosen_group_are_written_as_before():
    assert "only" not in bdp().model_dump(mode="json")
    assert bdp(only={"region": "N"}).model_dump(mode="json")["only"] == {"region": "N"}


def test_one_group_is_a_table_of_one_row_that_names_it():
    drawn = layout(bdp(only={"region": "S", "sex": 2}, figures=figures("count", "sum")), DECLARED)
    assert drawn.dimensions == {"region": ("S",), "sex": ("2",)}
    assert (drawn.rows, drawn.columns) == (1, ("region", "sex", "count", "age_sum"))


def test_figures_of_one_group_are_those_of_its_records():
    asked = bdp(only={"region": "N", "sex": 1}, figures=figures("count", "sum", *KINDS[3:]), epsilon="100000")
    table = protect(COLUMNS, DECLARED, asked, seeded(1))
    assert {name: values.tolist() for name, values in table.columns.items()} == {
        "region": [0],
        "sex": [0],
        "count": [2],
        "age_sum": [91],
        "age_median": [45.5],
        "age_minimum": [1],
        "age_maximum": [90],
        "age_second_maximum": [1],
    }
    assert table.hidden["steps 0 age_sum"].tolist() == [90]


def test_with_hardly_any_noise_every_figure_of_every_group_is_that_of_its_records():
    chosen = [bdp(figures=figures(*KINDS), epsilon="1000000", **settings) for settings in ({}, WITHIN)]
    chosen += [bdp(figures=figures(*KINDS, "count"), epsilon="1000000", groups=["region"])]
    for asked in chosen:
        columns = {**COLUMNS, "region": np.array([0, 0, 0, 1, 1, 2]), "age": np.array([1, 40, 90, 7, 30, 31])}
        if asked.adjacency == "bootstrap_within_cell":
            columns = {name: np.append(values, values[-1:] + (name == "age")) for name, values in columns.items()}
        table = protect(columns, DECLARED, asked, seeded(1)).columns
        for group in range(3 if asked.groups else 1):
            x = columns["age"][columns["region"] == group] if asked.groups else columns["age"]
            assert table["age_sum"][group] == x.sum()
            assert table["age_mean"][group] == pytest.approx(x.mean(), abs=1e-3)
            assert table["age_variance"][group] == pytest.approx(x.var(), abs=0.1)
            assert table["age_median"][group] == np.median(x)
            assert table["age_second_maximum"][group] == np.sort(x)[-2:][0]


BAD = {
    "an adjacency of differential privacy": (bdp(adjacency="replace"), "adjacency refused: must be one of bootstrap"),
    "within cells without groups": (
        bdp(adjacency="bootstrap_within_cell"),
        "adjacency refused: must not speak of groups where none are named",
    ),
    "within groups that are not public": (
        bdp(adjacency="bootstrap_within_cell", groups=["ill"]),
        "groups refused: must not be confidential under bootstrap_within_cell",
    ),
    "not acknowledged": (
        bdp(acknowledges=[]),
        r"acknowledges refused: .*bounds nothing of what the size of the noise reveals.*Add \[bdp\]",
    ),
    "another one acknowledged": (bdp(acknowledges=["idp"]), r"acknowledges refused: .*Add \[bdp\]"),
    "units": (bdp(rows_per_unit=2), "rows_per_unit refused: must not be given under bdp, where it is not proven"),
    "a count of all that is public": (
        bdp(figures=figures("count")),
        "figures.0.statistic refused: must not be count under bootstrap_replace, where the size of every group is",
    ),
    "counts of public groups": (
        bdp(figures=figures("count"), **WITHIN),
        "figures.0.statistic refused: must not be count under bootstrap_within_cell",
    ),
    "groups and one group": (
        bdp(groups=["sex"], only={"region": "N"}),
        "only refused: must not be given together with groups",
    ),
    "a group of an unknown column": (bdp(only={"town": "N"}), "only refused: must name declared columns"),
    "a group of an unknown category": (bdp(only={"region": "W"}), r"only\.region refused: must name a declared cat"),
    "a group of numbers": (bdp(only={"age": 3}), r"only\.age refused: must name a declared category"),
    "a chosen group under dp": (
        bdp(model="dp", adjacency="replace", acknowledges=[], only={"region": "N"}),
        "only refused: must not be given under dp",
    ),
    "bdp words under dp": (
        bdp(model="dp", acknowledges=[]),
        "adjacency refused: must be one of replace, add_remove under dp",
    ),
}


@pytest.mark.parametrize("reason", BAD)
def test_settings_that_do_not_fit_are_refused_with_a_remedy(reason):
    chosen, message = BAD[reason]
    assert len(refused(chosen)) == 1
    with pytest.raises(SettingRefused, match=message):
        promise(chosen, DECLARED)


def test_a_chosen_group_needs_a_category_in_every_record():
    unknown = Column(role="quasi_identifier", type="nominal", categories=("a", "b"), missing="category")
    (found,) = refused(bdp(only={"g": "a"}), {**DECLARED, "g": unknown})
    assert found.startswith(
        "columns.g.missing refused: must be refuse: a record without a category belongs to no group"
    )


# What data refuse


def test_a_figure_that_no_record_of_the_data_could_change_is_refused_and_nothing_about_it_is_told():
    same = {**COLUMNS, "age": np.full(6, 37)}
    for kind in KINDS:
        with pytest.raises(ScaleZero, match="must depend on single records in every group") as refusal:
            protect(same, DECLARED, bdp(figures=figures(kind)), seeded(1))
        assert not any(digit in str(refusal.value) for digit in "0123456789")


def test_an_empty_group_is_refused_where_everybody_knows_that_it_is_empty():
    with pytest.raises(TooFewRecords, match="must each have at least 1 record for these figures"):
        protect(COLUMNS, DECLARED, bdp(**WITHIN), seeded(1))


def test_an_empty_group_gets_noise_where_nobody_knows_that_it_is_empty():
    table = protect(COLUMNS, DECLARED, bdp(groups=["region"], figures=figures(*KINDS, "count")), seeded(1))
    assert table.hidden["steps 0 age_sum"].tolist() == [90, 31, 90]
    assert all(len(values) == 3 for values in table.columns.values())


# What is said


def test_the_promise_says_what_is_compared_and_what_the_noise_may_reveal():
    told = promise(bdp(**WITHIN), DECLARED)
    assert told.model == "bdp"
    assert "among data sets that consist of records of the actual one" in told.statement
    assert "no bound on what the scale itself reveals" in told.statement
    assert "bootstrap sensitivity" in told.secret
    assert "group of every record" in told.public
    assert "everybody knows the group of every record" in told.assumptions
    assert any("as many records in every group as the actual one" in each for each in told.assumptions)
    assert not any("as many records in every" in each for each in promise(bdp(), DECLARED).assumptions)
    assert any("unlike all others" in limit for limit in told.not_promised)
    assert told.postprocessing == "data_independent_only"
    assert told.composes_with.startswith("bdp: epsilons add up, for the same data set")
    assert told.audit[-1] == "scale_covers_data"


def test_the_promise_of_one_group_names_it():
    told = promise(bdp(only={"region": "N", "sex": 2}), DECLARED)
    assert "one row, of the group region = N, sex = 2" in told.statement
    assert told.parameters["only"] == {"region": "N", "sex": 2}


@pytest.mark.parametrize("case", MEMBERSHIPS)
def test_the_plan_says_what_public_facts_leave_to_say(case):
    chosen = MEMBERSHIPS[case][0]
    counted = MEMBERSHIPS[case][1] != "fixed"
    told = expect(bdp(figures=figures(*KINDS, *(["count"] if counted else [])), **chosen), DECLARED, 1000)
    assert any("no gamma-accuracy is known before, except for counts" in line for line in told)
    assert any("It does not fall with the number of records" in line for line in told)
    assert sum(line.startswith("count: standard error") for line in told) == counted
    assert all(any(line.startswith(f"age_{kind}: ") for line in told) for kind in KINDS)


def test_counts_of_several_groups_have_an_accuracy_at_once():
    """P(|N| > w) = 2 a^(w+1) / (1 + a) with a = e^(-1/2); the least w for 1/20 and for 1/60."""
    lines = expect(bdp(groups=["region"], figures=figures("count"), epsilon="1"), DECLARED, None)
    (told,) = (line for line in lines if line.startswith("count: "))
    a = float(np.exp(-0.5))

    def least(share):
        return next(w for w in range(100) if 2 * a ** (w + 1) / (1 + a) <= share)

    assert f"95 % interval ± {least(1 / 20)}, all 3 at once within ± {least(1 / 60)} with probability 0.95" in told


def test_bounds_on_the_error_are_those_of_the_worst_data():
    """sqrt(2) times 100 of the domain at epsilon 1; the mean of 1,000 records a thousandth of it."""
    told = expect(bdp(figures=figures("sum", "mean"), shares={"age_sum": "1/2", "age_mean": "1/2"}), DECLARED, 1000)
    assert any(line.startswith("age_sum: standard error at most 283 (") for line in told)
    assert any(line.startswith("age_mean: standard error at most 0.283 (") for line in told)
    without = expect(bdp(figures=figures("mean")), DECLARED, None)
    assert any("at most 141 / n in a group of n records" in line for line in without)


def test_columns_and_advice_say_that_the_size_of_the_noise_is_secret():
    asked = bdp(groups=["region"], figures=figures("count", "median"))
    words = treatments(asked, DECLARED)
    assert words["count"] == "number of records, with noise of a public size"
    assert "with noise of a secret size" in words["age_median"]
    assert "no standard error can be given" in advice(asked, DECLARED)[0]


def test_a_column_without_a_domain_is_not_said_to_have_one():
    name = next(name for name, column in DECLARED.items() if column.domain is not None)
    open_ended = Column(role="confidential", type="continuous", resolution="1/100")
    asked = bdp(figures=[{"statistic": "median", "of": name}])
    assert "cut off at the bounds of the domain" in treatments(asked, DECLARED)[f"{name}_median"]
    words = treatments(asked, {**DECLARED, name: open_ended})[f"{name}_median"]
    assert "cut off at the bounds that its resolution can reach" in words


def test_nothing_public_depends_on_the_records():
    asked = bdp(figures=figures(*KINDS))
    table = protect(COLUMNS, DECLARED, asked, seeded(1))
    assert table.chosen == chosen_facts(asked, DECLARED, 6) == chosen_facts(asked, DECLARED, 60_000)
    assert not re.search("steps|sensitivity", str(table.chosen))


def test_parts_of_means_and_variances_leave_room_for_the_smallest_epsilon():
    for epsilon in ("1/500000000", "1", "1000000"):
        facts = chosen_facts(bdp(figures=figures("mean", "variance"), epsilon=epsilon), DECLARED, 1)["measured"]
        for entry, widest in zip(facts, (100, 100**2), strict=True):
            assert entry["parts"] * widest <= 2**60 * min(Fraction(epsilon) / 2, 1) < 2 * entry["parts"] * widest


def test_noise_is_drawn_at_the_smallest_epsilon_too():
    wide = {**DECLARED, "age": Column(role="confidential", type="integer", domain=(-(2**30), 2**30))}
    asked = bdp(figures=figures("sum", "mean", "variance", "median"), epsilon=Fraction(1, 2**28), **WITHIN)
    columns = {**COLUMNS, "region": np.array([0, 1, 2, 0, 1, 2]), "age": np.repeat([-(2**30), 2**30], 3)}
    assert len(protect(columns, wide, asked, seeded(1)).columns["age_mean"]) == 3
    assert MOST_RECORDS * 2**30 < 2**62
