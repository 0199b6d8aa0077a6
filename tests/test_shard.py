# SPDX-License-Identifier: Apache-2.0
"""A shard of rows (`_core.Shard`): its histograms, partitions, sums and steps equal a plain loop's."""

import math

import mpmath
import numpy as np
import pytest

from tadaboost import _core

from .pairs import pairs
from .shards import (
    EPS,
    TS,
    cells_by_row,
    move,
    moved_shard,
    naive_histogram,
    random_table,
    shard_of,
    split,
    states,
    sums_of,
    table_of,
)


def test_histogram_of_six_rows_is_the_one_worked_out_by_hand():
    table = table_of([[0, 1, 0, 2, 1, 0], [1, 1, 0, 0, 1, 0]], [1, 1, 0, 1, 0, 0], n_codes=[3, 2])
    shard = shard_of(table)
    shard.begin_tree(2)  # a weight of 1 is the integer 4
    positive = [[4, 1], [4, 1], [4, 1], [4, 1], [8, 2]]
    negative = [[8, 2], [4, 1], [0, 0], [8, 2], [4, 1]]
    assert shard.histogram(0).tolist() == [positive, negative]
    assert (shard.n_rows, shard.n_positive) == (6, 3)
    assert shard.order().tolist() == [0, 1, 3, 2, 4, 5]


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("kind", ["unit", "whole", "fractional"])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("n", [1, 40, 250])
def test_histograms_of_all_nodes_equal_the_naive_loop(n, dtype, kind, n_threads):
    table = random_table(n, (5, 17, 2, 9, 3, 3, 4, 2, 5, 256), kind, dtype, seed=n)
    shard = shard_of(table, 0.9, n_threads)
    shard.begin_tree(0)
    split(shard, table, 0, 1, 1, 1)
    move(shard, [1, 2], [0.3, -0.2], most=1.0)
    shard.begin_tree(18)
    cells = cells_by_row(shard, table)
    split(shard, table, 0, 1, 2, 4)  # few rows on the left
    split(shard, table, 2, 3, 4, 4)
    on_left, on_left_of_right = table.codes[2] <= 4, table.codes[4] <= 4
    present = table.times() > 0
    nodes = [on_left | ~on_left, on_left, ~on_left, ~on_left & on_left_of_right, ~on_left & ~on_left_of_right]
    for node, rows in enumerate(nodes):
        rows = rows & present
        want = naive_histogram(
            table.codes[:, rows], table.n_codes, table.positive[rows], cells[rows, 0], cells[rows, 1]
        )
        assert np.array_equal(shard.histogram(node), want)


SIZES = [(3, 30), (11, 20), (11, 30), (70, 20)]


@pytest.mark.parametrize(
    ("size", "kind", "dtype", "n_threads"),
    pairs(SIZES, ["unit", "whole"], [np.uint8, np.uint16], [1, 2]),
    ids=str,
)
def test_histograms_of_large_nodes_equal_the_naive_loop(size, kind, dtype, n_threads):
    """At 2^30 a row a cell needs two words, whose counts run over at 65536 rows; 70 columns go in parts."""
    n_columns, exponent = size
    rng = np.random.default_rng(1)
    n = 300_000 if exponent == 30 else 60_000
    n_codes = np.resize([2, 256, 40, 3, 200, 7, 2, 16, 256, 5, 9], n_columns)
    codes = np.stack([rng.integers(0, k, n) for k in n_codes]).astype(dtype)
    codes[0] = rng.random(n) < 0.02  # most rows share a cell
    table = random_table(2)._replace(
        codes=codes,
        n_codes=n_codes.astype(np.int64),
        is_categorical=np.zeros(n_columns, bool),
        positive=rng.random(n) < 0.5,
    )
    if kind == "whole":
        times = rng.integers(0, 3, n).astype(np.float64)
        table = table._replace(multiplicity=times, count=times.astype(np.uint64))
    shard, fixed = moved_shard(table, 2, 10, exponent, n_threads)
    rows = np.ones(n, bool)
    for node in range(2):
        if node == 1:
            rows = codes[0] == 0
            split(shard, table, 0, 1, 0, 0)
        count = table.counts()[rows]
        want = naive_histogram(codes[:, rows], n_codes, table.positive[rows], fixed[rows], count)
        assert np.array_equal(shard.histogram(node), want)


