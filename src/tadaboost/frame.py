# SPDX-License-Identifier: Apache-2.0
"""Any table -> one float matrix, by way of a `Schema`.

A `Schema` is a list with an entry a column: None for a column of numbers, else the list of the column's
levels (strings, numbers or booleans). A level's code is its place in that list, so levels are remembered by
value: neither the order of a pandas Categorical's categories nor the physical codes of a file matter later.
A fraction such as .1 is one level in floats of any width. In the matrix a categorical column holds codes as
floats; NaN is missing, and so is a level that training never saw.

Data frames are read through narwhals alone, but for one method of pandas columns, so none of them is imported
here. Rows in error messages count from 0.
"""

from __future__ import annotations

import decimal
import numbers
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias, TypeGuard

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _check_categorical_features

from tadaboost.target import checked_array

Level: TypeAlias = str | int | float | bool
Schema: TypeAlias = list[list[Level] | None]
Table: TypeAlias = "NDArray[Any] | nw.DataFrame[Any]"
Column: TypeAlias = "NDArray[Any] | nw.Series[Any]"
Matrix: TypeAlias = NDArray[np.float32] | NDArray[np.float64]

_NOT_OF_NUMPY = (nw.Int128, nw.UInt128)
_DATES = (nw.Date, nw.Datetime, nw.Duration, nw.Time)


class _Cells(NamedTuple):
    """The cells of an object or text column, and which kinds there are: "text", "number", "missing"."""

    values: list[Any]  # distinct ones, or one a row
    row_values: NDArray[np.intp] | None  # by row, the place of its value if they are distinct
    kind_of: dict[type, str]  # the kind of each Python type met

    def value(self, row: int) -> Any:
        """Return the cell of a row."""
        return self.values[row if self.row_values is None else self.row_values[row]]

    def first(self, kind: str) -> int:
        """Find the first row whose cell is of a kind; there must be one."""
        return self._first_row([self.kind_of[type(v)] == kind for v in self.values])

    def first_equal(self, value: float) -> int:
        """Find the first row whose cell equals a number; there must be one."""
        return self._first_row([v == value for v in self.values])

    def _first_row(self, such: list[bool]) -> int:
        return int(np.argmax(such if self.row_values is None else np.array(such)[self.row_values]))

    def met(self, present: NDArray[np.bool_] | None) -> set[Any]:
        """Collect the distinct cells of the rows marked True, of all rows for None."""
        if present is None or present.all():
            return set(self.values)
        if self.row_values is not None:
            return {self.values[i] for i in np.unique(self.row_values[present])}
        return {v for v, counts in zip(self.values, present.tolist(), strict=True) if counts}

    def map(self, table: dict[Any, float]) -> NDArray[np.float64]:
        """Look up each distinct cell once and lay the numbers out by row."""
        mapped = np.fromiter(map(table.__getitem__, self.values), np.float64, len(self.values))
        return mapped if self.row_values is None else mapped[self.row_values]

    @property
    def kinds(self) -> set[str]:
        """The kinds of all cells."""
        return set(self.kind_of.values())


def _refuse_equal_names(X: Any) -> None:
    """Name a column that is there twice, which narwhals would do in several lines."""
    names = list(X.columns if hasattr(X, "iloc") else getattr(X, "column_names", ()))
    twice = next((name for name, n in Counter(names).items() if n > 1), None)
    if twice is not None:
        raise ValueError(f"X has two columns named {twice!r}; give each column a name of its own")


