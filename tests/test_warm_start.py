# SPDX-License-Identifier: Apache-2.0
"""A second fit with more rounds is one longer fit, bit for bit."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

import tadaboost
from tadaboost import TAdaBoostClassifier, paper_settings

from .reports import AtEnd, ends_round, trees_of
from .reports import mixed_data as data

RULES = [
    {},
    {"t": 0.0, "clip": True, "leveraging": "closed", "leaf_values": "theorem_a", "learning_rate": 1.0},
    {"t": 1.0, "learning_rate": 1.0},
    {"t": 1.3, "leveraging": "exact", "leaf_values": "canonical"},
    {"t": -2.0, "max_bins": 7, "class_weight": "balanced"},
    {key: value for key, value in paper_settings(t=0.6).items() if key != "n_estimators"},
    {"early_stopping": True, "n_iter_no_change": 3, "random_state": 1},
    {"early_stopping": True, "n_iter_no_change": 2, "validation_fraction": None, "tol": 0.01},
    {"early_stopping": True, "scoring": "neg_log_loss", "random_state": np.random.RandomState(7)},
    {"subsample": 0.5, "colsample": 0.5, "early_stopping": True, "random_state": 5},
    {"estimator": DecisionTreeClassifier(max_depth=1, max_features=1), "random_state": 3},
    {"estimator": DecisionTreeClassifier(max_depth=1, max_features=1), "early_stopping": True},
    {"estimator": DecisionTreeClassifier(max_depth=1), "leveraging": "corrective", "margin": 0.01},
]


def bits(model):
    return (
        model.n_iter_,
        model.stop_reason_,
        model.rounds_.tobytes(),
        model.estimator_weights_.tobytes(),
        model.weights_.tobytes(),
        [[array.tobytes() for array in tree] for tree in trees_of(model)],
    )


def make(rules, **more):
    return TAdaBoostClassifier(**{"record_weights": True, **rules, **more})


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("rules", RULES)
def test_two_fits_are_one_longer_fit(rules, n_classes):
    X, y = data(n_classes)
    if "estimator" in rules:
        X = X[["a", "b", "c"]].fillna(0.0)
    weight = np.random.default_rng(1).integers(0, 3, len(y))
    model = make(rules, warm_start=True, n_estimators=1)
    seeded = clone(model)  # a copy of the random state as it is now
    for n in (1, 4, 10):
        model.set_params(n_estimators=n).fit(X, y, weight)
    if rules.get("random_state") is None and "early_stopping" in rules and "estimator" in rules:
        seeded.set_params(random_state=model._seed)
    one = seeded.set_params(warm_start=False, n_estimators=10).fit(X, y, weight)
    assert bits(model) == bits(one)
    if "estimator" not in rules:
        np.testing.assert_array_equal(model.decision_function(X), one.decision_function(X))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_given_validation_rows_are_looked_at_again(n_classes):
    X, y = data(n_classes)
    given = {"X_val": X[1::2], "y_val": y[1::2]}
    rules = {"early_stopping": True, "n_iter_no_change": 5, "learning_rate": 0.3}
    model = make(rules, warm_start=True, n_estimators=6).fit(X[::2], y[::2], **given)
    model.set_params(n_estimators=60).fit(X[::2], y[::2], **given)
    one = make(rules, n_estimators=60).fit(X[::2], y[::2], **given)
    assert bits(model) == bits(one)
    assert model.stop_reason_ == "early stopping"


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("rules", [{}, {"min_samples_leaf": 1, "leaf_ridge": 0.0, "learning_rate": 1.0}])
def test_a_run_that_is_over_stays_over(n_classes, rules):
    X = np.repeat(np.arange(4.0), 20)[:, None]
    for y in (np.repeat(np.arange(4) % n_classes, 20), np.arange(80) % n_classes):
        one = make(rules, n_estimators=31).fit(X, y)
        model = make(rules, n_estimators=1, warm_start=True).fit(X, y)
        for n in (2, 30, 31):
            model.set_params(n_estimators=n).fit(X, y)
        assert bits(model) == bits(one)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_copies_and_files_go_on_as_well(n_classes, tmp_path):
    X, y = data(n_classes)
    one = make({}, n_estimators=12).fit(X, y)
    model = make({}, n_estimators=5, warm_start=True).fit(X, y)
    tadaboost.save(model, tmp_path / "m.tada")
    for copy in (pickle.loads(pickle.dumps(model)), tadaboost.load(tmp_path / "m.tada")):
        assert bits(copy.set_params(n_estimators=12).fit(X, y)) == bits(one)
    drawn = make({"early_stopping": True}, n_estimators=5, warm_start=True).fit(X, y)  # from no seed of ours
    tadaboost.save(drawn, tmp_path / "m.tada")
    again = tadaboost.load(tmp_path / "m.tada").set_params(n_estimators=12).fit(X, y)
    assert bits(again) == bits(drawn.set_params(n_estimators=12).fit(X, y))


def test_without_warm_start_a_fit_begins_anew():
    X, y = data()
    model = make({}, n_estimators=5).fit(X, y)
    assert bits(model.fit(X[["a"]], 1 - y)) == bits(make({}, n_estimators=5).fit(X[["a"]], 1 - y))


def test_early_stopping_may_be_asked_for_later():
    X, y = data()
    given = {"X_val": X[1::2], "y_val": y[1::2]}
    rules = {"n_iter_no_change": 2, "learning_rate": 1.0}
    model = make(rules, n_estimators=30, warm_start=True).fit(X[::2], y[::2], **given)
    model.set_params(n_estimators=40, early_stopping=True).fit(X[::2], y[::2], **given)
    one = make(rules, n_estimators=40, early_stopping=True).fit(X[::2], y[::2], **given)
    assert bits(model) == bits(one)
    assert model.n_iter_ < 30


def test_fewer_rounds_than_there_are_are_refused():
    X, y = data()
    model = make({}, n_estimators=5, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match=r"^n_estimators=3 is less than the 5 rounds that are there"):
        model.set_params(n_estimators=3).fit(X, y)
    assert model.n_iter_ == 5
    assert model.set_params(n_estimators=5).fit(X, y).n_iter_ == 5


@pytest.mark.parametrize("estimator", [None, DecisionTreeClassifier(max_depth=1)])
def test_other_rows_or_classes_are_refused(estimator):
    X, y = data()
    X = X[["a", "b", "c"]].fillna(0.0)
    model = (
        make({}, n_estimators=5, warm_start=True, estimator=estimator).fit(X, y).set_params(n_estimators=6)
    )
    with pytest.raises(ValueError, match=r"^warm_start goes on with an earlier fit, but the rows"):
        pickle.loads(pickle.dumps(model)).fit(X[5:], y[5:])
    for X_new, y_new in ((X, y + 1), (X[["a", "b"]], y)):
        with pytest.raises(
            ValueError, match=r"^warm_start goes on with an earlier fit, whose classes, number of"
        ):
            pickle.loads(pickle.dumps(model)).fit(X_new, y_new)
    with pytest.raises(ValueError, match=r"whose classes, number of columns, t, clip and kind"):
        model.set_params(t=0.7).fit(X, y)


@pytest.mark.parametrize("rules", [*RULES[:4], {"subsample": 0.5}])
def test_other_labels_of_the_same_rows_are_refused_and_weights_of_another_unit_are_not(rules):
    X, y = data()
    other = y.copy()
    other[[np.argmax(y == 0), np.argmax(y == 1)]] = 1, 0
    model = make(rules, n_estimators=3, warm_start=True).fit(X, y).set_params(n_estimators=4)
    for labels in (other, 1 - y):
        with pytest.raises(ValueError, match=r"^warm_start goes on .* but the rows or their labels are not"):
            pickle.loads(pickle.dumps(model)).fit(X, labels)
    assert model.set_params(min_samples_leaf=1, leaf_ridge=0).fit(X, y, np.full(len(y), 0.7)).n_iter_ == 4


def test_a_fit_that_a_callback_stopped_goes_on():
    X, y = data()
    stop = AtEnd(lambda context, _: ends_round(context, 4))
    model = make({}, n_estimators=10, warm_start=True).set_callbacks(stop)
    assert (model.fit(X, y).n_iter_, model.stop_reason_) == (4, "callback")
    model.set_callbacks().fit(X, y)
    assert bits(model) == bits(make({}, n_estimators=10).fit(X, y))
