# SPDX-License-Identifier: Apache-2.0
"""Small tables of binned rows for the tests of the core, and what numpy makes of them."""

from typing import NamedTuple

import numpy as np

from tadaboost import _core

TS = [-1.0, 0.0, 0.5, 0.9, 0.95, 1.0, 1.05, 1.1, 1.5]
EPS = np.finfo(np.float64).eps


class Table(NamedTuple):
    """What a shard is made of; column 0 of `random_table` holds the number of the row."""

    codes: np.ndarray  # (columns, rows)
    n_codes: np.ndarray
    is_categorical: np.ndarray
    positive: np.ndarray
    multiplicity: np.ndarray | None = None
    count: np.ndarray | None = None
    whole: bool = True

    @property
    def n_rows(self):
        return len(self.positive)

    def times(self):
        return np.ones(self.n_rows) if self.multiplicity is None else self.multiplicity

    def counts(self):
        return np.ones(self.n_rows, np.uint64) if self.count is None else self.count


def table_of(columns, positive, n_codes=None, categorical=(), dtype=np.uint8):
    """A table of columns typed by hand; the highest code of a column means missing."""
    codes = np.array(columns, dtype)
    n_codes = codes.max(axis=1) + 2 if n_codes is None else n_codes
    is_categorical = np.isin(np.arange(len(codes)), categorical)
    return Table(codes, np.asarray(n_codes, np.int64), is_categorical, np.array(positive, bool))


def random_table(n, n_codes=(5, 17, 256), kind="unit", dtype=np.uint8, seed=0, categorical=(), share=0.4):
    """Random codes; the first column is the number of the row (its missing code stays unused)."""
    rng = np.random.default_rng(seed)
    n_codes = [max(n + 1, 2), *n_codes]
    codes = np.stack([np.arange(n), *(rng.integers(0, k, n) for k in n_codes[1:])]).astype(dtype)
    positive = rng.random(n) < share
    is_categorical = np.isin(np.arange(len(codes)), categorical)
    table = Table(codes, np.array(n_codes, np.int64), is_categorical, positive)
    if kind == "whole":
        times = rng.integers(0, 5, n).astype(np.float64)
        return table._replace(multiplicity=times, count=times.astype(np.uint64))
    if kind == "fractional":
        times = rng.gamma(2.0, 0.7, n) * (rng.random(n) < 0.9)
        count = np.maximum(np.rint(times * 2.0**40), times > 0).astype(np.uint64)
        return table._replace(multiplicity=times, count=count, whole=False)
    return table


def shard_of(table, t=0.5, n_threads=1, rows=slice(None), merges=False):
    """A shard of some rows of a table."""
    times = [None if x is None else x[rows] for x in (table.multiplicity, table.count)]
    codes = np.ascontiguousarray(table.codes[:, rows])
    y = table.positive[rows]
    return _core.Shard(
        codes, table.n_codes, table.is_categorical, y, *times, table.whole, t, n_threads, merges
    )


def grower_of(
    table, t=0.5, max_leaves=8, max_depth=0, growth="best", min_leaf_mass=0.0, min_count=0, pure=True
):
    return _core.Grower(
        table.n_codes,
        table.is_categorical,
        t,
        max_leaves,
        max_depth,
        growth == "heaviest",
        min_leaf_mass,
        min_count,
        pure,
    )


def naive_histogram(codes, n_codes, positive, weight, count):
    """(2, codes of all columns, 2): a plain loop's sums of weights and counts, positive class first."""
    start = np.concatenate([[0], np.cumsum(n_codes)])
    out = np.zeros((2, start[-1], 2), np.uint64)
    k = np.where(positive, 0, 1)
    for column, first in zip(codes, start[:-1], strict=True):
        np.add.at(out[..., 0], (k, first + column.astype(np.int64)), weight.astype(np.uint64))
        np.add.at(out[..., 1], (k, first + column.astype(np.int64)), count.astype(np.uint64))
    return out


def cells_by_row(shard, table, node=0):
    """(rows, 2): fixed-point weight and count of each row of a node, from the column of row numbers."""
    return shard.histogram(node)[:, : table.n_rows].sum(axis=0)


def sums_of(limbs, exponent):
    """What pairs of limbs stand for, as doubles."""
    return np.ldexp(limbs[..., 0] + limbs[..., 1] * 2.0**-32, -np.asarray(exponent))


def split(shard, table, node, left, column, last_left):
    """Split a node at a code of a column, missing values right, into nodes left and left + 1."""
    goes_left = (np.arange(table.n_codes[column]) <= last_left).astype(np.uint8)
    shard.split(node, left, left + 1, column, goes_left)


def states(shard, leaves):
    """What leaves say: (counts, off, least, most, exponent, weight), each of shape (leaves, 2)."""
    ids = np.array(leaves, np.int32)
    count, extremes = shard.leaf_extremes(ids)
    exponent = _core.exact_exponents(4096.0 * np.exp(extremes[..., 1]))
    weight = sums_of(shard.leaf_sums(ids, exponent), exponent)
    return count[..., 0], count[..., 1], extremes[..., 0], extremes[..., 1], exponent, weight


def move(shard, leaves, value, alpha=1.0, clip=np.inf, most=0.0):
    """A step whose weights e stay below e^most, so that e^(2-t) <= e^(3 most) at t >= -1."""
    ids, value = np.array(leaves, np.int32), np.array(value, np.float64)
    exponents = [_core.exact_exponent(4096.0 * np.exp(min(600.0, k * most))) for k in (1.0, 3.0)]
    return shard.step(ids, value, alpha, clip, *exponents), exponents


def moved_shard(table, column, last_left, exponent, n_threads=1):
    """A shard after a step at t = 0, where weights 1 - c are exact; the fixed-point weights of its rows."""
    shard = shard_of(table, 0.0, n_threads)
    shard.begin_tree(0)
    split(shard, table, 0, 1, column, last_left)
    move(shard, [1, 2], [0.25, -0.625], most=1.0)
    shard.begin_tree(exponent)
    value = np.where(table.codes[column] <= last_left, 0.25, -0.625)
    return shard, 2.0**exponent * (1.0 - np.where(table.positive, value, -value)) * table.times()
