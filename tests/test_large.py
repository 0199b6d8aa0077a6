# SPDX-License-Identifier: Apache-2.0
"""Positions beyond 2^31 and 2^32 elements: in memory that is reserved and hardly used.

`benchmarks/huge.py` fits as many codes for real.
"""

import mmap
import sys

import numpy as np
import pytest

from tadaboost import TAdaBoostClassifier, _core

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory without reserve is Linux's"),
]
NO_RESERVE = 0x4000  # mmap.MAP_NORESERVE of Python 3.13


def zeros(n_bytes):
    """Bytes of 0, of which the system gives only those pages that are written."""
    return mmap.mmap(-1, n_bytes, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE)


def test_a_table_whose_rows_lie_beyond_2_to_32_elements_is_fitted_and_predicted_like_a_small_one():
    rng = np.random.default_rng(0)
    small = rng.standard_normal((200, 4)).astype(np.float32)
    small[rng.random(small.shape) < 0.1] = np.nan
    y = np.nan_to_num(small[:, 0]) + rng.standard_normal(200) > 0
    apart = 2**32 // 199 + 3  # elements from row to row: the last lies beyond 2^32
    large = np.ndarray(small.shape, np.float32, zeros(4 * 200 * apart), strides=(4 * apart, 4))
    large[:] = small
    model = TAdaBoostClassifier(n_estimators=5, n_jobs=1)
    expected = model.fit(small, y).decision_function(small)
    for few in (slice(None), slice(-3, None)):  # the two ways through the trees
        assert np.array_equal(model.decision_function(large[few]), expected[few])
    assert np.array_equal(model.fit(large, y).decision_function(small), expected)


def test_codes_beyond_2_to_32_elements_reach_their_histograms():
    """65,537 columns x 65,537 rows, all but five of them absent."""
    n = 65_537
    codes = np.ndarray((n, n), np.uint8, zeros(n * n))
    present = [0, 1, n // 2, n - 2, n - 1]
    codes[-1, present] = [0, 1, 1, 0, 1]
    codes[n // 2, present] = [1, 0, 1, 1, 1]
    count = np.zeros(n, np.uint64)
    count[present] = [1, 2, 4, 8, 16]
    positive = np.zeros(n, bool)
    positive[[1, n - 1]] = True
    n_codes = np.full(n, 2, np.int64)
    shard = _core.Shard(
        codes, n_codes, np.zeros(n, bool), positive, count.astype(np.float64), count, True, 0.5, 1
    )
    assert shard.order().tolist() == [1, n - 1, 0, n // 2, n - 2]
    shard.begin_tree(0)
    counts = shard.histogram(0)[..., 1].reshape(2, n, 2)
    assert counts[:, -1].tolist() == [[0, 18], [9, 4]]
    assert counts[:, n // 2].tolist() == [[2, 16], [0, 13]]
    shard.split(0, 1, 2, n - 1, np.array([1, 0], np.uint8))
    assert shard.histogram(1)[..., 1].reshape(2, n, 2)[:, 0].tolist() == [[0, 0], [9, 0]]
