# SPDX-License-Identifier: Apache-2.0
"""The compiled core where it is numbers or a border: accuracy to the last digits, refusals, threads."""

import gc
import math
import os
import signal
import sys

import mpmath
import numpy as np
import pytest

from tadaboost import TAdaBoostClassifier, _core

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


@pytest.mark.parametrize("t", TS)
def test_the_weight_of_a_margin_and_its_slope_are_exact_to_a_few_last_digits(t):
    """exp_t(-v) and exp_t(-v)^t: at t = 1 the core's exp alone, else its log and exp."""
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


def statistics(shard, leaves, unit=1.0):
    count, _, least, most, _, weight = states(shard, leaves)
    return np.stack([count * unit, weight, least, most], axis=-1)


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
    got = shard.solve_leaves(ids, statistics(shard, ids), ridge, 500.0, 4.0)
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
            got = shard.solve_step(ids, value, statistics(shard, ids), start, 500.0, 4.0)
            assert abs(got - want) <= 1e-12 * max(abs(want), mpmath.mpf(1))


@pytest.mark.parametrize("t", TS)
def test_a_leaf_of_one_class_ends_where_its_last_weight_does_or_at_the_cap(t):
    s = 1.0 - t
    table = table_of([[0, 0, 1, 1]], [1, 1, 0, 0])
    shard = shard_of(table, t)
    shard.begin_tree(0)
    split(shard, table, 0, 1, 0, 0)
    ids = np.array([1, 2], np.int32)
    got = shard.solve_leaves(ids, statistics(shard, ids), 0.0, 500.0, 1.0)
    end = 1.0 / s if s > 0 else 500.0
    np.testing.assert_allclose(got, [end, -end], rtol=1e-14)
    got = shard.solve_step(ids, np.array([0.5, -0.5]), statistics(shard, ids), 0.0, 500.0, 1.0)
    assert got == pytest.approx(2 * end if s > 0 else 500.0, rel=1e-14)
    got = shard.solve_step(ids, np.array([-0.5, 0.5]), statistics(shard, ids), 0.0, 500.0, 1.0)
    assert got == pytest.approx(-2 * end if s > 0 else -500.0, rel=1e-14)
    assert shard.solve_step(ids, np.zeros(2), statistics(shard, ids), 0.0, 500.0, 1.0) == 0.0


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
    stats = statistics(shard, ids)
    stats[..., 0] = [2.0, 1.0]
    stats[..., 1:] = [0.0, math.inf, -math.inf]
    assert shard.solve_leaves(ids, stats, 3.0, math.inf, 1.0).tolist() == [0.0]


# The border: what is refused, and how.


def arguments(**changed):
    """Arguments of a good Shard of two columns and four rows, some of them replaced."""
    good = {
        "codes": np.array([[0, 1, 2, 1], [0, 0, 1, 1]], np.uint8),
        "n_codes": np.array([3, 2]),
        "is_categorical": np.zeros(2, bool),
        "positive": np.array([True, False, True, False]),
        "multiplicity": None,
        "count": None,
        "whole": True,
        "t": 0.5,
        "n_threads": 1,
    }
    return good | changed


def weights(*values):
    return {"multiplicity": np.array(values, np.float64), "count": np.ones(4, np.uint64)}


CODES = arguments()["codes"]


