// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "fastmath.hpp"

namespace tada {

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

}  // namespace tada
