// SPDX-License-Identifier: Apache-2.0
#include "blocks.hpp"

#include <cmath>
#include <limits>
#include <type_traits>

#include "clones.hpp"
#include "histogram.hpp"

namespace tada {
namespace {

using fast::kInf;

// A weight that would keep less than this share of its e^s is off (infinite, that is at the cap, for s < 0):
// such a rest is the rounding of the step that was to switch it off, and one row of it would stand in the way
// of every later step.
constexpr double kRest = 0x1p-48;

// l + log1p(-s c / e^s) / s; from off (l = -inf, s > 0) it is log(-s c) / s where that exists.
TADA_INLINE double stepped_log(double l, double c, double s) {
  const double x = fast::exp(s * l), moved = s * c;
  const double ratio = x > 0.0 ? -moved / x : 0.0;
  const double on = l + fast::log1p(ratio < kRest - 1.0 ? -1.0 : ratio) / s;
  const double on_again = fast::log(moved < 0.0 ? -moved : 0.0) / s;
  return x > 0.0 ? on : on_again;
}

// How the state is read; the closed forms are the same function where a power is a root or a product.
enum class Form { kLog, kLogAtOne, kPower, kSame, kSquare, kRoot };

Form form_of(double s) {
  if (s == 0.0) return Form::kLogAtOne;
  if (!is_power(s)) return Form::kLog;
  return s == 1.0 ? Form::kSame : s == 0.5 ? Form::kSquare : s == 2.0 ? Form::kRoot : Form::kPower;
}

// Calls f with the form as a type: f(std::integral_constant<Form, form>).
template <class F>
TADA_INLINE void with_form(double s, F f) {
  switch (form_of(s)) {
    case Form::kLog:
      return f(std::integral_constant<Form, Form::kLog>());
    case Form::kLogAtOne:
      return f(std::integral_constant<Form, Form::kLogAtOne>());
    case Form::kPower:
      return f(std::integral_constant<Form, Form::kPower>());
    case Form::kSame:
      return f(std::integral_constant<Form, Form::kSame>());
    case Form::kSquare:
      return f(std::integral_constant<Form, Form::kSquare>());
    case Form::kRoot:
      return f(std::integral_constant<Form, Form::kRoot>());
  }
}

template <Form form>
TADA_INLINE double weight_of(double state, double s) {
  if constexpr (form == Form::kLog || form == Form::kLogAtOne) return fast::exp(state);
  if constexpr (form == Form::kSame) return state;
  if constexpr (form == Form::kSquare) return state * state;
  if constexpr (form == Form::kRoot) return __builtin_sqrt(state);
  return fast::exp(fast::log(state) / s);  // off: log 0 = -inf and s > 0
}

// The state after a step by c, kept within the cap: the largest state for s > 0 and logs, the least for s <
// 0.
template <Form form>
TADA_INLINE double moved_state(double state, double c, double s, double cap) {
  if constexpr (form == Form::kLogAtOne) {
    const double moved = state - c;
    return moved < cap ? moved : cap;
  } else if constexpr (form == Form::kLog) {
    const double moved = stepped_log(state, c, s);
    return moved < cap ? moved : cap;
  } else {
    const double moved = state - s * c;
    if constexpr (form == Form::kPower)
      if (s < 0.0) return moved > kRest * state && moved > cap ? moved : cap;
    const double on = moved < kRest * state ? 0.0 : moved;
    return on < cap ? on : cap;
  }
}

// e^s of a state.
template <Form form>
TADA_INLINE double power_of(double state, double s) {
  if constexpr (form == Form::kLogAtOne) return 1.0;
  if constexpr (form == Form::kLog) return fast::exp(s * state);
  return state;
}

double state_cap(double s) {
  const double l = log_weight_cap(s);
  return is_power(s) ? fast::exp(s * l) : l;
}

// 2 M_{t-1}(a, b). Closed forms where a power is a root: t = 1, .5, 0; they are the same function.
enum class Mean { kGeneral, kGeometric, kHalf, kHarmonic };

TADA_INLINE double root_of(double x) { return __builtin_sqrt(x); }
TADA_INLINE float root_of(float x) { return __builtin_sqrtf(x); }

template <Mean mean, class Float>
TADA_INLINE Float closed_mean(Float a, Float b) {
  const Float zero = 0;
  if constexpr (mean == Mean::kGeometric) return 2 * root_of(a * b);
  if constexpr (mean == Mean::kHarmonic) {
    const Float sum = a + b;
    return sum > zero ? 4 * (a * b) / sum : zero;
  }
  const Float root = root_of(a) + root_of(b);
  return root > zero ? 8 * (a * b) / (root * root) : zero;
}

template <Mean mean>
TADA_INLINE double twice_mean(double a, double b, double s) {
  if constexpr (mean != Mean::kGeneral) return closed_mean<mean>(a, b);
  // q = -s. q < 0: lo ((1 + x) / 2)^(1/q), q > 0: hi ((1 + x) / 2)^(1/q), x = (lo / hi)^|q|.
  const double lo = a < b ? a : b, hi = a < b ? b : a;
  const double size = s < 0.0 ? -s : s;
  const double exponent = size * fast::log(hi > 0.0 ? lo / hi : 0.0);
  const double mean_log = fast::log1p(0.5 * fast::expm1(exponent)) / -s;
  const double y = 2.0 * (s > 0.0 ? lo : hi) * fast::exp(mean_log);
  return (s > 0.0 ? lo : hi) > 0.0 ? y : 0.0;
}

template <Mean mean>
TADA_INLINE float twice_mean(float a, float b, float s) {
  if constexpr (mean != Mean::kGeneral) return closed_mean<mean>(a, b);
  const float lo = a < b ? a : b, hi = a < b ? b : a, size = s < 0.0f ? -s : s;
  const float power = fast::exp(size * fast::log(lo > 0.0f ? lo / hi : 1.0f));
  const float x = lo > 0.0f ? power : 0.0f;  // exactly: 1 / s would magnify what is left
  const float mean_log = fast::log(0.5f + 0.5f * x) / -s;
  const float y = 2.0f * (s > 0.0f ? lo : hi) * fast::exp(mean_log);
  return (s > 0.0f ? lo : hi) > 0.0f ? y : 0.0f;
}

// Least or most of x, in lanes: the compiler may not reorder comparisons of doubles into vector code by
// itself.
template <class Float, class F>
TADA_INLINE Float extreme_of(const Float* x, std::size_t n, Float start, F better) {
  constexpr std::size_t kLanes = 8;
  Float lane[kLanes];
  for (Float& y : lane) y = start;
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (std::size_t j = 0; j < kLanes; ++j) lane[j] = better(x[i + j], lane[j]);
  for (; i < n; ++i) lane[0] = better(x[i], lane[0]);
  for (Float y : lane) lane[0] = better(y, lane[0]);
  return lane[0];
}

// Calls f with the mean as a type.
template <class F>
TADA_INLINE void with_mean(double s, F f) {
  if (s == 0.0) return f(std::integral_constant<Mean, Mean::kGeometric>());
  if (s == 0.5) return f(std::integral_constant<Mean, Mean::kHalf>());
  if (s == 1.0) return f(std::integral_constant<Mean, Mean::kHarmonic>());
  return f(std::integral_constant<Mean, Mean::kGeneral>());
}

}  // namespace

double log_weight_cap(double s) { return 600.0 / (s > 0.0 ? 1.0 + s : 1.0); }

double log_weight(double state, double s) { return is_power(s) ? fast::log(state) / s : state; }

double stepped(double l, double c, double s) { return s == 0.0 ? l - c : stepped_log(l, c, s); }

TADA_CLONES
void weight_block(const double* state, std::size_t n, double s, double* e) {
  with_form(s, [&](auto form) __attribute__((always_inline)) {
    for (std::size_t i = 0; i < n; ++i) e[i] = weight_of<form()>(state[i], s);
  });
}

TADA_CLONES
void step_block(const double* state, const double* c, std::size_t n, double s, double* moved, double* e,
                double* e_power) {
  const double cap = state_cap(s);
  with_form(s, [&](auto form) __attribute__((always_inline)) {
    for (std::size_t i = 0; i < n; ++i) {
      moved[i] = moved_state<form()>(state[i], c[i], s, cap);
      e[i] = weight_of<form()>(moved[i], s);
      const double power = power_of<form()>(moved[i], s);
      e_power[i] = e[i] > 0.0 ? e[i] * power : 0.0;
    }
  });
}

TADA_CLONES
void trial_block(const double* state, std::size_t n, double c, double s, double slope_cap, double* e,
                 double* slope) {
  const double cap = state_cap(s);
  with_form(s, [&](auto form) __attribute__((always_inline)) {
    for (std::size_t i = 0; i < n; ++i) {
      const double moved = moved_state<form()>(state[i], c, s, cap);
      e[i] = weight_of<form()>(moved, s);
      const double power = power_of<form()>(moved, s);
      const double steep = power > 0.0 ? e[i] / power : 0.0;
      slope[i] = steep < slope_cap ? steep : slope_cap;
    }
  });
}

TADA_CLONES
Range range_block(const double* x, std::size_t n) {
  return {extreme_of(x, n, kInf, [](double p, double q) { return p < q ? p : q; }),
          extreme_of(x, n, -kInf, [](double p, double q) { return p > q ? p : q; })};
}

TADA_CLONES
std::size_t count_at_most(const double* x, std::size_t n, double bound) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < n; ++i) count += x[i] <= bound;
  return count;
}

