# SPDX-License-Identifier: Apache-2.0
"""The estimators as users meet them: labels, weights, tables, limits, callbacks, copies."""

import copy
import io
import pickle
import re
import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import tadaboost
from tadaboost import TAdaBoostClassifier, TemperedTreeClassifier, paper_settings
from tadaboost.base import n_threads_of
from tadaboost.losses import inverse_link

NAN = float("nan")
RULES = [
    {},
    {"t": 0.0, "clip": True, "leveraging": "closed", "leaf_values": "theorem_a", "learning_rate": 1.0},
    {"t": 1.0},
    {"t": 1.2, "leveraging": "exact", "leaf_values": "canonical"},
    {"t": -2.0, "leaf_values": "canonical"},
    paper_settings(t=0.6),
]


def data(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[rng.random((n, 4)) < 0.1] = NAN
    y = (np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) ** 2 + 0.5 * rng.normal(size=n) > 0.7).astype(int)
    return X, y


def same(a, b, X, X_of_b=None):
    np.testing.assert_array_equal(
        a.decision_function(X), b.decision_function(X if X_of_b is None else X_of_b)
    )
    assert len(a.trees_) == len(b.trees_)
    for one, other in zip(a.trees_, b.trees_, strict=True):
        for name in ("feature", "threshold", "left", "right", "value", "categories"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def score_by_hand(model, X):
    """Sum alpha h, clipped after every term, from the public attributes and plain Python."""
    clip_at = 1 / abs(1 - model.t) if model.clip and model.t != 1 else np.inf
    scores = []
    for row in X:
        score = 0.0
        for tree, alpha in zip(model.trees_, model.estimator_weights_, strict=True):
            node = 0
            while tree.feature[node] >= 0:
                x = row[tree.feature[node]]
                left = tree.missing_left[node] if np.isnan(x) else x <= tree.threshold[node]
                node = tree.left[node] if left else tree.right[node]
            score = max(-clip_at, min(clip_at, score + alpha * tree.value[node]))
        scores.append(score)
    return scores


# The model


@pytest.mark.parametrize("rules", RULES)
def test_the_score_can_be_rebuilt_from_public_attributes(rules):
    X, y = data()
    model = TAdaBoostClassifier(**{"n_estimators": 15, **rules}).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), score_by_hand(model, X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("rules", RULES)
def test_probabilities_labels_and_stages_follow_from_the_score(rules):
    X, y = data()
    model = TAdaBoostClassifier(**{"n_estimators": 15, **rules}).fit(X, y)
    score, probability = model.decision_function(X), model.predict_proba(X)
    np.testing.assert_array_equal(probability[:, 1], inverse_link(score, model.t))
    np.testing.assert_allclose(probability.sum(axis=1), 1, rtol=1e-15)
    np.testing.assert_array_equal(model.predict(X), probability.argmax(axis=1))
    stages = list(model.staged_decision_function(X))
    assert len(stages) == model.n_iter_ == len(model.trees_) == len(model.rounds_)
    np.testing.assert_array_equal(stages[-1], score)
    np.testing.assert_array_equal(list(model.staged_predict_proba(X))[-1], probability)
    np.testing.assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))
    errors = [np.mean(stage * (2 * y - 1) <= 0) for stage in stages]  # a score of 0 is an error
    np.testing.assert_allclose(model.rounds_["train_error"], errors, rtol=1e-12, atol=1e-12)


def test_a_tie_goes_to_the_first_class():
    X, y = np.zeros((20, 1)), ["b", "a"] * 10
    model = TAdaBoostClassifier().fit(X, y)
    assert model.decision_function(X).tolist() == [0.0] * 20
    assert model.predict_proba(X).tolist() == [[0.5, 0.5]] * 20
    assert model.predict(X).tolist() == ["a"] * 20


