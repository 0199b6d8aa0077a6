# SPDX-License-Identifier: Apache-2.0
"""Tables of every make become the same matrix; what cannot is refused by column and row."""

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tadaboost.frame import is_categorical, learn_schema, n_levels, open_table, to_matrix

NAN = float("nan")


def read(X, categorical_features="from_dtype", present=None):
    table = open_table(X)
    schema = learn_schema(table, categorical_features, present)
    return schema, to_matrix(table, schema)


def code(X, schema):
    return to_matrix(open_table(X), schema)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_float_arrays_pass_without_a_copy(dtype):
    X = np.arange(12, dtype=dtype).reshape(4, 3)
    X.flags.writeable = False
    for view in (X, X.T, X[::2], np.asfortranarray(X)):
        matrix = read(view)[1]
        assert np.shares_memory(matrix, view)
        assert matrix.dtype == dtype


@pytest.mark.parametrize("dtype", ["i1", "u1", "i8", "u8", "?", "f2", ">f8", ">f4", ">i4", "g"])
def test_every_numeric_dtype_gives_the_same_numbers(dtype):
    X = np.array([[0, 1], [1, 1], [1, 0]])
    schema, matrix = read(X.astype(dtype))
    assert schema == [None, None]
    assert matrix.dtype.isnative
    assert matrix.dtype in (np.float32, np.float64)
    assert matrix.tolist() == X.tolist()


@pytest.mark.parametrize(
    ("X", "match"),
    [
        (np.ones((2, 2)) + 1j, r"^Complex data not supported [^\n]*$"),
        (np.ones(3), r"^Expected 2D array, got 1D array instead: [^\n]*Reshape your data[^\n]*$"),
    ],
)
def test_what_scikit_learn_refuses_is_one_line(X, match):
    with pytest.raises(ValueError, match=match):
        open_table(X)


NUMBERS = {
    "pandas": pd.DataFrame({"a": [1.5, None, 3.0], "b": [1, 0, 1]}),
    "nullable": pd.DataFrame({"a": pd.array([1.5, None, 3], "Float64"), "b": pd.array([1, 0, 1], "Int64")}),
    "arrow-backed": pd.DataFrame(
        {
            "a": pd.array([1.5, None, 3], "double[pyarrow]"),
            "b": pd.array([True, False, True], "bool[pyarrow]"),
        }
    ),
    "sparse": pd.DataFrame({"a": [1.5, None, 3], "b": pd.arrays.SparseArray([1.0, 0, 1])}),
    "objects": pd.DataFrame({"a": [1.5, None, 3], "b": [True, False, True]}, dtype=object),
    "polars": pl.DataFrame({"a": [1.5, None, 3.0], "b": [True, False, True]}),
    "polars Int128": pl.DataFrame({"a": [1.5, None, 3.0], "b": [1, 0, 1]}, schema_overrides={"b": pl.Int128}),
    "decimals": pl.DataFrame({"a": [decimal.Decimal("1.5"), None, decimal.Decimal(3)], "b": [1, 0, 1]}),
    "pyarrow": pa.table({"a": [1.5, None, 3.0], "b": [True, False, True]}),
    "object array": np.array([[1.5, True], [None, False], [np.float32(3), np.int8(1)]], dtype=object),
    "masked array": np.ma.masked_array([[1.5, 1], [9, 0], [3, 1]], [[0, 0], [1, 0], [0, 0]]),
    "lists": [[1.5, 1], [NAN, 0], [3.0, 1]],
}


@pytest.mark.parametrize("X", NUMBERS.values(), ids=NUMBERS)
def test_numbers_and_booleans_are_numeric_in_every_table(X):
    schema, matrix = read(X)
    assert schema == [None, None]
    np.testing.assert_array_equal(matrix, [[1.5, 1], [NAN, 0], [3, 1]])


