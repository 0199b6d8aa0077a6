// SPDX-License-Identifier: Apache-2.0
#include "grower.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tada {

void Grower::begin(Histogram root, Pool& pool) {
  nodes_.clear();
  for (auto& leaf : open_) spare_.push_back(std::move(leaf.histogram));
  open_.clear();
  built_ = other_ = -1;
  GrownNode node;
  // Any column's codes hold every row once.
  for (std::size_t i = 0; i < layout_.n_codes(0); ++i) {
    node.positive += root[i];
    node.negative += root[layout_.size() + i];
  }
  root_mass_ = static_cast<double>(node.positive.weight + node.negative.weight);
  limits_ = policy_.limits;
  limits_.min_mass = policy_.min_leaf_mass * root_mass_;
  n_leaves_ = 1;
  node.kept = column_rules_.at_root();
  nodes_.push_back(node);
  std::vector<Leaf> leaves;
  leaves.push_back({0, 0.0, {}, std::move(root)});
  add_leaves(std::move(leaves), false, pool);
}

void Grower::set_groups(std::vector<Columns> groups) {
  column_rules_.set_groups(std::move(groups));
  open_.clear();
  built_ = other_ = -1;
}

Histogram Grower::spare(bool packed) {
  Histogram h;
  if (!spare_.empty()) {
    h = std::move(spare_.back());
    spare_.pop_back();
  }
  h.shape(2 * layout_.size(), packed);
  return h;
}

double Grower::risk_of(const GrownNode& node) const {
  const BoundedRisk risk(node.bounds, limits_.s);
  return risk(static_cast<double>(node.positive.weight), static_cast<double>(node.negative.weight));
}

// A node of one class has nothing to gain; one too small or too deep has no admissible split.
bool Grower::may_split(const GrownNode& node) const {
  return node.positive.weight > 0 && node.negative.weight > 0 &&
         node.positive.count + node.negative.count >= 2 * limits_.min_count &&
         (policy_.max_depth == 0 || node.depth < policy_.max_depth);
}

// What the rules say of the children: midway between what they predict lies the bound of all below them.
void Grower::hand_down(const GrownNode& node, GrownNode* child) const {
  const std::size_t column = node.split.column;
  child[0].kept = child[1].kept = column_rules_.below(node.kept, column);
  child[0].bounds = child[1].bounds = node.bounds;
  const int direction = direction_.empty() ? 0 : direction_[column];
  if (direction == 0) return;
  auto share = [&](const GrownNode& of) {
    return node.bounds.share(static_cast<double>(of.positive.weight),
                             static_cast<double>(of.negative.weight));
  };
  const double middle = (share(child[0]) + share(child[1])) / 2.0;
  child[direction > 0 ? 0 : 1].bounds.high = middle;
  child[direction > 0 ? 1 : 0].bounds.low = middle;
}

// Finds the best split of each; subtract: the histogram of the second is still to be taken from that of the
// first.
void Grower::add_leaves(std::vector<Leaf> leaves, bool subtract, Pool& pool) {
  std::vector<NodeToSplit> nodes;
  std::vector<Leaf*> searched;
  for (Leaf& leaf : leaves) {
    const GrownNode& grown = nodes_[static_cast<std::size_t>(leaf.node)];
    leaf.risk = risk_of(grown);
    leaf.split.loss = INFINITY;
    if (!may_split(grown)) continue;
    nodes.push_back(
        {leaf.histogram,
         grown.positive,
         grown.negative,
         {column_rules_.allowed(static_cast<std::size_t>(leaf.node), grown.kept, layout_.n_columns()),
          direction_, grown.bounds}});
    searched.push_back(&leaf);
  }
  const Fresh fresh{&leaves.back().histogram, subtract ? &leaves[0].histogram : nullptr};
  std::vector<Split> splits = best_splits(layout_, nodes, limits_, estimate_, pool, fresh);
  for (std::size_t i = 0; i < splits.size(); ++i) searched[i]->split = std::move(splits[i]);
  for (Leaf& leaf : leaves) {
    // Best growth wants a real fall of the risk; the paper's policy accepts a split that leaves it as it is.
    const double noise = kTie * leaf.risk, gain = leaf.risk - leaf.split.loss;
    if (policy_.heaviest ? gain >= -noise : gain > noise)
      open_.push_back(std::move(leaf));
    else
      spare_.push_back(std::move(leaf.histogram));
  }
}

