# SPDX-License-Identifier: Apache-2.0
"""Bins and codes against plain Python, and what they must not show: order, repetition, threads, layout."""

from collections import Counter
from fractions import Fraction
from math import floor

import numpy as np
import pytest

from tadaboost import _core
from tadaboost.binning import Bins, encode, fit_bins

# ---- plain Python --------------------------------------------------------------------------------


def naive_midpoint(a, b):
    middle = a / 2 + b / 2
    return middle if a <= middle < b else a


def naive_numeric_edges(values, weights, max_bins):
    """Edges of one column whose rows are all in the sample; weights are Fractions or ints."""
    count = Counter()
    for value, weight in zip(values, weights, strict=True):
        if weight > 0 and value == value:
            count[float(value) + 0.0] += weight
    distinct = sorted(count)
    if not distinct:
        return [0.0]
    if len(distinct) <= max_bins:
        cuts = range(len(distinct) - 1)
    else:
        total = sum(count.values())
        heavy = {v for v in distinct if count[v] * max_bins >= 2 * total}
        budget = max_bins - 2 * len(heavy)
        light = sum(count[v] for v in distinct if v not in heavy)
        cuts, cum = [], 0

        def part(cum):
            return floor(Fraction(cum) * budget / light)

        for i, v in enumerate(distinct[:-1]):
            passed = False
            if v not in heavy:
                passed = part(cum) != part(cum + count[v])
                cum += count[v]
            if passed or v in heavy or distinct[i + 1] in heavy:
                cuts.append(i)
    return [naive_midpoint(distinct[i], distinct[i + 1]) for i in cuts] + [distinct[-1]]


def naive_level_bins(values, weights, n_levels, max_bins):
    if n_levels <= max_bins:
        return list(range(n_levels))
    total = [0] * n_levels
    for value, weight in zip(values, weights, strict=True):
        if value in range(n_levels):
            total[int(value)] += weight
    own = sorted(sorted(range(n_levels), key=lambda level: (-total[level], level))[: max_bins - 1])
    return [own.index(level) if level in own else max_bins - 1 for level in range(n_levels)]


def naive_codes(column, c, bins):
    n = int(bins.n_bins[c])
    if bins.is_categorical[c]:
        level_bin = bins.level_bin[bins.level_start[c] : bins.level_start[c + 1]].tolist()
        return [level_bin[int(x)] if x in range(len(level_bin)) else n for x in column.tolist()]
    edges = bins.edges[bins.edge_start[c] : bins.edge_start[c + 1]].tolist()
    return [n if x != x else next((b for b, e in enumerate(edges) if x <= e), n - 1) for x in column.tolist()]


# ---- helpers -------------------------------------------------------------------------------------


def column_edges(bins, c=0):
    return bins.edges[bins.edge_start[c] : bins.edge_start[c + 1]]


def numeric_bins(X, max_bins=255, multiplicity=None, n_threads=1):
    zeros = np.zeros(X.shape[1], int)
    return fit_bins(X, zeros, zeros, max_bins, multiplicity, n_threads)


def assert_same_bins(a, b):
    for name in Bins._fields:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


def mixed_table(rng, n_rows, dtype=np.float64):
    """Continuous, tied, tiny range, heavy zero, signed zeros, few and many levels, constant, missing."""
    X = np.empty((n_rows, 9), dtype)
    X[:, 0] = rng.normal(size=n_rows)
    X[:, 1] = np.round(rng.normal(size=n_rows) * 20)
    X[:, 2] = 1 + rng.integers(0, 5, n_rows) * np.finfo(dtype).eps
    X[:, 3] = np.where(rng.random(n_rows) < 0.7, 0, rng.normal(size=n_rows))
    X[:, 4] = rng.choice([-1.0, -0.0, 0.0, 1.0], n_rows)
    X[:, 5] = rng.integers(0, 4, n_rows)
    X[:, 6] = rng.zipf(1.5, n_rows) % 700
    X[:, 7] = -2.5
    X[:, 8] = np.nan
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


IS_CATEGORICAL = np.array([0, 0, 0, 0, 0, 1, 1, 0, 0], bool)
N_LEVELS = np.array([0, 0, 0, 0, 0, 4, 700, 0, 0], np.int32)

LAYOUTS = {
    "C": lambda X: np.ascontiguousarray(X),
    "F": lambda X: np.asfortranarray(X),
    "reversed": lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
    "every other": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
}


