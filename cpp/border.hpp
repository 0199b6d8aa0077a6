// SPDX-License-Identifier: Apache-2.0
// What the binding files share: array types and the check that becomes a ValueError.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "types.hpp"

namespace tada {

namespace nb = nanobind;

template <class T, std::size_t D>
using Array = nb::ndarray<T, nb::ndim<D>, nb::c_contig, nb::device::cpu>;

inline void require(bool condition, const char* message) {
  if (!condition) throw nb::value_error(message);
}

template <class T>
View<T> view(const Array<T, 1>& array) {
  return {array.data(), array.shape(0)};
}

}  // namespace tada