@pytest.mark.parametrize("t", [-3.0, 0.0, 0.5, 0.999, 1.0, 1.001, 1.5, 1.9])
@pytest.mark.parametrize("rules", [{}, {"leaf_values": "canonical", "leveraging": "closed"}])
def test_one_class_only_is_predicted_with_probability_one(t, rules):
    X, _ = data(30)
    model = TAdaBoostClassifier(t=t, **rules).fit(X, ["only"] * 30)
    assert model.classes_.tolist() == ["only"]
    assert model.predict_proba(X).tolist() == [[1.0]] * 30
    assert model.predict(X).tolist() == ["only"] * 30
    assert model.stop_reason_ == "one class"
    assert np.isfinite(model.decision_function(X)).all()
    assert TemperedTreeClassifier(t=t).fit(X, [7] * 30).predict(X).tolist() == [7] * 30


def test_apply_gives_the_leaf_that_holds_the_row():
    X, y = data()
    model = TAdaBoostClassifier(n_estimators=5).fit(X, y)
    leaves = model.apply(X)
    assert leaves.shape == (200, 5)
    for tree, leaf in zip(model.trees_, leaves.T, strict=True):
        assert (tree.feature[leaf] == -1).all()
        np.testing.assert_array_equal(np.bincount(leaf, minlength=len(tree.mass))[tree.feature == -1],
                                      tree.mass[tree.feature == -1])  # fmt: skip


def test_importances_are_shares_and_zero_without_splits():
    X, y = data()
    importances = TAdaBoostClassifier(n_estimators=20).fit(X, y).feature_importances_
    assert importances.shape == (4,)
    assert importances.sum() == pytest.approx(1, rel=1e-12)
    assert importances.argmax() in (0, 1)
    assert TAdaBoostClassifier().fit(np.zeros((20, 3)), [0, 1] * 10).feature_importances_.tolist() == [
        0,
        0,
        0,
    ]


def test_weights_are_kept_only_when_asked_for():
    X, y = data()
    model = TAdaBoostClassifier(n_estimators=5, record_weights=True).fit(X, y)
    assert model.weights_.shape == (6, 200)
    np.testing.assert_allclose(model.weights_.sum(axis=1), 1, rtol=1e-12)
    assert not hasattr(model.set_params(record_weights=False).fit(X, y), "weights_")


def test_one_tree_is_one_round_with_coefficient_one():
    X, y = data()
    tree = TemperedTreeClassifier(t=0.5).fit(X, y)
    round_ = TAdaBoostClassifier(
        t=0.5, n_estimators=1, learning_rate=1.0, leaf_values="theorem_a", leveraging="unit"
    ).fit(X, y)
    np.testing.assert_array_equal(tree.decision_function(X), round_.decision_function(X))
    np.testing.assert_array_equal(tree.apply(X), round_.apply(X)[:, 0])
    shares = [y[tree.apply(X) == leaf].mean() for leaf in tree.apply(X)]
    np.testing.assert_allclose(tree.predict_proba(X)[:, 1], shares, rtol=1e-12)


def test_the_model_does_not_depend_on_threads_nor_on_row_order():
    X, y = data()
    model = TAdaBoostClassifier(n_estimators=20, n_jobs=1).fit(X, y)
    same(model, TAdaBoostClassifier(n_estimators=20, n_jobs=2).fit(X, y), X)
    order = np.random.default_rng(1).permutation(len(X))
    same(model, TAdaBoostClassifier(n_estimators=20).fit(X[order], y[order]), X)


# Labels


@pytest.mark.parametrize(
    "labels",
    [
        ["no", "yes"],
        [-1, 1],
        [1, 2],
        [False, True],
        [0.0, 3.0],
        np.array([1, 2], ">i4"),
        np.array(["a", "b"], object),
    ],
)
def test_labels_come_back_as_they_went_in(labels):
    X, y = data()
    labels = np.asarray(labels)
    model = TAdaBoostClassifier(n_estimators=5).fit(X, labels[y])
    assert model.classes_.tolist() == labels.tolist()
    assert model.predict(X).dtype == labels.dtype.newbyteorder("=")
    assert (model.predict(X) == labels[y]).mean() > 0.8


