# SPDX-License-Identifier: Apache-2.0
"""One row at a time: `Predictor` is what a service needs of a fitted model, ready and checked.

It holds the trees in the core's form, so that a call is a check of the row and a walk, with none of what
makes a table of anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Set
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from tadaboost import forest, frame, multiclass

__all__ = ["Predictor"]

Floats = NDArray[np.float64]


class Predictor:
    """Scores and probabilities of single rows; made by the method `predictor` of a fitted model.

    It cannot be changed, does not follow a later `fit` of the model, may be used by any number of threads,
    and can be pickled.

    Parameters
    ----------
    flat : list of forest.FlatTrees
        The trees of each score.
    alphas : list of ndarray
        Their coefficients.
    clip_at, t : float
        Clipping bound (inf: none) and temperature of the fit.
    schema : frame.Schema
        Levels of the categorical columns.
    classes : ndarray
        Labels.
    names : list of str, optional
        Of the columns, where all have one.

    Examples
    --------
    >>> from tadaboost import TAdaBoostClassifier
    >>> X, y = [[0.0, "a"], [1.0, "b"], [2.0, "b"], [3.0, "c"]] * 5, [0, 0, 1, 1] * 5
    >>> model = TAdaBoostClassifier().fit(X, y)
    >>> predictor = model.predictor()
    >>> [predictor([2.5, "b"])] == model.decision_function([[2.5, "b"]]).tolist()
    True
    >>> int(predictor.proba([2.5, "b"]).argmax())
    1
    """

    __slots__ = ("_arguments", "_code_of", "_names", "_scores", "_t", "classes")

    _arguments: tuple[Any, ...]
    _code_of: list[tuple[int, list[Any], dict[Any, float]]]
    _names: list[str] | None
    _scores: list[Callable[[Floats], float]]
    _t: float
    classes: NDArray[Any]

    def __init__(
        self,
        flat: list[forest.FlatTrees],
        alphas: list[Floats],
        clip_at: float,
        t: float,
        schema: frame.Schema,
        classes: NDArray[Any],
        names: list[str] | None = None,
    ) -> None:
        classes = classes.copy()
        classes.flags.writeable = False
        code_of = [
            (c, levels, {level: float(code) for code, level in enumerate(levels)})
            for c, levels in enumerate(schema)
            if levels is not None
        ]
        scores = [
            forest.scorer(trees, len(schema), alpha, clip_at)
            for trees, alpha in zip(flat, alphas, strict=True)
        ]
        arguments = (flat, alphas, clip_at, t, schema, classes, names)
        for name, value in zip(self.__slots__, (arguments, code_of, names, scores, t, classes), strict=True):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        """Refuse a change: one Predictor may serve many threads."""
        raise AttributeError(f"a Predictor cannot be changed ({name}); make another from the model")

    def __delattr__(self, name: str) -> NoReturn:
        """Refuse a deletion as `__setattr__` refuses a change."""
        self.__setattr__(name, None)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what it was made from; the compiled trees are made again."""
        return Predictor, self._arguments

    def __call__(self, row: Any) -> float | Floats:
        """Give the score of a row: `decision_function` of the model, the same bits.

        Parameters
        ----------
        row : array-like of shape (columns,)
            Values as in `fit` (decimals too), in the order of its columns; NaN and None are missing. A
            categorical column takes a level, and one that training never saw is missing. Names of a pandas
            Series are compared.

        Returns
        -------
        float, or ndarray of float64 of shape (K,) for K > 2 classes

        Raises
        ------
        ValueError, TypeError
            If the row has another length or other names, or a value that is infinite, or text where a number
            is expected (the column is named), or is no row, such as a dict or a frame.
        """
        values = self._values(row)
        if len(self._scores) == 1:
            return self._scores[0](values)
        return np.array([score(values) for score in self._scores])

    decision = __call__

    def proba(self, row: Any) -> Floats:
        """Give the probability of each class, in the order of `classes`: `predict_proba` of the model.

        Equal to it but for the last digits, since the functions of numpy round in their own way; with more
        than two classes the same bits, and slower: the root of an equation for each row.

        Parameters
        ----------
        row : array-like of shape (columns,)
            As in a call.

        Returns
        -------
        ndarray of float64, shape (len(classes),)

        Examples
        --------
        >>> from tadaboost import TAdaBoostClassifier
        >>> model = TAdaBoostClassifier(n_estimators=2).fit([[0.0], [1.0]] * 9, ["no", "yes"] * 9)
        >>> model.predictor().proba([1.0]).round(3)
        array([0.413, 0.587])
        """
        score = self(row)
        if isinstance(score, np.ndarray):
            probabilities: Floats = multiclass.probabilities(score[None], self._t)[0]
            return probabilities
        return np.array([_link(-score, self._t), _link(score, self._t)][: len(self.classes)])

    def _values(self, row: Any) -> Floats:
        """Make the row of the matrix."""
        # A list of any of these, or of a frame, would be no row of values.
        if isinstance(row, (Mapping, Set, str, bytes, bytearray)) or hasattr(row, "columns"):
            raise TypeError(
                f"row is a {type(row).__name__}; give a list or array of values in the order of the columns"
            )
        index = getattr(row, "index", None)  # a method of lists, the names of a pandas Series
        if self._names is not None and index is not None and not callable(index):
            _check_names(list(index), self._names)
        if self._code_of:
            row = _as_list(row)
            for c, levels, code_of in self._code_of:
                if c < len(row):
                    row[c] = _code(self._label(c), row[c], levels, code_of)
        if isinstance(row, np.ma.MaskedArray):  # np.asarray would uncover what is masked
            row = np.ma.filled(row.astype(np.float64), np.nan)
        values: NDArray[Any] = np.asarray(row)
        if values.dtype.kind in "OU" and values.ndim == 1:
            values = np.array([frame.number(self._label(c), value) for c, value in enumerate(_as_list(row))])
        if values.dtype.kind not in "biuf":
            raise TypeError("row must hold numbers, and levels in categorical columns; NaN is missing")
        with np.errstate(over="ignore"):  # a long double beyond float64, which is refused as infinite
            values = np.ascontiguousarray(values, np.float64)
        return values if values.flags.aligned else values.copy()

    def _label(self, c: int) -> str:
        names = self._names or ()
        return f"column {names[c]!r}" if c < len(names) else f"column {c}"