@pytest.mark.parametrize(
    "changed",
    [
        {"codes": CODES.astype(np.int64)},
        {"codes": CODES.astype(np.int8)},
        {"codes": CODES.astype(np.float64)},
        {"codes": np.asfortranarray(CODES)},
        {"codes": CODES[0]},
        {"codes": np.repeat(CODES, 2, axis=1)[:, ::2]},
        {"codes": CODES.tolist()},
        {"codes": None},
        {"n_codes": np.array([3, 2], np.int32)},
        {"n_codes": np.array([[3, 2]])},
        {"is_categorical": np.zeros(2, np.uint8)},
        {"positive": np.ones(4, np.int64)},
        {"positive": np.ones(8, bool)[::2]},
        {"multiplicity": np.ones(4, np.float32), "count": np.ones(4, np.uint64)},
        {"multiplicity": np.ones(4), "count": np.ones(4, np.int64)},
        {"t": "0.5"},
        {"n_threads": -1},
        {"n_threads": 1.5},
    ],
    ids=str,
)
def test_a_shard_of_the_wrong_type_or_layout_is_a_type_error(changed):
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _core.Shard(**arguments(**changed))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"n_codes": np.array([], np.int64)}, "n_codes: needs one column at least"),
        ({"n_codes": np.array([3, 2, 2])}, "is_categorical: must be as long as n_codes"),
        ({"is_categorical": np.zeros(3, bool)}, "is_categorical: must be as long as n_codes"),
        ({"n_codes": np.array([3, 1])}, "n_codes: each column has a value and a missing code at least"),
        (
            {"n_codes": np.array([3, -(2**63)])},
            "n_codes: each column has a value and a missing code at least",
        ),
        ({"n_codes": np.array([3, 257])}, "no more than its type holds"),
        ({"codes": CODES[:1]}, "codes: needs a row for each entry of n_codes"),
        ({"codes": CODES[:0]}, "codes: needs a row for each entry of n_codes"),
        ({"positive": np.ones(5, bool)}, "positive: must be as long as a column of codes"),
        ({"codes": CODES[:, :0].copy()}, "positive: must be as long as a column of codes"),
        ({"t": 2.0}, "t: must be finite and below 2"),
        ({"t": math.nan}, "t: must be finite and below 2"),
        ({"t": -math.inf}, "t: must be finite and below 2"),
        ({"multiplicity": np.ones(4)}, "count: comes with multiplicity"),
        ({"count": np.ones(4, np.uint64)}, "count: comes with multiplicity"),
        ({"multiplicity": np.ones(3), "count": np.ones(4, np.uint64)}, "multiplicity: must be as long"),
        ({"multiplicity": np.ones(4), "count": np.ones(3, np.uint64)}, "multiplicity: must be as long"),
        (weights(1, -1, 1, 1), "multiplicity: must be finite, >= 0"),
        (weights(1, math.nan, 1, 1), "multiplicity: must be finite, >= 0"),
        (weights(1, math.inf, 1, 1) | {"whole": False}, "multiplicity: must be finite, >= 0"),
        (weights(1, 0.5, 1, 1), "whole and at most 2\\^31 if it is said to be whole"),
        (weights(1, 2.0**31 + 1, 1, 1), "whole and at most 2\\^31 if it is said to be whole"),
        ({"codes": CODES + 1}, "codes: outside n_codes"),
        ({"codes": CODES + np.uint16(65530)}, "codes: outside n_codes"),
    ],
    ids=str,
)
def test_a_shard_that_does_not_fit_together_is_a_value_error(changed, message):
    with pytest.raises(ValueError, match=message):
        _core.Shard(**arguments(**changed))


def prepared():
    """A shard with nodes 0, 1, 2 of four rows, its leaves gathered."""
    shard = _core.Shard(**arguments())
    shard.begin_tree(10)
    shard.split(0, 1, 2, 0, np.array([1, 0, 0], np.uint8))
    shard.leaf_extremes(LEAVES)
    return shard


LEAVES = np.array([1, 2], np.int32)
TEN = np.full((2, 2), 10, np.int32)
CAPS = np.ones((2, 2))
VALUES = np.array([0.5, -0.5])
STATISTICS = np.ones((2, 2, 4))
SIDES = np.array([1, 0, 0], np.uint8)


def ids(*nodes):
    return np.array(nodes, np.int32)


