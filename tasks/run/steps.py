"""The steps of a release in their order, for whoever shows how far one is.

A module of its own that imports nothing: a command that only shows them starts without Prefect.
"""

from __future__ import annotations

__all__ = ["STEPS"]

STEPS = ("expectations", "ingest", "validate", "reserve", "protect", "assess", "report", "stage", "seal", "publish")
