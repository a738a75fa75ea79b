"""Groups of at least k similar records.

    mdav        groups in several dimensions (MDAV), exactly by its definition, by scans or by trees
    ranking     groups along one sorted column (individual ranking)
    bucketed    groups in several dimensions with a prescribed number from each bucket
    centroids   one value that stands for a group
    space       records with taxonomies, compared by semantic distance: MDAV, groups of variable size (V-MDAV), and the
                concept that stands for a group
    diverse     groups joined until each has several values of every confidential column
    kernels     MDAV by scans of all points, compiled; `mdav_labels` chooses the next group
    _rounds     MDAV and its form under counts by searches in trees, compiled; `mdav_round` chooses the next group
    _tree       search for the nearest and the farthest points in k-d trees, compiled
    _space_kernels  the groups of `space`, compiled
    _leaves     points arranged in the leaves of these trees, compiled

Columns become points in penstock.mechanisms.points. Blocks along a public order, for differential privacy, are in
penstock.mechanisms.dp_microaggregation.
"""

from __future__ import annotations

from penstock.mechanisms.microaggregation.bucketed import bucketed_groups
from penstock.mechanisms.microaggregation.mdav import mdav
from penstock.mechanisms.microaggregation.ranking import individual_ranking

__all__ = ["bucketed_groups", "individual_ranking", "mdav"]
