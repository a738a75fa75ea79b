"""A spec may name the edition of its data; without one it is the spec that it always was."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.flows.planning import draw_up_plan, of_edition
from penstock.flows.spec import parse_spec
from penstock.mechanisms.refusal import SpecRefused
from penstock.tasks.run.plan import Plan
from tests.flows.good_specs import GOOD, changed


def planned(**source: Any) -> Plan:
    return draw_up_plan(parse_spec(changed("source", {**GOOD["source"], **source})))


def test_a_spec_without_an_edition_keeps_its_digest_and_its_answers_keep_their_keys() -> None:
    plan = planned()
    assert "edition" not in plan.spec["source"]
    assert plan.spec_digest == planned(edition=None).spec_digest != planned(edition="2026-10").spec_digest
    assert "edition" not in plan.content("s")
    assert planned(edition="2026-10").content("s") == {**plan.content("s"), "edition": "2026-10"}
    assert [planned(edition=edition).claim("s").edition for edition in (None, "2026-10")] == [None, "2026-10"]


@pytest.mark.parametrize("edition", ["1", "2026-10", "third quarter 2026", "v1.2_b", "x" * 80])
def test_an_edition_is_a_short_public_name(edition: str) -> None:
    assert planned(edition=edition).edition == edition


@pytest.mark.parametrize("edition", ["", " ", "x ", " x", "-x", "x" * 81, "a\nb", "a\n", "<b>", "é", 2026, ["x"]])
def test_anything_else_is_refused(edition: object) -> None:
    with pytest.raises(SpecRefused, match=r"source\.edition refused"):
        planned(edition=edition)


def test_whatever_spends_without_an_edition_assumes_that_the_records_never_change() -> None:
    promised = planned().guarantee  # of records, under a model without noise
    noisy = promised.model_copy(update={"model": "dp"})
    assert of_edition(promised, None) == promised
    assert of_edition(noisy, None).assumptions[-1].startswith("the records of a data set name do not change")
    within = "the records of a data set name do not change within an edition"
    assert of_edition(noisy, "2026-10").assumptions[-1].startswith(within)
    assert of_edition(promised, "2026-10").assumptions == promised.assumptions
    assert of_edition(noisy, "2026-10").public == (*noisy.public, "edition of the data")
