// SPDX-License-Identifier: Apache-2.0
// Trees as tests of whole columns, after QuickScorer (Lucchese et al., SIGIR 2015): fast for many rows.
//
// All leaves of a tree, numbered from left to right, are open to a row at first. An inner node that sends the
// row right closes those of its left side; when every node has spoken, in any order, the lowest open leaf is
// the row's. A block of rows keeps its open leaves as bits, and its values as bytes: how many of the column's
// thresholds, in the whole forest, lie below. So a node is a loop over bytes without a branch.
#pragma once

#include <cstdint>
#include <vector>

#include "predict.hpp"
#include "types.hpp"

namespace tada {

class LeafBits {
 public:
  static constexpr std::size_t kRows = 256;  // the most rows in a block

  explicit LeafBits(const Forest& forest);

  // Whether the tree is held: not if it has more than 64 leaves, or asks for a column of very many levels.
  bool holds(std::size_t tree) const { return trees_[tree].n_bytes > 0; }
  bool holds_all() const { return holds_all_; }

  // The leaves of a tree from left to right, as nodes of the forest; the first is leaf number first_leaf.
  std::size_t first_leaf(std::size_t tree) const { return trees_[tree].first_leaf; }
  std::size_t n_leaves(std::size_t tree) const { return trees_[tree].n_leaves; }  // 0 if it is not held
  const std::vector<std::uint32_t>& leaf_nodes() const { return leaf_nodes_; }

  // Bytes that hold the codes of a block.
  std::size_t n_code_bytes() const { return n_planes_ * kRows; }

  // Encodes rows first .. first + n - 1, at most kRows.
  template <class T>
  void encode(const Matrix<T>& X, std::size_t first, std::size_t n, std::uint8_t* codes) const;

  // leaf[i], from 0 in each tree, of n encoded rows; has room for kRows.
  void find(std::size_t tree, const std::uint8_t* codes, std::size_t n, std::uint8_t* leaf) const;

  // Of eight leaves, rows with codes up to `most` keep only `low`, others `high`.
  struct Test {
    std::uint32_t plane;
    std::uint8_t most, low, high;
  };
  // Rows with code c keep those of entry first + c.
  struct LevelTest {
    std::uint32_t plane;
    std::size_t first;
  };
  struct Byte {
    std::size_t n_tests, n_level_tests;
  };

 private:
  struct Tree {
    std::size_t first_leaf, n_leaves, first_byte, n_bytes, first_test, first_level_test;
  };
  // At most 254 thresholds of a column. A missing value has code 255 in one plane, for nodes that send it
  // right, and 0 in another, for those that send it left.
  struct Slice {
    std::uint32_t column;
    std::size_t first, n_steps;  // in thresholds_: 2^n_steps - 1, as a heap, the last ones infinite
    std::size_t plane[2];
  };
  // A column of levels: code 0 is missing, 1 a level that no node names, the others are those that some does.
  struct Levels {
    std::uint32_t column;
    std::size_t first, n;  // in level_codes_: the codes of levels 0 .. n - 1
    std::size_t plane;
  };
  struct Maker;

  void encode_levels(const Levels& levels, const double* x, std::size_t n, std::uint8_t* code) const;

  std::vector<Tree> trees_;
  bool holds_all_ = true;
  std::vector<std::uint32_t> leaf_nodes_;
  std::vector<Byte> bytes_;
  std::vector<Test> tests_;
  std::vector<LevelTest> level_tests_;
  std::vector<std::uint8_t> level_keeps_;
  std::vector<Slice> slices_;
  std::vector<double> thresholds_;
  std::vector<Levels> levels_;
  std::vector<std::uint8_t> level_codes_;
  std::size_t n_planes_ = 0;
};

}  // namespace tada
