"""What a plan tells about a table before any record is read, and what its readers are told."""

from __future__ import annotations

import re
from fractions import Fraction
from math import exp, sqrt
from typing import Any

import numpy as np
import pytest

from penstock.mechanisms.layout import error_of
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.table import layout, protect
from penstock.mechanisms.table._chosen import settle
from penstock.mechanisms.table._expect import expect
from penstock.mechanisms.table._explain import advice, treatments
from penstock.mechanisms.table.draws import Noise
from tests.support.plain_tables import DECLARED, MODELS, columns_of, table


def laplace_error(scale: float) -> float:
    a = exp(-1 / scale)
    return sqrt(2 * a) / (1 - a)


def laplace_half_width(scale: float, level: float) -> int:
    """The least w with 2 a^(w+1) / (1 + a) <= 1 - level."""
    a, width = exp(-1 / scale), 0
    while 2 * a ** (width + 1) / (1 + a) > 1 - level:
        width += 1
    return width


def told(figure: float) -> str:
    rounded = float(f"{figure:.3g}")
    return f"{int(rounded):,}" if rounded >= 100 else f"{rounded:g}"


def line(start: str, params: Any, records: int | None = None) -> str:
    (found,) = (sentence for sentence in expect(params, DECLARED, records) if sentence.startswith(start))
    return found


def test_rows_are_counted() -> None:
    for model in MODELS:
        sentences = expect(table(model, sums=["x"]), DECLARED, None)
        assert sentences[0] == "4 cells and 5 totals and sub-totals; each is published, empty or not."
        assert sentences[-1].startswith("Work: one pass over the records for counts and one for each summed column")
        assert expect(table(model, sums=["x"]), DECLARED, 1000) == sentences


@pytest.mark.parametrize(("adjacency", "touched"), [("replace", 2), ("add_remove", 1)])
def test_laplace_noise_of_dp_is_told_with_its_errors_and_intervals(adjacency: str, touched: int) -> None:
    params = table(sums=["x"], noise="laplace", epsilon="1", adjacency=adjacency)
    for name, reach in (("count", 1), ("x", 2)):
        scale = touched * reach / 0.5
        assert line(f"{name} by area, size", params) == (
            f"{name} by area, size: standard error {told(laplace_error(scale))}, 95 % interval ± "
            f"{laplace_half_width(scale, 0.95)}; all 4 at once within ± {laplace_half_width(scale, 1 - 0.05 / 4)} with "
            "probability 0.95 (laplace, epsilon 1/2)."
        )


@pytest.mark.parametrize("noise", ["staircase", "box"])
def test_other_noise_is_told_in_the_unit_of_the_column(noise: str) -> None:
    params = table(sums=["y"], noise=noise, epsilon="2")
    for entry in settle(params, DECLARED):
        for place, name in enumerate(entry.measures):
            step = 1 if name == "count" else 2.0**-26
            kind: Noise = entry.classes[0]
            sentence = line(f"{name} by area, size", params)
            assert f"standard error {told(sqrt(kind.variances[place]) * step)}," in sentence
            assert f"95 % interval ± {told(kind.half_width(place, 0.95) * step)};" in sentence
            assert f"within ± {told(kind.half_width(place, 0.9875) * step)} with" in sentence
            assert sentence.endswith(f"({noise}, epsilon {entry.epsilon}).")


def test_the_step_of_the_grid_used_above_is_the_one_of_the_column() -> None:
    from penstock.mechanisms.table._bounds import table_grid

    assert table_grid(DECLARED["y"], "y").eta == Fraction(1, 2**26)


def test_summed_margins_are_told_to_have_the_noise_of_all_their_cells() -> None:
    assert "the grand total 2 times" in line("A total of j cells", table())
    assert not any("A total of j" in sentence for sentence in expect(table(margins="none"), DECLARED, None))


def test_measured_margins_are_told_one_by_one() -> None:
    params = table(noise="laplace", margins="measured", margin_share="1/2", totals=[["area"], []], epsilon="4")
    assert "(laplace, epsilon 2)" in line("count by area, size:", params)
    by_area = line("count by area:", params)
    assert f"standard error {told(laplace_error(2))}," in by_area
    assert "all 2 at once" in by_area
    assert "(laplace, epsilon 1)" in line("count in total:", params)


def test_errors_after_least_squares_are_told_as_they_will_be_published() -> None:
    params = table(count=False, sums=["y"], margins="measured", margin_share="1/2", totals=[["area"], []], epsilon="4")
    released = protect(columns_of([{"y": 1}] * 3), DECLARED, params, seeded(1)).columns
    levels = {"by area, size": 0, "by area": 4, "in total": 6}
    expected = ", ".join(f"{told(released[error_of('y_sum')][row])} {where}" for where, row in levels.items())
    sentence = line("After least squares", params)
    assert sentence.startswith(f"After least squares, standard errors at most: y {expected}. What rounding")


