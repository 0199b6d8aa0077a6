# SPDX-License-Identifier: Apache-2.0
"""What `cat_smoothing` does to the splits of categorical columns; the oracle has the same rule."""

import numpy as np
import pytest

from tadaboost import TAdaBoostClassifier, TemperedTreeClassifier, paper_settings

from .test_classifier import same


def table(n_levels, n=1200, seed=0):
    """A number that tells a little about the label, and a category that tells nothing."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=n), rng.integers(0, n_levels, n)])
    return X, X[:, 0] + 2.5 * rng.normal(size=n) > 0


def first_column(X, y, n_rounds=1, **settings):
    model = TAdaBoostClassifier(n_estimators=n_rounds, categorical_features=[1], n_jobs=1, **settings)
    return model.fit(X, y).trees_[-1].feature[0]


def test_many_levels_of_chance_do_not_win_over_a_number_that_tells():
    X, y = table(n_levels=250)
    assert first_column(X, y) == 0
    assert first_column(X, y, cat_smoothing=0) == 1


@pytest.mark.parametrize("n_levels", [4, 30])
def test_levels_of_many_rows_part_as_they_would_without(n_levels):
    """Their shares differ by more than 20 rows among 1,000 can move."""
    level = np.arange(1000 * n_levels) % n_levels
    y = (level * 7 % n_levels + 1) / (n_levels + 1) > np.arange(level.size) // n_levels / 1000
    X = level[:, None].astype(float)
    smooth, plain = (
        TAdaBoostClassifier(n_estimators=1, categorical_features=[0], cat_smoothing=k).fit(X, y)
        for k in (20, 0)
    )
    same(smooth, plain, X)


@pytest.mark.parametrize("n_levels", [5, 40])
def test_the_gain_is_that_of_the_rows_as_they_are(n_levels):
    """The level that sends its rows right alone: the gain is the fall of sqrt(p (1 - p)) at t = 1."""
    X, y = table(n_levels, n=300)
    settings = {"max_leaf_nodes": 2, "categorical_features": [0], "min_samples_leaf": 0}
    tree = TemperedTreeClassifier(1.0, cat_smoothing=50.0, **settings).fit(X[:, 1:], y).tree_
    right = np.isin(X[:, 1], tree.categories)
    risk = [np.sqrt(y[rows].mean() * (1 - y[rows].mean())) for rows in (right, ~right, y == y)]
    want = risk[2] - right.mean() * risk[0] - (1 - right.mean()) * risk[1]
    assert tree.gain[0] == pytest.approx(2 * want, rel=1e-9)


def test_weights_are_repetitions_under_smoothing():
    X, y = table(n_levels=60)
    times = np.random.default_rng(1).integers(0, 4, len(y))
    settings = {"n_estimators": 10, "categorical_features": [1], "n_jobs": 1}
    weighted = TAdaBoostClassifier(**settings).fit(X, y, sample_weight=times)
    repeated = TAdaBoostClassifier(**settings).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-12)
    for one, other in zip(weighted.trees_, repeated.trees_, strict=True):
        assert (one.feature.tolist(), one.categories.tolist()) == (
            other.feature.tolist(),
            other.categories.tolist(),
        )


def test_the_paper_and_a_single_tree_do_not_smooth():
    assert paper_settings(0.5)["cat_smoothing"] == 0
    assert TemperedTreeClassifier().cat_smoothing == 0
    assert TAdaBoostClassifier().cat_smoothing == 20


def test_smoothing_without_end_leaves_categories_out():
    X, y = table(n_levels=12)
    model = TAdaBoostClassifier(n_estimators=5, categorical_features=[1], cat_smoothing=1e300, n_jobs=1)
    assert not any(tree.is_categorical.any() for tree in model.fit(X, y).trees_)
