# SPDX-License-Identifier: Apache-2.0
"""Small charts as inline SVG: a `Frame` maps data to a 400 x 260 drawing, functions put marks into it.

Colours are classes (`s0`, `s1`, `grid`, ...) that the page's style sheet defines, for light and dark. Every
drawing has a title and a description for readers who do not see it; every text from outside is escaped by
`Markup.format`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from numpy.typing import ArrayLike, NDArray

WIDTH, HEIGHT = 400, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 50, 20, 26, 42
_MOST_POINTS = 300  # more than pixels: a longer line only makes the page heavier

Ticks = list[tuple[float, str]]
Label = Callable[[float], str]


@dataclass(frozen=True)
class Series:
    """A line: `y` against the frame's x; NaN is a gap. `low` and `high` shade a band around it."""

    name: str
    y: ArrayLike
    low: ArrayLike | None = None
    high: ArrayLike | None = None
    dashed: bool = False


def linear_ticks(low: float, high: float, most: int = 6, label: Label | None = None) -> Ticks:
    """Choose ticks at 1, 2 or 5 times a power of ten that lie within [low, high].

    Examples
    --------
    >>> [name for _, name in linear_ticks(0, 0.23)]
    ['0', '0.05', '0.1', '0.15', '0.2']
    """
    span = high - low or 1.0
    power = 10.0 ** math.floor(math.log10(span / most))
    step = next(factor * power for factor in (1, 2, 5, 10, 20) if span / (factor * power) <= most)
    values = [i * step for i in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]
    return [(value, label(value) if label else f"{value:.6g}") for value in values]


def log_ticks(low: float, high: float, most: int = 6) -> Ticks:
    """Choose powers of ten within [low, high] > 0; where fewer than two are, simple numbers.

    Examples
    --------
    >>> [name for _, name in log_ticks(1e-4, 3)]
    ['10⁻⁴', '10⁻³', '10⁻²', '10⁻¹', '1']
    """
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    if last > first:
        step = math.ceil((last - first + 1) / most)
        return [(10.0**power, _power_of_ten(power)) for power in range(first, last + 1, step)]
    powers = range(math.floor(math.log10(low)), last + 2)
    values = [factor * 10.0**power for power in powers for factor in (1, 2, 5)]
    return [(value, f"{value:.3g}") for value in values if low <= value <= high] or linear_ticks(low, high, 4)


def _power_of_ten(power: int) -> str:
    return "1" if power == 0 else "10" + str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


