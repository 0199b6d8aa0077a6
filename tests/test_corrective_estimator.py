# SPDX-License-Identifier: Apache-2.0
"""Totally corrective steps and margins of the estimator: `leveraging="corrective"` and `margin=`."""

import numpy as np
import pytest
from sklearn.linear_model import RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from tadaboost import TAdaBoostClassifier, TemperedTreeClassifier
from tadaboost.boosting import boost
from tadaboost.generic import output
from tadaboost.losses import tempered_exp_loss

STUMP = DecisionTreeClassifier(max_depth=1, random_state=0)


@pytest.fixture(scope="module")
def X_y():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    return X, (X[:, 0] + X[:, 1] ** 2 + rng.normal(size=150) > 0.8).astype(int)


def fit(X, y, estimator, **settings):
    settings = {"leveraging": "corrective", "learning_rate": 1.0, "n_estimators": 8, **settings}
    return TAdaBoostClassifier(estimator=estimator, record_weights=True, random_state=0, **settings).fit(X, y)


@pytest.mark.parametrize("margin", [0.0, 0.03])
@pytest.mark.parametrize("t", [0.0, 0.5, 1.0])
@pytest.mark.parametrize(
    "estimator", [STUMP, RidgeClassifier(alpha=10.0), TemperedTreeClassifier(max_leaf_nodes=3)]
)
def test_the_rounds_of_the_estimator_are_those_of_boost(X_y, estimator, t, margin):
    X, y = X_y
    model = fit(X, y, estimator, t=t, margin=margin)
    H = np.array([output(learner, X) for learner in model.estimators_])
    run = boost(H, 2 * y - 1, t, None, "corrective", margin)
    np.testing.assert_allclose(model.estimator_weights_, run.alpha, rtol=1e-9, atol=1e-12)
    for name in ("rho", "mu", "Z", "loss", "bound"):
        np.testing.assert_allclose(model.rounds_[name], getattr(run, name), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.weights_[1:], run.p, rtol=1e-8, atol=1e-13)
    np.testing.assert_allclose(model.decision_function(X), run.score, rtol=1e-9, atol=1e-11)
    assert model.rounds_["train_error"][-1] == pytest.approx(1 - model.score(X, y))
    assert np.all(model.rounds_["train_error"] <= model.rounds_["loss"] + 1e-12)


def test_single_steps_take_a_margin_too(X_y):
    X, y = X_y
    model = fit(X, y, STUMP, leveraging="exact", margin=0.05)
    H = np.array([output(learner, X) for learner in model.estimators_])
    np.testing.assert_allclose(model.estimator_weights_, boost(H, 2 * y - 1, 0.5, None, "exact", 0.05).alpha)
    far = fit(X, y, STUMP, leveraging="exact", margin=0.9)
    assert (far.stop_reason_, far.n_iter_) == ("edge zero", 1)  # no stump has that edge: the prior is left


def test_a_learner_that_repeats_itself_ends_the_run(X_y):
    X, y = X_y
    model = fit(X[:, :1], y, RidgeClassifier(alpha=1e6), n_estimators=50)  # scores a + b x, and no others
    assert model.stop_reason_ == "edge zero"
    assert model.n_iter_ < 5


def test_a_learning_rate_goes_part_of_the_way(X_y):
    X, y = X_y
    whole, half = (fit(X, y, STUMP, learning_rate=rate, n_estimators=1) for rate in (1.0, 0.5))
    assert half.estimator_weights_[0] == pytest.approx(0.5 * whole.estimator_weights_[0], rel=1e-12)
    model = fit(X, y, STUMP, learning_rate=0.3, n_estimators=30)
    assert np.all(np.diff(model.rounds_["loss"]) <= 1e-12)
    np.testing.assert_array_equal(model.rounds_["bound"], model.rounds_["loss"])
    charged = fit(X, y, STUMP, learning_rate=0.3, margin=0.05)
    margins = (2 * y - 1) * charged.decision_function(X) - 0.05 * np.sum(np.abs(charged.estimator_weights_))
    assert charged.rounds_["loss"][-1] == pytest.approx(np.mean(tempered_exp_loss(margins, 0.5)), rel=1e-12)


@pytest.mark.parametrize("t", [0.0, 0.5, 1.0])
def test_rows_that_are_separated_end_the_run_with_finite_scores(X_y, t):
    X, y = X_y
    model = fit(X, y, TemperedTreeClassifier(max_leaf_nodes=12, min_samples_leaf=1), t=t, n_estimators=100)
    assert model.stop_reason_ == "perfect"
    assert model.score(X, y) == 1.0
    terms = model.estimator_weights_[:, None] * [output(learner, X) for learner in model.estimators_]
    assert np.all(np.abs(terms) <= 500.0 * (1 + 1e-12))
    assert (model.rounds_["n_nonfinite"][-1] > 0) == (t == 1.0)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_early_stopping_judges_and_keeps_the_coefficients_of_each_round(n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.digitize(X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=200), [-0.4, 0.6][: n_classes - 1])
    train, given = (X[::2], y[::2]), {"X_val": X[1::2], "y_val": y[1::2]}
    settings = {"estimator": STUMP, "leveraging": "corrective", "learning_rate": 1.0, "random_state": 0}
    model = TAdaBoostClassifier(early_stopping=True, n_iter_no_change=3, **settings).fit(*train, **given)
    assert (model.stop_reason_, model.n_iter_ > 1) == ("early stopping", True)
    scored = model.classes_ if n_classes > 2 else model.classes_[1:]
    sign = np.where(y[1::2, None] == scored, 1, -1)
    losses = []
    for n in range(1, model.n_iter_ + 4):
        alone = TAdaBoostClassifier(n_estimators=n, **settings).fit(*train)
        score = alone.decision_function(X[1::2]).reshape(sign.shape)
        losses.append(tempered_exp_loss(sign * score, 0.5).mean(axis=0))
        if n == model.n_iter_:
            np.testing.assert_array_equal(model.estimator_weights_, alone.estimator_weights_)
    np.testing.assert_allclose(
        model.rounds_["val_loss"].reshape(-1, sign.shape[1]), losses[: model.n_iter_], rtol=1e-12
    )
    assert np.argmin(np.mean(losses, axis=1)) == model.n_iter_ - 1


def test_what_the_estimator_cannot_do_is_refused(X_y):
    X, y = X_y
    with pytest.raises(
        ValueError,
        match=r"^leveraging='corrective' needs estimator=, which may be a TemperedTreeClassifier\(\)$",
    ):
        fit(X, y, None)
    with pytest.raises(ValueError, match=r"^margin=0\.1 needs estimator="):
        fit(X, y, None, leveraging="unit", margin=0.1)
    with pytest.raises(
        ValueError, match=r"^clip=True clips in the order of the steps, which leveraging='corr"
    ):
        fit(X, y, STUMP, clip=True)
    with pytest.raises(ValueError, match=r"^leveraging='corrective' needs t in \[0, 1\], got t=1\.2$"):
        fit(X, y, STUMP, t=1.2)
    with pytest.raises(ValueError, match=r"The 'margin' parameter of TAdaBoostClassifier must be a float in"):
        fit(X, y, STUMP, margin=1.0)


@parametrize_with_checks(
    [TAdaBoostClassifier(estimator=GaussianNB(), n_estimators=4, leveraging="corrective", margin=0.01)]
)
def test_scikit_learn_checks_pass(estimator, check):
    check(estimator)
