# SPDX-License-Identifier: Apache-2.0
"""Columns to codes: `Bins` says where the bins of each column end, `encode` writes small integers.

Bins depend on the multiset of (row, multiplicity) and on nothing else: not on the order of rows, not on the
number of threads; a multiplicity of 3 is three equal rows and 0 is an absent one.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tadaboost import _core

__all__ = ["Bins", "encode", "fit_bins"]


class Bins(NamedTuple):
    """The bins of every column, as flat arrays.

    A value of a numeric column has the code of the first edge that is not below it; values larger than the
    last edge belong to the last bin. A level of a categorical column has the code `level_bin` of its column.
    Missing values, and levels that `fit_bins` was not told of, have the code ``n_bins[c]``.

    Attributes
    ----------
    n_bins : ndarray of int32, shape (columns,)
        Value bins of each column, at least 1.
    edges : ndarray of float64
        Upper ends of the bins of the numeric columns, one column after the other, in the column's own unit.
        The last edge of a column is its largest value.
    edge_start : ndarray of int64, shape (columns + 1,)
        Column c owns ``edges[edge_start[c]:edge_start[c + 1]]``; nothing when it is categorical.
    is_categorical : ndarray of bool, shape (columns,)
    level_bin : ndarray of int32
        Bin of each level of the categorical columns, one column after the other.
    level_start : ndarray of int64, shape (columns + 1,)
        Column c owns ``level_bin[level_start[c]:level_start[c + 1]]``; nothing when it is numeric.
    """

    n_bins: NDArray[np.int32]
    edges: NDArray[np.float64]
    edge_start: NDArray[np.int64]
    is_categorical: NDArray[np.bool_]
    level_bin: NDArray[np.int32]
    level_start: NDArray[np.int64]


def fit_bins(
    X: NDArray[np.floating[Any]],
    is_categorical: ArrayLike,
    n_levels: ArrayLike,
    max_bins: int,
    multiplicity: ArrayLike | None = None,
    n_threads: int = 1,
) -> Bins:
    """Choose the bins of each column.

    A numeric column with at most `max_bins` distinct values gets a bin for each of them, parted at the
    midpoints. Otherwise the edges are quantiles, weighted by multiplicity, of at most 200,000 distinct rows:
    those with the smallest hashes of their values. A value that weighs as much as two bins or more has a bin
    of its own. A categorical column with more than `max_bins` levels keeps the ``max_bins - 1`` heaviest ones
    (the lower level first among equals), and the others share the last bin.

    Parameters
    ----------
    X : ndarray of float32 or float64, shape (rows, columns)
        Any strides; NaN is missing. No infinite values (the caller has refused them). A categorical column
        holds level codes 0, 1, ...; other values in it count as missing.
    is_categorical : array-like of bool, shape (columns,)
    n_levels : array-like of int, shape (columns,)
        Number of levels of each categorical column; ignored for a numeric one.
    max_bins : int, 2 to 65535
        The most value bins of a column; the code of missing comes on top.
    multiplicity : array-like of float, shape (rows,), optional
        How often each row counts, finite and >= 0; once when not given.
    n_threads : int
        Never seen in the result.

    Returns
    -------
    Bins

    Raises
    ------
    TypeError, ValueError
        If an argument has a wrong dtype, size or value; the text starts with its name.

    Examples
    --------
    >>> X = np.array([[1.0], [2.0], [4.0], [np.nan]])
    >>> bins = fit_bins(X, [False], [0], max_bins=255)
    >>> bins.edges
    array([1.5, 3. , 4. ])
    >>> encode(X, bins)
    array([[0, 1, 2, 3]], dtype=uint8)
    """
    categorical = np.array(is_categorical, np.bool_)  # a copy: Bins must not change with the caller's array
    weights = None if multiplicity is None else np.ascontiguousarray(multiplicity, np.float64)
    levels = np.ascontiguousarray(n_levels, np.int32)
    n_bins, edges, edge_start, level_bin, level_start = _core.fit_bins(
        X, categorical, levels, max_bins, weights, n_threads
    )
    return Bins(n_bins, edges, edge_start, categorical, level_bin, level_start)


def encode(
    X: NDArray[np.floating[Any]], bins: Bins, n_threads: int = 1
) -> NDArray[np.uint8] | NDArray[np.uint16]:
    """Codes of a table, which need not be the one that the bins were fitted on.

    Parameters
    ----------
    X : ndarray of float32 or float64, shape (rows, columns)
        Any strides; NaN is missing.
    bins : Bins
    n_threads : int
        Never seen in the result.

    Returns
    -------
    ndarray of uint8 or uint16, shape (columns, rows)
        uint8 when every column has at most 256 codes, the one for missing included.

    Raises
    ------
    TypeError, ValueError
        If an argument has a wrong dtype, size or value; the text starts with its name.

    Examples
    --------
    >>> bins = fit_bins(np.array([[0.0], [1.0]]), [True], [2], max_bins=255)
    >>> encode(np.array([[1.0], [np.nan], [7.0]]), bins)  # level 7 was never seen: missing
    array([[1, 2, 2]], dtype=uint8)
    """
    if not isinstance(X, np.ndarray) or X.ndim != 2:
        raise TypeError("X: must be a 2-D array of float32 or float64")
    few = bool(np.all(bins.n_bins < 256))
    out: NDArray[Any] = np.empty(X.shape[::-1], np.uint8 if few else np.uint16)
    _core.encode(X, *bins, out, n_threads)
    return out
