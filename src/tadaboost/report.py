# SPDX-License-Identifier: Apache-2.0
"""One HTML page about a fitted model: self-contained, readable on a phone, on paper and in the dark.

The page is `templates/report.html`; this module makes the numbers and drawings for it out of a model, whose
`table_` says what it was fitted to, and an `Estimate`.
"""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
import sklearn
from numpy.typing import NDArray

import tadaboost
from tadaboost import charts
from tadaboost.evaluate import Estimate
from tadaboost.target import mean_over_rows

_MOST_IMPORTANT = 20
_CALIBRATION_BINS = 10
_TABLE_ROWS = 12  # of the tables that stand beside curves
_LEAST_DRAWN = 1e-6  # of an equal weight: what lies below would squeeze the rest of a log scale


def render_report(
    model: Any,
    estimate: Estimate | None,
    y: NDArray[np.generic],
    *,
    sample_weight: NDArray[np.float64] | None = None,
    train_error: NDArray[np.float64] | None = None,
    date: str,
) -> str:
    """Render the page.

    Parameters
    ----------
    model : fitted TAdaBoostClassifier
        With the attribute `table_` of the command line.
    estimate : Estimate or None
        None leaves out what needs rows that the model has not seen.
    y : array of shape (rows,)
        The classes of the rows, in the order of `estimate.proba`.
    sample_weight : array of shape (rows,), optional
        Multiplicities of the rows.
    train_error : array of shape (n_iter_,), optional
        Share of training rows predicted wrong after each round, where there are more than two classes: the
        rounds of the model know that of "this class or not" only.
    date : str
        Shown as it is.

    Returns
    -------
    str
        HTML without a reference to anything outside.
    """
    weight = np.ones(len(y)) if sample_weight is None else sample_weight
    versions = {
        "tadaboost": tadaboost.__version__,
        "Python": platform.python_version(),
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
    }
    shares = [
        (str(label), float(weight[y == label].sum()), float(weight[y == label].sum() / weight.sum()))
        for label in model.classes_
    ]
    return page_template("report.html").render(
        table=model.table_,
        rule=_rule_in_words(model.table_["target"]["positive"]),
        estimate=estimate,
        shares=shares,
        baseline=1 - max(share for _, _, share in shares),
        n_rounds=model.n_iter_,
        stop_reason=model.stop_reason_,
        error=_error_by_round(model.rounds_["train_error"] if train_error is None else train_error, estimate),
        weights=_weights_by_round(model, float(weight.sum())),
        importance=_importance(model),
        calibration=_calibration(model, estimate, y, weight),
        confusion=_confusion(model, estimate, y, weight),
        several=len(model.classes_) > 2,
        settings=sorted((name, repr(value)) for name, value in model.get_params().items()),
        versions=versions,
        date=date,
    )


def page_template(name: str) -> jinja2.Template:
    """Load a page of `templates`, with the filters `percent` and `number`."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"percent": lambda share: _unbroken(percent(share)), "number": _number}
    return environment.get_template(name)


def percent(share: float, digits: int = 1) -> str:
    """Write a share as a percentage, with more digits where it is small.

    Examples
    --------
    >>> percent(0.1234), percent(0.00042)
    ('12.3 %', '0.042 %')
    """
    value = 100 * share
    return f"{value:.2g} %" if 0 < abs(value) < 0.1 else f"{value:.{digits}f} %"


def importances(model: Any) -> list[tuple[str, float]]:
    """Return names and importances, the largest first, ties in the order of the columns."""
    pairs = zip(model.feature_names_in_, model.feature_importances_, strict=True)
    return sorted(((str(name), float(value)) for name, value in pairs), key=lambda pair: -pair[1])


def by_round(model: Any) -> dict[str, NDArray[np.float64]]:
    """Return the rounds of a model as columns, those of its hardest class if there are more than two.

    Parameters
    ----------
    model : fitted TAdaBoostClassifier

    Returns
    -------
    dict of str to ndarray of shape (n_iter_,)
        Of each number in `rounds_` the largest over the classes, but the smallest `codensity_min`.
    """
    table = model.rounds_.reshape(model.n_iter_, -1)
    return {
        name: table[name].min(axis=1) if name == "codensity_min" else table[name].max(axis=1)
        for name in table.dtype.names
    }


def _number(value: float) -> str:
    return _unbroken(f"{value:,.0f}".replace(",", " ")) if value == round(value) else f"{value:.4g}"


def _unbroken(text: str) -> str:
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def _rule_in_words(positive: str | None) -> str:
    """Write what makes a row positive as the end of a sentence that starts with the target's name."""
    if positive is None:
        return ""
    if positive.startswith("in:"):
        return "in " + positive[3:]
    return positive if positive[0] in "<>" else f"= {positive}"


def _few(n: int) -> list[int]:
    """Pick about a dozen of n rounds, the first and last among them."""
    picked: list[int] = np.unique(np.linspace(0, n - 1, min(n, _TABLE_ROWS)).round().astype(int)).tolist()
    return picked


