"""Runs releases over tables of canaries: some pass, some fail at each stage, some wait for a reviewer.

Started as a process of its own, so that its Prefect server can end and flush before the search.
Prints everything at the most talkative setting. What was drawn at random, and the sums that noise hides,
are noted in `noted`, a folder that is not searched, so that the search knows them.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from penstock.flows.prefect_setup import be_quiet
from penstock.flows.spec import parse_spec
from penstock.mechanisms import randomness
from penstock.mechanisms.dp_microaggregation import _attributes as attributes
from penstock.mechanisms.refusal import Refusal
from penstock.mechanisms.registry import MECHANISMS
from tests.support.prefect_service import named, running_service

WORDS_NOTED = 12
REASON = "read the report of this release"


@contextlib.contextmanager
def nothing() -> Iterator[None]:
    yield


def telling(values: Callable[..., Any]) -> Callable[..., Any]:
    """A function that fails with values of the data in its message, as those of libraries do."""

    def fail(*args: Any, **kwargs: Any) -> Any:
        raise ValueError(f"could not convert {values(*args)!r}")

    return fail


def values_of(columns: dict[str, Any], *_: Any) -> dict[str, list[Any]]:
    return {name: values.tolist() for name, values in columns.items()}


def protecting(change: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Any:
    """Change how every mechanism protects."""
    changed = {name: replace(mechanism, protect=change(mechanism.protect)) for name, mechanism in MECHANISMS.items()}
    return mock.patch.dict(MECHANISMS, changed)


def note(file: Path, lists: Iterable[Any]) -> None:
    with file.open("a") as lines:
        lines.writelines(json.dumps(values.tolist()) + "\n" for values in lists)


def noted_sums(folder: Path, levels: Any, blocks: Any) -> Any:
    """The sums of all blocks before noise."""
    sums = np.add.reduceat(levels[blocks.rows], blocks.starts[:-1])
    note(folder / "sums", [sums])
    return sums


@contextlib.contextmanager
def noting(folder: Path) -> Iterator[None]:
    """Write down the first words of each draw, the groups of each column, the sums of blocks and their noise."""
    system: Any = randomness._System
    words, draw, laplace = system.words, attributes.Number.draw, attributes.discrete_laplace

    def noted_words(self: Any, count: int) -> Any:
        drawn = words(self, count)
        with (folder / "words").open("a") as file:
            file.writelines(f"{word}\n" for word in drawn[:WORDS_NOTED].tolist())
        return drawn

    def noted_groups(protect: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            protected = protect(*args)
            note(folder / "groups", protected.groups.values())
            return protected

        return run

    def noted_draw(self: Any, levels: Any, blocks: Any, *others: Any) -> Any:
        noted_sums(folder, levels, blocks)
        return draw(self, levels, blocks, *others)

    def noted_noise(*args: Any) -> Any:
        noise = laplace(*args)
        note(folder / "noise", [noise])
        return noise

    with (
        mock.patch.object(system, "words", noted_words),
        mock.patch.object(attributes.Number, "draw", noted_draw),
        mock.patch.object(attributes, "discrete_laplace", noted_noise),
        protecting(noted_groups),
    ):
        yield


def typed(*arguments: object) -> int:
    """A command, in this process; its exit code."""
    from penstock.cli import main as cli

    with mock.patch.object(sys, "argv", ["penstock", *map(str, arguments)]):
        try:
            cli.main()
        except SystemExit as ended:
            return ended.code if isinstance(ended.code, int) else 0
    return 0


def decide(people: Path, run: str, word: str, reviewer: str = "rita") -> int:
    return typed(word, run, "--reviewer", reviewer, "--key", people / reviewer, "--reason", REASON)


def reviewed(people: Path, raw: dict[str, Any], word: str) -> str:
    """A release that waits, is looked at, and is decided about: first by a stranger, in vain."""
    from penstock.flows.release import release

    waiting = release(parse_spec(raw))
    sys.stdout.write(f"{waiting!r}\n")
    typed("audit", "show", "--run", waiting.run, "--json")
    codes = [decide(people, waiting.run, word, "mallory"), decide(people, waiting.run, word)]
    return f"{word}:{','.join(map(str, codes))}"


def suspended(people: Path, raw: dict[str, Any]) -> str:
    """The same in a deployment: suspended, its form read, decided, resumed, published."""
    from prefect import get_client
    from prefect.exceptions import Pause
    from prefect.flow_engine import run_flow

    from penstock.flows.release import release
    from penstock.records import Action, open_records

    with get_client(sync_client=True) as client:
        deployment = client.create_deployment(client.create_flow(release), "canary")
        spec = parse_spec(raw).model_dump(mode="json", exclude_none=True)
        flow_run = client.create_flow_run_from_deployment(deployment, parameters={"spec": spec})

        def go_on() -> Any:
            present = client.read_flow_run(flow_run.id)
            with contextlib.suppress(Pause):
                run_flow(release, flow_run=present, parameters={"spec": spec}, return_type="state")
            return client.read_flow_run(flow_run.id).state

        paused = go_on()
        form = paused.state_details.run_input_keyset["description"]
        sys.stdout.write(f"{client.read_flow_run_input(flow_run.id, form)!r}\n")
        run = [event.run for event in open_records().log.events() if event.action is Action.WAITING][-1]
        code = decide(people, run, "approve")
        return f"{paused.name}:{code}:{go_on().name}"


def by_forms(people: Path, raw: dict[str, Any]) -> str:
    """The same with the forms: of a table, which is then approved in the form of a reviewer, first by a stranger."""
    from penstock.flows.forms.review import review_release
    from penstock.flows.forms.table import release_table
    from penstock.records.approval.decision import sign_decision
    from penstock.records.signing.signing import existing_private_key

    description = Path(os.environ["PENSTOCK_SPECS"]) / "canary.yaml"
    description.parent.mkdir()
    described = {key: raw[key] for key in ("name", "source")} | {"publish": {"path": raw["publish"]["path"]}}
    described["tables"] = {"k_anon": {"k": 2, "gates": [{"measure": "smallest_frequency", "min": 2}]}}
    del described["source"]["columns"]["weight"]
    description.write_text(json.dumps(described), encoding="utf-8")
    waiting = release_table(
        data="canary.yaml",
        table="regions",
        dimensions=["region"],
        protection={"kind": "exact with threshold"},
        reviewers=1,
        reviewer_names=["rita", "mallory"],
        started_by="carl",
    )
    ends = []
    for reviewer in ("mallory", "rita"):
        key = existing_private_key(people / reviewer)
        signature = sign_decision(key, content=waiting.content, decision="approve", reason=REASON)
        filled = {"run": waiting.run, "decision": "approve", "reviewer": reviewer, "signature": signature}
        ends.append(review_release(**filled, reason=REASON, return_state=True).name)
    return ",".join(ends)


def signed_by_olga(people: Path) -> tuple[object, ...]:
    return ("--officer", "olga", "--key", people / "olga", "--reason", "agreed in the board")


def look_at_the_records(folder: Path, people: Path) -> None:
    """What officers and auditors type."""
    officer = signed_by_olga(people)
    account = ("--model", "dp", "--epsilon", "1/2", "--adjacency", "add_remove", "--unit", "row")
    for command in (
        ("budget", "open", "canaries", *account, *officer),
        ("budget", "raise", "canaries", "--model", "dp", "--epsilon", "2", *officer),
        ("budget", "show", "--json"),
        ("budget", "show"),
        ("keys", "list", "--json"),
        ("audit", "show", "--json"),
        ("audit", "export", "-o", folder / "log.jsonl"),
        ("audit", "export"),
        ("audit", "verify", "--bundles", folder / "published", "--json"),
        ("audit", "verify", "--export", folder / "log.jsonl"),
    ):
        sys.stdout.write(f"\nOUTCOME {'-'.join(map(str, command[:2]))} {typed(*command)}\n")


def main(folder: Path) -> None:
    scenarios = json.loads((folder / "scenarios.json").read_text(encoding="utf-8"))
    people = folder / "people"
    people.mkdir()
    inject = {
        "": nothing,
        "ingest": lambda: mock.patch(
            "penstock.tasks.ingest.read_source", telling(lambda data, _: data.to_table().to_pylist())
        ),
        "units": lambda: mock.patch(
            "penstock.tasks.files.units.unit_codes", telling(lambda stored: stored.to_pylist())
        ),
        "validate": lambda: mock.patch(
            "penstock.tasks.validate.run_expectations", telling(lambda frame, _: frame.to_dict())
        ),
        "protect": lambda: protecting(lambda _: telling(values_of)),
        "draw": lambda: mock.patch.object(
            attributes.Number,
            "draw",
            telling(lambda _, levels, blocks, *__: noted_sums(folder / "noted", levels, blocks).tolist()),
        ),
        "assess": lambda: mock.patch(
            "penstock.tasks.outputs.records.recheck", telling(lambda output: values_of(output.original))
        ),
        "seal": lambda: mock.patch(
            "penstock.tasks.files.columns.write_csv", telling(lambda *_: (folder / "canaries.json").read_text())
        ),
    }
    home = Path(os.environ["PENSTOCK_HOME"])
    be_quiet(home)
    with noting(folder / "noted"), running_service(home) as service, named(service):
        from prefect.logging.handlers import APILogHandler

        from penstock.flows.release import release

        for name in ("rita", "olga", "mallory"):
            typed("keys", "new", people / name)
            if name != "mallory":
                typed("keys", "trust", name, people / f"{name}.pub", "--reason", "met in person")
        account = ("--model", "dp", "--epsilon", "400", "--adjacency", "replace", "--unit", "individual")
        typed("budget", "open", "spending", *account, *signed_by_olga(people))
        of_rows = ("--model", "dp", "--epsilon", "3", "--adjacency", "replace", "--unit", "row")
        for name in ("several", "several-left-out", "several-error"):
            typed("budget", "open", name, *of_rows, *signed_by_olga(people))
        for scenario in scenarios:
            with inject[scenario["inject"]]():
                try:
                    if scenario["review"] == "suspended":
                        outcome = suspended(people, scenario["spec"])
                    elif scenario["review"] == "forms":
                        outcome = by_forms(people, scenario["spec"])
                    elif scenario["review"]:
                        outcome = reviewed(people, scenario["spec"], scenario["review"])
                    else:
                        release(parse_spec(scenario["spec"]))
                        outcome = "published"
                except Refusal as refusal:
                    outcome = refusal.code
                    traceback.print_exception(refusal)  # with every cause and context that would be shown
            sys.stdout.write(f"\nOUTCOME {scenario['name']} {outcome}\n")
        look_at_the_records(folder, people)
        APILogHandler().flush()  # while the server lives, so that the last lines are searched as well


if __name__ == "__main__":
    main(Path(sys.argv[1]))
