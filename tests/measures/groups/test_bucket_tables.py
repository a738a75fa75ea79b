"""Tables beside the records hold what belongs to the groups, in order, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from penstock.mechanisms.columns import Column
from penstock.mechanisms.protected import Linked
from tests.measures.bucket_maker import ANATOMY, K, Made, N
from tests.measures.judged_columns import number

every_anatomy = pytest.mark.parametrize("chosen", ANATOMY, ids=repr)


# bucket_table


def first_table(made):
    return next(iter(made.linked.values()))


@every_anatomy
def test_one_count_more_is_found(chosen):
    made = Made(**chosen)
    first_table(made).columns["records"][0] += 1
    assert made.failed() == {"bucket_table"}


@every_anatomy
def test_two_counts_exchanged_are_found(chosen):
    made = Made(**chosen)
    counts = first_table(made).columns["records"]
    more, less = int(np.argmax(counts)), int(np.argmin(counts))
    counts[more], counts[less] = counts[less], counts[more]
    assert made.failed() == {"bucket_table"}


def with_rows(table, take):
    return Linked(table.key, {name: take(values) for name, values in table.columns.items()}, table.declared)


@every_anatomy
@pytest.mark.parametrize(
    "take",
    [
        lambda values: values[:-1],
        lambda values: values[:0],
        lambda values: np.append(values, values[-1]),
        lambda values: values[::-1],
        lambda values: np.roll(values, 1),
        lambda values: values.astype(float),
    ],
    ids=["missing row", "no row", "extra row", "reversed", "rolled", "floats"],
)
def test_other_rows_of_the_table_are_found(chosen, take):
    made = Made(**chosen)
    name = next(iter(made.linked))
    made.linked[name] = with_rows(made.linked[name], take)
    assert made.failed() - {"confidential_absent"} == {"bucket_table"}


def test_an_empty_cell_in_the_table_is_found():
    """A row that says 0 tells nothing wrong, but every published one is counted."""
    made = Made(("kind",))
    made.labels["kind"] = ("metal", "oak | pine", "glass")
    made.publish()
    table = made.linked["buckets"]
    added = {"group": 1, "kind": 2, "records": 0}
    made.linked["buckets"] = Linked(
        table.key, {name: np.insert(values, 2, added[name]) for name, values in table.columns.items()}, table.declared
    )
    assert made.failed() == {"closeness", "bucket_table"}


@every_anatomy
def test_a_table_left_out_is_found(chosen):
    made = Made(**chosen)
    del made.linked[next(iter(made.linked))]
    assert made.failed() == {"closeness", "values_in_buckets", "bucket_table"}


@pytest.mark.parametrize("name", ["group", "records", "income"])
def test_a_column_of_the_table_left_out_is_found(name):
    made = Made(("income",))
    del made.linked["buckets"].columns[name]
    assert made.failed() == {"bucket_table"}


def test_columns_of_the_table_in_another_order_are_found():
    made = Made(("income",))
    table = made.linked["buckets"]
    made.linked["buckets"] = Linked(table.key, dict(reversed(table.columns.items())), table.declared)
    assert made.failed() == {"bucket_table"}


def test_another_key_is_found():
    for chosen, check in (({"columns": ("income",)}, "bucket_table"), ({"method": "ranked"}, "values_by_group")):
        made = Made(**chosen)
        name, table = next(iter(made.linked.items()))
        made.linked[name] = replace(table, key="records")
        assert made.failed() == {check}


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("group", Column(role="confidential", type="integer", domain=(1, 7))),
        ("records", Column(role="confidential", type="integer", domain=(0, N + 1))),
        ("records", Column(role="quasi_identifier", type="integer", domain=(0, N))),
    ],
)
def test_other_declarations_of_the_table_are_found(name, column):
    made = Made(("income",))
    made.linked["buckets"].declared[name] = column
    assert made.failed() == {"bucket_table"}


def test_tables_of_each_column_are_told_apart():
    made = Made(several="each")
    made.linked["buckets_1"], made.linked["buckets_2"] = made.linked["buckets_2"], made.linked["buckets_1"]
    assert "bucket_table" in made.failed()


# values_by_group


def ranked():
    return Made(method="ranked")


def test_a_value_of_another_group_is_found():
    made = ranked()
    values = made.linked["values"].columns["income"]
    values[[K - 1, K]] = values[[K, K - 1]]
    assert made.failed() == {"values_by_group"}


def test_a_tuple_torn_apart_is_found():
    """Both columns hold the values of the group, but not of the records."""
    made = ranked()
    kinds = made.linked["values"].columns["kind"]
    assert kinds[0] != kinds[1]
    kinds[[0, 1]] = kinds[[1, 0]]
    assert made.failed() == {"values_by_group"}


@pytest.mark.parametrize("name", ["income", "rank", "kind"])
def test_an_altered_value_is_found(name):
    made = ranked()
    made.linked["values"].columns[name][0] += 1
    assert made.failed() == {"values_by_group"}


@pytest.mark.parametrize(
    "take",
    [
        lambda values: values[:-1],
        lambda values: np.append(values, values[-1]),
        lambda values: values[::-1],
        lambda values: np.concatenate([values[K - 1 :: -1], values[K:]]),
        lambda values: values[[1, 0, *range(2, N)]],
    ],
    ids=["missing row", "extra row", "reversed", "a group reversed", "two records exchanged"],
)
def test_other_rows_of_the_values_are_found(take):
    made = ranked()
    made.linked["values"] = with_rows(made.linked["values"], take)
    assert made.failed() == {"values_by_group"}


def test_values_in_order_may_repeat_and_miss():
    made = ranked()
    made.original["income"][made.groups["income"] == 0] = 0.0
    made.original["income"][np.flatnonzero(made.groups["income"] == 5)[0]] = np.nan
    made.publish()
    table = made.linked["values"]
    order = np.lexsort([table.columns[name] for name in ("kind", "rank", "income", "group")])
    made.linked["values"] = with_rows(table, lambda values: values[order])
    assert made.failed() == set()


def test_numbers_of_another_type_are_found():
    made = ranked()
    columns = made.linked["values"].columns
    made.original["income"] = np.round(made.original["income"])
    columns["income"] = np.round(columns["income"])
    assert made.failed() == set()
    columns["income"] = columns["income"].astype(int)
    assert made.failed() == {"values_by_group"}


@pytest.mark.parametrize(
    "change",
    [
        lambda made: made.linked.clear(),
        lambda made: made.linked["values"].columns.pop("rank"),
        lambda made: made.linked["values"].declared.update(group=made.key(7)),
        lambda made: made.linked["values"].declared.update(income=number(0, 41)),
        lambda made: made.linked["values"].columns.update(records=np.ones(N, int)),
    ],
    ids=["no table", "no column", "other groups", "other column", "more columns"],
)
def test_another_table_of_values_is_found(change):
    made = ranked()
    change(made)
    assert made.failed() - {"confidential_absent"} == {"values_by_group"}
