# SPDX-License-Identifier: Apache-2.0
"""Plots with matplotlib, which is imported only when something is drawn (the extra ``tadaboost[plot]``).

`BoundDisplay`, `WeightsDisplay` and `MarginDisplay` show what a fit did, `TreeDisplay` is one of its trees,
`TemperatureDisplay` says which t does best. They follow scikit-learn's displays: `from_estimator` computes
and draws, `plot` draws again, `ax_` and `figure_` are where.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import validation_curve
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from tadaboost import drawing, losses, margins, target, treeview
from tadaboost.curves import plot_k_t, plot_losses

__all__ = [
    "BoundDisplay",
    "MarginDisplay",
    "TemperatureDisplay",
    "TreeDisplay",
    "WeightsDisplay",
    "plot_k_t",
    "plot_losses",
]

Floats = NDArray[np.float64]

_QUANTILES = (0.0, 0.1, 0.5, 0.9, 1.0)


class _Display:
    """Where a display was drawn."""

    ax_: Any
    figure_: Any

    def _begin(self, ax: Any, size: Any = None) -> Any:
        self.ax_ = drawing.on(ax, size)
        self.figure_ = self.ax_.figure
        return self.ax_


class BoundDisplay(_Display):
    """Training error, tempered loss, bound (12) and loss of the validation rows by round.

    Parameters
    ----------
    train_error, loss, bound, val_loss : ndarray of float64, shape (rounds,)
        As in ``rounds_``. What is NaN is not drawn, nor a bound equal to the loss.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Of the last plot.

    Examples
    --------
    >>> from tadaboost import TAdaBoostClassifier
    >>> from matplotlib.figure import Figure
    >>> model = TAdaBoostClassifier(n_estimators=2).fit([[0.0], [1.0], [2.0]] * 9, [0, 1, 0] * 8 + [0, 0, 1])
    >>> display = BoundDisplay.from_estimator(model, ax=Figure().subplots())
    >>> display.ax_.get_xlabel(), display.loss.shape
    ('round', (2,))
    """

    def __init__(
        self, *, train_error: Floats, loss: Floats, bound: Floats, val_loss: Floats | None = None
    ) -> None:
        self.train_error, self.loss, self.bound = train_error, loss, bound
        self.val_loss = np.full(len(loss), np.nan) if val_loss is None else val_loss

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
        fields = {name: rounds[name] for name in ("train_error", "loss", "bound", "val_loss")}
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
        if not np.isnan(self.val_loss).all():
            axes.plot(rounds, self.val_loss, "-.", marker=marker, color="C1", label="loss, validation rows")
        if any(np.any(values > 0) for values in (self.loss, self.train_error)):
            axes.set_yscale("log", nonpositive="mask")
            drawing.plain_ticks(axes.yaxis)
        axes.set(xlabel="round", ylabel="mean over the rows")
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

    Examples
    --------
    >>> from tadaboost import TAdaBoostClassifier
    >>> from matplotlib.figure import Figure
    >>> model = TAdaBoostClassifier(n_estimators=2, record_weights=True)
    >>> model = model.fit([[0.0], [1.0], [2.0]] * 9, [0, 1, 0] * 8 + [0, 0, 1])
    >>> display = WeightsDisplay.from_estimator(model, rows=[25, 26], ax=Figure().subplots())
    >>> display.share.shape, bool(display.share[-1] > display.share[0])
    ((3,), True)
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
        drawing.plain_ticks(axes.yaxis)
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

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = Figure().subplots()
    >>> display = MarginDisplay.from_predictions([0, 1], [-1.0, 3.0], t=1.0, theta=[0.0, 0.6], ax=ax)
    >>> display.risk
    array([0. , 0.5])
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
        points = _thetas(theta)
        risk = estimator.margin_risk(X, y, points, sample_weight)
        return cls(theta=points, risk=risk, bound=estimator.margin_bound(points)).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        score: ArrayLike,
        *,
        t: float,
        pos_label: Any = None,
        sample_weight: Any = None,
        theta: ArrayLike | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the margins of rows whose scores are known, of a cross-validation say; there is no bound.

        Parameters
        ----------
        y_true : array-like of shape (rows,)
        score : array-like of float, shape (rows,)
            As `decision_function` gives it.
        t : float
            Temperature of the model.
        pos_label : a label, optional
            That of rows which should have scores above 0; by default the last in sorted order.
        sample_weight, theta, ax
            As in `from_estimator`.

        Returns
        -------
        MarginDisplay

        Raises
        ------
        ValueError
            If there are more than two labels, or as many scores as labels there are not.
        """
        labels, scores, points = (
            target.check_labels(y_true, "y_true"),
            np.asarray(score, float),
            _thetas(theta),
        )
        check_consistent_length(labels, scores)
        classes = np.unique(labels)
        if len(classes) > 2:
            raise ValueError(f"margins are those of two classes, and y_true has {len(classes)}")
        positive = labels == (classes[-1] if pos_label is None else pos_label)
        nu = losses.margin(np.where(positive, 1.0, -1.0), scores, t)
        risk = margins.share_at_most(nu, points, target.weigh(labels, sample_weight, None))
        return cls(theta=points, risk=risk, bound=np.full(len(points), np.nan)).plot(ax)

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


