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

// The label costs nothing (rows are sorted by class), and limits on leaf sizes need the count. 64 bits each:
// a sum of weights is at most 2^20 times the rows (see Shard::begin_tree).
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

// A cell in one word, where all rows together fit: the count in the low bits, the weight above. Sums and
// differences of words are those of cells, at half the memory.
constexpr int kCountBits = 22;
constexpr std::uint64_t kMostPackedCount = (std::uint64_t{1} << kCountBits) - 1,
                        kMostPackedWeight = (std::uint64_t{1} << (64 - kCountBits)) - 1;
inline std::uint64_t packed(const Cell& cell) { return cell.weight << kCountBits | cell.count; }
inline Cell unpacked(std::uint64_t word) { return {word >> kCountBits, word & kMostPackedCount}; }

// Both classes: positive cells first, then negative, each in the order of Layout. A word a cell when packed,
// else weight and count in turn.
struct Histogram {
  std::vector<std::uint64_t> words;
  bool is_packed = false;

  // Room for so many cells, of any content.
  void shape(std::size_t n_cells, bool as_packed) {
    is_packed = as_packed;
    words.resize(as_packed ? n_cells : 2 * n_cells);
  }
  std::size_t size() const { return is_packed ? words.size() : words.size() / 2; }
  Cell operator[](std::size_t i) const {
    return is_packed ? unpacked(words[i]) : Cell{words[2 * i], words[2 * i + 1]};
  }
  // Makes cells [begin, end) of each class running sums.
  void cumulate(std::size_t begin, std::size_t end);
  // Subtracts cells [begin, end) of each class.
  void take(const Histogram& o, std::size_t begin, std::size_t end);
};

// The cells of one class in a histogram.
struct Cells {
  View<std::uint64_t> words;
  bool is_packed;
};

// The codes of all rows, a row after the other: the codes of a row share a cache line. One a bundle.
template <class Code>
struct RowCodes {
  const Code* data;
  std::size_t n_rows, stride;
};

struct Bundle;  // see bundles.hpp

// Writes to the cells start[c] + code what rows of one class have together, for the columns of these bundles.
// Rows of multiplicity 1 have their weights (below 2^31) beside the row numbers; others bring a Cell a row of
// the shard. Trusts rows and codes (checked when the shard was made); throws for want of memory alone.
template <class Code>
void sum_unit_rows(const RowCodes<Code>& codes, const Layout& layout, View<const Bundle> bundles,
                   View<const std::uint32_t> rows, View<const std::uint32_t> weight, std::size_t first,
                   std::size_t last, Cells out);
template <class Code>
void sum_weighted_rows(const RowCodes<Code>& codes, const Layout& layout, View<const Bundle> bundles,
                       View<const std::uint32_t> rows, View<const Cell> cell_of_row, std::size_t first,
                       std::size_t last, Cells out);

}  // namespace tada
