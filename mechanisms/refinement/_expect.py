"""Sentences on what to expect of refined answers, from public facts alone."""

from __future__ import annotations

from fractions import Fraction

from penstock.mechanisms import clamping
from penstock.mechanisms.columns import Declared, named
from penstock.mechanisms.refinement._mechanism import OUTPUT_ROLES, Params, asked

__all__ = ["expect"]


def _given_away(moved: Fraction, records: int | None) -> str:
    """Return how many answers are replaced by the truth; moved: the share of each column, added up."""
    of_one = f"Delta: up to {float(moved):.3g} answers about a record are expected to be replaced by the truth"
    return f"{of_one}." if records is None else f"{of_one}, {float(moved * records):.3g} among all {records:,}."


def expect(params: Params, declared: Declared, records: int | None) -> tuple[str, ...]:
    """Return sentences for the person who chooses the settings."""
    sentences = [
        "Every value is one random answer: drawn from its prior, and more often near the truth. No answer is one "
        "that the prior excludes.",
        "Expected errors are root mean squares, if true values are spread as the priors say; where a prior is wrong, "
        "they can be larger, and the promise holds all the same.",
    ]
    all_asked = asked(params, declared)
    if params.delta is not None:
        alone = (question.refined.moved for question in all_asked.alone.values())
        shares = (*alone, *(joint.refined.moved for joint in all_asked.joint))
        sentences.append(_given_away(sum(shares, Fraction(0)), records))
    for name, question in all_asked.alone.items():
        share = float(question.refined.factors.share_inside)
        error = question.facts()["expected_error"]
        unit = error
        if declared[name].numeric:
            low, high = declared[name].bounds
            unit = error * (high - low)
        distance = "expected error" if declared[name].numeric else "expected distance, as a share of the largest"
        sentences.append(
            f"{name}: {distance} {unit:.3g}; the nearest {share:.0%} of the prior get about {1 - share:.0%} of the "
            "answers."
        )
    for joint in all_asked.joint:
        share, weights = float(joint.refined.factors.share_inside), joint.refined.axis.weights
        sentences.append(
            f"{', '.join(joint.parts)} are answered together, with the sum of their shares: {(weights > 0).sum()} of "
            f"{len(weights)} combinations are possible, and no other comes out, even if the data have it; the nearest "
            f"{share:.0%} of the prior get about {1 - share:.0%} of the answers."
        )
        moved = joint.moved()
        sentences += [
            f"{name}: expected distance, as a share of the largest {facts['expected_error']:.3g}; what is impossible "
            f"moves {moved[name]:.0%} of its prior to other values."
            for name, facts in joint.facts()["answers"].items()
        ]
    may_be = clamping.may_be_clamped(declared, named(declared, *OUTPUT_ROLES))
    sentences += clamping.expected(may_be, declared, "values and means")
    return (*sentences, "Work grows with the number of records.")
