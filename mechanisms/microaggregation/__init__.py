"""Groups of at least k similar records.

mdav        groups in several dimensions (MDAV), exactly by its definition
ranking     groups along one sorted column (individual ranking)
points      columns of any type as points between which MDAV measures distance
centroids   one value that stands for a group
bucketed    groups in several dimensions with a prescribed number from each bucket
kernels     the compiled loops: scans of all points,
leaves      points arranged in leaves of trees,
tree        search for the nearest and the farthest in them,
rounds      and both kinds of groups by such searches

and blocks along a public order, for differential privacy:

orders      the orders, each with the sensitivity that it is proven to keep
attributes  what a block releases of a number or a category, and the error to expect
choice      the order and block size with the smallest expected error, from public facts

    _leaves   points arranged in the leaves of k-d trees, compiled
    _rounds   MDAV and its form under counts over k-d trees, compiled
    _tree     search for the nearest and the farthest points in k-d trees, compiled
"""

from __future__ import annotations

from penstock.mechanisms.microaggregation.bucketed import bucketed_groups
from penstock.mechanisms.microaggregation.mdav import mdav
from penstock.mechanisms.microaggregation.ranking import individual_ranking

__all__ = ["bucketed_groups", "individual_ranking", "mdav"]
