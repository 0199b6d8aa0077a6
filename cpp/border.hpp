// SPDX-License-Identifier: Apache-2.0
// What the binding files share: array types and the check that becomes a ValueError.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <utility>
#include <vector>

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

template <class T>
nb::object to_numpy(std::vector<T> values, std::vector<std::size_t> shape) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T>(owned->data(), shape.size(), shape.data(), owner));
}

template <class T>
nb::object to_numpy(std::vector<T> values) {
  const std::size_t n = values.size();
  return to_numpy(std::move(values), {n});
}

template <class T>
View<const T> const_view(const std::vector<T>& values) {
  return {values.data(), values.size()};
}

}  // namespace tada
