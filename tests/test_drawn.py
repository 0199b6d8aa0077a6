# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from tadaboost import TAdaBoostClassifier, paper_settings

from . import drawn


@pytest.mark.parametrize("leaves", ["theorem_a", "canonical"])
@pytest.mark.parametrize("t", [0.0, 0.6, 1.0, 1.1])
def test_with_every_split_the_helper_is_the_classifier(t, leaves):
    rng = np.random.default_rng(4)
    X, X_test = rng.normal(size=(80, 3)), rng.normal(size=(50, 3))
    y = X[:, 0] + rng.normal(size=80) > 0
    settings = paper_settings(t) | {"n_estimators": 5, "max_leaf_nodes": 4, "leaf_values": leaves}
    ours = TAdaBoostClassifier(**settings).fit(X, y).decision_function(X_test)
    score = drawn.fit_and_score(X, y, X_test, t=t, n_trees=5, max_leaves=4, leaves=leaves)
    assert score == pytest.approx(ours, rel=1e-6)


def test_a_draw_of_few_splits_makes_other_trees():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(80, 3))
    y = X[:, 0] + rng.normal(size=80) > 0
    scores = [
        drawn.fit_and_score(X, y, X, t=0.6, rng=np.random.default_rng(seed), n_drawn=20, n_trees=2)
        for seed in (0, 0, 1)
    ]
    assert (scores[0] == scores[1]).all()
    assert (scores[0] != scores[2]).any()
