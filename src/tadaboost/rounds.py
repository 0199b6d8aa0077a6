# SPDX-License-Identifier: Apache-2.0
"""Algorithm 1 over a shard of binned rows: one tree a round.

A `Run` holds the shard (weights of the rows, in C++), the trees and coefficients so far, and one record a
round. A round is a handful of numbers: sums over (leaf, class), from which come the leaf values, the edge
rho and the step alpha; then the shard moves its weights. Weights are m-free: e = 1 at the start, omega =
multiplicity / W, and all m and Z of the paper cancel.
"""

from __future__ import annotations

import math
import sys
from collections import deque
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tadaboost import _core, boosting, constraints, losses
from tadaboost.binning import Bins
from tadaboost.forest import to_trees
from tadaboost.tree import Tree, splits_of

__all__ = ["CAP", "ROUND", "STOP_REASONS", "Run", "Settings"]

Array = NDArray[np.float64]

ROUND = np.dtype(
    [(name, "<f8") for name in ("rho", "mu", "alpha", "Z", "loss", "bound", "train_error", "val_loss")]
    + [("codensity_min", "<f8"), ("codensity_max", "<f8"), ("n_off", "<i8"), ("n_nonfinite", "<i8")]
)

STOP_REASONS = {
    "n_estimators": "all rounds were done",
    "no split": "no leaf has an admissible split that lowers the risk",
    "edge zero": "the tree has no edge on the weights, or none above `margin`: its step is zero",
    "perfect": "every weight is off, or the tree makes no error: the loss cannot fall further",
    "frozen step": "the step is too small to change any weight",
}

_OTHER_ROWS = "warm_start goes on with an earlier fit, but the rows or their labels are not the same as then"
_LARGE = 1e100  # what counts as infinite at t < 1
CAP = 500.0  # |alpha h| at t >= 1, where a pure leaf's value and a perfect tree's step have no bound


class Settings(NamedTuple):
    """What a run needs to know; 0 in `max_leaf_nodes` and `max_depth` means no limit."""

    t: float
    n_estimators: int
    learning_rate: float
    leaf_values: str
    leveraging: str
    clip: bool
    max_leaf_nodes: int
    max_depth: int
    min_samples_leaf: float
    min_leaf_mass: float
    leaf_ridge: float
    growth: str
    allow_pure_leaves: bool
    cat_smoothing: float = 0.0
    margin: float = 0.0
    subsample: float = 1.0
    colsample: float = 1.0
    seed: int = 0
    direction: constraints.Directions | None = None
    groups: constraints.Groups | None = None


class _Leaves(NamedTuple):
    """The leaves of the tree just grown, and sums over the rows of each (leaf, class), class 0 positive."""

    ids: NDArray[np.int32]
    # (leaves, 2, 5): sum of multiplicity times e; multiplicity; of it, rows whose weight is off; least and
    # largest log weight of the rows that are on.
    table: Array


class _Step(NamedTuple):
    """A tree that has grown, and the step that it asks for."""

    grown: _core.GrownTree
    leaves: _Leaves
    values: Array
    alpha: float
    rho: float
    A: float
    off: tuple[float, float]
    n_capped: int
    useless: str | None  # why it is no step; a key of STOP_REASONS


