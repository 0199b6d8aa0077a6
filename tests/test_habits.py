# SPDX-License-Identifier: Apache-2.0
"""What people bring besides plain tables: labels, levels, masks, scorers and factors of all makes."""

import decimal
import enum
import fractions

import narwhals
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import DataConversionWarning

from tadaboost import TAdaBoostClassifier, TemperedTreeClassifier, load, save

X = np.array([[0.0], [1.0]] * 20)
LARGE = np.array([2**60, 2**60 + 1] * 20)  # equal as floats


def fit(X=X, y=(0, 1) * 20, **parameters):
    return TAdaBoostClassifier(**{"n_estimators": 3, **parameters}).fit(X, y)


# Labels


@pytest.mark.parametrize("dtype", ["Int64", "UInt64", "int64[pyarrow]", "category"])
@pytest.mark.parametrize("make", [pd.array, pd.Index, pd.Series])
def test_large_labels_of_pandas_stay_apart_and_whole(make, dtype):
    y = make(pd.array(LARGE, dtype="Int64")).astype(dtype)
    assert fit(y=y).predict(X).tolist() == LARGE.tolist()


@pytest.mark.parametrize(
    "frame",
    [pd.DataFrame({"y": pd.array(LARGE, "Int64")}), pl.DataFrame({"y": LARGE}), pa.table({"y": LARGE})],
    ids=["pandas", "polars", "pyarrow"],
)
def test_a_frame_of_one_column_is_taken_as_that_column_with_a_warning(frame):
    with pytest.warns(DataConversionWarning, match="column-vector y was passed when a 1d array was expected"):
        assert fit(y=frame).predict(X).tolist() == LARGE.tolist()


def test_booleans_that_are_nullable_stay_booleans():
    for y in (pd.array([False, True] * 20, "boolean"), pd.Index(pd.array([False, True] * 20, "boolean"))):
        assert fit(y=y).classes_.tolist() == [False, True]
    with pytest.raises(ValueError, match=r"^y\[1\] is missing; every row needs a label$"):
        fit(y=pd.array([False, None] * 20, "boolean"))


@pytest.mark.parametrize("label", [decimal.Decimal(1), fractions.Fraction(1, 3), pd.Period("2020"), (1, 2)])
def test_labels_of_other_types_are_refused_by_their_type(label):
    y = pd.Series([label, label] * 20, dtype=object)
    if isinstance(label, fractions.Fraction):  # a number, for all that numpy knows
        with pytest.raises(ValueError, match="Unknown label type"):
            fit(y=y)
        return
    with pytest.raises(
        ValueError, match=rf"^Unknown label type: y\[0\] is of type {type(label).__name__}; lab"
    ):
        fit(y=y)


# Factors


@pytest.mark.parametrize("factor", ["x", "2", None, [1], 10**400, 1j], ids=str)
@pytest.mark.parametrize("n_val", [0, 40])
def test_a_factor_that_is_no_number_is_refused_by_its_class(factor, n_val):
    model = TAdaBoostClassifier(class_weight={0: factor, 1: 2.0})
    with pytest.raises(ValueError, match=r"^class_weight is .{1,40} for the class 0; it must be a finite"):
        model.fit(X, [0, 1] * 20, **({"X_val": X, "y_val": [0, 1] * 20} if n_val else {}))


# Tables


@pytest.mark.parametrize(
    ("table", "what"),
    [
        ({"a": [1, 2]}, "a dict"),
        ([{"a": 1}, {"a": 2}], "a list of dicts"),
        (narwhals.from_native(pd.DataFrame({"a": [1, 2]})), "a DataFrame of narwhals"),
        (narwhals.from_native(pl.LazyFrame({"a": [1, 2]})), "a LazyFrame of narwhals"),
        (np.array([(1, 2.0)] * 2, dtype=[("a", int), ("b", float)]), "a structured array"),
    ],
    ids=["dict", "list", "narwhals", "lazy", "structured"],
)
def test_what_holds_names_but_is_no_table_is_refused_with_advice(table, what):
    with pytest.raises(
        TypeError, match=rf"^X is {what}; (make a table of it, such as|pass what its to_native)"
    ):
        fit(table, [0, 1])


