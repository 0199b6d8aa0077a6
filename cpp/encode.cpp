// SPDX-License-Identifier: Apache-2.0
// Values -> codes, with the edges that binning.cpp chose or that a file brought.
#include <cmath>
#include <limits>
#include <numeric>

#include "binning.hpp"
#include "table.hpp"

namespace tada {

using namespace table;

namespace {

// The largest T that is <= edge, so that x <= edge is the same question for every x of type T.
template <class T>
T round_down(double edge) {
  const auto rounded = static_cast<T>(edge);
  return static_cast<double>(rounded) > edge ? std::nextafter(rounded, -std::numeric_limits<T>::infinity())
                                             : rounded;
}

// The edges of a column without the last, filled with infinities to a size of 2^steps - 1.
template <class T>
struct Ladder {
  int steps = 0;
  std::size_t start = 0;
};

// out[i] = number of edges below x[i], in `steps` halvings without a branch. kLanes searches go side by side,
// because a single one waits for its own loads.
template <std::size_t kLanes, class T, class Code>
void search(const T* edges, int steps, const T* x, Code missing, Code* out) {
  std::uint32_t below[kLanes] = {};
  for (int step = steps - 1; step >= 0; --step) {
    const std::uint32_t half = 1u << step;
    for (std::size_t k = 0; k < kLanes; ++k)
      below[k] += std::uint32_t{edges[below[k] + half - 1] < x[k]} << step;
  }
  for (std::size_t k = 0; k < kLanes; ++k) out[k] = x[k] == x[k] ? static_cast<Code>(below[k]) : missing;
}

template <class T, class Code>
void encode_levels(View<const std::int32_t> bins, const T* x, std::size_t n, Code missing, Code* out) {
  for (std::size_t i = 0; i < n; ++i) {
    const auto value = static_cast<double>(x[i]);
    out[i] = missing;
    if (!(value >= 0 && value < static_cast<double>(bins.size))) continue;
    const auto level = static_cast<std::size_t>(value);
    if (static_cast<double>(level) == value) out[i] = static_cast<Code>(bins[level]);
  }
}

template <class T>
std::vector<T> make_ladders(const BinsView& bins, std::vector<Ladder<T>>& ladders) {
  std::vector<T> edges;
  for (std::size_t c = 0; c < bins.n_bins.size; ++c) {
    if (bins.is_categorical[c]) continue;
    const auto n = static_cast<std::size_t>(bins.n_bins[c]) - 1;
    Ladder<T>& ladder = ladders[c];
    while ((std::size_t{1} << ladder.steps) - 1 < n) ++ladder.steps;
    ladder.start = edges.size();
    for (std::size_t i = 0; i < n; ++i)
      edges.push_back(round_down<T>(bins.edges[static_cast<std::size_t>(bins.edge_start[c]) + i]));
    edges.resize(ladder.start + (std::size_t{1} << ladder.steps) - 1, std::numeric_limits<T>::infinity());
  }
  return edges;
}

}  // namespace

template <class T, class Code>
void encode(const Matrix<T>& X, const BinsView& bins, View<Code> out, Pool& pool) {
  std::vector<Ladder<T>> ladders(X.n_columns);
  const std::vector<T> edges = make_ladders(bins, ladders);
  std::vector<std::uint32_t> columns(X.n_columns);
  std::iota(columns.begin(), columns.end(), 0u);
  const Rows rows{nullptr, X.n_rows};
  constexpr std::size_t kChunk = 16 * kBlock, kLanes = 16;
  run_tasks(pool, ceil_div(X.n_rows, kChunk), [&](std::size_t task, std::size_t) {
    Buffer<T> buffer;
    for (std::size_t first = task * kChunk; first < std::min(X.n_rows, (task + 1) * kChunk); first += kBlock)
      for (std::size_t group = 0; group < X.n_columns; group += kGroup) {
        const std::size_t n = std::min(kBlock, X.n_rows - first),
                          width = std::min(kGroup, X.n_columns - group);
        load(X, rows, first, n, {columns.data() + group, width}, buffer);
        for (std::size_t c = group; c < group + width; ++c) {
          const T* x = buffer.column(c - group);
          Code* codes = &out[c * X.n_rows + first];
          const auto missing = static_cast<Code>(bins.n_bins[c]);
          if (bins.is_categorical[c]) {
            const auto begin = static_cast<std::size_t>(bins.level_start[c]);
            const auto end = static_cast<std::size_t>(bins.level_start[c + 1]);
            encode_levels<T, Code>({bins.level_bin.data + begin, end - begin}, x, n, missing, codes);
            continue;
          }
          const T* ladder = edges.data() + ladders[c].start;
          std::size_t i = 0;
          for (; i + kLanes <= n; i += kLanes)
            search<kLanes>(ladder, ladders[c].steps, x + i, missing, codes + i);
          for (; i < n; ++i) search<1>(ladder, ladders[c].steps, x + i, missing, codes + i);
        }
      }
  });
}

template void encode(const Matrix<float>&, const BinsView&, View<std::uint8_t>, Pool&);
template void encode(const Matrix<float>&, const BinsView&, View<std::uint16_t>, Pool&);
template void encode(const Matrix<double>&, const BinsView&, View<std::uint8_t>, Pool&);
template void encode(const Matrix<double>&, const BinsView&, View<std::uint16_t>, Pool&);

}  // namespace tada
