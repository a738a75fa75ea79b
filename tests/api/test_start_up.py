"""Commands start light: each loads what it needs, and none of the heavy libraries that it does not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.cli._demo import SPEC
from penstock.tasks.questions import identity
from tests.support.question_house import asked, set_up
from tests.support.workplace import Workplace
from tests.tasks.published_bundle import Published

# Takes a list of arguments, and prints which of the named modules were loaded when the command ended.
WATCHED = """
import json, os, sys
named = json.loads(sys.argv.pop())
from penstock.cli.main import main
sys.stdout = open(os.devnull, "w")
try:
    main()
except SystemExit as ended:
    code = ended.code
sys.__stdout__.write(json.dumps([code or 0, [name for name in named if name in sys.modules]]))
"""

ENGINES = ("prefect", "numba", "great_expectations")
RECORDS = ("sqlalchemy", "alembic", "scipy")
TABLES = ("pandas", "pyarrow")
# Not pydantic: typer itself checks the options of a command by it.
MODELS = ("numpy", "yaml", "cryptography", "asyncio", "penstock.flows.spec")


def loaded(folder: Path, *arguments: object, named: tuple[str, ...]) -> list[str]:
    """Which of these modules a command has loaded."""
    settings = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT", "PENSTOCK"))}
    ended = subprocess.run(
        [sys.executable, "-c", WATCHED, *map(str, arguments), json.dumps(named)],
        cwd=folder,
        env={**settings, "PENSTOCK_HOME": str(folder / "home")},
        capture_output=True,
        text=True,
        check=False,
    )
    code, found = json.loads(ended.stdout)
    assert (code, ended.stderr) == (0, "")
    return list(found)


@pytest.mark.parametrize(
    "arguments", [("--help",), ("run", "--help"), ("ask", "--help"), ("budget", "open", "--help")], ids=" ".join
)
def test_help_loads_no_library_of_the_line(arguments: tuple[str, ...], tmp_path: Path) -> None:
    assert loaded(tmp_path, *arguments, named=(*ENGINES, *RECORDS, *TABLES, *MODELS, "rich")) == []


def test_the_schema_and_a_plan_load_no_data_frames_and_no_database(tmp_path: Path) -> None:
    assert loaded(tmp_path, "schema", named=(*ENGINES, *RECORDS, *TABLES, "cryptography")) == []
    spec = tmp_path / "spec.yaml"
    spec.write_text(SPEC, encoding="utf-8")  # its source is not there, so nobody looks at it
    assert loaded(tmp_path, "plan", spec, named=(*ENGINES, *RECORDS, "pandas", "cryptography")) == []


def test_a_plan_with_its_source_and_a_verification_load_no_engine_and_no_database(tmp_path: Path) -> None:
    """pyarrow loads pandas by itself."""
    place = Workplace(tmp_path)
    assert loaded(tmp_path, "plan", place.write_spec(), named=(*ENGINES, *RECORDS)) == []
    published = Published(tmp_path, "mdav_id")
    assert loaded(tmp_path, "verify", published.folder, "--key", published.public, named=(*ENGINES, *RECORDS)) == []


def test_a_repeated_question_loads_no_table_library_and_no_engine(
    tmp_path: Path, workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identity, "_AT_REST", 10**6)
    data = set_up(workplace)
    asked(data, "count where region is North", epsilon="1/4")
    wanted = ("ask", workplace.folder / "data.yaml", "--query", "count where region is North", "--epsilon", "1/4")
    assert loaded(tmp_path, *wanted, named=(*ENGINES, *TABLES, "alembic")) == []


def test_the_test_notices_what_is_loaded(tmp_path: Path) -> None:
    assert loaded(tmp_path, "schema", named=("numpy", "penstock.flows.spec")) == ["numpy", "penstock.flows.spec"]


def test_import_penstock_loads_nothing_but_itself() -> None:
    command = "import sys, penstock; print(sorted(n for n in sys.modules if n.startswith('penstock') or n == 'numpy'))"
    ended = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "['penstock']"


def test_a_shell_can_complete_commands(tmp_path: Path) -> None:
    ended = subprocess.run(
        [str(Path(sys.executable).with_name("penstock"))],
        cwd=tmp_path,
        env={**os.environ, "_PENSTOCK_COMPLETE": "complete_bash", "COMP_WORDS": "penstock ver", "COMP_CWORD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.stdout.split(), ended.stderr) == (["verify"], "")
