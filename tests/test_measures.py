# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tadaboost import measures
from tadaboost.calculus import exp_t, log_t, star, tempered_difference, tempered_product

from . import oracle

EPS = np.finfo(float).eps
TEMPERATURE = st.floats(-3, 1.99)
SEED = st.integers(0, 10**6)


def random_measure(seed, t, rows=6):
    rng = np.random.default_rng(seed)
    return measures.normalize(rng.uniform(0.1, 1, rows), t), rng.normal(size=rows), rng


def z_of(q, u, mu, t):
    """Equation (7), from its definition."""
    return float(np.sum(exp_t(log_t(q, t) - mu * u, t) ** (2 - t)) ** star(t))


def test_projections_equal_the_50_digit_vectors():
    for record in oracle.read("projections")["records"]:
        got = measures.project(oracle.numbers(record["q"]), record["u"], record["t"], record["n"])
        tol = record["tol"]
        assert got.status == record["status"], record["name"]
        oracle.assert_within(got.mu, float(record["mu"]), tol, tol)
        oracle.assert_within(got.Z, float(record["Z"]), tol, tol)
        if record["q_new"] is None:
            assert np.all(np.isnan(got.q)), record["name"]
            continue
        oracle.assert_within(got.q, oracle.numbers(record["q_new"]), tol, tol)
        count = np.ones_like(got.q) if record["n"] is None else oracle.numbers(record["n"])
        mass = count * measures.codensity(got.q, record["t"])
        oracle.assert_within(mass, oracle.numbers(record["p_new"]), tol, tol)


@given(seed=SEED, t=TEMPERATURE)
def test_normalize_puts_weights_and_multiplicities_on_the_co_simplex(seed, t):
    rng = np.random.default_rng(seed)
    q, n = rng.uniform(0, 5, (3, 7)), rng.integers(0, 4, 7)
    n[0] = 1
    np.testing.assert_allclose(np.sum(n * measures.normalize(q, t, n) ** (2 - t), axis=-1), 1, rtol=1e-12)
    np.testing.assert_allclose(
        np.sum(measures.codensity(measures.normalize(q, t), t), axis=-1), 1, rtol=1e-12
    )


def test_functions_of_measures_take_a_temperature_for_each_of_them():
    q = np.array([[0.3, 0.5, 0.2], [0.1, 0.1, 0.8]])
    t = np.array([0.0, 1.5])
    both = measures.normalize(q, t)
    for i in range(2):
        np.testing.assert_array_equal(both[i], measures.normalize(q[i], t[i]))
        assert measures.relative_entropy(both, both[::-1], t)[i] == measures.relative_entropy(
            both[i], both[1 - i], t[i]
        )
        assert measures.cumulant(measures.natural(both, t), t)[i] == measures.cumulant(
            measures.natural(both[i], t[i]), t[i]
        )


