# SPDX-License-Identifier: Apache-2.0
"""Plots with matplotlib, which is imported only when something is drawn (the extra ``tadaboost[plot]``).

`plot_k_t` is Figure 1 of the paper, `plot_losses` the tempered losses. `BoundDisplay`, `WeightsDisplay` and
`MarginDisplay` show what a fit did; they follow scikit-learn's displays: `from_estimator` computes and draws,
`plot` draws again, `ax_` and `figure_` are where.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from tadaboost import losses

__all__ = ["BoundDisplay", "MarginDisplay", "WeightsDisplay", "plot_k_t", "plot_losses"]

Floats = NDArray[np.float64]

_QUANTILES = (0.0, 0.1, 0.5, 0.9, 1.0)


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
    """
    rho = np.linspace(-1.0, 1.0, 401)
    axes = _axes(ax)
    for value, colour in zip(t, _colours(len(t)), strict=True):
        axes.plot(rho, losses.k_t(rho, value), color=colour, label=_name(value))
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
    """
    margin = np.linspace(-2.0, 2.0, 401)
    axes = _axes(ax)
    axes.step([-2.0, 0.0, 2.0], [1.0, 0.0, 0.0], where="post", color="0.6", linestyle="--", label="0/1 loss")
    for value, colour in zip(t, _colours(len(t)), strict=True):
        axes.plot(margin, losses.tempered_exp_loss(margin, value), color=colour, label=_name(value))
    axes.set(xlabel="margin $y H(x)$", ylabel="tempered exponential loss", xlim=(-2, 2), ylim=(-0.2, 8))
    axes.legend()
    return axes


class _Display:
    """Where a display was drawn."""

    ax_: Any
    figure_: Any

    def _begin(self, ax: Any) -> Any:
        self.ax_ = _axes(ax)
        self.figure_ = self.ax_.figure
        return self.ax_


class BoundDisplay(_Display):
    """Training error, tempered loss and bound (12) by round.

    Parameters
    ----------
    train_error, loss, bound : ndarray of float64, shape (rounds,)
        As in ``rounds_``. A bound of NaN, or one equal to the loss, is not drawn.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Of the last plot.

    Examples
    --------
    >>> from tadaboost import TAdaBoostClassifier
    >>> model = TAdaBoostClassifier().fit([[0.0], [1.0]] * 9, [0, 1] * 9)
    >>> display = BoundDisplay.from_estimator(model)  # doctest: +SKIP
    """

    def __init__(self, *, train_error: Floats, loss: Floats, bound: Floats) -> None:
        self.train_error, self.loss, self.bound = train_error, loss, bound

    @classmethod
    def from_estimator(cls, estimator: Any, *, label: Any = None, ax: Any = None) -> Self:
        """Draw the rounds of a fitted TAdaBoostClassifier.

        Parameters
        ----------
        estimator : fitted TAdaBoostClassifier
        label : one of its classes, optional
            With more than two: whose problem, "this class or not", is drawn.
        ax : matplotlib Axes, optional

        Returns
        -------
        BoundDisplay

        Raises
        ------
        ValueError
            If there are more than two classes and `label` is none of them.
        """
        check_is_fitted(estimator)
        rounds = _of_class(estimator, estimator.rounds_, label)
        fields = {name: rounds[name] for name in ("train_error", "loss", "bound")}
        return cls(**fields).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw; the axis of values is logarithmic, and a value of 0 lies below it."""
        axes = self._begin(ax)
        rounds = np.arange(1, len(self.loss) + 1)
        marker = "o" if len(rounds) == 1 else ""
        if not np.all(np.isnan(self.bound) | (self.bound == self.loss)):
            axes.plot(rounds, self.bound, "--", marker=marker, color="C7", label="bound (12)")
        axes.plot(rounds, self.loss, "-", marker=marker, color="C0", label="tempered loss")
        axes.step(
            rounds, self.train_error, "-", where="mid", marker=marker, color="C3", label="training error"
        )
        if any(np.any(values > 0) for values in (self.loss, self.train_error)):
            axes.set_yscale("log", nonpositive="mask")
            _plain_ticks(axes.yaxis)
        axes.set(xlabel="round", ylabel="mean over the training rows")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.legend()
        return self


