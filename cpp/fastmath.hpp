// SPDX-License-Identifier: Apache-2.0
// exp, expm1, log and log1p without branches or tables, so that a loop over them becomes vector code.
//
// Why not <cmath>: its results differ between C libraries in the last bit, and a model must not depend on
// the machine it was fitted on; and a call a row is the cost of a round. Only +, -, *, / and integer
// operations on the bits are used, each rounded as IEEE 754 says (-ffp-contract=off), so every instruction
// set gives the same bits. Errors measured against 50 digits: about 1 ulp (tests/test_core.py).
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

#if defined(__GNUC__)
#define TADA_INLINE inline __attribute__((always_inline))
#else
#define TADA_INLINE inline
#endif

namespace tada::fast {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kRound = 0x1.8p52;  // x + kRound - kRound rounds x to an integer, for |x| < 2^51
constexpr double kLn2Hi = 6.93147180369123816490e-01,
                 kLn2Lo = 1.90821492927058770002e-10;  // ln 2, 33 bits first

TADA_INLINE std::uint64_t bits(double x) {
  std::uint64_t b;
  std::memcpy(&b, &x, sizeof b);
  return b;
}
TADA_INLINE double from_bits(std::uint64_t b) {
  double x;
  std::memcpy(&x, &b, sizeof x);
  return x;
}

// Polynomials go in pairs of terms (Estrin): in Horner's form each term waits for the one before, and that
// wait is most of the time of a loop.

// x = k ln 2 + r, |r| <= ln 2 / 2; returns expm1(r) by its series to r^13 and 2^k.
TADA_INLINE double reduced_expm1(double x, double& power) {
  const double shifted = x * 1.4426950408889634 + kRound;
  const double k = shifted - kRound;
  const double r = (x - k * kLn2Hi) - k * kLn2Lo;
  power = from_bits((bits(shifted) + 1023) << 52);  // the low bits of `shifted` hold k
  const double r2 = r * r, r4 = r2 * r2;
  const double low = (0.5 + r * (1.0 / 6.0)) + r2 * (1.0 / 24.0 + r * (1.0 / 120.0));
  const double middle = (1.0 / 720.0 + r * (1.0 / 5040.0)) + r2 * (1.0 / 40320.0 + r * (1.0 / 362880.0));
  const double high =
      (1.0 / 3628800.0 + r * (1.0 / 39916800.0)) + r2 * (1.0 / 479001600.0 + r * (1.0 / 6227020800.0));
  return r + r2 * (low + r4 * (middle + r4 * high));
}

// 0 below -708 (no subnormal results), inf above 709.
TADA_INLINE double exp(double x) {
  const double inside = x < -708.0 ? -708.0 : (x > 709.0 ? 709.0 : x);
  double power;
  const double m = reduced_expm1(inside, power);
  const double y = power + power * m;
  return x < -708.0 ? 0.0 : (x > 709.0 ? kInf : y);
}

TADA_INLINE double expm1(double x) {
  const double inside = x < -708.0 ? -708.0 : (x > 709.0 ? 709.0 : x);
  double power;
  const double m = reduced_expm1(inside, power);
  const double y = power * m + (power - 1.0);
  return x > 709.0 ? kInf : y;
}

// log of a normal positive x; -inf at 0 (and for what rounds to it).
TADA_INLINE double log(double x) {
  // x = 2^k m with m in [sqrt(1/2), sqrt 2): the offset moves the exponent's step to sqrt(1/2).
  constexpr std::uint64_t kSqrtHalf = 0x3fe6a09e667f3bcdULL, kOne = 0x3ff0000000000000ULL;
  const std::uint64_t u = bits(x) + (kOne - kSqrtHalf);
  const double k = from_bits((u >> 52) | 0x4330000000000000ULL) - (0x1p52 + 1023.0);
  const double m = from_bits((u & 0x000fffffffffffffULL) + kSqrtHalf);
  const double f = m - 1.0, s = f / (2.0 + f), z = s * s, half = 0.5 * f * f;
  const double z2 = z * z;
  const double low = (6.666666666666735130e-01 + z * 3.999999999940941908e-01) +
                     z2 * (2.857142874366239149e-01 + z * 2.222219843214978396e-01);
  const double high =
      (1.818357216161805012e-01 + z * 1.531383769920937332e-01) + z2 * 1.479819860511658591e-01;
  const double p = low + z2 * z2 * high;
  const double y = k * kLn2Hi - ((half - (s * (half + z * p) + k * kLn2Lo)) - f);
  return x < std::numeric_limits<double>::min() ? -kInf : (x == kInf ? kInf : y);
}

// -inf at -1 and below.
TADA_INLINE double log1p(double z) {
  const double u = 1.0 + z;
  const double lost = z < 1.0 ? z - (u - 1.0) : 1.0 - (u - z);  // what rounding took from 1 + z
  const double y = log(u) + lost / u;
  return z <= -1.0 ? -kInf : (u == kInf ? kInf : y);
}

}  // namespace tada::fast
