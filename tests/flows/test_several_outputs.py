"""Releases with several outputs on the whole line: one charge, one bundle, one promise beside another, or nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from penstock.flows.release import release as flow
from penstock.flows.spec import load_spec
from penstock.measures.gates import GateRefused
from penstock.mechanisms.refusal import Refusal, TooFewRecords
from penstock.records import open_records
from penstock.records.ledger.ledger import BudgetExceeded
from penstock.tasks.approve import Waiting
from penstock.tasks.publish import Receipt
from penstock.tasks.verification.bundle import Finding, verify_bundle
from tests.support.several import TABLES, add_records, make_exact, make_several
from tests.support.waiting_release import introduce
from tests.support.workplace import DESCRIPTIONS, ROWS, Workplace, budget_of, files_of, open_dp_account, predicate

DESCRIBED = [Path(name).name for name in DESCRIPTIONS]


def release(workplace: Workplace, *, again: bool = False) -> Receipt:
    return flow(load_spec(workplace.write_spec()), again=again)


def findings(workplace: Workplace, bundle: Path) -> dict[str, Finding]:
    return {found.name: found for found in verify_bundle(bundle, workplace.home / "keys" / "signing.pub")}


def of_action(name: str) -> list[dict[str, Any]]:
    return [dict(event.facts) for event in open_records().log.events() if event.action.value == name]


def nothing_is_left(workplace: Workplace) -> None:
    assert workplace.public_files() == []
    assert workplace.working_files() == []
    open_records().log.verify()
    open_records().ledger.verify()


def test_three_tables_are_one_charge_one_draw_and_one_bundle(workplace: Workplace) -> None:
    make_several(workplace)
    open_dp_account(2)
    receipt = release(workplace)
    assert receipt.promise == "dp, epsilon = 1, adjacency replace"
    assert budget_of() == ("1", "1", ["published"] * 3)
    [bundle] = workplace.bundles()
    tables = {f"tables/{name}.{suffix}" for name in TABLES for suffix in ("parquet", "csv")}
    described = {f"metadata/{name}/{each}" for name in TABLES for each in DESCRIBED}
    assert set(files_of(bundle)) == {*tables, *described, "report.html", "manifest.json"}
    rows = [pq.read_table(bundle / "tables" / f"{name}.parquet").num_rows for name in TABLES]
    assert receipt.records == sum(rows) == 15
    assert workplace.working_files() == []
    open_records().log.verify()
    assert open_records().ledger.verify() > 0


def test_the_manifest_lists_every_output_and_their_sum(workplace: Workplace) -> None:
    make_several(workplace)
    open_dp_account(2)
    stated = predicate(Path(release(workplace).path))["release"]
    assert stated["penstock"] == 2
    assert [each["name"] for each in stated["outputs"]] == list(TABLES)
    assert [each["guarantee"]["parameters"]["epsilon"] for each in stated["outputs"]] == ["1/4", "1/4", "1/2"]
    [together] = stated["together"]["guarantees"]
    assert (together["model"], together["parameters"]["epsilon"], together["adjacency"]) == ("dp", "1", "replace")
    assert stated["together"]["uncovered"] == []


def test_all_outputs_are_reserved_before_the_first_is_drawn(workplace: Workplace) -> None:
    make_several(workplace)
    open_dp_account(2)
    release(workplace)
    order = [event.action.value for event in open_records().log.events()]
    last_reservation = max(place for place, name in enumerate(order) if name == "RESERVED")
    assert [order.count(name) for name in ("RESERVED", "SPENT", "PROTECTED")] == [3, 3, 1]
    assert last_reservation < order.index("SPENT") < order.index("PROTECTING") < order.index("PROTECTED")


def test_what_does_not_fit_together_reserves_nothing(workplace: Workplace) -> None:
    """Each output fits into the account by itself."""
    make_several(workplace, epsilon="1")
    workplace.raw["budget"]["epsilon"] = "3"
    open_dp_account(2)
    with pytest.raises(BudgetExceeded, match=r"got 3 \(by_region 1, by_education 1, incomes 1\)\."):
        release(workplace)
    assert budget_of() == ("0", "2", [])
    nothing_is_left(workplace)


def test_records_beside_tables_promise_for_themselves(workplace: Workplace) -> None:
    make_several(workplace)
    add_records(workplace)
    open_dp_account(2)
    receipt = release(workplace)
    bundle = Path(receipt.path)
    assert receipt.promise == (
        "dp, epsilon = 1, adjacency replace; k_anon, k = 5, mdav_id (each alone; no theorem covers both)"
    )
    assert receipt.left_out == ()
    assert pq.read_table(bundle / "people" / "data.parquet").column_names == ["age"]
    assert predicate(bundle)["release"]["together"]["uncovered"] == ["people"]
    found = findings(workplace, bundle)
    assert found["people: records"].text.startswith("people: Every file has 400 records")
    assert found["together"].text == "No theorem covers this output together with the others: people."
    page = (bundle / "report.html").read_text(encoding="utf-8")
    assert "No theorem covers this output together with the others: people (k_anon)." in page
    assert [each["state"] for each in open_records().ledger.book("survey").as_dict("survey")["releases"]] == (
        ["published"] * 4
    )


def test_an_output_that_may_be_left_out_is_and_the_others_appear(workplace: Workplace) -> None:
    make_several(workplace)
    add_records(workplace, gates=[{"measure": "il1s", "max": 1e-9}])
    open_dp_account(2)
    receipt = release(workplace)
    bundle = Path(receipt.path)
    assert receipt.promise == "dp, epsilon = 1, adjacency replace"
    assert not [name for name in files_of(bundle) if "people" in name]
    stated = predicate(bundle)["release"]
    assert [each["name"] for each in stated["outputs"]] == list(TABLES)
    assert {each.get("output") for each in stated["gates"]["results"]} == {*TABLES, None}  # None: of the whole release
    [facts] = of_action("LEFT_OUT")
    assert {name: facts[name] for name in ("output", "code", "because")} == {
        "output": "people",
        "code": "gate-refused",
        "because": ["il1s"],
    }
    assert receipt.left_out == ({"output": "people", "because": ["il1s"]},)
    assert release(workplace).left_out == receipt.left_out  # the receipt of what was published before, from the log
    assert "people" in Path(receipt.confidential_report).read_text(encoding="utf-8")
    states = {each.get("output"): each["state"] for each in _releases()}
    assert states == {**dict.fromkeys(TABLES, "published"), "people": "refused"}
    findings(workplace, bundle)


def _releases() -> list[dict[str, Any]]:
    return list(open_records().ledger.book("survey").as_dict("survey")["releases"])


def test_an_output_that_fails_takes_the_release_with_it(workplace: Workplace) -> None:
    make_exact(workplace)
    workplace.raw["gates"] = [{"measure": "smallest_frequency", "min": 2}]
    workplace.raw["protect"][1]["gates"] = [{"measure": "smallest_frequency", "min": ROWS}]
    with pytest.raises(GateRefused, match=r"educations\.gates\.smallest_frequency"):
        release(workplace)
    nothing_is_left(workplace)


def test_a_setting_that_the_data_refuse_names_its_output(workplace: Workplace) -> None:
    make_exact(workplace, k=ROWS)
    with pytest.raises(TooFewRecords, match=r"educations\.k refused"):
        release(workplace)
    nothing_is_left(workplace)


def test_a_table_of_a_release_that_another_output_refused_can_be_asked_for_again(workplace: Workplace) -> None:
    """It was kept without being on record, and then refused as changed for ever."""
    make_exact(workplace, k=ROWS)
    with pytest.raises(TooFewRecords):
        release(workplace)
    del workplace.raw["protect"][1:], workplace.raw["budget"]
    receipt = release(workplace)
    assert (receipt.repeats, of_action("REPEATED")) == (None, [])
    findings(workplace, Path(receipt.path))


def test_a_table_that_the_data_refuse_is_left_out_where_nothing_is_spent(workplace: Workplace) -> None:
    make_exact(workplace, k=ROWS, on_refusal="leave_out")
    receipt = release(workplace)
    bundle = Path(receipt.path)
    assert receipt.left_out == ({"output": "educations", "because": ["k"]},)
    assert receipt.promise == "k_anon, k = 2, no noise"
    assert [each["name"] for each in predicate(bundle)["release"]["outputs"]] == ["regions"]
    findings(workplace, bundle)
    # One exact output promises nothing together with others, so no heading says so.
    assert "What is promised together" not in (bundle / "report.html").read_text(encoding="utf-8")


def test_reviewers_are_told_what_was_left_out(workplace: Workplace) -> None:
    make_exact(workplace, gates=[{"measure": "smallest_frequency", "min": ROWS}], on_refusal="leave_out")
    workplace.raw["approve"] = {"reviewers": 1, "allowed": ["anna", "ben"]}
    introduce(workplace.folder, "anna", "ben")
    waiting = flow(load_spec(workplace.write_spec()))
    assert isinstance(waiting, Waiting)
    assert waiting.left_out == ({"output": "educations", "because": ["smallest_frequency"]},)


def test_a_release_of_which_every_output_is_left_out_is_refused(workplace: Workplace) -> None:
    make_exact(workplace, k=ROWS, on_refusal="leave_out")
    workplace.raw["protect"][0] |= {"k": ROWS, "on_refusal": "leave_out"}
    with pytest.raises(GateRefused, match="must have at least one output that is not refused"):
        release(workplace)
    nothing_is_left(workplace)


def test_a_budget_that_is_used_up_refuses_all_of_it_whatever_may_be_left_out(workplace: Workplace) -> None:
    make_several(workplace, on_refusal="leave_out", epsilon="1")
    workplace.raw["budget"]["epsilon"] = "3"
    open_dp_account(2)
    with pytest.raises(BudgetExceeded):
        release(workplace)
    nothing_is_left(workplace)


def test_exact_tables_of_one_column_are_looked_at_together(workplace: Workplace) -> None:
    """One of them could be subtracted from the other, and nobody is asked."""
    make_exact(workplace, dimensions=["region", "education"])
    with pytest.raises(GateRefused, match="regions beside educations in this release shares region: both are under"):
        release(workplace)
    nothing_is_left(workplace)


def test_the_same_release_comes_back_and_spends_nothing(workplace: Workplace) -> None:
    make_several(workplace)
    open_dp_account(2)
    first = release(workplace)
    assert release(workplace).run == first.run
    assert budget_of()[0] == "1"
    again = release(workplace, again=True)
    assert again.run != first.run
    assert (first.repeats, again.repeats) == (None, first.run)
    for name in TABLES:  # the same questions have the same answers
        assert pq.read_table(Path(again.path) / "tables" / f"{name}.parquet").equals(
            pq.read_table(Path(first.path) / "tables" / f"{name}.parquet")
        )
    assert budget_of()[0] == "1"


def test_one_table_of_a_release_is_known_when_it_is_asked_for_alone(workplace: Workplace) -> None:
    make_several(workplace)
    open_dp_account(2)
    first = Path(release(workplace).path)
    [alone, *_] = workplace.raw["protect"]
    workplace.raw |= {"name": "alone", "protect": [alone], "budget": {"dataset": "survey", "epsilon": "1/4"}}
    second = Path(release(workplace).path)
    name = "tables/by_region.parquet"
    assert pq.read_table(second / name).equals(pq.read_table(first / name))
    assert budget_of()[0] == "1"


@pytest.mark.parametrize("output", TABLES)
def test_a_changed_file_of_any_output_is_noticed(workplace: Workplace, output: str) -> None:
    make_several(workplace)
    open_dp_account(2)
    bundle = Path(release(workplace).path)
    path = bundle / "tables" / f"{output}.csv"
    path.write_text(path.read_text().replace("North", "South", 1) + "\n")
    with pytest.raises(Refusal):
        findings(workplace, bundle)
