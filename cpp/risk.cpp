// SPDX-License-Identifier: Apache-2.0
#include "risk.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "blocks.hpp"
#include "clones.hpp"
#include "lanes.hpp"

namespace tada {

// The masses of both children of some splits as shares of the node's, in single precision, and 0 or, where a
// child breaks the limits, infinity.
struct Children {
  float mass[4][kBlock], limit[kBlock];
};

namespace {

using fast::kInf;
constexpr float kInfinite = std::numeric_limits<float>::infinity();

// Closed forms where a power is a root: t = 1, .5, 0; they are the same function.
enum class Mean { kGeneral, kGeometric, kHalf, kHarmonic };

Mean mean_of(double s) {
  return s == 0.0 ? Mean::kGeometric : s == 0.5 ? Mean::kHalf : s == 1.0 ? Mean::kHarmonic : Mean::kGeneral;
}

TADA_INLINE double root_of(double x) { return __builtin_sqrt(x); }
TADA_INLINE float root_of(float x) { return __builtin_sqrtf(x); }

template <Mean mean>
TADA_INLINE double closed_mean(double a, double b) {
  if constexpr (mean == Mean::kGeometric) return 2 * root_of(a * b);
  if constexpr (mean == Mean::kHarmonic) {
    const double sum = a + b;
    return sum > 0.0 ? 4 * (a * b) / sum : 0.0;
  }
  const double root = root_of(a) + root_of(b);
  return root > 0.0 ? 8 * (a * b) / (root * root) : 0.0;
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

// Calls f with the mean as a type.
template <class F>
TADA_INLINE void with_mean(double s, F f) {
  switch (mean_of(s)) {
    case Mean::kGeneral:
      return f(std::integral_constant<Mean, Mean::kGeneral>());
    case Mean::kGeometric:
      return f(std::integral_constant<Mean, Mean::kGeometric>());
    case Mean::kHalf:
      return f(std::integral_constant<Mean, Mean::kHalf>());
    case Mean::kHarmonic:
      return f(std::integral_constant<Mean, Mean::kHarmonic>());
  }
}

// Knots of phi: kSteps to an octave of the ratio, down to ratios that masses below 2^53 cannot have unless
// one of them is 0; those have the first octave.
constexpr int kOctaves = 54, kStepBits = 5, kSteps = 1 << kStepBits, kKnots = kOctaves * kSteps + 1;

double ratio_of(int knot) {
  return knot < kSteps ? 0.0 : std::ldexp(1.0 + (knot % kSteps) / double{kSteps}, knot / kSteps - kOctaves);
}

TADA_CLONES
void risk_block(const double* a, const double* b, std::size_t n, double s, double* out) {
  with_mean(s, [&](auto mean) __attribute__((always_inline)) {
    for (std::size_t i = 0; i < n; ++i) out[i] = twice_mean<mean()>(a[i], b[i], s);
  });
}

// A whole number below 2^52 in the low bits of 2^52's double: a conversion that is vector code everywhere.
TADA_INLINE double whole(std::uint64_t x) { return fast::from_bits(x | 0x4330000000000000ULL) - 0x1p52; }

TADA_CLONES
void children_block(const ChildWords& left, std::size_t n, const Totals& total, Children& out) {
  const auto one = static_cast<float>(1.0 / (total.positive + total.negative));
  const auto run = [&](std::size_t stride) __attribute__((always_inline)) {
    for (std::size_t i = 0; i < n; ++i) {
      const double p = whole((left.words[0][stride * i] + left.more[0]) >> left.n_bits),
                   q = whole((left.words[1][stride * i] + left.more[1]) >> left.n_bits);
      out.mass[0][i] = static_cast<float>(p) * one;
      out.mass[1][i] = static_cast<float>(q) * one;
      out.mass[2][i] = static_cast<float>(total.positive - p) * one;
      out.mass[3][i] = static_cast<float>(total.negative - q) * one;
      out.limit[i] = 0.0f;
    }
  };
  left.stride == 1 ? run(1) : run(2);  // numbers that the compiler knows
}

TADA_CLONES
void children_block(const double* a, const double* b, const double* counts, std::size_t n,
                    const Totals& total, const ChildLimits& limits, Children& out) {
  const auto one = static_cast<float>(1.0 / (total.positive + total.negative));
  for (std::size_t i = 0; i < n; ++i) {
    const double p = a[i], q = b[i];
    out.mass[0][i] = static_cast<float>(p) * one;
    out.mass[1][i] = static_cast<float>(q) * one;
    out.mass[2][i] = static_cast<float>(total.positive - p) * one;
    out.mass[3][i] = static_cast<float>(total.negative - q) * one;
    out.limit[i] = admits(limits, total, p, q, counts[i]) ? 0.0f : kInfinite;
  }
}

// The means of both children together, x / u + y / v as (x v + y u) / (u v): roots and divisions are most of
// the time. Products of shares are far from the ends of single precision.
template <Mean mean>
TADA_INLINE float closed_means(float a, float b, float c, float d) {
  const float left = a * b, right = c * d;
  if constexpr (mean == Mean::kGeometric) return 2 * (root_of(left) + root_of(right));
  float u = a + b, v = c + d;
  if constexpr (mean == Mean::kHalf) u += 2 * root_of(left), v += 2 * root_of(right);
  const float both = u * v, y = (mean == Mean::kHalf ? 8 : 4) * (left * v + right * u) / both;
  return both > 0.0f ? y : 0.0f;
}

template <Mean mean>
TADA_INLINE void closed_block(const Children& children, std::size_t n, float mass, float* loss) {
  for (std::size_t i = 0; i < n; ++i)
    loss[i] = mass * closed_means<mean>(children.mass[0][i], children.mass[1][i], children.mass[2][i],
                                        children.mass[3][i]) +
              children.limit[i];
}

// The bits of a float are its octave and its place in it: knot and place between two knots without a
// logarithm. Three loops, because looking up is no vector code.
TADA_CLONES
void lines_block(const Children& children, std::size_t n, const float* phi, float mass, float* loss) {
  constexpr int kPlaceBits = 23 - kStepBits, kFirst = (127 - kOctaves) * kSteps;
  constexpr float kLeast = 0x1p-60f;  // below the share of any row
  std::int32_t knot[2][kBlock];
  float place[2][kBlock], most[2][kBlock], at[2][kBlock], next[2][kBlock];
  for (int k = 0; k < 2; ++k)
    for (std::size_t i = 0; i < n; ++i) {
      const float a = children.mass[2 * k][i], b = children.mass[2 * k + 1][i];
      const float lo = a < b ? a : b, hi = a < b ? b : a, share = lo / (hi > kLeast ? hi : kLeast);
      const float ratio = share < 1.0f ? share : 1.0f;  // what is no number, too: it must be in the table
      std::int32_t bits;
      std::memcpy(&bits, &ratio, sizeof bits);
      const std::int32_t j = (bits >> kPlaceBits) - kFirst;
      knot[k][i] = j > 0 ? j : 0;
      place[k][i] = static_cast<float>(bits & ((1 << kPlaceBits) - 1)) * (1.0f / (1 << kPlaceBits));
      most[k][i] = hi;
    }
  for (int k = 0; k < 2; ++k)
    for (std::size_t i = 0; i < n; ++i) {
      at[k][i] = phi[knot[k][i]];
      next[k][i] = phi[knot[k][i] + 1];
    }
  for (std::size_t i = 0; i < n; ++i)
    loss[i] = mass * (most[0][i] * (at[0][i] + place[0][i] * (next[0][i] - at[0][i])) +
                      most[1][i] * (at[1][i] + place[1][i] * (next[1][i] - at[1][i]))) +
              children.limit[i];
}

TADA_CLONES
void closed_block(const Children& children, std::size_t n, double s, float mass, float* loss) {
  if (s == 0.0) return closed_block<Mean::kGeometric>(children, n, mass, loss);
  if (s == 0.5) return closed_block<Mean::kHalf>(children, n, mass, loss);
  return closed_block<Mean::kHarmonic>(children, n, mass, loss);
}

}  // namespace

double risk(double a, double b, double s) {
  double y = 0.0;
  with_mean(s, [&](auto mean) { y = twice_mean<mean()>(a, b, s); });
  return y;
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

TADA_CLONES
float least_of(const float* x, std::size_t n) {
  return extreme_of(x, n, kInfinite, [](float p, float q) { return p < q ? p : q; });
}

RiskEstimate::RiskEstimate(double s) : s_(s), noise_(4e-6) {
  if (mean_of(s) != Mean::kGeneral) return;
  // A line over a step of h x is off by h^2 x^2 |phi''| / 8 at most, and
  // x^2 |phi''| / phi = (1 + s) x^s / (1 + x^s)^2 <= (1 + s) / 4; a tenth for what changes within a step.
  noise_ += 1.1 * (1.0 + s) / (32.0 * kSteps * kSteps);
  std::vector<double> ratio(kKnots), one(kKnots, 1.0), phi(kKnots);
  for (int i = 0; i < kKnots; ++i) ratio[static_cast<std::size_t>(i)] = ratio_of(i);
  risk_block(ratio.data(), one.data(), ratio.size(), s, phi.data());
  phi_.assign(phi.begin(), phi.end());
  phi_.push_back(phi_.back());  // the knot after a ratio of 1
}

void RiskEstimate::of_block(const Children& children, std::size_t n, const Totals& total, float* loss) const {
  const auto mass = static_cast<float>(total.positive + total.negative);
  if (phi_.empty())
    closed_block(children, n, s_, mass, loss);
  else
    lines_block(children, n, phi_.data(), mass, loss);
}

void RiskEstimate::operator()(const double* a, const double* b, const double* counts, std::size_t n,
                              const Totals& total, const ChildLimits& limits, float* loss) const {
  Children children;
  for (std::size_t first = 0; first < n; first += kBlock) {
    const std::size_t size = n - first < kBlock ? n - first : kBlock;
    children_block(a + first, b + first, counts + first, size, total, limits, children);
    of_block(children, size, total, loss + first);
  }
}

void RiskEstimate::operator()(const ChildWords& left, std::size_t n, const Totals& total, float* loss) const {
  Children children;
  ChildWords here = left;
  for (std::size_t first = 0; first < n; first += kBlock) {
    const std::size_t size = n - first < kBlock ? n - first : kBlock;
    for (std::size_t k = 0; k < 2; ++k) here.words[k] = left.words[k] + first * left.stride;
    children_block(here, size, total, children);
    of_block(children, size, total, loss + first);
  }
}

}  // namespace tada
