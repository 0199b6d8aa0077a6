# SPDX-License-Identifier: Apache-2.0
"""The compiled path equals the plain Python oracle, numbers to 1e-10; threads and row order change no bit."""

import math
from typing import NamedTuple

import numpy as np
import pytest

from tadaboost import TAdaBoostClassifier

from . import naive
from .pairs import pairs

TS = [-1.0, 0.0, 0.5, 0.9, 1.0, 1.1]
PAPER = {"growth": "heaviest", "allow_pure_leaves": False, "cat_smoothing": 0.0}


class Data(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    w: np.ndarray | None
    categorical: list[int]


def dataset(kind, n=80, seed=0):
    """Small data of one kind; labels follow every column, with noise."""
    rng = np.random.default_rng(seed)
    columns = [rng.normal(size=n), np.round(rng.normal(size=n), 1), rng.integers(0, 4, n)]
    signal = columns[0] + columns[1] + (columns[2] == 1)
    categorical, w = [], None
    if kind in ("few levels", "everything"):
        columns.append(rng.integers(0, 5, n))
        signal = signal + 2 * (columns[-1] % 2)
        categorical.append(len(columns) - 1)
    if kind in ("many levels", "everything"):
        columns.append(rng.permutation(np.arange(n) % 13))
        signal = signal + 2 * (columns[-1] % 3 == 0)
        categorical.append(len(columns) - 1)
    X = np.column_stack(columns).astype(np.float64)
    y = np.where(signal + rng.normal(size=n) > np.median(signal), 1, -1)
    if kind in ("missing", "everything"):
        hidden = rng.random(X.shape) < [0.3] * (X.shape[1] - 1) + [0.1]
        hidden[:, 1] = y > rng.normal(size=n)  # what is missing tells about the label
        hidden[:, 2] = False
        X[hidden] = np.nan
    if kind == "whole weights":
        w = rng.integers(0, 4, n).astype(np.float64)
    if kind in ("fractional weights", "everything"):
        w = rng.gamma(2.0, 0.7, n)
        w[:3] = 0.0
    return Data(X, y, w, categorical)


PARAMETER = {"direction": "monotonic_cst", "groups": "interaction_cst", "seed": "random_state"}


def fit(data, t, **parameters):
    # min_samples_leaf of naive counts multiplicity in floats: an odd limit keeps sums of gammas off it.
    settings = {"n_estimators": 3, "learning_rate": 0.3, "min_samples_leaf": 3, **parameters}
    ours = {PARAMETER.get(name, name): value for name, value in settings.items()}
    model = TAdaBoostClassifier(t, categorical_features=data.categorical or None, n_jobs=1, **ours)
    model.fit(data.X, data.y, sample_weight=data.w)
    w = None if data.w is None else data.w.tolist()
    rounds = naive.boost(data.X.tolist(), data.y.tolist(), t, w=w, categorical=data.categorical, **settings)
    return model, rounds


def close(got, want):
    return got == want or abs(got - want) <= 1e-10 * (1 + abs(want))


def assert_same_tree(tree, nodes):
    assert tree.feature.tolist() == [k["feature"] for k in nodes]
    for i, node in enumerate(nodes):
        assert close(tree.mass[i], node["mass"])
        if node["feature"] < 0:
            assert close(tree.value[i], node["value"]), (i, tree.value[i], node["value"])
            continue
        assert (tree.left[i], tree.right[i]) == (node["left"], node["right"])
        assert tree.missing_left[i] == node["missing_left"]
        assert close(tree.gain[i], node["gain"])
        assert tree.is_categorical[i] == (node["categories"] is not None)
        right = tree.categories[tree.category_start[i] : tree.category_start[i + 1]]
        assert right.tolist() == (node["categories"] or [])
        if node["categories"] is None:
            assert tree.threshold[i] == node["threshold"]


def score(rounds, row):
    """H of a row: the walk of the oracle's trees."""
    total = 0.0
    for r in rounds:
        node = r["nodes"][0]
        while node["feature"] >= 0:
            node = r["nodes"][node["left"] if naive.goes_left(node, row) else node["right"]]
        total += r["alpha"] * node["value"]
    return total


def assert_same_model(model, rounds, rows):
    assert len(model.trees_) == len(rounds)
    for j, r in enumerate(rounds):
        assert_same_tree(model.trees_[j], r["nodes"])
        assert close(model.estimator_weights_[j], r["alpha"])
        if len(r["nodes"]) > 1:
            assert close(model.rounds_["rho"][j], r["rho"])
        assert close(model.rounds_["loss"][j], r["loss"])
    assert model.stop_reason_ == rounds[-1]["stop"]
    want = [score(rounds, row) for row in rows.tolist()]
    np.testing.assert_allclose(model.decision_function(rows), want, rtol=1e-9, atol=1e-9)


SMALL = {"min_samples_leaf": 0, "leaf_ridge": 0.0}


@pytest.mark.parametrize(
    ("t", "leaf_values", "leveraging", "growth"),
    pairs(TS, ["exact", "theorem_a", "canonical"], ["unit", "closed", "exact"], ["best", "heaviest"]),
)
def test_every_rule_equals_the_oracle(t, leaf_values, leveraging, growth):
    data = dataset("everything")
    # Pure leaves of the closed values are infinite, or nearly; they have a test of their own.
    pure = leaf_values == "exact" and growth == "best"
    rules = {
        "leaf_values": leaf_values,
        "leveraging": leveraging,
        "growth": growth,
        "allow_pure_leaves": pure,
    }
    model, rounds = fit(data, t, **rules)
    assert_same_model(model, rounds, data.X)


PLAIN = {
    "defaults": {},
    "paper": {**PAPER, "leaf_values": "theorem_a", "leveraging": "closed", "learning_rate": 1.0},
}
KINDS = ["numeric", "few levels", "many levels", "missing", "whole weights", "fractional weights"]


@pytest.mark.parametrize(("t", "kind", "rules"), pairs(TS, KINDS, list(PLAIN)))
def test_every_kind_of_data_equals_the_oracle(t, kind, rules):
    data = dataset(kind, seed=1)
    model, rounds = fit(data, t, **PLAIN[rules])
    unseen = dataset(kind, seed=2).X
    unseen[::7] = np.nan  # missing where training may have had none
    assert_same_model(model, rounds, np.vstack([data.X, unseen]))


@pytest.mark.parametrize("t", [-1.0, 0.5, 1.0, 1.1])
@pytest.mark.parametrize(
    "limits",
    [
        {"max_leaf_nodes": None, "max_depth": 3},
        {"max_leaf_nodes": 20, "min_samples_leaf": 0},
        {"max_leaf_nodes": 6, "min_leaf_mass": 0.15},
        {"leaf_ridge": 0.0, "allow_pure_leaves": False},
        {"leaf_ridge": 50.0, "learning_rate": 1.0},
        {"cat_smoothing": 0.0},
        {"cat_smoothing": 1.5, "allow_pure_leaves": False, "min_samples_leaf": 0, "max_leaf_nodes": 12},
        {"cat_smoothing": 1e9, "growth": "heaviest"},
    ],
    ids=str,
)
def test_every_limit_equals_the_oracle(t, limits):
    data = dataset("everything", seed=3)
    model, rounds = fit(data, t, **limits)
    assert_same_model(model, rounds, data.X)


def test_a_leaf_with_one_very_heavy_row_equals_the_oracle():
    """e^4 among weights near 1, t = 1.6: where a weight is nearly infinite, a step of Newton is small."""
    data = dataset("fractional weights", n=100, seed=225)
    limits = {"max_leaf_nodes": 5, "max_depth": 2, "min_samples_leaf": 1, "allow_pure_leaves": False}
    model, rounds = fit(data, 1.6, leveraging="exact", learning_rate=1.0, leaf_ridge=0.5, **limits)
    assert_same_model(model, rounds, data.X)


# For the columns of "everything": numeric, numeric with telling gaps, whole numbers, 5 levels, 13 levels.
DIRECTIONS = [[1, -1, 1, 0, 0], [-1, 0, 0, 0, 0]]
STEPS = {
    "exact unit": {"n_estimators": 5, "leaf_ridge": 0.1},
    "theorem_a closed": {
        "leaf_values": "theorem_a",
        "leveraging": "closed",
        "allow_pure_leaves": False,
        "learning_rate": 1.0,
    },
    "canonical exact": {
        "leaf_values": "canonical",
        "leveraging": "exact",
        "allow_pure_leaves": False,
        "growth": "heaviest",
    },
}


@pytest.mark.parametrize(
    ("t", "direction", "steps"), pairs([-1.0, 0.5, 0.9, 1.0, 1.1], DIRECTIONS, list(STEPS)), ids=str
)
def test_constrained_trees_equal_the_oracle(t, direction, steps):
    data = dataset("everything", n=90, seed=9)
    model, rounds = fit(data, t, direction=direction, **STEPS[steps])
    assert_same_model(model, rounds, data.X)


@pytest.mark.parametrize("t", [0.0, 1.0, 1.1])
@pytest.mark.parametrize("groups", [[{0, 1}, {1, 2, 4}, {3}], [{0}, {1}, {2}, {3}, {4}]], ids=str)
def test_groups_of_columns_equal_the_oracle(t, groups):
    data = dataset("everything", n=120, seed=10)
    model, rounds = fit(data, t, groups=groups, max_leaf_nodes=12)
    assert_same_model(model, rounds, data.X)
    free, _ = fit(data, t, max_leaf_nodes=12)
    assert any(
        a.feature.tolist() != b.feature.tolist() for a, b in zip(model.trees_, free.trees_, strict=True)
    )


DRAWS = {
    "rows": {"subsample": 0.5, "seed": 3},
    "columns": {"colsample": 0.5, "seed": 2**32 - 1},
    "both": {"subsample": 0.7, "colsample": 0.3, "leveraging": "exact", "growth": "heaviest", "seed": 0},
    "constrained": {
        "subsample": 0.8,
        "colsample": 0.7,
        "direction": [1, 1, 0, 0, 0],
        "groups": [{0, 1, 3, 4}, {1, 2}],
        "seed": 1,
    },
    "few": {"subsample": 0.03, "colsample": 0.01, "n_estimators": 8, "seed": 0},  # draws without a split
}


@pytest.mark.parametrize(
    ("t", "kind", "draws"), pairs([0.0, 1.0, 1.1], ["everything", "whole weights", "numeric"], list(DRAWS))
)
def test_draws_equal_the_oracle(t, kind, draws):
    data = dataset(kind, seed=11)
    n_columns = data.X.shape[1]
    settings = dict(DRAWS[draws])
    if "direction" in settings:
        settings["direction"] = settings["direction"][:n_columns]
        settings["groups"] = [{c for c in group if c < n_columns} for group in settings["groups"]]
    model, rounds = fit(data, t, **settings)
    assert_same_model(model, rounds, data.X)


@pytest.mark.parametrize(
    ("t", "leveraging", "leaf_values"),
    pairs([-1.0, 0.5, 0.9, 1.0, 1.1], ["unit", "closed", "exact"], ["exact", "theorem_a"]),
)
def test_pure_leaves_without_ridge_equal_the_oracle(t, leveraging, leaf_values):
    """At t >= 1 their values are capped; at t < 1 the rows of such a leaf may switch off."""
    data = dataset("numeric", seed=4)
    rules = {"leaf_values": leaf_values, "leveraging": leveraging, "leaf_ridge": 0.0, "min_samples_leaf": 1}
    # After a capped step weights span e^1000; the order-free sums of the core resolve 2^-62 of the largest.
    model, rounds = fit(data, t, n_estimators=2 if t < 1 else 1, **rules)
    assert_same_model(model, rounds, data.X)
    assert np.abs(model.decision_function(data.X)).max() <= (500.0 + 1e-9 if t >= 1 else math.inf)


@pytest.mark.parametrize(
    ("X", "y", "settings"),
    [
        ([[1.0], [2.0], [3.0]], [1, -1, 1], {"min_samples_leaf": 2}),  # no admissible split
        ([[1.0], [1.0], [1.0]], [1, 1, -1], {"min_samples_leaf": 0}),  # a constant column
        ([[math.nan], [math.nan], [1.0]], [1, 1, -1], {"min_samples_leaf": 0}),  # missing against one value
        ([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [1, -1, -1, 1], {**PAPER, "min_samples_leaf": 0}),
        ([[0.0], [1.0]], [-1, 1], {**SMALL, "learning_rate": 1.0}),
        (
            [[0.0], [1.0], [2.0]],
            [-1, 1, -1],
            {"min_samples_leaf": 0, "leaf_ridge": 0.0, "leveraging": "exact"},
        ),
    ],
    ids=["small leaves", "constant", "only missing", "level xor", "perfect", "perfect exact"],
)
@pytest.mark.parametrize("t", [0.0, 0.5, 1.0, 1.1])
def test_edge_cases_equal_the_oracle(t, X, y, settings):
    data = Data(np.array(X), np.array(y), None, [])
    model, rounds = fit(data, t, **settings)
    assert_same_model(model, rounds, data.X)


def test_thresholds_of_adjacent_and_huge_numbers_equal_the_oracle():
    next_up = math.nextafter(1.0, 2.0)
    column = [1.0, next_up, math.nextafter(next_up, 2.0), 1.6e308, 1.7e308, -1.7e308, -0.0, 0.0, 5e-324]
    data = Data(np.array([[x] for x in column]), np.array([1, -1, 1, -1, 1, -1, 1, 1, -1]), None, [])
    model, rounds = fit(data, 0.5, min_samples_leaf=0, max_leaf_nodes=None)
    assert_same_model(model, rounds, data.X)


def identical(a, b):
    """The same model, bit for bit."""
    same_trees = all(
        np.array_equal(f, g, equal_nan=f.dtype.kind == "f")
        for one, two in zip(a.trees_, b.trees_, strict=True)
        for f, g in zip(one, two, strict=True)
    )
    names = a.rounds_.dtype.names
    same_rounds = all(np.array_equal(a.rounds_[n], b.rounds_[n], equal_nan=True) for n in names)
    return same_trees and same_rounds and np.array_equal(a.estimator_weights_, b.estimator_weights_)


@pytest.fixture(scope="module")
def large():
    data = dataset("everything", n=8000, seed=5)
    wide = np.hstack([data.X, np.random.default_rng(6).normal(size=(8000, 6)).astype(np.float32)])
    return data._replace(X=wide)


@pytest.mark.parametrize(
    ("t", "leveraging"), [(0.0, "unit"), (0.5, "exact"), (0.9, "unit"), (1.0, "exact"), (1.1, "unit")]
)
def test_threads_and_the_order_of_rows_change_no_bit(large, t, leveraging):
    X, y, w, categorical = large
    settings = {"n_estimators": 4, "leveraging": leveraging, "categorical_features": categorical}
    one = TAdaBoostClassifier(t, n_jobs=1, **settings).fit(X, y, sample_weight=w)
    two = TAdaBoostClassifier(t, n_jobs=2, **settings).fit(X, y, sample_weight=w)
    assert identical(one, two)
    order = np.random.default_rng(7).permutation(len(y))
    permuted = TAdaBoostClassifier(t, n_jobs=2, **settings).fit(X[order], y[order], sample_weight=w[order])
    assert identical(one, permuted)


@pytest.mark.parametrize("t", [0.0, 0.9, 1.1])
@pytest.mark.parametrize("leaf_values", ["exact", "theorem_a", "canonical"])
def test_a_whole_weight_is_a_repetition_to_the_bit(t, leaf_values):
    X, y, w, categorical = dataset("whole weights", n=400, seed=8)
    settings = {"n_estimators": 4, "leaf_values": leaf_values, "categorical_features": categorical or None}
    weighted = TAdaBoostClassifier(t, **settings).fit(X, y, sample_weight=w)
    times = w.astype(int)
    repeated = TAdaBoostClassifier(t, **settings).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    for one, two in zip(weighted.trees_, repeated.trees_, strict=True):
        assert np.array_equal(one.feature, two.feature)
        assert np.array_equal(one.threshold, two.threshold, equal_nan=True)
        np.testing.assert_allclose(one.value, two.value, rtol=1e-12)
