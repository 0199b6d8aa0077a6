# SPDX-License-Identifier: Apache-2.0
"""More than two classes: shapes, the problems behind them, probabilities, weights, files."""

import pickle
from fractions import Fraction

import mpmath
import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

import tadaboost
from tadaboost import TAdaBoostClassifier, TemperedTreeClassifier, paper_settings
from tadaboost.displays import BoundDisplay, WeightsDisplay
from tadaboost.losses import inverse_link
from tadaboost.multiclass import probabilities

RULES = [
    {},
    {"t": 0.0, "clip": True, "leveraging": "closed", "leaf_values": "theorem_a", "learning_rate": 1.0},
    {"t": 1.0, "learning_rate": 1.0},
    {"t": 1.3, "leveraging": "exact", "leaf_values": "canonical"},
    {"t": -2.0},
    paper_settings(t=0.6),
]
NAMES = np.array(["ant", "bee", "cow", "dog"])


def data(n=240, n_classes=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = (np.arctan2(X[:, 0], X[:, 1]) / np.pi + 1) / 2 * n_classes
    flip = rng.random(n) < 0.1
    X[rng.random((n, 3)) < 0.05] = np.nan
    return X, np.where(flip, rng.integers(0, n_classes, n), np.minimum(y.astype(int), n_classes - 1))


def fit(rules=(), **more):
    X, y = data()
    return X, NAMES[y], TAdaBoostClassifier(**{"n_estimators": 8, **dict(rules), **more}).fit(X, NAMES[y])


# The model


@pytest.mark.parametrize("rules", RULES)
def test_every_class_is_the_problem_of_itself_against_the_rest(rules):
    X, y, model = fit(rules, record_weights=True)
    assert model.decision_function(X).shape == (240, 4)
    assert model.apply(X).shape == (240, model.n_iter_, 4)
    assert model.rounds_.shape == model.estimator_weights_.shape == (model.n_iter_, 4)
    assert model.weights_.shape == (model.n_iter_ + 1, 240, 4)
    for k, name in enumerate(NAMES):
        alone = TAdaBoostClassifier(**model.get_params()).fit(X, y == name)
        n = alone.n_iter_
        np.testing.assert_array_equal(model.decision_function(X)[:, k], alone.decision_function(X))
        assert model.rounds_[:n, k].tobytes() == alone.rounds_.tobytes()  # bytes: NaN is equal to itself
        np.testing.assert_array_equal(model.weights_[: n + 1, :, k], alone.weights_)
        np.testing.assert_array_equal(model.apply(X)[:, :n, k], alone.apply(X))
        for j, tree in enumerate(alone.trees_):
            np.testing.assert_array_equal(model.trees_[j][k].value, tree.value)
        assert (model.estimator_weights_[n:, k] == 0).all()
        assert (model.rounds_["loss"][n:, k] == alone.rounds_["loss"][-1]).all()


@pytest.mark.parametrize("rules", RULES)
def test_stages_labels_and_probabilities_agree(rules):
    X, y, model = fit(rules)
    p = model.predict_proba(X)
    assert p.shape == (240, 4)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-15)
    np.testing.assert_array_equal(model.predict(X), NAMES[p.argmax(axis=1)])
    assert (model.predict(X) == y).mean() > 0.6
    stages = list(model.staged_decision_function(X))
    assert len(stages) == model.n_iter_
    np.testing.assert_array_equal(stages[-1], model.decision_function(X))
    np.testing.assert_array_equal(list(model.staged_predict_proba(X))[-1], p)
    np.testing.assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))
    np.testing.assert_allclose(model.feature_importances_.sum(), 1, rtol=1e-12)


