// SPDX-License-Identifier: Apache-2.0
// Exact leaf values: for each leaf the v at which the tempered loss of its rows plus ridge v^2 / 2 is least,
//
//   G(v) = sum w_i y_i e_i(v) - ridge v = 0,   e_i(v) = exp_t(log_t e_i - y_i v),
//
// G decreasing. The driver's side: it sees only sums by (leaf, class). The start solves the same equation
// with every class's weights at their mean (exact in the first round, and always at t = 1), then safeguarded
// Newton.
#pragma once

#include <functional>
#include <vector>

#include "leaf_table.hpp"
#include "shard.hpp"

namespace tada {

// A trial of `value` (by leaf) on some leaves; the rest by (leaf, class), as in Shard::trial.
using Trial = std::function<std::vector<TrialSums>(
    const std::vector<std::int32_t>& leaves, const std::vector<double>& value,
    const std::vector<std::int32_t>& exponent, const std::vector<std::int32_t>& slope_exponent,
    const std::vector<double>& slope_cap)>;

// |v| <= cap. most_multiplicity bounds the multiplicity of a row.
std::vector<double> solve_leaves(const LeafTable& table, double s, double ridge, double cap,
                                 double most_multiplicity, const Trial& trial);

// The exact step (6): alpha with sum w u e(alpha) = 0 for u = y value, decreasing in alpha; |alpha| <= cap
// for t >= 1.
double solve_step(const LeafTable& table, const std::vector<double>& value, double s, double start,
                  double cap, double most_multiplicity, const Trial& trial);

}  // namespace tada
