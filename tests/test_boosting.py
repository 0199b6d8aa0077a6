# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tadaboost import losses, measures
from tadaboost.boosting import boost, bound_factor, closed_step, normalised_edge
from tadaboost.calculus import exp_t, star

from . import oracle

EPS = np.finfo(float).eps
TEMPERATURE = st.floats(-3, 1.99)
COLD = st.floats(-3, 1)
SEED = st.integers(0, 10**6)
RULE = st.sampled_from(["closed", "exact"])
VECTOR_FIELDS = {
    "rho": "rho",
    "mu": "mu",
    "alpha": "alpha",
    "Z": "Z",
    "R": "R",
    "q_dagger": "q_dagger",
    "loss": "prod_Z_pow",
    "bound": "bound_K",
}


def game(seed, rows=9, rounds=5):
    """Real-valued outputs, signs, or frequent abstentions; labels that mostly follow the first hypothesis."""
    rng = np.random.default_rng(seed)
    H = rng.normal(size=(rounds, rows))
    if seed % 3 == 1:
        H = np.sign(H)
    if seed % 3 == 2:
        H *= rng.random(H.shape) < 0.6
    y = np.where(rng.random(rows) < 0.6, np.where(H[0] >= 0, 1, -1), rng.choice([-1, 1], rows))
    return H, y


def delta_of(t):
    return math.inf if t == 1 else 1 / abs(1 - t)


def one_side_margins(H, y, t, run):
    """S of section 4: training margins clipped above for t <= 1, below for t > 1."""
    terms = run.alpha[:, None] * H[: len(run.alpha)] * y
    return measures.clipped_sum(terms, delta_of(t), side="upper" if t <= 1 else "lower")


def weighted_error(score, y, w=None):
    return np.average(score * y <= 0, weights=w)


def schapire_singer(H, y):
    """AdaBoost of Schapire and Singer (1999), their bound (r = sum D u / R), written independently."""
    D = np.full(len(y), 1 / len(y))
    alphas, zs, weights = [], [], []
    for h in H:
        u = h * y
        scale = max(abs(u))
        r = sum(D * u) / scale
        alpha = math.log((1 + r) / (1 - r)) / (2 * scale)
        D = D * np.exp(-alpha * u)
        Z = sum(D)
        D = D / Z
        alphas.append(alpha)
        zs.append(Z)
        weights.append(D)
    return np.array(alphas), np.array(zs), np.array(weights)


@pytest.mark.parametrize("rule", ["closed", "exact"])
def test_trajectories_equal_the_50_digit_vectors(rule):
    for record in oracle.read("boosting")["records"]:
        if record["mu_rule"] != rule:
            continue
        run = boost(record["H"], record["y"], record["t"], record["w"], rule)
        want, tol = record["expect"], record["tol"]
        steps = want["steps"]
        assert len(run.alpha) == len(steps), record["name"]
        for field, name in VECTOR_FIELDS.items():
            oracle.assert_within(getattr(run, field), oracle.numbers(s[name] for s in steps), tol, tol)
        assert list(run.status) == [s["status"] for s in steps]
        assert [list(np.flatnonzero(line)) for line in run.off] == [s["off"] for s in steps]
        for q, p, step in zip(run.q, run.p, steps, strict=True):
            if step["q"] is None:
                assert np.all(np.isnan(q[np.array(record["w"] or np.ones(len(q))) > 0]))
                continue
            oracle.assert_within(q, oracle.numbers(step["q"]), tol, tol)
            oracle.assert_within(p, oracle.numbers(step["p"]), tol, tol)
        ended = len(steps) < len(record["H"]) or steps[-1]["q"] is None
        assert (run.stop_reason == "rounds") == (not ended)
        if want["score"] is not None:
            check_scores(record, run, want, tol)


