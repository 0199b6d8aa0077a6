// SPDX-License-Identifier: Apache-2.0
#include "histogram.hpp"

#include <algorithm>
#include <cstring>

namespace tada {
namespace {

#if defined(__GNUC__)
using Pair = std::uint64_t __attribute__((vector_size(16), may_alias));
inline Pair pair_of(const Cell& c) { return Pair{c.weight, c.count}; }
inline void add_pair(Cell& cell, Pair p) { *reinterpret_cast<Pair*>(&cell) += p; }
#else
using Pair = Cell;
inline Pair pair_of(const Cell& c) { return c; }
inline void add_pair(Cell& cell, const Pair& p) { cell += p; }
#endif

constexpr std::size_t kAhead = 16;  // rows between the prefetch of a row's codes and their use

inline void prefetch(const void* p) {
#if defined(__GNUC__)
  __builtin_prefetch(p);
#else
  (void)p;
#endif
}

template <class Code, class CellOf>
void add_rows(const RowCodes<Code>& codes, const Layout& layout, View<const std::uint32_t> rows,
              std::size_t first, std::size_t last, View<Cell> out, CellOf cell_of) noexcept {
  const std::size_t* start = layout.start.data();
  for (std::size_t i = 0; i < rows.size; ++i) {
    if (i + kAhead < rows.size) prefetch(codes.data + rows[i + kAhead] * codes.stride + first);
    assert(rows[i] < codes.n_rows);
    const Code* row = codes.data + rows[i] * codes.stride;  // size_t: 32 bits overflow at 2^32 codes
    const Pair cell = cell_of(i);
    // Row by row although `out` is column by column: in a small leaf the row's cache line is the only thing
    // that has to come from memory.
    for (std::size_t c = first; c < last; ++c) {
      assert(row[c] < layout.n_codes(c));
      add_pair(out[start[c] + row[c]], cell);
    }
  }
}

// Many rows of byte codes: weight and count packed in one word, a column every 256 words, so that an update
// is one 8-byte addition and the buffer of a few dozen columns stays in the nearest cache. The count has the
// low 16 bits and weights are below 2^31, so a word holds the sum of 2^16 - 1 rows; then the words go to the
// cells.
constexpr std::size_t kPackedRows = (1 << 16) - 1;

void add_packed(const RowCodes<std::uint8_t>& codes, View<const std::uint32_t> rows,
                View<const std::uint32_t> weight, std::size_t first, std::size_t last,
                View<std::uint64_t> words) noexcept {
  const std::size_t n_columns = last - first;
  for (std::size_t i = 0; i < rows.size; ++i) {
    if (i + kAhead < rows.size) prefetch(codes.data + rows[i + kAhead] * codes.stride + first);
    assert(rows[i] < codes.n_rows);
    const std::uint8_t* row = codes.data + rows[i] * codes.stride + first;
    const std::uint64_t x = std::uint64_t{weight[i]} << 16 | 1;
    std::uint64_t* out = words.data;
    std::size_t c = 0;
    for (; c + 8 <= n_columns; c += 8, out += 8 * 256) {  // one load for eight codes
      std::uint64_t eight;
      std::memcpy(&eight, row + c, 8);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
      eight = __builtin_bswap64(eight);
#endif
      out[eight & 255] += x;
      out[256 + (eight >> 8 & 255)] += x;
      out[512 + (eight >> 16 & 255)] += x;
      out[768 + (eight >> 24 & 255)] += x;
      out[1024 + (eight >> 32 & 255)] += x;
      out[1280 + (eight >> 40 & 255)] += x;
      out[1536 + (eight >> 48 & 255)] += x;
      out[1792 + (eight >> 56)] += x;
    }
    for (; c < n_columns; ++c, out += 256) out[row[c]] += x;
  }
}

void unpack(View<std::uint64_t> words, const Layout& layout, std::size_t first, std::size_t last,
            View<Cell> out) {
  for (std::size_t c = first; c < last; ++c) {
    std::uint64_t* column = words.data + (c - first) * 256;
    for (std::size_t code = 0; code < layout.n_codes(c); ++code) {
      out[layout.start[c] + code] += Cell{column[code] >> 16, column[code] & 0xffff};
      column[code] = 0;
    }
  }
}

}  // namespace

template <class Code>
void add_unit_rows(const RowCodes<Code>& codes, const Layout& layout, View<const std::uint32_t> rows,
                   View<const std::uint32_t> weight, std::size_t first, std::size_t last, View<Cell> out) {
  if constexpr (sizeof(Code) == 1) {
    // Below that, unpacking the words would cost more than the updates save.
    if (rows.size * (last - first) >= 2 * (layout.start[last] - layout.start[first])) {
      thread_local std::vector<std::uint64_t> words;
      words.resize(std::max(words.size(), (last - first) * 256));  // all zero between calls
      const View<std::uint64_t> view{words.data(), words.size()};
      for (std::size_t begin = 0; begin < rows.size; begin += kPackedRows) {
        const std::size_t n = std::min(kPackedRows, rows.size - begin);
        add_packed(codes, {rows.data + begin, n}, {weight.data + begin, n}, first, last, view);
        unpack(view, layout, first, last, out);
      }
      return;
    }
  }
  add_rows(codes, layout, rows, first, last, out, [&](std::size_t i) { return pair_of({weight[i], 1}); });
}

template <class Code>
void add_weighted_rows(const RowCodes<Code>& codes, const Layout& layout, View<const std::uint32_t> rows,
                       View<const Cell> cell_of_row, std::size_t first, std::size_t last, View<Cell> out) {
  add_rows(codes, layout, rows, first, last, out,
           [&](std::size_t i) { return pair_of(cell_of_row[rows[i]]); });
}

#define TADA_INSTANTIATE(Code)                                                                           \
  template void add_unit_rows<Code>(const RowCodes<Code>&, const Layout&, View<const std::uint32_t>,     \
                                    View<const std::uint32_t>, std::size_t, std::size_t, View<Cell>);    \
  template void add_weighted_rows<Code>(const RowCodes<Code>&, const Layout&, View<const std::uint32_t>, \
                                        View<const Cell>, std::size_t, std::size_t, View<Cell>);
TADA_INSTANTIATE(std::uint8_t)
TADA_INSTANTIATE(std::uint16_t)

}  // namespace tada
