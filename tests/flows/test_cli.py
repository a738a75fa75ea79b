"""The command line as a user types it: what it prints, how it exits, what it leaves behind."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from sqlalchemy import text
from typer.testing import CliRunner
from workplace import Workplace

from flows import cli
from records import open_records
from records.home import Home

LONGEST_WAIT = 120


@dataclass(frozen=True)
class Ended:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    def document(self) -> Any:
        """The one JSON document on standard output; nothing else may stand there or on standard error."""
        assert self.err == ""
        return json.loads(self.out)


Typed = Callable[..., Ended]


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


@pytest.fixture(scope="module")
def first_release(tmp_path_factory: pytest.TempPathFactory, prefect_home: Path) -> Path:
    """A workplace with one published release, made by `penstock run`; tests use copies of it."""
    place = Workplace(tmp_path_factory.mktemp("released"))
    with pytest.MonkeyPatch.context() as settings:
        settings.setenv("PENSTOCK_HOME", str(place.home))
        settings.delenv("PENSTOCK_DB", raising=False)
        settings.setattr(sys, "argv", ["penstock", "run", str(place.write_spec())])
        with pytest.raises(SystemExit) as ended:
            cli.main()
    assert not ended.value.code
    return place.folder


@pytest.fixture
def released(first_release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workplace:
    folder = tmp_path / "copy"
    shutil.copytree(first_release, folder)
    place = Workplace(folder)
    monkeypatch.setenv("PENSTOCK_HOME", str(place.home))
    monkeypatch.delenv("PENSTOCK_DB", raising=False)
    return place


def everything_below(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}


# --- whole processes ---------------------------------------------------------------------------------------------


def environment(home: Path, mark: str) -> dict[str, str]:
    """A user's environment without any setting of Prefect or Penstock but the home; `mark` finds its processes."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT", "PENSTOCK"))}
    return {**inherited, "PENSTOCK_HOME": str(home), "PENSTOCK_TEST_MARK": mark}


def command(*arguments: object) -> list[str]:
    return [str(Path(sys.executable).with_name("penstock")), *map(str, arguments)]


def processes(mark: str) -> dict[int, str]:
    """The living processes that carry the mark in their environment, with their command lines."""
    found = {}
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and f"PENSTOCK_TEST_MARK={mark}\0".encode() in (entry / "environ").read_bytes():
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue  # it ended while we looked, or is not ours
    return found


