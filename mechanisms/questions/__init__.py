"""Typed questions, and the methods that answer them side by side: their promises, errors and draws.

    query        what may be asked, and the public terms of a data set: begin here
    method       what a method is: guarantee, expected, least_epsilon, begin, add, answer
    offered      which methods can answer a question, and why the others cannot
    accuracy     how far answers stray, and the least epsilon for a wanted error

    _faults      every reason why a question cannot be asked
    _asked       a question without fault, and what follows from it in public
    _filters     which records satisfy its conditions;  _coded: categories by a table
    _fold        rows folded into exact whole numbers;  _kernels: its compiled loops;  _order: steps in ascending order
    _additive    counts and sums by Laplace and staircase noise;  _means: means by Laplace noise
    _ranks       medians, quantiles and extremes by the exponential mechanism
    _individual  by noise that follows the actual data (idp);  _bootstrap: (bdp);  _relaxed: what both share
    _refined     by knowledge refinement: statistics, and the value of one individual
    _promise     what an answer promises;  _cautions: what no stated error covers
    _words       numbers in sentences

Nothing here knows an account: what an epsilon costs whom is the ledger's business. Nothing of the data is refused.
"""

from __future__ import annotations

from penstock.mechanisms.questions._coded import Coded
from penstock.mechanisms.questions._faults import MOST_CONDITIONS, MOST_GROUPS, condition_faults, faults
from penstock.mechanisms.questions._filters import satisfied
from penstock.mechanisms.questions._fold import Exact
from penstock.mechanisms.questions.accuracy import CONFIDENCE, Curve, Expected
from penstock.mechanisms.questions.method import Answer, Drawn, Method
from penstock.mechanisms.questions.offered import NAMES, methods, why_not
from penstock.mechanisms.questions.query import Condition, Query, Terms, canonical, whole_number

__all__ = [
    "CONFIDENCE",
    "MOST_CONDITIONS",
    "MOST_GROUPS",
    "NAMES",
    "Answer",
    "Coded",
    "Condition",
    "Curve",
    "Drawn",
    "Exact",
    "Expected",
    "Method",
    "Query",
    "Terms",
    "canonical",
    "condition_faults",
    "faults",
    "methods",
    "satisfied",
    "whole_number",
    "why_not",
]
