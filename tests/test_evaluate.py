# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold

from tadaboost.evaluate import cross_validate, log_loss_clip


class Remembering(DummyClassifier):
    """Predicts "b" for the rows whose only column is above 0; keeps what it was fitted to."""

    seen: list  # of (X, y, weights), a fit each

    def fit(self, X, y, sample_weight=None):
        self.seen.append((X, y, sample_weight))
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        high = np.where(X[:, 0] > 0, 0.9, 0.2)
        return np.column_stack([1 - high, high])

    def predict(self, X):
        return np.where(X[:, 0] > 0, "b", "a")

    def staged_predict(self, X):
        yield np.full(len(X), "a")
        yield self.predict(X)


@pytest.fixture
def make_model():
    class Fresh(Remembering):
        seen: list = []  # noqa: RUF012  # a new list for every test

    return Fresh


@pytest.fixture
def X_y():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1))
    return X, np.where(X[:, 0] + rng.normal(size=60) > 0, "b", "a")


def test_the_figures_are_means_over_folds_with_their_standard_errors(make_model, X_y):
    X, y = X_y
    estimate = cross_validate(make_model, X, y, folds=4, seed=7)
    by_hand = []
    for train, test in StratifiedKFold(4, shuffle=True, random_state=7).split(X, y):
        p = np.where(X[test, 0] > 0, 0.9, 0.2)
        assert log_loss_clip(len(train)) < 0.2  # nothing is clipped here
        by_hand.append(
            (np.mean((p > 0.5) != (y[test] == "b")), log_loss(y[test], p), roc_auc_score(y[test], p))
        )
    means, deviations = np.mean(by_hand, axis=0), np.std(by_hand, axis=0, ddof=1)
    for figure, mean, deviation in zip(
        (estimate.error, estimate.log_loss, estimate.auc), means, deviations, strict=True
    ):
        assert figure.mean == pytest.approx(mean, rel=1e-12)
        assert figure.se == pytest.approx(deviation / 2, rel=1e-12)


def test_each_row_is_predicted_once_by_a_model_that_did_not_see_it(make_model, X_y):
    X, y = X_y
    estimate = cross_validate(make_model, X, y, folds=3)
    assert estimate.proba.tolist() == np.where(X[:, 0] > 0, 0.9, 0.2).tolist()
    rows_seen = np.concatenate([fitted[0][:, 0] for fitted in make_model.seen])
    values, times = np.unique(rows_seen, return_counts=True)
    assert len(values) == 60
    assert set(times) == {2}


def test_weights_reach_the_fit_and_the_figures(make_model, X_y):
    X, y = X_y
    wrong = (X[:, 0] > 0) != (y == "b")
    estimate = cross_validate(make_model, X, y, sample_weight=np.where(wrong, 1e-9, 1.0), folds=3)
    assert estimate.error.mean < 1e-6
    assert all(len(fitted[2]) == len(fitted[1]) for fitted in make_model.seen)


def test_the_error_by_round_has_a_row_a_fold_and_ends_at_the_error(make_model, X_y):
    estimate = cross_validate(make_model, *X_y, folds=3)
    assert estimate.staged_error.shape == (3, 2)
    assert estimate.staged_error[:, 1].mean() == pytest.approx(estimate.error.mean)


def test_progress_is_told_once_a_fold(make_model, X_y):
    calls = []
    cross_validate(make_model, *X_y, folds=5, on_progress=lambda: calls.append(1))
    assert len(calls) == 5


def test_a_certain_and_wrong_model_has_a_finite_log_loss(X_y):
    X, y = X_y

    class Wrong(Remembering):
        seen: list = []  # noqa: RUF012

        def predict_proba(self, X):
            return np.column_stack([np.ones(len(X)), np.zeros(len(X))])

    estimate = cross_validate(Wrong, X, y, folds=2)
    share = np.mean(y == "b")
    assert estimate.log_loss.mean == pytest.approx(share * np.log(2 * 30 + 2), rel=0.05)


def test_more_than_two_classes_have_a_column_each_and_the_mean_area():
    X = np.linspace(0, 1, 90)[:, None]
    y = np.repeat(["a", "b", "c"], 30)

    class Three(Remembering):
        seen: list = []  # noqa: RUF012

        def predict_proba(self, X):
            return np.stack([0.7 - 0.6 * X[:, 0], np.full(len(X), 0.2), 0.1 + 0.6 * X[:, 0]], axis=1)

        def predict(self, X):
            return np.array(["a", "b", "c"])[self.predict_proba(X).argmax(axis=1)]

    estimate = cross_validate(Three, X, y, folds=3)
    assert estimate.proba.shape == (90, 3)
    assert estimate.auc.mean == pytest.approx((1.0 + 0.5 + 1.0) / 3)
    of_truth = Three().predict_proba(X)[np.arange(90), np.repeat([0, 1, 2], 30)]
    assert estimate.log_loss.mean == pytest.approx(-np.log(of_truth).mean())
    assert estimate.error.mean == pytest.approx(1 / 3, abs=0.05)


def test_a_class_with_fewer_rows_than_folds_is_named(make_model):
    y = np.array(["common"] * 20 + ["rare"] * 3)
    with pytest.raises(
        ValueError, match=r"^class 'rare' has 3 rows, fewer than the 10 folds; take fewer with --folds"
    ):
        cross_validate(make_model, np.zeros((23, 1)), y)


def test_one_class_only_is_refused(make_model):
    with pytest.raises(ValueError, match=r"^y has one class; an estimate needs two at least$"):
        cross_validate(make_model, np.zeros((9, 1)), np.zeros(9), folds=3)


def test_rows_are_meant_by_position_whatever_their_index(make_model, X_y):
    X, y = X_y
    weight = np.arange(1.0, len(y) + 1.0)
    index = np.random.default_rng(0).permutation(len(y))
    known = cross_validate(make_model, X, y, sample_weight=weight, folds=3)
    for make in (lambda values: pd.Series(values, index=index), list):
        found = cross_validate(make_model, X, make(y), sample_weight=make(weight), folds=3)
        assert found.as_dict() == known.as_dict()
        np.testing.assert_array_equal(found.proba, known.proba)


def test_the_estimate_becomes_plain_numbers(make_model, X_y):
    plain = cross_validate(make_model, *X_y, folds=2, seed=3).as_dict()
    assert plain["folds"] == 2
    assert plain["seed"] == 3
    assert set(plain["error"]) == {"mean", "se"}
    assert all(type(value) is float for value in plain["auc"].values())