def test_a_class_that_ends_early_goes_on_with_roots_of_value_zero():
    X = np.repeat(np.arange(4.0), 20)[:, None]
    y = np.repeat([0, 1, 2, 2], 20)
    y[45] = 1  # class 0 is parted without an error in the first round, the others never are
    model = TAdaBoostClassifier(**{**paper_settings(t=0.5), "allow_pure_leaves": True}).fit(X, y)
    assert model.n_iter_ > 1
    assert (model.estimator_weights_[1:, 0] == 0).all()
    assert (model.estimator_weights_[0] != 0).all()
    for of_round in model.trees_[1:]:
        assert of_round[0].feature.tolist() == [-1]
        assert of_round[0].value.tolist() == [0.0]
        assert of_round[0].mass.tolist() == [80.0]
    rest = model.rounds_[1:, 0]
    assert (rest["Z"] == 1).all()
    assert (rest["rho"] == 0).all()
    assert (rest["loss"] == model.rounds_["loss"][0, 0]).all()
    assert (model.apply(X)[:, 1:, 0] == 0).all()


def test_without_any_split_the_shares_of_the_classes_are_predicted():
    y = np.repeat([0, 1, 2], [10, 20, 30])
    model = TAdaBoostClassifier(t=0.7).fit(np.zeros((60, 1)), y)
    assert (model.n_iter_, model.stop_reason_) == (1, "no split")
    np.testing.assert_allclose(model.predict_proba([[0.0]]), [[1 / 6, 1 / 3, 1 / 2]], rtol=1e-12)


def test_equal_classes_tie_and_the_first_wins():
    model = TAdaBoostClassifier().fit(np.zeros((60, 1)), ["c", "a", "b"] * 20)
    p = model.predict_proba([[0.0]])
    assert (p == p[0, 0]).all()
    assert model.predict([[0.0]]).tolist() == ["a"]


def test_the_model_does_not_depend_on_threads_nor_on_row_order():
    X, y, model = fit(n_jobs=1)
    order = np.random.default_rng(1).permutation(len(X))
    for other in (
        TAdaBoostClassifier(n_estimators=8, n_jobs=2).fit(X, y),
        TAdaBoostClassifier(n_estimators=8).fit(X[order], y[order]),
    ):
        np.testing.assert_array_equal(other.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("labels", [[3, 1, 2, 9], [0.0, 1.0, 2.0, 7.0], NAMES.astype(object), NAMES])
def test_labels_come_back_as_they_went_in(labels):
    X, y = data()
    labels = np.asarray(labels)
    model = TAdaBoostClassifier(n_estimators=3).fit(X, labels[y])
    assert model.classes_.tolist() == sorted(labels.tolist())
    assert model.predict(X).dtype == labels.dtype


# Weights


@pytest.mark.parametrize("rules", RULES[:4])
def test_a_whole_weight_is_a_repetition_and_zero_an_absence(rules):
    X, y = data()
    weight = np.random.default_rng(3).integers(0, 4, len(y))
    model = TAdaBoostClassifier(**{"n_estimators": 8, **rules})
    weighted = pickle.loads(pickle.dumps(model.fit(X, y, weight)))
    repeated = model.fit(X.repeat(weight, axis=0), y.repeat(weight))
    score = repeated.decision_function(X)
    np.testing.assert_allclose(weighted.decision_function(X), score, rtol=0, atol=1e-7 * abs(score).max())


def test_class_weight_is_a_factor_on_the_weights():
    X, y = data()
    factor = np.array([1.0, 4.0, 0.5, 1.0])
    model = TAdaBoostClassifier(n_estimators=5, class_weight={1: 4.0, 2: 0.5}).fit(X, y)
    same = TAdaBoostClassifier(n_estimators=5).fit(X, y, factor[y])
    np.testing.assert_array_equal(model.decision_function(X), same.decision_function(X))


def test_a_class_without_weight_is_no_class():
    X, y = data()
    model = TAdaBoostClassifier(n_estimators=3).fit(X, y, (y != 2).astype(float))
    assert model.classes_.tolist() == [0, 1, 3]


# Probabilities


@pytest.mark.parametrize("t", [-1e6, -20.0, -1.0, 0.0, 0.5, 0.999, 1.0, 1.001, 1.5, 1.9])
@given(st.lists(st.lists(st.floats(-1e308, 1e308), min_size=3, max_size=3), min_size=1, max_size=5))
@example([[0.0, 0.0, 0.0], [1e308, -1e308, -1e308], [500.0, 499.0, -500.0], [1e-320, 0.0, 0.0]])
def test_probabilities_sum_to_one_and_keep_the_order(t, scores):
    scores = np.array(scores)
    p = probabilities(scores, t)
    assert np.isfinite(p).all()
    assert ((p >= 0) & (p <= 1)).all()
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-15)
    ordered = np.take_along_axis(p, scores.argsort(axis=1), axis=1)
    assert (np.diff(ordered, axis=1) >= 0).all()
    for i in range(len(scores)):  # a row does not depend on its neighbours
        np.testing.assert_array_equal(probabilities(scores[i : i + 1], t)[0], p[i])


