"""The page of all refusals, written from their classes: python -m penstock.cli._refusals_page > docs/refusals.md"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Iterator

from penstock.cli.main import EXIT_CODES
from penstock.mechanisms.refusal import Kind, Refusal

__all__ = ["every_refusal", "meaning", "refusals_page"]

_ROOMS = ("mechanisms", "measures", "records", "reports", "tasks", "flows", "cli", "server")
_KINDS: dict[Kind, str] = {
    "spec": "The spec, an option or another setting is refused",
    "data": "The data are refused",
    "gate": "A gate refuses the release",
    "budget": "The budget, or an earlier release, refuses the release",
    "approval": "The approval is missing, or is refused",
    "integrity": "A check of integrity failed",
    "failure": "Something else prevents the command",
}
_OPENING = """# Refusals, code by code

A refusal names its code, then every fault that was found:

```
FIELD: RULE, got VALUE.
  REMEDY
```

RULE says what must hold of the field; VALUE is what the setting holds, never a value of the data; REMEDY is what to do
about this fault. In Python it is one line: `FIELD refused: RULE, got VALUE. REMEDY`. With `--json` the same comes as a
document with `refused` (the code), `exit_code` and `faults`. Codes are stable: programs may rely on them, but not on
the sentences. This page is written from the code's own classes (`make docs`).
"""


def every_refusal() -> list[type[Refusal]]:
    """Return every class of refusal of the product, by its code."""
    for room in _ROOMS:
        package = importlib.import_module(f"penstock.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if ".migrations." not in module.name:  # Alembic runs those, and nothing else can
                importlib.import_module(module.name)
    return sorted(_below(Refusal), key=lambda kind: kind.code)


def refusals_page() -> str:
    """Return the page as Markdown."""
    refusals = every_refusal()
    return "\n".join([_OPENING, *(line for kind in _KINDS for line in _section(kind, refusals))])


def _section(kind: Kind, refusals: list[type[Refusal]]) -> Iterator[str]:
    yield f"## {_KINDS[kind]}: exit code {EXIT_CODES[kind]}\n"
    for refusal in refusals:
        if refusal.kind == kind:
            yield f"### {refusal.code}\n"
            yield f"{meaning(refusal)} **What to do:** {refusal.remedy}\n"


def meaning(refusal: type[Refusal]) -> str:
    """Return the first sentence of the docstring of a class."""
    sentence, stop, _ = " ".join((refusal.__doc__ or "").split()).partition(". ")
    return sentence + stop.rstrip()


def _below(kind: type[Refusal]) -> Iterator[type[Refusal]]:
    for refusal in kind.__subclasses__():
        if refusal.__module__.startswith("penstock."):  # tests have classes of their own
            yield refusal
        yield from _below(refusal)


if __name__ == "__main__":
    sys.stdout.write(refusals_page())