def check_scores(record, run, want, tol):
    t, y, w = record["t"], np.array(record["y"]), record["w"]
    oracle.assert_within(run.score, oracle.numbers(want["score"]), tol, tol)
    oracle.assert_within(run.clipped, oracle.numbers(want["clipped"]), tol, tol)
    oracle.assert_within(
        one_side_margins(np.array(record["H"]), y, t, run), oracle.numbers(want["unravel"]), tol, tol
    )
    assert weighted_error(run.score, y, w) == pytest.approx(float(want["err"]), abs=tol)
    assert weighted_error(run.clipped, y, w) == pytest.approx(float(want["err_clipped"]), abs=tol)
    for score, name in ((run.score, "margin_risk"), (run.clipped, "margin_risk_clipped")):
        for theta, risk in want[name]:
            got = np.average(losses.margin(y, score, t) <= theta, weights=w)
            assert got == pytest.approx(float(risk), abs=tol)
    mean = np.average(losses.tempered_exp_loss(run.score * y, t), weights=w)
    oracle.assert_within(mean, float(want["tempered_exp_loss"]), tol, tol)
    oracle.assert_within(losses.inverse_link(run.score, t), oracle.numbers(want["prob_pos"]), tol, tol)
    if record.get("H_test"):
        test = measures.clipped_sum(
            run.alpha[:, None] * np.array(record["H_test"])[: len(run.alpha)], delta_of(t)
        )
        oracle.assert_within(test, oracle.numbers(want["test_clipped"]), tol, tol)


