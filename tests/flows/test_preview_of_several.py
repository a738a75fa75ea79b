"""A plan of several outputs: each with its promise, errors and gates, what they promise together, what they cost."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.flows.planning import draw_up_plan
from penstock.flows.preview import examine, preview
from penstock.flows.release import release
from penstock.flows.spec import load_spec
from penstock.measures.gates import GateRefused
from penstock.mechanisms.guarantee import in_words, side_by_side
from penstock.mechanisms.registry import mechanism_of
from tests.attacks.typed_line import typed
from tests.support.workplace import Workplace, make_table, open_dp_account

TABLE = {"mechanism": "table", "model": "dp", "epsilon": "1/2", "adjacency": "add_remove"}
OUTPUTS: list[dict[str, Any]] = [
    {**TABLE, "table": "incomes", "dimensions": ["region", "education"], "sums": ["income"]},
    {**TABLE, "table": "regions", "dimensions": ["region"]},
    {**TABLE, "table": "schooling", "dimensions": ["education"], "epsilon": "1/4"},
    {
        "mechanism": "probabilistic_k_anonymity",
        "name": "people",
        "method": "ir_swap",
        "k": 20,
        "columns": ["region", "education", "savings"],
        "gates": [{"measure": "average_risk", "max": 0.05}],
        "on_refusal": "leave_out",
    },
]
NAMES = ["incomes", "regions", "schooling", "people"]


@pytest.fixture
def several(workplace: Workplace) -> Workplace:
    savings = workplace.raw["source"]["columns"]["savings"]
    make_table(workplace)
    workplace.raw["source"]["columns"]["savings"] = savings
    workplace.raw |= {
        "protect": json.loads(json.dumps(OUTPUTS)),
        "budget": {"dataset": "survey", "epsilon": "2", "acknowledges": ["people"]},
        "publish": {"path": "published", "formats": ["parquet", "csv"]},
    }
    return workplace


def planned(place: Workplace, *, count: bool = False) -> dict[str, Any]:
    return dict(preview(load_spec(place.write_spec()), count=count))


def test_every_output_has_its_own_promise_errors_and_gates(several: Workplace) -> None:
    ahead = planned(several, count=True)
    plan = draw_up_plan(load_spec(several.spec_file))
    assert [each["name"] for each in ahead["outputs"]] == NAMES
    for shown, own in zip(ahead["outputs"], plan.outputs, strict=True):
        assert shown["guarantee"] == own.guarantee.model_dump(mode="json")
        assert shown["promise"] == own.guarantee.in_short
        expected = mechanism_of(own.params).expect(own.params, own.declared, ahead["records"])
        assert shown["expect"] == list(expected)
        assert len(shown["gates"]) == len(own.gates)
        assert shown["may_be_left_out"] is (shown["name"] == "people")
    assert ahead["outputs"][2]["gates"] == ["privacy_loss at most 1: it will be 0.25 (this output)"]
    assert ahead["outputs"][3]["gates"] == ["average_risk at most 0.05"]
    assert ahead["outputs"][1]["settled"]["epsilon"] == "1/2"
    assert {"guarantee", "settled", "gates"}.isdisjoint(ahead)


def test_what_they_promise_together_is_what_the_manifest_will_state(several: Workplace) -> None:
    together = planned(several)["together"]
    plan = draw_up_plan(load_spec(several.spec_file))
    guarantees = {str(each.output_name): each.guarantee for each in plan.outputs}
    composed = side_by_side(list(guarantees.values()))
    assert together["guarantees"] == [each.model_dump(mode="json") for each in composed]
    assert together["guarantees"][0]["parameters"]["epsilon"] == "5/4"
    assert together["uncovered"] == ["people"]
    assert together["in_words"] == list(in_words(guarantees))


def test_the_whole_cost_is_told_with_the_share_of_each_output(several: Workplace) -> None:
    open_dp_account(4, adjacency="add_remove")
    cost = planned(several)["cost"]
    assert cost[0] == (
        "Epsilon: 5/4 of the dp account of data set survey, whatever becomes of the run: incomes 1/2, regions 1/2, "
        "schooling 1/4."
    )
    assert cost[1].startswith("Epsilon: none for people, the promise is not differential privacy.")
    assert cost[3] == "Left in the dp account of data set survey: 4 of 4. That pays for 3 releases like this one."


def test_the_number_of_records_is_confidential_if_one_promise_hides_it(several: Workplace) -> None:
    ahead = planned(several, count=True)
    assert (ahead["records"], ahead["records_are_public"]) == (400, False)
    for each in several.raw["protect"][:3]:
        each["adjacency"] = "replace"
    assert planned(several)["records_are_public"] is True


def test_a_gate_that_cannot_be_kept_refuses_the_plan_unless_its_output_may_be_left_out(several: Workplace) -> None:
    several.raw["protect"][2]["gates"] = [{"measure": "expected_error", "max": 0.5}]
    with pytest.raises(GateRefused, match=r"schooling\.gates\.expected_error refused: must allow"):
        examine(load_spec(several.write_spec()))
    with pytest.raises(GateRefused):
        planned(several)
    several.raw["protect"][2]["on_refusal"] = "leave_out"
    left_out = planned(several)["outputs"][2]["expect"][-1]
    assert left_out.startswith("It will be left out: gates.expected_error refused")
    assert examine(load_spec(several.spec_file)).is_of_several


def test_a_release_of_which_every_output_would_be_left_out_is_refused_by_its_plan(several: Workplace) -> None:
    """The plan ended well, and told what it would cost; the run was refused."""
    del several.raw["protect"][3], several.raw["budget"]["acknowledges"]
    for entry in several.raw["protect"]:
        entry |= {"on_refusal": "leave_out", "gates": [{"measure": "expected_error", "max": 1e-9}]}
    with pytest.raises(GateRefused) as refused:
        planned(several)
    assert [fault.field.split(".")[0] for fault in refused.value.faults] == NAMES[:3]
    del several.raw["protect"][2]["gates"]
    [cost] = [told for told in planned(several)["cost"] if told.startswith("Epsilon: ")]
    assert cost.startswith("Epsilon: at most 5/4 of the dp account")


def test_outputs_that_a_reviewer_must_look_at_are_named_and_a_run_refuses_them_where_nobody_reviews(
    several: Workplace,
) -> None:
    last, seen = "Nobody is asked, so it will be refused: name reviewers in approve.", planned(several)["review"]
    assert seen[-1] == last
    pair = "share region, education, so a reviewer must look: one is under prob_k, the other under dp, and no theorem"
    assert seen[0] == f"incomes and people {pair} covers both."
    assert len(seen) == 4
    open_dp_account(4, adjacency="add_remove")
    # Of many pairs only those are told that somebody must look at.
    with pytest.raises(GateRefused, match=r"needs the decision of a reviewer(?!.*the ledger counts both together)"):
        release(load_spec(several.spec_file))
    several.raw["approve"] = {"reviewers": 1, "allowed": ["anna", "ben"]}
    assert planned(several)["review"][:3] == seen[:3]
    several.raw["source"]["columns"]["savings"]["missing"] = "category"
    del several.raw["approve"], several.raw["protect"][-1], several.raw["budget"]["acknowledges"]
    assert planned(several)["review"] == ["Nobody is asked; it is published when every gate passes."]
    assert release(load_spec(several.spec_file)).promise == "dp, epsilon = 5/4, adjacency add_remove"


def test_a_column_that_is_made_is_told_once_for_all_outputs(several: Workplace) -> None:
    several.raw["source"]["columns"]["land"] = {
        "role": "quasi_identifier",
        "type": "nominal",
        "recode": {"of": "region", "groups": {"up": ["North", "East"], "down": ["South", "West"]}},
    }
    several.raw["protect"][1]["dimensions"] = ["land"]
    ahead = planned(several)
    assert [line for line in ahead["expect"] if line.startswith("land: ")] == ahead["expect"]
    assert len(ahead["expect"]) == 1


def test_the_page_shows_every_output_once_and_what_they_share_under_their_names(several: Workplace) -> None:
    several.raw["approve"] = {"reviewers": 1, "allowed": ["anna", "ben"]}  # records beside tables need one
    told = typed("plan", several.write_spec())
    assert told.code == 0
    page = told.out
    assert "  schooling: table; dp, epsilon = 1/4, adjacency add_remove\n" in page
    assert "  people: probabilistic_k_anonymity; prob_k, k = 20, ir_swap; left out if it is refused\n" in page
    assert "  schooling  4      1/4      count 5.64\n" in page
    assert page.index("Of one cell") < page.index("Promised together")
    for place, name in enumerate(NAMES, start=1):
        assert page.count(f"Output {place} of 4: {name}\n") == 1
    assert (
        "Together the 3 outputs incomes, regions, schooling keep (5/4)-differential privacy: whichever record is added "
        "or removed, the probability of every set of outputs changes by a factor of at most e^(5/4). Whichever i "
        "records, of one person or of several, are changed like that, the factor is at most e^(i x 5/4). Epsilon adds "
        "up: " in page
    )
    assert "count by region: standard error 2.8" in page
    shared = "every figure is noisy; its standard error is stated with it"
    assert page.count(shared) == 1
    assert f"  incomes, regions, schooling: accuracy: {shared}\n" in page
    assert page.count("every output: one record describes one individual") == 1
    assert page.index("Promised together") < page.index("Output 1 of 4") < page.index("Cost")


def test_every_noisy_table_has_a_line_at_a_glance_that_names_all_its_figures(several: Workplace) -> None:
    several.raw["approve"] = {"reviewers": 1, "allowed": ["anna", "ben"]}
    several.raw["protect"][1]["means"] = ["income"]
    figures = [{"statistic": "median", "of": "income"}, {"statistic": "mean", "of": "income"}, {"statistic": "count"}]
    schooling = {"mechanism": "statistics", "table": "schooling", "groups": ["education"], "figures": figures}
    several.raw["protect"][2] = {**TABLE, **schooling, "epsilon": "1/4"}
    page = typed("plan", several.write_spec()).out
    lines = [line.split(maxsplit=3) for line in page[page.index("Of one cell") :].split("\n\n")[0].split("\n")[2:]]
    assert [line[:3] for line in lines] == [
        ["incomes", "16", "1/2"],
        ["regions", "4", "1/2"],
        ["schooling", "4", "1/4"],
    ]
    assert lines[1][3].endswith(", mean of income: see below")
    assert lines[2][3].startswith("count ")
    assert lines[2][3].endswith(", income_median: see below, income_mean: see below")


def test_every_sentence_of_every_promise_is_on_the_page(several: Workplace) -> None:
    page = typed("plan", several.write_spec()).out
    document = json.loads(typed("plan", several.spec_file, "--json").out)
    for each in document["outputs"]:
        promise = each["guarantee"]
        said = [promise["statement"], *promise["assumptions"], *promise["not_promised"], *promise["secret"]]
        assert [text for text in (*said, *each["expect"], *each["gates"]) if text not in page] == []
    assert [text for text in (*document["cost"], *document["review"]) if text not in page] == []


def test_the_page_of_one_output_names_earlier_editions(workplace: Workplace) -> None:
    from tests.support.private_release import begun

    make_table(workplace)
    workplace.raw["source"]["edition"] = "2026-10"
    with begun(workplace) as line:
        run, day = line.publish().run, line.job.started.date().isoformat()
    workplace.raw["source"]["edition"] = "2026-11"
    page = typed("plan", workplace.write_spec()).out
    assert f"Earlier editions\n  2026-10: published on {day} as {run}\n" in page
    assert "Left in the dp account of data set survey: 3 of 4. That pays for 3 releases like this one." in page


def test_the_head_of_the_page_has_the_edition_and_its_period(several: Workplace) -> None:
    for edition, told in {
        "2026-10": "edition 2026-10, period October 2026",
        "2026-Q3 final": "edition 2026-Q3 final, period quarter 3 of 2026",
        "2026-11-09": "edition 2026-11-09, period 9 November 2026",
        "2026": "edition 2026, period 2026",
        "spring": "edition spring, a name without a period",
    }.items():
        several.raw["source"]["edition"] = edition
        assert typed("plan", several.write_spec()).out.startswith(f"survey, {told}\n")
    del several.raw["source"]["edition"]
    assert "edition" not in planned(several)
