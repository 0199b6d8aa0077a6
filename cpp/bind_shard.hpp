// SPDX-License-Identifier: Apache-2.0
// Checks that the bindings of shards share.
#pragma once

#include <algorithm>
#include <cmath>

#include "border.hpp"
#include "shard.hpp"

namespace tada {

inline void check_node(const Shard& shard, std::int64_t node, const char* message) {
  require(node >= 0 && static_cast<std::size_t>(node) < shard.n_nodes(), message);
}

// Each row is in one leaf at most: threads write to the rows of different leaves at once.
inline View<const std::int32_t> checked_leaves(const Shard& shard,
                                               const Array<const std::int32_t, 1>& leaves) {
  const auto ids = view(leaves);
  for (std::size_t i = 0; i < ids.size; ++i) {
    check_node(shard, ids[i], "leaves: no such node in this shard");
    require(!shard.node(ids[i]).inner, "leaves: a node that was split is none");
    require(i == 0 || ids[i - 1] < ids[i], "leaves: must be increasing");
  }
  return ids;
}

// Leaves whose states leaf_extremes has put in order, and nothing has overwritten since.
inline View<const std::int32_t> gathered_leaves(const Shard& shard,
                                                const Array<const std::int32_t, 1>& leaves) {
  const auto ids = checked_leaves(shard, leaves);
  for (auto id : ids) require(shard.gathered(id), "leaves: call leaf_extremes of them first");
  return ids;
}

inline View<const std::int32_t> all_leaves(const Shard& shard, const Array<const std::int32_t, 1>& leaves) {
  const auto ids = checked_leaves(shard, leaves);
  std::size_t n_rows = 0;
  for (auto id : ids) n_rows += shard.node(id).size(0) + shard.node(id).size(1);
  require(n_rows == shard.n_rows(), "leaves: a step needs all leaves of the tree");
  return ids;
}

inline View<const double> checked_values(const Array<const double, 1>& value, std::size_t n_leaves,
                                         double times = 1.0) {
  require(value.size() == n_leaves, "value: must be as long as leaves");
  for (auto v : view(value)) require(std::isfinite(times * v), "value: must be finite, times alpha too");
  return view(value);
}

inline void check_solver(double cap, double most_multiplicity) {
  require(cap > 0.0, "cap: must be positive");
  require(most_multiplicity > 0.0 && std::isfinite(most_multiplicity),
          "most_multiplicity: must be finite and positive");
}

}  // namespace tada
