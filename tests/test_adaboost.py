# SPDX-License-Identifier: Apache-2.0
"""At t = 1 the compiled estimator is the AdaBoost of Schapire and Singer (1999) on real-valued trees."""

import math

import numpy as np
import pytest

from tadaboost import TAdaBoostClassifier, paper_settings

from .test_boosting import schapire_singer

ROUNDS = 200


@pytest.fixture(scope="module")
def noisy():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(400, 4))
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.7 * rng.normal(size=400) > 0, 1, -1)
    return X, y


def fitted(noisy, t):
    X, y = noisy
    rules = paper_settings(t) | {"n_estimators": ROUNDS, "max_leaf_nodes": 4}
    return TAdaBoostClassifier(**rules, record_weights=True).fit(X, y)


def outputs(model, X):
    """h_j(x_i), shape (rounds, rows)."""
    leaves = model.apply(X)
    return np.array([tree.value[leaves[:, j]] for j, tree in enumerate(model.trees_)])


def test_at_1_the_compiled_estimator_is_schapire_singer_adaboost_over_200_rounds(noisy):
    X, y = noisy
    model = fitted(noisy, 1.0)
    H = outputs(model, X)
    alpha, Z, D = schapire_singer(H, y)
    assert len(alpha) == ROUNDS
    np.testing.assert_allclose(model.estimator_weights_, alpha, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(model.rounds_["mu"], model.estimator_weights_)
    np.testing.assert_allclose(model.rounds_["Z"], Z, rtol=1e-12)
    np.testing.assert_allclose(model.weights_[1:], D, rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.rounds_["loss"], np.cumprod(Z), rtol=1e-12)
    np.testing.assert_allclose(model.decision_function(X), alpha @ H, rtol=0, atol=1e-12)


def test_at_1_a_leaf_is_half_the_log_odds_of_adaboosts_weights(noisy):
    X, y = noisy
    model = fitted(noisy, 1.0)
    leaves, D = model.apply(X), np.full(len(y), 1 / len(y))
    for j, tree in enumerate(model.trees_):
        h = tree.value[leaves[:, j]]
        for k in np.unique(leaves[:, j]):
            here = leaves[:, j] == k
            odds = D[here & (y == 1)].sum() / D[here & (y == -1)].sum()
            assert tree.value[k] == pytest.approx(math.log(odds) / 2, rel=1e-12, abs=1e-12)
        D = D * np.exp(-model.estimator_weights_[j] * y * h)
        D /= D.sum()


@pytest.mark.parametrize("t", [1 - 1e-12, 1 + 1e-12])
def test_next_to_1_the_compiled_estimator_joins_adaboost(noisy, t):
    X, _ = noisy
    at, near = fitted(noisy, 1.0), fitted(noisy, t)
    np.testing.assert_array_equal(near.apply(X), at.apply(X))
    np.testing.assert_allclose(near.estimator_weights_, at.estimator_weights_, rtol=0, atol=1e-10)
    np.testing.assert_allclose(near.weights_, at.weights_, rtol=0, atol=1e-10)
    np.testing.assert_allclose(near.rounds_["loss"], at.rounds_["loss"], rtol=1e-10)
    np.testing.assert_allclose(near.predict_proba(X), at.predict_proba(X), rtol=0, atol=1e-10)
