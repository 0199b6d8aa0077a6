# SPDX-License-Identifier: Apache-2.0
"""Trees as SHAP's TreeExplainer takes them, whose nodes have thresholds only.

A categorical split becomes thresholds between runs of codes that go the same way, each run with a copy of the
subtree it goes to. Missing values are one more code, above the others: TreeExplainer sends them to the child
that has it. The copies of a leaf share its mass by their codes, so that the base value is the mean score of
the training rows.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tadaboost.parts import Parts

__all__ = ["build"]

Codes: TypeAlias = dict[int, NDArray[np.int64]]  # by column: those that rows may have in a node

_MOST_NODES = 100_000  # of one tree
_INTEGERS = ("children_left", "children_right", "children_default", "features")
_FLOATS = ("thresholds", "node_sample_weight", "values")
_LEAF = (-1, -1, -1, -1, 0.0, 0.0, 0.0)  # entries in this order


def build(parts: Parts) -> dict[str, Any]:
    """Make the dictionary; see `export.to_shap`."""
    if parts.is_clipped:
        raise ValueError(
            "a clipped score is no sum of trees and has no tree SHAP values; give shap.PermutationExplainer "
            "its decision_function, or fit with clip=False"
        )
    return {
        "trees": [_Unrolled(parts, j).arrays() for j in range(len(parts.trees))],
        "internal_dtype": np.float64,
        "input_dtype": np.float64,
        "tree_output": "raw_value",
    }


class _Run(NamedTuple):
    """Codes next to each other that go to one child of a categorical node."""

    codes: NDArray[np.int64]
    child: int


class _Unrolled:
    """Tree j with thresholds in place of categorical splits."""

    def __init__(self, parts: Parts, j: int) -> None:
        self._tree, self._added, self._levels = parts.trees[j], parts.added(j), parts.levels
        self._class, self._n_scores = j % parts.n_scores, parts.n_scores
        self._nodes: list[tuple[float, ...]] = []
        self._reach = self._codes_of_nodes()
        self._to_do = [(self._new(), 0, Codes())]
        while self._to_do:
            self._copy(*self._to_do.pop())

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give the tree as arrays, an entry a node; the values of inner nodes are SHAP's to fill in."""
        columns = np.array(self._nodes).T.copy()
        arrays: dict[str, NDArray[Any]] = dict(zip((*_INTEGERS, *_FLOATS), columns, strict=True))
        arrays |= {name: arrays[name].astype(np.int32) for name in _INTEGERS}
        left, right, mass = arrays["children_left"], arrays["children_right"], arrays["node_sample_weight"]
        for node in np.flatnonzero(left >= 0)[::-1]:  # children come after their parent
            mass[node] = mass[left[node]] + mass[right[node]]
        values = np.zeros((len(mass), self._n_scores))
        values[:, self._class] = arrays["values"]
        return arrays | {"values": values}

    def _new(self) -> int:
        """Make a node of nothing."""
        self._nodes.append(_LEAF)
        if (n := len(self._nodes)) > _MOST_NODES:
            raise ValueError(
                f"the categorical splits of a tree are more than {_MOST_NODES} thresholds of codes; give "
                "shap.PermutationExplainer its decision_function, or fit with fewer leaves"
            )
        return n - 1

    def _codes_of_nodes(self) -> list[Codes]:
        """Say of each node of the tree which codes lead to it."""
        reach = [Codes() for _ in self._tree.feature]
        for node in np.flatnonzero(self._tree.feature >= 0).tolist():  # parents come before their children
            for child in (self._tree.left[node], self._tree.right[node]):
                reach[child] = reach[node]
            if self._tree.is_categorical[node]:
                column = int(self._tree.feature[node])
                possible, goes_right = self._ways(node, reach[node])
                reach[self._tree.left[node]] = reach[node] | {column: possible[~goes_right]}
                reach[self._tree.right[node]] = reach[node] | {column: possible[goes_right]}
        return reach

    def _ways(self, node: int, codes: Codes) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Give the codes that rows may have at a categorical node, and which of them go right."""
        tree, column = self._tree, int(self._tree.feature[node])
        missing = len(self._levels[column] or ())
        possible = codes.get(column, np.arange(missing + 1))
        to_right = tree.categories[tree.category_start[node] : tree.category_start[node + 1]]
        return possible, np.where(
            possible == missing, not tree.missing_left[node], np.isin(possible, to_right)
        )

    def _copy(self, place: int, node: int, codes: Codes) -> None:
        """Copy a node to a place where rows have these codes; its subtrees are to do."""
        tree, column = self._tree, int(self._tree.feature[node])
        if column < 0:
            share = math.prod(len(codes[c]) / len(whole) for c, whole in self._reach[node].items())
            mass, value = float(tree.mass[node]) * share, float(self._added[node])
            self._nodes[place] = (*_LEAF[:-2], mass, value)
        elif tree.is_categorical[node]:
            possible, goes_right = self._ways(node, codes)
            cuts = np.flatnonzero(np.diff(goes_right)) + 1
            child = np.where(goes_right, tree.right[node], tree.left[node])
            runs = [
                _Run(run, int(child[i])) for run, i in zip(np.split(possible, cuts), [0, *cuts], strict=True)
            ]
            self._search(place, column, runs, codes)
        else:
            left, right = self._branch(
                place, column, float(tree.threshold[node]), bool(tree.missing_left[node])
            )
            self._to_do += [(left, int(tree.left[node]), codes), (right, int(tree.right[node]), codes)]

    def _search(self, place: int, column: int, runs: list[_Run], codes: Codes) -> None:
        """Lead from a place to each of the runs by halving, so that the tree stays flat."""
        if len(runs) == 1:
            self._to_do.append((place, runs[0].child, codes | {column: runs[0].codes}))
            return
        half = len(runs) // 2
        # Missing values are in the last run, if rows may have them.
        left, right = self._branch(place, column, runs[half - 1].codes[-1] + 0.5, missing_left=False)
        self._search(left, column, runs[:half], codes)
        self._search(right, column, runs[half:], codes)

    def _branch(self, place: int, column: int, threshold: float, missing_left: bool) -> tuple[int, int]:
        """Make a place a question with two new nodes."""
        left, right = self._new(), self._new()
        default = left if missing_left else right
        self._nodes[place] = (left, right, default, column, threshold, 0.0, 0.0)
        return left, right