@pytest.mark.parametrize(
    ("method", "args"),
    [
        ("histogram", ("0",)),
        ("histogram", (2**40,)),
        ("begin_tree", (1.5,)),
        ("split", (1, 3, 4, 0, SIDES.astype(bool))),
        ("split", (1, 3, 4, -1, SIDES)),
        ("split", (1, 3, 4, 0, np.ones(6, np.uint8)[::2])),
        ("leaf_extremes", (LEAVES.astype(np.int64),)),
        ("leaf_extremes", ([1, 2],)),
        ("leaf_extremes", (np.arange(4, dtype=np.int32)[::2],)),
        ("leaf_sums", (LEAVES, TEN.astype(np.int64))),
        ("leaf_sums", (LEAVES, 10)),
        ("leaf_sums", (LEAVES, np.asfortranarray(np.array([[1, 2], [3, 4]], np.int32)))),
        ("trial", (LEAVES, VALUES.astype(np.float32), TEN, TEN, CAPS)),
        ("trial", (LEAVES, VALUES, TEN, TEN, CAPS.tolist())),
        ("step", (LEAVES, [0.5, 0.5], 1.0, 1.0, 10, 10)),
        ("step", (LEAVES, VALUES, 1.0, 1.0, 10.5, 10)),
        ("solve_leaves", (LEAVES, STATISTICS[0], 0.0, 1.0, 1.0)),
        ("solve_step", (LEAVES, VALUES, STATISTICS.astype(np.float32), 0.0, 1.0, 1.0)),
    ],
)
def test_a_call_of_the_wrong_type_or_layout_is_a_type_error(method, args):
    with pytest.raises(TypeError, match="incompatible function arguments"):
        getattr(prepared(), method)(*args)


