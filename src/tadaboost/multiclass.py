# SPDX-License-Identifier: Apache-2.0
"""More than two classes: a binary problem for each, in step, and probabilities from their scores.

This is AdaBoost.MH with class-wise steps: the problem of class k is "k or not", over the same bins. In each
round every class that has not ended grows a tree and takes a step of its own; one that has ended adds a root
of value 0 with coefficient 0, so that round j is the same round for all.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tadaboost.tree import Tree

__all__ = ["ClassRuns", "probabilities", "root_only"]

Array = NDArray[np.float64]

_CHUNK = 1 << 16  # rows of scores looked at together: their temporaries stay in the cache


class ClassRuns:
    """A fit of K > 2 classes under way: a run for each, with the interface of one.

    Parameters
    ----------
    runs : list of rounds.Run or generic.GenericRun
        In the order of the classes.

    Attributes
    ----------
    stop_reason : str or None
        That of the class which went on longest; None while one of them goes on.
    """

    def __init__(self, runs: list[Any]) -> None:
        self.runs = runs
        self.n_rounds = 0
        self.stop_reason: str | None = None

    def step(self) -> None:
        """Do a round of every class that has not ended."""
        going = [run for run in self.runs if run.stop_reason is None]
        for run in going:
            run.step()
        self.n_rounds = max(run.n_rounds for run in self.runs)
        if all(run.stop_reason for run in self.runs):
            reasons = [run.stop_reason for run in going]
            self.stop_reason = "n_estimators" if "n_estimators" in reasons else reasons[0]

    def only_tree(self) -> tuple[tuple[Tree, ...], Array]:
        """Grow one tree for each class; give them and their mean tempered losses."""
        trees, of_trees = zip(*(run.only_tree() for run in self.runs), strict=True)
        return trees, np.array(of_trees)

    @property
    def trees(self) -> list[tuple[Tree, ...]]:
        """The trees of each round, one a class; empty with a weak learner of another kind."""
        if not self.runs[0].trees:
            return []
        columns = [self._padded(run.trees, root_only(run.trees[0])) for run in self.runs]
        return list(zip(*columns, strict=True))

    @property
    def estimators(self) -> list[tuple[Any, ...]]:
        """The weak learners of each round; a class that has ended repeats its last, with coefficient 0."""
        columns = [self._padded(run.estimators, run.estimators[-1]) for run in self.runs]
        return list(zip(*columns, strict=True))

    def coefficients(self, n: int) -> Array:
        """Return those of the model as it was after n rounds, of shape (n, classes)."""
        found = np.zeros((n, len(self.runs)))
        for k, run in enumerate(self.runs):
            of_class = run.coefficients(min(n, run.n_rounds))
            found[: len(of_class), k] = of_class
        return found

    def rounds(self) -> NDArray[np.void]:
        """Return the records, of shape (rounds, classes); those after a class's end repeat its last state."""
        columns = []
        for run in self.runs:
            records = run.rounds()
            rest = np.repeat(records[-1:], self.n_rounds - len(records))
            for name, value in (("rho", 0.0), ("mu", 0.0), ("alpha", 0.0), ("Z", 1.0), ("n_nonfinite", 0)):
                rest[name] = value
            columns.append(np.concatenate([records, rest]))
        return np.stack(columns, axis=1)

    def weights(self) -> Array:
        """Return the co-densities, of shape (rounds + 1, rows, classes)."""
        columns = []
        for run in self.runs:
            of_class = run.weights()
            rest = np.repeat(of_class[-1:], self.n_rounds + 1 - len(of_class), axis=0)
            columns.append(np.concatenate([of_class, rest]))
        return np.stack(columns, axis=2)

    def latest(self) -> list[tuple[Any, float | Array]]:
        """Return what `latest` of each class gives, (None, 0) for one that has ended."""
        return [run.latest()[0] if run.n_rounds == self.n_rounds else (None, 0.0) for run in self.runs]

    def latest_loss(self) -> float:
        """Return the training loss, its mean over the classes."""
        return float(np.mean([run.latest_loss() for run in self.runs]))

    def resume(self, weak: list[Any], records: NDArray[np.void], reason: str) -> None:
        """Make the first rounds those of an earlier fit; see `rounds.Run.resume`."""
        for k, run in enumerate(self.runs):
            run.resume([of_round[k] for of_round in weak], records[:, k], reason)

    def _padded(self, values: list[Any], rest: Any) -> list[Any]:
        return values + [rest] * (self.n_rounds - len(values))


