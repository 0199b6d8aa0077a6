# SPDX-License-Identifier: Apache-2.0
"""A run whose histograms are sums of doubles: what the 32-bit weights of the core are held to.

Weights keep 2^-52 of their sum, so that sums of doubles are exact and a sibling is a difference; no order of
adding doubles does better. All else (partition, leaf values, steps) is the core's.
"""

import math
from unittest import mock

import numpy as np

from tadaboost import rounds, tree


class FloatShard:
    """A shard whose histograms numpy makes; for rows without multiplicities."""

    def __init__(self, shard, codes, n_codes):
        order = shard.order()
        self.shard, self.codes, self.n_codes = shard, np.ascontiguousarray(codes[:, order]), n_codes
        self.n_positive = shard.n_positive

    def begin_tree(self):
        e = np.exp(self.shard.log_weights())
        self.weight = np.rint(np.ldexp(e, 52 - math.frexp(e.sum())[1]))
        self.rows = {0: np.arange(len(e))}

    def histogram(self, node):
        rows = self.rows[node]
        cells = []
        for ids in np.split(rows, [np.searchsorted(rows, self.n_positive)]):
            weight = self.weight[ids]
            of_class = []
            for column, n in zip(self.codes, self.n_codes, strict=True):
                codes = column[ids]
                count = np.bincount(codes, minlength=n)
                of_class.append(np.stack([np.bincount(codes, weight, n), count], axis=1))
            cells.append(np.concatenate(of_class))
        return np.stack(cells).astype(np.uint64)

    def split(self, node, left, right, column, goes_left):
        self.shard.split(node, left, right, column, goes_left)
        rows = self.rows.pop(node)
        side = goes_left[self.codes[column, rows]].astype(bool)
        self.rows |= {left: rows[side], right: rows[~side]}


class FloatRun(rounds.Run):
    """`rounds.Run` over a `FloatShard`."""

    def __init__(self, codes, bins, positive, multiplicity, settings, n_threads=1, record=False):
        assert multiplicity is None, "weights are for rows of one example"
        super().__init__(codes, bins, positive, multiplicity, settings, n_threads, record)
        self._floats = FloatShard(self._shard, codes, np.asarray(bins.n_bins, np.int64) + 1)

    def _grow(self, draws=False):
        self._shard.begin_tree(self._scale_exponent())
        self._floats.begin_tree()
        ids = tree.grow(self._grower, [self._floats])
        return self._grower.tree(), self._leaves(ids)


def fit(model, X, y):
    """Fit a classifier of two classes with histograms of doubles."""
    with mock.patch.object(rounds, "Run", FloatRun):
        return model.fit(X, y)


def gap_of_gains(trees, others):
    """How many first trees make the same splits, and the largest difference of a gain in those."""
    alike = [
        np.array_equal(a.feature, b.feature) and np.array_equal(a.threshold, b.threshold)
        for a, b in zip(trees, others, strict=True)
    ]
    n = alike.index(False) if False in alike else len(alike)
    return n, max(
        (np.abs(a.gain - b.gain).max() for a, b in zip(trees[:n], others[:n], strict=True)), default=0
    )
