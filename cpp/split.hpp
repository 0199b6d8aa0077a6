// SPDX-License-Identifier: Apache-2.0
// The best split of a node from its histogram: least 2 M_{t-1}(a, b) summed over the two children, the
// tempered Bayes risk (20) times the node's mass in its homogeneous form (no division by the mass).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "histogram.hpp"
#include "pool.hpp"
#include "risk.hpp"

namespace tada {

constexpr double kTie = 1e-12;  // losses this close (relative) count as equal

// What every split must satisfy. Counts and masses in the units of the cells.
struct Limits {
  double s = 0.5;               // 1 - t
  std::uint64_t min_count = 0;  // multiplicity of a child
  double min_mass = 0.0;        // mass of a child, both classes
  bool pure_allowed = true;     // false: both children need mass of both classes
  double smoothing = 0.0;       // count of rows by which each level of a category is taken towards its node
};

// Under monotone constraints: the least and largest share of positive mass, a / (a + b), that a node may
// predict. Nodes beyond predict the bound.
struct Bounds {
  double low = 0.0, high = 1.0;
  bool open() const { return low <= 0.0 && high >= 1.0; }
  double share(double a, double b) const { return std::min(high, std::max(low, a / (a + b))); }
};

// The risk of a node with bounds: the expected partial losses (19) of what it predicts, in the homogeneous
// form. Within the bounds that is 2 M_{t-1}(a, b), beyond them its tangent at the bound.
class BoundedRisk {
 public:
  BoundedRisk(const Bounds& bounds, double s);
  double operator()(double a, double b) const;

 private:
  Bounds bounds_;
  double s_;
  double at_low_[2] = {0.0, 0.0}, at_high_[2] = {0.0, 0.0};  // partial losses of the classes
};

// What holds for the splits of one node beyond the Limits of its tree.
struct NodeRules {
  std::vector<std::uint8_t> allowed;  // an entry a column; empty: every column
  // 1: the share of positive mass may not be larger on the left, -1: not larger on the right. Empty: no
  // monotone constraints, hence no bounds.
  const std::vector<std::int8_t>& direction;
  Bounds bounds;
};

struct Split {
  double loss = 0.0;  // by which it was chosen; infinite: there is no admissible split
  double risk = 0.0;  // of the two children: the loss without smoothing
  std::size_t column = 0;
  bool missing_left = true;
  // Numeric: codes <= this go left (codes of values; missing by missing_left). Categorical: the codes that go
  // right.
  std::size_t last_left = 0;
  std::vector<std::uint32_t> right_codes;
  Cell left_positive, left_negative;
};

struct NodeToSplit {
  const Histogram& histogram;
  Cell positive, negative;
  NodeRules rules;
};

// A histogram as its shard gave it, and that of the other child, which still holds what both have together;
// nullptr where there is none.
struct Fresh {
  Histogram* built;
  Histogram* other;
};

// The best split of each node; its loss is infinite where there is none. Ties go to the lowest column, then
// the lowest threshold (missing left first), or the lowest mask of categories. First, a few columns at a
// time, cells of numbers become running sums, and the difference of the other child is taken.
std::vector<Split> best_splits(const Layout& layout, const std::vector<NodeToSplit>& nodes,
                               const Limits& limits, const RiskEstimate& estimate, Pool& pool,
                               const Fresh& fresh);

// Which codes of the split's column go left, missing included: one entry a code.
std::vector<std::uint8_t> goes_left(const Layout& layout, const Split& split);

}  // namespace tada
