// SPDX-License-Identifier: Apache-2.0
#include "code_table.hpp"

#include <algorithm>

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

}  // namespace

// Addresses are kept in locals: codes are bytes, which may lie anywhere, so the compiler would else read all
// addresses again after each code it writes.
template <class Code>
void CodeTable<Code>::lay_rows(const std::vector<const Code*>& columns, std::size_t first, std::size_t last) {
  const std::size_t stride = stride_of(columns.size());
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const Code* from = columns[c];
    Code* to = by_row.data() + c;
    for (std::size_t i = first; i < last; ++i) to[i * stride] = from[i];
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
    for (std::size_t c = 0; c < n_columns; ++c) {
      const Code* from = given.data + c * n_given;
      const std::uint32_t* row = order.data();
      Code* to = by_column.data() + c * n;
      for (std::size_t i = first; i < last; ++i) to[i] = from[row[i]];
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
