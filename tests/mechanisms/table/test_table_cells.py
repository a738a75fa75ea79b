from __future__ import annotations

from math import prod

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.mechanisms.refusal import SettingRefused, ValueOutsideDomain
from penstock.mechanisms.table.cells import build_cells

LIMIT = 2**62
FIELDS = ("sums", "sizes", "smallest", "largest", "largest_size", "second_size")


@st.composite
def records(draw):
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    rows = draw(st.lists(st.tuples(*(st.integers(0, size - 1) for size in shape)), max_size=30))
    value = st.integers(-9, 9) | st.integers(-(2**56), 2**56)
    values = [draw(st.lists(value, min_size=len(rows), max_size=len(rows))) for _ in range(2)]
    return shape, rows, values


def built(shape, rows, values, dtype=np.int64):
    codes = {f"d{place}": np.array([row[place] for row in rows], dtype) for place in range(len(shape))}
    return build_cells(codes, shape, {f"v{place}": np.array(v, np.int64) for place, v in enumerate(values)})


def by_definition(shape, rows, values):
    """Counts and the six figures of each measure, cell by cell in plain Python."""
    members = [[] for _ in range(prod(shape))]
    for record, row in enumerate(rows):
        members[int(np.ravel_multi_index(row, shape))].append(record)
    figures = []
    for measure in values:
        held = [[measure[record] for record in cell] for cell in members]
        ranked = [[*sorted(map(abs, cell), reverse=True), 0, 0] for cell in held]
        figures.append(
            {
                "sums": [sum(cell) for cell in held],
                "sizes": [sum(map(abs, cell)) for cell in held],
                "smallest": [min(cell, default=0) for cell in held],
                "largest": [max(cell, default=0) for cell in held],
                "largest_size": [cell[0] for cell in ranked],
                "second_size": [cell[1] for cell in ranked],
            }
        )
    return [len(cell) for cell in members], figures


@given(records(), st.sampled_from([np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64]))
def test_cells_are_what_plain_python_finds(case, dtype):
    shape, rows, values = case
    cells = built(shape, rows, values, dtype)
    counts, figures = by_definition(shape, rows, values)
    assert cells.shape == shape
    assert cells.counts.tolist() == counts
    for name, expected in zip(("v0", "v1"), figures, strict=True):
        assert {field: getattr(cells.measures[name], field).tolist() for field in FIELDS} == expected


def test_cells_are_what_pandas_groups_over_several_chunks():
    chance = np.random.default_rng(5)
    shape, records = (7, 3, 11), 50_000
    codes = {f"d{place}": chance.integers(0, size, records) for place, size in enumerate(shape)}
    codes["d0"][codes["d0"] == 4] = 5  # declared and empty
    values = {"income": chance.integers(-(10**6), 10**6, records)}
    cells = build_cells(codes, shape, values)
    place = np.ravel_multi_index(tuple(codes.values()), shape)
    grouped = pd.Series(values["income"]).groupby(place)
    size = pd.Series(np.abs(values["income"]))
    expected = {
        "sums": grouped.sum(),
        "sizes": size.groupby(place).sum(),
        "smallest": grouped.min(),
        "largest": grouped.max(),
        "largest_size": size.groupby(place).max(),
        "second_size": size.groupby(place).apply(lambda cell: cell.nlargest(2).iloc[-1]),
    }
    every = range(prod(shape))
    assert cells.counts.tolist() == grouped.size().reindex(every, fill_value=0).tolist()
    assert np.count_nonzero(cells.counts == 0) >= 33
    for field, series in expected.items():
        assert getattr(cells.measures["income"], field).tolist() == series.reindex(every, fill_value=0).tolist()


def test_equal_largest_values_are_two_contributors():
    magnitudes = built((1,), [(0,)] * 3, [[4, -4, 1]]).measures["v0"]
    assert (magnitudes.largest_size.tolist(), magnitudes.second_size.tolist()) == ([4], [4])


