# SPDX-License-Identifier: Apache-2.0
"""Single rows: the quick way of plain arrays, and `Predictor`, against the way of every table."""

import pickle
import warnings
from collections import UserDict
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from tadaboost import TAdaBoostClassifier, TemperedTreeClassifier, frame


def numeric_table(n_rows=300, dtype=np.float64):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 4)).astype(dtype)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, np.nan_to_num(X[:, 0]) + rng.normal(size=n_rows) > 0


def mixed_table():
    X, y = numeric_table()
    mixed = pd.DataFrame(X, columns=list("abcd"))
    mixed["town"] = np.where(y, "Ulm", "Bonn")
    mixed.loc[::7, "town"] = None
    mixed["floor"] = np.arange(len(y)) % 5
    return mixed, y


@pytest.fixture(scope="module")
def fitted():
    X, y = numeric_table()
    return TAdaBoostClassifier(n_estimators=20).fit(X, y), X


@pytest.fixture(scope="module")
def fitted_on_levels():
    X, y = mixed_table()
    return TAdaBoostClassifier(n_estimators=20, categorical_features=["town", "floor"]).fit(X, y), X


# ---- the quick way of plain arrays -----------------------------------------------------------------


@pytest.mark.parametrize("change", [np.asfortranarray, np.float32, lambda X: X[::-2], lambda X: X[:1]])
def test_a_plain_array_scores_as_a_list_of_lists_does(fitted, change):
    model, X = fitted
    X = change(X)
    assert frame.is_plain(X, model._schema)
    assert not frame.is_plain(X.tolist(), model._schema)
    np.testing.assert_array_equal(model.decision_function(X), model.decision_function(X.tolist()))


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        (lambda X: X[:, :3], ValueError, "X has 3 features, but TAdaBoostClassifier is expecting 4"),
        (lambda X: X[0], ValueError, "Expected 2D array, got 1D array"),
        (lambda X: X[:0], ValueError, r"Found array with 0 sample\(s\)"),
        (lambda X: np.where(X[5, 2] == X, np.inf, X), ValueError, "column 2 holds infinity in row 5"),
        (lambda X: np.where(X[5, 2] == X, -np.inf, X), ValueError, "column 2 holds infinity in row 5"),
        (lambda X: X.astype(complex), ValueError, "Complex data not supported"),
    ],
)
def test_the_quick_way_lets_no_bad_array_through(fitted, change, error, match):
    model, X = fitted
    with pytest.raises(error, match=match):
        model.decision_function(change(X))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_column_of_a_packed_record_is_an_array_like_any_other(fitted, dtype):
    model, X = fitted
    X = X.astype(dtype)
    packed = np.zeros(len(X), np.dtype([("flag", "u1"), ("x", dtype, X.shape[1:])]))
    packed["x"] = X
    assert not packed["x"].flags.aligned
    score = model.decision_function(X)
    np.testing.assert_array_equal(model.decision_function(packed["x"]), score)
    assert model.predictor()(packed["x"][3]) == score[3]
    assert model.predictor()._values(packed["x"][3]).flags.aligned
    y = np.arange(len(X)) % 2
    fits = [TAdaBoostClassifier(n_estimators=2).fit(table, y) for table in (packed["x"], X)]
    np.testing.assert_array_equal(*(model.decision_function(X) for model in fits))


def test_an_array_of_the_other_byte_order_and_integers_take_the_long_way(fitted):
    model, X = fitted
    other = X.astype(X.dtype.newbyteorder())
    assert not frame.is_plain(other, model._schema)
    np.testing.assert_array_equal(model.decision_function(other), model.decision_function(X))
    assert not frame.is_plain(X.astype(np.float16), model._schema)
    assert not frame.is_plain(np.zeros((1, 4), int), model._schema)
    assert not frame.is_plain(X, [None, None, ["a"], None])


def test_an_array_where_fit_saw_names_still_warns():
    X, y = numeric_table()
    model = TAdaBoostClassifier(n_estimators=2).fit(pd.DataFrame(X, columns=list("abcd")), y)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        model.decision_function(X)


def test_an_unfitted_model_says_so_to_a_plain_array():
    with pytest.raises(ValueError, match="is not fitted yet"):
        TAdaBoostClassifier().decision_function(np.zeros((1, 4)))


# ---- the predictor ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "as_row", [np.array, list, tuple, np.float32, pd.Series, lambda row: np.repeat(row, 2)[::2]]
)
@pytest.mark.parametrize("clip", [False, True])
def test_its_score_is_that_of_the_model(as_row, clip):
    X, y = numeric_table(dtype=np.float32)
    model = TAdaBoostClassifier(n_estimators=20, clip=clip, learning_rate=1.0).fit(X, y)
    predictor = model.predictor()
    scores, probabilities = model.decision_function(X), model.predict_proba(X)
    for row, score, p in zip(X[:50], scores, probabilities, strict=False):
        assert predictor(as_row(row)) == predictor.decision(as_row(row)) == score
        np.testing.assert_allclose(predictor.proba(as_row(row)), p, rtol=1e-14, atol=1e-300)
    assert predictor.classes.tolist() == [False, True]


