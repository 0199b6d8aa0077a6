# SPDX-License-Identifier: Apache-2.0
"""`estimator=`: Algorithm 1 over any scikit-learn classifier."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Perceptron, Ridge, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from tadaboost import TAdaBoostClassifier, save
from tadaboost.boosting import boost
from tadaboost.generic import output
from tadaboost.losses import inverse_link, leaf_link, tempered_exp_loss
from tadaboost.measures import clipped_sum

from .pairs import pairs
from .reports import AtEnd

STUMP = DecisionTreeClassifier(max_depth=1, random_state=0)
LINEAR = RidgeClassifier(alpha=100.0)
TEMPERATURES = [-1.0, 0.0, 0.5, 0.999, 1.0, 1.2]


@pytest.fixture(scope="module")
def X_y():
    X, y = load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(y))[:200]
    X, y = StandardScaler().fit_transform(X[rows][:, :6]), y[rows]
    return X, np.where(rng.random(200) < 0.1, 1 - y, y)


def fit(X, y, estimator, sample_weight=None, **settings):
    settings = {"leveraging": "closed", "learning_rate": 1.0, "n_estimators": 12, **settings}
    model = TAdaBoostClassifier(estimator=estimator, random_state=0, record_weights=True, **settings)
    return model.fit(X, y, sample_weight)


def outputs(model, X):
    return np.array([output(learner, X) for learner in model.estimators_])


@pytest.mark.parametrize(
    ("estimator", "t", "leveraging"), pairs([STUMP, LINEAR], TEMPERATURES, ["closed", "exact", "unit"])
)
def test_the_rounds_are_algorithm_1_on_the_outputs_of_the_learners(X_y, estimator, t, leveraging):
    X, y = X_y
    model = fit(X, y, estimator, t=t, leveraging=leveraging)
    run = boost(outputs(model, X), 2 * y - 1, t, leveraging=leveraging)
    assert model.trees_ == []
    assert len(model.estimators_) == model.n_iter_ == len(run.rho)
    np.testing.assert_allclose(model.estimator_weights_, run.alpha, rtol=1e-12)
    for name in ("rho", "mu", "alpha", "Z", "loss", "bound"):
        np.testing.assert_allclose(model.rounds_[name], getattr(run, name), rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(model.weights_[1:], run.p, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(model.weights_.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(model.decision_function(X), run.score, rtol=1e-12, atol=1e-12)


def test_at_t_1_it_is_the_adaboost_of_scikit_learn(X_y):
    X, y = X_y
    ours = fit(X, y, STUMP, t=1.0, n_estimators=40)
    theirs = AdaBoostClassifier(STUMP, n_estimators=40, random_state=0).fit(X, y)
    np.testing.assert_allclose(2 * ours.estimator_weights_, theirs.estimator_weights_, rtol=1e-10)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


class Recorder(ClassifierMixin, BaseEstimator):
    """A stump that keeps what it was given."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None):
        self.given_ = X, y, sample_weight
        self.stump_ = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y, sample_weight)
        self.classes_ = self.stump_.classes_
        return self

    def predict(self, X):
        return self.stump_.predict(X)


@pytest.mark.parametrize("t", [0.0, 0.7, 1.0, 1.1])
def test_learners_get_the_measure_q_times_multiplicity_in_the_order_of_rows(X_y, t):
    X, y = X_y
    weight = np.random.default_rng(1).integers(0, 4, len(y)).astype(float)
    model = fit(X, np.where(y == 1, "yes", "no"), Recorder(), weight, t=t, n_estimators=5)
    present = weight > 0
    run = boost(outputs(model, X), 2 * y - 1, t, weight)
    np.testing.assert_array_equal(model.estimators_[0].given_[2], weight[present])
    for j in range(1, 5):
        X_given, y_given, q = model.estimators_[j].given_
        np.testing.assert_array_equal(X_given, X[present])
        np.testing.assert_array_equal(y_given, 2 * y[present] - 1)
        expected = (weight * run.q[j - 1])[present]
        np.testing.assert_allclose(q / q.sum(), expected / expected.sum(), rtol=1e-10)
        assert q.sum() == pytest.approx(weight.sum(), rel=1e-12)
    seeds = {learner.random_state for learner in model.estimators_}
    assert len(seeds) == 5
    again = fit(X, np.where(y == 1, "yes", "no"), Recorder(), weight, t=t, n_estimators=5)
    assert seeds == {learner.random_state for learner in again.estimators_}


def test_a_whole_weight_is_a_repetition_and_zero_an_absence(X_y):
    X, y = X_y
    weight = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = fit(X, y, LINEAR, weight, t=0.5)
    repeated = fit(np.repeat(X, weight, axis=0), np.repeat(y, weight), LINEAR, t=0.5)
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), rtol=1e-9, atol=1e-10
    )
    for name in ("rho", "loss", "bound", "train_error", "codensity_min", "codensity_max"):
        np.testing.assert_allclose(weighted.rounds_[name], repeated.rounds_[name], rtol=1e-9)
    assert np.all(weighted.weights_[:, weight == 0] == 0)


