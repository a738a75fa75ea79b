"""Nearly everybody lacks a quasi-identifier: does a gate on informed linkage look at them?

Under `ir_swap` quasi-identifiers stay as they are, and a missing one may be a category. 240 of 250 persons had none,
and equal debts in blocks of ten, so that swaps changed nothing: by their other quasi-identifier each was found with the
right debt. Linkage left them out, and its gate passed on the ten others.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.measures.gates import GateRefused
from penstock.tasks.gate import pass_gates
from tests.support.private_release import begun
from tests.support.workplace import Workplace

FEW, ALL = 10, 250


def write(workplace: Workplace, *, lacking: bool) -> None:
    person = np.arange(ALL)
    debt = np.where(person < FEW, 500 + person, person // 10)
    child = pa.array(person % 18, mask=(person >= FEW) if lacking else None)
    pq.write_table(pa.table({"number": person, "child": child, "debt": debt}), workplace.source)
    workplace.raw["source"]["columns"] = {
        "number": {"role": "quasi_identifier", "type": "integer", "domain": [0, ALL]},
        "child": {"role": "quasi_identifier", "type": "integer", "domain": [0, 17], "missing": "category"},
        "debt": {"role": "confidential", "type": "integer", "domain": [0, 1000]},
    }
    workplace.raw["protect"] = [{"mechanism": "probabilistic_k_anonymity", "method": "ir_swap", "k": 10}]
    workplace.raw["gates"] = [{"measure": "informed_linkage", "knows": 0, "max": 0.6}]


@pytest.mark.parametrize("lacking", [True, False])
def test_who_lacks_a_quasi_identifier_counts(workplace: Workplace, lacking: bool) -> None:
    write(workplace, lacking=lacking)
    with begun(workplace, account=False) as line:
        _, _, decision = line.assess()
        with pytest.raises(GateRefused, match="informed_linkage"):
            pass_gates(line.job, decision)
