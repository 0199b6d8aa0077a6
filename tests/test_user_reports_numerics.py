# SPDX-License-Identifier: Apache-2.0
"""What users of boosting classifiers report, continued: numbers, threads, stopping, hard data, scikit-learn.

Number 46 and what 45 says of `monotonic_cst` are in test_constraints.py.
"""

import inspect
import math
import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.callback import ProgressBar
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from tadaboost import TAdaBoostClassifier, TemperedTreeClassifier, losses, rounds
from tadaboost.tree import grow

from . import naive
from .reports import NAMES, RULES, bits, data, every_kind, every_kind_with, make, run_script, trees_of, twin
from .shards import grower_of, random_table, shard_of

NAN = float("nan")
TS = [0.0, 0.5, 0.9, 1.0, 1.1, 1.5]
STOPS = {*rounds.STOP_REASONS, "early stopping", "callback", "one class"}


def assert_finite(model, X):
    """Nothing that a fit stored or predicts is infinite, and its end has a reason."""
    for name in set(model.rounds_.dtype.names) - {"bound", "val_loss"}:
        assert np.isfinite(model.rounds_[name]).all(), name
    for tree in trees_of(model):
        assert all(np.isfinite(array).all() for array in tree)
    assert np.isfinite(model.estimator_weights_).all()
    assert np.isfinite(model.decision_function(X)).all()
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, rtol=1e-12)
    assert model.stop_reason_ in STOPS


# Numbers and thresholds


@pytest.mark.parametrize("t", TS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "more", [{}, {"leveraging": "closed", "leaf_values": "theorem_a", "min_samples_leaf": 1}], ids=str
)
def test_27_three_hundred_whole_steps_on_an_easy_set_stay_finite(t, n_classes, more):  # warnings are errors
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = NAMES[np.digitize(X[:, 0], [0.0, 0.8][: n_classes - 1])]
    n = 300 if n_classes == 2 else 30
    for clip in (False, True):
        settings = {"t": t, "learning_rate": 1.0, "clip": clip, "record_weights": True, **more}
        model = make(settings, n_estimators=n).fit(X, y)
        assert_finite(model, X)
        assert np.isfinite(model.weights_).all()
        assert model.n_iter_ == n or model.stop_reason_ != "n_estimators"


@every_kind
def test_28_predict_is_the_argmax_of_the_probabilities_and_the_sign_of_the_score(rules, n_classes, tmp_path):
    X, y = data(n_classes)
    far = np.vstack([X, 1e9 * X, np.full((1, 4), NAN)])
    fitted = make(rules).fit(X, y)
    tied = make(rules).fit(np.zeros((60, 1)), NAMES[np.arange(60) % n_classes])
    for model, rows in ((fitted, far), (twin(fitted, tmp_path), far), (tied, np.zeros((2, 1)))):
        label, score = model.predict(rows), model.decision_function(rows)
        assert (label == model.classes_[model.predict_proba(rows).argmax(axis=1)]).all()
        best = (score > 0).astype(int) if n_classes == 2 else score.argmax(axis=1)
        certain = model.predict_proba(rows).max(axis=1) == 1.0  # rounding may tie what the scores do not
        assert (label == model.classes_[best])[~certain].all()
    assert tied.predict(np.zeros((2, 1))).tolist() == ["ant", "ant"]


@pytest.mark.parametrize(("rules", "n_classes"), [(r, k) for r in RULES.values() for k in (2, 3)], ids=str)
def test_29_importances_of_noise_are_finite_and_sum_to_one(rules, n_classes):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 10)), NAMES[rng.integers(0, n_classes, 150)]
    model = make(
        {**rules, "learning_rate": 1.0}, n_estimators=30, max_leaf_nodes=None, min_samples_leaf=1
    ).fit(X, y)
    importances = model.feature_importances_
    by_hand = np.zeros(10)
    for tree, alpha in zip(trees_of(model), model.estimator_weights_.ravel(), strict=True):
        np.add.at(by_hand, tree.feature[tree.feature >= 0], abs(alpha) * tree.gain[tree.feature >= 0])
    np.testing.assert_allclose(importances, by_hand / by_hand.sum(), rtol=1e-9)
    assert (importances >= 0).all()
    assert importances.sum() == pytest.approx(1.0, rel=1e-12)
    assert (
        make(rules).fit(np.zeros((60, 3)), NAMES[np.arange(60) % n_classes]).feature_importances_.tolist()
        == [0] * 3
    )


