"""A mechanism on a table in memory: for notebooks, to see what it does. Never a release.

Nothing is reserved, validated by a suite, checked again, measured at a gate, reviewed, recorded or published. The data
are read as a release reads them, so whatever a release refuses in them is refused here, without a value of them. The
examples are run by a test.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

import numpy as np
import pyarrow as pa

from penstock.flows.planning import of_unit
from penstock.flows.spec.protection import parse_columns, parse_protection
from penstock.measures.measurement import Measurement, MeasureUndefined
from penstock.measures.registry import MeasureOfRecords
from penstock.measures.registry import measure as measure_of_records
from penstock.mechanisms.columns import Column, Columns
from penstock.mechanisms.combinations import require_possible
from penstock.mechanisms.contributions import bounded
from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.randomness import Randomness, is_known, system
from penstock.mechanisms.recode import stored_names
from penstock.mechanisms.refusal import ColumnTypeWrong, SettingRefused
from penstock.mechanisms.registry import AnyParams, mechanism_of
from penstock.tasks.files.columns import arrow_columns
from penstock.tasks.files.source import fitting_columns, read_columns
from penstock.tasks.outputs.kinds import output_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Trial", "measure", "protect"]

T = TypeVar("T", "pd.DataFrame", pa.Table)

_TRIAL = "penstock.trial"
NOT_A_RELEASE = "A trial, not a release: nothing was reserved, checked, recorded or published."
FROM_A_SEED = "Drawn from a seed: whoever knows it can undo the protection, so the promise does not hold."


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Trial(Generic[T]):
    """A table as a mechanism protected it, beside its promise.

    data: the protected table, of the same kind as was given: records in random order without identifiers, or cells. No
    measure that compares a record with its own original fits it.
    guarantee: what the mechanism promises of it by itself; other trials and releases of the same data add to it.
    linked: tables beside the records, by name, where the mechanism makes any.
    chosen: public facts that the mechanism chose from settings and declared columns.
    is_seeded: whether it was drawn from a seed; then the promise does not hold.
    """

    is_release: ClassVar[bool] = False

    data: T
    guarantee: Guarantee
    linked: Mapping[str, T] = field(default_factory=dict)
    chosen: Mapping[str, Any] = field(default_factory=dict)
    is_seeded: bool = False

    @property
    def notice(self) -> str:
        """Say that this is not a release, and whether the promise fails because of a seed."""
        return _notice(is_seeded=self.is_seeded)

    def __repr__(self) -> str:
        """Show the model of the promise and the notice; no row."""
        return f"<Trial under {self.guarantee.model}: {self.notice}>"


def protect(
    table: T,
    declared: Mapping[str, Column | Mapping[str, Any]],
    params: AnyParams | Mapping[str, Any],
    randomness: Randomness | None = None,
    *,
    unit: str = "row",
) -> Trial[T]:
    """Apply a mechanism to a table in memory and return what it made, with its promise. This is not a release.

    Use it to learn what a mechanism does before you write a spec. What comes back is as confidential as the table that
    went in, until a release has published something: no budget was charged for it, no gate judged it, and no record
    says that it was made.

    table: a pandas DataFrame or a pyarrow Table; columns that are not declared are not read, identifiers are dropped.
    declared: what each column is, as in `source.columns` of a spec. params: the mechanism and its settings, as in
    `protect` of a spec, or its `Params`. randomness: the operating system's if none is given, and a release accepts no
    other; `penstock.seeded(7)` draws the same each time, for teaching and tests, and the result says so.
    unit: row, or the identifier that tells whose record it is.

    Raise a `Refusal` if the settings do not fit the columns, or the data are not as declared. It names the column and
    the rule, never a value.

    >>> import pandas as pd
    >>> import penstock
    >>> people = pd.DataFrame({"name": ["Ann", "Ben", "Cas", "Dee"], "income": [10.0, 20.0, 30.0, 40.0]})
    >>> columns = {
    ...     "name": {"role": "identifier"},
    ...     "income": {"role": "confidential", "type": "continuous", "domain": [0, 100]},
    ... }
    >>> swap = {"mechanism": "probabilistic_k_anonymity", "method": "ir_swap", "k": 2}
    >>> trial = penstock.protect(people, columns, swap)
    >>> list(trial.data.columns), sorted(trial.data["income"])
    (['income'], [10.0, 20.0, 30.0, 40.0])
    >>> trial.guarantee.parameters["k"], trial.is_release
    (2, False)
    >>> columns["income"]["domain"] = [0, 25]
    >>> try:
    ...     penstock.protect(people, columns, swap)
    ... except penstock.Refusal as refusal:
    ...     print(refusal.code, refusal.kind, refusal.faults[0].field)
    value-outside-domain data source.columns.income
    """
    if randomness is not None and not is_known(randomness):
        raise SettingRefused.at(
            "randomness",
            rule="must be the operating system's or that of penstock.seeded",
            got=type(randomness).__name__,
            remedy="Leave it out, or pass penstock.seeded(7).",
        )
    columns, settings = parse_protection(declared, params, unit=unit)
    individual = None if unit == "row" else unit
    data_columns = {name: column for name, column in columns.items() if column.role != "identifier"}
    mechanism, output = mechanism_of(settings), output_of(settings, columns)
    # A count of all records is made from no column; the first one shows how many there are.
    used = {name: data_columns[name] for name in output.about or tuple(data_columns)[:1]}
    read = {**used, **({} if individual is None else {individual: columns[individual]})}
    arrays = read_columns(_as_arrow(table, read, individual), read, unit=individual)
    require_possible(arrays, used, {None: mechanism.excludes(settings)})

    chance = system() if randomness is None else randomness
    promise = mechanism.promise(settings, columns)
    whose = {}
    if individual is not None and mechanism.counts_units(settings):
        whose["units"] = arrays.pop(individual)
    elif individual is not None:
        kept = bounded(arrays.pop(individual), promise.parameters["rows_per_unit"], chance)
        arrays = {name: values[kept] for name, values in arrays.items()}
    protected = mechanism.protect(arrays, used, settings, chance, **whose)
    notice = _notice(is_seeded=not chance.from_system)
    return Trial(
        data=_like(table, output.as_arrow(protected, chance), notice),
        guarantee=of_unit(protected.guarantee, individual),
        linked={
            name: _like(table, arrow_columns(each.columns, each.declared), notice)
            for name, each in protected.linked.items()
        },
        chosen=dict(protected.chosen),
        is_seeded=not chance.from_system,
    )


def _notice(*, is_seeded: bool) -> str:
    return f"{NOT_A_RELEASE} {FROM_A_SEED}" if is_seeded else NOT_A_RELEASE


def measure(name: str) -> MeasureOfRecords:
    """Return the measure of that name, a function of released records; help() of it gives formula, source and limits.

    It takes the original columns and the released ones as arrays by name, row by row beside each other, and what is
    declared of them. The rows of a trial are in random order, so its frame and its columns are refused; bare arrays
    that were taken out of it cannot be recognised.

    >>> import numpy as np
    >>> import penstock
    >>> columns = {"income": {"role": "confidential", "type": "continuous", "domain": [0, 100]}}
    >>> before, after = {"income": np.array([10.0, 20.0])}, {"income": np.array([20.0, 10.0])}
    >>> penstock.measure("mean_change")(before, after, columns).value
    0.0
    """
    take = measure_of_records(name)

    @wraps(take)
    def apply(
        original: Columns, released: Columns, declared: Mapping[str, Column | Mapping[str, Any]], **facts: Any
    ) -> Measurement:
        if any(_TRIAL in getattr(part, "attrs", ()) for side in (original, released) for part in _parts(side)):
            raise MeasureUndefined.at(
                name,
                rule="needs the released rows beside their originals; those of a trial are in random order",
                remedy="Read the confidential report of a release, which has every measure.",
            )
        return take(_by_name(name, original), _by_name(name, released), parse_columns(declared), **facts)

    return apply


def _parts(columns: object) -> Iterator[object]:
    """Yield the columns and each of them: a frame and its columns carry the same marks."""
    yield columns
    if isinstance(columns, Mapping):
        yield from columns.values()


def _by_name(measured: str, columns: object) -> Columns:
    """Return columns as arrays by name; refuse what is not that."""
    import pandas as pd

    if isinstance(columns, pd.DataFrame) and columns.columns.is_unique:
        columns = dict(columns.items())
    if not isinstance(columns, Mapping):
        raise MeasureUndefined.at(measured, rule="needs arrays by name, or a pandas DataFrame", remedy="Convert it.")
    arrays = {str(name): np.asarray(values) for name, values in columns.items()}
    if any(values.ndim != 1 for values in arrays.values()):
        raise MeasureUndefined.at(measured, rule="needs one value for each record", remedy="Convert it.")
    return arrays


def _as_arrow(table: object, wanted: Mapping[str, Column], unit: str | None) -> pa.Table:
    """Return the wanted columns as a pyarrow Table. Messages of pyarrow can quote values, so none is passed on."""
    if isinstance(table, pa.Table):
        return fitting_columns(_without_views(table), wanted, unit=unit)
    import pandas as pd

    if not isinstance(table, pd.DataFrame):
        raise SettingRefused.at(
            "table",
            rule="must be a pandas DataFrame or a pyarrow Table",
            got=type(table).__name__,
            remedy="Convert it.",
        )
    stored = stored_names(wanted)
    names = [name for name in table.columns if name in stored]
    arrays = []
    for place in [place for place, name in enumerate(table.columns) if name in stored]:
        try:
            arrays.append(pa.array(table.iloc[:, place], from_pandas=True))
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            raise ColumnTypeWrong.at(
                f"source.columns.{table.columns[place]}.type",
                rule="must hold values of one type",
                remedy="Convert the column before calling.",
            ) from None
    return fitting_columns(pa.table(arrays, names=names), wanted, unit=unit)


def _without_views(table: pa.Table) -> pa.Table:
    """Return a table with its texts as plain ones: of views pyarrow makes no dictionary."""
    kinds = [pa.string() if pa.types.is_string_view(field.type) else field.type for field in table.schema]
    return table.cast(pa.schema([field.with_type(kind) for field, kind in zip(table.schema, kinds, strict=True)]))


def _like(given: T, made: pa.Table, notice: str) -> T:
    """Return a table of the kind that was given, marked as not a release, and as drawn from a seed if it was."""
    marked: Any
    if isinstance(given, pa.Table):
        marked = made.replace_schema_metadata({_TRIAL: notice})
    else:
        marked = made.to_pandas()
        marked.attrs[_TRIAL] = notice
    return cast(T, marked)