@pytest.mark.parametrize(
    ("method", "args", "message"),
    [
        ("begin_tree", (1021,), "exponent: must be within -1020..1020"),
        ("begin_tree", (-1021,), "exponent: must be within -1020..1020"),
        ("begin_tree", (32,), "exponent: fixed-point weights must stay within 2\\^31"),
        ("histogram", (3,), "node: no such node in this shard"),
        ("histogram", (-1,), "node: no such node in this shard"),
        ("split", (3, 4, 5, 0, SIDES), "node: no such node in this shard"),
        ("split", (-1, 3, 4, 0, SIDES), "node: no such node in this shard"),
        ("split", (0, 3, 4, 0, SIDES), "node: was split already"),
        ("split", (1, 2, 3, 0, SIDES), "left, right: must be the next two nodes"),
        ("split", (1, 3, 3, 0, SIDES), "left, right: must be the next two nodes"),
        ("split", (1, 2**31 - 1, -(2**31), 0, SIDES), "left, right: must be the next two nodes"),
        ("split", (1, 2**30, 2**30 + 1, 0, SIDES), "left, right: must be the next two nodes"),
        ("split", (1, 3, 4, 2, SIDES), "column: no such column"),
        ("split", (1, 3, 4, 1, SIDES), "goes_left: needs an entry a code of the column"),
        ("split", (1, 3, 4, 0, SIDES * 2), "goes_left: entries are 0 and 1"),
        ("leaf_extremes", (ids(1, 3),), "leaves: no such node in this shard"),
        ("leaf_extremes", (ids(-1),), "leaves: no such node in this shard"),
        ("leaf_extremes", (ids(1, 1),), "leaves: must be increasing"),
        ("leaf_extremes", (ids(2, 1),), "leaves: must be increasing"),
        ("leaf_extremes", (ids(0),), "leaves: a node that was split is none"),
        ("leaf_sums", (ids(7), TEN[:1]), "leaves: no such node in this shard"),
        ("leaf_sums", (LEAVES, TEN[:1]), "exponent: shape must be \\(leaves, 2\\)"),
        ("leaf_sums", (LEAVES, TEN.reshape(1, 4)), "exponent: shape must be \\(leaves, 2\\)"),
        ("leaf_sums", (LEAVES, TEN * 200), "exponent: must be within -1020..1020"),
        ("trial", (LEAVES, VALUES[:1], TEN, TEN, CAPS), "value: must be as long as leaves"),
        ("trial", (LEAVES, VALUES * math.inf, TEN, TEN, CAPS), "value: must be finite"),
        ("trial", (LEAVES, VALUES, TEN[:1], TEN, CAPS), "exponent: shape must be \\(leaves, 2\\)"),
        ("trial", (LEAVES, VALUES, TEN, TEN * 200, CAPS), "exponent: must be within -1020..1020"),
        ("trial", (LEAVES, VALUES, TEN, TEN, CAPS[:1]), "slope_cap: shape must be \\(leaves, 2\\)"),
        ("step", (LEAVES, VALUES[:1], 1.0, 1.0, 10, 10), "value: must be as long as leaves"),
        ("step", (LEAVES, VALUES * math.nan, 1.0, 1.0, 10, 10), "value: must be finite"),
        ("step", (LEAVES, VALUES, math.inf, 1.0, 10, 10), "value: must be finite, times alpha too"),
        ("step", (LEAVES, VALUES * 1e200, 1e200, 1.0, 10, 10), "value: must be finite, times alpha too"),
        ("step", (LEAVES, VALUES, 1.0, 0.0, 10, 10), "clip: must be positive"),
        ("step", (LEAVES, VALUES, 1.0, math.nan, 10, 10), "clip: must be positive"),
        ("step", (LEAVES, VALUES, 1.0, 1.0, 1021, 10), "exponent: must be within -1020..1020"),
        ("step", (LEAVES, VALUES, 1.0, 1.0, 10, -1021), "exponent: must be within -1020..1020"),
        ("step", (LEAVES[:1], VALUES[:1], 1.0, 1.0, 10, 10), "leaves: a step needs all leaves of the tree"),
        ("step", (LEAVES[:0], VALUES[:0], 1.0, 1.0, 10, 10), "leaves: a step needs all leaves of the tree"),
        ("solve_leaves", (ids(9), STATISTICS[:1], 0.0, 1.0, 1.0), "leaves: no such node in this shard"),
        ("solve_leaves", (LEAVES, STATISTICS[:1], 0.0, 1.0, 1.0), "statistics: shape must be"),
        ("solve_leaves", (LEAVES, np.ones((2, 2, 3)), 0.0, 1.0, 1.0), "statistics: shape must be"),
        ("solve_leaves", (LEAVES, STATISTICS, -1.0, 1.0, 1.0), "ridge: must be finite and >= 0"),
        ("solve_leaves", (LEAVES, STATISTICS, 0.0, 0.0, 1.0), "cap: must be positive"),
        ("solve_leaves", (LEAVES, STATISTICS, 0.0, 1.0, math.inf), "most_multiplicity: must be finite"),
        ("solve_step", (LEAVES, VALUES[:1], STATISTICS, 0.0, 1.0, 1.0), "value: must be as long as leaves"),
        ("solve_step", (LEAVES, VALUES, STATISTICS[:1], 0.0, 1.0, 1.0), "statistics: shape must be"),
        ("solve_step", (LEAVES, VALUES, STATISTICS, 0.0, math.nan, 1.0), "cap: must be positive"),
        ("solve_step", (LEAVES, VALUES, STATISTICS, 0.0, 1.0, 0.0), "most_multiplicity: must be finite"),
    ],
)
def test_a_call_that_does_not_fit_the_shard_is_a_value_error(method, args, message):
    shard = prepared()
    before = shard.leaf_sums(LEAVES, TEN).tolist(), shard.log_weights().tolist()
    with pytest.raises(ValueError, match=message):
        getattr(shard, method)(*args)
    assert (shard.leaf_sums(LEAVES, TEN).tolist(), shard.log_weights().tolist()) == before


@pytest.mark.parametrize(
    ("method", "args"),
    [
        ("histogram", (0,)),
        ("split", (0, 1, 2, 0, SIDES)),
        ("leaf_extremes", (ids(0),)),
        ("leaf_sums", (ids(0), TEN[:1])),
        ("step", (ids(0), VALUES[:1], 1.0, 1.0, 10, 10)),
    ],
)
def test_a_shard_has_no_nodes_before_a_tree_begins(method, args):
    with pytest.raises(ValueError, match="no such node in this shard"):
        getattr(_core.Shard(**arguments()), method)(*args)


