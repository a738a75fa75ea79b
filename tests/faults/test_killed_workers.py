"""A worker of a cluster killed with SIGKILL in the middle: a whole release or none, and nothing drawn twice."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cloudpickle
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from distributed import Client

from penstock.flows.release import release
from penstock.flows.spec import load_spec
from penstock.mechanisms.refusal import Refusal
from penstock.records import open_records
from penstock.tasks.parts import _spread, assess, ingest, swap, validate
from penstock.tasks.parts._drawn_once import DrawnBefore
from penstock.tasks.verification.bundle import verify_bundle
from tests.faults.canaries import INCOMES, SAVINGS, WEIGHTS
from tests.support.cluster import Cluster, write_hive, write_parts
from tests.support.prefect_service import Service
from tests.support.s3_server import CREDENTIALS, SECRET, TOKEN, Bucket
from tests.support.workplace import PASSED, Workplace, budget_of, make_table, open_dp_account

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def workers(store: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cluster, Path]]:
    folder = tmp_path_factory.mktemp("cluster")
    orders = folder / "orders.json"
    cluster = Cluster(
        folder, "tests.faults.dying_worker", {"TEST_ORDERS": str(orders), "AWS_ENDPOINT_URL": store, **CREDENTIALS}
    )
    yield cluster, orders
    cluster.close()


@pytest.fixture
def cluster(workers: tuple[Cluster, Path], workplace: Workplace) -> Cluster:
    found, orders = workers
    orders.unlink(missing_ok=True)
    orders.symlink_to(workplace.folder / "orders.json")
    found.replenish()
    return found


def on_the_cluster(
    workplace: Workplace, cluster: Cluster, point: str, *, hive: bool = False, every: bool = False
) -> Path:
    """The folder with what the workers tell."""
    survey = workplace.write_survey(400)
    folder = workplace.folder / "survey"
    if hive:
        write_hive(survey, folder, "region")
    else:
        write_parts(survey, folder)
    workplace.raw["source"]["path"] = "survey"
    workplace.raw["run"] = {"engine": "dask", "address": cluster.address}
    told = workplace.folder / "told"
    told.mkdir()
    orders = {"point": point, "folder": str(told), "all": every}
    (workplace.folder / "orders.json").write_text(json.dumps(orders))
    return told


def run(workplace: Workplace) -> Path:
    bundle = Path(release(load_spec(workplace.write_spec())).path)
    verify_bundle(bundle, workplace.home / "keys" / "signing.pub")
    whole(workplace)
    assert workplace.working_files() == []
    return bundle


def whole(workplace: Workplace) -> None:
    open_records().log.verify()
    open_records().ledger.verify()
    shown = {str(path.relative_to(workplace.published)) for b in workplace.bundles() for path in b.rglob("*.*")}
    assert set(workplace.public_files()) == shown


def events() -> list[str]:
    return [event.action.value for event in open_records().log.events()]


def draws(told: Path) -> list[str]:
    return sorted((told / "draws").read_text().split())


def watch_orders(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Whatever is sent to workers from now on."""
    sent: list[bytes] = []
    submit = Client.submit

    def watched(self: Any, func: Any, *args: Any, **kwargs: Any) -> Any:
        sent.append(cloudpickle.dumps((func, args, kwargs)))
        return submit(self, func, *args, **kwargs)

    monkeypatch.setattr(Client, "submit", watched)
    return sent


def slow(point: str) -> Any:
    return pytest.param(point, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    "point", [*map(slow, ["nowhere", "after reading", "after draw", "before judging"]), "before draw"]
)
def test_swapped_records_are_released_whole_although_a_worker_died(
    workplace: Workplace, cluster: Cluster, point: str
) -> None:
    told = on_the_cluster(workplace, cluster, point, hive=point == "nowhere")
    bundle = run(workplace)
    assert (told / "died").exists() == (point != "nowhere")
    assert draws(told) == ["income", "savings"]
    assert events() == PASSED
    assert [cost.state for cost in open_records().ledger.books()[""].costs] == ["published"]
    before, after = pq.read_table(workplace.source), pq.read_table(bundle / "data.parquet")
    for name in ("income", "savings", "age"):
        assert sorted(before[name].drop_null().to_pylist()) == sorted(after[name].drop_null().to_pylist())


@pytest.mark.parametrize("point", [slow("before swap"), "after swap"])
def test_a_worker_that_dies_while_it_draws_ends_the_run_and_the_next_one_draws_anew(
    workplace: Workplace, cluster: Cluster, point: str
) -> None:
    told = on_the_cluster(workplace, cluster, point)
    with pytest.raises(DrawnBefore, match="must not draw twice, and a worker was lost while it drew"):
        run(workplace)
    whole(workplace)
    assert workplace.public_files() == []
    assert draws(told) == ["income", "savings"]
    assert events()[-1] == "FAILED"
    assert [cost.state for cost in open_records().ledger.books()[""].costs] == ["spent"]

    run(workplace)
    assert draws(told) == ["income", "income", "savings", "savings"]
    assert events().count("SPENT") == events().count("RESERVED") == 2
    assert [cost.state for cost in open_records().ledger.books()[""].costs] == ["refused", "published"]