@pytest.mark.parametrize(
    "y",
    [pd.Series(["u", "v"] * 20), pd.Series(["u", "v"] * 20, dtype="category"), pl.Series(["u", "v"] * 20),
     np.array(["u", "v"] * 20, dtype=np.dtypes.StringDType()), np.ma.masked_array(["u", "v"] * 20),
     pd.Series(["u", "v"] * 20, dtype="string"), pl.Series(["u", "v"] * 20, dtype=pl.Categorical)],
)  # fmt: skip
def test_labels_may_be_a_series_or_an_array_of_any_make(y):
    X = np.array([[0.0], [1.0]] * 20)
    assert TAdaBoostClassifier(n_estimators=2).fit(X, y).predict(X).tolist() == ["u", "v"] * 20


@pytest.mark.parametrize(
    "y",
    [
        pl.Series([0, 1] * 20, dtype=pl.Int128),
        *(pd.Series([0, 1] * 20).astype(dtype) for dtype in ("Int64", "boolean", object)),
    ],
)
def test_numbers_in_wide_nullable_or_object_labels_are_numbers(y):
    X = np.array([[0.0], [1.0]] * 20)
    assert TAdaBoostClassifier(n_estimators=2).fit(X, y).classes_.dtype.kind in "bi"


@pytest.mark.parametrize(
    ("y", "match"),
    [
        (["a", None] * 6, r"^y\[1\] is missing; every row needs a label$"),
        (["a", NAN] * 6, r"^y\[1\] is missing"),
        (np.array(["2020-01-01", "NaT"] * 6, "M8[D]"), r"^y\[1\] is missing"),
        (np.ma.masked_array([0, 1] * 6, [0, 1] * 6), r"^y\[1\] is missing"),
        (["a", 1] * 6, r"^y mixes text and other labels \('a' in row 0, 1 in row 1\); make them one kind$"),
        (pd.Series([True, "a"] * 6), r"^y mixes text and other labels \('a' in row 1, True in row 0\)"),
        (np.array([1j, 2] * 6), r"^Complex data not supported [^\n]*$"),
        (pd.Series(["a", pd.NA] * 6, dtype="string"), r"^y\[1\] is missing"),
        ([0.0, 1.0, NAN] * 4, r"^y\[2\] is nan; every row needs a label that is finite$"),
        ([0.0, np.inf, 1.0] * 4, r"^y\[1\] is inf"),
        ([0.5, 1.7, 2.2] * 4, "^Unknown label type: continuous"),
        ([0, 1], r"inconsistent numbers of samples: \[12, 2\]"),
        (None, "y should be a 1d array"),
    ],
)
def test_labels_that_cannot_be_used_are_refused(y, match):
    with pytest.raises(ValueError, match=match):
        TAdaBoostClassifier().fit(np.zeros((12, 1)), y)


# Weights


@pytest.mark.parametrize("rules", RULES[:3] + RULES[4:])
def test_a_whole_weight_is_a_repetition_and_zero_an_absence(rules):
    X, y = data()
    weight = np.random.default_rng(3).integers(0, 4, len(y))
    weighted = TAdaBoostClassifier(**{"n_estimators": 10, **rules}).fit(X, y, weight)
    repeated = TAdaBoostClassifier(**{"n_estimators": 10, **rules}).fit(
        X.repeat(weight, axis=0), y.repeat(weight)
    )
    score = repeated.decision_function(X)
    np.testing.assert_allclose(weighted.decision_function(X), score, rtol=0, atol=1e-7 * abs(score).max())


def test_levels_classes_and_bins_ignore_rows_of_weight_zero():
    X = pd.DataFrame({"c": ["a", "b", "z"] * 20, "n": [0.0, 1.0, 9.0] * 20})
    y, weight = np.array([0, 1, 2] * 20), np.array([1, 1, 0] * 20)
    there = weight > 0
    model = TAdaBoostClassifier(n_estimators=5).fit(X, y, weight)
    assert model.classes_.tolist() == [0, 1]
    same(model, TAdaBoostClassifier(n_estimators=5).fit(X[there], y[there]), X)


