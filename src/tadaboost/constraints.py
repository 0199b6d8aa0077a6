# SPDX-License-Identifier: Apache-2.0
"""What trees may not do: go against the order of a column, or ask about columns together that are apart.

The order of a column is its direction: 1 where the score of ``classes_[1]`` may not fall as the column rises,
-1 where it may not rise, 0 where it is free. At a node that asks about a column of direction 1, every leaf on
the left is at most every leaf on the right; that is all it takes, since two rows that differ in this column
only part at such a node, and sums and clipping keep an order. Columns that may meet on a path are groups: a
node asks about the columns of those groups that hold everything asked about above it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tadaboost.tree import Tree

__all__ = ["broken", "directions", "groups", "in_order"]

Floats = NDArray[np.float64]
Directions = NDArray[np.int8]
Groups = list[NDArray[np.uint32]]


def directions(
    monotonic_cst: Any, names: Sequence[str] | None, is_categorical: NDArray[np.bool_], n_classes: int
) -> Directions | None:
    """Read `monotonic_cst`: the direction of each column, or None where all are free.

    Parameters
    ----------
    monotonic_cst : array-like of -1, 0 and 1, dict of them by name, or None
    names : sequence of str, or None
        Names of the columns, where they have any.
    is_categorical : ndarray of bool, shape (columns,)
    n_classes : int

    Returns
    -------
    ndarray of int8, shape (columns,), or None

    Raises
    ------
    ValueError
        If a value, a name or their number is wrong, a column with a direction is categorical, or there are
        more than two classes; in one line that names the column.

    Examples
    --------
    >>> directions({"age": 1}, ["age", "town"], np.array([False, True]), n_classes=2)
    array([1, 0], dtype=int8)
    >>> directions([0, -1], ["age", "town"], np.array([False, True]), n_classes=2)
    Traceback (most recent call last):
    ValueError: monotonic_cst is -1 for column 'town', which is categorical: its levels have no order
    """
    if monotonic_cst is None:
        return None
    n_columns = len(is_categorical)
    values: list[Any] = [0] * n_columns
    if isinstance(monotonic_cst, dict):
        if names is None:
            raise ValueError(
                "monotonic_cst is a dict, but X has no column names; give a value for each column"
            )
        for name, value in monotonic_cst.items():
            values[_index("monotonic_cst", name, names, n_columns)] = value
    else:
        index = getattr(monotonic_cst, "index", None)  # a method of lists, the names of a pandas Series
        if not (index is None or callable(index)) and any(isinstance(name, str) for name in index):
            raise ValueError(
                "monotonic_cst is a Series with names, which would be read by position; take its to_dict()"
            )
        given = np.asarray(monotonic_cst, dtype=object)
        if given.shape != (n_columns,):
            raise ValueError(
                f"monotonic_cst has shape {given.shape}; it needs a value for each of the {n_columns} columns"
            )
        values = given.tolist()
    for column, value in enumerate(values):
        if not isinstance(value, Real) or value not in (-1, 0, 1):
            label = _label(column, names)
            raise ValueError(f"monotonic_cst is {value!r} for {label}; it must be -1, 0 or 1")
        if value != 0 and is_categorical[column]:
            label = _label(column, names)
            raise ValueError(
                f"monotonic_cst is {value} for {label}, which is categorical: its levels have no order"
            )
    direction = np.array(values, np.int8)
    if not direction.any():
        return None
    if n_classes > 2:
        raise ValueError(f"monotonic_cst is for two classes, but y has {n_classes}; take monotonic_cst=None")
    return direction


def groups(interaction_cst: Any, names: Sequence[str] | None, n_columns: int) -> Groups | None:
    """Read `interaction_cst`: the groups of columns that may meet on a path, or None where all may.

    As in scikit-learn's HistGradientBoostingClassifier: "pairwise" is every pair, "no_interactions" every
    column alone, and columns that no group lists are a group of their own.

    Parameters
    ----------
    interaction_cst : {"pairwise", "no_interactions"}, sequence of collections of int or str, or None
    names : sequence of str, or None
        Names of the columns, where they have any.
    n_columns : int

    Returns
    -------
    list of ndarray of uint32, or None

    Raises
    ------
    ValueError
        If a group is no collection, or an index or name is not that of a column.

    Examples
    --------
    >>> [group.tolist() for group in groups([{0, 1}, {1, "d"}], list("abcde"), 5)]
    [[0, 1], [1, 3], [2, 4]]
    >>> groups([{0, 7}], None, 5)
    Traceback (most recent call last):
    ValueError: interaction_cst lists column 7, but X has 5 columns, counted from 0
    """
    if interaction_cst is None:
        return None
    if isinstance(interaction_cst, str):
        size = {"no_interactions": 1, "pairwise": 2}[interaction_cst]
        listed: Iterable[Any] = combinations(range(n_columns), size)
    else:
        listed = interaction_cst
    found = []
    for group in listed:
        # What can be read once only would be empty in the next fit.
        if isinstance(group, str | Iterator) or not isinstance(group, Iterable):
            raise ValueError(
                f"interaction_cst holds {group!r}; it must hold lists, tuples or sets of columns"
            )
        found.append(sorted({_index("interaction_cst", column, names, n_columns) for column in group}))
    rest = sorted(set(range(n_columns)).difference(*found))
    return [np.array(group, np.uint32) for group in [*found, rest] if group]


def in_order(
    values: Floats,
    weight: Floats,
    leaves: NDArray[np.int32],
    nodes: tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]],
    direction: Directions,
) -> Floats:
    """Bring leaf values into the order of `direction`, as HistGradientBoosting does while it grows a tree.

    From the root down: below a node with a direction, the middle between the values of its two children
    bounds the leaves, from above on the lower side and from below on the upper side. The value of an inner
    node is the weighted mean of its leaves, within its own bounds. Every leaf stays within the range of
    `values`, so that caps hold.

    Parameters
    ----------
    values, weight : ndarray of float64, shape (leaves,)
    leaves : ndarray of int32, shape (leaves,)
        Node of each value.
    nodes : tuple of feature, left, right
        Of the tree, an entry a node.
    direction : ndarray of int8, shape (columns,)

    Returns
    -------
    ndarray of float64, shape (leaves,)

    Examples
    --------
    >>> tree = [np.array(part, np.int32) for part in ([0, -1, -1], [1, -1, -1], [2, -1, -1])]
    >>> in_order(np.array([0.5, -0.25]), np.array([1.0, 3.0]), np.array([1, 2]), tree, np.array([1]))
    array([0.125, 0.125])
    """
    feature, left, right = nodes
    value, mass = np.zeros(len(feature)), np.zeros(len(feature))
    value[leaves], mass[leaves] = values, weight
    inner = np.flatnonzero(feature >= 0)
    for node in inner[::-1]:  # children come after their parent
        sides = [left[node], right[node]]
        mass[node] = mass[sides].sum()
        value[node] = value[sides] @ (mass[sides] / mass[node]) if mass[node] > 0.0 else 0.0
    low, high = np.full(len(feature), -np.inf), np.full(len(feature), np.inf)
    for node in inner:
        sides = [left[node], right[node]]
        low[sides], high[sides] = low[node], high[node]
        value[sides] = np.clip(value[sides], low[node], high[node])
        if sign := direction[feature[node]]:
            lower, upper = sides[::sign]
            high[lower] = low[upper] = value[lower] + (value[upper] - value[lower]) / 2.0
            value[sides] = np.clip(value[sides], low[sides], high[sides])
    return value[leaves]


def broken(tree: Tree, direction: Directions | None, of_groups: Groups | None) -> str | None:
    """Name the parameter that a tree breaks, or None.

    Parameters
    ----------
    tree : Tree
    direction : ndarray of int8, shape (columns,), or None
    of_groups : list of ndarray of uint32, or None

    Returns
    -------
    str or None
        "monotonic_cst", "interaction_cst" or None.
    """
    inner = np.flatnonzero(tree.feature >= 0)
    if direction is not None:
        least, most = tree.value.copy(), tree.value.copy()
        for node in inner[::-1]:
            sides = tree.left[node], tree.right[node]
            sign = direction[tree.feature[node]]
            lower, upper = sides if sign >= 0 else sides[::-1]
            if sign != 0 and most[lower] > least[upper]:
                return "monotonic_cst"
            least[node], most[node] = min(least[list(sides)]), max(most[list(sides)])
    if of_groups is not None:
        kept = {0: of_groups}
        for node in inner:  # parents come before their children
            below = [group for group in kept[int(node)] if tree.feature[node] in group]
            if not below:
                return "interaction_cst"
            kept[int(tree.left[node])] = kept[int(tree.right[node])] = below
    return None


def _index(parameter: str, column: Any, names: Sequence[str] | None, n_columns: int) -> int:
    if isinstance(column, str):
        if names is None:
            raise ValueError(
                f"{parameter} names column {column!r}, but X has no column names; give its index"
            )
        if column not in names:
            raise ValueError(f"{parameter} names column {column!r}, which X does not have")
        return list(names).index(column)
    if not isinstance(column, Integral) or isinstance(column, bool) or parameter == "monotonic_cst":
        raise ValueError(f"{parameter} lists {column!r}, which is no column of X")
    if not 0 <= int(column) < n_columns:
        raise ValueError(f"{parameter} lists column {column}, but X has {n_columns} columns, counted from 0")
    return int(column)


def _label(column: int, names: Sequence[str] | None) -> str:
    return f"column {column}" if names is None else f"column {names[column]!r}"