# ---- equality with plain Python ------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("max_bins", [2, 3, 17, 255, 256, 65535])
@pytest.mark.parametrize("weighting", ["none", "whole", "fractional"])
def test_bins_and_codes_equal_plain_python(dtype, max_bins, weighting):
    rng = np.random.default_rng(max_bins)
    X = mixed_table(rng, 1500, dtype)
    if weighting == "none":
        w, exact = None, [1] * len(X)
    elif weighting == "whole":
        w = rng.integers(0, 4, len(X))
        exact = w.tolist()
    else:
        w = np.where(rng.random(len(X)) < 0.2, 0, rng.random(len(X)))
        exact = [max(1, round(Fraction(x) / Fraction(w.max()) * 2**40)) if x > 0 else 0 for x in w]
    bins = fit_bins(X, IS_CATEGORICAL, N_LEVELS, max_bins, w)
    codes = encode(X, bins)
    for c in range(X.shape[1]):
        if IS_CATEGORICAL[c]:
            level_bin = bins.level_bin[bins.level_start[c] : bins.level_start[c + 1]]
            assert level_bin.tolist() == naive_level_bins(X[:, c], exact, N_LEVELS[c], max_bins)
            assert bins.n_bins[c] == min(N_LEVELS[c], max_bins)
        else:
            assert column_edges(bins, c).tolist() == naive_numeric_edges(X[:, c], exact, max_bins)
            assert bins.n_bins[c] == len(column_edges(bins, c)) <= max_bins
        assert codes[c].tolist() == naive_codes(X[:, c], c, bins)
    assert codes.shape == X.shape[::-1]
    assert codes.flags.c_contiguous


def test_a_column_by_hand():
    X = np.array([[3.0], [1.0], [np.nan], [1.0], [8.0]])
    bins = numeric_bins(X)
    assert bins.edges.tolist() == [2.0, 5.5, 8.0]
    assert bins.n_bins.tolist() == [3]
    assert encode(X, bins).tolist() == [[1, 0, 3, 0, 2]]


def test_heavy_values_get_bins_of_their_own_and_the_rest_shares_what_is_left():
    rng = np.random.default_rng(0)
    X = np.concatenate([np.zeros(9000), rng.uniform(-1, -0.5, 500), rng.uniform(0.5, 1, 500)])[:, None]
    bins = numeric_bins(X, max_bins=102)
    counts = np.bincount(encode(X, bins)[0])
    assert counts.max() == 9000
    assert len(counts) == bins.n_bins[0] >= 100
    assert np.sort(counts)[-2] <= 11  # 1000 light rows in 100 bins


@pytest.mark.parametrize("n_bins_below", [254, 255])
def test_codes_are_bytes_up_to_256_of_them_and_missing_is_one(n_bins_below):
    X = np.arange(float(n_bins_below + 1))[:, None]
    codes = encode(X, numeric_bins(X, max_bins=65535))
    assert codes.dtype == (np.uint8 if n_bins_below == 254 else np.uint16)
    assert codes[0].tolist() == list(range(n_bins_below + 1))


def test_65535_bins_are_all_reachable():
    X = np.arange(70000.0)[:, None]
    codes = encode(np.vstack([X, [[np.nan]]]), numeric_bins(X, max_bins=65535))
    assert codes.dtype == np.uint16
    assert np.unique(codes).tolist() == list(range(65536))
    exact = encode(X[:65535], numeric_bins(X[:65535], max_bins=65535))
    assert exact[0].tolist() == list(range(65535))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_codes_of_unseen_values_follow_the_edges(dtype):
    bins = fit_bins(np.array([[1.0, 0], [2, 1], [4, 2]]), [False, True], [0, 3], 255)
    new = np.array([[-9, 3], [1.5, -1], [99, 0.5], [np.nan, np.nan], [1.5000001, 1e30], [3, 2]], dtype)
    assert encode(new, bins).tolist() == [[0, 0, 2, 3, 1, 1], [3, 3, 3, 3, 3, 2]]


def test_float32_codes_equal_those_of_the_same_values_as_float64():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(5000, 2)).astype(np.float32)
    bins = numeric_bins(X)
    assert_same_bins(bins, numeric_bins(X.astype(float)))
    # Edges that no float32 can hold: the rounding of the edge must not move a value across it.
    near = np.nextafter(X[:300], np.float32(np.inf))
    shifted = bins._replace(edges=np.nextafter(bins.edges.astype(np.float32).astype(float), -np.inf))
    for table in (X, near):
        np.testing.assert_array_equal(encode(table, shifted), encode(table.astype(float), shifted))


