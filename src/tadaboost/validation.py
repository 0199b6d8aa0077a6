# SPDX-License-Identifier: Apache-2.0
"""Early stopping: rows held out of the fit, how the model does on them round by round, and its best round."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_consistent_length

from tadaboost import frame, losses, target

__all__ = ["Rows", "Watch", "draw", "part", "weighted"]

Floats = NDArray[np.float64]

# A row beyond the pole of the loss at t > 1, or far out at t = 1, weighs this: what is stored stays finite.
_MOST_LOSS = math.exp(600.0)


class Rows(NamedTuple):
    """Rows of a table with their labels and weights, as `fit` takes them."""

    X: Any
    y: Any
    weight: Any


def draw(labels: NDArray[Any], weight: Floats | None, fraction: float, seed: int) -> NDArray[np.bool_]:
    """Choose rows to hold out: a share of each class, by a number that (seed, position) alone gives a row.

    Parameters
    ----------
    labels : ndarray of shape (rows,)
    weight : ndarray of float64, shape (rows,), or None
        Rows of 0 are not there, and are not chosen.
    fraction : float in (0, 1)
        The share, rounded to whole rows in each class; every class keeps a row, and a row at least is chosen.
    seed : int

    Returns
    -------
    ndarray of bool, shape (rows,)

    Raises
    ------
    ValueError
        If no class has two rows.

    Examples
    --------
    >>> draw(np.array(["a", "b"] * 10), None, 0.1, seed=0).sum()
    np.int64(2)
    """
    number = np.random.Philox(key=seed).random_raw(len(labels))
    present = np.ones(len(labels), bool) if weight is None else weight > 0
    order = np.argsort(number, kind="stable")
    order = order[present[order]]
    _, place, counts = np.unique(labels[order], return_inverse=True, return_counts=True)
    wanted = np.minimum(np.rint(fraction * counts).astype(np.int64), counts - 1)
    if not wanted.any():
        if counts.max() < 2:
            raise ValueError(
                f"early_stopping cannot set a row aside where no class has two (n_samples={len(order)}); "
                "pass X_val and y_val, or validation_fraction=None to watch the training loss"
            )
        wanted[counts.argmax()] = 1
    held_out = np.zeros(len(labels), bool)
    for k, n in enumerate(wanted):
        held_out[order[np.flatnonzero(place == k)[:n]]] = True
    return held_out


def part(
    X: Any,
    y: Any,
    sample_weight: Any = None,
    X_val: Any = None,
    y_val: Any = None,
    sample_weight_val: Any = None,
    *,
    fraction: float | None,
    seed: int,
) -> tuple[Rows, Rows | None]:
    """Part what is given to `fit` into the rows to fit and those held out: given, drawn, or none.

    Parameters
    ----------
    X, y, sample_weight, X_val, y_val, sample_weight_val
        As `fit` takes them.
    fraction : float or None
        What to draw if no validation rows are given; None: nothing.
    seed : int

    Returns
    -------
    tuple of Rows, and Rows or None

    Raises
    ------
    ValueError
        If only some of the three of the validation rows are given, or nothing can be drawn.
    """
    train = Rows(X, y, sample_weight)
    if X_val is not None:
        if y_val is None:
            raise ValueError("X_val is given but y_val is not; the validation rows need labels")
        labels = target.check_labels(y_val, "y_val")
        try:
            check_consistent_length(frame.open_table(X_val), labels)
        except (ValueError, TypeError) as error:
            raise type(error)(f"X_val: {error}") from None
        return train, Rows(X_val, labels, sample_weight_val)
    if y_val is not None or sample_weight_val is not None:
        raise ValueError("y_val and sample_weight_val are about the rows of X_val, which is not given")
    if fraction is None:
        return train, None
    labels, table = target.check_labels(y), frame.open_table(X)
    check_consistent_length(table, labels)
    weight = target.weigh(labels, sample_weight, None)
    if len(np.unique(labels)) == 1:  # nothing to be found out
        return train, None
    out = draw(labels, weight, float(fraction), seed)
    inside, outside = (
        Rows(
            # As what it was if a frame: its names are needed. Else as an array, which can be indexed.
            _safe_indexing(table if isinstance(table, np.ndarray) else X, np.flatnonzero(chosen)),
            labels[chosen],
            None if weight is None else weight[chosen],
        )
        for chosen in (~out, out)
    )
    return inside, outside


def weighted(train: Rows, held_out: Rows | None, classes: NDArray[Any], class_weight: Any) -> Rows:
    """Check the rows to watch, those held out or else those of the fit; weigh them as the fit weighs its own.

    Parameters
    ----------
    train : Rows
    held_out : Rows or None
    classes : ndarray
        Of the fit.
    class_weight : dict, "balanced" or None
        A "balanced" factor is that of the rows of the fit.

    Returns
    -------
    Rows
        With an array of labels, and one of multiplicities or None.

    Raises
    ------
    ValueError
        If a label is none of the classes, or a weight is out of its range.
    """
    trained = target.check_labels(train.y)
    if held_out is None:
        return Rows(train.X, trained, target.weigh(trained, train.weight, class_weight))
    for i in np.flatnonzero(~np.isin(held_out.y, classes))[:1]:
        raise ValueError(f"y_val[{i}] is {held_out.y[i]!s}, which is none of the classes in y")
    weight = target.weigh_others(
        held_out.y, held_out.weight, trained, train.weight, class_weight, "sample_weight_val"
    )
    return Rows(held_out.X, held_out.y, weight)


class Watch:
    """What a run is worth after each round.

    Parameters
    ----------
    model : TAdaBoostClassifier
        Being fitted: knows its classes, temperature and clipping.
    rows : Rows or None
        To score the model on; None: the training loss is watched.
    output : callable
        Gives h(x) of the rows for a tree or weak learner.
    scorer : callable or None
        As scikit-learn's; None: the mean tempered loss, lower is better.
    stops : bool
        Whether early stopping is on; else the losses are only recorded.
    held_out : bool
        False: the rows are those of the fit, and no losses are recorded.

    Attributes
    ----------
    losses : list of ndarray of shape (scores of a row,)
        Mean tempered exponential loss of the held-out rows after each round; empty without such rows.
    best : int
        The best round, from 1; the first of equals.
    """

    def __init__(
        self,
        model: Any,
        rows: Rows | None,
        output: Callable[[Any], Floats],
        scorer: Any,
        stops: bool,
        held_out: bool = True,
    ) -> None:
        self._model, self._rows, self._output, self._scorer = model, rows, output, scorer
        self._stops, self._held_out = stops, held_out
        self._best_figure = math.inf
        self.best = self.n_rounds = 0
        self.losses: list[Floats] = []
        if rows is not None:
            classes = model.classes_ if len(model.classes_) > 2 else model.classes_[1:]
            self._sign = np.where(rows.y[:, None] == classes, 1.0, -1.0)
            self._score = np.zeros(self._sign.shape)
            self._outputs: list[list[Floats]] = [[] for _ in self._score.T]  # with corrective steps

    def look(self, run: Any) -> bool:
        """Score a round if there is a new one; say whether the run should stop."""
        if run.n_rounds == self.n_rounds:
            return False
        self.n_rounds = run.n_rounds
        figure = self._figure(run)
        if self.best == 0 or math.isnan(self._best_figure) or figure < self._best_figure - self._model.tol:
            self.best, self._best_figure = self.n_rounds, figure
        return self._stops and self.n_rounds - self.best >= self._model.n_iter_no_change

    def n_kept(self, run: Any) -> int:
        """Count the rounds of the model: up to the best one, when all is over and early stopping is on."""
        return self.best if self._stops and run.stop_reason is not None else run.n_rounds

    def _figure(self, run: Any) -> float:
        """Return what is to be made small."""
        if self._rows is None:
            return float(run.latest_loss())
        self._add(run.latest())
        if self._held_out:
            loss = losses.tempered_exp_loss(self._sign * self._score, self._model._temperature)
            self.losses.append(target.mean_over_rows(np.minimum(loss, _MOST_LOSS), self._rows.weight))
        if self._scorer is None or not self._stops:
            return float(self.losses[-1].mean())
        return -self._scored(self._rows)

    def _scored(self, rows: Rows) -> float:
        weight = {} if rows.weight is None else {"sample_weight": rows.weight}
        about = f"scoring={self._model.scoring!r}"
        try:
            score = float(self._scorer(_Snapshot(self._model, rows.X, self._score), rows.X, rows.y, **weight))
        except (ValueError, TypeError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"{about}: {' '.join(str(error).split())}") from error
        if math.isnan(score):  # which no round would be better than
            raise ValueError(
                f"{about} gives NaN, as where the validation rows lack a class; pass other rows in X_val and "
                "y_val, or take scoring='loss'"
            )
        return score

    def _add(self, latest: Sequence[tuple[Any, float | Floats]]) -> None:
        clip_at = self._model._clip_at
        for k, (weak, alpha) in enumerate(latest):
            if isinstance(alpha, np.ndarray):  # the round chose all coefficients anew
                self._outputs[k].append(self._output(weak))
                self._score[:, k] = alpha @ np.array(self._outputs[k])
            elif alpha != 0.0:
                score = self._score[:, k] + alpha * self._output(weak)
                self._score[:, k] = np.clip(score, -clip_at, clip_at)


class _Snapshot(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """The model after the rounds so far, for scorers: it knows the scores of the one table they ask about."""

    def __init__(self, model: Any, rows: Any, scores: Floats) -> None:
        self.model, self.rows, self.scores = model, rows, scores
        self.classes_ = model.classes_

    def decision_function(self, X: Any) -> Floats:
        """Return the scores so far, of the rows they belong to; ValueError for others."""
        if X is not self.rows:
            raise ValueError("a scorer may ask about the X that it is given, as it is, and no other rows")
        return self.scores[:, 0] if self.scores.shape[1] == 1 else self.scores

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities that the scores so far imply."""
        proba: Floats = self.model._probabilities(self.decision_function(X))
        return proba

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the classes that the scores so far imply."""
        labels: NDArray[Any] = self.model._most_probable(self.predict_proba(X))
        return labels
