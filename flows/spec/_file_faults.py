"""What is wrong with outputs that share a file: their mechanisms, columns, formats and gates beside each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from penstock.flows.spec._entries import columns_of, name_of, own, settings_of
from penstock.flows.spec._output_faults import TAKEN
from penstock.measures.gates import Gate
from penstock.mechanisms.columns import Column
from penstock.mechanisms.recode import stored_name
from penstock.mechanisms.refusal import Fault
from penstock.mechanisms.registry import AnyParams, mechanism_of
from penstock.mechanisms.shared_file import Part, not_alike

__all__ = ["file_faults", "files_of"]

_LINKAGE = "record_linkage"


def files_of(params: Mapping[int, AnyParams]) -> dict[str, dict[int, AnyParams]]:
    """Return the outputs of each file, by the names of the files."""
    files: dict[str, dict[int, AnyParams]] = {}
    for place, entry in params.items():
        file = own(entry, "file")
        if file is not None:
            files.setdefault(file, {})[place] = entry
    return files


def file_faults(
    params: Mapping[int, AnyParams], columns: Mapping[str, Column], gates: Mapping[int, Gate] | None
) -> Iterator[Fault]:
    """Yield every reason why outputs cannot share the files that they name. gates: those of the release; None where
    they are not known."""
    files = files_of(params)
    if len(params) == 1:
        return
    taken = {*TAKEN, *(str(name_of(entry)).casefold() for entry in params.values())}
    spending = {place for place, entry in params.items() if mechanism_of(entry).spends(entry)}
    for file, parts in files.items():
        field = f"protect.{min(parts)}.file"
        if file.casefold() in taken:
            rule = f"must differ from the names of all outputs, and from what every bundle has: {', '.join(TAKEN)}"
            yield Fault(field, rule, "Rename the file.", repr(file))
        if len(parts) == 1:
            rule = "must be given by at least two outputs, whose columns stand beside each other in it"
            yield Fault(field, rule, "Remove it, or give it to another output too.", repr(file))
            continue
        if spending - parts.keys():
            rule = (
                "must not be given beside outputs that spend epsilon: whether the file appears would tell about the "
                "data"
            )
            yield Fault(field, rule, "Release the file by itself.", repr(file))
        unfit = list(_unfit(parts))
        yield from unfit
        yield from _disagreements(parts)
        yield from _made_of_one(parts, columns)
        yield from _incomplete(parts, columns)
        if not unfit:
            yield from _singled_out(parts, columns)
    if files and gates is not None and not any(gate.measure == _LINKAGE for gate in gates.values()):
        rule = f"must include {_LINKAGE} where outputs share a file: no promise covers its columns together"
        yield Fault("gates", rule, f"Add a limit, such as {{measure: {_LINKAGE}, max: 0.2}}.")


def _unfit(parts: Mapping[int, AnyParams]) -> Iterator[Fault]:
    for place, entry in parts.items():
        if not mechanism_of(entry).shares_file:
            rule = (
                f"must not be given under {entry.mechanism}: its promise does not hold of columns beside which others "
                "stand, record by record"
            )
            yield Fault(f"protect.{place}.file", rule, "Release it in a file of its own.", repr(own(entry, "file")))
        sample = mechanism_of(entry).sample(settings_of(entry))
        if sample is not None:
            rule = "must not be given for a part of a file, whose other parts hold all records"
            yield Fault(f"protect.{place}.sample", rule, "Remove it, or the file.", repr(str(sample)))


def _disagreements(parts: Mapping[int, AnyParams]) -> Iterator[Fault]:
    first = own(parts[min(parts)], "formats")
    for place, entry in parts.items():
        if set(own(entry, "formats") or ()) != set(first or ()):
            rule = f"must be those of protect.{min(parts)}, which shares the file"
            yield Fault(f"protect.{place}.formats", rule, "Give the same formats for all of a file.")
        if own(entry, "on_refusal") == "leave_out":
            rule = "must not be leave_out for a part of a file, which is published whole or not at all"
            yield Fault(f"protect.{place}.on_refusal", rule, "Remove it, or the file.", "leave_out")


def _made_of_one(parts: Mapping[int, AnyParams], columns: Mapping[str, Column]) -> Iterator[Fault]:
    """Yield a fault for each column that is made of the stored column of which one of another part is made: what is
    released of the one would tell about the other, record by record."""
    found: dict[str, tuple[int, str]] = {}
    for place, entry in parts.items():
        for name, column in columns_of(entry, columns, several=True).items():
            first, other = found.setdefault(stored_name(name, column), (place, name))
            if first != place and other != name and column.role != "identifier":
                rule = f"must not include a column made of what {other} is made of, which stands beside it in the file"
                yield Fault(f"protect.{place}.columns", rule, "Leave one of the two out.", repr(name))


def _incomplete(parts: Mapping[int, AnyParams], columns: Mapping[str, Column]) -> Iterator[Fault]:
    """Yield a fault for each column that may lack values, unless missing is one of its categories: what somebody did
    not give may single out a row, and linkage, which alone bounds the columns together, is measured of complete
    records."""
    for entry in parts.values():
        for name, column in columns_of(entry, columns, several=True).items():
            if column.missing != "refuse" and (column.type, column.missing) != ("nominal", "category"):
                rule = (
                    "must be refuse in a file that outputs share: who has no value may be found by that, and linkage "
                    "is measured of complete records"
                )
                remedy = "Complete the data first, or release the column in a file of its own."
                yield Fault(f"source.columns.{name}.missing", rule, remedy, column.missing)


def _singled_out(parts: Mapping[int, AnyParams], columns: Mapping[str, Column]) -> Iterator[Fault]:
    """Yield a fault for each quasi-identifier or weight that would tell apart records whose others are made alike."""
    shown: dict[str, Part] = {}
    for place, entry in parts.items():
        settings, declared = settings_of(entry), columns_of(entry, columns, several=True)
        if mechanism_of(entry).faults(settings, declared):
            return  # refused for its settings, which come first
        roles = {name: column.role for name, column in declared.items() if column.role != "identifier"}
        shown[str(place)] = Part(str(place), mechanism_of(entry).promise(settings, declared), roles)
    for part, name in not_alike(list(shown.values())):
        rule = "must not include a quasi-identifier or weight beside others of the file that are made alike in groups"
        yield Fault(f"protect.{part.name}.columns", rule, "Name it in the output that makes them alike.", repr(name))