@pytest.mark.parametrize("exponent", [20, 30])
@pytest.mark.parametrize("kind", ["unit", "whole"])
@pytest.mark.parametrize("n_columns", [1, 2, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33])
def test_rows_may_have_any_number_of_bytes(n_columns, kind, exponent):
    """Rows in order go 16 or 8 bytes at a time, others 32; codes are laid out eight by eight."""
    rng = np.random.default_rng(n_columns)
    n = 3001
    table = table_of(rng.integers(0, 250, (n_columns, n)), rng.random(n) < 0.4)
    if kind == "whole":
        times = rng.integers(1, 3, n)
        table = table._replace(multiplicity=times.astype(np.float64), count=times.astype(np.uint64))
    shard, fixed = moved_shard(table, 0, 100, exponent)
    split(shard, table, 0, 1, n_columns - 1, 120)
    on_left = table.codes[n_columns - 1] <= 120
    for node, rows in enumerate([on_left | ~on_left, on_left, ~on_left]):
        want = naive_histogram(
            table.codes[:, rows], table.n_codes, table.positive[rows], fixed[rows], table.counts()[rows]
        )
        assert np.array_equal(shard.histogram(node), want)


@pytest.mark.parametrize("n_threads", [2, 3])
@pytest.mark.parametrize(("n", "n_columns"), [(400, 150), (60_000, 3)])
def test_threads_share_columns_of_few_rows_and_rows_of_few_columns(n, n_columns, n_threads):
    rng = np.random.default_rng(n)
    table = table_of(rng.integers(0, 200, (n_columns, n)), rng.random(n) < 0.3)
    histograms = []
    for threads in (1, n_threads):
        shard = shard_of(table, 0.5, threads)
        shard.begin_tree(12)
        split(shard, table, 0, 1, 1, 20)
        histograms.append([shard.histogram(node) for node in range(3)])
    assert np.array_equal(*histograms)
    want = naive_histogram(table.codes, table.n_codes, table.positive, np.full(n, 4096.0), table.counts())
    assert np.array_equal(histograms[1][0], want)


def test_the_largest_weights_of_a_full_word_do_not_run_into_each_other():
    """65535 rows of weight 2^31 in one code: 47 bits of weight above 16 bits of count."""
    n = 2 * 65535
    table = table_of(np.zeros((1, n)), np.ones(n), n_codes=[2])
    shard = shard_of(table)
    shard.begin_tree(31)
    assert shard.histogram(0)[0, 0].tolist() == [n << 31, n]


def stepped_shard(t, kind="unit", n=200, seed=3, n_threads=1, size=0.3):
    """A shard after three steps of random trees, and the table; weights differ row by row."""
    rng = np.random.default_rng(seed)
    table = random_table(n, (5, 17, 9), kind, seed=seed)
    shard = shard_of(table, t, n_threads)
    for _ in range(3):
        shard.begin_tree(0)
        split(shard, table, 0, 1, 1, 2)
        split(shard, table, 1, 3, 2, 8)
        split(shard, table, 2, 5, 3, 4)
        shard_leaves = [3, 4, 5, 6]
        move(shard, shard_leaves, rng.uniform(-size, size, 4), most=2.0)
    return shard, table