CELLS = ["q", None, "p", "q"]
TEXT = {
    "pandas str": pd.DataFrame({"c": CELLS}),
    "pandas object": pd.DataFrame({"c": pd.Series(CELLS, dtype=object)}),
    "pandas string": pd.DataFrame({"c": pd.array(CELLS, "string")}),
    "pandas string[pyarrow]": pd.DataFrame({"c": pd.array(CELLS, "string[pyarrow]")}),
    "pandas category": pd.DataFrame({"c": pd.Categorical(CELLS, categories=["zz", "q", "p"])}),
    "pandas arrow dictionary": pd.DataFrame(
        {"c": pd.array(CELLS, pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string())))}
    ),
    "polars String": pl.DataFrame({"c": CELLS}),
    "polars Categorical": pl.DataFrame({"c": CELLS}, schema={"c": pl.Categorical}),
    "polars Object": pl.DataFrame({"c": pl.Series(CELLS, dtype=pl.Object)}),
    "pyarrow": pa.table({"c": CELLS}),
    "pyarrow dictionary": pa.table({"c": pa.array(CELLS).dictionary_encode()}),
    "array of objects": np.array(CELLS, dtype=object)[:, None],
    "array of pandas str": pd.DataFrame({"c": CELLS}).to_numpy(),
    "array of objects, NaN": np.array([["q"], [NAN], ["p"], ["q"]], dtype=object),
    "polars Object, NaN": pl.DataFrame({"c": pl.Series(["q", NAN, "p", "q"], dtype=pl.Object)}),
    "masked text": np.ma.masked_array([["q"], ["zz"], ["p"], ["q"]], [[0], [1], [0], [0]]),
    "masked objects": np.ma.masked_array(np.array(CELLS, object)[:, None], [[0], [1], [0], [0]]),
    "numpy StringDType": np.array(
        [["q"], [NAN], ["p"], ["q"]], dtype=np.dtypes.StringDType(na_object=np.nan)
    ),
    "lists": [[cell] for cell in CELLS],
}


@pytest.mark.parametrize("X", TEXT.values(), ids=TEXT)
def test_text_and_categories_are_levels_in_sorted_order(X):
    schema, matrix = read(X)
    assert schema == [["p", "q"]]
    np.testing.assert_array_equal(matrix, [[1], [NAN], [0], [1]])


def test_ordered_categories_keep_their_order():
    ordered = pd.Categorical(["low", "high"], categories=["low", "mid", "high"], ordered=True)
    assert read(pd.DataFrame({"c": ordered}))[0] == [["low", "high"]]
    enum = pl.Series(["low", "high"], dtype=pl.Enum(["low", "mid", "high"]))
    assert read(pl.DataFrame({"c": enum}))[0] == [["low", "high"]]


def test_levels_are_matched_by_value_not_by_code():
    schema, _ = read(pd.DataFrame({"c": pd.Categorical(["a", "b", "c"])}))
    later = pd.DataFrame({"c": pd.Categorical(["c", "zzz", "a", None], categories=["zzz", "c", "b", "a"])})
    np.testing.assert_array_equal(code(later, schema)[:, 0], [2, NAN, 0, NAN])
    assert code(pl.DataFrame({"c": ["b"]}), schema).tolist() == [[1]]
    assert code(np.array([["b"]]), schema).tolist() == [[1]]


def test_numeric_categories_are_matched_by_value_in_every_dtype():
    X = np.array([[5, 0], [2**60 + 1, 1], [-7, 1]])
    schema, matrix = read(X, categorical_features=[0])
    assert schema == [[-7, 5, 2**60 + 1], None]
    assert matrix.tolist() == [[1, 0], [2, 1], [0, 1]]
    np.testing.assert_array_equal(code([[5.0, 0], [400, 1], [NAN, 1]], schema)[:, 0], [1, NAN, NAN])
    frame = pd.DataFrame({"a": pd.array([5, None, -7], "Int64"), "b": [True, False, True]})
    np.testing.assert_array_equal(code(frame, schema)[:, 0], [1, NAN, 0])


@pytest.mark.parametrize(
    "chosen", [["b"], [1], [False, True], np.array([False, True]), ("b",), pd.Series(["b"])]
)
def test_categorical_features_are_names_indices_or_a_mask(chosen):
    X = pd.DataFrame({"a": [1.0, 2], "b": [7, 3]})
    schema, matrix = read(X, chosen)
    assert schema == [None, [3, 7]]
    assert is_categorical(schema).tolist() == [False, True]
    assert n_levels(schema).tolist() == [0, 2]
    assert matrix.tolist() == [[1, 1], [2, 0]]


