# SPDX-License-Identifier: Apache-2.0
"""Tempered logarithm, exponential, arithmetic and means: section 1 of the paper.

Every function takes array-likes that broadcast together and returns float64. Throughout `s = 1 - t`; the
exponential and logarithm are the natural ones. Forms are chosen so that nothing special happens near t = 1:
only t == 1 itself is a case of its own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def limits() -> np.errstate:
    """Return a context where log 0, overflow and 0/0 pass silently: here they are limits, not accidents."""
    return np.errstate(all="ignore")


def star(t: ArrayLike) -> Array:
    """Return the conjugate temperature t* = 1/(2-t).

    Parameters
    ----------
    t : array-like of float
        Temperatures other than 2.

    Returns
    -------
    ndarray of float64, the shape of t

    Raises
    ------
    ValueError
        If a temperature is 2.

    Examples
    --------
    >>> star([0.0, 1.0, 1.5])
    array([0.5, 1. , 2. ])
    """
    to_pole = 2.0 - np.asarray(t, np.float64)
    if np.any(to_pole == 0):
        raise ValueError("t must not be 2, where t* is infinite")
    return np.asarray(1.0 / to_pole)


def log_t(z: ArrayLike, t: ArrayLike) -> Array:
    """Tempered logarithm (z^(1-t) - 1) / (1-t), equation (1); log z at t = 1.

    Parameters
    ----------
    z, t : array-like of float, broadcast together
        A ratio z >= 0 and a finite temperature; neither has a unit.

    Returns
    -------
    ndarray of float64, the broadcast shape
        In nats at t = 1. At z = 0 it is -1/(1-t) for t < 1 and -inf for t >= 1; at z = inf it is inf for
        t <= 1 and 1/(t-1) for t > 1. NaN passes through.

    Raises
    ------
    ValueError
        If a z is negative.

    Examples
    --------
    >>> log_t([1.0, 4.0, 0.0], t=0.5)
    array([ 0.,  2., -2.])
    >>> log_t(-1.0, t=0.5)
    Traceback (most recent call last):
    ValueError: z must be >= 0, got -1.0
    """
    x, s = _non_negative("z", z), 1.0 - np.asarray(t, np.float64)
    with limits():
        log_x = np.log(x)
        # expm1, because (x**s - 1) / s loses eps/|s| as t -> 1: half of the digits at t = 1 - 1e-8.
        return np.where(s == 0, log_x, np.expm1(s * log_x) / s)


def exp_t(z: ArrayLike, t: ArrayLike) -> Array:
    """Tempered exponential [1 + (1-t) z]_+^(1/(1-t)), equation (1); exp z at t = 1.

    Parameters
    ----------
    z, t : array-like of float, broadcast together
        Any real, infinite ones included, and a finite temperature.

    Returns
    -------
    ndarray of float64, the broadcast shape
        0 for z <= -1/(1-t) when t < 1, inf for z >= 1/(t-1) when t > 1.

    Examples
    --------
    >>> exp_t([-2.0, 0.0, 2.0], t=0.5).round(12)
    array([0., 1., 4.])
    >>> exp_t(2.0, t=1.5)
    array(inf)
    """
    with limits():
        return np.asarray(np.exp(log_exp_t(z, 1.0 - np.asarray(t, np.float64))))


def tempered_product(a: ArrayLike, b: ArrayLike, t: ArrayLike) -> Array:
    """Tempered product [a^(1-t) + b^(1-t) - 1]_+^(1/(1-t)), below equation (4); a b at t = 1.

    It satisfies exp_t(z + v) = exp_t(z) (x)_t exp_t(v) wherever no clamp is active.

    Parameters
    ----------
    a, b, t : array-like of float, broadcast together
        a, b >= 0 and a finite temperature.

    Returns
    -------
    ndarray of float64, the broadcast shape

    Raises
    ------
    ValueError
        If an a or b is negative.

    Examples
    --------
    >>> tempered_product([4.0, 0.25], [9.0, 0.0], t=0.5)
    array([16.,  0.])
    """
    x, y, s = _non_negative("a", a), _non_negative("b", b), 1.0 - np.asarray(t, np.float64)
    with limits():
        p, q = s * np.log(x), s * np.log(y)
        high, low = np.maximum(p, q), np.minimum(p, q)
        # log(e^p + e^q - 1); the second form is for powers that could overflow. In the first the sum p + q
        # comes from the product, as p and q, when they cancel, leave the rounding of two logarithms.
        small = np.log1p(np.expm1(s * _log_product(x, y)) - np.expm1(p) * np.expm1(q))
        # Far below 1 that keeps no digit, and the 1 belongs to the power beside it.
        base = np.expm1(high) + np.exp(low)
        small = np.where(base < 0.5, np.log(np.maximum(base, 0.0)), small)
        large = high + np.log1p(np.exp(np.where(low == high, 0.0, low - high)) - np.exp(-high))
        log_base = np.where(high > 1, large, small)
        return np.where(s == 0, x * y, np.exp(log_base / s))


def tempered_quotient(a: ArrayLike, b: ArrayLike, t: ArrayLike) -> Array:
    """Tempered quotient [a^(1-t) - b^(1-t) + 1]_+^(1/(1-t)), below equation (4); a / b at t = 1.

    It satisfies exp_t(z - v) = exp_t(z) (/)_t exp_t(v) wherever no clamp is active.

    Parameters
    ----------
    a, b, t : array-like of float, broadcast together
        a, b >= 0 and a finite temperature.

    Returns
    -------
    ndarray of float64, the broadcast shape
        0/0 at t = 1, and b = 0 with a = 0 at t > 1, are NaN.

    Raises
    ------
    ValueError
        If an a or b is negative.

    Examples
    --------
    >>> tempered_quotient([16.0, 1.0], [9.0, 9.0], t=0.5)
    array([4., 0.])
    """
    x, y, s = _non_negative("a", a), _non_negative("b", b), 1.0 - np.asarray(t, np.float64)
    with limits():
        gap, high = s * log_ratio(x, y), np.maximum(s * np.log(x), s * np.log(y))
        # e^p - e^q = +-e^high (1 - e^-|p-q|): powers near each other, subtracted, would leave few digits.
        part = -np.expm1(-np.abs(gap))
        difference = np.where(high == -np.inf, 0.0, np.sign(gap) * np.exp(high) * part)
        # Where that could overflow the 1 in log(e^p - e^q + 1) is nothing beside it, if p and q differ.
        large = np.where(gap < 0, -np.inf, np.where(gap == 0, 0.0, high + np.log(part)))
        small = np.log1p(np.maximum(difference, -1.0))
        # Far below 1 that keeps no digit, and the 1 belongs to the second power.
        first = np.exp(s * np.log(x))
        base = first - np.expm1(s * np.log(y))
        small = np.where((base < 0.5) & (first < 0.5), np.log(np.maximum(base, 0.0)), small)
        log_base = np.where(high > 700, large, small)
        return np.where(s == 0, x / y, np.exp(log_base / s))


def tempered_sum(a: ArrayLike, b: ArrayLike, t: ArrayLike) -> Array:
    """Tempered sum a + b + (1-t) a b, for which exp_t(a (+)_t b) = exp_t(a) exp_t(b).

    Parameters
    ----------
    a, b, t : array-like of float, broadcast together

    Returns
    -------
    ndarray of float64, the broadcast shape

    Examples
    --------
    >>> tempered_sum(2.0, 4.0, t=0.5)
    array(10.)
    """
    x, y, s = np.asarray(a, np.float64), np.asarray(b, np.float64), 1.0 - np.asarray(t, np.float64)
    with limits():
        swap = np.abs(x) > np.abs(y)
        low, high = np.where(swap, y, x), np.where(swap, x, y)
        tail = s * low
        # Where 1 + (1-t) low is near 0 both sums of the plain form are far above the result, or overflow.
        finite = np.where(tail < -0.5, high * (1.0 + tail) + low, x + y + tail * high)
        return np.where(np.isfinite(high), finite, x + y + s * (x * y))


def tempered_difference(a: ArrayLike, b: ArrayLike, t: ArrayLike) -> Array:
    """Tempered difference (a - b) / (1 + (1-t) b), for which exp_t(a (-)_t b) = exp_t(a) / exp_t(b).

    Parameters
    ----------
    a, b, t : array-like of float, broadcast together

    Returns
    -------
    ndarray of float64, the broadcast shape
        Infinite or NaN where 1 + (1-t) b = 0, which is exp_t(b) = 0 or inf.

    Examples
    --------
    >>> tempered_difference(10.0, 4.0, t=0.5)
    array(2.)
    """
    x, y, s = np.asarray(a, np.float64), np.asarray(b, np.float64), 1.0 - np.asarray(t, np.float64)
    with limits():
        # Both sides of the fraction by a power of two, so that neither of huge numbers overflows.
        scale = np.where(np.maximum(np.abs(x), np.abs(y)) > 1e150, 2.0**-500, 1.0)
        return np.asarray((x * scale - y * scale) / (scale + s * (y * scale)))


def power_mean(a: ArrayLike, b: ArrayLike, q: ArrayLike) -> Array:
    """Power mean M_q(a, b) = ((a^q + b^q)/2)^(1/q), after equation (11).

    Parameters
    ----------
    a, b, q : array-like of float, broadcast together
        a, b >= 0; q any real: the geometric mean at 0, the minimum at -inf, the maximum at inf.

    Returns
    -------
    ndarray of float64, the broadcast shape
        With a zero among a, b: 0 for q <= 0, and 2^(-1/q) times the other for q > 0.

    Raises
    ------
    ValueError
        If an a or b is negative.

    Examples
    --------
    >>> power_mean(1.0, 4.0, [-np.inf, -1.0, 0.0, 1.0, np.inf])
    array([1. , 1.6, 2. , 2.5, 4. ])
    """
    x, y, power = _non_negative("a", a), _non_negative("b", b), np.asarray(q, np.float64)
    low, high = np.minimum(x, y), np.maximum(x, y)
    with limits():
        distance = -log_ratio(low, high)
        gap, middle = -np.abs(power) * distance, np.sqrt(low) * np.sqrt(high)
        # M_q is the larger argument times a factor for q > 0, the smaller one times a factor for q < 0; where
        # both are far from it, the geometric mean times cosh(q distance / 2)^(1/q).
        mean = np.where(power > 0, high, low) * np.exp(log_half(gap) / power)
        far = (gap > -1) & (distance > 4)
        mean = np.where(far, middle * np.exp(np.log1p(2.0 * np.sinh(gap / 4.0) ** 2) / power), mean)
        # Beside 1 the factor is nothing there, and the gap, perhaps subnormal, has few digits.
        near = (power == 0) | (gap > -1e-19)
        mean = np.where(near, np.where(low == high, low, middle), mean)
        mean = np.where(np.isinf(power), np.where(power > 0, high, low), mean)
        mean = np.where(np.isinf(low) | (np.isinf(high) & (power > 0)), np.inf, mean)
        return np.where((high == 0) | ((low == 0) & (power <= 0)), 0.0, mean)


def tanh_t(z: ArrayLike, t: ArrayLike) -> Array:
    """Tempered hyperbolic tangent (1 - exp_t(-2z)) / (1 + exp_t(-2z)), section 5; odd only at t = 1.

    Parameters
    ----------
    z, t : array-like of float, broadcast together

    Returns
    -------
    ndarray of float64 in [-1, 1], the broadcast shape
        -1 where exp_t(-2z) is infinite.

    Examples
    --------
    >>> tanh_t([-1.0, 0.0, 1.0], t=0.5)
    array([-0.6,  0. ,  1. ])
    """
    with limits():
        # exp_t(-2z) in a base of twice the size: log exp_t(-2z) = -2 log(1 - 2 s z) / (-2 s).
        return np.asarray(np.tanh(log_exp_t(z, -2.0 * (1.0 - np.asarray(t, np.float64)))))


def log_exp_t(z: ArrayLike, s: ArrayLike) -> Array:
    """Return log exp_t(z) = log([1 + s z]_+) / s for s = 1-t, z at s = 0.

    Parameters
    ----------
    z, s : array-like of float, broadcast together

    Returns
    -------
    ndarray of float64, the broadcast shape
        -inf at and below the clamp of s > 0, inf at and above the pole of s < 0.

    Examples
    --------
    >>> log_exp_t([-2.0, 0.0, 2.0], 0.5).round(6)
    array([    -inf, 0.      , 1.386294])
    """
    x, rate = np.asarray(z, np.float64), np.asarray(s, np.float64)
    with limits():
        rise = rate * x
        # At and past the clamp log1p gives -inf, and the sign of s turns it into the right one of the limits.
        log_base = np.log1p(np.maximum(rise, -1.0))
        log_base = np.where(rise == np.inf, np.log(np.abs(rate)) + np.log(np.abs(x)), log_base)
        # A rise below rounding is z itself: as a product with a small s it may be subnormal, with few digits.
        return np.where((rate == 0) | (np.abs(rise) < 1e-17), x, log_base / rate)


def log_half(x: ArrayLike) -> Array:
    """Return log((1 + e^x) / 2) without cancellation at x = 0 or overflow: the log of a power mean.

    Parameters
    ----------
    x : array-like of float

    Returns
    -------
    ndarray of float64

    Examples
    --------
    >>> log_half([0.0, 1e-20, 1000.0]).round(6)
    array([  0.      ,   0.      , 999.306853])
    """
    z = np.asarray(x, np.float64)
    with limits():
        return np.where(z > 30, z - np.log(2.0) + np.log1p(np.exp(-z)), np.log1p(np.expm1(z) / 2.0))


def log_ratio(a: ArrayLike, b: ArrayLike) -> Array:
    """Return log(a / b) for a, b >= 0, exact to rounding near a = b and free of overflow.

    Parameters
    ----------
    a, b : array-like of float, broadcast together

    Returns
    -------
    ndarray of float64, the broadcast shape
        inf for b = 0, -inf for a = 0, NaN when both are 0 or infinite.

    Examples
    --------
    >>> log_ratio([1e300, 2.0, 0.0], [1e-300, 2.0, 1.0]).round(6)
    array([1381.551056,    0.      ,        -inf])
    """
    x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)
    with limits():
        ratio = x / y
        near = (ratio > 0.5) & (ratio < 2.0)  # there a - b is exact, the ratio is not
        extreme = (ratio < 1e-300) | (ratio > 1e300)
        far = np.where(extreme, np.log(x) - np.log(y), np.log(ratio))
        return np.where(near, np.log1p((x - y) / y), far)


def _log_product(x: Array, y: Array) -> Array:
    """Return log(x y), exact to rounding near x y = 1; without overflow or underflow."""
    product = x * y
    return np.where((product > 1e-300) & (product < 1e300), np.log(product), np.log(x) + np.log(y))


def _non_negative(name: str, value: ArrayLike) -> Array:
    x = np.asarray(value, np.float64)
    if np.any(x < 0):
        raise ValueError(f"{name} must be >= 0, got {x[x < 0].flat[0]}")
    return x
