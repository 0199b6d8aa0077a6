# SPDX-License-Identifier: Apache-2.0
"""Growth (`_core.Grower`): best splits against a brute force, limits, policies, one tree over any shards."""

import functools
import itertools
import math
from typing import NamedTuple

import numpy as np
import pytest

from tadaboost import _core, tree

from .naive import power_mean
from .shards import (
    TS,
    Table,
    grower_of,
    move,
    naive_histogram,
    random_table,
    shard_of,
    split,
    states,
    table_of,
)

TIE = 1e-12


def rows_table(seed, n=30, levels=(4, 6), categorical=(), missing=0.2, kind="unit"):
    """Few rows with few codes, so that ties and empty codes are common."""
    rng = np.random.default_rng(seed)
    columns = []
    for k in levels:
        codes = rng.integers(0, k, n)
        codes[rng.random(n) < missing] = k
        columns.append(codes)
    table = table_of(columns, rng.random(n) < 0.4, [k + 1 for k in levels], categorical)
    if kind == "unit":
        return table
    times = rng.integers(0, 4, n).astype(np.float64)
    return table._replace(multiplicity=times, count=times.astype(np.uint64))


class Split(NamedTuple):
    """A partition of rows, by what its children hold: left, then right."""

    column: int
    mass: list  # of the positive and the negative rows of each child
    count: list

    def loss(self, t):
        """2 M_{t-1} over the two children; infinite where one is empty."""
        if min(map(sum, self.mass)) == 0:
            return math.inf
        return sum(2 * power_mean(a, b, t - 1) for a, b in self.mass)

    def admissible(self, min_count, min_mass, pure):
        return (
            min(self.count) >= max(1, min_count)
            and min(map(sum, self.mass)) >= max(1, min_mass)
            and (pure or min(map(min, self.mass)) > 0)
        )


class Problem(NamedTuple):
    """A table, integer weights of its rows, and the root's histogram of them."""

    table: Table
    q: np.ndarray
    histogram: np.ndarray

    def split(self, column, left):
        rows, positive = self.table.counts() > 0, self.table.positive
        sides = rows & left, rows & ~left
        mass = [[float(self.q[side & (positive == k)].sum()) for k in (True, False)] for side in sides]
        return Split(column, mass, [int(self.table.counts()[side].sum()) for side in sides])

    def all_splits(self):
        """Every partition that some split makes."""
        rows = self.table.counts() > 0
        for c, codes in enumerate(self.table.codes):
            missing = codes == self.table.n_codes[c] - 1
            levels = np.unique(codes[rows & ~missing])
            if self.table.is_categorical[c]:
                lefts = [
                    np.isin(codes, subset)
                    for size in range(len(levels) + 1)
                    for subset in itertools.combinations(levels, size)
                ]
            else:
                lefts = [(codes <= v) & ~missing for v in levels]
            for left in lefts:
                yield self.split(c, left)
                yield self.split(c, left | missing)


@functools.cache  # tests at each t and limit have the same tables
def problem(seed, *rules):
    """A problem of random rows, and its splits."""
    table = rows_table(seed, *rules)
    q = np.random.default_rng(seed).integers(1, 1 << 20, table.n_rows) * (table.counts() > 0)
    histogram = naive_histogram(table.codes, table.n_codes, table.positive, q, table.counts())
    made = Problem(table, q, histogram)
    return made, list(made.all_splits())


def first_split(table, t, histogram, **policy):
    grower = grower_of(table, t, **policy)
    grower.begin(histogram)
    return grower, grower.next()