@pytest.mark.parametrize("clip", [False, True])
@pytest.mark.parametrize("t", TEMPERATURES)
def test_scores_stages_and_records_are_those_of_the_clipped_sum(X_y, t, clip):
    X, y = X_y
    model = fit(X, y, LINEAR, t=t, clip=clip, leveraging="exact")
    terms = model.estimator_weights_[:, None] * outputs(model, X)
    delta = 1 / abs(1 - t) if clip and t != 1 else np.inf
    stages = list(model.staged_decision_function(X))
    for j, stage in enumerate(stages, start=1):
        np.testing.assert_allclose(stage, clipped_sum(terms[:j], delta), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(stages[-1], model.decision_function(X))
    np.testing.assert_array_equal(model.predict_proba(X)[:, 1], inverse_link(stages[-1], t))
    np.testing.assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))
    errors = [np.mean(stage * (2 * y - 1) <= 0) for stage in stages]
    np.testing.assert_allclose(model.rounds_["train_error"], errors, atol=1e-12)
    upper = [clipped_sum(terms[:j] * (2 * y - 1), 1 / (1 - t) if t < 1 else np.inf, side="upper") for j in
             range(1, len(terms) + 1)]  # fmt: skip
    losses = [tempered_exp_loss(margin, t).mean() for margin in upper]
    np.testing.assert_allclose(model.rounds_["loss"], losses, rtol=1e-9)
    np.testing.assert_array_equal(model.rounds_["n_off"], (model.weights_[1:] == 0).sum(axis=1))
    if clip and t > 1:
        assert np.isnan(model.rounds_["bound"]).all()
    else:
        assert np.all(model.rounds_["loss"] <= model.rounds_["bound"] * (1 + 1e-9))


def test_steps_shrink_by_the_learning_rate(X_y):
    X, y = X_y
    whole, tenth = fit(X, y, STUMP), fit(X, y, STUMP, learning_rate=0.1)
    assert tenth.estimator_weights_[0] == pytest.approx(0.1 * whole.estimator_weights_[0], rel=1e-12)
    np.testing.assert_array_equal(tenth.rounds_["bound"], tenth.rounds_["loss"])
    unit = fit(X, y, STUMP, learning_rate=0.1, leveraging="unit")
    assert unit.estimator_weights_.tolist() == [0.1] * 12


class Always(ClassifierMixin, BaseEstimator):
    """Answers every row with the same value; `real` says as what."""

    def __init__(self, value=1.0):
        self.value = value

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return np.full(len(X), self.value)

    def predict(self, X):
        return np.where(self.decision_function(X) > 0, 1, -1)


