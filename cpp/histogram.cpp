// SPDX-License-Identifier: Apache-2.0
#include "histogram.hpp"

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
void add_rows(const RowCodes<Code>& codes, const Layout& layout, View<const std::uint32_t> rows, std::size_t first,
              std::size_t last, View<Cell> out, CellOf cell_of) noexcept {
  const std::size_t* start = layout.start.data();
  for (std::size_t i = 0; i < rows.size; ++i) {
    if (i + kAhead < rows.size) prefetch(codes.data + rows[i + kAhead] * codes.stride + first);
    assert(rows[i] < codes.n_rows);
    const Code* row = codes.data + rows[i] * codes.stride;  // size_t: 32 bits overflow at 2^32 codes
    const Pair cell = cell_of(i);
    // Row by row although `out` is column by column: in a small leaf the row's cache line is the only thing that
    // has to come from memory.
    for (std::size_t c = first; c < last; ++c) {
      assert(row[c] < layout.n_codes(c));
      add_pair(out[start[c] + row[c]], cell);
    }
  }
}

}  // namespace

template <class Code>
void add_unit_rows(const RowCodes<Code>& codes, const Layout& layout, View<const std::uint32_t> rows,
                   View<const std::uint32_t> weight, std::size_t first, std::size_t last,
                   View<Cell> out) noexcept {
  add_rows(codes, layout, rows, first, last, out, [&](std::size_t i) { return pair_of({weight[i], 1}); });
}

template <class Code>
void add_weighted_rows(const RowCodes<Code>& codes, const Layout& layout, View<const std::uint32_t> rows,
                       View<const Cell> cell_of_row, std::size_t first, std::size_t last,
                       View<Cell> out) noexcept {
  add_rows(codes, layout, rows, first, last, out, [&](std::size_t i) { return pair_of(cell_of_row[rows[i]]); });
}

#define TADA_INSTANTIATE(Code)                                                                                \
  template void add_unit_rows<Code>(const RowCodes<Code>&, const Layout&, View<const std::uint32_t>,           \
                                    View<const std::uint32_t>, std::size_t, std::size_t, View<Cell>) noexcept; \
  template void add_weighted_rows<Code>(const RowCodes<Code>&, const Layout&, View<const std::uint32_t>,       \
                                        View<const Cell>, std::size_t, std::size_t, View<Cell>) noexcept;
TADA_INSTANTIATE(std::uint8_t)
TADA_INSTANTIATE(std::uint16_t)

}  // namespace tada
