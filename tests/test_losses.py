# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tadaboost import losses
from tadaboost.calculus import exp_t, log_t, power_mean, star

from . import oracle

EPS = np.finfo(float).eps
TEMPERATURE = st.floats(-3, 1.99)
INNER = st.floats(1e-3, 1 - 1e-3)
GRID = np.linspace(0, 1, 201)
FUNCTIONS = {
    "k_t": losses.k_t,
    "bayes_risk": losses.bayes_risk,
    "partial_loss_pos": losses.partial_loss,
    "leaf_link": losses.leaf_link,
    "inverse_link": losses.inverse_link,
    "mu_closed": losses.mu_closed,
    "tempered_exp_loss": losses.tempered_exp_loss,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_equals_the_50_digit_vectors(name):
    *arguments, want, rtol, atol = oracle.columns(oracle.scalar_tables()[name])
    oracle.assert_within(FUNCTIONS[name](*arguments), want, rtol, atol)


def test_a_subnormal_edge_keeps_its_digits_next_to_t_equal_to_1():
    rho = 1.2874149301113e-311
    np.testing.assert_array_equal(losses.mu_closed(rho, 1.0, [1 - 1e-12, 1.0, 1 + 1e-12]), rho)


def test_the_bayes_risk_passes_through_the_known_losses():
    u = GRID
    np.testing.assert_allclose(losses.bayes_risk(u, -np.inf), 2 * np.minimum(u, 1 - u), rtol=4 * EPS)
    np.testing.assert_allclose(losses.bayes_risk(u, 0.0), 4 * u * (1 - u), rtol=16 * EPS)
    np.testing.assert_allclose(losses.bayes_risk(u, 1.0), 2 * np.sqrt(u * (1 - u)), rtol=4 * EPS)
    np.testing.assert_allclose(losses.bayes_risk(u, 2.0), 1.0, rtol=4 * EPS)


@given(u=INNER, t=TEMPERATURE)
def test_the_bayes_risk_is_the_quotient_of_equation_20(u, t):
    quotient = 2 * u * (1 - u) / power_mean(u, 1 - u, 1 - t)
    assert losses.bayes_risk(u, t) == pytest.approx(float(quotient), rel=64 * EPS)


@pytest.mark.parametrize("t", [-np.inf, -3.0, 0.0, 0.5, 1.0, 1.5, 1.99, 2.0])
def test_the_bayes_risk_is_concave_symmetric_and_lies_between_2min_and_1(t):
    risk = losses.bayes_risk(GRID, t)
    assert np.all(risk[1:-1] >= (risk[:-2] + risk[2:]) / 2 - 1e-15)
    np.testing.assert_allclose(risk, risk[::-1], rtol=1e-13)
    assert losses.bayes_risk(0.5, t) == pytest.approx(1.0, rel=4 * EPS)
    assert np.all(risk <= 1 + 4 * EPS)
    assert np.all(risk >= 2 * np.minimum(GRID, 1 - GRID) * (1 - 4 * EPS))


@given(u=INNER, t=TEMPERATURE, warmer=st.floats(0, 1))
def test_the_bayes_risk_increases_with_t(u, t, warmer):
    assert losses.bayes_risk(u, min(t + warmer, 1.99)) >= losses.bayes_risk(u, t) * (1 - 16 * EPS)


@given(u=st.floats(0.01, 0.99), share=st.floats(0.01, 0.99))
def test_every_risk_between_2min_and_1_belongs_to_some_temperature(u, share):  # Lemma 1
    low = 2 * min(u, 1 - u)
    assume(low < 0.999)
    target = low + share * (1 - low)
    cold, hot = -1e6, 2.0
    for _ in range(200):
        middle = (cold + hot) / 2
        cold, hot = (middle, hot) if losses.bayes_risk(u, middle) < target else (cold, middle)
    assert losses.bayes_risk(u, hot) == pytest.approx(target, rel=1e-9)


@pytest.mark.parametrize(("t", "risk"), [(1.1, 0.00195), (1.5, 0.5), (1.9, 0.926)])
def test_a_pure_leaf_has_a_risk_for_t_above_1(t, risk):
    assert losses.bayes_risk(0.0, t) == pytest.approx(risk, rel=2e-3)
    assert losses.bayes_risk(1.0, t) == pytest.approx(2 ** ((t - 2) / (t - 1)), rel=1e-13)
    assert losses.partial_loss(1.0, t) == pytest.approx(2 ** (-(2 - t) / (t - 1)), rel=1e-13)
    assert losses.partial_loss(0.0, t) == np.inf


def test_partial_losses_of_a_wrong_certainty_are_finite_below_1_only():
    np.testing.assert_allclose(losses.partial_loss(0.0, [0.0, 0.5]), [4.0, 8.0], rtol=4 * EPS)
    np.testing.assert_array_equal(losses.partial_loss(0.0, [1.0, 1.5]), np.inf)
    np.testing.assert_array_equal(losses.partial_loss(1.0, [-1.0, 0.5, 1.0]), 0.0)


def test_the_limits_of_the_partial_loss_are_a_step_and_a_constant():
    np.testing.assert_array_equal(
        losses.partial_loss([0.1, 0.5, 0.9], -np.inf), [2.0, 1.0, 0.0]
    )  # (89), corrected
    np.testing.assert_array_equal(losses.partial_loss([0.0, 0.1, 0.9], 2.0), 1.0)


@given(u=INNER, v=INNER, t=TEMPERATURE)
def test_the_conditional_risk_is_least_where_prediction_and_truth_agree(u, v, t):
    best = float(losses.conditional_risk(v, v, t))
    assert best == pytest.approx(float(losses.bayes_risk(v, t)), rel=1e-13)
    assert losses.conditional_risk(u, v, t) >= best * (1 - 1e-13)


@pytest.mark.parametrize("t", [-2.0, 0.0, 0.5, 1.0, 1.5])
def test_the_minimiser_of_the_conditional_risk_on_a_grid_is_the_truth(t):
    grid = np.linspace(0.005, 0.995, 199)
    for v in (0.1, 0.35, 0.8):
        assert grid[np.argmin(losses.conditional_risk(grid, v, t))] == pytest.approx(v, abs=1e-12)


def test_a_class_of_probability_zero_adds_nothing_to_the_conditional_risk():
    for t in (0.5, 1.0, 1.5):
        assert losses.conditional_risk(0.0, 0.0, t) == losses.bayes_risk(0.0, t)
        assert losses.conditional_risk(1.0, 1.0, t) == losses.bayes_risk(1.0, t)


@given(u=INNER, t=TEMPERATURE)
def test_partial_losses_mirror_each_other_and_are_the_loss_of_the_link(u, t):
    positive = losses.partial_loss(u, t)
    assert losses.partial_loss(1 - u, t, label=-1) == pytest.approx(float(positive), rel=1e-12)
    through_link = losses.tempered_exp_loss(losses.leaf_link(u, 1 - u, t), t)
    assert positive == pytest.approx(float(through_link), rel=1e-9, abs=1e-12)


@given(u=st.floats(0.05, 0.95), t=st.floats(-3, 1.9))
def test_the_canonical_link_is_minus_the_slope_of_the_bayes_risk(u, t):
    step = 1e-6
    slope = (losses.bayes_risk(u + step, t) - losses.bayes_risk(u - step, t)) / (2 * step)
    assert losses.canonical_link(u, t) == pytest.approx(-float(slope), abs=1e-7)


@pytest.mark.parametrize(
    ("t", "canonical", "leaf"), [(0.0, 2.4, 0.6), (0.5, 2.074, 0.667), (1.0, 1.5, 0.693), (1.5, 0.75, 0.667)]
)
def test_canonical_and_leaf_link_differ_but_at_zero(t, canonical, leaf):
    assert losses.canonical_link(0.8, t) == pytest.approx(canonical, abs=5e-4)
    assert losses.leaf_link(0.8, 0.2, t) == pytest.approx(leaf, abs=5e-4)


@given(a=st.floats(1e-6, 1e6), b=st.floats(1e-6, 1e6), t=TEMPERATURE, scale=st.floats(1e-6, 1e6))
def test_leaf_values_do_not_depend_on_the_unit_of_mass_and_change_sign_with_the_labels(a, b, t, scale):
    for link in (losses.canonical_leaf, losses.leaf_link):
        value = float(link(a, b, t))
        near = {"rel": 1e-9, "abs": 1e-14}
        assert link(scale * a, scale * b, t) == pytest.approx(value, **near)
        assert link(b, a, t) == pytest.approx(-value, **near)


@given(u=INNER, t=TEMPERATURE)
def test_the_canonical_leaf_is_the_homogeneous_formula(u, t):
    a, b = 7 * u, 7 * (1 - u)
    plain = (a ** (2 - t) - b ** (2 - t)) / power_mean(a, b, 1 - t) ** (2 - t)
    assert losses.canonical_leaf(a, b, t) == pytest.approx(float(plain), rel=1e-10, abs=1e-12)
    assert losses.canonical_link(u, t) == pytest.approx(float(plain), rel=1e-10, abs=1e-12)


def test_a_leaf_of_odds_e_has_a_value_like_any_other():
    assert losses.canonical_leaf(np.e, 1.0, 1.0) == pytest.approx(2 * np.sinh(0.5), rel=1e-14)


def test_pure_leaves_have_the_limits_of_the_links():
    np.testing.assert_allclose(losses.canonical_leaf(3.0, 0.0, [0.0, 0.5]), [4.0, 8.0], rtol=4 * EPS)
    np.testing.assert_array_equal(losses.canonical_leaf(0.0, 3.0, [1.0, 1.5]), -np.inf)
    np.testing.assert_array_equal(losses.canonical_leaf([3.0, 0.0, 2.0], [0.0, 3.0, 1.0], 2.0), 0.0)
    np.testing.assert_array_equal(
        losses.canonical_leaf([3.0, 1.0, 1.0], [0.0, 1.0, 3.0], -np.inf), [2.0, 0.0, -2.0]
    )
    np.testing.assert_allclose(losses.leaf_link(3.0, 0.0, [0.0, 0.5, 1.5]), [1.0, 2.0, 2.0])
    np.testing.assert_allclose(losses.leaf_link(0.0, 3.0, [0.0, 1.0, 1.5]), [-1.0, -np.inf, -2.0])
    np.testing.assert_array_equal(losses.leaf_link([2.0, 1.0, 1.0], [1.0, 1.0, 0.0], -np.inf), 0.0)
    assert np.isnan(losses.leaf_link(0.0, 0.0, 0.5))
    assert np.isnan(losses.canonical_leaf(0.0, 0.0, 0.5))


@given(u=INNER, v=INNER, t=TEMPERATURE)
def test_the_leaf_link_increases_is_odd_and_bounded_and_the_inverse_undoes_it(u, v, t):
    value = float(losses.leaf_link(u, 1 - u, t))
    assert losses.leaf_link(1 - u, u, t) == pytest.approx(-value, rel=1e-12, abs=1e-15)
    assert abs(value) * abs(1 - t) <= 1
    if u < v - 1e-12:
        assert value <= losses.leaf_link(v, 1 - v, t)
    if abs(value * (1 - t)) < 1 - 1e-6:  # else the link has no digits left there
        assert losses.inverse_link(value, t) == pytest.approx(u, rel=1e-8)


@given(h=st.floats(-0.2, 0.2), t=TEMPERATURE)
def test_the_inverse_link_is_the_quotient_of_tempered_exponentials(h, t):
    up, down = float(exp_t(h, t)), float(exp_t(-h, t))
    assert losses.inverse_link(h, t) == pytest.approx(up / (up + down), rel=1e-13)
    assert losses.inverse_link(h, t) + losses.inverse_link(-h, t) == pytest.approx(1.0, rel=4 * EPS)


def test_the_inverse_link_is_certain_from_the_clip_on():
    for t in (0.0, 0.5, 1.5):
        end = 1 / abs(1 - t)
        np.testing.assert_array_equal(losses.inverse_link([-9.0, -end, end, 9.0], t), [0.0, 0.0, 1.0, 1.0])
    np.testing.assert_array_equal(losses.inverse_link([-1.0, 0.0, 1.0], -np.inf), [0.0, 0.5, 1.0])


def test_the_probability_is_not_the_margin_rescaled():
    t, h = 0.5, np.array([0.4, 0.8])
    ratio = (2 * losses.inverse_link(h, t) - 1) / losses.margin(1, h, t)
    assert abs(ratio[0] - ratio[1]) > 0.01


@given(v=st.floats(0.02, 0.98), t=TEMPERATURE)
def test_the_link_minimises_the_expected_tempered_loss(v, t):
    def risk(h):
        return v * losses.tempered_exp_loss(h, t) + (1 - v) * losses.tempered_exp_loss(-h, t)

    best = float(losses.leaf_link(v, 1 - v, t))
    assert risk(best) == pytest.approx(float(losses.bayes_risk(v, t)), rel=1e-9)
    assert np.all(risk(best + np.array([-0.01, 0.01])) >= risk(best) * (1 - 1e-12))


def test_the_margin_reads_label_and_score_and_is_the_threshold_of_the_loss():
    np.testing.assert_allclose(losses.margin([1, -1], 0.8, 1.0), np.tanh([0.4, -0.4]), rtol=4 * EPS)
    nu = float(losses.margin(1, 0.8, 0.5))  # nu <= theta iff exp_t(-yH) >= (1-theta)/(1+theta)
    assert exp_t(-0.8, 0.5) == pytest.approx((1 - nu) / (1 + nu), rel=1e-14)


def test_the_tempered_loss_is_1_at_0_and_has_its_clamps():
    for t in (-2.0, 0.5, 1.0, 1.5):
        assert losses.tempered_exp_loss(0.0, t) == 1.0
    np.testing.assert_array_equal(losses.tempered_exp_loss([2.0, 3.0], 0.5), 0.0)
    np.testing.assert_array_equal(losses.tempered_exp_loss([-2.0, -3.0], 1.5), np.inf)
    np.testing.assert_array_equal(losses.tempered_exp_loss([-1.0, 0.0, 1.0], -np.inf), [np.inf, 1.0, 0.0])
    assert losses.tempered_exp_loss(-1.0, 0.0) == pytest.approx(4.0)


@given(rho=st.floats(-1, 1), t=TEMPERATURE)
def test_k_t_is_even_the_bayes_risk_of_the_edge_and_below_its_envelope(rho, t):
    value = float(losses.k_t(rho, t))
    assert value == losses.k_t(-rho, t)
    if abs(rho) < 1 - 1e-6:  # else (1 + rho)/2 rounds away the distance to 1
        assert value == pytest.approx(float(losses.bayes_risk((1 + rho) / 2, t)), rel=1e-9)
    if t >= 0:
        assert value <= losses.k_t_envelope(rho, t) * (1 + 4 * EPS)


@given(rho=st.floats(0, 0.99), t=TEMPERATURE, more=st.floats(0, 1))
def test_k_t_falls_with_the_edge_and_rises_with_t(rho, t, more):
    value = losses.k_t(rho, t) * (1 - 16 * EPS)
    assert losses.k_t(rho + more * (1 - rho), t) * (1 - 32 * EPS) <= losses.k_t(rho, t)
    assert losses.k_t(rho, min(t + more, 1.99)) >= value


def test_the_envelope_is_the_gaussian_of_the_edge_and_fails_far_below_zero():
    assert losses.k_t_envelope(0.5, 0.5) == pytest.approx(np.exp(-0.75 * 0.25), rel=4 * EPS)
    assert losses.k_t(0.3, -3.0) > losses.k_t_envelope(0.3, -3.0)
    assert losses.k_t(0.01, -1.3) <= losses.k_t_envelope(0.01, -1.3)


def test_the_number_of_rounds_is_where_the_envelope_reaches_the_error():
    rounds = losses.rounds_needed(0.2, 1e-3, [0.0, 0.5, 1.0])
    for j, t in zip(rounds, [0.0, 0.5, 1.0], strict=True):
        assert losses.k_t_envelope(0.2, t) ** j <= 1e-3 < losses.k_t_envelope(0.2, t) ** (j - 1)


@given(rho=st.floats(-0.99, 0.99), R=st.floats(0.1, 10), t=TEMPERATURE)
def test_the_closed_step_is_equation_11_and_never_passes_the_clamp(rho, R, t):
    mean = power_mean(1 - rho, 1 + rho, 1 - t)
    assert losses.mu_closed(rho, R, t) == pytest.approx(
        -float(log_t((1 - rho) / mean, t)) / R, rel=1e-9, abs=1e-14
    )
    assert abs(losses.mu_closed(rho, R, t)) * R * abs(1 - t) <= 1 + 2 * EPS


def test_the_closed_step_of_a_perfect_edge_reaches_the_clamp():
    np.testing.assert_array_equal(
        losses.mu_closed([1.0, -1.0], 2.0, 0.5), [1.0, -1.0]
    )  # not "<" as in the paper
    np.testing.assert_array_equal(losses.mu_closed([1.0, -1.0], 2.0, 1.0), [np.inf, -np.inf])
    assert losses.mu_closed(1.0, 2.0, 1.5) == 1.0
    assert losses.mu_closed(0.0, 0.0, 0.5) == 0.0


def test_edges_that_leave_the_interval_by_rounding_count_as_its_ends():
    assert losses.k_t(1 + 4 * EPS, 0.5) == 0.0
    assert losses.mu_closed([1 + 4 * EPS, -1 - 4 * EPS], 1.0, 0.5).tolist() == [2.0, -2.0]


def test_nothing_jumps_at_t_equal_to_1():
    for f in (losses.bayes_risk, losses.partial_loss, losses.canonical_link, losses.inverse_link, losses.k_t):
        for e in (1e-6, 1e-12):
            below, at, above = f(0.7, [1 - e, 1.0, 1 + e])
            assert abs(below - at) <= 2 * e
            assert abs(above - at) <= 2 * e
    below, at, above = losses.mu_closed(0.7, 1.0, [1 - 1e-12, 1.0, 1 + 1e-12])
    assert max(abs(below - at), abs(above - at)) <= 1e-12


def test_the_partial_loss_has_the_slope_of_equation_87():
    u, v, t, step = 0.3, 0.6, 0.4, 1e-6
    numeric = (losses.conditional_risk(u + step, v, t) - losses.conditional_risk(u - step, v, t)) / (2 * step)
    s = 1 - t
    total = (u**s + (1 - u) ** s) ** (1 / s)
    want = (2 - t) * 2 ** ((2 - t) / s) * (u - v) / ((u * (1 - u)) ** t * total ** (3 - 2 * t))
    assert numeric == pytest.approx(want, rel=1e-8)


def test_star_is_the_exponent_of_the_co_simplex():
    np.testing.assert_array_equal(star([0.0, 1.0, 1.5, 3.0]), [0.5, 1.0, 2.0, -1.0])


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: losses.bayes_risk([0.5, 1.5], 0.5), r"^u must be in \[0, 1\], got 1\.5$"),
        (lambda: losses.bayes_risk(0.5, 2.5), r"^t must be <= 2, got 2\.5$"),
        (lambda: losses.bayes_risk(0.5, np.nan), r"^t must be <= 2, got nan$"),
        (lambda: losses.leaf_link(1.0, 1.0, 2.0), r"^t must be < 2, got 2\.0$"),
        (lambda: losses.partial_loss(0.5, 0.5, label=0), r"^label must be 1 or -1, got 0$"),
        (lambda: losses.conditional_risk(0.5, -0.5, 0.5), r"^v must be in \[0, 1\], got -0\.5$"),
        (lambda: losses.leaf_link(-1.0, 1.0, 0.5), r"^w_pos must be >= 0, got -1\.0$"),
        (lambda: losses.canonical_leaf(1.0, -1.0, 0.5), r"^w_neg must be >= 0, got -1\.0$"),
        (lambda: losses.k_t(1.1, 0.5), r"^rho must be in \[-1, 1\], got 1\.1$"),
        (lambda: losses.mu_closed(0.5, -1.0, 0.5), r"^R must be >= 0, got -1\.0$"),
        (lambda: losses.rounds_needed(0.0, 0.1, 0.5), r"^gamma must be in \(0, 1\], got 0\.0$"),
        (lambda: losses.rounds_needed(0.1, 2.0, 0.5), r"^error must be in \(0, 1\], got 2\.0$"),
        (lambda: losses.rounds_needed(0.1, 0.1, [0.5, -1.0]), r"^t must be >= 0, got -1\.0$"),
        (lambda: losses.bayes_risk(0.5, [0.5, 3.0]), r"^t must be <= 2, got 3\.0$"),
        (lambda: losses.rounds_needed([0.5, 0.0], 0.1, 0.5), r"^gamma must be in \(0, 1\], got 0\.0$"),
        (lambda: losses.leaf_link([1.0, -1.0], 1.0, 0.5), r"^w_pos must be >= 0, got -1\.0$"),
        (lambda: losses.margin([1, 0], 1.0, 0.5), r"^y must be -1 or 1, got 0\.0$"),
        (lambda: losses.margin([-1, 2], 1.0, 0.5), r"^y must be -1 or 1, got 2\.0$"),
        (lambda: star([1.0, 2.0]), r"^t must not be 2, where t\* is infinite$"),
        (lambda: losses.k_t([0.5, -1.1], 0.5), r"^rho must be in \[-1, 1\], got -1\.1$"),
    ],
)
def test_a_value_out_of_range_is_refused_by_name(call, text):
    with pytest.raises(ValueError, match=text):
        call()


def test_the_ends_of_the_fractions_are_allowed():
    np.testing.assert_array_equal(losses.rounds_needed(1.0, [1.0, np.exp(-0.9)], 1.0), [0.0, 2.0])
