# SPDX-License-Identifier: Apache-2.0
"""How wrong a model is on rows that it has not seen: an `Estimate` by stratified cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import _safe_indexing

from tadaboost.target import mean_over_rows

Floats = NDArray[np.float64]


class Figure(NamedTuple):
    """A mean over folds, and its standard error: their standard deviation over the root of their number."""

    mean: float
    se: float


@dataclass(frozen=True)
class Estimate:
    """What cross-validation found.

    Attributes
    ----------
    folds : int
    seed : int
        Of the draw of the folds.
    error : Figure
        Share of rows predicted wrong, 0 to 1.
    log_loss : Figure
        Mean of -log of the probability given to the true class, in nats, probabilities clipped as
        `log_loss_clip` says.
    auc : Figure
        Area under the ROC curve; with more than two classes the plain mean over the classes of that of each
        against the rest.
    proba : ndarray of float64, shape (rows,), or (rows, classes) for more than two
        Probability of the second class, or of each, for each row from the model that did not see it.
    staged_error : ndarray of float64, shape (folds, rounds)
        Error on the held-out fold after each round; a model that ended early keeps its last error.
    """

    folds: int
    seed: int
    error: Figure
    log_loss: Figure
    auc: Figure
    proba: Floats
    staged_error: Floats

    def as_dict(self) -> dict[str, Any]:
        """Return the folds, the seed and the three figures, ready for JSON."""
        figures = {name: getattr(self, name)._asdict() for name in ("error", "log_loss", "auc")}
        return {"folds": self.folds, "seed": self.seed, **figures}


def log_loss_clip(total: float) -> float:
    """Return the least probability that log loss reports with: 1 / (2 W + 2), W the training weight.

    One wrong row to which a model gives probability 0 would make the mean infinite. The data cannot tell 0
    from half a row in W + 1.

    Examples
    --------
    >>> log_loss_clip(99)
    0.005
    """
    return 1.0 / (2.0 * total + 2.0)


def cross_validate(
    make_model: Callable[[], Any],
    X: Any,
    y: NDArray[np.generic],
    *,
    sample_weight: Floats | None = None,
    folds: int = 10,
    seed: int = 0,
    on_progress: Callable[[], object] = lambda: None,
) -> Estimate:
    """Estimate error, log loss and AUC of a classifier by stratified cross-validation.

    Each fold is predicted by a model fitted to the others, so bins, levels and trees come from training rows
    only. Which columns are used and what type they have was decided on the whole file before; that looks at
    no label.

    Parameters
    ----------
    make_model : callable
        Returns an unfitted classifier with `predict_proba` and `staged_predict`.
    X : data frame or array of shape (rows, columns)
    y : array-like of shape (rows,)
        Two classes or more.
    sample_weight : array-like of shape (rows,), optional
        Multiplicities; the figures are means over the rows so weighted.
    folds : int
        At least 2, and no more than rows of the rarer class.
    seed : int
        Of the shuffle before the split.
    on_progress : callable
        Called after each fold.

    Returns
    -------
    Estimate

    Raises
    ------
    ValueError
        If there is one class only, or a class has fewer rows than there are folds.
    """
    y = np.asarray(y)  # rows are meant by position, never by the index of a Series
    classes, place, counts = np.unique(y, return_inverse=True, return_counts=True)
    if len(classes) < 2:
        raise ValueError("y has one class; an estimate needs two at least")
    rarest = int(counts.argmin())
    if counts[rarest] < folds:
        raise ValueError(
            f"class {str(classes[rarest])!r} has {counts[rarest]} rows, fewer than the {folds} folds; "
            "take fewer with --folds (at least 2), or 0 for no estimate"
        )
    weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, np.float64)
    proba = np.empty((len(y), len(classes)))
    figures, curves = [], []
    for train, test in StratifiedKFold(folds, shuffle=True, random_state=seed).split(np.zeros(len(y)), y):
        X_test, y_test, w_test = _safe_indexing(X, test), y[test], weight[test]
        model = make_model()
        model.fit(_safe_indexing(X, train), y[train], None if sample_weight is None else weight[train])
        p = proba[test] = model.predict_proba(X_test)
        clip = log_loss_clip(weight[train].sum())
        of_truth = np.clip(p[np.arange(len(test)), place[test]], clip, 1 - clip)
        figures.append(
            (
                mean_over_rows(model.predict(X_test) != y_test, w_test),
                mean_over_rows(-np.log(of_truth), w_test),
                _auc(place[test], p, w_test),
            )
        )
        curves.append([mean_over_rows(stage != y_test, w_test) for stage in model.staged_predict(X_test)])
        on_progress()
    means = np.mean(figures, axis=0)
    errors = np.std(figures, axis=0, ddof=1) / np.sqrt(folds)
    error, loss, auc = (Figure(float(mean), float(se)) for mean, se in zip(means, errors, strict=True))
    rounds = max(map(len, curves))
    staged = np.array([curve + curve[-1:] * (rounds - len(curve)) for curve in curves], dtype=np.float64)
    return Estimate(folds, seed, error, loss, auc, proba[:, 1] if len(classes) == 2 else proba, staged)


def _auc(place: NDArray[np.intp], proba: Floats, weight: Floats) -> float:
    """Return the mean over the problems "this class or not" of the area under the ROC curve."""
    problems = range(proba.shape[1]) if proba.shape[1] > 2 else [1]
    return float(np.mean([roc_auc_score(place == k, proba[:, k], sample_weight=weight) for k in problems]))
