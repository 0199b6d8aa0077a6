// SPDX-License-Identifier: Apache-2.0
// Arithmetic on blocks of at most kBlock rows or candidates, written so that the compiler makes vector code
// of it, once for each instruction set, with the same bits from each (see fastmath.hpp). s = 1 - t
// throughout.
#pragma once

#include <cstddef>
#include <cstdint>

#include "exact_sum.hpp"

namespace tada {

constexpr std::size_t kBlock = 256;

// The state of a row: x = e^s, moved by a constant a (leaf, class) in a round, so that a weight costs one
// power at most; l = log e where |s| < 1/16, since there x says little: an error of x is |1/s| times that of
// e. Both hold the weight to a few units in the last place.
inline bool is_power(double s) { return s >= 0.0625 || s <= -0.0625; }
inline double first_state(double s) { return is_power(s) ? 1.0 : 0.0; }
inline double off_state(double s) { return is_power(s) ? 0.0 : -fast::kInf; }  // a state for s > 0 only
inline bool is_quick(double s) { return s == 1.0 || s == 0.5 || s == 2.0; }  // e is a root or a product of x
double log_weight(double state, double s);

// Log weights are kept at or below this, so that e^(2-t) and sums of it stay finite.
double log_weight_cap(double s);

// e of each state.
void weight_block(const double* state, std::size_t n, double s, double* e);

// The step of Algorithm 1, c = alpha y h: e^s becomes e^s - s c, or l becomes l - c at s = 0; a weight is off
// where that leaves nothing. Gives the new state (in place if wished), e and e^(2-t).
void step_block(const double* state, const double* c, std::size_t n, double s, double* moved, double* e,
                double* e_power);

// Weights after a trial step by one c, and their slope e^t (its size at most `slope_cap`; 0 where the weight
// is off).
void trial_block(const double* state, std::size_t n, double c, double s, double slope_cap, double* e,
                 double* slope);

// The same map for one log weight.
double stepped(double l, double c, double s);

// What both children of a split must have: counts are multiplicities, masses fixed-point weights, all as
// doubles (they are whole and below 2^53).
struct ChildLimits {
  double least_count, least_mass;  // of a child, at least 1
  double least_class;              // mass of each class in a child: 1 where pure leaves are refused, else 0
};
struct Totals {
  double positive, negative, count;
};
inline bool admits(const ChildLimits& limits, const Totals& total, double a, double b, double count) {
  const double c = total.positive - a, d = total.negative - b, other = total.count - count;
  const double least_count = count < other ? count : other;
  const double left = a + b, right = c + d, least_mass = left < right ? left : right;
  const double least_left = a < b ? a : b, least_right = c < d ? c : d;
  const double least_class = least_left < least_right ? least_left : least_right;
  return (least_count >= limits.least_count) & (least_mass >= limits.least_mass) &
         (least_class >= limits.least_class);
}

// loss[i] = 2 M_{t-1}(a, b) + 2 M_{t-1}(total - a, total - b), equation (20) in its homogeneous form, for
// left children with masses a[i], b[i] and counts[i]; infinite where a child breaks the limits. Returns the
// least.
double split_block(const double* a, const double* b, const double* counts, std::size_t n, const Totals& total,
                   const ChildLimits& limits, double s, double* loss);
double risk(double a, double b, double s);

// The same in single precision, several times as fast: within a share split_noise(s) of loss[i]; infinite
// where a child breaks the limits. Where s is so small that this would say little, split_noise is infinite.
double split_noise(double s);
float estimate_block(const double* a, const double* b, const double* counts, std::size_t n,
                     const Totals& total, const ChildLimits& limits, double s, float* loss);

// The weights and the sum of counts of packed cells of both classes (histogram.hpp), as doubles.
void unpack_block(const std::uint64_t* positive, const std::uint64_t* negative, std::size_t n, double* a,
                  double* b, double* count);

// Least and most of x; how many x[i] are at most, or below, `bound`.
struct Range {
  double least, most;
};
Range range_block(const double* x, std::size_t n);
std::size_t count_at_most(const double* x, std::size_t n, double bound);
std::size_t count_below(const double* x, std::size_t n, double bound);

// Adds x[i] * 2^exponent to the sum, exactly.
void add_block(const double* x, std::size_t n, int exponent, ExactSum& sum);

}  // namespace tada
