# SPDX-License-Identifier: Apache-2.0
"""What `fit` is told about rows besides their columns: labels and weights, as checked arrays.

A weight is a multiplicity: 3 stands for three equal rows, 0 for none.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from numbers import Real
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d

Floats = NDArray[np.float64]


def checked_array(X: Any, **settings: Any) -> NDArray[Any]:
    """Do scikit-learn's `check_array`, with errors of one line: some of its own print the array."""
    return _in_one_line(check_array, X, **settings)


def _in_one_line(check: Callable[..., NDArray[Any]], values: Any, **settings: Any) -> NDArray[Any]:
    try:
        return check(values, **settings)
    except (ValueError, TypeError) as error:
        text = " ".join(str(error).split())
        if len(text) > 320:  # it prints the data; its advice comes last
            text = f"{text[:100]} ... {text[-210:]}"
        raise type(error)(text) from None


def check_labels(y: Any, name: str = "y") -> NDArray[Any]:
    """Read labels as an array of one type, none missing."""
    if np.ma.is_masked(y):
        raise ValueError(_no_label(name, int(np.argmax(np.ma.getmaskarray(y)))))
    if isinstance(y, list | tuple) and 0 < sum(isinstance(label, str) for label in y) < len(y):
        y = np.array(y, dtype=object)  # else numpy makes text of all of them, of NaN too
    if isinstance(y, np.ndarray) and y.dtype.kind == "T":
        y = y.astype(object)  # numpy's text of any length, which scikit-learn does not know
    if not isinstance(y, np.ndarray):
        y = _as_series(y)
    if nw.dependencies.is_into_series(y):
        series: nw.Series[Any] = nw.from_native(y, series_only=True)
        if series.null_count():
            raise ValueError(_no_label(name, series.is_null().to_list().index(True)))
        of_numpy = series.dtype not in (nw.Int128, nw.UInt128)
        y = series.to_numpy() if of_numpy else series.to_list()
    labels = _in_one_line(column_or_1d, y, warn=True)
    if labels.dtype.kind == "O":
        for i, label in enumerate(labels):
            if label is None or type(label).__name__ in ("NAType", "NaTType") or label != label:
                raise ValueError(_no_label(name, i))
        if all(isinstance(label, Real | np.bool_) for label in labels):
            labels = np.array(labels.tolist())  # one type if they have one, as 0, 1 and True, False do
        else:
            _refuse_mixed(labels, name)
            if not isinstance(labels[0], str):
                raise ValueError(
                    f"Unknown label type: {name}[0] is of type {type(labels[0]).__name__}; labels are text, "
                    f"booleans, or numbers that numpy holds, such as those of {name}.astype(str)"
                )
    elif labels.dtype.kind == "f" and not np.isfinite(labels).all():
        i = int(np.argmin(np.isfinite(labels)))
        raise ValueError(f"{name}[{i}] is {labels[i]}; every row needs a label that is finite")
    elif labels.dtype.kind in "Mm" and np.isnat(labels).any():
        raise ValueError(_no_label(name, int(np.argmax(np.isnat(labels)))))
    elif labels.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} holds complex numbers")
    with np.errstate(invalid="ignore"):  # it casts labels to integers, which 1e300 is too large for
        check_classification_targets(labels)
    return labels.astype(labels.dtype.newbyteorder("="), copy=False)


def _as_series(y: Any) -> Any:
    """Make a series of what scikit-learn would turn to floats where integers are nullable."""
    pandas = nw.dependencies.get_pandas()
    if pandas is not None and isinstance(y, pandas.Index | pandas.api.extensions.ExtensionArray):
        return pandas.Series(y)
    if nw.dependencies.is_into_dataframe(y):
        table: nw.DataFrame[Any] = nw.from_native(y, eager_only=True)
        if table.shape[1] == 1:
            warnings.warn(
                "A column-vector y was passed when a 1d array was expected; take its column, y[name]",
                DataConversionWarning,
                stacklevel=4,
            )
            return next(table.iter_columns()).to_native()
    return y


def _refuse_mixed(labels: NDArray[Any], name: str) -> None:
    """Raise ValueError where some labels are text and some are not: classes must have an order."""
    are_text = np.array([isinstance(label, str) for label in labels])
    if are_text.any() and not are_text.all():
        text, other = int(np.argmax(are_text)), int(np.argmin(are_text))
        raise ValueError(
            f"{name} mixes text and other labels ({labels[text]!r} in row {text}, {labels[other]!r} in row "
            f"{other}); make them one kind"
        )


def _no_label(name: str, row: int) -> str:
    return f"{name}[{row}] is missing; every row needs a label"


def weigh(
    labels: NDArray[Any], sample_weight: Any, class_weight: Any, name: str = "sample_weight"
) -> Floats | None:
    """Multiplicity of each row: its weight times the factor of its class; None if all are 1."""
    if sample_weight is None and class_weight is None:
        return None
    weight = _check_weights(sample_weight, len(labels), name)
    if class_weight is not None:
        present = weight > 0
        classes, index = np.unique(labels[present], return_inverse=True)
        factor = _factors(class_weight, classes, labels[present], weight[present])
        if not (np.isfinite(factor).all() and (factor >= 0).all()):
            raise ValueError(
                f"class_weight gives the factors {factor.tolist()}; they must be finite and >= 0"
            )
        with np.errstate(over="ignore"):
            weight[present] *= factor[index]
        _refuse_bad_weights(weight, f"{name} times class_weight")
    return weight


