# SPDX-License-Identifier: Apache-2.0
"""One tree by the tempered loss: theorem A's leaves, its loss (64), the encodings of Figure 2."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from tadaboost import TemperedTreeClassifier, load, save
from tadaboost.losses import bayes_risk, conditional_risk, leaf_link, partial_loss, tempered_exp_loss
from tadaboost.tree import node_reals, percolate

TEMPERATURES = [-2.0, 0.0, 0.5, 0.999, 1.0, 1.3, 1.9]


@pytest.fixture(scope="module")
def X_y():
    X, y = load_breast_cancer(return_X_y=True)
    noise = np.random.default_rng(0).random(len(y)) < 0.15
    return X[:, :8], np.where(noise, 1 - y, y)


def masses(tree, leaves, y, weight):
    """Positive and negative mass of each node, from the leaves of the rows."""
    pos, neg = (np.bincount(leaves, weight * (y == k), minlength=len(tree.mass)) for k in (1, 0))
    for node in range(len(tree.mass) - 1, -1, -1):
        if tree.feature[node] >= 0:
            for mass in (pos, neg):
                mass[node] = mass[tree.left[node]] + mass[tree.right[node]]
    return pos, neg


def fitted(X, y, t, weighted, **settings):
    weight = np.random.default_rng(1).integers(0, 4, len(y)) if weighted else np.ones(len(y))
    model = TemperedTreeClassifier(t=t, min_samples_leaf=3, **settings).fit(
        X, y, weight if weighted else None
    )
    return model, weight, masses(model.tree_, model.apply(X), y, weight)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("t", TEMPERATURES)
def test_leaves_are_theorem_a_and_probabilities_their_shares(X_y, t, weighted):
    model, _, (pos, neg) = fitted(*X_y, t, weighted)
    leaf = model.tree_.feature < 0
    value = leaf_link(pos[leaf], neg[leaf], t)
    value = np.clip(value, -500, 500) if t >= 1 else value  # pure leaves are infinite at t = 1
    np.testing.assert_allclose(model.tree_.value[leaf], value, rtol=1e-12)
    share = (pos / (pos + neg))[model.apply(X_y[0])]
    np.testing.assert_allclose(model.predict_proba(X_y[0])[:, 1], share, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("t", TEMPERATURES)
def test_the_loss_is_the_tree_loss_64_and_the_mean_loss_of_the_scores(X_y, t, weighted):
    X, y = X_y
    model, weight, (pos, neg) = fitted(X, y, t, weighted)
    leaf = model.tree_.feature < 0
    mass = (pos + neg)[leaf]
    tree_loss = np.sum(mass / mass.sum() * bayes_risk(pos[leaf] / mass, t))
    assert model.loss_ == pytest.approx(tree_loss, rel=1e-12)
    X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
    margins = (2 * y - 1) * model.decision_function(X)
    assert model.loss_ == pytest.approx(np.average(tempered_exp_loss(margins, t), weights=weight), rel=1e-12)
    p = model.predict_proba(X)[:, 1]
    partial = np.where(y == 1, partial_loss(p, t), partial_loss(p, t, -1))
    assert model.loss_ == pytest.approx(np.average(partial, weights=weight), rel=1e-9)
    assert model.loss_ < conditional_risk(
        pos[0] / (pos + neg)[0], pos[0] / (pos + neg)[0], t
    )  # the root alone


@pytest.mark.parametrize("t", [0.0, 0.5, 1.0])
def test_other_leaf_values_cost_more(X_y, t):
    # The ridge keeps the structure: splits look at masses, not at leaf values.
    least = fitted(*X_y, t, False)[0]
    for settings in ({"leaf_values": "canonical"}, {"leaf_values": "exact", "leaf_ridge": 3.0}):
        other = fitted(*X_y, t, False, **settings)[0]
        np.testing.assert_array_equal(other.tree_.feature, least.tree_.feature)
        assert other.loss_ > least.loss_


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("t", TEMPERATURES)
def test_node_reals_sum_to_psi_of_the_masses_along_every_path(X_y, t, weighted):
    model, _, (pos, neg) = fitted(*X_y, t, weighted)
    tree = model.tree_
    reals = node_reals(tree, t)
    assert reals[0] == pytest.approx(leaf_link(pos[0], neg[0], t), rel=1e-9)
    whole = percolate(tree, reals)
    inner = tree.feature >= 0
    assert inner.sum() >= 3
    np.testing.assert_allclose(whole[inner], leaf_link(pos[inner], neg[inner], t), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(whole[~inner], tree.value[~inner], rtol=1e-13, atol=1e-13)
    for row, leaf in zip(X_y[0][:20], model.apply(X_y[0][:20]), strict=True):  # by hand
        node, total = 0, reals[0]
        while tree.feature[node] >= 0:
            node = tree.left[node] if row[tree.feature[node]] <= tree.threshold[node] else tree.right[node]
            total += reals[node]
        assert node == leaf
        assert total == pytest.approx(tree.value[leaf], abs=1e-12)


def test_both_encodings_of_a_tree_typed_by_hand():
    tree = (
        TemperedTreeClassifier(t=0.0, min_samples_leaf=1, max_leaf_nodes=3)
        .fit([[0.0], [1.0], [2.0], [2.0]] * 5, [0, 1, 1, 0] * 5)
        .tree_
    )
    # t = 0: psi = share of positives minus share of negatives. Masses 20: 10+ 10-; x = 0: 5-; x > 0: 10+ 5-;
    # x = 1: 5+; x = 2: 5+ 5-.
    assert tree.value.tolist() == [0, -1, 0, 1, 0]
    np.testing.assert_allclose(node_reals(tree, 0.0), [0, -1, 1 / 3, 2 / 3, -1 / 3], rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("values", ["exact", "canonical", "theorem_a"])
@pytest.mark.parametrize("t", [0.0, 1.0, 1.3])
def test_any_tree_percolates_back_even_one_of_pure_leaves(values, t):
    X = np.arange(8.0)[:, None]
    for y in ([0, 0, 1, 1, 0, 0, 1, 1], [1] * 8):
        model = TemperedTreeClassifier(t=t, min_samples_leaf=1, leaf_values=values, leaf_ridge=0.0).fit(X, y)
        reals = node_reals(model.tree_, t)
        assert np.isfinite(reals).all()
        leaf = model.tree_.feature < 0
        np.testing.assert_allclose(percolate(model.tree_, reals)[leaf], model.tree_.value[leaf], rtol=1e-12)


@pytest.mark.parametrize("t", [-1.0, 0.5, 1.0, 1.3])
def test_pure_leaves_and_one_class_have_the_loss_of_their_scores(t):
    X = np.arange(12.0)[:, None]
    for y in (np.repeat([0, 1], 6), np.ones(12, int)):
        model = TemperedTreeClassifier(t=t, min_samples_leaf=1).fit(X, y)
        sign = np.where(y == model.classes_[0], -1, 1)
        loss = tempered_exp_loss(sign * model.decision_function(X), t).mean()
        assert model.loss_ == pytest.approx(loss, rel=1e-9, abs=1e-200)
        assert model.loss_ == pytest.approx(bayes_risk(0.0, t), rel=1e-9, abs=1e-200)


def test_a_file_keeps_tree_and_loss(X_y, tmp_path):
    model = TemperedTreeClassifier(t=0.3).fit(*X_y)
    save(model, tmp_path / "tree.tada")
    loaded = load(tmp_path / "tree.tada")
    assert loaded.loss_ == model.loss_
    np.testing.assert_array_equal(node_reals(loaded.tree_, 0.3), node_reals(model.tree_, 0.3))
    np.testing.assert_array_equal(loaded.predict_proba(X_y[0]), model.predict_proba(X_y[0]))


def test_node_reals_refuse_a_temperature_of_2():
    tree = TemperedTreeClassifier().fit([[0.0], [1.0]] * 10, [0, 1] * 10).tree_
    with pytest.raises(ValueError, match=r"^t must be < 2, got 2\.0$"):
        node_reals(tree, 2.0)
