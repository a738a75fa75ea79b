"""A tiny honest maker of groups with buckets, written from the definitions, whose output a test may break."""

from __future__ import annotations

from collections import Counter

import numpy as np

from penstock.measures import BucketOutput
from penstock.measures.recheck import recheck
from penstock.mechanisms.columns import Column
from penstock.mechanisms.protected import Linked
from tests.measures.judged_columns import nominal, number, ordinal, promise

SHOWN = ("unchanged_columns", "confidential_absent")
AUDITS = {
    ("buckets", "anatomy"): ("group_sizes", "closeness", "values_in_buckets", "bucket_table", *SHOWN),
    ("buckets", "permuted"): ("group_sizes", "closeness", "values_in_buckets", "permutation_within_groups", *SHOWN),
    ("ranked", "anatomy"): ("group_sizes", "values_by_group", *SHOWN),
}
# Every kind of output there is.
ANY = [
    {"columns": ("income",)},
    {"columns": ("rank",), "output": "permuted"},
    {"columns": ("kind",), "output": "permuted"},
    {"several": "joint"},
    {"several": "joint", "output": "permuted"},
    {"several": "each"},
    {"several": "each", "output": "permuted"},
    {"method": "ranked"},
]
BUCKETED = ANY[:-1]
ANATOMY = [chosen for chosen in BUCKETED if "output" not in chosen]
PERMUTED = [chosen for chosen in BUCKETED if "output" in chosen]

KIND = Column(
    role="confidential",
    type="nominal",
    categories=("iron", "copper", "oak", "pine", "glass"),
    taxonomy={
        "iron": ("metal",),
        "copper": ("metal",),
        "metal": ("all",),
        "oak": ("all",),
        "pine": ("all",),
        "glass": ("all",),
        "all": (),
    },
)
SOURCE = {
    "age": number(0, 100, role="quasi_identifier"),
    "region": nominal(4, role="quasi_identifier", missing="category"),
    "income": number(0, 40),
    "rank": ordinal(5),
    "kind": KIND,
    "weight": Column(role="weight"),
}
N, K = 24, 4
# The labels of each column, and which of them the three buckets have.
LABELS = {
    "income": (("0 to 10.5", "12 to 22.5", "24 to 34.5"), (0, 1, 2)),
    "rank": (("a to c", "c to e"), (0, 1, 1)),
    "kind": (("metal", "oak | pine"), (0, 1, 0)),
}


