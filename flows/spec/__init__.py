"""The spec: one typed file that says everything about one release, checked before any row is read.

data_description   what the data are, and what may be asked of them: the file that `penstock ask` takes
protection         columns and settings without the rest of a spec, checked as a spec checks them
reference          the spec reference, written from the models: python -m penstock.flows.spec.reference >
                   docs/spec.md
spec               the spec: one typed file that says everything about one release, checked before any row is read
_argus_hierarchy   A hierarchy file of τ-ARGUS (.hrc), as a taxonomy
_arx_hierarchy     A generalisation hierarchy as ARX writes it, as a taxonomy
_entries           the entries of `protect`: a mechanism's settings, and what a release says of each of its outputs
_faults            what is wrong with a spec: field, rule, value and remedy of every fault, told at once
_file_faults       what is wrong with outputs that share a file: mechanisms, columns, formats and gates beside each
                   other
_known_keys        which keys a section may have, and which stand somewhere else: for the fault of a key that nobody
                   knows
_named_places      where a fault of a spec is, for its reader: outputs by their names, and the column that was meant
_output_faults     what is wrong with the outputs of a release beside each other: names, columns, models, and what
                   covers them
_paths             the paths of a spec or a data description: relative to its file, with their variables
_path_variables    `${VAR}` in a path of a spec, replaced by the variable of the environment, unless its name is
                   that of a secret
_resolution_faults columns that have a resolution in place of a domain, which few outputs can do with
_run_faults        what a release in parts, on a cluster or under a memory limit, cannot do; refused before any
                   row is read
_sections          the sections of a spec: where the data are, what is asked of them, who agrees, where the bundle
                   appears
_taxonomies        taxonomies in files: as JSON, or as hierarchies that other tools write
_unit_faults       what is wrong with the unit: whose records are protected together, and how many are used
_where             which records a release is about: conditions in the language of questions, on declared columns
"""

from __future__ import annotations

from penstock.flows.spec._entries import columns_of, name_of, own, settings_of
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
    "columns_of",
    "json_schema",
    "load_spec",
    "name_of",
    "own",
    "parse_spec",
    "read_keys",
    "resolve_spec",
    "settings_of",
]
