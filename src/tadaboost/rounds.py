# SPDX-License-Identifier: Apache-2.0
"""Algorithm 1 over a shard of binned rows: one tree a round.

A `Run` holds the shard (log weights of the rows, in C++), the trees and coefficients so far, and one record a round.
A round is a handful of numbers: sums over (leaf, class), from which come the leaf values, the edge rho, the step
alpha; then the shard moves its log weights. Weights are m-free (e = 1 at the start, omega = multiplicity / W), as in
the form to implement: all m and Z cancel.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tadaboost import _core, boosting, losses
from tadaboost.binning import Bins
from tadaboost.tree import Tree, to_tree

__all__ = ["ROUND", "STOP_REASONS", "Run", "Settings"]

Array = NDArray[np.float64]

ROUND = np.dtype(
    [(name, "<f8") for name in ("rho", "mu", "alpha", "Z", "loss", "bound", "train_error", "val_loss")]
    + [("codensity_min", "<f8"), ("codensity_max", "<f8"), ("n_off", "<i8"), ("n_nonfinite", "<i8")]
)

STOP_REASONS = {
    "n_estimators": "all rounds were done",
    "no split": "no leaf has an admissible split that lowers the risk",
    "edge zero": "the tree has no edge on the weights: its step is zero",
    "perfect": "every weight is off, or the tree makes no error: the loss cannot fall further",
    "frozen step": "the step is too small to change any weight",
}

_LARGE = 1e100  # what counts as infinite at t < 1
_CAP = 500.0  # |alpha h| at t >= 1, where a pure leaf's value and a perfect tree's step have no bound


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


class _Leaves(NamedTuple):
    """Sums over the rows of (leaf, class), class 0 positive: arrays of shape (leaves, 2)."""

    ids: NDArray[np.int32]
    weight: Array  # sum of multiplicity times e
    multiplicity: Array
    off: Array  # of it, with weight 0
    least: Array  # log weights of the rows that are on; inf where there are none
    most: Array  # -inf where there are none

    def statistics(self) -> Array:
        """Return the arrays as the core's solvers take them, shape (leaves, 2, 4)."""
        return np.stack([self.multiplicity, self.weight, self.least, self.most], axis=-1)


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
        self._total, self._most_multiplicity = float(len(positive)), 1.0
        if multiplicity is not None:
            self._total, self._most_multiplicity = _total_and_most(multiplicity)
        whole, unit, counts = _counts(multiplicity)
        self._multiplicity, self._n_given, self._unit = multiplicity, len(positive), unit
        self._shard = _core.Shard(
            codes, n_codes, is_categorical, np.ascontiguousarray(positive, bool), multiplicity, counts, whole,
            float(settings.t), n_threads,
        )  # fmt: skip
        # A tolerance, because ten weights of .1 are one example.
        min_count = math.ceil(min(settings.min_samples_leaf / unit * (1 - 1e-9), 2.0**62))
        self._grower = _core.Grower(
            n_codes, is_categorical, float(settings.t), settings.max_leaf_nodes, settings.max_depth,
            settings.growth == "heaviest", float(settings.min_leaf_mass), min_count, settings.allow_pure_leaves,
        )  # fmt: skip
        # What fixed-point weights are made from: e where multiplicities are whole, else multiplicity times e.
        self._n_fixed = self._total if whole else float(self._shard.n_rows)
        self._most_fixed = 1.0 if whole else self._most_multiplicity
        self._sum_weight, self._most_weight = self._total, 1.0
        self._loss, self._bound = 1.0, 1.0
        self._records: list[tuple[float, ...]] = []
        self._recorded = [self._codensity()] if record_weights else None
        self.trees: list[Tree] = []
        self.alphas: list[float] = []
        self.stop_reason: str | None = None

    def step(self) -> None:
        """Grow a tree, choose its leaf values and its coefficient, move the weights."""
        grown, leaves = self._grow()
        if len(leaves.ids) == 1:
            self._stop("no split", grown, leaves)
            return
        values, n_capped = self._leaf_values(leaves)
        A = self._largest_ratio(leaves, values)
        rho, e_dagger, mass_off = self._edge(leaves, values, A)
        alpha = self._coefficient(leaves, values, rho, A)
        if alpha == 0.0 or not values.any() or (self.settings.leveraging != "unit" and abs(rho) < 1e-15):
            self._stop("edge zero", grown, leaves)
            return
        factor = boosting.bound_factor(rho, e_dagger, mass_off, self._loss, self.settings.t)
        self._apply(grown, leaves, values, alpha, rho, factor, n_capped)
        whole_step = self.settings.leveraging != "unit" and self.settings.learning_rate == 1.0
        if self._loss == 0.0 or (abs(rho) == 1.0 and self.settings.t <= 1.0 and whole_step):
            self.stop_reason = "perfect"
        elif abs(alpha) * A < 2.0**-53:
            self.stop_reason = "frozen step"
        elif len(self.trees) == self.settings.n_estimators:
            self.stop_reason = "n_estimators"

    def rounds(self) -> NDArray[np.void]:
        """Return the records of the rounds so far, of dtype `ROUND`."""
        return np.array(self._records, ROUND)

    def weights(self) -> Array:
        """Co-densities before the first round and after each, shape (rounds + 1, rows); kept only if asked for."""
        if self._recorded is None:
            raise ValueError("weights were not recorded: pass record_weights=True")
        return np.array(self._recorded)

    def _stop(self, reason: str, grown: _core.GrownTree, leaves: _Leaves) -> None:
        """End the run; a run without any tree gets one root that predicts the prior."""
        self.stop_reason = reason
        if self.trees:
            return
        if len(leaves.ids) > 1:
            none = np.array([-1], np.int32)
            no_codes, start = np.empty(0, np.int32), np.zeros(2, np.int64)
            root = grown[1][:1], grown[4][:1], grown[7][:1]
            grown = (none, root[0], none, none, root[1], no_codes, start, root[2], np.zeros(1))
            self._shard.begin_tree(self._scale_exponent())
            leaves = self._leaves(np.zeros(1, np.int32))
        # Q masses: with all weights at 1 psi_t of them is the prior's link, whatever leaf_values says.
        values, n_capped = self._capped(losses.leaf_link(leaves.weight[:, 0], leaves.weight[:, 1], self.settings.t), 1.0)
        rho, e_dagger, mass_off = self._edge(leaves, values, self._largest_ratio(leaves, values))
        factor = boosting.bound_factor(rho, e_dagger, mass_off, self._loss, self.settings.t)
        self._apply(grown, leaves, values, 1.0, rho, factor, n_capped)

    # One tree.

    def _scale_exponent(self) -> int:
        """Power of two of the fixed-point weights: at most min(2^30 / largest, 2^20 / mean)."""
        mean = self._sum_weight / self._n_fixed
        largest = min(2.0**30 / self._most_fixed, 2.0**20 / mean)
        return min(1020, max(-1020, math.frexp(largest)[1] - 1))

    def _grow(self) -> tuple[_core.GrownTree, _Leaves]:
        self._shard.begin_tree(self._scale_exponent())
        ids = _core.grow(self._grower, self._shard)
        return self._grower.tree(), self._leaves(ids)

    def _leaves(self, ids: NDArray[np.int32]) -> _Leaves:
        count, extremes = self._shard.leaf_extremes(ids)
        counts = count.astype(np.float64) * self._unit
        least, most = extremes[..., 0], np.ascontiguousarray(extremes[..., 1])
        exponents = _core.exact_exponents(self._most_multiplicity * np.exp(most))
        weight = _value(self._shard.leaf_sums(ids, exponents), exponents)
        return _Leaves(ids, weight, counts[..., 0], counts[..., 1], least, most)

    # Leaf values.

    def _leaf_values(self, leaves: _Leaves) -> tuple[Array, int]:
        t, rule = self.settings.t, self.settings.leaf_values
        if rule == "exact":
            cap = _CAP / self.settings.learning_rate if t >= 1.0 else math.inf
            values: Array = self._shard.solve_leaves(
                leaves.ids, leaves.statistics(), float(self.settings.leaf_ridge), cap, self._most_multiplicity
            )
            return values, int(np.count_nonzero(np.abs(values) >= cap))
        with np.errstate(all="ignore"):  # a leaf whose rows are all off has no value: 0
            link = losses.leaf_link if rule == "theorem_a" else losses.canonical_leaf
            values = np.nan_to_num(link(leaves.weight[:, 0], leaves.weight[:, 1], t), nan=0.0, posinf=np.inf, neginf=-np.inf)
        return self._capped(values, self.settings.learning_rate)

    def _capped(self, values: Array, largest_alpha: float) -> tuple[Array, int]:
        """Values of pure leaves are infinite at t = 1 (canonical ones, or nearly, at t >= 0): capped."""
        cap = _CAP / largest_alpha
        too_large = ~(np.abs(values) <= (cap if self.settings.t >= 1.0 else _LARGE))
        return np.where(too_large, np.copysign(cap, values), values), int(too_large.sum())

    # The edge and the coefficient.

    def _largest_ratio(self, leaves: _Leaves, values: Array) -> float:
        """A = max |u_i| / e_i^(1-t) over the rows that are on."""
        s = 1.0 - self.settings.t
        on = np.isfinite(leaves.most)
        if not on.any():
            return 0.0
        log_power = s * (leaves.least if s > 0 else leaves.most)[on]
        size = np.broadcast_to(np.abs(values)[:, None], on.shape)
        return float(np.max(size[on] * np.exp(-log_power)))

    def _edge(self, leaves: _Leaves, values: Array, A: float) -> tuple[float, float, float]:
        """Return rho of (10), the stand-in weight of the rows that are off, and their share."""
        total = self._total
        off = leaves.off
        has_off = off.any(axis=1)
        rho, e_dagger = boosting.normalised_edge(
            float(values @ (leaves.weight[:, 0] - leaves.weight[:, 1])) / total,
            self._loss,
            A,
            float(values @ (off[:, 0] - off[:, 1])) / total,
            float(np.abs(values[has_off]).max()) if has_off.any() else 0.0,
            float(off.sum()) / total,
            self.settings.t,
        )
        return rho, e_dagger, float(off.sum()) / total

    def _coefficient(self, leaves: _Leaves, values: Array, rho: float, A: float) -> float:
        rule, rate = self.settings.leveraging, self.settings.learning_rate
        if rule == "unit":
            return rate
        if A == 0.0 or abs(rho) < 1e-15:
            return 0.0
        largest = _CAP / (rate * float(np.abs(values).max())) if self.settings.t >= 1.0 else math.inf
        start = boosting.closed_step(rho, A, self.settings.t)
        if rule == "exact":
            start = self._shard.solve_step(
                leaves.ids, values, leaves.statistics(), start, largest, self._most_multiplicity
            )
        return rate * min(max(start, -largest), largest)

    def _stepped_most(self, leaves: _Leaves, moves: Array) -> float:
        """Return the largest log weight after the step: a weight grows with what it was, so the largest decides.

        Tight, because the sums of the step are rounded relative to it.
        """
        s = 1.0 - self.settings.t
        some = leaves.multiplicity > 0.0
        c = moves[:, None] * np.array([1.0, -1.0])
        pairs = zip(leaves.most[some].tolist(), c[some].tolist(), strict=True)
        return max(_core.stepped(most, move, s) for most, move in pairs)

    # The step.

    def _apply(
        self,
        grown: _core.GrownTree,
        leaves: _Leaves,
        values: Array,
        alpha: float,
        rho: float,
        factor: float,
        capped: int,
    ) -> None:
        settings, t = self.settings, self.settings.t
        s = 1.0 - t
        most = min(self._stepped_most(leaves, alpha * values), 600.0 / max(1.0, 1.0 + s))
        exponent = _core.exact_exponent(self._most_multiplicity * math.exp(most))
        loss_exponent = _core.exact_exponent(self._most_multiplicity * math.exp((2.0 - t) * most))
        clip = 1.0 / abs(s) if settings.clip and s != 0.0 else math.inf
        sums, extremes = self._shard.step(leaves.ids, values, alpha, clip, exponent, loss_exponent)
        before, total = self._loss, self._total
        self._loss = float(_value(sums[0:2], loss_exponent)) / total
        self._sum_weight = float(_value(sums[2:4], exponent))
        least, most_power, self._most_weight, self._most_fixed = extremes.tolist()

        t_star = 1.0 / (2.0 - t)
        Z = _power(self._loss / before, t_star)
        mu = alpha * _power(total * before, t_star - 1.0)
        # |rho| = 1 stands for all that rounds to it; K_t is then known no better than by the loss.
        self._bound *= max(factor, self._loss / before) if abs(rho) == 1.0 else factor
        certified = settings.learning_rate == 1.0 and settings.leveraging in ("closed", "exact")
        bound = math.nan if settings.clip and t > 1.0 else self._bound if certified else self._loss
        share = 1.0 / (total * self._loss) if self._loss > 0.0 else 0.0
        wrong = int(sums[5]) * self._unit / total
        self._records.append(
            (rho, mu, alpha, Z, self._loss, bound, wrong, math.nan, least * share, most_power * share,
             int(sums[6]), int(sums[7]) + capped)
        )  # fmt: skip
        self.trees.append(to_tree(grown, self.bins, leaves.ids, values, self._unit))
        self.alphas.append(alpha)
        if self._recorded is not None:
            self._recorded.append(self._codensity())

    def _codensity(self) -> Array:
        """Return w_i e_i^(2-t) over its sum, in the order of the rows given; 0 for absent rows."""
        order = self._shard.order()
        p = np.zeros(self._n_given)
        p[order] = np.exp((2.0 - self.settings.t) * self._shard.log_weights())
        if self._multiplicity is not None:
            p *= self._multiplicity / self._most_multiplicity
        total = math.fsum(p)
        return p / total if total > 0.0 else p


