// SPDX-License-Identifier: Apache-2.0
// Trees on raw values: a forest is the flat concatenation of its trees, in a layout made for walking.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "pool.hpp"
#include "types.hpp"

namespace tada {

// The arrays of tree.Tree for all trees, one after the other. Children are numbered inside their tree.
struct ForestArrays {
  View<const std::int64_t> tree_start;  // n_trees + 1
  View<const std::int32_t> feature;     // from here on an entry a node ; -1: a leaf
  View<const double> threshold;
  View<const std::int32_t> left, right;
  View<const double> value;
  View<const bool> missing_left, is_categorical;
  View<const std::int32_t> categories;      // sorted levels that go right
  View<const std::int64_t> category_start;  // n_nodes + 1
};

class LeafBits;

class Forest {
 public:
  // Checks every entry, because the arrays may come from a file: throws std::invalid_argument whose text
  // starts with the array's name. Copies what it needs.
  Forest(std::size_t n_columns, const ForestArrays& arrays);
  ~Forest();

  std::size_t n_columns() const { return n_columns_; }
  std::size_t n_trees() const { return roots_.size(); }

  // score[row] = sum over trees, in their order, of alpha[tree] * value of the row's leaf, after each tree
  // brought back into [-clip, clip]. These three trust the sizes of X, alpha and out and never throw after
  // std::bad_alloc for their scratch memory.
  template <class T>
  void decision(const Matrix<T>& X, View<const double> alpha, double clip, View<double> out,
                Pool& pool) const;

  // out[tree * rows + row]: the score after each tree.
  template <class T>
  void staged(const Matrix<T>& X, View<const double> alpha, double clip, View<double> out, Pool& pool) const;

  // out[row * trees + tree]: the row's leaf, as the tree's arrays number it.
  template <class T>
  void apply(const Matrix<T>& X, View<std::int32_t> out, Pool& pool) const;

 private:
  friend class LeafBits;  // the same nodes in another form

  static constexpr std::uint32_t kMissingLeft = 1u << 31, kCategorical = 1u << 30, kField = kCategorical - 1;

  // 16 bytes, siblings side by side, so a step is: load, compare, add 0 or 1. A leaf is its own child: its
  // threshold is infinite and its missing go left, so rows that have arrived stay while others still walk.
  struct Node {
    double threshold;     // numeric ; of a categorical node: the position in sets_
    std::uint32_t left;   // the right child is left + 1
    std::uint32_t field;  // position of the feature in columns_, and two flags
  };
  struct LevelSet {
    std::size_t first, n_words;  // a bitset in words_, or, if that would be mostly empty,
    std::size_t begin, end;      // a sorted run in levels_ (n_words == 0)
  };
  struct Root {
    std::uint32_t node;
    bool categorical;  // some node is: the slower walk
  };

  static bool is_leaf(const Node& node) { return node.threshold == std::numeric_limits<double>::infinity(); }
  static bool is_categorical(const Node& node) { return (node.field & kCategorical) != 0; }
  static bool missing_left(const Node& node) { return (node.field & kMissingLeft) != 0; }
  static std::size_t column_of(const Node& node) { return node.field & kField; }

  void check_sizes(const ForestArrays& arrays) const;
  void check_tree(const ForestArrays& arrays, std::size_t begin, std::size_t end) const;
  void add_tree(const ForestArrays& arrays, std::size_t begin, std::size_t end);
  void add_levels(const ForestArrays& arrays, std::size_t node);

  void append_levels(const Node& node, std::vector<std::int32_t>& levels) const;  // those that go right

  bool goes_right(const LevelSet& set, double x, bool missing_left) const;
  template <std::size_t kWalks, bool kLevels>
  void walk_lanes(const std::uint32_t* root, const double* rows, std::size_t stride,
                  std::uint32_t* leaf) const;
  void walk(const Root& root, const double* rows, std::size_t n, std::uint32_t* leaf) const;
  double walked_score(const double* row, View<const double> alpha, double clip) const;

  // Rows first .. first + n - 1 in the forms that the trees of this call want them in.
  struct Block {
    std::size_t first, n;
    const LeafBits* bits;       // null: all trees are walked
    const double* values;       // row-major, of the used columns ; null: none is
    const std::uint8_t* codes;  // of LeafBits
  };

  // Calls f(block) for all rows of X.
  template <class T, class F>
  void for_blocks(const Matrix<T>& X, Pool& pool, F&& f) const;

  // leaf[i] of row first + i, as a node.
  void find_leaves(const Block& block, std::size_t tree, std::uint32_t* leaf) const;

  struct Terms;
  Terms terms(View<const double> alpha, double clip) const;
  void add_together(const Block& block, const Terms& terms, std::size_t first, double* score) const;

  // The form for many rows, made when it is first wanted: a single row should not wait for it.
  const LeafBits& leaf_bits() const;

  std::size_t n_columns_;
  std::vector<std::uint32_t> columns_;  // those that some node asks for
  std::vector<Root> roots_;
  std::vector<Node> nodes_;
  std::vector<double> values_;          // with nodes_
  std::vector<std::int32_t> original_;  // with nodes_: the number inside the tree's own arrays
  std::vector<LevelSet> sets_;
  std::vector<std::uint64_t> words_;
  std::vector<std::int32_t> levels_;
  mutable std::mutex making_bits_;
  mutable std::unique_ptr<const LeafBits> bits_;
};

}  // namespace tada
