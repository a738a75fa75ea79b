"""Statistics of groups of records: counts, sums, means, variances, medians, quantiles, extremes.

    _settings     what may be asked, and every reason to refuse it
    _count_settings  which records may be counted
    _mechanism    `protect`: records put into groups, every figure of every group drawn
    _promise      what it promises then
    _private      figures under differential privacy: what each measures and how it is drawn, alone or with others
    _together     counts, sums, means and variances that are made of the same noisy totals
    _individual   figures under individual differential privacy
    _bootstrap    figures under bootstrap differential privacy, and how far one record moves them;
                  _bootstrap_settings, _bootstrap_expect, _bootstrap_words: what may be asked, expected and said there
    _possible     the measures that have no value for some figures
    _expect       what to expect before any row is read;  _explain: what data users need to know

    _groups       values on the grid, sorted within their groups: what all of the others take
    _local        how far one record of the actual data, or several, move a statistic: the scale of individual
                  differential privacy;  _variance: the same of a variance
    _come_and_go  how far one record that comes or goes moves them;  _individual_sizes: figures of groups of secret
                  size, and counts of one category
    _several      several records protected together: group differential privacy
    _worst_case   how far one record of any data moves it: the scale of differential privacy
    _moments      means and variances from counts and sums with noise
    _blocks       the exponential mechanism over all points of a grid, exactly
    _quantiles    quantiles and medians with differential privacy, by it
    _extremes     largest and smallest values with differential privacy, by it
    smooth        smooth sensitivities of medians and of the maximum: to compare with, never a release
    _decay        e^-x between whole numbers, from which points are drawn exactly

`_local`, `_individual`, `_bootstrap` and `smooth` look at the data: what they return before noise is as secret as they
are. Questions use what is exported here of `_blocks`, `_quantiles` and `_moments`.
"""

from __future__ import annotations

from penstock.mechanisms.mechanism import Mechanism, always, of_figures
from penstock.mechanisms.stated_statistics import StatisticsChosen, StatisticsParameters
from penstock.mechanisms.statistics._blocks import Blocks, blocks_of_counts, draw_points, limit_of, score_reached
from penstock.mechanisms.statistics._bootstrap_settings import takes_resolution
from penstock.mechanisms.statistics._expect import expect
from penstock.mechanisms.statistics._explain import advice, treatments
from penstock.mechanisms.statistics._mechanism import (
    Params,
    Statistic,
    chosen_facts,
    faults,
    layout,
    promise,
    protect,
    takes_units,
)
from penstock.mechanisms.statistics._moments import totals_in_units
from penstock.mechanisms.statistics._possible import possible
from penstock.mechanisms.statistics._quantiles import LARGEST_DENOMINATOR, MEDIAN, score_sensitivity
from penstock.mechanisms.statistics._settings import prints_number

__all__ = [
    "LARGEST_DENOMINATOR",
    "MECHANISM",
    "MEDIAN",
    "Blocks",
    "Params",
    "Statistic",
    "blocks_of_counts",
    "chosen_facts",
    "draw_points",
    "faults",
    "layout",
    "limit_of",
    "promise",
    "protect",
    "score_reached",
    "score_sensitivity",
    "totals_in_units",
]

MECHANISM = Mechanism(
    name="statistics",
    params=Params,
    kind="cells",
    faults=faults,
    promise=promise,
    protect=protect,
    expect=expect,
    treatments=treatments,
    advice=advice,
    spends=always,
    takes_units=takes_units,
    stated=StatisticsParameters,
    possible=possible,
    layout=layout,
    chosen=chosen_facts,
    chosen_form=StatisticsChosen,
    prints_number=prints_number,
    takes_resolution=takes_resolution,
    counted=of_figures(layout),
)
