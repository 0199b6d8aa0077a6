# SPDX-License-Identifier: Apache-2.0
"""Algorithm 1 on given outputs of weak hypotheses, and its step rules on a handful of numbers.

The step rules (`normalised_edge`, `closed_step`, `bound_factor`) see sums over rows, never rows. They are
homogeneous: they may be fed with the weights q_i of the paper (and multiplicities n_i), or with the m-free
weights e_i = exp_t(-S_i) of the margins S_i so far (and omega_i = n_i / sum n): a constant factor apart.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tadaboost.calculus import Array, limits, star
from tadaboost.corrective import NO_EDGE, correct, log_weights
from tadaboost.losses import k_t, mu_closed
from tadaboost.measures import check_temperature, clipped_sum, log_power_sum, solve_projection, tilt

_ALMOST_ONE = (
    1.0 - 4e-16
)  # an edge this close to 1 is 1 and rounding; else t < 1 would renormalise the rounding

Leveraging = Literal["closed", "exact", "unit", "corrective"]


def normalised_edge(
    edge_on: float, total: float, A: float, off_edge: float, max_off: float, mass_off: float, t: float
) -> tuple[float, float]:
    """Normalised edge rho of equation (10), and the stand-in weight of the rows that are off.

    Parameters
    ----------
    edge_on : float
        sum omega_i e_i u_i over rows that are on.
    total : float
        sum omega_i e_i^(2-t), which is > 0: in m-free weights the loss so far.
    A : float
        max |u_i| / e_i^(1-t) over rows that are on; 0 for a hypothesis that abstains on all of them.
    off_edge, max_off, mass_off : float
        sum omega_i u_i, max |u_i| and sum omega_i over the rows that are off; 0 without such rows.
    t : float
        Temperature < 2.

    Returns
    -------
    rho : float
        In [-1, 1]; 0 when A = 0. Within 4e-16 of +-1 it is +-1.
    e_dagger : float
        Weight (max_off / A)^(1/(1-t)) that (10) lends to the rows that are off; 0 without such rows.

    Examples
    --------
    >>> normalised_edge(0.6, 1.0, 1.0, 0.0, 0.0, 0.0, t=0.5)
    (0.6, 0.0)
    """
    s = 1.0 - t
    if A == 0.0:
        return 0.0, 0.0
    if mass_off == 0.0 or max_off == 0.0 or s <= 0.0:
        scale = A * total  # may underflow, as edge_on then does
        return (_snap(edge_on / scale) if scale > 0.0 else 0.0), 0.0
    log_dagger = (math.log(max_off) - math.log(A)) / s
    e_dagger = math.exp(log_dagger) if log_dagger < 700.0 else math.inf
    if log_dagger <= 0.0:
        rho = (edge_on + e_dagger * off_edge) / (A * (total + mass_off * e_dagger ** (2.0 - t)))
    else:  # the same, divided by e_dagger^(2-t), which overflows as t -> 1
        shrink = math.exp(-(2.0 - t) * log_dagger)
        rho = (edge_on * shrink + off_edge * (A / max_off)) / (A * (total * shrink + mass_off))
    return _snap(rho), e_dagger


def closed_step(rho: float, A: float, t: float) -> float:
    """Step of equation (11), tanh((1-t) atanh rho) / ((1-t) A): alpha in m-free weights, mu in the paper's.

    Parameters
    ----------
    rho, A, t : float
        Normalised edge, its normaliser as in `normalised_edge`, and temperature < 2.

    Returns
    -------
    float
        0 when A = 0; infinite at t = 1 with |rho| = 1.

    Examples
    --------
    >>> closed_step(0.6, 2.0, t=0.0)
    0.3
    """
    return float(mu_closed(rho, A, t))


def bound_factor(rho: float, e_dagger: float, mass_off: float, total: float, t: float) -> float:
    """One round's factor (1 + m_dagger q_dagger^(2-t)) K_t(rho) of the bound (12).

    Parameters
    ----------
    rho, e_dagger : float
        As `normalised_edge` gives them.
    mass_off, total, t : float
        As `normalised_edge` takes them.

    Returns
    -------
    float
        At least Z^(2-t) of the round with the closed or the exact step; above 1 it says nothing.

    Examples
    --------
    >>> bound_factor(0.6, 0.0, 0.0, 1.0, t=1.0)
    0.8
    """
    factor = float(k_t(rho, t))
    if factor == 0.0 or e_dagger == 0.0 or mass_off == 0.0:
        return factor
    log_lent = math.log(mass_off / total) + (2.0 - t) * math.log(e_dagger)
    return factor * (1.0 + math.exp(log_lent)) if log_lent < 700.0 else math.inf


def _times_power(x: float, base: float, exponent: float) -> float:
    """Return x base^exponent; as t -> 2 the power, of t*, may be beyond all numbers, and x may be 0."""
    with limits():
        root = float(np.power(base, exponent / 2.0))
    return x * root * root if x != 0.0 else 0.0


def _snap(rho: float) -> float:
    return rho if abs(rho) <= _ALMOST_ONE else math.copysign(1.0, rho)


class Trajectory(NamedTuple):
    """What Algorithm 1 did: `boost`'s result. An array has an entry a round, a matrix a line a round.

    Attributes
    ----------
    rho, mu, alpha : ndarray of float64, shape (rounds,)
        Normalised edge (10), of shifted edges where `margin` is not 0; step (11), with corrective steps the
        coefficient that the round itself gave h_j, in the unit of (11); coefficient of h_j in the model.
    Z, R, q_dagger : ndarray of float64, shape (rounds,)
        Normaliser (7), normaliser of the edge, weight lent to rows that are off.
    loss, bound : ndarray of float64, shape (rounds,)
        prod Z^(2-t), the mean tempered exponential loss of the one-side clipped margins, and the right side
        of (12), both up to and with the round. `bound` is certified for closed, exact and corrective steps;
        for unit steps it is `loss`. With corrective steps `loss` is that of the plain sums: no certificate
        for `clipped`. With a margin it is that of the shifted margins.
    status : ndarray of str, shape (rounds,)
        "ok", "flat" or "none", as in `measures.Projection`; corrective steps are never "flat".
    off : ndarray of bool, shape (rounds, rows)
        Rows whose weight was 0 before the round.
    q, p : ndarray of float64, shape (rounds, rows)
        Weights and co-density after the round; each line of p sums to 1. NaN after a last step that left no
        weight, or an infinite one.
    score, clipped : ndarray of float64, shape (rows,)
        sum alpha_j h_j, plain and clipped to +-1/|1-t| after each summand; for t > 1 the clipped score has no
        certificate.
    stop_reason : {"rounds", "perfect", "infinite"}
        All outputs used; all weights at 0; a step or weight infinite.

    Examples
    --------
    >>> done = boost([[1.0, -1.0, 1.0, 1.0]], [1, -1, 1, -1], t=0.0)
    >>> done.rho, done.p.shape, done.stop_reason
    (array([0.5]), (1, 4), 'rounds')
    """

    rho: Array
    mu: Array
    alpha: Array
    Z: Array
    R: Array
    q_dagger: Array
    loss: Array
    bound: Array
    status: NDArray[np.str_]
    off: NDArray[np.bool_]
    q: Array
    p: Array
    score: Array
    clipped: Array
    stop_reason: Literal["rounds", "perfect", "infinite"]


class Round(NamedTuple):
    """A line of the trajectory, in the order of its fields."""

    rho: float
    mu: float
    alpha: float
    Z: float
    R: float
    q_dagger: float
    loss: float
    bound: float
    status: str
    off: NDArray[np.bool_]
    q: Array
    p: Array


def boost(
    H: ArrayLike,
    y: ArrayLike,
    t: float,
    sample_weight: ArrayLike | None = None,
    leveraging: Leveraging = "closed",
    margin: float = 0.0,
) -> Trajectory:
    """Run Algorithm 1 on given outputs of any weak hypotheses, with the choices of Theorem 2.

    Parameters
    ----------
    H : array-like of float, shape (rounds, rows)
        H[j, i] = h_j(x_i), finite.
    y : array-like of int, shape (rows,)
        Labels -1 and 1.
    t : float
        Temperature < 2.
    sample_weight : array-like of float, shape (rows,), optional
        Multiplicities >= 0: 3 is three equal rows, 0 an absent row.
    leveraging : {"closed", "exact", "unit", "corrective"}
        The step: (11); the projection (6); alpha = 1; all coefficients so far anew, so that all past edges
        are zero (`corrective.correct`), for t in [0, 1].
    margin : float in [0, 1), default=0
        Margin to reach: where it is not 0, for t in [0, 1], edges are shifted against each hypothesis by
        `margin` times its max |h| over the rows that count. `loss` then bounds the share of rows whose margin
        y sum alpha h / sum |alpha| max |h| is at most `margin`. A hypothesis whose mean edge, over max |h|,
        is no larger gets no coefficient.

    Returns
    -------
    Trajectory
        Shorter than H when a step leaves no weight or is infinite; that step is its last one. With an
        infinite step Z and loss are written as 0, whatever the limit.

    Raises
    ------
    ValueError
        If t is not finite and < 2, or outside [0, 1] with a margin or corrective steps; if shapes differ, or
        a value is out of its range.

    Examples
    --------
    >>> run = boost([[1, 1, 1, 1], [1, 1, -1, 1]], [1, 1, 1, -1], t=0.5)
    >>> run.rho.round(3), run.alpha.round(3), run.loss.round(3)
    (array([ 0.5  , -0.244]), array([ 0.536, -0.181]), array([0.804, 0.752]))
    """
    check_rule(t, leveraging, margin)
    outputs, labels, weight = _checked(H, y, sample_weight)
    counts = weight > 0
    multiplicity = float(np.sum(weight))
    state = State(t, weight[counts] / multiplicity, multiplicity, margin=margin)
    rounds: list[Round] = []
    stop: Literal["rounds", "perfect", "infinite"] = "rounds"
    for h in outputs:
        rounds.append(state.step((h * labels)[counts], leveraging))
        if not math.isfinite(rounds[-1].alpha) or math.isinf(rounds[-1].Z):
            stop = "infinite"
        elif np.isnan(rounds[-1].q).all():  # Z itself may underflow from weights that live on
            stop = "perfect"
        if stop != "rounds":
            break

    def per_row(name: str, fill: float) -> NDArray[np.float64]:
        """Lay a field out by round and row; rows of multiplicity 0, which no round has seen, get `fill`."""
        full = np.full((len(rounds), len(labels)), fill)
        full[:, counts] = np.array([getattr(r, name) for r in rounds]).reshape(
            len(rounds), np.count_nonzero(counts)
        )
        return full

    columns = {name: np.array([getattr(r, name) for r in rounds]) for name in Round._fields[:9]}
    if leveraging == "corrective":
        columns["alpha"] = state.coefficients
    alpha, used = columns["alpha"], outputs[: len(rounds)]
    with limits():
        terms = np.where(used == 0, 0.0, alpha[:, None] * used)
        delta = math.inf if t == 1 else 1.0 / abs(1.0 - t)
        score, clipped = clipped_sum(terms, math.inf), clipped_sum(terms, delta)
    off = per_row("off", 0.0).astype(bool)
    return Trajectory(
        **columns,
        off=off,
        q=per_row("q", 0.0),
        p=per_row("p", 0.0),
        score=score,
        clipped=clipped,
        stop_reason=stop,
    )


class State:
    """Weights of the rows that count, log e_i scaled so that sum omega e^(2-t) = 1, and the log of the loss.

    The paper's weights are q_i = W^(-t*) e_i, W the total multiplicity; its R, mu and alpha follow from the A
    and the step of these by powers of W and of the loss, since every rule here is homogeneous.

    `rate` shrinks the steps; no |alpha h| exceeds `cap` and no log weight, in m-free units, `ceiling`; edges
    are shifted by `margin`. The paper has 1, infinity and 0. `n_capped` counts what the last step cut:
    itself, and weights. Corrective steps keep the `edges` u of all rounds and their `coefficients`.
    """

    def __init__(
        self,
        t: float,
        omega: Array,
        multiplicity: float,
        rate: float = 1.0,
        cap: float = math.inf,
        ceiling: float = math.inf,
        margin: float = 0.0,
    ) -> None:
        self.t, self.rate, self.cap, self.ceiling, self.margin = t, rate, cap, ceiling, margin
        self.omega = omega
        self.multiplicity = multiplicity
        self.log_e = np.zeros_like(omega)
        self.log_loss = 0.0
        self.bound = 1.0
        self.n_capped = 0
        self.edges = np.empty((0, len(omega)))
        self.coefficients = np.zeros(0)

    def step(self, u: Array, leveraging: Leveraging) -> Round:
        """Take one round with the edges u = y h(x), and return what it did."""
        t, s, conjugate = self.t, 1.0 - self.t, float(star(self.t))
        if leveraging == "corrective":
            self.edges = np.vstack([self.edges, u])
        if self.margin > 0.0 or leveraging == "corrective":
            u = self._shifted(u, leveraging)
        with limits():
            grip = np.exp(-s * self.log_e)  # 1 / e^(1-t)
        off = np.isinf(grip)
        on = ~off
        A = float(np.max(np.abs(u[on]) * grip[on], initial=0.0))
        mass_off = float(np.sum(self.omega[off]))
        rho, e_dagger = normalised_edge(
            float(np.sum((self.omega * u * np.exp(self.log_e))[on])),
            float(np.sum((self.omega * np.exp((2.0 - t) * self.log_e))[on])),
            A,
            float(np.sum((self.omega * u)[off])),
            float(np.max(np.abs(u[off]), initial=0.0)),
            mass_off,
            t,
        )
        alpha_scale = math.exp(s * conjugate * self.log_loss)
        step, status, log_new = self._new_weights(u, rho, A, alpha_scale, leveraging)

        # In units of the largest: just above t = 1 a weight may be e^(1e7), whose log has no digits to spare.
        unit = float(np.max(log_new))
        unit = unit if math.isfinite(unit) and math.isfinite(step) else 0.0
        log_rest = log_power_sum(log_new - unit, t, self.omega) if math.isfinite(step) else -math.inf
        log_mass = log_rest + (2.0 - t) * unit
        self.log_loss += log_mass
        self.bound *= bound_factor(rho, e_dagger, mass_off, 1.0, t)
        finite = math.isfinite(log_rest)
        self.log_e = log_new - unit - conjugate * log_rest if finite else np.full_like(u, np.nan)
        loss = float(np.exp(self.log_loss))
        W = self.multiplicity  # the paper's first weights are W^(-t*)
        with limits():
            q = np.exp(self.log_e - conjugate * math.log(W))
        return Round(
            rho=rho,
            mu=_times_power(step, W, -s * conjugate),
            alpha=step * alpha_scale if leveraging != "unit" or self.n_capped else self.rate,
            Z=float(np.exp(conjugate * log_mass)),
            R=_times_power(A, W, s * conjugate),
            q_dagger=_times_power(e_dagger, W, -conjugate),
            loss=loss,
            bound=self.bound if leveraging != "unit" else loss,
            status=status,
            off=off,
            q=q,
            p=self.omega * np.exp((2.0 - t) * self.log_e),
        )

    def _new_weights(
        self, u: Array, rho: float, A: float, alpha_scale: float, leveraging: Leveraging
    ) -> tuple[float, str, Array]:
        """Step, its status, and the logs of the weights it leads to before they are normalised."""
        if leveraging == "corrective":
            return self._correct(alpha_scale)
        if leveraging == "exact":
            full, status, log_new = solve_projection(self.log_e, u, self.t, self.omega)
        else:
            full, status = 1.0 / alpha_scale if leveraging == "unit" else closed_step(rho, A, self.t), "ok"
            # e^(1-t) = |u| / A on every row: all weights vanish, exactly
            vanish = leveraging == "closed" and abs(rho) == 1.0 and self.t <= 1
            log_new = np.full_like(u, -np.inf) if vanish else tilt(self.log_e, u, full, self.t)
        largest = math.inf
        if math.isfinite(self.cap) and np.any(u):
            largest = self.cap / (alpha_scale * float(np.max(np.abs(u))))
        step = min(max(self.rate * full, -largest), largest)
        self.n_capped = int(step != self.rate * full)
        if step != full:
            log_new = tilt(self.log_e, u, step, self.t)
        if math.isfinite(self.ceiling):
            ceiling = self.ceiling - float(star(self.t)) * self.log_loss
            self.n_capped += int(np.count_nonzero(log_new >= ceiling))
            log_new = np.minimum(log_new, ceiling)
        return step, status, log_new

    def _shifted(self, u: Array, leveraging: Leveraging) -> Array:
        """Edges against which a coefficient is charged `margin` for each unit of |alpha| max |u|.

        All 0 where the charge is not worth it: |alpha| has a kink at 0, and 0 is then the best coefficient.
        """
        size = float(np.max(np.abs(u)))
        charge = self.margin * size
        if leveraging == "unit":
            return u - charge
        q = self.omega * np.exp(self.log_e)
        edge = float(np.sum(q * u) / np.sum(q))
        # What a repeated hypothesis has left after a correction is the solver's rounding.
        rounding = NO_EDGE * size if leveraging == "corrective" else 0.0
        return u - math.copysign(charge, edge) if abs(edge) > charge + rounding else np.zeros_like(u)

    def _correct(self, alpha_scale: float) -> tuple[float, str, Array]:
        """`_new_weights` of a corrective step, which moves all coefficients."""
        before = np.append(self.coefficients, 0.0)
        best = correct(self.edges, self.omega, self.t, before, self.margin)
        size = np.max(np.abs(self.edges), axis=1)
        alpha, log_e = best.alpha, best.log_e
        largest = float(np.max(np.abs(alpha) * size))
        self.n_capped = int(largest > self.cap)
        if self.n_capped:
            alpha = alpha * (self.cap / largest)
        if self.n_capped or self.rate != 1.0:
            alpha = before + self.rate * (alpha - before)
            log_e = log_weights(alpha @ self.edges - self.margin * float(np.abs(alpha) @ size), self.t)
        self.coefficients = alpha
        # The weights are those of the sums, not of the last ones: only the loss so far is taken out of them.
        return float(alpha[-1]) / alpha_scale, best.status, log_e - float(star(self.t)) * self.log_loss


def check_rule(t: float, leveraging: str, margin: float) -> None:
    """Refuse a step rule, a margin or a temperature that does not exist, or not together.

    Examples
    --------
    >>> check_rule(1.5, "corrective", 0.0)
    Traceback (most recent call last):
    ValueError: leveraging='corrective' needs t in [0, 1], got t=1.5
    """
    check_temperature(t)
    if leveraging not in ("closed", "exact", "unit", "corrective"):
        raise ValueError(f"leveraging must be 'closed', 'exact', 'unit' or 'corrective', got {leveraging!r}")
    if not 0.0 <= margin < 1.0:
        raise ValueError(f"margin must be in [0, 1), got {margin}")
    road = "leveraging='corrective'" if leveraging == "corrective" else f"margin={margin}"
    if (leveraging == "corrective" or margin > 0.0) and not 0.0 <= t <= 1.0:
        raise ValueError(f"{road} needs t in [0, 1], got t={t}")


def _checked(H: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> tuple[Array, Array, Array]:
    outputs, labels = _real("H", H), _real("y", y)
    if outputs.ndim != 2 or labels.ndim != 1 or outputs.shape[1] != len(labels) or len(labels) == 0:
        shapes = f"{outputs.shape} and {labels.shape}"
        raise ValueError(f"H must be (rounds, rows) and y (rows,) with a row at least, got shapes {shapes}")
    weight = np.ones_like(labels) if sample_weight is None else _real("sample_weight", sample_weight)
    if weight.shape != labels.shape:
        raise ValueError(f"sample_weight must be as long as y ({len(labels)}), got shape {weight.shape}")
    for i in np.flatnonzero(~np.isin(labels, (-1.0, 1.0)))[:1]:
        raise ValueError(f"y[{i}] is {labels[i]}; labels must be -1 or 1")
    for i in np.flatnonzero(~((weight >= 0) & (weight < np.inf)))[:1]:
        raise ValueError(f"sample_weight[{i}] is {weight[i]}; weights must be finite and >= 0")
    for j, i in np.argwhere(~np.isfinite(outputs))[:1]:
        raise ValueError(f"H[{j}, {i}] is {outputs[j, i]}; outputs must be finite")
    if not np.any(weight > 0):
        raise ValueError("sample_weight must have a weight > 0")
    return outputs, labels, weight


def _real(name: str, values: ArrayLike) -> Array:
    if isinstance(values, np.ma.MaskedArray):  # whose values np.asarray would uncover
        values = np.ma.filled(values.astype(np.float64), np.nan)
    array = np.asarray(values)
    if array.dtype.kind == "c":
        raise ValueError(f"{name} holds complex numbers; take their real parts if these are meant")
    return array.astype(np.float64, copy=False)
