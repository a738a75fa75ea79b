"""Tables against records counted one by one, in exact fractions; noise against the draws that the settings name."""

from __future__ import annotations

import json
from fractions import Fraction
from math import isnan, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.mechanisms.layout import error_of
from penstock.mechanisms.protected import Protected
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.refusal import TableEmpty, ValueMissing, ValueOutsideDomain
from penstock.mechanisms.table import Params, chosen_facts, layout, protect
from penstock.mechanisms.table._chosen import settle
from penstock.mechanisms.table._relaxed import bootstrap_steps
from penstock.mechanisms.table.cells import build_cells
from penstock.mechanisms.table.noise import cell_noise
from penstock.mechanisms.table.scales import Scales
from tests.support.order import examples
from tests.support.plain_tables import AREAS, DECLARED, MODELS, SIZES, Record, cells_of, columns_of, table, totals

# Also values that the domain does not have, which are clamped.
RECORDS = st.lists(
    st.fixed_dictionaries(
        {
            "area": st.sampled_from(AREAS),
            "size": st.sampled_from(SIZES),
            "x": st.integers(-4, 6),
            "y": st.floats(-3, 13),
        }
    ),
    min_size=1,
    max_size=12,
)
BOUNDS = {
    "y": [{"cells": {"area": ["north"], "size": ["large"]}, "domain": [2, 5]}],
    "x": [{"cells": {"area": ["south"]}, "domain": [0, 1]}, {"cells": {"size": ["small"]}, "domain": [-1, 1]}],
}
EVERYTHING = {"sums": ["y", "x"], "means": ["x", "y"]}


def steps_of(protected: Protected) -> dict[str, Fraction]:
    return {"count": Fraction(1), **{name: Fraction(eta) for name, eta in protected.chosen["steps"].items()}}


def test_the_grid_of_whole_numbers_has_steps_of_one_and_that_of_others_is_fine() -> None:
    protected = protect(columns_of(FIXED), DECLARED, table(**EVERYTHING), seeded(1))
    assert steps_of(protected)["x"] == 1
    assert Fraction(10, 2**30) <= steps_of(protected)["y"] <= Fraction(10, 2**28)


@given(RECORDS, st.sampled_from(["none", "summed"]))
def test_exact_figures_are_those_of_the_records(records: list[Record], margins: str) -> None:
    records = records * 2
    params = table("k_anon", margins=margins, **EVERYTHING)
    protected = protect(columns_of(records), DECLARED, params, seeded(1))
    drawn, released = layout(params, DECLARED), protected.columns
    row = 0
    for level in drawn.levels:
        for cell in cells_of(level):
            inside = [record for record in records if tuple(record[name] for name in level) == cell]
            assert [drawn.labels(name)[released[name][row]] for name in level] == list(cell)
            assert released["count"][row] == len(inside)
            for name in ("x", "y"):
                eta = steps_of(protected)[name]
                # A cell has the clamped and rounded values of its records, a margin those of all its cells.
                total = sum(totals(inside, level, name, params, eta=eta)) * eta
                assert released[f"{name}_sum"][row] == float(total)
                mean = released[f"{name}_mean"][row]
                assert (
                    mean == pytest.approx(float(total / len(inside)), rel=1e-12, abs=1e-12) if inside else isnan(mean)
                )
            row += 1
    assert row == drawn.rows == len(released["count"])
    assert not protected.hidden


def replayed(params: Params, protected: Protected, seed: int, declared: Any = DECLARED) -> dict[str, np.ndarray]:
    """The noise that the settings name, drawn once more from the same words."""
    randomness, noise = seeded(seed), {}
    for entry in settle(params, declared):
        if entry.which is None:
            (name,) = entry.measures
            steps = protected.hidden[f"steps {entry.level} {name}"]
            drawn = np.zeros(len(steps), np.int64)
            scales = Scales(params.adjacency, entry.epsilon, steps[steps > 0])  # type: ignore[arg-type]
            drawn[steps > 0] = cell_noise(scales, randomness)
            noise[f"{entry.level} {name}"] = drawn
            continue
        by_cell = np.empty((len(entry.which), len(entry.measures)), np.int64)
        for place, kind in enumerate(entry.classes):
            cells = np.flatnonzero(entry.which == place)
            by_cell[cells] = kind.draw(len(cells), randomness)
        noise |= {f"{entry.level} {name}": by_cell[:, place] for place, name in enumerate(entry.measures)}
    return noise


