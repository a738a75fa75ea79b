"""Single numbers about one column, for many groups at a time: how far one record moves them, and how to draw them.

settings     what may be asked of the mechanism `statistics`, and every reason to refuse it
promises     what it promises then
private      its figures under differential privacy: what each measures and how it is drawn
individual   its figures under individual differential privacy

groups       values on the grid, sorted within their groups: what all of the others take
local        how far one record of the actual data moves a statistic: the scale of individual differential privacy
worst_case   how far one record of any data moves it: the scale of differential privacy
moments      means and variances from counts and sums with noise
blocks       the exponential mechanism over all points of a grid, exactly
quantiles    quantiles and medians with differential privacy, by it
extremes     largest and smallest values with differential privacy, by it
decay        e^-x between whole numbers, from which points are drawn exactly
smooth       smooth sensitivity of the median and its noise; numbers to compare with, no guarantee

`local` and `individual` look at the data: what they return before noise is as secret as they are.
"""

from __future__ import annotations

from mechanisms.summaries.groups import SortedGroups, sorted_groups
from mechanisms.summaries.quantiles import MEDIAN, quantile

__all__ = ["MEDIAN", "SortedGroups", "quantile", "sorted_groups"]
