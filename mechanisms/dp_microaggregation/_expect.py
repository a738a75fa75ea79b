"""What to expect of differentially private microaggregation before any row is read, and when it is not worth it.

    expected error of a value    root mean square, if records were spread evenly (_choice.py)
    error of the noise alone     sqrt(2) scale eta / k      for a number, before the bounds cut it off     (1)
    error of one mean for all    the same with a single block

Where a column's standard deviation is below (1), publishing its mean alone would do as well.
"""

from __future__ import annotations

import math

from penstock.mechanisms import clamping
from penstock.mechanisms.columns import Declared, named
from penstock.mechanisms.dp_microaggregation._attributes import Number
from penstock.mechanisms.dp_microaggregation._choice import judged
from penstock.mechanisms.dp_microaggregation._mechanism import OUTPUT_ROLES, ChosenPart, Params, settle

__all__ = ["expect"]

# Blocks must beat one mean for all by a tenth to be worth their noise.
_WORTH_IT = 0.9


def expect(params: Params, declared: Declared, records: int | None) -> tuple[str, ...]:
    """Return sentences for the person who chooses the settings; errors need the number of records."""
    sentences = ["Every protected value is noisy; the noise is drawn once, and its size is public."]
    may_be = clamping.may_be_clamped(declared, named(declared, *OUTPUT_ROLES))
    sentences += clamping.expected(may_be, declared, "values and means")
    if params.k != "auto" and records is not None and records < params.k:
        return (*sentences, f"The release will be refused: {records:,} records are fewer than k = {params.k:,}.")
    if records is None:
        return (*sentences, "Expected errors depend on the number of records: pass --count to read it.")
    sentences.append(
        "Expected errors are root mean squares, if records were spread evenly over the declared domains; skewed "
        "columns do better or worse. A column whose standard deviation is below its noise gains nothing over its mean."
    )
    for part in settle(params, declared, records):
        sentences += _part(part, declared, records)
    return (*sentences, "Work grows like a sort: n log n.")


def _part(part: ChosenPart, declared: Declared, records: int) -> list[str]:
    choice = part.choice
    last = choice.k + records % choice.k
    longer = f" (the last one {last:,})" if last > choice.k else ""
    names = ", ".join(part.attributes)
    sentences = [f"{names}: {choice.blocks:,} blocks of {choice.k:,} records{longer}, order {choice.order.name}."]
    for joint in choice.joints:
        left, number = joint.linked.possible.shape[1], joint.linked.candidates
        sentences.append(
            f"{', '.join(joint.linked.names)} are drawn together, from {left:,} of {number:,} combinations; a record "
            "that has another is not refused, and counts as it is."
        )
    linked = [joint.linked for joint in choice.joints]
    single = judged(choice.order, list(part.attributes.values()), part.epsilons, records, records, linked)
    for place, (name, attribute) in enumerate(part.attributes.items()):
        error, alone = choice.errors[place], single.errors[place]
        verdict = ", which does as well" if error > _WORTH_IT * alone else ""
        if isinstance(attribute, Number):
            low, high = declared[name].bounds
            noise = part.facts()["columns"][name]["noise_error"]
            error, alone = error * (high - low), alone * (high - low)
            share = f"of which {_figure(noise)} is noise" if noise < error else "nearly all of it noise"
            sentences.append(
                f"{name}: expected error {_figure(error)}, {share}; one mean for all: {_figure(alone)}{verdict}."
            )
        else:
            sentences.append(
                f"{name}: expected distance {_figure(error)} of the largest possible; "
                f"one category for all: {_figure(alone)}{verdict}."
            )
    gains = [error / alone for error, alone in zip(choice.errors, single.errors, strict=True)]
    if choice.blocks == 1 or math.hypot(*gains) > _WORTH_IT * math.sqrt(len(gains)):
        sentences.append("Publishing one mean or category for all records would do about as well at this epsilon.")
    return sentences


def _figure(number: float) -> str:
    """Return a number with three significant digits."""
    return "below 0.001" if number < 0.001 else f"{float(f'{number:.3g}'):,g}"
