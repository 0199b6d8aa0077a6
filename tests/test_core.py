# SPDX-License-Identifier: Apache-2.0
"""The compiled core (`_core`) as numbers, to the last digits, and its threads."""

import gc
import math
import os
import signal
import sys

import mpmath
import numpy as np
import pytest

from tadaboost import TAdaBoostClassifier, _core

from .pairs import pairs
from .shards import EPS, TS, grower_of, move, random_table, shard_of, split, states, sums_of, table_of

# Accuracy. `condition` is how many EPS one rounding of each operand can move the result by.


@pytest.mark.parametrize(
    "s", [2.0, 1.0, 0.5, 0.1, 0.05, 1e-3, 1e-8, 0.0, -1e-8, -1e-3, -0.05, -0.1, -0.5, -0.99]
)
def test_the_step_of_one_log_weight_is_exact_to_a_few_last_digits(s):
    rng = np.random.default_rng(1)
    with mpmath.workdps(30):
        for lw, size in zip(rng.uniform(-20, 20, 300), 10.0 ** rng.uniform(-12, 1, 300), strict=True):
            c = float(rng.choice([-1, 1]) * size * (math.exp(s * lw) / abs(s) / 10.5 if s else 1.0))
            got = _core.stepped(lw, c, s)
            if s == 0:
                assert got == lw - c
                continue
            ratio = -mpmath.mpf(s) * mpmath.mpf(c) * mpmath.exp(-mpmath.mpf(s) * mpmath.mpf(lw))
            rise = mpmath.log1p(ratio) / s
            condition = abs(lw) + abs(rise) + abs(ratio / (s * (1 + ratio))) * (2 + abs(s * lw))
            assert abs(got - (lw + rise)) <= 3 * EPS * condition


@pytest.mark.parametrize("s", [2.0, 1.0, 0.5, 0.3, 0.05])
def test_a_log_weight_switches_off_and_on(s):
    end = math.exp(s * 0.7) / s
    assert _core.stepped(0.7, end, s) == -math.inf
    assert _core.stepped(0.7, end * (1 + 1e-15), s) == -math.inf
    assert _core.stepped(0.7, end * 1e300, s) == -math.inf
    assert _core.stepped(0.7, end * 0.999, s) > -math.inf
    assert _core.stepped(-math.inf, 0.5, s) == -math.inf
    assert _core.stepped(-math.inf, 0.0, s) == -math.inf
    assert _core.stepped(-math.inf, -0.5, s) == pytest.approx(math.log(0.5 * s) / s, rel=4 * EPS)


@pytest.mark.parametrize("s", [-0.5, -0.05])
def test_a_log_weight_at_t_above_1_becomes_infinite_at_a_finite_step(s):
    end = math.exp(s * 0.7) / s
    assert _core.stepped(0.7, end * 1.001, s) == math.inf
    assert _core.stepped(0.7, end * 0.999, s) < math.inf


def one_row(t, value):
    """Weights and their slopes after trials of `value` on a row of weight 1, as exact as two limbs are."""
    shard = shard_of(table_of([[0]], [1]), t)
    shard.begin_tree(0)
    ids = np.zeros(1, np.int32)
    shard.leaf_extremes(ids)
    cap = np.full((1, 2), 1e300)
    answers = []
    for v in value:
        s = 1.0 - t
        bound = math.exp(-v) if s == 0 else (1.0 - s * v) ** (1.0 / s)
        exponents = [np.full((1, 2), _core.exact_exponent(2.0 * x), np.int32) for x in (bound, bound**t)]
        sums = shard.trial(ids, np.array([v]), *exponents, cap)[0, 0]
        answers.append([float(sums_of(sums[k], exponents[k][0, 0])) for k in (0, 1)])
    return np.array(answers)


@pytest.mark.parametrize("t", [*TS, 0.2, 0.7])  # e = x^(5/4), by roots, and one for which no root will do
def test_the_weight_of_a_margin_and_its_slope_are_exact_to_a_few_last_digits(t):
    """exp_t(-v) and exp_t(-v)^t: at t = 1 the core's exp alone, else products and roots, or log and exp."""
    s = 1.0 - t
    rng = np.random.default_rng(2)
    value = rng.uniform(-40, 40, 300) if s == 0 else rng.uniform(-20, 0.97, 300) / s
    got = one_row(t, value)
    with mpmath.workdps(30):
        for v, (e, slope) in zip(value, got, strict=True):
            x = 1 - mpmath.mpf(s) * mpmath.mpf(v)
            want = mpmath.exp(-mpmath.mpf(v)) if s == 0 else x ** (1 / mpmath.mpf(s))
            logs = abs(mpmath.log(want))
            condition = 1 if s == 0 else 1 + logs + (1 + abs(s * v)) / (abs(s) * x)
            assert abs(e - want) <= 1.5 * EPS * condition * want
            assert abs(slope - want**t) <= 3 * EPS * (1 + abs(t)) * (condition + logs) * want**t


