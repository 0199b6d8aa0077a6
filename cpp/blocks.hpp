// SPDX-License-Identifier: Apache-2.0
// Arithmetic on blocks of at most kBlock rows, written so that the compiler makes vector code
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
bool is_quick(double s);  // e is made of x by products and square roots
double log_weight(double state, double s);
double state_of(double log_weight, double s);

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

// Least and most of x; the least x[i] above `bound`, infinity if there is none; how many x[i] are at most, or
// below, `bound`.
struct Range {
  double least, most;
};
Range range_block(const double* x, std::size_t n);
double least_above(const double* x, std::size_t n, double bound);
std::size_t count_at_most(const double* x, std::size_t n, double bound);
std::size_t count_below(const double* x, std::size_t n, double bound);

// x[i] times a power of two, rounded to whole numbers below 2^32 or 2^51, half to even. The sum of the
// former.
std::uint64_t fixed_block(const double* x, std::size_t n, double scale, std::uint32_t* fixed);
void fixed_block(const double* x, std::size_t n, double scale, std::uint64_t* fixed);

// Adds x[i] * 2^exponent to the sum, exactly.
void add_block(const double* x, std::size_t n, int exponent, ExactSum& sum);

// The same for x[i] that come times[i] times: to the same bits.
void add_block(const double* x, const std::uint32_t* times, std::size_t n, int exponent, ExactSum& sum);

}  // namespace tada