def wait_for_death(pid: int) -> None:
    """Wait until a process that is not our child has ended; the kernel tells, nobody sleeps."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        poller = select.poll()
        poller.register(handle, select.POLLIN)
        assert poller.poll(1000 * LONGEST_WAIT), f"process {pid} outlived its command"
    finally:
        os.close(handle)


@contextmanager
def reader_arrived(pipe: Path) -> Iterator[int]:
    """Wait until somebody opens the named pipe for reading; yields our writing end."""
    opened: list[int] = []
    thread = threading.Thread(target=lambda: opened.append(os.open(pipe, os.O_WRONLY)), daemon=True)
    thread.start()
    thread.join(LONGEST_WAIT)
    if not opened:
        os.close(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK))  # let the thread go
        pytest.fail("the release never read its suite")
    try:
        yield opened[0]
    finally:
        os.close(opened[0])


def test_the_demo_releases_and_prints_our_lines_only(tmp_path: Path) -> None:
    ended = subprocess.run(
        command("demo", "--folder", "place"),
        cwd=tmp_path,
        env=environment(tmp_path / "unused", str(tmp_path)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert processes(str(tmp_path)) == {}
    assert (ended.returncode, ended.stderr) == (0, "")
    place = tmp_path / "place"
    [manifest] = (place / "published").rglob("manifest.json")
    home, bundle = place / "confidential" / "penstock", manifest.parent
    [report] = (home / "runs").rglob("report.html")
    assert ended.stdout.splitlines() == [
        "Published demo-survey, 20,000 records",
        "  promise             prob_k, k = 400, ir_swap",
        f"  bundle              {bundle}",
        f"  public report       {bundle}/report.html",
        f"  confidential report {report}",
        "",
        "The bundle verifies, and the audit log has 8 events, every one in its place.",
        "Look further:",
        f"  cat {place}/survey.yaml",
        f"  penstock plan {place}/survey.yaml",
        f"  PENSTOCK_HOME={home} penstock audit show",
        f"  penstock verify {bundle} --key {home}/keys/signing.pub",
    ]
    assert not (tmp_path / "unused").exists()


def test_no_process_outlives_a_killed_or_a_finished_command_and_a_rerun_publishes(tmp_path: Path) -> None:
    place, mark = Workplace(tmp_path), str(tmp_path)
    place.raw["validate"] = {"suite": "suite.json"}
    suite = tmp_path / "suite.json"
    os.mkfifo(suite)  # whoever reads it waits, so the release stands still where we want it
    run = subprocess.Popen(
        command("run", place.write_spec()),
        cwd=tmp_path,
        env=environment(place.home, mark),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with reader_arrived(suite):
        family = processes(mark)
        assert run.pid in family
        servers = [pid for pid, line in family.items() if "flows.local_server" in line]
        assert len(servers) == 1
        os.kill(run.pid, signal.SIGKILL)
        assert run.wait(LONGEST_WAIT) == -signal.SIGKILL
        for pid in servers:
            wait_for_death(pid)
    assert run.communicate() == (b"", b"")
    assert processes(mark) == {}
    assert place.bundles() == []

    suite.unlink()
    suite.write_text(json.dumps([{"type": "expect_column_to_exist", "kwargs": {"column": "age"}}]), encoding="utf-8")
    again = subprocess.run(
        command("run", place.spec_file, "--json"),
        cwd=tmp_path,
        env=environment(place.home, mark),
        capture_output=True,
        text=True,
        check=False,
    )
    assert processes(mark) == {}
    assert again.returncode == 0
    receipt = Ended(again.returncode, again.stdout, again.stderr).document()
    assert place.bundles() == [Path(receipt["path"])]
    assert set(receipt) == {
        "name",
        "run",
        "records",
        "promise",
        "path",
        "manifest",
        "public_report",
        "confidential_report",
        "seconds",
    }
    log = open_records(home=Home.open(place.home)).log
    log.verify()
    assert [event.action.value for event in log.events()][:2] == ["PLANNED", "RESUMED"]


# --- run, in this process, on the server of the test session -----------------------------------------------------


def flow_runs() -> int:
    """How many runs the server that PREFECT_API_URL names knows of."""
    request = urllib.request.Request(
        f"{os.environ['PREFECT_API_URL']}/flow_runs/count",
        data=b"{}",
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=LONGEST_WAIT) as answer:
        return int(json.load(answer))


def own_servers() -> set[str]:
    """Children of this process that serve Prefect."""
    task = Path(f"/proc/{os.getpid()}/task/")
    children = {pid for thread in task.iterdir() for pid in (thread / "children").read_text().split()}
    return {pid for pid in children if b"flows.local_server" in Path(f"/proc/{pid}/cmdline").read_bytes()}


def test_a_server_that_is_named_is_used_and_none_is_started(
    prefect_home: Path, workplace: Workplace, typed: Typed
) -> None:
    before, servers = flow_runs(), own_servers()
    ended = typed("run", workplace.write_spec())
    assert ended.code == 0
    assert flow_runs() == before + 1
    assert own_servers() == servers
    assert not (workplace.home / "prefect").exists()
    assert ended.out.splitlines()[0] == "Published survey, 400 records"


def change_domain(place: Workplace) -> None:
    place.raw["source"]["columns"]["income"]["domain"] = [0, 10]


def set_gate(place: Workplace) -> None:
    place.raw["gates"] = [{"measure": "il1s", "max": 0}]


def expect_too_much(place: Workplace) -> None:
    suite = [{"type": "expect_column_values_to_be_between", "kwargs": {"column": "age", "min_value": 99}}]
    (place.folder / "suite.json").write_text(json.dumps(suite), encoding="utf-8")
    place.raw["validate"] = {"suite": "suite.json"}


def block_destination(place: Workplace) -> None:
    place.published.write_text("a file where a folder should be", encoding="utf-8")


def set_k(place: Workplace) -> None:
    place.raw["protect"][0]["k"] = 1


def damage_source(place: Workplace) -> None:
    place.source.write_bytes(b"not Parquet")


@pytest.mark.parametrize(
    ("spoil", "code", "refused", "field"),
    [
        (set_k, 2, "spec-refused", "protect.0.k"),
        (damage_source, 3, "source-unreadable", "source.path"),
        (change_domain, 3, "value-outside-domain", "source.columns.income"),
        (expect_too_much, 3, "validation-failed", "age"),
        (set_gate, 4, "gate-refused", "gates.il1s"),
        (block_destination, 1, "step-failed", "publish"),
    ],
)
def test_a_refused_run_exits_with_its_code_and_lists_its_faults(
    prefect_home: Path,
    workplace: Workplace,
    typed: Typed,
    spoil: Callable[[Workplace], None],
    code: int,
    refused: str,
    field: str,
) -> None:
    spoil(workplace)
    workplace.write_spec()
    ended = typed("run", workplace.spec_file, "--json")
    document = ended.document()
    assert (ended.code, document["exit_code"], document["refused"]) == (code, code, refused)
    assert [fault["field"] for fault in document["faults"]] == [field]
    for fault in document["faults"]:
        assert set(fault) == {"field", "rule", "got", "remedy"}
        assert fault["rule"]
        assert fault["remedy"]
    assert workplace.bundles() == []


# --- plan, schema, init ------------------------------------------------------------------------------------------


def test_a_refusal_is_told_on_standard_error_with_field_rule_value_and_remedy(
    workplace: Workplace, typed: Typed
) -> None:
    workplace.raw["protect"][0]["k"] = 1
    workplace.raw["colour"] = "red"
    ended = typed("plan", workplace.write_spec())
    assert (ended.code, ended.out) == (2, "")
    lines = ended.err.splitlines()
    assert lines[0] == "Refused (spec-refused)"
    assert any(line.startswith("  protect.0.k: ") and line.endswith(", got 1.") for line in lines)
    assert "  colour: unknown key." in lines
    assert len(lines) == 5  # and under each fault its remedy
    assert all(line.startswith("    ") for line in lines[2::2])


def test_what_is_printed_is_what_was_written_also_where_it_looks_like_markup(
    workplace: Workplace, typed: Typed
) -> None:
    workplace.raw["protect"][0]["method"] = "[bold]swap[/bold]"
    assert "[bold]swap[/bold]" in typed("plan", workplace.write_spec()).err


@pytest.mark.parametrize("count", [(), ("--count",)])
def test_a_plan_reads_no_row_and_writes_nothing(workplace: Workplace, typed: Typed, count: tuple[str, ...]) -> None:
    whole = workplace.source.read_bytes()
    footer = int.from_bytes(whole[-8:-4], "little") + 8
    workplace.source.write_bytes(bytes(len(whole) - footer) + whole[-footer:])
    with pytest.raises(OSError, match="page header"):
        pq.read_table(workplace.source)
    workplace.write_spec()
    before = everything_below(workplace.folder)
    ended = typed("plan", workplace.spec_file, *count, "--json")
    assert ended.code == 0
    assert ended.document()["records"] == (400 if count else None)
    assert everything_below(workplace.folder) == before
    assert not workplace.home.exists()


def test_a_plan_tells_the_promise_the_error_the_gates_and_the_cost(workplace: Workplace, typed: Typed) -> None:
    ended = typed("plan", workplace.write_spec(), "--count")
    assert (ended.code, ended.err) == (0, "")
    titles = ["Promise", "Assumes", "Does not promise", "Stays secret", "To expect", "Gates", "Cost"]
    assert [line for line in ended.out.splitlines() if line in titles] == titles
    for words in ("at most 1/k", "1/20 = 0.05", "400 records make 20 groups", "average_risk at most 0.05", "Epsilon"):
        assert words in ended.out


def test_a_plan_needs_no_source_but_counting_does(workplace: Workplace, typed: Typed) -> None:
    workplace.write_spec()
    workplace.source.unlink()
    planned = typed("plan", workplace.spec_file)
    assert planned.code == 0
    assert "does not exist yet" in planned.out
    assert typed("plan", workplace.spec_file, "--count").code == 3


def test_a_plan_refuses_a_source_that_is_not_as_declared(workplace: Workplace, typed: Typed) -> None:
    workplace.raw["source"]["columns"]["wealth"] = {"role": "confidential", "type": "continuous", "domain": [0, 1]}
    ended = typed("plan", workplace.write_spec(), "--json")
    assert ended.code == 3
    assert [fault["field"] for fault in ended.document()["faults"]] == ["source.columns.wealth"]


def test_source_and_destination_can_be_given_on_the_command_line(workplace: Workplace, typed: Typed) -> None:
    workplace.raw["source"]["path"] = "elsewhere.parquet"
    spec = workplace.write_spec()
    planned = typed(
        "plan", spec, "--source", workplace.source, "--publish", workplace.folder / "out", "--count", "--json"
    )
    assert planned.document()["records"] == 400
    assert planned.document()["publishes_to"] == str(workplace.folder / "out" / "survey")


@pytest.mark.parametrize("name", ["absent.yaml", "list.yaml", "broken.json"])
def test_a_file_that_is_no_spec_exits_with_2(workplace: Workplace, typed: Typed, name: str) -> None:
    (workplace.folder / "list.yaml").write_text("- 1", encoding="utf-8")
    (workplace.folder / "broken.json").write_text("{", encoding="utf-8")
    for action in ("plan", "run"):
        assert typed(action, workplace.folder / name).code == 2


def test_the_schema_is_a_json_schema_that_accepts_our_spec(workplace: Workplace, typed: Typed) -> None:
    plain, as_json = typed("schema"), typed("schema", "--json")
    assert plain.document() == as_json.document()
    jsonschema.Draft202012Validator.check_schema(plain.document())
    jsonschema.validate(workplace.raw, plain.document())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**workplace.raw, "colour": "red"}, plain.document())


def test_a_draft_lists_no_rare_category_is_refused_and_passes_after_review(workplace: Workplace, typed: Typed) -> None:
    survey = pq.read_table(workplace.source)
    regions = survey["region"].to_pylist()
    regions[:3] = ["Atlantis"] * 3
    survey = survey.set_column(survey.column_names.index("region"), "region", pa.array(regions))
    pq.write_table(survey, workplace.source)
    draft = workplace.folder / "draft.yaml"
    written = typed("init", workplace.source, "-o", draft)
    assert written.code == 0
    assert "REVIEW" in written.out
    assert "Atlantis" not in draft.read_text(encoding="utf-8")
    assert typed("init", workplace.source).out == draft.read_text(encoding="utf-8") + "\n"
    assert typed("init", workplace.source, "--json").document() == {"spec": draft.read_text(encoding="utf-8")}

    refused = typed("plan", draft, "--json")
    assert refused.code == 2
    assert {fault["field"] for fault in refused.document()["faults"]} == {
        "source.columns.age.domain",
        "source.columns.income.domain",
        "source.columns.savings.domain",
        "source.columns.weight.domain",
        "protect.0.k",
    }
    spec = yaml.safe_load(draft.read_text(encoding="utf-8"))
    columns = spec["source"]["columns"]
    assert columns["person_id"] == {"role": "identifier"}
    columns["age"]["domain"] = [16, 100]
    columns["region"]["categories"].append("Atlantis")
    columns["income"]["domain"] = columns["savings"]["domain"] = [0, 1_000_000]
    columns["savings"]["missing"] = "own_group"
    columns["weight"] = {"role": "weight"}
    spec["protect"][0]["k"] = 20
    spec["gates"] = [{"measure": "average_risk", "max": 0.05}]
    draft.write_text(yaml.safe_dump(spec), encoding="utf-8")
    assert typed("plan", draft).code == 0


def test_a_draft_never_overwrites_a_file(workplace: Workplace, typed: Typed) -> None:
    mine = workplace.folder / "mine.yaml"
    mine.write_text("my work", encoding="utf-8")
    ended = typed("init", workplace.source, "--output", mine, "--json")
    assert ended.code == 1
    assert [fault["field"] for fault in ended.document()["faults"]] == ["--output"]
    assert mine.read_text(encoding="utf-8") == "my work"


def test_a_draft_of_what_is_not_parquet_exits_with_3(workplace: Workplace, typed: Typed) -> None:
    assert typed("init", workplace.folder / "absent.parquet").code == 3
    assert typed("init", workplace.write_spec()).code == 3


# --- verify ------------------------------------------------------------------------------------------------------


def test_a_bundle_is_verified_with_the_key_of_the_home_or_a_given_one(released: Workplace, typed: Typed) -> None:
    [bundle] = released.bundles()
    ended = typed("verify", bundle)
    assert (ended.code, ended.err) == (0, "")
    assert [line.startswith("checked") for line in ended.out.splitlines()] == [True, True, True, False, False]
    key = released.folder / "agency.pub"
    shutil.copy(released.home / "keys" / "signing.pub", key)
    shutil.rmtree(released.home)
    document = typed("verify", bundle, "--key", key, "--json").document()
    assert document["bundle"] == str(bundle)
    assert [finding["name"] for finding in document["findings"] if finding["checked"]] == [
        "signature",
        "digests",
        "records",
    ]
    assert not released.home.exists()


def test_without_a_key_a_bundle_is_not_verified(released: Workplace, typed: Typed, tmp_path: Path) -> None:
    [bundle] = released.bundles()
    absent = typed("verify", bundle, "--key", tmp_path / "absent.pub", "--json")
    assert (absent.code, absent.document()["refused"]) == (7, "key-missing")
    shutil.rmtree(released.home)
    none = typed("verify", bundle, "--json")
    assert (none.code, none.document()["refused"]) == (7, "key-missing")
    assert not released.home.exists()


@pytest.mark.parametrize("name", ["data.parquet", "data.csv", "report.html", "manifest.json", "manifest.sig"])
def test_an_altered_bundle_exits_with_7(released: Workplace, typed: Typed, name: str) -> None:
    [bundle] = released.bundles()
    content = bytearray((bundle / name).read_bytes())
    content[len(content) // 2] ^= 1
    (bundle / name).write_bytes(bytes(content))
    ended = typed("verify", bundle, "--json")
    assert (ended.code, ended.document()["refused"]) == (7, "bundle-altered")


# --- audit -------------------------------------------------------------------------------------------------------

ACTIONS = ["PLANNED", "INGESTED", "VALIDATED", "PROTECTING", "PROTECTED", "CHECKED", "PUBLISHING", "PUBLISHED"]


def test_the_log_is_shown_as_a_table_and_as_json(released: Workplace, typed: Typed) -> None:
    shown = typed("audit", "show")
    assert (shown.code, shown.err) == (0, "")
    assert [line.split()[4] for line in shown.out.splitlines()[1:]] == ACTIONS
    events = typed("audit", "show", "--json").document()["events"]
    assert [event["action"] for event in events] == ACTIONS


def test_the_log_of_one_run_is_shown(released: Workplace, typed: Typed) -> None:
    [bundle] = released.bundles()
    assert len(typed("audit", "show", "--run", bundle.name, "--json").document()["events"]) == len(ACTIONS)
    assert typed("audit", "show", "--run", "another", "--json").document() == {"events": []}


def test_the_log_is_verified(released: Workplace, typed: Typed) -> None:
    assert typed("audit", "verify").out == "8 events, every one in its place and unaltered.\n"
    document = typed("audit", "verify", "--json").document()
    assert (document["events"], document["head"]["seq"]) == (8, 8)


def test_the_log_is_exported_line_by_line_or_as_one_document(released: Workplace, typed: Typed) -> None:
    lines = [json.loads(line) for line in typed("audit", "export").out.splitlines()]
    assert [event["action"] for event in lines] == ACTIONS
    assert typed("audit", "export", "--json").document() == {"events": lines}
    target = released.folder / "log.jsonl"
    assert typed("audit", "export", "-o", target, "--json").document() == {"path": str(target)}
    assert [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()] == lines
    again = typed("audit", "export", "-o", target, "--json")
    assert (again.code, again.document()["faults"][0]["field"]) == (1, "--output")


@pytest.mark.parametrize(
    "alter",
    [
        "UPDATE log_events SET actor = 'somebody else' WHERE seq = 3",
        "DELETE FROM log_events WHERE seq = 8",
        "DELETE FROM log_events WHERE seq = 4",
        "UPDATE log_head SET seq = 7",
    ],
)
def test_an_altered_log_exits_with_7_and_stops_the_next_run(
    prefect_home: Path, released: Workplace, typed: Typed, alter: str
) -> None:
    with open_records().engine.begin() as connection:
        connection.execute(text(alter))
    ended = typed("audit", "verify", "--json")
    assert (ended.code, ended.document()["refused"]) == (7, "log-altered")
    if "seq = 8" in alter or "log_head" in alter:
        stopped = typed("run", released.write_spec(), "--json")
        assert (stopped.code, stopped.document()["refused"]) == (7, "log-altered")
        assert len(released.bundles()) == 1


@pytest.mark.parametrize("action", ["show", "verify", "export"])
def test_a_home_that_is_not_there_has_no_log_to_vouch_for_and_is_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: Typed, action: str
) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "mistyped"))
    monkeypatch.delenv("PENSTOCK_DB", raising=False)
    ended = typed("audit", action, "--json")
    assert (ended.code, ended.document()["refused"]) == (7, "records-absent")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("lost", ["penstock.db", "keys/secret.key"])
def test_a_lost_log_or_key_is_noticed(released: Workplace, typed: Typed, lost: str) -> None:
    (released.home / lost).unlink()
    ended = typed("audit", "verify", "--json")
    assert (ended.code, ended.document()["refused"]) == (7, "records-absent")
    assert not (released.home / lost).exists()


# --- help --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), ["Release confidential microdata", "demo", "init", "plan", "run", "schema", "verify", "audit"]),
        (("demo",), ["synthetic survey", "end to end", "--folder", "--json"]),
        (("init",), ["Draft a spec from a Parquet file", "left for you to decide", "--output", "--json"]),
        (("plan",), ["promise", "expected error", "cost", "Spends nothing", "reads no row", "--count", "--json"]),
        (("run",), ["validate", "protect", "every gate passes", "--source", "--publish", "--json"]),
        (("schema",), ["JSON Schema", "--json"]),
        (("verify",), ["offline", "signature", "digests", "public key", "--key", "--json"]),
        (("audit",), ["show", "verify", "export"]),
        (("audit", "show"), ["oldest first", "--run", "--json"]),
        (("audit", "verify"), ["altered, removed, reordered or inserted", "--json"]),
        (("audit", "export"), ["JSON Lines", "--output", "--json"]),
    ],
)
def test_help_says_what_a_statistician_needs(arguments: tuple[str, ...], words: list[str]) -> None:
    for option in ("--help", "-h"):
        shown = CliRunner().invoke(cli.app, [*arguments, option], env={"COLUMNS": "200", "NO_COLOR": "1"})
        assert shown.exit_code == 0
        told = " ".join(shown.output.split())
        assert [word for word in words if word not in told] == []


@pytest.mark.parametrize("arguments", [("plan",), ("explode",), ("plan", "spec.yaml", "--seed", "1")])
def test_a_command_that_does_not_exist_or_lacks_its_argument_exits_with_2(
    typed: Typed, arguments: tuple[str, ...]
) -> None:
    ended = typed(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert "Usage" in ended.err