def test_the_choice_of_noise_can_be_followed() -> None:
    params = table(sums=["x"], epsilon="2")
    sentence = line("Standard errors of a cell by kind of noise", params)
    assert f"laplace count {told(laplace_error(2))}, x {told(laplace_error(4))};" in sentence
    assert re.search(r"staircase count [\d.]+, x [\d.]+; box count [\d.]+, x [\d.]+\. Used: box\.$", sentence)
    alone = line("Standard errors of a cell by kind of noise", table(epsilon="2"))
    assert f"laplace count {told(laplace_error(1))}; staircase count {told(laplace_error(1))}. Used: laplace." in alone


def test_shares_are_heeded_in_what_is_told() -> None:
    params = table(sums=["x"], noise="laplace", shares={"count": "1/4", "x": "3/4"})
    assert f"laplace count {told(laplace_error(8))}, x {told(laplace_error(16 / 3))};" in line(
        "Standard errors", params
    )


def test_the_largest_bound_is_told_where_cells_differ() -> None:
    bounds = {"x": [{"cells": {"area": ["north"]}, "domain": [0, 1]}]}
    params = table(sums=["x"], count=False, noise="laplace", bounds=bounds)
    sentence = line("x by area, size where its bound is largest", params)
    assert f"standard error {told(laplace_error(4))}," in sentence


@pytest.mark.parametrize(
    ("adjacency", "count", "x"),
    [("bootstrap_replace", 2, 4), ("bootstrap_add_remove", 1, 2), ("bootstrap_within_cell", None, 3)],
)
def test_secret_noise_is_told_at_most(adjacency: str, count: int | None, x: int) -> None:
    params = table("bdp", sums=["x"], adjacency=adjacency, epsilon="1")
    epsilon = Fraction(1) if count is None else Fraction(1, 2)
    assert line("The size of the noise of totals follows the data", params)
    expected = f"x: standard error at most {told(sqrt(2) * float(x / epsilon))} (laplace, {epsilon})."
    assert line("x: ", params) == expected
    if count is None:
        assert line("Counts are exact", params) == "Counts are exact, because everybody's cell is public."
    else:
        assert line("count: ", params) == count_of_four_cells(2 * count)


def count_of_four_cells(scale: int) -> str:
    """P(|N| > w) = 2 a^(w+1) / (1 + a) with a = e^(-1/scale): the least w for 1/20 and, for four at once, 1/80."""
    a = exp(-1 / scale)

    def least(share: float) -> int:
        return next(w for w in range(1000) if 2 * a ** (w + 1) / (1 + a) <= share)

    return (
        f"count: standard error {told(sqrt(2 * a) / (1 - a))}, 95 % interval ± {least(1 / 20)}; "
        f"all 4 at once within ± {least(1 / 80)} with probability 0.95 (laplace, 1/2)."
    )


def test_a_table_of_counts_under_bdp_has_no_secret_size() -> None:
    assert not any("secret" in each for each in expect(table("bdp", epsilon="1"), DECLARED, None))


def test_individual_noise_is_told_at_most() -> None:
    params = table("idp", sums=["x"], epsilon="1")
    assert line("x: ", params) == f"x: standard error at most {told(sqrt(2) * 8)} (laplace, 1/2)."
    assert line("count: ", params) == count_of_four_cells(4)


def test_an_exact_table_is_told_what_refuses_it() -> None:
    assert line("There is no noise", table("k_anon")).endswith("refused if a cell has records, but fewer than k.")


@pytest.mark.parametrize("model", MODELS)
def test_every_column_is_explained_but_errors_which_explain_themselves(model: str) -> None:
    params = table(model, sums=["x"], means=["y"])
    drawn = layout(params, DECLARED)
    explained = treatments(params, DECLARED)
    errors = {error_of(figure.name) for figure in drawn.figures}
    assert list(explained) == [name for name in drawn.columns if name not in errors]
    noise = {"dp": ", with noise", "k_anon": ""}.get(model, ", with noise of a secret size")
    assert explained["count"] == f"number of records{noise}"
    assert explained["x_sum"] == f"total of x{noise}"
    assert explained["y_mean"].startswith("mean of y: total over count")
    assert explained["area"] == explained["size"] == "category of the cell; _T stands for all"


def test_readers_are_told_how_to_use_each_table() -> None:
    assert "Every figure has a standard error." in advice(table(), DECLARED)[0]
    for model in ("bdp", "idp"):
        assert "no standard error can be given" in advice(table(model), DECLARED)[0]
    assert advice(table("k_anon"), DECLARED)[0].startswith("Figures have no noise")
    assert "There are no totals." in advice(table(margins="none"), DECLARED)
    assert any("sums of the published cells" in sentence for sentence in advice(table(), DECLARED))
    assert any(
        "measured themselves" in sentence
        for sentence in advice(table(margins="measured", margin_share="1/2"), DECLARED)
    )
    assert "Zeros of empty cells are exact." in advice(table("bdp", empty_cells="zero"), DECLARED)
    assert "Zeros of empty cells are exact." not in advice(table("bdp"), DECLARED)