TADA_CLONES
std::size_t count_below(const double* x, std::size_t n, double bound) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < n; ++i) count += x[i] < bound;
  return count;
}

double risk(double a, double b, double s) {
  double y = 0.0;
  with_mean(s, [&](auto mean) { y = twice_mean<mean()>(a, b, s); });
  return y;
}

TADA_CLONES
void unpack_block(const std::uint64_t* positive, const std::uint64_t* negative, std::size_t n, double* a,
                  double* b, double* count) {
  // A whole number below 2^52 in the low bits of 2^52's double: a conversion that is vector code everywhere.
  auto whole = [](std::uint64_t x) __attribute__((always_inline)) {
    return fast::from_bits(x | 0x4330000000000000ULL) - 0x1p52;
  };
  for (std::size_t i = 0; i < n; ++i) {
    a[i] = whole(positive[i] >> kCountBits);
    b[i] = whole(negative[i] >> kCountBits);
    count[i] = whole((positive[i] & kMostPackedCount) + (negative[i] & kMostPackedCount));
  }
}

TADA_CLONES
double split_block(const double* a, const double* b, const double* counts, std::size_t n, const Totals& total,
                   const ChildLimits& limits, double s, double* loss) {
  with_mean(s, [&](auto mean) __attribute__((always_inline)) {
    for (std::size_t i = 0; i < n; ++i) {
      const double both = twice_mean<mean()>(a[i], b[i], s) +
                          twice_mean<mean()>(total.positive - a[i], total.negative - b[i], s);
      loss[i] = admits(limits, total, a[i], b[i], counts[i]) ? both : kInf;
    }
  });
  return extreme_of(loss, n, kInf, [](double x, double y) { return x < y ? x : y; });
}

