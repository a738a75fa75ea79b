"""The command line: `penstock --help`.

Exit codes: 0 done, 2 spec refused, 3 data refused, 4 a gate refused, 5 budget refused, 6 waiting for
approval or refused by a reviewer, 7 integrity check failed, 1 anything else.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.cli._answers import show_published
from penstock.cli._ask import ask
from penstock.cli._audit import audit
from penstock.cli._backup import backup, restore
from penstock.cli._budget import budget
from penstock.cli._options import AsJson, OutputFile, new_file
from penstock.cli._planned import show_planned
from penstock.cli._reproduce import reproduce
from penstock.cli._review import approve, keys, refuse, sign, withdraw
from penstock.cli._screen import Screen
from penstock.cli._serve import serve
from penstock.cli._users import users
from penstock.flows.surroundings import is_own_folder, keep_inside
from penstock.mechanisms.refusal import Kind, Refusal
from penstock.records.home import Home

__all__ = ["app", "main"]

EXIT_CODES: dict[Kind, int] = {
    "spec": 2,
    "data": 3,
    "gate": 4,
    "budget": 5,
    "approval": 6,
    "integrity": 7,
    "failure": 1,
}

app = typer.Typer(
    name="penstock",
    help="Release confidential microdata: protect it, check it, publish it with a promise, and keep a record.",
    epilog="Exit codes: 0 done, 2 spec refused, 3 data refused, 4 a gate refused, 5 budget refused, "
    "6 waiting for approval or refused by a reviewer, 7 integrity check failed, 1 anything else. "
    "Start with `penstock demo`.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

SpecFile = Annotated[Path, typer.Argument(help="The spec, YAML or JSON.")]
SourceOption = Annotated[
    str | None, typer.Option("--source", help="Read this Parquet file or folder instead of source.path.")
]
PublishOption = Annotated[str | None, typer.Option("--publish", help="Publish here instead of publish.path.")]


@app.command()
def demo(
    folder: Annotated[Path, typer.Option(help="Where to put the demo.")] = Path("penstock-demo"),
    as_json: AsJson = False,
) -> None:
    """Make a synthetic survey and release it. Prints where everything is."""
    from penstock.cli._demo import run_demo

    run_demo(folder.resolve(), Screen(as_json))


@app.command()
def init(
    data: Annotated[Path, typer.Argument(help="A Parquet file or folder.")],
    roles: Annotated[
        Path | None,
        typer.Option(
            "--roles",
            help="Take roles from this file: a script with sdcMicro's createSdcObj(...) (.R, .txt), "
            "the same as .json, or a DDI Codebook (.xml).",
        ),
    ] = None,
    output: OutputFile = None,
    as_json: AsJson = False,
) -> None:
    """Draft a spec from a Parquet file. Roles, bounds and k are left for you to decide."""
    from penstock.tasks.draft.spec import draft_spec
    from penstock.tasks.importers.roles_file import read_roles

    screen = Screen(as_json)
    text = draft_spec(data, None if roles is None else read_roles(roles))
    if output is None:
        screen.show(text, {"spec": text})
    else:
        with new_file(output) as file:
            file.write(text)
        screen.show(f"Draft written to {output}. Every line marked REVIEW needs your decision.", {"path": str(output)})


@app.command()
def plan(
    spec: SpecFile,
    source: SourceOption = None,
    publish: PublishOption = None,
    count: Annotated[
        bool, typer.Option("--count", help="Read the number of records from the source; expected errors may need it.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show promise, expected error and cost of a spec. Spends nothing, reads no row.

    Where the accounts, the releases of this home or the want of reviewers decide that a run would be refused, the plan
    says so and ends with the exit code of the run.
    """
    from penstock import _front as front

    planned = front.plan(front.load_spec(spec, source=source, publish=publish), count=count)
    show_planned(Screen(as_json), planned)
    for refusal in planned.get("refusals", ()):
        raise typer.Exit(EXIT_CODES[refusal["kind"]])  # the code that a run would end with


@app.command()
def run(
    spec: SpecFile,
    source: SourceOption = None,
    publish: PublishOption = None,
    started_by: Annotated[
        str | None, typer.Option(help="Who asked for the release, where a service account runs it.")
    ] = None,
    again: Annotated[
        bool,
        typer.Option(
            "--again",
            help="Release once more what this spec has published from the same source; else its receipt comes back.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Release: read, validate, protect, check and publish. Every gate must pass, and the reviewers approve."""
    from penstock import _front as front
    from penstock.cli._termination import end_in_time

    screen = Screen(as_json)
    chosen = front.load_spec(spec, source=source, publish=publish)
    end_in_time()
    with screen.progress():
        result = front.release(chosen, started_by=started_by, again=again)
    raise typer.Exit(screen.show_result(result))


@app.command()
def schema(
    output: OutputFile = None,
    data: Annotated[bool, typer.Option("--data", help="Of a data description for questions instead.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print the JSON Schema of a spec, for editors and platforms."""
    from penstock.flows.spec import json_schema
    from penstock.flows.spec.data_description import description_schema

    found = description_schema() if data else json_schema()
    if output is None:
        Screen(True).show("", found)  # it is JSON anyway
        return
    with new_file(output) as file:
        file.write(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
    Screen(as_json).show(f"Schema written to {output}.", {"path": str(output)})


@app.command()
def verify(
    bundle: Annotated[
        str,
        typer.Argument(
            help="The folder of one published release, its s3:// address, or the file of a published answer."
        ),
    ],
    key: Annotated[
        Path | None, typer.Option("--key", help="The agency's public key; default: the one of this home.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a published bundle or answer: signature, digests and promise. Offline if it is a folder or a file."""
    from penstock import _front as front

    screen, findings = Screen(as_json), [finding.as_dict() for finding in front.verify(bundle, key)]
    if not as_json:
        for answer in (finding["answer"] for finding in findings if "answer" in finding):
            show_published(answer)
    screen.show_findings(bundle, findings)


# In the order of a release; `penstock --help` keeps it.
app.command()(ask)
app.command()(approve)
app.command()(refuse)
app.command()(withdraw)
app.command()(sign)
app.command()(serve)
app.command()(backup)
app.command()(restore)
app.command()(reproduce)
app.add_typer(audit, name="audit")
app.add_typer(budget, name="budget")
app.add_typer(keys, name="keys")
app.add_typer(users, name="users")


def main() -> None:
    """Run a command; a refusal becomes its message and its exit code."""
    try:
        if is_own_folder(home := Home.located().root):  # a command that needs no home must not make one
            keep_inside(home)
        app(standalone_mode=True)
    except Refusal as refusal:
        Screen("--json" in sys.argv).show_refusal(refusal_as_dict(refusal))
        sys.exit(EXIT_CODES[refusal.kind])


def refusal_as_dict(refusal: Refusal) -> dict[str, Any]:
    """Return the code, exit code and every fault, for people and programs."""
    return {
        "refused": refusal.code,
        "exit_code": EXIT_CODES[refusal.kind],
        "faults": [
            {"field": fault.field, "rule": fault.rule, "got": fault.got, "remedy": fault.remedy}
            for fault in refusal.faults
        ],
    }


if __name__ == "__main__":
    main()