NOISY: dict[str, tuple[str, dict[str, Any]]] = {
    "laplace": ("dp", {"noise": "laplace", "bounds": BOUNDS}),
    "staircase": ("dp", {"noise": "staircase", "adjacency": "add_remove", "rows_per_unit": 2}),
    "box": ("dp", {"noise": "box", "bounds": BOUNDS}),
    "auto": ("dp", {"margins": "none"}),
    "one": ("bdp", {"empty_cells": "zero"}),
    "per cell": ("bdp", {"scale": "per_cell", "adjacency": "bootstrap_add_remove", "bounds": BOUNDS}),
    "individual": ("idp", {"bounds": BOUNDS, "totals": [["size"]]}),
}
FIXED: list[Record] = [
    {"area": "north", "size": "small", "x": 2, "y": 9.25},
    {"area": "north", "size": "small", "x": 7, "y": 1.5},
    {"area": "south", "size": "small", "x": 1, "y": 11.0},
    {"area": "south", "size": "large", "x": 1, "y": 3.125},
]


@pytest.mark.parametrize("name", NOISY)
@given(records=RECORDS, seed=st.integers(0, 2**32))
@settings(max_examples=25)
def test_noisy_figures_are_exact_ones_and_the_noise_of_the_settings(
    name: str, records: list[Record], seed: int
) -> None:
    model, chosen = NOISY[name]
    params = table(model, **EVERYTHING, **chosen)
    # A record in every cell whose values are not 0, so that no scale is.
    records = [*records, *FIXED, {"area": "north", "size": "large", "x": 2, "y": 4.0}]
    protected = protect(columns_of(records), DECLARED, params, seeded(seed))
    noise, hidden, drawn = replayed(params, protected, seed), protected.hidden, layout(params, DECLARED)
    cells = drawn.starts[1]
    for measure, eta in steps_of(protected).items():
        exact = totals(records, drawn.levels[0], measure, params, eta=eta)
        noisy = hidden[f"noised 0 {measure}"]
        assert noisy.tolist() == (np.array(exact) + noise[f"0 {measure}"]).tolist()
        figure = measure if measure == "count" else f"{measure}_sum"
        assert protected.columns[figure][:cells].tolist() == (noisy * float(eta)).tolist()
    assert set(hidden) == {f"{part} 0 {measure}" for part in ("noised", "steps") for measure in ("count", "y", "x")}


@pytest.mark.parametrize("name", NOISY)
def test_summed_margins_add_up_exactly(name: str) -> None:
    model, chosen = NOISY[name]
    params = table(model, **EVERYTHING, **chosen)
    drawn = layout(params, DECLARED)
    released = protect(columns_of(FIXED), DECLARED, params, seeded(3)).columns
    for figure in ("count", "x_sum", "y_sum"):
        values = released[figure]
        cells = dict(zip(cells_of(drawn.levels[0]), values[: drawn.starts[1]].tolist(), strict=True))
        expected = [
            sum(value for place, value in cells.items() if margin == tuple(place[AXES.index(name)] for name in level))
            for level in drawn.levels
            for margin in cells_of(level)
        ]
        assert values.tolist() == expected


AXES = ("area", "size")


@pytest.mark.parametrize("name", [name for name in NOISY if name != "auto"])
def test_means_are_published_totals_over_published_counts_within_the_domain(name: str) -> None:
    model, chosen = NOISY[name]
    released = protect(columns_of(FIXED * 9), DECLARED, table(model, **EVERYTHING, **chosen), seeded(2)).columns
    for column, (low, high) in (("x", (-1, 2)), ("y", (0, 10))):
        for total, count, mean in zip(
            released[f"{column}_sum"], released["count"], released[f"{column}_mean"], strict=True
        ):
            if count < 1:
                assert isnan(mean)
            else:
                assert mean == pytest.approx(min(max(total / count, low), high))


