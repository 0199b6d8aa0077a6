// SPDX-License-Identifier: Apache-2.0
// Which columns a node may ask about: those of the groups that its path keeps to, and of these the drawn
// ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tada {

using Columns = std::vector<std::uint32_t>;  // increasing

class ColumnRules {
 public:
  // A node may ask about the columns of every group that holds all columns asked about above it. None: no
  // rule.
  void set_groups(std::vector<Columns> groups) { groups_ = std::move(groups); }
  // The share of a node's columns that is drawn (one at least), by (key, node, column) alone. 1: no rule.
  void set_draw(double share, std::uint64_t key) { share_ = share, key_ = key; }

  // Numbers of groups: of those a root keeps to, and of those still kept to below a split.
  std::vector<std::uint32_t> at_root() const;
  std::vector<std::uint32_t> below(const std::vector<std::uint32_t>& kept, std::size_t column) const;

  // An entry a column; empty where all are allowed.
  std::vector<std::uint8_t> allowed(std::size_t node, const std::vector<std::uint32_t>& kept,
                                    std::size_t n_columns) const;

 private:
  std::vector<Columns> groups_;
  double share_ = 1.0;
  std::uint64_t key_ = 0;
};

}  // namespace tada
