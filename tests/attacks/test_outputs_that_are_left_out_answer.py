"""Whether an exact output is left out of a release answers a question about the data. Beside a table of little epsilon,
which is published, that was never counted: one could ask until the answers gave the number, in one run or in many."""

from __future__ import annotations

import signal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.flows.release import release
from penstock.flows.spec import load_spec
from penstock.records import open_records
from penstock.records.ledger.looks import ALLOWED, LooksExhausted, looks_of
from penstock.tasks.publish import Receipt
from tests.attacks.test_one_record_decides_on_other_outputs import EXACT, RECORDS, make_pair
from tests.support.forked_releases import Zygote
from tests.support.workplace import Workplace, budget_of, open_dp_account


def asking(workplace: Workplace, number: int, *limits: int) -> None:
    """A release of which no exact table passes; every one has another limit. number: of the release."""
    exact = {**EXACT, "columns": ["b"]}
    make_pair(workplace, exact, 1)
    noisy, beside = workplace.raw["protect"]
    noisy["epsilon"] = f"{100 + number}/10000"
    workplace.raw["protect"] = [noisy]
    for place, limit in enumerate(limits):
        gates = [{"measure": "smallest_frequency", "min": limit}]
        workplace.raw["protect"].append({**beside, "table": f"beside_{place}", "gates": gates})
    names = [f"beside_{place}" for place in range(len(limits))]
    runs = [each["run"] for each in open_records().ledger.book("survey").as_dict("survey")["releases"]]
    workplace.raw["budget"]["acknowledges"] = [*names, *dict.fromkeys(runs)]
    workplace.raw["name"] = f"release-{number}"
    if len(limits) > 1:  # tables of one column are looked at together
        survey = pq.read_table(workplace.source)
        columns, kind = workplace.raw["source"]["columns"], workplace.raw["source"]["columns"]["b"]
        for place, each in enumerate(workplace.raw["protect"][1:]):
            name = f"b{place}"
            columns[name] = kind
            survey = survey.append_column(name, pa.array(["p"] * RECORDS))
            each |= {"dimensions": [name], "columns": [name]}
        pq.write_table(survey, workplace.source)


def answers() -> int:
    return [event.action.value for event in open_records().log.events()].count("LEFT_OUT")


def publish(workplace: Workplace) -> Receipt:
    receipt = release(load_spec(workplace.write_spec()))
    assert isinstance(receipt, Receipt)
    return receipt


def test_runs_that_leave_something_out_are_counted_and_end_at_the_limit(workplace: Workplace) -> None:
    open_dp_account(5)
    for number in range(ALLOWED - 1):
        asking(workplace, number, 1000 - number)
        receipt = publish(workplace)
        seen = Path(receipt.confidential_report).read_text(encoding="utf-8")
        counted = looks_of(open_records().log, "survey").count
        assert counted == number + 2  # the first run declared the columns, too
        assert f"<dd>{0 if number == 0 else number + 1} of {ALLOWED} allowed" in seen
    asking(workplace, ALLOWED, 1)
    with pytest.raises(LooksExhausted, match="outputs were left out"):
        publish(workplace)
    assert answers() == ALLOWED - 1
    assert len(workplace.bundles()) == ALLOWED - 1
    open_records().ledger.verify()


def test_one_run_asks_no_more_than_is_allowed_and_is_refused_before_anything_is_answered(workplace: Workplace) -> None:
    open_dp_account(5)
    asking(workplace, 0, *range(1000, 1000 + ALLOWED + 1))
    with pytest.raises(LooksExhausted, match=f"must allow {ALLOWED + 1} more looks"):
        publish(workplace)
    assert (answers(), budget_of()[0]) == (0, "0")
    asking(workplace, 1, *range(1000, 1000 + ALLOWED))
    publish(workplace)
    assert answers() == ALLOWED
    asking(workplace, 2, 1000)
    with pytest.raises(LooksExhausted, match=f"{ALLOWED} outputs were left out"):
        publish(workplace)


@pytest.mark.parametrize("point", ["before LEFT_OUT", "after LEFT_OUT", "after CHECKED"])
def test_a_killed_run_leaves_it_out_again_and_is_counted_once(workplace: Workplace, zygote: Zygote, point: str) -> None:
    open_dp_account(5)
    asking(workplace, 0, 1000)
    workplace.write_spec()
    assert zygote.run(workplace, point) == -signal.SIGKILL
    assert answers() == (point != "before LEFT_OUT")
    assert zygote.run(workplace) == 0
    assert answers() == 1
    assert looks_of(open_records().log, "survey").left_out == 1
    [bundle] = workplace.bundles()
    assert not [path for path in bundle.rglob("*") if "beside" in path.name]
    assert b"beside" not in (bundle / "report.html").read_bytes()
    assert budget_of()[0] == "1/100"
    assert workplace.working_files() == []
