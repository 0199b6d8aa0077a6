# SPDX-License-Identifier: Apache-2.0
"""Rows that are equal in class and codes become one inside a shard, and nothing outside can tell."""

import numpy as np
import pytest

from tadaboost import TAdaBoostClassifier

from .shards import TS, move, shard_of, split, states, table_of

N = 3000


def table_of_few(kind="unit", dtype=np.uint8, seed=0, n=N):
    """Some 120 different rows of either class; most rows of some of them."""
    rng = np.random.default_rng(seed)
    codes = [np.minimum(rng.geometric(0.4, n) - 1, k - 2) for k in (4, 6, 7)]
    table = table_of(codes, rng.random(n) < 0.3, [4, 6, 7], dtype=dtype)
    if kind == "whole":
        times = rng.integers(0, 4, n).astype(np.float64)
        table = table._replace(multiplicity=times, count=times.astype(np.uint64))
    return table


def n_different(table):
    present = table.times() > 0
    return len(np.unique(np.vstack([table.codes, table.positive])[:, present], axis=1).T)


def by_row(shard, x):
    out = np.full(N, np.nan)
    out[shard.order()] = x
    return out


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("kind", ["unit", "whole"])
@pytest.mark.parametrize("t", TS)
def test_a_shard_that_merges_gives_the_answers_of_one_that_does_not(t, kind, dtype):
    table = table_of_few(kind, dtype)
    merged, plain = shard_of(table, t, merges=True), shard_of(table, t)
    assert merged.n_merged == plain.n_rows - n_different(table)
    assert (plain.n_merged, merged.n_rows) == (0, plain.n_rows)
    assert merged.n_positive == plain.n_positive
    answers = []
    for shard in (merged, plain):
        found = []
        for value in ([0.3, -0.4, 0.1], [-0.2, 0.5, 0.7]):
            shard.begin_tree(12)
            split(shard, table, 0, 1, 1, 0)
            split(shard, table, 2, 3, 2, 1)
            found += [shard.histogram(node) for node in range(5)]
            found += states(shard, [1, 3, 4])
            exponent = np.full((3, 2), 20, np.int32)
            ids = np.array([1, 3, 4], np.int32)
            found.append(shard.trial(ids, np.array(value), exponent, exponent, np.full((3, 2), 1e3)))
            (sums, extremes), _ = move(shard, [1, 3, 4], value, most=2.0)
            found += [sums, extremes]
        found += [by_row(shard, shard.log_weights()), by_row(shard, shard.scores())]
        answers.append(found)
    assert all(np.array_equal(one, other, equal_nan=True) for one, other in zip(*answers, strict=True))


def test_rows_of_a_table_that_are_nearly_all_different_are_left_alone():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 200, (3, N))
    codes[:, : N // 5] = codes[:, N // 5 : 2 * (N // 5)]
    assert shard_of(table_of(codes, np.ones(N)), merges=True).n_merged == 0


def test_a_table_of_few_rows_is_left_alone():
    assert shard_of(table_of(np.zeros((2, 1000)), np.ones(1000)), merges=True).n_merged == 0


@pytest.mark.parametrize("n_positive", [0, 1, N - 1, N])
def test_equal_rows_of_two_classes_stay_two(n_positive):
    shard = shard_of(table_of(np.zeros((2, N)), np.arange(N) < n_positive), merges=True)
    assert shard.n_merged == N - (1 if n_positive in (0, N) else 2)
    assert shard.n_positive == n_positive


def test_a_shard_that_has_merged_rows_draws_none():
    shard = shard_of(table_of_few(), merges=True)
    with pytest.raises(ValueError, match="drawn: rows of this shard have been merged"):
        shard.begin_tree(0, np.ones(N, bool))


def tables(times):
    codes = table_of_few().codes
    X, y = codes.T.astype(float), codes.sum(axis=0) + np.arange(N) % 3 > 3
    return X, y, np.resize(times, N)


@pytest.mark.parametrize("t", [-1.0, 0.0, 0.5, 0.8, 1.0, 1.3])
def test_whole_weights_are_repeated_rows_to_the_bit(t):
    X, y, times = tables([3, 1, 1, 2, 0])
    settings = {"n_estimators": 15, "max_leaf_nodes": 5, "n_jobs": 1}
    weighted = TAdaBoostClassifier(t, **settings).fit(X, y, sample_weight=times)
    repeated = TAdaBoostClassifier(t, **settings).fit(X.repeat(times, axis=0), y.repeat(times))
    assert np.array_equal(weighted.decision_function(X), repeated.decision_function(X))
    for name in set(weighted.rounds_.dtype.names) - {"n_off", "n_nonfinite"}:  # those count rows
        assert np.array_equal(weighted.rounds_[name], repeated.rounds_[name], equal_nan=True), name


def test_weights_are_recorded_for_every_row_given():
    """At t = 1 the co-density is exp(-y H) over its sum."""
    X, y, _ = tables([1])
    model = TAdaBoostClassifier(1.0, n_estimators=5, n_jobs=1, record_weights=True).fit(X, y)
    want = np.exp(-np.where(y, 1, -1) * np.array(list(model.staged_decision_function(X))))
    want /= want.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.weights_[1:], want, rtol=1e-12)
    assert np.all(model.weights_[0] == 1 / N)