def open_table(X: object) -> Table:
    """Check that X is a two-dimensional table with rows and columns; an array, or a narwhals frame.

    Parameters
    ----------
    X : array-like of shape (rows, columns), or a pandas, polars or pyarrow table

    Returns
    -------
    ndarray or narwhals.DataFrame
        X itself where possible; nothing is converted yet.

    Raises
    ------
    ValueError, TypeError
        As `sklearn.utils.check_array` (one dimension, no rows, no columns, sparse, complex), and for dates.
    """
    if type(X).__module__.startswith("narwhals."):
        raise TypeError(f"X is a {type(X).__name__} of narwhals; pass what its to_native() gives")
    if nw.dependencies.is_polars_lazyframe(X):
        raise TypeError("X is a lazy frame; call its collect() first")
    if nw.dependencies.is_into_dataframe(X):
        _refuse_equal_names(X)
        frame: nw.DataFrame[Any] = nw.from_native(X, eager_only=True)
        for count, what in zip(frame.shape, ("sample", "feature"), strict=True):
            if count == 0:  # scikit-learn's words for it
                raise ValueError(
                    f"Found array with 0 {what}(s) (shape={frame.shape}) while a minimum of 1 is required."
                )
        return frame
    if hasattr(X, "columns"):  # as an array it would lose its names
        kind = type(X)
        raise TypeError(
            f"X is a {kind.__name__} of {kind.__module__.partition('.')[0]}, whose columns cannot be read by "
            "name; make a pandas, polars or pyarrow table of it first"
        )
    named = getattr(getattr(X, "dtype", None), "names", None)
    of_dicts = isinstance(X, list) and len(X) > 0 and isinstance(X[0], dict)
    if named or of_dicts or (isinstance(X, dict) and not hasattr(X, "shape")):  # as a sparse matrix has
        what = "a structured array" if named else "a list of dicts" if of_dicts else "a dict"
        raise TypeError(f"X is {what}; make a table of it, such as pandas.DataFrame(X)")
    if isinstance(X, np.ma.MaskedArray):
        if X.dtype.kind in "biuf":
            X = np.ma.filled(X.astype(np.float64), np.nan)
        elif X.dtype.kind in "OU":
            cells = X.data.astype(object)
            cells[np.ma.getmaskarray(X)] = None
            X = cells
    if not hasattr(X, "__array__") and isinstance(X, list | tuple) and _has_text(X):
        X = np.array(X, dtype=object)  # else numpy turns the numbers of a mixed list into text
    array = checked_array(X, dtype=None, ensure_all_finite=False, input_name="X")
    if array.dtype.kind in "Mm":
        raise ValueError(_dates("X"))
    if array.dtype.kind == "T":  # numpy's text of any length
        array = array.astype(object)
    if array.dtype.kind not in "biufUO":
        raise TypeError(f"X has dtype {array.dtype}; it must hold numbers, booleans or strings")
    return array


def is_plain(X: object, schema: Schema) -> TypeGuard[Matrix]:
    """Whether X is an array of floats that `open_table` and `to_matrix` would hand through: rows and columns.

    The quick way to a prediction. Infinite values are still to be refused (`refuse_infinity`).
    """
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype.char in "fd"
        and X.dtype.isnative
        and X.flags.aligned
        and X.shape[1] == len(schema) == schema.count(None)
        and X.shape[0] > 0
    )


def learn_schema(
    table: Table, categorical_features: ArrayLike | None, present: NDArray[np.bool_] | None = None
) -> Schema:
    """Find which columns are categorical, and their levels.

    Parameters
    ----------
    table : the result of `open_table`
    categorical_features : "from_dtype", None, or array-like of names, indices or a mask
        "from_dtype": text, category, Enum, and object columns of strings.
    present : bool array of shape (rows,), optional
        Rows that count (weight above 0): a level found elsewhere only is unknown.

    Returns
    -------
    Schema
        Levels sorted (numbers before text); those of an ordered category or Enum in their own order.

    Raises
    ------
    ValueError, TypeError
        If a name or index is unknown, a column mixes text and numbers, or a cell is neither.

    Examples
    --------
    >>> learn_schema(open_table([[1.5, "b"], [2.5, "a"]]), "from_dtype")
    [None, ['a', 'b']]
    """
    if isinstance(categorical_features, str):
        if categorical_features != "from_dtype":
            raise ValueError(
                f"categorical_features is {categorical_features!r}; it must be 'from_dtype', None or an array"
            )
        return [
            _levels(label, column, present) if _is_text(label, column) else None
            for label, column in _columns(table)
        ]
    if categorical_features is not None and np.ndim(categorical_features) != 1:
        raise ValueError(
            f"categorical_features is a {type(categorical_features).__name__}; it must be 'from_dtype', None "
            "or a list of names, indices or booleans"
        )
    native = table if isinstance(table, np.ndarray) else table.to_native()
    index = getattr(categorical_features, "index", None)  # a method of lists, the names of a pandas Series
    if index is not None and not callable(index) and np.asarray(categorical_features).dtype == bool:
        labels = list(index)
        columns = list(getattr(native, "columns", ()))
        if labels != columns and any(isinstance(label, str) for label in labels):
            raise ValueError(
                "categorical_features is a mask in a Series whose names are not the columns in their "
                "order; take the names that are True: list(mask[mask].index)"
            )
    chosen = _check_categorical_features(native, categorical_features)
    if chosen is None:
        chosen = np.zeros(table.shape[1], bool)
    return [
        _levels(label, column, present) if is_chosen else None
        for (label, column), is_chosen in zip(_columns(table), chosen, strict=True)
    ]


