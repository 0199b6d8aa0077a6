# SPDX-License-Identifier: Apache-2.0
"""What one tree and an ensemble share: reading tables, starting a run, scores, labels, pickling.

A fitted model is plain data: a list of `Tree` and the coefficients alpha, the temperature and the clipping
bound they were fitted with, the levels of categorical columns (`frame.Schema`), and the classes. The score of
a row is sum alpha_j h_j(x), clipped after every term if asked (9); `losses.inverse_link` makes it a
probability. More than two classes have trees, coefficients and a score each; `multiclass.probabilities`
brings their scores together.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, ClassVar

import joblib
import numpy as np
from joblib.parallel import get_active_backend
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_consistent_length
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

import tadaboost
from tadaboost import binning, forest, frame, losses, multiclass, rounds, target
from tadaboost.predictor import Predictor
from tadaboost.tree import Tree

Floats = NDArray[np.float64]
_UNLIMITED = 2**31 - 1  # more leaves and levels than any tree has, and an integer that the core takes

_ONE_PIECE = 128  # rows that the core gives to one thread at any rate
_MOST_THREADS = 256  # asleep ones included
_CORE_TAKES = 1024  # threads at most


class TemperedClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """What one tree and an ensemble share: reading tables, starting a run, scores, labels, pickling.

    A subclass says which settings a run has (`_settings`) and where its fitted trees are (`_fitted`).
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "t": [Interval(Real, None, 2, closed="neither")],
        "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_leaf": [Interval(Real, 0, None, closed="left")],
        "min_leaf_mass": [Interval(Real, 0, 0.5, closed="both")],
        "leaf_values": [StrOptions({"exact", "theorem_a", "canonical"})],
        "leaf_ridge": [Interval(Real, 0, None, closed="left")],
        "growth": [StrOptions({"best", "heaviest"})],
        "allow_pure_leaves": ["boolean"],
        "cat_smoothing": [Interval(Real, 0, None, closed="left")],
        "max_bins": [Interval(Integral, 2, 65535, closed="both")],
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "n_jobs": [
            Interval(Integral, None, -1, closed="right"),
            Interval(Integral, 1, None, closed="left"),
            None,
        ],
    }

    t: float
    max_leaf_nodes: int | None
    max_depth: int | None
    min_samples_leaf: float
    min_leaf_mass: float
    leaf_values: str
    leaf_ridge: float
    growth: str
    allow_pure_leaves: bool
    cat_smoothing: float
    max_bins: int
    categorical_features: ArrayLike | None
    class_weight: dict[Any, float] | str | None
    n_jobs: int | None
    estimator: Any = None  # a weak learner in place of trees, where a subclass takes one
    classes_: NDArray[Any]
    n_features_in_: int

    def _settings(self) -> rounds.Settings:
        raise NotImplementedError

    def _fitted(self) -> tuple[list[Tree], Floats]:
        """Give the trees and their coefficients alpha: round by round, in each class by class."""
        raise NotImplementedError

    def _tree_settings(self, **step: Any) -> rounds.Settings:
        return rounds.Settings(
            t=_float("t", self.t),
            leaf_values=self.leaf_values,
            max_leaf_nodes=min(int(self.max_leaf_nodes or 0), _UNLIMITED),
            max_depth=min(int(self.max_depth or 0), _UNLIMITED),
            min_samples_leaf=_float("min_samples_leaf", self.min_samples_leaf),
            min_leaf_mass=float(self.min_leaf_mass),
            leaf_ridge=_float("leaf_ridge", self.leaf_ridge),
            growth=self.growth,
            allow_pure_leaves=bool(self.allow_pure_leaves),
            cat_smoothing=_float("cat_smoothing", self.cat_smoothing),
            **step,
        )

    def _with_constraints(
        self, settings: rounds.Settings, table: frame.Table, schema: frame.Schema, n_classes: int
    ) -> rounds.Settings:
        """Add what trees may not do, where a subclass has parameters for it."""
        return settings

    def _start(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """Check the data, learn levels and classes, and give the run that will make the model.

        The caller has checked the parameters.
        """
        table = frame.open_table(X)
        labels = target.check_labels(y)
        check_consistent_length(table, labels)
        weight = target.weigh(labels, sample_weight, self.class_weight)
        present = None if weight is None else weight > 0
        classes = np.unique(labels if present is None else labels[present])
        if weight is not None and self.estimator is None:
            ridge = self.leaf_ridge if self.leaf_values == "exact" else 0.0
            target.warn_if_light(weight[weight > 0], self.min_samples_leaf, ridge)
        schema = frame.learn_schema(table, self.categorical_features, present)
        matrix = frame.to_matrix(table, schema)

        settings = self._with_constraints(self._settings(), table, schema, len(classes))
        self._forget()
        validate_data(self, X, reset=True, skip_check_array=True)  # n_features_in_, feature_names_in_
        self.classes_ = classes
        self._schema = schema
        self._temperature = settings.t
        self._clip_at = 1 / abs(1 - settings.t) if settings.clip and settings.t != 1 else math.inf

        # A single class is class 0: one pure leaf, whose score says that the absent class has probability 0.
        positive = [labels == label for label in (classes if len(classes) > 2 else classes[1:])]
        runs = self._runs(X, matrix, positive or [np.zeros(len(labels), bool)], weight, settings)
        return runs[0] if len(runs) == 1 else multiclass.ClassRuns(runs)

    def _runs(
        self,
        X: Any,
        matrix: frame.Matrix,
        positive: list[NDArray[np.bool_]],
        weight: Floats | None,
        settings: rounds.Settings,
        record_weights: bool = False,
    ) -> list[Any]:
        """Give the run of each problem, which grows trees on the matrix of X."""
        n_threads, schema = n_threads_of(self.n_jobs), self._schema
        levels = frame.n_levels(schema)
        bins = binning.fit_bins(
            matrix, frame.is_categorical(schema), levels, int(self.max_bins), weight, n_threads=n_threads
        )
        codes = binning.encode(matrix, bins, n_threads=n_threads)
        # Bins and codes are made once, but the shard of each class keeps a copy of the codes, in the order of
        # its own two classes: K copies. Shards could share one if they reached rows through an index. Each
        # also keeps its threads, though they work in turn: with many classes and CPUs, fewer of them.
        each = max(1, min(n_threads, _MOST_THREADS // len(positive)))
        return [
            rounds.Run(codes, bins, of_class, weight, settings, each, record_weights) for of_class in positive
        ]

    @contextmanager
    def _kept_if_refused(self) -> Iterator[None]:
        """Give an earlier fit back where what comes next, other rows say, is refused."""
        before = dict(vars(self))
        try:
            yield
        except Exception:
            self._forget()
            self.__dict__.update(before)
            raise

    def _forget(self) -> None:
        """Drop an earlier fit, so that one that is interrupted leaves an unfitted model, not a mixed one."""
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)
        self.__dict__.pop("_compiled", None)

    def _matrix(self, X: Any) -> frame.Matrix:
        """Check that X is a table like that of `fit`, and read it."""
        named = "feature_names_in_" in self.__dict__  # else a warning is due, where names lack
        if not named and self.__sklearn_is_fitted__() and frame.is_plain(X, self._schema):
            frame.refuse_infinity(X, X)
            return X
        check_is_fitted(self)
        table = frame.open_table(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return frame.to_matrix(table, self._schema)

    def _n_threads(self, matrix: frame.Matrix) -> int:
        """Count the threads for these rows; so few are one piece of work, and counting CPUs takes longer."""
        return 1 if len(matrix) <= _ONE_PIECE else n_threads_of(self.n_jobs)

    def _checked_fit(self) -> tuple[list[Tree], Floats]:
        check_is_fitted(self)
        return self._fitted()

    def _n_scores(self) -> int:
        """Count the scores of a row: one, or one a class if there are more than two."""
        return 1 if len(self.classes_) <= 2 else len(self.classes_)

    def _forests(self) -> list[Any]:
        """Give the trees of each score in the core's form: built by `fit` or a first prediction, not kept."""
        if "_compiled" not in self.__dict__:
            trees, n = self._fitted()[0], self._n_scores()
            self._compiled = [
                forest.compiled(forest.flatten(trees[k::n]), self.n_features_in_) for k in range(n)
            ]
        return self._compiled

    def decision_function(self, X: Any) -> Floats:
        """Score of each row, in the scale of psi_t (63): above 0 for ``classes_[1]``, or for each class.

        Parameters
        ----------
        X : array-like or data frame of shape (rows, n_features_in_)
            NaN is missing; so is a category that training never saw.

        Returns
        -------
        ndarray of float64, shape (rows,), or (rows, len(classes_)) for more than two classes
            Always finite.

        Raises
        ------
        ValueError
            If columns differ from those of `fit` in number, name or order, or hold infinite values.

        Examples
        --------
        >>> from tadaboost import TAdaBoostClassifier
        >>> model = TAdaBoostClassifier(n_estimators=2).fit([[0.0], [1.0]] * 9, ["no", "yes"] * 9)
        >>> model.decision_function([[0.0], [1.0]]).round(3)
        array([-0.175,  0.175])
        """
        return self._score(X)

    def _score(self, X: Any) -> Floats:
        matrix = self._matrix(X)
        alpha, n_threads = self._fitted()[1], self._n_threads(matrix)
        n = self._n_scores()
        return by_class(
            [
                trees.decision(matrix, np.ascontiguousarray(alpha[k::n]), self._clip_at, n_threads=n_threads)
                for k, trees in enumerate(self._forests())
            ]
        )

    def predictor(self) -> Predictor:
        """Give what scores single rows fast: a few microseconds, where `decision_function` reads a table.

        Returns
        -------
        Predictor
            ``predictor(row)`` is the score, ``predictor.proba(row)`` the probabilities; see there.

        Raises
        ------
        AttributeError
            If the model has no trees, but learners of another kind (`estimator`).

        Examples
        --------
        >>> from tadaboost import TAdaBoostClassifier
        >>> model = TAdaBoostClassifier(n_estimators=2).fit([[0.0], [1.0]] * 9, ["no", "yes"] * 9)
        >>> predictor = model.predictor()
        >>> round(predictor([1.0]), 3), predictor.proba([1.0]).round(3)
        (0.175, array([0.413, 0.587]))
        """
        trees, alpha = self._checked_fit()
        n = self._n_scores()
        flat = [forest.flatten(trees[k::n]) for k in range(n)]
        alphas = [alpha[k::n].copy() for k in range(n)]
        names = self.feature_names_in_.tolist() if hasattr(self, "feature_names_in_") else None
        return Predictor(flat, alphas, self._clip_at, self._temperature, self._schema, self.classes_, names)

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class: `losses.inverse_link` of the score, or `multiclass.probabilities`.

        Parameters
        ----------
        X : array-like or data frame of shape (rows, n_features_in_)

        Returns
        -------
        ndarray of float64, shape (rows, len(classes_))
            Columns in the order of `classes_`.

        Examples
        --------
        >>> from tadaboost import TAdaBoostClassifier
        >>> model = TAdaBoostClassifier(n_estimators=2).fit([[0.0], [1.0]] * 9, ["no", "yes"] * 9)
        >>> model.predict_proba([[0.0], [1.0]]).round(3)
        array([[0.587, 0.413],
               [0.413, 0.587]])
        """
        return self._probabilities(self.decision_function(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable class of each row; a tie goes to ``classes_[0]``.

        Parameters
        ----------
        X : array-like or data frame of shape (rows, n_features_in_)

        Returns
        -------
        ndarray of shape (rows,), of the type of `classes_`

        Examples
        --------
        >>> from tadaboost import TAdaBoostClassifier
        >>> model = TAdaBoostClassifier(n_estimators=2).fit([[0.0], [1.0]] * 9, ["no", "yes"] * 9)
        >>> model.predict([[0.0], [1.0]]).tolist()
        ['no', 'yes']
        """
        return self._most_probable(self.predict_proba(X))

    def _probabilities(self, score: Floats) -> Floats:
        if len(self.classes_) == 1:
            return np.ones((len(score), 1))
        if score.ndim == 2:
            return multiclass.probabilities(score, self._temperature)
        # Both by the link: 1 - p would lose the digits of a small probability.
        both = losses.inverse_link(np.stack([-score, score]), self._temperature)
        return np.ascontiguousarray(both.T)

    def _most_probable(self, probabilities: Floats) -> NDArray[Any]:
        labels: NDArray[Any] = self.classes_[probabilities.argmax(axis=1)]
        return labels

    @property
    def feature_importances_(self) -> Floats:
        """Fall of the tempered risk by the splits on each column, trees weighted by |alpha|; the sum is 1.

        All 0 where nothing was split. Shape (n_features_in_,).

        Examples
        --------
        >>> from tadaboost import TAdaBoostClassifier
        >>> model = TAdaBoostClassifier(n_estimators=2).fit([[0.0], [1.0]] * 9, ["no", "yes"] * 9)
        >>> model.feature_importances_
        array([1.])
        """
        check_is_fitted(self)
        importance = np.zeros(self.n_features_in_)
        for tree, alpha in zip(*self._fitted(), strict=True):
            inner = tree.feature >= 0
            np.add.at(importance, tree.feature[inner], abs(alpha) * np.maximum(tree.gain[inner], 0.0))
        largest = importance.max()
        if largest == 0:
            return importance
        importance /= largest  # first: the sum of tiny gains may be too small to divide by
        importance /= importance.sum()
        return importance

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there are trees: a fit that failed may have left other attributes that end in _."""
        return hasattr(self, "trees_") or hasattr(self, "tree_")

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn that missing values and categorical columns are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the compiled trees, which are made again when needed, and say which version pickles."""
        state: dict[str, Any] = super().__getstate__().copy()
        state.pop("_compiled", None)
        return state | {"_tadaboost_version": tadaboost.__version__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Warn of a model that another version has pickled: its attributes may mean something else."""
        state = dict(state)
        written_by = state.pop("_tadaboost_version", "unknown")
        if written_by != tadaboost.__version__:
            warnings.warn(
                f"this {type(self).__name__} was pickled by tadaboost {written_by} and is read by "
                f"{tadaboost.__version__}, which may misread it; tadaboost.save writes files that last",
                UserWarning,
                stacklevel=2,
            )
        super().__setstate__(state)


def by_class(arrays: list[NDArray[Any]]) -> NDArray[Any]:
    """Stack what was made for each score on a last axis; for one score it is the thing itself."""
    return arrays[0] if len(arrays) == 1 else np.stack(arrays, axis=-1)


def _float(name: str, value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{name} is an integer too large for float64; take a smaller one") from None


def n_threads_of(n_jobs: int | None) -> int:
    """Count the threads to use, 1024 at most; joblib's count of CPUs knows affinity and cgroups."""
    if n_jobs is None:
        # Workers get nested backends: inside one, a thread a CPU would be one too many for each worker.
        backend, _ = get_active_backend()
        n_jobs = 1 if (backend.nesting_level or 0) > 0 else -1
    wanted = int(n_jobs) if n_jobs > 0 else int(joblib.cpu_count()) + 1 + int(n_jobs)
    return min(max(1, wanted), _CORE_TAKES)
