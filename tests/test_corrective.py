# SPDX-License-Identifier: Apache-2.0
"""Totally corrective steps and margins, as `boost` takes them on given outputs."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from scipy.optimize import linprog, minimize

from tadaboost import corrective
from tadaboost.boosting import boost
from tadaboost.calculus import log_t, star
from tadaboost.corrective import correct
from tadaboost.losses import tempered_exp_loss
from tadaboost.measures import normalize, relative_entropy

from .pairs import seeds

TEMPERATURES = [0.0, 0.05, 0.3, 0.5, 0.8, 0.999, 1 - 1e-12, 1.0]


def game(seed, rows=24, rounds=5):
    """Real outputs, signs, abstentions, or hypotheses that repeat each other; whole weights, some 0."""
    rng = np.random.default_rng(seed)
    H, y = rng.normal(size=(rounds, rows)), rng.choice([-1, 1], rows)
    if seed % 4 == 1:
        H = np.sign(H)
    if seed % 4 == 2:
        H *= rng.random(H.shape) < 0.5
    if seed % 4 == 3:
        H[-1], H[1] = H[0], -2.0 * H[0]
    weight = rng.integers(0, 4, rows)
    weight[0] = 1
    return H, y, weight


def mean_edges(p, t, u, weight):
    """Edges of the measure with co-density p, over its mass and the size of the hypothesis."""
    q = weight * np.divide(p, weight, out=np.zeros(len(p)), where=weight > 0) ** float(star(t))
    return (u @ q) / (np.abs(u[:, weight > 0]).max(axis=1) * q.sum())


@pytest.mark.parametrize("t", TEMPERATURES)
def test_all_past_edges_are_zero_after_every_round(t):
    for seed in seeds(8):
        H, y, weight = game(seed)
        run = boost(H, y, t, weight, "corrective")
        assert run.stop_reason == "rounds"
        for j in range(len(H)):
            assert np.max(np.abs(mean_edges(run.p[j], t, (H * y)[: j + 1], weight))) <= 1e-12
        margins = run.alpha @ (H * y)
        assert run.loss[-1] == pytest.approx(
            np.average(tempered_exp_loss(margins, t), weights=weight), rel=1e-12
        )
        np.testing.assert_allclose(run.p.sum(axis=1), 1.0, rtol=1e-12)
        np.testing.assert_allclose(run.score, run.alpha @ H, rtol=1e-12, atol=1e-12)


def newton_in_40_digits(U, t):
    """Minimiser of the mean of [1 - (1-t) S]^((2-t)/(1-t)), by Newton steps halved until the loss falls."""
    with mpmath.workdps(40):
        k, m = U.shape
        s = 1 - mpmath.mpf(t)
        u = [[mpmath.mpf(float(x)) for x in line] for line in U]

        def weights(alpha):
            S = [mpmath.fsum(alpha[j] * u[j][i] for j in range(k)) for i in range(m)]
            if s == 0:
                return [mpmath.exp(-x) for x in S]
            return [(1 - s * x) ** (1 / s) if s * x < 1 else mpmath.mpf(0) for x in S]

        def loss(e):
            return mpmath.fsum(x ** (1 + s) for x in e) / m

        alpha = mpmath.matrix(k, 1)
        for _ in range(60):
            e = weights(alpha)
            slope = mpmath.matrix([mpmath.fsum(e[i] * u[j][i] for i in range(m)) for j in range(k)])
            if max(abs(x) for x in slope) < mpmath.mpf(10) ** -30:
                break
            curve = [e[i] ** (1 - s) if e[i] > 0 else 0 for i in range(m)]
            hessian = mpmath.matrix(k, k)
            for a in range(k):
                for b in range(k):
                    hessian[a, b] = mpmath.fsum(curve[i] * u[a][i] * u[b][i] for i in range(m))
            step = mpmath.lu_solve(hessian, slope)
            length = mpmath.mpf(1)
            while loss(weights(alpha + length * step)) > loss(e):
                length /= 2
            alpha += length * step
        return np.array([float(x) for x in alpha]), float(loss(weights(alpha)))


@pytest.mark.parametrize("t", [0.0, 0.3, 0.8, 1.0])
def test_the_coefficients_equal_those_of_40_digits(t):
    for seed in (0, 4):
        H, y, _ = game(seed, rows=14, rounds=3)
        run = boost(H, y, t, leveraging="corrective")
        alpha, loss = newton_in_40_digits(H * y, t)
        np.testing.assert_allclose(run.alpha, alpha, rtol=1e-10, atol=1e-12)
        assert run.loss[-1] == pytest.approx(loss, rel=1e-13)


@pytest.mark.parametrize("margin", [0.0, 0.1])
@pytest.mark.parametrize("t", TEMPERATURES)
def test_the_loss_is_never_above_that_of_single_steps_nor_the_bound(t, margin):
    for seed in seeds(8):
        H, y, weight = game(seed, rows=5 + 3 * seed % 20)
        run = boost(H, y, t, weight, "corrective", margin)
        loss = np.zeros(len(H))  # a run that ends early has no loss left
        loss[: len(run.loss)] = run.loss
        for rule in ("closed", "exact"):
            other = boost(H, y, t, weight, rule, margin)
            single = other.loss[:-1] if other.stop_reason == "infinite" else other.loss
            assert np.all(loss[: len(single)] <= single * (1 + 1e-10) + 1e-300)
        assert np.all(run.loss <= run.bound * (1 + 1e-9))
        assert np.all(np.diff(run.loss) <= 1e-12)
        assert np.average(run.score * y <= 0, weights=weight) <= run.loss[-1] * (1 + 1e-12)


@pytest.mark.parametrize("t", [0.0, 0.4, 0.8, 1.0])
def test_the_measure_is_the_projection_of_the_first_onto_all_edges_zero(t):
    for seed in (0, 1, 4):
        H, y, _ = game(seed, rows=8, rounds=2)
        U, first = H * y, normalize(np.ones(8), t)
        run = boost(H, y, t, leveraging="corrective")
        q = run.q[-1]
        distance = float(relative_entropy(q, first, t))
        assert distance == pytest.approx(
            -float(log_t(run.loss[-1] ** float(star(t)), t)), rel=1e-10
        )  # Lemma B

        def cost(x, first=first):
            return float(relative_entropy(np.maximum(x, 0.0), first, t))

        found = minimize(
            cost, first, method="SLSQP", bounds=[(0, 1)] * 8, options={"maxiter": 500, "ftol": 1e-15},
            constraints=[
                {"type": "eq", "fun": lambda x: np.sum(np.maximum(x, 0) ** (2 - t)) - 1},
                {"type": "eq", "fun": lambda x, U=U: U @ x},
            ],
        )  # fmt: skip
        assert found.fun >= distance - 1e-7
        np.testing.assert_allclose(found.x, q, atol=2e-4)


@pytest.mark.parametrize("t", [0.0, 0.5, 1.0])
def test_one_hypothesis_gets_the_exact_step(t):
    for seed in range(8):
        H, y, weight = game(seed)
        one, exact = (boost(H[:1], y, t, weight, rule) for rule in ("corrective", "exact"))
        for name in ("rho", "mu", "alpha", "Z", "loss", "bound"):
            np.testing.assert_allclose(getattr(one, name), getattr(exact, name), rtol=1e-9)
        np.testing.assert_allclose(one.p, exact.p, rtol=1e-9, atol=1e-13)


def test_at_1_it_is_where_adaboost_ends_that_goes_round_the_same_hypotheses():
    for seed in (0, 1, 2):
        H, y, weight = game(seed, rows=40, rounds=3)
        once = boost(H, y, 1.0, weight, "corrective")
        cyclic = boost(np.tile(H, (120, 1)), y, 1.0, weight, "exact")
        np.testing.assert_allclose(once.alpha, cyclic.alpha.reshape(-1, 3).sum(axis=0), rtol=1e-8)
        np.testing.assert_allclose(once.p[-1], cyclic.p[-1], rtol=1e-8)


def test_single_steps_forget_what_rows_have_beyond_the_clamp_and_may_end_higher():
    # Below 1 the weights of single steps are those of sums clipped on the way (Lemma E).
    higher = 0
    for seed in range(0, 40, 4):
        H, y, _ = game(seed, rows=12, rounds=3)
        once = boost(H, y, 0.0, leveraging="corrective").loss[-1]
        cyclic = boost(np.tile(H, (60, 1)), y, 0.0, leveraging="exact")
        assert once <= cyclic.loss[-1] * (1 + 1e-12)
        if not cyclic.off.any():
            assert cyclic.loss[-1] == pytest.approx(once, rel=1e-6)
        higher += cyclic.loss[-1] > 1.0001 * once
    assert higher > 0


@pytest.mark.parametrize("margin", [0.0, 0.05])
@pytest.mark.parametrize("t", [0.0, 0.5, 1.0])
def test_a_repeated_hypothesis_gets_nothing(t, margin):
    H, y, weight = game(0)
    run = boost(np.vstack([H, 1e-9 * H[:2], -1e9 * H[:1]]), y, t, weight, "corrective", margin)
    np.testing.assert_array_equal(run.alpha[5:], 0.0)
    np.testing.assert_array_equal(run.rho[5:], 0.0)
    np.testing.assert_allclose(run.Z[5:], 1.0, rtol=1e-14)


@pytest.mark.parametrize("margin", [0.0, 0.05])
@pytest.mark.parametrize("t", TEMPERATURES)
def test_hypotheses_that_separate_the_rows_together_end_the_run(t, margin):
    # No one of them does, nor any two of them.
    y = np.array([1, -1, 1, -1, 1])
    H = np.array(
        [[1, 1, 1, -1, -1], [1, -1, -1, -1, 1], [-1, -1, 1, 1, 1], [1, -1, -1, 1, 1], [1, 1, 1, 1, 1]]
    )
    run = boost(H, y, t, None, "corrective", margin)
    assert (run.stop_reason, run.loss[-1], run.status[-1]) == ("perfect", 0.0, "none")
    assert np.all(run.status[:-1] == "ok")
    assert np.all(run.score * y > 0)
    assert np.all(np.isfinite(run.alpha))
    share = run.score * y / np.sum(np.abs(run.alpha))
    assert np.min(share) > margin


@pytest.mark.parametrize("t", [0.0, 0.5, 1.0])
def test_weights_are_repetitions_and_the_unit_of_a_hypothesis_goes_into_its_coefficient(t):
    for margin in (0.0, 0.1):
        H, y, weight = game(0)
        run = boost(H, y, t, weight, "corrective", margin)
        repeated = boost(np.repeat(H, weight, axis=1), np.repeat(y, weight), t, None, "corrective", margin)
        scaled = boost(H * np.array([[2.0], [0.1], [1.0], [1e3], [1e-3]]), y, t, weight, "corrective", margin)
        np.testing.assert_allclose(repeated.alpha, run.alpha, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(scaled.loss, run.loss, rtol=1e-11)
        np.testing.assert_allclose(scaled.score, run.score, rtol=1e-9, atol=1e-12)


def test_solutions_do_not_depend_on_where_the_search_starts():
    U = np.random.default_rng(3).normal(size=(4, 30))
    omega = np.full(30, 1 / 30)
    for t in (0.0, 0.5, 1.0):
        for margin in (0.0, 0.05):
            near, far = (
                correct(U, omega, t, start, margin) for start in (np.zeros(4), np.array([9.0, -9, 5, 0]))
            )
            np.testing.assert_allclose(near.alpha, far.alpha, rtol=1e-9, atol=1e-11)
            assert near.status == far.status == "ok"


@pytest.mark.parametrize("t", [0.0, 0.5, 1.0])
def test_a_round_records_the_coefficient_that_it_chose(t):
    H, y, weight = game(0)
    run = boost(H, y, t, weight, "corrective")
    loss_before = np.append(1.0, run.loss[:-1])
    unit = (weight.sum() * loss_before) ** (1 - float(star(t)))
    chosen = [boost(H[: j + 1], y, t, weight, "corrective").alpha[-1] for j in range(len(H))]
    np.testing.assert_allclose(run.mu * unit, chosen, rtol=1e-9)


# Its parts.


def test_a_newton_step_solves_the_equation_of_slope_and_curvature():
    rng = np.random.default_rng(0)
    omega, start = rng.dirichlet(np.ones(12)), np.array([2.0, -1.5, 0.5])
    U = rng.normal(size=(3, 12))
    for t in (0.0, 0.3, 0.8, 1.0):
        log_e = corrective.log_weights(start @ U, t)
        assert np.any(log_e == -np.inf) == (t < 0.5)
        e, on = np.exp(log_e), log_e > -np.inf
        curvature = (U * omega * np.where(on, e**t, 0.0)) @ U.T
        step = np.linalg.solve(curvature, U @ (omega * e))
        np.testing.assert_allclose(corrective._newton(U, omega, log_e, t, None), step, rtol=1e-10)
        # Nor does a limit matter that the step does not reach.
        far = corrective._newton(U, omega, log_e, t, np.full(3, 100.0))
        np.testing.assert_allclose(far, step, rtol=1e-9)
    assert np.any(step < 0)
    for unit in (-2000.0, 2000.0):  # at t = 1 that of the weights does not matter
        np.testing.assert_allclose(corrective._newton(U, omega, log_e + unit, 1.0, None), step, rtol=1e-9)
    light = np.append(log_e, -3000.0), np.append(omega, 1.0), np.column_stack([U, np.ones(3)])
    np.testing.assert_allclose(corrective._newton(light[2], light[1], light[0], 1.0, None), step, rtol=1e-10)


@pytest.mark.parametrize(("unit", "target_unit"), [(1.0, 1.0), (1e-9, 1.0), (1.0, 1e-9)])
def test_a_fit_with_coefficients_of_one_sign_is_the_best_one_over_all_sets_of_them(unit, target_unit):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        matrix, target = unit * rng.normal(size=(12, 4)), target_unit * (0.5 + rng.normal(size=12))
        best, least = np.zeros(4), np.linalg.norm(target)
        for used in itertools.product([False, True], repeat=4):
            if any(used):
                free = np.linalg.lstsq(matrix[:, used], target, rcond=None)[0]
                left = np.linalg.norm(matrix[:, used] @ free - target)
                if np.all(free >= 0) and left < least:
                    best, least = np.zeros(4), left
                    best[np.array(used)] = free
        scale = target_unit / unit
        for start in (np.zeros(4), np.ones(4), np.array([5.0, 0.0, 0.1, 0.0])):
            got = corrective._positive_fit(matrix, target, scale * start)
            np.testing.assert_allclose(got / scale, best / scale, rtol=1e-10, atol=1e-13)
            np.testing.assert_array_equal(got > 0, best > 0)


@pytest.mark.parametrize("first", [True, False])
def test_a_fit_with_coefficients_of_one_sign_leaves_a_repeated_column_where_it_was(first):
    matrix, target = np.array([[1.0, 1.0], [0.3, 0.3], [-0.7, -0.7]]), np.array([1.0, 0.5, 0.1])
    start = np.array([0.5, 0.0]) if first else np.array([0.0, 0.5])
    got = corrective._positive_fit(matrix, target, start)
    best = (1.0 + 0.15 - 0.07) / (1.0 + 0.09 + 0.49)
    np.testing.assert_allclose(got, [best, 0.0] if first else [0.0, best], rtol=1e-14)
    nothing = corrective._positive_fit(matrix * [1.0, 0.0], target, np.zeros(2))
    np.testing.assert_allclose(nothing, [best, 0.0], rtol=1e-14)


def test_on_the_way_to_a_fit_the_first_coefficient_that_becomes_0_ends_the_way():
    best, free = np.array([1.0, 2.0, 3.0]), np.array([-1.0, 4.0, -1.0])
    np.testing.assert_array_equal(corrective._until_one_is_0(best, free, free < 0), [0.0, 3.0, 1.0])
    best, free = np.array([0.1, 0.5]), np.array([-0.7, 1.0])  # .1 + 1/8 (-.8) is no exact 0
    assert corrective._until_one_is_0(best, free, free < 0)[0] == 0.0


def test_a_step_is_halved_until_the_loss_rises_no_steeper_than_it_fell():
    # At t = 1 with weights .7 and .3 of e: falls by .4, and at length l rises by .3 exp(l) - .7 exp(-l).
    omega, S, change = np.array([0.7, 0.3]), np.full(2, -1.0), np.array([1.0, -1.0])
    assert corrective._length(S, change, omega, 1.0, 1.0, 0.4) == 0.5
    assert corrective._length(S, 0.8 * change, omega, 1.0, 1.0, 0.32) == 1.0
    assert corrective._length(S, 0.1 * change, omega, 1.0, 1.0, 0.04) == 1.0
    assert corrective._length(S, 8.0 * change, omega, 1.0, 1.0, 3.2) == 0.0625
    # Up to .9 of the fall, here exactly, a rise is not too steep.
    assert corrective._length(np.ones(1), -np.ones(1), np.array([0.9]), 1.0, 0.0, 1.0) == 1.0


@pytest.mark.parametrize("margin", [0.0, 0.05])
@pytest.mark.parametrize("t", [0.0, 0.5, 1.0])
def test_a_solution_is_found_again_without_a_step(t, margin, monkeypatch):
    starts = []
    for seed in (0, 1, 4):
        H, y, _ = game(seed)
        starts.append((H * y, correct(H * y, np.full(24, 1 / 24), t, np.zeros(5), margin)))
    monkeypatch.setattr(corrective, "_newton", None)
    for U, found in starts:
        again = correct(U, np.full(24, 1 / 24), t, found.alpha, margin)
        np.testing.assert_allclose(again.alpha, found.alpha, rtol=1e-15)


@pytest.mark.parametrize("share", [0.25, 1e-9])
def test_a_row_of_small_share_weighs_what_balances_the_others(share):
    # At t = 1, share e^a = (1 - share) e^-a.
    found = correct(np.array([[-1.0, 1.0]]), np.array([share, 1.0 - share]), 1.0, np.zeros(1))
    assert found.alpha[0] == pytest.approx(0.5 * np.log((1.0 - share) / share), rel=1e-12)


def test_a_step_far_beyond_the_minimum_is_cut():
    # At t = 1: (1 - share) / 300 e^(-a/300) = share e^a. Newton's step from 0 is near 300, those back are 1.
    share = 1e-9
    found = correct(np.array([[1 / 300, -1.0]]), np.array([1.0 - share, share]), 1.0, np.zeros(1))
    best = np.log((1.0 - share) / (300.0 * share)) / (1.0 + 1 / 300)
    assert found.alpha[0] == pytest.approx(best, rel=1e-10)


def test_from_far_away_the_search_takes_200_steps_of_1_and_ends():
    # Where e^a outweighs e^-a at t = 1, slope and curvature are the same.
    found = correct(np.array([[1.0, 1.0, 1.0, -1.0]]), np.full(4, 0.25), 1.0, np.array([400.0]))
    assert found.alpha[0] == pytest.approx(200.0, rel=1e-12)


@pytest.mark.parametrize("margin", [0.0, 0.1])
@pytest.mark.parametrize("t", [0.0, 0.5, 0.9, 1.0])
def test_rows_that_are_separated_are_taken_to_their_clamp_and_left_beyond_it(t, margin):
    clamp = 750.0 if t == 1 else 1 / (1 - t)
    U = np.array([[2.0, 1.0, 1.5]])
    found = correct(U, np.full(3, 1 / 3), t, np.array([0.01]), margin)
    assert (found.status, found.alpha[0] * (1.0 - 2.0 * margin)) == ("none", pytest.approx(clamp, rel=1e-12))
    beyond = correct(U, np.full(3, 1 / 3), t, np.array([1e4]), margin)
    assert (beyond.status, beyond.alpha[0]) == ("none", pytest.approx(1e4, rel=1e-14))


@pytest.mark.parametrize("margin", [0.0, 0.05])
def test_a_hypothesis_that_abstains_gets_nothing_and_changes_nothing(margin):
    H, y, _ = game(0)
    omega = np.full(24, 1 / 24)
    alone = correct(H * y, omega, 0.5, np.zeros(5), margin)
    found = correct(np.vstack([H * y, np.zeros(24)]), omega, 0.5, np.zeros(6), margin)
    np.testing.assert_allclose(found.alpha, np.append(alone.alpha, 0.0), rtol=1e-10)


# Margins.


@pytest.mark.parametrize("rule", ["closed", "exact", "corrective"])
@pytest.mark.parametrize("t", [0.0, 0.5, 1.0])
def test_a_hypothesis_gets_a_coefficient_where_its_mean_edge_is_above_the_margin(t, rule):
    seen = set()
    for seed in seeds(8):
        H, y, weight = game(seed)
        run = boost(H, y, t, weight, rule, 0.2)
        before = np.vstack([weight / weight.sum(), run.p[:-1]])
        for j in range(len(run.rho)):
            edge = mean_edges(before[j], t, (H * y)[j : j + 1], weight)[0]
            if abs(abs(edge) - 0.2) > 1e-9:
                assert (run.mu[j] != 0.0) == (abs(edge) > 0.2)
                seen.add(abs(edge) > 0.2)
    assert seen == {False, True}


def test_at_1_the_exact_step_with_a_margin_is_that_of_adaboost_rho():
    # Raetsch and Warmuth: alpha = atanh(edge) - atanh(rho), the edge being that of the shifted weights.
    rng = np.random.default_rng(0)
    y = rng.choice([-1, 1], 50)
    H = np.sign(rng.normal(size=(6, 50)) + 0.9 * y)
    H[3] = y * np.where(np.arange(50) % 2 == 0, 1, -1)  # right on every second row
    rho, D, alphas = 0.2, np.full(50, 0.02), []
    for h in H:
        edge = D @ (h * y)
        alphas.append(math.atanh(edge) - math.atanh(rho) if edge > rho else 0.0)
        D = D * np.exp(-alphas[-1] * h * y)
        D /= D.sum()
    run = boost(H, y, 1.0, None, "exact", rho)
    assert min(alphas) == 0.0 < max(alphas)
    np.testing.assert_allclose(run.alpha, alphas, rtol=1e-11, atol=1e-15)
    np.testing.assert_allclose(run.p[-1], D, rtol=1e-11)
    turned = boost(-H, y, 1.0, None, "exact", rho)
    np.testing.assert_allclose(turned.alpha, -run.alpha, rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize("rule", ["closed", "exact", "unit", "corrective"])
@pytest.mark.parametrize("t", [0.0, 0.5, 0.8, 1.0])
def test_the_loss_bounds_the_share_of_rows_up_to_the_margin(t, rule):
    for seed in seeds(8):
        H, y, weight = game(seed)
        H = 0.3 * H if rule == "unit" else H
        run = boost(H, y, t, weight, rule, 0.15)
        total = np.abs(run.alpha) @ np.abs(H[: len(run.alpha), weight > 0]).max(axis=1)
        share = np.average(run.score * y <= 0.15 * total * (1 - 1e-12), weights=weight)
        assert share <= run.loss[-1] * (1 + 1e-10)
        assert np.all(run.loss <= run.bound * (1 + 1e-9))


@pytest.mark.parametrize("t", TEMPERATURES)
def test_corrective_steps_with_a_margin_leave_no_edge_above_it(t):
    for seed in seeds(8):
        H, y, weight = game(seed)
        run = boost(H, y, t, weight, "corrective", 0.1)
        if run.stop_reason == "rounds":
            edges = mean_edges(run.p[-1], t, H * y, weight)
            used = run.alpha != 0.0
            np.testing.assert_allclose(edges[used], 0.1 * np.sign(run.alpha[used]), atol=1e-12)
            assert np.all(np.abs(edges) <= 0.1 + 1e-12)


def largest_margin(U):
    """Largest smallest margin of sum alpha u / sum |alpha|, by a linear program."""
    signed = np.concatenate([U, -U])
    k, m = signed.shape
    found = linprog(
        np.append(np.zeros(k), -1.0), A_ub=np.column_stack([-signed.T, np.ones(m)]), b_ub=np.zeros(m),
        A_eq=[np.append(np.ones(k), 0.0)], b_eq=[1.0], bounds=[(0, None)] * k + [(None, None)],
    )  # fmt: skip
    return -found.fun


@pytest.mark.parametrize("t", [0.0, 0.5, 0.8, 1.0])
def test_the_smallest_margin_nears_the_largest_possible_one(t):
    rng = np.random.default_rng(1)
    y = rng.choice([-1, 1], 40)
    H = np.sign(rng.normal(size=(60, 40)) + 0.5 * y)
    best = largest_margin(H * y)
    assert best > 0.1

    def reached(share):
        run = boost(H, y, t, None, "corrective", share * best)
        assert run.stop_reason == "perfect"
        return np.min(run.score * y) / np.sum(np.abs(run.alpha)) / best

    assert 0.0 < reached(0.0) < 0.9
    assert 0.9 < reached(0.9) <= 1.0
    assert 0.99 < reached(0.99) <= 1.0
    out_of_reach = boost(H, y, t, None, "corrective", 1.05 * best)
    assert out_of_reach.stop_reason == "rounds"
    assert out_of_reach.loss[-1] > 0.0


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((1.1, None, "corrective"), r"^leveraging='corrective' needs t in \[0, 1\], got t=1\.1$"),
        ((-0.1, None, "corrective"), r"^leveraging='corrective' needs t in \[0, 1\], got t=-0\.1$"),
        ((1.1, None, "exact", 0.1), r"^margin=0\.1 needs t in \[0, 1\], got t=1\.1$"),
        ((0.5, None, "exact", 1.0), r"^margin must be in \[0, 1\), got 1\.0$"),
        ((0.5, None, "exact", -0.1), r"^margin must be in \[0, 1\), got -0\.1$"),
        ((0.5, None, "exact", math.nan), r"^margin must be in \[0, 1\), got nan$"),
    ],
)
def test_a_rule_that_does_not_hold_is_refused(arguments, text):
    with pytest.raises(ValueError, match=text):
        boost([[1.0, -1.0, 1.0]], [1, 1, -1], *arguments)