def to_matrix(table: Table, schema: Schema) -> Matrix:
    """Build the matrix of a table: numbers as they are, codes for levels, NaN for missing and unknown.

    Parameters
    ----------
    table : the result of `open_table`, with as many columns as `schema`
    schema : the result of `learn_schema` on the training table

    Returns
    -------
    float32 or float64 array of shape (rows, columns)
        float32 if all numbers in the table are; the table's own memory where nothing had to be converted, so
        it must not be written to. Integers beyond 2^53 are rounded to float64.

    Raises
    ------
    ValueError, TypeError
        If a number is infinite, text stands where numbers were (or the reverse), or a cell is neither.

    Examples
    --------
    >>> to_matrix(open_table([[1.5, "b"], [None, "zzz"]]), [None, ["a", "b"]])
    array([[1.5, 1. ],
           [nan, nan]])
    """
    if isinstance(table, np.ndarray) and table.dtype.kind in "biuf" and not is_categorical(schema).any():
        matrix = _as_float(table)
        refuse_infinity(matrix, table)
        return matrix
    matrix = np.empty(table.shape, _float_type(table, schema), order="F")
    for c, (label, column) in enumerate(_columns(table)):
        levels = schema[c]
        with np.errstate(over="ignore"):  # a long double beyond float64 becomes infinite and is refused below
            matrix[:, c] = _numbers(label, column) if levels is None else _codes(label, column, levels)
        if levels is None and not _is_whole(column) and _any_infinite(matrix[:, c]):
            raise ValueError(_infinite(label, int(np.argmax(np.isinf(matrix[:, c])))))
    return matrix


def is_categorical(schema: Schema) -> NDArray[np.bool_]:
    """Say which columns hold level codes, shape (columns,)."""
    return np.array([levels is not None for levels in schema])


def n_levels(schema: Schema) -> NDArray[np.int64]:
    """Count the levels of each column, 0 for numbers, shape (columns,)."""
    return np.array([len(levels or ()) for levels in schema], np.int64)


def _has_text(X: list[Any] | tuple[Any, ...]) -> bool:
    return any(isinstance(row, list | tuple) and any(isinstance(v, str) for v in row) for row in X)


def _columns(table: Table) -> Iterator[tuple[str, Column]]:
    """Every column with what to call it in a message."""
    if isinstance(table, np.ndarray):
        for c in range(table.shape[1]):
            yield f"column {c}", table[:, c]
    else:
        for series in table.iter_columns():
            yield f"column {series.name!r}", series  # type: ignore[misc]  # narwhals' stable wrapper


def _dates(label: str) -> str:
    return f"{label} holds dates; convert them to numbers first, for example to days since 1970-01-01"


def _infinite(label: str, row: int) -> str:
    return f"{label} holds infinity in row {row}; replace it with a finite number or NaN"


def _kind(cell_type: type) -> str:
    if issubclass(cell_type, str):
        return "text"
    if issubclass(cell_type, numbers.Real | np.bool_ | decimal.Decimal):
        return "number"
    return "missing" if _is_missing_type(cell_type) else "bad"


def _is_missing_type(cell_type: type) -> bool:
    # pandas.NA and pandas.NaT, known by name: pandas is not imported for them.
    return cell_type is type(None) or cell_type.__name__ in ("NAType", "NaTType")


def is_missing(value: object) -> bool:
    """Whether a cell is None, `pandas.NA` or `pandas.NaT`; NaN is a number here."""
    return _is_missing_type(type(value))


def _cells(label: str, column: Column) -> _Cells:
    """Read the cells as Python objects, every one text, a number or missing."""
    if not isinstance(column, np.ndarray) and column.dtype in _DATES:
        raise ValueError(_dates(label))
    values, row_values = _factorised(column)
    kind_of = {cell_type: _kind(cell_type) for cell_type in set(map(type, values))}
    if "number" in kind_of.values():  # NaN is missing, among text too, where pandas puts it
        values = [None if kind_of[type(v)] == "number" and v != v else v for v in values]
        if np.longdouble in kind_of:  # which Python lacks, so that no level could be equal
            values = [float(v) if isinstance(v, np.longdouble) else v for v in values]
        kind_of = {cell_type: _kind(cell_type) for cell_type in set(map(type, values))}
    cells = _Cells(values, row_values, kind_of)
    if "bad" in cells.kinds:
        row = cells.first("bad")
        raise TypeError(
            f"{label} holds a {type(cells.value(row)).__name__} in row {row}; "
            "the argument must be a string or a number in every cell"
        )
    return cells


