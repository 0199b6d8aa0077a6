// SPDX-License-Identifier: Apache-2.0
#include "code_table.hpp"

#include <algorithm>
#include <cstring>

namespace tada {
namespace {

constexpr std::size_t kRowsTogether = 256;  // their codes stay in the nearest cache

// Calls f(first, last) for blocks of rows, in parallel.
template <class F>
void in_blocks(std::size_t n_rows, Pool& pool, F f) {
  pool.run((n_rows + kRowsTogether - 1) / kRowsTogether, [&](std::size_t chunk) {
    f(chunk * kRowsTogether, std::min(n_rows, (chunk + 1) * kRowsTogether));
  });
}

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_BIG_ENDIAN__
constexpr bool kByWords = true;
#else
constexpr bool kByWords = false;
#endif

// A word a column, of eight rows' codes, becomes a word a row, the first in the lowest bits: squares of 4, 2
// and 1 codes change places across the diagonal.
inline void transpose(std::uint64_t* words) {
  constexpr std::uint64_t kLow[3] = {0x00000000ffffffff, 0x0000ffff0000ffff, 0x00ff00ff00ff00ff};
  for (std::size_t level = 0; level < 3; ++level) {
    const std::size_t apart = 4U >> level;
    for (std::size_t i = 0; i < 8; ++i) {
      if (i & apart) continue;
      const std::uint64_t change = ((words[i] >> 8 * apart) ^ words[i + apart]) & kLow[level];
      words[i + apart] ^= change;
      words[i] ^= change << 8 * apart;
    }
  }
}

}  // namespace

// Addresses are kept in locals: codes are bytes, which may lie anywhere, so the compiler would else read all
// addresses again after each code it writes.
template <class Code>
void CodeTable<Code>::lay_rows(const std::vector<const Code*>& columns, std::size_t first, std::size_t last) {
  const std::size_t stride = stride_of(columns.size());
  for (std::size_t c = 0; c < columns.size(); c += 8) {
    const std::size_t n = std::min<std::size_t>(8, columns.size() - c);
    const Code* from[8];
    std::copy_n(columns.data() + c, n, from);
    Code* to = by_row.data() + c;
    std::size_t i = first;
    if constexpr (kByWords && sizeof(Code) == 1) {
      for (; i + 8 <= last; i += 8) {
        std::uint64_t words[8] = {};
        for (std::size_t k = 0; k < n; ++k) std::memcpy(&words[k], from[k] + i, 8);
        transpose(words);
        for (std::size_t k = 0; k < 8; ++k) std::memcpy(to + (i + k) * stride, &words[k], 8);
      }
    }
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t j = i; j < last; ++j) to[j * stride + k] = from[k][j];
  }
}

template <class Code>
void CodeTable<Code>::take(View<const Code> given, const std::vector<std::uint32_t>& order,
                           std::size_t n_columns, Pool& pool) {
  const std::size_t n = order.size(), n_given = given.size / n_columns;
  by_column.resize(n * n_columns);
  by_row.resize(n * stride_of(n_columns));
  std::vector<const Code*> columns(n_columns);
  for (std::size_t c = 0; c < n_columns; ++c) columns[c] = by_column.data() + c * n;
  in_blocks(n, pool, [&](std::size_t first, std::size_t last) {
    const std::uint32_t* row = order.data();
    for (std::size_t c = 0; c < n_columns; c += 4) {  // a row's number is read once for four codes
      const Code* from[4];
      Code* to[4];
      for (std::size_t k = 0; k < 4; ++k) {
        const std::size_t column = std::min(c + k, n_columns - 1);  // the last may come again
        from[k] = given.data + column * n_given;
        to[k] = by_column.data() + column * n;
      }
      for (std::size_t i = first; i < last; ++i)
        for (std::size_t k = 0; k < 4; ++k) to[k][i] = from[k][row[i]];
    }
    lay_rows(columns, first, last);
  });
}

// In place: a row never moves back.
template <class Code>
void CodeTable<Code>::keep(const std::vector<std::uint32_t>& rows, std::size_t n_columns) {
  const std::size_t n = by_column.size() / n_columns, n_kept = rows.size(), stride = stride_of(n_columns);
  for (std::size_t i = 0; i < n_kept; ++i)
    std::copy_n(by_row.data() + rows[i] * stride, stride, by_row.data() + i * stride);
  for (std::size_t c = 0; c < n_columns; ++c)
    for (std::size_t i = 0; i < n_kept; ++i) by_column[c * n_kept + i] = by_column[c * n + rows[i]];
  by_row.resize(n_kept * stride);
  by_row.shrink_to_fit();
  by_column.resize(n_kept * n_columns);
  by_column.shrink_to_fit();
}

template <class Code>
void CodeTable<Code>::bundle(std::vector<Bundle>& bundles, std::size_t n_rows, Pool& pool) {
  std::vector<const Code*> columns;
  for (const Bundle& bundle : bundles)
    columns.push_back(bundle.is_plain() ? by_column.data() + bundle.members[0].column * n_rows
                                        : bundle.by_row.data());
  RowVector<Code>().swap(by_row);  // before the smaller one is made
  by_row.resize(n_rows * stride_of(bundles.size()));
  in_blocks(n_rows, pool, [&](std::size_t first, std::size_t last) { lay_rows(columns, first, last); });
  for (Bundle& bundle : bundles) std::vector<std::uint8_t>().swap(bundle.by_row);
}

template void CodeTable<std::uint8_t>::bundle(std::vector<Bundle>&, std::size_t, Pool&);
#define TADA_INSTANTIATE(Code)                                                                          \
  template void CodeTable<Code>::take(View<const Code>, const std::vector<std::uint32_t>&, std::size_t, \
                                      Pool&);                                                           \
  template void CodeTable<Code>::keep(const std::vector<std::uint32_t>&, std::size_t);
TADA_INSTANTIATE(std::uint8_t)
TADA_INSTANTIATE(std::uint16_t)

}  // namespace tada