BEFORE = {
    "nothing": lambda shard: shard.begin_tree(10),
    "a split": lambda shard: shard.split(2, 3, 4, 0, SIDES),
    "a step": lambda shard: shard.step(LEAVES, VALUES, 1.0, 9.0, 10, 10),
}


@pytest.mark.parametrize("between", BEFORE)
def test_sums_need_the_extremes_of_the_same_leaves_just_before(between):
    """Sums read states that leaf_extremes put in order; what uses that memory, or moves rows, ends it."""
    shard = prepared()
    BEFORE[between](shard)
    leaf = ids(0) if between == "nothing" else ids(1)
    calls = {
        "leaf_sums": (leaf, TEN[:1]),
        "trial": (leaf, VALUES[:1], TEN[:1], TEN[:1], CAPS[:1]),
        "solve_leaves": (leaf, STATISTICS[:1], 0.0, 1.0, 1.0),
        "solve_step": (leaf, VALUES[:1], STATISTICS[:1], 0.0, 1.0, 1.0),
    }
    for method, args in calls.items():
        with pytest.raises(ValueError, match="leaves: call leaf_extremes of them first"):
            getattr(shard, method)(*args)
    shard.leaf_extremes(leaf)
    for method, args in calls.items():
        getattr(shard, method)(*args)


def test_extremes_of_one_leaf_do_not_serve_another():
    shard = prepared()
    shard.begin_tree(10)
    shard.split(0, 1, 2, 0, SIDES)
    shard.leaf_extremes(ids(2))
    shard.leaf_sums(ids(2), TEN[:1])
    with pytest.raises(ValueError, match="leaves: call leaf_extremes of them first"):
        shard.leaf_sums(LEAVES, TEN)
    shard.leaf_extremes(ids(1))
    assert shard.leaf_sums(LEAVES, TEN)[..., 0].tolist() == [[1024, 0], [1024, 2048]]


def growers(**changed):
    good = {
        "n_codes": np.array([3, 2]),
        "is_categorical": np.zeros(2, bool),
        "t": 0.5,
        "max_leaves": 4,
        "max_depth": 0,
        "heaviest": False,
        "min_leaf_mass": 0.0,
        "min_count": 0,
        "pure_allowed": True,
    }
    return good | changed


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"n_codes": np.array([], np.int64)}, "n_codes: needs one column at least"),
        ({"n_codes": np.array([3, 65537])}, "no more than its type holds"),
        ({"is_categorical": np.zeros(1, bool)}, "is_categorical: must be as long as n_codes"),
        ({"t": 2.0}, "t: must be finite and below 2"),
        ({"t": math.nan}, "t: must be finite and below 2"),
        ({"min_leaf_mass": -0.1}, "min_leaf_mass: must be within 0..1"),
        ({"min_leaf_mass": math.nan}, "min_leaf_mass: must be within 0..1"),
    ],
    ids=str,
)
def test_a_grower_that_cannot_be_is_a_value_error(changed, message):
    with pytest.raises(ValueError, match=message):
        _core.Grower(**growers(**changed))


@pytest.mark.parametrize("changed", [{"max_leaves": -1}, {"min_count": 0.5}, {"max_depth": None}], ids=str)
def test_a_grower_of_the_wrong_type_is_a_type_error(changed):
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _core.Grower(**growers(**changed))


def conversation():
    """A grower, and histograms of a root and of a child that it asks for."""
    table = random_table(100, (5, 9))
    shard = shard_of(table)
    shard.begin_tree(10)
    root = shard.histogram(0)
    grower = grower_of(table)
    grower.begin(root)
    *split, build = grower.next()
    shard.split(*split)
    assert build >= 0
    return grower_of(table), root, shard.histogram(build)