def test_the_columns_are_those_of_the_layout_in_its_order() -> None:
    for model in MODELS:
        params = table(model, **EVERYTHING)
        protected = protect(columns_of(FIXED * 2), DECLARED, params, seeded(1))
        drawn = layout(params, DECLARED)
        assert tuple(protected.columns) == drawn.columns
        for dimension in drawn.dimensions:
            assert protected.columns[dimension].dtype == np.int32
            assert protected.columns[dimension].tolist() == drawn.codes()[dimension].tolist()
        for figure in drawn.figures:
            assert protected.columns[figure.name].dtype == (np.int64 if figure.whole else np.float64)
            assert (error_of(figure.name) in protected.columns) == (model == "dp")
        assert protected.chosen == chosen_facts(params, DECLARED, 99)
        assert json.loads(json.dumps(protected.chosen)) == protected.chosen
        assert not protected.masked
        assert not protected.groups
        assert protected.origin is None


@given(RECORDS)
@settings(max_examples=examples(30))
def test_values_outside_the_domain_count_as_its_nearest_bound(records: list[Record]) -> None:
    clamped = [{**record, "x": min(max(record["x"], -1), 2), "y": min(max(record["y"], 0), 10)} for record in records]
    params = table(**EVERYTHING, bounds=BOUNDS)
    first, second = (protect(columns_of(each), DECLARED, params, seeded(4)).hidden for each in (records, clamped))
    assert all(first[name].tolist() == second[name].tolist() for name in first)


def test_values_beyond_all_numbers_are_clamped_too() -> None:
    columns = {
        **columns_of(FIXED),
        "x": np.array([2**64 - 1, 2**63, 0, 1], np.uint64),
        "y": np.array([np.inf, -np.inf, 1e300, 0.0]),
    }
    near = {**columns, "x": np.array([2, 2, 0, 1]), "y": np.array([10.0, 0.0, 10.0, 0.0])}
    params = table(**EVERYTHING)
    far_off, inside = (protect(each, DECLARED, params, seeded(4)).columns for each in (columns, near))
    assert all(np.array_equal(far_off[name], inside[name], equal_nan=True) for name in inside)


def test_the_first_bounds_that_fit_a_cell_count() -> None:
    params = table("dp", sums=["x"], bounds={"x": BOUNDS["x"]})
    records = [{"area": area, "size": size, "x": x} for area in AREAS for size in SIZES for x in (-1, 2)]
    protected = protect(columns_of(records), DECLARED, params, seeded(1))
    exact = protected.hidden["noised 0 x"] - replayed(params, protected, 1)["0 x"]
    # north small: -1..1; north large: the domain; south: 0..1.
    assert exact.tolist() == [0, 1, 1, 1]
    assert protected.hidden["steps 0 x"].tolist() == [2, 4, 2, 2]


@pytest.mark.parametrize("codes", [[0, 2, 1, 0], [0, -2, 1, 0], ["north", "west", "south", "north"]])
def test_a_category_that_is_not_declared_is_refused(codes: list[Any]) -> None:
    columns = {**columns_of(FIXED), "area": np.array(codes, object if isinstance(codes[1], str) else np.int64)}
    for model in MODELS:
        with pytest.raises(ValueOutsideDomain, match=r"^area refused"):
            protect(columns, DECLARED, table(model, k=2 if model == "k_anon" else None), seeded(1))


def test_missing_values_and_no_values_are_refused() -> None:
    columns = columns_of(FIXED)
    for name, values in (("area", np.array([0, -1, 1, 0])), ("y", np.array([1.0, np.nan, 2.0, 3.0]))):
        with pytest.raises(ValueMissing, match=f"^{name} refused"):
            protect({**columns, name: values}, DECLARED, table(**EVERYTHING), seeded(1))
    with pytest.raises(TableEmpty):
        protect({name: values[:0] for name, values in columns.items()}, DECLARED, table(), seeded(1))


def test_codes_of_any_width_and_order_in_memory_give_the_same_table() -> None:
    text = columns_of(FIXED)
    params = table(**EVERYTHING)
    expected = protect(text, DECLARED, params, seeded(5)).columns
    codes = {name: DECLARED[name].codes(text[name], name) for name in AXES}
    for kind in (np.int8, np.uint8, np.int32, np.uint64):
        spread = {name: np.repeat(values.astype(kind), 2)[::2] for name, values in codes.items()}
        released = protect({**text, **spread}, DECLARED, params, seeded(5)).columns
        assert all(np.array_equal(released[name], expected[name], equal_nan=True) for name in expected)


