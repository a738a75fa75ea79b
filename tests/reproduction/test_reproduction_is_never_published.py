"""What has no guarantee cannot look like something that has one, and no release can ask for it."""

from __future__ import annotations

import ast
import inspect
import pkgutil
from pathlib import Path
from typing import get_origin, get_type_hints

import numpy as np
import pytest

from penstock.flows.spec import parse_spec
from penstock.mechanisms.refusal import SpecRefused
from penstock.reproduction import computed as reproduction
from tests.support.rooms import MODULES as PRODUCT

ROOT = Path(__file__).parents[2]
HERE = ROOT / "reproduction" / "computed"
MODULES = [module.name for module in pkgutil.iter_modules(reproduction.__path__)]
PUBLIC = [getattr(reproduction, name) for name in reproduction.__all__]


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("function", PUBLIC, ids=reproduction.__all__)
def test_every_function_returns_a_bare_array(function):
    assert inspect.isfunction(function)
    assert get_origin(get_type_hints(function)["return"]) is np.ndarray


@pytest.mark.parametrize("path", sorted(HERE.glob("*.py")), ids=lambda path: path.name)
def test_no_module_here_knows_what_a_promise_is(path):
    promises = ("penstock.mechanisms.guarantee", "penstock.mechanisms.protected", "penstock.mechanisms.registry")
    assert not [name for name in imported(path) if name.startswith(promises)]
    assert not {"Guarantee", "Protected"} & {
        node.id for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Name)
    }


def test_no_other_module_of_the_product_imports_what_is_here():
    importers = {
        path for path in PRODUCT if any(name.startswith("penstock.reproduction.computed") for name in imported(path))
    }
    # The command that prints them beside what was published, and that publishes nothing.
    here = {ROOT / "reproduction", ROOT / "reproduction" / "errata"}
    assert {path.parent for path in importers if path.parent != HERE} == here


@pytest.mark.parametrize("name", ["reproduction", *MODULES, *reproduction.__all__, "reproduction.record_wise_laplace"])
def test_no_spec_can_name_it(name):
    spec = {
        "name": "income-2026",
        "source": {
            "path": "income.parquet",
            "unit": "row",
            "columns": {"income": {"role": "confidential", "type": "continuous", "domain": [0, 500000]}},
        },
        "protect": [{"mechanism": name, "k": 5, "epsilon": "1"}],
        "gates": [{"measure": "record_linkage", "max": 0.04}],
        "publish": {"path": "out"},
    }
    with pytest.raises(SpecRefused) as refusal:
        parse_spec(spec)
    assert [fault.got for fault in refusal.value.faults if fault.field == "protect.0.mechanism"] == [repr(name)]