@pytest.mark.parametrize(
    ("values", "edges"),
    [
        ([np.nextafter(1.0, 0), 1.0], [np.nextafter(1.0, 0), 1.0]),  # nothing between: the lower one
        ([-1.7e308, 1.7e308], [0.0, 1.7e308]),  # no overflow of the sum
        ([0.0, 5e-324], [0.0, 5e-324]),  # no underflow past the lower one
        ([5e-324, 1e-323], [5e-324, 1e-323]),
        ([-0.0, 0.0, 2.0], [1.0, 2.0]),  # one zero
        ([7.0], [7.0]),
        ([np.nan, np.nan], [0.0]),
    ],
)
def test_edges_of_awkward_values(values, edges):
    bins = numeric_bins(np.array(values)[:, None])
    assert bins.edges.tolist() == edges
    codes = encode(np.array(values)[:, None], bins)
    assert codes[0].tolist() == naive_codes(np.array(values), 0, bins)


def test_a_table_without_rows_or_columns_has_bins_too():
    empty = numeric_bins(np.empty((0, 2)))
    assert empty.n_bins.tolist() == [1, 1]
    assert encode(np.empty((0, 2)), empty).shape == (2, 0)
    assert encode(np.empty((3, 0)), numeric_bins(np.empty((3, 0)))).shape == (0, 3)


def test_a_categorical_column_without_levels_is_all_missing():
    X = np.full((3, 1), np.nan)
    bins = fit_bins(X, [True], [0], 255)
    assert bins.n_bins.tolist() == [1]
    assert encode(X, bins).tolist() == [[1, 1, 1]]


def test_too_many_levels_keep_the_heaviest_and_the_lower_among_equals():
    X = np.repeat([0.0, 1, 2, 3, 4], [1, 2, 5, 2, 2])[:, None]
    bins = fit_bins(X, [True], [5], 3)
    assert bins.level_bin.tolist() == [2, 0, 1, 2, 2]
    assert bins.n_bins.tolist() == [3]
    weighted = fit_bins(X, [True], [5], 3, np.where(X[:, 0] == 4, 10.0, 1.0))
    assert weighted.level_bin.tolist() == [2, 2, 0, 2, 1]


# ---- what must not be seen -----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layout_and_threads_are_not_seen(dtype, layout):
    X = mixed_table(np.random.default_rng(2), 9000, dtype)
    bins = fit_bins(X, IS_CATEGORICAL, N_LEVELS, 30)
    codes = encode(X, bins)
    other = LAYOUTS[layout](X)
    other.flags.writeable = False
    for n_threads in (1, 2, 5):
        assert_same_bins(bins, fit_bins(other, IS_CATEGORICAL, N_LEVELS, 30, None, n_threads))
        np.testing.assert_array_equal(codes, encode(other, bins, n_threads))


@pytest.mark.parametrize("n_rows", [3000, 230_000])  # the second is sampled, with weights that differ
@pytest.mark.parametrize("max_bins", [7, 255])
def test_multiplicity_is_repetition_and_order_is_not_seen(n_rows, max_bins):
    rng = np.random.default_rng(3)
    X = mixed_table(rng, n_rows)[:, [0, 3, 6]]
    kind = (IS_CATEGORICAL[[0, 3, 6]], N_LEVELS[[0, 3, 6]], max_bins)
    w = rng.integers(0, 4, n_rows)
    bins = fit_bins(X, *kind, w)
    shuffled = rng.permutation(np.repeat(X, w, axis=0))
    assert_same_bins(bins, fit_bins(shuffled, *kind))
    assert_same_bins(bins, fit_bins(shuffled, *kind, np.full(len(shuffled), 0.3), 2))
    for scale in (7.0, 0.1, 1e-300, 1e300):
        assert_same_bins(bins, fit_bins(X, *kind, w * scale))
    order = rng.permutation(n_rows)
    assert_same_bins(bins, fit_bins(X[order], *kind, w[order], 2))


def test_rows_of_multiplicity_zero_are_absent():
    X = np.array([[1.0], [50.0], [2.0], [-50.0]])
    assert numeric_bins(X, multiplicity=[1, 0, 1, 0]).edges.tolist() == [1.5, 2.0]
    assert numeric_bins(X, multiplicity=[0, 0, 0, 0]).edges.tolist() == [0.0]


# ---- more rows than the sample holds -------------------------------------------------------------


def test_a_large_column_is_cut_at_its_quantiles_and_ends_at_its_largest_value():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(500_000, 1))
    X[123, 0] = 40.0
    bins = numeric_bins(X, max_bins=100)
    assert bins.edges[-1] == 40.0
    share = np.bincount(encode(X, bins)[0]) / len(X)
    # A share in the sample of m = 200,000 has standard error sqrt(.01 / m); six of them, both ends move.
    assert np.abs(share - 0.01).max() < 6 * np.sqrt(2 * 0.01 / 200_000)
    assert bins.n_bins.tolist() == [100]


