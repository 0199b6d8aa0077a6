# SPDX-License-Identifier: Apache-2.0
"""Panels of a study as the paper draws them: a curve a temperature against rounds, t = 1 in bullets.

A `Panel` is one measure of one setting of everything but t, averaged over folds. Curves differ by colour (a
scale over t), by dashes and by a label at their end, so each is told from the others without colour, too. SVG
is drawn here; PNG by matplotlib, from the same panels.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from tadaboost import charts
from tadaboost.study import Cell, Results

Array = NDArray[np.float64]

STYLE = """svg.panel, svg.scale { background: #fff; }
svg.panel text, svg.scale text { fill: #444; font: 12px system-ui, sans-serif; }
svg .end { text-anchor: end; } svg .mid { text-anchor: middle; }
svg.panel .grid { stroke: #dde1e5; fill: none; } svg.panel .axis { stroke: #5b636b; fill: none; }
svg .curve { fill: none; stroke-width: 1.6; } svg .leader { stroke-width: .6; }
svg.panel text.name { fill: #1c2024; font-size: 10px; }"""

_RIGHT = charts.WIDTH - 42  # room for the labels of curves
_LABEL_GAP = 10.5  # between two of them
_MOST_POINTS, _MOST_BULLETS = 150, 20
_SCALE = ((27, 42, 107), (38, 117, 160), (38, 135, 90), (185, 128, 0), (194, 65, 12), (150, 20, 60))
_DASHES = ("1.5 2.5", "4 2", "8 2 2 2", "8 3", "12 3", "12 3 2 3 2 3", "16 2", "20 3 2 3")
_PANELS = (  # measure, title, label of y, log scale
    ("test_error", "Test error", "error", False),
    ("test_error_clipped", "Test error, clipped", "error", False),
    ("codensity_min", "Smallest weight", "co-density", True),
    ("codensity_max", "Largest weight", "co-density", True),
    ("train_error", "Training error", "error", False),
    ("train_error_clipped", "Training error, clipped", "error", False),
)


@dataclass(frozen=True)
class Panel:
    """One measure, and its mean over folds after each round (`curves`) for each t, rising."""

    title: str
    where: str
    y_label: str
    log: bool
    curves: tuple[tuple[float, Array], ...]


def panels(
    results: Results, cells: Sequence[Cell], where: str, clips: Sequence[bool], training: bool
) -> list[Panel]:
    """Average the measures of cells that differ in t only.

    Parameters
    ----------
    results : mapping of Cell to curves
    cells : sequence of Cell
        Their t rises.
    where : str
        What is the same for all of them, for readers who do not see the page around.
    clips : sequence of bool
        Whether there is a plain (False) and a clipped (True) model.
    training : bool
        Whether to show training errors, too.

    Returns
    -------
    list of Panel
        Test error plain and clipped, smallest and largest weight; training errors.
    """
    made = []
    for name, title, y_label, log in _PANELS:
        if (name.endswith("_error") and False not in clips) or (
            name.endswith("_clipped") and True not in clips
        ):
            continue
        if name.startswith("train") and not training:
            continue
        curves = tuple((cell.t, results[cell][name].mean(axis=0)) for cell in cells)
        made.append(Panel(title, where, y_label, log, curves))
    return made


def draw(panel: Panel, ts: Sequence[float]) -> Markup:
    """Draw a panel as SVG; its classes are those of `STYLE`, its colours and dashes those of `scale(ts)`."""
    rounds = np.arange(1, len(panel.curves[0][1]) + 1, dtype=np.float64)
    pick = np.unique(np.linspace(0, len(rounds) - 1, min(len(rounds), _MOST_POINTS)).round().astype(int))
    x = rounds[pick]
    every = np.concatenate([y for _, y in panel.curves])
    every = every[np.isfinite(every) & ((every > 0) if panel.log else True)]
    low, high = (float(every.min()), float(every.max())) if len(every) else (0.1, 1.0)
    room = 1.3 if panel.log else 0.04 * (high - low) or 0.01
    low, high = (low / room, high * room) if panel.log else (max(low - room, 0.0), high + room)
    last = float(rounds[-1]) if len(rounds) > 1 else 2.0
    frame = charts.Frame(
        (1.0, last), (low, high), log=panel.log, x_label="round", y_label=panel.y_label, right=_RIGHT
    )
    x_ticks = [tick for tick in charts.linear_ticks(1.0, last) if tick[0] == round(tick[0])]
    y_ticks = (
        charts.log_ticks(low, high)
        if panel.log
        else charts.linear_ticks(low, high, label=charts.percent_label)
    )
    marks = [frame.axes(x_ticks, y_ticks)]
    ends = []
    for t, y in panel.curves:
        path = Markup('<path class="curve" stroke="{}"{} d="{}"/>')
        marks.append(path.format(colour(t, ts), _dash(t, ts), frame.path(x, y[pick])))
        if t == 1:
            marks += _bullets(frame, rounds, y)
        if math.isfinite(y[-1]) and (y[-1] > 0 or not panel.log):
            ends.append((frame.at(last, float(y[-1]))[1], t))
    marks += _labels(ends, ts)
    finals = ", ".join(f"t {t:g}: {y[-1]:.4g}" for t, y in panel.curves)
    return _svg(
        "panel",
        charts.HEIGHT,
        f"{panel.title}: {panel.where}",
        f"Mean over folds after each of {len(rounds)} rounds; at the end {finals}.",
        marks,
    )


def scale(ts: Sequence[float]) -> Markup:
    """Draw the colour scale: a sample of each curve beside its t."""
    marks, width = [], (charts.WIDTH - 20) / max(len(ts), 1)
    for i, t in enumerate(ts):
        left = round(20 + i * width, 1)
        middle = round(left + width - 6)
        sample = Markup('<path class="curve" stroke="{}"{} d="M{} 8H{}"/><text x="{}" y="26">{:g}</text>')
        marks.append(sample.format(colour(t, ts), _dash(t, ts), left, middle, left, t))
        if t == 1:
            dot = Markup('<circle cx="{}" cy="8" r="2.4" fill="{}"/>')
            marks += [dot.format(round(left + k * (middle - left) / 2, 1), colour(t, ts)) for k in range(3)]
    marks.append(Markup('<text x="2" y="26">t</text>'))
    words = "The colour and the dashes of each t: " + ", ".join(f"{t:g}" for t in ts)
    return _svg("scale", 32, "Scale of t", words, marks)


def sheet(rows: Sequence[Sequence[Panel]]) -> str:
    """Lay rows of panels on one sheet: an SVG file that stands by itself, with titles and the scale of t."""
    columns, height = max(map(len, rows)), charts.HEIGHT + 26
    ts = _temperatures(rows)
    parts = [_placed(scale(ts), 0, 0)]
    for i, row in enumerate(rows):
        top = 40 + i * height
        title = Markup('<text x="6" y="{}" class="title">{}</text>')
        for j, panel in enumerate(row):
            words = f"{panel.title}: {panel.where}" if j == 0 else panel.title
            parts.append(_placed(title.format(16, words), j * charts.WIDTH, top))
            parts.append(_placed(draw(panel, ts), j * charts.WIDTH, top + 22))
    style = STYLE + "\ntext.title { font: 600 13px system-ui, sans-serif; fill: #1c2024; }"
    whole = Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}">'
        '<style>{2}</style><rect width="{0}" height="{1}" fill="#fff"/>{3}</svg>\n'
    )
    return str(whole.format(columns * charts.WIDTH, 40 + len(rows) * height, style, charts.join(parts)))


def _temperatures(rows: Sequence[Sequence[Panel]]) -> list[float]:
    return sorted({t for row in rows for panel in row for t, _ in panel.curves})


def _placed(mark: Markup, x: float, y: float) -> Markup:
    """Shift a mark; a nested drawing needs a size of its own."""
    size = Markup('<svg width="{}" height="{}" ')
    for height in (32, charts.HEIGHT):
        if f'viewBox="0 0 {charts.WIDTH} {height}"' in mark:
            mark = Markup(mark.replace("<svg ", size.format(charts.WIDTH, height), 1))
    return Markup('<g transform="translate({} {})">{}</g>').format(x, y, mark)


def png(rows: Sequence[Sequence[Panel]]) -> bytes:
    """Draw the same sheet as PNG; needs matplotlib."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    columns, ts = max(map(len, rows)), _temperatures(rows)
    figure = Figure(figsize=(4 * columns, 3 * len(rows) + 0.4), dpi=110, layout="constrained")
    axes = figure.subplots(len(rows), columns, squeeze=False)
    for row, places in zip(rows, axes, strict=True):
        for place in places[len(row) :]:
            place.set_visible(False)
        for j, (panel, place) in enumerate(zip(row, places, strict=False)):
            _plot(panel, place, ts)
            place.xaxis.set_major_locator(MaxNLocator(integer=True))
            if not panel.log:
                place.yaxis.set_major_formatter(PercentFormatter(1.0))
            place.set_title(
                f"{panel.title}: {panel.where}" if j == 0 else panel.title, fontsize=8, loc="left"
            )
    handles, names = axes[0][0].get_legend_handles_labels()
    figure.legend(
        handles, names, loc="outside upper left", ncols=len(names), fontsize=8, frameon=False, title="t"
    )
    FigureCanvasAgg(figure)
    whole = io.BytesIO()
    figure.savefig(whole, format="png", metadata={"Software": None})
    return whole.getvalue()


def _plot(panel: Panel, place: Any, ts: Sequence[float]) -> None:
    for t, y in panel.curves:
        x = np.arange(1, len(y) + 1)
        dashes: Any = "-" if t == 1 else (0, [float(part) for part in _pattern(t, ts).split()])
        marks = (
            {"marker": "o", "markersize": 3, "markevery": max(1, len(y) // _MOST_BULLETS)} if t == 1 else {}
        )
        place.plot(x, y, color=colour(t, ts), linestyle=dashes, linewidth=1.2, label=f"{t:g}", **marks)
    place.set_xlabel("round", fontsize=8)
    place.tick_params(labelsize=8)
    if panel.log:
        place.set_yscale("log")


def colour(t: float, ts: Sequence[float]) -> str:
    """Return the colour of t on a scale from the least to the largest of `ts`, as #rrggbb."""
    low, high = min(ts), max(ts)
    at = (t - low) / (high - low) * (len(_SCALE) - 1) if high > low else 0.0
    first = min(int(at), len(_SCALE) - 2)
    pairs = zip(_SCALE[first], _SCALE[first + 1], strict=True)
    return "#" + "".join(f"{round(a + (b - a) * (at - first)):02x}" for a, b in pairs)


def _pattern(t: float, ts: Sequence[float]) -> str:
    return _DASHES[[other for other in ts if other != 1].index(t) % len(_DASHES)]


def _dash(t: float, ts: Sequence[float]) -> Markup:
    return Markup("") if t == 1 else Markup(' stroke-dasharray="{}"').format(_pattern(t, ts))


def _bullets(frame: charts.Frame, x: Array, y: Array) -> list[Markup]:
    """Mark about twenty rounds of AdaBoost's curve."""
    dot = Markup('<circle cx="{}" cy="{}" r="2.4" fill="#1c2024"/>')
    picked = range(0, len(x), max(1, len(x) // _MOST_BULLETS))
    return [dot.format(*frame.at(x[i], y[i])) for i in picked if math.isfinite(y[i]) and y[i] > 0]


def _labels(ends: Sequence[tuple[float, float]], ts: Sequence[float]) -> list[Markup]:
    """Write each t beside the end of its curve, moved apart where ends are close."""
    ends = sorted(ends)
    places = [y for y, _ in ends]
    for i in range(1, len(places)):
        places[i] = max(places[i], places[i - 1] + _LABEL_GAP)
    limit = charts.HEIGHT - 34.0
    for i in reversed(range(len(places))):
        places[i] = min(places[i], limit)
        limit = places[i] - _LABEL_GAP
    marks = []
    for (y, t), place in zip(ends, places, strict=True):
        text = Markup(
            '<path class="curve leader" stroke="{}" d="M{} {}L{} {}"/>'
            '<text class="name" x="{}" y="{}">{:g}</text>'
        )
        marks.append(
            text.format(
                colour(t, ts), _RIGHT, y, _RIGHT + 12, round(place, 1), _RIGHT + 14, round(place + 3.5, 1), t
            )
        )
    return marks


def _svg(css: str, height: int, title: str, description: str, marks: Sequence[Markup]) -> Markup:
    whole = Markup('<svg class="{}" viewBox="0 0 {} {}" role="img"><title>{}</title><desc>{}</desc>{}</svg>')
    return whole.format(css, charts.WIDTH, height, title, description, charts.join(marks))
