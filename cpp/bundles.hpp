// SPDX-License-Identifier: Apache-2.0
// Columns that together take few values share one byte in the rows that histograms read: the columns of a
// one-hot coding, flags, shares of one whole. A histogram over the joint codes has those of all its columns
// in it, and their sums are exact, so bundles change no bit.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "histogram.hpp"

namespace tada {

struct Bundle {
  struct Member {
    std::size_t column;
    std::array<std::uint8_t, 256> code;  // of the column, by joint code
  };
  std::vector<Member> members;       // one: a column as it is
  std::size_t n_codes;               // joint ones
  std::vector<std::uint8_t> by_row;  // the joint code of each row; empty for a column as it is
  bool is_plain() const { return members.size() == 1; }
};

// Each column in a bundle of its own.
std::vector<Bundle> plain_bundles(const Layout& layout);

// Puts columns of few codes together where all rows have at most 256 joint codes; each column is in one
// bundle. Greedy, from the column of fewest codes on, guided by some of the rows. by_column: the codes of all
// rows, column by column.
std::vector<Bundle> find_bundles(View<const std::uint8_t> by_column, const Layout& layout,
                                 std::size_t n_rows);

}  // namespace tada