def test_at_1_it_is_schapire_singer_adaboost_over_200_rounds():
    rng = np.random.default_rng(7)
    y = rng.choice([-1, 1], 300)
    H = rng.normal(size=(200, 300)) + 0.15 * y
    alpha, Z, D = schapire_singer(H, y)
    run = boost(H, y, 1.0)
    np.testing.assert_allclose(run.alpha, alpha, rtol=0, atol=1e-12)
    np.testing.assert_allclose(run.Z, Z, rtol=1e-12)
    np.testing.assert_allclose(run.p, D, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(run.mu, run.alpha)


@pytest.mark.parametrize("t", [1 + 1e-12, 1 + 1e-6, 1.0005, 1.5])
def test_above_1_a_perfect_hypothesis_is_not_the_last_though_its_normaliser_may_underflow(t):
    y = np.array([1, -1, 1])
    run = boost([2.0 * y, y], y, t)  # Z^(1-t) = 2, and weights stay as they are
    assert run.stop_reason == "rounds"
    np.testing.assert_array_equal(run.rho, 1.0)
    np.testing.assert_allclose(run.alpha, np.array([0.5, 2.0]) / (t - 1), rtol=1e-12)
    np.testing.assert_allclose(run.Z, 2.0 ** (-1 / (t - 1)), rtol=1e-9)
    np.testing.assert_allclose(run.p, 1 / 3, rtol=1e-12)
    one = boost([[-1.56468687]], [-1], 1.000000032679823)
    assert one.p[0, 0] == pytest.approx(1.0, rel=1e-14)


def test_next_to_1_it_joins_adaboost_over_200_rounds():
    rng = np.random.default_rng(7)
    y = rng.choice([-1, 1], 300)
    H = rng.normal(size=(200, 300)) + 0.15 * y
    at = boost(H, y, 1.0)
    for t in (1 - 1e-12, 1 + 1e-12):
        near = boost(H, y, t)
        np.testing.assert_allclose(near.alpha, at.alpha, atol=1e-10)
        np.testing.assert_allclose(near.p, at.p, atol=1e-10)


@pytest.mark.parametrize("rule", ["closed", "exact"])
@pytest.mark.parametrize("e", [1e-2, 1e-4, 1e-6])
def test_alpha_is_continuous_across_1(rule, e):
    for seed in range(12):
        H, y = game(seed)
        below, at, above = (boost(H, y, t, leveraging=rule) for t in (1 - e, 1.0, 1 + e))
        if len(below.alpha) == len(at.alpha) == len(above.alpha) == 5 and np.all(np.abs(at.alpha) < 2):
            assert np.max(np.abs(below.alpha - at.alpha)) < 50 * e
            assert np.max(np.abs(above.alpha - at.alpha)) < 50 * e


@given(seed=SEED, t=TEMPERATURE, rule=RULE)
def test_weights_stay_on_the_co_simplex(seed, t, rule):
    H, y = game(seed)
    w = np.random.default_rng(seed).integers(1, 4, len(y))
    run = boost(H, y, t, w, rule)
    good = np.isfinite(run.q[:, 0])
    np.testing.assert_allclose(np.sum(w * run.q[good] ** (2 - t), axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(np.sum(run.p[good], axis=1), 1, rtol=1e-12)


@given(seed=SEED, t=TEMPERATURE)
def test_z_is_at_most_1_and_least_for_the_exact_step(seed, t):
    H, y = game(seed)
    closed, exact = boost(H, y, t), boost(H, y, t, leveraging="exact")
    assert np.all(closed.Z[~closed.off.any(axis=1)] <= 1 + 1e-12)
    assert np.all(exact.Z <= 1 + 1e-12)
    assert exact.Z[0] <= closed.Z[0] * (1 + 1e-12)  # the same weights before round 1


@given(seed=SEED, t=TEMPERATURE, rule=RULE)
def test_the_loss_is_below_the_bound_and_above_the_error(seed, t, rule):  # (12)
    H, y = game(seed)
    run = boost(H, y, t, leveraging=rule)
    assume(run.stop_reason != "infinite")
    assert np.all(run.loss <= run.bound * (1 + 1e-12) + 1e-300)
    assert weighted_error(run.score, y) <= run.loss[-1] * (1 + 1e-12)
    if t <= 1:
        assert weighted_error(run.clipped, y) <= run.loss[-1] * (1 + 1e-12)


@given(seed=SEED, t=TEMPERATURE)
def test_unit_steps_obey_the_error_bound_too(seed, t):
    H, y = game(seed)
    run = boost(0.2 * H, y, t, leveraging="unit")
    np.testing.assert_array_equal(run.alpha, 1.0)
    np.testing.assert_array_equal(run.bound, run.loss)
    assert weighted_error(run.score, y) <= run.loss[-1] * (1 + 1e-12)


@given(seed=SEED, t=TEMPERATURE, rule=RULE, theta=st.floats(-0.95, 0.95))
def test_the_margin_risk_is_bounded_for_every_theta(seed, t, rule, theta):  # (13)
    H, y = game(seed)
    run = boost(H, y, t, leveraging=rule)
    assume(run.stop_reason != "infinite")
    bound = ((1 + theta) / (1 - theta)) ** (2 - t) * run.loss[-1] * (1 + 1e-9)
    assert np.mean(losses.margin(y, run.score, t) <= theta - 1e-9) <= bound
    if t <= 1:
        assert np.mean(losses.margin(y, run.clipped, t) <= theta - 1e-9) <= bound


@given(seed=SEED, t=st.floats(-3, 1.5), rule=st.sampled_from(["closed", "exact", "unit"]))
def test_the_product_of_z_is_the_tempered_loss_of_the_clipped_margins(seed, t, rule):
    H, y = game(seed)
    run = boost(H, y, t, leveraging=rule)
    assume(run.stop_reason == "rounds")
    mean = np.mean(losses.tempered_exp_loss(one_side_margins(H, y, t, run), t))
    assert mean == pytest.approx(run.loss[-1], rel=1e-10)
    np.testing.assert_allclose(np.cumprod(run.Z ** (2 - t)), run.loss, rtol=1e-11)


@given(seed=SEED, t=st.floats(-3, 1.5), rule=RULE)
def test_the_weights_unravel_into_the_clipped_margins(seed, t, rule):  # Lemma E
    H, y = game(seed)
    run = boost(H, y, t, leveraging=rule)
    assume(run.stop_reason == "rounds")
    e = exp_t(-one_side_margins(H, y, t, run), t)
    q = e / (len(y) ** star(t) * np.prod(run.Z))
    # Powers, because near the clamp q = x^(1/(1-t)) has lost the digits that x still has.
    power = max(1 - t, 1)
    np.testing.assert_allclose(run.q[-1] ** power, q**power, rtol=1e-9, atol=1e-10)


@given(seed=SEED, t=TEMPERATURE, rule=RULE)
def test_the_order_of_rows_does_not_matter(seed, t, rule):
    H, y = game(seed)
    order = np.random.default_rng(seed).permutation(len(y))
    assert_same_run(boost(H, y, t, None, rule), boost(H[:, order], y[order], t, None, rule))


@given(seed=SEED, t=TEMPERATURE, rule=RULE, factor=st.floats(0.01, 100))
def test_whole_weights_are_repeated_rows_and_their_unit_does_not_matter(seed, t, rule, factor):
    H, y = game(seed)
    w = np.random.default_rng(seed).integers(0, 4, len(y))
    assume(w.sum() > 0)
    weighted = boost(H, y, t, w, rule)
    assert_same_run(weighted, boost(np.repeat(H, w, axis=1), np.repeat(y, w), t, None, rule))
    assert_same_run(weighted, boost(H, y, t, factor * w, rule))
    assert_same_run(weighted, boost(H[:, w > 0], y[w > 0], t, w[w > 0], rule))
    assert np.all(weighted.p[:, w == 0] == 0)


@given(seed=SEED, t=TEMPERATURE, rule=RULE, factor=st.floats(0.01, 100))
def test_the_unit_of_a_hypothesis_goes_into_its_coefficient(seed, t, rule, factor):
    H, y = game(seed)
    run, scaled = boost(H, y, t, None, rule), boost(factor * H, y, t, None, rule)
    assert_same_run(run, scaled, alpha_factor=factor)
    assert_same_run(run, boost(-H, y, t, None, rule), alpha_factor=-1.0)
    assert_same_run(run, boost(-H, -y, t, None, rule))


def assert_same_run(one, two, alpha_factor=1.0):
    """Equal up to rounding while both are away from a perfect step, where rounding decides what follows."""
    smooth = (np.abs(one.rho) < 0.999) & np.isfinite(one.alpha) & (one.status == "ok")
    rounds = len(smooth) if smooth.all() else int(np.argmin(smooth))
    near = {"rtol": 1e-6, "atol": 1e-8}
    sign = np.sign(alpha_factor)
    np.testing.assert_allclose(two.rho[:rounds] * sign, one.rho[:rounds], **near)
    np.testing.assert_allclose(two.alpha[:rounds] * alpha_factor, one.alpha[:rounds], **near)
    np.testing.assert_allclose(two.loss[:rounds], one.loss[:rounds], **near)


@given(seed=SEED, t=TEMPERATURE)
def test_with_signs_and_equal_weights_the_closed_step_is_exact(seed, t):
    H, y = game(3 * (seed // 3) + 1, rounds=1)
    closed, exact = boost(H, y, t), boost(H, y, t, leveraging="exact")
    assume(abs(closed.rho[0]) < 1)
    assert closed.mu[0] == pytest.approx(exact.mu[0], rel=1e-9, abs=1e-12)


def test_with_signs_the_closed_step_is_exact_in_every_round_at_1():
    H, y = game(1)
    closed, exact = boost(H, y, 1.0), boost(H, y, 1.0, leveraging="exact")
    np.testing.assert_allclose(closed.alpha, exact.alpha, rtol=1e-12, atol=1e-14)


@given(seed=SEED, t=TEMPERATURE)
def test_no_closed_step_switches_a_weight_off_unless_the_edge_is_perfect(seed, t):
    H, y = game(seed)
    run = boost(H, y, t)
    assert np.all(np.abs(run.rho) <= 1)
    assume(run.stop_reason != "infinite")
    assert np.all(np.abs(run.mu * run.R * (1 - t)) <= 1 + 1e-12)
    if np.all(np.abs(run.rho) < 0.99):  # else the tanh of (11) rounds to 1
        assert not run.off.any()
        assert np.all(run.q > 0)
        assert np.all(np.isfinite(run.q))


def test_the_exact_step_switches_weights_off_and_on():
    off_and_on = 0
    for seed in range(40):
        H, y = game(seed)
        run = boost(H, y, 0.0, leveraging="exact")
        off_and_on += np.sum(run.off[:-1] & ~run.off[1:])
    assert off_and_on > 0


def test_rows_that_are_off_lend_a_weight_to_the_edge():
    # Against (10) as the paper writes it, from weights in the paper's scale.
    seen = 0
    for seed in range(30):
        H, y = game(seed)
        for t in (0.0, 0.5):
            run = boost(H, y, t, leveraging="exact")
            q = np.vstack([np.full(len(y), len(y) ** -float(star(t))), run.q])
            for j in np.flatnonzero(run.off.any(axis=1)):
                u, off = H[j] * y, run.off[j]
                R = np.max(np.abs(u[~off]) / q[j][~off] ** (1 - t))
                lent = (np.max(np.abs(u[off])) / R) ** (1 / (1 - t))
                rho = np.sum(np.where(off, lent, q[j]) * u) / ((1 + off.sum() * lent ** (2 - t)) * R)
                assert run.rho[j] == pytest.approx(rho, rel=1e-9, abs=1e-12)
                assert run.q_dagger[j] == pytest.approx(lent, rel=1e-9)
                seen += 1
    assert seen > 5


def test_the_step_rules_do_not_depend_on_the_scale_of_the_weights():
    rng = np.random.default_rng(3)
    omega, e, u = rng.dirichlet(np.ones(6)), rng.uniform(0.2, 1, 6), rng.normal(size=6)
    on = np.array([True] * 4 + [False] * 2)

    def rules(t, scale):
        x = scale * e[on]
        total = float(np.sum(omega[on] * x ** (2 - t)))
        A = float(np.max(np.abs(u[on]) / x ** (1 - t)))
        off = (float(np.sum((omega * u)[~on])), float(np.max(np.abs(u[~on]))), float(np.sum(omega[~on])))
        rho, lent = normalised_edge(float(np.sum((omega * u)[on] * x)), total, A, *off, t)
        step = closed_step(rho, A, t) * scale ** (t - 1)
        return rho, lent / scale, step, bound_factor(rho, lent, off[2], total, t)

    for t in (1.0, 1.5):  # nothing is off from 1 on
        rho, lent = normalised_edge(0.3, 0.8, 1.5, 0.0, 0.0, 0.0, t)
        assert (rho, lent) == (pytest.approx(0.3 / (1.5 * 0.8), rel=1e-15), 0.0)
    for t in (-1.0, 0.0, 0.5, 0.9):
        assert rules(t, 1.0) == pytest.approx(rules(t, 37.0), rel=1e-12)
        rho, lent, _, factor = rules(t, 1.0)
        total = np.sum(omega[on] * e[on] ** (2 - t))
        assert factor == pytest.approx(
            (1 + omega[~on].sum() * lent ** (2 - t) / total) * losses.k_t(rho, t), rel=1e-12
        )


def test_a_lent_weight_that_overflows_next_to_1_leaves_the_edge_of_the_rows_that_are_off():
    rho, lent = normalised_edge(0.1, 1.0, 0.5, -0.2, 1.0, 0.4, t=1 - 1e-6)
    assert lent == math.inf
    assert rho == pytest.approx(-0.2 / (0.4 * 1.0), rel=1e-12)
    assert bound_factor(rho, lent, 0.4, 1.0, 1 - 1e-6) == math.inf
    cold, lent = normalised_edge(0.1, 1.0, 0.5, -0.2, 1.0, 0.4, t=0.0)
    assert (cold, lent) == (pytest.approx((0.1 - 0.4) / (0.5 * (1 + 0.4 * 4))), 2.0)
    assert normalised_edge(0.1, 1.0, 0.5, -0.2, 1.0, 0.4, t=1.5) == (0.2, 0.0)
    assert bound_factor(1.0, 2.0, 0.4, 1.0, 0.5) == 0.0


def test_the_edge_divides_by_the_loss_and_an_off_row_without_mass_lends_nothing():
    assert normalised_edge(0.3, 0.5, 1.2, 0.0, 0.0, 0.0, 0.5) == (pytest.approx(0.5, rel=1e-15), 0.0)
    assert normalised_edge(0.3, 0.5, 1.2, 0.0, 1.0, 0.0, 0.5) == (pytest.approx(0.5, rel=1e-15), 0.0)
    assert normalised_edge(0.3, 0.5, 1.2, -0.1, 1.0, 0.2, 1.0) == (pytest.approx(0.5, rel=1e-15), 0.0)
    assert bound_factor(0.6, 2.0, 0.0, 1.0, 1.0) == 0.8


@pytest.mark.parametrize("t", [0.0, 0.5, 0.9, 1.0, 1.2])
def test_unit_steps_weigh_rows_by_the_loss_of_the_plain_clipped_sum(t):
    H, y = game(0)
    H = 0.3 * H
    run = boost(H, y, t, leveraging="unit")
    for j in range(len(H)):
        side = "upper" if t <= 1 else "lower"
        loss = losses.tempered_exp_loss(measures.clipped_sum(H[: j + 1] * y, delta_of(t), side=side), t)
        assert run.loss[j] == pytest.approx(np.mean(loss), rel=1e-11)
        np.testing.assert_allclose(run.p[j], loss / np.sum(loss), rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("t", [-1.0, 0.0, 0.5, 0.9])
def test_a_perfect_edge_leaves_no_weight_by_rounding(t):
    seen = 0
    for seed in range(0, 90, 3):
        H, y = game(seed)
        # |u| is proportional to q^(1-t), so that every row reaches its clamp at once.
        perfect = 0.3 * y * boost(H[:1], y, t).q[0] ** (1 - t)
        run = boost([H[0], perfect, H[2]], y, t)
        if run.rho[1] == 1.0:
            assert (run.stop_reason, len(run.alpha), run.loss[1]) == ("perfect", 2, 0.0)
            seen += 1
    assert seen > 5


def test_a_row_that_is_absent_has_no_weight_and_is_not_off():
    run = boost([[1.0, 1.0, 1.0]], [1, -1, 1], 0.5, [1, 2, 0])
    assert (run.p[0, 2], run.q[0, 2], run.off[0, 2]) == (0.0, 0.0, False)


def test_a_single_row_is_a_sample_and_none_is_not():
    assert boost([[1.0]], [1], 0.5).stop_reason == "perfect"
    with pytest.raises(ValueError, match=r"with a row at least, got shapes \(1, 0\) and \(0,\)$"):
        boost(np.empty((1, 0)), [], 0.5)


def test_an_edge_of_1_but_for_rounding_is_1():
    assert normalised_edge(1 - 4e-16, 1.0, 1.0, 0.0, 0.0, 0.0, 0.5)[0] < 1.0
    assert normalised_edge(1 - 2e-16, 1.0, 1.0, 0.0, 0.0, 0.0, 0.5)[0] == 1.0
    assert normalised_edge(-1 - 1e-15, 1.0, 1.0, 0.0, 0.0, 0.0, 0.5)[0] == -1.0
    assert normalised_edge(1 - 1e-15, 1.0, 1.0, 0.0, 0.0, 0.0, 0.5)[0] < 1.0
    assert closed_step(1.0, 2.0, 1.0) == math.inf
    assert closed_step(-1.0, 2.0, 0.5) == -1.0


def test_a_hypothesis_that_abstains_changes_nothing():
    for t in (0.0, 1.0, 1.5):
        run = boost([[1, 1, 1, -1], [0, 0, 0, 0]], [1, 1, -1, -1], t)
        assert (run.rho[1], run.mu[1], run.alpha[1], run.R[1], run.q_dagger[1]) == (0, 0, 0, 0, 0)
        assert run.Z[1] == pytest.approx(1)
        np.testing.assert_allclose(run.p[1], run.p[0], rtol=1e-14)


def test_a_perfect_hypothesis_ends_the_run_up_to_1_and_not_above():
    H, y = np.array([[1.0, -1.0], [1.0, 1.0]]), np.array([1, -1])
    cold, one, hot = (boost(H, y, t) for t in (0.5, 1.0, 1.5))
    assert (cold.stop_reason, len(cold.alpha), cold.alpha[0], cold.loss[0]) == ("perfect", 1, 2.0, 0.0)
    np.testing.assert_array_equal(cold.score, [2.0, -2.0])
    assert np.all(np.isnan(cold.q))
    assert (one.stop_reason, one.alpha[0], one.Z[0]) == ("infinite", math.inf, 0.0)
    np.testing.assert_array_equal(one.score, [math.inf, -math.inf])
    abstains = boost([[1.0, -1.0, 0.0]], [1, -1, 1], 1.0, [1, 1, 0])
    np.testing.assert_array_equal(abstains.score, [math.inf, -math.inf, 0.0])
    assert (hot.stop_reason, len(hot.alpha), hot.mu[0] * hot.R[0]) == ("rounds", 2, pytest.approx(2.0))
    assert hot.loss[0] == pytest.approx(2 ** ((1.5 - 2) / (1.5 - 1)))
    np.testing.assert_allclose(hot.p[0], 0.5)


def test_a_unit_step_on_a_perfect_hypothesis_goes_no_further_than_1():
    y = np.array([1, -1, 1])
    run = boost([0.3 * y, 0.3 * y], y, 0.5, leveraging="unit")
    np.testing.assert_allclose(run.loss, losses.tempered_exp_loss([0.3, 0.6], 0.5), rtol=1e-14)
    assert run.stop_reason == "rounds"


def test_a_perfect_closed_step_leaves_no_rounding_noise_behind():
    # Weights on whose powers |u| / A rounds: only the rule, not arithmetic, makes them exactly 0.
    y = np.array([1, -1, 1, 1, -1])
    for t in (-0.3, 0.1, 0.3, 0.7):
        first = boost([[0.3, 0.1, 0.7, -0.2, 0.9]], y, t)
        edges = first.q[0] ** (1 - t) * 0.77
        run = boost([[0.3, 0.1, 0.7, -0.2, 0.9], edges * y], y, t)
        assert abs(run.rho[1]) == 1.0
        assert (run.stop_reason, run.loss[1]) == ("perfect", 0.0)


def test_weights_that_become_infinite_end_the_run():
    run = boost([[-2.0, 1.0], [1.0, 1.0]], [1, 1], 1.5, leveraging="unit")
    assert (run.stop_reason, len(run.alpha), run.loss[0]) == ("infinite", 1, math.inf)


def test_labels_as_weights_in_the_co_simplex_are_not_repeated_rows():
    # The other reading of sample weights, q_1 = (w/W)^(t*) with every row counted once.
    H, y = game(0)
    w, t = np.arange(1, 10), 0.5
    first = (w / w.sum()) ** float(star(t))
    R = np.max(np.abs(H[0]) / first ** (1 - t))
    rho = np.sum(first * H[0] * y) / R
    assert abs(rho - boost(H, y, t, w).rho[0]) > 1e-3


def test_the_clipped_model_has_no_certificate_above_1():
    broken = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        y = rng.choice([-1, 1], 5)
        run = boost(rng.normal(size=(3, 5)), y, 1.5, leveraging="exact")
        if run.stop_reason == "rounds":
            broken += weighted_error(run.clipped, y) > run.loss[-1] * 1.01
            assert weighted_error(run.score, y) <= run.loss[-1]
    assert broken > 0


def test_errors_may_rise_and_coefficients_may_be_negative_or_grow():
    rise = negative = grow = 0
    for seed in range(30):
        H, y = game(seed)
        run = boost(H, y, 0.5)
        scores = np.cumsum(run.alpha[:, None] * H[: len(run.alpha)], axis=0)
        rise += np.any(np.diff([weighted_error(s, y) for s in scores]) > 0)
        negative += np.any(run.alpha < 0)
        grow += np.any(np.diff(np.abs(run.alpha)) > 0)
    assert min(rise, negative, grow) > 0


def test_exact_steps_may_end_with_a_larger_loss_than_closed_ones():
    rng = np.random.default_rng(904)
    y = rng.choice([-1, 1], 5)
    H = rng.normal(size=(3, 5))
    closed, exact = boost(H, y, 0.5), boost(H, y, 0.5, leveraging="exact")
    assert exact.Z[0] <= closed.Z[0]
    assert exact.loss[-1] > 1.01 * closed.loss[-1]


def test_a_thousand_rounds_neither_overflow_nor_leave_the_co_simplex():
    rng = np.random.default_rng(5)
    y = rng.choice([-1, 1], 40)
    H = np.sign(rng.normal(size=(1000, 40)) + 0.3 * y)
    for t in (0.0, 1.0, 1.1):
        run = boost(H, y, t)
        np.testing.assert_allclose(np.sum(run.p, axis=1), 1, rtol=1e-12)
        assert np.all(run.loss <= run.bound * (1 + 1e-9))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (([[1.0, 1.0]], [1, 0], 0.5), r"^y\[1\] is 0\.0; labels must be -1 or 1$"),
        (([[1.0, np.nan]], [1, -1], 0.5), r"^H\[0, 1\] is nan; outputs must be finite$"),
        (
            (np.ma.array([[1.0, 1.0]], mask=[[0, 1]]), [1, -1], 0.5),
            r"^H\[0, 1\] is nan; outputs must be finite$",
        ),
        (([[1.0, 1.0]], np.ma.array([1, -1], mask=[0, 1]), 0.5), r"^y\[1\] is nan; labels must be -1 or 1$"),
        (([[1.0, 1j]], [1, -1], 0.5), r"^H holds complex numbers; take their real parts"),
        (([[1.0, 1.0]], [1, -1, 1], 0.5), r"^H must be \(rounds, rows\) and y \(rows,\)"),
        (([1.0, 1.0], [1, -1], 0.5), r"^H must be \(rounds, rows\) and y \(rows,\)"),
        (([[1.0, 1.0]], [1, -1], 2.0), r"^t must be finite and < 2, got 2\.0$"),
        (
            ([[1.0, 1.0]], [1, -1], 0.5, [1, -2]),
            r"^sample_weight\[1\] is -2\.0; weights must be finite and >= 0$",
        ),
        (
            ([[1.0, 1.0]], [1, -1], 0.5, [1, np.inf]),
            r"^sample_weight\[1\] is inf; weights must be finite and >= 0$",
        ),
        (([[1.0, 1.0]], [1, -1], 0.5, [1]), r"^sample_weight must be as long as y \(2\), got shape \(1,\)$"),
        (([[1.0, 1.0]], [1, -1], 0.5, [0, 0]), r"^sample_weight must have a weight > 0$"),
        (
            ([[1.0, 1.0]], [1, -1], 0.5, None, "newton"),
            r"^leveraging must be 'closed', 'exact', 'unit' or 'corr",
        ),
    ],
)
def test_a_bad_input_is_refused_by_name(arguments, text):
    with pytest.raises(ValueError, match=text):
        boost(*arguments)


@pytest.mark.parametrize("weight", [1e-8, 1e5])
def test_next_to_2_the_units_of_the_paper_may_be_beyond_all_numbers(weight):
    H, y = [[1.0, -0.5, -1.0], [0.5, 1.0, 1.0]], [1, 1, -1]
    run, plain = (boost(H, y, 1.999, [w] * 3) for w in (weight, 1 / 3))
    for field in ("rho", "alpha", "Z", "loss"):
        np.testing.assert_allclose(getattr(run, field), getattr(plain, field), rtol=1e-12)
    large, none = (run.R, run.mu) if weight > 1 else (run.mu, run.R)
    assert np.all(none == 0.0) == np.all(np.isinf(large))


def test_no_rounds_is_a_run_without_rounds():
    run = boost(np.empty((0, 3)), [1, -1, 1], 0.5)
    assert run.q.shape == (0, 3)
    np.testing.assert_array_equal(run.score, 0)


@pytest.mark.parametrize("log_lent", [700.0, 700.5])
def test_from_e_to_the_700_on_a_lent_weight_is_infinite(log_lent):
    lent = math.exp(log_lent)
    assert normalised_edge(0.5, 1.0, 1.0, lent, lent, 1.0, t=0.0)[1] == math.inf
    assert bound_factor(0.5, lent, 1.0, 1.0, t=1.0) == math.inf
    lent = math.exp(699.0)
    assert normalised_edge(0.5, 1.0, 1.0, lent, lent, 1.0, t=0.0)[1] == pytest.approx(lent)
    assert bound_factor(0.5, lent, 1.0, 1.0, t=1.0) < math.inf


def test_an_edge_below_the_least_double_is_none():
    assert normalised_edge(0.0, 1e-200, 1e-200, 0.0, 0.0, 0.0, t=1.0) == (0.0, 0.0)