@pytest.mark.parametrize(
    "arguments",
    [{"sample_weight": np.full(60, 1.7e308)}, {"class_weight": {0: 1.7e308, 1: 1.7e308}}],
    ids=["rows", "classes"],
)
def test_weights_whose_sum_overflows_are_refused(arguments):
    model = TAdaBoostClassifier(class_weight=arguments.get("class_weight"))
    with pytest.raises(ValueError, match=r" sums to more than float64 can hold; divide the weights by"):
        model.fit(np.arange(60.0)[:, None], np.arange(60) % 2, arguments.get("sample_weight"))


@pytest.mark.parametrize("name", ["t", "min_samples_leaf", "leaf_ridge"])
def test_an_integer_too_large_for_a_float_is_refused_by_name(name):
    model = TAdaBoostClassifier(**{name: -(10**400) if name == "t" else 10**400})
    with pytest.raises(ValueError, match=rf"^{name} is an integer too large for float64"):
        model.fit([[0.0], [1.0]], [0, 1])


def test_limits_beyond_any_tree_are_no_limits():
    X, y = np.arange(60.0)[:, None], np.arange(60) % 7 > 2
    huge = TAdaBoostClassifier(n_estimators=2, max_leaf_nodes=10**20, max_depth=10**20).fit(X, y)
    none = TAdaBoostClassifier(n_estimators=2, max_leaf_nodes=None).fit(X, y)
    assert np.array_equal(huge.decision_function(X), none.decision_function(X))


@pytest.mark.parametrize(
    ("bad", "match"),
    [
        (-1.0, r"^sample_weight\[2\] is -1\.0; weights must be >= 0$"),
        (NAN, r"^sample_weight\[2\] is nan; weights must be >= 0$"),
        (np.inf, r"^sample_weight\[2\] is inf; weights must be finite$"),
    ],
)
@pytest.mark.parametrize("make", [np.asarray, list, pd.Series, pl.Series])
def test_fit_names_the_bad_weight(bad, match, make):
    X, y = data()
    weight = np.ones(len(y))
    weight[2] = bad
    with pytest.raises(ValueError, match=match):
        TAdaBoostClassifier().fit(X, y, sample_weight=make(weight))


def test_weights_that_are_no_numbers_are_refused_by_name():
    X, y = data()
    for what, match in (
        (["x"] * 200, r"^sample_weight: could not convert string to float"),
        (10**400, r"^sample_weight holds an integer too large for float64$"),
        ([10**400] * 200, r"^sample_weight holds an integer too large for float64$"),
        (np.ma.masked_array(np.ones(200), [0, 1] * 100), r"^sample_weight\[1\] is nan"),
    ):
        with pytest.raises(ValueError, match=match):
            TAdaBoostClassifier().fit(X, y, what)
    for days in (np.ones(200, "M8[D]"), np.ones(200, "m8[D]"), pl.Series(np.ones(200, "M8[ms]"))):
        with pytest.raises(TypeError, match=r"^sample_weight: holds dates or times; weights are numbers$"):
            TAdaBoostClassifier().fit(X, y, days)


def test_weights_of_a_wrong_shape_or_all_zero_are_refused():
    X, y = data()
    with pytest.raises(ValueError, match=r"^sample_weight is zero on every row"):
        TAdaBoostClassifier().fit(X, y, np.zeros(200))
    with pytest.raises(ValueError, match=r"^sample_weight has shape \(3,\); it must be \(200,\)"):
        TAdaBoostClassifier().fit(X, y, np.ones(3))
    with pytest.raises(ValueError, match=r"^sample_weight has shape \(200, 1\)"):
        TAdaBoostClassifier().fit(X, y, np.ones((200, 1)))


@pytest.mark.parametrize("class_weight", [{0: 1, 1: 5}, {1: 0.25}, "balanced"])
@pytest.mark.parametrize("weighted", [False, True])
def test_class_weight_is_a_factor_on_the_weights(class_weight, weighted):
    X, y = data()
    weight = np.random.default_rng(3).integers(1, 4, len(y)).astype(float) if weighted else np.ones(len(y))
    total = [weight[y == k].sum() for k in (0, 1)]
    factor = (
        np.array([sum(total) / 2 / of_class for of_class in total])
        if class_weight == "balanced"
        else np.array([class_weight.get(0, 1.0), class_weight[1]])
    )
    model = TAdaBoostClassifier(n_estimators=10, class_weight=class_weight)
    same(
        model.fit(X, y, weight if weighted else None),
        TAdaBoostClassifier(n_estimators=10).fit(X, y, weight * factor[y]),
        X,
    )