def test_a_large_column_with_few_values_is_exact_though_the_rest_is_sampled():
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.normal(size=250_000), np.zeros(250_000)])
    X[77, 1] = 1.0  # one row in 250,000: likely to miss a sample
    X[78, 1] = -1.0
    bins = numeric_bins(X)
    assert column_edges(bins, 1).tolist() == [-0.5, 0.5, 1.0]
    assert bins.n_bins[0] == 255


def test_many_repetitions_of_few_distinct_rows_are_all_in_the_sample():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(1000, 2))
    w = rng.integers(1, 800, 1000)
    assert w.sum() > 300_000
    repeated = np.repeat(X, w, axis=0)
    bins = numeric_bins(repeated, max_bins=50)
    assert column_edges(bins).tolist() == naive_numeric_edges(X[:, 0], w.tolist(), 50)


def test_float32_and_float64_of_the_same_large_table_have_the_same_bins():
    X = np.random.default_rng(7).normal(size=(220_000, 2)).astype(np.float32)
    X[:10] = np.nan
    X[10:20] = -0.0
    assert_same_bins(numeric_bins(X, 1000), numeric_bins(np.asfortranarray(X, np.float64) + 0.0, 1000))


# ---- the border ----------------------------------------------------------------------------------

X2 = np.array([[1.0, 0.0], [2.0, 1.0]])
GOOD_FIT = {
    "X": X2,
    "is_categorical": np.array([False, True]),
    "n_levels": np.array([0, 2], np.int32),
    "max_bins": 255,
    "multiplicity": None,
    "n_threads": 1,
}


@pytest.mark.parametrize(
    ("name", "bad", "error", "match"),
    [
        ("X", X2.astype(int), TypeError, "^X: must be a 2-D array of float32 or float64"),
        ("X", X2[0], TypeError, "^X: must be a 2-D array"),
        ("X", X2.tolist(), TypeError, "^X: must be a 2-D array"),
        ("X", X2.astype(">f8"), TypeError, "^X: must be a 2-D array"),
        ("X", X2.astype(np.float16), TypeError, "^X: must be a 2-D array"),
        ("X", None, TypeError, "^X: must be a 2-D array"),
        (
            "is_categorical",
            np.array([0, 1]),
            TypeError,
            "^is_categorical: must be a contiguous 1-D array of bool",
        ),
        ("is_categorical", np.array([True]), ValueError, "^is_categorical: has 1 entries, expected 2"),
        ("n_levels", np.array([0, 2]), TypeError, "^n_levels: must be a contiguous 1-D array of int32"),
        ("n_levels", np.zeros(4, np.int32)[::2], TypeError, "^n_levels: must be a contiguous"),
        ("n_levels", np.array([0, -1], np.int32), ValueError, "^n_levels: must be >= 0, column 1"),
        ("n_levels", np.zeros(3, np.int32), ValueError, "^n_levels: has 3 entries, expected 2"),
        ("max_bins", 1, ValueError, r"^max_bins: must be in 2\.\.65535, got 1"),
        ("max_bins", 65536, ValueError, r"^max_bins: must be in 2\.\.65535, got 65536"),
        ("max_bins", 2.5, TypeError, "^max_bins: must be an int"),
        ("max_bins", 2**70, TypeError, "^max_bins: must be an int"),
        ("multiplicity", np.ones(3), ValueError, "^multiplicity: has 3 entries, expected 2"),
        (
            "multiplicity",
            np.ones(2, np.float32),
            TypeError,
            "^multiplicity: must be a contiguous 1-D array of float64",
        ),
        ("multiplicity", np.array([1, -1.0]), ValueError, "^multiplicity: must be finite and >= 0, row 1"),
        ("multiplicity", np.array([np.nan, 1]), ValueError, "^multiplicity: must be finite and >= 0, row 0"),
        ("multiplicity", np.array([np.inf, 1]), ValueError, "^multiplicity: must be finite and >= 0, row 0"),
        ("n_threads", 0, ValueError, r"^n_threads: must be in 1\.\.1024, got 0"),
        ("n_threads", None, TypeError, "^n_threads: must be an int"),
    ],
)
def test_fit_names_the_bad_argument(name, bad, error, match):
    with pytest.raises(error, match=match):
        _core.fit_bins(**{**GOOD_FIT, name: bad})


def good_encode():
    bins = Bins(*fit_bins(X2, [False, True], [0, 2], 255))
    return {"X": X2, **bins._asdict(), "out": np.empty((2, 2), np.uint8), "n_threads": 1}


