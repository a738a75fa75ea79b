"""What is said where a column has a resolution in place of a domain, because nobody knows one.

Its values are counted in steps of the grid, which is public; how far they may lie from 0 follows from it, and no noise
does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

from penstock.mechanisms.columns import Declared
from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.numbers.exact import readable
from penstock.mechanisms.numbers.reach import step_of

__all__ = ["expected_without_domain", "promised_without_domain"]


def promised_without_domain(guarantee: Guarantee, declared: Declared, used: Iterable[str | None]) -> Guarantee:
    """Return the promise with what it assumes of the used columns that have no domain."""
    assumed = tuple(
        f"the declared resolution of {name}, {readable(resolution)}, comes from public knowledge, and so does that no "
        f"value lies farther than {reach:,.15g} from 0"
        for name, resolution, reach in _columns(declared, used)
    )
    return guarantee.model_copy(update={"assumptions": (*guarantee.assumptions, *assumed)}) if assumed else guarantee


def expected_without_domain(declared: Declared, used: Iterable[str | None]) -> Iterator[str]:
    """Yield what the person who chooses the settings should expect of columns that have no domain."""
    for name, resolution, reach in _columns(declared, used):
        step = readable(Fraction(2) ** step_of(resolution))
        yield (
            f"{name} has no declared domain: its values are counted in steps of {step}, and one farther than "
            f"{reach:,.15g} from 0 stops the release. Bounds on errors that are stated here follow from that reach, so "
            "they say little; the noise follows the data and not the reach."
        )


def _columns(declared: Declared, used: Iterable[str | None]) -> Iterator[tuple[str, Fraction, float]]:
    for name in dict.fromkeys(used):
        column = declared.get(name or "")
        if column is not None and column.resolution is not None:
            yield str(name), column.resolution, column.bounds[1]
