# SPDX-License-Identifier: Apache-2.0
"""Margins of a fitted model of two classes: the two sides of (13)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from tadaboost import losses, target
from tadaboost.base import Floats, TemperedClassifier


class MarginMixin(TemperedClassifier):
    """The share of rows of small margin, and the bound on it that the fit certifies."""

    rounds_: NDArray[np.void]

    def margin_risk(self, X: Any, y: Any, theta: ArrayLike, sample_weight: Any = None) -> Floats:
        """Share of rows whose margin nu_t = tanh_t(y H(x) / 2) is at most theta: the left side of (13).

        Parameters
        ----------
        X : array-like or data frame of shape (rows, n_features_in_)
        y : array-like of shape (rows,)
            Labels among `classes_`.
        theta : array-like of float in (-1, 1), any shape
            0 counts the rows that are wrong, or tied.
        sample_weight : array-like of shape (rows,), optional
            Multiplicities of the rows.

        Returns
        -------
        ndarray of float64 in [0, 1], the shape of theta

        Raises
        ------
        ValueError
            If theta is outside (-1, 1), a label is none of `classes_`, or there are more than two classes.

        Examples
        --------
        >>> from tadaboost import TAdaBoostClassifier
        >>> model = TAdaBoostClassifier().fit([[0.0], [1.0]] * 9, [0, 1] * 9)
        >>> model.margin_risk([[0.0], [1.0]], [0, 0], theta=[-0.99, 0.0, 0.99])
        array([0. , 0.5, 1. ])
        """
        thetas = self._margins(theta)
        score = self.decision_function(X)
        labels = target.check_labels(y)
        check_consistent_length(score, labels)
        for i in np.flatnonzero(~np.isin(labels, self.classes_))[:1]:
            raise ValueError(
                f"y[{i}] is {labels[i]!s}, which is none of the classes {self.classes_.tolist()}"
            )
        sign = np.where(labels == self.classes_[0], -1.0, 1.0)
        weight = target.weigh(labels, sample_weight, None)
        nu = losses.margin(sign, score, self._temperature)
        return share_at_most(nu, thetas, weight)

    def _margins(self, theta: ArrayLike) -> Floats:
        check_is_fitted(self)
        if self._n_scores() > 1:
            raise ValueError(
                f"margins are those of two classes, and this model has {len(self.classes_)}; "
                "fit one model for each class against the rest"
            )
        thetas = np.asarray(theta, np.float64)
        bad = ~(np.abs(thetas) < 1.0)
        if bad.any():
            raise ValueError(f"theta must be inside (-1, 1), got {thetas[bad].flat[0]}")
        return thetas

    def margin_bound(self, theta: ArrayLike) -> Floats:
        """Bound of `margin_risk` on the training rows: ((1+theta)/(1-theta))^(2-t) prod Z^(2-t), (13).

        Parameters
        ----------
        theta : array-like of float in (-1, 1), any shape

        Returns
        -------
        ndarray of float64, the shape of theta
            Above 1 it says nothing; NaN for a clipped model with t > 1, for which (13) does not hold.

        Raises
        ------
        ValueError
            If theta is outside (-1, 1), or there are more than two classes.

        Examples
        --------
        >>> from tadaboost import TAdaBoostClassifier
        >>> model = TAdaBoostClassifier(n_estimators=10).fit([[0.0], [1.0]] * 9, [0, 1] * 9)
        >>> bool(model.margin_bound(0.0) == model.rounds_["loss"][-1])
        True
        """
        thetas = self._margins(theta)
        t = self._temperature
        if t > 1.0 and np.isfinite(self._clip_at):
            return np.full_like(thetas, np.nan)
        with np.errstate(over="ignore"):
            return np.asarray(((1.0 + thetas) / (1.0 - thetas)) ** (2.0 - t) * self.rounds_["loss"][-1])


def share_at_most(nu: Floats, thetas: Floats, weight: Floats | None) -> Floats:
    """Share of the weight on rows whose margin nu is at most theta, for each theta."""
    order = np.argsort(nu)
    share = np.cumsum(np.ones(len(nu)) if weight is None else weight[order])
    below = np.searchsorted(nu[order], thetas, side="right")
    return np.asarray(np.concatenate([[0.0], share])[below] / share[-1])