@pytest.mark.parametrize("t", [0.0, 1.0])
def test_29_importances_of_two_hundred_large_trees_on_noise(t):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1000, 20)), rng.integers(0, 2, 1000)
    model = TAdaBoostClassifier(t, n_estimators=200, learning_rate=1.0, max_leaf_nodes=64, min_samples_leaf=1)
    importances = model.fit(X, y).feature_importances_
    assert (importances >= 0).all()
    assert importances.sum() == pytest.approx(1.0, rel=1e-12)


@every_kind
def test_30_the_score_is_the_sum_of_public_coefficients_and_trees(rules, n_classes, tmp_path):
    X, y = data(n_classes)
    X[:, 3] = np.arange(200) % 5
    fitted = make(rules, categorical_features=[3]).fit(X, y)
    for model in (fitted, twin(fitted, tmp_path)):
        clip = 1 / abs(1 - model.t) if model.clip else math.inf
        score = np.zeros((200, 1 if n_classes == 2 else 3))
        for j, (tree, alpha) in enumerate(
            zip(trees_of(model), model.estimator_weights_.ravel(), strict=True)
        ):
            k = j % score.shape[1]
            for i, row in enumerate(X):
                node = 0
                while (c := tree.feature[node]) >= 0:
                    right = tree.categories[tree.category_start[node] : tree.category_start[node + 1]]
                    left = (
                        row[c] not in right if tree.is_categorical[node] else row[c] <= tree.threshold[node]
                    )
                    left = tree.missing_left[node] if np.isnan(row[c]) else left
                    node = tree.left[node] if left else tree.right[node]
                score[i, k] = np.clip(score[i, k] + alpha * tree.value[node], -clip, clip)
        np.testing.assert_allclose(np.squeeze(score), model.decision_function(X), rtol=0, atol=1e-12)


