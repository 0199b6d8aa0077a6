# SPDX-License-Identifier: Apache-2.0
"""The booster: `TAdaBoostClassifier` loops over the rounds of a run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.utils import Tags, get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import validate_data

from tadaboost import constraints, forest, frame, rounds, warmstart
from tadaboost.base import Floats, TemperedClassifier, by_class, n_threads_of
from tadaboost.margins import MarginMixin
from tadaboost.tree import Tree
from tadaboost.validation import Rows, Watch, part, weighted


class TAdaBoostClassifier(CallbackSupportMixin, MarginMixin):  # type: ignore[misc]
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
        node sends missing values. Of more than `max_bins` levels the rarest share a bin: no split parts them.
        The order of an ordered category only breaks ties; give its codes as numbers for splits that keep it.
    cat_smoothing : float, default=20.0
        Rows by which each level of a categorical column, and its missing values, are taken towards their node
        while splits are chosen: n rows with a share p of positive weight count as r + (p - r) n / (n +
        cat_smoothing), r the node's share, so that many small levels do not look better than they are. Leaf
        values and the `gain` of trees are those of the rows as they are. 0 is no smoothing (the paper).
    subsample : float in (0, 1], default=1.0
        Share of the rows that choose the splits of a tree: each is drawn with this probability, by
        `random_state`, the round and its position among the rows that are fitted, whatever its weight;
        limits on leaves count drawn rows. Leaf values, rho, alpha and Z come from all rows.
    colsample : float in (0, 1], default=1.0
        Share of the columns that a node may ask about, one at least, drawn by `random_state`, the round and
        the number of the node. Where a draw of rows or columns leaves no step, the tree is grown from all.
    early_stopping : bool, default=False
        Stop when `n_iter_no_change` rounds in a row brought nothing, and keep the rounds up to the best one.
        Judged on the validation rows: those given to `fit`, or else drawn from its rows.
    n_iter_no_change : int, default=10
        Rounds to wait for something better.
    validation_fraction : float in (0, 1) or None, default=0.1
        Share of each class that is drawn as validation rows, by `random_state` and the position of a row;
        trees and bins never see them. None: nothing is held out, and the training rows are watched.
    tol : float, default=0.0
        A round counts as better when it beats the best one by more than this.
    scoring : "loss", name of a scorer of scikit-learn, or callable(estimator, X, y), default="loss"
        What is watched; "loss" is the mean tempered exponential loss (15), and its mean over the classes.
        A callable gets `sample_weight`, too, where rows have weights, and may ask about that X only.
    class_weight : dict, "balanced" or None, default=None
        Factor of each class on `sample_weight`. "balanced" counts rows by their weight.
    warm_start : bool, default=False
        `fit` goes on where the last one ended: with a larger `n_estimators`, the same rows and the same other
        parameters it gives the model of one longer fit, bit for bit.
    record_weights : bool, default=False
        Keep the weights of all rows in all rounds in `weights_`.
    monotonic_cst : array-like of int, dict of them by name, or None, default=None
        For each column 1: the score, after every round and clipped too, never falls as the column rises; -1:
        it never rises; 0: free. For two classes and columns of numbers. Nothing is said of missing values.
        A tree whose edge is negative on its weights would be turned around; it counts as one without edge.
    interaction_cst : {"pairwise", "no_interactions"}, list of collections of columns, or None, default=None
        Groups of columns, by index or name, that may meet: a path asks about columns of one group only, as in
        `sklearn.ensemble.HistGradientBoostingClassifier`. Groups may share columns: below a split those
        remain that hold all columns asked about so far. Columns that are in no group are one group more.
        "pairwise" is every pair, "no_interactions" each column alone.
    checkpoint : path-like or None, default=None
        A file in which `fit` keeps the rounds so far, written every few seconds and at the end. Where it is
        there, a fit to the same rows with the same parameters (but `n_estimators`, `n_jobs`) takes its rounds
        and goes on, to the bits of a fit that nothing disturbed; any other fit is refused, so it is a path
        for one fit, not for a search. It is a `.tada` file and stays, for a larger `n_estimators` or you to
        remove. Not with `estimator`.
    n_jobs : int or None, default=None
        Threads. None: every CPU this process may use, but one inside a joblib worker; -1: every CPU. The
        model does not depend on it.
    random_state : int, RandomState or None, default=None
        Seeds the weak learners of `estimator` and the draws: of validation rows, `subsample`, `colsample`.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Sorted labels.
    n_features_in_ : int
        Columns of the training table.
    feature_names_in_ : ndarray of str
        Their names, where all are strings.
    n_iter_ : int
        Rounds of the model, which is the number of trees.
    stop_reason_ : str
        Why no more rounds were done; "early stopping" where that was it.
    trees_ : list of Tree
        The weak classifiers h_j; empty with `estimator`.
    estimators_ : list of classifiers
        The fitted weak learners, with `estimator` only; tuples of them for more than two classes.
    estimator_weights_ : ndarray of shape (n_iter_,)
        alpha_j, the coefficient used.
    rounds_ : structured ndarray of shape (n_iter_,)
        rho, mu, alpha, Z, loss, bound, errors and extremes of the co-density (of one example) of each round.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of each column in the fall of the risk; trees only.
    weights_ : ndarray of shape (n_iter_ + 1, rows)
        Co-density, times `sample_weight`, before the first and after each round (`record_weights`); a row
        sums to 1.

    Notes
    -----
    With K > 2 classes there is a tree, a coefficient and a record a class in every round: `trees_[j]` is a
    tuple of K trees, `estimator_weights_` and `rounds_` have the shape (n_iter_, K), `weights_` (n_iter_ + 1,
    rows, K), and `rounds_` tells of the problem "this class or not". A class that has ended goes on with
    roots of value 0 and coefficient 0.

    A weight is a multiplicity: 3 is the same as three equal rows, 0 as no row. Integers beyond 2^53 are
    rounded to float64.

    Ctrl-C ends `fit` between two rounds and leaves the model unfitted. To keep the rounds so far, set a
    callback (`set_callbacks`) whose `setup` installs a handler of SIGINT that notes the signal, and whose
    `on_fit_task_end` returns whether it came: `fit` then returns, and `stop_reason_` is "callback".

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
        "subsample": [Interval(Real, 0, 1, closed="right")],
        "colsample": [Interval(Real, 0, 1, closed="right")],
        "early_stopping": ["boolean"],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "scoring": [StrOptions({"loss", *get_scorer_names()}), callable],
        "warm_start": ["boolean"],
        "record_weights": ["boolean"],
        "monotonic_cst": ["array-like", dict, None],
        "interaction_cst": [list, tuple, StrOptions({"pairwise", "no_interactions"}), None],
        "checkpoint": [str, os.PathLike, None],
        "random_state": ["random_state"],
    }

    n_iter_: int
    stop_reason_: str
    trees_: list[Any]  # Tree, or tuple of K of them
    estimators_: list[Any]
    estimator_weights_: Floats
    rounds_: NDArray[np.void]
    weights_: Floats
    _seed: int

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
        cat_smoothing: float = 20.0,
        subsample: float = 1.0,
        colsample: float = 1.0,
        early_stopping: bool = False,
        n_iter_no_change: int = 10,
        validation_fraction: float | None = 0.1,
        tol: float = 0.0,
        scoring: Any = "loss",
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        warm_start: bool = False,
        record_weights: bool = False,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
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
        self.cat_smoothing = cat_smoothing
        self.subsample = subsample
        self.colsample = colsample
        self.early_stopping = early_stopping
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.tol = tol
        self.scoring = scoring
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.record_weights = record_weights
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.random_state = random_state

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Self:
        """Fit one tree, or `estimator`, a round until `n_estimators`, the data or something else says stop.

        Parameters
        ----------
        X : array-like or data frame of shape (rows, columns)
            Numbers, booleans, text and categories; NaN and null are missing.
        y : array-like of shape (rows,)
            Labels: strings, booleans or numbers.
        sample_weight : array-like of shape (rows,), optional
            How many rows each row stands for, >= 0.
        X_val, y_val, sample_weight_val : as X, y and sample_weight, optional
            Validation rows, in place of drawn ones; their loss is in `rounds_`, early stopping or not.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter, a column, a label or a weight is out of its range; the message names it.
            Or if `checkpoint` is a file of another fit.
        TypeError
            If a cell of X is neither a string nor a number, or `estimator` takes no weights.
        OSError
            If `checkpoint` cannot be written; before the first round.

        Examples
        --------
        >>> model = TAdaBoostClassifier(n_estimators=2).fit([[0.0], [1.0]] * 9, ["no", "yes"] * 9)
        >>> model.n_iter_, model.stop_reason_, model.classes_.tolist()
        (2, 'n_estimators', ['no', 'yes'])
        """
        self._validate_params()
        given = {"sample_weight": sample_weight, "X_val": X_val, "y_val": y_val}
        given["sample_weight_val"] = sample_weight_val
        given = {name: value for name, value in given.items() if value is not None}
        with self._kept_if_refused():
            checkpoint = warmstart.open_checkpoint(self)
            earlier = warmstart.earlier_rounds(self)
            if earlier is None:
                self._seed = warmstart.choose_seed(self, None if checkpoint is None else checkpoint.seed)
            fraction = self.validation_fraction if self.early_stopping else None
            train, held_out = part(X, y, **given, fraction=fraction, seed=self._seed)
            run = self._start(*train)
            watch = self._watch(train, held_out)
            if checkpoint is not None:
                earlier = checkpoint.go_on(earlier, train, held_out)
            if earlier is not None:
                warmstart.resume(run, self, earlier)
            self.__dict__.update(self._boost(run, watch, checkpoint, X=X, y=y, metadata=given or None))
        if self.trees_:
            self._forests()
        return self

    def _boost(self, run: Any, watch: Watch, checkpoint: Any, **about: Any) -> dict[str, Any]:
        """Do the rounds, and give what the fitted model is."""
        fitted = partial(self._attributes, run, watch)  # lazy: for a callback that asks, and at the end
        progress = self._init_callback_context(max_subtasks=self.n_estimators)
        progress.call_on_fit_task_begin(estimator=self, **about)
        # A task that nobody hears of is kept until the end, and costs a twentieth of a small round.
        called = bool(getattr(progress, "_callbacks", True))
        task = None
        while run.stop_reason is None:
            if called:
                task = progress.subcontext(task_name="round").call_on_fit_task_begin(estimator=self, **about)
            run.step()  # tree, rho, mu, alpha and the new weights
            if watch.look(run):
                run.stop_reason = run.stop_reason or "early stopping"
            if task and task.call_on_fit_task_end(estimator=self, **about, reconstruction_attributes=fitted):
                run.stop_reason = run.stop_reason or "callback"
            if checkpoint is not None:
                checkpoint.keep(run, fitted)
        progress.call_on_fit_task_end(estimator=self, **about, reconstruction_attributes=fitted)
        return fitted()

    def _runs(
        self,
        X: Any,
        matrix: frame.Matrix,
        positive: list[NDArray[np.bool_]],
        weight: Floats | None,
        settings: rounds.Settings,
        record_weights: bool = False,
    ) -> list[Any]:
        keep = bool(self.record_weights)
        if self.estimator is None:
            if self.leveraging == "corrective" or self.margin > 0.0:
                road = f"margin={self.margin}" if self.margin > 0.0 else "leveraging='corrective'"
                raise ValueError(f"{road} needs estimator=, which may be a TemperedTreeClassifier()")
            return super()._runs(X, matrix, positive, weight, settings, keep)
        of_trees = {
            "subsample": settings.subsample < 1.0,
            "colsample": settings.colsample < 1.0,
            "monotonic_cst": settings.direction is not None,
            "interaction_cst": settings.groups is not None,
        }
        for name in (name for name, given in of_trees.items() if given):
            raise ValueError(f"{name} is about trees, whose place estimator= takes; give one of the two")
        from tadaboost import generic  # here and below: it loads half of scikit-learn

        random = np.random.RandomState(self._seed)  # one stream of seeds for the learners of all classes
        return [
            generic.GenericRun(X, of_class, weight, self.estimator, settings, random, keep)
            for of_class in positive
        ]

    def _with_constraints(
        self, settings: rounds.Settings, table: frame.Table, schema: frame.Schema, n_classes: int
    ) -> rounds.Settings:
        names = None if isinstance(table, np.ndarray) else table.columns
        names = names if names and all(isinstance(name, str) for name in names) else None
        is_categorical = frame.is_categorical(schema)
        return settings._replace(
            direction=constraints.directions(self.monotonic_cst, names, is_categorical, n_classes),
            groups=constraints.groups(self.interaction_cst, names, len(schema)),
        )

    def _watch(self, train: Rows, held_out: Rows | None) -> Watch:
        """Give what looks at the model after each round."""
        stops, scorer = bool(self.early_stopping), None
        if self.scoring != "loss":
            scorer = get_scorer(self.scoring) if isinstance(self.scoring, str) else self.scoring
        rows = None
        if len(self.classes_) > 1 and (held_out is not None or (stops and scorer is not None)):
            rows = weighted(train, held_out, self.classes_, self.class_weight)
        if rows is None:
            return Watch(self, None, lambda _: np.empty(0), None, stops)
        return Watch(self, rows, self._output_on(rows.X), scorer, stops, held_out is not None)

    def _output_on(self, X: Any) -> Callable[[Any], Floats]:
        """Give the function from a tree or weak learner to its values on the rows of X."""
        if self.estimator is not None:
            from tadaboost import generic

            return partial(generic.output, X=X)
        try:
            validate_data(self, X, reset=False, skip_check_array=True)
            matrix = frame.to_matrix(frame.open_table(X), self._schema)
        except (ValueError, TypeError) as error:
            raise type(error)(f"X_val: {error}") from None
        n_threads = n_threads_of(self.n_jobs)

        def output(tree: Tree) -> Floats:
            """Give h(x) of one tree on the rows held out."""
            alone = forest.compiled(forest.flatten([tree]), self.n_features_in_)
            values: Floats = tree.value[alone.apply(matrix, n_threads=n_threads)[:, 0]]
            return values

        return output

    def _attributes(self, run: Any, watch: Watch) -> dict[str, Any]:
        """Gather what a fitted model is, after the rounds so far."""
        n = watch.n_kept(run)
        extra = {"weights_": run.weights()[: n + 1]} if self.record_weights else {}
        if self.estimator is not None:
            extra["estimators_"] = run.estimators[:n]
        records = run.rounds()[:n]
        if watch.losses:
            records["val_loss"] = np.reshape(watch.losses[:n], records.shape)
        return extra | {
            "trees_": run.trees[:n],
            "estimator_weights_": run.coefficients(n),
            "rounds_": records,
            "n_iter_": n,
            "stop_reason_": run.stop_reason if len(self.classes_) > 1 else "one class",
        }

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn what cells are welcome; with an `estimator` those that it takes."""
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
            subsample=float(self.subsample),
            colsample=float(self.colsample),
            seed=self._seed,
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

    def _score(self, X: Any) -> Floats:
        if hasattr(self, "estimators_"):
            *_, score = self.staged_decision_function(X)
            return score
        return super()._score(X)

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Leaf of each row in each tree.

        Parameters
        ----------
        X : array-like or data frame of shape (rows, n_features_in_)

        Returns
        -------
        ndarray of int32, shape (rows, n_iter_), or (rows, n_iter_, K) for K > 2 classes
            Node numbers in `trees_`.

        Examples
        --------
        >>> model = TAdaBoostClassifier(n_estimators=2).fit([[0.0], [1.0]] * 9, ["no", "yes"] * 9)
        >>> model.apply([[0.0], [1.0]]).tolist()
        [[1, 1], [2, 2]]
        """
        matrix = self._matrix(X)
        n_threads = self._n_threads(matrix)
        return by_class([trees.apply(matrix, n_threads=n_threads) for trees in self._forests()])

    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
        """`decision_function` of the first 1, 2, ... n_iter_ trees, one array a round.

        With corrective steps these are parts of the final sum, not the models of earlier rounds, whose
        coefficients were other ones.

        Parameters
        ----------
        X : array-like or data frame of shape (rows, n_features_in_)

        Yields
        ------
        ndarray of float64, shape (rows,), or (rows, K) for K > 2 classes

        Examples
        --------
        >>> model = TAdaBoostClassifier(n_estimators=2).fit([[0.0], [1.0]] * 9, ["no", "yes"] * 9)
        >>> [score.round(3).tolist() for score in model.staged_decision_function([[0.0], [1.0]])]
        [[-0.09, 0.09], [-0.175, 0.175]]
        """
        matrix = self._matrix(X)
        n_threads = self._n_threads(matrix)
        alphas = np.ascontiguousarray(self.estimator_weights_.reshape(self.n_iter_, -1).T)
        if hasattr(self, "estimators_"):
            from tadaboost import generic

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

        Examples
        --------
        >>> model = TAdaBoostClassifier(n_estimators=2).fit([[0.0], [1.0]] * 9, ["no", "yes"] * 9)
        >>> [proba[:, 1].round(3).tolist() for proba in model.staged_predict_proba([[0.0], [1.0]])]
        [[0.455, 0.545], [0.413, 0.587]]
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

        Examples
        --------
        >>> model = TAdaBoostClassifier(n_estimators=2).fit([[0.0], [1.0]] * 9, ["no", "yes"] * 9)
        >>> [labels.tolist() for labels in model.staged_predict([[0.0], [1.0]])]
        [['no', 'yes'], ['no', 'yes']]
        """
        return map(self._most_probable, self.staged_predict_proba(X))