class Run:
    """A fit under way.

    Parameters
    ----------
    codes : ndarray of uint8 or uint16, shape (columns, rows)
        As `binning.encode` gives them.
    bins : Bins
    positive : ndarray of bool, shape (rows,)
        The rows of the positive class.
    multiplicity : ndarray of float64, shape (rows,), or None
        How many examples each row stands for; None: one each. Rows of 0 are absent.
    settings : Settings
    n_threads : int
    record_weights : bool
        Keep the co-density of each round.

    Attributes
    ----------
    trees : list of Tree
    alphas : list of float
        Coefficients: a score is ``sum(alpha * value of the leaf)``.
    stop_reason : str or None
        A key of `STOP_REASONS` once the run is over.
    """

    def __init__(
        self,
        codes: NDArray[np.uint8] | NDArray[np.uint16],
        bins: Bins,
        positive: NDArray[np.bool_],
        multiplicity: Array | None,
        settings: Settings,
        n_threads: int = 1,
        record_weights: bool = False,
    ) -> None:
        self.bins, self.settings = bins, settings
        n_codes = np.asarray(bins.n_bins, np.int64) + 1
        is_categorical = np.ascontiguousarray(bins.is_categorical, bool)
        # The core sees fractional multiplicities in a power of two as unit, so that theirs does not matter.
        multiplicity, self._scale = _scaled(multiplicity)
        whole, unit, counts = _counts(multiplicity)
        self._multiplicity, self._n_given, self._unit = multiplicity, len(positive), unit
        self._total = float(len(positive) if multiplicity is None else math.fsum(multiplicity))
        # Sums over rows of whole multiplicities are those of as many rows of 1.
        self._most_multiplicity = 1.0 if multiplicity is None or whole else float(multiplicity.max())
        self._ridge = min(settings.leaf_ridge / self._scale, 1e300)
        self._shard = _core.Shard(
            codes, n_codes, is_categorical, np.ascontiguousarray(positive, bool), multiplicity, counts, whole,
            float(settings.t), n_threads, settings.subsample >= 1.0,
        )  # fmt: skip
        # A tolerance, because ten weights of .1 are one example.
        least_leaf = settings.min_samples_leaf / self._scale
        min_count = math.ceil(min(least_leaf / unit * (1 - 1e-9), 2.0**62))
        self._grower = _core.Grower(
            n_codes, is_categorical, float(settings.t), settings.max_leaf_nodes, settings.max_depth,
            settings.growth == "heaviest", float(settings.min_leaf_mass), min_count,
            settings.allow_pure_leaves, min(settings.cat_smoothing / self._scale / unit, 1e300),
        )  # fmt: skip
        if settings.direction is not None:
            self._grower.set_direction(settings.direction)
        if settings.groups is not None:
            start = np.cumsum([0, *map(len, settings.groups)], dtype=np.int64)
            self._grower.set_groups(start, np.concatenate(settings.groups))
        # What fixed-point weights are made from: e where multiplicities are whole, else multiplicity times e.
        self._n_fixed = self._total if whole else float(self._shard.n_rows)
        self._most_fixed = self._most_multiplicity
        self._sum_weight, self._most_weight = self._total, 1.0
        self._loss, self._bound = 1.0, 1.0
        self._records: list[tuple[float, ...]] = []
        self._recorded = [self._codensity()] if record_weights else None
        self._trees: list[Tree] = []
        self._grown: list[tuple[_core.GrownTree, NDArray[np.int32], Array]] = []  # the trees after those
        self.alphas: list[float] = []
        self.stop_reason: str | None = None
        self._known: deque[tuple[Tree, np.void]] = deque()
        self._known_reason = ""

    @property
    def n_rounds(self) -> int:
        """The number of rounds so far."""
        return len(self.alphas)

    @property
    def trees(self) -> list[Tree]:
        """The trees so far."""
        if self._grown:
            self._trees += self._laid_out(self._grown)
            self._grown = []
        return self._trees

    def latest(self) -> list[tuple[Tree, float]]:
        """Return the tree of the last round and its coefficient."""
        return [(self.trees[-1], self.alphas[-1])]

    def latest_loss(self) -> float:
        """Return the mean tempered loss of the training rows."""
        return self._loss

    def coefficients(self, n: int) -> Array:
        """Return those of the model as it was after n rounds."""
        return np.array(self.alphas[:n], np.float64)

    def resume(self, trees: list[Tree], records: NDArray[np.void], reason: str) -> None:
        """Make the first steps those of an earlier fit to the same rows: `step` takes them, to the same bits.

        Parameters
        ----------
        trees, records
            Of the earlier fit, a round each.
        reason : str
            Why the earlier fit ended.
        """
        self._known.extend(zip(trees, records, strict=True))
        self._known_reason = reason

    def step(self) -> None:
        """Grow a tree, choose its leaf values and its coefficient, move the weights."""
        if self._known:
            self._again(*self._known.popleft())
            return
        draws = min(self.settings.subsample, self.settings.colsample) < 1.0
        step = self._attempt(draws)
        if step.useless and draws:  # that may be a matter of the draw
            step = self._attempt(False)
        if step.useless:
            self._stop(step.useless, step.grown, step.leaves)
            return
        self._apply(step.grown, step.leaves, step.values, step.alpha, step.rho, step.off, step.n_capped)
        self._end(step.rho, step.A, step.alpha)

    def _attempt(self, draws: bool) -> _Step:
        """Grow a tree, from drawn rows and columns or from all, and find its step."""
        grown, leaves = self._grow(draws)
        if len(leaves.ids) == 1:
            return _Step(grown, leaves, np.zeros(1), 0.0, 0.0, 0.0, (0.0, 0.0), 0, "no split")
        values, n_capped = self._leaf_values(leaves, grown)
        rho, A, off = self._edge(leaves, values)
        alpha, step_capped = self._coefficient(leaves, values, rho, A)
        useless = alpha == 0.0 or np.count_nonzero(values) == 0
        useless = useless or (self.settings.leveraging != "unit" and abs(rho) < 1e-15)
        useless = useless or (draws and A < 2.0**-40)  # rounding is left of a tree that was drawn before
        if self.settings.direction is not None:  # leaves moved into order may have lost their edge
            useless = useless or alpha < 0.0 or not _rises(leaves.table[:, :, 0], values)
        capped = n_capped + step_capped
        return _Step(grown, leaves, values, alpha, rho, A, off, capped, "edge zero" if useless else None)

    def _end(self, rho: float, A: float, alpha: float) -> None:
        """Say why the step just done was the last, if it was."""
        whole_step = self.settings.leveraging != "unit" and self.settings.learning_rate == 1.0
        if self._loss == 0.0 or (abs(rho) == 1.0 and self.settings.t <= 1.0 and whole_step):
            self.stop_reason = "perfect"
        elif abs(alpha) * A < 2.0**-53:
            self.stop_reason = "frozen step"
        elif self.n_rounds == self.settings.n_estimators:
            self.stop_reason = "n_estimators"

    def only_tree(self) -> tuple[Tree, float]:
        """Grow one tree that is a model of its own; give it and its mean tempered loss (15).

        Unlike in `step`, its splits stay when none has an edge.
        """
        grown, leaves = self._grow()
        values, _ = self._leaf_values(leaves, grown) if len(leaves.ids) > 1 else self._prior(leaves)
        weight = leaves.table[:, :, 0]
        with np.errstate(invalid="ignore"):  # 0 times infinity: a class that a pure leaf does not have
            loss = weight * losses.tempered_exp_loss(np.stack([values, -values], axis=1), self.settings.t)
        (tree,) = self._laid_out([(grown, leaves.ids, values)])
        return tree, math.fsum(loss[weight > 0.0]) / self._total

    def rounds(self) -> NDArray[np.void]:
        """Return the records of the rounds so far, of dtype `ROUND`."""
        return np.array(self._records, ROUND)

    def weights(self) -> Array:
        """Return the co-densities before the first round and after each, shape (rounds + 1, rows)."""
        if self._recorded is None:
            raise ValueError("weights were not recorded: pass record_weights=True")
        return np.array(self._recorded)

    def _stop(self, reason: str, grown: _core.GrownTree, leaves: _Leaves) -> None:
        """End the run; a run without any tree gets one root that predicts the prior."""
        self.stop_reason = reason
        if self.alphas:
            return
        if len(leaves.ids) > 1:
            grown = grown.root()
            self._shard.begin_tree(self._scale_exponent())
            leaves = self._leaves(np.zeros(1, np.int32))
        values, n_capped = self._prior(leaves)
        rho, _, off = self._edge(leaves, values)
        self._apply(grown, leaves, values, 1.0, rho, off, n_capped)

    def _again(self, tree: Tree, record: np.void) -> None:
        """Take the step of an earlier fit; the sums over its leaves are exact, so no bit can differ."""
        alpha = float(record["alpha"])
        if alpha == 0.0:  # its class had ended while others went on
            self.stop_reason = self._known_reason
            return
        direction, groups = self.settings.direction, self.settings.groups
        broken = constraints.broken(tree, direction, groups)
        if broken or (direction is not None and alpha < 0.0):
            parameter = broken or "monotonic_cst"
            raise ValueError(
                f"warm_start goes on with an earlier fit, whose trees do not keep to {parameter}"
            )
        self._shard.begin_tree(self._scale_exponent())
        try:
            for split in splits_of(tree, self.bins):
                self._shard.split(*split)
            leaves = self._leaves(np.flatnonzero(tree.feature < 0).astype(np.int32))
            share = leaves.table[:, :, 1].sum(axis=1) / leaves.table[:, :, 1].sum()
            same = np.allclose(share, tree.mass[leaves.ids] / tree.mass[0], rtol=1e-9, atol=0.0)
        except (ValueError, IndexError):
            same = False
        if not same:
            raise ValueError(_OTHER_ROWS)
        values, s = tree.value[leaves.ids], 1.0 - self.settings.t
        _, A, _ = self._edge(leaves, values)
        clip = 1.0 / abs(s) if self.settings.clip and s != 0.0 else math.inf
        after = _core.step(
            self._shard, leaves.ids, values, leaves.table, alpha, clip, self._most_multiplicity
        )
        self._loss, self._sum_weight = after[0] / self._total, after[1]
        # Other labels on the same rows; weights times a constant are no other rows, and round otherwise.
        if not math.isclose(self._loss, float(record["loss"]), rel_tol=1e-9, abs_tol=1e-300):
            raise ValueError(_OTHER_ROWS)
        self._most_weight, self._most_fixed = after[4], after[5]
        self._bound = float(record["bound"])
        record = record.copy()
        record["val_loss"] = math.nan
        self._records.append(tuple(record.tolist()))
        self._trees.append(tree)
        self.alphas.append(alpha)
        if self._recorded is not None:
            self._recorded.append(self._codensity())
        self._end(float(record["rho"]), A, alpha)
        if len(tree.feature) == 1:  # the prior, because nothing else was any use
            self.stop_reason = self._known_reason

    # One tree.

    def _scale_exponent(self) -> int:
        """Power of two of the fixed-point weights: at most min(2^30 / largest, 2^20 / mean)."""
        # The sum may underflow to 0 while the loss, a sum of powers below 1 where t > 1, does not.
        mean = max(self._sum_weight / self._n_fixed, 2.0**-1000)
        largest = min(2.0**30 / self._most_fixed, 2.0**20 / mean)
        return min(1020, max(-1020, math.frexp(largest)[1] - 1))

    def _grow(self, draws: bool = False) -> tuple[_core.GrownTree, _Leaves]:
        share, seed = self.settings.subsample, self.settings.seed
        drawn = drawn_rows(share, seed, self.n_rounds, self._n_given) if draws and share < 1.0 else None
        # One number for seed and round, of which the core makes one for each node and column.
        self._grower.set_draw(self.settings.colsample if draws else 1.0, (self.n_rounds << 32) | seed)
        self._shard.begin_tree(self._scale_exponent(), drawn)
        ids = _core.grow(self._grower, self._shard)
        grown, leaves = self._grower.tree(), self._leaves(ids)
        return (grown if drawn is None else self._of_all_rows(grown, leaves)), leaves

    def _of_all_rows(self, grown: _core.GrownTree, leaves: _Leaves) -> _core.GrownTree:
        """Give a tree that grew from some rows the multiplicities of all of them."""
        count = np.rint(leaves.table[:, :, 1].sum(axis=1) / self._unit)
        return grown.recounted(leaves.ids, count.astype(np.uint64))

    def _leaves(self, ids: NDArray[np.int32]) -> _Leaves:
        return _Leaves(ids, _core.leaf_table(self._shard, ids, self._unit, self._most_multiplicity))

    # Leaf values.

    def _leaf_values(self, leaves: _Leaves, grown: _core.GrownTree) -> tuple[Array, int]:
        values, n_capped = self._free_values(leaves)
        direction = self.settings.direction
        if direction is None:
            return values, n_capped
        # The weight of a leaf and its ridge are about the curvature of its loss.
        weight = leaves.table[:, :, 0].sum(axis=1)
        weight += self._ridge if self.settings.leaf_values == "exact" else 0.0
        feature, _, left, right, *_ = grown.arrays()
        return constraints.in_order(values, weight, leaves.ids, (feature, left, right), direction), n_capped

    def _free_values(self, leaves: _Leaves) -> tuple[Array, int]:
        t, rule = self.settings.t, self.settings.leaf_values
        if rule == "exact":
            cap = CAP / self.settings.learning_rate if t >= 1.0 else math.inf
            values: Array = _core.solve_leaves(
                self._shard, *leaves, self._ridge, cap, self._most_multiplicity
            )
            return values, int(np.count_nonzero(np.abs(values) >= cap)) if t >= 1.0 else 0
        with np.errstate(all="ignore"):  # a leaf whose rows are all off has no value: 0
            link = losses.leaf_link if rule == "theorem_a" else losses.canonical_leaf
            weight = leaves.table[:, :, 0]
            values = np.nan_to_num(
                link(weight[:, 0], weight[:, 1], t), nan=0.0, posinf=np.inf, neginf=-np.inf
            )
        return self._capped(values, self.settings.learning_rate)

    def _prior(self, leaves: _Leaves) -> tuple[Array, int]:
        """Give a lone root its value: while all weights are 1, psi_t of Q masses is the link of the prior."""
        weight = leaves.table[:, :, 0]
        return self._capped(losses.leaf_link(weight[:, 0], weight[:, 1], self.settings.t), 1.0)

    def _capped(self, values: Array, largest_alpha: float) -> tuple[Array, int]:
        """Cap what is infinite or nearly so, as values of pure leaves at t = 1 (canonical ones at t >= 0)."""
        cap = CAP / largest_alpha
        too_large = ~(np.abs(values) <= (cap if self.settings.t >= 1.0 else _LARGE))
        return np.where(too_large, np.copysign(cap, values), values), int(too_large.sum())

    # The edge and the coefficient.

    def _edge(self, leaves: _Leaves, values: Array) -> tuple[float, float, tuple[float, float]]:
        """Return rho of (10), A = max |u_i| / e_i^(1-t) where on, and e_dagger and the share of the rest."""
        t, total = self.settings.t, self._total
        A, edge, off_edge, off_largest, off = _core.edge_sums(leaves.table, values, t)
        rho, e_dagger = boosting.normalised_edge(
            edge / total, self._loss, A, off_edge / total, off_largest, off / total, t
        )
        return rho, A, (e_dagger, off / total)

    def _coefficient(self, leaves: _Leaves, values: Array, rho: float, A: float) -> tuple[float, bool]:
        """Return alpha, and whether it had to be capped."""
        rule, rate = self.settings.leveraging, self.settings.learning_rate
        if rule == "unit":
            return rate, False
        if A == 0.0 or abs(rho) < 1e-15:
            return 0.0, False
        largest = CAP / (rate * float(np.abs(values).max())) if self.settings.t >= 1.0 else math.inf
        start = boosting.closed_step(rho, A, self.settings.t)
        if rule == "exact":
            start = _core.solve_step(
                self._shard, leaves.ids, values, leaves.table, start, largest, self._most_multiplicity
            )
        return rate * min(max(start, -largest), largest), abs(start) >= largest

    # The step.

    def _apply(
        self,
        grown: _core.GrownTree,
        leaves: _Leaves,
        values: Array,
        alpha: float,
        rho: float,
        off: tuple[float, float],
        capped: int,
    ) -> None:
        settings, t = self.settings, self.settings.t
        s = 1.0 - t
        clip = 1.0 / abs(s) if settings.clip and s != 0.0 else math.inf
        before, total = self._loss, self._total
        (
            loss,
            self._sum_weight,
            least,
            most,
            self._most_weight,
            self._most_fixed,
            _,
            wrong,
            n_off,
            n_capped,
        ) = _core.step(self._shard, leaves.ids, values, leaves.table, alpha, clip, self._most_multiplicity)
        self._loss = loss / total

        t_star = 1.0 / (2.0 - t)
        Z = _power(self._loss / before, t_star)
        mu = alpha * _power(total * self._scale * before, t_star - 1.0)
        certified = settings.learning_rate == 1.0 and settings.leveraging in ("closed", "exact")
        if certified:
            factor = boosting.bound_factor(rho, *off, before, t)
            # |rho| = 1 stands for all that rounds to it; K_t is then known no better than by the loss.
            self._bound *= max(factor, self._loss / before) if abs(rho) == 1.0 else factor
        bound = math.nan if settings.clip and t > 1.0 else self._bound if certified else self._loss
        share = 1.0 / (total * self._loss) if self._loss > 0.0 else 0.0
        # Of one example, not of the core's unit of weights; that of the lightest examples is out of range.
        least, most = (min(p * share / self._scale, sys.float_info.max) for p in (least, most))
        error = wrong * self._unit / total
        self._records.append(
            (rho, mu, alpha, Z, self._loss, bound, error, math.nan, least, most, n_off, n_capped + capped)
        )  # fmt: skip
        self._grown.append((grown, leaves.ids, values))
        self.alphas.append(alpha)
        if self._recorded is not None:
            self._recorded.append(self._codensity())

    def _laid_out(self, grown: list[tuple[_core.GrownTree, NDArray[np.int32], Array]]) -> list[Tree]:
        trees, ids, values = zip(*grown, strict=True)
        return to_trees(trees, self.bins, ids, values, self._unit * self._scale)

    def _codensity(self) -> Array:
        """Return w_i e_i^(2-t) over its sum, in the order of the rows given; 0 for absent rows."""
        order = self._shard.order()
        p = np.zeros(self._n_given)
        if self._loss == 0.0:
            return p
        p[order] = np.exp((2.0 - self.settings.t) * self._shard.log_weights())
        if self._multiplicity is not None:
            p *= self._multiplicity
        total = math.fsum(p)
        return p / total if total > 0.0 else p