@pytest.mark.parametrize(
    ("chosen", "match"),
    [
        (["nope"], "'nope' which is not a valid feature name"),
        ([5], r"must be in \[0, n_features - 1\]"),
        ([True], "boolean mask must have shape"),
        ({"b"}, r"^categorical_features is a set; it must be 'from_dtype', None or a list"),
        ([[True, False]], r"^categorical_features is a list; it must be"),
        ("a", "categorical_features is 'a'; it must be 'from_dtype', None or an array"),
        ([1.5], "array-like of bool, int or str"),
    ],
)
def test_a_wrong_choice_of_columns_is_refused(chosen, match):
    with pytest.raises(ValueError, match=match):
        read(pd.DataFrame({"a": [1.0, 2], "b": [7, 3]}), chosen)


def test_levels_found_only_in_absent_rows_are_unknown():
    schema, matrix = read([["a"], ["b"], ["c"]], present=np.array([True, False, True]))
    assert schema == [["a", "c"]]
    np.testing.assert_array_equal(matrix, [[0], [NAN], [1]])


def test_a_column_without_any_value_is_missing_everywhere():
    for X in (pl.DataFrame({"a": [None, None]}), pa.table({"a": pa.nulls(2)})):
        schema, matrix = read(X)
        assert schema == [None]
        assert np.isnan(matrix).all()
    for X in (pd.DataFrame({"a": [None, None]}), pl.DataFrame({"a": [None, None]}, schema={"a": pl.String})):
        schema, matrix = read(X)
        assert schema == [[]]
        assert np.isnan(matrix).all()
        assert np.isnan(code([["x"], ["y"]], schema)).all()


def test_frames_of_float32_stay_float32():
    columns = {"a": np.array([1.5, NAN], np.float32), "c": ["x", "y"]}
    assert read(pd.DataFrame(columns))[1].dtype == np.float32
    assert read(pl.DataFrame(columns))[1].dtype == np.float32
    assert read(pd.DataFrame(columns | {"a": [0.1, 0.2]}))[1].dtype == np.float64


FRAMES = {
    "pandas": pd.DataFrame,
    "polars": lambda columns: pl.DataFrame(columns, strict=False),
    "pyarrow": pa.table,
}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_infinity_is_refused_with_column_and_row(make):
    with pytest.raises(ValueError, match=r"^column 'b' holds infinity in row 2; replace it"):
        read(make({"a": [1.0, NAN, 2.0], "b": [0.0, NAN, -np.inf]}))
    with pytest.raises(ValueError, match=r"^column 'b' holds infinity in row 1"):
        read(make({"b": [1.0, np.inf]}), [0])


def test_infinity_in_an_array_is_refused_with_its_place():
    X = np.zeros((4, 3), np.float32)
    X[3, 1] = np.inf
    with pytest.raises(ValueError, match=r"^column 1 holds infinity in row 3"):
        read(X)
    with pytest.raises(
        ValueError, match=r"^column 0 holds a number too large for float64 \(infinity\) in row 1"
    ):
        read(np.array([[1], [10**400]], dtype=object))


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_dates_are_refused_with_advice(make):
    days = [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)]
    with pytest.raises((ValueError, TypeError), match=r"^column 'd' holds"):
        read(make({"x": [1, 2], "d": days}))
    times = [datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 2)]
    with pytest.raises(ValueError, match=r"^column 'd' holds dates; convert them to numbers first"):
        read(make({"x": [1, 2], "d": times}))


def test_an_array_of_dates_is_refused():
    days = np.array([["2020-01-01"]], "M8[D]")
    for X in (days, np.ma.masked_array(days, [[True]]), np.ma.masked_array(days, [[False]])):
        with pytest.raises(ValueError, match=r"^X holds dates"):
            read(X)


def test_a_bad_cell_is_refused_with_column_and_row():
    with pytest.raises(
        TypeError, match=r"^column 'o' holds a list in row 2; the argument must be a string or"
    ):
        read(pd.DataFrame({"a": [1, 2, 3], "o": ["x", "y", [1]]}))
    with pytest.raises(TypeError, match=r"^column 1 holds a dict in row 0"):
        read(np.array([[1, {}], [2, 3]], dtype=object))
    with pytest.raises(TypeError, match=r"^column 'l' holds a list in row 0"):
        read(pl.DataFrame({"l": [[1], [2]]}))
    with pytest.raises(TypeError, match=r"^column 'b' holds a bytes in row 1"):
        read(pl.DataFrame({"b": [None, b"x"]}))


