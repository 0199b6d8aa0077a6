# SPDX-License-Identifier: Apache-2.0
"""Clipped and plain models on real rows: scores, files, records, and the inequalities (12) and (13)."""

import gzip
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_wine

from tadaboost import TAdaBoostClassifier, load, paper_settings, save
from tadaboost.losses import margin, tempered_exp_loss
from tadaboost.measures import clipped_sum

from .pairs import pairs

SHARED = Path(__file__).parents[2] / "shared" / "data"
STEPS = [
    {"leaf_values": "theorem_a", "leveraging": "closed"},
    {"leaf_values": "theorem_a", "leveraging": "exact"},
    {"leaf_values": "canonical", "leveraging": "closed"},
    {"leaf_values": "exact", "leveraging": "exact"},
    {"leaf_values": "exact", "leveraging": "closed", "learning_rate": 0.3},
    {"leaf_values": "exact", "leveraging": "unit", "learning_rate": 0.5, "leaf_ridge": 0.5},
]
THETAS = np.array([-0.9, -0.5, -0.1, 0.0, 0.1, 0.5, 0.9])


def noisy(X, y, share=0.2):
    return X, np.where(np.random.default_rng(0).random(len(y)) < share, 1 - y, y)


@pytest.fixture(scope="module")
def X_y():
    X, y = load_breast_cancer(return_X_y=True)
    return noisy(X[:300, :10], y[:300])


def fitted(X, y, t, clip, steps, **more):
    settings = {**paper_settings(t, clip), **steps, "record_weights": True, **more}
    return TAdaBoostClassifier(**settings).fit(X, y)


def terms_of(model, X):
    leaves = model.apply(X)
    values = [tree.value[leaf] for tree, leaf in zip(model.trees_, leaves.T, strict=True)]
    return model.estimator_weights_[:, None] * np.array(values)


