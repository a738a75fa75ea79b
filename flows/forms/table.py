"""The form of a table: what a statistician fills in in the browser becomes a spec, and the spec is released.

A data description says what the data are: it is a spec without `protect` and `gates`, but with the limits of tables
(_table_limits.py), kept by whoever answers for the data. The form asks only what the table shows and how it is
protected, so nobody writes YAML for a table.
"""

# Annotations are not postponed here: Prefect reads those of a served flow apart from this module's names.

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

from prefect import flow
from prefect.states import Completed
from pydantic import Field

from penstock.flows.forms._further_table import FurtherTable, Name, TableName, asked_of
from penstock.flows.forms._table_limits import SECTION, limits_of
from penstock.flows.forms._table_places import in_the_form
from penstock.flows.forms._table_plan import show_plan, summary_of
from penstock.flows.forms._table_protections import Protection
from penstock.flows.planning import draw_up_plan
from penstock.flows.preview import preview
from penstock.flows.release import release
from penstock.flows.release_by_reference import LONGEST, kept_file, require_home
from penstock.flows.run_ends import before_a_run, told_by_code
from penstock.flows.spec import ReleaseSpec, read_keys, resolve_spec
from penstock.mechanisms.composition import counts_as
from penstock.mechanisms.numbers.exact import exact_number
from penstock.mechanisms.refusal import Fault, SpecRefused
from penstock.tasks.formats import FormatName

__all__ = ["release_table", "spec_of_tables"]

# Set elsewhere; a data description that set it too would give a second answer to one question.
_ELSEWHERE = {
    "protect": ("must not be given: the form asks for it", "Take it out of the data description."),
    "gates": (
        f"must not be given: a table has those of data.{SECTION}",
        f"Write them there, under each model: data.{SECTION}.dp.gates.",
    ),
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
    table: TableName,
    dimensions: Annotated[list[Name], Field(min_length=1)],
    count: bool = True,
    sums: list[Name] = [],  # noqa: B006  # Prefect shows it in the form; nobody changes it
    means: list[Name] = [],  # noqa: B006
    totals: bool = True,
    protection: Protection,
    more_tables: list[FurtherTable] = [],  # noqa: B006
    formats: Annotated[list[FormatName], Field(min_length=1)] = ["parquet", "csv"],  # noqa: B006
    earlier_releases: list[Name] = [],  # noqa: B006
    not_covered_together: list[Name] = [],  # noqa: B006
    reviewers: Annotated[int, Field(ge=0, le=2)] = 0,
    reviewer_names: list[Name] = [],  # noqa: B006
    again: bool = False,
    plan_only: bool = False,
    started_by: Name,
) -> Any:
    """Release a table of counts, totals and means, or several. The run publishes them, waits for its reviewers, or is
    refused.

    Args:
        data: The data description: a file in the folder of specs, such as panel-data.yaml.
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
        more_tables: Further tables of the same records in the same release: planned, charged, reviewed and published
            together. An exact table beside one that spends epsilon is left out if it is refused, and the others are
            published.
        formats: Formats of the files. sdmx stands beside parquet or csv.
        earlier_releases: Only where a run was refused as a second release and you accept that: the earlier releases
            of the same records, by the ids that the refusal names.
        not_covered_together: Only where a run with several tables was refused because no theorem covers them together,
            and you accept that each promise then holds by itself only: the tables, by name.
        reviewers: How many people must approve before anything is published, 0 to 2. Leave 0 where the data
            description says it.
        reviewer_names: Who may approve: names whose keys are trusted.
        again: Publish once more what was published of the same table and the same records before. Otherwise the receipt
            of that comes back.
        plan_only: Only show what to expect, what it would cost and whether a run would be refused. Nothing is spent,
            and no row is read.
        started_by: Your own name. Whoever starts a run cannot approve it.
    """
    asked = asked_of(table, dimensions, count=count, sums=sums, means=means, totals=totals)
    approve = {"reviewers": reviewers, "allowed": reviewer_names} if reviewers or reviewer_names else None
    with before_a_run(table):
        require_home()
        spec = spec_of_tables(
            kept_file(data, "data"),
            [(asked, protection), *((each.asked, each.protection) for each in more_tables)],
            formats=list(formats),
            earlier=earlier_releases,
            uncovered=not_covered_together,
            approve=approve,
        )
        if plan_only:
            planned = preview(spec, count=False)
            show_plan(planned)
            return Completed(message=summary_of(planned))
    return release.fn(spec, started_by=started_by, again=again)