def drawn_rows(share: float, seed: int, round_: int, n: int) -> NDArray[np.bool_]:
    """Draw rows for a tree: each by a number that (seed, round, position) alone gives it.

    Parameters
    ----------
    share : float in (0, 1)
        Probability of a row.
    seed : int in [0, 2^32)
    round_ : int
        From 0.
    n : int
        Rows.

    Returns
    -------
    ndarray of bool, shape (n,)

    Examples
    --------
    >>> int(drawn_rows(0.5, seed=0, round_=0, n=1000).sum())
    483
    """
    # The high word of the key tells the rounds apart; 0 there is the draw of validation rows.
    numbers = np.random.Philox(key=((round_ + 1) << 64) | seed).random_raw(n)
    drawn: NDArray[np.bool_] = numbers < np.uint64(share * 2.0**64)
    return drawn


def _rises(weight: Array, values: Array) -> bool:
    """Say whether a step forward lowers the loss: the edge, over what it could be, is above rounding."""
    edge = math.fsum((weight[:, 0] - weight[:, 1]) * values)
    return edge > 1e-12 * math.fsum(weight.sum(axis=1) * np.abs(values))


def _scaled(multiplicity: Array | None) -> tuple[Array | None, float]:
    """Return whole multiplicities as they are, others with the largest in [1, 2), and the unit of that."""
    if multiplicity is None or _whole(multiplicity):
        return multiplicity, 1.0
    exponent = math.frexp(float(multiplicity.max()))[1] - 1
    return np.ldexp(multiplicity, -exponent), math.ldexp(1.0, exponent)


