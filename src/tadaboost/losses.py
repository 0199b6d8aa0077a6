# SPDX-License-Identifier: Apache-2.0
"""Tempered losses and links: the functions of one probability, score or edge that the paper defines.

Bayes risk (20), partial losses (19), leaf link (63), K_t (12), the step (11), the tempered exponential loss
(15). Scores are in the m-free scale of the ensemble sum alpha_j h_j, in which theorem A's leaves at round 1
are `leaf_link`. Array-likes broadcast together; t < 2, and t = -inf and t = 2 wherever there is a limit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tadaboost.calculus import Array, limits, log_half, log_ratio, power_mean, star, tanh_t


def bayes_risk(u: ArrayLike, t: ArrayLike) -> Array:
    """Tempered Bayes risk L_t(u) = 2u(1-u) / M_{1-t}(u, 1-u) = 2 M_{t-1}(u, 1-u), equation (20).

    2 min(u, 1-u) at t = -inf, 4u(1-u) at 0 (Gini), 2 sqrt(u(1-u)) at 1 (Matusita), 1 at 2.

    Parameters
    ----------
    u, t : array-like of float, broadcast together
        Proportion of positives in [0, 1] and temperature in [-inf, 2].

    Returns
    -------
    ndarray of float64 in [0, 1], the broadcast shape
        For 1 < t < 2 it is not 0 but 2^((t-2)/(t-1)) at u = 0 and 1.

    Raises
    ------
    ValueError
        If u is outside [0, 1] or t > 2.

    Examples
    --------
    >>> bayes_risk(0.2, [-np.inf, 0.0, 1.0, 2.0])
    array([0.4 , 0.64, 0.8 , 1.  ])
    """
    p, q = _proportion("u", u), _temperature(t, closed=True) - 1.0
    # The mean of order t-1, because the quotient of (20) is 0/0 at u = 0 and 1 for t > 1.
    return 2.0 * power_mean(p, 1.0 - p, q)


def partial_loss(u: ArrayLike, t: ArrayLike, label: int = 1) -> Array:
    """Partial loss l_1(u) = ((1-u) / M_{1-t}(u, 1-u))^(2-t), equation (19), and l_{-1}(u) = l_1(1-u).

    Parameters
    ----------
    u, t : array-like of float, broadcast together
        Predicted probability of the positive class in [0, 1] and temperature in [-inf, 2].
    label : {1, -1}
        The class that was observed.

    Returns
    -------
    ndarray of float64, the broadcast shape
        l_1(0) is 2^((2-t)/(1-t)) for t < 1 and infinite from t = 1 on; l_1(1) is 0 for t <= 1 only.

    Raises
    ------
    ValueError
        If u is outside [0, 1], t > 2, or label is neither 1 nor -1.

    Examples
    --------
    >>> partial_loss([0.0, 0.5, 1.0], t=0.0)
    array([4., 1., 0.])
    >>> partial_loss(0.25, t=0.0, label=-1).round(12)
    np.float64(0.25)
    """
    if label not in (1, -1):
        raise ValueError(f"label must be 1 or -1, got {label!r}")
    p, tt = _proportion("u", u), _temperature(t, closed=True)
    logit = log_ratio(p, 1.0 - p) * label
    s = 1.0 - tt
    with limits():
        exponent = np.where(s == 0, -logit / 2.0, -_two_minus_t_over_s(tt) * log_half(_times(s, logit)))
        return np.asarray(np.exp(np.where(tt == 2, 0.0, exponent)))  # at t = 2 the loss is 1 for every u


def conditional_risk(u: ArrayLike, v: ArrayLike, t: ArrayLike) -> Array:
    """Conditional risk v l_1(u) + (1-v) l_{-1}(u), equation (17): proper, so u = v minimises it, at L_t(v).

    Parameters
    ----------
    u, v, t : array-like of float, broadcast together
        Predicted and true probability of the positive class in [0, 1]; temperature in [-inf, 2].

    Returns
    -------
    ndarray of float64, the broadcast shape
        A class of probability 0 adds nothing, even where its loss is infinite.

    Raises
    ------
    ValueError
        If u or v is outside [0, 1] or t > 2.

    Examples
    --------
    >>> conditional_risk([0.1, 0.2, 0.3], 0.2, t=0.0)
    array([0.68, 0.64, 0.68])
    """
    p = _proportion("v", v)
    with limits():
        positive = np.where(p == 0, 0.0, p * partial_loss(u, t, 1))
        negative = np.where(p == 1, 0.0, (1.0 - p) * partial_loss(u, t, -1))
    return np.asarray(positive + negative)


def canonical_link(u: ArrayLike, t: ArrayLike) -> Array:
    """Canonical link -L_t'(u) of the Bayes risk (20); `canonical_leaf` takes masses instead.

    Proportional to `leaf_link` at t = 0 only.

    Parameters
    ----------
    u, t : array-like of float, broadcast together
        Probability of the positive class in [0, 1] and temperature in [-inf, 2].

    Returns
    -------
    ndarray of float64, the broadcast shape
        At u = 0 and 1: -+2^((2-t)/(1-t)) for t < 1, infinite for 1 <= t < 2.

    Raises
    ------
    ValueError
        If u is outside [0, 1] or t > 2.

    Examples
    --------
    >>> canonical_link([0.2, 0.5, 0.8, 1.0], t=0.0).round(6)
    array([-2.4,  0. ,  2.4,  4. ])
    """
    p = _proportion("u", u)
    return canonical_leaf(p, 1.0 - p, t)


def canonical_leaf(w_pos: ArrayLike, w_neg: ArrayLike, t: ArrayLike) -> Array:
    """Canonical link of a leaf from its masses: (a^(2-t) - b^(2-t)) / M_{1-t}(a, b)^(2-t).

    Equal to canonical_link(a / (a+b), t), and homogeneous of degree 0 in the masses; (a-b)/sqrt(ab) at t = 1.

    Parameters
    ----------
    w_pos, w_neg, t : array-like of float, broadcast together
        Positive and negative mass >= 0, in any common unit, and temperature in [-inf, 2].

    Returns
    -------
    ndarray of float64, the broadcast shape
        A pure leaf has +-2^((2-t)/(1-t)) for t < 1 and +-inf for 1 <= t < 2; an empty one NaN.

    Raises
    ------
    ValueError
        If a mass is negative or t > 2.

    Examples
    --------
    >>> canonical_leaf([8.0, 4.0, 1.0], [2.0, 1.0, 0.0], t=[0.0, 1.0, 1.0]).round(6)
    array([2.4, 1.5, inf])
    """
    a, b, tt = _mass("w_pos", w_pos), _mass("w_neg", w_neg), _temperature(t, closed=True)
    s, c = 1.0 - tt, 2.0 - tt
    logit = log_ratio(a, b)
    size = np.abs(logit)
    with limits():
        # Divided by the larger mass: (1 - e^(-c|L|)) / M_s(1, e^-|L|)^c, where neither factor cancels.
        log_mean = np.where(s == 0, size / 2.0, -_two_minus_t_over_s(tt) * log_half(_times(-s, size)))
        value = np.sign(logit) * -np.expm1(-_times(c, size)) * np.exp(log_mean)
    return np.where((tt == 2) | (logit == 0), 0.0, value)


def margin(y: ArrayLike, h: ArrayLike, t: ArrayLike) -> Array:
    """Margin nu_t((x, y), H) = tanh_t(y H(x) / 2), section 5.

    Parameters
    ----------
    y, h, t : array-like of float, broadcast together
        Labels -1 or 1, scores, temperature < 2.

    Returns
    -------
    ndarray of float64 in [-1, 1], the broadcast shape

    Raises
    ------
    ValueError
        If t >= 2, or a label is neither -1 nor 1.

    Examples
    --------
    >>> margin([1, -1], [1.0, 1.0], t=0.0)
    array([ 1.        , -0.33333333])
    """
    label = np.asarray(y, np.float64)
    bad = np.abs(label) != 1
    if np.any(bad):
        raise ValueError(f"y must be -1 or 1, got {label[bad].flat[0]}")
    return tanh_t(label * np.asarray(h, np.float64) / 2.0, _temperature(t))


def leaf_link(w_pos: ArrayLike, w_neg: ArrayLike, t: ArrayLike) -> Array:
    """Leaf value psi_t of theorem A, (63) without its factor, from the masses of the leaf.

    With s = 1-t: (a^s - b^s) / (s (a^s + b^s)) = tanh((s/2) log(a/b)) / s; log(a/b) / 2 at t = 1.

    Parameters
    ----------
    w_pos, w_neg, t : array-like of float, broadcast together
        Positive and negative mass >= 0, in any common unit, and temperature < 2 (-inf included).

    Returns
    -------
    ndarray of float64, the broadcast shape
        A pure leaf has +-1/|1-t|, infinite at t = 1; an empty one NaN.

    Raises
    ------
    ValueError
        If a mass is negative or t >= 2.

    Examples
    --------
    >>> leaf_link([8.0, 1.0, 0.0], [2.0, 1.0, 1.0], t=0.0)
    array([ 0.6,  0. , -1. ])
    """
    logit = log_ratio(_mass("w_pos", w_pos), _mass("w_neg", w_neg))
    s = 1.0 - _temperature(t)
    with limits():
        return _tanh_over(s, logit / 2.0)


def inverse_link(h: ArrayLike, t: ArrayLike) -> Array:
    """Probability of the positive class that a score implies: exp_t(H) / (exp_t(H) + exp_t(-H)).

    Inverse of `leaf_link` and pointwise minimiser of v exp_t^(2-t)(-H) + (1-v) exp_t^(2-t)(H).

    Parameters
    ----------
    h, t : array-like of float, broadcast together
        Score in the scale of sum alpha_j h_j, and temperature < 2 (-inf included).

    Returns
    -------
    ndarray of float64 in [0, 1], the broadcast shape
        1 for H >= 1/|1-t|, 0 for H <= -1/|1-t|.

    Raises
    ------
    ValueError
        If t >= 2.

    Examples
    --------
    >>> inverse_link([-1.0, 0.0, 0.6, 5.0], t=0.0)
    array([0. , 0.5, 0.8, 1. ])
    """
    x = np.asarray(h, np.float64)
    s = 1.0 - _temperature(t)
    with limits():
        half = np.where(s == 0, x, np.arctanh(np.clip(_times(s, x), -1.0, 1.0)) / s)
        # Where 1/|1-t| = 0 the score alone decides; elsewhere the quotient above is already infinite.
        half = np.where(np.isinf(s) & (x != 0), np.copysign(np.inf, x), half)
        small = np.exp(-2.0 * np.abs(half))  # the odds against the likelier class: no overflow
        return np.asarray(np.where(half < 0, small, 1.0) / (1.0 + small))


def tempered_exp_loss(margin: ArrayLike, t: ArrayLike) -> Array:
    """Tempered exponential loss exp_t^(2-t)(-margin), the summand of equation (15); exp(-margin) at t = 1.

    Parameters
    ----------
    margin, t : array-like of float, broadcast together
        y H(x), and temperature < 2 (-inf included).

    Returns
    -------
    ndarray of float64, the broadcast shape
        0 for margins >= 1/(1-t) when t < 1, inf for margins <= -1/(t-1) when t > 1.

    Raises
    ------
    ValueError
        If t >= 2.

    Examples
    --------
    >>> tempered_exp_loss([-1.0, 0.0, 0.5, 3.0], t=0.0)
    array([4.  , 1.  , 0.25, 0.  ])
    """
    x, tt = np.asarray(margin, np.float64), _temperature(t)
    s = 1.0 - tt
    with limits():
        log_loss = _two_minus_t_over_s(tt) * np.log1p(np.maximum(_times(s, -x), -1.0))
        return np.asarray(np.exp(np.where(s == 0, -x, log_loss)))


def k_t(rho: ArrayLike, t: ArrayLike) -> Array:
    """K_t(rho) = (1-rho^2) / M_{1-t}(1-rho, 1+rho) = M_{t-1}(1-rho, 1+rho), the factor of equation (12).

    Parameters
    ----------
    rho, t : array-like of float, broadcast together
        Normalised edge in [-1, 1] and temperature in [-inf, 2].

    Returns
    -------
    ndarray of float64 in [0, 1], the broadcast shape

    Raises
    ------
    ValueError
        If rho is outside [-1, 1] by more than rounding, or t > 2.

    Examples
    --------
    >>> k_t([-0.6, 0.0, 0.6, 1.0], t=1.0)
    array([0.8, 1. , 0.8, 0. ])
    """
    x = _edge(rho)
    return power_mean(1.0 - x, 1.0 + x, _temperature(t, closed=True) - 1.0)


def k_t_envelope(rho: ArrayLike, t: ArrayLike) -> Array:
    """Upper envelope exp(-rho^2 / (2 t*)) of K_t, below equation (12).

    It bounds K_t for 1 - (1 + sqrt 13)/2 <= t < 2, about [-1.303, 2); below that it does not.

    Parameters
    ----------
    rho, t : array-like of float, broadcast together
        Normalised edge in [-1, 1] and temperature < 2.

    Returns
    -------
    ndarray of float64 in (0, 1], the broadcast shape

    Raises
    ------
    ValueError
        If rho is outside [-1, 1] by more than rounding, or t >= 2.

    Examples
    --------
    >>> bool(k_t(0.5, t=0.3) <= k_t_envelope(0.5, t=0.3))
    True
    """
    return np.asarray(np.exp(-(_edge(rho) ** 2) / (2.0 * star(_temperature(t)))))


def rounds_needed(gamma: ArrayLike, error: ArrayLike, t: ArrayLike) -> Array:
    """Return the rounds that certify an error, 2 t* log(1/error) / gamma^2 (section 5, by `k_t_envelope`).

    Parameters
    ----------
    gamma, error, t : array-like of float, broadcast together
        Least |rho_j| of the weak learner in (0, 1], training error wanted in (0, 1] (below 1/m no row is
        wrong), and temperature in [0, 2).

    Returns
    -------
    ndarray of float64, the broadcast shape
        The least whole number of rounds.

    Raises
    ------
    ValueError
        If gamma or error is not in (0, 1] or t is not in [0, 2).

    Examples
    --------
    >>> rounds_needed(0.2, 0.001, t=[0.0, 0.5, 1.0])
    array([173., 231., 346.])
    """
    tt = _temperature(t)
    if np.any(tt < 0):
        raise ValueError(f"t must be >= 0, got {tt[tt < 0].flat[0]}")
    g, wanted = (_positive_fraction(name, x) for name, x in (("gamma", gamma), ("error", error)))
    return np.asarray(np.ceil(-2.0 * star(tt) * np.log(wanted) / g**2))


def mu_closed(rho: ArrayLike, R: ArrayLike, t: ArrayLike) -> Array:
    """Step of equation (11): -log_t((1-rho) / M_{1-t}(1-rho, 1+rho)) / R = tanh((1-t) atanh rho) / ((1-t) R).

    Parameters
    ----------
    rho, R, t : array-like of float, broadcast together
        Normalised edge in [-1, 1], its normaliser R >= 0, and temperature < 2.

    Returns
    -------
    ndarray of float64, the broadcast shape
        atanh(rho)/R at t = 1; 0 where R = 0, the hypothesis that abstains on every row that counts.

    Raises
    ------
    ValueError
        If rho is outside [-1, 1] by more than rounding, R is negative, or t >= 2.

    Examples
    --------
    >>> mu_closed([0.6, 1.0, 0.0], [2.0, 2.0, 0.0], t=0.0)
    array([0.3, 0.5, 0. ])
    """
    x, scale, s = _edge(rho), _mass("R", R), 1.0 - _temperature(t)
    with limits():
        return np.where(scale == 0, 0.0, _tanh_over(s, np.arctanh(x)) / scale)


def _times(s: Array, x: Array) -> Array:
    """Return s x with 0 times infinity equal to 0: the limit, as x = 0 comes first in all uses."""
    with limits():
        return np.where(x == 0, 0.0, s * x)


def _tanh_over(s: Array, x: Array) -> Array:
    """Return tanh(s x) / s; x where s x, then perhaps subnormal and of few digits, is below rounding."""
    with limits():
        angle = _times(s, x)
        return np.where((s == 0) | (np.abs(angle) < 1e-9), x, np.tanh(angle) / s)


def _two_minus_t_over_s(t: Array) -> Array:
    """Return (2-t)/(1-t), 1 at t = -inf."""
    with limits():
        return np.where(np.isinf(t), 1.0, (2.0 - t) / (1.0 - t))


def _temperature(t: ArrayLike, closed: bool = False) -> Array:
    tt = np.asarray(t, np.float64)
    good = tt <= 2 if closed else tt < 2
    if not np.all(good):
        raise ValueError(f"t must be {'<=' if closed else '<'} 2, got {tt[~good].flat[0]}")
    return tt


def _proportion(name: str, value: ArrayLike) -> Array:
    x = np.asarray(value, np.float64)
    bad = (x < 0) | (x > 1)
    if np.any(bad):
        raise ValueError(f"{name} must be in [0, 1], got {x[bad].flat[0]}")
    return x


def _positive_fraction(name: str, value: ArrayLike) -> Array:
    x = np.asarray(value, np.float64)
    good = (x > 0) & (x <= 1)
    if not np.all(good):
        raise ValueError(f"{name} must be in (0, 1], got {x[~good].flat[0]}")
    return x


def _mass(name: str, value: ArrayLike) -> Array:
    x = np.asarray(value, np.float64)
    if np.any(x < 0):
        raise ValueError(f"{name} must be >= 0, got {x[x < 0].flat[0]}")
    return x


def _edge(rho: ArrayLike) -> Array:
    x = np.asarray(rho, np.float64)
    bad = np.abs(x) > 1 + 1e-12  # a sum of m rounded terms may leave [-1, 1] by some units in the last place
    if np.any(bad):
        raise ValueError(f"rho must be in [-1, 1], got {x[bad].flat[0]}")
    return np.clip(x, -1.0, 1.0)
