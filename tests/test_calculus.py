# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tadaboost import calculus as calc

from . import oracle

EPS = np.finfo(float).eps
TEMPERATURE = st.floats(-3, 1.99)
POSITIVE = st.floats(1e-3, 1e3)
FUNCTIONS = {
    "log_t": calc.log_t,
    "exp_t": calc.exp_t,
    "tempered_product": calc.tempered_product,
    "tempered_quotient": calc.tempered_quotient,
    "tempered_sum": calc.tempered_sum,
    "tempered_difference": calc.tempered_difference,
    "power_mean": lambda q, a, b: calc.power_mean(a, b, q),
    "tanh_t": calc.tanh_t,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_equals_the_50_digit_vectors(name):
    *arguments, want, rtol, atol = oracle.columns(oracle.scalar_tables()[name])
    oracle.assert_within(FUNCTIONS[name](*arguments), want, rtol, atol)


def test_log_t_has_its_limits_at_zero_and_infinity():
    np.testing.assert_array_equal(calc.log_t(0.0, [0.5, 1.0, 1.5]), [-2.0, -np.inf, -np.inf])
    np.testing.assert_array_equal(calc.log_t(np.inf, [0.5, 1.0, 1.5]), [np.inf, np.inf, 2.0])


def test_exp_t_is_zero_or_infinite_from_its_clamp_on():
    np.testing.assert_array_equal(calc.exp_t([-2.0, -3.0, -np.inf], 0.5), 0.0)
    np.testing.assert_array_equal(calc.exp_t([2.0, 3.0, np.inf], 1.5), np.inf)
    np.testing.assert_array_equal(calc.exp_t(-np.inf, [1.0, 1.5]), 0.0)


@given(z=POSITIVE, t=TEMPERATURE)
def test_exp_t_undoes_log_t(z, t):
    x = float(calc.log_t(z, t))
    condition = 1 + abs(x) * z ** (t - 1)  # relative slope of exp_t is exp_t^(t-1): steep near the clamp
    assert abs(calc.exp_t(x, t) - z) <= 16 * EPS * condition * z


@given(z=st.floats(-50, 50), t=TEMPERATURE)
def test_log_t_of_exp_t_is_its_argument_cut_at_the_clamp(z, t):
    want = max(z, -1 / (1 - t)) if t < 1 else z if t == 1 else min(z, 1 / (t - 1))
    e = float(calc.exp_t(z, t))
    scale = 1 + abs(z) * (1 + abs(1 - t))  # exp_t's condition times that of log_t
    assert abs(calc.log_t(e, t) - want) <= 64 * EPS * scale


@given(z=st.floats(-5, 5), step=st.floats(0.01, 2), t=TEMPERATURE)
def test_exp_t_and_log_t_increase(z, step, t):
    assert calc.exp_t(z + step, t) >= calc.exp_t(z, t)
    assert calc.log_t(np.exp(z + step), t) > calc.log_t(np.exp(z), t)


@given(z=st.floats(-5, 5), t=st.floats(0, 1.99))
def test_exp_t_lies_above_its_tangent_at_zero_for_t_from_0_on(z, t):
    assert calc.exp_t(z, t) >= (1 + z) * (1 - 8 * EPS * np.sign(1 + z))


@given(z=st.floats(-5, 5), t=TEMPERATURE, warmer=st.floats(0, 1))
def test_with_t_exp_t_increases_and_log_t_decreases(z, t, warmer):
    t2 = min(t + warmer, 1.99)
    assert calc.exp_t(z, t2) >= calc.exp_t(z, t) * (1 - 256 * EPS)
    x = np.exp(z)
    low, high = calc.log_t(x, t2), calc.log_t(x, t)
    assert low <= high + 64 * EPS * abs(high)


@given(z=st.floats(-0.3, 0.3), t=TEMPERATURE)
def test_the_conjugate_identities_of_section_1_hold(z, t):
    t_star = float(calc.star(t))
    e = float(calc.exp_t(z, t))
    if not 0 < e < np.inf:
        return
    slack = 64 * EPS / min(1, abs(1 + (1 - t) * z))
    assert e ** (2 - t) == pytest.approx(float(calc.exp_t((2 - t) * z, t_star)), rel=slack * 4)
    assert calc.exp_t(-z, 2 - t) == pytest.approx(1 / e, rel=slack)
    assert calc.log_t(1 / e, 2 - t) == pytest.approx(-float(calc.log_t(e, t)), rel=slack, abs=slack)
    assert (1 - t) * t_star == pytest.approx(1 - t_star, rel=1e-14, abs=1e-15)


@given(z=st.floats(-0.1, 0.1), v=st.floats(-0.1, 0.1), t=TEMPERATURE)
def test_the_tempered_operations_carry_sums_to_products_and_back(z, v, t):
    a, b = calc.exp_t(z, t), calc.exp_t(v, t)
    near = {"rel": 1e-13, "abs": 1e-13}
    assert calc.exp_t(z + v, t) == pytest.approx(float(calc.tempered_product(a, b, t)), **near)
    assert calc.exp_t(z - v, t) == pytest.approx(float(calc.tempered_quotient(a, b, t)), **near)
    assert calc.exp_t(calc.tempered_sum(z, v, t), t) == pytest.approx(float(a * b), **near)
    assert calc.exp_t(calc.tempered_difference(z, v, t), t) == pytest.approx(float(a / b), **near)


@given(a=POSITIVE, b=POSITIVE, q=st.floats(-20, 20))
def test_the_means_of_opposite_order_multiply_to_the_product(a, b, q):
    product = calc.power_mean(a, b, q) * calc.power_mean(a, b, -q)
    assert product == pytest.approx(a * b, rel=64 * EPS)
    assert min(a, b) * (1 - 8 * EPS) <= calc.power_mean(a, b, q) <= max(a, b) * (1 + 8 * EPS)
    assert calc.power_mean(a, b, q) == calc.power_mean(b, a, q)


def test_a_mean_with_a_zero_is_zero_up_to_order_0_and_a_share_of_the_other_above():
    np.testing.assert_array_equal(calc.power_mean(0.0, 3.0, [-np.inf, -2.0, -1e-12, 0.0]), 0.0)
    np.testing.assert_allclose(calc.power_mean(0.0, 3.0, [0.5, 1.0, np.inf]), [0.75, 1.5, 3.0], rtol=4 * EPS)
    assert calc.power_mean(0.0, 0.0, 1.0) == 0.0
    assert calc.power_mean(0.0, np.inf, 0.0) == 0.0


def test_products_of_numbers_whose_powers_overflow_are_right():
    # t = -10: 1e300^11 overflows, and the -1 in the product is far below rounding.
    assert calc.tempered_product(1e300, 1e300, -10.0) == pytest.approx(1e300 * 2 ** (1 / 11), rel=1e-12)
    assert calc.tempered_quotient(1e300, 0.5e300, -10.0) == pytest.approx(
        1e300 * (1 - 2.0**-11) ** (1 / 11), rel=1e-12
    )


NEAR_CANCELLATION = [  # 50 digits
    ("tempered_quotient", 2.1999974953197295e-308, 2.2e-308, 1.0000001, 0.999998861428313475, 4 * EPS),
    ("tempered_quotient", 1.7063330739869616e215, 1.7062442807236082e215, 0.2, 5.705902922664296e209, 3e-11),
    ("tempered_product", 1.6865932376581183e-208, 5.929531173318011e207, 1 - 1e-12,
     1.0000709468322004, 4 * EPS),
    ("tempered_product", 1.3e-208, 6.1e207, 1 - 1e-12, 0.793000181608114824, 4 * EPS),
    ("tempered_product", 1e-200, 1e-200, 1.002, 4.82248984924816984e-303, 5e-14),
    ("power_mean", 1.5345017462717796e266, 6.516773465467418e-267, -1.4028188430790558e-8,
     0.997368526047046449, 4 * EPS),
    ("tempered_product", 1 - 2.0**-53, 6.223299045361961e132, 1.5, 3.2451855365842667e32, 1e-13),
    ("tempered_quotient", 1e-308, 1.0, 0.5, 1e-308, 1e-13),
    ("tempered_quotient", 2.5773486198773716e-303, 2.5773486198774357e-303, 1.9999999995675073,
     1.0361355180499993e-289, 1e-2),
    ("tempered_quotient", 1e-12, 1.0, 0.0, 1e-12, 1e-14),
    ("tempered_sum", 1e308, -1.0, 0.0, -1.0, 0.0),
    ("tempered_sum", 1e308, -2.0, 0.0, -1e308, 0.0),
    ("tempered_sum", -0.5, 0.5, 1 - 2.0**-53, -(2.0**-55), 0.0),
    ("power_mean", 1.0, 0.9999999962847392, -9.889e-320, 0.99999999814236962, 2 * EPS),
    ("power_mean", 3.479497881203449e206, 3.4813998501187395e206, -4.3e-312, 3.4804487357394247e206, 4 * EPS),
]  # fmt: skip


@pytest.mark.parametrize(("name", "a", "b", "order", "want", "rel"), NEAR_CANCELLATION)
def test_what_nearly_cancels_is_not_a_difference_of_logarithms(name, a, b, order, want, rel):
    assert getattr(calc, name)(a, b, order) == pytest.approx(want, rel=rel, abs=0.0)


def test_a_quotient_of_equals_is_1_and_of_numbers_whose_powers_overflow_stays_at_its_clamp():
    np.testing.assert_array_equal(
        calc.tempered_quotient([3.0, 1e300, 1e300], [3.0, 1e300, 2e300], -10.0), [1, 1, 0]
    )
    assert calc.tempered_quotient(0.0, 0.0, 0.5) == 1.0


def test_a_subnormal_argument_keeps_its_digits_next_to_t_equal_to_1():
    z = 9.31397509592e-311
    np.testing.assert_array_equal(calc.tanh_t(z, [1 - 1e-12, 1.0, 1 + 1e-12]), z)


def test_nothing_overflows_before_the_result():
    assert calc.exp_t(1.7e308, -10.0) == pytest.approx(1.3050344139371913e28, rel=1e-13)
    assert calc.tanh_t(-1e308, -50.0) == pytest.approx(-0.99999833110263139, rel=4 * EPS)
    total = calc.tempered_sum([1e308, 1.5e308, 1e200], [0.0, 1.5e308, 1e200], [-50.0, 1.5, 0.5])
    np.testing.assert_array_equal(total, [1e308, -np.inf, np.inf])
    got = calc.tempered_difference([1.0, 1e308], [1.7e308, -1e308], [-50.0, 0.5])
    np.testing.assert_allclose(got, [-1 / 51, -4.0], rtol=4 * EPS)


def test_a_mean_of_equals_is_that_number_and_of_an_unknown_order_unknown():
    np.testing.assert_array_equal(calc.power_mean(0.5, 0.5, [-1e-300, 0.0, 1e-17]), 0.5)
    assert np.isnan(calc.power_mean(0.5, 0.5, np.nan))


def test_a_sum_with_infinity_is_that_of_its_three_terms():
    got = calc.tempered_sum([np.inf, 5e-324, 0.0, np.inf], [1.0, np.inf, np.inf, -3.0], 0.5)
    np.testing.assert_array_equal(got, [np.inf, np.inf, np.nan, np.nan])


def test_a_mean_of_infinities_is_infinite_unless_the_order_says_the_lesser():
    np.testing.assert_array_equal(
        calc.power_mean(5.0, np.inf, [1e-12, 1.0, 0.0, -np.inf]), [np.inf] * 3 + [5.0]
    )
    np.testing.assert_array_equal(calc.power_mean(np.inf, np.inf, [1.0, -1.0]), np.inf)


def test_the_product_form_of_equation_4_is_wrong_past_the_pole_for_t_above_1():
    t, q, shift = 1.5, 0.04, 2.5  # log_t q - mu u with mu u = -2.5: exp_t(2.5) is infinite
    product = calc.tempered_product(q, calc.exp_t(shift, t), t)
    right = (q ** (1 - t) - (1 - t) * -shift) ** (1 / (1 - t))
    assert product == pytest.approx(0.0625)
    assert right == pytest.approx(0.0711, abs=1e-4)
    assert calc.exp_t(calc.log_t(q, t) + shift, t) == pytest.approx(right, rel=1e-14)


def test_tanh_t_is_odd_at_1_only():
    assert calc.tanh_t(-0.7, 1.0) == -calc.tanh_t(0.7, 1.0)
    assert abs(calc.tanh_t(-0.7, 0.5) + calc.tanh_t(0.7, 0.5)) > 0.1


@given(z=st.floats(-3, 3), t=TEMPERATURE)
def test_tanh_t_is_the_quotient_of_section_5(z, t):
    e = float(calc.exp_t(-2 * z, t))
    want = -1.0 if e > 1e300 else (1 - e) / (1 + e)
    assert calc.tanh_t(z, t) == pytest.approx(want, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("e", [1e-6, 1e-9, 1e-12])
def test_no_function_jumps_at_t_equal_to_1(e):
    for f in (calc.log_t, calc.exp_t, calc.tanh_t):
        below, at, above = f(0.7, [1 - e, 1.0, 1 + e])
        assert abs(below - at) <= e
        assert abs(above - at) <= e


def test_arguments_broadcast_and_nan_passes():
    assert calc.log_t([[1.0], [2.0]], [0.0, 0.5, 1.0]).shape == (2, 3)
    assert calc.power_mean([1.0, 2.0], [[1.0], [2.0]], 0.5).shape == (2, 2)
    assert np.isnan(calc.exp_t(np.nan, 0.5))
    assert np.isnan(calc.log_t(np.nan, 0.5))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: calc.log_t([1.0, -1.0], 0.5), r"^z must be >= 0, got -1\.0$"),
        (lambda: calc.tempered_product(-1.0, 2.0, 0.5), r"^a must be >= 0, got -1\.0$"),
        (lambda: calc.tempered_quotient(1.0, -2.0, 0.5), r"^b must be >= 0, got -2\.0$"),
        (lambda: calc.power_mean(1.0, -2.0, 0.5), r"^b must be >= 0, got -2\.0$"),
    ],
)
def test_a_negative_argument_is_refused_by_name(call, text):
    with pytest.raises(ValueError, match=text):
        call()


