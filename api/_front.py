"""The spec, the plan, the release and the verification, as the command line has them.

The examples below run in a folder that holds a spec, as `penstock demo` leaves one; a test runs them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.flows.preview import Preview
    from penstock.flows.spec import ReleaseSpec
    from penstock.tasks.approve import Waiting
    from penstock.tasks.publish import Receipt
    from penstock.tasks.verification.bundle import Finding

__all__ = ["load_spec", "path_of", "plan", "release", "verify"]


def load_spec(
    path: str | os.PathLike[str],
    *,
    source: str | os.PathLike[str] | None = None,
    publish: str | os.PathLike[str] | None = None,
) -> ReleaseSpec:
    """Read a spec file, YAML or JSON, and check it; no row of the data is read.

    A spec says everything about one release: where the data are, what each column means, how it is protected, which
    limits it must keep, and where the bundle appears. Paths in it are relative to the file. source, publish: use these
    instead of the paths in the file.

    Raise a `Refusal` that lists every fault, each with its field, its rule and its remedy.

    >>> import penstock
    >>> spec = penstock.load_spec("specs/survey.yaml")
    >>> spec.name
    'demo-survey'
    >>> sorted(spec.columns)[:3]
    ['age', 'education', 'income']
    """
    from penstock.flows.spec import load_spec as load

    return load(path_of("spec", path), source=source, publish=publish)


def plan(spec: ReleaseSpec | str | os.PathLike[str], *, count: bool = False) -> Preview:
    """Return what a release would promise, what to expect of it and what it would cost; nothing is spent.

    No row is read: of the source, if it is there, only the names and types of its columns. count: also read the number
    of records, which expected errors may need; where that number is secret, the plan says so and is confidential.
    Whatever a run would refuse for what the spec says is refused here.

    >>> import penstock
    >>> planned = penstock.plan("specs/survey.yaml")
    >>> planned["guarantee"]["model"]
    'prob_k'
    >>> print(planned["review"][0])
    Nobody is asked; it is published when every gate passes.
    """
    from penstock.flows.preview import preview

    return preview(_loaded(spec), count=count)


def release(
    spec: ReleaseSpec | str | os.PathLike[str], *, started_by: str | None = None, again: bool = False
) -> Receipt | Waiting:
    """Release: read, validate, protect, check, and publish if every gate passes and the reviewers approve.

    This is `penstock run`: it uses the home, the log and the ledger that PENSTOCK_HOME and PENSTOCK_DB name, spends
    what the spec says and puts everything on record. Return the receipt, which names the bundle; or, where reviewers
    are asked, what the run waits for. started_by: who asked for it, where a service account runs it. again: release
    once more what this spec has published from the same source; else the receipt of that comes back.

    Raise a `Refusal` if anything stops it; then nothing is published. Where PREFECT_API_URL names a server, the
    release is a flow run of it, and from then on this process reads no stored result of any Prefect flow. Inside a flow
    of your own call `penstock.flows.release.release` instead.

    >>> import penstock
    >>> receipt = penstock.release("specs/survey.yaml")
    >>> receipt.name, receipt.records
    ('demo-survey', 20000)
    >>> penstock.release("specs/survey.yaml").earlier  # what was published from these data is not made again
    True
    """
    from penstock.flows.prefect_setup import set_up_prefect
    from penstock.flows.preview import examine
    from penstock.records.home import Home

    _require_name(started_by)
    chosen = _loaded(spec)
    examine(chosen)  # a spec is refused before anything is asked of a server
    set_up_prefect(Home.open().root)
    from penstock.flows.release import release as run

    return run(chosen, started_by=started_by, again=again)


def verify(bundle: str | os.PathLike[str], key: str | os.PathLike[str] | None = None) -> list[Finding]:
    """Check a published bundle or answer: its signature, its digests, and what can be seen of its promise.

    Anybody can, without a home and, if it is a folder, offline. bundle: the folder of one release, or its s3://
    address; or the file of one published answer. key: the file with the agency's public key; the one of this home if
    none is given. Each finding says in its `text` what was `checked`, or why it cannot be. Of a published answer the
    finding named answer has it all in its `answer`: query, values, errors, standard_error, promise.

    Raise a `Refusal` of kind integrity if anything is not as it was signed.

    >>> import penstock
    >>> receipt = penstock.release("specs/survey.yaml")
    >>> findings = penstock.verify(receipt.path, key="home/keys/signing.pub")
    >>> findings[0].checked
    True
    """
    from penstock.records.files.addresses import place_of
    from penstock.records.home import Home

    address = bundle if isinstance(bundle, str) else str(path_of("bundle", bundle))  # an s3:// address is no path
    public_key = path_of("key", key) if key is not None else Home.located().public_key_path
    place = place_of(address, "bundle")
    if isinstance(place, Path) and (place.is_file() or (place.suffix == ".json" and not place.exists())):
        from penstock.tasks.verification.answer import verify_answer

        return verify_answer(place, public_key)
    from penstock.tasks.verification.bundle import verify_bundle

    return list(verify_bundle(place, public_key))


def _loaded(spec: ReleaseSpec | str | os.PathLike[str]) -> ReleaseSpec:
    from penstock.flows.spec import ReleaseSpec

    return spec if isinstance(spec, ReleaseSpec) else load_spec(spec)


def _require_name(started_by: object) -> None:
    from penstock.mechanisms.refusal import SettingRefused

    if started_by is not None and not isinstance(started_by, str):
        raise SettingRefused.at(
            "started_by", rule="must be a name", got=type(started_by).__name__, remedy="Give a text, or leave it out."
        )


def path_of(field: str, given: object) -> Path:
    """Return a path that was given as text or as a path; refuse anything else."""
    from penstock.mechanisms.refusal import SettingRefused

    if not isinstance(given, str | os.PathLike) or not isinstance(os.fspath(given), str):
        raise SettingRefused.at(
            field, rule="must be a path", got=type(given).__name__, remedy="Give the path of a file."
        )
    return Path(given)
