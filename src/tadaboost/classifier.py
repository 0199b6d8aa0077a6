# SPDX-License-Identifier: Apache-2.0
"""The booster: `TAdaBoostClassifier` loops over the rounds of a run."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import chain
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from tadaboost import frame, generic, losses, rounds, target
from tadaboost.base import Floats, TemperedClassifier, by_class, n_threads_of
from tadaboost.tree import Tree


class TAdaBoostClassifier(CallbackSupportMixin, TemperedClassifier):  # type: ignore[misc]
    """Boosted trees by t-AdaBoost (Algorithm 1); for more than two classes, a binary problem each.

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
    leveraging : {"unit", "closed", "exact", "corrective"}, default="unit"
        "unit": alpha is the learning rate, the leaf values are the step; "exact": mu of (6); "closed": mu of
        (11), Theorem 2; "corrective": all coefficients so far anew, so that all past edges are zero, for t in
        [0, 1], with `estimator` only. Stages of a corrective model are parts of its final sum.
    margin : float in [0, 1), default=0.0
        Margin y H(x) / sum |alpha_j| max |h_j| to reach, for t in [0, 1], with `estimator` only: edges are
        shifted by it, and `loss` bounds the share of rows at or below it. 0 is the paper's algorithm.
    clip : bool, default=False
        Clip the score to +-1/abs(1-t) after every tree (9); at t = 1 nothing is clipped, and for t > 1 the
        bounds on errors do not hold.
    estimator : scikit-learn classifier or None, default=None
        None: tempered trees. Else the weak learner of Step 2.1, whose `fit` takes sample_weight: h_j is its
        `decision_function`, or its labels -1 and 1 if it has none. It gets X as it is, the labels -1 and 1,
        and the weights n_i q_i of the round scaled to the sum of the multiplicities n_i. Parameters about
        leaves, growth and bins do nothing then; the paper's steps are leveraging="closed" and
        learning_rate=1.
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
        Seeds the weak learners of `estimator`; the trees draw nothing.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
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
        The weak classifiers h_j; empty with `estimator`.
    estimators_ : list of classifiers
        The fitted weak learners, with `estimator` only; tuples of them for more than two classes.
    estimator_weights_ : ndarray of shape (n_iter_,)
        alpha_j, the coefficient used.
    rounds_ : structured ndarray of shape (n_iter_,)
        rho, mu, alpha, Z, loss, bound, errors and extremes of the weights of each round.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of each column in the fall of the risk; trees only.
    weights_ : ndarray of shape (n_iter_ + 1, rows)
        Co-density before the first and after each round (`record_weights`); a row sums to 1.

    Notes
    -----
    With K > 2 classes there is a tree, a coefficient and a record a class in every round: `trees_[j]` is a
    tuple of K trees, `estimator_weights_` and `rounds_` have the shape (n_iter_, K), `weights_` (n_iter_ + 1,
    rows, K), and `rounds_` tells of the problem "this class or not". A class that has ended goes on with
    roots of value 0 and coefficient 0.

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
        "leveraging": [StrOptions({"unit", "closed", "exact", "corrective"})],
        "margin": [Interval(Real, 0, 1, closed="left")],
        "clip": ["boolean"],
        "estimator": [HasMethods(["fit", "predict"]), None],
        "record_weights": ["boolean"],
        "random_state": ["random_state"],
    }

    n_iter_: int
    stop_reason_: str
    trees_: list[Any]  # Tree, or tuple of K of them
    estimators_: list[Any]
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
        leveraging: Literal["unit", "closed", "exact", "corrective"] = "unit",
        margin: float = 0.0,
        clip: bool = False,
        estimator: Any = None,
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
        self.margin = margin
        self.clip = clip
        self.estimator = estimator
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
        """Fit one tree, or `estimator`, a round until `n_estimators`, a callback or the data says stop.

        Parameters
        ----------
        X : array-like or data frame of shape (rows, columns)
            Numbers, booleans, text and categories; NaN and null are missing.
        y : array-like of shape (rows,)
            Labels: strings, booleans or numbers.
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
            If a cell of X is neither a string nor a number, or `estimator` takes no weights.
        """
        run = self._start(X, y, sample_weight)
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
        if self.trees_:
            self._forests()
        return self

    def _runs(
        self,
        X: Any,
        matrix: frame.Matrix,
        positive: list[NDArray[np.bool_]],
        weight: Floats | None,
        record_weights: bool = False,
    ) -> list[Any]:
        keep = bool(self.record_weights)
        if self.estimator is None:
            if self.leveraging == "corrective" or self.margin > 0.0:
                road = f"margin={self.margin}" if self.margin > 0.0 else "leveraging='corrective'"
                raise ValueError(f"{road} needs estimator=, which may be a TemperedTreeClassifier()")
            return super()._runs(X, matrix, positive, weight, keep)
        random = check_random_state(self.random_state)  # one stream of seeds for the learners of all classes
        return [
            generic.GenericRun(X, of_class, weight, self.estimator, self._settings(), random, keep)
            for of_class in positive
        ]

    def _attributes(self, run: Any) -> dict[str, Any]:
        """Gather what a fitted model is, after the rounds so far."""
        extra = {"weights_": run.weights()} if self.record_weights else {}
        if self.estimator is not None:
            extra["estimators_"] = list(run.estimators)
        return extra | {
            "trees_": list(run.trees),
            "estimator_weights_": np.array(run.alphas, np.float64),
            "rounds_": run.rounds(),
            "n_iter_": len(run.alphas),
            "stop_reason_": run.stop_reason if len(self.classes_) > 1 else "one class",
        }

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if self.estimator is not None:  # what cells it takes is for the weak learner to say
            inner = get_tags(self.estimator).input_tags
            tags.input_tags.allow_nan = inner.allow_nan
            tags.input_tags.categorical = inner.categorical
        return tags

    def _settings(self) -> rounds.Settings:
        return self._tree_settings(
            n_estimators=int(self.n_estimators),
            learning_rate=float(self.learning_rate),
            leveraging=self.leveraging,
            margin=float(self.margin),
            clip=bool(self.clip),
        )

    def _fitted(self) -> tuple[list[Tree], Floats]:
        if not self.trees_:
            raise AttributeError(
                f"this model has no trees: it was fitted with estimator={self._learner_name()}"
            )
        trees = self.trees_ if self._n_scores() == 1 else list(chain.from_iterable(self.trees_))
        return trees, self.estimator_weights_.ravel()

    def _learner_name(self) -> str:
        learner = self.estimators_[0]
        return type(learner[0] if isinstance(learner, tuple) else learner).__name__

    def decision_function(self, X: Any) -> Floats:  # noqa: D102  # the text is that of the method it extends
        if hasattr(self, "estimators_"):
            *_, score = self.staged_decision_function(X)
            return score
        return super().decision_function(X)

    decision_function.__doc__ = TemperedClassifier.decision_function.__doc__

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Leaf of each row in each tree.

        Parameters
        ----------
        X : array-like or data frame of shape (rows, n_features_in_)

        Returns
        -------
        ndarray of int32, shape (rows, n_iter_), or (rows, n_iter_, K) for K > 2 classes
            Node numbers in `trees_`.
        """
        matrix, n_threads = self._matrix(X), n_threads_of(self.n_jobs)
        return by_class([trees.apply(matrix, n_threads=n_threads) for trees in self._forests()])

    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
        """`decision_function` of the first 1, 2, ... n_iter_ trees, one array a round.

        Parameters
        ----------
        X : array-like or data frame of shape (rows, n_features_in_)

        Yields
        ------
        ndarray of float64, shape (rows,), or (rows, K) for K > 2 classes
        """
        matrix, n_threads = self._matrix(X), n_threads_of(self.n_jobs)
        alphas = np.ascontiguousarray(self.estimator_weights_.reshape(self.n_iter_, -1).T)
        if hasattr(self, "estimators_"):
            learners = [self.estimators_] if len(alphas) == 1 else zip(*self.estimators_, strict=True)
            stages: list[Any] = [
                generic.staged_scores(of_class, alpha, self._clip_at, X)
                for of_class, alpha in zip(learners, alphas, strict=True)
            ]
        else:
            stages = [
                trees.staged(matrix, alpha, self._clip_at, n_threads=n_threads)
                for trees, alpha in zip(self._forests(), alphas, strict=True)
            ]
        for scores in zip(*stages, strict=True):
            yield by_class(list(scores))

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
        order = np.argsort(nu)
        share = np.cumsum(np.ones(len(nu)) if weight is None else weight[order])
        below = np.searchsorted(nu[order], thetas, side="right")
        return np.asarray(np.concatenate([[0.0], share])[below] / share[-1])

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
