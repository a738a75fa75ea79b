from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from pydantic import ValidationError

from penstock.mechanisms.columns import Column
from penstock.mechanisms.probabilistic_k_anonymity import Params, faults, promise, protect
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.refusal import (
    ColumnMissing,
    ColumnTypeWrong,
    SettingRefused,
    TableEmpty,
    TooFewRecords,
    ValueMissing,
    ValueOutsideDomain,
)

AGE = Column(role="quasi_identifier", type="integer", domain=(0, 120))
REGION = Column(role="quasi_identifier", type="nominal", categories=("N", "S"))
INCOME = Column(role="confidential", type="continuous", domain=(0, 1000))
CAUSE = Column(role="confidential", type="nominal", categories=("fall", "fire"))
DECLARED = {
    "person": Column(role="identifier"),
    "age": AGE,
    "region": REGION,
    "income": INCOME,
    "weight": Column(role="weight"),
}
COLUMNS = {
    "age": np.array([20, 21, 25, 60, 61, 65]),
    "region": np.array(["N", "N", "S", "S", "S", "N"]),
    "income": np.array([10.0, 30.0, 20.0, 500.0, 400.0, 600.0]),
    "weight": np.array([1, 2, 4, 1, 1, 1]),
}


def refused(params, declared):
    return {fault.field: f"{fault.rule}|{fault.got}" for fault in faults(params, declared)}


@pytest.mark.parametrize(
    "settings",
    [
        {"method": "ir_swap"},
        {"k": 3},
        {"method": "swap", "k": 3},
        {"method": "ir_swap", "k": 1},
        {"method": "ir_swap", "k": 3.0},
        {"method": "ir_swap", "k": "3"},
        {"method": "ir_swap", "k": 3, "k_by_column": {"income": 1}},
        {"method": "ir_swap", "k": 3, "scaling": "range"},
        {"method": "ir_swap", "k": 3, "seed": 1},
        {"mechanism": "closeness", "method": "ir_swap", "k": 3},
    ],
)
def test_settings_are_strict_and_k_has_no_default(settings):
    with pytest.raises(ValidationError):
        Params(**settings)


def test_settings_are_frozen():
    with pytest.raises(ValidationError):
        Params(method="ir_swap", k=3).k = 2


@pytest.mark.parametrize("method", ["mdav_id", "mdav_swap"])
def test_mdav_needs_a_quasi_identifier(method):
    assert "needs a quasi_identifier" in refused(Params(method=method, k=2), {"income": INCOME})["method"]
    assert refused(Params(method="ir_swap", k=2), {"income": INCOME}) == {}


@pytest.mark.parametrize("method", ["mdav_swap", "ir_swap"])
def test_a_swap_needs_a_confidential_column(method):
    assert "needs a confidential column" in refused(Params(method=method, k=2), {"age": AGE})["method"]
    assert refused(Params(method="mdav_id", k=2), {"age": AGE}) == {}


def test_nominal_columns_cannot_be_ranked():
    found = refused(Params(method="ir_swap", k=2), {"cause": CAUSE})
    assert found == {"columns.cause.type": "must have an order, because ir_swap sorts the values|nominal"}
    assert refused(Params(method="mdav_swap", k=2), {"age": AGE, "cause": CAUSE}) == {}


def test_k_by_column_is_for_confidential_columns_of_ir_swap_and_never_below_k():
    found = refused(Params(method="ir_swap", k=5, k_by_column={"income": 4, "age": 9, "salary": 9}), DECLARED)
    assert found == {
        "k_by_column.income": "must be at least k = 5|4",
        "k_by_column.age": "must name a confidential column|9",
        "k_by_column.salary": "must name a confidential column|9",
    }
    for method in ("mdav_id", "mdav_swap"):
        found = refused(Params(method=method, k=5, k_by_column={"income": 9}), DECLARED)
        assert (
            "must not be given under MDAV, where groups of one column carry no guarantee" in found["k_by_column.income"]
        )