def test_a_mean_is_told_with_an_error_that_its_published_one_never_exceeds() -> None:
    """A cell of 1,000 records: whatever they are, the stated standard error is at most the one that the plan told."""
    params = table(sums=[], means=["x"], epsilon="1", noise="laplace")
    bound = DECLARED["x"].bounds[1]
    worst = sqrt(laplace_error(8 / 2 * bound) ** 2 + bound**2 * laplace_error(4) ** 2) / 1000
    sentence = line("mean of x", params)
    assert sentence.startswith(f"mean of x: standard error at most {told(worst)} in a cell whose count is 1,000")
    assert line("x (total, not published: its mean is made of it) by area, size: standard error", params)
    for value in (0, bound):
        released = protect(columns_of([{"x": value}] * 1000), DECLARED, params, seeded(3)).columns
        count, stated = released["count"][0], released[error_of("x_mean")][0]
        assert stated <= worst * 1000 / count * (1 + 1e-9)
    assert stated >= worst / 2  # at the largest mean it is no wild guess


def test_the_mean_of_a_published_total_has_the_plain_name() -> None:
    assert line("x by area, size: standard error", table(sums=["x"], means=["x"]))
    assert not [said for said in expect(table(sums=["x"]), DECLARED, None) if said.startswith("mean of")]


def test_millions_are_written_as_thousands_are() -> None:
    from penstock.mechanisms.table._expect import _figure

    assert [_figure(each) for each in (3_000_000.0, 1_600.0, 99.96, 28.28, 0.01234)] == [
        "3,000,000",
        "1,600",
        "100",
        "28.3",
        "0.0123",
    ]


SUMMED = "Totals are sums of the published cells"


def test_the_variances_of_noise_add_up_and_not_the_errors() -> None:
    """Two cells with a standard error of 20 each: their sum has 28.3 and not 40."""
    for model in ("dp", "bdp", "idp"):
        assert f"{SUMMED}; the variances of their noise add up." in advice(table(model), DECLARED)
    # Exact figures have no noise, and counts that are fitted to n no independent one.
    for params in (table("k_anon"), table(exact_total=True)):
        assert f"{SUMMED}." in advice(params, DECLARED)


BELOW = "below 0 are noise, not errors."


@pytest.mark.parametrize(
    ("chosen", "named"),
    [
        ({}, "count"),
        ({"sums": ["y"]}, "count, y_sum"),
        ({"sums": ["x", "y"], "margins": "none"}, "count, y_sum"),  # values of x may be negative themselves
        ({"exact_total": True}, "count"),
        ({"margins": "measured", "margin_share": "1/2", "sums": ["x", "y"]}, None),
        ({"dimensions": None, "tables": {"a": ["area"], "s": ["size"]}}, None),
    ],
)
def test_readers_are_told_of_figures_below_0_only_where_noise_can_make_some(
    chosen: dict[str, Any], named: str | None
) -> None:
    params = table(**chosen)
    found = [each for each in advice(params, DECLARED) if each.endswith(BELOW)]
    assert found == ([] if named is None else [f"Figures of {named} {BELOW}"])
    # One record, drawn thirty times: each column that is named falls below 0, and none else but those of x.
    columns = columns_of([{"area": "north", "size": "small"}])
    drawn = [protect(columns, DECLARED, params, seeded(seed)).columns for seed in range(30)]
    names = [each for each in treatments(params, DECLARED) if each in ("count", "y_sum")]
    below = [name for name in names if any(bool((each[name] < 0).any()) for each in drawn)]
    assert ", ".join(below) == (named or "")
    assert not any("ractional" in each for each in advice(params, DECLARED))
    assert all(np.issubdtype(each["count"].dtype, np.integer) for each in drawn)


@pytest.mark.parametrize("model", ["dp", "bdp", "idp", "k_anon"])
def test_readers_are_told_that_noisy_means_are_kept_within_their_domain(model: str) -> None:
    params = table(model, means=["y"])
    told = "kept within the domain of y" in treatments(params, DECLARED)["y_mean"]
    assert told is any(each.startswith("Means are kept within") for each in advice(params, DECLARED))
    assert told is (model != "k_anon")


def test_readers_are_told_that_small_figures_of_measured_margins_are_too_large() -> None:
    measured = table(margins="measured", margin_share="1/2")
    assert any(each.startswith("No figure may fall below 0") for each in advice(measured, DECLARED))
    assert not any(each.startswith("No figure may fall below 0") for each in advice(table(), DECLARED))
    negative = table(margins="measured", margin_share="1/2", count=False, sums=["x"])
    assert not any(each.startswith("No figure may fall below 0") for each in advice(negative, DECLARED))
