"""The roles of users. A module of its own that imports nothing of ours: the command line lists them in its help."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Role"]


class Role(StrEnum):
    """The roles of users, which say what a user may do. Every role may read."""

    READER = "reader"
    REQUESTER = "requester"
    REVIEWER = "reviewer"
    OFFICER = "officer"
