"""The command line: `penstock --help`.

Exit codes: 0 done, 2 spec refused, 3 data refused, 4 a gate refused, 5 budget refused, 6 waiting for
approval or refused by a reviewer, 7 integrity check failed, 1 anything else.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from flows.screen import Screen
from flows.spec import json_schema, load_spec
from mechanisms.refusal import Kind, Refusal

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
    epilog="Exit codes: 0 done, 2 spec refused, 3 data refused, 4 a gate refused, 7 integrity check failed, "
    "1 anything else. Start with `penstock demo`.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
audit = typer.Typer(help="The audit log: show it, check it, export it.", no_args_is_help=True)
app.add_typer(audit, name="audit")

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
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
    """Make a synthetic survey, release it end to end, and print where everything is."""
    from flows.demo import run_demo

    run_demo(folder.resolve(), Screen(as_json))


@app.command()
def init(
    data: Annotated[Path, typer.Argument(help="A Parquet file or folder.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the draft here.")] = None,
    as_json: AsJson = False,
) -> None:
    """Draft a spec from a Parquet file. Roles, bounds and k are left for you to decide."""
    from tasks.draft import draft_spec

    screen = Screen(as_json)
    text = draft_spec(data)
    if output is None:
        screen.show(text, {"spec": text})
    else:
        with _new_file(output) as file:
            file.write(text)
        screen.show(f"Draft written to {output}. Every line marked REVIEW needs your decision.", {"path": str(output)})


@app.command()
def plan(
    spec: SpecFile,
    source: SourceOption = None,
    publish: PublishOption = None,
    count: Annotated[bool, typer.Option("--count", help="Read the number of records from the source.")] = False,
    as_json: AsJson = False,
) -> None:
    """The promise, the expected error and the cost of a spec. Spends nothing, reads no row."""
    from flows.outlook import look_ahead

    Screen(as_json).show_plan(look_ahead(load_spec(spec, source=source, publish=publish), count=count))


@app.command()
def run(spec: SpecFile, source: SourceOption = None, publish: PublishOption = None, as_json: AsJson = False) -> None:
    """Release: read, validate, protect, check, and publish if every gate passes."""
    from flows.local_server import prefect_server
    from records.home import Home

    screen = Screen(as_json)
    chosen = load_spec(spec, source=source, publish=publish)
    with screen.progress(), prefect_server(Home.open().root):
        from flows.release import release

        receipt = release(chosen)
    screen.show_receipt(receipt.as_dict())


@app.command()
def schema(as_json: AsJson = False) -> None:
    """The JSON Schema of a spec, for editors and other platforms."""
    del as_json  # it is JSON anyway
    Screen(True).show("", json_schema())


@app.command()
def verify(
    bundle: Annotated[Path, typer.Argument(help="The folder of one published release.")],
    key: Annotated[
        Path | None, typer.Option("--key", help="The agency's public key; default: the one of this home.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a published bundle offline: signature, digests, and what can be seen of its promise."""
    from records.home import Home
    from tasks.verification import verify_bundle

    public_key = key if key is not None else Home.located().public_key_path
    Screen(as_json).show_findings(bundle, [finding.as_dict() for finding in verify_bundle(bundle, public_key)])


@audit.command("show")
def audit_show(
    run_id: Annotated[str | None, typer.Option("--run", help="Only this run.")] = None, as_json: AsJson = False
) -> None:
    """The events of the log, oldest first."""
    from records import existing_records

    Screen(as_json).show_events([asdict(event) for event in existing_records().log.events(run_id)])


@audit.command("verify")
def audit_verify(as_json: AsJson = False) -> None:
    """Check that no event was altered, removed, reordered or inserted."""
    from records import existing_records

    found = existing_records().log.verify()
    screen = Screen(as_json)
    screen.show(
        f"{found.count} events, every one in its place and unaltered.",
        {"events": found.count, "head": asdict(found.head)},
    )


@audit.command("export")
def audit_export(
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; default: standard output.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """The log as JSON Lines, one event a line."""
    from records import existing_records

    log, screen = existing_records().log, Screen(as_json)
    if output is not None:
        with _new_file(output) as file:
            log.export(file)
        screen.show(f"Exported to {output}.", {"path": str(output)})
    elif as_json:
        screen.show_events([asdict(event) for event in log.events()])
    else:
        log.export(sys.stdout)


class OutputRefused(Refusal):
    """The file to write is there already, or cannot be made."""

    code = "output-refused"


@contextmanager
def _new_file(path: Path) -> Iterator[TextIO]:
    with ExitStack() as until_written:
        try:
            file = until_written.enter_context(open(path, "x", encoding="utf-8"))
        except OSError as error:
            raise OutputRefused.at(
                "--output", rule=f"must be a new file ({error.strerror})", got=str(path), remedy="Choose another name."
            ) from None
        yield file


def main() -> None:
    """Run a command; a refusal becomes its message and its exit code."""
    try:
        app(standalone_mode=True)
    except Refusal as refusal:
        Screen("--json" in sys.argv).show_refusal(refusal_as_dict(refusal))
        sys.exit(EXIT_CODES[refusal.kind])


def refusal_as_dict(refusal: Refusal) -> dict[str, Any]:
    """Code, exit code and every fault, for people and programs."""
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