@pytest.mark.parametrize("t", TS)
@pytest.mark.parametrize("kind", ["unit", "whole", "fractional"])
def test_a_tree_begins_with_the_nearest_integers_to_the_scaled_weights(t, kind):
    shard, table = stepped_shard(t, kind)
    shard.begin_tree(24)
    order = shard.order()
    e = np.exp(shard.log_weights())
    times = table.times()[order]
    fixed = cells_by_row(shard, table)[order]
    want = e * 2.0**24 if table.whole else e * times * 2.0**24
    got = fixed[:, 0] / (times if table.whole else 1.0)
    assert np.all(np.abs(got - want) <= 0.5 + 2.0**24 * 8 * EPS * np.maximum(e * times, 1))
    assert np.array_equal(got, np.rint(got))  # whole multiplicities multiply the integer of one example
    assert np.array_equal(fixed[:, 1], table.counts()[order])


@pytest.mark.parametrize("weight", [0.25, 0.75, 1.25, 1.75])
def test_a_fixed_point_weight_half_way_goes_to_the_even_integer(weight):
    shard = shard_of(table_of([[0, 0]], [1, 0]), 0.0)  # at t = 0 a weight is 1 - c
    shard.begin_tree(0)
    move(shard, [0], [1.0 - weight], most=1.0)
    shard.begin_tree(1)
    assert shard.histogram(0)[0, 0, 0] == round(2 * weight)


@pytest.mark.parametrize("n", [2, 15, 17, 240])  # eight rows of a class go together
@pytest.mark.parametrize("kind", ["unit", "fractional"])
def test_a_split_deals_each_row_to_the_child_that_its_code_says(kind, n):
    table = random_table(n, (7,), kind, seed=5)
    shard = shard_of(table)
    shard.begin_tree(10)
    goes_left = np.array([1, 0, 0, 1, 1, 0, 1], np.uint8)  # any set of codes, missing among them
    shard.split(0, 1, 2, 1, goes_left)
    present = table.times() > 0
    for node, side in ((1, 1), (2, 0)):
        rows = np.flatnonzero(cells_by_row(shard, table, node)[:, 1])
        assert np.array_equal(rows, np.flatnonzero((goes_left[table.codes[1]] == side) & present))


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("kind", ["unit", "whole", "fractional"])
@pytest.mark.parametrize("t", TS)
def test_sums_of_leaves_equal_exact_sums_over_their_rows(t, kind, n_threads):
    shard, table = stepped_shard(t, kind, n_threads=n_threads)
    shard.begin_tree(0)
    split(shard, table, 0, 1, 2, 6)
    count, off, least, most, _, weight = states(shard, [1, 2])
    order = shard.order()
    log_weights, times = shard.log_weights(), table.times()[order]
    leaf = (table.codes[2][order] > 6).astype(int)
    for j in range(2):
        for k in range(2):
            rows = (leaf == j) & (table.positive[order] == (k == 0))
            want = math.fsum(times[rows] * np.exp(log_weights[rows]))
            assert count[j, k] == table.counts()[order][rows].sum()
            assert off[j, k] == 0
            assert abs(weight[j, k] - want) <= 16 * EPS * want
            assert (least[j, k], most[j, k]) == (log_weights[rows].min(), log_weights[rows].max())


@pytest.mark.parametrize("t", TS)
def test_a_step_moves_weights_and_scores_as_the_formulas_say(t):
    """l -> log exp_t(log_t e^l - c) in 40 digits, and its sums over the rows."""
    rng = np.random.default_rng(6)
    s = 1.0 - t
    table = random_table(120, (5, 17), "fractional", seed=6)
    shard = shard_of(table, t)
    score = np.zeros(shard.n_rows)
    order = shard.order()
    y, times = np.where(table.positive[order], 1.0, -1.0), table.times()[order]
    for _ in range(4):
        shard.begin_tree(0)
        split(shard, table, 0, 1, 1, 2)
        split(shard, table, 2, 3, 2, 8)
        value, alpha = rng.uniform(-0.4, 0.4, 3), 0.7
        before = shard.log_weights()
        (sums, extremes), exponents = move(shard, [1, 3, 4], value, alpha, clip=0.5, most=2.0)
        leaf = np.where(table.codes[1][order] <= 2, 0, np.where(table.codes[2][order] <= 8, 1, 2))
        c = alpha * value[leaf]
        score = np.clip(score + c, -0.5, 0.5)
        assert np.array_equal(shard.scores(), score)
        after = shard.log_weights()
        with mpmath.workdps(40):
            for i in range(shard.n_rows):
                want, condition = exact_step(before[i], y[i] * c[i], s)
                assert abs(after[i] - want) <= 8 * EPS * condition
        e = np.exp(after)
        power = np.exp((1.0 + s) * after)
        assert sums_of(sums[0:2], exponents[1]) == pytest.approx(math.fsum(times * power), rel=64 * EPS)
        assert sums_of(sums[2:4], exponents[0]) == pytest.approx(math.fsum(times * e), rel=64 * EPS)
        wrong = table.counts()[order][y * score <= 0].sum()
        assert sums[4:].tolist() == [0, wrong, 0, 0]
        want_extremes = [power.min(), power.max(), e.max(), (times * e).max()]
        np.testing.assert_allclose(extremes, want_extremes, rtol=64 * EPS)