@pytest.mark.parametrize("t", [-10.0, -3.0, 0.5, 1.9])
def test_probabilities_are_exact_where_scores_beside_the_poles_decide_them(t):
    """At t = -10 a class falls from 3 % to 0 between two scores next to each other."""
    s = abs(mpmath.mpf(1) - mpmath.mpf(t))
    with mpmath.workdps(200):
        for scores in np.random.default_rng(1).uniform(-0.8, 0.8, (4, 4)) / float(s):
            low, high = -1 / s, 1 / s  # of the shift
            links = []
            for _ in range(680):
                middle = (low + high) / 2
                x = [
                    max(-1, min(1, s * (h + middle - max(scores)))) for h in map(mpmath.mpf, scores.tolist())
                ]
                links = [0 if a == -1 else 1 / (1 + ((1 - a) / (1 + a)) ** (1 / s)) for a in x]
                low, high = (middle, high) if sum(links) < 1 else (low, middle)
            np.testing.assert_allclose(
                probabilities(scores[None], t)[0], np.array(links, float), rtol=0, atol=2e-15
            )


@pytest.mark.parametrize("n_classes", [3, 26])
def test_probabilities_at_0_are_the_nearest_ones_to_half_the_scores(n_classes):
    """The link is a line there: the half scores less a number, those below 0 cut off."""
    for scores in np.random.default_rng(0).normal(size=(50, n_classes)):
        half = [Fraction(score) / 2 for score in sorted(scores, reverse=True)]
        less = max((sum(half[:k]) - 1) / k for k in range(1, n_classes + 1))
        expected = [float(max(Fraction(score) / 2 - less, 0)) for score in scores]
        np.testing.assert_allclose(probabilities(scores[None], 0.0)[0], expected, rtol=0, atol=3e-16)


def test_small_probabilities_keep_their_digits():
    p = probabilities(np.array([[0.0, -30.0, -300.0]]), 1.0)
    np.testing.assert_allclose(p[0], [1.0, np.exp(-30), np.exp(30 - 600)], rtol=1e-12)


@pytest.mark.parametrize("t", [0.0, 0.5, 1.0, 1.5])
def test_probabilities_are_links_of_scores_moved_alike(t):
    scores = np.random.default_rng(0).normal(size=(300, 4)) * 0.4
    p = probabilities(scores, t)
    # The link's own inverse: the same shift for all classes of a row.
    inside = (p > 1e-6).all(axis=1)
    assert inside.sum() > 100
    s = 1 - t
    half = 0.5 * (np.log(p[inside]) - np.log1p(-p[inside]))
    links = half if s == 0 else np.tanh(s * half) / s
    shift = links - scores[inside]
    np.testing.assert_allclose(shift - shift[:, :1], 0, atol=1e-9)


@pytest.mark.parametrize("t", [0.0, 0.5, 1.0, 1.5])
def test_two_opposite_scores_give_the_link_of_two_classes(t):
    h = np.linspace(-3, 3, 41)
    np.testing.assert_allclose(
        probabilities(np.stack([-h, h], axis=1), t)[:, 1], inverse_link(h, t), rtol=1e-12, atol=1e-15
    )


