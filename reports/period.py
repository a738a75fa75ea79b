"""The period that an edition is about, where its name begins with one.

    2026          the year                        2026-11       the month
    2026-Q3       the quarter                     2026-11-09    the day
    2026-Q3 final: the quarter, too; what follows the first space tells editions about one period apart.

Any other name, such as `spring`, is a name and no period; what is written like a period and is none, such as `2026-13`,
is refused. The texts are those of ISO 8601, and quarters those of
SDMX 3.0 (section 6, 4.2.6), which ISO 8601 does not have.
"""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import date

__all__ = ["Period", "is_no_period", "period_of"]

_PERIOD = re.compile(r"([0-9]{4})(?:-(?:Q([1-4])|(0[1-9]|1[0-2])(?:-([0-9]{2}))?))?", re.ASCII)
# A year and one or two digits is a month to whoever reads it, also where it is meant as two years.
_LIKE_A_PERIOD = re.compile(r"[0-9]{4}-(?:Q[0-9]*|[0-9]{1,2}(?:-[0-9]{1,2})?)", re.ASCII)


_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


@dataclass(frozen=True, slots=True)
class Period:
    """A period by its text, with its first and its last day."""

    text: str
    first: date
    last: date

    @property
    def interval(self) -> str:
        """Return it as an interval of days, as ISO 8601 writes one."""
        return f"{self.first.isoformat()}/{self.last.isoformat()}"

    @property
    def in_words(self) -> str:
        """Return it as it is said: October 2026."""
        if self.first == self.last:
            return f"{self.first.day} {_MONTHS[self.first.month - 1]} {self.first.year}"
        if len(self.text) == len("2026"):
            return self.text
        if "Q" in self.text:
            return f"quarter {self.text[-1]} of {self.first.year}"
        return f"{_MONTHS[self.first.month - 1]} {self.first.year}"


def is_no_period(edition: str) -> bool:
    """Return whether an edition begins as a period is written, and with none: 2026-13."""
    return period_of(edition) is None and _LIKE_A_PERIOD.fullmatch(edition.partition(" ")[0]) is not None


def period_of(edition: str | None) -> Period | None:
    """Return the period that an edition is about; None if its name begins with none."""
    text = "" if edition is None else edition.partition(" ")[0]
    found = _PERIOD.fullmatch(text)
    if found is None or int(found[1]) < 1:
        return None
    year, quarter, month, day = (None if part is None else int(part) for part in found.groups())
    year = int(found[1])
    if day is not None and month is not None:
        if not 1 <= day <= monthrange(year, month)[1]:
            return None
        return Period(text, date(year, month, day), date(year, month, day))
    begins = month or (3 * quarter - 2 if quarter is not None else 1)
    ends = month or (3 * quarter if quarter is not None else 12)
    return Period(text, date(year, begins, 1), date(year, ends, monthrange(year, ends)[1]))
