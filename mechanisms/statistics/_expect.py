"""What to expect of statistics before any row is read.

    count, sum            standard error sqrt(Var N); the least w with P(|N| <= w) >= 0.95, or about 2.1
                          standard errors where noise of two totals adds up (_together.py), 3 where a box
                          spends more than 2 (by trial: 94 % lie within at least)                           (1)
    mean, variance        standard error at most s / n in a group of n records, wherever they lie;
                          95 % of the time within about twice that                                          (2)
    median, quantile      with probability 1 - gamma the rank of the answer misses the rank asked for by less than
    and extremes          (2 D / (q epsilon_f)) (ln(points of the grid) + ln(1 / gamma)) records            (3)

(2) by the delta method (_moments.py) with the mean at a bound. D / q in (3): 1 where a record is replaced in one
group, and for extremes; max(p, q - p) / q for the quantile p/q where records come and go, 1/2 for the median. It is the
utility bound of the exponential mechanism (McSherry & Talwar 2007, Theorem 8) for our score, which is 0 somewhere.

Under idp the size of the noise is secret; it is at most that of the worst case (_worst_case.py): for i replaced records
the whole domain for medians, quantiles and extremes, i times that of one record for sums, means and variances.
"""

from __future__ import annotations

from fractions import Fraction
from math import log, sqrt

from penstock.mechanisms import clamping, phrases
from penstock.mechanisms.columns import Declared
from penstock.mechanisms.statistics import _worst_case as worst_case
from penstock.mechanisms.statistics._bootstrap_expect import bootstrap_expected
from penstock.mechanisms.statistics._mechanism import Params
from penstock.mechanisms.statistics._private import Asked, Extreme, Quantile, Shared, Spread, Total, planned
from penstock.mechanisms.statistics._settings import Statistic, clamped, epsilons, figure_grid, layout
from penstock.mechanisms.statistics._several import fractions_of_epsilon
from penstock.mechanisms.statistics._together import Together
from penstock.mechanisms.without_domain import expected_without_domain

__all__ = ["expect"]

_LEVEL = 0.95
_GAMMA = 0.05


def expect(params: Params, declared: Declared, records: int | None) -> tuple[str, ...]:
    """Return sentences for the person who chooses the settings; none of them depends on the data."""
    groups = layout(params, declared).rows
    sentences = [
        "All records are one group." if groups == 1 else f"{groups:,} groups; each is published, empty or not."
    ]
    if params.only:
        sentences = ["One group of the records is published."]
    average = None if records is None else records / groups
    if params.model == "dp":
        spent, plan = epsilons(params), planned(params, declared)
        if plan.together is not None:
            sentences.append(_drawn_together(plan.together))
        for name, question in plan.asked.items():
            spends = "drawn together" if isinstance(question, Shared) else f"epsilon {spent[name]} in a group"
            sentences.append(f"{name}: {_expected(question, average, groups)} ({spends}).")
            sentences += _warnings(name, question, average)
    elif params.model == "bdp":
        sentences += bootstrap_expected(params, declared, records)
    else:
        sentences.append("The size of the noise follows the data: it is secret, and not known before they are read.")
        sentences += [_at_most(figure, params, declared, records, groups) for figure in params.figures]
        sentences.append(
            "The release is refused if a group has too few records for a figure, or if no single record moves a figure "
            "of a group, as where many values are equal."
        )
    sentences += expected_without_domain(declared, (figure.of for figure in params.figures))
    sentences += clamping.expected(clamped(params, declared), declared, "figures")
    if params.rows_per_unit is not None:
        sentences.append(phrases.records_left_out(params.rows_per_unit)[2])
    return (*sentences, "Work grows like a sort: n log n for each column.")


def _drawn_together(together: Together) -> str:
    names = [figure.name for figure in together.figures]
    epsilon = sum((box.epsilon for box in together.boxes), Fraction(0))
    boxes = "" if len(together.boxes) == 1 else f" in {len(together.boxes)} boxes"
    return (
        f"{', '.join(names)}: drawn together with box noise (epsilon {epsilon} in a group), from "
        f"{phrases.counted(len(together.answers), 'total')}{boxes}; their errors are not independent."
    )


