"""Groups with prescribed numbers from each bucket, straight from their definition, slowly: the second opinion."""

from __future__ import annotations

import numpy as np


def bucketed_by_definition(points, bucket, counts):
    points = np.asarray(points, dtype=np.float64)
    n, groups, buckets = len(points), len(counts), len(counts[0])
    sizes = [sum(int(row[j]) for row in counts) for j in range(buckets)]
    labels = np.full(n, -1)
    left = list(range(n))
    unused = list(range(groups))
    total = np.cumsum(points, axis=0)[-1]

    def emphasis(g):
        row = [int(count) for count in counts[g]]
        surplus = [n * row[j] - sum(row) * sizes[j] for j in range(buckets)]
        return surplus.index(max(surplus))

    def distance(row, centre):
        result = 0.0
        for j in range(points.shape[1]):
            difference = points[row, j] - centre[j]
            result += difference * difference
        return result

    def farthest(centre):
        return min(left, key=lambda row: (-distance(row, centre), row))

    def group(seed):
        nonlocal left, total
        centre = points[seed]
        nearest = [
            sorted((distance(row, centre), row) for row in left if bucket[row] == j and row != seed)
            for j in range(buckets)
        ]
        best = None
        for e in range(buckets):
            g = next((g for g in unused if emphasis(g) == e), None)
            if g is None:
                continue
            cost, members = 0.0, [seed]
            for j in range(buckets):
                prefix = 0.0
                for apart, row in nearest[j][: counts[g][j] - (j == bucket[seed])]:
                    prefix += apart
                    members.append(row)
                cost += prefix
            cost /= sum(int(count) for count in counts[g])
            if best is None or cost < best[0]:
                best = cost, g, members
        _, g, members = best
        for row in sorted(members):
            total = total - points[row]
            labels[row] = g
        left = [row for row in left if row not in set(members)]
        unused.remove(g)

    while len(unused) > 1:
        first = farthest(total / len(left))
        group(first)
        if len(unused) > 1:
            group(farthest(points[first]))
    labels[left] = unused[0]
    return labels