read_only = np.empty((2, 2), np.uint8)
read_only.flags.writeable = False


@pytest.mark.parametrize(
    ("name", "bad", "error", "match"),
    [
        ("X", X2[:, :1], ValueError, "^n_bins: has 2 entries, expected 1"),
        ("X", X2.astype(complex), TypeError, "^X: must be a 2-D array"),
        ("n_bins", np.array([2, 2]), TypeError, "^n_bins: must be a contiguous 1-D array of int32"),
        (
            "n_bins",
            np.array([0, 2], np.int32),
            ValueError,
            r"^n_bins: must be in 1\.\.255 for this dtype of out, column 0",
        ),
        (
            "n_bins",
            np.array([2, 256], np.int32),
            ValueError,
            r"^n_bins: must be in 1\.\.255 for this dtype of out, column 1",
        ),
        (
            "n_bins",
            np.array([3, 2], np.int32),
            ValueError,
            "^edge_start: a numeric column has n_bins edges, a categ",
        ),
        ("n_bins", np.array([2, 1], np.int32), ValueError, r"^level_bin: must be in 0\.\.n_bins-1, column 1"),
        ("edges", np.array([2.0, 1.0]), ValueError, "^edges: must rise, column 0"),
        ("edges", np.array([np.nan, 1.0]), ValueError, "^edges: must rise, column 0"),
        ("edges", np.array([1.0]), ValueError, "^edge_start: must rise from 0 to 1"),
        ("edges", np.array([1, 2]), TypeError, "^edges: must be a contiguous 1-D array of float64"),
        ("edge_start", np.array([0, 2]), ValueError, "^edge_start: has 2 entries, expected 3"),
        ("edge_start", np.array([0, 3, 2]), ValueError, "^edge_start: must rise from 0 to 2"),
        ("edge_start", np.array([-1, 2, 2]), ValueError, "^edge_start: must rise from 0 to 2"),
        ("edge_start", np.array([0, 1, 2]), ValueError, "^edge_start: a numeric column has n_bins edges"),
        (
            "is_categorical",
            np.array([True, True]),
            ValueError,
            "^edge_start: a numeric column has n_bins edges",
        ),
        (
            "level_bin",
            np.array([0, 2], np.int32),
            ValueError,
            r"^level_bin: must be in 0\.\.n_bins-1, column 1",
        ),
        (
            "level_bin",
            np.array([-1, 1], np.int32),
            ValueError,
            r"^level_bin: must be in 0\.\.n_bins-1, column 1",
        ),
        ("level_bin", np.array([0.0, 1.0]), TypeError, "^level_bin: must be a contiguous 1-D array of int32"),
        ("level_start", np.array([0, 1, 3]), ValueError, "^level_start: must rise from 0 to 2"),
        ("level_start", np.array([0, 0, 2, 2]), ValueError, "^level_start: has 4 entries, expected 3"),
        ("out", np.empty((2, 3), np.uint8), ValueError, r"^out: its shape must be \(columns, rows\)"),
        (
            "out",
            np.empty((2, 2), np.int8),
            TypeError,
            "^out: must be a writable C-contiguous 2-D array of uint8 or uint16",
        ),
        ("out", np.empty((2, 2), np.uint8, order="F"), TypeError, "^out: must be a writable C-contiguous"),
        ("out", read_only, TypeError, "^out: must be a writable C-contiguous"),
        ("n_threads", 5000, ValueError, r"^n_threads: must be in 1\.\.1024"),
    ],
)
def test_encode_names_the_bad_argument(name, bad, error, match):
    with pytest.raises(error, match=match):
        _core.encode(**{**good_encode(), name: bad})


def test_encode_refuses_what_is_no_table():
    with pytest.raises(TypeError, match=r"^X: must be a 2-D array of float32 or float64$"):
        encode([1.0, 2.0], numeric_bins(X2))


def test_memory_that_is_not_aligned_is_refused():
    memory = np.zeros(8 * 6 + 1, np.uint8)
    X = memory[1:].view(np.float64).reshape(3, 2)
    assert not X.flags.aligned
    with pytest.raises((TypeError, ValueError), match=r"^X: (its memory is not aligned|must be a 2-D array)"):
        numeric_bins(X)


def test_a_field_of_a_record_array_with_odd_strides_is_refused():
    records = np.zeros((4, 2), np.dtype([("a", np.int32), ("x", np.float64)], align=False))
    with pytest.raises((TypeError, ValueError, BufferError), match=r"^X: "):
        numeric_bins(records["x"])