def test_the_exponential_is_exact_to_one_last_digit():
    value = np.random.default_rng(3).uniform(-600, 600, 2000)
    got = one_row(1.0, value)[:, 0]
    with mpmath.workdps(30):
        for v, e in zip(value, got, strict=True):
            want = mpmath.exp(-mpmath.mpf(v))
            assert abs(e - want) <= math.ulp(float(want))


def test_the_logarithm_is_exact_to_one_last_digit():
    """At t = 0 a state is the weight itself, and a log weight the core's log of it."""
    rng = np.random.default_rng(4)
    weight = np.concatenate([10.0 ** rng.uniform(-10, 10, 400), rng.uniform(0.5, 2, 400)])
    n = len(weight)
    table = table_of([np.arange(n)], np.ones(n), [n + 1], dtype=np.uint16)
    shard = shard_of(table, 0.0)
    shard.begin_tree(0)
    for k in range(n - 1):
        split(shard, table, 2 * k, 2 * k + 1, 0, k)
    leaves = np.array([*range(1, 2 * n - 2, 2), 2 * n - 2], np.int32)
    move(shard, leaves, 1.0 - weight, most=30.0)
    with mpmath.workdps(30):
        for w, lw in zip(1.0 - (1.0 - weight), shard.log_weights(), strict=True):
            assert abs(lw - mpmath.log(mpmath.mpf(w))) <= math.ulp(lw)


# The solvers.


def spread(t, kind, seed=5):
    """A shard whose weights differ, cut into leaves 1, 3 and 4; for each its rows (multiplicity, lw, y)."""
    rng = np.random.default_rng(seed)
    table = random_table(40, (6, 6), kind, seed=seed)
    shard = shard_of(table, t)
    for _ in range(2):
        shard.begin_tree(0)
        split(shard, table, 0, 1, 1, 1)
        split(shard, table, 2, 3, 2, 2)
        move(shard, [1, 3, 4], rng.uniform(-0.4, 0.4, 3), most=2.0)
    shard.begin_tree(0)
    split(shard, table, 0, 1, 2, 3)
    split(shard, table, 2, 3, 1, 2)
    order = shard.order()
    leaf = np.where(table.codes[2][order] <= 3, 0, np.where(table.codes[1][order] <= 2, 1, 2))
    rows = np.column_stack(
        [table.times()[order], shard.log_weights(), np.where(table.positive[order], 1.0, -1.0)]
    )
    return shard, [rows[leaf == j] for j in range(3)]


def leaf_table(shard, leaves, unit=1.0):
    return _core.leaf_table(shard, leaves, unit, 4.0)


def bisected(function):
    """The zero of a decreasing function, evaluated in 30 digits, to 2^-51 of the bracket."""
    low, high = mpmath.mpf(-1), mpmath.mpf(1)
    while function(high) > 0:
        low, high = high, 2 * high
    while function(low) < 0:
        low, high = 2 * low, low
    for _ in range(52):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) > 0 else (low, middle)
    return (low + high) / 2


def edge(rows, t, scale):
    """v -> sum w c e(v), for rows (w, lw, y) with c = y times scale, in mpmath."""
    s = mpmath.mpf(1.0 - t)
    terms = [(mpmath.mpf(w * y * scale), mpmath.mpf(y * scale), mpmath.mpf(lw)) for w, lw, y in rows.tolist()]
    terms = [(wc, c, mpmath.exp(s * lw), lw) for wc, c, lw in terms]

    def weight(x, lw, move):
        if s == 0:
            return mpmath.exp(lw - move)
        moved = x - s * move
        return moved ** (1 / s) if moved > 0 else mpmath.mpf(0 if s > 0 else "inf")

    def total(v):
        return sum(wc * weight(x, lw, c * v) for wc, c, x, lw in terms)

    return total


