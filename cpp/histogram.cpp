// SPDX-License-Identifier: Apache-2.0
#include "histogram.hpp"

#include <algorithm>
#include <cstring>

#include "bundles.hpp"
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
  Word() = default;
  explicit Word(const Cell& cell) : x(packed(cell)) {}
  explicit Word(std::uint64_t word) : x(word) {}
  void add_to(std::uint64_t* cell) const { *cell += x; }
};
struct Pair {
  static constexpr std::size_t kWords = 2;
#if defined(__GNUC__)
  using Two = std::uint64_t __attribute__((vector_size(16), may_alias, aligned(8)));
  Two x;
  Pair() = default;
  explicit Pair(const Cell& cell) : x{cell.weight, cell.count} {}
  void add_to(std::uint64_t* cell) const { *reinterpret_cast<Two*>(cell) += x; }
#else
  Cell x;
  Pair() = default;
  explicit Pair(const Cell& cell) : x(cell) {}
  void add_to(std::uint64_t* cell) const { cell[0] += x.weight, cell[1] += x.count; }
#endif
};

// Bundles [first, last) of all rows' codes, and where they go.
template <class Code>
struct Part {
  RowCodes<Code> codes;
  const Layout& layout;
  View<const Bundle> bundles;
  std::size_t first, last;
  std::size_t size() const { return last - first; }
  // Then bundle b is column b: each column is in one.
  bool is_plain() const { return bundles.size == layout.n_columns(); }
  const Code* row(std::size_t i) const {
    assert(i < codes.n_rows);
    return codes.data + i * codes.stride + first;  // size_t: 32 bits overflow at 2^32 codes
  }
};

// Row by row although `out` is column by column: in a small leaf the row's cache line is the only thing that
// has to come from memory.
template <class Term, bool kPlain, class Code, class CellOf>
void add_rows(const Part<Code> part, View<const std::uint32_t> rows, View<std::uint64_t> out,
              CellOf cell_of) noexcept {
  const std::size_t* start = part.layout.start.data();
  for (std::size_t i = 0; i < rows.size; ++i) {
    if (i + kAhead < rows.size) prefetch(part.row(rows[i + kAhead]));
    const Code* row = part.row(rows[i]);
    const Term term(cell_of(i));
    for (std::size_t b = 0; b < part.size(); ++b) {
      assert(row[b] < part.bundles[part.first + b].n_codes);
      if constexpr (kPlain) {
        term.add_to(&out[Term::kWords * (start[part.first + b] + row[b])]);
      } else {
        for (const Bundle::Member& member : part.bundles[part.first + b].members)
          term.add_to(&out[Term::kWords * (start[member.column] + member.code[row[b]])]);
      }
    }
  }
}

template <class Term, class Code, class CellOf>
void add_rows(const Part<Code>& part, View<const std::uint32_t> rows, View<std::uint64_t> out,
              CellOf cell_of) noexcept {
  if (part.is_plain())
    add_rows<Term, true>(part, rows, out, cell_of);
  else
    add_rows<Term, false>(part, rows, out, cell_of);
}

// Columns of the buffer begin a cache line more than 256 words apart: equal codes of many columns would else
// fall into the same few lines of the nearest cache, and constant columns took five times as long.
constexpr std::size_t kApart = 256 + 8;

// Many rows of byte codes: an update is one addition at an address that needs no table. A function of its
// own: registers run short in the loops around it.
template <class TermOf>
TADA_NOINLINE void add_to_buffer(const Part<std::uint8_t> part, View<const std::uint32_t> rows,
                                 TermOf term_of, View<std::uint64_t> buffer) noexcept {
  using Term = decltype(term_of(0));
  const std::size_t n_bytes = part.size();
  for (std::size_t i = 0; i < rows.size; ++i) {
    if (i + kAhead < rows.size) {
      const std::uint8_t* ahead = part.row(rows[i + kAhead]);
      prefetch(ahead);
      prefetch(ahead + n_bytes - 1);  // often in the next cache line
    }
    const std::uint8_t* row = part.row(rows[i]);
    const Term x = term_of(i);
    std::uint64_t* column = buffer.data;
    const auto add = [x, &column](std::uint64_t code) {
      x.add_to(column + Term::kWords * code);
      column += Term::kWords * kApart;
    };
    std::size_t b = 0;
    for (; b + 8 <= n_bytes; b += 8) {  // one load for eight codes
      std::uint64_t eight;
      std::memcpy(&eight, row + b, 8);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
      eight = __builtin_bswap64(eight);
#endif
      add(eight & 255);
      add(eight >> 8 & 255);
      add(eight >> 16 & 255);
      add(eight >> 24 & 255);
      add(eight >> 32 & 255);
      add(eight >> 40 & 255);
      add(eight >> 48 & 255);
      add(eight >> 56);
    }
    for (; b < n_bytes; ++b) add(row[b]);
  }
}