def _factorised(column: Column) -> tuple[list[Any], NDArray[np.intp] | None]:
    """Give distinct values and the place of each cell among them where pandas finds them fast, else all."""
    if isinstance(column, np.ndarray):
        if column.dtype.char == "g":  # Python has no such number
            column = column.astype(np.float64)
        return column.tolist(), None
    native = column.to_native()
    has_it = column.dtype in (nw.String, nw.Categorical, nw.Enum) and hasattr(native, "factorize")
    if not has_it or native.dtype == object:  # of the objects 1, 1.0 and True one is distinct
        return column.to_list(), None
    if hasattr(native.dtype, "categories"):  # it brings its codes, and levels that no row has
        code_of_row = native.cat.codes.to_numpy()
        met = np.flatnonzero(np.bincount(code_of_row + np.intp(1), minlength=1)[1:])
        place_of = np.full(len(native.dtype.categories) + 1, -1, np.intp)  # the last: of -1, missing
        place_of[met] = np.arange(len(met))
        place, values = place_of[code_of_row], native.dtype.categories[met]
    else:
        place, values = native.factorize()  # -1: missing
    return [*values.tolist(), *([None] if (place < 0).any() else [])], place


def _is_text(label: str, column: Column) -> bool:
    """Whether "from_dtype" makes this column categorical."""
    if isinstance(column, np.ndarray):
        if column.dtype.kind != "O":
            return column.dtype.kind == "U"
    elif column.dtype in (nw.String, nw.Categorical, nw.Enum):
        return True
    elif column.dtype not in (nw.Object, nw.Unknown):
        return False
    cells = _cells(label, column)
    if {"text", "number"} <= cells.kinds:
        text, number = (cells.first(kind) for kind in ("text", "number"))
        raise ValueError(
            f"{label} mixes text and numbers ({cells.value(text)!r} in row {text}, {cells.value(number)!r} "
            f"in row {number}); make it one kind, or name it in categorical_features"
        )
    return "text" in cells.kinds


def _levels(label: str, column: Column, present: NDArray[np.bool_] | None) -> list[Level]:
    """List the distinct values of a column in the order of their codes."""
    cells = _cells(label, column)
    met = cells.met(present)
    narrow = _narrow(column)
    plain = [
        _level(label, narrow(v) if narrow and isinstance(v, float) else v)
        for v in met
        if cells.kind_of[type(v)] != "missing"
    ]
    own_order = getattr(column.dtype, "categories", None)  # of an Enum or an ordered Categorical
    if own_order is not None:
        place = {value: i for i, value in enumerate(own_order)}
        return sorted(plain, key=lambda v: place[v])
    return sorted(plain, key=lambda v: (isinstance(v, str), v))


def _narrow(column: Column) -> Any:
    """Give numpy's type of a column of floats shorter than Python's, or None."""
    if not isinstance(column, np.ndarray):
        return np.float32 if column.dtype == nw.Float32 else None
    return column.dtype.type if column.dtype.kind == "f" and column.dtype.itemsize < 8 else None


def _level(label: str, value: Any) -> Level:
    """Give a level as a type that a file can hold; of a short float, the number that it was rounded from."""
    if isinstance(value, np.float32 | np.float16):
        written = float(str(value))
        return written if type(value)(written) == value else float(value)
    if isinstance(value, bool | np.bool_):
        return bool(value)
    for kind, plain in ((str, str.__str__), (numbers.Integral, int), (float | np.floating, float)):
        if isinstance(value, kind):
            return plain(value)
    raise TypeError(
        f"{label} holds a {type(value).__name__} as a category; convert such cells to text or float"
    )


def _code_of(levels: list[Level]) -> dict[Any, float]:
    """Give the code of each level, and of a fraction such as .1 by its value in narrower floats, too."""
    code_of = _CodeOf((level, float(code)) for code, level in enumerate(levels))
    fractions = [level for level in levels if isinstance(level, float) and not level.is_integer()]
    for narrow in (np.float32, np.float16):
        with np.errstate(over="ignore"):
            values = np.array(fractions).astype(narrow).tolist()
        for level, value in zip(fractions, values, strict=True):
            if not value.is_integer():
                code_of.setdefault(value, code_of[level])
    return code_of


class _CodeOf(dict[Any, float]):
    """Codes of the levels; that of any other cell is NaN."""

    def __missing__(self, value: object) -> float:
        """Take a cell that is no level for a missing one."""
        return float("nan")


