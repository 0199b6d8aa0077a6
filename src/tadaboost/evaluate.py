# SPDX-License-Identifier: Apache-2.0
"""How wrong a model is on rows that it has not seen: an `Estimate` by stratified cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import _safe_indexing

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
        Area under the ROC curve.
    proba : ndarray of float64, shape (rows,)
        Probability of the second class for each row, from the model that did not see it.
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
    """Estimate error, log loss and AUC of a two-class model by stratified cross-validation.

    Each fold is predicted by a model fitted to the others, so bins, levels and trees come from training rows
    only. Which columns are used and what type they have was decided on the whole file before; that looks at
    no label.

    Parameters
    ----------
    make_model : callable
        Returns an unfitted classifier with `predict_proba` and `staged_predict`.
    X : data frame or array of shape (rows, columns)
    y : array of shape (rows,)
        Two classes.
    sample_weight : array of shape (rows,), optional
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
        If a class has fewer rows than there are folds.
    """
    classes, counts = np.unique(y, return_counts=True)
    rarest = int(counts.argmin())
    if counts[rarest] < folds:
        raise ValueError(
            f"class {str(classes[rarest])!r} has {counts[rarest]} rows, fewer than the {folds} folds; "
            "take fewer with --folds (at least 2), or 0 for no estimate"
        )
    weight = np.ones(len(y)) if sample_weight is None else sample_weight
    proba = np.empty(len(y))
    figures, curves = [], []
    for train, test in StratifiedKFold(folds, shuffle=True, random_state=seed).split(np.zeros(len(y)), y):
        X_test, y_test, w_test = _safe_indexing(X, test), y[test], weight[test]
        model = make_model()
        model.fit(_safe_indexing(X, train), y[train], None if sample_weight is None else weight[train])
        p = model.predict_proba(X_test)[:, 1]
        proba[test] = p
        clip = log_loss_clip(weight[train].sum())
        figures.append(
            (
                np.average(model.predict(X_test) != y_test, weights=w_test),
                log_loss(y_test, np.clip(p, clip, 1 - clip), sample_weight=w_test, labels=classes),
                roc_auc_score(y_test == classes[1], p, sample_weight=w_test),
            )
        )
        curves.append([np.average(stage != y_test, weights=w_test) for stage in model.staged_predict(X_test)])
        on_progress()
    means = np.mean(figures, axis=0)
    errors = np.std(figures, axis=0, ddof=1) / np.sqrt(folds)
    error, loss, auc = (Figure(float(mean), float(se)) for mean, se in zip(means, errors, strict=True))
    rounds = max(map(len, curves))
    staged = np.array([curve + curve[-1:] * (rounds - len(curve)) for curve in curves], dtype=np.float64)
    return Estimate(folds, seed, error, loss, auc, proba, staged)
