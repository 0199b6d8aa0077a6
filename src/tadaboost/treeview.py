# SPDX-License-Identifier: Apache-2.0
"""One tree of a model for people: `export_text` writes it, a `Picture` is what `displays.TreeDisplay` draws.

Both are made from a `View`: a `Tree` with what its numbers mean, names of columns and levels by value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tadaboost.frame import Schema
from tadaboost.tree import Tree, depths

__all__ = ["Picture", "View", "cut", "export_text", "literal", "view"]

# Of a picture, in inches: between columns of boxes, from leaf to leaf, around the letters of a box.
_GAP, _ROW, _PAD = 0.95, 0.36, 0.05
_FONT = 9.0  # points
_LEAST_INCHES, _MOST_INCHES = 4.2, 300.0  # of a figure: room for a title; a larger tree is drawn smaller
_MOST_LETTERS = 34


class View(NamedTuple):
    """One tree of a model, with what its numbers mean.

    Attributes
    ----------
    tree : Tree
    alpha : float
        Its coefficient.
    label : str, number or bool
        The class that values above 0 speak for; None if there is one class only.
    names : list of str
        Names of the columns.
    levels : list
        The levels of each column by code; None for a column of numbers.
    """

    tree: Tree
    alpha: float
    label: Any
    names: list[str]
    levels: Schema

    def name(self, node: int) -> str:
        """Name the column that a node asks about."""
        return self.names[int(self.tree.feature[node])]

    def conditions(self, node: int, number: Callable[[float], str] = repr) -> tuple[str, str]:
        """Say which values go left and which right, missing ones aside; of levels the shorter list.

        Parameters
        ----------
        node : int
            One that splits.
        number : callable
            Writes a threshold; `repr` does so exactly.

        Returns
        -------
        tuple of str
        """
        tree, levels = self.tree, self.levels[self.tree.feature[node]]
        if levels is None:
            threshold = number(float(tree.threshold[node]))
            return f"<= {threshold}", f"> {threshold}"
        codes = set(tree.categories[tree.category_start[node] : tree.category_start[node + 1]].tolist())
        right = [level for code, level in enumerate(levels) if code in codes]
        left = [level for code, level in enumerate(levels) if code not in codes]
        fewer = left if len(left) <= len(right) else right
        within = f"in {{{', '.join(map(repr, fewer))}}}"
        return (within, f"not {within}") if fewer is left else (f"not {within}", within)


def view(model: Any, index: int, label: Any = None, feature_names: Sequence[str] | None = None) -> View:
    """Take one tree out of a fitted model; parameters and errors as in `export_text`."""
    check_is_fitted(model)
    trees, alphas = model._fitted()
    n = model._n_scores()
    rounds = len(trees) // n
    if not -rounds <= index < rounds:
        raise IndexError(f"index is {index}, but the model has {rounds} round{'s' * (rounds > 1)} of trees")
    place = place_of(model, label) if n > 1 else 0
    at = (index % rounds) * n + place
    if feature_names is None:
        feature_names = getattr(model, "feature_names_in_", None)
    if feature_names is None:
        feature_names = [f"column {c}" for c in range(model.n_features_in_)]
    names = [name if name.isprintable() else repr(name) for name in map(str, feature_names)]
    if len(names) != model.n_features_in_:
        raise ValueError(
            f"feature_names has {len(names)} names, but the model has {model.n_features_in_} columns"
        )
    speaks_for = (
        np.asarray(model.classes_[place if n > 1 else -1]).item() if len(model.classes_) > 1 else None
    )
    return View(trees[at], float(alphas[at]), speaks_for, names, model._schema)


def place_of(model: Any, label: Any) -> int:
    """Find a class of a model of more than two; ValueError if `label` is none."""
    (places,) = np.nonzero(model.classes_ == label)
    if len(places) != 1:
        raise ValueError(f"label is {label!r}; choose the class to show: {model.classes_.tolist()}")
    return int(places[0])


def export_text(
    model: Any, index: int = 0, *, label: Any = None, feature_names: Sequence[str] | None = None
) -> str:
    """Write a tree of a model as text, in the form of `sklearn.tree.export_text`.

    Thresholds are exact, levels are written by value, of the two lists of a split the shorter; "or missing"
    stands where a missing value goes, and a level that training never saw. "rows" is the multiplicity of the
    training rows in a leaf, its value what it adds to the score before the coefficient of the tree.

    Parameters
    ----------
    model : fitted TAdaBoostClassifier or TemperedTreeClassifier
    index : int, default=0
        Which tree of `trees_`: 0 is the first, as for `tadaboost inspect --tree`; -1 is the last.
    label : one of the model's classes, optional
        With more than two: whose tree, of "this class or not".
    feature_names : sequence of str, optional
        Names for the columns; those of `fit` by default.

    Returns
    -------
    str
        A line a branch and a leaf.

    Raises
    ------
    IndexError
        If there is no such round.
    ValueError
        If there are more than two classes and `label` is none of them, or the number of names is wrong.

    Examples
    --------
    >>> from tadaboost import TemperedTreeClassifier
    >>> X = [[0.5, "ash"], [1.5, "elm"], [2.5, "oak"], [3.5, "ash"]] * 5
    >>> tree = TemperedTreeClassifier(t=0.0).fit(X, ["no", "yes", "yes", "no"] * 5)
    >>> print(export_text(tree, feature_names=["height", "kind"]), end="")
    |--- kind in {'ash'} or missing
    |   |--- value -1, 10 rows
    |--- kind not in {'ash'}
    |   |--- value 1, 10 rows
    """
    seen = view(model, index, label, feature_names)
    tree, lines = seen.tree, []
    stack = [(0, 0, "")]
    while stack:
        node, depth, condition = stack.pop()
        if condition:
            lines.append(f"{'|   ' * (depth - 1)}|--- {condition}")
        if tree.feature[node] < 0:
            lines.append(f"{'|   ' * depth}|--- value {tree.value[node]:.6g}, {tree.mass[node]:.12g} rows")
            continue
        left, right = (f"{seen.name(node)} {condition}" for condition in seen.conditions(node))
        if tree.missing_left[node]:
            left += " or missing"
        else:
            right += " or missing"
        stack += [(int(tree.right[node]), depth + 1, right), (int(tree.left[node]), depth + 1, left)]
    return "\n".join(lines) + "\n"


class Picture:
    """A tree laid out from its root at the left to its leaves, one below the other.

    Parameters
    ----------
    view : View
    """

    def __init__(self, view: View) -> None:
        self.view = view
        depth, row = _places(view.tree)
        self._texts = [self._text(node) for node in range(len(row))]
        width = np.array([_width(text) for text in self._texts])
        widest = [width[depth == d].max() for d in range(depth.max() + 1)]
        self._left = np.concatenate([[0.0], np.cumsum(np.add(widest, _GAP))])[depth]
        self._right, self._y = self._left + width, _ROW * row
        self._size = max(float(self._right.max()), _LEAST_INCHES), float(self._y.max()) + 1.2 * _ROW

    def inches(self) -> tuple[float, float]:
        """Return the size of the figure that it needs."""
        width, height = self._size
        return min(width + 0.1, _MOST_INCHES), min(height + 0.4, _MOST_INCHES)

    def draw(self, axes: Any) -> None:
        """Draw into matplotlib Axes, smaller where they are."""
        axes.set_axis_off()
        axes.set(xlim=(0.0, self._size[0]), ylim=(self._size[1] - 0.6 * _ROW, -0.6 * _ROW))
        axes.figure.figure.draw_without_rendering()  # so that the axes have their final size
        inches = axes.get_window_extent().transformed(axes.figure.dpi_scale_trans.inverted())
        scale = min(inches.width / self._size[0], inches.height / self._size[1], 1.0)
        tree = self.view.tree
        for node in np.flatnonzero(tree.feature >= 0).tolist():
            missing = "yes" if tree.missing_left[node] else "no"
            for child, word in ((tree.left[node], "yes"), (tree.right[node], "no")):
                self._branch(axes, scale, node, int(child), f"{word}, missing" if word == missing else word)
        for node, text in enumerate(self._texts):
            box = {
                "boxstyle": f"round,pad={72 * _PAD / _FONT}",
                "linewidth": 0,
                "facecolor": self._colour(node),
            }
            axes.text(self._left[node] + _PAD, self._y[node], text, size=_FONT * scale, va="center", bbox=box)

    def _branch(self, axes: Any, scale: float, node: int, child: int, word: str) -> None:
        """Draw the line to a child, the thicker the more rows take it."""
        start, end, mass = self._right[node], self._left[child], self.view.tree.mass
        bend = end - 0.8 * _GAP
        axes.plot(
            [start, bend, bend, end], self._y[[node, node, child, child]], color="0.6",
            linewidth=scale * (0.8 + 4.0 * mass[child] / mass[0]), solid_joinstyle="round", zorder=1,
        )  # fmt: skip
        axes.text(bend + 0.07, self._y[child] - 0.04, word, size=7 * scale, va="bottom", color="0.3")

    def _text(self, node: int) -> str:
        tree = self.view.tree
        if tree.feature[node] < 0:
            return f"{tree.value[node]:.3g}, {tree.mass[node]:.6g} rows"
        condition, _ = self.view.conditions(node, _brief)
        return literal(f"{cut(self.view.name(node))}\n{cut(condition)}")

    def _colour(self, node: int) -> Any:
        """Grey for a question; a leaf the darker the farther its value is from 0."""
        values = self.view.tree.value
        if self.view.tree.feature[node] >= 0 or values[node] == 0.0:
            return "0.92"
        return ("C0" if values[node] > 0.0 else "C1"), 0.15 + 0.5 * abs(values[node]) / np.abs(values).max()


def literal(text: str) -> str:
    """Keep matplotlib from reading what stands between dollar signs as a formula."""
    return text.replace("$", r"\$")


def _places(tree: Tree) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Give the depth of each node, and its row: leaves 0, 1, ... from left to right, others between."""
    row = np.zeros(len(tree.feature))
    stack, n_leaves = [0], 0
    while stack:
        node = stack.pop()
        if tree.feature[node] < 0:
            row[node] = n_leaves
            n_leaves += 1
        else:
            stack += [int(tree.right[node]), int(tree.left[node])]
    for node in np.flatnonzero(tree.feature >= 0)[::-1]:  # children come after their parent
        row[node] = (row[tree.left[node]] + row[tree.right[node]]) / 2
    return depths(tree), row


def _brief(threshold: float) -> str:
    exact = repr(threshold)
    return exact if len(exact) <= 10 else f"{threshold:.6g}"


def cut(text: str) -> str:
    """Shorten a text that would make a picture too wide."""
    return text if len(text) <= _MOST_LETTERS else text[: _MOST_LETTERS - 1] + "…"


def _width(text: str) -> float:
    """Measure the box of a text, in inches."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=_FONT)
    widths = [
        text_to_path.get_text_width_height_descent(line, font, ismath=False)[0] for line in text.split("\n")
    ]
    return float(max(widths)) / 72 + 2 * _PAD
