# SPDX-License-Identifier: Apache-2.0
"""The target of a table: its classes, as they are or two by a rule, and the weights of its rows."""

from __future__ import annotations

import csv
import operator
import re
from collections.abc import Callable, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tadaboost.columns import check_column, is_number, listed, numbers, text_cells
from tadaboost.reader import DataError, Table, shown

_MOST_TEXTS, _MOST_NUMBERS = 50, 20  # distinct values of a target that are taken as classes without a rule
_COMPARE: dict[str, Callable[[pl.Series, float], pl.Series]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


def labels(table: Table, name: str, positive: str | None = None, *, two: bool = False) -> NDArray[np.generic]:
    """Read the class of every row.

    Parameters
    ----------
    table : Table
    name : str
        The target column.
    positive : str, optional
        Which values are positive: a value, a comparison with a number (`>=6`, also `>`, `<=`, `<`), or
        `in:a,b`. What is itself a value of the column (such as `>50K`) is that value. Numbers are compared
        as numbers: `1` is also `1.0`.
    two : bool
        Refuse more than two classes.

    Returns
    -------
    ndarray, shape (rows,)
        With a rule int64, 1 where it holds, else 0. Without a rule the values, a class each: int64 if all are
        whole numbers below 2^53, else str (of `two`, float64 if all are numbers).

    Raises
    ------
    DataError
        If the column does not exist, is of a type without text, holds a missing or infinite cell, or does not
        come to two classes or more: without a rule at most 50 texts, 20 whole numbers, or two numbers.
    """
    cells = _cells(table, name, "the target")
    where = f"{table.name}: target {shown(name)}"
    if cells.null_count():
        row = int(cells.is_null().arg_max() or 0)
        written = table.frame[name][row]
        what = f"{shown(written)} counts as missing" if str(written or "").strip() else "is empty"
        raise DataError(f"{where}, {table.where(row)}: {what}; give the row a class or remove it")
    if is_number(cells).all():
        values_of = numbers(table, name, cells, advice="the target must be finite")
        # Without a rule, numbers of so many digits are names: as floats some would be the same.
        if positive is not None or two or (values_of.abs() < 2.0**53).all():
            cells = values_of
    values = cells.unique().sort().to_list()
    if positive is not None:
        chosen = _chosen(cells, values, positive, where)
        if not chosen.any():
            raise DataError(
                f"{where}: the rule {shown(positive)} holds in no row; the values are {_listed(values)}"
            )
        if chosen.all():
            raise DataError(f"{where}: the rule {shown(positive)} holds in every row; two classes are needed")
        return chosen.cast(pl.Int64).to_numpy()
    if len(values) == 1:
        raise DataError(f"{where}: is {shown(_name(values[0]))} in every row; two classes are needed")
    whole = cells.dtype != pl.Float64 or bool((cells == cells.round()).all())
    most = 2 if not whole or two else _MOST_NUMBERS if cells.dtype == pl.Float64 else _MOST_TEXTS
    if len(values) > most:
        why = "two are needed" if two else "too many for a class each"
        example = f"'>={_name(values[len(values) // 2])}'" if cells.dtype == pl.Float64 else shown(values[0])
        raise DataError(
            f"{where}: has {len(values)} values ({_listed(values)}), {why}; "
            f"say which are positive, such as --positive {example}"
        )
    if cells.dtype == pl.Float64:
        array = cells.to_numpy()
        if whole and abs(array).max() < 2**53:
            return array.astype(np.int64)
        return array if two else np.array([_name(x) for x in array.tolist()])  # no fit takes fractions
    return np.array(cells.to_list(), dtype=np.str_)


def alike(y: NDArray[np.generic]) -> str:
    """Say which of the classes of `labels` differ only in case or in the spaces within, or ""."""
    found: dict[str, str] = {}
    for label in np.unique(y).tolist() if y.dtype.kind == "U" else ():
        key = "".join(label.casefold().split())
        if key in found:
            return f"the classes {shown(found[key])} and {shown(label)} differ only in case or spaces"
        found[key] = label
    return ""


def weights(table: Table, name: str) -> NDArray[np.float64]:
    """Read the multiplicities of the rows; DataError for a missing, negative or otherwise bad cell."""
    cells = _cells(table, name, "the weights")
    values = numbers(table, name, cells, advice="a weight is a number >= 0")
    bad = values.is_null() | (values < 0).fill_null(False)
    if bad.any():
        row = int(bad.arg_max() or 0)
        cell = "is empty" if cells[row] is None else f"is {cells[row]}"
        raise DataError(
            f"{table.name}: weights {shown(name)}, {table.where(row)}: {cell}; a weight is a number >= 0"
        )
    if not (values > 0).any():
        raise DataError(f"{table.name}: weights {shown(name)}: every weight is 0")
    return values.to_numpy()


def _cells(table: Table, name: str, what: str) -> pl.Series:
    """Give the cells of a column, which is to be `what`, as text."""
    check_column(table, name, what)
    dtype = table.frame[name].dtype
    try:
        if not dtype.is_nested():
            return text_cells(table.frame[name])
    except pl.exceptions.PolarsError:  # bytes, say, that are no UTF-8
        pass
    raise DataError(
        f"{table.name}: column {shown(name)} holds values of type {dtype}, which cannot be {what}; "
        "convert them to text or numbers"
    )


def _chosen(cells: pl.Series, values: Sequence[object], rule: str, where: str) -> pl.Series:
    """Mark the rows for which the rule holds."""
    plain = rule.strip()
    comparison = re.match(r"(>=|<=|>|<)\s*(.+)$", plain)
    if plain not in map(_name, values) and comparison and _number(comparison[2]) is not None:
        if cells.dtype != pl.Float64:
            raise DataError(
                f"{where}: holds text, so the rule {shown(rule)} has no meaning; it has {_listed(values)}"
            )
        return _COMPARE[comparison[1]](cells, float(comparison[2]))
    several = plain.startswith("in:") and plain not in map(_name, values)
    wanted = next(csv.reader([plain[3:]], skipinitialspace=True), []) if several else [plain]
    keys = [_number(value) if cells.dtype == pl.Float64 else value.strip() for value in wanted]
    for value, key in zip(wanted, keys, strict=True):
        if key not in values:
            hint = f", and what follows {comparison[1]} in a rule is a number" if comparison else ""
            raise DataError(
                f"{where}: no row has the value {shown(value)}; the values are {_listed(values)}{hint}"
            )
    return cells.is_in(keys)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _name(value: object) -> str:
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _listed(values: Sequence[object]) -> str:
    return listed([_name(value) for value in values])