# Around it


@pytest.mark.parametrize("model", [TAdaBoostClassifier(n_estimators=4), TemperedTreeClassifier()])
@pytest.mark.parametrize("labels", [NAMES, np.arange(4)])
def test_a_file_and_a_pickle_hold_the_same_model(tmp_path, model, labels):
    X, y = data()
    table = pd.DataFrame(X, columns=list("abc"))
    model.fit(table, labels[y])
    tadaboost.save(model, tmp_path / "m.tada")
    for copy in (tadaboost.load(tmp_path / "m.tada"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(copy.decision_function(table), model.decision_function(table))
        np.testing.assert_array_equal(copy.predict(table), model.predict(table))
        np.testing.assert_array_equal(copy.feature_importances_, model.feature_importances_)
        assert copy.classes_.tolist() == labels.tolist()


def test_a_loaded_booster_has_every_attribute_by_class(tmp_path):
    X, _, model = fit(record_weights=True)
    tadaboost.save(model, tmp_path / "m.tada")
    copy = tadaboost.load(tmp_path / "m.tada")
    for name in ("estimator_weights_", "rounds_", "weights_"):
        assert getattr(copy, name).tobytes() == getattr(model, name).tobytes()
    assert copy.n_iter_ == model.n_iter_ == 8
    assert [len(of_round) for of_round in copy.trees_] == [4] * 8
    np.testing.assert_array_equal(copy.apply(X), model.apply(X))


@pytest.mark.parametrize("t", [0.5, 1.0, 1.5])
def test_one_tree_per_class_predicts_like_one_round(t):
    X, y = data()
    tree = TemperedTreeClassifier(t=t).fit(X, y)
    rules = {"n_estimators": 1, "learning_rate": 1.0, "leaf_values": "theorem_a"}
    round_ = TAdaBoostClassifier(t=t, **rules).fit(X, y)
    assert len(tree.tree_) == 4
    assert tree.loss_.shape == (4,)
    np.testing.assert_array_equal(tree.predict_proba(X), round_.predict_proba(X))
    np.testing.assert_array_equal(tree.apply(X), round_.apply(X)[:, 0])


def test_weak_learners_of_any_kind_come_one_a_class():
    X, y = data()
    X = np.nan_to_num(X)
    learner = DecisionTreeClassifier(max_depth=2)
    model = TAdaBoostClassifier(n_estimators=4, estimator=learner, random_state=0).fit(X, y)
    assert np.shape(model.estimators_) == (model.n_iter_, 4)
    assert model.trees_ == []
    assert model.estimator_weights_.shape == model.rounds_.shape == (model.n_iter_, 4)
    assert model.decision_function(X).shape == (240, 4)
    assert (model.predict(X) == y).mean() > 0.6
    with pytest.raises(AttributeError, match="fitted with estimator=DecisionTreeClassifier"):
        model.apply(X)
    with pytest.raises(TypeError, match="estimator=DecisionTreeClassifier cannot be saved"):
        tadaboost.save(model, "never.tada")


def test_margins_are_for_two_classes():
    X, y, model = fit()
    with pytest.raises(ValueError, match=r"^margins are those of two classes, and this model has 4; fit one"):
        model.margin_risk(X, y, 0.0)
    with pytest.raises(ValueError, match=r"^margins are those of two classes"):
        model.margin_bound(0.0)


def test_displays_draw_the_problem_of_one_class():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    _, _, model = fit(record_weights=True)
    bound = BoundDisplay.from_estimator(model, label="bee")
    np.testing.assert_array_equal(bound.loss, model.rounds_["loss"][:, 1])
    weights = WeightsDisplay.from_estimator(model, label="dog", rows=[0, 1])
    np.testing.assert_allclose(weights.share, model.weights_[:, :2, 3].sum(axis=1))
    pyplot.close("all")
    with pytest.raises(ValueError, match=r"^label is None; choose the class to show: \['ant', 'bee'"):
        BoundDisplay.from_estimator(model)
