# SPDX-License-Identifier: Apache-2.0
"""Algorithm 1 over any scikit-learn classifier: Step 2.1 asks it for h_j, `boosting.State` does the rest.

A weak learner is fitted to the labels -1 and 1 with the weights n_i q_i of the round, n_i the multiplicity,
scaled so that they sum to that of the rows: in the first round they are the sample weights themselves. h_j is
its `decision_function` where it has one, else its labels; a linear learner makes the model a sum of linear
separators, clipped (9) or not.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.dummy import DummyClassifier
from sklearn.ensemble._base import _set_random_states
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import _num_samples, has_fit_parameter

from tadaboost import boosting, losses, rounds

__all__ = ["GenericRun", "output", "staged_scores"]

Array = NDArray[np.float64]


class GenericRun:
    """A fit under way, with the interface of `rounds.Run`.

    Parameters
    ----------
    X : array-like or data frame of shape (rows, columns)
        Handed to the weak learner as it is, without the rows of multiplicity 0.
    positive : ndarray of bool, shape (rows,)
        The rows of label 1.
    multiplicity : ndarray of float64, shape (rows,), or None
        How many examples each row stands for; None: one each. Rows of 0 are absent.
    estimator : scikit-learn classifier
        Cloned for each round.
    settings : rounds.Settings
        Of them those of the step: t, n_estimators, learning_rate, leveraging, clip, margin.
    random_state : int, RandomState or None
        Every round's clone draws its own seed from it.
    record_weights : bool
        Keep the co-density of each round.

    Attributes
    ----------
    estimators : list
        Fitted weak learners.
    alphas : list of float
        Coefficients: a score is ``sum(alpha * output(estimator, X))``. Corrective steps choose all of them
        anew in each round.
    trees : list
        Empty.
    stop_reason : str or None
        A key of `rounds.STOP_REASONS` once the run is over.

    Raises
    ------
    TypeError
        If `estimator` is no classifier or takes no weights.
    ValueError
        If the step rule, the margin, the temperature and `clip` do not go together.
    """

    def __init__(
        self,
        X: Any,
        positive: NDArray[np.bool_],
        multiplicity: Array | None,
        estimator: Any,
        settings: rounds.Settings,
        random_state: Any = None,
        record_weights: bool = False,
    ) -> None:
        self._weight_name = _weight_name(estimator)
        boosting.check_rule(settings.t, settings.leveraging, settings.margin)
        if settings.clip and settings.leveraging == "corrective":
            raise ValueError(
                "clip=True clips in the order of the steps, which leveraging='corrective' does not keep; "
                "use clip=False"
            )
        self.settings, self._estimator = settings, estimator
        self._random = check_random_state(random_state)
        weight = np.ones(len(positive)) if multiplicity is None else multiplicity
        self._present = weight > 0
        self._X = X if self._present.all() else _safe_indexing(X, self._present)
        self._weight = weight[self._present]
        self._y = np.where(positive[self._present], 1, -1)
        self._total = math.fsum(self._weight)
        # At t >= 1 nothing else bounds a step or a weight; the core has the same limits.
        s = 1.0 - settings.t
        self._state = boosting.State(
            settings.t,
            self._weight / self._total,
            self._total,
            settings.learning_rate,
            cap=rounds.CAP if s <= 0.0 else math.inf,
            ceiling=600.0 / (1.0 + max(s, 0.0)),
            margin=settings.margin,
        )
        self._clip = 1.0 / abs(s) if settings.clip and s != 0.0 else math.inf
        self._score = np.zeros(len(self._y))
        self._records: list[tuple[float, ...]] = []
        self._recorded = [self._per_row(self._weight / self._total)] if record_weights else None
        self.estimators: list[Any] = []
        self.trees: list[Any] = []
        self.alphas: list[float] = []
        self._corrected: list[Array] = []  # all coefficients of each round, with corrective steps
        self.stop_reason: str | None = None
        self._known: deque[tuple[Any, np.void]] = deque()
        self._known_reason = ""

    @property
    def n_rounds(self) -> int:
        """The number of rounds so far."""
        return len(self.alphas)

    def latest(self) -> list[tuple[Any, float | Array]]:
        """Return the weak learner of the last round and its coefficient; all, where the round moved all."""
        return [(self.estimators[-1], self._corrected[-1] if self._corrected else self.alphas[-1])]

    def coefficients(self, n: int) -> Array:
        """Return those of the model as it was after n rounds."""
        return self._corrected[n - 1] if self._corrected else np.array(self.alphas[:n], np.float64)

    def latest_loss(self) -> float:
        """Return the mean tempered loss of the training rows."""
        return float(self._records[-1][4])

    def resume(self, learners: list[Any], records: NDArray[np.void], reason: str) -> None:
        """Make the first steps those of an earlier fit to the same rows; see `rounds.Run.resume`."""
        self._known.extend(zip(learners, records, strict=True))
        self._known_reason = reason

    def step(self) -> None:
        """Fit a weak learner, choose its coefficient, move the weights."""
        if np.all(self._y == self._y[0]):
            self._prior("perfect")
            return
        if self._known:
            self._again(*self._known.popleft())
            return
        learner = self._fit_learner()
        h = output(learner, self._X)
        round_ = self._state.step(h * self._y, self.settings.leveraging)  # type: ignore[arg-type]
        if round_.alpha == 0.0 or not h.any() or abs(round_.rho) < 1e-15:
            if not self.alphas:
                self._prior("edge zero")
            self.stop_reason = "edge zero"
            return
        self._add(learner, h, round_)
        self._end(round_)

    def _end(self, round_: boosting.Round) -> None:
        """Say why the step just done was the last, if it was."""
        whole_step = self.settings.leveraging != "unit" and self.settings.learning_rate == 1.0
        separated = self.settings.leveraging == "corrective" and round_.status == "none" and whole_step
        if (
            round_.loss == 0.0
            or separated
            or (abs(round_.rho) == 1.0 and self.settings.t <= 1.0 and whole_step)
        ):
            self.stop_reason = "perfect"
        elif abs(round_.mu) * round_.R < 2.0**-53:
            self.stop_reason = "frozen step"
        elif len(self.alphas) == self.settings.n_estimators:
            self.stop_reason = "n_estimators"

    def rounds(self) -> NDArray[np.void]:
        """Return the records of the rounds so far, of dtype `rounds.ROUND`."""
        return np.array(self._records, rounds.ROUND)

    def weights(self) -> Array:
        """Co-densities before the first round and after each, shape (rounds + 1, rows), if recorded."""
        if self._recorded is None:
            raise ValueError("weights were not recorded: pass record_weights=True")
        return np.array(self._recorded)

    def _again(self, learner: Any, record: np.void) -> None:
        """Take the step of an earlier fit."""
        self._unfitted()  # draws the seeds that the learner had
        if record["alpha"] == 0.0:  # its class had ended while others went on
            self.stop_reason = self._known_reason
            return
        alone = isinstance(learner, DummyClassifier) and not isinstance(self._estimator, DummyClassifier)
        if alone:
            self._prior("edge zero")
        else:
            h = output(learner, self._X)
            round_ = self._state.step(h * self._y, self.settings.leveraging)  # type: ignore[arg-type]
            self._add(learner, h, round_)
            self._end(round_)
        if self.alphas[-1] != record["alpha"] or self._records[-1][4] != record["loss"]:
            raise ValueError(
                "warm_start goes on with an earlier fit, but the rows or parameters are not the same as then"
            )

    def _unfitted(self) -> Any:
        learner = clone(self._estimator)
        _set_random_states(learner, self._random)
        return learner

    def _fit_learner(self) -> Any:
        learner = self._unfitted()
        # Relative to the largest: only ratios matter, and none overflows.
        q = self._weight * np.exp(self._state.log_e - self._state.log_e.max())
        return learner.fit(self._X, self._y, **{self._weight_name: q * (self._total / math.fsum(q))})

    def _prior(self, reason: str) -> None:
        """Make the model the constant that predicts the prior, where no weak learner was any use."""
        t = self.settings.t
        w_pos, w_neg = (math.fsum(self._weight[self._y == label]) for label in (1, -1))
        value = float(losses.leaf_link(w_pos, w_neg, t))
        label = 1 if value > 0 else -1
        learner = DummyClassifier(strategy="constant", constant=label).fit(self._X, self._y)
        state = self._state
        self._state = boosting.State(t, state.omega, self._total, abs(value), state.cap, state.ceiling)
        h = np.full(len(self._y), float(label))
        self._add(learner, h, self._state.step(h * self._y, "unit"))
        self.stop_reason = reason

    def _add(self, learner: Any, h: Array, round_: boosting.Round) -> None:
        settings, state = self.settings, self._state
        self.estimators.append(learner)
        self.alphas.append(round_.alpha)
        self._score = np.clip(self._score + round_.alpha * h, -self._clip, self._clip)
        if len(state.coefficients) > 0:
            self.alphas = state.coefficients.tolist()
            self._corrected.append(state.coefficients)
            self._score = self._y * (state.coefficients @ state.edges)
        p = np.nan_to_num(round_.p)  # NaN: all weights are off, and there is no co-density
        least, most = np.quantile(p / self._weight, [0.0, 1.0]).tolist()
        n_off = int(np.count_nonzero(~(state.log_e > -np.inf)))
        # |rho| = 1 stands for all that rounds to it; K_t is then known no better than by the loss.
        state.bound = max(state.bound, round_.loss) if abs(round_.rho) == 1.0 else state.bound
        certified = settings.learning_rate == 1.0 and settings.leveraging != "unit"
        bound = state.bound if certified else round_.loss
        bound = math.nan if settings.clip and settings.t > 1.0 else bound
        wrong = math.fsum(self._weight[self._score * self._y <= 0.0]) / self._total
        self._records.append(
            (round_.rho, round_.mu, round_.alpha, round_.Z, round_.loss, bound, wrong, math.nan, least, most,
             n_off, state.n_capped)
        )  # fmt: skip
        if self._recorded is not None:
            self._recorded.append(self._per_row(p))

    def _per_row(self, p: Array) -> Array:
        full = np.zeros(len(self._present))
        full[self._present] = p
        return full


def output(learner: Any, X: Any) -> Array:
    """Give h(x): the learner's `decision_function`, or its labels if it has none.

    Parameters
    ----------
    learner : classifier fitted to the labels -1 and 1
    X : array-like or data frame of shape (rows, columns)

    Returns
    -------
    ndarray of float64, shape (rows,)

    Raises
    ------
    ValueError
        If a value is not finite, is no label, or there is not one for each row.

    Examples
    --------
    >>> from sklearn.linear_model import RidgeClassifier
    >>> output(RidgeClassifier(alpha=1e-9).fit([[0.0], [1.0]], [-1, 1]), [[0.25], [2.0]]).round(6)
    array([-0.5,  3. ])
    """
    name = "decision_function" if hasattr(learner, "decision_function") else "predict"
    h = np.asarray(getattr(learner, name)(X), np.float64)
    about = f"{name} of estimator {type(learner).__name__}"
    if h.shape != (_num_samples(X),):
        raise ValueError(
            f"{about} has shape {h.shape}; it must give one value for each of {_num_samples(X)} rows"
        )
    for i in np.flatnonzero(~np.isfinite(h))[:1]:
        raise ValueError(f"{about} is {h[i]} in row {i}; outputs of a weak learner must be finite")
    if name == "predict":
        for i in np.flatnonzero(np.abs(h) != 1.0)[:1]:
            raise ValueError(f"{about} is {h[i]} in row {i}; it was fitted to the labels -1 and 1")
    return h


def staged_scores(
    estimators: Iterable[Any], alphas: Iterable[float], clip_at: float, X: Any
) -> Iterator[Array]:
    """Score of the rows after each weak learner, clipped to +-clip_at after every term (9).

    Parameters
    ----------
    estimators : fitted weak learners
    alphas : their coefficients
    clip_at : float
        1/|1-t|, or infinity for a plain sum.
    X : array-like or data frame of shape (rows, columns)

    Yields
    ------
    ndarray of float64, shape (rows,)
    """
    score = np.zeros(_num_samples(X))
    for learner, alpha in zip(estimators, alphas, strict=True):
        if alpha == 0.0:  # a class that has ended while others go on
            yield score
            continue
        score = np.clip(score + alpha * output(learner, X), -clip_at, clip_at)
        yield score


def _weight_name(estimator: Any) -> str:
    """Name of the fit parameter that carries the weights; a pipeline hands them to its last step."""
    name = type(estimator).__name__
    if not is_classifier(estimator):
        raise TypeError(f"estimator is a {name}; it must be a scikit-learn classifier")
    if isinstance(estimator, Pipeline):
        step, last = estimator.steps[-1]
        return f"{step}__{_weight_name(last)}"
    if not has_fit_parameter(estimator, "sample_weight"):
        raise TypeError(
            f"estimator is a {name}, whose fit takes no sample_weight; boosting needs one that does"
        )
    return "sample_weight"