def _expected(question: Asked, average: float | None, groups: int) -> str:
    if isinstance(question, Shared) and question.figure.statistic in ("count", "sum"):
        half = question.half_width(_LEVEL)
        times = 2.1 if max(box.epsilon for box in question.together.boxes) <= 2 else 3
        about = f"about {_figure(times * question.standard_error)}" if half is None else _figure(half)
        return f"standard error {_figure(question.standard_error)}, 95 % interval ± {about}"
    if isinstance(question, Total):
        half_width = question.noise.half_width(0, _LEVEL) * float(question.step)
        return f"standard error {_figure(question.standard_error)}, 95 % interval ± {_figure(half_width)}"
    if isinstance(question, Spread | Shared):
        worst = question.worst_error if isinstance(question, Shared) else question.moments.worst_error()
        told = f"standard error at most about {_figure(worst)} / n in a group of n records"
        if average is None:
            return told
        size = "for all records" if groups == 1 else "in a group of average size"
        return f"{told}; {size} {_figure(worst / average)}, 95 % interval ± {_figure(2 * worst / average)}"
    missed = _figure(question.rank_error(_GAMMA))
    return f"with probability {1 - _GAMMA:g} the answer misses its rank by less than {missed} records"


def _warnings(name: str, question: Asked, average: float | None) -> list[str]:
    if isinstance(question, Extreme) and question.epsilon < 2 * log(question.grid.steps + 1):
        side = "above" if question.largest else "below"
        return [
            f"{name} rests on very few records, and at this epsilon it may come out anywhere {side} them, as far as "
            "the bound of the domain. A quantile that leaves out a few hundred records is far more exact."
        ]
    if isinstance(question, Quantile) and average is not None and question.rank_error(_GAMMA) > average / 4:
        return [f"{name} says little about a group of average size: raise epsilon, or ask for fewer groups or figures."]
    return []


def _at_most(figure: Statistic, params: Params, declared: Declared, records: int | None, groups: int) -> str:
    spent = epsilons(params)[figure.name]
    if figure.statistic == "count":
        widest = max(i * part for i, part in enumerate(fractions_of_epsilon(params.group_epsilons), start=1))
        error = _figure(sqrt(2) * float(widest / spent))
        return f"{figure.name}: standard error at most {error} (laplace, epsilon {spent})."
    grid = figure_grid(figure, declared)
    eta, bounds = grid.eta, (0, grid.steps)
    per_group = ""
    if figure.statistic == "variance":
        # The factor (n - 1) / n^2 of the worst case is less than 1 / n.
        reach, per_group = Fraction(grid.steps**2) * eta**2, " / n in a group of n records"
    elif figure.statistic == "sum" and params.adjacency == "from_D_add_remove":
        reach = max(abs(grid.first), abs(grid.first + grid.steps)) * eta
    elif figure.statistic == "mean":
        reach, per_group = worst_case.sum_of_values(*bounds) * eta, " / n in a group of n records"
    else:
        reach = worst_case.order_statistic(*bounds) * eta
    if figure.statistic in ("sum", "mean", "variance"):
        reach *= max(i * part for i, part in enumerate(fractions_of_epsilon(params.group_epsilons), start=1))
    worst = sqrt(2) * float(reach / spent)
    if per_group and groups == 1 and records is not None:
        worst, per_group = worst / records, ""
    if figure.statistic not in ("sum", "mean", "variance"):
        worst = min(worst, float(grid.steps * eta))  # answers are kept within the domain
    return f"{figure.name}: standard error at most {_figure(worst)}{per_group} (laplace, epsilon {spent})."


def _figure(number: float) -> str:
    """Return a number with three significant digits."""
    return f"{float(f'{number:.3g}'):,g}"
