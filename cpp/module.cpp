// SPDX-License-Identifier: Apache-2.0
// The border: every size, dtype and index is checked in the bind_ files, then plain memory goes to the
// kernels.
#include "border.hpp"

namespace tada {
void bind_core(nb::module_& m);    // Shard, Grower
void bind_leaves(nb::module_& m);  // the driver's arithmetic on sums by leaf
void bind_data(nb::module_& m);    // bins, codes, Forest
}  // namespace tada

NB_MODULE(_core, m) {
  m.doc() = "Loops over arrays; the Python modules say what they mean.";
  // Python may end with models alive; that is no fault to print a report about.
  nanobind::set_leak_warnings(false);
#ifdef NDEBUG
  m.attr("debug") = false;
#else
  m.attr("debug") = true;
#endif
  tada::bind_core(m);
  tada::bind_leaves(m);
  tada::bind_data(m);
}
