"""What tests share: one Prefect server, one PostgreSQL server, and a workplace with a small survey.

No server is named unless a test asks for `prefect_home`; a release then is a flow run, and elsewhere a plain call.
"""

from __future__ import annotations

import gc
import os
import secrets
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from penstock.cli import main as cli
from penstock.flows.prefect_setup import be_quiet
from penstock.records.home import Home
from tests.support.ended_command import Ended, Typed
from tests.support.forked_releases import Zygote
from tests.support.homes import HOMES
from tests.support.lineage_receiver import Receiver, receiving
from tests.support.order import ONE_CASE, is_of_another_database, longest_first, register_profiles
from tests.support.postgres import PostgresServer, running_server
from tests.support.prefect_service import Service, named, running_service
from tests.support.public_data import DATA
from tests.support.s3_server import Bucket, use_store
from tests.support.s3_server import running_server as running_store
from tests.support.schedule import FilesTogether
from tests.support.workplace import Workplace

register_profiles()

# Before Prefect is imported, which reads its settings then. A server of the person who runs the tests is not asked.
_prefect = tempfile.TemporaryDirectory(prefix="prefect")
for _name in [name for name in os.environ if name.startswith("PREFECT")]:
    del os.environ[_name]
_temporary = os.environ.get("TMPDIR")
be_quiet(Path(_prefect.name))
os.environ.pop("TMPDIR", None)  # tests have the temporary folder of the machine, and homes of their own
if _temporary is not None:
    os.environ["TMPDIR"] = _temporary
tempfile.tempdir = None
os.environ["PREFECT_LOGGING_TO_API_ENABLED"] = "false"  # no test reads the logs of a flow run there


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest begins first, what Hypothesis makes up the data of is a law, and some cases are slow."""
    items.sort(key=lambda item: longest_first(item.path))
    begun: set[tuple[Path, str]] = set()
    for item in items:
        test = (item.path, getattr(item, "originalname", item.name))
        if test[1] in ONE_CASE and test in begun:
            item.add_marker("slow")
        begun.add(test)
        if hasattr(getattr(item, "obj", None), "hypothesis"):
            item.add_marker("law")
        if is_of_another_database(item.path, item.name, getattr(getattr(item, "callspec", None), "id", "")):
            item.add_marker("slow")


def pytest_collection_finish() -> None:
    """Keep what was imported and collected out of garbage collections: it stays until the end."""
    gc.collect()
    gc.freeze()


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FilesTogether:
    """Files that need the same costly process go to the same worker."""
    return FilesTogether(config, log)


@pytest.fixture(autouse=True)
def same_surroundings() -> Iterator[None]:
    """Undo what a command in this process has set: the next test has another home and another server."""
    with mock.patch.dict(os.environ):
        yield
    tempfile.tempdir = None


@pytest.fixture(scope="session")
def prefect_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A Prefect server for all tests. It is used where it is named."""
    with running_service(tmp_path_factory.mktemp("prefect-server")) as service:
        yield service


@pytest.fixture
def prefect_home(prefect_service: Service) -> Iterator[Path]:
    """The server is named, so a release is a flow run of it; yields the folder with its files."""
    with named(prefect_service):
        yield prefect_service.files


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server for all tests; that it cannot start is a failure, never a reason to skip."""
    with running_server() as server:
        yield server


@pytest.fixture(scope="session")
def store() -> Iterator[str]:
    """The endpoint of an S3 server for all tests."""
    with running_store() as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    """Releases in processes of their own, for all tests that kill some."""
    process = Zygote()
    yield process
    process.close()


@pytest.fixture
def bucket(store: str, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    """A new bucket; the environment points to its store."""
    use_store(monkeypatch, store)
    return Bucket(store, f"bucket-{secrets.token_hex(6)}")


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """A receiver of lineage events; the environment points to it."""
    for name in ("OPENLINEAGE_ENDPOINT", "OPENLINEAGE_API_KEY", "OPENLINEAGE_NAMESPACE"):
        monkeypatch.delenv(name, raising=False)
    with receiving() as receiver:
        monkeypatch.setenv("OPENLINEAGE_URL", receiver.address)
        yield receiver


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workplace:
    place = Workplace(tmp_path)
    monkeypatch.setenv("PENSTOCK_HOME", str(place.home))
    monkeypatch.delenv("PENSTOCK_DB", raising=False)
    return place


@pytest.fixture(params=["sqlite", "postgresql"])
def either_workplace(
    request: pytest.FixtureRequest, workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Workplace]:
    """A workplace whose log and ledger are in an SQLite file, and once more one with a database on the server."""
    if request.param == "sqlite":
        yield workplace
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    url = server.new_database()
    monkeypatch.setenv("PENSTOCK_DB", url)
    yield workplace
    server.give_back(url)


@pytest.fixture
def data_folder() -> Path:
    """The public reference data sets; tests that need them are skipped where the folder is absent."""
    if not (DATA / "adult.parquet").exists():
        pytest.skip(f"reference data not found in {DATA}; set PENSTOCK_DATA to their folder")
    return DATA


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A new home with its default database, an SQLite file."""
    monkeypatch.delenv("PENSTOCK_DB", raising=False)
    monkeypatch.delenv("PENSTOCK_HOME", raising=False)
    return Home.open(tmp_path / "home")


@pytest.fixture
def postgres_home(home: Home, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    """A new home whose database is a new one on the PostgreSQL server."""
    url = postgres.new_database()
    monkeypatch.setenv("PENSTOCK_DB", url)
    yield home
    postgres.give_back(url)


@pytest.fixture(params=HOMES)
def either_home(request: pytest.FixtureRequest) -> Home:
    """A new home, once on SQLite and once on PostgreSQL."""
    chosen: Home = request.getfixturevalue(HOMES[request.param])
    return chosen


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Typed:
    """Run a command in this process."""

    def run(*arguments: object) -> Ended:
        monkeypatch.setattr(sys, "argv", ["penstock", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = capsys.readouterr()
        code = ended.value.code
        return Ended(code if isinstance(code, int) else 0, printed.out, printed.err)

    return run