class TreeDisplay(_Display):
    """One tree of a model, from its root at the left to its leaves; `treeview.export_text` is exact.

    A line is the thicker the more training rows take it; "missing" is where a missing value goes, and a level
    that training never saw. A leaf shows its value, blue above 0 and orange below, and its training rows.

    Parameters
    ----------
    view : treeview.View
        The tree, and what its numbers mean.
    title : str

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Of the last plot.

    Examples
    --------
    >>> from tadaboost import TAdaBoostClassifier
    >>> from matplotlib.figure import Figure
    >>> model = TAdaBoostClassifier(n_estimators=1).fit([[0.0], [1.0]] * 9, [0, 1] * 9)
    >>> TreeDisplay.from_estimator(model, ax=Figure().subplots()).title
    'tree 0, coefficient 0.1; values above 0 speak for 1'
    """

    def __init__(self, *, view: treeview.View, title: str = "") -> None:
        self.view, self.title = view, title

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        index: int = 0,
        *,
        label: Any = None,
        feature_names: Sequence[str] | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw a tree of a fitted model.

        Parameters
        ----------
        estimator : fitted TAdaBoostClassifier or TemperedTreeClassifier
        index, label, feature_names
            As in `treeview.export_text`.
        ax : matplotlib Axes, optional
            The letters shrink to fit it. By default a new figure, as large as the tree needs.

        Returns
        -------
        TreeDisplay

        Raises
        ------
        IndexError, ValueError
            As in `treeview.export_text`.
        """
        seen = treeview.view(estimator, index, label, feature_names)
        title = "" if seen.label is None else f"values above 0 speak for {treeview.cut(repr(seen.label))}"
        if hasattr(estimator, "trees_"):
            title = f"tree {index % estimator.n_iter_}, coefficient {seen.alpha:.3g}; {title}".rstrip("; ")
        return cls(view=seen, title=title).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw; the upper branch of a node is that of its condition."""
        picture = treeview.Picture(self.view)
        axes = self._begin(ax, picture.inches())
        axes.set_title(treeview.literal(self.title), fontsize="medium", loc="left")
        picture.draw(axes)
        return self


class TemperatureDisplay(_Display):
    """Cross-validated score by temperature t: which t does best, and whether that may be chance.

    Bars are for differences between temperatures: one standard error each, without what makes a fold hard or
    easy for all. Since folds share training rows, they are too short by some.

    Parameters
    ----------
    ts : array-like of float, shape (temperatures,)
    scores : ndarray of float64, shape (temperatures, folds)
        The higher the better, as scikit-learn's scorers have it.
    name : str
        Of the score.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Of the last plot.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> display = TemperatureDisplay(ts=[0.0, 1.0], scores=np.array([[0.8, 0.9], [0.7, 0.9]]))
    >>> display.plot(Figure().subplots()).ax_.get_ylabel()
    'score'
    """

    def __init__(self, *, ts: ArrayLike, scores: Floats, name: str = "score") -> None:
        self.ts, self.scores, self.name = np.asarray(ts, np.float64), scores, name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        ts: Sequence[float] = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0, 1.1),
        cv: Any = None,
        scoring: Any = None,
        param_name: str = "t",
        params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        ax: Any = None,
    ) -> Self:
        """Cross-validate a classifier at each t, by `sklearn.model_selection.validation_curve`, and draw.

        Parameters
        ----------
        estimator : TAdaBoostClassifier, or a pipeline or search around one
            Need not be fitted.
        X : array-like or data frame of shape (rows, columns)
        y : array-like of shape (rows,)
        ts : sequence of float below 2
        cv, scoring, n_jobs
            As `validation_curve` takes them; the same folds serve all t.
        param_name : str, default="t"
            Name of the temperature: "tadaboostclassifier__t" in a pipeline.
        params : dict, optional
            What else `fit` and the scorer get, such as ``{"sample_weight": ...}``.
        ax : matplotlib Axes, optional

        Returns
        -------
        TemperatureDisplay

        Raises
        ------
        ValueError
            If a t is not below 2, or `cv` does not fit the rows.
        """
        _, scores = validation_curve(
            estimator, X, y, param_name=param_name, param_range=list(ts), cv=cv, scoring=scoring,
            params=params, n_jobs=n_jobs, error_score="raise",
        )  # fmt: skip
        name = scoring if isinstance(scoring, str) else "accuracy" if scoring is None else "score"
        return cls(ts=ts, scores=scores, name=name).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw means with one standard error to each side, what all t have in common in a fold left out."""
        axes = self._begin(ax)
        order = np.argsort(self.ts)
        ts, scores = self.ts[order], self.scores[order]
        n_ts, n_folds = scores.shape
        error = np.zeros(n_ts)
        if n_ts > 1 and n_folds > 1:  # Cousineau's bars with Morey's factor: for differences between t
            spread = (scores - scores.mean(axis=0)).std(axis=1, ddof=1)
            error = spread * np.sqrt(n_ts / (n_ts - 1) / n_folds)
        axes.errorbar(
            ts, scores.mean(axis=1), error, color="C0", marker="o", capsize=3, label="mean of folds"
        )
        axes.axvline(1.0, color="0.5", linewidth=0.8, linestyle=":", label="AdaBoost")
        axes.set(xlabel="temperature $t$", ylabel=self.name.replace("_", " "))
        axes.legend()
        return self


def _thetas(theta: ArrayLike | None) -> Floats:
    return np.linspace(-0.995, 0.995, 399) if theta is None else np.asarray(theta, np.float64)


def _of_class(estimator: Any, values: NDArray[Any], label: Any) -> NDArray[Any]:
    """Pick one problem of a model of more than two classes, whose values have classes on the last axis."""
    if len(estimator.classes_) <= 2:
        return values
    picked: NDArray[Any] = values[..., treeview.place_of(estimator, label)]
    return picked
