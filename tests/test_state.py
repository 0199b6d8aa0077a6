# SPDX-License-Identifier: Apache-2.0
"""`boosting.State` alone: its caps and rate, which `boost` leaves as they are, and weights set by hand."""

import math

import numpy as np
import pytest

from tadaboost.boosting import State
from tadaboost.calculus import exp_t


@pytest.mark.parametrize("t", [0.5, 1.0, 1.2])
def test_no_coefficient_times_output_exceeds_the_cap(t):
    state = State(t, np.array([0.4, 0.3, 0.2, 0.1]), 1.0, cap=0.125)
    assert state.n_capped == 0
    for u in ([2.0, -0.5, 0.0, 0.1], [-2.0, 0.5, 0.0, -0.1], [0.5, 4.0, 0.0, -0.1]):
        alpha = state.step(np.array(u), "closed").alpha
        assert abs(alpha) * max(map(abs, u)) == pytest.approx(0.125)
        assert state.n_capped == 1
    assert state.step(np.zeros(4), "closed").alpha == 0
    assert state.n_capped == 0


def test_no_weight_exceeds_the_ceiling():
    # At t = 1 a weight is e^-(sum of alpha u), until it is cut.
    state = State(1.0, np.array([0.4, 0.3, 0.2, 0.1]), 1.0, ceiling=1.0)
    reached = []
    for u in ([-1.0, -0.25, 0.0, 1.0], [-1.5, -0.5, 0.0, 1.0], [-0.5, -0.5, 0.5, 1.0]):
        state.step(np.array(u), "unit")
        reached.append(state.n_capped)
        log_weights = state.log_e + state.log_loss
    assert reached == [1, 1, 2]  # one that is at the ceiling counts
    np.testing.assert_allclose(log_weights, [1.0, 1.0, -0.5, -3.0], rtol=1e-14)


@pytest.mark.parametrize("rule", ["closed", "exact", "corrective"])
def test_a_margin_does_not_depend_on_the_unit_of_the_outputs(rule):
    u, unit = np.array([[1.0, -0.5, 0.5, -1.0], [-1.0, 1.0, 1.0, 0.5]]), 2.0**-50
    states = [State(0.5, np.array([0.4, 0.3, 0.2, 0.1]), 1.0, margin=0.05) for _ in range(2)]
    for row in u:
        large, small = states[0].step(row, rule), states[1].step(row * unit, rule)
        assert large.alpha > 0.01
        assert small.alpha * unit == pytest.approx(large.alpha, rel=1e-9)
    np.testing.assert_allclose(states[1].log_e, states[0].log_e, atol=1e-9)


@pytest.mark.parametrize(("cap", "rate"), [(0.125, 0.5), (math.inf, 0.5), (0.125, 1.0)])
def test_the_loss_of_corrective_steps_is_that_of_their_coefficients_less_the_margin(cap, rate):
    t, omega, margin = 0.5, np.array([0.4, 0.3, 0.2, 0.1]), 0.05
    state = State(t, omega, 1.0, rate=rate, cap=cap, margin=margin)
    H = np.array([[2.0, -1.0, 1.0, -2.0], [-1.0, 1.0, 1.0, 0.5]])
    size = np.max(np.abs(H), axis=1)
    for j, u in enumerate(H, 1):
        alpha = state.step(u, "corrective").alpha
        sums = state.coefficients @ H[:j] - margin * np.abs(state.coefficients) @ size[:j]
        assert state.log_loss == pytest.approx(np.log(np.sum(omega * exp_t(-sums, t) ** (2 - t))))
        assert alpha == pytest.approx(state.coefficients[-1]) != 0
        assert state.n_capped == (cap < math.inf)
        if j == 1 and state.n_capped:
            assert abs(alpha) * size[0] == pytest.approx(rate * cap)  # the rate comes after the cap


def test_rows_that_are_off_have_an_edge_where_the_others_have_none():
    # t = 0: e = sqrt(2) on two rows, whose edges cancel; A = 1/sqrt(2), so the row that is off is lent
    # e = (1/4) / A, and rho = (e/2)(1/4) / (A (1 + e^2/2)) = 1/17.
    state = State(0.0, np.array([0.25, 0.25, 0.5]), 1.0)
    state.log_e = np.array([0.5 * math.log(2), 0.5 * math.log(2), -math.inf])
    found = state.step(np.array([1.0, -1.0, 0.25]), "closed")
    assert found.rho == pytest.approx(1 / 17, rel=1e-14)
    assert found.q_dagger == pytest.approx(math.sqrt(2) / 4, rel=1e-14)
