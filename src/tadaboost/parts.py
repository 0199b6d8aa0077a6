# SPDX-License-Identifier: Apache-2.0
"""What other libraries are told about a fitted model: its trees, coefficients, labels and levels."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tadaboost.base import TemperedClassifier
from tadaboost.frame import Schema
from tadaboost.tree import Tree, depths

__all__ = ["Parts", "members", "parts_of", "refuse_deep"]

_DEEPEST = 1000  # onnxruntime calls itself a level: 8 MB of stack end between 10,000 and 20,000


class Parts(NamedTuple):
    """A fitted model, taken apart.

    Attributes
    ----------
    trees : list of Tree
        Round by round; in each class by class where there are more than two.
    alpha : ndarray of float64, shape (trees,)
        Their coefficients.
    t, clip_at : float
        Temperature; where scores are clipped after every tree (inf: nowhere).
    classes : ndarray
        Labels.
    levels : list
        The levels of each column by code; None for a column of numbers.
    names : list of str
        Of the columns.
    """

    trees: list[Tree]
    alpha: NDArray[np.float64]
    t: float
    clip_at: float
    classes: NDArray[Any]
    levels: Schema
    names: list[str]

    @property
    def n_scores(self) -> int:
        """Count the scores of a row: one, or one a class if there are more than two."""
        return 1 if len(self.classes) <= 2 else len(self.classes)

    @property
    def is_clipped(self) -> bool:
        """Whether scores are clipped after every tree."""
        return math.isfinite(self.clip_at)

    def added(self, j: int) -> NDArray[np.float64]:
        """Give what the nodes of tree j add to the score: alpha_j times their value, 0 but in leaves."""
        added: NDArray[np.float64] = self.alpha[j] * self.trees[j].value
        return added


def parts_of(model: TemperedClassifier) -> Parts:
    """Take a fitted model apart.

    Parameters
    ----------
    model : fitted TAdaBoostClassifier or TemperedTreeClassifier

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    TypeError
        If it is none of ours, or has weak learners of another kind (`estimator`) in place of trees.
    """
    if not isinstance(model, TemperedClassifier):
        raise TypeError(
            f"model is a {type(model).__name__}; it must be a fitted TAdaBoostClassifier or "
            "TemperedTreeClassifier (of a pipeline, its last step)"
        )
    check_is_fitted(model)
    if getattr(model, "estimators_", None):
        raise TypeError(
            f"a model of estimator={type(model.estimator).__name__} has no trees of ours to export; fit one "
            "with estimator=None"
        )
    trees, alpha = model._fitted()
    names = getattr(model, "feature_names_in_", None)
    return Parts(
        trees, alpha, model._temperature, model._clip_at, model.classes_, model._schema,
        [f"x{c}" for c in range(model.n_features_in_)] if names is None else names.tolist(),
    )  # fmt: skip


def refuse_deep(parts: Parts) -> None:
    """Raise ValueError for trees so deep that they would end the process of a library that walks them."""
    for j, tree in enumerate(parts.trees):
        if len(tree.feature) > 2 * _DEEPEST and (deepest := depths(tree).max()) > _DEEPEST:
            raise ValueError(
                f"tree {j} is {deepest} splits deep; ONNX Runtime and SHAP may crash beyond {_DEEPEST}: fit "
                "with max_depth, or max_leaf_nodes"
            )


def members(tree: Tree, node: int, n_levels: int) -> tuple[NDArray[np.int64], bool]:
    """Level codes that part from the missing values at a categorical node, and whether those go right.

    All other values, codes of no level too, take the way of missing ones, as they do in `predict`.
    """
    to_right = tree.categories[tree.category_start[node] : tree.category_start[node + 1]].astype(np.int64)
    if tree.missing_left[node]:
        return to_right, True
    return np.setdiff1d(np.arange(n_levels), to_right), False