def _total_and_most(multiplicity: Array) -> tuple[float, float]:
    most = float(multiplicity.max())
    total = math.fsum(multiplicity) if most <= 1e290 else most
    if not 1e-290 <= total <= 1e290:  # beyond, sums and shares leave the range of doubles
        raise ValueError(f"sample_weight sums to {total:.3g}; scale it to a sum within 1e-290 to 1e290")
    return total, most


def _counts(multiplicity: Array | None) -> tuple[bool, float, NDArray[np.uint64] | None]:
    """Whether all multiplicities are whole, what one count of the core stands for, and the counts.

    Counts of fractional multiplicities are whole multiples of a power of two, so that their sums are exact; a row
    that counts at all counts 1 at least.
    """
    if multiplicity is None:
        return True, 1.0, None
    largest, n = float(multiplicity.max()), len(multiplicity)
    # Fixed-point weights have a mean of 2^20: past a total of 2^32 their sums are no longer exact as doubles.
    small = largest <= 2.0**31 and float(multiplicity.sum()) < 2.0**32
    if small and np.all(multiplicity == np.floor(multiplicity)):
        return True, 1.0, multiplicity.astype(np.uint64)
    bits = 61 - math.frexp(largest)[1] - n.bit_length()
    counts = np.maximum(np.rint(np.ldexp(multiplicity, bits)), multiplicity > 0)
    return False, math.ldexp(1.0, -bits), counts.astype(np.uint64)


def _power(base: float, exponent: float) -> float:
    """Return base^exponent for base >= 0; infinite where it overflows, as it may for t near 2."""
    try:
        return float(base**exponent)
    except OverflowError:
        return math.inf


def _value(limbs: NDArray[np.int64], exponent: int | NDArray[np.int32]) -> Array:
    """The sum that two limbs (last axis) stand for."""
    return np.ldexp(limbs[..., 0] + limbs[..., 1] * 2.0**-32, -exponent)