def exact_step(before, c, s):
    """The log weight after a step by c, by mpmath, and how far rounding can move it, in units of EPS."""
    if s == 0:
        return before - mpmath.mpf(c), abs(before) + abs(c)
    x = mpmath.exp(s * mpmath.mpf(before))
    moved = x - mpmath.mpf(s) * c
    after = mpmath.log(moved) / s
    # A rounding of e^s by EPS moves l by EPS / |s|; near s = 0 the core keeps l itself.
    grain = (abs(x) + abs(s * c)) / (abs(s) * moved) if abs(s) >= 0.0625 else abs(c) / moved
    return after, float(abs(before) + abs(after) + grain + 1)


@pytest.mark.parametrize("t", [0.0, 0.5, 0.9, 0.95])
def test_weights_switch_off_and_on_again(t):
    s = 1.0 - t
    shard = shard_of(table_of([[0, 0, 1]], [1, 0, 1], n_codes=[3]), t)
    shard.begin_tree(0)
    split(shard, table_of([[0, 0, 1]], [1, 0, 1], n_codes=[3]), 0, 1, 0, 0)
    (sums, _), _ = move(shard, [1, 2], [1.5 / s, 0.0], most=3.0)
    assert shard.log_weights().tolist() == [-math.inf, 0.0, pytest.approx(math.log(2.5) / s, rel=1e-14)]
    assert (sums[4], sums[6]) == (1, 1)
    count, off, least, most, _, weight = states(shard, [1, 2])
    assert count.tolist() == [[1, 1], [1, 0]]
    assert off.tolist() == [[1, 0], [0, 0]]
    assert (least[0, 0], most[0, 0], weight[0, 0]) == (math.inf, -math.inf, 0.0)
    # The margin of a row that is off stays at its largest: any fall brings the weight back.
    move(shard, [1, 2], [-0.25 / s, 0.0], most=3.0)
    log_weights = shard.log_weights()
    assert log_weights[0] == pytest.approx(math.log(0.25) / s, rel=1e-14)
    shard.begin_tree(4)
    assert shard.histogram(0)[0, 0].tolist() == [round(16 * 0.25 ** (1 / s)), 1]


@pytest.mark.parametrize("t", [0.0, 0.5, 0.9, 0.95])
def test_a_step_that_should_just_reach_zero_does_in_spite_of_rounding(t):
    """s (1/s) may round to 1 - EPS; a rest of 1e-16 of the weight would block every later step."""
    s = 1.0 - t
    shard = shard_of(table_of([[0, 0]], [1, 0]), t)
    shard.begin_tree(0)
    for value in (0.3, 0.2, -0.1):
        move(shard, [0], [value], most=3.0)
    rest = np.exp(s * shard.log_weights()[0]) / s
    move(shard, [0], [rest], most=5.0)
    assert shard.log_weights()[0] == -math.inf


