# SPDX-License-Identifier: Apache-2.0
"""What all plots share: axes from matplotlib, imported when something is drawn, their ticks and colours."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["colours", "name_of", "on", "plain_ticks"]


def on(ax: Any, size: Any = None) -> Any:
    """Give the axes to draw on: those given, or new ones."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'tadaboost[plot]'") from error
    _, axes = pyplot.subplots(layout="constrained", figsize=size)
    return axes


def plain_ticks(axis: Any) -> None:
    """Label a logarithmic axis of few decades at 1, 2 and 5, as plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    if 0 < low < high < 1000 * low:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())


def colours(n: int) -> NDArray[np.float64]:
    """Colours that stay apart in order, on paper and for the colour-blind, without the palest."""
    from matplotlib import colormaps

    chosen: NDArray[np.float64] = colormaps["viridis"](np.linspace(0.0, 0.88, n))
    return chosen


def name_of(t: float) -> str:
    """Call a temperature by name in a legend."""
    return r"$t = -\infty$" if np.isneginf(t) else f"$t = {t:g}$"
