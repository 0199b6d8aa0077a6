// SPDX-License-Identifier: Apache-2.0
// Checks that the bindings of shards share.
#pragma once

#include "border.hpp"
#include "shard.hpp"

namespace tada {

inline void check_node(const Shard& shard, std::int64_t node, const char* message) {
  require(node >= 0 && static_cast<std::size_t>(node) < shard.n_nodes(), message);
}

inline View<const std::int32_t> checked_leaves(const Shard& shard,
                                               const Array<const std::int32_t, 1>& leaves) {
  for (std::size_t i = 0; i < leaves.size(); ++i)
    check_node(shard, leaves.data()[i], "leaves: no such node in this shard");
  return view(leaves);
}

}  // namespace tada