// Bits of a word of the buffer that hold the count; none where weight and count are a word each, which no
// number of rows can overflow.
constexpr int kOwnWord = 0;
template <int kBits>
constexpr std::size_t kWordsOf = kBits == kOwnWord ? Pair::kWords : Word::kWords;

// Adds what the buffer has for a cell.
template <int kBits>
inline void add_cell(const std::uint64_t* of_buffer, std::size_t cell, const Cells& out) {
  if constexpr (kBits == kOwnWord) {
    out.words[2 * cell] += of_buffer[0];
    out.words[2 * cell + 1] += of_buffer[1];
  } else if (out.is_packed) {
    out.words[cell] += *of_buffer;
  } else {
    out.words[2 * cell] += *of_buffer >> kBits;
    out.words[2 * cell + 1] += *of_buffer & ((std::uint64_t{1} << kBits) - 1);
  }
}

// Empties the buffer into the histogram.
template <int kBits>
void drain(const Part<std::uint8_t>& part, View<std::uint64_t> buffer, const Cells& out) {
  constexpr std::size_t kWords = kWordsOf<kBits>;
  for (std::size_t b = part.first; b < part.last; ++b) {
    const Bundle& bundle = part.bundles[b];
    std::uint64_t* column = buffer.data + kWords * (b - part.first) * kApart;
    const std::size_t start = part.layout.start[bundle.members[0].column];
    for (std::size_t code = 0; bundle.is_plain() && code < bundle.n_codes; ++code)
      add_cell<kBits>(column + kWords * code, start + code, out);
    for (std::size_t code = 0; !bundle.is_plain() && code < bundle.n_codes; ++code) {
      if (kWords == 1 && column[code] == 0) continue;
      for (const Bundle::Member& member : bundle.members)
        add_cell<kBits>(column + kWords * code, part.layout.start[member.column] + member.code[code], out);
    }
    std::fill_n(column, kWords * bundle.n_codes, std::uint64_t{0});
  }
}

// Wide tables go some rows and columns at a time: the codes of these rows and the cells of these columns stay
// in the nearest caches.
constexpr std::size_t kRowsTogether = 1024, kBytesTogether = 32;

// Byte codes by way of the buffer, which is drained before rows of multiplicity 1 need more than kBits to
// count. terms_of(i, size) gives what rows [i, i + size) add.
template <int kBits, class TermsOf>
void add_buffered(const Part<std::uint8_t>& part, View<const std::uint32_t> rows, const Cells& out,
                  TermsOf terms_of) {
  constexpr std::size_t kMost = kBits == kOwnWord ? SIZE_MAX : (std::size_t{1} << kBits) - 1;
  constexpr std::size_t kStride = kWordsOf<kBits> * kApart;
  thread_local std::vector<std::uint64_t> words;
  words.resize(std::max(words.size(), part.size() * kStride));  // all zero between calls
  const View<std::uint64_t> buffer{words.data(), words.size()};
  for (std::size_t begin = 0, end; begin < rows.size; begin = end) {
    end = begin + std::min(kMost, rows.size - begin);
    for (std::size_t i = begin; i < end; i += kRowsTogether) {
      const std::size_t size = std::min(kRowsTogether, end - i);
      const auto terms = terms_of(i, size);
      for (std::size_t b = 0; b < part.size(); b += kBytesTogether) {
        const std::size_t first = part.first + b, last = std::min(first + kBytesTogether, part.last);
        add_to_buffer({part.codes, part.layout, part.bundles, first, last}, {rows.data + i, size}, terms,
                      {buffer.data + b * kStride, buffer.size - b * kStride});
      }
    }
    drain<kBits>(part, buffer, out);
  }
}

