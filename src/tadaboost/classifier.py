# SPDX-License-Identifier: Apache-2.0
"""The estimators: `TAdaBoostClassifier` loops over `rounds.Run`, `TemperedTreeClassifier` takes one step."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils._param_validation import Interval, StrOptions

from tadaboost import rounds
from tadaboost.base import Floats, TemperedClassifier, n_threads_of
from tadaboost.tree import Tree


class TAdaBoostClassifier(CallbackSupportMixin, TemperedClassifier):  # type: ignore[misc]
    """Boosted trees by t-AdaBoost (Algorithm 1), for two classes.

    Parameters
    ----------
    t : float, default=0.5
        Temperature, below 2. 1 is AdaBoost; the lower, the less a mislabelled row can pull.
    n_estimators : int, default=100
        Largest number of rounds, J.
    learning_rate : float in (0, 1], default=0.1
        Shrinkage of every step.
    leaf_values : {"exact", "theorem_a", "canonical"}, default="exact"
        "exact": the minimiser of the tempered loss in the leaf, with `leaf_ridge`; "theorem_a": equation
        (63); "canonical": -L_t'(p), what the authors' program does.
    leveraging : {"unit", "closed", "exact"}, default="unit"
        "unit": alpha is the learning rate, the leaf values are the step; "exact": mu of (6); "closed": mu of
        (11), Theorem 2.
    clip : bool, default=False
        Clip the score to +-1/abs(1-t) after every tree (9); at t = 1 nothing is clipped, and for t > 1 the
        bounds on errors do not hold.
    max_leaf_nodes : int or None, default=8
        Most leaves a tree may have; None: as many as the other limits allow.
    max_depth : int or None, default=None
        Most splits from the root to a leaf.
    min_samples_leaf : float, default=5
        Least sum of `sample_weight` in a leaf, in rows of weight 1; 0 is no limit.
    min_leaf_mass : float in [0, 0.5], default=0.0
        Least share of the round's weight in a leaf.
    leaf_ridge : float, default=3.0
        Ridge of the "exact" leaf value, in rows of initial weight.
    growth : {"best", "heaviest"}, default="best"
        Next leaf to split: the one whose split lowers the risk most, or (the paper) the one of most weight.
    allow_pure_leaves : bool, default=True
        False: no leaf of one class only (the paper).
    max_bins : int in [2, 65535], default=255
        Bins of a column. Columns with no more distinct values have a candidate threshold between any two.
    categorical_features : "from_dtype", None, or array-like of str, int or bool, default="from_dtype"
        "from_dtype": text, category, Enum and object columns of strings are categorical. Else names, indices
        or a mask. Levels are remembered by value; a missing level, or one never seen in `fit`, goes where the
        node sends missing values.
    class_weight : dict, "balanced" or None, default=None
        Factor of each class on `sample_weight`. "balanced" counts rows by their weight.
    record_weights : bool, default=False
        Keep the weights of all rows in all rounds in `weights_`.
    n_jobs : int or None, default=None
        Threads. None: every CPU this process may use, but one inside a joblib worker; -1: every CPU. The
        model does not depend on it.
    random_state : int, RandomState or None, default=None
        Accepted for scikit-learn's sake; no parameter above draws anything.

    Attributes
    ----------
    classes_ : ndarray of shape (1,) or (2,)
        Sorted labels.
    n_features_in_ : int
        Columns of the training table.
    feature_names_in_ : ndarray of str
        Their names, where all are strings.
    n_iter_ : int
        Rounds done, which is the number of trees.
    stop_reason_ : str
        Why the last round was the last.
    trees_ : list of Tree
        The weak classifiers h_j.
    estimator_weights_ : ndarray of shape (n_iter_,)
        alpha_j, the coefficient used.
    rounds_ : structured ndarray of shape (n_iter_,)
        rho, mu, alpha, Z, loss, bound, errors and extremes of the weights of each round.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of each column in the fall of the risk.
    weights_ : ndarray of shape (n_iter_ + 1, rows)
        Co-density before the first and after each round (`record_weights`); a row sums to 1.

    Notes
    -----
    A weight is a multiplicity: 3 is the same as three equal rows, 0 as no row. Integers beyond 2^53 are
    rounded to float64.

    Examples
    --------
    >>> from tadaboost import TAdaBoostClassifier
    >>> X = [[0.0], [1.0], [2.0], [3.0]] * 5
    >>> y = ["no", "no", "yes", "yes"] * 5
    >>> model = TAdaBoostClassifier(t=0.5).fit(X, y)
    >>> model.predict([[0.5], [2.5]]).tolist()
    ['no', 'yes']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TemperedClassifier._parameter_constraints,
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, 1, closed="right")],
        "leveraging": [StrOptions({"unit", "closed", "exact"})],
        "clip": ["boolean"],
        "record_weights": ["boolean"],
        "random_state": ["random_state"],
    }

    n_iter_: int
    stop_reason_: str
    trees_: list[Tree]
    estimator_weights_: Floats
    rounds_: NDArray[np.void]
    weights_: Floats

    def __init__(
        self,
        t: float = 0.5,
        *,
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        leaf_values: Literal["exact", "theorem_a", "canonical"] = "exact",
        leveraging: Literal["unit", "closed", "exact"] = "unit",
        clip: bool = False,
        max_leaf_nodes: int | None = 8,
        max_depth: int | None = None,
        min_samples_leaf: float = 5,
        min_leaf_mass: float = 0.0,
        leaf_ridge: float = 3.0,
        growth: Literal["best", "heaviest"] = "best",
        allow_pure_leaves: bool = True,
        max_bins: int = 255,
        categorical_features: ArrayLike | None = "from_dtype",
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        record_weights: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.t = t
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.leaf_values = leaf_values
        self.leveraging = leveraging
        self.clip = clip
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_leaf_mass = min_leaf_mass
        self.leaf_ridge = leaf_ridge
        self.growth = growth
        self.allow_pure_leaves = allow_pure_leaves
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.class_weight = class_weight
        self.record_weights = record_weights
        self.n_jobs = n_jobs
        self.random_state = random_state

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit one tree a round until `n_estimators`, a callback or the data says stop.

        Parameters
        ----------
        X : array-like or data frame of shape (rows, columns)
            Numbers, booleans, text and categories; NaN and null are missing.
        y : array-like of shape (rows,)
            Labels of one or two classes: strings, booleans or numbers.
        sample_weight : array-like of shape (rows,), optional
            How many rows each row stands for, >= 0.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter, a column, a label or a weight is out of its range; the message names it.
        TypeError
            If a cell of X is neither a string nor a number.
        """
        run = self._start(X, y, sample_weight, record_weights=self.record_weights)
        fitted = partial(self._attributes, run)  # lazy: built for a callback that asks, and once at the end

        about = {
            "X": X,
            "y": y,
            "metadata": None if sample_weight is None else {"sample_weight": sample_weight},
        }
        progress = self._init_callback_context(max_subtasks=self.n_estimators)
        progress.call_on_fit_task_begin(estimator=self, **about)
        while run.stop_reason is None:
            task = progress.subcontext(task_name="round").call_on_fit_task_begin(estimator=self, **about)
            run.step()  # tree, rho, mu, alpha and the new weights
            if task.call_on_fit_task_end(estimator=self, **about, reconstruction_attributes=fitted):
                run.stop_reason = run.stop_reason or "callback"
        progress.call_on_fit_task_end(estimator=self, **about, reconstruction_attributes=fitted)

        for name, value in fitted().items():
            setattr(self, name, value)
        self._forest()
        return self

    def _attributes(self, run: rounds.Run) -> dict[str, Any]:
        """Gather what a fitted model is, after the rounds so far."""
        weights = {"weights_": run.weights()} if self.record_weights else {}
        return weights | {
            "trees_": list(run.trees),
            "estimator_weights_": np.array(run.alphas, np.float64),
            "rounds_": run.rounds(),
            "n_iter_": len(run.trees),
            "stop_reason_": run.stop_reason if len(self.classes_) == 2 else "one class",
        }

    def _settings(self) -> rounds.Settings:
        return self._tree_settings(
            n_estimators=int(self.n_estimators),
            learning_rate=float(self.learning_rate),
            leveraging=self.leveraging,
            clip=bool(self.clip),
        )

    def _fitted(self) -> tuple[list[Tree], Floats]:
        return self.trees_, self.estimator_weights_

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Leaf of each row in each tree.

        Parameters
        ----------
        X : array-like or data frame of shape (rows, n_features_in_)

        Returns
        -------
        ndarray of int32, shape (rows, n_iter_)
            Node numbers in `trees_`.
        """
        matrix = self._matrix(X)
        leaves: NDArray[np.int32] = self._forest().apply(matrix, n_threads=n_threads_of(self.n_jobs))
        return leaves

    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
        """`decision_function` of the first 1, 2, ... n_iter_ trees, one array a round.

        Parameters
        ----------
        X : array-like or data frame of shape (rows, n_features_in_)

        Yields
        ------
        ndarray of float64, shape (rows,)
        """
        matrix = self._matrix(X)
        alpha = self.estimator_weights_
        yield from self._forest().staged(matrix, alpha, self._clip_at, n_threads=n_threads_of(self.n_jobs))

    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """`predict_proba` of the first 1, 2, ... n_iter_ trees, one array a round.

        Parameters
        ----------
        X : array-like or data frame of shape (rows, n_features_in_)

        Yields
        ------
        ndarray of float64, shape (rows, len(classes_))
        """
        return map(self._probabilities, self.staged_decision_function(X))

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """`predict` of the first 1, 2, ... n_iter_ trees, one array a round.

        Parameters
        ----------
        X : array-like or data frame of shape (rows, n_features_in_)

        Yields
        ------
        ndarray of shape (rows,), of the type of `classes_`
        """
        return map(self._most_probable, self.staged_predict_proba(X))


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

    Attributes
    ----------
    tree_ : Tree
        The tree.
    classes_, n_features_in_, feature_names_in_, feature_importances_
        As in `TAdaBoostClassifier`.

    Examples
    --------
    >>> from tadaboost import TemperedTreeClassifier
    >>> tree = TemperedTreeClassifier(min_samples_leaf=1).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> tree.apply([[0.5], [2.5]]).tolist()
    [1, 2]
    """

    tree_: Tree

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
        self.class_weight = class_weight
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree; parameters and errors as in `TAdaBoostClassifier.fit`."""
        run = self._start(X, y, sample_weight)
        run.step()
        (self.tree_,) = run.trees
        self._forest()
        return self

    def _settings(self) -> rounds.Settings:
        return self._tree_settings(n_estimators=1, learning_rate=1.0, leveraging="unit", clip=False)

    def _fitted(self) -> tuple[list[Tree], Floats]:
        return [self.tree_], np.ones(1)

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Leaf of each row: node numbers in `tree_`, shape (rows,)."""
        matrix = self._matrix(X)
        leaves: NDArray[np.int32] = self._forest().apply(matrix, n_threads=n_threads_of(self.n_jobs))
        return leaves[:, 0]


def paper_settings(t: float, clip: bool = False) -> dict[str, Any]:
    """Parameters of the paper's experiments (section 5), for `TAdaBoostClassifier`.

    Parameters
    ----------
    t : float
        Temperature, below 2.
    clip : bool, default=False
        Whether the model is the clipped one (9).

    Returns
    -------
    dict
        20 trees of 15 nodes, the heaviest leaf split first and never into pure ones, leaf values (63), steps
        (11), and none of the regularisers that the paper does not have.

    Examples
    --------
    >>> model = TAdaBoostClassifier(**paper_settings(t=0.6))
    >>> model.n_estimators, model.growth
    (20, 'heaviest')
    """
    return {
        "t": t,
        "clip": clip,
        "n_estimators": 20,
        "max_leaf_nodes": 8,
        "leaf_values": "theorem_a",
        "leveraging": "closed",
        "learning_rate": 1.0,
        "growth": "heaviest",
        "allow_pure_leaves": False,
        "max_bins": 65535,
        "min_samples_leaf": 0,
        "min_leaf_mass": 0.0,
        "leaf_ridge": 0.0,
    }