// Ties (within kTie, relative) go to the smallest node id.
std::size_t Grower::choose() const {
  auto merit = [&](const Leaf& leaf) {
    const GrownNode& node = nodes_[static_cast<std::size_t>(leaf.node)];
    return policy_.heaviest ? static_cast<double>(node.positive.weight + node.negative.weight)
                            : leaf.risk - leaf.split.loss;
  };
  double most = 0.0;
  for (const Leaf& leaf : open_) most = std::max(most, merit(leaf));
  std::size_t chosen = open_.size();
  for (std::size_t i = 0; i < open_.size(); ++i)
    if (merit(open_[i]) >= most * (1.0 - kTie) &&
        (chosen == open_.size() || open_[i].node < open_[chosen].node))
      chosen = i;
  return chosen;
}

bool Grower::next(Request& request) {
  built_ = other_ = -1;
  if (open_.empty() || (policy_.max_leaves != 0 && n_leaves_ >= policy_.max_leaves)) return false;
  const std::size_t i = choose();
  Leaf leaf = std::move(open_[i]);
  open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(i));
  ++n_leaves_;

  const auto left = static_cast<std::int32_t>(nodes_.size());
  GrownNode child[2];
  {
    GrownNode& node = nodes_[static_cast<std::size_t>(leaf.node)];
    node.left = left;
    node.right = left + 1;
    node.gain = std::max(0.0, leaf.risk - leaf.split.risk) / root_mass_;
    child[0].positive = leaf.split.left_positive;
    child[0].negative = leaf.split.left_negative;
    child[1].positive = node.positive;
    child[1].negative = node.negative;
    child[1].positive -= child[0].positive;
    child[1].negative -= child[0].negative;
    child[0].depth = child[1].depth = node.depth + 1;
    node.split = leaf.split;
    hand_down(node, child);
  }
  nodes_.insert(nodes_.end(), child, child + 2);

  request.node = leaf.node;
  request.left = left;
  request.right = left + 1;
  request.goes_left = goes_left(layout_, leaf.split);
  request.split = std::move(leaf.split);
  request.build = -1;
  const bool last = policy_.max_leaves != 0 && n_leaves_ >= policy_.max_leaves;
  const bool wanted[2] = {!last && may_split(child[0]), !last && may_split(child[1])};
  if (wanted[0] || wanted[1]) {
    const std::size_t smaller =
        child[1].positive.count + child[1].negative.count < child[0].positive.count + child[0].negative.count;
    request.build = built_ = left + static_cast<std::int32_t>(smaller);
    if (wanted[1 - smaller]) other_ = left + 1 - static_cast<std::int32_t>(smaller);
    parent_ = std::move(leaf.histogram);
  } else {
    spare_.push_back(std::move(leaf.histogram));
  }
  return true;
}

void Grower::supply(Histogram built, Pool& pool) {
  const std::int32_t small = built_, large = other_;
  built_ = other_ = -1;
  std::vector<Leaf> leaves;
  if (large >= 0)
    leaves.push_back({large, 0.0, {}, std::move(parent_)});
  else
    spare_.push_back(std::move(parent_));
  leaves.push_back({small, 0.0, {}, std::move(built)});
  add_leaves(std::move(leaves), large >= 0, pool);
}

std::vector<std::int32_t> Grower::leaves() const {
  std::vector<std::int32_t> ids;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (nodes_[i].left < 0) ids.push_back(static_cast<std::int32_t>(i));
  return ids;
}

}  // namespace tada
