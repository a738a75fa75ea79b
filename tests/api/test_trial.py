"""`penstock.protect`: the data are read and refused as in a release; what comes out is marked as none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import penstock
from penstock.mechanisms import probabilistic_k_anonymity
from penstock.mechanisms.columns import Column

SECRET = 987_654
COLUMNS: dict[str, Any] = {
    "id": {"role": "identifier"},
    "sex": {"role": "quasi_identifier", "type": "nominal", "categories": ["f", "m"]},
    "income": {"role": "confidential", "type": "integer", "domain": [0, 1_000]},
}
SWAP = {"mechanism": "probabilistic_k_anonymity", "method": "ir_swap", "k": 10}
TABLE = {
    "mechanism": "table",
    "table": "persons",
    "dimensions": ["sex"],
    "count": True,
    "model": "dp",
    "epsilon": "1",
    "adjacency": "replace",
}


def people(**columns: Any) -> pd.DataFrame:
    base = {"id": [f"P{n}" for n in range(100)], "sex": ["f", "m"] * 50, "income": np.arange(100)}
    return pd.DataFrame({**base, "remark": ["never read"] * 100, **columns})


def both(frame: pd.DataFrame) -> list[Any]:
    return [frame, pa.Table.from_pandas(frame, preserve_index=False)]


@pytest.mark.parametrize("table", both(people()), ids=["pandas", "pyarrow"])
def test_the_same_kind_comes_back_without_identifiers_and_marked(table: Any) -> None:
    trial = penstock.protect(table, COLUMNS, SWAP)
    assert type(trial.data) is type(table)
    frame = trial.data if isinstance(trial.data, pd.DataFrame) else trial.data.to_pandas()
    assert list(frame.columns) == ["sex", "income"]
    assert sorted(frame["income"]) == list(range(100))
    assert not trial.is_release
    assert not trial.is_seeded
    marks = trial.data.attrs if isinstance(trial.data, pd.DataFrame) else trial.data.schema.metadata
    assert len(marks) == 1  # and no guarantee, which a released file carries
    assert "not a release" in str(marks)
    assert (trial.guarantee.model, trial.guarantee.parameters["k"]) == ("prob_k", 10)


def test_records_come_back_in_another_order() -> None:
    """The sex of 100 people in their order again has a probability of 1 in 10^29."""
    given = people()
    assert list(penstock.protect(given, COLUMNS, SWAP).data["sex"]) != list(given["sex"])


def test_a_sample_of_the_records_comes_back() -> None:
    frame = penstock.protect(people(), COLUMNS, {**SWAP, "sample": "1/4"}).data
    assert len(frame) == frame["income"].nunique() == 25


def test_objects_and_mappings_say_the_same() -> None:
    declared = {name: Column.model_validate(column) for name, column in COLUMNS.items()}
    params = probabilistic_k_anonymity.Params(method="ir_swap", k=10)
    first = penstock.protect(people(), declared, params, penstock.seeded(7))
    second = penstock.protect(people(), COLUMNS, SWAP, penstock.seeded(7))
    assert first.data.equals(second.data)


def test_a_seed_is_accepted_and_told() -> None:
    trial = penstock.protect(people(), COLUMNS, SWAP, penstock.seeded(7))
    assert trial.is_seeded
    assert "does not hold" in trial.notice
    assert "not a release" in repr(trial)
    assert "income" not in repr(penstock.protect(people(), COLUMNS, SWAP))


def test_the_system_draws_where_no_randomness_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    system = penstock._trial.system  # type: ignore[attr-defined]
    monkeypatch.setattr("penstock._trial.system", lambda: asked.append("system") or system())
    penstock.protect(people(), COLUMNS, SWAP)
    assert asked == ["system"]


@pytest.mark.parametrize(
    ("columns", "code"),
    [
        ({"income": [SECRET] * 100}, "value-outside-domain"),
        ({"income": [None, *range(99)]}, "value-missing"),
        ({"income": [f"{SECRET}"] * 100}, "column-type-wrong"),
        ({"income": [*range(99), f"{SECRET}"]}, "column-type-wrong"),
        ({"sex": [f"{SECRET}"] * 100}, "value-outside-domain"),
    ],
)
def test_data_are_refused_as_in_a_release_and_no_value_is_told(columns: dict[str, Any], code: str) -> None:
    with pytest.raises(penstock.Refusal) as refused:
        penstock.protect(people(**columns), COLUMNS, SWAP)
    assert (refused.value.code, refused.value.kind) == (code, "data")
    assert str(SECRET) not in str(refused.value)
    assert refused.value.__cause__ is None


@pytest.mark.parametrize("table", both(people().drop(columns="income")), ids=["pandas", "pyarrow"])
def test_a_column_that_is_missing_or_there_twice_is_refused(table: Any) -> None:
    with pytest.raises(penstock.Refusal) as missing:
        penstock.protect(table, COLUMNS, SWAP)
    assert missing.value.code == "column-missing"
    frame = people()
    twice = pd.concat([frame, frame[["income"]]], axis=1)
    with pytest.raises(penstock.Refusal) as refused:
        penstock.protect(twice, COLUMNS, SWAP)
    assert refused.value.code == "column-duplicated"


def test_an_empty_table_and_another_kind_of_table_are_refused() -> None:
    with pytest.raises(penstock.Refusal) as empty:
        penstock.protect(people().iloc[:0].astype({"sex": str, "income": int}), COLUMNS, SWAP)
    assert empty.value.code == "table-empty"
    with pytest.raises(penstock.Refusal) as refused:
        penstock.protect({"income": [1]}, COLUMNS, SWAP)  # type: ignore[type-var]
    assert (refused.value.code, refused.value.faults[0].got) == ("setting-refused", "'dict'")


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({**SWAP, "k": 1}, "protect.0.k"),
        ({**SWAP, "seed": 1}, "protect.0.seed"),
        ({"mechanism": "hope"}, "protect.0.mechanism"),
        (7, "protect.0"),
    ],
)
def test_settings_are_refused_as_in_a_spec(params: Any, field: str) -> None:
    with pytest.raises(penstock.Refusal) as refused:
        penstock.protect(people(), COLUMNS, params)
    assert refused.value.code == "spec-refused"
    assert field in [fault.field for fault in refused.value.faults]


def test_all_faults_of_columns_and_settings_are_told_at_once() -> None:
    wrong = {**COLUMNS, "income": {"role": "confidential", "type": "integer"}}
    with pytest.raises(penstock.Refusal) as refused:
        penstock.protect(people(), wrong, {**SWAP, "k": 1})
    assert {"source.columns.income.domain", "protect.0.k"} <= {fault.field for fault in refused.value.faults}


@pytest.mark.parametrize("table", both(people()), ids=["pandas", "pyarrow"])
def test_a_table_comes_back_by_cells_and_reads_only_what_it_is_made_from(table: Any) -> None:
    trial = penstock.protect(table, {**COLUMNS, "income": {**COLUMNS["income"], "domain": [0, 1]}}, TABLE)
    frame = trial.data if isinstance(trial.data, pd.DataFrame) else trial.data.to_pandas()
    assert {"f", "m"} <= set(frame["sex"]) <= {"f", "m", "_T"}
    assert (trial.guarantee.model, trial.guarantee.parameters["epsilon"]) == ("dp", "1")
    assert trial.chosen


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
def test_texts_are_read_however_pyarrow_holds_them(kind: pa.DataType) -> None:
    table = pa.table(
        {"sex": pa.array(["f", "m", "f", "m"]).cast(kind), "id": pa.array(["a", "b", "c", "c"]).cast(kind)}
    )
    columns = {"sex": COLUMNS["sex"], "id": {"role": "identifier"}}
    exact = {"mechanism": "table", "table": "t", "dimensions": ["sex"], "model": "k_anon", "k": 2}
    trial = penstock.protect(table, columns, exact, unit="id")
    assert trial.data.to_pydict()["contributors"] == [2, 2, 3]


def test_at_most_so_many_records_of_each_unit_are_used() -> None:
    """Noise of scale 2 exceeds 40 with probability 2e-9."""
    one_person = people(id=["P1"] * 100)
    trial = penstock.protect(one_person, COLUMNS, {**TABLE, "rows_per_unit": 1}, unit="id")
    assert trial.guarantee.unit == "individual"
    assert any("same value of id" in assumed for assumed in trial.guarantee.assumptions)
    assert int(trial.data["count"].sum()) < 60
    with pytest.raises(penstock.Refusal) as refused:
        penstock.protect(one_person, COLUMNS, TABLE, unit="id")
    assert refused.value.faults[0].field == "protect.0.rows_per_unit"


@pytest.mark.parametrize("table", both(people()), ids=["pandas", "pyarrow"])
def test_shuffled_rows_of_a_trial_are_not_measured_as_records_beside_their_originals(table: Any) -> None:
    """Linkage of unrelated rows would look far too safe."""
    trial = penstock.protect(table, COLUMNS, SWAP)
    given = [(people(), trial.data), (trial.data, people())]
    if isinstance(table, pd.DataFrame):
        given.append((people(), dict(trial.data)))
    for sides in given:
        with pytest.raises(penstock.Refusal) as refused:
            penstock.measure("record_linkage")(*sides, COLUMNS)
        assert (refused.value.code, refused.value.faults[0].field) == ("measure-undefined", "record_linkage")


def test_columns_are_measured_beside_their_originals_and_declared_as_for_a_trial() -> None:
    before = {"income": np.arange(100)}
    with pytest.raises(penstock.Refusal) as refused:
        penstock.measure("sse")(before, before, {"income": {"role": "confidential", "type": "integer"}})
    assert (refused.value.code, refused.value.faults[0].field) == ("spec-refused", "source.columns.income.domain")
    found = penstock.measure("sse")(before, {"income": np.arange(100)[::-1]}, {"income": COLUMNS["income"]})
    assert found.value > 0
    assert penstock.measure("sse").__doc__


def test_frames_are_measured_as_arrays_are() -> None:
    before, after = people()[["income"]], people(income=np.arange(100)[::-1])[["income"]]
    declared = {"income": COLUMNS["income"]}
    for name in ("sse", "mean_change", "variance_change", "il1s"):
        as_arrays = [{"income": side["income"].to_numpy()} for side in (before, after)]
        taken = penstock.measure(name)
        assert taken(before, after, declared) == taken(*as_arrays, declared)


@pytest.mark.parametrize("wrong", [None, [1, 2], {"income": np.zeros((2, 2))}, people()[["income", "income"]]])
def test_what_has_no_columns_by_name_is_not_measured(wrong: Any) -> None:
    with pytest.raises(penstock.Refusal) as refused:
        penstock.measure("sse")(wrong, wrong, {"income": COLUMNS["income"]})
    assert refused.value.code == "measure-undefined"


@pytest.mark.parametrize("wrong", [None, 5, ["income"], "income"])
def test_declared_columns_hold_keys_and_values(wrong: Any) -> None:
    with pytest.raises(penstock.Refusal) as refused:
        penstock.protect(people(), wrong, SWAP)
    assert (refused.value.code, refused.value.faults[0].field) == ("spec-refused", "source.columns")


def test_a_source_of_chance_that_calls_itself_the_systems_is_refused() -> None:
    """Its draws may come from a seed that somebody knows; the trial would not say so."""

    class Pretending:
        from_system = True

    with pytest.raises(penstock.Refusal) as refused:
        penstock.protect(people(), COLUMNS, SWAP, Pretending())
    assert refused.value.faults[0].field == "randomness"


def test_a_bare_seed_is_refused() -> None:
    with pytest.raises(penstock.Refusal, match="must be the operating system's") as refused:
        penstock.protect(people(), COLUMNS, SWAP, 7)
    assert refused.value.faults[0].field == "randomness"
