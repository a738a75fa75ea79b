"""The plan: what a spec promises, what it costs, what to expect. Reads the suite, no data; spends nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterator, Sequence
from fractions import Fraction

from penstock.flows.spec import Budget, ReleaseSpec, columns_of, name_of, own, settings_of
from penstock.mechanisms.columns import Column
from penstock.mechanisms.guarantee import Guarantee, in_words, side_by_side
from penstock.mechanisms.models import ADDS_UP
from penstock.mechanisms.refusal import Fault, SpecRefused
from penstock.mechanisms.registry import AnyParams, mechanism_of
from penstock.mechanisms.shared_file import Part, of_file, side_by_side_in_words
from penstock.records.files.addresses import place_of
from penstock.records.files.digest import canonical
from penstock.records.ledger.countable import require_countable
from penstock.tasks.outputs.kinds import output_of
from penstock.tasks.run.plan import Entry, File, Plan
from penstock.tasks.validation.expectations import digest_of_suite, user_suite

__all__ = ["beside", "budget_faults", "draw_up_plan", "of_chosen", "of_edition", "of_unit"]


def draw_up_plan(spec: ReleaseSpec, *, begun_as: str | None = None) -> Plan:
    """Resolve a spec; the composed guarantee is computed here and nowhere else.

    begun_as: the digest that a run of the spec began with, to end that run whatever has become of its suite's file.
    """
    as_data = spec.model_dump(mode="json", exclude_none=True)
    # Where the work is done does not change the release: a run that died on a cluster may be resumed elsewhere.
    defining = {name: section for name, section in as_data.items() if name != "run"}
    suite = None
    if begun_as is None and spec.validation.suite is not None:
        suite = defining["content of the suite"] = digest_of_suite(user_suite(spec.validation.suite))
    names = {name_of(each) for each in spec.protect} if len(spec.protect) > 1 else set()
    acknowledges = tuple(each for each in spec.budget.acknowledges if each not in names)
    entries = tuple(_entry(spec, each, acknowledges) for each in spec.protect)
    promises = side_by_side([each.guarantee for each in entries])
    files = tuple(_files(spec, entries))
    SpecRefused.raise_for(budget_faults(spec.budget, [each.guarantee for each in entries]))
    plan = Plan(
        name=spec.name,
        source=spec.source.path,
        declared=spec.columns,
        entries=entries,
        promises=promises,
        together=(
            *(in_words({str(each.name): each.guarantee for each in entries}) if len(entries) > 1 else ()),
            *(sentence for file in files for sentence in file.together),
        ),
        files=files,
        unit=spec.unit,
        suite=spec.validation.suite,
        min_rows=spec.validation.min_rows,
        publish=place_of(spec.publish.path),
        escape=spec.publish.spreadsheet == "escape",
        dataset=spec.budget.dataset,
        part=None if spec.budget.part is None or spec.part is None else (spec.budget.part, spec.part),
        acknowledges=acknowledges,
        rule=spec.approve.rule,
        spec=as_data,
        spec_digest=begun_as or hashlib.sha256(canonical(defining)).hexdigest(),
        suite_digest=suite,
        address=spec.run.address,
        memory=spec.run.bytes,
        edition=spec.source.edition,
        where=spec.conditions,
        choosing={name: spec.columns[name] for name in {each.column for each in spec.conditions}},
    )
    for each in plan.outputs:
        require_countable(each.claim(""))  # whatever the records are
    return plan


def _entry(spec: ReleaseSpec, asked: AnyParams, acknowledges: Sequence[str]) -> Entry:
    """Return what one output will be, with its own promise."""
    params, declared = settings_of(asked, spec.source.unit), _columns_of(spec, asked)
    promise = of_chosen(mechanism_of(params).promise(params, declared), spec.source.where)
    promise = of_unit(of_edition(promise, spec.source.edition), spec.unit)
    name, file = name_of(asked) if len(spec.protect) > 1 else None, own(asked, "file")
    if file is not None:
        roles = {each: column.role for each, column in declared.items()}
        promise = of_file(promise, file, roles, _beside_in_file(spec, file, declared))
    return Entry(
        name=name,
        params=params,
        declared=declared,
        output=output_of(params, declared, name, file),
        gates=own(asked, "gates") or spec.gates or (),
        formats=own(asked, "formats") or spec.publish.formats,
        guarantee=beside(promise, acknowledges),
        may_be_left_out=own(asked, "on_refusal") == "leave_out",
    )


def _columns_of(spec: ReleaseSpec, asked: AnyParams) -> dict[str, Column]:
    return columns_of(asked, spec.columns, several=len(spec.protect) > 1)


def _beside_in_file(spec: ReleaseSpec, file: str, but: Container[str]) -> list[str]:
    """Return the columns of a file, in declared order, but for some."""
    shown = {
        name
        for each in spec.protect
        if own(each, "file") == file
        for name, column in _columns_of(spec, each).items()
        if column.role != "identifier"
    }
    return [name for name in spec.columns if name in shown and name not in but]


def _files(spec: ReleaseSpec, entries: Sequence[Entry]) -> Iterator[File]:
    """Yield the files that several outputs share."""
    names = dict.fromkeys(own(each, "file") for each in spec.protect)
    for name in filter(None, names):
        own_entries = [entry for entry, asked in zip(entries, spec.protect, strict=True) if own(asked, "file") == name]
        parts = [
            Part(str(each.name), each.guarantee, {n: each.declared[n].role for n in each.output.about})
            for each in own_entries
        ]
        yield File(
            name=name,
            outputs=tuple(part.name for part in parts),
            declared={column: spec.columns[column] for column in _beside_in_file(spec, name, ())},
            gates=spec.gates or (),
            together=side_by_side_in_words(name, parts, [gate.rule for gate in spec.gates or ()]),
        )


def of_edition(guarantee: Guarantee, edition: str | None) -> Guarantee:
    """Add to the promise what it says about data that change: the same spec of the same source is published once, and a
    table comes back as it was, so that readers see when nothing changed."""
    public = guarantee.public if edition is None else (*guarantee.public, "edition of the data")
    if guarantee.model not in ADDS_UP:
        return guarantee.model_copy(update={"public": public})
    records = "the records of a data set name do not change"
    if edition is not None:
        records = "the records of a data set name do not change within an edition"
    unchanged = f"{records}: an answer that comes back tells that they did not"
    return guarantee.model_copy(update={"public": public, "assumptions": (*guarantee.assumptions, unchanged)})


def of_chosen(guarantee: Guarantee, where: str | None) -> Guarantee:
    """Add to the promise which records it is about."""
    if where is None:
        return guarantee
    public = (*guarantee.public, f"which records it is about: {where}")
    if guarantee.model in ADDS_UP:
        return guarantee.model_copy(update={"public": public})
    limit = f"hiding of anybody in the data that they satisfy: {where}"
    return guarantee.model_copy(update={"public": public, "not_promised": (*guarantee.not_promised, limit)})


def of_unit(guarantee: Guarantee, unit: str | None) -> Guarantee:
    """Add to the promise whose it is: an individual is known by one column, and by no other."""
    if unit is None:
        return guarantee
    whose = f"an individual is all records with the same value of {unit}: nobody has records under two of its values"
    return guarantee.model_copy(update={"assumptions": (*guarantee.assumptions, whose)})


def beside(guarantee: Guarantee, earlier: Sequence[str]) -> Guarantee:
    """Return the promise of a release that has earlier ones of the same records beside it: each holds only by
    itself."""
    if not earlier:
        return guarantee
    limit = f"anything for readers who also have the earlier releases of the same records: {', '.join(earlier)}"
    return guarantee.model_copy(update={"not_promised": (*guarantee.not_promised, limit)})


def budget_faults(budget: Budget, promises: Sequence[Guarantee]) -> Iterator[Fault]:
    """Yield the faults of a budget: a release that spends names its data set and a limit, and the promises must fit.

    promises: of each output. They need what the account is charged that is charged most, and no less than their plain
    sum: of idp beside bdp neither account counts the other.
    """
    spending = [each for each in promises if each.model in ADDS_UP]
    if not spending:
        return
    plain = sum((Fraction(each.parameters["epsilon"]) for each in spending), Fraction(0))
    needed = max(plain, *(Fraction(each.parameters["epsilon"]) for each in side_by_side(spending)))
    if budget.dataset is None:
        yield Fault(
            "budget.dataset",
            f"must be given for a release under {spending[0].model}, which spends a budget",
            "Name the data set.",
        )
    if budget.epsilon is None:
        yield Fault(
            "budget.epsilon", f"must be given; the mechanisms spend {needed}", "Set how much the release may spend."
        )
    elif needed > budget.epsilon:
        spend = "the mechanisms spend" if len(promises) == 1 else f"the {len(promises)} outputs spend"
        yield Fault(
            "budget.epsilon",
            f"must be at least {needed}, what {spend} together",
            "Allow more, or let them spend less.",
            str(budget.epsilon),
        )
