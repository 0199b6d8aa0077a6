// SPDX-License-Identifier: Apache-2.0
#include "histogram.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "bundles.hpp"
#include "clones.hpp"

namespace tada {
namespace {

constexpr std::size_t kAhead = 48;  // rows between the prefetch of a row's codes and their use

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
  void add_from(const std::uint64_t* cell) { x += *cell; }
  void put(std::uint64_t* cell) const { *cell = x; }
};
struct Pair {
  static constexpr std::size_t kWords = 2;
#if defined(__GNUC__)
  using Two = std::uint64_t __attribute__((vector_size(16), may_alias, aligned(8)));
  Two x;
  Pair() = default;
  explicit Pair(const Cell& cell) : x{cell.weight, cell.count} {}
  void add_to(std::uint64_t* cell) const { *reinterpret_cast<Two*>(cell) += x; }
  void add_from(const std::uint64_t* cell) { x += *reinterpret_cast<const Two*>(cell); }
  void put(std::uint64_t* cell) const { *reinterpret_cast<Two*>(cell) = x; }
#else
  Cell x;
  Pair() = default;
  explicit Pair(const Cell& cell) : x(cell) {}
  void add_to(std::uint64_t* cell) const { cell[0] += x.weight, cell[1] += x.count; }
  void add_from(const std::uint64_t* cell) { x += Cell{cell[0], cell[1]}; }
  void put(std::uint64_t* cell) const { cell[0] = x.weight, cell[1] = x.count; }
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

// What goes into the buffer at a time: some rows, and some bytes of each, so that terms, codes and cells stay
// in the nearest caches; more bytes where each row has a way to go.
constexpr std::size_t kRowsTogether = 512, kBytesScattered = 32;
template <class Term>
constexpr std::size_t kBytesInOrder = 16 / Term::kWords;

// Adds a row's term to as many columns of the buffer as there are indices: each an addition at an address
// that needs no table. Codes come eight in a load, in which rows begin and end (see stride_of).
template <class Term, std::size_t... kByte>
inline void add_bytes(const std::uint8_t* row, Term term, std::uint64_t* buffer,
                      std::index_sequence<kByte...>) {
  std::uint64_t eight[(sizeof...(kByte) + 7) / 8];
  std::memcpy(eight, row, sizeof eight);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  for (std::uint64_t& word : eight) word = __builtin_bswap64(word);
#endif
  (term.add_to(buffer + Term::kWords * (kByte * kApart + (eight[kByte / 8] >> 8 * (kByte % 8) & 255))), ...);
}

// Rows that follow each other, as those of a root do: codes and terms of the first, and how many. A function
// for each number of bytes: loops with a number that is not known took a quarter more time.
template <class Term, std::size_t kBytes>
TADA_NOINLINE void add_in_order(const std::uint8_t* row, std::size_t stride, const Term* terms, std::size_t n,
                                std::uint64_t* buffer) noexcept {
  for (std::size_t i = 0; i < n; ++i, row += stride) {
    prefetch(row + kAhead * stride);  // of what is beyond the table nothing is read
    add_bytes(row, terms[i], buffer, std::make_index_sequence<kBytes>());
  }
}
template <class Term, std::size_t... kLess>
constexpr auto in_order_kernels(std::index_sequence<kLess...>) {
  return std::array{add_in_order<Term, kLess + 1>...};
}

// Rows here and there, whose codes may come from memory: the updates of one hide the way of others.
template <class Term>
TADA_NOINLINE void add_scattered(const Part<std::uint8_t> part, View<const std::uint32_t> rows, std::size_t n,
                                 const Term* terms, std::uint64_t* buffer) noexcept {
  for (std::size_t i = 0; i < n; ++i) {
    if (i + kAhead < rows.size) {
      const std::uint8_t* ahead = part.row(rows[i + kAhead]);
      prefetch(ahead);
      prefetch(ahead + part.size() - 1);  // often in the next cache line
    }
    const std::uint8_t* row = part.row(rows[i]);
    const Term term = terms[i];
    std::uint64_t* column = buffer;
    std::size_t b = 0;
    for (; b + 8 <= part.size(); b += 8, column += 8 * Term::kWords * kApart)
      add_bytes(row + b, term, column, std::make_index_sequence<8>());
    for (; b < part.size(); ++b, column += Term::kWords * kApart) term.add_to(column + Term::kWords * row[b]);
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

// Makes the cells of a bundle's columns 0.
void clear(const Bundle& bundle, const Layout& layout, const Cells& out) {
  const std::size_t width = out.is_packed ? 1 : 2;
  for (const Bundle::Member& member : bundle.members)
    std::fill_n(&out.words[width * layout.start[member.column]], width * layout.n_codes(member.column),
                std::uint64_t{0});
}

// Empties the buffer into the histogram, whose cells it writes or, where `adds`, adds to.
template <int kBits>
void drain(const Part<std::uint8_t>& part, View<std::uint64_t> buffer, const Cells& out, bool adds) {
  constexpr std::size_t kWords = kWordsOf<kBits>;
  const bool same_words = kBits == kOwnWord || out.is_packed;
  for (std::size_t b = part.first; b < part.last; ++b) {
    const Bundle& bundle = part.bundles[b];
    std::uint64_t* column = buffer.data + kWords * (b - part.first) * kApart;
    const std::size_t n_words = kWords * bundle.n_codes, start = part.layout.start[bundle.members[0].column];
    if (bundle.is_plain() && same_words) {
      std::uint64_t* to = &out.words[kWords * start];
      for (std::size_t i = 0; adds && i < n_words; ++i) to[i] += column[i];
      if (!adds) std::copy_n(column, n_words, to);
    } else {
      if (!adds) clear(bundle, part.layout, out);
      for (std::size_t code = 0; code < bundle.n_codes; ++code) {
        if (kWords == 1 && column[code] == 0) continue;
        for (const Bundle::Member& member : bundle.members)
          add_cell<kBits>(column + kWords * code,
                          part.layout.start[member.column] + (bundle.is_plain() ? code : member.code[code]),
                          out);
      }
    }
    std::fill_n(column, n_words, std::uint64_t{0});
  }
}

// Whether each row is the next of the one before it, as in a root: there is nothing to look up then.
bool follow_each_other(const std::uint32_t* rows, std::size_t n) {
  if (rows[n - 1] - rows[0] != n - 1) return false;
  std::uint32_t other = 0;
  for (std::size_t i = 0; i < n; ++i) other |= rows[i] - rows[0] - static_cast<std::uint32_t>(i);
  return other == 0;
}

// Adds rows [i, i + n) of the order to the buffer.
template <class Term>
void add_to_buffer(const Part<std::uint8_t>& part, View<const std::uint32_t> rows, std::size_t i,
                   std::size_t n, const Term* terms, std::uint64_t* buffer) {
  static constexpr auto in_order = in_order_kernels<Term>(std::make_index_sequence<kBytesInOrder<Term>>());
  const bool is_in_order = follow_each_other(rows.data + i, n);
  const std::size_t together = is_in_order ? kBytesInOrder<Term> : kBytesScattered;
  for (std::size_t b = 0; b < part.size(); b += together) {
    const std::size_t first = part.first + b, last = std::min(first + together, part.last);
    const Part<std::uint8_t> here{part.codes, part.layout, part.bundles, first, last};
    std::uint64_t* columns = buffer + b * Term::kWords * kApart;
    if (is_in_order)
      in_order[here.size() - 1](here.row(rows[i]), part.codes.stride, terms, n, columns);
    else
      add_scattered(here, {rows.data + i, rows.size - i}, n, terms, columns);
  }
}

// Byte codes by way of the buffer, which is drained before rows of multiplicity 1 need more than kBits to
// count. terms(i, size, to) writes what rows [i, i + size) add.
template <int kBits, class Term, class Terms>
void add_buffered(const Part<std::uint8_t>& part, View<const std::uint32_t> rows, const Cells& out,
                  Terms terms) {
  static_assert(Term::kWords == kWordsOf<kBits>);
  constexpr std::size_t kMost = kBits == kOwnWord ? SIZE_MAX : (std::size_t{1} << kBits) - 1;
  thread_local std::vector<std::uint64_t> words;
  words.resize(std::max(words.size(), part.size() * Term::kWords * kApart));  // all zero between calls
  Term of_rows[kRowsTogether];
  for (std::size_t begin = 0, end; begin < rows.size; begin = end) {
    end = begin + std::min(kMost, rows.size - begin);
    for (std::size_t i = begin; i < end; i += kRowsTogether) {
      const std::size_t n = std::min(kRowsTogether, end - i);
      terms(i, n, of_rows);
      add_to_buffer(part, rows, i, n, of_rows, words.data());
    }
    drain<kBits>(part, {words.data(), words.size()}, out, begin > 0);
  }
}

// Rows of multiplicity 1.
template <int kBits>
void add_unit_buffered(const Part<std::uint8_t>& part, View<const std::uint32_t> rows,
                       View<const std::uint32_t> weight, const Cells& out) {
  add_buffered<kBits, Word>(part, rows, out, [weight](std::size_t first, std::size_t size, Word* to) {
    for (std::size_t i = 0; i < size; ++i) to[i] = Word(std::uint64_t{weight[first + i]} << kBits | 1);
  });
}

// Rows that bring a cell.
template <int kBits, class Term>
void add_cells_buffered(const Part<std::uint8_t>& part, View<const std::uint32_t> rows,
                        View<const Cell> cell_of_row, const Cells& out) {
  add_buffered<kBits, Term>(part, rows, out, [&](std::size_t first, std::size_t size, Term* to) {
    for (std::size_t i = 0; i < size; ++i) to[i] = Term(cell_of_row[rows[first + i]]);
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

// Makes the cells at x, and those of the other class at y, running sums. The sums are kept in registers: from
// memory each would wait for the one before.
template <class Term>
void cumulate_cells(std::uint64_t* x, std::uint64_t* y, std::size_t n) {
  Term p{}, q{};
  for (std::size_t i = 0; i < n; ++i, x += Term::kWords, y += Term::kWords) {
    p.add_from(x), p.put(x);
    q.add_from(y), q.put(y);
  }
}

TADA_CLONES
void subtract(std::uint64_t* from, const std::uint64_t* what, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) from[i] -= what[i];
}

}  // namespace

void Histogram::cumulate(std::size_t begin, std::size_t end) {
  const std::size_t half = words.size() / 2, n = end - begin;
  std::uint64_t* x = words.data() + (is_packed ? begin : 2 * begin);
  is_packed ? cumulate_cells<Word>(x, x + half, n) : cumulate_cells<Pair>(x, x + half, n);
}

void Histogram::take(const Histogram& o, std::size_t begin, std::size_t end) {
  const std::size_t half = words.size() / 2, width = is_packed ? 1 : 2;
  for (const std::size_t i : {width * begin, half + width * begin})
    subtract(words.data() + i, o.words.data() + i, width * (end - begin));
}

template <class Code>
void sum_unit_rows(const RowCodes<Code>& codes, const Layout& layout, View<const Bundle> bundles,
                   View<const std::uint32_t> rows, View<const std::uint32_t> weight, std::size_t first,
                   std::size_t last, Cells out) {
  const Part<Code> part{codes, layout, bundles, first, last};
  if constexpr (sizeof(Code) == 1) {
    if (worth_buffer(part, rows.size)) {
      if (out.is_packed) return add_unit_buffered<kCountBits>(part, rows, weight, out);
      return add_unit_buffered<16>(part, rows, weight, out);  // leaves 48 for weights below 2^31
    }
  }
  for (std::size_t b = first; b < last; ++b) clear(bundles[b], layout, out);
  const auto run = [weight](std::size_t i) { return Cell{weight[i], 1}; };
  if (out.is_packed)
    add_rows<Word>(part, rows, out.words, run);
  else
    add_rows<Pair>(part, rows, out.words, run);
}

template <class Code>
void sum_weighted_rows(const RowCodes<Code>& codes, const Layout& layout, View<const Bundle> bundles,
                       View<const std::uint32_t> rows, View<const Cell> cell_of_row, std::size_t first,
                       std::size_t last, Cells out) {
  const Part<Code> part{codes, layout, bundles, first, last};
  if constexpr (sizeof(Code) == 1)
    if (worth_buffer(part, rows.size)) {
      if (out.is_packed) return add_cells_buffered<kCountBits, Word>(part, rows, cell_of_row, out);
      return add_cells_buffered<kOwnWord, Pair>(part, rows, cell_of_row, out);
    }
  for (std::size_t b = first; b < last; ++b) clear(bundles[b], layout, out);
  const auto cell = [cell_of_row, rows](std::size_t i) { return cell_of_row[rows[i]]; };
  if (out.is_packed)
    add_rows<Word>(part, rows, out.words, cell);
  else
    add_rows<Pair>(part, rows, out.words, cell);
}

#define TADA_INSTANTIATE(Code)                                                                         \
  template void sum_unit_rows<Code>(const RowCodes<Code>&, const Layout&, View<const Bundle>,          \
                                    View<const std::uint32_t>, View<const std::uint32_t>, std::size_t, \
                                    std::size_t, Cells);                                               \
  template void sum_weighted_rows<Code>(const RowCodes<Code>&, const Layout&, View<const Bundle>,      \
                                        View<const std::uint32_t>, View<const Cell>, std::size_t,      \
                                        std::size_t, Cells);
TADA_INSTANTIATE(std::uint8_t)
TADA_INSTANTIATE(std::uint16_t)

}  // namespace tada
