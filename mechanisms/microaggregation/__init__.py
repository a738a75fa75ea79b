"""Groups of at least k similar records.

mdav        groups in several dimensions (MDAV), exactly by its definition
ranking     groups along one sorted column (individual ranking)
points      columns of any type as points between which MDAV measures distance
centroids   one value that stands for a group
kernels     the compiled loops
"""

from __future__ import annotations

from mechanisms.microaggregation.mdav import mdav
from mechanisms.microaggregation.ranking import individual_ranking

__all__ = ["individual_ranking", "mdav"]