def root_only(tree: Tree) -> Tree:
    """Return the tree that splits nothing and adds nothing, over the rows of `tree`.

    Parameters
    ----------
    tree : Tree

    Returns
    -------
    Tree
        One leaf of value 0.
    """
    none = np.array([-1], np.int32)
    no = np.zeros(1, bool)
    return Tree(
        none, np.zeros(1), none, none, np.zeros(1), no, no, np.empty(0, np.int32), np.zeros(2, np.int64),
        tree.mass[:1], np.zeros(1),
    )  # fmt: skip


def probabilities(scores: Array, t: float) -> Array:
    """Probabilities of K classes from their scores: inverse_link(H_k + c), with the c that makes the sum 1.

    The sum rises with c, so there is such a c for any scores. For K = 2 and scores H, -H it is 0: the link of
    two classes. Where a score leads by so much that its class is certain, c is one of many.

    Parameters
    ----------
    scores : ndarray of float64, shape (rows, K), K >= 2
        Finite, in the scale of psi_t.
    t : float
        Temperature, below 2.

    Returns
    -------
    ndarray of float64 in [0, 1], shape (rows, K)
        A row sums to 1; a larger score has no smaller probability.

    Examples
    --------
    >>> probabilities(np.array([[0.5, 0.5, 0.5], [800.0, 0.0, -800.0], [0.5, -0.5, -9e99]]), t=0.0).round(3)
    array([[0.333, 0.333, 0.333],
           [1.   , 0.   , 0.   ],
           [0.75 , 0.25 , 0.   ]])
    """
    out = np.empty(scores.shape)
    for first in range(0, len(scores), _CHUNK):
        chunk = scores[first : first + _CHUNK]
        with np.errstate(over="ignore"):
            behind = chunk - chunk.max(axis=1, keepdims=True)  # of the leader, 0: nothing cancels later
        if t == 0.0:
            p = _at_0(behind)
            out[first : first + _CHUNK] = p / p.sum(axis=1, keepdims=True)
            continue
        low, high = _leader(behind, t)
        p = _probability(_log_odds(behind, low[:, None], t))
        out[first : first + _CHUNK] = p / p.sum(axis=1, keepdims=True)
        # Between two numbers next to each other, at t far below 0, a class may rise from 0 to what is left.
        wide = np.flatnonzero(low < high)
        if len(wide):
            above = _probability(_log_odds(behind[wide], high[wide, None], t))
            lacks, exceeds = 1.0 - p[wide].sum(axis=1), above.sum(axis=1) - 1.0
            share = np.clip(lacks / (lacks + exceeds), 0.0, 1.0)[:, None]
            out[first + wide] = p[wide] + share * (above - p[wide])
    return out


def _at_0(behind: Array) -> Array:
    """Probabilities where the link is a line, (1 + H) / 2 within [0, 1]: no search is needed."""
    half = np.maximum(0.5 * behind, -1.0)  # a class further behind has nothing
    lead = np.cumsum(-np.sort(-half, axis=1), axis=1) - 1.0
    less = (lead / np.arange(1, behind.shape[1] + 1)).max(axis=1, keepdims=True)
    p: Array = np.maximum(half - less, 0.0)
    return p


