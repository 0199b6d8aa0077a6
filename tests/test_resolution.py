# SPDX-License-Identifier: Apache-2.0
"""Histograms of fixed-point weights say what sums of doubles say, however many rows there are."""

import numpy as np
import pytest

from tadaboost import TAdaBoostClassifier

from .float_histograms import fit, gap_of_gains


@pytest.mark.parametrize(
    ("n", "t"), [(1000, 0.0), (10_000, 0.0), (10_000, 0.5), (10_000, 1.0), (100_000, 0.8)]
)
def test_fixed_point_and_float_histograms_give_models_of_equal_error(n, t):
    X = np.random.default_rng(n).standard_normal((2 * n, 6))
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * np.random.default_rng(0).standard_normal(2 * n) > 0
    model = TAdaBoostClassifier(t, n_estimators=20, learning_rate=0.5, n_jobs=1).fit(X[:n], y[:n])
    trees, wrong = model.trees_, model.predict(X[n:]) != y[n:]
    fit(model, X[:n], y[:n])
    n_alike, gap = gap_of_gains(trees, model.trees_)
    # A weight is rounded by half a unit, 2^-20 of the mean, while no weight is 2^10 times as large as that.
    assert gap < 2.0**-20
    assert n_alike >= 10  # splits that are equal but for rounding may part them
    apart = wrong.astype(float) - (model.predict(X[n:]) != y[n:])
    assert abs(apart.mean()) <= 3 * apart.std() / np.sqrt(n)