ALLOWED = {
    ("mdav_id", "quasi_identifier", "integer"): {"refuse"},
    ("mdav_id", "quasi_identifier", "ordinal"): {"refuse"},
    ("mdav_id", "quasi_identifier", "nominal"): {"refuse", "category"},
    ("mdav_id", "confidential", "integer"): {"refuse", "category"},
    ("mdav_swap", "quasi_identifier", "integer"): {"refuse"},
    ("mdav_swap", "quasi_identifier", "nominal"): {"refuse", "category"},
    ("mdav_swap", "confidential", "ordinal"): {"refuse", "category"},
    ("mdav_swap", "confidential", "nominal"): {"refuse", "category"},
    ("ir_swap", "quasi_identifier", "integer"): {"refuse", "category"},
    ("ir_swap", "quasi_identifier", "nominal"): {"refuse", "category"},
    ("ir_swap", "confidential", "integer"): {"refuse", "own_group"},
    ("ir_swap", "confidential", "ordinal"): {"refuse", "own_group"},
}


@pytest.mark.parametrize(("method", "role", "kind"), ALLOWED)
@pytest.mark.parametrize("missing", ["refuse", "category", "own_group"])
def test_missing_values_are_allowed_where_they_are_neither_ranked_nor_averaged(method, role, kind, missing):
    values = {"domain": (0, 9)} if kind == "integer" else {"categories": ("a", "b")}
    declared = {"age": AGE, "income": INCOME, "x": Column(role=role, type=kind, missing=missing, **values)}
    found = refused(Params(method=method, k=2), declared)
    assert found.keys() == (set() if missing in ALLOWED[method, role, kind] else {"columns.x.missing"})
    for rule in found.values():
        assert all(allowed in rule for allowed in ALLOWED[method, role, kind])


def test_a_refusal_lists_every_fault_at_once():
    declared = {"cause": CAUSE, "income": INCOME.model_copy(update={"missing": "category"})}
    with pytest.raises(SettingRefused) as refusal:
        promise(Params(method="ir_swap", k=5, k_by_column={"age": 9}), declared)
    fields = [fault.field for fault in refusal.value.faults]
    assert fields == ["k_by_column.age", "columns.cause.type", "columns.income.missing"]


def test_the_promise_of_ir_swap_names_the_group_size_of_every_column():
    declared = {**DECLARED, "wealth": INCOME.model_copy(update={"missing": "own_group"})}
    promised = promise(Params(method="ir_swap", k=25, k_by_column={"income": 100}), declared)
    assert promised.model == "prob_k"
    assert promised.parameters == {
        "method": "ir_swap",
        "k": 25,
        "k_by_column": {"income": 100, "wealth": 25},
        "scaling": "not used",
        "ties": "broken at random",
    }
    assert promised.audit == ("group_sizes", "permutation_within_groups", "unchanged_columns")
    assert "hiding whether a value is missing in wealth: that is published unchanged" in promised.not_promised
    assert "permutations" in promised.secret


def test_the_promise_of_mdav_names_the_distance():
    promised = promise(Params(method="mdav_swap", k=3), DECLARED)
    assert promised.parameters["scaling"] == {"age": "(x - 0) / 120", "region": "1 between different categories"}
    assert promised.parameters["k_by_column"] == {}
    assert promised.adjacency == "permutation of the confidential values inside a group"


def test_mdav_id_promises_k_anonymity_and_nothing_about_confidential_values():
    promised = promise(Params(method="mdav_id", k=3), DECLARED)
    assert promised.model == "k_anon"
    assert promised.adjacency.startswith("none")
    assert promised.audit == ("group_sizes", "k_anonymity_of_keys", "unchanged_columns")
    assert any("where all are equal, they are disclosed" in limit for limit in promised.not_promised)


@pytest.mark.parametrize("method", ["mdav_id", "mdav_swap", "ir_swap"])
def test_no_promise_composes_or_borrows_the_words_of_differential_privacy(method):
    promised = promise(Params(method=method, k=3), DECLARED)
    text = promised.model_dump_json()
    assert promised.composes_with.startswith("nothing")
    assert promised.postprocessing == "any"
    assert not any(word in text.lower() for word in ("epsilon", "differential", "sensitivity", "noise"))
    assert json.loads(text)["parameters"]["k"] == 3


def test_mdav_id_gives_a_group_its_centroid():
    released = protect(COLUMNS, DECLARED, Params(method="mdav_id", k=3, scaling="none"), seeded(1))
    assert released.columns["age"].tolist() == [22, 22, 22, 62, 62, 62]
    assert released.columns["age"].dtype == COLUMNS["age"].dtype
    assert released.columns["region"].tolist() == ["N", "N", "N", "S", "S", "S"]
    assert released.columns["weight"].tolist() == [7 / 3, 7 / 3, 7 / 3, 1.0, 1.0, 1.0]
    assert released.columns["income"] is COLUMNS["income"]
    assert released.masked == ("age", "region", "weight")


