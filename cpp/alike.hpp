// SPDX-License-Identifier: Apache-2.0
// Rows of one class whose codes are all equal: they go the same way in every tree, so their weights stay
// equal and one of them can stand for all, as often as there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "histogram.hpp"

namespace tada {

// Groups of equal rows by their first row, rising, which never mixes classes: rows of the positive class come
// first.
struct Alike {
  std::vector<std::uint32_t> group_of;   // by row
  std::vector<std::uint32_t> first_row;  // by group
  std::size_t n_positive = 0;            // groups
};

// The groups, or none (first_row empty) where rows are few or too few of them are equal to be worth the work:
// an estimate from those whose hash falls into one class of many, which never parts equal rows. Rows are read
// as words of 8 bytes.
template <class Code>
Alike find_alike(const RowCodes<Code>& codes, std::size_t n_positive);

}  // namespace tada