@pytest.mark.parametrize("ridge", [0.0, 3.0])
@pytest.mark.parametrize("kind", ["unit", "whole"])
@pytest.mark.parametrize("t", TS)
def test_leaf_values_equal_a_bisection_in_thirty_digits(t, kind, ridge):
    shard, leaves = spread(t, kind)
    ids = np.array([1, 3, 4], np.int32)
    got = _core.solve_leaves(shard, ids, leaf_table(shard, ids), ridge, 500.0, 4.0)
    with mpmath.workdps(30):
        for value, rows in zip(got, leaves, strict=True):
            total = edge(rows, t, 1.0)
            want = bisected(lambda v, total=total: total(v) - ridge * v)
            assert abs(value - want) <= 1e-12 * max(abs(want), mpmath.mpf(1))


@pytest.mark.parametrize("kind", ["unit", "whole"])
@pytest.mark.parametrize("t", TS)
def test_the_exact_step_equals_a_bisection_in_thirty_digits(t, kind):
    shard, leaves = spread(t, kind)
    ids, value = np.array([1, 3, 4], np.int32), np.array([0.7, -0.2, 0.4])
    with mpmath.workdps(30):
        parts = [edge(rows, t, h) for rows, h in zip(leaves, value, strict=True)]
        want = bisected(lambda alpha: sum(part(alpha) for part in parts))
        for start in (0.0, 0.9 * float(want), 1e9, math.nan):
            got = _core.solve_step(shard, ids, value, leaf_table(shard, ids), start, 500.0, 4.0)
            assert abs(got - want) <= 1e-12 * max(abs(want), mpmath.mpf(1))


def with_log_weights(t, positive, target):
    """A shard whose rows, moved in leaves of their own, have the given log weights; all in one node again."""
    s, n = 1.0 - t, len(target)
    shard = shard_of(table := table_of([np.arange(n)], positive, [n + 1]), t)
    shard.begin_tree(0)
    for k in range(n - 1):
        split(shard, table, 2 * k, 2 * k + 1, 0, k)
    c = -target if s == 0 else (1.0 - np.exp(s * target)) / s
    value = np.where(positive, c, -c)
    move(shard, [*range(1, 2 * n - 2, 2), 2 * n - 2], value, most=max(0.0, target.max()))
    np.testing.assert_allclose(shard.log_weights(), target[shard.order()], rtol=1e-9, atol=1e-9)
    shard.begin_tree(0)
    y = np.where(positive, 1.0, -1.0)[shard.order()]
    return shard, np.column_stack([np.ones(n), shard.log_weights(), y])


@pytest.mark.parametrize(("t", "sign", "light"), pairs(TS, [1, -1], [-1.0, -4.0, -9.5, -12.0]))
def test_values_are_exact_where_one_class_is_light(t, sign, light):
    """At t > 1 the start, from mean weights, may lie where single weights are infinite already."""
    rng = np.random.default_rng(14)
    light = light / max(1.0, 1.0 - t)
    target = np.concatenate([rng.uniform(-1, 1, 25), rng.uniform(1.2, 1.4, 8) * light, [light]])
    shard, rows = with_log_weights(t, (np.arange(34) < 25) == (sign > 0), target)
    ids = np.zeros(1, np.int32)
    stats = leaf_table(shard, ids)
    value = _core.solve_leaves(shard, ids, stats, 0.0, 1e4, 1.0)[0]
    step = _core.solve_step(shard, ids, np.array([0.5 * sign]), stats, 0.0, 1e4, 1.0)
    with mpmath.workdps(30):
        want = bisected(edge(rows, t, 1.0))
        assert abs(value - want) <= 1e-12 * max(abs(want), mpmath.mpf(1))
        assert abs(step - 2 * sign * want) <= 2e-12 * max(abs(want), mpmath.mpf(1))


@pytest.mark.parametrize("t", TS)
def test_a_leaf_of_one_class_ends_where_its_last_weight_does_or_at_the_cap(t):
    s = 1.0 - t
    table = table_of([[0, 0, 1, 1]], [1, 1, 0, 0])
    shard = shard_of(table, t)
    shard.begin_tree(0)
    split(shard, table, 0, 1, 0, 0)
    ids = np.array([1, 2], np.int32)
    got = _core.solve_leaves(shard, ids, leaf_table(shard, ids), 0.0, 500.0, 1.0)
    end = 1.0 / s if s > 0 else 500.0
    np.testing.assert_allclose(got, [end, -end], rtol=1e-14)
    got = _core.solve_step(shard, ids, np.array([0.5, -0.5]), leaf_table(shard, ids), 0.0, 500.0, 1.0)
    assert got == pytest.approx(2 * end if s > 0 else 500.0, rel=1e-14)
    got = _core.solve_step(shard, ids, np.array([-0.5, 0.5]), leaf_table(shard, ids), 0.0, 500.0, 1.0)
    assert got == pytest.approx(-2 * end if s > 0 else -500.0, rel=1e-14)
    assert _core.solve_step(shard, ids, np.zeros(2), leaf_table(shard, ids), 0.0, 500.0, 1.0) == 0.0