@every_kind_with("kind", ["normal", "huge", "neighbours", "float32", "few bins"])
def test_31_every_threshold_parts_the_training_rows(rules, n_classes, kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    if kind == "huge":
        X *= 1e300
    elif kind == "neighbours":
        X = 1 + np.spacing(1.0) * rng.integers(0, 30, (200, 2))
    elif kind == "float32":
        X = X.astype(np.float32)
    y = NAMES[rng.integers(0, n_classes, 200)]
    present = np.arange(200) % 4 > 0
    X[~present] *= 3  # rows of weight 0 lend no threshold
    model = make(rules, min_samples_leaf=1, max_bins=7 if kind == "few bins" else 255).fit(
        X, y, present.astype(int)
    )
    for tree in trees_of(model):
        for node in np.flatnonzero(tree.feature >= 0):
            column = X[present, tree.feature[node]]
            assert column.min() <= tree.threshold[node] < column.max()
            assert (tree.mass[[tree.left[node], tree.right[node]]] >= 1).all()


# Determinism and threads


@every_kind
def test_32_the_model_does_not_depend_on_the_number_of_threads(rules, n_classes):
    X, y = data(n_classes, n=3000)
    models = [make(rules, n_estimators=2, n_jobs=n, random_state=0).fit(X, y) for n in (1, 2, 4) * 2]
    assert all(bits(model) == bits(models[0]) for model in models)
    assert all(np.array_equal(model.predict_proba(X), models[0].predict_proba(X)) for model in models)


@pytest.mark.skipif(sys.platform != "linux", reason="forks, and reads /proc")
def test_33_a_forked_child_fits_and_n_jobs_is_obeyed():
    script = """
import os, sys, warnings
import numpy as np
from tadaboost import TAdaBoostClassifier, TemperedTreeClassifier
from tadaboost.base import n_threads_of

rng = np.random.default_rng(0)
X, y = rng.normal(size=(3000, 4)), rng.integers(0, 3, 3000)

class Count:
    def setup(self, estimator, context): self.most = 0
    def on_fit_task_begin(self, estimator, context): pass
    def on_fit_task_end(self, estimator, context):
        self.most = max(self.most, len(os.listdir("/proc/self/task")))
    def teardown(self, estimator, context): pass

def threads(n_jobs, y):
    before, count = len(os.listdir("/proc/self/task")), Count()
    TAdaBoostClassifier(n_estimators=2, n_jobs=n_jobs).set_callbacks(count).fit(X, y)
    return count.most - before

assert threads(1, y > 0) == threads(1, y) == 0  # the calling thread works, too
assert threads(3, y > 0) == 2
model = TAdaBoostClassifier(n_estimators=2, n_jobs=3).fit(X, y)
warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
for depth in range(2):
    if (child := os.fork()) == 0:
        again = TAdaBoostClassifier(n_estimators=2, n_jobs=3).fit(X, y)
        same = np.array_equal(again.decision_function(X), model.decision_function(X))
        TemperedTreeClassifier(n_jobs=2).fit(X, y)
        os._exit(not same)
    assert os.waitpid(child, 0)[1] == 0
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
assert n_threads_of(None) == n_threads_of(-1) == 1
assert threads(None, y) == 0
print("done")
"""
    assert run_script(script) == "done\n"


# Early stopping, warm start, validation


@pytest.mark.parametrize("t", TS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_34_a_perfect_tree_is_kept_and_the_end_has_a_reason(t, n_classes):
    X = np.arange(90.0)[:, None]
    y = NAMES[np.arange(90) // 30 if n_classes == 3 else np.arange(90) // 45]
    for rules in (
        {"learning_rate": 1.0},
        {"leveraging": "closed", "leaf_values": "theorem_a", "learning_rate": 1.0},
        {},
    ):
        model = make({"t": t, **rules}, n_estimators=50, max_leaf_nodes=None, leaf_ridge=0.0).fit(X, y)
        assert len(model.trees_) == model.n_iter_ >= 1
        assert (model.predict(X) == y).all()
        score = model.decision_function(X).reshape(90, -1)
        sign = np.where(y[:, None] == (model.classes_ if n_classes == 3 else model.classes_[1:]), 1, -1)
        assert (sign * score > 0).all()
        assert_finite(model, X)


@every_kind_with("fraction", [0.2, None])
def test_35_a_second_fit_with_warm_start_and_early_stopping_is_one_longer_fit(rules, n_classes, fraction):
    X, y = data(n_classes)
    settings = {
        **rules,
        "early_stopping": True,
        "n_iter_no_change": 20,
        "validation_fraction": fraction,
        "random_state": 0,
    }
    model = make(settings, n_estimators=3, warm_start=True).fit(X, y)
    first = model.n_iter_
    model.fit(X, y)  # a third one, with nothing to add
    assert model.n_iter_ == first
    assert bits(model.set_params(n_estimators=7).fit(X, y)) == bits(make(settings, n_estimators=7).fit(X, y))


@every_kind
def test_36_validation_rows_do_not_reach_the_bins(rules, n_classes):
    (X, y), (X_val, y_val) = data(n_classes), data(n_classes, n=50, seed=1)
    model = make(rules, max_bins=11).fit(X, y, X_val=X_val, y_val=y_val)
    outlier = np.vstack([X_val, np.full((1, 4), 1e12)])
    other = make(rules, max_bins=11).fit(X, y, X_val=outlier, y_val=np.append(y_val, "ant"))
    assert bits(model)[:2] == bits(other)[:2]
    assert bits(model)[:2] == bits(make(rules, max_bins=11).fit(X, y))[:2]


@every_kind
def test_37_early_stopping_works_in_a_pipeline_inside_a_grid_search(rules, n_classes):
    (X, y), (X_val, y_val) = data(n_classes, missing=0.0), data(n_classes, n=60, seed=1, missing=0.0)
    with sklearn.config_context(enable_metadata_routing=True):
        model = make(rules, early_stopping=True).set_fit_request(
            X_val=True, y_val=True, sample_weight_val=True
        )
        pipe = make_pipeline(StandardScaler(), model, transform_input=["X_val"])
        search = GridSearchCV(
            pipe, {"tadaboostclassifier__max_leaf_nodes": [2, 4]}, cv=2, error_score="raise"
        )
        search.fit(X, y, X_val=X_val, y_val=y_val, sample_weight_val=np.ones(60))
        best = search.best_estimator_
    scaler = StandardScaler().fit(X)
    by_hand = make(rules, early_stopping=True, max_leaf_nodes=best[-1].max_leaf_nodes)
    by_hand.fit(scaler.transform(X), y, X_val=scaler.transform(X_val), y_val=y_val)
    assert bits(best[-1]) == bits(by_hand)
    assert np.isfinite(by_hand.rounds_["val_loss"]).all()


@every_kind
def test_38_no_method_takes_a_number_of_trees(rules, n_classes):
    X, y = data(n_classes)
    model = make(rules).fit(X, y)
    names = ["predict", "predict_proba", "decision_function", "apply"]
    for name in [*names, *(f"staged_{name}" for name in names[:3])]:
        assert list(inspect.signature(getattr(model, name)).parameters) == ["X"]
    score = model.decision_function(X)
    np.testing.assert_array_equal(model.set_params(n_estimators=2).decision_function(X), score)
    assert len(list(model.staged_predict(X))) == model.n_iter_
    with pytest.raises(ValueError, match=r"^n_estimators=2 is less than the \d+ rounds that are there"):
        model.set_params(warm_start=True).fit(X, y)


# Degenerate data


@every_kind_with("estimator", [None, DecisionTreeClassifier(max_depth=1)])
def test_39_a_learner_no_better_than_chance_leaves_the_prior(rules, n_classes, estimator):
    corners = np.tile([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], (30, 1))
    y = NAMES[(corners.sum(axis=1) == 1).astype(int)]
    if n_classes == 3:
        corners, y = np.repeat(corners, 3, axis=0), np.tile(NAMES, 120)
    limits = {} if estimator else {"max_leaf_nodes": 2}
    model = make({**rules, **limits}, estimator=estimator, n_estimators=5).fit(corners, y)
    np.testing.assert_allclose(model.predict_proba(corners), 1 / n_classes, rtol=1e-9)
    if estimator is None or n_classes == 2:  # a stump of "rare or not" has an edge: it says not
        assert model.stop_reason_ in ("no split", "edge zero")
    rng = np.random.default_rng(0)
    noise = make({**rules, **limits}, estimator=estimator).fit(
        rng.normal(size=(300, 2)), NAMES[rng.integers(0, n_classes, 300)]
    )
    assert np.isfinite(noise.decision_function(corners)).all()


@pytest.mark.parametrize(("t", "label"), [(-2.0, "only"), (0.0, 1), (0.5, True), (1.0, 3.0), (1.5, "only")])
def test_40_one_class_only_is_predicted_with_probability_one(t, label, tmp_path):
    X, _ = data()
    stump = DecisionTreeClassifier(max_depth=1)
    for rules in (
        {},
        {"clip": True},
        {"early_stopping": True},
        {"leveraging": "closed", "learning_rate": 1.0},
    ):
        fitted = make(rules, t=t).fit(X, [label] * 200)
        for model in (fitted, twin(fitted, tmp_path)):
            assert model.predict_proba(X).tolist() == [[1.0]] * 200
            assert model.predict(X).tolist() == [label] * 200
    for model in (TemperedTreeClassifier(t), make(t=t, estimator=stump)):
        assert model.fit(np.nan_to_num(X), [label] * 200).predict_proba(X * 0).tolist() == [[1.0]] * 200


@every_kind_with("scale", [1.0, 1e-12, 1e-300, 1e300])
def test_41_no_split_leaves_a_child_without_rows(rules, n_classes, scale):
    X, y = data(n_classes, n=120, missing=0.8)
    weight = scale * np.random.default_rng(1).gamma(0.3, size=120)
    model = make(rules, min_samples_leaf=0, leaf_ridge=0.0, max_leaf_nodes=None).fit(X, y, weight)
    for tree in trees_of(model):
        assert (tree.mass > 0).all()
        counts = np.bincount(make_apply(model, tree, X), minlength=len(tree.feature))
        assert (counts[tree.feature < 0] > 0).all()
    assert_finite(model, X)


def make_apply(model, tree, X):
    """Leaves of the rows in one tree of a model."""
    return model.apply(X).reshape(len(X), -1)[
        :, next(j for j, one in enumerate(trees_of(model)) if one is tree)
    ]


@every_kind_with("least", [0, 5])
def test_42_separable_and_constant_data_end_in_the_prior_or_in_finite_scores(rules, n_classes, least):
    y = NAMES[np.arange(30) % n_classes]
    tables = {
        "constant": (np.ones((30, 2)), y),
        "a row each": (np.arange(float(n_classes))[:, None], NAMES[:n_classes]),
        "separable": (np.arange(30.0)[:, None], NAMES[np.arange(30) * n_classes // 30]),
        "nothing": (np.full((30, 1), NAN), y),
        "contradictions": (np.repeat(np.arange(5.0), 6)[:, None], y),
    }
    for name, (X, labels) in tables.items():
        model = make(rules, min_samples_leaf=least).fit(X, labels)
        assert_finite(model, X)
        if name in ("constant", "nothing", "contradictions"):
            np.testing.assert_allclose(model.predict_proba(X), 1 / n_classes, rtol=1e-6)


# The contract of scikit-learn


def test_43_clone_works_because_parameters_are_kept_as_they_are():
    objects = {
        "categorical_features": ["a"], "class_weight": {"u": 2.0}, "estimator": DecisionTreeClassifier(),
        "random_state": np.random.RandomState(0), "scoring": losses.k_t, "t": np.float32(0.5),
        "validation_fraction": None, "n_estimators": np.int64(3),
    }  # fmt: skip
    model = TAdaBoostClassifier(**objects)
    for name, value in objects.items():
        assert getattr(model, name) is value
    copy = clone(model)
    assert copy.categorical_features == ["a"]
    assert copy.class_weight == {"u": 2.0}
    mask = np.array([True, False])
    assert TemperedTreeClassifier(categorical_features=mask).categorical_features is mask
    assert clone(clone(TemperedTreeClassifier(categorical_features=mask))).categorical_features.tolist() == [
        True,
        False,
    ]


def test_44_the_checks_of_scikit_learn_run_on_many_settings_without_exception():
    """The checks are in test_sklearn.py, the meta-estimators in test_integration.py."""
    text = (Path(__file__).parent / "test_sklearn.py").read_text("utf-8")
    assert "parametrize_with_checks(SETTINGS)" in text
    assert "expected_failed_checks" not in text
    settings = text.split("SETTINGS = [")[1].split("\n]")[0]
    for estimator in (TAdaBoostClassifier, TemperedTreeClassifier):
        assert settings.count(f"    {estimator.__name__}(") >= 8


NEUTRAL = [
    {"margin": 0.0}, {"class_weight": {"ant": 1.0, "bee": 1, "cow": 1}}, {"min_leaf_mass": 0.0},
    {"max_depth": 10**6}, {"n_jobs": 3}, {"random_state": 7}, {"record_weights": True}, {"warm_start": True},
    {"categorical_features": None}, {"categorical_features": []}, {"scoring": "accuracy", "tol": 1.0},
    {"n_iter_no_change": 1, "validation_fraction": None}, {"estimator": None}, {"max_bins": 65535},
    {"min_samples_leaf": np.float64(5.0)},
]  # fmt: skip


@every_kind
def test_45_what_should_do_nothing_does_nothing(rules, n_classes):
    X, y = data(n_classes)
    rules = {**rules, "n_estimators": 3}
    model = bits(make(rules).fit(X, y))
    for neutral in NEUTRAL:
        neutral = {
            k: {n: f for n, f in v.items() if n in y} if k == "class_weight" else v
            for k, v in neutral.items()
        }
        assert bits(make({**rules, **neutral}).fit(X, y)) == model, neutral
    for weight in (np.ones(200), [1] * 200, np.ones(200, ">f4"), pd.Series(np.ones(200, bool))):
        assert bits(make(rules).fit(X, y, weight)) == model
    assert bits(make({**rules, "max_leaf_nodes": 10**9}).fit(X, y)) == bits(
        make({**rules, "max_leaf_nodes": None}).fit(X, y)
    )
    assert bits(make({"t": 1.0, "clip": True}).fit(X, y)) == bits(make({"t": 1.0}).fit(X, y))


# Output and surroundings


@every_kind
def test_47_nothing_is_written_and_a_progress_bar_works(rules, n_classes, capfd):
    X, y = data(n_classes)
    model = make(rules).fit(X, y)
    model.predict_proba(X)
    model.score(X, y)
    assert capfd.readouterr() == ("", "")
    make(rules).set_callbacks(ProgressBar()).fit(X, y)
    assert "TAdaBoostClassifier" in "".join(capfd.readouterr())


def test_48_work_needs_no_home_and_writes_no_file():
    script = """
import os, sys
def refuse(event, args):
    if event == "open" and (args[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) and args[0] != os.devnull:
        raise PermissionError(f"writes {args[0]}")
    if event in ("os.mkdir", "os.rename", "os.remove", "tempfile.mkstemp"):
        raise PermissionError(event)
import sklearn.callback, sklearn.metrics  # what scikit-learn does is its own
sys.addaudithook(refuse)
import numpy as np, tadaboost
X = np.arange(120.0).reshape(60, 2)
for y in (np.arange(60) % 2, np.arange(60) % 3):
    tadaboost.TAdaBoostClassifier(n_estimators=2, n_jobs=2).fit(X, y).predict_proba(X)
    tadaboost.TemperedTreeClassifier().fit(X, y).predict_proba(X)
print("done")
"""
    nowhere = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "TMPDIR", "MPLCONFIGDIR"), "/nonexistent")
    environment = {**os.environ, **nowhere, "PYTHONDONTWRITEBYTECODE": "1"}
    assert run_script(script, env=environment) == "done\n"


def agrees_with_the_oracle():
    """Whether a small fit is that of plain Python: what most tests of the core rest on."""
    X, y = data(missing=0.2, n=60)
    sign = np.where(y == "bee", 1, -1)
    model = make(n_estimators=3).fit(X, sign)
    oracle = naive.boost(X.tolist(), sign.tolist(), 0.5, n_estimators=3, learning_rate=0.1)
    values = [[node.get("value", 0.0) for node in r["nodes"]] for r in oracle]
    return all(
        np.allclose(tree.value, value, atol=1e-9) and math.isclose(record["loss"], r["loss"], rel_tol=1e-9)
        for tree, value, record, r in zip(model.trees_, values, model.rounds_, oracle, strict=True)
    )


@pytest.mark.parametrize("wrong", ["solve_leaves", "step", "edge_sums"])
def test_49_a_wrong_sign_in_the_core_is_noticed(wrong, monkeypatch):
    """`.ci/mutate.py` changes the code itself; here the answers of the core are turned round."""
    assert agrees_with_the_oracle()
    right = getattr(rounds._core, wrong)

    def turned(*arguments):
        if wrong == "step":  # the weights move the other way
            return right(*arguments[:2], -arguments[2], *arguments[3:])
        answer = right(*arguments)
        return -answer if wrong == "solve_leaves" else (answer[0], -answer[1], *answer[2:])

    monkeypatch.setattr(rounds._core, wrong, turned)
    if wrong == "edge_sums":
        X, y = data()
        assert make(leveraging="closed").fit(X, y).score(X, y) < 0.5
    else:
        assert not agrees_with_the_oracle()


# Distributed


@pytest.mark.parametrize("t", [0.0, 0.5, 1.0, 1.3])
@pytest.mark.parametrize("kind", ["unit", "whole", "fractional"])
def test_50_an_empty_partition_changes_no_bit_of_a_tree(t, kind):
    """There is no cluster yet; the conversation that it will hold is there."""
    table = random_table(200, kind=kind, categorical=[1])
    trees = []
    for cuts in ([], [80, 80], [0, 50, 200]):
        shards = [shard_of(table, t, rows=rows) for rows in np.split(np.arange(200), cuts)]
        for shard in shards:
            shard.begin_tree(10)
        grower = grower_of(table, t)
        grow(grower, shards)
        trees.append([array.tobytes() for array in grower.tree().arrays()])
    assert trees[1] == trees[2] == trees[0]
    with pytest.raises(ModuleNotFoundError, match=r"tadaboost\.dask"):
        __import__("tadaboost.dask")
