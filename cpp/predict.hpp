// SPDX-License-Identifier: Apache-2.0
// Trees on raw values: a forest is the flat concatenation of its trees, in a layout made for walking.
#pragma once

#include <cstdint>
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

class Forest {
 public:
  // Checks every entry, because the arrays may come from a file: throws std::invalid_argument whose text
  // starts with the array's name. Copies what it needs.
  Forest(std::size_t n_columns, const ForestArrays& arrays);

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

  void check_sizes(const ForestArrays& arrays) const;
  void check_tree(const ForestArrays& arrays, std::size_t begin, std::size_t end) const;
  void add_tree(const ForestArrays& arrays, std::size_t begin, std::size_t end);
  void add_levels(const ForestArrays& arrays, std::size_t node);

  bool goes_right(const LevelSet& set, double x, bool missing_left) const;
  template <std::size_t kTogether, bool kLevels>
  void walk_lanes(std::uint32_t root, const double* rows, std::uint32_t* leaf) const;
  void walk(const Root& root, const double* rows, std::size_t n, std::uint32_t* leaf) const;

  // Calls f(first, n, row-major values of the used columns) for blocks of rows.
  template <class T, class F>
  void for_blocks(const Matrix<T>& X, Pool& pool, F&& f) const;

  std::size_t n_columns_;
  std::vector<std::uint32_t> columns_;  // those that some node asks for
  std::vector<Root> roots_;
  std::vector<Node> nodes_;
  std::vector<double> values_;          // with nodes_
  std::vector<std::int32_t> original_;  // with nodes_: the number inside the tree's own arrays
  std::vector<LevelSet> sets_;
  std::vector<std::uint64_t> words_;
  std::vector<std::int32_t> levels_;
};

}  // namespace tada
