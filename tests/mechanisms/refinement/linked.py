"""Columns of which some combinations cannot be, and what these combinations are in words."""

from __future__ import annotations

import numpy as np

from penstock.mechanisms.columns import Column
from penstock.mechanisms.refinement import Params

EVEN = {"kind": "uniform"}
TREE = {"oak": ["tree"], "ash": ["tree"], "rose": ["plant"], "tree": ["plant"], "plant": []}
DECLARED = {
    "age": Column(role="quasi_identifier", type="integer", domain=(0, 120)),
    "kin": Column(role="quasi_identifier", type="nominal", categories=("husband", "wife", "child")),
    "sex": Column(role="quasi_identifier", type="nominal", categories=("female", "male")),
    "school": Column(role="quasi_identifier", type="ordinal", categories=(1, 2, 3, 4)),
    "plant": Column(role="confidential", type="nominal", taxonomy=TREE),
    "cause": Column(role="confidential", type="nominal", categories=("fall", "fire")),
}
IMPOSSIBLE = [
    {"kin": "husband", "sex": "female"},
    {"sex": ["male"], "kin": ["wife"]},
    {"kin": "child", "school": [3, 4]},
]
MASSES = {
    "kin": {"kind": "masses", "masses": {"husband": "3/10", "wife": "3/10", "child": "4/10"}},
    "sex": {"kind": "masses", "masses": {"female": "51/100", "male": "49/100"}},
}
N = 400


def params(names=tuple(DECLARED), **settings):
    priors = {name: MASSES.get(name, EVEN) for name in names}
    return Params(**{"epsilon": "3", "adjacency": "replace", "priors": priors, "impossible": IMPOSSIBLE, **settings})


def only(*names):
    return {name: DECLARED[name] for name in names}


def sample(n=N, seed=1, declared=DECLARED):
    rng = np.random.default_rng(seed)
    return {
        name: rng.integers(0, len(column.categories), n) if column.categories else rng.integers(0, 121, n)
        for name, column in declared.items()
    }


def is_impossible(record, impossible=IMPOSSIBLE):
    """By the words of the combinations; record: the category of each column."""
    return any(
        all(record[name] == each if not isinstance(each, list) else record[name] in each for name, each in one.items())
        for one in impossible
    )


def in_words(columns, declared=DECLARED):
    names = [name for name in columns if declared[name].categories]
    codes = zip(*(columns[name].tolist() for name in names), strict=True)
    return [
        dict(zip(names, (declared[n].categories[c] for n, c in zip(names, row, strict=True)), strict=True))
        for row in codes
    ]