@pytest.mark.parametrize("t", [-2.0, 0.0, 0.5, 1.0, 1.5])
def test_its_probabilities_are_those_of_the_model_for_every_t(t):
    X, y = numeric_table()
    model = TAdaBoostClassifier(t, n_estimators=60, learning_rate=1.0).fit(X, y)
    of_rows = np.array([model.predictor().proba(row) for row in X[:60]])
    # The argument of exp is at most some 700 and has the error of atanh beside its own.
    np.testing.assert_allclose(of_rows, model.predict_proba(X[:60]), rtol=1e-12, atol=1e-300)


def test_levels_are_taken_by_value_and_strangers_are_missing(fitted_on_levels):
    model, X = fitted_on_levels
    predictor = model.predictor()
    strange = X.iloc[:6].copy()
    strange["town"] = ["Ulm", "Bonn", "Oslo", None, np.nan, "Ulm"]
    strange["floor"] = [0, 4, 99, np.nan, 3, 0.5]
    for table in (X.iloc[:40], strange):
        for row, score in zip(table.itertuples(index=False), model.decision_function(table), strict=True):
            assert predictor(list(row)) == score
    row = list(X.iloc[0])
    assert predictor([None, *row[1:]]) == predictor([np.nan, *row[1:]])


def test_with_more_than_two_classes_there_is_a_score_each():
    X, y = numeric_table()
    y = y.astype(int) + (np.nan_to_num(X[:, 1]) > 0.5)
    model = TAdaBoostClassifier(n_estimators=5).fit(X, y)
    predictor = model.predictor()
    np.testing.assert_array_equal(predictor(X[3]), model.decision_function(X[3:4])[0])
    np.testing.assert_array_equal(predictor.proba(X[3]), model.predict_proba(X[3:4])[0])


