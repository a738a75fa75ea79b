"""Chance enters through the Randomness argument only: no module reaches for a generator of its own.

The sources are read as programs, not as text, so that no spelling of an import escapes. Ids, keys
and the secrets of sessions, which protect nobody's values, may come from `secrets` in records/ and flows/server/.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("mechanisms", "measures", "records", "reports", "reproduction", "tasks", "flows", "api")
MODULES = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]

# Where numbers of chance come from in Python, NumPy, SciPy, OpenDP and the operating system.
SOURCES = (
    "random",
    "secrets",
    "uuid.uuid1",
    "uuid.uuid4",
    "uuid.*",
    "numpy.random",
    "os.urandom",
    "os.getrandom",
    "scipy.stats",
    "opendp",
)


def dotted(node: ast.AST) -> str:
    """The name `a.b.c`, or nothing for any other expression."""
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return f"{before}.{node.attr}" if before else ""
    return node.id if isinstance(node, ast.Name) else ""


def names_used(source: str) -> Iterator[str]:
    """Every module and every attribute that a program names, with its imports resolved."""
    tree = ast.parse(source)
    meaning: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name
                meaning[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full
                meaning[alias.asname or alias.name] = full
    for node in ast.walk(tree):
        first, _, rest = dotted(node).partition(".")
        if first in meaning:
            yield f"{meaning[first]}.{rest}".rstrip(".")


def sources_of_chance(source: str) -> set[str]:
    return {known for name in names_used(source) for known in SOURCES if name == known or name.startswith(f"{known}.")}


def allowed(path: Path) -> set[str]:
    if path == ROOT / "mechanisms" / "randomness.py":
        return {"numpy.random", "os.urandom"}
    if path == ROOT / "mechanisms" / "noise" / "laplace.py":
        return {"opendp"}  # for releases only: it draws from the system whatever it is given
    if path == ROOT / "mechanisms" / "refinement" / "distributions.py":
        return {"scipy.stats"}  # for distribution functions only: see below
    is_free = any(path.is_relative_to(ROOT / room) for room in ("records", "api/server"))
    return {"secrets"} if is_free else set()


def test_no_module_draws_by_itself() -> None:
    found = {path: sources_of_chance(path.read_text(encoding="utf-8")) - allowed(path) for path in MODULES}
    assert {str(path.relative_to(ROOT)): names for path, names in found.items() if names} == {}


def asked_of_distributions(source: str) -> set[str]:
    """Every attribute that a program asks of anything, if it is one by which scipy.stats draws or fits."""
    asked = {node.attr for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)}
    return asked & {"rvs", "fit", "resample", "random_state", "sampling", "qmc"}


def test_priors_ask_for_distribution_functions_and_never_draw() -> None:
    source = (ROOT / "mechanisms" / "refinement" / "distributions.py").read_text(encoding="utf-8")
    assert asked_of_distributions(source) == set()
    assert asked_of_distributions(source.replace(".cdf(", ".rvs(")) == {"rvs"}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import numpy as np\nnp.random.default_rng()", "numpy.random"),
        ("import numpy\nnumpy.random.rand()", "numpy.random"),
        ("from numpy import random", "numpy.random"),
        ("from numpy.random import default_rng", "numpy.random"),
        ("def draw():\n    import numpy as n\n    return n.random.rand()", "numpy.random"),
        ("import random", "random"),
        ("from random import shuffle as mix", "random"),
        ("import os\nos.urandom(8)", "os.urandom"),
        ("from os import urandom", "os.urandom"),
        ("import os as system\nsystem.getrandom(8)", "os.getrandom"),
        ("from secrets import token_bytes", "secrets"),
        ("import uuid\nuuid.uuid4()", "uuid.uuid4"),
        ("from uuid import *", "uuid.*"),
        ("from uuid import uuid1", "uuid.uuid1"),
        ("from scipy.stats import norm", "scipy.stats"),
        ("from opendp.measurements import make_laplace", "opendp"),
    ],
)
def test_the_search_notices_every_way_to_reach_a_generator(source: str, found: str) -> None:
    assert sources_of_chance(source) == {found}


@pytest.mark.parametrize(
    "source",
    [
        "from penstock.mechanisms.randomness import Randomness",
        "import numpy as np\nnp.asarray(1)",
        "randomness.words(1)",
    ],
)
def test_the_search_leaves_other_names_alone(source: str) -> None:
    assert sources_of_chance(source) == set()


def test_only_protect_asks_the_system_and_only_what_publishes_nothing_confidential_draws_from_a_seed() -> None:
    found: dict[str, set[str]] = {"system": set(), "seeded": set()}
    for path in MODULES:
        for name in names_used(path.read_text(encoding="utf-8")):
            module, _, function = name.rpartition(".")
            if module == "penstock.mechanisms.randomness" and function in found:
                found[function].add(str(path.relative_to(ROOT)))
    # A worker of a cluster draws for itself what `protect` orders. A trial in a notebook is no release, and says so;
    # whoever wants the same one again hands in what `penstock.seeded` gives. An answer is drawn where it is charged.
    # Reproductions publish nothing.
    found["seeded"] = {path for path in found["seeded"] if not path.startswith("reproduction/")}
    assert found == {
        "system": {"tasks/protect.py", "tasks/parts/swap.py", "tasks/questions/asking.py", "api/_trial.py"},
        "seeded": {"api/__init__.py", "api/cli/_demo.py"},
    }
