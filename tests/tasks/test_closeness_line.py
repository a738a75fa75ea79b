"""Groups through every step of the line: drawn, re-checked, judged, staged with their tables, sealed and verified."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from penstock.flows.planning import draw_up_plan
from penstock.flows.spec import load_spec
from penstock.measures.gates import Verdict
from penstock.measures.measurement import MeasureUndefined
from penstock.mechanisms.registry import MECHANISMS
from penstock.records.bundle.bundle import BundleAltered
from penstock.records.home import Home
from penstock.records.log.log import Action
from penstock.records.run import Run, RunDamaged
from penstock.tasks import publish
from penstock.tasks.files.columns import GUARANTEE_KEY, load_columns
from penstock.tasks.files.linked import read_linked
from penstock.tasks.verification.bundle import verify_bundle
from tests.support.private_release import begun
from tests.support.workplace import DESCRIPTIONS, ROWS, Workplace, files_of, predicate
from tests.tasks.close_release import EVERY, House, K, make_close_in, published, text_of

TABLES = {
    "permuted": [],
    "joint permuted": [],
    "each permuted": [],
    "each": ["buckets_1", "buckets_2"],
    "ranked": ["values"],
    "ranked together": ["values"],
}
KEYS = {"each": ["group_education", "group_income"]}
every_form = pytest.mark.parametrize("form", EVERY)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    return House(tmp_path_factory.mktemp("house"))


def tables_of(form: str) -> list[str]:
    return TABLES.get(form, ["buckets"])


@every_form
def test_groups_are_released_and_verify(workplace: Workplace, form: str) -> None:
    make_close_in(workplace, form)
    with begun(workplace, account=False) as line:
        receipt = line.publish()
    bundle = Path(receipt.path)
    stems = ["data", *(f"tables/{name}" for name in tables_of(form))]
    suffixes = ("parquet", "csv")
    data = [f"{stem}.{suffix}" for stem in stems for suffix in suffixes]
    assert set(files_of(bundle)) == {"manifest.json", "report.html", *DESCRIPTIONS, *data}
    assert (receipt.records, receipt.rows_are) == (ROWS, "records")
    assert workplace.working_files() == []
    found = {each.name: each for each in verify_bundle(bundle, Home.open().public_key_path)}
    if "ranked" in form:
        assert found["groups"].checked
        assert f"at least {K} records" in found["groups"].text
    else:
        assert found["closeness"].checked is bool(tables_of(form))
    assert "swapping" not in found
    confidential, _ = EVERY[form]
    names = pq.read_schema(bundle / "data.parquet").names
    if "permuted" in form:
        assert names == ["age", "region", "education", "income", "weight"]
    else:
        kept = [name for name in ("age", "region", "education", "income", "weight") if name not in confidential]
        assert names == [*kept, *KEYS.get(form, ["group"])]


@pytest.mark.parametrize(
    ("form", "promise"),
    [
        ("anatomy", "t_close, t = 2, k = 10, anatomy"),
        ("permuted", "t_close, t = 2, k = 10, permuted"),
        ("by epsilon", "t_close, epsilon = 1/2, k = 10, anatomy"),
        ("ranked", "prob_k, k = 10, ranked"),
    ],
)
def test_the_receipt_tells_the_promise_on_one_line(workplace: Workplace, form: str, promise: str) -> None:
    make_close_in(workplace, form)
    with begun(workplace, account=False) as line:
        assert line.publish().promise == promise


@every_form
def test_the_manifest_describes_every_column_of_every_table(house: House, form: str) -> None:
    bundle = house.bundle(form)
    release = predicate(bundle)["release"]
    described = {table["name"]: table for table in release.get("linked", [])}
    assert list(described) == tables_of(form)
    assert ("linked" in release) is bool(described)
    roles = {column["name"]: column["role"] for column in release["columns"]}
    assert list(roles) == pq.read_schema(bundle / "data.parquet").names
    for name, table in described.items():
        columns = {column["name"]: column for column in table["columns"]}
        assert list(columns) == pq.read_schema(bundle / "tables" / f"{name}.parquet").names
        assert roles[table["key"]] == columns[table["key"]]["role"] == "link"
        assert ("records" in columns) is ("ranked" not in form)
        assert all(column["role"] == "figure" for column in columns.values() if column["name"] == "records")
        assert all(column["treatment"] for column in columns.values())
    if "permuted" in form:
        assert [name for name, role in roles.items() if role == "confidential"] == list(EVERY[form][0])
    else:
        assert "confidential" not in roles.values()


@every_form
def test_every_file_carries_the_guarantee(house: House, form: str) -> None:
    bundle = house.bundle(form)
    promised = predicate(bundle)["release"]["guarantee"]
    for path in bundle.rglob("*.parquet"):
        assert json.loads(pq.read_schema(path).metadata[GUARANTEE_KEY]) == promised


@every_form
def test_every_check_and_measure_of_groups_is_made(workplace: Workplace, form: str) -> None:
    make_close_in(workplace, form)
    with begun(workplace, account=False) as line:
        _, _, decision = line.assess()
        told = json.loads(line.job.run.path("assessment.json").read_text(encoding="utf-8"))
        audit = line.job.plan.guarantee.audit
    assert decision.verdict is Verdict.PASS
    assert [result.gate for result in decision.results] == [*audit, "smallest_group"]
    of_buckets = {"bucket_width", "closeness_ratio", "narrowest_bucket"}
    assert set(told["undefined"]) == (of_buckets if "ranked" in form else set())
    measured = {taken["name"]: taken["value"] for taken in told["measurements"]}
    assert measured["smallest_group"] >= K
    assert measured.get("closeness_ratio", 1) <= 2
    assert "mean_change" not in measured


def test_a_mechanism_that_puts_a_record_into_another_group_is_refused(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = MECHANISMS["closeness"].protect

    def careless(columns, declared, params, randomness):
        drawn = real(columns, declared, params, randomness)
        numbers = drawn.columns["group"].copy()
        numbers[0] = numbers[0] % numbers.max() + 1
        return replace(drawn, columns={**drawn.columns, "group": numbers})

    make_close_in(workplace)
    monkeypatch.setitem(MECHANISMS, "closeness", replace(MECHANISMS["closeness"], protect=careless))
    with begun(workplace, account=False) as line:
        _, _, decision = line.assess()
    failed = [result.gate for result in decision.results if result.verdict is Verdict.REFUSE]
    assert "group_sizes" in failed


@every_form
def test_what_was_drawn_is_found_again_after_a_crash(workplace: Workplace, form: str) -> None:
    make_close_in(workplace, form)
    with begun(workplace, account=False) as line:
        _, first = line.protect()
        files = {path.name: path.read_bytes() for path in line.job.run.folder.glob("linked/*")}
    with begun(workplace, account=False) as line:
        assert line.job.run.resumed
        _, second, decision = line.assess()
        assert list(second.declared) == pq.read_schema(second.data).names
        events = [event.action for event in line.job.log.events()]
        assert {path.name: path.read_bytes() for path in line.job.run.folder.glob("linked/*")} == files
    assert second == first
    assert [table.name for table in second.linked] == tables_of(form)
    assert events.count(Action.PROTECTING) == 1
    assert decision.verdict is Verdict.PASS


def test_what_is_secret_is_kept_apart(workplace: Workplace) -> None:
    make_close_in(workplace, "each")
    with begun(workplace, account=False) as line:
        _, staged = line.protect()
        secrets = load_columns(staged.secrets)
        events = [event for event in line.job.log.events() if event.action is Action.PROTECTED]
    names = ("education", "income")
    kinds = ("group", "hidden bucket")
    assert set(secrets) == {"origin", *(f"{kind} {name}" for kind in kinds for name in names)}
    assert events[-1].facts == {
        "data": staged.digest,
        "linked": {table.name: table.digest for table in staged.linked},
    }


def test_a_draw_that_was_cut_off_before_its_commit_is_drawn_anew(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Run.commit

    def cut_off(self: Run, step: str, facts: Any) -> None:
        if step == "protected":
            raise KeyboardInterrupt
        real(self, step, facts)

    make_close_in(workplace)
    with monkeypatch.context() as patched:
        patched.setattr(Run, "commit", cut_off)
        with pytest.raises(KeyboardInterrupt), begun(workplace, account=False) as line:
            line.protect()
    with begun(workplace, account=False) as line:
        bundle = Path(line.publish().path)
    verify_bundle(bundle, Home.open().public_key_path)


def spoil(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b" ")


@pytest.mark.parametrize("harm", [spoil, Path.unlink], ids=["changed", "removed"])
@pytest.mark.parametrize("name", ["buckets_1", "buckets_2"])
def test_a_staged_table_that_was_changed_is_never_used(workplace: Workplace, name: str, harm: Any) -> None:
    make_close_in(workplace, "each")
    with begun(workplace, account=False) as line:
        line.protect()
        harm(line.job.run.folder / "linked" / f"{name}.parquet")
    with (
        pytest.raises(RunDamaged, match=rf"linked/{name}\.parquet refused: must be as it was staged"),
        begun(workplace, account=False) as line,
    ):
        line.protect()


def test_every_changed_file_of_a_draw_is_named(workplace: Workplace) -> None:
    make_close_in(workplace)
    with begun(workplace, account=False) as line:
        line.protect()
        for path in (line.job.run.path("protected.parquet"), line.job.run.folder / "linked" / "buckets.parquet"):
            spoil(path)
    with pytest.raises(RunDamaged) as refused, begun(workplace, account=False) as line:
        line.protect()
    assert [fault.field for fault in refused.value.faults] == ["protected.parquet", "linked/buckets.parquet"]


@pytest.mark.parametrize("name", ["tables/buckets.parquet", "tables/buckets.csv", "data.csv"])
def test_a_change_to_a_table_that_waits_for_approval_is_refused(workplace: Workplace, name: str) -> None:
    make_close_in(workplace)
    with begun(workplace, account=False) as line:
        line.stage()
        spoil(line.job.bundle / name)
        with pytest.raises(RunDamaged, match=f"{name} refused: must have the listed digest; it was altered"):
            publish.staged_content(line.job)
        with pytest.raises(BundleAltered, match=f"{name} refused: must have the listed digest; it was altered"):
            publish.seal.fn(line.job, {"required": 0, "decisions": []})  # type: ignore[attr-defined]


@pytest.mark.parametrize("harm", [spoil, Path.unlink], ids=["changed", "removed"])
@pytest.mark.parametrize("name", ["tables/buckets.parquet", "tables/buckets.csv"])
def test_a_published_table_that_was_changed_is_noticed(house: House, tmp_path: Path, name: str, harm: Any) -> None:
    signed = house.copy(tmp_path)
    harm(signed.folder / name)
    with pytest.raises(BundleAltered, match=name):
        signed.verify()


def test_tables_beside_records_keep_the_order_of_the_mechanism(house: House) -> None:
    """Records are shuffled; groups have random numbers already, and sorted rows tell nothing."""
    table = pq.read_table(house.bundle() / "tables/buckets.parquet")
    labels = list(dict.fromkeys(table["income"].to_pylist()))
    rows = list(zip(table["group"].to_pylist(), map(labels.index, table["income"].to_pylist()), strict=True))
    assert rows == sorted(rows)
    assert sum(table["records"].to_pylist()) == ROWS


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_readers_that_are_not_ours_join_records_and_tables(house: House, suffix: str) -> None:
    """DuckDB and pandas: the sizes of groups agree, and the shares of buckets of a group are those of its records."""
    bundle = house.bundle("each")
    data, table = bundle / f"data.{suffix}", bundle / f"tables/buckets_2.{suffix}"
    joined = duckdb.sql(
        f"""select r.group_income, any_value(size), sum(records) from '{table}' b
            join (select group_income, count(*) as size from '{data}' group by 1) r using (group_income)
            group by all"""
    ).fetchall()
    assert len(joined) > 1
    assert all(size == total >= K for _, size, total in joined)
    read = pd.read_parquet if suffix == "parquet" else pd.read_csv
    records, buckets = read(data), read(table)
    merged = records.merge(buckets, on="group_income")
    sizes = records.groupby("group_income").size()
    expected = (merged["records"] / merged["group_income"].map(sizes)).sum()
    assert expected == pytest.approx(ROWS)
    assert list(buckets.columns) == ["group_income", "income", "records"]


@pytest.mark.parametrize("form", ["anatomy", "permuted", "joint", "each", "each permuted"])
def test_the_public_report_tells_how_many_records_each_bucket_has(house: House, form: str) -> None:
    bundle = house.bundle(form)
    page = text_of(bundle / "report.html")
    told: Counter[tuple[str, str]] = Counter()
    for path in bundle.rglob("*.parquet"):
        table = pq.read_table(path).to_pydict()
        for name in set(EVERY[form][0]) & set(table):
            for row, label in enumerate(table[name]):
                told[name, label] += table["records"][row] if "records" in table else 1
    assert told
    for (_, label), records in told.items():
        assert f'<th scope="row">{label}</th>\n  <td class="n">{records}</td>' in page
    assert ("The tables beside the records" in page) is ("permuted" not in form)


def test_the_public_report_tells_buckets_that_are_the_declared_categories(workplace: Workplace) -> None:
    """Four categories, t = 3: four buckets, each of one category."""
    page = text_of(published(workplace, "nominal", t="3") / "report.html")
    assert "region: how many records each bucket has over all" in page
    assert all(f'<th scope="row">{name}</th>\n  <td class="n">' in page for name in ("North", "South", "East", "West"))


def test_the_public_report_of_values_by_group_has_no_buckets(house: House) -> None:
    page = text_of(house.bundle("ranked") / "report.html")
    assert "<h2>The tables beside the records</h2>" in page
    assert "tables/values.csv" in page
    assert "<h2>The buckets</h2>" not in page


@pytest.mark.parametrize(("known", "most", "verdict"), [(1, 100, Verdict.PASS), (1, 2, Verdict.REFUSE)])
def test_a_gate_limits_what_is_learnt_by_who_knows_a_member(
    workplace: Workplace, known: int, most: float, verdict: Verdict
) -> None:
    make_close_in(workplace)
    workplace.raw["gates"] = [{"measure": "closeness_after", "knows": known, "max": most}]
    with begun(workplace, account=False) as line:
        _, _, decision = line.assess()
    (gate,) = [each for each in decision.results if each.gate.startswith("closeness_after")]
    assert gate.verdict is verdict
    assert f"knows {known}" in gate.rule


def test_a_gate_on_more_known_members_than_there_is_a_factor_for_ends_the_run(workplace: Workplace) -> None:
    make_close_in(workplace)
    workplace.raw["gates"] = [{"measure": "closeness_after", "knows": 5, "max": 100}]
    with begun(workplace, account=False) as line, pytest.raises(MeasureUndefined, match="must be about fewer known"):
        line.assess()


def test_a_bundle_in_one_format_has_its_tables_in_it_alone(workplace: Workplace) -> None:
    workplace.raw["publish"]["formats"] = ["csv"]
    bundle = published(workplace)
    assert set(files_of(bundle)) == {
        "data.csv",
        "tables/buckets.csv",
        *DESCRIPTIONS,
        "manifest.json",
        "report.html",
    }
    found = {each.name: each for each in verify_bundle(bundle, Home.open().public_key_path)}
    assert found["closeness"].checked


def test_linked_tables_are_read_back_as_they_were_made(workplace: Workplace) -> None:
    made: list[Any] = []
    real = MECHANISMS["closeness"].protect

    def noted(*given):
        made.append(real(*given))
        return made[-1]

    make_close_in(workplace, "joint")
    with pytest.MonkeyPatch.context() as patched, begun(workplace, account=False) as line:
        patched.setitem(MECHANISMS, "closeness", replace(MECHANISMS["closeness"], protect=noted))
        _, staged = line.protect()
        again = read_linked(staged.linked[0])
    table = made[0].linked["buckets"]
    assert (again.key, again.declared) == (table.key, table.declared)
    assert list(again.columns) == list(table.columns)
    for name, values in table.columns.items():
        np.testing.assert_array_equal(again.columns[name], values)


def test_a_release_is_about_all_columns_that_it_is_made_from(workplace: Workplace) -> None:
    make_close_in(workplace)
    plan = draw_up_plan(load_spec(workplace.write_spec()))
    assert list(plan.released) == ["age", "region", "education", "weight"]
    assert plan.about == ("age", "region", "education", "income", "weight")
