"""Real outputs of the mechanism pass every check and have every measure."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from penstock.measures import BucketOutput, MeasureUndefined, judge, measure_names
from penstock.measures.asked import NOTHING, Asked
from penstock.measures.recheck import recheck
from penstock.mechanisms import closeness
from penstock.mechanisms.columns import Column
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.refusal import Refusal
from tests.measures.bucket_maker import KIND
from tests.measures.judged_columns import nominal, number
from tests.support.order import examples

CONFIDENTIAL = {
    "income": number(-5, 100.5),
    "rooms": Column(role="confidential", type="integer", domain=(-3, 50)),
    "band": Column(role="confidential", type="ordinal", categories=("0 to 5", "5 to 10", "10 to 20", "over 20")),
    "kind": KIND,
}


def made_by_the_mechanism(params, names, n, seed):
    rng = np.random.default_rng(seed)
    declared = {
        "id": Column(role="identifier"),
        "age": number(0, 100, role="quasi_identifier"),
        "region": nominal(4, role="quasi_identifier", missing="category"),
        **{name: CONFIDENTIAL[name] for name in names},
        "weight": Column(role="weight"),
    }
    drawn = {
        "age": rng.integers(0, 100, n).astype(float),
        "region": rng.integers(-1, 4, n),
        "income": np.round(rng.gamma(2, 8, n).clip(-5, 100), int(rng.integers(0, 9))),
        "rooms": rng.integers(-3, int(rng.integers(-1, 51)), n),
        "band": rng.integers(0, int(rng.integers(1, 5)), n),
        "kind": rng.integers(0, int(rng.integers(1, 6)), n),
        "weight": rng.random(n) + 0.5,
    }
    columns = {name: values for name, values in drawn.items() if name in declared}
    found = closeness.protect(columns, declared, params, seeded(seed))
    del declared["id"]
    return BucketOutput(
        original=columns,
        source=declared,
        released=found.columns,
        declared={name: found.made.get(name) or declared[name] for name in found.columns},
        linked=found.linked,
        guarantee=found.guarantee,
        groups=found.groups,
        buckets={name.removeprefix("bucket "): codes for name, codes in found.hidden.items()},
        chosen=found.chosen,
        records=n,
    )


@settings(deadline=None, max_examples=examples(60))
@given(
    st.integers(0, 2**32),
    st.integers(20, 200),
    st.sets(st.sampled_from(sorted(CONFIDENTIAL)), min_size=1),
    st.sampled_from([{"t": "11/10"}, {"t": "2"}, {"t": "7/2"}, {"epsilon": "1/2"}, {"epsilon": "7/4"}, None]),
    st.integers(2, 8),
    st.sampled_from(["anatomy", "permuted"]),
    st.sampled_from(["joint", "each"]),
)
def test_real_outputs_of_every_kind_pass(seed, n, names, bound, k, form, several):
    if bound is None:
        params = closeness.Params(method="ranked", output="anatomy", k=k)
    else:
        several = several if len(names) > 1 else None
        params = closeness.Params(method="buckets", output=form, k=k, several=several, **bound)
    try:
        output = made_by_the_mechanism(params, sorted(names), n, seed)
    except Refusal:
        reject()
    checks = recheck(output)
    assert all(check.passed for check in checks), [check.name for check in checks if not check.passed]
    for name in measure_names("groups"):
        asked = Asked(knows=0) if name == "closeness_after" else NOTHING
        if bound is None and name in ("bucket_width", "closeness_after", "closeness_ratio", "narrowest_bucket"):
            with pytest.raises(MeasureUndefined):
                judge(name, output, asked)
        else:
            assert judge(name, output, asked).n == n
