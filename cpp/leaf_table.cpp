// SPDX-License-Identifier: Apache-2.0
#include "leaf_table.hpp"

#include <algorithm>
#include <cmath>

#include "blocks.hpp"

namespace tada {

EdgeSums edge_sums(const LeafTable& table, const double* value, double s) {
  EdgeSums out{0.0, 0.0, 0.0, 0.0, 0.0};
  for (std::size_t i = 0; i < table.size(); ++i) {
    const LeafSums& x = table[i];
    const double u = i % 2 == 0 ? value[i / 2] : -value[i / 2], size = std::fabs(u);
    if (x.most > -INFINITY)
      out.largest_ratio = std::max(out.largest_ratio, size * fast::exp(-s * (s > 0.0 ? x.least : x.most)));
    if (x.weight > 0.0) out.edge += x.weight * u;
    if (x.off > 0.0) {
      out.off += x.off;
      out.off_edge += x.off * u;
      out.off_largest = std::max(out.off_largest, size);
    }
  }
  return out;
}

double most_after(const LeafSums& sums, double c, double s) {
  return sums.multiplicity > 0.0 ? std::min(stepped(sums.most, c, s), log_weight_cap(s)) : -INFINITY;
}

}  // namespace tada
