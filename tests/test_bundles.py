# SPDX-License-Identifier: Apache-2.0
"""Columns of few joint codes share a byte of the rows that histograms read; the histograms stay the same."""

import numpy as np
import pytest

from .shards import moved_shard, naive_histogram, split, table_of

N = 20_000


def one_hot(levels, n_levels):
    return (levels == np.arange(n_levels)[:, None]).astype(np.uint8)


def assert_histograms_are_naive(codes, n_codes=None, kind="unit", n_threads=1, exponent=20):
    """Of a large and of small nodes; returns how many bytes a row has."""
    rng = np.random.default_rng(9)
    n = codes.shape[1]
    table = table_of(codes, rng.random(n) < 0.4, n_codes)
    if kind == "whole":
        times = rng.integers(0, 3, n).astype(np.float64)
        table = table._replace(multiplicity=times, count=times.astype(np.uint64))
    shard, fixed = moved_shard(table, 1, 0, exponent, n_threads)
    split(shard, table, 0, 1, 0, 0)
    split(shard, table, 2, 3, len(codes) - 1, 0)
    first, last = table.codes[0] == 0, table.codes[-1] == 0
    for node, rows in enumerate([first | ~first, first, ~first, ~first & last, ~first & ~last]):
        want = naive_histogram(
            table.codes[:, rows], table.n_codes, table.positive[rows], fixed[rows], table.counts()[rows]
        )
        assert np.array_equal(shard.histogram(node), want), node
    return shard.n_bundles


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("exponent", [20, 30])
@pytest.mark.parametrize("kind", ["unit", "whole"])
def test_a_one_hot_coding_becomes_one_column(kind, exponent, n_threads):
    """At 2^30 a row a histogram of all rows needs two words a cell."""
    rng = np.random.default_rng(0)
    codes = np.vstack([one_hot(rng.integers(0, 40, N), 40), one_hot(rng.geometric(0.5, N), 9)])
    assert assert_histograms_are_naive(codes, kind=kind, exponent=exponent, n_threads=n_threads) == 2


def test_flags_go_eight_to_a_byte():
    codes = np.random.default_rng(0).integers(0, 2, (20, N))
    assert assert_histograms_are_naive(codes) == 3


def test_a_column_that_another_decides_costs_nothing():
    years = np.random.default_rng(0).integers(1, 17, N)
    assert assert_histograms_are_naive(np.vstack([years, years // 3, 16 - years])) == 1


def test_columns_of_many_codes_stay_as_they_are():
    codes = np.random.default_rng(0).integers(0, 200, (3, N))
    assert assert_histograms_are_naive(codes, [201, 256, 220]) == 3


def test_a_table_of_few_rows_stays_as_it_is():
    codes = np.random.default_rng(0).integers(0, 2, (20, 2000))
    assert assert_histograms_are_naive(codes) == 20


def test_plain_columns_and_bundles_live_side_by_side():
    rng = np.random.default_rng(0)
    many = rng.integers(0, 250, (2, N))
    few = [rng.integers(0, k, N) for k in (3, 100, 2, 60, 5, 1)]
    bytes_a_row = assert_histograms_are_naive(np.vstack([many[:1], *few, many[1:]]))
    assert bytes_a_row == 5  # 3, 2, 5 and 1 codes make 30; with 60 or 100 they would be too many


def test_a_column_whose_rare_rows_are_too_many_for_a_byte_is_refused():
    """The rows that guide the choice show 100 joint codes and a few; all rows have thousands."""
    rng = np.random.default_rng(0)
    one = rng.integers(0, 100, 200_000)
    other = np.where(rng.random(len(one)) < 0.02, rng.integers(0, 100, len(one)), one)
    assert assert_histograms_are_naive(np.vstack([one, other])) == 2