def test_the_advice_on_weights_near_zero_can_be_followed():
    X, y = data()
    weight = np.full(200, 1e-315)
    with pytest.warns(
        UserWarning, match=r"^sample_weight sums to 2e-313 .*; divide the weights by their sum "
    ):
        TAdaBoostClassifier(n_estimators=2).fit(X, y, weight)
    advised = weight / weight.sum() * 200
    assert advised.mean() == pytest.approx(1.0)
    TAdaBoostClassifier(n_estimators=2).fit(X, y, advised)  # and is not warned of


def test_a_bad_class_weight_is_named():
    X, y = data()
    with pytest.raises(ValueError, match=r"^class_weight gives the factors \[1\.0, -2\.0\]"):
        TAdaBoostClassifier(class_weight={1: -2.0}).fit(X, y)
    with pytest.raises(ValueError, match=r"\[5\], are not in class_weight|classes"):
        TAdaBoostClassifier(class_weight={5: 2.0}).fit(X, y)


def test_light_weights_are_warned_of_once_with_the_factor():
    X, y = data()
    with pytest.warns(
        UserWarning, match=r"^sample_weight sums to 2 over 200 rows.* by 100 for a mean of 1$"
    ) as seen:
        TAdaBoostClassifier(n_estimators=2).fit(X, y, np.full(200, 0.01))
    assert len(seen) == 1
    assert seen[0].filename == __file__
    TAdaBoostClassifier(n_estimators=2).fit(X, y, np.full(200, 0.2))
    TAdaBoostClassifier(n_estimators=2).fit(X[:8], y[:8], np.ones(8))  # few rows are not light rows
    TAdaBoostClassifier(n_estimators=2, min_samples_leaf=0, leaf_ridge=0).fit(X, y, np.full(200, 0.01))


def test_without_limits_in_rows_the_scale_of_the_weights_does_not_matter():
    X, y = data()
    model = TAdaBoostClassifier(n_estimators=10, min_samples_leaf=0, leaf_ridge=0.0)
    ones = clone(model).fit(X, y)
    for scale in (1e-300, 1e300):
        scaled = clone(model).fit(X, y, np.full(200, scale))
        np.testing.assert_allclose(scaled.decision_function(X), ones.decision_function(X), rtol=1e-9)


# Tables


def test_every_make_of_table_gives_the_same_model():
    X, y = data()
    names = ["a", "b", "c", "d"]
    model = TAdaBoostClassifier(n_estimators=10).fit(X, y)
    pandas = pd.DataFrame(X, columns=names)
    makes = [pandas, pandas.convert_dtypes(), pl.DataFrame(pandas), pl.DataFrame(pandas).fill_nan(None)]
    makes += [pl.DataFrame(pandas).to_arrow(), pandas.astype("double[pyarrow]")]
    for table in makes:
        fitted = TAdaBoostClassifier(n_estimators=10).fit(table, y)
        same(model, fitted, X, table)
        assert fitted.feature_names_in_.tolist() == names
    for array in (X.tolist(), np.asfortranarray(X), X.astype(">f8"), X.astype(object)):
        same(model, TAdaBoostClassifier(n_estimators=10).fit(array, y), X, array)
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize("dtype", ["u1", "i8", "?", "f2", "f4"])
def test_integer_boolean_and_short_floats_predict_as_float64(dtype):
    X = np.random.default_rng(0).integers(0, 2, (60, 3))
    y = X[:, 0] ^ X[:, 1]
    model = TAdaBoostClassifier(n_estimators=5).fit(X.astype(float), y)
    same(model, TAdaBoostClassifier(n_estimators=5).fit(X.astype(dtype), y), X.astype(float), X.astype(dtype))