// Of 24 bits: the roundings of a dozen operations, and for a general s those of a logarithm divided by s.
double split_noise(double s) {
  if (s == 0.0 || s == 0.5 || s == 1.0) return 4e-6;
  const double size = s < 0.0 ? -s : s;
  return size < 0.01 ? kInf : 2e-5 + 2e-6 / size;
}

TADA_CLONES
float estimate_block(const double* a, const double* b, const double* counts, std::size_t n,
                     const Totals& total, const ChildLimits& limits, double s, float* loss) {
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  float least = kInfinite;
  for (std::size_t first = 0; first < n; first += kBlock) {
    const std::size_t size = n - first < kBlock ? n - first : kBlock;
    float part[4][kBlock], fine[kBlock];
    for (std::size_t i = 0; i < size; ++i) {
      const double p = a[first + i], q = b[first + i];
      part[0][i] = static_cast<float>(p);
      part[1][i] = static_cast<float>(q);
      part[2][i] = static_cast<float>(total.positive - p);
      part[3][i] = static_cast<float>(total.negative - q);
      fine[i] = admits(limits, total, p, q, counts[first + i]) ? 0.0f : kInfinite;
    }
    float* out = loss + first;
    const float small = static_cast<float>(s);
    with_mean(s, [&](auto mean) __attribute__((always_inline)) {
      for (std::size_t i = 0; i < size; ++i)
        out[i] = twice_mean<mean()>(part[0][i], part[1][i], small) +
                 twice_mean<mean()>(part[2][i], part[3][i], small) + fine[i];
    });
    const float found = extreme_of(out, size, kInfinite, [](float x, float y) { return x < y ? x : y; });
    least = found < least ? found : least;
  }
  return least;
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
  sum.add(high, low);
}

}  // namespace tada
