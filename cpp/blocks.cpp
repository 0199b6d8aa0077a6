// SPDX-License-Identifier: Apache-2.0
#include "blocks.hpp"

#include <cmath>
#include <type_traits>

#include "clones.hpp"
#include "lanes.hpp"

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

// The power e = x^(1/s) as a product: of `times` times x, its root or the root of that. 0 times: it is none.
struct Product {
  int roots, times;
};
constexpr int kMostTimes = 15;

Product product_of(double s) {
  double times = 1.0 / s;
  for (int roots = 0; roots <= 2; ++roots, times *= 2.0) {
    const double whole = (times + fast::kRound) - fast::kRound;
    // t is rounded, by 2^-54 where it is near 1: 1 / s is as near to a whole number as it can be.
    if (whole >= 1.0 && whole <= kMostTimes && std::fabs(times - whole) <= (0x1p-52 + 0x1p-53 / s) * times)
      return {roots, static_cast<int>(whole)};
  }
  return {0, 0};
}

// How the state is read; the closed forms are the same function where a power is a product, of the state, its
// root or the root of that.
enum class Form { kLog, kLogAtOne, kPower, kSame, kSquare, kProduct, kOfRoots, kOfFourthRoots };

Form form_of(double s) {
  if (s == 0.0) return Form::kLogAtOne;
  if (!is_power(s)) return Form::kLog;
  if (s == 1.0 || s == 0.5) return s == 1.0 ? Form::kSame : Form::kSquare;
  const Product product = product_of(s);
  if (product.times == 0) return Form::kPower;
  return product.roots == 0 ? Form::kProduct : product.roots == 1 ? Form::kOfRoots : Form::kOfFourthRoots;
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
    case Form::kProduct:
      return f(std::integral_constant<Form, Form::kProduct>());
    case Form::kOfRoots:
      return f(std::integral_constant<Form, Form::kOfRoots>());
    case Form::kOfFourthRoots:
      return f(std::integral_constant<Form, Form::kOfFourthRoots>());
  }
}

// x times itself, by squares; without a branch, so that a loop over it is vector code.
TADA_INLINE double product(double x, int times) {
  const double x2 = x * x, x4 = x2 * x2, x8 = x4 * x4;
  const double odd = times & 1 ? x : 1.0, two = times & 2 ? x2 : 1.0, four = times & 4 ? x4 : 1.0;
  return (odd * two) * (four * (times & 8 ? x8 : 1.0));
}

template <Form form>
TADA_INLINE double weight_of(double state, double s, int times) {
  if constexpr (form == Form::kLog || form == Form::kLogAtOne) return fast::exp(state);
  if constexpr (form == Form::kSame) return state;
  if constexpr (form == Form::kSquare) return state * state;
  if constexpr (form == Form::kProduct) return product(state, times);
  if constexpr (form == Form::kOfRoots) return product(__builtin_sqrt(state), times);
  if constexpr (form == Form::kOfFourthRoots) return product(__builtin_sqrt(__builtin_sqrt(state)), times);
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

double state_cap(double s) { return state_of(log_weight_cap(s), s); }

}  // namespace

bool is_quick(double s) { return is_power(s) && product_of(s).times > 0; }

double log_weight_cap(double s) { return 600.0 / (s > 0.0 ? 1.0 + s : 1.0); }

double log_weight(double state, double s) { return is_power(s) ? fast::log(state) / s : state; }

double state_of(double log_weight, double s) { return is_power(s) ? fast::exp(s * log_weight) : log_weight; }

double stepped(double l, double c, double s) { return s == 0.0 ? l - c : stepped_log(l, c, s); }

TADA_CLONES
void weight_block(const double* state, std::size_t n, double s, double* e) {
  const int times = product_of(s).times;
  with_form(s, [&](auto form) __attribute__((always_inline)) {
    for (std::size_t i = 0; i < n; ++i) e[i] = weight_of<form()>(state[i], s, times);
  });
}

TADA_CLONES
void step_block(const double* state, const double* c, std::size_t n, double s, double* moved, double* e,
                double* e_power) {
  const double cap = state_cap(s);
  const int times = product_of(s).times;
  with_form(s, [&](auto form) __attribute__((always_inline)) {
    for (std::size_t i = 0; i < n; ++i) {
      moved[i] = moved_state<form()>(state[i], c[i], s, cap);
      e[i] = weight_of<form()>(moved[i], s, times);
      const double power = power_of<form()>(moved[i], s);
      e_power[i] = e[i] > 0.0 ? e[i] * power : 0.0;
    }
  });
}

TADA_CLONES
void trial_block(const double* state, std::size_t n, double c, double s, double slope_cap, double* e,
                 double* slope) {
  const double cap = state_cap(s);
  const int times = product_of(s).times;
  with_form(s, [&](auto form) __attribute__((always_inline)) {
    for (std::size_t i = 0; i < n; ++i) {
      const double moved = moved_state<form()>(state[i], c, s, cap);
      e[i] = weight_of<form()>(moved, s, times);
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

// The low bits of a sum with kRound are the whole number.
TADA_CLONES
std::uint64_t fixed_block(const double* x, std::size_t n, double scale, std::uint32_t* fixed) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    fixed[i] = static_cast<std::uint32_t>(fast::bits(x[i] * scale + fast::kRound));
    sum += fixed[i];
  }
  return sum;
}

TADA_CLONES
void fixed_block(const double* x, std::size_t n, double scale, std::uint64_t* fixed) {
  for (std::size_t i = 0; i < n; ++i)
    fixed[i] = fast::bits(x[i] * scale + fast::kRound) - fast::bits(fast::kRound);
}

TADA_CLONES
double least_above(const double* x, std::size_t n, double bound) {
  return extreme_of(x, n, kInf, [bound](double p, double q) { return (p > bound) & (p < q) ? p : q; });
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

// The two limbs of a term, see exact_sum.hpp.
struct Limbs {
  std::uint64_t high, low;
};
TADA_INLINE Limbs limbs(double x, double scale) {
  const std::uint64_t zero = fast::bits(fast::kRound);
  const double y = x * scale;
  const double whole = y + fast::kRound;
  const double rest = (y - (whole - fast::kRound)) * 0x1p32 + fast::kRound;
  return {fast::bits(whole) - zero, fast::bits(rest) - zero};
}

TADA_INLINE double power_of_two(int exponent) {
  return fast::from_bits(static_cast<std::uint64_t>(1023 + exponent) << 52);
}

TADA_CLONES
void add_block(const double* x, std::size_t n, int exponent, ExactSum& sum) {
  const double scale = power_of_two(exponent);
  std::uint64_t high = 0, low = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const Limbs term = limbs(x[i], scale);
    high += term.high;
    low += term.low;
  }
  sum.add(high, low);
}

TADA_CLONES
void add_block(const double* x, const std::uint32_t* times, std::size_t n, int exponent, ExactSum& sum) {
  const double scale = power_of_two(exponent);
  std::uint64_t high = 0, low = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const Limbs term = limbs(x[i], scale);
    high += times[i] * term.high;
    low += times[i] * term.low;
  }
  sum.add(high, low);
}

}  // namespace tada