@pytest.mark.parametrize(
    "point", [*map(slow, ["nowhere", "before counting", "after counting", "before counting again"])]
)
def test_a_table_is_released_whole_and_charged_once_although_a_worker_died(
    workplace: Workplace, cluster: Cluster, point: str
) -> None:
    make_table(workplace)
    told = on_the_cluster(workplace, cluster, point, hive=point == "nowhere")
    open_dp_account(4)
    run(workplace)
    assert (told / "died").exists() == (point != "nowhere")
    assert events()[2:] == PASSED
    assert budget_of() == ("1", "3", ["published"])


@pytest.mark.parametrize(
    ("point", "costs"), [("after reading", []), pytest.param("before swap", ["spent"], marks=pytest.mark.slow)]
)
def test_a_release_whose_workers_are_all_lost_ends_and_publishes_nothing(
    workplace: Workplace, cluster: Cluster, monkeypatch: pytest.MonkeyPatch, point: str, costs: list[str]
) -> None:
    monkeypatch.setattr(_spread, "_LOOK_EVERY", 1)
    monkeypatch.setattr(_spread, "_PATIENCE", 3)
    on_the_cluster(workplace, cluster, point, every=True)
    with pytest.raises(Refusal) as caught:
        run(workplace)
    # The one that is left may find what the other began before it is lost itself.
    assert caught.value.code in ({"cluster-refused"} if not costs else {"cluster-refused", "drawn-before"})
    whole(workplace)
    assert workplace.public_files() == []
    assert events()[-1] == "FAILED"
    assert [cost.state for book in open_records().ledger.books().values() for cost in book.costs] == costs


@pytest.mark.parametrize("as_a_flow_run", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_workers_are_sent_references_and_send_back_no_value(
    request: pytest.FixtureRequest,
    workplace: Workplace,
    cluster: Cluster,
    monkeypatch: pytest.MonkeyPatch,
    as_a_flow_run: bool,
) -> None:
    if as_a_flow_run:
        request.getfixturevalue("prefect_home")
    service: Service = request.getfixturevalue("prefect_service")
    on_the_cluster(workplace, cluster, "nowhere")
    # The mean of numbers as large as these changes in its last digits, by more than the gate allows.
    workplace.raw["gates"] = [gate for gate in workplace.raw["gates"] if gate["measure"] != "mean_change"]
    columns = workplace.raw["source"]["columns"]
    for name in ("income", "savings"):
        columns[name] |= {"domain": [0, 10**15]}
    survey = pq.read_table(workplace.source).slice(0, len(INCOMES))
    for name, values in (("income", INCOMES), ("savings", SAVINGS), ("weight", WEIGHTS)):
        survey = survey.set_column(survey.column_names.index(name), name, pa.array(values))
    write_parts(survey, workplace.folder / "canaries")
    workplace.raw["source"]["path"] = "canaries"
    sent = watch_orders(monkeypatch)
    spread = _spread.spread

    def answered(*args: Any) -> Any:
        found = spread(*args)
        sent.append(cloudpickle.dumps(found))
        return found

    for module in (ingest, validate, swap, assess):
        monkeypatch.setattr(module, "spread", answered)
    run(workplace)
    assert len(sent) > 15
    stored = [path.read_bytes() for path in service.files.rglob("*") if path.is_file()]
    if as_a_flow_run:
        assert any(b"release a column" in content for content in stored)
    for values in (INCOMES, SAVINGS, WEIGHTS):
        for value in values:
            for form in (str(value).split(".")[0].encode(), struct.pack("<d", value)):
                assert not any(form in content for content in (*sent, *stored))


def test_workers_read_an_object_store_with_credentials_of_their_own(
    workplace: Workplace, cluster: Cluster, bucket: Bucket, prefect_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a flow run, so that Prefect's files are searched too."""
    told = on_the_cluster(workplace, cluster, "after reading")
    for file in (workplace.folder / "survey").iterdir():
        bucket.put(f"confidential/{file.name}", file.read_bytes())
    workplace.raw["source"]["path"] = bucket.address("confidential/")
    workplace.raw["publish"]["path"] = bucket.address("public/")
    sent = watch_orders(monkeypatch)
    receipt = release(load_spec(workplace.write_spec()))
    assert (told / "died").exists()
    assert draws(told) == ["income", "savings"]
    assert events() == PASSED
    before = pq.read_table(workplace.source)
    after = pq.read_table(pa.BufferReader(bucket.get(f"public/survey/{receipt.run}/data.parquet")))
    assert sorted(before["income"].to_pylist()) == sorted(after["income"].to_pylist())
    stored = [path.read_bytes() for path in prefect_home.rglob("*") if path.is_file()]
    assert not any(word.encode() in content for word in (SECRET, TOKEN) for content in (*sent, *stored))