def test_k_by_column_gives_that_column_larger_groups():
    params = Params(method="ir_swap", k=2, k_by_column={"income": 3})
    released = protect(COLUMNS, DECLARED, params, seeded(1))
    assert released.masked == ("income",)
    assert released.groups["income"].tolist() == [0, 0, 0, 1, 1, 1]


def test_records_without_a_value_are_a_group_of_their_own():
    declared = {"income": INCOME.model_copy(update={"missing": "own_group"})}
    income = np.array([np.nan, 4.0, 3.0, np.nan, 2.0, 1.0, 5.0])
    released = protect({"income": income}, declared, Params(method="ir_swap", k=2), seeded(1))
    assert released.groups["income"].tolist() == [2, 1, 1, 2, 0, 0, 1]
    assert np.isnan(released.columns["income"][[0, 3]]).all()


def test_unused_identifiers_may_be_passed_and_are_dropped():
    columns = {**COLUMNS, "person": np.array(list("abcdef"))}
    assert "person" not in protect(columns, DECLARED, Params(method="ir_swap", k=2), seeded(1)).columns


@pytest.mark.parametrize("method", ["mdav_id", "mdav_swap"])
def test_fewer_records_than_k_are_refused(method):
    with pytest.raises(TooFewRecords, match="at least k = 7 records"):
        protect(COLUMNS, DECLARED, Params(method=method, k=7), seeded(1))


def test_ir_swap_counts_only_records_with_a_value():
    declared = {"income": INCOME.model_copy(update={"missing": "own_group"})}
    with pytest.raises(TooFewRecords, match=r"income refused: .*4 records with a value"):
        protect({"income": np.array([1.0, 2.0, 3.0, np.nan])}, declared, Params(method="ir_swap", k=4), seeded(1))


@pytest.mark.parametrize(
    ("changes", "refusal", "message"),
    [
        ({"wages": np.zeros(6)}, SettingRefused, "columns.wages refused: must be declared before it is used"),
        ({"age": None, "income": None}, ColumnMissing, r"(?s)age refused: must be passed.*income refused"),
        ({"age": np.zeros(5, dtype=int)}, ColumnTypeWrong, "must have one value per record in every column"),
        ({"age": np.zeros((6, 1), dtype=int)}, ColumnTypeWrong, "must have one value per record in every column"),
        ({"age": np.array(list("abcdef"))}, ColumnTypeWrong, "age refused: must be an array of numbers"),
        ({"age": np.full(6, 1.5)}, ColumnTypeWrong, "age refused: must hold whole numbers only"),
        ({"age": np.full(6, 121)}, ValueOutsideDomain, "age refused: must hold only values of the declared domain"),
        (
            {"income": np.full(6, np.inf)},
            ValueOutsideDomain,
            "income refused: must hold only values of",
        ),
        ({"income": np.full(6, np.nan)}, ValueMissing, "income refused: must have a value in every record"),
        ({"weight": np.full(6, np.nan)}, ValueMissing, "weight refused: must have a value in every record"),
        ({"region": np.full(6, -1)}, ValueMissing, "region refused: must have a value in every record"),
        ({"region": np.full(6, "W")}, ValueOutsideDomain, "region refused: must hold declared categories only"),
    ],
)
def test_columns_that_are_not_as_declared_are_refused_without_quoting_them(changes, refusal, message):
    columns = {name: values for name, values in {**COLUMNS, **changes}.items() if values is not None}
    with pytest.raises(refusal, match=message) as refused:
        protect(columns, DECLARED, Params(method="ir_swap", k=2), seeded(1))
    assert not any(value in str(refused.value) for value in ("121", "1.5", "W", "inf "))


def test_importing_the_mechanism_does_not_load_the_compiler():
    code = "import sys, penstock.mechanisms.probabilistic_k_anonymity; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_no_records_are_refused():
    empty = {name: values[:0] for name, values in COLUMNS.items()}
    with pytest.raises(TableEmpty, match="at least one record"):
        protect(empty, DECLARED, Params(method="ir_swap", k=2), seeded(1))