class WeightsDisplay(_Display):
    """Spread of the weights of the rows by round, or the share of some rows in them.

    Parameters
    ----------
    quantiles : ndarray of float64, shape (rounds + 1, 5)
        Least, 10 %, median, 90 % and largest co-density, in units of the one before the first round.
    share : ndarray of float64, shape (rounds + 1,), or None
        Sum of the co-density over the rows asked about; drawn instead where given.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Of the last plot.
    """

    def __init__(self, *, quantiles: Floats, share: Floats | None = None) -> None:
        self.quantiles, self.share = quantiles, share

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, rows: ArrayLike | None = None, label: Any = None, ax: Any = None
    ) -> Self:
        """Draw the weights that a fit recorded.

        Parameters
        ----------
        estimator : TAdaBoostClassifier fitted with record_weights=True
        rows : array-like of int or bool, optional
            Indices or mask of training rows, say those suspected of a wrong label: their share is drawn.
        label : one of the model's classes, optional
            With more than two: whose problem, "this class or not", is drawn.
        ax : matplotlib Axes, optional

        Returns
        -------
        WeightsDisplay

        Raises
        ------
        ValueError
            If no weights were recorded, or there are more than two classes and `label` is none of them.
        IndexError
            If `rows` does not fit the training rows.
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "weights_"):
            raise ValueError("the model has no weights_; fit it with record_weights=True")
        weights = _of_class(estimator, estimator.weights_, label)
        counted = weights[0] > 0
        relative = weights[:, counted] / weights[0, counted]
        share = None if rows is None else weights[:, np.asarray(rows)].sum(axis=1)
        return cls(quantiles=np.quantile(relative, _QUANTILES, axis=1).T, share=share).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the share, or the quantiles on a logarithmic axis: a weight of 0 lies below it."""
        axes = self._begin(ax)
        rounds = np.arange(len(self.quantiles))
        axes.set_xlabel("rounds done")
        axes.xaxis.get_major_locator().set_params(integer=True)
        if self.share is not None:
            axes.plot(rounds, self.share, color="C0")
            axes.set_ylabel("share of the weight")
            axes.set_ylim(0, max(1e-3, 1.1 * float(self.share.max())))
            return self
        floor = self._floor()
        least, low, median, high, most = np.maximum(self.quantiles.T, floor)
        axes.fill_between(rounds, least, most, color="C0", alpha=0.15, linewidth=0, label="all rows")
        axes.fill_between(rounds, low, high, color="C0", alpha=0.35, linewidth=0, label="middle 80 %")
        axes.plot(rounds, median, color="C0", label="median")
        axes.axhline(1.0, color="0.5", linewidth=0.8, linestyle=":")
        axes.set_yscale("log")
        axes.set_ylim(floor, 1.5 * float(most.max()))
        _plain_ticks(axes.yaxis)
        axes.set_ylabel("weight of a row, at first 1")
        axes.legend()
        return self

    def _floor(self) -> float:
        """Lower end of the axis: below the smallest weight, but no more than 12 decades down."""
        on = self.quantiles[self.quantiles > 0]
        return max(0.5 * float(on.min(initial=1.0)), 1e-12)


class MarginDisplay(_Display):
    """Share of rows whose margin nu_t is at most theta, and its bound: the two sides of (13).

    Parameters
    ----------
    theta, risk, bound : ndarray of float64, shape (points,)
        As `margin_risk` and `margin_bound` give them. A bound of NaN is not drawn.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Of the last plot.
    """

    def __init__(self, *, theta: Floats, risk: Floats, bound: Floats) -> None:
        self.theta, self.risk, self.bound = theta, risk, bound

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        theta: ArrayLike | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the margins of rows; the bound holds for the training rows.

        Parameters
        ----------
        estimator : fitted TAdaBoostClassifier
        X : array-like or data frame of shape (rows, columns)
        y : array-like of shape (rows,)
        sample_weight : array-like of shape (rows,), optional
        theta : array-like of float in (-1, 1), optional
            Sorted; 399 equal steps by default.
        ax : matplotlib Axes, optional

        Returns
        -------
        MarginDisplay
        """
        points = np.linspace(-0.995, 0.995, 399) if theta is None else np.asarray(theta, np.float64)
        risk = estimator.margin_risk(X, y, points, sample_weight)
        return cls(theta=points, risk=risk, bound=estimator.margin_bound(points)).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw both curves over theta."""
        axes = self._begin(ax)
        if not np.isnan(self.bound).all():
            axes.plot(self.theta, self.bound, "--", color="C7", label="bound (13)")
        axes.plot(self.theta, self.risk, color="C0", drawstyle="steps-post", label="share of rows")
        axes.set(
            xlabel=r"margin $\theta$",
            ylabel=r"rows with margin at most $\theta$",
            xlim=(-1, 1),
            ylim=(0, 1.03),
        )
        axes.set_xticks(np.linspace(-1, 1, 5))
        axes.legend(loc="upper left")
        return self


def _of_class(estimator: Any, values: NDArray[Any], label: Any) -> NDArray[Any]:
    """Pick one problem of a model of more than two classes, whose values have classes on the last axis."""
    if len(estimator.classes_) <= 2:
        return values
    (place,) = np.nonzero(estimator.classes_ == label)
    if len(place) != 1:
        raise ValueError(f"label is {label!r}; choose the class to draw: {estimator.classes_.tolist()}")
    picked: NDArray[Any] = values[..., place[0]]
    return picked


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'tadaboost[plot]'") from error
    _, axes = pyplot.subplots(layout="constrained")
    return axes


def _plain_ticks(axis: Any) -> None:
    """Label a logarithmic axis of few decades at 1, 2 and 5, as plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    if 0 < low < high < 1000 * low:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())


def _colours(n: int) -> Floats:
    """Colours that stay apart in order, on paper and for the colour-blind, without the palest."""
    from matplotlib import colormaps

    colours: Floats = colormaps["viridis"](np.linspace(0.0, 0.88, n))
    return colours


def _name(t: float) -> str:
    return r"$t = -\infty$" if np.isneginf(t) else f"$t = {t:g}$"