// Rows of multiplicity 1.
template <int kBits>
void add_unit_buffered(const Part<std::uint8_t>& part, View<const std::uint32_t> rows,
                       View<const std::uint32_t> weight, const Cells& out) {
  add_buffered<kBits>(part, rows, out, [weight](std::size_t first, std::size_t size) {
    const View<const std::uint32_t> here{weight.data + first, size};
    return [here](std::size_t i) { return Word(std::uint64_t{here[i]} << kBits | 1); };
  });
}

// Rows that bring a cell.
template <int kBits, class Term>
void add_cells_buffered(const Part<std::uint8_t>& part, View<const std::uint32_t> rows,
                        View<const Cell> cell_of_row, const Cells& out) {
  if (part.size() <= kBytesTogether)  // then each is asked for once
    return add_buffered<kBits>(part, rows, out, [cell_of_row, rows](std::size_t first, std::size_t size) {
      const View<const std::uint32_t> here{rows.data + first, size};
      return [cell_of_row, here](std::size_t i) { return Term(cell_of_row[here[i]]); };
    });
  Term terms[kRowsTogether];
  add_buffered<kBits>(part, rows, out, [&](std::size_t first, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) terms[i] = Term(cell_of_row[rows[first + i]]);
    return [&terms](std::size_t i) { return terms[i]; };
  });
}

// Below that, draining the buffer would cost more than the updates save.
bool worth_buffer(const Part<std::uint8_t>& part, std::size_t n_rows) {
  std::size_t n_columns = 0, n_words = 0;
  for (std::size_t b = part.first; b < part.last; ++b) {
    n_columns += part.bundles[b].members.size();
    n_words += part.bundles[b].members.size() * part.bundles[b].n_codes;
  }
  return n_rows * n_columns >= 2 * n_words;
}

}  // namespace

template <class Code>
void add_unit_rows(const RowCodes<Code>& codes, const Layout& layout, View<const Bundle> bundles,
                   View<const std::uint32_t> rows, View<const std::uint32_t> weight, std::size_t first,
                   std::size_t last, Cells out) {
  const Part<Code> part{codes, layout, bundles, first, last};
  if constexpr (sizeof(Code) == 1) {
    if (worth_buffer(part, rows.size)) {
      if (out.is_packed) return add_unit_buffered<kCountBits>(part, rows, weight, out);
      return add_unit_buffered<16>(part, rows, weight, out);  // leaves 48 for weights below 2^31
    }
  }
  const auto run = [weight](std::size_t i) { return Cell{weight[i], 1}; };
  if (out.is_packed)
    add_rows<Word>(part, rows, out.words, run);
  else
    add_rows<Pair>(part, rows, out.words, run);
}

template <class Code>
void add_weighted_rows(const RowCodes<Code>& codes, const Layout& layout, View<const Bundle> bundles,
                       View<const std::uint32_t> rows, View<const Cell> cell_of_row, std::size_t first,
                       std::size_t last, Cells out) {
  const Part<Code> part{codes, layout, bundles, first, last};
  const auto cell = [cell_of_row, rows](std::size_t i) { return cell_of_row[rows[i]]; };
  if constexpr (sizeof(Code) == 1)
    if (worth_buffer(part, rows.size)) {
      if (out.is_packed) return add_cells_buffered<kCountBits, Word>(part, rows, cell_of_row, out);
      return add_cells_buffered<kOwnWord, Pair>(part, rows, cell_of_row, out);
    }
  if (out.is_packed)
    add_rows<Word>(part, rows, out.words, cell);
  else
    add_rows<Pair>(part, rows, out.words, cell);
}

#define TADA_INSTANTIATE(Code)                                                                         \
  template void add_unit_rows<Code>(const RowCodes<Code>&, const Layout&, View<const Bundle>,          \
                                    View<const std::uint32_t>, View<const std::uint32_t>, std::size_t, \
                                    std::size_t, Cells);                                               \
  template void add_weighted_rows<Code>(const RowCodes<Code>&, const Layout&, View<const Bundle>,      \
                                        View<const std::uint32_t>, View<const Cell>, std::size_t,      \
                                        std::size_t, Cells);
TADA_INSTANTIATE(std::uint8_t)
TADA_INSTANTIATE(std::uint16_t)

}  // namespace tada
