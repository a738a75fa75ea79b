"""Values lie inside published labels, and nothing confidential is released but labels."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.mechanisms.columns import Column
from penstock.mechanisms.protected import Linked
from tests.measures.bucket_maker import ANY, BUCKETED, SOURCE, Made, N

every = pytest.mark.parametrize("chosen", ANY, ids=repr)
every_bucketed = pytest.mark.parametrize("chosen", BUCKETED, ids=repr)


# values_in_buckets


@pytest.mark.parametrize("output", ["anatomy", "permuted"])
@pytest.mark.parametrize(
    ("column", "labels"),
    [
        ("income", ("0.5 to 10.5", "12 to 22.5", "24 to 34.5")),
        ("income", ("0 to 10.499", "12 to 22.5", "24 to 34.5")),
        ("income", ("0 to 10.5", "12 to 22.5", "30")),
        ("rank", ("a to b", "c to e")),
        ("rank", ("a to c", "d to e")),
        ("kind", ("iron", "oak | pine")),
        ("kind", ("metal", "oak | glass")),
    ],
)
def test_a_label_that_does_not_cover_a_value_is_found(output, column, labels):
    made = Made((column,), output=output)
    made.labels[column] = labels
    made.publish()
    assert made.failed() == {"values_in_buckets"}


@pytest.mark.parametrize("several", ["joint", "each"])
def test_every_column_is_looked_at(several):
    made = Made(several=several)
    made.labels["kind"] = ("metal", "oak")
    made.publish()
    assert made.failed() == {"values_in_buckets"}
    assert {check.name: check.found for check in made.checks()}["values_in_buckets"].endswith(": kind")


@pytest.mark.parametrize(
    ("column", "labels"),
    [
        ("income", ("0 to 12", "12 to 24", "24 to 40")),
        ("income", ("-7 to 10.5", "0 to 50", "0 to 51")),
        ("rank", ("a to c", "b to e")),
        ("kind", ("iron | copper", "oak | pine")),
        ("kind", ("iron | copper | glass", "oak | pine")),
        ("kind", ("metal", "all")),
    ],
)
def test_wider_labels_pass(column, labels):
    made = Made((column,))
    made.labels[column] = labels
    made.publish()
    assert made.failed() == set()


@pytest.mark.parametrize(
    ("column", "labels"),
    [
        ("income", ("24 to 34.5", "12 to 22.5", "0 to 10.5")),
        ("rank", ("c to e", "a to c")),
    ],
)
def test_labels_in_the_wrong_order_are_found(column, labels):
    """Everything else is right: the buckets are numbered the other way round too."""
    made = Made((column,))
    made.labels[column] = labels
    made.buckets[column] = made.buckets[column].max() - made.buckets[column]
    made.publish()
    assert made.failed() == {"values_in_buckets"}


def test_nominal_labels_have_no_order():
    made = Made(("kind",))
    made.labels["kind"], made.buckets["kind"] = made.labels["kind"][::-1], 1 - made.buckets["kind"]
    made.publish()
    assert made.failed() == set()


@every_bucketed
def test_one_value_elsewhere_is_found(chosen):
    made = Made(**chosen)
    name = made.columns[-1]
    outside = {"income": 11.0, "rank": 4, "kind": 4}[name]
    made.original[name][np.flatnonzero(made.buckets[name] == 0)[0]] = outside
    assert made.failed() == {"values_in_buckets"}


@pytest.mark.parametrize(("name", "value"), [("income", np.nan), ("income", np.inf), ("rank", -1), ("kind", -1)])
def test_a_missing_value_is_in_no_bucket(name, value):
    made = Made((name,))
    made.original[name][3] = value
    assert made.failed() == {"values_in_buckets"}


def test_whole_numbers_beyond_floats_are_compared_exactly():
    made = Made(("income",))
    made.source["income"] = Column(role="confidential", type="integer", domain=(0, 2**53))
    made.original["income"] = np.array([0, 2**53 - 2, 2**53 - 1])[made.buckets["income"]]
    made.labels["income"] = ("0", f"{2**53 - 2}", f"{2**53 - 1}")
    made.publish()
    assert made.failed() == set()
    made.original["income"][made.buckets["income"] == 2] = 2**53
    assert made.failed() == {"values_in_buckets"}


def test_numbers_as_text_are_in_no_interval():
    made = Made(("income",))
    made.original["income"] = made.original["income"].astype(str)
    assert made.failed() == {"values_in_buckets"}


def test_categories_may_be_text():
    made = Made(("rank",))
    made.original["rank"] = np.array(list("abcde"))[made.original["rank"]]
    assert made.failed() == set()


@every_bucketed
@pytest.mark.parametrize("codes", [None, np.zeros(N), np.zeros(N + 1, int), -np.ones(N, int), np.full(N, 3)])
def test_buckets_that_cannot_be_counted_are_found(chosen, codes):
    made = Made(**chosen)
    first = made.columns[0]
    if codes is None:
        del made.buckets[first]
    else:
        made.buckets[first] = codes
    held = "bucket_table" if made.form == "anatomy" else "permutation_within_groups"
    assert made.failed() == {"closeness", "values_in_buckets", held}


def test_a_column_that_was_not_passed_is_found():
    made = Made(("income",))
    del made.original["income"]
    assert made.failed() == {"values_in_buckets"}
    made = Made(method="ranked")
    del made.original["rank"]
    assert made.failed() == {"values_by_group"}


# confidential_absent


@every
@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("name", ["id", "shoe_size"])
def test_an_identifier_or_an_undeclared_column_is_found(chosen, name, declared):
    made = Made(**chosen)
    made.released[name] = np.arange(N)
    if declared:
        made.declared[name] = Column(role="identifier")
    assert made.failed() == {"confidential_absent"}


@every
def test_a_column_that_is_declared_but_must_not_be_there_is_found(chosen):
    made = Made(**chosen)
    made.declared["id"] = Column(role="identifier")
    assert made.failed() == {"confidential_absent"}


@pytest.mark.parametrize("chosen", [c for c in ANY if c.get("output") != "permuted"], ids=repr)
def test_a_raw_confidential_column_among_the_records_is_found(chosen):
    made = Made(**chosen)
    name = made.columns[0]
    made.released[name], made.declared[name] = made.original[name], made.source[name]
    assert made.failed() == {"confidential_absent"}


def test_a_raw_confidential_column_in_place_of_labels_is_found():
    made = Made(("income",), output="permuted")
    made.released["income"], made.declared["income"] = made.original["income"], made.source["income"]
    assert made.failed() >= {"confidential_absent", "permutation_within_groups"}
    made = Made(("rank",), output="permuted")
    made.declared["rank"] = made.source["rank"]
    made.released["rank"] = made.original["rank"]
    assert "permutation_within_groups" in made.failed()


@pytest.mark.parametrize("name", ["income", "age", "id"])
def test_one_more_column_in_a_table_is_found(name):
    made = Made(("rank",))
    made.linked["buckets"].columns[name] = made.linked["buckets"].columns["records"]
    made.linked["buckets"].declared[name] = SOURCE["income"]
    assert made.failed() == {"bucket_table", "confidential_absent"}


def test_raw_values_in_a_table_of_buckets_are_found():
    made = Made(("income",))
    table = made.linked["buckets"]
    table.columns["income"] = table.columns["income"].astype(float)
    assert made.failed() == {"bucket_table", "confidential_absent"}
    table.declared["income"] = made.source["income"]
    assert made.failed() >= {"bucket_table", "confidential_absent"}


@every
def test_a_table_that_is_not_promised_is_found(chosen):
    made = Made(**chosen)
    made.linked["more"] = Linked("age", {"age": np.arange(3)}, {"age": made.source["age"]})
    held = {"bucket_table", "values_by_group"} & set(made.guarantee.audit)
    assert made.failed() == {"confidential_absent", *held}


@pytest.mark.parametrize("output", ["anatomy", "permuted"])
@pytest.mark.parametrize(
    ("column", "labels"),
    [
        ("income", ("0 | 1.5 | 3 | 4.5", "12 to 22.5", "24 to 34.5")),
        ("income", ("low", "middle", "high")),
        ("rank", ("a | b | c", "c to e")),
        ("kind", ("iron | copper (row 7)", "oak | pine")),
    ],
)
def test_labels_that_are_none_are_found(output, column, labels):
    """A list of the values in a bucket, or a text of any other kind, could tell more than an interval does."""
    made = Made((column,), output=output)
    made.labels[column] = labels
    made.publish()
    held = {"permutation_within_groups"} if output == "permuted" else set()
    assert made.failed() == {"values_in_buckets", "confidential_absent", *held}


def test_a_single_value_is_a_label_where_a_bucket_has_no_other():
    made = Made(("income",), output="permuted")
    made.original["income"][made.buckets["income"] == 0] = 7.0
    made.labels["income"] = ("7", *made.labels["income"][1:])
    made.publish()
    assert made.failed() == set()


def test_a_column_without_a_declaration_is_found():
    made = Made(("income",))
    del made.declared["region"]
    assert made.failed() == {"unchanged_columns", "confidential_absent"}
    made = Made(("income",), output="permuted")
    del made.declared["income"]
    assert made.failed() == {"closeness", "values_in_buckets", "permutation_within_groups", "confidential_absent"}
    made = Made(("income",))
    del made.linked["buckets"].declared["income"]
    assert made.failed() == {"closeness", "values_in_buckets", "bucket_table", "confidential_absent"}
    del made.linked["buckets"].declared["records"]
    assert "confidential_absent" in made.failed()


@pytest.mark.parametrize("output", ["anatomy", "permuted"])
def test_one_bucket_of_everybody_has_no_order(output):
    """Nobody can be told apart by it; a list of one label is declared nominal."""
    made = Made(("rank",), output=output)
    made.labels["rank"] = ("a to e",)
    made.buckets["rank"][:] = 0
    made.publish()
    assert made.failed() == set()


@pytest.mark.parametrize("codes", [lambda codes: codes - 1, lambda codes: codes + 1, lambda codes: codes.astype(float)])
def test_codes_that_are_no_labels_are_found(codes):
    made = Made(("income",), output="permuted")
    made.released["income"] = codes(made.released["income"])
    assert made.failed() == {"permutation_within_groups", "confidential_absent"}


@pytest.mark.parametrize(
    "column",
    [
        {"type": "nominal"},
        {"role": "quasi_identifier"},
        {"missing": "category"},
    ],
)
def test_labels_are_declared_as_labels_and_nothing_else(column):
    made = Made(("income",), output="permuted")
    made.declared["income"] = made.declared["income"].model_copy(update=column)
    assert made.failed() == {"permutation_within_groups", "confidential_absent"}