def test_empty_cells_are_exact_zeros_only_where_that_was_asked_for() -> None:
    for scale, adjacency in (("one", "bootstrap_replace"), ("per_cell", "bootstrap_add_remove")):
        found = {}
        for empty_cells in ("noise", "zero"):
            params = table("bdp", sums=["x"], scale=scale, adjacency=adjacency, empty_cells=empty_cells)
            # No farm is both north and large.
            found[empty_cells] = protect(columns_of(FIXED), DECLARED, params, seeded(6))
        for measure, figure in (("count", "count"), ("x", "x_sum")):
            assert found["zero"].columns[figure][1] == 0
            steps = {choice: protected.hidden[f"steps 0 {measure}"] for choice, protected in found.items()}
            assert steps["zero"][1] == 0
            assert steps["noise"][1] == steps["noise"].max() > 0


def test_counts_are_exact_where_everybodys_cell_is_public() -> None:
    for scale in ("one", "public_membership"):
        params = table("bdp", sums=["x"], adjacency="bootstrap_within_cell", scale=scale, margins="none")
        protected = protect(
            columns_of([*FIXED, *[{**record, "x": 0} for record in FIXED]]), DECLARED, params, seeded(7)
        )
        assert protected.columns["count"].tolist() == [4, 0, 2, 2]
        assert list(protected.hidden) == ["noised 0 x", "steps 0 x"]


def test_counts_that_are_public_have_no_steps() -> None:
    cells = build_cells({"d": np.array([0, 0, 1])}, (3,), {})
    for scale in ("one", "public_membership"):
        params = table("bdp", sums=["x"], adjacency="bootstrap_within_cell", scale=scale)
        assert bootstrap_steps(cells, "count", params).tolist() == [0, 0, 0]


def test_settled_facts_say_who_spends_what() -> None:
    params = table(
        sums=["x"],
        noise="laplace",
        epsilon="6",
        rows_per_unit=2,
        shares={"count": "1/3", "x": "2/3"},
        margins="measured",
        margin_share="1/2",
        totals=[["area"], []],
        bounds={"x": BOUNDS["x"]},
    )
    told = chosen_facts(params, DECLARED)
    assert [(entry["level"], entry["measures"], entry["epsilon"]) for entry in told["measured"]] == [
        (["area", "size"], ["count"], "1/2"),
        (["area", "size"], ["x"], "1"),
        (["area"], ["count"], "1/4"),
        (["area"], ["x"], "1/2"),
        ([], ["count"], "1/4"),
        ([], ["x"], "1/2"),
    ]
    assert sum(Fraction(entry["epsilon"]) for entry in told["measured"]) == 3
    assert [entry["classes"] for entry in told["measured"] if entry["measures"] == ["x"]] == [
        [{"cells": 3, "half_widths": [1]}, {"cells": 1, "half_widths": [2]}],
        [{"cells": 1, "half_widths": [1]}, {"cells": 1, "half_widths": [2]}],
        [{"cells": 1, "half_widths": [2]}],
    ]
    assert (told["table"], told["cells"], told["noise"], told["epsilon"]) == ("table", 4, "laplace", "6")
    assert told["steps"] == {"x": "1"}
    error = told["figures"]["x_sum"]["standard_error"]
    # Laplace noise of scale 2 B / epsilon = 4, on whole numbers.
    assert error == pytest.approx(sqrt(2 * 4**2 - 1 / 6), rel=1e-2)
    assert told["figures"]["x_sum"]["expected_error"] == error / 2
    assert list(told["figures"]) == ["count", "x_sum"]


def test_the_largest_standard_error_of_a_cell_is_stated() -> None:
    params = table(**EVERYTHING, bounds=BOUNDS, noise="staircase")
    protected = protect(columns_of(FIXED), DECLARED, params, seeded(1))
    for figure, reach in (("count", 1), ("x_sum", 2), ("y_sum", 10)):
        stated = protected.chosen["figures"][figure]
        assert stated["standard_error"] == pytest.approx(protected.columns[error_of(figure)][:4].max())
        assert stated["expected_error"] == pytest.approx(stated["standard_error"] / reach, rel=1e-8)