@pytest.mark.parametrize("t", TS)
@pytest.mark.parametrize("limits", [{}, {"min_count": 5}, {"min_leaf_mass": 0.2}, {"pure": False}], ids=str)
@pytest.mark.parametrize(
    ("levels", "categorical"),
    [((4, 6), ()), ((5, 3), (0,)), ((8, 5), (0, 1))],
    ids=["numeric", "mixed", "categorical"],
)
def test_the_split_is_the_best_of_all(levels, categorical, limits, t):
    for seed in range(4):
        kind, missing = ("unit", "whole")[seed % 2], (0.0, 0.3)[seed // 2 % 2]
        at, splits = problem(seed, 24, levels, categorical, missing, kind)
        _, request = first_split(at.table, t, at.histogram, **limits)
        min_mass = limits.get("min_leaf_mass", 0.0) * at.q.sum()
        rules = limits.get("min_count", 0), min_mass, limits.get("pure", True)
        losses = [(x.loss(t), x.column) for x in splits if x.admissible(*rules)]
        least = min((loss for loss, _ in losses), default=math.inf)
        if request is None:
            whole = (float(at.q[at.table.positive == k].sum()) for k in (True, False))
            assert not least < 2 * power_mean(*whole, t - 1) * (1 - TIE)
            continue
        *_, column, goes_left, _ = request
        taken = at.split(column, goes_left[at.table.codes[column]] == 1)
        assert taken.admissible(*rules)
        assert taken.loss(t) <= least * (1 + 2 * TIE)
        assert column == min(c for loss, c in losses if loss <= least * (1 + TIE / 2))


def test_a_pure_child_is_weighed_exactly_just_above_t_1():
    """The two splits differ by .2 %: an estimate of the pure child that is a quarter off takes the other."""
    table, _ = plain([[0, 1, 2]], [1, 0, 0], n_codes=[4])
    masses = np.array([[4826347993, 142349, 2541, 0], [0, 7, 85537940, 0]], np.uint64)
    histogram = np.stack([masses, np.array([[9, 9, 9, 0], [0, 9, 9, 0]], np.uint64)], axis=2)
    assert first_split(table, 1.0625, histogram)[1][4].tolist()[:3] == [1, 0, 0]


@pytest.mark.parametrize("t", TS)
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_the_sorted_scan_of_many_levels_is_the_best_of_all_subsets(missing, t):
    for seed in range(4):
        at, splits = problem(seed, 60, (10,), (0,), missing)
        _, request = first_split(at.table, t, at.histogram)
        taken = at.split(0, request[4][at.table.codes[0]] == 1)
        assert taken.loss(t) <= min(x.loss(t) for x in splits) * (1 + 2 * TIE)


def plain(columns, positive, weight=8, n_codes=None, categorical=()):
    """A table typed by hand, and the histogram of equal weights."""
    table = table_of(columns, positive, n_codes, categorical)
    q = np.full(table.n_rows, weight)
    return table, naive_histogram(table.codes, table.n_codes, table.positive, q, table.counts())


def test_of_equal_columns_the_first_is_split():
    table, histogram = plain([[0, 0, 1, 1], [0, 1, 1, 1], [0, 1, 1, 1], [1, 0, 0, 0]], [1, 0, 0, 0])
    assert first_split(table, 0.5, histogram)[1][:4] == (0, 1, 2, 1)


def test_of_equal_thresholds_the_lowest_is_taken():
    table, histogram = plain([[0, 1, 2, 3, 4, 5]], [1, 0, 0, 0, 0, 1])
    assert first_split(table, 0.5, histogram)[1][4].tolist() == [1, 0, 0, 0, 0, 0, 0]


def test_an_empty_code_belongs_to_the_threshold_below():
    table, histogram = plain([[0, 0, 3, 3]], [1, 1, 0, 0])
    grower, request = first_split(table, 0.5, histogram)
    assert request[4].tolist() == [1, 0, 0, 0, 1]  # no missing: the heavier child, left at a tie
    assert grower.tree().arrays()[1].tolist() == [0, 0, 0]


def test_missing_goes_left_where_both_sides_are_as_good():
    table, histogram = plain([[0, 1, 2, 2]], [1, 0, 1, 0], n_codes=[3])
    assert first_split(table, 0.5, histogram)[1][4].tolist() == [1, 0, 1]


def test_missing_alone_can_be_a_child():
    table, histogram = plain([[0, 1, 2, 2]], [1, 1, 0, 0], n_codes=[3])
    grower, request = first_split(table, 0.5, histogram)
    assert request[4].tolist() == [1, 1, 0]
    assert grower.tree().arrays()[1].tolist() == [1, 0, 0]  # the last code of values goes left


@pytest.mark.parametrize(("positive", "side"), [([1, 0, 0], 0), ([1, 1, 0], 1)])
def test_missing_values_that_training_lacks_go_to_the_heavier_child(positive, side):
    table, histogram = plain([[0, 1, 1] if sum(positive) == 1 else [0, 0, 1]], positive)
    assert first_split(table, 0.5, histogram)[1][4][-1] == side


def test_of_equal_subsets_the_lowest_mask_is_taken_and_the_lowest_level_goes_left():
    table, histogram = plain([[1, 2, 3, 4]], [1, 0, 1, 0], n_codes=[6], categorical=[0])
    grower, request = first_split(table, 0.5, histogram)
    assert request[4].tolist() == [1, 1, 0, 1, 0, 1]  # levels 2 and 4 right; unseen 0 and missing left
    assert grower.tree().arrays()[5].tolist() == [2, 4]
    assert grower.tree().arrays()[6].tolist() == [0, 2, 2, 2]


def test_of_many_levels_too_the_lowest_goes_left():
    levels = np.arange(10)
    table, histogram = plain([levels], levels % 2 == 0, n_codes=[11], categorical=[0])
    grower, _ = first_split(table, 0.5, histogram)
    assert grower.tree().arrays()[5].tolist() == [1, 3, 5, 7, 9]


def converse(table, t, shards=None, begin=True, **policy):
    """The tree of a conversation, and the requests of the grower."""
    shards = [shard_of(table, t)] if shards is None else shards
    grower = grower_of(table, t, **policy)
    for shard in shards:
        if begin:
            shard.begin_tree(20)
    leaves = tree.grow(grower, shards)
    return grower.tree().arrays(), leaves


GROWN = "feature", "last_left", "left", "right", "missing_left", "right_codes", "code_start", "count", "gain"


def tree_of(table, t=0.5, **policy):
    """The grown tree by field names, with the leaves."""
    grown, leaves = converse(table, t, **policy)
    return dict(zip(GROWN, grown, strict=True)) | {"leaves": leaves}


def depths(grown):
    depth = np.zeros(len(grown["left"]), int)
    for i, (a, b) in enumerate(zip(grown["left"], grown["right"], strict=True)):
        if a >= 0:
            depth[[a, b]] = depth[i] + 1
    return depth


@pytest.mark.parametrize("growth", ["best", "heaviest"])
@pytest.mark.parametrize("t", [0.0, 0.9, 1.1])
def test_limits_hold_in_every_leaf(growth, t):
    table = random_table(250, (9, 30, 4), seed=1)._replace(positive=np.arange(250) % 3 == 0)
    limits = {"growth": growth, "max_leaves": 0}
    free = tree_of(table, t, **limits)
    assert len(free["leaves"]) > 30
    assert len(tree_of(table, t, growth=growth, max_leaves=7)["leaves"]) == 7
    assert depths(tree_of(table, t, **limits, max_depth=3)).max() == 3
    assert tree_of(table, t, **limits, min_count=20)["count"].min() >= 20
    assert tree_of(table, t, **limits, min_leaf_mass=0.125)["count"].min() >= 250 * 0.125
    mixed = tree_of(table, t, **limits, pure=False)
    assert len(mixed["leaves"]) > 2
    assert mixed["count"].min() >= 2
    # The sums of children are their parent's, and the multiplicities of the leaves are all of it.
    inner = free["left"] >= 0
    children = free["count"][free["left"][inner]] + free["count"][free["right"][inner]]
    assert np.array_equal(children, free["count"][inner])
    assert free["count"][free["leaves"]].sum() == 250


@pytest.mark.parametrize("pure", [True, False])
def test_no_leaf_of_one_class_where_that_is_refused(pure):
    table = table_of([[0, 0, 1, 1, 2, 2]], [1, 1, 1, 0, 0, 0])
    shard = shard_of(table, 0.5)
    shard.begin_tree(10)
    grower = grower_of(table, 0.5, pure=pure)
    leaves = _core.grow(grower, shard)
    count, *_ = states(shard, leaves)
    assert (count.min() > 0) == (not pure)
    assert len(leaves) == (3 if pure else 1)


@pytest.mark.parametrize("t", [0.0, 0.5, 1.0, 1.1])
def test_best_growth_splits_what_lowers_the_risk_most(t):
    table = random_table(250, (9, 30, 4), seed=2)
    grown = tree_of(table, t, max_leaves=12)
    splits = np.flatnonzero(grown["left"] >= 0)
    order = splits[np.argsort(grown["left"][splits])]  # the k-th split makes nodes 2k + 1 and 2k + 2
    assert grown["left"][order].tolist() == list(range(1, 2 * len(order), 2))
    for k, node in enumerate(order):
        open_then = [later for later in order[k:] if later <= 2 * k]
        assert grown["gain"][node] >= max(grown["gain"][open_then]) * (1 - 2 * TIE)


@pytest.mark.parametrize("t", [0.0, 0.5, 1.0, 1.1])
def test_the_papers_growth_splits_the_heaviest_leaf_even_without_gain(t):
    table = table_of([[0, 0, 1, 1], [0, 1, 0, 1]], [1, 0, 0, 1])  # each single split leaves the risk as it is
    assert len(tree_of(table, t, growth="best")["leaves"]) == 1
    assert len(tree_of(table, t, growth="heaviest")["leaves"]) == 4
    table = random_table(250, (9, 30, 4), seed=3)
    grown = tree_of(table, t, max_leaves=12, growth="heaviest")
    order = np.flatnonzero(grown["left"] >= 0)
    order = order[np.argsort(grown["left"][order])]
    for k, node in enumerate(order):  # all weights are equal: a count is a mass
        assert grown["count"][node] >= max(grown["count"][later] for later in order[k:] if later <= 2 * k)


@pytest.mark.parametrize("growth", ["best", "heaviest"])
def test_of_leaves_of_equal_merit_the_first_is_split(growth):
    """Column 0 parts two copies of the same four rows, and tells more than column 1."""
    table = table_of([[0] * 5 + [1] * 5, [0, 1, 1, 1, 1] * 2], [1, 0, 0, 0, 0, 0, 1, 1, 1, 1])
    grown = tree_of(table, 0.5, growth=growth, max_leaves=3)
    assert grown["feature"].tolist() == [0, 1, -1, -1, -1]


def test_gain_is_the_fall_of_the_risk_over_the_mass():
    table, histogram = plain([[0, 0, 1, 1]], [1, 0, 0, 0])
    grower, _ = first_split(table, 0.0, histogram)
    # 2 M_{-1}(a, b) = 4 a b / (a + b): 3 for the root of 1 and 3, 2 for the left child, over 4.
    assert grower.tree().arrays()[8][0] == pytest.approx((3 - 2) / 4, rel=1e-15)


# The same tree over any number of shards.


def deals(table, seed=0):
    """Rows dealt to shards in several ways, as lists of row numbers."""
    rng = np.random.default_rng(seed)
    n = table.n_rows
    some = rng.integers(0, 3, n)
    nothing = np.empty(0, int)
    return {
        "one": [np.arange(n)],
        "two halves": [np.arange(n // 2), np.arange(n // 2, n)],
        "three at random": [np.flatnonzero(some == k) for k in range(3)],
        "one class each": [np.flatnonzero(table.positive == k) for k in (True, False)],
        "one row": [np.array([5]), rng.permutation(np.delete(np.arange(n), 5))],
        "an empty shard": [nothing, np.arange(n), nothing],
    }


def test_deals_are_partitions():
    table = random_table(250)
    for deal in deals(table).values():
        assert sorted(np.concatenate(deal).tolist()) == list(range(250))


@pytest.mark.parametrize(
    "deal", ["one", "two halves", "three at random", "one class each", "one row", "an empty shard"]
)
@pytest.mark.parametrize("kind", ["unit", "whole", "fractional"])
@pytest.mark.parametrize("t", [-1.0, 0.5, 0.9, 1.0, 1.1])
def test_growth_over_shards_equals_growth_on_one_bit_for_bit(t, kind, deal):
    table = random_table(250, (9, 30, 12, 5), kind, seed=4, categorical=(3, 4))
    parts = deals(table)[deal]
    one = shard_of(table, t)
    many = [shard_of(table, t, 1 + i % 2, rows) for i, rows in enumerate(parts)]
    rng = np.random.default_rng(7)
    for growth in ("best", "heaviest", "best"):
        grower = grower_of(table, t, growth=growth, min_count=2)
        for shard in (one, *many):
            shard.begin_tree(18)
        leaves = _core.grow(grower, one)
        grown, others = converse(table, t, many, begin=False, growth=growth, min_count=2)
        assert np.array_equal(leaves, others)
        for a, b in zip(grower.tree().arrays(), grown, strict=True):
            assert np.array_equal(a, b)
        assert_shards_add_up(one, many, leaves, rng.uniform(-0.3, 0.3, len(leaves)), parts)


def assert_shards_add_up(one, many, leaves, value, parts):
    """Everything that a shard says of its leaves and of a step adds, or is an extreme, over shards."""
    count, extremes = one.leaf_extremes(leaves)
    said = [shard.leaf_extremes(leaves) for shard in many]
    assert np.array_equal(sum(c for c, _ in said), count)
    assert np.array_equal(np.min([x[..., 0] for _, x in said], axis=0), extremes[..., 0])
    assert np.array_equal(np.max([x[..., 1] for _, x in said], axis=0), extremes[..., 1])
    exponent = _core.exact_exponents(16.0 * np.exp(extremes[..., 1]))
    sums = one.leaf_sums(leaves, exponent)
    assert np.array_equal(sum(shard.leaf_sums(leaves, exponent) for shard in many), sums)
    trial = leaves, value, exponent, exponent, np.full((len(leaves), 2), 8.0)
    assert np.array_equal(sum(shard.trial(*trial) for shard in many), one.trial(*trial))
    step = leaves, value, 0.5, 0.4, 22, 22
    sums, extremes = one.step(*step)
    said = [shard.step(*step) for shard in many]
    assert np.array_equal(sum(s for s, _ in said), sums)
    assert np.min([x[0] for _, x in said]) == extremes[0]
    assert np.array_equal(np.max([x[1:] for _, x in said], axis=0), extremes[1:])
    for name in ("log_weights", "scores"):
        whole = np.empty(250)
        for shard, rows in zip(many, parts, strict=True):
            whole[rows[shard.order()]] = getattr(shard, name)()
        assert np.array_equal(whole[one.order()], getattr(one, name)())


def test_a_grower_begins_anew_whatever_state_it_was_left_in():
    table = random_table(250, (9, 30, 4), seed=5)
    shard = shard_of(table)
    want, _ = converse(table, 0.5)
    grower = grower_of(table)
    shard.begin_tree(20)
    root = shard.histogram(0)
    grower.begin(root)
    grower.next()  # leaves a histogram awaited
    shard.begin_tree(20)
    tree.grow(grower, [shard])
    for a, b in zip(grower.tree().arrays(), want, strict=True):
        assert np.array_equal(a, b)


def test_a_shard_without_rows_answers_with_nothing():
    table = random_table(20, (3,))
    shard = shard_of(table, 0.5, 2, slice(0, 0))
    shard.begin_tree(20)
    assert (shard.n_rows, shard.n_positive, shard.histogram(0).sum()) == (0, 0, 0)
    split(shard, table, 0, 1, 1, 1)
    count, off, least, most, _, weight = states(shard, [1, 2])
    assert not count.any()
    assert not off.any()
    assert not weight.any()
    assert np.all(least == np.inf)
    assert np.all(most == -np.inf)
    (sums, extremes), _ = move(shard, [1, 2], [0.5, -0.5])
    assert not sums.any()
    assert extremes.tolist() == [math.inf, 0.0, 0.0, 0.0]
    assert [len(x) for x in (shard.order(), shard.log_weights(), shard.scores())] == [0, 0, 0]


def test_a_table_without_rows_grows_a_root():
    table = random_table(20, (3,))
    shard = shard_of(table, 0.5, 2, slice(0, 0))
    shard.begin_tree(20)
    grower = grower_of(table)
    assert _core.grow(grower, shard).tolist() == [0]