def test_text_among_numbers_is_refused_unless_chosen_as_categories():
    X = pd.DataFrame({"a": pd.Series([1, "x", 3], dtype=object)})
    with pytest.raises(ValueError, match=r"^column 'a' mixes text and numbers \('x' in row 1, 1 in row 0\)"):
        read(X)
    assert read(X, ["a"])[0] == [[1, 3, "x"]]
    with pytest.raises(
        ValueError, match=r"^column 'a' holds text \('x' in row 1\) where a number is expected"
    ):
        read(X, None)


def test_text_where_numbers_were_is_refused_and_the_reverse():
    schema, _ = read(pd.DataFrame({"n": [1, 2], "c": ["1", "2"]}))
    with pytest.raises(
        ValueError, match=r"^column 'n' holds text \('x' in row 1\) where a number is expected"
    ):
        code(pd.DataFrame({"n": [None, "x"], "c": ["1", "2"]}), schema)
    with pytest.raises(
        ValueError, match=r"^column 'c' holds 1 in row 0, but its levels in fit were text such as '1'"
    ):
        code(pd.DataFrame({"n": [1, 2], "c": [1, 2]}), schema)
    schema, _ = read([[1], [2]], [0])
    with pytest.raises(ValueError, match=r"^column 0 holds 'a' in row 0, but its levels in fit were numbers"):
        code([["a"]], schema)


def test_missing_cells_hide_neither_a_mix_nor_a_column_of_the_other_kind():
    with pytest.raises(ValueError, match=r"^column 0 mixes text and numbers \('x' in row 0, 1 in row 2\)"):
        read(np.array([["x"], [NAN], [1]], dtype=object))
    schema, _ = read([["1"], ["2"]])
    for first in (None, NAN):
        with pytest.raises(
            ValueError, match=r"^column 0 holds 1.0 in row 1, but its levels in fit were text"
        ):
            code(np.array([[first], [1.0]], dtype=object), schema)
    assert np.isnan(code([[NAN], [NAN]], schema)).all()


@pytest.mark.parametrize(
    ("X", "error", "match"),
    [
        (np.zeros(3), ValueError, "Expected 2D array, got 1D array"),
        (np.zeros((0, 2)), ValueError, r"0 sample\(s\)"),
        (pd.DataFrame({"a": []}), ValueError, r"0 sample\(s\) \(shape=\(0, 1\)\)"),
        (pd.DataFrame(index=[0, 1]), ValueError, r"0 (feature|sample)\(s\)"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), ValueError, r"^X has two columns named 'a'; give"),
        (pa.table([pa.array([1])] * 2, names=["z"] * 2), ValueError, r"^X has two columns named 'z'; give"),
        (np.ma.masked_array([[1j]], [[True]]), ValueError, "Complex data not supported"),
        (
            pa.record_batch({"a": [1.0]}),
            TypeError,
            r"^X is a RecordBatch of pyarrow, whose columns cannot be read by name; make a pandas",
        ),
        (np.zeros((2, 2), complex), ValueError, "Complex data not supported"),
        (np.array([[b"x"]]), TypeError, r"^X has dtype \|S1; it must hold"),
        (pl.LazyFrame({"a": [1]}), TypeError, r"^X is a lazy frame; call its collect\(\) first"),
    ],
)
def test_what_is_no_table_is_refused(X, error, match):
    with pytest.raises(error, match=match):
        read(X)


@given(
    st.lists(
        st.one_of(st.none(), st.text(max_size=3), st.floats(allow_infinity=False), st.booleans()), min_size=1
    )
)
def test_codes_and_levels_are_inverse(cells):
    column = np.empty((len(cells), 1), dtype=object)
    column[:, 0] = cells
    schema, matrix = read(column, [0])
    for cell, at in zip(cells, matrix[:, 0], strict=True):
        if cell is None or cell != cell:
            assert np.isnan(at)
        else:
            assert schema[0][int(at)] == cell


def test_a_category_has_the_levels_that_rows_have_whatever_others_its_type_knows():
    column = pd.Categorical(["c", None, "a", "c"], categories=["z", "c", "b", "a"])
    table = open_table(pd.DataFrame({"x": column}))
    schema = learn_schema(table, "from_dtype")
    assert schema == [["a", "c"]]
    np.testing.assert_array_equal(to_matrix(table, schema)[:, 0], [1.0, np.nan, 0.0, 1.0])
    weighted = learn_schema(table, "from_dtype", np.array([True, True, False, True]))
    assert weighted == [["c"]]
