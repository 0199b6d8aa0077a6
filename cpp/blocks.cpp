// SPDX-License-Identifier: Apache-2.0
#include "blocks.hpp"

#include <cmath>

// One copy of each function for each instruction set, chosen when the library is loaded. Not under sanitizers:
// the choice runs before their run-time is ready.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__gnu_linux__) && \
    !defined(__SANITIZE_ADDRESS__)
#define TADA_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define TADA_CLONES
#endif

namespace tada {
namespace {

using fast::kInf;

// A weight that would keep less than this share of its e^s is off: such a rest is the rounding of the step that
// was to switch it off, and one row of it would stand in the way of every later step.
constexpr double kRest = 0x1p-48;

TADA_INLINE double step_one(double l, double c, double s, double on_again, double& x_new) {
  const double x = fast::exp(s * l), moved = s * c;
  const double ratio = x > 0.0 ? -moved / x : 0.0;
  const bool off = ratio < kRest - 1.0;
  x_new = off ? 0.0 : x - moved;
  const double on = l + fast::log1p(off ? -1.0 : ratio) / s;
  return x > 0.0 ? on : on_again;
}

// What a weight that is off becomes: e^s = -s c where that is positive (t < 1), else it stays off.
double from_off(double c, double s) { return s > 0.0 && c < 0.0 ? fast::log(-s * c) / s : -kInf; }

// 2 M_{t-1}(a, b). Closed forms where a power is a root: t = 1, .5, 0; they are the same function.
enum class Mean { kGeneral, kGeometric, kHalf, kHarmonic };

Mean mean_of(double s) {
  return s == 0.0 ? Mean::kGeometric : s == 0.5 ? Mean::kHalf : s == 1.0 ? Mean::kHarmonic : Mean::kGeneral;
}

template <Mean mean>
TADA_INLINE double twice_mean(double a, double b, double s) {
  if constexpr (mean == Mean::kGeometric) return 2.0 * __builtin_sqrt(a * b);
  if constexpr (mean == Mean::kHarmonic) {
    const double sum = a + b;
    return sum > 0.0 ? 4.0 * (a * b) / sum : 0.0;
  }
  if constexpr (mean == Mean::kHalf) {
    const double root = __builtin_sqrt(a) + __builtin_sqrt(b);
    return root > 0.0 ? 8.0 * (a * b) / (root * root) : 0.0;
  }
  // q = -s. q < 0: lo ((1 + x) / 2)^(1/q), q > 0: hi ((1 + x) / 2)^(1/q), x = (lo / hi)^|q|.
  const double lo = a < b ? a : b, hi = a < b ? b : a;
  const double size = s < 0.0 ? -s : s;
  const double exponent = size * fast::log(hi > 0.0 ? lo / hi : 0.0);
  const double mean_log = fast::log1p(0.5 * fast::expm1(exponent)) / -s;
  const double y = 2.0 * (s > 0.0 ? lo : hi) * fast::exp(mean_log);
  return (s > 0.0 ? lo : hi) > 0.0 ? y : 0.0;
}

template <Mean mean>
TADA_INLINE void risk_loop(const double* a, const double* b, std::size_t n, double total_a, double total_b,
                           double s, double* loss) {
  for (std::size_t i = 0; i < n; ++i)
    loss[i] = twice_mean<mean>(a[i], b[i], s) + twice_mean<mean>(total_a - a[i], total_b - b[i], s);
}

}  // namespace

double log_weight_cap(double s) { return 600.0 / (s > 0.0 ? 1.0 + s : 1.0); }

double stepped(double l, double c, double s) {
  if (s == 0.0) return l - c;
  double x_new;
  return step_one(l, c, s, from_off(c, s), x_new);
}

TADA_CLONES
void step_block(const double* l, std::size_t n, double c, double s, double* l_new, double* e, double* e_power) {
  const double cap = log_weight_cap(s), on_again = from_off(c, s), capped = fast::exp((1.0 + s) * cap);
  if (s == 0.0) {
    for (std::size_t i = 0; i < n; ++i) {
      const double moved = l[i] - c;
      l_new[i] = moved < cap ? moved : cap;
      e[i] = e_power[i] = fast::exp(l_new[i]);
    }
    return;
  }
  for (std::size_t i = 0; i < n; ++i) {
    double x;
    const double moved = step_one(l[i], c, s, on_again, x);
    l_new[i] = moved < cap ? moved : cap;
    e[i] = fast::exp(l_new[i]);
    e_power[i] = moved < cap ? e[i] * (x > 0.0 ? x : 0.0) : capped;
  }
}

TADA_CLONES
void trial_block(const double* l, std::size_t n, double c, double s, double slope_cap, double* e, double* slope) {
  const double cap = log_weight_cap(s), on_again = from_off(c, s);
  if (s == 0.0) {
    for (std::size_t i = 0; i < n; ++i) {
      const double moved = l[i] - c;
      e[i] = slope[i] = fast::exp(moved < cap ? moved : cap);
    }
    return;
  }
  for (std::size_t i = 0; i < n; ++i) {
    double x;
    const double moved = step_one(l[i], c, s, on_again, x);
    e[i] = fast::exp(moved < cap ? moved : cap);
    const double steep = x > 0.0 ? e[i] / x : 0.0;
    slope[i] = steep < slope_cap ? steep : slope_cap;
  }
}

double risk(double a, double b, double s) {
  switch (mean_of(s)) {
    case Mean::kGeometric: return twice_mean<Mean::kGeometric>(a, b, s);
    case Mean::kHalf: return twice_mean<Mean::kHalf>(a, b, s);
    case Mean::kHarmonic: return twice_mean<Mean::kHarmonic>(a, b, s);
    default: return twice_mean<Mean::kGeneral>(a, b, s);
  }
}

TADA_CLONES
void risk_block(const double* a, const double* b, std::size_t n, double total_a, double total_b, double s,
                double* loss) {
  switch (mean_of(s)) {
    case Mean::kGeometric: return risk_loop<Mean::kGeometric>(a, b, n, total_a, total_b, s, loss);
    case Mean::kHalf: return risk_loop<Mean::kHalf>(a, b, n, total_a, total_b, s, loss);
    case Mean::kHarmonic: return risk_loop<Mean::kHarmonic>(a, b, n, total_a, total_b, s, loss);
    default: return risk_loop<Mean::kGeneral>(a, b, n, total_a, total_b, s, loss);
  }
}

TADA_CLONES
void add_block(const double* x, std::size_t n, int exponent, ExactSum& sum) {
  const double scale = fast::from_bits(static_cast<std::uint64_t>(1023 + exponent) << 52);
  const std::uint64_t zero = fast::bits(fast::kRound);
  std::uint64_t high = 0, low = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double y = x[i] * scale;
    const double whole = y + fast::kRound;
    const double rest = (y - (whole - fast::kRound)) * 0x1p32 + fast::kRound;
    high += fast::bits(whole) - zero;
    low += fast::bits(rest) - zero;
  }
  sum.high += static_cast<std::int64_t>(high);
  sum.low += static_cast<std::int64_t>(low);
}

}  // namespace tada
