// SPDX-License-Identifier: Apache-2.0
// A table in blocks of rows, and tasks with memory of their own: what fitting bins and encoding share.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "pool.hpp"
#include "types.hpp"

namespace tada::table {

// Blocks of rows are copied column by column into a buffer in L1 whatever the strides of the table are. The
// stride of the buffer is no power of two, else a row of a row-major table falls into two sets of the cache.
constexpr std::size_t kBlock = 256, kStride = kBlock + 16, kGroup = 16;

template <class T>
struct Buffer {
  T data[kGroup * kStride];
  T* column(std::size_t c) { return data + c * kStride; }
};

inline std::size_t ceil_div(std::size_t a, std::size_t b) { return (a + b - 1) / b; }

// Runs f(task, worker) for every task; a worker runs one task at a time, so it can own scratch memory.
template <class F>
void run_tasks(Pool& pool, std::size_t n_tasks, F&& f) {
  std::atomic<std::size_t> next{0};
  pool.run(std::min(pool.n_threads(), n_tasks), [&](std::size_t worker) {
    for (std::size_t task; (task = next.fetch_add(1, std::memory_order_relaxed)) < n_tasks;) f(task, worker);
  });
}

// The rows that count: all of them, or a list.
struct Rows {
  const std::uint32_t* list;
  std::size_t size;
  std::size_t operator[](std::size_t i) const { return assert(i < size), list ? list[i] : i; }
};

// buffer.column(k)[i] = X(rows[first + i], columns[k]); the inner loop runs along the shorter stride.
template <class T>
void load(const Matrix<T>& X, const Rows& rows, std::size_t first, std::size_t n,
          View<const std::uint32_t> columns, Buffer<T>& buffer) {
  assert(n <= kBlock && columns.size <= kGroup);
  if (std::abs(X.row_stride) > std::abs(X.column_stride)) {
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t row = rows[first + i];
      for (std::size_t k = 0; k < columns.size; ++k) buffer.data[k * kStride + i] = X.at(row, columns[k]);
    }
  } else {
    const bool as_it_is = rows.list == nullptr && X.row_stride == 1;
    for (std::size_t k = 0; k < columns.size; ++k) {
      T* out = buffer.column(k);
      const T* column = X.data + static_cast<std::ptrdiff_t>(columns[k]) * X.column_stride;
      if (as_it_is)
        std::copy_n(column + first, n, out);
      else
        for (std::size_t i = 0; i < n; ++i) out[i] = X.at(rows[first + i], columns[k]);
    }
  }
}

}  // namespace tada::table
