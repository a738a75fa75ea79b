"""The form of a table: what a statistician fills in in the browser becomes a spec, and the spec is released.

A data description says what the data are: it is a spec without `protect` and `gates`, but with the limits of tables
(_table_limits.py), kept by whoever answers for the data. The form asks only what the table shows and how it is
protected, so nobody writes YAML for a table.
"""

# Annotations are not postponed here: Prefect reads those of a served flow apart from this module's names.

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from prefect import flow
from pydantic import Field

from penstock.flows.forms._table_limits import SECTION, limits_of
from penstock.flows.forms._table_protections import Protection
from penstock.flows.planning import draw_up_plan
from penstock.flows.release import release
from penstock.flows.release_by_reference import LONGEST, kept_file, require_home
from penstock.flows.run_ends import before_a_run, told_by_code
from penstock.flows.spec import ReleaseSpec, read_keys, resolve_spec
from penstock.mechanisms.refusal import Fault, SpecRefused
from penstock.tasks.approve import Waiting
from penstock.tasks.formats import FormatName
from penstock.tasks.publish import Receipt

__all__ = ["release_table", "spec_of_table"]

Name = Annotated[str, Field(min_length=1)]
# Set elsewhere; a data description that set it too would give a second answer to one question.
_ELSEWHERE = {
    "protect": ("must not be given: the form asks for it", "Take it out of the data description."),
    "gates": (
        f"must not be given: a table has those of data.{SECTION}",
        f"Write them there, under each model: data.{SECTION}.dp.gates.",
    ),
}
# The places in a spec, and the fields of the form that fill them.
_PLACES = {
    "protect.0.table": "table",
    "protect.0.dimensions": "dimensions",
    "protect.0.count": "count",
    "protect.0.sums": "sums",
    "protect.0.means": "means",
    "protect.0.margins": "totals",
    "protect.0.acknowledges": "protection.acknowledged",
    "protect.0.k": f"data.{SECTION}.k_anon.k",
    "protect.0": "protection",
    "publish.formats": "formats",
    "budget.acknowledges": "earlier_releases",
    "approve.reviewers": "reviewers",
    "approve.allowed": "reviewer_names",
}


@flow(
    name="release-table",
    flow_run_name="{table}",
    persist_result=False,
    log_prints=False,
    retries=0,
    timeout_seconds=LONGEST,
)
@told_by_code
def release_table(
    *,
    data: Name,
    table: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,49}$")],
    dimensions: Annotated[list[Name], Field(min_length=1)],
    count: bool = True,
    sums: list[Name] = [],  # noqa: B006  # Prefect shows it in the form; nobody changes it
    means: list[Name] = [],  # noqa: B006
    totals: bool = True,
    protection: Protection,
    formats: Annotated[list[FormatName], Field(min_length=1)] = ["parquet", "csv"],  # noqa: B006
    earlier_releases: list[Name] = [],  # noqa: B006
    reviewers: Annotated[int, Field(ge=0, le=2)] = 0,
    reviewer_names: list[Name] = [],  # noqa: B006
    again: bool = False,
    started_by: Name,
) -> Receipt | Waiting:
    """Release one table of counts, totals and means. The run publishes it, waits for its reviewers, or is refused.

    Args:
        data: The data description: a file in the folder of specs, such as survey-data.yaml.
        table: Name of the table and of its files: lower case letters, digits and underscores.
        dimensions: Columns of categories, by name; their combinations are the cells of the table.
        count: Whether the number of records of every cell is shown.
        sums: Columns of numbers whose totals are shown, by name.
        means: Columns of numbers whose means are shown, by name.
        totals: Whether totals and sub-totals are shown too. They are the sums of the protected cells.
        protection: Choose a tab. DifferentialPrivacy: noise that hides any one record; it spends epsilon of the data
            set's account. ExactWithThreshold: no noise, refused where a cell has too few records. The other two
            relax differential privacy: they promise less, and the size of their noise is secret. Which of them can be
            chosen, and the gates of each, stands in the data description.
        formats: Formats of the files. sdmx stands beside parquet or csv.
        earlier_releases: Only where a run was refused as a second release and you accept that: the earlier releases
            of the same records, by the ids that the refusal names.
        reviewers: How many people must approve before anything is published, 0 to 2. Leave 0 where the data
            description says it.
        reviewer_names: Who may approve: names whose keys are trusted.
        again: Publish once more what was published of the same table and the same records before. Otherwise the receipt
            of that comes back.
        started_by: Your own name. Whoever starts a run cannot approve it.
    """
    asked: dict[str, Any] = {"dimensions": dimensions, "count": count, "sums": sums, "means": means}
    asked |= {"table": table, "margins": "summed" if totals else "none"}
    approve = {"reviewers": reviewers, "allowed": reviewer_names} if reviewers or reviewer_names else None
    with before_a_run(table):
        require_home()
        spec = spec_of_table(
            kept_file(data, "data"), asked, protection, formats=list(formats), earlier=earlier_releases, approve=approve
        )
    return release.fn(spec, started_by=started_by, again=again)


