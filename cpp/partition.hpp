// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "types.hpp"

namespace tada {

// Row numbers, and the weights beside them where rows have some (nullptr: none).
struct RowOrder {
  std::uint32_t *rows, *weights;
};

// Stable partition of entries [begin, end) of `order`: first the rows whose code of one column goes left,
// which end where it returns. The same entries of `spare` are overwritten.
template <class Code>
std::size_t partition(const Code* code_of_row, View<const std::uint8_t> goes_left, std::size_t begin,
                      std::size_t end, RowOrder order, RowOrder spare);

}  // namespace tada