def _codes(label: str, column: Column, levels: list[Level]) -> NDArray[np.float64]:
    """Look up the code of each cell; NaN for missing and for what is not among `levels`."""
    cells = _cells(label, column)
    are_text = {isinstance(level, str) for level in levels}
    other = "number" if are_text == {True} else "text"
    # A stray cell is an unknown level; a whole column of the other kind is a mistake such as 1 for "1".
    if len(are_text) == 1 and other in cells.kinds and len(cells.kinds - {"missing"}) == 1:
        row = cells.first(other)
        raise ValueError(
            f"{label} holds {cells.value(row)!r} in row {row}, but its levels in fit were "
            f"{'text' if other == 'number' else 'numbers'} such as {levels[0]!r}"
        )
    for infinity in {np.inf, -np.inf} & set(cells.values):
        raise ValueError(_infinite(label, cells.first_equal(infinity)))
    return cells.map(_code_of(levels))


def code(label: str, value: object, levels: list[Level]) -> float:
    """Code of a single cell, as `to_matrix` would give it in a table of one row."""
    return float(_codes(label, _alone(value), levels)[0])


def number(label: str, value: object) -> float:
    """Give a single cell of a column of numbers as a float, as `to_matrix` would; missing is NaN."""
    return value if type(value) is float else float(_numbers(label, _alone(value))[0])


def _alone(value: object) -> NDArray[Any]:
    column = np.empty(1, object)
    column[0] = value
    return column


def _numbers(label: str, column: Column) -> NDArray[Any]:
    """Read a column of numbers, of any type of numpy's; missing is NaN."""
    if isinstance(column, np.ndarray):
        if column.dtype.kind in "biuf":
            return column
    elif column.dtype.is_numeric() or column.dtype == nw.Boolean:
        known = not column.dtype.is_decimal() and column.dtype not in _NOT_OF_NUMPY
        plain = column if known and column.null_count() == 0 else column.cast(nw.Float64)
        return plain.to_numpy()
    elif column.null_count() == len(column):
        return np.full(len(column), np.nan)
    cells = _cells(label, column)
    if "text" in cells.kinds:
        row = cells.first("text")
        raise ValueError(
            f"{label} holds text ({cells.value(row)!r} in row {row}) where a number is expected; convert it "
            "or name the column in categorical_features when fitting"
        )
    values = [cells.value(row) for row in range(len(column))]
    return np.array([_number(label, row, cells.kind_of[type(v)], v) for row, v in enumerate(values)])


def _number(label: str, row: int, kind: str, value: Any) -> float:
    try:
        return float(value) if kind == "number" else float("nan")
    except OverflowError:
        raise ValueError(f"{label} holds a number too large for float64 (infinity) in row {row}") from None


def _as_float(array: NDArray[Any]) -> NDArray[Any]:
    """Give the array itself if float32 or float64 as this machine computes with them, else as float64."""
    # The column of a packed record is not aligned.
    if array.dtype in (np.float32, np.float64) and array.dtype.isnative and array.flags.aligned:
        return array
    with np.errstate(over="ignore"):  # a long double beyond float64 becomes infinite and is refused below
        return array.astype(np.float32 if array.dtype == np.float32 else np.float64)


def _float_type(table: Table, schema: Schema) -> type[np.float32] | type[np.float64]:
    """float32 if every column of numbers is, and every code fits."""
    if isinstance(table, np.ndarray):
        narrow = table.dtype == np.float32
    else:
        numeric = [d for d, levels in zip(table.schema.dtypes(), schema, strict=True) if levels is None]
        narrow = bool(numeric) and all(d == nw.Float32 for d in numeric)
    return np.float32 if narrow and n_levels(schema).max() < 2**24 else np.float64


def _is_whole(column: Column) -> bool:
    """Whether all cells are integers or booleans by their type."""
    if isinstance(column, np.ndarray):
        return column.dtype.kind in "biu"
    return bool(column.dtype.is_integer() or column.dtype == nw.Boolean)


def _any_infinite(cells: Matrix) -> bool:
    # Two passes without a temporary; fmax and fmin skip NaN.
    return bool(np.isinf(np.fmax.reduce(cells, axis=None)) or np.isinf(np.fmin.reduce(cells, axis=None)))


def refuse_infinity(matrix: Matrix, table: Table) -> None:
    """Raise a ValueError that names column and row of an infinite value in `matrix`, made from `table`."""
    if _any_infinite(matrix):
        at_column = int(np.argmax(np.isinf(matrix).any(axis=0)))
        label = next(name for c, (name, _) in enumerate(_columns(table)) if c == at_column)
        row = int(np.argmax(np.isinf(matrix[:, at_column])))
        raise ValueError(_infinite(label, row))
