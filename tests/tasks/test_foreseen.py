"""What account, ledger and spec decide is refused by the plan, and by the run before it reads any row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow.parquet as pq
import pytest

from penstock.flows import release as line
from penstock.flows.preview import preview
from penstock.flows.release import release as flow
from penstock.flows.spec import load_spec
from penstock.mechanisms.refusal import Refusal
from penstock.records import open_records
from penstock.tasks.publish import Receipt
from tests.attacks.typed_line import typed
from tests.support.several import make_exact, make_several
from tests.support.workplace import Workplace, make_table, make_units, open_dp_account

PUBLISHED = "published when every gate passes"


def release(place: Workplace, *, again: bool = False) -> Receipt:
    receipt = flow(load_spec(place.write_spec()), again=again)
    assert isinstance(receipt, Receipt)
    return receipt


def planned(place: Workplace) -> dict[str, Any]:
    return dict(preview(load_spec(place.write_spec()), count=False))


def refusals(place: Workplace) -> list[str]:
    return [each["code"] for each in planned(place).get("refusals", [])]


def looks() -> int:
    return sum(event.action == "LOOKED" for event in open_records().log.events())


def exact(place: Workplace, **settings: Any) -> None:
    make_table(place, model="k_anon", k=2, epsilon=None, adjacency=None, sums=(), means=(), **settings)
    place.raw["gates"] = [{"measure": "smallest_frequency", "min": 2}]
    place.raw["budget"] = {"dataset": "survey"}


def too_dear(place: Workplace) -> str:
    make_several(place)
    open_dp_account("1/2")  # type: ignore[arg-type]
    return "must not exceed what the dp account of survey has left, 1/2 of 1/2, got 1 (by_region 1/4, by_education"


def no_account(place: Workplace) -> str:
    make_table(place)
    place.raw["budget"]["dataset"] = "survey of 2026"
    open_dp_account(1, dataset="another")
    return "penstock budget open 'survey of 2026' --model dp --epsilon 1 --adjacency replace --unit row --officer NAME"


def other_adjacency(place: Workplace) -> str:
    make_table(place, adjacency="replace")
    open_dp_account(4, adjacency="presence")
    return "must be one under which a promise says something about dp presence"


def other_unit(place: Workplace) -> str:
    make_table(place, adjacency="add_remove")
    make_units(place, 2)
    open_dp_account(4, adjacency="add_remove")
    return "must be the unit of the account, row, got 'individual'"


def unacknowledged(place: Workplace) -> str:
    exact(place, dimensions=["region"])
    first = release(place).run
    place.raw["protect"][0] |= {"dimensions": ["education"]}
    return f"list the earlier ones: {first}."


def nobody_looks_at_outputs(place: Workplace) -> str:
    make_exact(place, dimensions=["region", "education"])
    return "regions beside educations in this release shares region: both are under k_anon"


def nobody_looks_at_an_earlier_one(place: Workplace) -> str:
    exact(place, dimensions=["region"])
    first = release(place).run
    place.raw["protect"][0] |= {"dimensions": ["region", "education"]}
    place.raw["budget"]["acknowledges"] = [first]
    return f"{first} shares region: both are under k_anon"


CASES: list[tuple[Callable[[Workplace], str], str, int]] = [
    (too_dear, "budget-exceeded", 5),
    (no_account, "account-missing", 5),
    (other_adjacency, "not-countable", 5),
    (other_unit, "not-countable", 5),
    (unacknowledged, "second-release", 5),
    (nobody_looks_at_outputs, "gate-refused", 4),
    (nobody_looks_at_an_earlier_one, "gate-refused", 4),
]


@pytest.mark.parametrize(("make", "code", "exit_code"), CASES)
def test_the_plan_ends_as_the_run_will_and_the_run_reads_no_row(
    workplace: Workplace, make: Callable[[Workplace], str], code: str, exit_code: int
) -> None:
    said = make(workplace)
    told = typed("plan", workplace.write_spec())
    assert told.code == exit_code
    assert f"A run would be refused ({code})" in told.out
    assert said in told.out
    assert PUBLISHED not in told.out
    before, head = looks(), open_records().log.head().seq
    run = typed("run", workplace.spec_file)
    assert run.code == exit_code
    assert f"({code})" in run.err
    assert said in run.err
    assert looks() == before
    assert [event.action.value for event in open_records().log.events()[head:]] == ["PLANNED", "REFUSED"]


def test_a_plan_tells_every_refusal_and_ends_with_the_first(workplace: Workplace) -> None:
    exact(workplace, dimensions=["region"])
    first = release(workplace).run
    workplace.raw["protect"].append({**workplace.raw["protect"][0], "table": "both"})
    workplace.raw["protect"][0] |= {"table": "schooling", "dimensions": ["education"]}
    workplace.raw["protect"][1]["dimensions"] = ["region", "education"]
    workplace.raw["budget"]["acknowledges"] = ["schooling", "both"]
    assert refusals(workplace) == ["second-release", "gate-refused"]
    assert typed("plan", workplace.spec_file).code == 5
    found = planned(workplace)["refusals"]
    assert first in found[0]["faults"][0]["remedy"]
    assert (found[0]["kind"], found[1]["kind"]) == ("budget", "gate")
    rule = found[1]["faults"][0]["rule"]
    assert f"{first} shares region: " in rule
    assert "schooling beside both in this release shares education: both are under k_anon" in rule


def test_a_plan_without_a_home_refuses_nothing_for_its_sake(workplace: Workplace) -> None:
    make_table(workplace)
    assert refusals(workplace) == []
    assert not workplace.home.exists()


def test_what_was_published_before_comes_back_though_the_account_is_used_up(workplace: Workplace) -> None:
    make_several(workplace)
    open_dp_account(1)
    first = release(workplace)
    told = typed("plan", workplace.spec_file)
    assert told.code == 0
    cost = planned(workplace)["cost"]
    assert cost[0].startswith("Epsilon: at most 1 of the dp account of data set survey, whatever becomes of the run: ")
    assert any(
        line.startswith("Drawn before: by_region, by_education, incomes. From the same records the same")
        for line in cost
    )
    assert f"This spec was published before, by run {first.run}: from the same source its receipt comes back." in cost
    assert release(workplace).run == first.run
    again = typed("run", workplace.spec_file, "--again")
    assert "Published again survey, " in again.out
    assert f"The same figures again, as run {first.run} drew them: no new noise, nothing was spent." in again.out


def test_a_release_of_which_some_outputs_are_new_is_not_called_the_same_again(workplace: Workplace) -> None:
    make_several(workplace)
    open_dp_account(2)
    release(workplace)
    workplace.raw["protect"][0]["dimensions"] = ["education", "region"]
    assert release(workplace).repeats is None


def test_a_table_that_was_drawn_before_is_not_refused_for_an_account_that_is_used_up(workplace: Workplace) -> None:
    make_several(workplace)
    open_dp_account(1)
    release(workplace)
    workplace.raw["name"] = "another-name"  # another spec, the same questions
    assert refusals(workplace) == []
    assert release(workplace).name == "another-name"
    workplace.raw["protect"][0]["dimensions"] = ["education", "region"]  # one new question more than is left
    assert refusals(workplace) == ["budget-exceeded"]
    assert "got 1/4 " not in typed("plan", workplace.spec_file).out
    before = looks()
    with pytest.raises(Refusal, match="must not exceed what the dp account of survey has left, 0 of 1, got 1/4"):
        release(workplace)
    assert looks() == before


def test_other_records_under_the_same_name_are_refused_after_they_were_read(workplace: Workplace) -> None:
    """A stored answer keeps the early check away; the reserving transaction refuses as ever."""
    make_several(workplace)
    open_dp_account(1)
    release(workplace)
    pq.write_table(pq.read_table(workplace.source).slice(1), workplace.source)
    assert refusals(workplace) == []
    before = looks()
    with pytest.raises(Refusal, match="must not exceed what the dp account of survey has left, 0 of 1, got 1"):
        release(workplace)
    assert looks() == before + 1


def test_an_exact_table_comes_back_without_an_acknowledgement(workplace: Workplace) -> None:
    exact(workplace, dimensions=["region"])
    first = release(workplace)
    workplace.raw["name"] = "another-name"
    assert refusals(workplace) == []
    assert release(workplace).repeats == first.run


def test_records_without_epsilon_that_are_asked_for_again_are_refused_before_they_are_read(
    workplace: Workplace,
) -> None:
    workplace.raw["budget"] = {"dataset": "survey"}
    first = release(workplace)
    assert refusals(workplace) == []  # its receipt comes back
    assert release(workplace).run == first.run
    before = looks()
    with pytest.raises(Refusal, match="must list the earlier releases"):
        release(workplace, again=True)
    assert looks() == before


def test_a_run_that_died_after_it_reserved_goes_on(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    make_table(workplace)
    open_dp_account(1)

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(line, "protect", dies)
        with pytest.raises(KeyboardInterrupt):
            release(workplace)
    assert any("has not ended: the next run goes on there" in told for told in planned(workplace)["cost"])
    assert refusals(workplace) == []
    assert release(workplace).promise.startswith("dp, epsilon = 1")
