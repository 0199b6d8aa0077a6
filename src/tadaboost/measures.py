# SPDX-License-Identifier: Apache-2.0
"""Tempered exponential measures on the co-simplex: relative entropy (2), projection (3)-(7), clipped sums.

A measure q >= 0 is on the co-simplex when sum n_i q_i^(2-t) = 1; n_i is the multiplicity of row i, 1 unless
said otherwise. Rows lie along the last axis. Weights are carried as log q, the one form that stays exact as
rows approach the clamp (t < 1) or the pole (t > 1) of exp_t.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import logsumexp

from tadaboost.calculus import Array, limits, log_exp_t, log_t, star

# A row of the exact projection counts as switched off when its weight^(1-t) falls by all but this fraction:
# the root mu carries a few rounding errors, so a row that is exactly 0 on paper lands this close to it.
_SWITCH_OFF = 4e-15
# An edge this small beside the sum of its terms' sizes is their rounding error.
_NO_EDGE = 1e-15


class Projection(NamedTuple):
    """Result of `project`.

    Attributes
    ----------
    mu : float
        Multiplier of equation (4).
    Z : float
        Its normaliser (7), in (0, 1]; 0 when there is no solution.
    q : ndarray of float64, shape (rows,)
        The new measure, on the co-simplex; NaN when there is no solution.
    status : {"ok", "flat", "none"}
        "flat": u has one sign and zeros with mass. For t < 1 every mu beyond the one given leads to the same
        q; for t >= 1 mu is infinite and q the limit. "none": u has one sign on all rows with mass; Z -> 0.

    Examples
    --------
    >>> [project([0.6, 0.8], u, t=0.0).status for u in ([1.0, -1.0], [1.0, 0.0], [1.0, 1.0])]
    ['ok', 'flat', 'none']
    """

    mu: float
    Z: float
    q: Array
    status: Literal["ok", "flat", "none"]


def codensity(q: ArrayLike, t: ArrayLike) -> Array:
    """Co-density p = q^(2-t): the probability vector that belongs to a co-simplex measure.

    Parameters
    ----------
    q, t : array-like of float, broadcast together
        Weights >= 0 and temperature < 2.

    Returns
    -------
    ndarray of float64, the broadcast shape

    Raises
    ------
    ValueError
        If a weight is negative.

    Examples
    --------
    >>> codensity([0.6, 0.8], t=0.0)
    array([0.36, 0.64])
    """
    weight = np.asarray(q, np.float64)  # NaN stays NaN: `project` gives it where there is no measure
    if np.any(weight < 0):
        raise ValueError(f"q must be >= 0, got {weight[weight < 0].flat[0]}")
    with limits():
        return np.asarray(np.power(weight, 2.0 - np.asarray(t, np.float64)))


def normalize(q: ArrayLike, t: ArrayLike, n: ArrayLike | None = None) -> Array:
    """Scale positive weights onto the co-simplex: q / (sum n q^(2-t))^(t*).

    Parameters
    ----------
    q : array-like of float, shape (..., rows)
        Weights >= 0.
    t : array-like of float, broadcast with the leading axes of q
        Temperature < 2.
    n : array-like of float, broadcast with q, optional
        Multiplicities >= 0; ones by default.

    Returns
    -------
    ndarray of float64, the shape of q

    Raises
    ------
    ValueError
        If a weight or multiplicity is negative, or a measure has no mass.

    Examples
    --------
    >>> normalize([3.0, 4.0], t=0.0)
    array([0.6, 0.8])
    """
    weight, tt = _rows("q", q), _column(t)
    with limits():
        return _on_the_co_simplex(np.log(weight), tt, np.ones_like(weight) if n is None else _rows("n", n))


def natural(q: ArrayLike, t: ArrayLike) -> Array:
    """Natural parameters theta_i = log_t(q_i / q_last) of a discrete co-simplex measure, Lemma A.

    Parameters
    ----------
    q : array-like of float, shape (..., rows)
        A co-simplex measure whose last weight is positive.
    t : array-like of float, broadcast with the leading axes of q
        Temperature < 2.

    Returns
    -------
    ndarray of float64, shape (..., rows - 1)
        `from_natural` is the way back.

    Raises
    ------
    ValueError
        If a weight is negative or a last one is 0.

    Examples
    --------
    >>> natural([0.6, 0.8], t=0.0)
    array([-0.25])
    """
    weight = _rows("q", q)
    if np.any(weight[..., -1] == 0):
        raise ValueError("q: the last weight is the base of the parameters and must be > 0")
    return log_t(weight[..., :-1] / weight[..., -1:], _column(t))


def cumulant(theta: ArrayLike, t: ArrayLike) -> Array:
    """Cumulant G_t(theta) = (log_t)*(sum_i (exp_t)*(theta_i)) of Definition A and Lemma A.

    The conjugates: (log_t)*(z) = t* log_{t*}(z/t*), (exp_t)*(z) = t* exp_{t*}(z/t*) = t* exp_t(z)^(2-t). The
    sum includes the base row, whose parameter is 0. It equals log_t(1 / q_last).

    Parameters
    ----------
    theta : array-like of float, shape (..., rows - 1)
        Natural parameters.
    t : array-like of float, broadcast with the leading axes of theta
        Temperature < 2.

    Returns
    -------
    ndarray of float64, shape (...)

    Examples
    --------
    >>> cumulant([-0.25], t=0.0).round(12)
    np.float64(0.25)
    """
    s = 1.0 - np.asarray(t, np.float64)
    with limits():
        log_p = (2.0 - _column(t)) * log_exp_t(theta, 1.0 - _column(t))
        top = np.max(log_p, axis=-1, initial=0.0)
        others = np.sum(np.exp(log_p - top[..., None]), axis=-1)
        # The base row is a 1: beside it small weights keep their digits, and large ones do not overflow.
        log_mass = np.where(top > 0, top + np.log(np.exp(-top) + others), np.log1p(others))
        log_z = star(t) * np.where(top == np.inf, np.inf, log_mass)
        return np.where(s == 0, log_z, np.expm1(s * log_z) / s)


def from_natural(theta: ArrayLike, t: ArrayLike) -> Array:
    """Return the measure exp_t(theta) / exp_t(G) = exp_t(theta (-)_t G) of natural parameters, Definition A.

    Parameters
    ----------
    theta : array-like of float, shape (..., rows - 1)
        Natural parameters; the base row, with parameter 0, is added last.
    t : array-like of float, broadcast with the leading axes of theta
        Temperature < 2.

    Returns
    -------
    ndarray of float64, shape (..., rows)

    Examples
    --------
    >>> from_natural([-0.25], t=0.0).round(12)
    array([0.6, 0.8])
    """
    parameters = np.asarray(theta, np.float64)
    full = np.concatenate([parameters, np.zeros_like(parameters[..., :1])], axis=-1)
    # exp_t(G) is the norm (sum exp_t^(2-t))^(t*); G itself has no digits left near its pole at t > 1.
    log_q = log_exp_t(full, 1.0 - _column(t))
    return _on_the_co_simplex(log_q, _column(t), np.ones_like(log_q))


def relative_entropy(q1: ArrayLike, q2: ArrayLike, t: ArrayLike) -> Array:
    """Tempered relative entropy D_t(q1 || q2), equation (2), of measures (not of their co-densities).

    sum_i q1_i (log_t q1_i - log_t q2_i) - log_{t-1} q1_i + log_{t-1} q2_i: a Bregman divergence, hence >= 0.

    Parameters
    ----------
    q1, q2 : array-like of float, shape (..., rows), broadcast together
        Weights >= 0.
    t : array-like of float, broadcast with the leading axes
        Temperature < 2.

    Returns
    -------
    ndarray of float64, shape (...)
        Infinite for t >= 1 where q2 has a zero that q1 has not.

    Raises
    ------
    ValueError
        If a weight is negative.

    Examples
    --------
    >>> relative_entropy([0.6, 0.8], [0.8, 0.6], t=0.0).round(12)
    np.float64(0.04)
    """
    a, b, tt = _rows("q1", q1), _rows("q2", q2), _column(t)
    with limits():
        # The larger weight^(2-t) times the divergence of the ratio, at most 1, and 1: the logs of a and b
        # alone would cancel near a = b, and powers of a large ratio overflow.
        ratio = np.where(a == b, 1.0, np.minimum(a, b) / np.maximum(a, b))
        slope, height = log_t(ratio, tt), log_t(ratio, tt - 1.0)
        fall = np.where(ratio == 0, 0.0, ratio * slope) - height
        terms = np.maximum(a, b) ** (2.0 - tt) * np.where(a > b, height - slope, fall)
        return np.asarray(np.sum(terms, axis=-1))


def project(q: ArrayLike, u: ArrayLike, t: float, n: ArrayLike | None = None) -> Projection:
    """Nearest co-simplex measure with zero edge: argmin D_t(q~ || q) over sum n q~ u = 0, equations (3)-(7).

    The solution is [q^(1-t) - (1-t) mu u]_+^(1/(1-t)) / Z with the mu that makes the edge 0, unique at any t.

    Parameters
    ----------
    q : array-like of float, shape (rows,)
        Weights >= 0, on the co-simplex. At t < 1 a weight of 0 can become positive, at t >= 1 it cannot.
    u : array-like of float, shape (rows,)
        Edges y h(x), finite.
    t : float
        Temperature < 2.
    n : array-like of float, shape (rows,), optional
        Multiplicities >= 0; ones by default.

    Returns
    -------
    Projection

    Raises
    ------
    ValueError
        If t is not finite and < 2, shapes differ, or a value is out of its range.

    Examples
    --------
    >>> mu, Z, q, status = project([0.5, 0.5, 0.5, 0.5], [1.0, 1.0, 1.0, -1.0], t=0.0)
    >>> status, round(mu, 12), q.round(4)
    ('ok', 0.25, array([0.2887, 0.2887, 0.2887, 0.866 ]))
    """
    check_temperature(t)
    weight, edge = _rows("q", q), np.asarray(u, np.float64)
    count = np.ones_like(weight) if n is None else _rows("n", n)
    if weight.ndim != 1 or not weight.shape == edge.shape == count.shape:
        shapes = f"{weight.shape}, {edge.shape}, {count.shape}"
        raise ValueError(f"q, u and n must be one-dimensional and equally long, got shapes {shapes}")
    if not np.all(np.isfinite(edge)):
        raise ValueError(f"u must be finite, got {edge[~np.isfinite(edge)][0]}")
    with limits():
        log_q = np.log(weight)
    mu, status, log_new = solve_projection(log_q, edge, t, count)
    log_mass = log_power_sum(log_new, t, count)
    if status == "none":
        return Projection(mu, 0.0, np.full_like(weight, np.nan), status)
    log_z = float(star(t)) * log_mass
    with limits():  # a row of multiplicity 0 has no part in Z, and no bound
        return Projection(mu, float(np.exp(log_z)), np.exp(log_new - log_z), status)


def clipped_sum(
    v: ArrayLike, delta: ArrayLike, axis: int = 0, side: Literal["both", "upper", "lower"] = "both"
) -> Array:
    """Sum with the running total clipped to [-delta, delta] after each summand: section 5 and II.2.1.

    The order of the summands matters. With one side only, the sums of Lemma D: upper <= sum <= lower.

    Parameters
    ----------
    v : array-like of float
        Summands.
    delta : array-like of float >= 0, broadcast with one summand
        1/(1-t) in the paper; inf gives the plain sum.
    axis : int
        The axis that is summed over, in order.
    side : {"both", "upper", "lower"}
        Which ends are clipped.

    Returns
    -------
    ndarray of float64, the shape of v without `axis`

    Raises
    ------
    ValueError
        If delta is negative or side unknown.

    Examples
    --------
    >>> clipped_sum([-1.0, 3.0], 2.0), clipped_sum([3.0, -1.0], 2.0)
    (array(2.), array(1.))
    """
    if side not in ("both", "upper", "lower"):
        raise ValueError(f"side must be 'both', 'upper' or 'lower', got {side!r}")
    bound = _rows("delta", delta)
    low = -bound if side != "upper" else -np.inf
    high = bound if side != "lower" else np.inf
    summands = np.moveaxis(np.asarray(v, np.float64), axis, 0)
    total = np.zeros(np.broadcast_shapes(summands.shape[1:], bound.shape))
    for term in summands:
        total = np.asarray(np.clip(total + term, low, high))
    return total


def tilt(log_q: Array, u: Array, mu: float, t: float) -> Array:
    """Unnormalised weights of (4), log exp_t(log_t q - mu u) = log [q^(1-t) - (1-t) mu u]_+^(1/(1-t)).

    Parameters
    ----------
    log_q, u : ndarray of float64, broadcast together
        Logs of the weights, -inf for a row that is off, and finite edges.
    mu, t : float
        A finite step and temperature < 2.

    Returns
    -------
    ndarray of float64
        -inf for a row that is off; at t < 1 a step of the right sign switches a row back on.

    Examples
    --------
    >>> np.exp(tilt(np.log([1.0, 1.0, 1.0]), np.array([1.0, 0.0, -1.0]), mu=1.0, t=0.0))
    array([0., 1., 2.])
    """
    s = 1.0 - t
    if s == 0:
        return log_q - mu * u
    with limits():
        grip = np.exp(-s * log_q)
        push = -s * mu * u
        ratio = push * grip
        # The larger of q^(1-t) and the push factored out: log1p keeps the digits of a small step and of a
        # weight close to its clamp, and a weight that comes from nearly nothing has those of the push.
        up = (np.log(np.maximum(push, 0.0)) + np.log1p(1.0 / ratio)) / s
        new = np.where(ratio > 1, up, log_q + np.log1p(np.clip(ratio, -1.0, 1.0)) / s)
        return np.where(push == 0, log_q, new)


def solve_projection(
    log_q: Array, u: Array, t: float, n: Array
) -> tuple[float, Literal["ok", "flat", "none"], Array]:
    """Solve (6) for mu on log weights of any scale; the work behind `project`, without its checks.

    Parameters
    ----------
    log_q, u, n : ndarray of float64, shape (rows,)
        Logs of the weights, edges, multiplicities.
    t : float
        Temperature < 2.

    Returns
    -------
    mu : float
    status : {"ok", "flat", "none"}
    log_new : ndarray of float64, shape (rows,)
        Logs of the unnormalised new weights.
    """
    s = 1.0 - t
    live = (n > 0) & ((log_q > -np.inf) | (s > 0))
    positive, negative = bool(np.any(u[live] > 0)), bool(np.any(u[live] < 0))
    if positive and negative:
        # Rows without an edge keep their weight, beside which those of the others may underflow.
        edged = live & (u != 0)
        # In units of the largest of these: its (1-t)-th power may be beyond all numbers.
        unit = float(np.max(log_q[edged]))
        unit = unit if np.isfinite(unit) else 0.0
        mu = _zero_edge(log_q[edged] - unit, u[edged], t, n[edged])
        log_new = np.where(u == 0, log_q, tilt(log_q - unit, u, mu, t) + unit)
        with limits():
            spent = (log_new - log_q) * s < np.log(_SWITCH_OFF)
            return mu * float(np.exp(s * unit)), "ok", np.where(spent & (s > 0), -np.inf, log_new)
    if not positive and not negative:
        return 0.0, "ok", log_q
    end = np.inf
    if s > 0:
        slope = _slope(log_q, u, s)[live & (u != 0)]
        end = float(np.max(1.0 / (s * slope)))
    kept = np.where(u == 0, log_q, -np.inf)
    empty = not np.any(live & (kept > -np.inf))
    return end if positive else -end, "none" if empty else "flat", kept


def log_power_sum(log_q: Array, t: float, n: Array) -> float:
    """Log of sum n q^(2-t): (2-t) log Z of unnormalised weights, -inf when all are off.

    Examples
    --------
    >>> log_power_sum(np.array([0.0, -np.inf]), 0.5, np.array([1.0, 1.0]))
    0.0
    """
    return float(logsumexp((2.0 - t) * log_q, b=n))


def check_temperature(t: float) -> None:
    """Refuse a temperature that is not finite and below 2.

    Examples
    --------
    >>> check_temperature(2.0)
    Traceback (most recent call last):
    ValueError: t must be finite and < 2, got 2.0
    """
    if not -np.inf < t < 2:
        raise ValueError(f"t must be finite and < 2, got {t}")


def _zero_edge(log_q: Array, u: Array, t: float, n: Array) -> float:
    """Root of the edge g(mu) = sum n e(mu) u, which decreases; both signs of u are present."""
    log_n = np.log(n)

    def edge(mu: float) -> float:
        """Edge at mu over the largest term of its sum; exactly 0 where it is rounding."""
        log_e = tilt(log_q, u, mu, t) + log_n
        top = np.max(log_e)
        if (
            top == -np.inf
        ):  # by rounding, at the end of a bracket; or before it all, and then nothing need move
            return 0.0
        terms = np.exp(log_e - top) * u
        total = float(np.sum(terms))
        # Rounding noise is no edge: a step on it would switch rows that are off on, with noise as weight.
        return total if abs(total) > _NO_EDGE * np.sum(np.abs(terms)) else 0.0

    at_zero = edge(0.0)
    if at_zero == 0.0:
        return 0.0
    # The case of a negative root is the other one seen in a mirror.
    sign = 1.0 if at_zero > 0 else -1.0
    low, high = _bracket(lambda x: sign * edge(sign * x), _slope(log_q, u, 1.0 - t), sign * u, 1.0 - t)
    if low == high:
        return sign * low
    # Below t = 0 a row that is off comes back so steeply that the root may be anywhere above 0.
    least = np.finfo(float).tiny
    root = brentq(lambda x: edge(sign * x), low, high, xtol=least, rtol=4 * np.finfo(float).eps, maxiter=2000)
    return sign * float(root)


def _bracket(edge: Callable[[float], float], slope: Array, u: Array, s: float) -> tuple[float, float]:
    """Interval on which a positive, decreasing edge crosses 0."""
    scale = 1.0 / float(np.max(slope[np.isfinite(slope)]))
    # At t > 1 the first row of negative u becomes infinite at the cap, which is beyond the scale.
    cap = 1.0 / (-s * float(np.max(slope[u < 0]))) if s < 0 else np.inf
    low, high = 0.0, scale
    while edge(high) > 0:
        low, high = high, min(2 * high, (high + cap) / 2)
        if low == high:
            break
    return low, high


def _slope(log_q: Array, u: Array, s: float) -> Array:
    """|u| / q^(1-t): how fast a step moves a weight, relatively; not finite where q = 0 at t < 1."""
    with limits():
        return np.abs(u) * np.exp(-s * log_q)


def _on_the_co_simplex(log_q: Array, t: Array, n: Array) -> Array:
    """Return the measure whose logarithms are log_q up to one constant a row, with co-densities of sum 1."""
    with limits():
        mass = logsumexp((2.0 - t) * log_q, b=n, axis=-1, keepdims=True)
        if np.any(mass == -np.inf):
            raise ValueError("q has no mass: at least one weight with n > 0 must be > 0")
        return np.asarray(np.exp(log_q - star(t) * mass))


def _rows(name: str, value: ArrayLike) -> Array:
    x = np.asarray(value, np.float64)
    if np.any(~(x >= 0)):
        raise ValueError(f"{name} must be >= 0, got {x[~(x >= 0)].flat[0]}")
    return x


def _column(t: ArrayLike) -> NDArray[np.float64]:
    """Give the leading axes of a measure a place for its rows."""
    return np.asarray(t, np.float64)[..., None]
