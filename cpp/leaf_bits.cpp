// SPDX-License-Identifier: Apache-2.0
#include "leaf_bits.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "clones.hpp"
#include "fastmath.hpp"

namespace tada {
namespace {

constexpr std::size_t kMostLeaves = 64;
constexpr std::size_t kMostThresholds = 254;  // of a slice
constexpr std::uint8_t kMissingRight = 255, kMissingLeft = 0;
constexpr std::uint8_t kMissingLevel = 0, kOtherLevel = 1, kFirstNamed = 2;
constexpr std::size_t kMostNamed = 254;     // levels of a column
constexpr std::int32_t kMostLevels = 4096;  // their codes are looked up
constexpr std::size_t kNone = static_cast<std::size_t>(-1);
constexpr std::size_t kVector =
    32;  // rows are taken this many at a time, the last ones with others that are idle

template <class T>
void keep_once(std::vector<T>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

std::size_t rounded_up(std::size_t n) { return (n + kVector - 1) / kVector * kVector; }

// code[i] = how many of the 2^n_steps - 1 sorted thresholds are below x[i], by halving without branches.
TADA_CLONES
void search_block(const double* thresholds, std::size_t n_steps, const double* x, std::size_t n,
                  std::uint8_t missing, std::uint8_t* code) {
  constexpr std::size_t kLanes = 8;  // searches side by side: one alone waits for its own loads
  for (std::size_t first = 0; first < n; first += kLanes) {
    std::uint32_t below[kLanes] = {};
    for (std::uint32_t half = n_steps == 0 ? 0 : 1u << (n_steps - 1); half > 0; half /= 2)
      for (std::size_t k = 0; k < kLanes; ++k)
        below[k] += thresholds[below[k] + half - 1] < x[first + k] ? half : 0;
    for (std::size_t k = 0; k < kLanes; ++k)
      code[first + k] = x[first + k] != x[first + k] ? missing : static_cast<std::uint8_t>(below[k]);
  }
}

// The same codes, with missing on the other side.
TADA_CLONES
void move_missing(const std::uint8_t* code, std::size_t n, std::uint8_t* moved) {
  for (std::size_t i = 0; i < n; ++i) moved[i] = code[i] == kMissingRight ? kMissingLeft : code[i];
}

// The lowest bit of the bytes of each row, in planes of kRows; one is set.
template <std::size_t kBytes>
TADA_INLINE void lowest(const std::uint8_t* open, std::size_t n, std::uint8_t* leaf) {
  for (std::size_t first = 0; first < n; first += kVector)
    for (std::size_t i = first; i < first + kVector; ++i) {
      std::uint8_t byte = open[i], from = 0;
      for (std::size_t b = 1; b < kBytes; ++b) {
        const std::uint8_t none = byte == 0 ? 0xff : 0;
        byte = static_cast<std::uint8_t>(byte | (open[b * LeafBits::kRows + i] & none));
        from = static_cast<std::uint8_t>(from + (none & 8));
      }
      const auto bit = static_cast<std::uint8_t>(byte & -byte);
      const int ones = (bit & 0xaa) != 0 ? 1 : 0, twos = (bit & 0xcc) != 0 ? 2 : 0,
                fours = (bit & 0xf0) != 0 ? 4 : 0;
      leaf[i] = static_cast<std::uint8_t>(from + ones + twos + fours);
    }
}

struct Tests {
  const LeafBits::Test* tests;
  std::size_t n_tests;
  const LeafBits::LevelTest* level_tests;
  std::size_t n_level_tests;
  const std::uint8_t* level_keeps;
  std::size_t n_bytes;
};

TADA_CLONES
void find_block(const Tests& tree, const std::uint8_t* codes, std::size_t n, std::uint8_t* leaf) {
  std::uint8_t open[8 * LeafBits::kRows];
  std::memset(open, 0xff, tree.n_bytes * LeafBits::kRows);
  for (std::size_t t = 0; t < tree.n_tests; ++t) {
    const LeafBits::Test test = tree.tests[t];
    const std::uint8_t* code = codes + test.plane * LeafBits::kRows;
    std::uint8_t* byte = open + test.byte * LeafBits::kRows;
    for (std::size_t first = 0; first < n; first += kVector)
      for (std::size_t i = first; i < first + kVector; ++i)
        byte[i] &= static_cast<std::uint8_t>((code[i] <= test.most ? 0xff : 0) | test.keep);
  }
  for (std::size_t t = 0; t < tree.n_level_tests; ++t) {
    const LeafBits::LevelTest test = tree.level_tests[t];
    const std::uint8_t* code = codes + test.plane * LeafBits::kRows;
    const std::uint8_t* keep = tree.level_keeps + test.first;
    std::uint8_t* byte = open + test.byte * LeafBits::kRows;
    for (std::size_t i = 0; i < n; ++i) byte[i] &= keep[code[i]];
  }
  switch (tree.n_bytes) {
    case 1:
      return lowest<1>(open, n, leaf);
    case 2:
      return lowest<2>(open, n, leaf);
    case 3:
      return lowest<3>(open, n, leaf);
    case 4:
      return lowest<4>(open, n, leaf);
    default:
      std::memset(open + tree.n_bytes * LeafBits::kRows, 0, (8 - tree.n_bytes) * LeafBits::kRows);
      return lowest<8>(open, n, leaf);
  }
}

}  // namespace

// What the nodes say of each used column; then where its forms are.
struct LeafBits::Column {
  std::vector<double> thresholds;   // sorted, each once
  std::vector<std::int32_t> named;  // levels that some node sends right, sorted, each once
  std::size_t first_slice = 0, levels = kNone;
};

LeafBits::LeafBits(const Forest& forest) {
  Columns columns(forest.columns_.size());
  for (const auto& node : forest.nodes_) {
    if (forest.is_leaf(node)) continue;
    auto& column = columns[forest.column_of(node)];
    if (forest.is_categorical(node))
      forest.append_levels(node, column.named);
    else
      column.thresholds.push_back(node.threshold);
  }
  for (std::size_t c = 0; c < columns.size(); ++c) {
    keep_once(columns[c].thresholds);
    keep_once(columns[c].named);
    add_slices(columns[c], forest.columns_[c]);
    add_levels(columns[c], forest.columns_[c]);
  }
  for (std::size_t j = 0; j < forest.n_trees(); ++j) {
    const std::size_t begin = forest.roots_[j].node;
    const std::size_t end = j + 1 < forest.n_trees() ? forest.roots_[j + 1].node : forest.nodes_.size();
    add_tree(forest, columns, begin, end);
  }
}

void LeafBits::add_slices(Column& column, std::uint32_t number) {
  column.first_slice = slices_.size();
  const auto& all = column.thresholds;
  for (std::size_t first = 0; first < all.size(); first += kMostThresholds) {
    const std::size_t n = std::min(kMostThresholds, all.size() - first);
    std::size_t n_steps = 0;
    while ((std::size_t{1} << n_steps) <= n) ++n_steps;
    slices_.push_back({number, thresholds_.size(), n_steps, {kNone, kNone}});
    thresholds_.insert(thresholds_.end(), all.data() + first, all.data() + first + n);
    thresholds_.resize(slices_.back().first + (std::size_t{1} << n_steps) - 1,
                       std::numeric_limits<double>::infinity());
  }
}

void LeafBits::add_levels(Column& column, std::uint32_t number) {
  const auto& named = column.named;
  if (named.size() > kMostNamed || (!named.empty() && named.back() >= kMostLevels)) return;
  column.levels = levels_.size();
  const std::size_t n = named.empty() ? 0 : static_cast<std::size_t>(named.back()) + 1;
  levels_.push_back({number, level_codes_.size(), n, kNone});
  level_codes_.resize(level_codes_.size() + n, kOtherLevel);
  for (std::size_t k = 0; k < named.size(); ++k)
    level_codes_[levels_.back().first + static_cast<std::size_t>(named[k])] =
        static_cast<std::uint8_t>(kFirstNamed + k);
}

void LeafBits::add_tree(const Forest& forest, const Columns& columns, std::size_t begin, std::size_t end) {
  Tree tree{leaf_nodes_.size(), 0, 0, tests_.size(), 0, level_tests_.size(), 0};
  const std::size_t n_leaves = (end - begin + 1) / 2;
  bool held = n_leaves <= kMostLeaves;
  for (std::size_t i = begin; i < end && held; ++i)
    held = !forest.is_categorical(forest.nodes_[i]) ||
           columns[forest.column_of(forest.nodes_[i])].levels != kNone;
  if (held) {
    add_node(forest, columns, static_cast<std::uint32_t>(begin), 0);
    tree.n_leaves = n_leaves;
    tree.n_bytes = (n_leaves + 7) / 8;
    tree.n_tests = tests_.size() - tree.first_test;
    tree.n_level_tests = level_tests_.size() - tree.first_level_test;
  }
  holds_all_ = holds_all_ && held;
  trees_.push_back(tree);
}

// Numbers the leaves below a node, the first of them `leaf`; the number of the next leaf.
std::size_t LeafBits::add_node(const Forest& forest, const Columns& columns, std::uint32_t node,
                               std::size_t leaf) {
  const auto& at = forest.nodes_[node];
  if (forest.is_leaf(at)) {
    leaf_nodes_.push_back(node);
    return leaf + 1;
  }
  const std::size_t right = add_node(forest, columns, at.left, leaf);
  for (std::size_t byte = leaf / 8; 8 * byte < right; ++byte) {
    unsigned closed = 0;  // the leaves of the left side in this byte
    for (std::size_t k = std::max(leaf, 8 * byte); k < std::min(right, 8 * byte + 8); ++k)
      closed |= 1u << k % 8;
    add_test(forest, columns[forest.column_of(at)], node, byte, static_cast<std::uint8_t>(~closed));
  }
  return add_node(forest, columns, at.left + 1, right);
}

void LeafBits::add_test(const Forest& forest, const Column& column, std::uint32_t node, std::size_t byte,
                        std::uint8_t keep) {
  const auto& at = forest.nodes_[node];
  const auto small = static_cast<std::uint8_t>(byte);
  const auto plane = [&](std::size_t& wanted) {
    if (wanted == kNone) wanted = n_planes_++;
    return wanted;
  };
  if (forest.is_categorical(at)) {
    level_tests_.push_back({plane(levels_[column.levels].plane), level_keeps_.size(), small});
    const std::size_t first = level_keeps_.size();
    level_keeps_.resize(first + kFirstNamed + column.named.size(), 0xff);
    if (!forest.missing_left(at)) level_keeps_[first + kMissingLevel] = keep;
    std::vector<std::int32_t> right;
    forest.append_levels(at, right);
    for (const std::int32_t level : right)
      level_keeps_[first + level_codes_[levels_[column.levels].first + static_cast<std::size_t>(level)]] =
          keep;
    return;
  }
  const auto k = static_cast<std::size_t>(
      std::lower_bound(column.thresholds.begin(), column.thresholds.end(), at.threshold) -
      column.thresholds.begin());
  Slice& slice = slices_[column.first_slice + k / kMostThresholds];
  tests_.push_back({plane(slice.plane[forest.missing_left(at) ? 1 : 0]),
                    static_cast<std::uint8_t>(k % kMostThresholds), keep, small});
}

void LeafBits::encode_levels(const Levels& levels, const double* x, std::size_t n, std::uint8_t* code) const {
  for (std::size_t i = 0; i < n; ++i) {
    // As Forest::goes_right: a float beyond the integers has no value as one.
    const bool in_range = x[i] >= 0 && x[i] < 0x1p31;
    const std::size_t level = in_range ? static_cast<std::size_t>(x[i]) : 0;
    if (!in_range || static_cast<double>(level) != x[i])
      code[i] = kMissingLevel;
    else
      code[i] = level < levels.n ? level_codes_[levels.first + level] : kOtherLevel;
  }
}

template <class T>
void LeafBits::encode(const Matrix<T>& X, std::size_t first, std::size_t n, std::uint8_t* codes) const {
  const std::size_t size = rounded_up(n);
  double x[kRows] = {};
  const auto read = [&](std::size_t column) {
    for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<double>(X.at(first + i, column));
  };
  for (const Slice& slice : slices_) {
    const auto [right, left] = slice.plane;
    if (right == kNone && left == kNone) continue;  // asked for only by trees that are not held
    read(slice.column);
    std::uint8_t* code = codes + (right != kNone ? right : left) * kRows;
    search_block(thresholds_.data() + slice.first, slice.n_steps, x, size,
                 right != kNone ? kMissingRight : kMissingLeft, code);
    if (right != kNone && left != kNone) move_missing(code, size, codes + left * kRows);
  }
  for (const Levels& levels : levels_) {
    if (levels.plane == kNone) continue;
    read(levels.column);
    encode_levels(levels, x, size, codes + levels.plane * kRows);
  }
}

void LeafBits::find(std::size_t tree, const std::uint8_t* codes, std::size_t n, std::uint8_t* leaf) const {
  const Tree& of = trees_[tree];
  find_block({tests_.data() + of.first_test, of.n_tests, level_tests_.data() + of.first_level_test,
              of.n_level_tests, level_keeps_.data(), of.n_bytes},
             codes, rounded_up(n), leaf);
}

template void LeafBits::encode(const Matrix<float>&, std::size_t, std::size_t, std::uint8_t*) const;
template void LeafBits::encode(const Matrix<double>&, std::size_t, std::size_t, std::uint8_t*) const;

}  // namespace tada
