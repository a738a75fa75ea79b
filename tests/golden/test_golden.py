"""Manifests, log entries, plans, exit codes and refusals are what they were, byte for byte.

See recorded.py, which also writes the files anew after a change that was meant.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.recorded import EXAMPLES, FORMS, file_of, planned, refused, released, text_of


@pytest.mark.parametrize("form", FORMS)
def test_a_release_is_as_it_was(form: str, tmp_path: Path) -> None:
    assert text_of(released(tmp_path, form)) == file_of(form).read_text(encoding="utf-8")


def test_plans_of_the_examples_are_as_they_were(tmp_path: Path) -> None:
    plans = {example.stem: planned(example, tmp_path) for example in EXAMPLES}
    assert text_of(plans) == file_of("plans of examples").read_text(encoding="utf-8")


def test_refusals_of_broken_specs_are_as_they_were(tmp_path: Path) -> None:
    assert text_of(refused(tmp_path)) == file_of("refusals of specs").read_text(encoding="utf-8")
