// SPDX-License-Identifier: Apache-2.0
// The codes of a shard's rows, twice: row by row for histograms, where a row's codes share a cache line, and
// column by column for partitions, which read one column of many rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bundles.hpp"
#include "memory.hpp"
#include "pool.hpp"

namespace tada {

// Rows begin at multiples of 8 codes: the eight codes of one load then share a cache line.
inline std::size_t stride_of(std::size_t n_codes) { return (n_codes + 7) / 8 * 8; }

template <class Code>
struct CodeTable {
  using code_type = Code;
  RowVector<Code> by_row;  // a code a bundle; zeros fill a row up to its stride
  RowVector<Code> by_column;

  // Takes the rows of `order` from codes given column by column.
  void take(View<const Code> given, const std::vector<std::uint32_t>& order, std::size_t n_columns,
            Pool& pool);
  // Keeps some rows, by rising numbers.
  void keep(const std::vector<std::uint32_t>& rows, std::size_t n_columns);
  // Writes by_row anew with a code for each bundle, and empties theirs.
  void bundle(std::vector<Bundle>& bundles, std::size_t n_rows, Pool& pool);

 private:
  void lay_rows(const std::vector<const Code*>& columns, std::size_t first, std::size_t last);
};

}  // namespace tada
