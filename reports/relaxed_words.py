"""What a relaxation bought and leaks, in one sentence each, for those who decide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from penstock.reports.words import counted, number

__all__ = ["relaxation_in_short"]

Facts = Mapping[str, Any]


def relaxation_in_short(found: Facts) -> str:
    """Return the whole account in one sentence."""
    return "; ".join(_parts(found)) + "."


def _parts(found: Facts) -> Iterator[str]:
    gains = [gain for figure in found["figures"] if figure["gains"] for gain in figure["gains"]]
    if gains:
        least, most = number(float(min(gains))), number(float(max(gains)))
        times = f"{most} times" if least == most else f"{least} to {most} times"
        yield f"Differential privacy with the same epsilon would need {times} the noise that was drawn"
    else:
        yield "No domain is declared, without which differential privacy could not be had at all"
    if found["model"] == "bdp" and found["outside"] is None:
        yield "how many records are unlike all others was not counted, because the records were never held together"
    elif found["model"] == "bdp":
        share = counted(found["outside"], "record")
        yield f"of {counted(found['records'], 'record')} it leaves {share} without deniability in some figure"
    exact = sum(figure["exact_neighbours"] or 0 for figure in found["figures"])
    if exact:
        of = counted(exact, "cell")
        yield f"{of} below would have had no noise if one record were another, so that two actual worlds are told apart"
    telling = [figure for figure in found["figures"] if not figure["tells"].startswith("Nothing")]
    if telling:
        answers = min(figure["answers"] for figure in telling)
        yield f"about {number(answers)} answers to the same question show how large the noise is, and so what it tells"
    else:
        yield "the size of the noise tells nothing about the records"
