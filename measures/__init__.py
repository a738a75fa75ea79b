"""Judge data: risk and utility of what is about to be released, and whether the promise holds in it.

measurement.py       one judgement: value, interval, direction, n, attacker, missing rule
registry.py          measures by name: `measure("record_linkage")(original, released, declared)`
linkage.py           risk: records found again by distance
anonymity.py         risk: what follows from the groups
information_loss.py  utility: values, means, variances, correlations
foreseen.py          utility: what public facts alone tell
recheck.py           the guarantee counted again on the output, by code independent of the mechanism:
                     checks.py (what checks share), group_checks.py, block_checks.py
gates.py             limits, verdicts and the one decision
comparison.py        original and released side by side; rows.py: equality of values and records
kernels.py           compiled loops

Everything here is pure: arrays in, frozen results out. Results are confidential unless they say `public`.
"""

from __future__ import annotations

from measures.checks import Check, RecheckImpossible
from measures.gates import Decision, Gate, GateRefused, GateResult, Verdict, decide
from measures.measurement import Measurement, MeasureUndefined, MeasureUnknown
from measures.recheck import recheck
from measures.registry import Measure, measure, measure_names, public_measures

__all__ = [
    "Check",
    "Decision",
    "Gate",
    "GateRefused",
    "GateResult",
    "Measure",
    "MeasureUndefined",
    "MeasureUnknown",
    "Measurement",
    "RecheckImpossible",
    "Verdict",
    "decide",
    "measure",
    "measure_names",
    "public_measures",
    "recheck",
]
