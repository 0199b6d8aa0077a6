// SPDX-License-Identifier: Apache-2.0
// A column of floats -> bins (fit_bins) -> small integer codes (encode).
//
// Everything about a bin is a function of the multiset of (row, multiplicity): neither the order of the rows
// nor the number of threads nor a row of multiplicity 0 can be seen in the result, and a row of multiplicity
// 3 counts as three equal rows.
#pragma once

#include <cstdint>
#include <vector>

#include "pool.hpp"
#include "types.hpp"

namespace tada {

// Of a larger table, the quantiles come from the rows with this many smallest distinct hashes of their
// values.
constexpr std::size_t kSampledRows = 200000;

// The arrays of binning.Bins (is_categorical, which the caller gave, left out); their meaning:
// ARCHITECTURE.md.
struct Bins {
  std::vector<std::int32_t> n_bins;
  std::vector<double> edges;
  std::vector<std::int64_t> edge_start;
  std::vector<std::int32_t> level_bin;
  std::vector<std::int64_t> level_start;
};

struct BinsView {
  View<const std::int32_t> n_bins;
  View<const double> edges;
  View<const std::int64_t> edge_start;
  View<const bool> is_categorical;
  View<const std::int32_t> level_bin;
  View<const std::int64_t> level_start;
};

// Trusts: is_categorical and n_levels have an entry a column, 2 <= max_bins <= 65535, multiplicities (an
// entry a row, or none: all 1) are finite and >= 0, fewer than 2^32 rows. Throws std::bad_alloc.
template <class T>
Bins fit_bins(const Matrix<T>& X, View<const bool> is_categorical, View<const std::int32_t> n_levels,
              std::size_t max_bins, View<const double> multiplicity, Pool& pool);

// out[column * n_rows + row] = code. Trusts bins and that Code holds n_bins[c] for each column. Throws
// std::bad_alloc before it writes.
template <class T, class Code>
void encode(const Matrix<T>& X, const BinsView& bins, View<Code> out, Pool& pool);

}  // namespace tada