def records():
    """Eight records in each of three buckets: incomes rise, ranks and kinds go along; then they are mixed."""
    bucket, place = np.divmod(np.arange(N), N // 3)
    columns = {
        "age": (np.arange(N) * 7 % 80).astype(float),
        "region": np.arange(N) % 5 - 1,
        "income": np.arange(N) * 1.5,
        "rank": np.where(bucket == 0, place % 3, 2 + place % 3),
        "kind": np.where(bucket == 1, 2 + place % 2, place % 2),
        "weight": np.linspace(1, 2, N),
    }
    mixed = np.random.default_rng(5).permutation(N)
    return bucket[mixed], place[mixed], {name: values[mixed] for name, values in columns.items()}


class Made:
    """A correct output that a test may break. t = 2: a group has two records of one bucket and one of each other."""

    def __init__(self, columns=("income", "rank", "kind"), method="buckets", output="anatomy", several=None):
        self.columns, self.method, self.form, self.several = columns, method, output, several
        bucket, place, original = records()
        confidential = SOURCE.keys() - {"age", "region", "weight", *columns}
        self.source = {name: column for name, column in SOURCE.items() if name not in confidential}
        self.original = {name: original[name] for name in self.source}
        parameters = {"mechanism": "closeness", "method": method, "output": output, "k": K, "scaling": {}}
        self.groups, self.buckets, self.chosen = {}, {}, {}
        if method == "buckets":
            stated = {"t": "2", "buckets": 3}
            self.chosen |= stated
            parameters |= {**stated, "epsilon": "7/10", "several": several, "ties": "split at random"}
            slots = [[group for group in range(6) for _ in range(2 if group % 3 == j else 1)] for j in range(3)]
            for turn, name in enumerate(columns):
                turn = turn if several == "each" else 0
                self.groups[name] = np.array(
                    [slots[j][(p + turn) % 8] for j, p in zip(bucket, place, strict=True)], np.int64
                )
                self.buckets[name] = np.array([LABELS[name][1][j] for j in bucket], np.int64)
        else:
            parameters |= {"ties": "broken at random"}
            by_income = np.argsort(np.argsort(original["income"]))
            self.groups = dict.fromkeys(columns, by_income // K)
        model = "t_close" if method == "buckets" else "prob_k"
        self.guarantee = promise(model, AUDITS[method, output], **parameters)
        self.labels = {name: LABELS[name][0] for name in columns}
        self.publish()

    @property
    def parameters(self):
        return self.guarantee.parameters

    # What is published.

    def parts(self):
        """The columns that belong together, their key and their table."""
        if self.several == "each":
            return [((name,), f"group_{name}", f"buckets_{i}") for i, name in enumerate(self.columns, 1)]
        return [(self.columns, "group", "values" if self.method == "ranked" else "buckets")]

    def publish(self):
        """All that is released, from the groups and the buckets of the records."""
        self.released = {name: v.copy() for name, v in self.original.items() if name not in self.columns}
        self.declared = {name: self.source[name] for name in self.released}
        self.linked = {}
        if self.form == "permuted":
            for names, _, _ in self.parts():
                self._permute(names)
            return
        for names, key, table in self.parts():
            groups = self.groups[names[0]]
            self.released[key] = groups + 1
            self.declared[key] = self.key(max(groups) + 1)
            self.linked[table] = self._table(names, key)

    @staticmethod
    def key(groups):
        return Column(role="confidential", type="integer", domain=(1, int(groups)) if groups > 1 else (0, 1))

    def made(self, name):
        """The published column of labels."""
        kind = "ordinal" if name != "kind" and len(self.labels[name]) > 1 else "nominal"
        return Column(role="confidential", type=kind, categories=self.labels[name])

    def _permute(self, names):
        """Every group turned by one place."""
        taken = np.arange(len(self.groups[names[0]]))
        for group in set(self.groups[names[0]].tolist()):
            rows = np.flatnonzero(self.groups[names[0]] == group)
            taken[rows] = np.roll(rows, 1)
        for name in names:
            self.released[name] = self.buckets[name][taken]
            self.declared[name] = self.made(name)

    def _table(self, names, key):
        groups = (self.groups[names[0]] + 1).tolist()
        if self.method == "ranked":
            columns = [self.original[name].tolist() for name in names]
            rows, last = sorted(zip(groups, *columns, strict=True)), []
            declared = {name: self.source[name] for name in names}
        else:
            found = Counter(zip(groups, *(self.buckets[name].tolist() for name in names), strict=True))
            rows, last = [(*row, found[row]) for row in sorted(found)], ["records"]
            declared = {name: self.made(name) for name in names}
            declared["records"] = Column(role="confidential", type="integer", domain=(0, len(groups)))
        columns = map(np.array, zip(*rows, strict=True))
        return Linked(
            key, dict(zip([key, *names, *last], columns, strict=True)), {key: self.key(max(groups)), **declared}
        )

    # The verdict.

    def output(self):
        return BucketOutput(
            original=self.original,
            source=self.source,
            released=self.released,
            declared=self.declared,
            linked=self.linked,
            guarantee=self.guarantee,
            groups=self.groups,
            buckets=self.buckets,
            chosen=self.chosen,
            records=len(self.original["age"]),
        )

    def checks(self):
        return recheck(self.output())

    def failed(self):
        checks = self.checks()
        assert tuple(check.name for check in checks) == self.guarantee.audit
        return {check.name for check in checks if not check.passed}
