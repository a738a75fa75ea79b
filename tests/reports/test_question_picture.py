"""The picture of a question: everything stands in the frame, the widest bar decides, and nothing comes from outside."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.reports.question_picture import WIDTH, Curve, laid_out, picture


def curve(name: str, scale: float, *, middle: float = 0.0, is_bound: bool = False) -> Curve:
    points = [middle + scale * step / 10 for step in range(-80, 81)]
    return Curve(
        name=name,
        told="dp, epsilon = 1/4",
        points=points,
        probabilities=[math.exp(-abs(x - middle) / scale) for x in points],
        low=middle - 3 * scale,
        high=middle + 3 * scale,
        error=f"standard error {scale:g}",
        is_bound=is_bound,
    )


scales = st.floats(1e-200, 1e200)


@given(st.lists(st.tuples(scales, st.floats(-1e200, 1e200)), max_size=4))
def test_everything_stands_in_the_frame(given: list[tuple[float, float]]) -> None:
    found = laid_out([curve("laplace", scale, middle=middle) for scale, middle in given], title="t", axis="a")
    places = [tick.at for tick in found.ticks] + [end for row in found.rows for end in row.bar]
    for row in found.rows:
        places += [float(x) for x, _ in re.findall(r"[ML](\S+) (\S+)", row.outline)]
        heights = [float(y) for _, y in re.findall(r"[ML](\S+) (\S+)", row.outline)]
        assert all(found.top <= y <= found.floor for y in heights)
    assert all(found.left <= place <= found.right <= WIDTH for place in places)


def test_the_wider_bar_is_the_less_exact_method() -> None:
    found = laid_out([curve("laplace", 100), curve("staircase", 50)], title="t", axis="a")
    first, second = (row.bar[1] - row.bar[0] for row in found.rows)
    assert first == pytest.approx(2 * second, abs=0.1)
    assert "0" in [tick.text for tick in found.ticks]


def test_a_method_of_unknown_spread_is_not_drawn() -> None:
    endless = replace(curve("laplace", 1), high=math.inf)
    assert [row.name for row in laid_out([endless, curve("staircase", 1)], title="t", axis="a").rows] == ["staircase"]
    assert laid_out([], title="t", axis="a").rows == ()


def test_it_is_one_svg_without_script_or_address() -> None:
    text = picture([curve("a <b> & c", 2, is_bound=True)], title='mean of "x" <script>', axis="Answer\x00")
    root = ET.fromstring(text)
    assert {each.tag.rpartition("}")[2] for each in root.iter()} <= {
        *("svg", "title", "defs", "pattern", "rect", "line", "text", "g", "path")
    }
    assert re.findall(r"https?://[^\"]+", text) == ["http://www.w3.org/2000/svg"]
    assert "url(#bound)" in text
    assert "<script>" not in text


def test_a_bar_too_wide_for_the_others_is_named_and_not_drawn() -> None:
    curves = [curve("laplace", 1), curve("staircase", 20), curve("refinement", 20.1)]
    found = laid_out(curves, title="t", axis="a", unknown=["exponential"])
    assert [row.name for row in found.rows] == ["laplace", "staircase"]
    _, wide, unknown = (note.text for note in found.notes)
    assert wide == "Not drawn, more than 20 times as wide as the narrowest: refinement."
    assert unknown.endswith("not known without the data: exponential.")
    assert found.floor < min(note.at for note in found.notes) <= max(note.at for note in found.notes) < found.height


def test_only_marks_that_are_drawn_are_explained() -> None:
    def told(*curves: Curve) -> str:
        return " ".join(note.text for note in laid_out(curves, title="t", axis="a").notes)

    assert "ashed" not in told(curve("laplace", 1))
    assert "Dashed bar" in told(curve("individual", 1, is_bound=True))
    assert "Filled" not in told(replace(curve("laplace", 1), points=(), probabilities=()))
    assert told() == ""
