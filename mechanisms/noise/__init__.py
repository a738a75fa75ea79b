"""Exact integer noise: every probability below holds to the last digit, because only uniform integers are drawn.

    bernoulli               Bernoulli(e^-x) and the geometric distribution, from which the others are made
    laplace                 discrete Laplace noise, for one answer or several
    staircase               the smallest noise for one answer
    box                     noise for several answers with a sensitivity each
    exponential_mechanism   one of several alternatives by its score: low scores are likely
    scale                   the rational scale that the samplers use, never too small
    totals                  totals with noise, without overflow
    series                  sums of a polynomial over a geometric distribution
    accuracy                variances and intervals of all of them; floats, for utility only
    words                   how compiled loops are fed with random words
    kernels                 the compiled loops

A result that would not fit into 64 bits is +-(2^63 - 1). For a true answer f and a public interval low..high, all
smaller than 2^62 in size, `f + np.clip(noise, low - f, high - f)` is then exactly the sum, clamped to the interval,
so clamping keeps the promise. The plain sum may overflow and does not.

The time a draw takes varies with what is drawn. Nobody outside may measure it.
"""

from __future__ import annotations

from penstock.mechanisms.noise.bernoulli import bernoulli_exp, geometric
from penstock.mechanisms.noise.box import box
from penstock.mechanisms.noise.exponential_mechanism import choose
from penstock.mechanisms.noise.laplace import discrete_laplace
from penstock.mechanisms.noise.scale import scale_at_least
from penstock.mechanisms.noise.staircase import staircase

__all__ = ["bernoulli_exp", "box", "choose", "discrete_laplace", "geometric", "scale_at_least", "staircase"]
