"""Judge data: risk and utility of what is about to be released, and whether the promise holds in it.

measurement.py       one judgement: value, interval, direction, n, attacker, missing rule
registry.py          measures by name: `measure("record_linkage")(original, released, declared)`
linkage.py           risk: records found again by distance
anonymity.py         risk: what follows from the groups
information_loss.py  utility: values, means, variances, correlations
foreseen.py          risk and utility: what public facts alone tell
table_measures.py    measures of tables by name: `judge_table("p_percent", output)`; table_rules.py: risk by the classic
                     rules; table_errors.py: utility; rounding.py: exact numbers that gates can compare
bucket_measures.py   measures of groups with buckets by name: `judge_buckets("closeness_ratio", output)`;
                     bucket_loss.py: variation inside groups
recheck.py           the guarantee counted again on the output, by code independent of the mechanism:
                     checks.py (what checks share), group_checks.py, block_checks.py
                     table_checks.py: table_promise.py (what is promised), table_totals.py (cells counted again),
                     table_figures.py (what is shown), table_noise.py (what was drawn), noise_size.py (is it enough)
                     statistic_checks.py, statistic_facts.py: the same for statistics of groups
                     bucket_checks.py: groups with buckets: bucket_promise.py (what is promised), bucket_labels.py
                     (labels read), bucket_counts.py (shares), bucket_tables.py (tables beside the records)
gates.py             limits, verdicts and the one decision
comparison.py        original and released side by side; rows.py: equality of values and records
table_output.py      a released table with all that is known of it; bucket_output.py: the same of groups with buckets
kernels.py           compiled loops

Everything here is pure: arrays in, frozen results out. Results are confidential unless they say `public`.
"""

from __future__ import annotations

from measures.bucket_measures import bucket_measure_names, judge_buckets
from measures.bucket_output import BucketOutput
from measures.checks import Check, RecheckImpossible
from measures.gates import Decision, Gate, GateRefused, GateResult, Verdict, decide
from measures.measurement import Measurement, MeasureUndefined, MeasureUnknown
from measures.recheck import recheck, recheck_buckets, recheck_table
from measures.registry import Measure, measure, measure_names, public_measures, record_measure_names
from measures.table_measures import judge_table, table_measure_names
from measures.table_output import TableOutput

__all__ = [
    "BucketOutput",
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
    "TableOutput",
    "Verdict",
    "bucket_measure_names",
    "decide",
    "judge_buckets",
    "judge_table",
    "measure",
    "measure_names",
    "public_measures",
    "recheck",
    "recheck_buckets",
    "recheck_table",
    "record_measure_names",
    "table_measure_names",
]