def test_columns_in_another_order_or_number_are_refused_as_scikit_learn_does():
    X, y = data()
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = TAdaBoostClassifier(n_estimators=2).fit(frame, y)
    with pytest.raises(ValueError, match=r"Feature names must be in the same order as they were in fit"):
        model.predict(frame[list("dcba")])
    with pytest.raises(ValueError, match=r"yet now missing:\n- d"):
        model.predict(frame[list("abc")])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)
    model = TAdaBoostClassifier(n_estimators=2).fit(X, y)
    with pytest.raises(
        ValueError, match="X has 3 features, but TAdaBoostClassifier is expecting 4 features as input"
    ):
        model.predict(X[:, :3])


def test_categories_are_matched_by_label_and_unknown_ones_are_missing():
    cells = np.array(["a", "b", "c", "d"] * 20, dtype=object)
    y = np.isin(cells, ["a", "d"])
    model = TAdaBoostClassifier(n_estimators=5).fit(pd.DataFrame({"c": pd.Categorical(cells)}), y)
    assert (model.predict(pd.DataFrame({"c": cells})) == y).all()
    other_order = pd.DataFrame({"c": pd.Categorical(cells, categories=["d", "zzz", "b", "a", "c"])})
    assert (model.predict(other_order) == y).all()
    for cell, is_in in (("a", True), ("b", False)):
        assert model.predict(pl.DataFrame({"c": [cell]})).tolist() == [is_in]
    scores = model.decision_function(pd.DataFrame({"c": ["zzz", None]}))
    assert scores[0] == scores[1]


def test_numeric_categories_outside_the_trained_ones_are_unknown():
    X = np.arange(60.0)[:, None] % 6
    model = TAdaBoostClassifier(n_estimators=5, categorical_features=[0]).fit(X, np.isin(X[:, 0], [1, 4]))
    assert model.predict([[4], [0]]).tolist() == [True, False]
    scores = model.decision_function(np.array([[-1], [400], [NAN], [1e300]]))
    assert len(set(scores.tolist())) == 1


def test_more_levels_than_bins_fit():
    rng = np.random.default_rng(0)
    level = rng.integers(0, 1000, 5000)
    X = pd.DataFrame({"c": level.astype(str), "n": rng.normal(size=5000)})
    model = TAdaBoostClassifier(n_estimators=10, learning_rate=0.5, max_leaf_nodes=None, max_depth=3)
    assert model.fit(X, level % 2).score(X, level % 2) > 0.6


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_any_table_gives_finite_scores_that_agree(draw):
    n = draw.draw(st.integers(1, 25))
    number = st.one_of(
        st.none(), st.floats(allow_infinity=False, width=64), st.sampled_from([0.0, 1e-300, 1e300])
    )
    cells = {"number": number, "text": st.one_of(st.none(), st.text(max_size=2)), "flag": st.booleans()}
    X = pd.DataFrame(
        {
            f"{kind}{i}": pd.Series(draw.draw(st.lists(cells[kind], min_size=n, max_size=n)))
            for i, kind in enumerate(
                draw.draw(st.lists(st.sampled_from(sorted(cells)), min_size=1, max_size=4))
            )
        }
    )
    y = draw.draw(st.lists(st.sampled_from(["u", "v"]), min_size=n, max_size=n))
    weight = draw.draw(
        st.none() | st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0, 1e9]), min_size=n, max_size=n)
    )
    weight = None if weight is None or not any(weight) else weight
    t = draw.draw(st.sampled_from([-1.0, 0.0, 0.5, 1.0, 1.5]))
    model = TAdaBoostClassifier(t=t, n_estimators=5, min_samples_leaf=1, learning_rate=1.0, n_jobs=1)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "sample_weight sums to")
        model.fit(X, y, weight)
    score, probability = model.decision_function(X), model.predict_proba(X)
    assert np.isfinite(score).all()
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(X), model.classes_[probability.argmax(axis=1)])