class Frame:
    """Axes, and the map from data to drawing."""

    def __init__(
        self,
        x: tuple[float, float],
        y: tuple[float, float],
        *,
        log: bool = False,
        x_label: str,
        y_label: str,
        right: int = WIDTH - _RIGHT,
    ) -> None:
        self._x, self._log, self.right = x, log, right
        self._y = (math.log10(y[0]), math.log10(y[1])) if log else y
        self.x_label, self.y_label = x_label, y_label

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return the place of a point in the drawing."""
        height = math.log10(y) if self._log else y
        across = (x - self._x[0]) / (self._x[1] - self._x[0])
        up = (height - self._y[0]) / (self._y[1] - self._y[0])
        return (
            round(_LEFT + across * (self.right - _LEFT), 1),
            round(HEIGHT - _BOTTOM - up * (HEIGHT - _TOP - _BOTTOM), 1),
        )

    def axes(self, x_ticks: Ticks, y_ticks: Ticks) -> Markup:
        """Draw grid, tick labels and axis names."""
        right, bottom = self.right, HEIGHT - _BOTTOM
        parts = []
        for value, name in y_ticks:
            y = self.at(self._x[0], value)[1]
            parts.append(
                Markup('<path class="grid" d="M{} {}H{}"/><text x="{}" y="{}" class="end">{}</text>').format(
                    _LEFT, y, right, _LEFT - 6, round(y + 4, 1), name
                )
            )
        lowest = 10 ** self._y[0] if self._log else self._y[0]
        for value, name in x_ticks:
            x = self.at(value, lowest)[0]
            parts.append(
                Markup('<path class="axis" d="M{} {}v4"/><text x="{}" y="{}" class="mid">{}</text>').format(
                    x, bottom, x, bottom + 17, name
                )
            )
        names = Markup(
            '<path class="axis" d="M{} {}H{}"/><text x="{}" y="{}" class="end">{}</text>'
            '<text x="4" y="12">{}</text>'
        ).format(_LEFT, bottom, right, right, HEIGHT - 6, self.x_label, self.y_label)
        return join([*parts, names])

    def path(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> str:
        """Write the path of a line with gaps where y is NaN (or, on a log scale, not above 0)."""
        path, pen_up = [], True
        for a, b in zip(x.tolist(), y.tolist(), strict=True):
            if not math.isfinite(b) or (self._log and b <= 0):
                pen_up = True
                continue
            path.append("{}{} {}".format("M" if pen_up else "L", *self.at(a, b)))
            pen_up = False
        return "".join(path)

    def line(self, x: NDArray[np.float64], y: NDArray[np.float64], css: str) -> Markup:
        """Draw a line."""
        return Markup('<path class="line {}" d="{}"/>').format(css, self.path(x, y))

    def band(
        self, x: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64], css: str
    ) -> Markup:
        """Shade between two lines."""
        there = [self.at(a, b) for a, b in zip(x.tolist(), high.tolist(), strict=True)]
        back = [self.at(a, b) for a, b in zip(x.tolist(), low.tolist(), strict=True)][::-1]
        points = " ".join(f"{a},{b}" for a, b in there + back)
        return Markup('<polygon class="band {}" points="{}"/>').format(css, points)


def line_chart(
    x: ArrayLike,
    series: Sequence[Series],
    *,
    title: str,
    description: str,
    x_label: str,
    y_label: str,
    log: bool = False,
    percent: bool = False,
) -> Markup:
    """Draw lines over a common x.

    Parameters
    ----------
    x : array-like of float, shape (points,)
        Rising.
    series : sequence of Series
        Their values are fractions where `percent`, else plain numbers.
    title, description, x_label, y_label : str
    log : bool
        A log scale for y; values not above 0 are gaps.
    percent : bool
        Label y in percent, from 0 up.

    Returns
    -------
    Markup
        One `<svg>`.
    """
    xs = np.asarray(x, np.float64)
    pick = np.unique(np.linspace(0, len(xs) - 1, min(len(xs), _MOST_POINTS)).round().astype(int))
    xs = xs[pick]
    lines = [np.asarray(one.y, np.float64)[pick] for one in series]
    bands = [
        None
        if one.low is None or one.high is None
        else (np.asarray(one.low)[pick], np.asarray(one.high)[pick])
        for one in series
    ]
    everything = np.concatenate([*lines, *(side for band in bands if band for side in band)])
    shown = everything[np.isfinite(everything) & ((everything > 0) if log else True)]
    low, high = (float(shown.min()), float(shown.max())) if len(shown) else (1.0, 1.0)
    if log:
        low, high = low / 1.5, high * 1.5
    elif percent:
        low, high = 0.0, high * 1.06 or 0.01
    last = float(xs[-1]) if xs[-1] > xs[0] else float(xs[0]) + 1
    frame = Frame((float(xs[0]), last), (low, high), log=log, x_label=x_label, y_label=y_label)
    # Whole rounds only: a tick at round 2.5 would mean nothing.
    x_ticks = [tick for tick in linear_ticks(float(xs[0]), last) if tick[0] == round(tick[0])]
    y_ticks = (
        log_ticks(low, high) if log else linear_ticks(low, high, label=percent_label if percent else None)
    )
    marks = [frame.axes(x_ticks, y_ticks)]
    for i, band in enumerate(bands):
        if band:
            marks.append(frame.band(xs, np.maximum(band[0], low), np.minimum(band[1], high), f"s{i}"))
    styles = [f"s{i} dashed" if one.dashed else f"s{i}" for i, one in enumerate(series)]
    marks += [frame.line(xs, y, css) for y, css in zip(lines, styles, strict=True)]
    marks.append(_legend([(one.name, css) for one, css in zip(series, styles, strict=True)]))
    return svg(marks, title, description)


def calibration_chart(
    predicted: Sequence[float],
    observed: Sequence[float],
    counts: Sequence[float],
    *,
    title: str,
    description: str,
    x_label: str,
    y_label: str,
) -> Markup:
    """Draw observed shares against predicted probabilities, with bars of one standard error and the diagonal.

    Parameters
    ----------
    predicted, observed, counts : sequences of float, one entry a bin
        Mean probability, share of the second class, rows; the larger the dot the more rows.
    title, description, x_label, y_label : str

    Returns
    -------
    Markup
        One `<svg>`.
    """
    frame = Frame((0.0, 1.0), (0.0, 1.0), x_label=x_label, y_label=y_label)
    ticks = linear_ticks(0, 1, 5, label=percent_label)
    diagonal = frame.line(np.array([0.0, 1.0]), np.array([0.0, 1.0]), "reference dashed")
    marks = [frame.axes(ticks, ticks), diagonal]
    most = max(counts, default=1.0)
    for p, share, n in zip(predicted, observed, counts, strict=True):
        x, y = frame.at(p, share)
        middle = (share * n + 1) / (n + 2)  # Laplace's: 3 of 3 rows leave doubt, too
        spread = math.sqrt(middle * (1 - middle) / n)
        top, bottom = frame.at(p, min(share + spread, 1))[1], frame.at(p, max(share - spread, 0))[1]
        radius = round(2.5 + 4.5 * math.sqrt(n / most), 1)
        marks.append(Markup('<path class="line s0" d="M{} {}V{}"/>').format(x, top, bottom))
        marks.append(Markup('<circle class="dot s0" cx="{}" cy="{}" r="{}"/>').format(x, y, radius))
    return svg(marks, title, description)


def bar(share: float) -> Markup:
    """Draw a bar that fills `share` (0 to 1) of its place in a table; the table says the number."""
    return Markup(
        '<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="dot s0" width="{}" height="10"/></svg>'
    ).format(round(100 * share, 2))


def _legend(entries: Sequence[tuple[str, str]]) -> Markup:
    parts, right = [], WIDTH - _RIGHT
    for name, css in reversed(entries):  # from the right edge, as the name of the y axis stands on the left
        parts.append(Markup('<text x="{}" y="12" class="end">{}</text>').format(right, name))
        right -= round(6.3 * len(name)) + 6
        parts.append(Markup('<path class="line {}" d="M{} 8h18"/>').format(css, right - 18))
        right -= 30
    return join(parts)


def percent_label(value: float) -> str:
    """Write a share on an axis."""
    return f"{100 * value:.4g} %"


def join(parts: Iterable[Markup]) -> Markup:
    """Put marks side by side."""
    return Markup("").join(parts)


def svg(marks: Iterable[Markup], title: str, description: str) -> Markup:
    """Make marks a drawing with a name."""
    return Markup(
        '<svg class="chart" viewBox="0 0 {} {}" role="img"><title>{}</title><desc>{}</desc>{}</svg>'
    ).format(WIDTH, HEIGHT, title, description, join(marks))