@given(seed=SEED, t=TEMPERATURE)
def test_natural_parameters_and_cumulant_describe_the_measure(seed, t):  # Lemma A
    q, _, _ = random_measure(seed, t)
    theta = measures.natural(q, t)
    assert measures.cumulant(theta, t) == pytest.approx(float(log_t(1 / q[-1], t)), rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(measures.from_natural(theta, t), q, rtol=1e-8, atol=1e-10)
    if t < 1:
        G = measures.cumulant(theta, t)
        np.testing.assert_allclose(exp_t(tempered_difference(theta, G, t), t), q[:-1], rtol=1e-8, atol=1e-10)


@given(seed=SEED, t=TEMPERATURE)
def test_relative_entropy_is_positive_but_between_equals(seed, t):
    q, _, rng = random_measure(seed, t)
    other = measures.normalize(rng.uniform(0.1, 1, 6), t)
    assert measures.relative_entropy(q, other, t) > 0
    assert measures.relative_entropy(q, q, t) == 0


@given(seed=SEED, t=TEMPERATURE)
def test_relative_entropy_is_equation_2(seed, t):
    q, _, rng = random_measure(seed, t)
    other = measures.normalize(rng.uniform(0.1, 1, 6), t)
    terms = q * (log_t(q, t) - log_t(other, t)) - log_t(q, t - 1) + log_t(other, t - 1)
    assert measures.relative_entropy(q, other, t) == pytest.approx(np.sum(terms), rel=1e-8, abs=1e-11)


def test_the_relative_entropy_of_weights_far_apart_has_no_power_that_overflows():
    q1, q2 = np.array([1e-3, 1e-9, 1.0]), np.array([1e-22, 1.0, 1e-7])
    assert measures.relative_entropy(q1, q2, -50.0) == pytest.approx((1 - 1e-9) / 51, rel=8 * EPS)
    assert measures.relative_entropy(q2, q1, -50.0) == pytest.approx((1 - 1e-7) / 51, rel=8 * EPS)


def test_the_cumulant_keeps_the_digits_of_small_weights_and_does_not_overflow():
    theta = -20.0
    assert measures.cumulant([theta], 1.0) == pytest.approx(np.log1p(np.exp(theta)), rel=4 * EPS, abs=0.0)
    assert measures.cumulant([1e200], -50.0) == pytest.approx(1e200, rel=1e-12)
    assert measures.cumulant([3.0], 1.5) == 2.0  # beyond the pole: log_t of infinity
    np.testing.assert_array_equal(measures.from_natural([800.0], 1.0), [1.0, np.exp(-800.0)])


def test_a_codensity_may_overflow():
    assert measures.codensity(1e300, 0.0) == np.inf


def test_relative_entropy_of_a_zero_is_finite_below_1_only():
    q1, q2 = [0.6, 0.8], [0.0, 1.0]
    # t = 0: q1 (q1 - q2) - (q1^2 - q2^2)/2 summed is |q1 - q2|^2 / 2
    assert measures.relative_entropy(q1, q2, 0.0) == pytest.approx((0.36 + 0.04) / 2, rel=1e-14)
    assert measures.relative_entropy(q2, q1, 0.0) == pytest.approx((0.36 + 0.04) / 2, rel=1e-14)
    np.testing.assert_array_equal(measures.relative_entropy(q1, q2, [1.0, 1.5]), np.inf)
    assert measures.relative_entropy(q2, q1, 1.0) == pytest.approx(0.6 + np.log(1 / 0.8) - 0.2, rel=1e-14)
    assert measures.relative_entropy([0.0, 1.0], [0.0, 1.0], 1.5) == 0


@given(seed=SEED, t=TEMPERATURE)
def test_the_projection_has_no_edge_is_on_the_co_simplex_and_costs_minus_log_z(seed, t):  # Lemma B
    q, u, _ = random_measure(seed, t)
    assume(np.min(u) < -0.01 and np.max(u) > 0.01)
    got = measures.project(q, u, t)
    assert got.status == "ok"
    assert 0 < got.Z <= 1 + 1e-12
    assert np.sum(got.q ** (2 - t)) == pytest.approx(1, rel=1e-12)
    # A weight near its kink is the (1-t)-th root of mu's last digits.
    tolerance = max(1e-9, (4 * np.finfo(float).eps) ** (1 / (1 - t)) if t < 0 else 0.0)
    assert np.sum(got.q * u) == pytest.approx(0, abs=tolerance)
    assert measures.relative_entropy(got.q, q, t) == pytest.approx(
        -float(log_t(got.Z, t)), rel=1e-6, abs=1e-9
    )


@given(seed=SEED, t=TEMPERATURE, other=st.floats(-0.1, 0.1))
def test_no_other_multiplier_has_a_smaller_z(seed, t, other):
    q, u, _ = random_measure(seed, t)
    assume(np.min(u) < -0.01 and np.max(u) > 0.01)
    got = measures.project(q, u, t)
    assert z_of(q, u, got.mu, t) == pytest.approx(got.Z, rel=1e-9)
    assert z_of(q, u, got.mu + other, t) >= got.Z * (1 - 1e-9)


@given(seed=SEED, t=st.floats(-1, 1.8))
def test_the_slope_and_curvature_of_z_are_those_of_equation_30_and_lemma_c(seed, t):
    q, u, _ = random_measure(seed, t)
    mu, h = 0.02, 1e-5
    z0, z1, z2 = (z_of(q, u, mu + d, t) for d in (-h, 0.0, h))
    log_e = measures.tilt(np.log(q), u, mu, t)
    edge = float(np.sum(np.exp(log_e) * u)) / z1
    assert (z2 - z0) / (2 * h) == pytest.approx(-(z1**t) * edge, rel=1e-5, abs=1e-7)
    assert (z2 - 2 * z1 + z0) / h**2 >= t * z1 ** (2 * t - 1) * edge**2 - 1e-4


@given(seed=SEED, t=TEMPERATURE, scale=st.floats(0.01, 100))
def test_rescaling_the_edges_rescales_the_multiplier_only(seed, t, scale):
    q, u, _ = random_measure(seed, t)
    assume(np.min(u) < -0.01 and np.max(u) > 0.01)
    one, two, mirrored = (measures.project(q, c * u, t) for c in (1.0, scale, -1.0))
    assert two.mu * scale == pytest.approx(one.mu, rel=1e-9, abs=1e-12)
    assert mirrored.mu == pytest.approx(-one.mu, rel=1e-9, abs=1e-12)
    np.testing.assert_allclose(two.q, one.q, rtol=1e-5, atol=1e-7)


@given(seed=SEED, t=TEMPERATURE)
def test_multiplicities_are_repeated_rows(seed, t):
    rng = np.random.default_rng(seed)
    n, u = rng.integers(1, 4, 5), rng.normal(size=5)
    assume(np.min(u) < -0.01 and np.max(u) > 0.01)
    q = measures.normalize(rng.uniform(0.1, 1, 5), t, n)
    counted = measures.project(q, u, t, n)
    repeated = measures.project(np.repeat(q, n), np.repeat(u, n), t)
    assert counted.mu == pytest.approx(repeated.mu, rel=1e-9, abs=1e-12)
    np.testing.assert_allclose(counted.Z, repeated.Z, rtol=1e-12)


def test_a_row_switches_off_at_its_clamp_and_on_again_when_pushed():
    off = measures.project([0.1, 0.7, 0.7], [2.0, 1.0, -0.1], t=0.0)
    assert off.q[0] == 0.0
    on = measures.project(off.q, [-1.0, 0.5, 0.5], t=0.0)
    assert on.status == "ok"
    assert on.q[0] > 0


@pytest.mark.parametrize("scale", [0.1, 0.3, 0.7, 1.0, 1.9, 3.3])
def test_a_row_whose_clamp_is_the_root_itself_is_off_not_nearly_off(scale):
    # t = 0, e = q - mu u: at mu = .1 the edge is 2 * 0 + .4 - (.3 + .1) = 0 and the first row exactly 0.
    got = measures.project(scale * np.array([0.2, 0.5, 0.3]), [2.0, 1.0, -1.0], t=0.0)
    assert got.mu == pytest.approx(0.1 * scale, rel=1e-14)
    assert got.q[0] == 0.0


@pytest.mark.parametrize("unit", [1e-250, 1e250])
def test_the_unit_of_the_weights_goes_into_the_multiplier(unit):
    q, u = np.array([0.2, 0.5, 0.3, 0.6]), np.array([2.0, 1.0, -1.0, -0.3])
    one, other = measures.project(q, u, t=0.0), measures.project(unit * q, u, t=0.0)
    assert other.mu / unit == pytest.approx(one.mu, rel=1e-14)
    np.testing.assert_allclose(other.q, one.q, rtol=1e-12)


def test_a_measure_without_any_weight_does_not_move():
    mu, status, log_new = measures.solve_projection(
        np.full(2, -np.inf), np.array([1.0, -1.0]), 0.0, np.ones(2)
    )
    assert (mu, status) == (0.0, "ok")
    np.testing.assert_array_equal(log_new, -np.inf)


def test_one_bad_measure_among_several_is_refused():
    with pytest.raises(ValueError, match=r"^q has no mass"):
        measures.normalize([[0.0, 0.0], [1.0, 2.0]], 0.5)
    with pytest.raises(ValueError, match=r"^q: the last weight is the base"):
        measures.natural([[1.0, 2.0, 0.0], [1.0, 2.0, 1.0]], 0.5)
    assert measures.natural([1.0, 0.0, 2.0], 0.5)[1] == -2.0  # log_t 0, of a row that is not the base


def test_a_clipped_sum_of_nothing_has_the_shape_of_a_summand():
    np.testing.assert_array_equal(measures.clipped_sum(np.empty((0, 2, 3)), 1.0), np.zeros((2, 3)))


def test_a_row_that_is_off_never_comes_back_from_t_equal_to_1_on():
    for t in (1.0, 1.5):
        q = measures.normalize([0.0, 0.5, 0.5], t)
        got = measures.project(q, [-1.0, 1.0, -0.5], t)
        assert got.status == "ok"
        assert got.q[0] == 0.0
        assert measures.project(q, [-1.0, 1.0, 0.5], t).status == "none"


def test_one_sided_edges_move_the_mass_to_the_rows_without_edge():
    q = measures.normalize([1.0, 1.0], 0.5)
    flat = measures.project(q, [1.0, 0.0], 0.5)
    assert flat.status == "flat"
    np.testing.assert_allclose(flat.q, [0.0, 1.0], atol=0, rtol=1e-15)
    # Theorem 1's "strictly convex" fails here: past mu, Z stays where it is.
    assert z_of(q, np.array([1.0, 0.0]), flat.mu, 0.5) == pytest.approx(flat.Z, rel=1e-14)
    assert z_of(q, np.array([1.0, 0.0]), flat.mu + 1, 0.5) == pytest.approx(flat.Z, rel=1e-14)
    hot = measures.project(measures.normalize([1.0, 1.0], 1.5), [-1.0, 0.0], 1.5)
    assert (hot.status, hot.mu) == ("flat", -np.inf)
    np.testing.assert_array_equal(hot.q, [0.0, 1.0])


def test_a_perfect_edge_has_no_projection():
    cold, hot = (measures.project([0.5] * 4, [1.0, 2.0, 1.0, 1.0], t) for t in (0.0, 1.0))
    assert (cold.status, cold.Z, cold.mu) == ("none", 0.0, 0.5)
    assert (hot.status, hot.Z, hot.mu) == ("none", 0.0, np.inf)


def test_rows_without_an_edge_do_not_hide_the_root_of_the_others():
    # e_0 = (1 - s mu)^(1/s) against e_2 = (s mu)^(1/s): equal at s mu = 1/2, both far below the row between.
    t = 1 - 1e-7
    q = measures.normalize([1.0, 1.0, 0.0], t)
    got = measures.project(q, [1.0, 0.0, -1.0], t)
    assert got.status == "ok"
    assert got.mu == pytest.approx(0.5 / (1 - t) * q[0] ** (1 - t), rel=1e-9)


@pytest.mark.parametrize("t", [-20.0, -38.0])
def test_weights_whose_powers_underflow_have_a_projection(t):
    # Rows 0 and 1 meet, in units of a weight of 1e-17, where 1 - x = x + 2^(t-1): both are then 2^(1/(t-1)).
    q = np.array([1e-17, 0.5e-17, 1.0, 1e-80])
    got = measures.project(q, [1.0, -1.0, 0.0, 1.0], t)
    assert got.status == "ok"
    s = 1 - t
    np.testing.assert_allclose(got.q[:2], 1e-17 * ((1 + 0.5**s) / 2) ** (1 / s), rtol=1e-13)
    np.testing.assert_array_equal(got.q[2:], [1.0, 0.0])


def test_a_row_that_is_off_comes_back_however_small_the_step():
    # 7 q u = 2 (s mu |u'|)^(1/s) |u'| with mu of 1e-41: the first row hardly moves.
    got = measures.project([0.9, 0.0], [1e-6, -1e-3], -16.0, [7.0, 2.0])
    assert got.mu == pytest.approx(1.7411271715282995e-41, rel=1e-11, abs=0.0)
    np.testing.assert_allclose(got.q, 7.0 ** (-1 / 18) * np.array([1.0, 3.5e-3]), rtol=1e-12)


def test_a_row_without_multiplicity_may_overflow():
    got = measures.project([1.0, 1.0, 1.0], [-1.0, 2.0, -9000.0], 1.0, [1.0, 1.0, 0.0])
    assert got.q[2] == np.inf
    assert got.q[:2] == pytest.approx([2 / 3, 1 / 3], rel=1e-13)


def test_a_weight_out_of_nearly_nothing_has_the_digits_of_the_push():
    # q^(1/2) = 1e-100 beside a push of 1: the log weight is not -460 + 460.
    log_e = measures.tilt(np.log([1e-200]), np.array([-2.0]), 1.0, 0.5)
    assert log_e[0] == pytest.approx(2e-100, rel=1e-12, abs=0.0)


def test_an_edge_of_zero_changes_nothing():
    q = measures.normalize([1.0, 2.0, 3.0], 0.3)
    got = measures.project(q, [0.0, 0.0, 0.0], 0.3)
    assert (got.status, got.mu) == ("ok", 0.0)
    np.testing.assert_allclose(got.q, q, rtol=1e-15)
    balanced = measures.project([0.5, 0.5, 0.5, 0.5], [1.0, -1.0, 1.0, -1.0], 0.0)
    assert (balanced.status, balanced.mu) == ("ok", 0.0)


@pytest.mark.parametrize("u0", [0.3, 0.7, 1.1, 1.3, 1.7, 2.3, 2.9, 3.1])
def test_a_row_that_reaches_its_clamp_at_the_root_is_off_in_spite_of_rounding(u0):
    mu = 2 * 0.3 / u0  # t = 1/2: takes all of a weight 0.3^2; the other two rows meet at weights 0.9^2
    q = np.array([0.3, 0.9 + 0.1 * mu, 0.9 - 0.1 * mu]) ** 2
    got = measures.project(q, [u0, 0.2, -0.2], 0.5)
    assert got.mu == pytest.approx(mu, rel=1e-12)
    assert got.q[0] == 0.0


@pytest.mark.parametrize("t", [1.1, 1.5, 1.9])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_root_next_to_the_pole_is_found(t, sign):
    n, u = np.array([1.0, 1e-6]), sign * np.array([1.0, -1.0])
    q = measures.normalize([1.0, 1.0], t, n)
    got = measures.project(q, u, t, n)
    assert got.q[1] == pytest.approx(1e6 * got.q[0], rel=1e-6)
    assert np.sum(n * got.q ** (2 - t)) == pytest.approx(1, rel=1e-12)


def test_an_edge_of_rounding_noise_switches_no_row_back_on():
    # The rows that are on have weights 2, 1, 1 (times .22) and edges 1, -1, -1: 0 on paper, not in float64.
    q = np.array([0.0, 0.44103481920751072, 0.22051740960375527, 0.22051740960375537])
    got = measures.project(q / 0.99, [1.0, 1.0, -1.0, -1.0], 0.5, [3.0, 1.0, 1.0, 1.0])
    assert got.mu == 0.0
    assert got.q[0] == 0.0


def test_z_is_not_convex_below_0_though_its_power_is():
    t, q, u = -2.0, measures.normalize([1.0, 1.0, 1.0], -2.0), np.array([1.0, 1.0, -1.0])
    mu = np.linspace(-0.2, 0.2, 81)
    z = np.array([z_of(q, u, m, t) for m in mu])
    assert np.min(np.diff(z, 2)) < -1e-6
    assert np.min(np.diff(z ** (2 - t), 2)) > -1e-12


@given(seed=SEED, t=st.floats(-3, 0.95))
def test_the_edge_decreases_with_the_multiplier(seed, t):
    q, u, _ = random_measure(seed, t)
    edges = [np.sum(np.exp(measures.tilt(np.log(q), u, mu, t)) * u) for mu in np.linspace(-1, 1, 41)]
    assert np.all(np.diff(edges) <= 1e-9)


@given(seed=SEED, t=st.floats(-3, 0.9), mu=st.floats(-0.2, 0.2))
def test_the_tilt_is_the_tempered_product_below_1(seed, t, mu):
    q, u, _ = random_measure(seed, t)
    product = tempered_product(q, exp_t(-mu * u, t), t)
    got = np.exp(measures.tilt(np.log(q), u, mu, t))
    np.testing.assert_allclose(got ** (1 - t), product ** (1 - t), rtol=1e-9, atol=1e-9)


@given(seed=SEED, delta=st.floats(0, 3))
def test_clipped_sums_keep_the_order_of_lemma_d(seed, delta):
    v = np.random.default_rng(seed).normal(size=(8, 20)) * 2
    upper, lower = (measures.clipped_sum(v, delta, side=side) for side in ("upper", "lower"))
    both, plain = measures.clipped_sum(v, delta), np.sum(v, axis=0)
    slack = 1e-13
    assert np.all(upper <= plain + slack)
    assert np.all(plain <= lower + slack)
    assert np.all(upper <= both + slack)
    assert np.all(both <= lower + slack)
    assert np.all(np.abs(both) <= delta)
    np.testing.assert_array_equal(measures.clipped_sum(-v, delta), -both)
    np.testing.assert_array_equal(measures.clipped_sum(v.T, delta, axis=1), both)


def test_clipped_sums_depend_on_the_order_and_have_none_with_the_plain_sum():
    assert measures.clipped_sum([-1.0, 3.0], 2.0) == 2.0
    assert measures.clipped_sum([3.0, -1.0], 2.0) == 1.0
    assert measures.clipped_sum([3.0, -1.0], 2.0) < 2.0  # below the plain sum
    assert measures.clipped_sum([-3.0, 2.0], 1.0) == 1.0  # above it, and of the other sign
    assert measures.clipped_sum([1.0, 2.5], np.inf) == 3.5


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: measures.project([0.6, 0.8], [1.0, -1.0], 2.0), r"^t must be finite and < 2, got 2\.0$"),
        (lambda: measures.project([0.6, 0.8], [1.0, -1.0], -np.inf), r"^t must be finite and < 2, got -inf$"),
        (lambda: measures.project([0.6, -0.8], [1.0, -1.0], 0.0), r"^q must be >= 0, got -0\.8$"),
        (lambda: measures.project([0.6, np.nan], [1.0, -1.0], 0.0), r"^q must be >= 0, got nan$"),
        (lambda: measures.project([0.6, 0.8], [1.0, np.inf], 0.0), r"^u must be finite, got inf$"),
        (
            lambda: measures.project([0.6, 0.8], [1.0], 0.0),
            r"^q, u and n must be one-dimensional and equally long",
        ),
        (lambda: measures.project([0.6], [1.0], 0.0, [-1.0]), r"^n must be >= 0, got -1\.0$"),
        (lambda: measures.codensity([0.5, 0.0, -0.5], 0.5), r"^q must be >= 0, got -0\.5$"),
        (lambda: measures.normalize([0.0, 0.0], 0.5), r"^q has no mass"),
        (lambda: measures.natural([1.0, 1.0, 0.0], 0.5), r"^q: the last weight is the base"),
        (lambda: measures.relative_entropy([1.0], [-1.0], 0.5), r"^q2 must be >= 0, got -1\.0$"),
        (lambda: measures.clipped_sum([1.0], -1.0), r"^delta must be >= 0, got -1\.0$"),
        (
            lambda: measures.clipped_sum([1.0], 1.0, side="left"),
            r"^side must be 'both', 'upper' or 'lower', got 'left'$",
        ),
    ],
)
def test_a_value_out_of_range_is_refused_by_name(call, text):
    with pytest.raises(ValueError, match=text):
        call()


def test_for_t_above_1_the_search_stays_before_the_first_pole():
    # The row of edge -1 becomes infinite at mu = 2, and the edge is still positive at half of that.
    u, n, t = np.array([1.0, -1.0, -0.1]), np.array([10.0, 1.0, 1.0]), 1.5
    log_q = np.zeros(3)
    mu, status, log_new = measures.solve_projection(log_q, u, t, n)
    assert status == "ok"
    assert 1 < mu < 2
    assert np.sum(n * np.exp(log_new) * u) == pytest.approx(0, abs=1e-12)