def _error_by_round(training: NDArray[np.float64], estimate: Estimate | None) -> dict[str, Any]:
    n = len(training)
    series = [charts.Series("training", training)]
    columns = [training]
    if estimate is not None:
        # The folds' models may have run longer than this one, or ended before it.
        folds = estimate.staged_error[:, np.minimum(np.arange(n), estimate.staged_error.shape[1] - 1)]
        mean, se = folds.mean(axis=0), folds.std(axis=0, ddof=1) / np.sqrt(estimate.folds)
        series.append(charts.Series("held out", mean, mean - se, mean + se))
        columns.append(mean)
    ends = ", ".join(f"{one.name} {percent(float(np.asarray(one.y)[-1]))}" for one in series)
    chart = charts.line_chart(
        np.arange(1, n + 1),
        series,
        title="Error by round",
        description=f"Share of rows predicted wrong after each of {n} rounds; at the end: {ends}.",
        x_label="round",
        y_label="error",
        percent=True,
    )
    rows = [(i + 1, *(percent(float(column[i]), 2) for column in columns)) for i in _few(n)]
    return {"chart": chart, "head": ["round", *(one.name for one in series)], "rows": rows}


def _weights_by_round(model: Any, total: float) -> dict[str, Any]:
    columns = by_round(model)
    low, high, off = (columns[name] for name in ("codensity_min", "codensity_max", "n_off"))
    n = len(low)
    series = [
        charts.Series("largest", high),
        charts.Series("smallest", np.maximum(low, _LEAST_DRAWN / total)),
        charts.Series("equal", np.full(n, 1 / total), dashed=True),
    ]
    chart = charts.line_chart(
        np.arange(1, n + 1),
        series,
        title="Weights by round",
        description=f"Largest and smallest weight of a row after each of {n} rounds, on a log scale; "
        f"equal weights are {1 / total:.2g}; at the end the largest is {high[-1]:.2g}, "
        f"the smallest {low[-1]:.2g}.",
        x_label="round",
        y_label="weight",
        log=True,
    )
    rows = [(i + 1, f"{high[i]:.3g}", f"{low[i]:.3g}", _number(float(off[i]))) for i in _few(n)]
    return {
        "chart": chart,
        "head": ["round", "largest", "smallest", "rows off"],
        "rows": rows,
        "off": float(off[-1]),
        "cut": bool((low < _LEAST_DRAWN / total).any()),
    }


def _importance(model: Any) -> dict[str, Any]:
    ranked = importances(model)
    top = max(ranked[0][1], 1e-300)  # all are 0 where nothing was split
    rows = [(name, charts.bar(value / top), f"{value:.3f}") for name, value in ranked[:_MOST_IMPORTANT]]
    return {"rows": rows, "more": max(len(ranked) - _MOST_IMPORTANT, 0)}


def _calibration(
    model: Any, estimate: Estimate | None, y: NDArray[np.generic], weight: NDArray[np.float64]
) -> dict[str, Any] | None:
    if estimate is None:
        return None
    several = estimate.proba.ndim == 2
    proba = estimate.proba.max(axis=1) if several else estimate.proba
    hit = y == (_predicted(model, estimate) if several else model.classes_[1])
    bins = np.minimum((proba * _CALIBRATION_BINS).astype(int), _CALIBRATION_BINS - 1)
    rows = []
    for b in np.unique(bins[weight > 0]):
        inside = bins == b
        mean, share = (float(mean_over_rows(v[inside], weight[inside])) for v in (proba, hit))
        rows.append((b, mean, share, float(weight[inside].sum())))
    event = "the predicted class is right" if several else f"a row is {model.classes_[1]}"
    chart = charts.calibration_chart(
        *zip(*(row[1:] for row in rows), strict=True),
        title="Calibration",
        description=f"How often {event}, against the probability from models that had not seen it.",
        x_label="predicted probability",
        y_label="share observed",
    )
    table = [
        (f"{10 * b} to {10 * b + 10} %", percent(mean), percent(share), _number(n))
        for b, mean, share, n in rows
    ]
    return {"chart": chart, "head": ["bin", "predicted", "observed", "rows"], "rows": table}


def _predicted(model: Any, estimate: Estimate) -> NDArray[np.generic]:
    """Predict each row from its probabilities; a tie goes to the first class, as in predict."""
    proba = estimate.proba
    place = proba.argmax(axis=1) if proba.ndim == 2 else (proba > 0.5).astype(int)
    labels: NDArray[np.generic] = model.classes_[place]
    return labels


def _confusion(
    model: Any, estimate: Estimate | None, y: NDArray[np.generic], weight: NDArray[np.float64]
) -> list[tuple[str, list[tuple[float, float]]]] | None:
    """List each true class with the rows of each predicted class and their share of the true class."""
    if estimate is None:
        return None
    predicted = _predicted(model, estimate)
    rows = []
    for true in model.classes_:
        counts = [float(weight[(y == true) & (predicted == guess)].sum()) for guess in model.classes_]
        rows.append((str(true), [(count, count / sum(counts)) for count in counts]))
    return rows
