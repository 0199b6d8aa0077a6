# SPDX-License-Identifier: Apache-2.0
"""scikit-learn's own checks, on several settings and without an expected failure."""

import pytest
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from tadaboost import TAdaBoostClassifier, TemperedTreeClassifier, paper_settings

SETTINGS = [
    TAdaBoostClassifier(),
    TAdaBoostClassifier(t=1.2, n_estimators=3, leveraging="closed", leaf_values="theorem_a"),
    TAdaBoostClassifier(t=-0.5, n_estimators=3, clip=True, learning_rate=1.0),
    TAdaBoostClassifier(t=0.8, n_estimators=3, leveraging="exact", growth="heaviest", record_weights=True),
    TAdaBoostClassifier(n_estimators=3, leaf_values="canonical", max_bins=7, max_leaf_nodes=None, n_jobs=2),
    TAdaBoostClassifier(
        t=1.0, n_estimators=3, class_weight="balanced", max_depth=2, min_leaf_mass=0.02, leaf_ridge=0.0
    ),
    TAdaBoostClassifier(**paper_settings(t=0.6)).set_params(n_estimators=3),
    # Without a draw by position, for which no weight is a repetition.
    TAdaBoostClassifier(
        n_estimators=10,
        early_stopping=True,
        validation_fraction=None,
        scoring="accuracy",
        warm_start=True,
        learning_rate=1.0,
    ),
    # A share of rows so near to 1 that the draw leaves out none, for then no weight would be a repetition.
    TAdaBoostClassifier(
        t=0.7,
        n_estimators=3,
        colsample=0.5,
        subsample=1 - 1e-12,
        interaction_cst="pairwise",
        monotonic_cst=None,
    ),
    TemperedTreeClassifier(),
    TemperedTreeClassifier(t=1.0, min_samples_leaf=1, max_leaf_nodes=None),
    TemperedTreeClassifier(t=-0.5, leaf_values="exact", max_depth=3, categorical_features=None),
    TemperedTreeClassifier(t=0.0, leaf_values="canonical", growth="heaviest", allow_pure_leaves=False),
    TemperedTreeClassifier(t=0.9, max_bins=7, max_leaf_nodes=None, n_jobs=2),
    TemperedTreeClassifier(t=1.2, leaf_values="exact", leaf_ridge=0.0, min_leaf_mass=0.02),
    TemperedTreeClassifier(t=1.5, class_weight="balanced", min_samples_leaf=0.5),
    TemperedTreeClassifier(max_leaf_nodes=2, max_depth=1, max_bins=65535),
]


@pytest.mark.filterwarnings("ignore:sample_weight sums to:UserWarning")  # some checks fit ten light rows
@parametrize_with_checks(SETTINGS)
def test_estimator_passes_the_check(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", [TAdaBoostClassifier(), TemperedTreeClassifier()])
def test_the_tags_promise_missing_cells_categories_and_many_classes(estimator):
    tags = get_tags(estimator)
    assert tags.input_tags.allow_nan
    assert tags.input_tags.categorical
    assert tags.classifier_tags.multi_class
