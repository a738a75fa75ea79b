"""Statistics of groups of records: counts, sums, means, variances, medians, quantiles, extremes.

    1  clamp every value to its declared domain and put it on the public grid (penstock.mechanisms.numbers.grid)
    2  put every record into one of G declared groups; groups without records exist too
    3  draw every figure of every group, independently

Differential privacy (model: dp). Figure f has the share w_f of epsilon, sum w_f = 1, and is drawn in every group with

    epsilon_f = w_f epsilon / t,   t = 2 under `replace` with several groups, else 1                 (1)

such that one record that comes or goes changes the law of its group's figure by a factor of at most e^(epsilon_f);
where all records are one group under `replace`, the same for one record that is replaced (_private.py).

Figures that are drawn together (_together.py) have one law and spend the sum of their epsilon_f.

Theorem. The output is epsilon-differentially private.
Proof. Groups and figures, or those that are drawn together, are drawn independently, so losses add up. Under
`add_remove` the record belongs to one group: sum of w_f epsilon. Under `replace` with one group it is replaced there:
the same. With several groups it leaves one and enters another, or leaves and enters the same: in each case two changes
of epsilon_f for every figure, 2 sum of w_f epsilon / 2. The size of a group is never used without noise, except n under
`replace`, which is public and the same in both data sets. Rounding, clamping, division and standard errors do not look
at the data again.

The largest epsilon of any group would not do under `replace`, although each record is in one group only: a record that
moves shows in two.

Individual differential privacy (model: idp). Noise of scale LS_f / (w_f epsilon), LS_f from the actual data
(_individual.py), which is secret. It is proven where a record is replaced by another of the same group
(`from_D_within_cell`; `from_D` where there is one group): the formulas take the size of the group as fixed. A change
touches one group, so there t = 1. A record that comes or goes (`from_D_add_remove`, _come_and_go.py) belongs to one
group, which need not be public. Several records together: _several.py. It is no promise about what the scale itself
reveals; _promise.py says so.

Bootstrap differential privacy (model: bdp). The same with a scale that covers all data sets made of records of the
actual one (_bootstrap.py); t = 2 where a replaced record may change its group, else 1.

Sources: McSherry & Talwar 2007; Soria-Comas 2013 (thesis), section 4.5; Soria-Comas et al. 2017; proofs ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.columns import Columns, Declared
from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.layout import Layout, error_of
from penstock.mechanisms.numbers.grid import Grid
from penstock.mechanisms.protected import Protected
from penstock.mechanisms.randomness import Randomness
from penstock.mechanisms.refusal import SettingRefused
from penstock.mechanisms.sound import require_sound
from penstock.mechanisms.statistics import _settings as settings
from penstock.mechanisms.statistics._bootstrap import Among, bootstrap_figure, drawn, parts_of
from penstock.mechanisms.statistics._bootstrap_settings import membership
from penstock.mechanisms.statistics._groups import SortedGroups, sorted_groups
from penstock.mechanisms.statistics._individual import Exact, exact_figure, released
from penstock.mechanisms.statistics._individual_sizes import exact_count, exact_figure_of_secret_size
from penstock.mechanisms.statistics._private import Shared, Total, planned
from penstock.mechanisms.statistics._promise import promise_of
from penstock.mechanisms.statistics._settings import (
    MOST_RECORDS,
    Params,
    Statistic,
    clamped,
    column_of,
    epsilons,
    faults,
    figure_grid,
    formed_by,
)
from penstock.mechanisms.statistics._several import fractions_of_epsilon
from penstock.mechanisms.table.sensitivity import BootstrapAdjacency
from penstock.mechanisms.without_domain import promised_without_domain

__all__ = [
    "Params",
    "Statistic",
    "chosen_facts",
    "faults",
    "layout",
    "promise",
    "protect",
    "takes_units",
]


def takes_units(params: Params) -> bool:
    """Return whether a unit may have several records: proven for differential privacy only."""
    return params.model == "dp"


def promise(params: Params, declared: Declared) -> Guarantee:
    """Return what a release with these settings promises, and what it does not."""
    SettingRefused.raise_for(faults(params, declared))
    told = promise_of(params, clamped(params, declared))
    return promised_without_domain(told, declared, (figure.of for figure in params.figures))


def layout(params: Params, declared: Declared) -> Layout:
    """Return the rows and columns of the table, known before any record is read."""
    SettingRefused.raise_for(faults(params, declared))
    return settings.layout(params, declared)


def chosen_facts(params: Params, declared: Declared, records: int) -> dict[str, Any]:
    """Return what `protect` will state as settled. It does not depend on the number of records, which may be secret.

    measured: for each figure its kind of noise, and the epsilon that it spends in every group that a change touches.
    together: boxes of totals that are drawn together; the figures that are made of them spend theirs together.
    figures: errors that are the same in every group, as far as they are public.
    """
    table = layout(params, declared)
    spent = epsilons(params)
    facts: dict[str, Any] = {"table": params.table, "groups": table.rows, "epsilon": str(params.epsilon)}
    if params.model == "dp":
        plan = planned(params, declared)
        noise = {name: question.facts() for name, question in plan.asked.items()}
        facts["figures"] = {
            figure.name: question.stated_errors()
            for figure, question in zip(params.figures, plan.asked.values(), strict=True)
            if isinstance(question, Total | Shared) and figure.statistic in ("count", "sum")
        }
        if plan.together is not None:
            facts["together"] = plan.together.facts()
    elif params.model == "bdp":
        noise = {figure.name: _bootstrap_facts(figure, declared, params) for figure in params.figures}
    else:
        noise = {
            figure.name: {
                "noise": "laplace",
                "grid": "1" if column_of(figure) is None else str(figure_grid(figure, declared).eta),
            }
            for figure in params.figures
        }
    facts["measured"] = [{"figure": name, "epsilon": str(spent[name]), **noise[name]} for name in noise]
    return facts


def protect(columns: Columns, declared: Declared, params: Params, randomness: Randomness) -> Protected:
    """Return the table under `promise(params, declared)`, in the rows and columns of `layout(params, declared)`."""
    guarantee = promise(params, declared)
    may_be_empty = (params.model, params.adjacency) == ("dp", "add_remove")
    records = require_sound(columns, declared, clamped=True, may_be_empty=may_be_empty)
    if records > MOST_RECORDS:
        raise SettingRefused.at("source", rule="must have fewer than 2^32 records", remedy="Release them in parts.")
    table = settings.layout(params, declared)
    groups = _groups(columns, records, declared, params, table)
    draw = {"dp": _private, "idp": _individual, "bdp": _bootstrap}[params.model]
    figures, hidden = draw(groups, declared, params, randomness)
    return Protected(
        {**table.codes(), **figures}, guarantee, chosen=chosen_facts(params, declared, records), hidden=hidden
    )


def _groups(
    columns: Columns, records: int, declared: Declared, params: Params, table: Layout
) -> dict[str, SortedGroups]:
    """Return for each figure its column on its grid, by group; figures of one column and grid share them."""
    codes = [declared[name].codes(columns[name], name) for name in formed_by(params)]
    inside = _chosen_records(codes, declared, params, records)
    labels = np.zeros(records, np.int64)
    if params.groups:
        labels = np.ravel_multi_index(tuple(codes), table.shape(params.groups))

    @cache
    def sorted_on(name: str | None, grid: Grid | None, category: str | int | None) -> SortedGroups:
        if name is None:
            values = np.zeros(records, np.int64)  # a count of all needs only the sizes
        elif grid is None:
            place = (declared[name].categories or ()).index(category)
            values = (declared[name].codes(columns[name], name) == place).astype(np.int64)
        else:
            values = grid.index(columns[name])
        return sorted_groups(values[inside], labels[inside], table.rows)

    return {figure.name: sorted_on(figure.of, _grid(figure, declared), figure.category) for figure in params.figures}


def _grid(figure: Statistic, declared: Declared) -> Grid | None:
    return None if column_of(figure) is None else figure_grid(figure, declared)


def _chosen_records(
    codes: Sequence[NDArray[np.int64]], declared: Declared, params: Params, records: int
) -> NDArray[np.bool_] | slice:
    """Return the records of the one group that was chosen; all records where none was."""
    if not params.only:
        return slice(None)
    inside = np.ones(records, np.bool_)
    for of_column, (name, category) in zip(codes, params.only.items(), strict=True):
        inside &= of_column == tuple(declared[name].categories or ()).index(category)
    return inside


def _private(
    groups: Mapping[str, SortedGroups], declared: Declared, params: Params, randomness: Randomness
) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[np.int64]]]:
    """Draw every figure with its standard errors; nothing secret is needed to check them."""
    plan = planned(params, declared)
    found = {} if plan.together is None else plan.together.draw(groups, randomness)
    for name, question in plan.alone.items():
        alone = question.draw(groups[name], randomness)
        found[name] = alone.values, alone.errors
    figures: dict[str, NDArray[Any]] = {}
    for name in plan.asked:
        figures[name], figures[error_of(name)] = found[name]
    return figures, {}


def _individual(
    groups: Mapping[str, SortedGroups], declared: Declared, params: Params, randomness: Randomness
) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[np.int64]]]:
    """Draw every figure; also return, secret, by how many units one record moves it, and the unit of a variance."""
    spent = epsilons(params)
    exact = {figure.name: _exact(figure, declared, params, groups[figure.name]) for figure in params.figures}
    hidden = {f"steps {name}": figure.steps for name, figure in exact.items()}
    hidden |= {f"lattice {name}": figure.lattice for name, figure in exact.items() if figure.lattice is not None}
    return {name: released(figure, name, spent[name], randomness) for name, figure in exact.items()}, hidden


def _exact(figure: Statistic, declared: Declared, params: Params, groups: SortedGroups) -> Exact:
    size_public, fractions = params.adjacency != "from_D_add_remove", fractions_of_epsilon(params.group_epsilons)
    if figure.statistic == "count":
        return exact_count(figure, groups, fractions, size_public=size_public)
    grid = figure_grid(figure, declared)
    if size_public:
        bounded = declared[str(figure.of)].resolution is None
        return exact_figure(figure, grid, groups, fractions, bounded=bounded)
    return exact_figure_of_secret_size(figure, grid, groups)


def _bootstrap(
    groups: Mapping[str, SortedGroups], declared: Declared, params: Params, randomness: Randomness
) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[np.int64]]]:
    """Draw every figure; also return, secret, the steps of each total that was drawn for it."""
    spent, among = epsilons(params), _among(params)
    figures: dict[str, NDArray[Any]] = {}
    hidden: dict[str, NDArray[np.int64]] = {}
    for figure in params.figures:
        name = figure.name
        found = bootstrap_figure(figure, _grid(figure, declared), groups[name], among, spent[name])
        figures[name], steps = drawn(found, name, spent[name], among.adjacency, randomness)
        hidden |= {f"steps {place} {name}": each for place, each in enumerate(steps)}
    return figures, hidden


def _among(params: Params) -> Among:
    return Among(membership(params), cast(BootstrapAdjacency, params.adjacency))


def _bootstrap_facts(figure: Statistic, declared: Declared, params: Params) -> dict[str, Any]:
    """Return what is public about the noise: its kind, the grid, and into how many parts a step of it is divided."""
    grid = _grid(figure, declared)
    if grid is None:
        return {"noise": "laplace", "grid": "1", "parts": 1}
    parts = parts_of(figure, grid, _among(params), epsilons(params)[figure.name])
    return {"noise": "laplace", "grid": str(grid.eta), "parts": parts}