def test_one_tree_and_one_class_have_predictors_too():
    X, y = numeric_table()
    tree = TemperedTreeClassifier().fit(X, y)
    assert tree.predictor()(X[0]) == tree.decision_function(X[:1])[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = TAdaBoostClassifier(n_estimators=2).fit(X, np.ones(len(X)))
    assert alone.predictor().proba(X[0]).tolist() == [1.0]


@pytest.mark.parametrize(
    ("row", "error", "match"),
    [
        ([1.0, 2.0, 3.0], ValueError, "row: has 3 values, the model 4 columns"),
        ([[1.0, 2.0, 3.0, 4.0]], TypeError, "row: must be 1-D"),
        ([1.0, np.inf, 3.0, 4.0], ValueError, "row: holds infinity in column 1; replace it"),
        (np.array([1, 2, "1e400", 4], "longdouble"), ValueError, "row: holds infinity in column 2; replace"),
        (
            [1.0, 2.0, "3", 4.0],
            ValueError,
            r"^column 2 holds text \('3' in row 0\) where a number is expected",
        ),
        ([1.0, 2.0, object(), 4.0], TypeError, "^column 2 holds a object in row 0"),
        ([1.0, None, 10**400, 4.0], ValueError, "^column 2 holds a number too large for float64"),
        ([1.0, 2.0, 3j, 4.0], TypeError, "row must hold numbers"),
        (
            {"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0},
            TypeError,
            "^row is a dict; give a list or array of values",
        ),
    ],
)
def test_a_bad_row_is_refused(fitted, row, error, match):
    predictor = fitted[0].predictor()
    for method in (predictor, predictor.decision, predictor.proba):
        with pytest.raises(error, match=match):
            method(row)


@pytest.mark.parametrize(
    ("at", "value", "error", "match"),
    [
        (4, 1, ValueError, "column 'town' holds 1 in row 0, but its levels in fit were text"),
        (5, "1", ValueError, "column 'floor' holds '1' in row 0, but its levels in fit were numbers"),
        (5, np.inf, ValueError, "column 'floor' holds infinity in row 0"),
        (4, ["Ulm"], TypeError, "column 'town' holds a list in row 0"),
        (0, "x", ValueError, r"^column 'a' holds text \('x' in row 0\) where a number is expected"),
    ],
)
def test_a_bad_level_is_refused_as_in_a_table(fitted_on_levels, at, value, error, match):
    model, X = fitted_on_levels
    row = list(X.iloc[0])
    row[at] = value
    with pytest.raises(error, match=match):
        model.predictor()(row)


def test_decimals_are_numbers_as_in_a_table(fitted):
    model, X = fitted
    predictor, row = model.predictor(), [None, *map(Decimal, X[0, 1:].tolist())]
    assert predictor(row) == predictor([np.nan, *X[0, 1:]]) == model.decision_function([row])[0]
    assert predictor([*map(Decimal, X[0].tolist())]) == predictor(X[0])


def test_what_is_masked_is_missing_as_in_a_table(fitted):
    model, X = fitted
    row = np.ma.array(X[0], mask=np.arange(len(X[0])) == np.argmax(model.feature_importances_))
    masked = model.predictor()(row)
    assert masked == model.decision_function(row[None])[0] == model.predictor()(row.filled(np.nan))
    assert masked != model.predictor()(X[0])


def test_a_masked_level_is_missing():
    X = np.array([["a", 0.0], ["b", 1.0]] * 20, object)
    model = TAdaBoostClassifier(n_estimators=3).fit(X, [0, 1] * 20)
    predictor = model.predictor()
    for cells in (["a", 0.0], ["b", 0.0]):
        row = np.ma.array(cells, object, mask=[True, False])
        assert predictor(row) == predictor([None, 0.0]) != predictor(["b", 1.0])


def test_a_number_missing_in_the_way_of_pandas_is_missing(fitted):
    model, X = fitted
    predictor = model.predictor()
    for missing in (pd.NA, pd.NaT):
        assert predictor([missing, *X[0, 1:]]) == predictor([None, *X[0, 1:]])


@pytest.mark.parametrize("row", [None, 5])
def test_what_is_no_row_is_refused_by_name(fitted_on_levels, row):
    with pytest.raises(TypeError, match=f"row is of type {type(row).__name__}; it must hold values"):
        fitted_on_levels[0].predictor()(row)


def test_a_short_row_with_levels_is_refused(fitted_on_levels):
    with pytest.raises(ValueError, match="row: has 3 values, the model 6 columns"):
        fitted_on_levels[0].predictor()([1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    "row",
    [{"a": "x", "b": "y"}, UserDict(a="x"), {"x", "y"}, "xy", b"xy", pd.DataFrame({"a": ["x"], "b": ["y"]})],
    ids=["dict", "mapping", "set", "str", "bytes", "frame"],
)
def test_what_is_no_row_is_not_read_as_levels(row):
    X = pd.DataFrame({"a": ["x", "y"] * 10, "b": ["y", "y", "x", "x"] * 5})
    predictor = TAdaBoostClassifier(n_estimators=2).fit(X, [0, 1] * 10).predictor()
    with pytest.raises(TypeError, match=f"^row is a {type(row).__name__}; give a list or array of values"):
        predictor(row)


def test_14_a_series_in_another_order_is_refused(fitted_on_levels):
    model, X = fitted_on_levels
    predictor = pickle.loads(pickle.dumps(model.predictor()))
    row = X.iloc[0]
    assert predictor(row) == predictor(list(row)) == predictor(row.reset_index(drop=True))
    first, last = X.columns[0], X.columns[-1]
    with pytest.raises(
        ValueError, match=f"^row names its value 0 '{last}', but column 0 of fit was '{first}'$"
    ):
        predictor(row[::-1])
    with pytest.raises(ValueError, match="row: has 3 values, the model 6 columns"):
        predictor(row[:3])


def test_it_cannot_be_changed_and_does_not_follow_the_model():
    X, y = numeric_table()
    model = TAdaBoostClassifier(n_estimators=3).fit(X, y)
    predictor, score = model.predictor(), model.decision_function(X[:1])[0]
    with pytest.raises(AttributeError, match="cannot be changed"):
        predictor.classes = [1, 2]
    with pytest.raises(AttributeError, match="cannot be changed"):
        del predictor._t
    with pytest.raises(ValueError, match="read-only"):
        predictor.classes[0] = True
    model.estimator_weights_ *= 7
    assert predictor(X[0]) == score != model.decision_function(X[:1])[0]
    model.fit(X, ~y)
    assert predictor(X[0]) == score


def test_a_pickled_one_gives_the_same_scores(fitted_on_levels):
    model, X = fitted_on_levels
    predictor = model.predictor()
    copy = pickle.loads(pickle.dumps(predictor))
    rows = [list(row) for row in X.iloc[:20].itertuples(index=False)]
    assert [copy(row) for row in rows] == [predictor(row) for row in rows]
    assert copy.classes.tolist() == predictor.classes.tolist()


def test_threads_may_share_one(fitted):
    model, X = fitted
    predictor = model.predictor()
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(predictor, X)) == model.decision_function(X).tolist()


def test_a_model_without_trees_or_fit_has_none():
    X, y = np.random.default_rng(0).normal(size=(40, 2)), [0, 1] * 20
    with pytest.raises(ValueError, match="is not fitted yet"):
        TAdaBoostClassifier().predictor()
    model = TAdaBoostClassifier(estimator=LogisticRegression(), n_estimators=2).fit(X, y)
    with pytest.raises(AttributeError, match="this model has no trees"):
        model.predictor()