def test_a_grower_refuses_messages_out_of_turn():
    grower, root, built = conversation()
    assert grower.next() is None
    assert len(grower.leaves()) == 0
    assert [len(x) for x in grower.tree()] == [0, 0, 0, 0, 0, 0, 1, 0, 0]
    with pytest.raises(ValueError, match="supply: no request awaits a histogram"):
        grower.supply(root)
    grower.begin(root)
    with pytest.raises(ValueError, match="supply: no request awaits a histogram"):
        grower.supply(built)
    assert grower.next()[-1] >= 0
    with pytest.raises(ValueError, match="next: the last request awaits its histogram, supply it first"):
        grower.next()
    grower.supply(built)
    with pytest.raises(ValueError, match="supply: no request awaits a histogram"):
        grower.supply(built)


@pytest.mark.parametrize("message", ["begin", "supply"])
def test_a_histogram_of_another_shape_is_refused(message):
    grower, root, _ = conversation()
    if message == "supply":
        grower.begin(root)
        grower.next()
    for wrong in (root[:1], root[:, :-1].copy(), np.zeros((2, root.shape[1], 3), np.uint64)):
        with pytest.raises(ValueError, match=r"histogram: shape must be \(2, codes of all columns, 2\)"):
            getattr(grower, message)(wrong)
    for wrong in (root.astype(np.int64), root[..., ::-1], root[0], None):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            getattr(grower, message)(wrong)


def test_growth_refuses_a_shard_of_other_columns_or_without_a_beginning():
    shard = _core.Shard(**arguments())
    with pytest.raises(ValueError, match="shard: needs begin_tree before each tree"):
        _core.grow(_core.Grower(**growers()), shard)
    shard.begin_tree(10)
    with pytest.raises(ValueError, match="grower: made for other columns than the shard"):
        _core.grow(_core.Grower(**growers(n_codes=np.array([2, 3]))), shard)
    grower = _core.Grower(**growers())
    _core.grow(grower, shard)
    with pytest.raises(ValueError, match="shard: needs begin_tree before each tree"):
        _core.grow(grower, shard)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _core.grow(None, shard)


def test_histograms_that_contradict_themselves_end_in_some_tree():
    """Nonsense from a driver may grow nonsense, but never a crash."""
    rng = np.random.default_rng(11)
    for seed in range(60):
        n_codes = rng.integers(2, 12, 4)
        table = random_table(2)._replace(n_codes=n_codes, is_categorical=rng.random(4) < 0.5)
        grower = grower_of(table, float(rng.choice(TS)), max_leaves=9, growth=("best", "heaviest")[seed % 2])
        largest = int(10.0 ** rng.uniform(0, 19))

        def nonsense(n_codes=n_codes, largest=largest):
            return rng.integers(0, largest, (2, n_codes.sum(), 2), np.uint64)

        grower.begin(nonsense())
        while (request := grower.next()) is not None:
            if request[-1] >= 0:
                grower.supply(nonsense())
        assert len(grower.leaves()) <= 9


def test_solvers_answer_contradictory_statistics_with_some_number():
    rng = np.random.default_rng(12)
    values = [0.0, 1.0, -1.0, 1e300, 1e-300, math.inf, -math.inf, math.nan]
    for t in TS:
        shard = _core.Shard(**arguments(t=t))
        shard.begin_tree(10)
        shard.split(0, 1, 2, 0, SIDES)
        shard.leaf_extremes(LEAVES)
        for _ in range(60):
            stats = rng.choice(values, (2, 2, 4))
            assert len(shard.solve_leaves(LEAVES, stats, float(rng.choice([0.0, 3.0])), 500.0, 1.0)) == 2
            assert isinstance(shard.solve_step(LEAVES, VALUES, stats, 0.1, 500.0, 1.0), float)


def test_terms_above_their_bound_give_nonsense_but_no_crash():
    shard = prepared()
    most = np.full((2, 2), 1020, np.int32)
    assert shard.leaf_sums(LEAVES, most).shape == (2, 2, 2)
    assert shard.trial(LEAVES, VALUES * 1e300, most, most, CAPS * math.nan).shape == (2, 2, 2, 2)
    sums, _ = shard.step(LEAVES, VALUES * -1e300, 1.0, math.inf, 1020, 1020)
    assert sums.shape == (8,)


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
        answers.append([*grower.tree(), leaves, count, off, least, most, weight])
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
