"""Findings of an audit, for records that disagree and for a manifest that somebody edited."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.records.audit import RecordsDisagree, verify_everything

UNKNOWN = "must be a publication that the log knows of"


def disagreements(*bundles: Path) -> list[tuple[str, str]]:
    """Where and what, in the order of the report."""
    with pytest.raises(RecordsDisagree) as caught:
        verify_everything(bundles)
    assert (caught.value.code, caught.value.kind) == ("records-disagree", "integrity")
    assert all("find out who" in fault.remedy for fault in caught.value.faults if "folder" not in fault.rule)
    return [(fault.field, fault.rule) for fault in caught.value.faults]


def edited(path: Path) -> None:
    content = path.read_bytes()
    middle = content.index(b'"payload"') + 100
    path.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