def test_a_message_does_not_print_the_data():
    for bad in (np.arange(900.0), np.ones((300, 3)) + 1j):
        with pytest.raises(ValueError, match=r"^[^\n]{40,320}$"):
            fit(bad, np.arange(len(bad)) % 2)


# Levels


def leveled(levels, dtype=None):
    """A table whose first column alone tells the classes, by a level that is neither first nor last."""
    return np.array([[level, 0.0] for level in levels] * 20, dtype=dtype)


FRACTIONS = [0.1, 0.2, 0.3, 1e-3]
DTYPES = ["f2", "f4", "f8", "g", object]


@pytest.mark.parametrize("trained", DTYPES)
@pytest.mark.parametrize("asked", DTYPES)
def test_a_fraction_is_the_same_level_in_floats_of_any_width(trained, asked, tmp_path):
    y = [0, 1, 0, 1] * 20
    model = fit(leveled(FRACTIONS, trained), y, categorical_features=[0], cat_smoothing=0.0)
    assert model._schema[0] == sorted(FRACTIONS)
    save(model, tmp_path / "model.tada")
    for of in (model, load(tmp_path / "model.tada")):
        assert of.predict(leveled(FRACTIONS, asked)).tolist() == y
        assert [of.predictor()(row) > 0 for row in leveled(FRACTIONS, asked)] == [label == 1 for label in y]


def test_what_a_narrow_float_rounds_to_is_no_other_level():
    whole = [2**24 + 1, 2049, 3, 4096.3]
    model = fit(leveled(whole), [0, 1, 0, 1] * 20, categorical_features=[0], cat_smoothing=0.0)
    missing = model.decision_function([[np.nan, 0.0]])[0]
    asked = [[2.0**24, 0.0], [2048.0, 0.0], [4096.0, 0.0]]
    assert model.decision_function(asked).tolist() == [missing] * 3


class Colour(enum.StrEnum):
    RED = "red"
    BLUE = "blue"


class Size(enum.IntEnum):
    S = 1
    L = 2


@pytest.mark.parametrize(
    ("cells", "levels"),
    [
        (list(Colour), ["blue", "red"]),
        (list(Size), [1, 2]),
        ([np.longdouble(1) / 10, np.longdouble(1) / 5], [0.1, 0.2]),
        ([np.True_, False], [False, True]),
    ],
    ids=["text", "integers", "long doubles", "booleans"],
)
def test_levels_are_plain_whatever_type_the_cells_have(cells, levels, tmp_path):
    table = pd.DataFrame({"k": pd.Series(cells * 20, dtype=object)})
    model = fit(table, [0, 1] * 20, categorical_features=["k"])
    assert model._schema == [levels]
    assert [type(level) for level in model._schema[0]] == [type(level) for level in levels]
    assert model.predict(table).tolist() == [0, 1] * 20
    save(model, tmp_path / "model.tada")
    assert load(tmp_path / "model.tada").predict(table).tolist() == [0, 1] * 20


@pytest.mark.parametrize("cell", [fractions.Fraction(1, 3), decimal.Decimal(1)])
def test_numbers_that_no_file_holds_are_no_levels(cell):
    table = pd.DataFrame({"k": pd.Series([cell] * 40, dtype=object)})
    with pytest.raises(TypeError, match=rf"^column 'k' holds a {type(cell).__name__} as a category; convert"):
        fit(table, categorical_features=["k"])


# Columns by name


def test_a_mask_with_names_is_not_read_by_position():
    table = pd.DataFrame({"k": [0, 1] * 20, "x": np.arange(40.0)})
    mask = pd.Series({"k": True, "x": False})
    assert fit(table, categorical_features=mask)._schema == [[0, 1], None]
    for wrong in (mask[::-1], mask.rename({"k": "K"})):
        with pytest.raises(
            ValueError, match=r"^categorical_features is a mask in a Series whose names are not"
        ):
            fit(table, categorical_features=wrong)


def test_groups_that_can_be_read_once_only_are_refused():
    with pytest.raises(ValueError, match=r"^interaction_cst holds <generator .*; it must hold lists, tuples"):
        fit(interaction_cst=[(column for column in [0])])