def _whole(multiplicity: Array) -> bool:
    """Say whether all are whole numbers whose sums the core can count.

    Fixed-point weights have a mean of 2^20: past a total of 2^32 their sums are no longer exact as doubles.
    """
    if float(multiplicity.max()) > 2.0**31 or float(multiplicity.sum()) >= 2.0**32:
        return False
    return bool(np.all(multiplicity == np.floor(multiplicity)))


def _counts(multiplicity: Array | None) -> tuple[bool, float, NDArray[np.uint64] | None]:
    """Return whether all multiplicities are whole, what one count of the core stands for, and the counts.

    Counts of fractional multiplicities are whole multiples of a power of two, so that their sums are exact,
    as doubles too; a row that counts at all counts 1 at least.
    """
    if multiplicity is None:
        return True, 1.0, None
    if _whole(multiplicity):
        return True, 1.0, multiplicity.astype(np.uint64)
    bits = 52 - math.frexp(float(multiplicity.max()))[1] - len(multiplicity).bit_length()
    counts = np.maximum(np.rint(np.ldexp(multiplicity, bits)), multiplicity > 0)
    return False, math.ldexp(1.0, -bits), counts.astype(np.uint64)


def _power(base: float, exponent: float) -> float:
    """Return base^exponent for base >= 0; infinite where it overflows, as 1 / (2 - t) can make it."""
    try:
        return float(base**exponent)
    except OverflowError:
        return math.inf
