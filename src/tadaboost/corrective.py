# SPDX-License-Identifier: Apache-2.0
"""Totally corrective steps: all coefficients so far chosen anew, so that every past edge is zero.

The coefficients minimise L(alpha) = sum omega_i exp_t^(2-t)(-S_i), S = sum_k alpha_k u_k, which is convex at
every t < 2. Its slope is -(2-t) sum omega e u_k with e = exp_t(-S), so at the minimum all edges vanish: e is,
up to its norm, the projection (3) of the first measure onto the intersection of all {sum n q u_k = 0}.

S is the plain sum: no order of the rounds, nothing clipped on the way. It is never below the sum clipped from
above (Lemma D), so L is never above the loss that steps one by one, with the same hypotheses, can reach.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lstsq

from tadaboost.calculus import Array, limits

# Edges count as zero at the start below this share of sum omega e max |u|; at the end below a tenth of it, so
# that a solution stays one when it is the start of the next.
NO_EDGE = 1e-12
# What a margin must be beyond, beside the sum of its terms' sizes, to be more than their rounding.
_NO_MARGIN = 1e-12
_MOST_STEPS = 200
_UNDERFLOW = 750.0  # exp(-750) is 0


class Correction(NamedTuple):
    """Result of `correct`.

    Attributes
    ----------
    alpha : ndarray of float64, shape (rounds,)
        Coefficients; with status "none" at t = 1, where they are infinite, so large that exp(-S) rounds to 0.
    log_e : ndarray of float64, shape (rows,)
        Log weights log exp_t(-S) in m-free units, -inf for rows that are off.
    status : {"ok", "none"}
        "none": some coefficients classify every row, and no weight is left.
    """

    alpha: Array
    log_e: Array
    status: Literal["ok", "none"]


def correct(U: Array, omega: Array, t: float, start: Array, margin: float = 0.0) -> Correction:
    """Minimise the tempered exponential loss of the plain sum over all coefficients, by damped Newton steps.

    Parameters
    ----------
    U : ndarray of float64, shape (rounds, rows)
        Edges y h_k(x), finite.
    omega : ndarray of float64, shape (rows,)
        Shares of the rows, > 0.
    t : float
        Temperature in [0, 1]: below 0 the curvature has no bound.
    start : ndarray of float64, shape (rounds,)
        Where to start; the fewer edges are not zero there the better.
    margin : float in [0, 1)
        Charge on each |alpha_k| max |u_k|: S = sum_k alpha_k u_k - margin sum_k |alpha_k| max |u_k|. No mean
        edge over max |u_k| then exceeds it; where alpha_k is not 0 they are equal.

    Returns
    -------
    Correction
        Where coefficients are not unique (repeated or abstaining hypotheses), those that the shortest steps
        from `start` lead to; weights and loss are unique.

    Examples
    --------
    >>> U = np.array([[1.0, 1.0, 1.0, -1.0], [1.0, 1.0, -1.0, 1.0]])
    >>> found = correct(U, np.full(4, 0.25), 0.0, np.zeros(2))
    >>> found.alpha.round(6), np.exp(found.log_e).round(6), found.status
    (array([0.5, 0.5]), array([0., 0., 1., 1.]), 'ok')
    """
    size = np.max(np.abs(U), axis=1)
    scale = np.where(size > 0, size, 1.0)
    columns, alpha = U / scale[:, None], start * scale
    if margin > 0:  # |alpha| is smooth in its two parts, both >= 0
        columns = np.concatenate([columns, -columns]) - margin
        alpha = np.concatenate([np.maximum(alpha, 0.0), np.maximum(-alpha, 0.0)])
    alpha, log_e, status = _minimise(columns, omega, t, alpha, positive=margin > 0)
    if margin > 0:
        alpha = alpha[: len(U)] - alpha[len(U) :]
    return Correction(alpha / scale, log_e, status)


def log_weights(S: Array, t: float) -> Array:
    """Log of exp_t(-S) for t <= 1, -inf where S >= 1/(1-t).

    Examples
    --------
    >>> log_weights(np.array([-1.0, 1.0]), 1.0), log_weights(np.array([2.0]), 0.5)
    (array([ 1., -1.]), array([-inf]))
    """
    s = 1.0 - t
    if s == 0:
        return -S
    with limits():
        return np.log1p(np.maximum(-s * S, -1.0)) / s


def _minimise(
    U: Array, omega: Array, t: float, alpha: Array, positive: bool
) -> tuple[Array, Array, Literal["ok", "none"]]:
    """Minimise over all alpha, or over those >= 0; edges are of size 1."""
    tolerance = NO_EDGE
    for _ in range(_MOST_STEPS):
        S = alpha @ U
        if np.all(_NO_MARGIN * (np.abs(alpha) @ np.abs(U)) < S):
            # alpha separates the rows: farther along it each of them reaches its clamp.
            clamp = _UNDERFLOW if t == 1 else min(1.0 / (1.0 - t), _UNDERFLOW)
            far = max(1.0, clamp / float(np.min(S)))
            return far * alpha, np.full_like(S, -np.inf), "none"
        log_e = log_weights(S, t)
        top = float(np.max(log_e))
        q = omega * np.exp(log_e - top)
        edge = U @ q
        open_edge = np.where((alpha > 0) | (not positive), np.abs(edge), edge)
        if np.max(open_edge) <= tolerance * np.sum(q):
            break
        tolerance = 0.1 * NO_EDGE
        direction = _newton(U, omega, log_e, t, alpha if positive else None)
        fall = float(direction @ edge)
        if fall <= 0.0:  # nothing but rounding is left of the slope
            break
        alpha = alpha + direction * _length(S, direction @ U, omega, t, top, fall)
    return alpha, log_weights(alpha @ U, t), "ok"


def _newton(U: Array, omega: Array, log_e: Array, t: float, positive: Array | None) -> Array:
    """Newton's step: the least-squares fit of e^(1-t) by the edges, with weights omega e^t.

    As a fit it needs no normal equations, which would lose half the digits, and it is the shortest one where
    hypotheses repeat each other on the rows that are on. From coefficients that must stay `positive` it is
    the fit among those that do.
    """
    on = log_e > -np.inf
    root = np.sqrt(omega[on]) * np.exp(0.5 * t * (log_e[on] - np.max(log_e)))
    target = root * np.exp((1.0 - t) * log_e[on])
    matrix = U[:, on].T * root[:, None]
    if positive is None:
        return _fit(matrix, target)
    return _positive_fit(matrix, target + matrix @ positive, positive) - positive


def _fit(matrix: Array, target: Array) -> Array:
    solution, *_ = lstsq(matrix, target, cond=1e-13, lapack_driver="gelsy")
    return np.asarray(solution, np.float64)


def _positive_fit(matrix: Array, target: Array, start: Array) -> Array:
    """Least squares among coefficients >= 0, by the active sets of Lawson and Hanson from a warm start.

    Not `scipy.optimize.nnls`, whose normal equations lose half the digits.
    """
    best, used = start.copy(), start > 0
    rounding = 1e-14 * np.linalg.norm(matrix, axis=0) * np.linalg.norm(target)
    for _ in range(10 * len(start)):
        while used.any():
            free = np.zeros_like(best)
            free[used] = _fit(matrix[:, used], target)
            blocked = used & (free <= 0)
            if not blocked.any():
                best = free
                break
            best = _until_one_is_0(best, free, blocked)
            used &= best > 0
        pull = np.where(used, -np.inf, matrix.T @ (target - matrix @ best) - rounding)
        if np.max(pull) <= 0:
            break
        used[np.argmax(pull)] = True
    return best


def _until_one_is_0(best: Array, free: Array, blocked: NDArray[np.bool_]) -> Array:
    """Go from `best` towards `free` until one of the blocked, which are > 0 in `best` only, is 0."""
    share = np.full_like(best, np.inf)
    share[blocked] = best[blocked] / (best[blocked] - free[blocked])
    first = np.argmin(share)
    point: Array = best + share[first] * (free - best)
    point[first] = 0.0  # not nearly
    return point


def _length(S: Array, change: Array, omega: Array, t: float, top: float, fall: float) -> float:
    """Halve a step until the loss, which falls at its start, does not rise as steeply at its end.

    Slopes, here in weights of e^top, resolve what losses round away.
    """
    length = 1.0
    with limits():
        while -((omega * np.exp(log_weights(S + length * change, t) - top)) @ change) > 0.9 * fall:
            length *= 0.5
    return length
