// SPDX-License-Identifier: Apache-2.0
// Memory for tables with an entry a row: it begins a cache line, so that the codes of a row share one, and
// tables of many rows ask for large pages, since a leaf's rows are few among many.
#pragma once

#include <cstddef>
#include <limits>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace tada {

template <class T>
struct RowAllocator {
  using value_type = T;
  RowAllocator() = default;
  template <class U>
  RowAllocator(const RowAllocator<U>&) {}  // NOLINT: containers convert allocators

  T* allocate(std::size_t n) {
    if (n > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_array_new_length();
    void* p = ::operator new(n * sizeof(T), alignment(n));
#if defined(MADV_HUGEPAGE)
    if (is_large(n)) madvise(p, n * sizeof(T), MADV_HUGEPAGE);  // advice: what comes of it does not matter
#endif
    return static_cast<T*>(p);
  }
  void deallocate(T* p, std::size_t n) noexcept { ::operator delete(p, alignment(n)); }

  friend bool operator==(const RowAllocator&, const RowAllocator&) { return true; }
  friend bool operator!=(const RowAllocator&, const RowAllocator&) { return false; }

 private:
  static constexpr std::size_t kLine = 64, kLargePage = std::size_t{1} << 21;
  static bool is_large(std::size_t n) { return n * sizeof(T) >= 2 * kLargePage; }
  static std::align_val_t alignment(std::size_t n) {
    return static_cast<std::align_val_t>(is_large(n) ? kLargePage : kLine);
  }
};

template <class T>
using RowVector = std::vector<T, RowAllocator<T>>;

}  // namespace tada
