"""The release as a deployment: by reference to a spec file that the agency keeps in one folder.

Only files below PENSTOCK_SPECS can be named, so whoever may start a run cannot bring a spec of their own.
"""

# Annotations are not postponed here: Prefect reads those of a served flow apart from this module's names.

import os
from pathlib import Path
from typing import Annotated

from prefect import flow
from pydantic import Field

from penstock.flows.preview import examine
from penstock.flows.release import Receipt, Waiting, release
from penstock.flows.run_ends import before_a_run, told_by_code
from penstock.flows.spec import ReleaseSpec, load_spec
from penstock.mechanisms.refusal import SpecRefused

__all__ = ["LONGEST", "SPECS", "kept_file", "kept_spec", "release_by_reference", "require_home"]

SPECS = "PENSTOCK_SPECS"
LONGEST = 24 * 3600  # a release that takes longer is stuck; what it has drawn stays for the next run


@flow(
    name="release-spec",
    flow_run_name="{spec}",
    persist_result=False,
    log_prints=False,
    retries=0,
    timeout_seconds=LONGEST,
)
@told_by_code
def release_by_reference(
    spec: Annotated[str, Field(min_length=1)], started_by: Annotated[str, Field(min_length=1)], again: bool = False
) -> Receipt | Waiting:
    """Release what a spec file says: published, waiting for its reviewers, or refused, and on record.

    Args:
        spec: A spec file in the folder of specs, relative to it, such as income.yaml.
        started_by: Who asks for the release. It goes on record, and this person cannot approve it.
        again: Release once more what was published of the same spec and the same records before. Otherwise the receipt
            of that comes back.
    """
    with before_a_run(spec):
        require_home()
        found = kept_spec(spec)
        examine(found)  # refuses early what a run would refuse; the release draws up its own plan
    return release.fn(found, started_by=started_by, again=again)


def require_home() -> None:
    """Refuse a home that is not set as an absolute path: a worker runs anywhere, and the default home would be
    there."""
    if not os.path.isabs(os.environ.get("PENSTOCK_HOME") or ""):
        raise SpecRefused.at(
            "PENSTOCK_HOME", rule="must be set for the worker, to an absolute path", remedy="Use `penstock serve`."
        )


def kept_spec(name: str) -> ReleaseSpec:
    """Return the spec in the file of this name below PENSTOCK_SPECS."""
    return load_spec(kept_file(name, "spec"))


def kept_file(name: str, field: str) -> Path:
    """Return the file of this name below PENSTOCK_SPECS; refuse one that lies elsewhere, even if a link leads to it."""
    folder = os.environ.get(SPECS)
    if not folder or not os.path.isabs(folder):
        raise SpecRefused.at(SPECS, rule="must name the folder of specs, by an absolute path", remedy="Set it.")
    kept, asked = Path(folder).resolve(), Path(name)
    try:
        found = (kept / asked).resolve()
        is_file = found.is_file()
    except (OSError, RuntimeError, ValueError):  # too long, links in a circle, a NUL
        found, is_file = kept, False
    if asked.is_absolute() or ".." in asked.parts or not found.is_relative_to(kept):
        raise SpecRefused.at(
            field, rule=f"must lie in the folder {SPECS}", got=name, remedy="Name a file in it, relative to it."
        )
    if not is_file:
        raise SpecRefused.at(field, rule=f"must be a file in the folder {SPECS}", got=name, remedy="Check its name.")
    return found