def test_a_table_needs_no_measure_and_no_record():
    assert built((2, 2), [(1, 1), (1, 1)], []).counts.tolist() == [0, 0, 0, 2]
    assert built((3,), [], [[]]).measures["v0"].smallest.tolist() == [0, 0, 0]


def test_read_only_columns_and_strides_are_welcome():
    codes = np.array([0, 9, 1, 9, 1, 9])[::2]
    values = np.array([5, 0, 6, 0, 7, 0])[::2]
    frozen = np.ascontiguousarray(codes)
    frozen.flags.writeable = False
    narrow = [codes.astype(kind) for kind in ("i1", "u1", "i2", "u2", "i4", "u4", "u8")]
    for column in (codes, frozen, *narrow):
        assert build_cells({"d": column}, (2,), {"v": values}).measures["v"].sums.tolist() == [5, 13]
    assert codes.tolist() == [0, 1, 1]


@pytest.mark.parametrize("code", [-1, 3, 2**31 - 1, 2**40, -(2**63)])
def test_a_code_outside_the_declared_categories_is_refused(code):
    with pytest.raises(ValueOutsideDomain, match="d1 refused: must have a declared category in every record"):
        build_cells({"d0": np.array([0, 1]), "d1": np.array([0, code])}, (2, 3), {})


def test_an_unsigned_code_beyond_the_signed_range_is_refused():
    with pytest.raises(ValueOutsideDomain, match="declared category"):
        build_cells({"d": np.array([2**64 - 1], np.uint64)}, (3,), {})


@pytest.mark.parametrize("values", [[LIMIT], [-LIMIT], [LIMIT - 1, 1], [LIMIT - 1, -1], [-(2**63)], [2**63 - 1]])
def test_sums_that_reach_two_to_the_62_are_refused(values):
    with pytest.raises(ValueOutsideDomain, match="v0 refused: must add up to less than 2") as no:
        built((2,), [(1,)] * len(values), [values])
    assert "4611" not in str(no.value)


@pytest.mark.parametrize("values", [[LIMIT - 1], [1 - LIMIT], [LIMIT - 2, -1]])
def test_sums_just_below_two_to_the_62_are_exact(values):
    magnitudes = built((2,), [(1,)] * len(values), [values]).measures["v0"]
    assert (magnitudes.sums.tolist(), magnitudes.sizes.tolist()) == ([0, sum(values)], [0, LIMIT - 1])


def test_large_values_in_different_cells_are_not_refused():
    assert built((2,), [(0,), (1,)], [[LIMIT - 1, LIMIT - 1]]).measures["v0"].sums.tolist() == [LIMIT - 1] * 2


def test_a_table_of_too_many_cells_is_refused():
    column = np.zeros(1, np.int64)
    with pytest.raises(SettingRefused, match=r"dimensions refused: must form at most 2\^24 cells, got '4096 x 4097'"):
        build_cells({"a": column, "b": column}, (2**12, 2**12 + 1), {})


@pytest.mark.parametrize(("dimensions", "shape"), [(1, ()), (1, (2, 2)), (2, (2,)), (1, (0,))])
def test_codes_that_do_not_fit_the_shape_are_an_error(dimensions, shape):
    with pytest.raises(ValueError, match="one column of codes and at least one category"):
        build_cells({f"d{place}": np.zeros(1, np.int64) for place in range(dimensions)}, shape, {})


def test_columns_of_different_lengths_are_an_error():
    with pytest.raises(ValueError, match="one code and one value a record"):
        build_cells({"d": np.zeros(2, np.int64)}, (1,), {"v": np.zeros(3, np.int64)})


def test_codes_that_are_no_whole_numbers_are_an_error():
    with pytest.raises(ValueError, match="the codes"):
        build_cells({"d": np.zeros(2)}, (1,), {})


def test_values_that_are_no_int64_are_an_error():
    with pytest.raises(ValueError, match="values are int64"):
        build_cells({"d": np.zeros(2, np.int64)}, (1,), {"v": np.zeros(2)})
