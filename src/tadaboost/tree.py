# SPDX-License-Identifier: Apache-2.0
"""The flat decision tree, and the conversation that grows one.

A `Tree` is a tuple of arrays with an entry a node: root 0, the k-th split (from 0) makes nodes 2k+1 (left)
and 2k+2 (right). `node_reals` and `percolate` go between the two encodings of Figure 2: reals in the leaves,
or in all nodes, summed along the path.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tadaboost import _core, losses
from tadaboost.binning import Bins

__all__ = ["Tree", "depths", "grow", "node_reals", "percolate"]


class Tree(NamedTuple):
    """A decision tree as arrays, an entry a node, root 0.

    Attributes
    ----------
    feature : ndarray of int32
        The column that the node asks about; -1 marks a leaf.
    threshold : ndarray of float64
        ``x <= threshold`` goes left (numeric nodes; 0 elsewhere).
    left, right : ndarray of int32
        Children; -1 in a leaf.
    value : ndarray of float64
        What a leaf adds to the score, before its tree's coefficient (psi_t scale); 0 in inner nodes.
    missing_left : ndarray of bool
        Where a missing value goes, and a level that training never saw.
    is_categorical : ndarray of bool
        Whether the node sends the levels in `categories` right and other known levels left.
    categories : ndarray of int32
        Level codes that go right, sorted: those of node i are
        ``categories[category_start[i]:category_start[i + 1]]``.
    category_start : ndarray of int64, one longer than the others
        Offsets into `categories`.
    mass : ndarray of float64
        Multiplicity of the training rows in the node.
    gain : ndarray of float64
        Fall of the expected tempered Bayes risk (20) by the split, weights normalised to sum 1; 0 in leaves.
        With `subsample` that of the drawn rows.

    Examples
    --------
    >>> from tadaboost import TemperedTreeClassifier
    >>> model = TemperedTreeClassifier(min_samples_leaf=1).fit([[0.0], [1.0], [2.0], [4.0]], [0, 0, 1, 1])
    >>> tree = model.tree_
    >>> tree.feature.tolist(), float(tree.threshold[0]), tree.value.tolist(), tree.mass.tolist()
    ([0, -1, -1], 1.5, [0.0, -2.0, 2.0], [4.0, 2.0, 2.0])
    """

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


def depths(tree: Tree) -> NDArray[np.int64]:
    """Count the splits above each node.

    Parameters
    ----------
    tree : Tree

    Returns
    -------
    ndarray of int64, shape (nodes,)

    Examples
    --------
    >>> from tadaboost import TemperedTreeClassifier
    >>> model = TemperedTreeClassifier(min_samples_leaf=1).fit([[0.0], [1.0], [2.0]], [0, 1, 0])
    >>> depths(model.tree_).tolist()
    [0, 1, 1, 2, 2]
    """
    depth = np.zeros(len(tree.feature), np.int64)
    for node in np.flatnonzero(tree.feature >= 0).tolist():  # children come after their parent
        depth[[tree.left[node], tree.right[node]]] = depth[node] + 1
    return depth


def grow(grower: _core.Grower, shards: Sequence[_core.Shard]) -> NDArray[np.int32]:
    """Grow one tree over `shards` by messages; the node ids of its leaves.

    The driver never sees rows: it adds the shards' integer histograms, so the tree is the same, bit for bit,
    for any number of shards. With one shard ``_core.grow`` holds the same conversation without leaving C++.

    Parameters
    ----------
    grower : _core.Grower
        The growth policy; holds the tree afterwards.
    shards : sequence of _core.Shard
        Each after its ``begin_tree``.
    """
    grower.begin(_merged(shards, 0))
    while (request := grower.next()) is not None:
        node, left, right, column, goes_left, build = request
        for shard in shards:
            shard.split(node, left, right, column, goes_left)
        if build >= 0:
            grower.supply(_merged(shards, build))
    return grower.leaves()


def _merged(shards: Sequence[_core.Shard], node: int) -> NDArray[np.uint64]:
    total: NDArray[np.uint64] = reduce(np.add, (shard.histogram(node) for shard in shards))
    return total


def node_reals(tree: Tree, t: float) -> NDArray[np.float64]:
    """Real of each node such that a leaf's value is the sum along its path: the encoding of Figure 2.

    The root holds psi_t (63) of all its rows, any other node what psi_t of its rows adds to that of its
    parent's. The class masses of an inner node are those of its leaves, which hold mass times
    `losses.inverse_link` of their value: the training rows themselves where the values are theorem A's.

    Parameters
    ----------
    tree : Tree
    t : float
        Temperature the tree was grown with, below 2.

    Returns
    -------
    ndarray of float64, shape (nodes,)
        `percolate` is the way back.

    Raises
    ------
    ValueError
        If t >= 2.

    Examples
    --------
    >>> from tadaboost import TemperedTreeClassifier
    >>> X, y = [[0.0], [1.0]] * 10, [0, 1, 1, 1] * 5
    >>> tree = TemperedTreeClassifier(t=0.0).fit(X, y).tree_
    >>> tree.value
    array([0., 0., 1.])
    >>> node_reals(tree, t=0.0)
    array([ 0.5, -0.5,  0.5])
    """
    pos, neg = (tree.mass * losses.inverse_link(side, t) for side in (tree.value, -tree.value))
    inner = np.flatnonzero(tree.feature >= 0)
    for node in inner[::-1]:  # children come after their parent
        for mass in (pos, neg):
            mass[node] = mass[tree.left[node]] + mass[tree.right[node]]
    # A node of one class has an infinite link at t = 1; its leaves are capped, and so is it.
    largest = np.abs(tree.value).max()
    reals = np.where(tree.feature >= 0, np.clip(losses.leaf_link(pos, neg, t), -largest, largest), tree.value)
    whole = reals.copy()
    for side in (tree.left, tree.right):
        reals[side[inner]] -= whole[inner]
    return reals


def percolate(tree: Tree, reals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum reals of nodes from the root down: at a leaf, the value of the tree that Figure 2 encodes.

    Parameters
    ----------
    tree : Tree
    reals : ndarray of float64, shape (nodes,)

    Returns
    -------
    ndarray of float64, shape (nodes,)
        Sum along the path from the root to each node, both included.

    Examples
    --------
    >>> from tadaboost import TemperedTreeClassifier
    >>> tree = TemperedTreeClassifier(t=0.0).fit([[0.0], [1.0]] * 10, [0, 1, 1, 1] * 5).tree_
    >>> percolate(tree, node_reals(tree, t=0.0))
    array([0.5, 0. , 1. ])
    """
    total = np.array(reals, np.float64)
    for node in np.flatnonzero(tree.feature >= 0):
        for side in (tree.left, tree.right):
            total[side[node]] += total[node]
    return total


def splits_of(tree: Tree, bins: Bins) -> Iterator[tuple[int, int, int, int, NDArray[np.uint8]]]:
    """Give the splits of a tree in the order they were made, as ``Shard.split`` takes them.

    `bins` are those that the tree was grown on; ValueError if a threshold is none of their edges.
    """
    for node in np.flatnonzero(tree.feature >= 0)[np.argsort(tree.left[tree.feature >= 0])]:
        column = int(tree.feature[node])
        n_bins = int(bins.n_bins[column])
        goes_left = np.ones(n_bins + 1, np.uint8)
        if tree.is_categorical[node]:
            right = tree.categories[tree.category_start[node] : tree.category_start[node + 1]]
            goes_left[bins.level_bin[bins.level_start[column] : bins.level_start[column + 1]][right]] = 0
        else:
            edges = bins.edges[bins.edge_start[column] : bins.edge_start[column + 1]]
            (last_left,) = np.flatnonzero(edges == tree.threshold[node])
            goes_left[last_left + 1 :] = 0
        goes_left[n_bins] = tree.missing_left[node]
        yield int(node), int(tree.left[node]), int(tree.right[node]), column, goes_left