class Perfect(Always):
    def fit(self, X, y, sample_weight=None):
        self.y_ = y
        return super().fit(X, y)

    def decision_function(self, X):
        return np.tile(self.y_.astype(float), len(X) // len(self.y_))


@pytest.mark.parametrize("t", TEMPERATURES)
@pytest.mark.parametrize("leveraging", ["closed", "exact"])
def test_a_perfect_learner_ends_the_run_with_finite_scores(t, leveraging):
    X, y = np.zeros((10, 1)), np.array([0, 1] * 5)
    model = fit(X, y, Perfect(), t=t, leveraging=leveraging)
    assert model.predict(X).tolist() == y.tolist()
    assert np.isfinite(model.decision_function(X)).all()
    assert np.isfinite(model.weights_).all()
    if t <= 1:
        assert model.stop_reason_ == "perfect"
        assert model.n_iter_ == 1
    if t == 1:
        assert np.abs(model.decision_function(X)) == pytest.approx(500)
        assert model.rounds_["n_nonfinite"][0] >= 1
    if t < 1:
        assert model.rounds_["n_off"].tolist() == [10]


@pytest.mark.parametrize("t", TEMPERATURES)
@pytest.mark.parametrize("leveraging", ["closed", "unit"])
def test_a_learner_without_an_edge_leaves_the_prior(t, leveraging):
    y = np.array([0, 1, 1, 1] * 5)
    model = fit(np.zeros((20, 1)), y, Always(0.0), t=t, leveraging=leveraging)
    assert model.stop_reason_ == "edge zero"
    assert model.decision_function([[0.0]]) == pytest.approx(float(leaf_link(3, 1, t)), rel=1e-12)
    assert model.predict_proba([[0.0]])[0] == pytest.approx([0.25, 0.75])


@pytest.mark.parametrize("t", TEMPERATURES)
def test_one_class_is_predicted_with_probability_one(t):
    model = fit(np.zeros((5, 1)), ["only"] * 5, LINEAR, t=t)
    assert model.stop_reason_ == "one class"
    assert model.predict_proba([[1.0]]).tolist() == [[1.0]]
    assert model.predict([[1.0]]).tolist() == ["only"]


def test_unit_steps_that_would_make_a_weight_infinite_are_counted(X_y):
    X, _ = X_y
    y = np.array([1] * 190 + [0] * 10)
    model = fit(X, y, Always(1.0), t=1.5, leveraging="unit", n_estimators=4)
    assert np.isfinite(model.rounds_["loss"]).all()
    assert model.rounds_["n_nonfinite"].tolist() == [0, 10, 10, 10]  # their margin is -2, where e is infinite
    assert np.isfinite(model.weights_).all()


def test_outputs_that_are_not_finite_or_not_labels_are_refused():
    X, y = np.zeros((4, 1)), [0, 1, 1, 1]
    with pytest.raises(
        ValueError, match=r"^decision_function of estimator Always is nan in row 0; outputs of a weak"
    ):
        fit(X, y, Always(np.nan))
    with pytest.raises(ValueError, match=r"^decision_function of estimator Always is inf in row 0"):
        fit(X, y, Always(np.inf))

    class Two(Always):
        def decision_function(self, X):
            return np.zeros((len(X), 2))

    with pytest.raises(ValueError, match=r"has shape \(4, 2\); it must give one value for each of 4 rows"):
        fit(X, y, Two())

    class Names(Recorder):
        def predict(self, X):
            return np.zeros(len(X))

    with pytest.raises(
        ValueError, match=r"^predict of estimator Names is 0\.0 in row 0; it was fitted to the labels"
    ):
        fit(X, y, Names())


def test_learners_that_cannot_serve_are_refused_by_name(X_y):
    X, y = X_y
    with pytest.raises(
        TypeError, match=r"^estimator is a KNeighborsClassifier, whose fit takes no sample_weight"
    ):
        fit(X, y, KNeighborsClassifier())
    with pytest.raises(TypeError, match=r"^estimator is a Ridge; it must be a scikit-learn classifier$"):
        fit(X, y, Ridge())
    with pytest.raises(ValueError, match=r"The 'estimator' parameter of TAdaBoostClassifier must be"):
        fit(X, y, "trees")


def test_what_needs_trees_says_so(X_y, tmp_path):
    X, y = X_y
    model = fit(X, y, LINEAR)
    with pytest.raises(
        TypeError, match=r"a model of estimator=RidgeClassifier cannot be saved to a \.tada file"
    ):
        save(model, tmp_path / "model.tada")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(AttributeError, match=r"has no trees: it was fitted with estimator=RidgeClassifier"):
        model.apply(X)
    assert not hasattr(model, "feature_importances_")
    refit = model.set_params(estimator=None).fit(X, y)
    assert not hasattr(refit, "estimators_")
    assert refit.feature_importances_.sum() == pytest.approx(1)


def test_copies_predict_the_same(X_y):
    X, y = X_y
    model = fit(X, y, LINEAR)
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(model)).decision_function(X), model.decision_function(X)
    )
    assert clone(model).estimator is not LINEAR


def test_callbacks_see_a_model_of_the_rounds_so_far_and_may_stop(X_y):
    X, y = X_y
    seen = []

    def stop_at_three(context, fitted):
        if context.task_name == "round":
            seen.append(fitted.decision_function(X))
        return len(seen) == 3

    model = TAdaBoostClassifier(estimator=STUMP, n_estimators=9, leveraging="closed", learning_rate=1.0)
    model.set_callbacks(AtEnd(stop_at_three)).fit(X, y)
    assert (model.n_iter_, model.stop_reason_) == (3, "callback")
    np.testing.assert_array_equal(list(model.staged_decision_function(X)), seen)


@pytest.mark.parametrize("library", [pd, pl])
def test_frames_reach_the_learner_as_they_are(library):
    rng = np.random.default_rng(0)
    colour, size = rng.choice(["red", "blue"], 60), rng.normal(size=60)
    X = library.DataFrame({"colour": colour, "size": size})
    y = (colour == "red") | (size > 1)
    onehot = make_column_transformer((OneHotEncoder(), ["colour"]), remainder=StandardScaler())
    model = fit(X, y, make_pipeline(onehot, LogisticRegression()), np.arange(60) % 3)
    assert model.score(X, y) > 0.8
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(library.DataFrame({"size": size, "colour": colour}))


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        Perceptron(),
        SGDClassifier(),
        GaussianNB(),
        RandomForestClassifier(5, max_depth=2),
    ],
)
def test_learners_of_scikit_learn_lower_the_loss(X_y, estimator):
    X, y = X_y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit(X, y, estimator, t=0.5)
    assert model.rounds_["loss"][-1] < 0.95
    assert model.score(X, y) > 0.7


@parametrize_with_checks(
    [
        TAdaBoostClassifier(estimator=GaussianNB(), n_estimators=3),
        TAdaBoostClassifier(
            t=0.2, estimator=LINEAR, n_estimators=3, leveraging="closed", learning_rate=1.0, clip=True
        ),
    ]
)
def test_scikit_learn_checks_pass(estimator, check):
    check(estimator)