def check_records(model, X, y):
    """What `rounds_` says must follow from trees, coefficients and rows by the formulas alone."""
    t, sign, terms, rounds = model.t, 2 * y - 1, terms_of(model, X), model.rounds_
    delta = 1 / abs(1 - t) if t != 1 else np.inf
    for j, stage in enumerate(model.staged_decision_function(X)):
        expected = clipped_sum(terms[: j + 1], delta if model.clip else np.inf)
        np.testing.assert_allclose(stage, expected, rtol=1e-12, atol=1e-12)
        assert rounds["train_error"][j] == pytest.approx(np.mean(stage * sign <= 0), abs=1e-12)
        upper = clipped_sum(terms[: j + 1] * sign, delta if t < 1 else np.inf, side="upper")
        assert rounds["loss"][j] == pytest.approx(tempered_exp_loss(upper, t).mean(), rel=1e-7)
    before = np.concatenate([[1.0], rounds["loss"][:-1]])
    np.testing.assert_allclose(rounds["Z"] ** (2 - t), rounds["loss"] / before, rtol=1e-12)
    np.testing.assert_array_equal(rounds["n_off"], (model.weights_[1:] == 0).sum(axis=1))
    np.testing.assert_allclose(model.weights_.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(rounds["codensity_max"], model.weights_[1:].max(axis=1), rtol=1e-9)
    np.testing.assert_allclose(rounds["codensity_min"], model.weights_[1:].min(axis=1), rtol=1e-9)


def check_inequalities(model, X, y):
    t, rounds = model.t, model.rounds_
    assert (rounds["train_error"] <= rounds["loss"] * (1 + 1e-12)).all()
    assert (rounds["loss"] <= rounds["bound"] * (1 + 1e-9)).all()
    if model.leveraging == "unit" or model.learning_rate < 1:
        np.testing.assert_array_equal(rounds["bound"], rounds["loss"])
    risk, bound = model.margin_risk(X, y, THETAS), model.margin_bound(THETAS)
    nu = margin(2 * y - 1, model.decision_function(X), t)
    np.testing.assert_allclose(risk, [np.mean(nu <= theta) for theta in THETAS], atol=1e-12)
    np.testing.assert_allclose(bound, ((1 + THETAS) / (1 - THETAS)) ** (2 - t) * rounds["loss"][-1])
    assert (risk <= bound * (1 + 1e-9)).all()


@pytest.mark.parametrize(
    ("t", "clip", "steps"), pairs([-1.0, 0.0, 0.6, 1.0, 1.1], [False, True], STEPS), ids=str
)
def test_records_are_true_and_12_and_13_hold(X_y, tmp_path, t, clip, steps):
    X, y = X_y
    model = fitted(X, y, t, clip, steps)
    check_records(model, X, y)
    if clip and t > 1:
        assert np.isnan(model.rounds_["bound"]).all()
        assert np.isnan(model.margin_bound(THETAS)).all()
    else:
        check_inequalities(model, X, y)
    save(model, tmp_path / "model.tada")
    loaded = load(tmp_path / "model.tada")
    for ours, theirs in zip(
        model.staged_decision_function(X), loaded.staged_decision_function(X), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)
    assert loaded.rounds_.tobytes() == model.rounds_.tobytes()
    np.testing.assert_array_equal(loaded.margin_bound(THETAS), model.margin_bound(THETAS))
    np.testing.assert_array_equal(loaded.margin_risk(X, y, THETAS), model.margin_risk(X, y, THETAS))


def test_clipping_changes_scores_but_never_the_trees(X_y):
    X, y = X_y
    steps = {"leaf_values": "exact", "leveraging": "unit", "n_estimators": 60, "leaf_ridge": 0.0}
    plain, clipped = (fitted(X, y, 0.0, clip, steps) for clip in (False, True))
    np.testing.assert_array_equal(plain.estimator_weights_, clipped.estimator_weights_)
    np.testing.assert_array_equal(plain.rounds_["loss"], clipped.rounds_["loss"])
    assert np.abs(plain.decision_function(X)).max() > 1
    assert np.abs(clipped.decision_function(X)).max() == 1
    inner = np.array(list(clipped.staged_decision_function(X)))
    last = np.clip(plain.decision_function(X), -1, 1)
    assert np.abs(inner).max() == 1
    assert (last != inner[-1]).any()  # clipping each term is not clipping the sum


def test_weights_that_are_off_keep_the_bound_certified(X_y):
    X, y = X_y
    model = fitted(X, y, 0.0, True, {"leveraging": "exact", "leaf_values": "exact", "leaf_ridge": 0.0})
    assert model.rounds_["n_off"].max() > 50
    assert (np.diff(model.rounds_["n_off"]) < 0).any()  # some come back
    check_records(model, X, y)
    check_inequalities(model, X, y)


@pytest.mark.parametrize("clip", [False, True])
@pytest.mark.parametrize("t", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("file", ["uci/sonar.csv", "extra/ionosphere.csv"])
def test_12_and_13_hold_on_domains_of_the_paper(file, t, clip):
    if not (SHARED / file).exists():
        pytest.skip("the shared data is not there")
    content = (SHARED / file).read_bytes()
    table = pd.read_csv(io.BytesIO(gzip.decompress(content) if file.endswith(".gz") else content))
    X, y = noisy(table.iloc[:, :-1].to_numpy(float), pd.factorize(table.iloc[:, -1])[0])
    model = fitted(X, y, t, clip, {})
    check_records(model, X, y)
    check_inequalities(model, X, y)


@pytest.mark.parametrize("leveraging", ["closed", "exact"])
@pytest.mark.parametrize("leaf_values", ["exact", "theorem_a"])
def test_what_would_be_infinite_at_t_1_is_capped_and_counted(leaf_values, leveraging):
    X = np.arange(40.0)[:, None]
    y = (X[:, 0] >= 20).astype(int)
    settings = {
        "leaf_values": leaf_values,
        "leveraging": leveraging,
        "allow_pure_leaves": True,
        "leaf_ridge": 3.0,
    }
    model = fitted(X, y, 1.0, False, settings)
    assert np.abs(model.decision_function(X)) == pytest.approx(500)
    assert model.rounds_["n_nonfinite"].tolist() == [1 if leaf_values == "exact" else 3]  # the step; leaves
    assert model.stop_reason_ == "perfect"


def test_margins_count_multiplicities_and_all_classes():
    X, label = load_wine(return_X_y=True)
    y = np.where(label == 0, "first", "other")
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    model = TAdaBoostClassifier(n_estimators=5, learning_rate=1.0).fit(X, y, weight)
    repeated = np.repeat(np.arange(len(y)), weight)
    np.testing.assert_allclose(
        model.margin_risk(X, y, THETAS, weight),
        model.margin_risk(X[repeated], y[repeated], THETAS),
        rtol=1e-12,
    )
    assert (model.margin_risk(X, y, THETAS, weight) <= model.margin_bound(THETAS)).all()
    grid = THETAS[:6].reshape(2, 3)
    assert model.margin_risk(X, y, grid).shape == model.margin_bound(grid).shape == (2, 3)
    assert model.margin_risk(X, y, 0.0).shape == model.margin_bound(0.0).shape == ()
    alone = TAdaBoostClassifier().fit(X, ["only"] * len(y))
    assert alone.margin_risk(X, ["only"] * len(y), 0.0) == 0


def test_thetas_and_labels_out_of_range_are_named(X_y):
    X, y = X_y
    model = TAdaBoostClassifier(n_estimators=2).fit(X, y)
    with pytest.raises(ValueError, match=r"^theta must be inside \(-1, 1\), got 1\.0$"):
        model.margin_risk(X, y, [0.0, 1.0])
    with pytest.raises(ValueError, match=r"^theta must be inside \(-1, 1\), got nan$"):
        model.margin_bound(np.nan)
    with pytest.raises(ValueError, match=r"^y\[0\] is 7, which is none of the classes \[0, 1\]$"):
        model.margin_risk(X[:1], [7], 0.0)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.margin_risk(X, y[:5], 0.0)
