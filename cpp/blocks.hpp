// SPDX-License-Identifier: Apache-2.0
// Arithmetic on blocks of at most kBlock rows or candidates, written so that the compiler makes vector code of
// it, once for each instruction set, with the same bits from each (see fastmath.hpp). s = 1 - t throughout.
#pragma once

#include <cstddef>

#include "exact_sum.hpp"

namespace tada {

constexpr std::size_t kBlock = 256;

// Log weights are kept at or below this, so that e^(2-t) and sums of it stay finite.
double log_weight_cap(double s);

// The step of Algorithm 1 in the form of log weights, for rows that share c = alpha y h:
// l' = l + log1p(-s c / e^s) / s, e = exp(l); -inf is a weight that is off. Gives l', e' and e'^(2-t).
void step_block(const double* l, std::size_t n, double c, double s, double* l_new, double* e, double* e_power);

// Weights after a trial step, e, and their slope e^t (its size at most `slope_cap`; 0 where the weight is off).
void trial_block(const double* l, std::size_t n, double c, double s, double slope_cap, double* e, double* slope);

// The same map for one number: the log weight that l becomes under c.
double stepped(double l, double c, double s);

// loss[i] = 2 M_{t-1}(a, b) + 2 M_{t-1}(total_a - a, total_b - b), equation (20) in its homogeneous form.
void risk_block(const double* a, const double* b, std::size_t n, double total_a, double total_b, double s,
                double* loss);
double risk(double a, double b, double s);

// Adds x[i] * 2^exponent to the sum, exactly.
void add_block(const double* x, std::size_t n, int exponent, ExactSum& sum);

}  // namespace tada