def _factors(class_weight: Any, classes: NDArray[Any], labels: NDArray[Any], weight: Floats) -> Floats:
    """Give the factor of each class."""
    for label, factor in class_weight.items() if isinstance(class_weight, dict) else ():
        if not isinstance(factor, Real) or (isinstance(factor, int) and factor >= 2**1023):
            raise ValueError(
                f"class_weight is {factor!r:.40} for the class {label!r}; it must be a finite number >= 0"
            )
    factors: Floats = compute_class_weight(class_weight, classes=classes, y=labels, sample_weight=weight)
    return factors


def mean_over_rows(values: NDArray[Any], weight: Floats | None) -> Any:
    """Average over rows of these weights, not all 0, along the first axis; whatever the scale of the weights.

    Examples
    --------
    >>> float(mean_over_rows(np.array([1e300, 0.0]), np.array([1e200, 3e200])))
    2.5e+299
    """
    if weight is not None:  # by a power of two, which rounds nothing
        weight = np.ldexp(weight, -math.frexp(float(weight.max()))[1])
    return np.average(values, axis=0, weights=weight)


def warn_if_light(weight: Floats, min_samples_leaf: float, leaf_ridge: float) -> None:
    """Say so once if limits that count examples cannot be met because a row weighs much less than one."""
    needed = 2 * min_samples_leaf
    with np.errstate(over="ignore"):
        total = float(weight.sum())
    starved = total < needed <= len(weight)
    if starved or (total < 0.1 * len(weight) and (needed > 0 or leaf_ridge > 0)):
        factor = len(weight) / total
        advice = f"multiply the weights by {factor:.3g}"
        if np.isinf(factor):  # nor can such weights be multiplied by anything first
            advice = f"divide the weights by their sum and multiply them by {len(weight)}"
        warnings.warn(
            f"sample_weight sums to {total:.3g} over {len(weight)} rows, but min_samples_leaf and leaf_ridge "
            f"count rows of weight 1; {advice} for a mean of 1",
            UserWarning,
            stacklevel=5,
        )


def weigh_others(
    rows: NDArray[Any], sample_weight: Any, labels: NDArray[Any], weight: Any, class_weight: Any, name: str
) -> Floats | None:
    """Multiplicity of rows outside the fit; the factor of a class is that of the rows of the fit."""
    if class_weight == "balanced":
        counted = _check_weights(weight, len(labels), "sample_weight")
        classes = np.unique(labels[counted > 0])
        factor = _factors(class_weight, classes, labels[counted > 0], counted[counted > 0])
        class_weight = dict(zip(classes.tolist(), factor.tolist(), strict=True))
    if class_weight is not None:
        class_weight = {label: f for label, f in class_weight.items() if (rows == label).any()}
    return weigh(rows, sample_weight, class_weight, name)


def _check_weights(sample_weight: Any, n_rows: int, name: str) -> Floats:
    """Make a new array of one weight a row, checked."""
    if isinstance(sample_weight, np.ma.MaskedArray):  # what is masked is missing, which is refused below
        sample_weight = np.ma.filled(sample_weight.astype(np.float64), np.nan)
    try:
        if sample_weight is None or isinstance(sample_weight, Real):
            weight = np.full(n_rows, 1.0 if sample_weight is None else float(sample_weight))
        elif np.asarray(sample_weight).dtype.kind in "Mm":
            raise TypeError("holds dates or times; weights are numbers")
        else:
            weight = checked_array(
                sample_weight, dtype=np.float64, copy=True, ensure_2d=False, ensure_all_finite=False
            )
    except OverflowError:
        raise ValueError(f"{name} holds an integer too large for float64") from None
    except (ValueError, TypeError) as error:
        raise type(error)(f"{name}: {error}") from None
    if weight.shape != (n_rows,):
        raise ValueError(f"{name} has shape {weight.shape}; it must be ({n_rows},), one weight a row of X")
    _refuse_bad_weights(weight, name)
    return weight


def _refuse_bad_weights(weight: Floats, name: str) -> None:
    if not (weight >= 0).all():  # NaN too
        i = int(np.argmin(weight >= 0))
        raise ValueError(f"{name}[{i}] is {weight[i]}; weights must be >= 0")
    if np.isinf(weight).any():
        i = int(np.argmax(weight))
        raise ValueError(f"{name}[{i}] is {weight[i]}; weights must be finite")
    if not weight.any():
        raise ValueError(f"{name} is zero on every row; one weight at least must be above zero")
    with np.errstate(over="ignore"):
        if np.isinf(weight.sum()):
            raise ValueError(f"{name} sums to more than float64 can hold; divide the weights by a constant")
