# SPDX-License-Identifier: Apache-2.0
"""One tree as a model: `TemperedTreeClassifier` takes a single step of a run."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tadaboost import rounds
from tadaboost.base import Floats, TemperedClassifier, by_class
from tadaboost.tree import Tree


class TemperedTreeClassifier(TemperedClassifier):
    """One decision tree by the tempered loss: a round of t-AdaBoost with coefficient 1.

    Parameters
    ----------
    t : float, default=0.5
        Temperature of the risk L_t (20) that splits lower, below 2.
    max_leaf_nodes, max_depth, min_samples_leaf, min_leaf_mass
        As in `TAdaBoostClassifier`.
    leaf_values : {"theorem_a", "exact", "canonical"}, default="theorem_a"
        Equation (63), whose `predict_proba` is the share of the class in the leaf; others as there.
    leaf_ridge, growth, allow_pure_leaves, max_bins, categorical_features, class_weight, n_jobs
        As in `TAdaBoostClassifier`; the ridge acts on "exact" only.
    cat_smoothing : float, default=0.0
        As there; 0: among the splits of a categorical column, the one of least tree loss.

    Attributes
    ----------
    tree_ : Tree, or tuple of Tree for more than two classes, one each
        The tree; `tree.node_reals` gives its other encoding in Figure 2, a real in each node.
    loss_ : float, or ndarray of shape (classes,)
        Mean tempered exponential loss (15) of the training rows. With the leaves of theorem A it is the tree
        loss (64), the sum over leaves of (share of rows) L_t(share of positives), which no others undercut.
    classes_, n_features_in_, feature_names_in_, feature_importances_
        As in `TAdaBoostClassifier`.

    Examples
    --------
    >>> from tadaboost import TemperedTreeClassifier
    >>> tree = TemperedTreeClassifier(min_samples_leaf=1).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> tree.apply([[0.5], [2.5]]).tolist()
    [1, 2]
    """

    tree_: Tree | tuple[Tree, ...]
    loss_: float | Floats

    def __init__(
        self,
        t: float = 0.5,
        *,
        max_leaf_nodes: int | None = 8,
        max_depth: int | None = None,
        min_samples_leaf: float = 5,
        min_leaf_mass: float = 0.0,
        leaf_values: Literal["exact", "theorem_a", "canonical"] = "theorem_a",
        leaf_ridge: float = 3.0,
        growth: Literal["best", "heaviest"] = "best",
        allow_pure_leaves: bool = True,
        max_bins: int = 255,
        categorical_features: ArrayLike | None = "from_dtype",
        cat_smoothing: float = 0.0,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.t = t
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_leaf_mass = min_leaf_mass
        self.leaf_values = leaf_values
        self.leaf_ridge = leaf_ridge
        self.growth = growth
        self.allow_pure_leaves = allow_pure_leaves
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.cat_smoothing = cat_smoothing
        self.class_weight = class_weight
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array-like or data frame of shape (rows, columns)
        y : array-like of shape (rows,)
        sample_weight : array-like of shape (rows,), optional
            As in `TAdaBoostClassifier.fit`.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            As there.

        Examples
        --------
        >>> from tadaboost import TemperedTreeClassifier
        >>> model = TemperedTreeClassifier().fit([[0.0], [1.0]] * 9, ["no", "yes"] * 9)
        >>> model.tree_.value.tolist(), model.loss_
        ([0.0, -2.0, 2.0], 0.0)
        """
        self._validate_params()
        with self._kept_if_refused():
            self.tree_, self.loss_ = self._start(X, y, sample_weight).only_tree()
        self._forests()
        return self

    def _settings(self) -> rounds.Settings:
        return self._tree_settings(n_estimators=1, learning_rate=1.0, leveraging="unit", clip=False)

    def _fitted(self) -> tuple[list[Tree], Floats]:
        trees: list[Any] = list(self.tree_) if self._n_scores() > 1 else [self.tree_]
        return trees, np.ones(len(trees))

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Leaf of each row.

        Parameters
        ----------
        X : array-like or data frame of shape (rows, n_features_in_)

        Returns
        -------
        ndarray of int32, shape (rows,), or (rows, classes) for more than two classes
            Node numbers in `tree_`.

        Examples
        --------
        >>> from tadaboost import TemperedTreeClassifier
        >>> model = TemperedTreeClassifier().fit([[0.0], [1.0]] * 9, ["no", "yes"] * 9)
        >>> model.apply([[0.0], [1.0]])
        array([1, 2], dtype=int32)
        """
        matrix = self._matrix(X)
        n_threads = self._n_threads(matrix)
        return by_class([trees.apply(matrix, n_threads=n_threads)[:, 0] for trees in self._forests()])
