// SPDX-License-Identifier: Apache-2.0
// The types that every kernel shares, with the reason for each.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>

namespace tada {

// The one place where an index meets memory, so the one place that checks it: in debug and sanitizer builds.
template <class T>
struct View {
  T* data = nullptr;
  std::size_t size = 0;
  T& operator[](std::size_t i) const { return assert(i < size), data[i]; }
  T* begin() const { return data; }
  T* end() const { return data + size; }
};

// A table of values as it came in: any strides (in elements), never copied.
template <class T>
struct Matrix {
  const T* data = nullptr;
  std::size_t n_rows = 0, n_columns = 0;
  std::ptrdiff_t row_stride = 0, column_stride = 0;
  T at(std::size_t row, std::size_t column) const {
    assert(row < n_rows && column < n_columns);
    return data[static_cast<std::ptrdiff_t>(row) * row_stride +
                static_cast<std::ptrdiff_t>(column) * column_stride];
  }
};

}  // namespace tada
