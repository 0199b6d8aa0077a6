// SPDX-License-Identifier: Apache-2.0
// Grows one tree from histograms: which leaf is split next and how. It never sees rows; the conversation is
//
//   begin(root histogram); while (next(request)) { every shard applies request.split;
//                                                 if (request.build >= 0) supply(histogram of that node); }
//
// Histograms are sums over all shards; the larger sibling's is the parent's minus the smaller one's, exactly.
#pragma once

#include <cstdint>
#include <vector>

#include "column_rules.hpp"
#include "split.hpp"

namespace tada {

struct Policy {
  std::size_t max_leaves = 8;  // 0: no limit
  std::size_t max_depth = 0;   // 0: no limit
  bool heaviest = false;       // split the leaf of most mass; else the one whose split lowers the risk most
  double min_leaf_mass = 0.0;  // share of the root's mass
  Limits limits;               // min_mass is set from min_leaf_mass when a tree begins
};

struct Request {
  std::int32_t node = 0, left = 0, right = 0;
  Split split;
  std::vector<std::uint8_t> goes_left;  // one entry a code of the column
  std::int32_t build = -1;              // the child whose histogram is wanted, -1: none
};

struct GrownNode {
  std::int32_t left = -1, right = -1;  // -1: a leaf
  std::uint32_t depth = 0;
  Split split;
  Cell positive, negative;
  double gain = 0.0;                // fall of the risk over the root's mass
  Bounds bounds;                    // under monotone constraints
  std::vector<std::uint32_t> kept;  // numbers of the groups of columns that its path keeps to
};

class Grower {
 public:
  Grower(Layout layout, Policy policy)
      : layout_(std::move(layout)), policy_(policy), estimate_(policy.limits.s) {}

  // Rules for the trees to come: a column's direction (see NodeRules), and columns a node may ask about.
  void set_direction(std::vector<std::int8_t> direction) { direction_ = std::move(direction); }
  void set_groups(std::vector<Columns> groups);  // ends a tree under way, whose nodes keep to others
  void set_draw(double share, std::uint64_t key) { column_rules_.set_draw(share, key); }

  void begin(Histogram root, Pool& pool);
  bool next(Request& request);
  void supply(Histogram built, Pool& pool);

  const Layout& layout() const { return layout_; }
  const std::vector<GrownNode>& nodes() const { return nodes_; }
  std::vector<std::int32_t> leaves() const;
  std::int32_t awaited() const { return built_; }  // the node whose histogram `supply` has to bring, -1: none
  Histogram spare(bool packed);  // room for a histogram, reused from a node that needs it no more

 private:
  struct Leaf {
    std::int32_t node;
    double risk;
    Split split;  // loss infinite: cannot be split
    Histogram histogram;
  };

  double risk_of(const GrownNode& node) const;
  bool may_split(const GrownNode& node) const;
  void hand_down(const GrownNode& node, GrownNode* child) const;
  void add_leaves(std::vector<Leaf> leaves, bool subtract, Pool& pool);
  std::size_t choose() const;

  Layout layout_;
  Policy policy_;
  RiskEstimate estimate_;
  Limits limits_;
  std::vector<std::int8_t> direction_;
  ColumnRules column_rules_;
  double root_mass_ = 0.0;
  std::size_t n_leaves_ = 0;
  std::vector<GrownNode> nodes_;
  std::vector<Leaf> open_;  // leaves that can be split
  std::vector<Histogram> spare_;
  Histogram parent_;                      // of the split under way
  std::int32_t built_ = -1, other_ = -1;  // children whose histograms are under way: supplied, subtracted
};

}  // namespace tada
