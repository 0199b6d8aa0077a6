// SPDX-License-Identifier: Apache-2.0
// A histogram of a node: for each (class, column, code) the sum of the fixed-point weights of its rows and of
// their multiplicities. All sums are integers, so any order of rows, threads and shards gives the same bits,
// and a sibling is an exact subtraction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "types.hpp"

namespace tada {

// One 16-byte addition and store an update: the label costs nothing (rows are sorted by class), and limits on
// leaf sizes need the count. 64 bits each: a sum of weights is at most 2^20 times the rows (see Quantum).
struct Cell {
  std::uint64_t weight = 0, count = 0;
  Cell& operator+=(const Cell& o) { return weight += o.weight, count += o.count, *this; }
  Cell& operator-=(const Cell& o) { return weight -= o.weight, count -= o.count, *this; }
};

// Where the cells of a column lie. Column c has codes 0 .. n_codes(c)-1; the last one means missing.
struct Layout {
  std::vector<std::size_t> start;  // n_columns + 1
  std::vector<std::uint8_t> is_categorical;
  std::size_t n_columns() const { return is_categorical.size(); }
  std::size_t n_codes(std::size_t c) const { return start[c + 1] - start[c]; }
  std::size_t size() const { return start.back(); }
};

// Both classes: positive cells first, then negative, each in the order of Layout.
using Histogram = std::vector<Cell>;

// The codes of all rows, a row after the other: the codes of a row share a cache line.
template <class Code>
struct RowCodes {
  const Code* data;
  std::size_t n_rows, stride;
};

// out[start[c] + code] += (weight, count) for rows of one class and columns [first, last).
// Rows of multiplicity 1 have their weights (below 2^31) beside the row numbers; others bring a Cell a row of
// the shard. Trusts rows and codes (checked when the shard was made); never throws.
template <class Code>
void add_unit_rows(const RowCodes<Code>& codes, const Layout& layout, View<const std::uint32_t> rows,
                   View<const std::uint32_t> weight, std::size_t first, std::size_t last, View<Cell> out);
template <class Code>
void add_weighted_rows(const RowCodes<Code>& codes, const Layout& layout, View<const std::uint32_t> rows,
                       View<const Cell> cell_of_row, std::size_t first, std::size_t last, View<Cell> out);

}  // namespace tada