@pytest.mark.parametrize("t", TS)
def test_log_weights_end_at_their_cap(t):
    s = 1.0 - t
    cap = 600.0 / max(1.0, 1.0 + s)
    shard = shard_of(table_of([[0, 0]], [1, 0]), t)
    shard.begin_tree(0)
    big = 1e300 if s > 0 else 700.0
    for _ in range(3):
        (sums, extremes), _ = move(shard, [0], [-big], most=cap)
        assert shard.log_weights()[0] == pytest.approx(cap, rel=1e-12)
        assert sums[7] == 1
        assert np.isfinite(extremes).all()
    # From there a weight comes down again.
    down = 5.0 if s == 0 else (np.exp(s * cap) - np.exp(s * (cap - 5.0))) / s
    move(shard, [0], [down], most=cap)
    assert shard.log_weights()[0] == pytest.approx(cap - 5.0, rel=1e-9)


@pytest.mark.parametrize("t", TS)
def test_the_order_of_rows_and_threads_change_no_limb(t):
    table = random_table(200, (5, 17), "fractional", seed=9)
    wide = table._replace(codes=np.tile(table.codes, 200), positive=np.tile(table.positive, 200))
    rng = np.random.default_rng(9)
    wide = wide._replace(
        multiplicity=(times := rng.gamma(2.0, 0.7, 40_000)), count=np.rint(times * 2.0**30).astype(np.uint64)
    )
    answers = []
    for n_threads, rows in ((1, slice(None)), (2, slice(None)), (2, rng.permutation(40_000))):
        shard = shard_of(wide, t, n_threads, rows)
        shard.begin_tree(0)
        split(shard, wide, 0, 1, 2, 8)
        answer = []
        for value in ([0.2, -0.1], [-0.3, 0.15]):
            ids, value = np.array([1, 2], np.int32), np.array(value)
            exponent = np.full((2, 2), 20, np.int32)
            answer += [*shard.leaf_extremes(ids), shard.leaf_sums(ids, exponent)]
            answer.append(shard.trial(ids, value, exponent, exponent, np.full((2, 2), 100.0)))
            answer += shard.step(ids, value, 1.0, 0.4, 20, 20)
        answers.append(answer)
    for other in answers[1:]:
        for a, b in zip(answers[0], other, strict=True):
            assert np.array_equal(a, b)


def test_two_limbs_hold_each_term_to_two_to_the_minus_64_of_the_bound():
    bound = 3.0
    exponent = _core.exact_exponent(bound)
    assert 2.0**30 <= bound * 2.0**exponent < 2.0**31
    weight = [1 / 3, 1 / 7, 1 / 11]
    shard = shard_of(table_of([[0, 1, 2]], [1, 1, 1], n_codes=[4]), 0.0)  # t = 0: a weight is 1 - c
    shard.begin_tree(0)
    table = table_of([[0, 1, 2]], [1, 1, 1], n_codes=[4])
    split(shard, table, 0, 1, 0, 0)
    split(shard, table, 2, 3, 0, 1)
    move(shard, [1, 3, 4], [1 - w for w in weight])
    shard.begin_tree(0)
    ids = np.zeros(1, np.int32)
    shard.leaf_extremes(ids)
    high, low = shard.leaf_sums(ids, np.full((1, 2), exponent, np.int32))[0, 0].tolist()
    got = mpmath.mpf(high * 2**32 + low) / mpmath.mpf(2) ** (32 + exponent)
    with mpmath.workdps(40):
        want = mpmath.fsum(1 - mpmath.mpf(1 - w) for w in weight)
        assert abs(got - want) <= 3 * bound * 2.0**-64


@pytest.mark.parametrize(
    ("bound", "exponent"),
    [
        (1.0, 30),
        (0.0, 0),
        (-1.0, 0),
        (math.nan, 0),
        (5e-324, 1020),
        (1.7e308, -993),
        (math.inf, -993),
        (2.0**31, -1),
    ],
)
def test_the_exponent_of_a_bound(bound, exponent):
    assert _core.exact_exponent(bound) == exponent
    assert _core.exact_exponents(np.array([[bound, 1.0]])).tolist() == [[exponent, 30]]
