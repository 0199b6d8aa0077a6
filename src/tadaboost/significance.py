# SPDX-License-Identifier: Apache-2.0
"""Paired tests over cross-validation folds: `PValues`, the p-values of one comparison; Holm over many; power.

The samples are the errors of two models on the same folds. Student's test takes the folds for independent,
which they are not, as any two training sets share most of their rows; the corrected one widens the variance
for that (Nadeau and Bengio, Inference for the Generalization Error, 2003).
"""

from __future__ import annotations

import math
import warnings
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, stats

LEVEL = 0.1  # the paper's
_MOST_SIGNED = 13  # differences whose signs are all tried, as in scipy

Verdict = Literal["better", "equivalent", "worse"]


class PValues(NamedTuple):
    """Two-sided p-values of one comparison; NaN where no fold differs."""

    p_student: float
    p_corrected: float
    p_wilcoxon: float


def paired_tests(errors: ArrayLike, reference: ArrayLike) -> PValues:
    """Compare two models by their errors on the same folds.

    Parameters
    ----------
    errors, reference : array-like of float, shape (folds,)
        Two folds or more.

    Returns
    -------
    PValues
        Student's paired test, the corrected resampled test, Wilcoxon's signed-rank test.

    Examples
    --------
    >>> paired_tests([0.1, 0.2, 0.3, 0.2], [0.2, 0.25, 0.3, 0.4]).p_student.round(4)
    np.float64(0.1328)
    """
    a, b = np.asarray(errors, np.float64), np.asarray(reference, np.float64)
    if not (a != b).any():
        return PValues(math.nan, math.nan, math.nan)
    with warnings.catch_warnings(action="ignore"):  # all differences equal: t is infinite, p is 0
        student = stats.ttest_rel(a, b).pvalue
    return PValues(np.float64(student), corrected_test(a - b), wilcoxon_test(a - b))


def corrected_test(differences: ArrayLike) -> float:
    """Return the p-value of the corrected resampled t-test for k-fold cross-validation.

    Nadeau and Bengio replace the factor 1/k of the variance of the mean by 1/k + n_test/n_train; with k folds
    the ratio is 1/(k - 1).

    Parameters
    ----------
    differences : array-like of float, shape (folds,)

    Returns
    -------
    float

    Examples
    --------
    >>> round(corrected_test([-0.1, -0.05, 0.0, -0.2]), 4)
    0.2722
    """
    d = np.asarray(differences, np.float64)
    k = len(d)
    spread = math.sqrt((1 / k + 1 / (k - 1)) * float(d.var(ddof=1)))
    if spread == 0.0:
        return 0.0 if d.any() else math.nan
    return float(2 * stats.t.sf(abs(float(d.mean())) / spread, k - 1))


def wilcoxon_test(differences: ArrayLike) -> float:
    """Return the exact p-value of Wilcoxon's signed-rank test, ties and all.

    The value is `scipy.stats.wilcoxon`'s. That goes through the signs of tied differences one by one, in a
    sixth of a second; with few folds all of them are one product.

    Parameters
    ----------
    differences : array-like of float, shape (folds,)
        Zeros are dropped.

    Returns
    -------
    float

    Examples
    --------
    >>> wilcoxon_test([1.0, 2.0, 2.0, -1.0])
    0.375
    """
    every = np.asarray(differences, np.float64)
    d = every[every != 0]
    if not len(d):
        return math.nan
    if len(every) > _MOST_SIGNED:
        return float(stats.wilcoxon(every).pvalue)
    ranks = stats.rankdata(np.abs(d))
    signs = np.arange(2 ** len(d))[:, None] >> np.arange(len(d)) & 1
    sums, seen = signs @ ranks, float(ranks[d > 0].sum())  # halves at most: exact
    return float(min(1.0, 2 * min((sums >= seen).mean(), (sums <= seen).mean())))


def holm(p: ArrayLike) -> NDArray[np.float64]:
    """Adjust p-values of a family of tests by Holm's step-down rule.

    Parameters
    ----------
    p : array-like of float, shape (tests,)
        NaN, a comparison without any difference, counts as 1 and stays NaN.

    Returns
    -------
    ndarray of float64, shape (tests,)

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    values = np.asarray(p, np.float64)
    order = np.argsort(np.nan_to_num(values, nan=1.0), kind="stable")
    factors = np.arange(len(values), 0, -1)
    stepped = np.maximum.accumulate(np.nan_to_num(values[order], nan=1.0) * factors)
    adjusted = np.empty(len(values))
    adjusted[order] = np.minimum(stepped, 1.0)
    return np.where(np.isnan(values), np.nan, adjusted)


def verdict(difference: float, p: float, level: float = LEVEL) -> Verdict:
    """Say what a difference of errors (model less reference) and its p-value mean; NaN is no difference.

    Examples
    --------
    >>> verdict(-0.02, 0.03), verdict(-0.02, 0.3)
    ('better', 'equivalent')
    """
    if not p < level:
        return "equivalent"
    return "better" if difference < 0 else "worse"


def least_detectable(spread: float, folds: int, level: float = LEVEL, power: float = 0.8) -> float:
    """Return the difference of means that Student's paired test finds with the given probability.

    Parameters
    ----------
    spread : float
        Standard deviation of the differences between folds.
    folds : int
    level, power : float

    Returns
    -------
    float
        In the unit of `spread`.

    Examples
    --------
    >>> round(least_detectable(1.0, 10), 3)
    0.853
    """
    critical = stats.t.isf(level / 2, folds - 1)

    def missing(shift: float) -> float:
        """Power lacking, or in excess, where the true mean is `shift` standard errors from 0."""
        found = stats.nct.sf(critical, folds - 1, shift) + stats.nct.cdf(-critical, folds - 1, shift)
        return float(found) - power

    return float(optimize.brentq(missing, 1e-9, 100.0)) * spread / math.sqrt(folds)
