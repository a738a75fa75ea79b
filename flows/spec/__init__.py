"""The spec: one typed file that says everything about one release, checked before any row is read.

data_description   what the data are, and what may be asked of them: the file that `penstock ask` takes
protection         columns and settings without the rest of a spec, checked as a spec checks them
reference          the spec reference, written from the models: python -m penstock.flows.spec.reference >
                   docs/spec.md
spec               the spec: one typed file that says everything about one release, checked before any row is read
_argus_hierarchy   A hierarchy file of τ-ARGUS (.hrc), as a taxonomy
_arx_hierarchy     A generalisation hierarchy as ARX writes it, as a taxonomy
_faults            what is wrong with a spec: field, rule, value and remedy of every fault, told at once
_known_keys        which keys a section may have, and which stand somewhere else: for the fault of a key that nobody
                   knows
_paths             the paths of a spec or a data description: relative to its file, with their variables
_path_variables    `${VAR}` in a path of a spec, replaced by the variable of the environment, unless its name is
                   that of a secret
_run_faults        what a release in parts, on a cluster or under a memory limit, cannot do; refused before any
                   row is read
_sections          the sections of a spec: where the data are, what is asked of them, who agrees, where the bundle
                   appears
_taxonomies        taxonomies in files: as JSON, or as hierarchies that other tools write
_where             which records a release is about: conditions in the language of questions, on declared columns
"""

from __future__ import annotations

from penstock.flows.spec.spec import (
    Approve,
    Budget,
    Describe,
    Publish,
    ReleaseSpec,
    Run,
    Source,
    Validate,
    json_schema,
    load_spec,
    parse_spec,
    read_keys,
    resolve_spec,
)

__all__ = [
    "Approve",
    "Budget",
    "Describe",
    "Publish",
    "ReleaseSpec",
    "Run",
    "Source",
    "Validate",
    "json_schema",
    "load_spec",
    "parse_spec",
    "read_keys",
    "resolve_spec",
]
