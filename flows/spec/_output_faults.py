"""What is wrong with the outputs of a release beside each other: their names, columns, models, and what covers them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping

from penstock.flows.spec._entries import columns_of, name_of, own, settings_of
from penstock.flows.spec._named_places import misspelt
from penstock.mechanisms.columns import Column
from penstock.mechanisms.composition import counts_as, uncovered
from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.models import ADDS_UP
from penstock.mechanisms.refusal import Fault
from penstock.mechanisms.registry import AnyParams, mechanism_of

__all__ = ["TAKEN", "output_faults"]

# What lies in every bundle beside the folders of records and of files that several outputs share.
TAKEN = ("metadata", "tables", "data", "manifest.json", "report.html")

# Settings of noisy tables whose order changes nothing but that of rows and columns.
_ANY_ORDER = ("dimensions", "sums", "means", "totals", "groups", "figures")


def output_faults(
    params: Mapping[int, AnyParams], columns: Mapping[str, Column], acknowledges: object
) -> Iterator[Fault]:
    """Yield every reason why these outputs cannot be one release. acknowledges: budget.acknowledges, as it stands."""
    for place, entry in params.items():
        yield from _column_faults(place, entry, columns)
    if len(params) == 1:
        yield from _alone(*params.items())
        return
    yield from _name_faults(params)
    yield from _overlaps(params, columns)
    yield from _unused_weights(params, columns)
    yield from _asked_twice(params)
    spending = [place for place, entry in params.items() if mechanism_of(entry).spends(entry)]
    for place, entry in params.items():
        is_shared = own(entry, "file") is not None  # refused beside them in any case
        if spending and place not in spending and not is_shared and own(entry, "on_refusal") != "leave_out":
            rule = "must be leave_out beside outputs that spend epsilon: whether those appear would tell about the data"
            yield Fault(f"protect.{place}.on_refusal", rule, "Add on_refusal: leave_out, or release it by itself.")
    promises = _promises(params, columns)
    yield from _composition_faults(promises)
    yield from _acknowledgement_faults(params, promises, acknowledges)


def _alone(only: tuple[int, AnyParams]) -> Iterator[Fault]:
    place, entry = only
    for key, remedy in (
        ("columns", "Declare only the columns that it may use."),
        ("file", "Remove it: it is for several outputs whose records stand side by side."),
        ("on_refusal", "Remove it: a release without its only output is none."),
    ):
        if own(entry, key) is not None:
            yield Fault(f"protect.{place}.{key}", "must not be given where there is one output", remedy)


def _column_faults(place: int, entry: AnyParams, columns: Mapping[str, Column]) -> Iterator[Fault]:
    for name in own(entry, "columns") or ():
        if name not in columns or columns[name].role == "identifier":
            rule = "must be declared columns that are not identifiers"
            fault = Fault(f"protect.{place}.columns", rule, "Declare it in source.columns, or remove it.", repr(name))
            yield misspelt(fault, name, columns)


def _name_faults(params: Mapping[int, AnyParams]) -> Iterator[Fault]:
    for key, named in (("name", _names_of), ("table", _tables_of)):
        # Some file systems take names that differ in their case for one.
        count = Counter(name.casefold() for entry in params.values() for name in named(entry))
        for place, entry in params.items():
            if not named(entry) and key == "name":
                rule = "must be given where there are several outputs"
                yield Fault(f"protect.{place}.name", rule, "Name it, such as: people.")
            for name in named(entry):
                if key == "name" and mechanism_of(entry).kind != "cells" and name.casefold() in TAKEN:
                    rule = f"must differ from what every bundle has: {', '.join(TAKEN)}"
                    yield Fault(f"protect.{place}.name", rule, "Rename the output.", repr(name))
                if count[name.casefold()] > 1:
                    rule = "must differ from that of every other output"
                    where = "tables" if key == "table" and getattr(entry, "tables", None) else key
                    where = "table" if key == "name" and own(entry, "name") is None else where
                    yield Fault(f"protect.{place}.{where}", rule, "Rename one of them.", repr(name))


def _names_of(entry: AnyParams) -> tuple[str, ...]:
    name = name_of(entry)
    return () if name is None else (name,)


def _tables_of(entry: AnyParams) -> tuple[str, ...]:
    """Return the names of the files of an output that consists of tables."""
    table: str | None = getattr(entry, "table", None)
    return tuple(getattr(entry, "tables", ())) or (() if table is None else (table,))


def _overlaps(params: Mapping[int, AnyParams], columns: Mapping[str, Column]) -> Iterator[Fault]:
    """Yield a fault for each output whose records show a column that another's show too: an intruder who joins them
    would see it protected twice, and no promise is about that."""
    shown: dict[str, int] = {}
    for place, entry in params.items():
        if mechanism_of(entry).kind == "cells":
            continue
        mine = [name for name, column in columns.items() if column.role != "identifier"]
        mine = list(own(entry, "columns") or mine)
        taken = next((name for name in mine if name in shown), None)
        if taken is not None:
            other = name_of(params[shown[taken]]) or f"protect.{shown[taken]}"
            rule = f"must not include {taken}, which is already released by {other}"
            yield Fault(f"protect.{place}.columns", rule, "Name other columns for one of the two.", repr(taken))
        shown |= {name: place for name in mine if name not in shown}


def _asked_twice(params: Mapping[int, AnyParams]) -> Iterator[Fault]:
    """Yield a fault for each noisy table that another output has too: readers would have two noises to average."""
    asked: dict[str, int] = {}
    for place, entry in params.items():
        if mechanism_of(entry).kind != "cells" or not mechanism_of(entry).spends(entry):
            continue
        first = asked.setdefault(_question(entry), place)
        if first != place:
            other = name_of(params[first]) or f"protect.{first}"
            rule = f"must ask for something else than {other}: the same figures would be drawn twice"
            yield Fault(f"protect.{place}", rule, "Remove one of them; one output may have several formats.")


def _question(entry: AnyParams) -> str:
    """Return what a noisy table asks for, in whatever order and under whatever name, however its noise is chosen."""
    settings = settings_of(entry).model_dump(mode="json", exclude={"table", "noise"})
    tables = settings.pop("tables", {})
    lists = {name: settings[name] for name in _ANY_ORDER if settings.get(name) is not None}
    inner = {"tables": list(tables.values()), "totals": lists.pop("totals", None)}
    sets = {name: sorted(map(sorted, each)) for name, each in inner.items() if each is not None}
    lists = {name: sorted(each, key=lambda item: json.dumps(item, sort_keys=True)) for name, each in lists.items()}
    return json.dumps({**settings, **lists, **sets}, sort_keys=True)


def _unused_weights(params: Mapping[int, AnyParams], columns: Mapping[str, Column]) -> Iterator[Fault]:
    """Yield a fault for each weight by which nothing is weighted, unless every output says which columns it uses."""
    if all(own(entry, "columns") is not None for entry in params.values()):
        return
    used = {name for entry in params.values() for name in columns_of(entry, columns, several=True)}
    for name, column in columns.items():
        if column.role == "weight" and name not in used:
            rule = "must not be weight, unless an output is weighted by it"
            yield Fault(f"source.columns.{name}.role", rule, "Name it in weight, or do not declare it.", "weight")


def _promises(params: Mapping[int, AnyParams], columns: Mapping[str, Column]) -> dict[int, Guarantee]:
    """Return the promise of each output; settings that are refused have none."""
    promises = {}
    for place, entry in params.items():
        settings, declared = settings_of(entry), columns_of(entry, columns, several=len(params) > 1)
        if not mechanism_of(entry).faults(settings, declared):
            promises[place] = mechanism_of(entry).promise(settings, declared)
    return promises


def _composition_faults(promises: Mapping[int, Guarantee]) -> Iterator[Fault]:
    """Yield a fault for each output whose epsilon does not add up with those of most under its model."""
    spending = {place: promise for place, promise in promises.items() if promise.model in ADDS_UP}
    for place, promise in spending.items():
        of_model = (other.adjacency for other in spending.values() if other.model == promise.model)
        [(most, _)] = Counter(of_model).most_common(1)  # of two that are as many, the first
        if promise.adjacency != most:
            rule = f"must be {most}, as for the other outputs under {promise.model}: only then do they add up"
            yield Fault(f"protect.{place}.adjacency", rule, "Use one adjacency for all of them.", promise.adjacency)
    first: dict[str, Guarantee] = {}
    for promise in spending.values():
        first.setdefault(promise.model, promise)
    yield from _uncountable(promises, first)


def _uncountable(promises: Mapping[int, Guarantee], first: Mapping[str, Guarantee]) -> Iterator[Fault]:
    """Yield a fault for each output under dp that the sum of a relaxation beside it cannot count: it would stand in no
    sum, though both tell about the same records."""
    for place, promise in promises.items():
        for model, other in first.items():
            if promise.model != "dp" or model == "dp":
                continue
            beside = f"{model} with adjacency {other.adjacency}"
            counts = counts_as("dp", promise.adjacency, in_model=other.model, in_adjacency=other.adjacency)
            if counts is None:
                rule = f"must be one that counts under {beside} too, under which another output is"
                remedy = "Choose another adjacency, or release them by themselves."
                yield Fault(f"protect.{place}.adjacency", rule, remedy, promise.adjacency)


def _acknowledgement_faults(
    params: Mapping[int, AnyParams], promises: Mapping[int, Guarantee], acknowledges: object
) -> Iterator[Fault]:
    """Yield a fault where nothing covers some outputs together, and the spec does not say that this is accepted."""
    if len(promises) < len(params):
        return  # refused for its settings, which come first
    models = {str(name_of(entry)): promises[place].model for place, entry in params.items()}
    given = set(acknowledges) if isinstance(acknowledges, list | tuple) else set()
    missing = [name for name in uncovered(models) if name not in given]
    if missing:
        listed = ", ".join(f"{name} ({models[name]})" for name in missing)
        rule = f"must name outputs that no theorem covers together with the others: {listed}"
        remedy = f"If you accept that each promise holds by itself only, add: {', '.join(missing)}."
        yield Fault("budget.acknowledges", rule, remedy)
    for name in sorted(given & models.keys() - set(uncovered(models))):
        rule = "must not name an output that the sum of epsilons covers together with the others"
        yield Fault("budget.acknowledges", rule, "Remove it.", repr(name))
