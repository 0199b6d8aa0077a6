// SPDX-License-Identifier: Apache-2.0
// Sums of doubles that do not depend on the order of their terms.
//
// A term x in [0, bound] becomes the integer nearest to x 2^exponent in two limbs, whole part and 32 bits
// below it; integers add exactly, so rows, threads and shards may come in any order. The exponent is chosen
// from the bound so that the whole part stays below 2^31: nearly 2^32 terms fit, each rounded by 2^-64 of the
// bound.
#pragma once

#include <cmath>
#include <cstdint>

#include "fastmath.hpp"

namespace tada {

struct ExactSum {
  std::int64_t high = 0, low = 0;

  void merge(const ExactSum& other) {
    add(static_cast<std::uint64_t>(other.high), static_cast<std::uint64_t>(other.low));
  }
  // Unsigned, because terms above the bound may wrap: their sum is nonsense, but a defined one.
  void add(std::uint64_t more_high, std::uint64_t more_low) {
    high = static_cast<std::int64_t>(static_cast<std::uint64_t>(high) + more_high);
    low = static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + more_low);
  }
  double value(int exponent) const {
    return std::ldexp(static_cast<double>(high) + static_cast<double>(low) * 0x1p-32, -exponent);
  }
};

// The exponent for terms of at most `bound`: bound * 2^exponent in [2^30, 2^31).
inline int exact_exponent(double bound) {
  if (!(bound > 0.0)) return 0;
  if (bound > 0x1.fffffffffffffp1023) return -993;  // infinite: frexp says nothing of it
  int e;
  std::frexp(bound, &e);  // bound = f 2^e, f in [1/2, 1)
  const int exponent = 31 - e;
  return exponent > 1020 ? 1020 : (exponent < -1020 ? -1020 : exponent);
}

}  // namespace tada