# Fits that are refused


@pytest.mark.parametrize(
    ("changed", "given", "match"),
    [
        (
            {"n_estimators": 5},
            {"X": X[:-1], "y": [0, 1] * 19 + [0]},
            "^warm_start goes on with an earlier fit",
        ),
        ({"n_estimators": 2}, {}, "^n_estimators=2 is less than the 3 rounds"),
        ({"n_estimators": 5, "t": 0.1}, {}, "^warm_start goes on with an earlier fit"),
        ({"warm_start": False}, {"X_val": X[:, [0, 0]], "y_val": [0, 1] * 20}, "^X_val: X has 2 features"),
        ({"warm_start": False, "max_bins": 1}, {}, "max_bins"),
    ],
    ids=["rows", "rounds", "temperature", "validation rows", "parameter"],
)
def test_a_fit_that_is_refused_leaves_the_model_of_the_one_before(changed, given, match):
    model = fit(warm_start=True)
    state = {name: value for name, value in vars(model).items() if name.endswith("_")}
    scores = model.decision_function(X)
    model.set_params(**changed)
    with pytest.raises(ValueError, match=match):
        model.fit(**{"X": X, "y": [0, 1] * 20, **given})
    assert {name: value for name, value in vars(model).items() if name.endswith("_")} == state
    np.testing.assert_array_equal(model.decision_function(X), scores)
    assert (
        model.set_params(warm_start=True, n_estimators=5, t=0.5, max_bins=255).fit(X, [0, 1] * 20).n_iter_
        == 5
    )


def test_a_refused_fit_leaves_the_tree_of_the_one_before():
    model = TemperedTreeClassifier().fit(X, [0, 1] * 20)
    tree = model.tree_
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, [0, 1])
    with pytest.raises(ValueError, match="must be finite"):
        model.set_params(class_weight={0: float("inf")}).fit(X, [0, 1] * 20)
    assert model.tree_ is tree


# Scorers


def test_a_scorer_may_call_the_score_of_the_model():
    asked = []

    def scorer(model, X, y):
        asked.append(model.score(X, y))
        return asked[-1]

    fit(early_stopping=True, scoring=scorer, random_state=0)
    assert asked == [1.0] * 3


def test_a_scorer_that_asks_about_other_rows_is_told_so():
    def scorer(model, X, y):
        return model.score(X[::-1], y)

    with pytest.raises(
        ValueError, match=r"scoring=.*: a scorer may ask about the X that it is given, as it is"
    ):
        fit(early_stopping=True, scoring=scorer, random_state=0)


@pytest.mark.filterwarnings("ignore:Only one class is present")
def test_a_scorer_that_gives_no_number_is_refused_where_it_would_stop_the_fit():
    one_class = {"X_val": X[::2], "y_val": [0] * 20}
    with pytest.raises(
        ValueError, match=r"^scoring='roc_auc' gives NaN, as where the validation rows lack a"
    ):
        TAdaBoostClassifier(early_stopping=True, scoring="roc_auc").fit(X, [0, 1] * 20, **one_class)
    with pytest.raises(ValueError, match=r"^scoring='f1': pos_label=1 is not a valid label"):
        fit(y=["no", "yes"] * 20, early_stopping=True, scoring="f1")
    model = TAdaBoostClassifier(n_estimators=3, scoring="roc_auc").fit(X, [0, 1] * 20, **one_class)
    assert np.isfinite(model.rounds_["val_loss"]).all()


@pytest.mark.parametrize(
    ("X_val", "match"),
    [
        (np.empty((0, 1)), r"^X_val: Found array with 0 sample"),
        (X[:3], r"^X_val: .*inconsistent numbers of samples: \[3, 40\]"),
        ([0.0] * 40, r"^X_val: Expected 2D array"),
    ],
)
def test_validation_rows_are_named_in_what_is_said_of_them(X_val, match):
    with pytest.raises(ValueError, match=match):
        TAdaBoostClassifier().fit(X, [0, 1] * 20, X_val=X_val, y_val=[0, 1] * 20)
