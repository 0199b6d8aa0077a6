# SPDX-License-Identifier: Apache-2.0
"""Trees laid end to end: the form in which the core and the files hold them.

`FlatTrees` has the fields of `Tree`, each the concatenation over the trees, and `tree_start`: tree j is nodes
tree_start[j] to tree_start[j + 1]. Children stay numbered within their tree; `category_start` runs on.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tadaboost._core import Forest
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
    """Cut the arrays into trees again; the inverse of `flatten`."""
    trees = []
    for first, last in zip(flat.tree_start[:-1].tolist(), flat.tree_start[1:].tolist(), strict=True):
        offsets = flat.category_start[first : last + 1]
        fields = {
            name: getattr(flat, name)[first:last].copy()
            for name in DTYPES
            if name in Tree._fields and name != "categories"
        }
        fields["categories"] = flat.categories[offsets[0] : offsets[-1]].copy()
        fields["category_start"] = offsets - offsets[0]
        trees.append(Tree(**fields))
    return trees


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
