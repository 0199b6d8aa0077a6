// SPDX-License-Identifier: Apache-2.0
// The border: every size, dtype and index is checked here, then plain memory goes to the kernels.
#include "border.hpp"

namespace tada {
void bind_data(nb::module_& m);
}

NB_MODULE(_core, m) {
  m.doc() = "Loops over arrays; the Python modules say what they mean.";
#ifdef NDEBUG
  m.attr("debug") = false;
#else
  m.attr("debug") = true;
#endif
  tada::bind_data(m);
}