def _as_list(row: Any) -> list[Any]:
    """Give the cells of a row that holds levels; those that are masked are None."""
    if isinstance(row, np.ma.MaskedArray):
        return list(row.tolist())
    try:
        return list(row)
    except TypeError:
        raise TypeError(f"row is of type {type(row).__name__}; it must hold values") from None


def _code(label: str, value: Any, levels: list[Any], code_of: dict[Any, float]) -> float:
    try:
        return code_of[value]
    except (KeyError, TypeError):  # missing, unknown, or a mistake: as in a table
        return frame.code(label, value, levels)


def _check_names(names: list[Any], expected: list[str]) -> None:
    if names == expected or len(names) != len(expected) or not any(isinstance(name, str) for name in names):
        return  # another length is refused with the values
    at = next(c for c, name in enumerate(names) if name != expected[c])
    raise ValueError(f"row names its value {at} {names[at]!r}, but column {at} of fit was {expected[at]!r}")


def _link(score: float, t: float) -> float:
    """`losses.inverse_link` of one number, without arrays: they would take most of the time."""
    s = 1.0 - t
    if s == 0.0 or score == 0.0:
        half = score
    elif abs(s * score) >= 1.0:
        half = math.copysign(math.inf, score)
    else:
        half = math.atanh(s * score) / s
    small = math.exp(-2.0 * abs(half))
    return (small if half < 0.0 else 1.0) / (1.0 + small)
