# SPDX-License-Identifier: Apache-2.0
"""Curves of the theory: `plot_k_t` is Figure 1 of the paper, `plot_losses` the tempered losses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tadaboost import drawing, losses

__all__ = ["plot_k_t", "plot_losses"]


def plot_k_t(t: Sequence[float] = (-np.inf, -1.0, 0.0, 0.5, 1.0, 1.5), ax: Any = None) -> Any:
    """Draw K_t(rho), the factor by which a round of edge rho lowers the bound (12): Figure 1.

    Parameters
    ----------
    t : sequence of float in [-inf, 2]
        A curve each.
    ax : matplotlib Axes, optional
        A new figure by default.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ValueError
        If a t is above 2.
    ImportError
        If matplotlib is missing.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = plot_k_t([0.0, 1.0], ax=Figure().subplots())
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['$t = 0$', '$t = 1$']
    """
    rho = np.linspace(-1.0, 1.0, 401)
    axes = drawing.on(ax)
    for value, colour in zip(t, drawing.colours(len(t)), strict=True):
        axes.plot(rho, losses.k_t(rho, value), color=colour, label=drawing.name_of(value))
    axes.set(xlabel=r"normalised edge $\rho$", ylabel=r"$K_t(\rho)$", xlim=(-1, 1), ylim=(0, 1.03))
    axes.set_xticks(np.linspace(-1, 1, 5))
    axes.legend(loc="lower center", ncols=2)
    return axes


def plot_losses(t: Sequence[float] = (0.0, 0.5, 0.8, 1.0, 1.2), ax: Any = None) -> Any:
    """Draw the tempered exponential loss exp_t^(2-t)(-margin) of (15), which bounds the 0/1 loss.

    Parameters
    ----------
    t : sequence of float below 2
        A curve each.
    ax : matplotlib Axes, optional
        A new figure by default.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ValueError
        If a t is not below 2.
    ImportError
        If matplotlib is missing.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> plot_losses([0.0, 1.0], ax=Figure().subplots()).get_ylabel()
    'tempered exponential loss'
    """
    margin = np.linspace(-2.0, 2.0, 401)
    axes = drawing.on(ax)
    axes.step([-2.0, 0.0, 2.0], [1.0, 0.0, 0.0], where="post", color="0.6", linestyle="--", label="0/1 loss")
    for value, colour in zip(t, drawing.colours(len(t)), strict=True):
        axes.plot(margin, losses.tempered_exp_loss(margin, value), color=colour, label=drawing.name_of(value))
    axes.set(xlabel="margin $y H(x)$", ylabel="tempered exponential loss", xlim=(-2, 2), ylim=(-0.2, 8))
    axes.legend()
    return axes
