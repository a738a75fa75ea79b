"""Differentially private releases on the whole line: what is spent, published and refused."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from penstock.cli.main import EXIT_CODES
from penstock.flows.spec import load_spec
from penstock.measures.gates import GateRefused
from penstock.mechanisms import dp_microaggregation
from penstock.mechanisms.dp_microaggregation import _mechanism
from penstock.mechanisms.protected import Protected
from penstock.mechanisms.randomness import Randomness, seeded
from penstock.mechanisms.refusal import Refusal, SeedRefused, SpecRefused, TooFewRecords, ValueOutsideDomain
from penstock.mechanisms.registry import MECHANISMS
from penstock.records import open_records
from penstock.records.ledger.accounts import Cost
from penstock.records.ledger.ledger import AccountMissing, BudgetExceeded, SecondRelease
from penstock.reports.pages import number
from penstock.tasks import protect as protecting
from penstock.tasks.outputs import records
from penstock.tasks.outputs.drawn import PromiseDiffers
from penstock.tasks.publish import Receipt
from penstock.tasks.verification.bundle import Finding, verify_bundle
from tests.support.workplace import (
    DESCRIPTIONS,
    OPENED,
    PASSED,
    ROWS,
    Workplace,
    budget_of,
    files_of,
    make_private,
    make_units,
    open_dp_account,
    predicate,
)

both = pytest.mark.parametrize("mode", ["records", "marginals"])
# So much that noise is far smaller than a step of the grid: what is released is the data, but for order and blocks.
WITHOUT_NOISE = "1000000000000"
NOTHING_DRAWN = {"RESERVED", "SPENT", "PROTECTING", "PROTECTED"}


def release(workplace: Workplace, *, again: bool = False) -> Receipt:
    from penstock.flows.release import release as flow

    return flow(load_spec(workplace.write_spec()), again=again)


def actions(run: str | None = None) -> list[str]:
    return [event.action.value for event in open_records().log.events(run)]


def costs() -> list[Cost]:
    return list(open_records().ledger.book("survey").costs)


def findings(workplace: Workplace, bundle: Path) -> dict[str, Finding]:
    return {found.name: found for found in verify_bundle(bundle, workplace.home / "keys" / "signing.pub")}


def refused(workplace: Workplace, refusal: type[Refusal], *, again: bool = False) -> Refusal:
    """The refusal of a release of which nothing is left, on record in a log that verifies."""
    before = workplace.public_files()
    with pytest.raises(refusal) as caught:
        release(workplace, again=again)
    assert workplace.public_files() == before
    assert workplace.working_files() == []
    assert actions()[-1] == "REFUSED"
    open_records().log.verify()
    open_records().ledger.verify()
    return caught.value


@both
def test_a_release_is_published_whole_verifies_and_spends_exactly_its_epsilon(workplace: Workplace, mode: str) -> None:
    make_private(workplace, mode=mode, epsilon="2/3")
    open_dp_account(4)
    receipt = release(workplace)
    bundle = Path(receipt.path)
    assert workplace.bundles() == [bundle]
    assert set(files_of(bundle)) == {"data.parquet", "data.csv", *DESCRIPTIONS, "report.html", "manifest.json"}
    assert receipt.promise == "dp, epsilon = 2/3, adjacency replace"
    assert receipt.records == pq.read_table(bundle / "data.parquet").num_rows == ROWS
    assert actions() == [*OPENED, *PASSED]
    assert open_records().log.verify().count == len(OPENED) + len(PASSED)
    assert budget_of() == ("2/3", "10/3", ["published"])
    [cost] = costs()
    assert (cost.run, cost.claim.model, str(cost.claim.epsilon)) == (receipt.run, "dp", "2/3")
    assert (cost.claim.adjacency, cost.claim.unit) == ("replace", "row")
    assert open_records().ledger.verify() == 5  # opened, looked, reserved, spent, settled
    assert workplace.working_files() == []


@both
def test_whoever_has_the_bundle_can_see_that_no_value_is_rarer_than_a_block(workplace: Workplace, mode: str) -> None:
    make_private(workplace, mode=mode, k=80)
    open_dp_account(1)
    bundle = Path(release(workplace).path)
    found = findings(workplace, bundle)["blocks"]
    assert found.checked
    parts = re.findall(r"every (combination|value) of ([a-z, ]+) occurs at least 80 times", found.text)
    columns = {"age", "region", "education", "income"}
    if mode == "records":
        [(_, together)] = parts
        assert set(together.split(", ")) == columns
    else:
        assert {("value", name) for name in columns} == set(parts)
    table = pq.read_table(bundle / "data.parquet")
    for names in [table.column_names] if mode == "records" else [[name] for name in table.column_names]:
        rows = Counter(zip(*(table[name].to_pylist() for name in names), strict=True))
        assert min(rows.values()) >= 80
        assert len(rows) <= ROWS // 80
    assert not findings(workplace, bundle)["noise"].checked


@both
def test_a_unit_with_several_records_is_protected_as_a_whole_and_never_named(workplace: Workplace, mode: str) -> None:
    make_private(workplace, mode=mode)
    make_units(workplace, most=3)
    open_dp_account(4, unit="individual")
    receipt = release(workplace)
    bundle = Path(receipt.path)
    assert findings(workplace, bundle)["blocks"].checked
    assert receipt.records == pq.read_table(bundle / "data.parquet").num_rows == 300
    stated = predicate(bundle)["release"]
    assert (stated["guarantee"]["unit"], stated["guarantee"]["parameters"]["rows_per_unit"]) == ("individual", 3)
    assert budget_of() == ("1", "3", ["published"])
    assert [cost.claim.unit for cost in costs()] == ["individual"]
    for content in files_of(bundle).values():
        assert re.search(rb"person [0-9]", content) is None
    assert "person_id" not in pq.read_schema(bundle / "data.parquet").names
    assert workplace.working_files() == []


def test_releases_of_the_same_records_add_up_without_acknowledgement_until_nothing_is_left(
    workplace: Workplace,
) -> None:
    make_private(workplace)
    open_dp_account(2)
    runs = [release(workplace, again=True).run for _ in range(2)]
    assert len(workplace.bundles()) == len(set(runs)) == 2
    for bundle in workplace.bundles():
        findings(workplace, bundle)
        assert predicate(bundle)["release"]["guarantee"]["composes_with"] == "dp: epsilons add up"
    first, second = (pq.read_table(bundle / "data.parquet") for bundle in workplace.bundles())
    assert not first.equals(second)
    assert budget_of() == ("2", "0", ["published", "published"])

    events = len(actions())
    caught = refused(workplace, BudgetExceeded, again=True)
    assert EXIT_CODES[caught.kind] == 5
    assert actions()[events:] == ["PLANNED", "REFUSED"]  # the account decides it: no row is read
    assert budget_of() == ("2", "0", ["published", "published"])
    assert "must not exceed what the dp account of survey has left, 0 of 2" in str(caught)


def test_newer_records_of_the_same_people_are_charged_to_the_same_account(workplace: Workplace) -> None:
    make_private(workplace)
    open_dp_account(1)
    release(workplace)
    workplace.write_survey(ROWS, seed=2)
    refused(workplace, BudgetExceeded)


def test_a_release_without_an_account_is_refused_before_it_draws(workplace: Workplace) -> None:
    make_private(workplace)
    assert refused(workplace, AccountMissing).kind == "budget"
    assert not NOTHING_DRAWN & set(actions())


def test_a_release_under_another_promise_needs_an_acknowledgement(workplace: Workplace) -> None:
    swapped = json.loads(json.dumps(workplace.raw))
    make_private(workplace)
    open_dp_account(2)
    first = release(workplace).run
    workplace.raw = swapped
    caught = refused(workplace, SecondRelease)
    assert first in str(caught)
    workplace.raw["budget"] = {"acknowledges": [first]}
    release(workplace)
    assert budget_of() == ("1", "1", ["published"])


@pytest.mark.parametrize("units", [False, True])
def test_a_gate_that_cannot_hold_refuses_before_anything_is_reserved(workplace: Workplace, units: bool) -> None:
    make_private(workplace)
    if units:
        make_units(workplace, most=1)
    workplace.raw["gates"] = [{"measure": "expected_error", "max": 0.01}]
    open_dp_account(4, unit="individual" if units else "row")
    caught = refused(workplace, GateRefused)
    assert EXIT_CODES[caught.kind] == 4
    assert "gates.expected_error refused: must allow" in str(caught)
    assert actions() == [*OPENED, "PLANNED", "LOOKED", "INGESTED", "VALIDATED", "REFUSED"]
    assert budget_of() == ("0", "4", [])


def test_the_gate_is_decided_by_the_number_of_records_that_are_used(workplace: Workplace) -> None:
    """One record of four of each person leaves 100, and the error of 400 is not reached with them."""
    make_private(workplace, mode="marginals", epsilon="4")
    workplace.raw["budget"]["epsilon"] = "4"
    open_dp_account(8)
    stated = predicate(Path(release(workplace).path))["release"]["settled"]
    error = max(facts["expected_error"] for part in stated["parts"] for facts in part["columns"].values())
    workplace.raw["gates"] = [{"measure": "expected_error", "max": error}]
    release(workplace)  # a value on its limit is inside
    make_units(workplace, most=1)
    workplace.raw["budget"]["dataset"] = "people"  # the account of the survey counts rows
    open_dp_account(8, dataset="people", unit="individual")
    caught = refused(workplace, GateRefused)
    assert [fault.got for fault in caught.faults] != [f"{error:.4g}"]
    assert budget_of()[0] == "8"


def test_fewer_records_than_a_block_are_refused_before_anything_is_reserved(workplace: Workplace) -> None:
    make_private(workplace, k=ROWS + 1)
    open_dp_account(4)
    assert refused(workplace, TooFewRecords).kind == "data"
    assert budget_of() == ("0", "4", [])


@pytest.mark.parametrize("measure", ["record_linkage", "average_risk", "mean_change"])
def test_a_gate_that_looks_at_the_data_is_no_valid_spec(workplace: Workplace, measure: str) -> None:
    make_private(workplace)
    workplace.raw["gates"].append({"measure": measure, "max": 1})
    with pytest.raises(
        SpecRefused, match="must be public: whether a release appears would otherwise tell about the confidential data"
    ) as caught:
        release(workplace)
    assert [fault.field for fault in caught.value.faults] == ["gates.1.measure"]
    assert EXIT_CODES[caught.value.kind] == 2
    assert not workplace.home.exists()


def test_a_seed_in_the_spec_is_refused(workplace: Workplace) -> None:
    make_private(workplace, seed=1)
    with pytest.raises(SpecRefused, match=r"protect\.0\.seed refused: must be a known key"):
        release(workplace)


def test_a_seeded_generator_is_refused_before_anything_is_spent(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_private(workplace)
    open_dp_account(4)
    monkeypatch.setattr(protecting, "system", lambda: seeded(1))
    refused(workplace, SeedRefused)
    assert not {"SPENT", "PROTECTING"} & set(actions())
    assert budget_of() == ("0", "4", [])  # what was reserved for it is given back


@pytest.mark.parametrize(
    "change", [{"parameters": {"epsilon": "1/2"}}, {"unit": "individual"}, {"not_promised": ("anything else",)}]
)
def test_a_mechanism_that_promises_something_else_is_refused_and_what_it_drew_stays_spent(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    mechanism = MECHANISMS["dp_microaggregation"]

    def promising_otherwise(*arguments: Any) -> Protected:
        made = mechanism.protect(*arguments)
        return replace(made, guarantee=made.guarantee.model_copy(update=change))

    monkeypatch.setitem(MECHANISMS, "dp_microaggregation", replace(mechanism, protect=promising_otherwise))
    make_private(workplace)
    open_dp_account(4)
    refused(workplace, PromiseDiffers)
    assert budget_of() == ("1", "3", ["refused"])


def only_income(workplace: Workplace, **settings: Any) -> NDArray[np.float64]:
    """Release the incomes alone as exactly as the grid allows, each a block of its own; the incomes of the source."""
    make_private(workplace, epsilon=WITHOUT_NOISE, k=1, **settings)
    columns = workplace.raw["source"]["columns"]
    columns["income"] |= {"domain": [0, 1_000_000]}
    workplace.raw["source"]["columns"] = {name: columns[name] for name in ("person_id", "income")}
    workplace.raw["budget"]["epsilon"] = WITHOUT_NOISE
    open_dp_account(int(WITHOUT_NOISE))
    source: NDArray[np.float64] = pq.read_table(workplace.source)["income"].to_numpy()
    return source


def in_place(workplace: Workplace, source: NDArray[np.float64]) -> float:
    """Which share of the released values stands where the source has it, up to the grid."""
    released = pq.read_table(Path(release(workplace).path) / "data.parquet")["income"].to_numpy()
    assert np.allclose(np.sort(released), np.sort(source), atol=1)
    return float(np.mean(np.abs(released - source) < 1))


@both
def test_released_rows_are_not_in_the_order_of_the_source(workplace: Workplace, mode: str) -> None:
    """About one of 400 is expected in its place; 20 or more have a probability of 1 / 20!, below 1e-18."""
    assert in_place(workplace, only_income(workplace, mode=mode)) < 20 / ROWS


def test_the_search_for_the_order_notices_rows_that_are_not_shuffled(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def as_they_came(records: int, _: Randomness) -> NDArray[np.int64]:
        return np.arange(records)

    for module in (records, _mechanism):
        monkeypatch.setattr(module, "permutation", as_they_came)
    assert in_place(workplace, only_income(workplace)) == 1


def association(workplace: Workplace, mode: str) -> float:
    """The correlation of two released columns that are the same in the source, without noise."""
    survey = pq.read_table(workplace.source)
    place = survey.column_names.index("savings")
    pq.write_table(survey.set_column(place, "savings", survey["income"]), workplace.source)
    only_income(workplace, mode=mode)
    columns = workplace.raw["source"]["columns"]
    columns["savings"] = dict(columns["income"])
    table = pq.read_table(Path(release(workplace).path) / "data.parquet")
    return float(np.corrcoef(table["income"].to_numpy(), table["savings"].to_numpy())[0, 1])


def test_columns_released_by_themselves_are_shuffled_by_themselves(workplace: Workplace) -> None:
    """Six standard errors of a correlation, 1 / sqrt(n - 1) under random order: false alarm 2e-9."""
    assert abs(association(workplace, "marginals")) < 6 / np.sqrt(ROWS - 1)


def test_the_search_for_an_association_finds_the_one_of_records(workplace: Workplace) -> None:
    assert association(workplace, "records") > 0.99


@both
def test_no_measured_value_is_in_the_public_report_or_the_manifest(workplace: Workplace, mode: str) -> None:
    """At most 40 values are looked for by eight digits, among a dozen numbers that have so many: false alarm 1e-5."""
    make_private(workplace, mode=mode)
    open_dp_account(1)
    receipt = release(workplace)
    bundle = Path(receipt.path)
    manifest = predicate(bundle)
    page, confidential = (
        Path(path).read_text(encoding="utf-8") for path in (receipt.public_report, receipt.confidential_report)
    )
    values = measured(workplace)
    assert any(number(value) in confidential for value in values)
    shown = {text for value in values for text in (repr(value), f"{value:.8g}") if len(text.strip("-0.")) >= 7}
    assert len(shown) > 5
    assert [text for text in shown if text in page or text in json.dumps(manifest)] == []
    assert {key for result in manifest["release"]["gates"]["results"] for key in result} == {"gate", "rule", "verdict"}
    assert manifest["release"]["settled"] == settled_ahead(workplace)


def measured(workplace: Workplace) -> set[float]:
    """Every value in the assessment that the data had a part in, overall and by column."""
    [assessment] = workplace.home.rglob("assessment.json")
    taken = json.loads(assessment.read_text(encoding="utf-8"))["measurements"]
    looked = [each for each in taken if each["name"] != "expected_error"]
    return {value for each in looked for value in (each["value"], *each["by_column"].values())}


def settled_ahead(workplace: Workplace) -> dict[str, Any]:
    """What is settled without looking at any record."""
    params = load_spec(workplace.spec_file).protect[0]
    assert isinstance(params, dp_microaggregation.Params)
    return dp_microaggregation.chosen_facts(params, load_spec(workplace.spec_file).columns, ROWS)


def test_a_wrong_category_is_refused_by_those_that_are_declared(workplace: Workplace) -> None:
    make_private(workplace)
    workplace.raw["source"]["columns"]["region"]["categories"] = ["North", "South"]
    workplace.raw["source"]["columns"]["region"].pop("taxonomy", None)
    open_dp_account(4)
    caught = refused(workplace, ValueOutsideDomain)
    assert [fault.rule for fault in caught.faults] == ["must hold declared categories only: North, South"]
