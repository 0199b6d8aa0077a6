// SPDX-License-Identifier: Apache-2.0
// What a round is computed from: sums over the rows of each (leaf, class), and the few numbers that follow
// from them. The driver's side: no rows here.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tada {

// Of a (leaf, class), in units of one example. Class 0 is positive; index 2 * leaf + class in a table.
struct LeafSums {
  double weight;        // sum w e
  double multiplicity;  // sum w
  double off;           // of it, rows whose weight is off
  double least, most;   // log weights of the rows that are on; inf and -inf where there are none
};
using LeafTable = std::vector<LeafSums>;

// The edge of a tree with these leaf values, u = y value.
struct EdgeSums {
  double largest_ratio;          // A = max |u| / e^(1-t) over rows that are on
  double edge;                   // sum w e u
  double off_edge, off_largest;  // over rows that are off: sum w u, max |u|
  double off;                    // sum w of them
};
EdgeSums edge_sums(const LeafTable& table, const double* value, double s);

// The largest log weight after a step by c = alpha y value: a weight grows with what it was. Tight, because
// sums are rounded relative to it.
double most_after(const LeafSums& sums, double c, double s);

// No multiplicity of a row of a (leaf, class) is larger: where multiplicities differ by decades, and light
// rows weigh most, the largest of all would leave few bits for them. Counts, which `multiplicity` is a sum
// of, are rounded, by half of one at most.
inline double most_multiplicity_of(double multiplicity, double most_of_all) {
  return std::min(most_of_all, 2.0 * multiplicity);
}

}  // namespace tada
