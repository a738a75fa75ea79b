"""Under which licence Penstock is given away, and that the packages it is made with allow it."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

ROOT = Path(__file__).parents[1]
COPYLEFT = re.compile(r"GPL|General Public License|SSPL|EUPL|Commons Clause|Proprietary", re.IGNORECASE)
# Used as they are: the LGPL asks nothing of those who import a library; the last is also under the Artistic License.
ALLOWED = {"psycopg": "LGPL-3.0-only", "psycopg-binary": "LGPL-3.0-only", "text-unidecode": "Artistic License"}


def licence_of(package: str) -> str:
    """As its installed metadata say; empty where it is not installed on this platform."""
    try:
        said = metadata(package)
    except PackageNotFoundError:
        return ""
    classes = [each for each in said.get_all("Classifier") or [] if each.startswith("License ::")]
    return said.get("License-Expression") or "; ".join(classes) or (said.get("License") or "")[:200]


def test_the_licence_is_stated_where_programs_and_people_look() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (project["license"], project["license-files"]) == ("Apache-2.0", ["LICENSE"])
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License\n                           Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text


def test_no_package_forbids_it() -> None:
    text = "".join(
        (ROOT / name).read_text(encoding="utf-8") for name in ("requirements.lock", "requirements-test.lock")
    )
    locked = re.findall(r"^([A-Za-z0-9._-]+)==", text, re.MULTILINE)
    assert len(locked) > 100
    strict = {name: licence for name in locked if COPYLEFT.search(licence := licence_of(name))}
    assert strict.keys() <= ALLOWED.keys(), strict
    assert all(ALLOWED[name] in licence for name, licence in strict.items())