# Parameters


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("t", 2.0), ("t", NAN), ("t", -np.inf), ("t", "hot"), ("n_estimators", 0), ("n_estimators", 1.5),
        ("learning_rate", 0.0), ("learning_rate", 1.1), ("leaf_values", "best"), ("leveraging", None),
        ("clip", "yes"), ("max_leaf_nodes", 1), ("max_depth", 0), ("min_samples_leaf", -1),
        ("min_samples_leaf", NAN), ("min_leaf_mass", 0.6), ("leaf_ridge", -1.0), ("growth", "deep"),
        ("allow_pure_leaves", 3), ("max_bins", 1), ("max_bins", 65536), ("categorical_features", 3),
        ("class_weight", "unbalanced"), ("record_weights", 2), ("n_jobs", 0), ("random_state", "x"),
        ("cat_smoothing", -1.0), ("cat_smoothing", NAN),
    ],
)  # fmt: skip
def test_a_parameter_out_of_range_is_named(name, value):
    X, y = data(20)
    with pytest.raises(ValueError, match=f"^The '{name}' parameter of TAdaBoostClassifier must be"):
        TAdaBoostClassifier(**{name: value}).fit(X, y)


def test_parameters_other_than_t_are_by_keyword_and_unknown_ones_refused():
    with pytest.raises(TypeError, match="positional argument"):
        TAdaBoostClassifier(0.5, 100)
    with pytest.raises(TypeError, match="unexpected keyword argument 'max_features'"):
        TAdaBoostClassifier(max_features=3)


def test_paper_settings_are_parameters():
    assert set(paper_settings(0.3)) <= set(TAdaBoostClassifier().get_params())
    assert paper_settings(0.3, clip=True)["clip"] is True


def test_changing_t_after_the_fit_changes_no_prediction():
    X, y = data()
    model = TAdaBoostClassifier(n_estimators=5, clip=True).fit(X, y)
    before = model.predict_proba(X)
    np.testing.assert_array_equal(model.set_params(t=1.0, clip=False).predict_proba(X), before)


def test_n_jobs_counts_as_joblib_does():
    cpus = joblib.cpu_count()
    assert [n_threads_of(n) for n in (None, -1, 1, 3, -999)] == [cpus, cpus, 1, 3, 1]
    assert n_threads_of(10**30) == 1024  # what the core takes
    inside = joblib.Parallel(n_jobs=2, backend="threading")(
        joblib.delayed(n_threads_of)(None) for _ in range(3)
    )
    assert inside == [1, 1, 1]  # as in processes: tests/test_integration.py


# scikit-learn


def test_copies_predict_the_same_and_hold_no_compiled_part():
    X, y = data()
    for model in (TAdaBoostClassifier(n_estimators=5), TemperedTreeClassifier()):
        model.fit(X, y)
        buffer = io.BytesIO()
        joblib.dump(model, buffer)
        buffer.seek(0)
        for twin in (
            pickle.loads(pickle.dumps(model)),
            copy.deepcopy(model),
            copy.copy(model),
            joblib.load(buffer),
        ):
            assert not any("Forest" in type(value).__name__ for value in vars(twin).values())
            np.testing.assert_array_equal(twin.decision_function(X), model.decision_function(X))


def test_a_pickle_of_another_version_is_warned_of(monkeypatch):
    X, y = data()
    content = pickle.dumps(TAdaBoostClassifier(n_estimators=2).fit(X, y))
    version = re.escape(tadaboost.__version__)
    monkeypatch.setattr(tadaboost, "__version__", "99.0")
    with pytest.warns(UserWarning, match=rf"pickled by tadaboost {version} and is read by 99\.0"):
        pickle.loads(content)


def test_fitted_state_is_plain_data():
    X, y = data()
    X = pd.DataFrame(X, columns=list("abcd")).assign(c=["u", "v"] * 100)

    def kinds(value):
        if isinstance(value, list | tuple):
            return {type(value)}.union(*map(kinds, value))
        return {type(value)}

    state = TAdaBoostClassifier(n_estimators=2, record_weights=True).fit(X, y).__getstate__()
    found = set().union(*map(kinds, state.values()))
    assert found <= {np.ndarray, tadaboost.Tree, list, str, int, float, bool, type(None)}