@pytest.mark.parametrize("t", [0.0, 0.5, 0.9])
def test_a_leaf_whose_rows_are_all_off_has_the_value_zero(t):
    table = table_of([[0, 0, 1]], [1, 0, 1])
    shard = shard_of(table, t)
    shard.begin_tree(0)
    split(shard, table, 0, 1, 0, 0)
    value = 2.0 / (1.0 - t)
    move(shard, [1, 2], [value, 0.0], most=10.0)  # the positive row of leaf 1 is off
    shard.begin_tree(0)
    ids = np.zeros(1, np.int32)
    stats = leaf_table(shard, ids)
    stats[..., 0] = 0.0
    stats[..., 1] = stats[..., 2] = [2.0, 1.0]
    stats[..., 3:] = [math.inf, -math.inf]
    assert _core.solve_leaves(shard, ids, stats, 3.0, math.inf, 1.0).tolist() == [0.0]


# Threads.


def fit(n_threads, n=400, rounds=2, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = X.sum(axis=1) + rng.normal(size=n) > 0
    return TAdaBoostClassifier(0.9, n_estimators=rounds, n_jobs=n_threads).fit(X, y), X


def test_many_short_fits_with_two_threads_end():
    table = random_table(250, (5, 17, 256))
    wide = table._replace(codes=np.tile(table.codes, 140), positive=np.tile(table.positive, 140))
    grower = grower_of(wide)
    for i in range(1000):
        shard = shard_of(wide, 0.9, 2, slice(0, 35_000 if i % 10 == 0 else 300))
        shard.begin_tree(20)
        leaves = _core.grow(grower, shard)
        shard.leaf_extremes(leaves)


@pytest.mark.parametrize("n_threads", [0, 3, 64])
def test_any_number_of_threads_gives_the_same_answers(n_threads):
    rng = np.random.default_rng(13)
    table = random_table(250, (5, 17, 256))
    wide = table._replace(codes=np.tile(table.codes, 200), positive=rng.random(50_000) < 0.5)
    answers = []
    for threads in (1, n_threads):
        shard = shard_of(wide, 0.9, threads)
        shard.begin_tree(20)
        grower = grower_of(wide, 0.9)
        leaves = _core.grow(grower, shard)
        count, off, least, most, _, weight = states(shard, leaves)
        answers.append([*grower.tree().arrays(), leaves, count, off, least, most, weight])
    for a, b in zip(*answers, strict=True):
        assert np.array_equal(a, b)


def in_child(work):
    """Exit code of a forked child that does `work`; 14 (SIGALRM) when it hangs."""
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
# Newer Pythons warn of a fork with threads about, which is what is tried here.
forks = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


@needs_fork
@forks
def test_a_fork_after_a_fit_can_predict_and_fit():
    model, X = fit(2)

    def work():
        assert len(model.predict(np.tile(X, (100, 1)))) == 100 * len(X)
        fit(2)

    assert in_child(work) == 0


@needs_fork
@forks
def test_a_fork_in_the_middle_of_a_fit_can_go_on_with_it():
    """The child has the shard but none of its threads."""
    table = random_table(250, (5, 17, 256))
    wide = table._replace(codes=np.tile(table.codes, 200), positive=np.tile(table.positive, 200))
    shards = [shard_of(wide, 0.9, 2) for _ in range(2)]
    grower = grower_of(wide)
    want = []
    for shard in shards:
        shard.begin_tree(20)
        want = _core.grow(grower, shard).tolist()

    def work():
        shard = shards.pop()
        shard.begin_tree(20)
        assert _core.grow(grower, shard).tolist() == want
        del shard  # ends the child's own threads
        shards.clear()  # never had any here
        gc.collect()

    assert in_child(work) == 0
    shards[0].begin_tree(20)
    assert _core.grow(grower, shards[0]).tolist() == want


def test_the_module_says_whether_it_checks_indices():
    assert isinstance(_core.debug, bool)
    assert sys.modules["tadaboost._core"] is _core
