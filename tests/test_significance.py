# SPDX-License-Identifier: Apache-2.0
import itertools
import math

import numpy as np
import pytest
from scipy import stats

from tadaboost.significance import (
    corrected_test,
    holm,
    least_detectable,
    paired_tests,
    verdict,
    wilcoxon_test,
)

A = np.array([0.20, 0.25, 0.22, 0.31, 0.18, 0.24, 0.27, 0.22, 0.26, 0.21])
B = np.array([0.22, 0.25, 0.27, 0.30, 0.21, 0.26, 0.31, 0.25, 0.26, 0.26])


def test_student_and_wilcoxon_are_those_of_scipy():
    p = paired_tests(A, B)
    assert p.p_student == stats.ttest_rel(A, B).pvalue
    assert p.p_wilcoxon == pytest.approx(stats.wilcoxon(A, B).pvalue, rel=1e-12)


CASES = [*itertools.product([2, 5, 14, 20], range(4)), (10, 0), (10, 1)]  # at 13 scipy takes seconds


@pytest.mark.parametrize(("n", "seed"), [*CASES, (13, 0)])
def test_wilcoxon_with_ties_and_zeros_is_that_of_scipy(n, seed):
    d = np.random.default_rng(seed).integers(-4, 7, n).astype(float)
    d[0] = 3.0  # not all zero
    assert wilcoxon_test(d) == pytest.approx(stats.wilcoxon(d).pvalue, rel=1e-12)
    distinct = np.random.default_rng(seed).normal(size=n)
    assert wilcoxon_test(distinct) == pytest.approx(stats.wilcoxon(distinct).pvalue, rel=1e-12)


def test_the_corrected_test_equals_a_hand_calculation():
    # Four folds, differences 1, 2, 3, 6: mean 3, variance (4 + 1 + 0 + 9) / 3 = 14/3; that of the mean is
    # (1/4 + 1/3) 14/3 = 49/18, so t = 3 / sqrt(49/18) = 9 sqrt(2) / 7 with 3 degrees of freedom.
    t = 9 * math.sqrt(2) / 7
    # The distribution function of t with 3 degrees of freedom in closed form.
    below = 0.5 + (t / math.sqrt(3) / (1 + t * t / 3) + math.atan(t / math.sqrt(3))) / math.pi
    assert corrected_test([1, 2, 3, 6]) == pytest.approx(2 * (1 - below), rel=1e-12)


def test_the_corrected_test_is_more_careful_than_students():
    p = paired_tests(A, B)
    assert p.p_corrected > p.p_student


def test_equal_errors_have_no_p_value_and_are_equivalent():
    p = paired_tests(A, A)
    assert np.isnan(p).all()
    assert math.isnan(corrected_test([0.0, 0.0]))
    assert verdict(0.0, p.p_student) == "equivalent"


def test_the_same_difference_on_every_fold_is_certain():
    p = paired_tests(np.array([0.5, 0.75, 0.25]), np.array([0.25, 0.5, 0.0]))
    assert p.p_student == p.p_corrected == 0
    assert verdict(0.25, p.p_student) == "worse"
    assert verdict(-0.25, p.p_student) == "better"


def test_a_p_value_at_the_level_itself_is_no_difference():
    assert verdict(-1.0, 0.1) == "equivalent"


def test_holm_multiplies_by_the_tests_left_and_never_falls():
    # .01 * 4, .02 * 3, .03 * 2 = .06 (not below the one before), .5 * 1.
    assert holm([0.5, 0.02, 0.01, 0.03]) == pytest.approx([0.5, 0.06, 0.04, 0.06])


def test_holm_counts_a_comparison_without_difference_and_leaves_it():
    adjusted = holm([math.nan, 0.04])
    assert math.isnan(adjusted[0])
    assert adjusted[1] == pytest.approx(0.08)


def test_holm_stops_at_one():
    assert holm([0.9, 0.8]).tolist() == [1.0, 1.0]


def test_the_detectable_difference_is_found_as_often_as_said():
    shift = least_detectable(2.0, folds=10, power=0.8)
    draws = np.random.default_rng(0).normal(shift, 2.0, (20_000, 10))
    found = (stats.ttest_1samp(draws, 0, axis=1).pvalue < 0.1).mean()
    assert found == pytest.approx(0.8, abs=4 * math.sqrt(0.16 / 20_000))
