"""Figures of the sources drawn again: how their numbers become an SVG that stands inside a page.

Curves differ in their dashes as well as in colour, and each figure has an alternative text and its numbers below, so
that nothing is told by colour or by the picture alone. matplotlib is imported only where something is drawn.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from io import StringIO
from typing import Any

from numpy.typing import ArrayLike

from penstock.reproduction.entry import Figure

__all__ = ["Panel", "drawn", "figure_of"]

Series = Mapping[str, tuple[ArrayLike, ArrayLike]]

_DASHES = ("-", "--", ":", "-.")
_ID = re.compile(r'(\bid="|url\(#|href="#)')


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One pair of axes. series: the points of each curve, by its name. steps: drawn level from point to point.

    logarithmic: the axes that are, such as "y". boxes: for each label on the axis below, what its box spans: smallest,
    first quartile, median, third quartile, largest.
    """

    title: str = ""
    x: str = ""
    y: str = ""
    series: Series | None = None
    steps: bool = False
    logarithmic: str = ""
    boxes: Mapping[str, tuple[float, float, float, float, float]] | None = None


def figure_of(
    title: str,
    alternative: str,
    panels: Sequence[Panel],
    *,
    columns: Sequence[str],
    numbers: Sequence[Sequence[float | str]],
    across: int = 2,
) -> Figure:
    """Return a figure of panels, so many across."""
    return Figure(title, alternative, columns, numbers, lambda canvas: _draw(canvas, panels, across))


def drawn(figure: Figure, prefix: str) -> str:
    """Return the SVG of a figure, with ids that begin with a prefix of its own."""
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure as Canvas

    out = StringIO()
    # Text stays text, and the same numbers give the same picture.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": prefix, "font.family": "sans-serif"}):
        canvas = Canvas(layout="constrained")
        FigureCanvasSVG(canvas)
        figure.draw(canvas)
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        canvas.savefig(out, format="svg", metadata=nothing)
    text = out.getvalue()
    text = _ID.sub(lambda found: f"{found[1]}{prefix}-", text[text.index("<svg") :])
    return text.replace("<svg ", f'<svg role="img" aria-label="{escape(figure.alternative)}" ', 1)


def _draw(canvas: Any, panels: Sequence[Panel], across: int) -> None:
    across = min(across, len(panels))
    down = -(-len(panels) // across)
    canvas.set_size_inches(4.6 * across if across > 1 else 6.5, 3.2 * down)
    axes = canvas.subplots(down, across, squeeze=False).ravel()
    for panel, axis in zip(panels, axes, strict=False):
        (_boxes if panel.boxes else _curves)(axis, panel)
        axis.set(title=panel.title, xlabel=panel.x, ylabel=panel.y)
        axis.grid(alpha=0.3)
    for axis in axes[len(panels) :]:
        axis.set_axis_off()


def _curves(axis: Any, panel: Panel) -> None:
    series = panel.series or {}
    for place, (name, (x, y)) in enumerate(series.items()):
        style = "steps-post" if panel.steps else "default"
        axis.plot(x, y, linestyle=_DASHES[place % len(_DASHES)], drawstyle=style, label=name)
    for side in panel.logarithmic:
        getattr(axis, f"set_{side}scale")("log")
    if len(series) > 1:
        axis.legend(fontsize=8)


def _boxes(axis: Any, panel: Panel) -> None:
    names = ("whislo", "q1", "med", "q3", "whishi")
    boxes = [
        dict(zip(names, spread, strict=True)) | {"label": label, "fliers": []}
        for label, spread in (panel.boxes or {}).items()
    ]
    axis.bxp(boxes, showfliers=False)
    axis.tick_params(axis="x", rotation=60, labelsize=8)
