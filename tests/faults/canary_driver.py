"""Runs releases over a table of canaries, one that passes and some that fail at each stage.

Started as a process of its own, so that its Prefect server can end and flush before the search.
Prints everything at the most talkative setting.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from flows.local_server import prefect_server
from flows.spec import parse_spec
from mechanisms.refusal import Refusal


@contextlib.contextmanager
def nothing() -> Iterator[None]:
    yield


def telling(target: str, values: Callable[..., Any]) -> Any:
    """Make a function of the line fail with values of the data in its message, as libraries do."""

    def fail(*args: Any, **kwargs: Any) -> Any:
        raise ValueError(f"could not convert {values(*args)!r}")

    return mock.patch(target, fail)


def values_of(columns: dict[str, Any], *_: Any) -> dict[str, list[Any]]:
    return {name: values.tolist() for name, values in columns.items()}


def main(folder: Path) -> None:
    scenarios = json.loads((folder / "scenarios.json").read_text(encoding="utf-8"))
    inject = {
        "": nothing,
        "ingest": lambda: telling("tasks.ingest.read_source", lambda data, _: data.to_table().to_pylist()),
        "validate": lambda: telling("tasks.validate.run_expectations", lambda frame, _: frame.to_dict()),
        "protect": lambda: telling("mechanisms.probabilistic_k_anonymity.protect", values_of),
        "assess": lambda: telling("tasks.assess.recheck", values_of),
        "seal": lambda: telling("tasks.publish.write_csv", lambda *_: (folder / "canaries.json").read_text()),
    }
    with prefect_server(Path(os.environ["PENSTOCK_HOME"])):
        from flows.release import release

        for scenario in scenarios:
            with inject[scenario["inject"]]():
                try:
                    release(parse_spec(scenario["spec"]))
                    outcome = "published"
                except Refusal as refusal:
                    outcome = refusal.code
                    traceback.print_exception(refusal)  # with every cause and context that would be shown
            sys.stdout.write(f"\nOUTCOME {scenario['name']} {outcome}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
