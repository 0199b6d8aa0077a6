# SPDX-License-Identifier: Apache-2.0
"""Validation rows: which they are, what is recorded of them, when a fit stops and what it keeps."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tadaboost
from tadaboost import TAdaBoostClassifier
from tadaboost.losses import tempered_exp_loss
from tadaboost.validation import draw

RULES = [
    {},
    {"t": 0.0, "clip": True, "leveraging": "closed", "leaf_values": "theorem_a", "learning_rate": 1.0},
    {"t": 1.0, "learning_rate": 1.0},
    {"t": 1.4, "learning_rate": 1.0},
]
KINDS = [2, 3]


def data(n_classes=2, n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = np.digitize(X[:, 0] + rng.normal(size=n), np.linspace(-1, 1, n_classes + 1)[1:-1])
    return X, y


def halves(n_classes=2, **more):
    X, y = data(n_classes, **more)
    return (X[::2], y[::2]), (X[1::2], y[1::2])


def trees_of(model):
    return [tree for j in model.trees_ for tree in (j if len(model.classes_) > 2 else [j])]


def same(a, b):
    assert a.n_iter_ == b.n_iter_
    assert a.stop_reason_ == b.stop_reason_
    assert a.rounds_.tobytes() == b.rounds_.tobytes()
    for one, other in zip(trees_of(a), trees_of(b), strict=True):
        assert [array.tobytes() for array in one] == [array.tobytes() for array in other]


# What is recorded


@pytest.mark.parametrize("n_classes", KINDS)
@pytest.mark.parametrize("rules", RULES)
def test_the_loss_of_validation_rows_is_that_of_the_model_as_it_predicts(rules, n_classes):
    (X, y), (X_val, y_val) = halves(n_classes)
    weight = np.random.default_rng(1).uniform(0.5, 2, len(y_val))
    model = TAdaBoostClassifier(n_estimators=12, **rules)
    model.fit(X, y, X_val=X_val, y_val=y_val, sample_weight_val=weight)
    classes = model.classes_ if n_classes > 2 else model.classes_[1:]
    sign = np.where(y_val[:, None] == classes, 1.0, -1.0)
    for row, stage in zip(model.rounds_["val_loss"], model.staged_decision_function(X_val), strict=True):
        loss = tempered_exp_loss(sign * stage.reshape(sign.shape), model.t)
        expected = np.average(np.minimum(loss, np.exp(600)), axis=0, weights=weight)
        np.testing.assert_allclose(np.ravel(row), expected, rtol=1e-12)
    plain = TAdaBoostClassifier(n_estimators=12, **rules).fit(X, y)
    assert np.isnan(plain.rounds_["val_loss"]).all()
    np.testing.assert_array_equal(plain.decision_function(X), model.decision_function(X))


def test_everything_stored_is_finite_where_the_loss_has_a_pole():
    X, y = data()
    model = TAdaBoostClassifier(t=1.5, learning_rate=1.0, min_samples_leaf=1, leaf_ridge=0.0)
    model.fit(X, y, X_val=np.repeat(X, 2, axis=0), y_val=np.repeat(1 - y, 2))
    assert np.isfinite(model.rounds_["val_loss"]).all()
    assert model.rounds_["val_loss"].max() > 1e100


@pytest.mark.parametrize("exponent", [-900, 900])
def test_the_unit_of_the_weights_changes_no_bit_of_the_validation_loss(exponent):
    """Losses here reach 1e250: their sums with the weights as they are would be no numbers."""
    (X, y), (X_val, y_val) = halves()
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y_val))
    losses = []
    for unit in (1.0, 2.0**exponent):
        model = TAdaBoostClassifier(t=1.5, learning_rate=1.0, min_samples_leaf=1, leaf_ridge=0.0)
        model.fit(X, y, X_val=X_val, y_val=1 - y_val, sample_weight_val=weight * unit)
        losses.append(model.rounds_["val_loss"])
    np.testing.assert_array_equal(*losses)
    assert losses[0].max() > 1e100


# Which rows


@pytest.mark.parametrize("n_classes", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_drawn_rows_are_as_good_as_given_ones(n_classes, weighted):
    X, y = data(n_classes)
    weight = np.random.default_rng(2).integers(0, 3, len(y)).astype(float) if weighted else None
    out = draw(y, weight, 0.2, seed=5)
    model = TAdaBoostClassifier(early_stopping=True, validation_fraction=0.2, random_state=5)
    drawn = model.fit(X, y, weight)
    given = TAdaBoostClassifier(early_stopping=True).fit(
        X[~out],
        y[~out],
        weight[~out] if weighted else None,
        X_val=X[out],
        y_val=y[out],
        sample_weight_val=weight[out] if weighted else None,
    )
    same(drawn, given)


def test_the_draw_takes_its_share_of_each_class_by_position():
    y = np.repeat([0, 1, 2, 3], [100, 40, 4, 1])
    weight = np.tile([1.0, 1.0, 0.0, 2.0, 1.0], 29)
    out = draw(y, None, 0.25, seed=0)
    assert np.bincount(y[out], minlength=4).tolist() == [25, 10, 1, 0]
    assert not (draw(y, weight, 0.25, seed=0) & (weight == 0)).any()
    np.testing.assert_array_equal(draw(y, None, 0.25, seed=0), out)
    assert (draw(y, None, 0.25, seed=1) != out).any()
    np.testing.assert_array_equal(draw(np.array(list("abcd"))[y], None, 0.25, seed=0), out)


def test_bins_and_levels_do_not_see_validation_rows():
    (X, y), (X_val, y_val) = halves()
    model = TAdaBoostClassifier(n_estimators=5).fit(X, y, X_val=X_val, y_val=y_val)
    X_val = X_val.copy()
    X_val[0] = 1e9
    other = TAdaBoostClassifier(n_estimators=5).fit(X, y, X_val=X_val, y_val=y_val)
    for one, two in zip(model.trees_, other.trees_, strict=True):
        np.testing.assert_array_equal(one.threshold, two.threshold)
    out = np.flatnonzero(draw(y, None, 0.1, seed=0))
    table = pd.DataFrame({"x": X[:, 0], "c": np.where(np.arange(len(y)) == out[0], "odd", "usual")})
    drawn = TAdaBoostClassifier(early_stopping=True, random_state=0).fit(table, y)
    assert drawn._schema[1] == ["usual"]


@pytest.mark.parametrize(
    "make",
    [
        lambda X: X.tolist(),
        lambda X: pd.DataFrame(X, columns=list("abcd")),
        lambda X: pl.DataFrame(X, schema=list("abcd")),
        lambda X: pl.DataFrame(X, schema=list("abcd")).to_arrow(),
        np.asfortranarray,
    ],
)
def test_rows_are_drawn_from_any_make_of_table(make):
    X, y = data()
    model = TAdaBoostClassifier(early_stopping=True, random_state=0, n_iter_no_change=3).fit(X, y)
    same(model, TAdaBoostClassifier(early_stopping=True, random_state=0, n_iter_no_change=3).fit(make(X), y))


def test_class_weights_reach_the_validation_rows():
    (X, y), (X_val, y_val) = halves(n=200)
    factor = {0: 1.0, 1: 3.0}
    model = TAdaBoostClassifier(n_estimators=4, class_weight=factor)
    plain = TAdaBoostClassifier(n_estimators=4).fit(
        X, y, np.where(y, 3.0, 1.0), X_val=X_val, y_val=y_val, sample_weight_val=np.where(y_val, 3.0, 1.0)
    )
    same(model.fit(X, y, X_val=X_val, y_val=y_val), plain)
    counts = np.bincount(y)
    balanced = dict(enumerate(len(y) / 2 / counts))
    alone = y_val == 1  # one class only among the validation rows
    pair = [
        TAdaBoostClassifier(n_estimators=4, class_weight=of_class).fit(
            X, y, X_val=X_val[alone], y_val=y_val[alone]
        )
        for of_class in ("balanced", balanced)
    ]
    same(*pair)


# When it stops and what it keeps


@pytest.mark.parametrize("n_classes", KINDS)
@pytest.mark.parametrize("rules", RULES)
def test_the_best_round_is_the_last_of_every_attribute(rules, n_classes):
    (X, y), (X_val, y_val) = halves(n_classes)
    rules = {"n_estimators": 60, "record_weights": True, **rules}
    long = TAdaBoostClassifier(**rules).fit(X, y, X_val=X_val, y_val=y_val)
    model = TAdaBoostClassifier(early_stopping=True, n_iter_no_change=4, **rules)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    loss = long.rounds_["val_loss"].reshape(long.n_iter_, -1).mean(axis=1)
    stopped = next((j for j in range(len(loss)) if j - np.argmin(loss[: j + 1]) >= 4), None)
    n = int(np.argmin(loss[: (stopped if stopped is not None else len(loss) - 1) + 1])) + 1
    assert model.n_iter_ == len(model.trees_) == len(model.rounds_) == len(model.estimator_weights_) == n
    assert model.stop_reason_ == ("early stopping" if stopped is not None else long.stop_reason_)
    assert model.weights_.tobytes() == long.weights_[: n + 1].tobytes()
    assert model.rounds_.tobytes() == long.rounds_[:n].tobytes()
    stages = list(long.staged_decision_function(X_val))
    np.testing.assert_array_equal(model.decision_function(X_val), stages[n - 1])
    np.testing.assert_allclose(model.feature_importances_.sum(), 1)


@pytest.mark.parametrize("n_classes", KINDS)
@pytest.mark.parametrize(
    "scoring", ["accuracy", "neg_log_loss", "balanced_accuracy", "roc_auc_ovr", "neg_brier_score"]
)
def test_scorers_of_scikit_learn_see_the_model_of_the_round(scoring, n_classes):
    (X, y), (X_val, y_val) = halves(n_classes)
    model = TAdaBoostClassifier(n_estimators=12, early_stopping=True, n_iter_no_change=3, scoring=scoring)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    scores = [
        get_scorer(scoring)(TAdaBoostClassifier(n_estimators=j).fit(X, y), X_val, y_val)
        for j in range(1, min(model.n_iter_ + 3, 12) + 1)
    ]
    assert model.n_iter_ == 1 + int(np.argmax(scores))


def test_a_scorer_may_be_a_function_and_gets_the_weights():
    (X, y), (X_val, y_val) = halves()
    seen = []

    def scorer(estimator, X, y, sample_weight=None):
        seen.append((len(X), sample_weight))
        return -len(seen)

    model = TAdaBoostClassifier(early_stopping=True, n_iter_no_change=3, scoring=scorer)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    assert (model.n_iter_, len(seen), seen[0]) == (1, 4, (len(X_val), None))
    model.fit(X, y, X_val=X_val, y_val=y_val, sample_weight_val=np.ones(len(y_val)))
    assert seen[-1][1].tolist() == [1.0] * len(y_val)


def test_without_validation_rows_the_training_loss_is_watched():
    X, y = data()
    plain = TAdaBoostClassifier(n_estimators=80).fit(X, y)
    fall = -np.diff(plain.rounds_["loss"])
    tol = float(fall[30:].max())
    model = TAdaBoostClassifier(
        n_estimators=80, early_stopping=True, validation_fraction=None, n_iter_no_change=1, tol=tol
    ).fit(X, y)
    n = int(np.argmax(fall <= tol)) + 1
    assert (model.n_iter_, model.stop_reason_) == (n, "early stopping")
    assert np.isnan(model.rounds_["val_loss"]).all()
    scored = TAdaBoostClassifier(early_stopping=True, validation_fraction=None, scoring="accuracy").fit(X, y)
    accuracy = [(stage == y).mean() for stage in TAdaBoostClassifier().fit(X, y).staged_predict(X)]
    assert accuracy[scored.n_iter_ - 1] == max(accuracy[: scored.n_iter_ + 10])
    assert np.isnan(scored.rounds_["val_loss"]).all()


def test_a_weak_learner_stops_early_too():
    (X, y), (X_val, y_val) = halves(3)
    model = TAdaBoostClassifier(
        estimator=LogisticRegression(), early_stopping=True, n_iter_no_change=2, learning_rate=1.0
    ).fit(X, y, X_val=X_val, y_val=y_val)
    assert model.n_iter_ == len(model.estimators_) == len(model.rounds_)
    sign = np.where(y_val[:, None] == model.classes_, 1.0, -1.0)
    loss = tempered_exp_loss(sign * model.decision_function(X_val), model.t).mean(axis=0)
    np.testing.assert_allclose(model.rounds_["val_loss"][-1], loss, rtol=1e-12)


# Around it


def test_a_pipeline_transforms_the_validation_rows():
    (X, y), (X_val, y_val) = halves()
    with sklearn.config_context(enable_metadata_routing=True):
        model = TAdaBoostClassifier(early_stopping=True, n_iter_no_change=3)
        model.set_fit_request(X_val=True, y_val=True, sample_weight_val=True)
        pipe = make_pipeline(StandardScaler(), model, transform_input=["X_val"])
        pipe.fit(X, y, X_val=X_val, y_val=y_val, sample_weight_val=np.ones(len(y_val)))
    scaler = StandardScaler().fit(X)
    by_hand = TAdaBoostClassifier(early_stopping=True, n_iter_no_change=3)
    X, X_val = scaler.transform(X), scaler.transform(X_val)
    by_hand.fit(X, y, X_val=X_val, y_val=y_val, sample_weight_val=np.ones(len(y_val)))
    same(pipe[-1], by_hand)


def test_a_file_keeps_the_validation_loss(tmp_path):
    X, y = data()
    model = TAdaBoostClassifier(early_stopping=True, random_state=0, scoring="accuracy").fit(X, y)
    tadaboost.save(model, tmp_path / "m.tada")
    same(tadaboost.load(tmp_path / "m.tada"), model)


def test_one_class_and_few_rows_need_no_special_care():
    assert TAdaBoostClassifier(early_stopping=True).fit([[0.0]] * 5, [1] * 5).stop_reason_ == "one class"
    few = TAdaBoostClassifier(early_stopping=True).fit([[0.0], [1.0], [2.0]], [0, 0, 1])
    assert few.classes_.tolist() == [0, 1]
    with pytest.raises(
        ValueError, match=r"^early_stopping cannot set a row aside .*\(n_samples=2\); pass X_val"
    ):
        TAdaBoostClassifier(early_stopping=True).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"X_val": [[0.0] * 4]}, r"^X_val is given but y_val is not"),
        ({"y_val": [0]}, r"^y_val and sample_weight_val are about the rows of X_val, which is not given"),
        ({"sample_weight_val": [1.0]}, r"^y_val and sample_weight_val are about the rows of X_val"),
        ({"X_val": [[0.0] * 4], "y_val": [7]}, r"^y_val\[0\] is 7, which is none of the classes in y$"),
        ({"X_val": [[0.0] * 4], "y_val": [0, 1]}, r"inconsistent numbers of samples: \[1, 2\]"),
        ({"X_val": [[0.0] * 4], "y_val": [None]}, r"^y_val\[0\] is missing; every row needs a label$"),
        (
            {"X_val": [[0.0] * 4], "y_val": [0], "sample_weight_val": [-1.0]},
            r"^sample_weight_val\[0\] is -1\.0; weights must be >= 0$",
        ),
        (
            {"X_val": [[0.0] * 3], "y_val": [0]},
            r"^X_val: X has 3 features, but TAdaBoostClassifier",
        ),
        ({"X_val": [[np.inf] * 4], "y_val": [0]}, r"^X_val: column 0 holds infinity in row 0"),
    ],
)
def test_validation_rows_that_cannot_be_used_are_refused(given, match):
    X, y = data()
    with pytest.raises(ValueError, match=match):
        TAdaBoostClassifier(n_estimators=2).fit(X, y, **given)


@pytest.mark.parametrize(
    "bad",
    [
        {"early_stopping": "yes"},
        {"n_iter_no_change": 0},
        {"validation_fraction": 1.0},
        {"validation_fraction": 0},
        {"tol": -1.0},
        {"scoring": "lost"},
        {"warm_start": None},
    ],
)
def test_a_bad_parameter_is_named(bad):
    with pytest.raises(ValueError, match=f"The '{next(iter(bad))}' parameter of TAdaBoostClassifier"):
        TAdaBoostClassifier(**bad).fit(*data())
