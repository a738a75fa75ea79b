"""A Prefect server whose owner is hostile: a real one, and the orders that it gives to a worker of ours.

Each order would plant the file `marker` if it were followed.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.support.living_processes import LONGEST_WAIT
from tests.support.prefect_service import migrated
from tests.support.serving import LOOK_AGAIN, ask, free_port

POOL = "penstock"
OURS = "release-spec/release"
PLANT = """
import pathlib
pathlib.Path({marker!r}).touch()
"""
FLOW = """
from prefect import flow

@flow
def foreign():
    pass
"""


@contextlib.contextmanager
def running_prefect(folder: Path) -> Iterator[str]:
    """A Prefect server that is not ours, whose files lie in folder/prefect; the address of its API."""
    migrated(folder)
    port = free_port()
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT", "PENSTOCK"))}
    quiet = {"PREFECT_HOME": str(folder / "prefect"), "PREFECT_SERVER_ANALYTICS_ENABLED": "false", "DO_NOT_TRACK": "1"}
    factory = ["--factory", "prefect.server.api.server:create_app", "--log-level", "critical"]
    with (folder / "foreign-server.txt").open("wb") as output:
        server = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", *factory, "--host", "127.0.0.1", "--port", str(port)],
            env={**clean, **quiet},
            stdout=output,
            stderr=output,
        )
    try:
        api = f"http://127.0.0.1:{port}/api"
        deadline = time.monotonic() + LONGEST_WAIT
        while not _answers(api):
            assert server.poll() is None
            assert time.monotonic() < deadline
            time.sleep(LOOK_AGAIN)
        yield api
    finally:
        server.kill()
        server.wait()


def _answers(api: str) -> bool:
    try:
        with urllib.request.urlopen(f"{api}/health", timeout=5):
            return True
    except OSError:
        return False


class HostileOwner:
    """Who may write everything on the server, and nothing on our machine but a folder that everybody can read."""

    def __init__(self, api: str, folder: Path) -> None:
        self._api, self.folder = api, folder
        folder.mkdir()
        self.marker = folder / "marker"
        self.touch = f"touch {shlex.quote(str(self.marker))}"
        self._plant = PLANT.format(marker=str(self.marker))

    def ask(self, path: str, body: Any = None, method: str | None = None) -> Any:
        return ask(f"{self._api}{path}", body, method)

    def ours(self) -> Any:
        """Our own deployment, as the server has it."""
        return self.ask(f"/deployments/name/{OURS}")

    def start(self, deployment: str, **more: Any) -> str:
        return str(self.ask(f"/deployments/{deployment}/create_flow_run", more)["id"])

    def start_ours(self, **more: Any) -> str:
        return self.start(self.ours()["id"], parameters={"spec": "spec.yaml", "started_by": "mallory"}, **more)

    def file_with_a_flow(self) -> str:
        """A file that plants the marker when it is imported, with a flow in it."""
        path = self.folder / "foreign.py"
        path.write_text(self._plant + FLOW, encoding="utf-8")
        return f"{path}:foreign"

    def deploy(self, **changes: Any) -> str:
        """A deployment of our flow in our pool, with these changes."""
        like_ours = {key: self.ours()[key] for key in ("flow_id", "entrypoint")}
        made = {"name": "foreign", "work_pool_name": POOL, "pull_steps": [], **like_ours, **changes}
        return str(self.ask("/deployments/", made)["id"])

    # The orders: each gives the flow run that a worker would take.

    def command_of_a_flow_run(self) -> str:
        return self.start_ours(job_variables={"command": self.touch})

    def environment_of_a_flow_run(self) -> str:
        (self.folder / "sitecustomize.py").write_text(self._plant, encoding="utf-8")
        return self.start_ours(job_variables={"env": {"PYTHONPATH": str(self.folder)}})

    def working_folder_of_a_flow_run(self) -> str:
        package = self.folder / "flows"
        package.mkdir()
        (package / "__init__.py").write_text(self._plant, encoding="utf-8")
        return self.start_ours(job_variables={"working_dir": str(self.folder)})

    def command_of_a_deployment(self) -> str:
        """Of one with the name and the entrypoint of ours, under another flow."""
        flow = self.ask("/flows/", {"name": "foreign"})["id"]
        return self.start(self.deploy(flow_id=flow, name="release", job_variables={"command": self.touch}))

    def pull_step(self) -> str:
        step = {"prefect.deployments.steps.run_shell_script": {"script": self.touch}}
        return self.start(self.deploy(pull_steps=[step]))

    def foreign_entrypoint(self) -> str:
        return self.start(self.deploy(entrypoint=self.file_with_a_flow()))

    def foreign_path(self) -> str:
        """A file that is looked for in the folder of the server."""
        self.file_with_a_flow()
        return self.start(self.deploy(path=str(self.folder), entrypoint="foreign.py:foreign"))

    @contextlib.contextmanager
    def changed(self, path: str, now: Any, before: Any) -> Iterator[None]:
        self.ask(path, now, "PATCH")
        try:
            yield
        finally:
            self.ask(path, before, "PATCH")

    def our_entrypoint_changed(self) -> contextlib.AbstractContextManager[None]:
        ours = self.ours()
        before = {"entrypoint": ours["entrypoint"]}
        return self.changed(f"/deployments/{ours['id']}", {"entrypoint": self.file_with_a_flow()}, before)

    @contextlib.contextmanager
    def run_of_our_changed_deployment(self) -> Iterator[str]:
        with self.our_entrypoint_changed():
            yield self.start_ours()

    def pool_changed(self) -> contextlib.AbstractContextManager[None]:
        path = f"/work_pools/{POOL}"
        before = self.ask(path)["base_job_template"]
        now = {**before, "job_configuration": {**before["job_configuration"], "command": self.touch}}
        return self.changed(path, {"base_job_template": now}, {"base_job_template": before})

    @contextlib.contextmanager
    def run_in_a_changed_pool(self) -> Iterator[str]:
        with self.pool_changed():
            yield self.start_ours()


# What is ordered, how, and the fields for which it is refused.
ORDERS: dict[str, tuple[Callable[[HostileOwner], Any], tuple[str, ...]]] = {
    "command of a flow run": (HostileOwner.command_of_a_flow_run, ("flow_run.job_variables",)),
    "environment of a flow run": (HostileOwner.environment_of_a_flow_run, ("flow_run.job_variables",)),
    "working folder of a flow run": (HostileOwner.working_folder_of_a_flow_run, ("flow_run.job_variables",)),
    "command of a deployment": (HostileOwner.command_of_a_deployment, ("deployment.job_variables",)),
    "pull step": (HostileOwner.pull_step, ("deployment.pull_steps",)),
    "foreign entrypoint": (HostileOwner.foreign_entrypoint, ("deployment.name",)),
    "foreign path": (HostileOwner.foreign_path, ("deployment.path", "deployment.name")),
    "run of our changed deployment": (HostileOwner.run_of_our_changed_deployment, ("deployment.entrypoint",)),
    "run in a changed pool": (HostileOwner.run_in_a_changed_pool, ("work_pool.base_job_template",)),
}
