"""The command line as a user types it: what it prints, how it exits, what it leaves behind."""

from __future__ import annotations

import json
import os
import urllib.request
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from typer.testing import CliRunner

from penstock.cli import main as cli
from tests.support.ended_command import Typed
from tests.support.living_processes import LONGEST_WAIT
from tests.support.prefect_service import Service, named
from tests.support.workplace import Workplace


def flow_runs(service: Service) -> int:
    """How many runs a server knows of."""
    request = urllib.request.Request(
        f"{service.url}/flow_runs/count",
        data=b"{}",
        headers={"Content-Type": "application/json", **service.headers},
    )
    with urllib.request.urlopen(request, timeout=LONGEST_WAIT) as answer:
        return int(json.load(answer))


def children() -> set[str]:
    """The processes that this one has started."""
    task = Path(f"/proc/{os.getpid()}/task/")
    return {pid for thread in task.iterdir() for pid in (thread / "children").read_text().split()}


def test_a_server_that_is_named_is_used_and_elsewhere_none_is_asked_or_started(
    prefect_service: Service, workplace: Workplace, typed: Typed
) -> None:
    before, started = flow_runs(prefect_service), children()
    ended = typed("run", workplace.write_spec())
    assert (ended.code, flow_runs(prefect_service), children()) == (0, before, started)
    with named(prefect_service):
        workplace.write_survey(400, seed=2)  # the same records would be a second release
        again = typed("run", workplace.write_spec())
    assert (again.code, flow_runs(prefect_service), children()) == (0, before + 1, started)
    assert not (workplace.home / "prefect").exists()
    assert ended.out.splitlines()[0] == "Published survey, 400 records"


def test_a_named_server_that_does_not_answer_is_refused_in_our_words(
    workplace: Workplace, typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:1/api")
    ended = typed("run", workplace.write_spec())
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.splitlines() == [
        "Refused (server-not-ready)",
        "  PREFECT_API_URL: must name a Prefect server that answers.",
        "    Start it, or unset the variable.",
        "  See docs/refusals.md#server-not-ready",
    ]


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
        (expect_too_much, 3, "validation-failed", "validate.suite"),
        (set_gate, 4, "gate-refused", "gates.il1s"),
        (block_destination, 1, "destination-not-writable", "publish.path"),
    ],
)
def test_a_refused_run_exits_with_its_code_and_lists_its_faults(
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


def everything_below(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}


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
    assert "  colour: must be a known key." in lines
    assert len(lines) == 6  # under each fault its remedy, and where more is said of such refusals
    assert all(line.startswith("    ") for line in (lines[2], lines[4]))
    assert lines[5] == "  See docs/refusals.md#spec-refused"


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
        "protect.0.k",
    }
    spec = yaml.safe_load(draft.read_text(encoding="utf-8"))
    columns = spec["source"]["columns"]
    assert columns["person_id"] == {"role": "identifier"}
    columns["age"]["domain"] = [16, 100]
    columns["region"]["categories"].append("Atlantis")
    columns["income"]["domain"] = columns["savings"]["domain"] = [0, 1_000_000]
    columns["savings"]["missing"] = "own_group"
    spec["protect"][0]["k"] = 20
    spec["gates"] = [{"measure": "average_risk", "max": 0.05}]
    draft.write_text(yaml.safe_dump(spec), encoding="utf-8")
    assert typed("plan", draft).code == 0


def test_a_draft_takes_its_roles_from_another_tool_and_passes_after_review(workplace: Workplace, typed: Typed) -> None:
    script = workplace.folder / "problem.R"
    script.write_text(
        "sdc <- createSdcObj(survey, keyVars = c('region', 'education'), numVars = 'age',\n"
        "  sensibleVar = c('income', 'savings'), weightVar = 'weight', excludeVars = 'person_id')",
        encoding="utf-8",
    )
    draft = workplace.folder / "draft.yaml"
    assert typed("init", workplace.source, "--roles", script, "-o", draft).code == 0
    assert typed("plan", draft).code == 2
    spec = yaml.safe_load(draft.read_text(encoding="utf-8"))
    columns = spec["source"]["columns"]
    assert "person_id" not in columns
    assert [columns[name]["role"] for name in ("region", "education", "age")] == ["quasi_identifier"] * 3
    assert [columns[name]["role"] for name in ("income", "savings", "weight")] == [*["confidential"] * 2, "weight"]
    columns["age"]["domain"] = [16, 100]
    columns["income"]["domain"] = columns["savings"]["domain"] = [0, 1_000_000]
    columns["savings"]["missing"] = "own_group"
    spec["protect"][0]["k"] = 20
    spec["gates"] = [{"measure": "average_risk", "max": 0.05}]
    draft.write_text(yaml.safe_dump(spec), encoding="utf-8")
    assert typed("plan", draft).code == 0

    script.write_text("createSdcObj(survey, keyVars = keys)", encoding="utf-8")
    refused = typed("init", workplace.source, "--roles", script, "--json")
    assert refused.code == 2
    assert [fault["field"] for fault in refused.document()["faults"]] == ["keyVars"]


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


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), ["Release confidential microdata", "demo", "init", "plan", "run", "schema", "verify", "audit"]),
        (("demo",), ["synthetic survey", "release it", "--folder", "--json"]),
        (("init",), ["Draft a spec from a Parquet file", "left for you to decide", "--roles", "--output", "--json"]),
        (("plan",), ["promise", "expected error", "cost", "Spends nothing", "reads no row", "--count", "--json"]),
        (("run",), ["validate", "protect", "Every gate must pass", "--source", "--publish", "--json"]),
        (("schema",), ["JSON Schema", "--json"]),
        (("verify",), ["Offline", "signature", "digests", "public key", "--key", "--json"]),
        (("audit",), ["show", "verify", "export"]),
        (("audit", "show"), ["oldest first", "--run", "--json"]),
        (("audit", "verify"), ["log, ledger, signatures and reachable manifests", "--export", "--bundles", "--json"]),
        (("audit", "export"), ["JSON Lines", "--output", "--json"]),
        (("budget",), ["open", "show", "raise"]),
        (("budget", "open"), ["Signed, with a reason", "--model", "--epsilon", "--adjacency", "--unit", "--key"]),
        (("keys",), ["new", "trust", "withdraw", "list"]),
        (("approve",), ["exactly what a run has staged", "--reviewer", "--key"]),
        (("refuse",), ["the run ends", "--reason"]),
        (("sign",), ["Sign a decision", "--refuse"]),
        (("serve",), ["Prefect server, deployments and a worker", "--port", "--settings", "--json"]),
        (("backup",), ["keys, log, ledger and runs", "--json"]),
        (("restore",), ["empty home and database", "--bundles", "--json"]),
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