def _log_odds(behind: Array, leader: Array, t: float) -> Array:
    """Log odds of the classes from those of the leader, each so far behind it.

    With s = |1-t| the leader's score c has 1 + s c = y = 2 / (1 + exp(-s leader)) and 1 - s c = z =
    2 / (1 + exp(s leader)); the log odds log((1 + s H) / (1 - s H)) / s of H = c + behind follow from theirs.
    Found from c itself they would lose all digits near 1/s, where c = 1/s to the last one.
    """
    s = abs(1.0 - t)
    if s == 0.0:
        return leader + 2.0 * np.maximum(behind, -CERTAIN)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        of_y, of_z = (-0.5 * s * behind * (1.0 + np.exp(side * s * leader)) for side in (-1.0, 1.0))
        odds = leader + (np.log1p(-np.minimum(of_y, 1.0)) - np.log1p(of_z)) / s
    return np.where(behind == 0.0, leader, odds)


def _probability(log_odds: Array) -> Array:
    small = np.exp(-np.abs(log_odds))
    p: Array = np.where(log_odds < 0, small, 1.0) / (1.0 + small)
    return p


def _leader(behind: Array, t: float) -> tuple[Array, Array]:
    """Find the leader's log odds of each row by the Illinois method, halving the bracket where that fails.

    Gives the root twice, or the numbers to its two sides where the sum leaps between them.
    """
    n_classes, s = behind.shape[1], abs(1.0 - t)
    behind = -np.sort(-behind, axis=1)  # the leader first
    # At `low` the leader has 1/K and no class more; at `high`, c = -second / 2, two classes alone sum to 1.
    low = np.full(len(behind), -math.log(n_classes - 1))
    with np.errstate(over="ignore", divide="ignore"):
        c = -0.5 * behind[:, 1]
        high = 2.0 * (np.arctanh(np.minimum(s * c, 1.0)) / s if s else c)
    high = np.clip(high, low, CERTAIN)
    f_low, f_high = _excess(behind, low, t), _excess(behind, high, t)
    best = np.where(np.abs(f_low) < np.abs(f_high), low, high)
    below, above = best.copy(), best.copy()
    open_ = np.flatnonzero((f_low < -CLOSE) & (f_high > CLOSE))
    behind, low, high, f_low, f_high = (v[open_] for v in (behind, low, high, f_low, f_high))
    last = np.zeros(len(open_))  # the side that moved last
    for i in range(MOST_STEPS):
        if len(open_) == 0:
            break
        middle = low + 0.5 * (high - low)
        at = middle if i % 3 == 2 else (low * f_high - high * f_low) / (f_high - f_low)
        at = np.where((at > low) & (at < high), at, middle)  # NaN too
        f = _excess(behind, at, t)
        up = f > 0.0
        f_low = np.where(up & (last > 0), 0.5 * f_low, np.where(up, f_low, f))
        f_high = np.where(~up & (last < 0), 0.5 * f_high, np.where(up, f, f_high))
        low, high, last = np.where(up, low, at), np.where(up, at, high), np.where(up, 1.0, -1.0)
        is_root = np.abs(f) <= CLOSE
        far = ~is_root & (np.nextafter(low, high) < high)
        if not far.all():
            below[open_], above[open_] = np.where(is_root, at, low), np.where(is_root, at, high)
            open_, behind, low, high, f_low, f_high, last = (
                v[far] for v in (open_, behind, low, high, f_low, f_high, last)
            )
    below[open_], above[open_] = low, high
    return below, above


CLOSE = 1e-15  # to 1, of a sum of probabilities
CERTAIN = 1500.0  # log odds beyond which all other probabilities are 0 in float64
MOST_STEPS = 400  # about 60 halvings and their attempts never need them all


def _excess(behind: Array, leader: Array, t: float) -> Array:
    """Sum of the other classes' probabilities, less what the leader (the first) leaves them."""
    others = _probability(_log_odds(behind[:, 1:], leader[:, None], t)).sum(axis=1)
    excess: Array = others - _probability(-leader)
    return excess