@given(a=POSITIVE, b=POSITIVE)
def test_log_ratio_and_log_half_are_the_plain_formulas(a, b):
    assert calc.log_ratio(a, b) == pytest.approx(np.log(a / b), rel=1e-14, abs=2 * EPS)
    assert calc.log_ratio(a, b) == pytest.approx(-float(calc.log_ratio(b, a)), rel=1e-14)
    x = np.log(a)
    assert calc.log_half(x) == pytest.approx(np.log((1 + a) / 2), rel=1e-13, abs=2 * EPS)


def test_log_ratio_survives_a_quotient_that_overflows():
    np.testing.assert_allclose(
        calc.log_ratio([1e300, 1e-300], [1e-300, 1e300]), [600 * np.log(10), -600 * np.log(10)]
    )
    assert calc.log_half(30.5) == pytest.approx(np.log((1 + np.exp(30.5)) / 2), rel=2 * EPS, abs=0)
    np.testing.assert_allclose(calc.log_ratio(1e300, 3e300), -np.log(3), rtol=4 * EPS)
    assert calc.log_half(800.0) == pytest.approx(800 - np.log(2), rel=4 * EPS)


def test_log_ratio_keeps_the_digits_of_a_small_difference():
    np.testing.assert_allclose(calc.log_ratio(3 + 2.0**-25, 3.0), np.log1p(2.0**-25 / 3), rtol=4 * EPS)
    np.testing.assert_allclose(calc.log_ratio(3.0, 3 + 2.0**-25), -np.log1p(2.0**-25 / 3), rtol=4 * EPS)
