"""Single numbers about one column, for many groups at a time: how far one record moves them, and how to draw them.

groups       values on the grid, sorted within their groups: what all of the others take
local        how far one record of the actual data moves a statistic: the scale of individual differential privacy
worst_case   how far one record of any data moves it: the scale of differential privacy
quantiles    quantiles and medians with differential privacy, by the exponential mechanism
decay        e^-x between whole numbers, from which quantiles are drawn exactly
smooth       smooth sensitivity of the median and its noise; numbers to compare with, no guarantee

`local` looks at the data: what it returns is as secret as they are.
"""

from __future__ import annotations

from mechanisms.summaries.groups import SortedGroups, sorted_groups
from mechanisms.summaries.quantiles import MEDIAN, quantile

__all__ = ["MEDIAN", "SortedGroups", "quantile", "sorted_groups"]