def spec_of_tables(
    description: Path,
    tables: Sequence[tuple[Mapping[str, Any], Protection]],
    *,
    formats: list[str],
    earlier: Sequence[str] = (),
    uncovered: Sequence[str] = (),
    approve: dict[str, Any] | None = None,
) -> ReleaseSpec:
    """Return the spec that the form and the data description make together; a fault names the field of the form.

    tables: what each shows, and how it is protected.
    """
    raw = read_keys(description)
    SpecRefused.raise_for(_settled_twice(raw, approve))
    limits = [
        limits_of(raw, protection.model, totals=bool(asked.get("sums") or asked.get("means")))
        for asked, protection in tables
    ]
    del raw[SECTION]
    raw.pop("questions", None)  # what may be asked of the data: flows/spec/data_description.py
    names = [str(asked["table"]) for asked, _ in tables]
    if isinstance(raw.get("name"), str):
        raw["name"] += f"-{names[0].replace('_', '-')}"
    entries = [
        {"mechanism": "table", **asked, **protection.settings(), **limit.settings}
        for (asked, protection), limit in zip(tables, limits, strict=True)
    ]
    if len(entries) > 1:
        spends = any("epsilon" in entry for entry in entries)
        for entry, limit in zip(entries, limits, strict=True):
            entry["gates"] = list(limit.gates)
            # Whether the others appear must not depend on the data.
            entry |= {"on_refusal": "leave_out"} if spends and "epsilon" not in entry else {}
    else:
        raw["gates"] = list(limits[0].gates)
    budget = {**_spent(entries), **_section(raw, "budget")}  # the description may allow less
    if earlier or uncovered:
        given = budget.get("acknowledges", [])  # of the description; what is no list is refused with the spec
        budget["acknowledges"] = [*given, *earlier, *uncovered] if isinstance(given, list) else given
    raw |= {"budget": budget, "protect": entries, "publish": {**_section(raw, "publish"), "formats": formats}}
    if approve is not None:
        raw["approve"] = approve
    try:
        spec = resolve_spec(raw, description.parent)
        draw_up_plan(spec)  # what a run would refuse is refused in the words of the form
        return spec
    except SpecRefused as refusal:
        places = [limit.places for limit in limits]
        raise SpecRefused(*(in_the_form(fault, names, places) for fault in refusal.faults)) from None


def _spent(entries: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return what a release of these tables spends, for its budget: what the account is charged that is charged most,
    and no less than their plain sum. Nothing where none spends."""
    spending = [entry for entry in entries if "epsilon" in entry]
    if len(spending) < 2:
        return {"epsilon": str(entry["epsilon"]) for entry in spending}  # noqa: B035
    exact = [exact_number(str(entry["epsilon"])) or Fraction(0) for entry in spending]
    charged = [
        sum((_counts(entry, other) * each for entry, each in zip(spending, exact, strict=True)), Fraction(0))
        for other in spending
    ]
    return {"epsilon": str(max(sum(exact, Fraction(0)), *charged))}


def _counts(entry: Mapping[str, Any], other: Mapping[str, Any]) -> Fraction:
    """Return how often the epsilon of a table counts in the account of another; a spec refuses what cannot count."""
    if entry["model"] == other["model"]:
        return Fraction(1)
    if entry["model"] != "dp":
        return Fraction(0)
    word, model = other["adjacency"], other["model"]
    return counts_as("dp", entry["adjacency"], in_model=model, in_adjacency=word) or Fraction(0)


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
