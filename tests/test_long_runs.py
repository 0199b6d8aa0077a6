# SPDX-License-Identifier: Apache-2.0
"""A thousand rounds on real data with a fifth of the labels flipped: nothing drifts, overflows or warns."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from tadaboost import TAdaBoostClassifier, paper_settings

QSAR = Path(__file__).parents[2] / "shared" / "data" / "uci" / "qsar.csv"
ROUNDS = 1000
TS = [0.0, 0.5, 0.9, 1.0, 1.1]


@pytest.fixture(scope="module")
def noisy():
    """1055 molecules in 41 numeric columns where they are there, else 569 tumours in 30."""
    if QSAR.exists():
        rows = np.genfromtxt(QSAR, delimiter=",", skip_header=1, dtype=str)
        X, y = rows[:, :-1].astype(float), np.unique(rows[:, -1], return_inverse=True)[1]
    else:
        X, y = load_breast_cancer(return_X_y=True)
    return X, np.where(np.random.default_rng(0).random(len(y)) < 0.2, 1 - y, y)


def fitted(noisy, **rules):
    model = TAdaBoostClassifier(**{"n_estimators": ROUNDS, "record_weights": True} | rules)
    X, y = noisy
    return model.fit(X, y)


def check(model, X):
    rounds, p = model.rounds_, model.weights_
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=0, atol=1e-12)
    # `weights_` are normalised by their own sum, the extremes by the loss that the rounds carry along.
    np.testing.assert_allclose(rounds["codensity_max"], p[1:].max(axis=1), rtol=1e-12)
    np.testing.assert_allclose(rounds["codensity_min"], p[1:].min(axis=1), rtol=1e-12, atol=1e-300)
    for name in set(rounds.dtype.names) - {"bound", "val_loss"}:
        assert np.all(np.isfinite(rounds[name])), name
    assert np.all(rounds["n_nonfinite"] == 0)
    score, share = model.decision_function(X), model.predict_proba(X)
    assert np.all(np.isfinite(score))
    assert np.all((share >= 0) & (share <= 1))


@pytest.mark.slow
@pytest.mark.parametrize("t", TS)
def test_a_thousand_closed_steps_stay_on_the_co_simplex_and_below_the_bound(noisy, t):
    model = fitted(noisy, **paper_settings(t) | {"n_estimators": ROUNDS, "max_bins": 255})
    assert model.stop_reason_ in (
        "n_estimators",
        "no split",
    )  # a tree without pure leaves may run out of splits
    assert model.n_iter_ > 100
    check(model, noisy[0])
    rounds = model.rounds_
    assert np.all(rounds["n_off"] == 0)
    assert np.all(np.abs(rounds["rho"]) < 1)
    assert np.all(rounds["loss"] <= rounds["bound"] * (1 + 1e-12))
    assert np.all(rounds["train_error"] <= rounds["loss"] * (1 + 1e-12))
    np.testing.assert_allclose(np.cumprod(rounds["Z"] ** (2 - t)), rounds["loss"], rtol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("t", TS)
def test_a_thousand_unit_steps_stay_on_the_co_simplex_and_below_the_loss(noisy, t):
    model = fitted(noisy, t=t)
    assert (model.n_iter_, model.stop_reason_) == (ROUNDS, "n_estimators")
    check(model, noisy[0])
    rounds = model.rounds_
    np.testing.assert_array_equal(rounds["bound"], rounds["loss"])
    assert np.all(rounds["train_error"] <= rounds["bound"] * (1 + 1e-12))


@pytest.mark.slow
@pytest.mark.parametrize("t", [0.5, 1.1])
def test_a_thousand_clipped_rounds_are_certified_up_to_1_and_not_above(noisy, t):
    model = fitted(noisy, **paper_settings(t, clip=True) | {"n_estimators": ROUNDS, "max_bins": 255})
    check(model, noisy[0])
    rounds = model.rounds_
    assert np.all(np.abs(model.decision_function(noisy[0])) <= 1 / abs(1 - t))
    if t > 1:
        assert np.all(np.isnan(rounds["bound"]))
    else:
        assert np.all(rounds["train_error"] <= rounds["bound"] * (1 + 1e-12))
