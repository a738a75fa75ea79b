"""MDAV straight from its definition, slowly: the second opinion for the compiled one."""

from __future__ import annotations

import numpy as np


def mdav_by_definition(points, k, fresh_mean=False):
    points = np.asarray(points, dtype=np.float64)
    labels = np.full(len(points), -1)
    left = np.arange(len(points))
    total = np.cumsum(points, axis=0)[-1]
    label = 0

    def distance(centre):
        result = np.zeros(len(left))
        for j in range(points.shape[1]):
            result += (points[left, j] - centre[j]) ** 2
        return result

    def farthest(centre):
        return left[np.argmax(distance(centre))]  # argmax: the first, so the lowest row

    def mean():
        return points[left].mean(axis=0) if fresh_mean else total / len(left)

    def cluster(seed):
        nonlocal left, label, total
        others = distance(points[seed])
        others[left == seed] = -1.0
        members = np.sort(left[np.lexsort((left, others))[:k]])
        for member in members:
            total = total - points[member]
        labels[members] = label
        label += 1
        left = left[~np.isin(left, members)]

    while len(left) >= 3 * k:
        first = farthest(mean())
        second = farthest(points[first])
        cluster(first)
        if second not in left:
            second = farthest(points[first])
        cluster(second)
    if len(left) >= 2 * k:
        cluster(farthest(mean()))
    labels[left] = label
    return labels
