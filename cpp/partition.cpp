// SPDX-License-Identifier: Apache-2.0
#include "partition.hpp"

#include <algorithm>
#include <array>

#include "clones.hpp"

#if defined(TADA_AVX2)
#include <immintrin.h>
#endif

namespace tada {
namespace {

// Where the next row goes, left and right.
struct Ends {
  std::size_t left, right;
};

// One row at a time, without a branch: each is written to both sides, and one of them moves on.
template <bool kWeights, class GoesLeft>
Ends partition_rows(GoesLeft goes_left, std::size_t begin, std::size_t end, RowOrder order, RowOrder spare,
                    Ends to) {
  for (std::size_t i = begin; i < end; ++i) {
    const std::uint32_t row = order.rows[i];
    const std::size_t is_left = goes_left(row);
    order.rows[to.left] = row;
    spare.rows[to.right] = row;
    if constexpr (kWeights) {
      const std::uint32_t x = order.weights[i];
      order.weights[to.left] = x;
      spare.weights[to.right] = x;
    }
    to.left += is_left;
    to.right += 1 - is_left;
  }
  return to;
}

#if defined(TADA_AVX2)
// By the mask of eight lanes: those lanes, in their order.
constexpr std::array<std::array<std::uint8_t, 8>, 256> lanes_of_masks() {
  std::array<std::array<std::uint8_t, 8>, 256> table{};
  for (std::size_t mask = 0; mask < 256; ++mask)
    for (std::size_t lane = 0, n = 0; lane < 8; ++lane)
      if (mask >> lane & 1) table[mask][n++] = static_cast<std::uint8_t>(lane);
  return table;
}
alignas(64) constexpr auto kLanes = lanes_of_masks();

__attribute__((target("avx2"))) inline __m256i lanes(unsigned mask) {
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(kLanes[mask].data())));
}
// Writes eight words from `to` on: those of these lanes, then some others.
__attribute__((target("avx2"))) inline void put_lanes(__m256i words, __m256i lanes, std::uint32_t* to) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_permutevar8x32_epi32(words, lanes));
}

// Eight rows at a time: the lanes that go to a side are moved together and written at once. What is written
// beyond them has been read: both ends are at most i.
template <bool kWeights, class GoesLeft>
__attribute__((target("avx2"))) Ends partition_by_eight(GoesLeft goes_left, std::size_t begin,
                                                        std::size_t end, RowOrder order, RowOrder spare) {
  Ends to{begin, begin};
  for (std::size_t i = begin; i < end; i += 8) {
    unsigned mask = 0;
    for (unsigned k = 0; k < 8; ++k) mask |= static_cast<unsigned>(goes_left(order.rows[i + k])) << k;
    const __m256i left = lanes(mask), right = lanes(~mask & 255);
    const __m256i rows = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(order.rows + i));
    put_lanes(rows, left, order.rows + to.left);
    put_lanes(rows, right, spare.rows + to.right);
    if constexpr (kWeights) {
      const __m256i weights = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(order.weights + i));
      put_lanes(weights, left, order.weights + to.left);
      put_lanes(weights, right, spare.weights + to.right);
    }
    const auto n_left = static_cast<std::size_t>(__builtin_popcount(mask));
    to.left += n_left;
    to.right += 8 - n_left;
  }
  return to;
}
#endif

template <bool kWeights, class GoesLeft>
std::size_t partition_of(GoesLeft goes_left, std::size_t begin, std::size_t end, RowOrder order,
                         RowOrder spare) {
  Ends to{begin, begin};
  std::size_t first = begin;
#if defined(TADA_AVX2)
  if (__builtin_cpu_supports("avx2")) {
    first += (end - begin) / 8 * 8;
    to = partition_by_eight<kWeights>(goes_left, begin, first, order, spare);
  }
#endif
  to = partition_rows<kWeights>(goes_left, first, end, order, spare, to);
  std::copy(spare.rows + begin, spare.rows + to.right, order.rows + to.left);
  if constexpr (kWeights) std::copy(spare.weights + begin, spare.weights + to.right, order.weights + to.left);
  return to.left;
}

}  // namespace

template <class Code>
std::size_t partition(const Code* code_of_row, View<const std::uint8_t> goes_left, std::size_t begin,
                      std::size_t end, RowOrder order, RowOrder spare) {
  const auto left = [code_of_row, goes_left](std::uint32_t row) { return goes_left[code_of_row[row]]; };
  return order.weights != nullptr ? partition_of<true>(left, begin, end, order, spare)
                                  : partition_of<false>(left, begin, end, order, spare);
}

template std::size_t partition(const std::uint8_t*, View<const std::uint8_t>, std::size_t, std::size_t,
                               RowOrder, RowOrder);
template std::size_t partition(const std::uint16_t*, View<const std::uint8_t>, std::size_t, std::size_t,
                               RowOrder, RowOrder);

}  // namespace tada
