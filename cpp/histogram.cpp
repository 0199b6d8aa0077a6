// SPDX-License-Identifier: Apache-2.0
#include "histogram.hpp"

#include <algorithm>
#include <cstring>

#include "clones.hpp"

namespace tada {
namespace {

constexpr std::size_t kAhead = 16;  // rows between the prefetch of a row's codes and their use

inline void prefetch(const void* p) {
#if defined(__GNUC__)
  __builtin_prefetch(p);
#else
  (void)p;
#endif
}

// What a row adds to a cell: one word, or weight and count beside each other (one 16-byte addition).
struct Word {
  static constexpr std::size_t kWords = 1;
  std::uint64_t x;
  explicit Word(const Cell& cell) : x(packed(cell)) {}
  void add_to(std::uint64_t* cell) const { *cell += x; }
};
struct Pair {
  static constexpr std::size_t kWords = 2;
#if defined(__GNUC__)
  using Two = std::uint64_t __attribute__((vector_size(16), may_alias, aligned(8)));
  Two x;
  explicit Pair(const Cell& cell) : x{cell.weight, cell.count} {}
  void add_to(std::uint64_t* cell) const { *reinterpret_cast<Two*>(cell) += x; }
#else
  Cell x;
  explicit Pair(const Cell& cell) : x(cell) {}
  void add_to(std::uint64_t* cell) const { cell[0] += x.weight, cell[1] += x.count; }
#endif
};

template <class Term, class Code, class CellOf>
void add_rows(const RowCodes<Code>& codes, const Layout& layout, View<const std::uint32_t> rows,
              std::size_t first, std::size_t last, View<std::uint64_t> out, CellOf cell_of) noexcept {
  const std::size_t* start = layout.start.data();
  for (std::size_t i = 0; i < rows.size; ++i) {
    if (i + kAhead < rows.size) prefetch(codes.data + rows[i + kAhead] * codes.stride + first);
    assert(rows[i] < codes.n_rows);
    const Code* row = codes.data + rows[i] * codes.stride;  // size_t: 32 bits overflow at 2^32 codes
    const Term term(cell_of(i));
    // Row by row although `out` is column by column: in a small leaf the row's cache line is the only thing
    // that has to come from memory.
    for (std::size_t c = first; c < last; ++c) {
      assert(row[c] < layout.n_codes(c));
      term.add_to(&out[Term::kWords * (start[c] + row[c])]);
    }
  }
}

// Columns of the buffer begin a cache line more than 256 words apart: equal codes of many columns would else
// fall into the same few lines of the nearest cache, and constant columns took five times as long.
constexpr std::size_t kApart = 256 + 8;

// Many rows of byte codes: weight and count in one word, so that an update is one 8-byte addition at an
// address that needs no table. A function of its own: registers run short in the loops around it.
template <class WordOf>
TADA_NOINLINE void add_to_buffer(const RowCodes<std::uint8_t>& codes, View<const std::uint32_t> rows,
                                 WordOf word_of, std::size_t first, std::size_t last,
                                 View<std::uint64_t> buffer) noexcept {
  const std::size_t n_columns = last - first;
  for (std::size_t i = 0; i < rows.size; ++i) {
    if (i + kAhead < rows.size) {
      const std::uint8_t* ahead = codes.data + rows[i + kAhead] * codes.stride;
      prefetch(ahead + first);
      prefetch(ahead + last - 1);  // often in the next cache line
    }
    assert(rows[i] < codes.n_rows);
    const std::uint8_t* row = codes.data + rows[i] * codes.stride + first;
    const std::uint64_t x = word_of(i);
    std::uint64_t* out = buffer.data;
    std::size_t c = 0;
    for (; c + 8 <= n_columns; c += 8, out += 8 * kApart) {  // one load for eight codes
      std::uint64_t eight;
      std::memcpy(&eight, row + c, 8);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
      eight = __builtin_bswap64(eight);
#endif
      out[eight & 255] += x;
      out[kApart + (eight >> 8 & 255)] += x;
      out[2 * kApart + (eight >> 16 & 255)] += x;
      out[3 * kApart + (eight >> 24 & 255)] += x;
      out[4 * kApart + (eight >> 32 & 255)] += x;
      out[5 * kApart + (eight >> 40 & 255)] += x;
      out[6 * kApart + (eight >> 48 & 255)] += x;
      out[7 * kApart + (eight >> 56)] += x;
    }
    for (; c < n_columns; ++c, out += kApart) out[row[c]] += x;
  }
}

// Empties the buffer into the histogram.
template <int kBits>
void drain(View<std::uint64_t> buffer, const Layout& layout, std::size_t first, std::size_t last, Cells out) {
  constexpr std::uint64_t kCount = (std::uint64_t{1} << kBits) - 1;
  for (std::size_t c = first; c < last; ++c) {
    std::uint64_t* column = buffer.data + (c - first) * kApart;
    const std::size_t n = layout.n_codes(c), start = layout.start[c];
    if (out.is_packed) {
      for (std::size_t code = 0; code < n; ++code) out.words[start + code] += column[code];
    } else {
      for (std::size_t code = 0; code < n; ++code) {
        out.words[2 * (start + code)] += column[code] >> kBits;
        out.words[2 * (start + code) + 1] += column[code] & kCount;
      }
    }
    std::fill_n(column, n, std::uint64_t{0});
  }
}

// Wide tables go some rows and columns at a time: the codes of these rows and the cells of these columns stay
// in the nearest caches.
constexpr std::size_t kRowsTogether = 1024, kColumnsTogether = 32;

// What rows add to the buffer, from the i-th on: of multiplicity 1, and others.
template <int kBits>
struct UnitWords {
  View<const std::uint32_t> weight;
  UnitWords from(std::size_t i) const { return {{weight.data + i, weight.size - i}}; }
  std::uint64_t operator()(std::size_t i) const { return std::uint64_t{weight[i]} << kBits | 1; }
};
struct CellWords {
  View<const Cell> cell_of_row;
  View<const std::uint32_t> rows;
  CellWords from(std::size_t i) const { return {cell_of_row, {rows.data + i, rows.size - i}}; }
  std::uint64_t operator()(std::size_t i) const { return packed(cell_of_row[rows[i]]); }
};

// Byte codes by way of the buffer. kBits of a word hold the count: the buffer is drained before rows
// of multiplicity 1 need more, at 16 bits (48 for weights below 2^31) where the histogram is not packed.
template <int kBits, class WordOf>
void add_buffered(const RowCodes<std::uint8_t>& codes, const Layout& layout, View<const std::uint32_t> rows,
                  std::size_t first, std::size_t last, Cells out, WordOf word_of) {
  constexpr std::size_t kMost = (std::size_t{1} << kBits) - 1;
  thread_local std::vector<std::uint64_t> words;
  words.resize(std::max(words.size(), (last - first) * kApart));  // all zero between calls
  const View<std::uint64_t> buffer{words.data(), words.size()};
  for (std::size_t begin = 0; begin < rows.size; begin += kMost) {
    const std::size_t n = std::min(kMost, rows.size - begin);
    for (std::size_t i = begin; i < begin + n; i += kRowsTogether) {
      const std::size_t size = std::min(kRowsTogether, begin + n - i);
      for (std::size_t c = first; c < last; c += kColumnsTogether)
        add_to_buffer(codes, {rows.data + i, size}, word_of.from(i), c, std::min(c + kColumnsTogether, last),
                      {buffer.data + (c - first) * kApart, buffer.size - (c - first) * kApart});
    }
    drain<kBits>(buffer, layout, first, last, out);
  }
}

// Below that, draining the buffer would cost more than the updates save.
bool worth_buffer(const Layout& layout, std::size_t n_rows, std::size_t first, std::size_t last) {
  return n_rows * (last - first) >= 2 * (layout.start[last] - layout.start[first]);
}

}  // namespace

template <class Code>
void add_unit_rows(const RowCodes<Code>& codes, const Layout& layout, View<const std::uint32_t> rows,
                   View<const std::uint32_t> weight, std::size_t first, std::size_t last, Cells out) {
  if constexpr (sizeof(Code) == 1) {
    if (worth_buffer(layout, rows.size, first, last)) {
      if (out.is_packed)
        return add_buffered<kCountBits>(codes, layout, rows, first, last, out, UnitWords<kCountBits>{weight});
      return add_buffered<16>(codes, layout, rows, first, last, out, UnitWords<16>{weight});
    }
  }
  const auto run = [weight](std::size_t i) { return Cell{weight[i], 1}; };
  if (out.is_packed)
    add_rows<Word>(codes, layout, rows, first, last, out.words, run);
  else
    add_rows<Pair>(codes, layout, rows, first, last, out.words, run);
}

template <class Code>
void add_weighted_rows(const RowCodes<Code>& codes, const Layout& layout, View<const std::uint32_t> rows,
                       View<const Cell> cell_of_row, std::size_t first, std::size_t last, Cells out) {
  const auto cell = [cell_of_row, rows](std::size_t i) { return cell_of_row[rows[i]]; };
  if constexpr (sizeof(Code) == 1)
    if (out.is_packed && worth_buffer(layout, rows.size, first, last))
      return add_buffered<kCountBits>(codes, layout, rows, first, last, out, CellWords{cell_of_row, rows});
  if (out.is_packed)
    add_rows<Word>(codes, layout, rows, first, last, out.words, cell);
  else
    add_rows<Pair>(codes, layout, rows, first, last, out.words, cell);
}

#define TADA_INSTANTIATE(Code)                                                                           \
  template void add_unit_rows<Code>(const RowCodes<Code>&, const Layout&, View<const std::uint32_t>,     \
                                    View<const std::uint32_t>, std::size_t, std::size_t, Cells);         \
  template void add_weighted_rows<Code>(const RowCodes<Code>&, const Layout&, View<const std::uint32_t>, \
                                        View<const Cell>, std::size_t, std::size_t, Cells);
TADA_INSTANTIATE(std::uint8_t)
TADA_INSTANTIATE(std::uint16_t)

}  // namespace tada
