# SPDX-License-Identifier: Apache-2.0
"""Trees laid end to end: the form in which the core and the files hold them.

`FlatTrees` has the fields of `Tree`, each the concatenation over the trees, and `tree_start`: tree j is nodes
tree_start[j] to tree_start[j + 1]. Children stay numbered within their tree; `category_start` runs on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tadaboost import _core
from tadaboost._core import Forest
from tadaboost.binning import Bins
from tadaboost.tree import Tree


class FlatTrees(NamedTuple):
    """All trees of a model; see the module docstring."""

    tree_start: NDArray[np.int64]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: NDArray[np.float64]
    missing_left: NDArray[np.bool_]
    is_categorical: NDArray[np.bool_]
    categories: NDArray[np.int32]
    category_start: NDArray[np.int64]
    mass: NDArray[np.float64]
    gain: NDArray[np.float64]


# The dtype of each field, fixed width: what the core takes and what a file may hold.
DTYPES: dict[str, np.dtype[Any]] = {
    "tree_start": np.dtype(np.int64),
    "feature": np.dtype(np.int32),
    "threshold": np.dtype(np.float64),
    "left": np.dtype(np.int32),
    "right": np.dtype(np.int32),
    "value": np.dtype(np.float64),
    "missing_left": np.dtype(np.bool_),
    "is_categorical": np.dtype(np.bool_),
    "categories": np.dtype(np.int32),
    "category_start": np.dtype(np.int64),
    "mass": np.dtype(np.float64),
    "gain": np.dtype(np.float64),
}


def flatten(trees: list[Tree]) -> FlatTrees:
    """Lay trees end to end.

    Parameters
    ----------
    trees : list of Tree
        One at least.

    Returns
    -------
    FlatTrees
        Contiguous arrays of the types in `DTYPES`.
    """
    columns = dict(zip(Tree._fields, zip(*trees, strict=True), strict=True))
    fields = {
        name: np.concatenate(columns[name]).astype(dtype, copy=False)
        for name, dtype in DTYPES.items()
        if name not in ("tree_start", "category_start")
    }
    offsets = np.concatenate(columns["category_start"])
    # Differences within each tree: those across two trees are left out.
    ends = np.cumsum([len(start) for start in columns["category_start"]])[:-1] - 1
    widths = np.delete(np.diff(offsets), ends)
    n_nodes = [len(tree.feature) for tree in trees]
    return FlatTrees(tree_start=_starts(n_nodes), category_start=_starts(widths), **fields)


def unflatten(flat: FlatTrees) -> list[Tree]:
    """Cut the arrays into trees again; the inverse of `flatten`. The trees are views of a copy."""
    own = FlatTrees._make(np.array(array) for array in flat)
    trees = []
    for first, last in pairwise(own.tree_start.tolist()):
        nodes, offsets = slice(first, last), own.category_start[first : last + 1]
        trees.append(
            Tree(
                own.feature[nodes], own.threshold[nodes], own.left[nodes], own.right[nodes], own.value[nodes],
                own.missing_left[nodes], own.is_categorical[nodes], own.categories[offsets[0] : offsets[-1]],
                offsets - offsets[0], own.mass[nodes], own.gain[nodes],
            )
        )  # fmt: skip  # field by field: many small trees are made here
    return trees


def to_trees(
    grown: Sequence[_core.GrownTree],
    bins: Bins,
    leaves: Sequence[NDArray[np.int32]],
    values: Sequence[NDArray[np.float64]],
    unit: float,
) -> list[Tree]:
    """Return the flat trees of what a grower returns: bin numbers become thresholds and level codes.

    All at once, because for a small tree it is the number of calls that takes time.

    Parameters
    ----------
    grown : sequence of _core.GrownTree
    bins : Bins
    leaves, values : sequences of ndarray
        Node ids of each tree's leaves, and their values.
    unit : float
        The multiplicity that one count of the core stands for.
    """
    n_nodes = [len(tree) for tree in grown]
    start = np.cumsum([0, *n_nodes])
    feature, last_left, left, right, missing_left, right_bins, bin_start, count, gain = _core.lay_out(
        list(grown)
    )
    inner = np.maximum(feature, 0)
    is_categorical = bins.is_categorical[inner] & (feature >= 0)
    numeric = (feature >= 0) & ~is_categorical
    threshold = np.zeros(len(feature))
    threshold[numeric] = bins.edges[bins.edge_start[inner[numeric]] + last_left[numeric]]
    value = np.zeros(len(feature))
    value[np.concatenate(leaves) + np.repeat(start[:-1], [len(ids) for ids in leaves])] = np.concatenate(
        values
    )
    categories, category_start = right_bins, bin_start
    if is_categorical.any():
        categories, category_start = _levels_of(feature, right_bins, bin_start, bins)
    return unflatten(
        FlatTrees(
            start, feature, threshold, left, right, value, missing_left.astype(bool), is_categorical,
            categories, category_start, count.astype(np.float64) * unit, gain,
        )
    )  # fmt: skip


def compiled(flat: FlatTrees, n_columns: int) -> Forest:
    """Hand the trees to the core, which checks every index.

    Parameters
    ----------
    flat : FlatTrees
    n_columns : int
        Columns of the matrices that will be predicted.

    Returns
    -------
    Forest

    Raises
    ------
    ValueError
        If an index, offset or level code lies outside what it points to.
    """
    arrays = flat._asdict()
    return Forest(
        n_columns, **{name: array for name, array in arrays.items() if name not in ("mass", "gain")}
    )


def scorer(
    flat: FlatTrees, n_columns: int, alpha: NDArray[np.float64], clip_at: float
) -> Callable[[NDArray[np.float64]], float]:
    """Give the function from a row to its score.

    Parameters
    ----------
    flat : FlatTrees
    n_columns : int
    alpha : ndarray of float64, shape (trees,)
        Their coefficients.
    clip_at : float
        Where the score is clipped after every tree; inf: nowhere.

    Returns
    -------
    callable
        Takes a contiguous row of `n_columns` float64, and refuses infinite ones.
    """
    return partial(compiled(flat, n_columns).score, alpha=np.ascontiguousarray(alpha), clip=clip_at)


def _starts(sizes: Any) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])


def _levels_of(
    feature: NDArray[np.int32], right_bins: NDArray[np.int32], bin_start: NDArray[np.int64], bins: Bins
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Bins that go right, as level codes: several levels may share a bin."""
    levels = []
    width = np.diff(bin_start)
    for node in np.flatnonzero(width):
        column, chosen = feature[node], right_bins[bin_start[node] : bin_start[node + 1]]
        of_level = bins.level_bin[bins.level_start[column] : bins.level_start[column + 1]]
        levels.append(np.flatnonzero(np.isin(of_level, chosen)).astype(np.int32))
        width[node] = len(levels[-1])
    start = np.concatenate([[0], np.cumsum(width)]).astype(np.int64)
    return np.concatenate([np.empty(0, np.int32), *levels]), start
