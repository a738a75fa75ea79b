"""Refined answers with delta through every step of the line, and what is seen of their costs years later."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from penstock.flows.preview import preview
from penstock.flows.release import release
from penstock.flows.spec import load_spec
from penstock.mechanisms.refusal import Refusal, SpecRefused
from penstock.records import open_records
from penstock.records.home import Home
from penstock.tasks.outputs.claims import claims_of
from penstock.tasks.verification.bundle import verify_bundle
from tests.support.private_release import begun
from tests.support.workplace import COMBINATIONS, Workplace, budget_of, make_refined, open_dp_account, predicate
from tests.tasks.test_refinement_line import both, public_page


@both
def test_delta_is_planned_paid_for_checked_published_and_told(workplace: Workplace, adjacency: str) -> None:
    make_refined(workplace, adjacency=adjacency, impossible=COMBINATIONS, delta="1/1000000", acknowledges=["delta"])
    told = preview(load_spec(workplace.write_spec()), count=False)
    assert any(sentence.startswith("Delta: ") for sentence in told["expect"])
    assert any("and delta: 1/1000000, of the dp account" in sentence for sentence in told["cost"])
    with begun(workplace) as line:
        page = " ".join(public_page(line).split())
        receipt = line.publish()
    bundle = Path(receipt.path)
    assert receipt.promise == f"dp, epsilon = 1, delta = 1/1000000, adjacency {adjacency}"
    assert verify_bundle(bundle, Home.open().public_key_path)
    said = predicate(bundle)["release"]
    gates = {each["gate"]: each["verdict"] for each in said["gates"]["results"]}
    assert gates["delta_spent"] == "pass"
    assert set(gates.values()) == {"pass"}
    assert (said["settled"]["delta"], said["settled"]["joint"][0]["delta"]) == ("1/1000000", "1/2000000")
    assert said["guarantee"]["parameters"]["joint"][0]["delta"] == "1/2000000"
    assert "(1, 1/1000000)-differential privacy" in page
    assert "delta = 1/1000000" in page
    assert "Most answers moved to the truth" in page
    assert "1/4000000" in page
    record = json.loads((bundle / "metadata/deployment.json").read_text(encoding="utf-8"))["deployment"]
    assert record["dp_variant"]["variant_name"] == "Approximate DP"
    assert record["privacy_loss"]["privacy_parameters"] == {"epsilon": "1", "delta": "1/1000000"}
    [account] = open_records().ledger.book("survey").as_dict("survey")["accounts"]
    assert (account["delta_spent"], account["delta_left"]) == ("1/1000000", "3/1000000")


def changed(told: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The release part of a manifest with another value at a place, or without it."""
    told = copy.deepcopy(told)
    *places, last = path.split("/")
    here: Any = told
    for place in places:
        here = here[int(place) if place.isdigit() else place]
    if value is None:
        del here[last]
    else:
        here[last] = value
    return told


@both
@pytest.mark.parametrize("given", [{}, {"delta": "1/1000000", "acknowledges": ["delta"]}])
def test_a_signed_manifest_whose_costs_are_not_those_it_promises_is_refused_years_later(
    workplace: Workplace, adjacency: str, given: dict[str, Any]
) -> None:
    make_refined(workplace, adjacency=adjacency, impossible=COMBINATIONS, **given)
    with begun(workplace) as line:
        told = line.stage()["release"]
    assert claims_of(told) is not None
    wrong = {
        "settled/epsilon": ["1/2", "garbage", None],
        "settled/answers/age/epsilon": ["1/5", "0", "9" * 400, None],
        "settled/answers/age/factors": [["1/1000000", "1000000"], ["1"], None],
        "settled/answers/age": [None],
        "settled/joint/0/epsilon": ["1/3"],
        "settled/joint/0/factors": [["1/2", "9"]],
        "settled/joint": [[], None],
        "settled": [{}],
        "guarantee/parameters/epsilon": ["1/2", "1" * 500],
        "guarantee/parameters/epsilon_by_column/age": ["1/5"],
        "guarantee/parameters/delta": ["1/2", None] if given else ["1/2"],
    }
    if given:
        wrong |= {
            "settled/delta": ["1/10000000", "1/2", None],
            "settled/answers/age/moved": ["1", "5", "1e999999999", None],
            "settled/answers/age/delta": ["1", "1/10000000000", None],
            "settled/joint/0/moved": ["1/1000"],
        }
    else:
        wrong |= {"settled/answers/age/moved": ["1/1000"], "settled/delta": ["1/1000"]}
    for path, values in wrong.items():
        for value in values:
            assert claims_of(changed(told, path, value)) is None, (path, value)


def test_delta_that_the_account_does_not_have_is_refused_before_anything_is_drawn(workplace: Workplace) -> None:
    make_refined(workplace, delta="1/1000000", acknowledges=["delta"])
    open_dp_account(4)
    with pytest.raises(Refusal) as refusal:
        release(load_spec(workplace.write_spec()))
    assert (refusal.value.code, refusal.value.faults[0].field) == ("budget-exceeded", "delta")
    assert budget_of()[:2] == ("0", "4")
    assert workplace.bundles() == []


def test_delta_must_be_acknowledged(workplace: Workplace) -> None:
    make_refined(workplace, delta="1/1000000")
    with pytest.raises(SpecRefused) as refusal:
        load_spec(workplace.write_spec())
    assert [fault.field for fault in refusal.value.faults] == ["protect.0.acknowledges"]
