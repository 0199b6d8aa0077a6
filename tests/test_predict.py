# SPDX-License-Identifier: Apache-2.0
"""Trees on raw values against plain Python; a forest may come from a file and hold anything."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tadaboost._core import Forest

FIELDS = ["feature", "threshold", "left", "right", "value", "missing_left", "is_categorical"]
DTYPES = dict(
    zip(FIELDS, [np.int32, np.float64, np.int32, np.int32, np.float64, np.bool_, np.bool_], strict=True)
)

# ---- plain Python --------------------------------------------------------------------------------


def naive_leaf(tree, row):
    i = 0
    while tree["feature"][i] >= 0:
        x = row[tree["feature"][i]]
        if tree["is_categorical"][i]:
            known = not math.isnan(x) and 0 <= x < 2**31 and x == int(x)
            right = int(x) in tree["levels"][i] if known else not tree["missing_left"][i]
        else:
            right = not tree["missing_left"][i] if math.isnan(x) else not x <= tree["threshold"][i]
        i = tree["right"][i] if right else tree["left"][i]
    return i


def naive_staged(trees, X, alpha, clip):
    scores, stages = [0.0] * len(X), []
    for tree, a in zip(trees, alpha, strict=True):
        for i, row in enumerate(X.tolist()):
            scores[i] = max(-clip, min(clip, scores[i] + a * tree["value"][naive_leaf(tree, row)]))
        stages.append(scores.copy())
    return stages


# ---- random forests ------------------------------------------------------------------------------

N_COLUMNS, CATEGORICAL = 6, {2, 5}
LEVELS = [0, 1, 2, 3, 63, 64, 65, 127, 128, 200]


def halves(rng):
    return float(rng.integers(-3, 4)) / 2


def some_levels(rng):
    pool = [*LEVELS, 2**31 - 1] if rng.random() < 0.3 else LEVELS  # a level too large for a bitset
    return sorted(rng.choice(pool, rng.integers(0, len(pool)), replace=False).tolist())


def random_tree(rng, n_leaves, threshold=halves, levels=some_levels):
    """Split random leaves; the children come in either order, as best-first growth may number them."""
    tree = {name: [0] for name in FIELDS} | {"levels": [[]]}
    leaves = [0]
    tree["feature"][0], tree["value"][0] = -1, rng.normal()
    while len(leaves) < n_leaves:
        i = leaves.pop(rng.integers(len(leaves)))
        feature = int(rng.integers(N_COLUMNS))
        tree["feature"][i] = feature
        tree["threshold"][i] = threshold(rng)
        tree["missing_left"][i] = bool(rng.random() < 0.5)
        tree["is_categorical"][i] = feature in CATEGORICAL
        if feature in CATEGORICAL:
            tree["levels"][i] = levels(rng)
        for side in rng.permutation(["left", "right"]):
            tree[side][i] = len(tree["feature"])
            leaves.append(len(tree["feature"]))
            for name in FIELDS:
                tree[name].append(0)
            tree["feature"][-1], tree["value"][-1] = -1, rng.normal()
            tree["levels"].append([])
    return tree


def arrays_of(trees):
    arrays = {
        "n_columns": N_COLUMNS,
        "tree_start": np.cumsum([0] + [len(t["feature"]) for t in trees], dtype=np.int64),
    }
    for name in FIELDS:
        arrays[name] = np.array([x for t in trees for x in t[name]], DTYPES[name])
    levels = [run for t in trees for run in t["levels"]]
    arrays["categories"] = np.array([x for run in levels for x in run], np.int32)
    arrays["category_start"] = np.cumsum([0] + [len(run) for run in levels], dtype=np.int64)
    return arrays


def random_values(rng, n_rows, dtype):
    X = rng.integers(-4, 5, (n_rows, N_COLUMNS)).astype(dtype) / 2  # on the thresholds as often as not
    for c in CATEGORICAL:
        odd = [-1, 0.5, 4, 199, 201, 1e6, 2**31, -(2**31), 1e30, -1e30, np.inf, -np.inf, -0.0]
        X[:, c] = rng.choice([*LEVELS, *odd], n_rows)
    X[rng.random(X.shape) < 0.15] = np.nan
    return X


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    trees = [random_tree(rng, n) for n in [8, 1, 2, 31, 5, 8, 16, 3, 1]]
    return trees, arrays_of(trees), rng.normal(size=len(trees))


LAYOUTS = {
    "C": lambda X: X,
    "F": np.asfortranarray,
    "reversed": lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
    "every other": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("clip", [np.inf, 0.7])
def test_scores_stages_and_leaves_equal_plain_python(case, dtype, layout, clip):
    trees, arrays, alpha = case
    X = LAYOUTS[layout](random_values(np.random.default_rng(1), 301, dtype))
    X.flags.writeable = False
    forest = Forest(**arrays)
    stages = naive_staged(trees, X, alpha, clip)
    assert forest.staged(X, alpha, clip, 1).tolist() == stages
    assert forest.decision(X, alpha, clip, 1).tolist() == stages[-1]
    leaves = [[naive_leaf(t, row) for t in trees] for row in X.tolist()]
    applied = forest.apply(X, 1)
    assert applied.tolist() == leaves
    assert applied.dtype == np.int32


@pytest.mark.parametrize("n_rows", [0, 1, 2, 7, 8, 9, 127, 128, 129, 60_000])
def test_threads_and_blocks_are_not_seen(case, n_rows):
    _, arrays, alpha = case
    X = random_values(np.random.default_rng(2), n_rows, np.float64)
    forest = Forest(**arrays)
    scores = forest.decision(X, alpha, 1.0, 1)
    assert scores.shape == (n_rows,)
    for n_threads in (2, 5):
        np.testing.assert_array_equal(scores, forest.decision(X, alpha, 1.0, n_threads))
        np.testing.assert_array_equal(scores, forest.staged(X, alpha, 1.0, n_threads)[-1])
        np.testing.assert_array_equal(forest.apply(X, 1), forest.apply(X, n_threads))
    for i in range(0, n_rows, max(1, n_rows // 10)):
        assert forest.decision(X[i : i + 1], alpha, 1.0, 2)[0] == scores[i]


def levels_up_to(most, n):
    return lambda rng: sorted(rng.choice(most, rng.integers(0, n), replace=False).tolist())


# What decides the form in which many rows are scored: how many thresholds and levels a column has in the
# whole forest, and how many leaves a tree.
KINDS = {
    "few thresholds": ([8, 1, 2, 31, 64, 9, 17, 63, 40], halves, levels_up_to(20, 8)),
    "254 levels of a column": ([64] * 12, halves, levels_up_to(254, 200)),
    "255 levels of a column": ([64] * 12, halves, levels_up_to(255, 200)),
    "no level named": ([8, 8, 8, 31], halves, lambda rng: []),
    "levels beyond 4095": ([8, 8, 31], halves, lambda rng: [3, 4095] if rng.random() < 0.8 else [4096]),
    "very many thresholds": ([64] * 40, lambda rng: float(rng.normal()), levels_up_to(20, 8)),
    "trees too large": ([65, 8, 200, 31], lambda rng: float(rng.normal()), levels_up_to(20, 8)),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_rows_score_as_few_do(kind, dtype):
    n_leaves, threshold, levels = KINDS[kind]
    rng = np.random.default_rng(list(KINDS).index(kind))
    trees = [random_tree(rng, n, threshold, levels) for n in n_leaves]
    arrays, alpha = arrays_of(trees), rng.normal(size=len(trees))
    X = random_values(rng, 700, dtype)
    on_a_threshold = rng.random(X.shape) < 0.3
    X[on_a_threshold] = rng.choice(arrays["threshold"], on_a_threshold.sum())
    X[rng.random(X.shape) < 0.3] *= 1.0 + 2.0**-20
    for c in CATEGORICAL:
        known = rng.random(len(X)) < 0.8
        X[known, c] = rng.choice([*range(256), 4094, 4095, 4096], known.sum())
    few = [X[i : i + 31] for i in range(0, len(X), 31)]  # these are walked, row by row
    for clip in (np.inf, 0.7):
        forest = Forest(**arrays)
        scores = np.concatenate([forest.decision(rows, alpha, clip, 1) for rows in few])
        leaves = np.concatenate([forest.apply(rows, 1) for rows in few])
        for n_rows in (32, 33, 127, 128, 129, 256, 257, 700):
            np.testing.assert_array_equal(forest.decision(X[:n_rows], alpha, clip, 1), scores[:n_rows])
        np.testing.assert_array_equal(forest.decision(X[::-1], alpha, clip, 3)[::-1], scores)
        np.testing.assert_array_equal(forest.staged(X, alpha, clip, 2)[-1], scores)
        np.testing.assert_array_equal(forest.apply(X, 2), leaves)
        for i in np.flatnonzero(~np.isinf(X).any(axis=1))[:20]:
            assert forest.score(X[i].astype(np.float64), alpha, clip) == scores[i]


def test_a_sum_beyond_the_largest_number_is_the_same_for_many_rows():
    root_only = {name: [0] for name in FIELDS} | {"feature": [-1], "levels": [[]]}
    trees = [root_only | {"value": [v]} for v in (1e308, -1e308, 1.0, -1e308)]
    forest, alpha = Forest(**arrays_of(trees)), np.full(4, 10.0)  # terms are infinite: inf - inf is clipped
    few = forest.decision(np.zeros((1, N_COLUMNS)), alpha, np.inf, 1)
    assert (forest.decision(np.zeros((40, N_COLUMNS)), alpha, np.inf, 1) == few[0]).all()


def test_a_first_prediction_may_come_from_several_threads_at_once(case):
    _, arrays, alpha = case
    X = random_values(np.random.default_rng(4), 300, np.float64)
    expected = Forest(**arrays).decision(X, alpha, np.inf, 1)
    for _ in range(20):
        forest = Forest(**arrays)
        with ThreadPoolExecutor(4) as threads:
            for scores in threads.map(lambda _, f=forest: f.decision(X, alpha, np.inf, 1), range(4)):
                np.testing.assert_array_equal(scores, expected)


@pytest.mark.parametrize(
    ("row", "error", "match"),
    [
        (np.zeros(5), ValueError, "^row: has 5 values, the model 6 columns"),
        (np.zeros((1, 6)), TypeError, "^row: must be 1-D, of float64"),
        (np.zeros(6, np.float32), TypeError, "^row: must be 1-D, of float64"),
        (np.array([0, 0, 0, -np.inf, 0, 0]), ValueError, "^row: holds infinity in column 3; replace it"),
    ],
)
def test_a_bad_row_is_named(case, row, error, match):
    _, arrays, alpha = case
    with pytest.raises(error, match=match):
        Forest(**arrays).score(row, alpha, np.inf)


def test_a_tree_by_hand():
    forest = Forest(
        2,
        np.array([0, 5]),
        np.array([0, -1, 1, -1, -1], np.int32),
        np.array([0.5, 0, 0, 0, 0]),
        np.array([1, 0, 3, 0, 0], np.int32),
        np.array([2, 0, 4, 0, 0], np.int32),
        np.array([0.0, 1, 0, 2, 3]),
        np.array([True, False, False, False, False]),
        np.array([False, False, True, False, False]),
        np.array([1, 70], np.int32),
        np.array([0, 0, 0, 2, 2, 2]),
    )
    nan = np.nan
    X = [[0.5, 1], [nan, nan], [0.6, 0], [0.6, 1], [0.6, 70], [0.6, 71], [0.6, nan], [0.6, -1], [0.6, 0.5]]
    assert forest.apply(np.array(X), 1)[:, 0].tolist() == [1, 1, 3, 4, 4, 3, 4, 4, 4]
    assert forest.decision(np.array(X), np.array([2.0]), np.inf, 1).tolist() == [2, 2, 4, 6, 6, 4, 6, 6, 6]
    assert (forest.n_columns, forest.n_trees) == (2, 1)


def test_the_clipped_sum_is_clipped_after_every_tree():
    root_only = {name: [0] for name in FIELDS} | {"feature": [-1], "levels": [[]]}
    trees = [root_only | {"value": [v]} for v in (3.0, -1.0, -5.0)]
    forest = Forest(**arrays_of(trees))
    X, alpha = np.zeros((1, N_COLUMNS)), np.ones(3)
    assert forest.staged(X, alpha, 2.0, 1).ravel().tolist() == [2.0, 1.0, -2.0]
    assert forest.staged(X, alpha, np.inf, 1).ravel().tolist() == [3.0, 2.0, -3.0]


def test_no_tree_scores_zero():
    forest = Forest(**arrays_of([]))
    assert forest.decision(np.zeros((3, N_COLUMNS)), np.empty(0), np.inf, 2).tolist() == [0, 0, 0]
    assert forest.apply(np.zeros((3, N_COLUMNS)), 2).shape == (3, 0)


def test_a_deep_tree_reaches_its_last_leaf():
    n = 2000  # a chain: node 2k splits at k
    feature = np.full(2 * n + 1, -1, np.int32)
    left, right = np.zeros(2 * n + 1, np.int32), np.zeros(2 * n + 1, np.int32)
    feature[0 : 2 * n : 2] = 0
    left[0 : 2 * n : 2], right[0 : 2 * n : 2] = np.arange(1, 2 * n, 2), np.arange(2, 2 * n + 1, 2)
    no = np.zeros(2 * n + 1, bool)
    numbers = np.arange(2 * n + 1.0)
    none = (np.empty(0, np.int32), np.zeros(2 * n + 2, np.int64))
    forest = Forest(1, np.array([0, 2 * n + 1]), feature, numbers / 2, left, right, numbers, no, no, *none)
    leaves = forest.apply(np.array([[-1.0], [0.0], [n - 1.0], [n + 5.0], [np.nan]]), 1)[:, 0]
    assert leaves.tolist() == [1, 1, 2 * n - 1, 2 * n, 2 * n]


# ---- the border ----------------------------------------------------------------------------------


def two_trees():
    """A split with two leaves on column 0, then one by levels on column 2."""
    split = {name: [0, 0, 0] for name in FIELDS} | {"levels": [[], [], []]}
    split |= {"feature": [0, -1, -1], "left": [1, 0, 0], "right": [2, 0, 0]}
    levels = split | {"feature": [2, -1, -1], "is_categorical": [1, 0, 0], "levels": [[1, 4], [], []]}
    return arrays_of([split, levels])


def changed(name, index, value):
    array = two_trees()[name].copy()
    array[index] = value
    return array


@pytest.mark.parametrize(
    ("name", "bad", "error", "match"),
    [
        ("n_columns", -1, ValueError, r"^n_columns: must be in 0\.\.2147483647, got -1"),
        ("n_columns", 2, ValueError, r"^feature\[3\]: must be a column or -1, got 2"),
        ("n_columns", 2.0, TypeError, "^n_columns: must be an int"),
        ("n_columns", 2**31 - 1, ValueError, r"^n_columns: more than 2\^30 columns"),
        ("tree_start", np.empty(0, np.int64), ValueError, r"^tree_start: must have n_trees \+ 1 entries"),
        ("tree_start", np.array([0, 3, 3, 6]), ValueError, "^tree_start: a tree has no node"),
        ("tree_start", changed("tree_start", 0, 1), ValueError, r"^tree_start\[0\]: must be 0"),
        ("tree_start", changed("tree_start", 1, 7), ValueError, r"^tree_start\[2\]: offsets must not fall"),
        (
            "tree_start",
            changed("tree_start", 2, 5),
            ValueError,
            r"^tree_start\[2\]: the last offset must be 6",
        ),
        (
            "tree_start",
            changed("tree_start", 1, 2),
            ValueError,
            r"^right\[0\]: a child must be inside its tree",
        ),
        (
            "tree_start",
            np.array([0.0, 3, 6]),
            TypeError,
            "^tree_start: must be a contiguous 1-D array of int64",
        ),
        ("feature", changed("feature", 0, -2), ValueError, r"^feature\[0\]: must be a column or -1, got -2"),
        ("feature", changed("feature", 0, 6), ValueError, r"^feature\[0\]: must be a column or -1, got 6"),
        ("feature", changed("feature", 0, -1), ValueError, r"^left\[1\]: no node has this one as a child"),
        ("feature", np.zeros(6, np.int64), TypeError, "^feature: must be a contiguous 1-D array of int32"),
        ("feature", np.zeros(5, np.int32), ValueError, "^tree_start"),
        ("threshold", changed("threshold", 0, np.nan), ValueError, r"^threshold\[0\]: must be finite"),
        ("threshold", changed("threshold", 0, np.inf), ValueError, r"^threshold\[0\]: must be finite"),
        ("threshold", np.zeros(5), ValueError, "^threshold: has 5 entries, expected 6"),
        (
            "threshold",
            np.zeros(6, np.float32),
            TypeError,
            "^threshold: must be a contiguous 1-D array of float64",
        ),
        (
            "left",
            changed("left", 0, 0),
            ValueError,
            r"^left\[0\]: a child must be inside its tree and larger than",
        ),
        ("left", changed("left", 0, -1), ValueError, r"^left\[0\]: .*, got -1"),
        ("left", changed("left", 0, 3), ValueError, r"^left\[0\]: .*, got 3"),
        ("left", changed("left", 3, 2), ValueError, r"^right\[3\]: node 2 has two parents"),
        ("left", np.zeros(7, np.int32), ValueError, "^left: has 7 entries, expected 6"),
        ("right", changed("right", 0, 2**31 - 1), ValueError, r"^right\[0\]: .*, got 2147483647"),
        ("right", changed("right", 0, 1), ValueError, r"^right\[0\]: node 1 has two parents"),
        ("right", np.zeros(6), TypeError, "^right: must be a contiguous 1-D array of int32"),
        ("value", changed("value", 1, np.nan), ValueError, r"^value\[1\]: must be finite"),
        ("value", np.zeros(0), ValueError, "^value: has 0 entries, expected 6"),
        (
            "missing_left",
            np.zeros(6, np.int8),
            TypeError,
            "^missing_left: must be a contiguous 1-D array of bool",
        ),
        ("missing_left", np.zeros(5, bool), ValueError, "^missing_left: has 5 entries, expected 6"),
        ("is_categorical", np.zeros(7, bool), ValueError, "^is_categorical: has 7 entries, expected 6"),
        ("is_categorical", None, TypeError, "^is_categorical: must be a contiguous 1-D array of bool"),
        ("categories", np.array([-1, 4], np.int32), ValueError, r"^categories\[0\]: must be >= 0"),
        ("categories", np.array([4, 4], np.int32), ValueError, r"^categories\[1\]: must rise inside a node"),
        ("categories", np.zeros(1, np.int32), ValueError, r"^category_start\[6\]: the last offset must be 1"),
        (
            "categories",
            np.zeros(4, np.int32)[::2],
            TypeError,
            "^categories: must be a contiguous 1-D array of int32",
        ),
        ("category_start", changed("category_start", 0, 1), ValueError, r"^category_start\[0\]: must be 0"),
        (
            "category_start",
            changed("category_start", 2, 3),
            ValueError,
            r"^category_start\[3\]: offsets must not fall",
        ),
        ("category_start", np.zeros(6, np.int64), ValueError, "^category_start: has 6 entries, expected 7"),
        (
            "category_start",
            np.zeros(7, np.int32),
            TypeError,
            "^category_start: must be a contiguous 1-D array of int64",
        ),
    ],
)
def test_the_forest_names_the_bad_array(name, bad, error, match):
    with pytest.raises(error, match=match):
        Forest(**{**two_trees(), name: bad})


X6, ALPHA = np.zeros((2, N_COLUMNS)), np.ones(2)


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ((X6[:, :5], ALPHA, np.inf, 1), ValueError, "^X: has 5 columns, the forest 6"),
        ((X6.astype(int), ALPHA, np.inf, 1), TypeError, "^X: must be a 2-D array of float32 or float64"),
        ((X6[0], ALPHA, np.inf, 1), TypeError, "^X: must be a 2-D array of float32 or float64"),
        ((X6, ALPHA[:1], np.inf, 1), ValueError, "^alpha: has 1 entries, expected 2"),
        ((X6, ALPHA * np.nan, np.inf, 1), ValueError, "^alpha: must be finite, tree 0"),
        (
            (X6, ALPHA.astype(np.float32), np.inf, 1),
            TypeError,
            "^alpha: must be a contiguous 1-D array of float64",
        ),
        ((X6, ALPHA, 0.0, 1), ValueError, r"^clip: must be > 0 \(inf: none\)"),
        ((X6, ALPHA, np.nan, 1), ValueError, r"^clip: must be > 0"),
        ((X6, ALPHA, None, 1), TypeError, "^clip: must be a float"),
        ((X6, ALPHA, np.inf, 0), ValueError, r"^n_threads: must be in 1\.\.1024, got 0"),
        ((X6, ALPHA, np.inf, "1"), TypeError, "^n_threads: must be an int"),
    ],
)
def test_scoring_names_the_bad_argument(arguments, error, match):
    forest = Forest(**two_trees())
    for method in (forest.decision, forest.staged):
        with pytest.raises(error, match=match):
            method(*arguments)


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ((X6[:, :5], 1), ValueError, "^X: has 5 columns, the forest 6"),
        ((None, 1), TypeError, "^X: must be a 2-D array of float32 or float64"),
        ((X6, -1), ValueError, r"^n_threads: must be in 1\.\.1024, got -1"),
    ],
)
def test_apply_names_the_bad_argument(arguments, error, match):
    with pytest.raises(error, match=match):
        Forest(**two_trees()).apply(*arguments)


def test_one_level_of_two_billion_costs_no_memory():
    arrays = two_trees()
    arrays["categories"] = np.array([1, 2**31 - 1], np.int32)
    X = np.zeros((4, N_COLUMNS))
    X[:, 2] = [1, 2**31 - 1, 2**31 - 2, 2**31]
    assert Forest(**arrays).apply(X, 1)[:, 1].tolist() == [2, 2, 1, 2]


@pytest.mark.parametrize("name", ["missing_left", "is_categorical"])
def test_a_byte_that_is_no_truth_value_is_refused(name):
    arrays = {
        "tree_start": np.array([0, 1]),
        "feature": np.array([-1], np.int32),
        "threshold": np.zeros(1),
        "left": np.array([-1], np.int32),
        "right": np.array([-1], np.int32),
        "value": np.ones(1),
        "missing_left": np.zeros(1, bool),
        "is_categorical": np.zeros(1, bool),
        "categories": np.empty(0, np.int32),
        "category_start": np.zeros(2, np.int64),
    }
    arrays[name] = np.array([8], np.uint8).view(bool)  # as a damaged file may hold
    with pytest.raises(ValueError, match="entries must be 0 or 1"):
        Forest(1, *arrays.values())
