"""Groups with a prescribed number from each bucket, straight from their definition, slowly: the second opinion."""

from __future__ import annotations

import numpy as np


def bucketed_by_definition(points, bucket, counts):
    points = np.asarray(points, dtype=np.float64)
    n, buckets = len(points), len(counts[0])
    counts = [[int(count) for count in row] for row in counts]
    sizes = [sum(row[j] for row in counts) for j in range(buckets)]
    labels = np.full(n, -1)
    left = np.arange(n)
    unused = list(range(len(counts)))
    total = np.cumsum(points, axis=0)[-1]

    def emphasis(g):
        surplus = [n * counts[g][j] - sum(counts[g]) * sizes[j] for j in range(buckets)]
        return surplus.index(max(surplus))

    emphases = [emphasis(g) for g in unused]

    def distance(centre):
        result = np.zeros(len(left))
        for j in range(points.shape[1]):
            result += (points[left, j] - centre[j]) ** 2
        return result

    def farthest(centre):
        return left[np.argmax(distance(centre))]  # argmax: the first, so the lowest row

    def group(seed):
        nonlocal left, total
        apart = distance(points[seed])
        order = [i for i in np.lexsort((left, apart)) if left[i] != seed]
        nearest = [[i for i in order if bucket[left[i]] == j] for j in range(buckets)]
        best = None
        for e in range(buckets):
            g = next((g for g in unused if emphases[g] == e), None)
            if g is None:
                continue
            cost, members = 0.0, [seed]
            for j in range(buckets):
                squares = 0.0
                for i in nearest[j][: counts[g][j] - (j == bucket[seed])]:
                    squares += apart[i]
                    members.append(left[i])
                cost += squares
            cost /= sum(counts[g])
            if best is None or cost < best[0]:
                best = cost, g, members
        _, g, members = best
        for row in sorted(members):
            total = total - points[row]
            labels[row] = g
        left = left[labels[left] < 0]
        unused.remove(g)

    while len(unused) > 1:
        first = farthest(total / len(left))
        group(first)
        if len(unused) > 1:
            group(farthest(points[first]))
    labels[left] = unused[0]
    return labels