def spec_of_table(
    description: Path,
    asked: Mapping[str, Any],
    protection: Protection,
    *,
    formats: list[str],
    earlier: list[str],
    approve: dict[str, Any] | None,
) -> ReleaseSpec:
    """Return the spec that the form and the data description make together; a fault names the field of the form."""
    raw = read_keys(description)
    SpecRefused.raise_for(_settled_twice(raw, approve))
    limits = limits_of(raw, protection.model, totals=bool(asked.get("sums") or asked.get("means")))
    del raw[SECTION]
    raw.pop("questions", None)  # what may be asked of the data: flows/spec/data_description.py
    budget, publish = _section(raw, "budget"), _section(raw, "publish")
    if earlier:
        budget["acknowledges"] = earlier
    if "epsilon" in protection.settings():
        budget = {"epsilon": protection.settings()["epsilon"], **budget}  # the description may allow less
    if isinstance(raw.get("name"), str):
        raw["name"] += f"-{asked['table'].replace('_', '-')}"
    raw |= {
        "budget": budget,
        "protect": [{"mechanism": "table", **asked, **protection.settings(), **limits.settings}],
        "gates": list(limits.gates),
        "publish": {**publish, "formats": formats},
    }
    if approve is not None:
        raw["approve"] = approve
    try:
        spec = resolve_spec(raw, description.parent)
        draw_up_plan(spec)  # what a run would refuse is refused in the words of the form
        return spec
    except SpecRefused as refusal:
        raise SpecRefused(*(_in_the_form(fault, limits.places) for fault in refusal.faults)) from None


def _settled_twice(raw: Mapping[str, Any], approve: object) -> list[Fault]:
    remedy = "Take it out of the data description."
    faults = [Fault(f"data.{name}", *said) for name, said in _ELSEWHERE.items() if name in raw]
    if "formats" in _section(raw, "publish"):
        faults.append(Fault("data.publish.formats", "must not be given: the form asks for it", remedy))
    if "approve" in raw and approve is not None:
        rule = "must not be given: the data description says who approves"
        faults.append(Fault("reviewers", rule, "Leave 0, and no names."))
    return faults


def _section(raw: Mapping[str, Any], name: str) -> dict[str, Any]:
    part = raw.get(name)
    return dict(part) if isinstance(part, Mapping) else {}


def _in_the_form(fault: Fault, gates: Sequence[str]) -> Fault:
    """Return the same fault, at the field where it can be mended: one of the form, or one of the data description."""
    room, _, rest = fault.field.partition(".")
    if room == "gates" and rest:
        number, _, key = rest.partition(".")
        return replace(fault, field=f"{gates[int(number)]}.{key}".removesuffix("."))
    for place, field in _PLACES.items():
        if fault.field == place or fault.field.startswith(f"{place}."):
            return replace(fault, field=field + fault.field.removeprefix(place))
    return replace(fault, field=f"data.{fault.field}")
