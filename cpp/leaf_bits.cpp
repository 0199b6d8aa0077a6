// SPDX-License-Identifier: Apache-2.0
#include "leaf_bits.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "clones.hpp"
#include "fastmath.hpp"

namespace tada {
namespace {

constexpr std::size_t kMostLeaves = 64;
constexpr std::size_t kMostThresholds = 254;  // of a slice
constexpr std::uint8_t kMissingRight = 255, kMissingLeft = 0;
constexpr std::uint8_t kAll = 0xff;
constexpr std::uint8_t kMissingLevel = 0, kOtherLevel = 1, kFirstNamed = 2;
constexpr std::size_t kMostNamed = 254;     // levels of a column
constexpr std::int32_t kMostLevels = 4096;  // their codes are looked up
constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// Bytes of so many rows at once, whatever the machine makes of it.
using Bytes = std::uint8_t __attribute__((vector_size(32)));
using Packed = std::uint8_t __attribute__((vector_size(32), aligned(1), may_alias));  // wherever they lie
constexpr std::size_t kChunk = 4 * sizeof(Bytes);  // rows that are taken together; others fill the last one

template <class T>
void keep_once(std::vector<T>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

// Where the i-th of 2^n_steps - 1 values in order stands in a heap of them: 2^l of them are in its row l, the
// odd multiples of 2^(n_steps - 1 - l), counted from 1.
std::size_t heap_place(std::size_t i, std::size_t n_steps) {
  std::size_t number = i + 1, row = n_steps - 1;
  for (; number % 2 == 0; number /= 2) --row;
  return (std::size_t{1} << row) - 1 + number / 2;
}

std::size_t rounded_up(std::size_t n) { return (n + kChunk - 1) / kChunk * kChunk; }

// code[i] = how many of 2^n_steps - 1 thresholds are below x[i]. They lie as in a heap (the middle one first,
// then those of the quarters), so that a step is arithmetic: a branch would be mispredicted half of the time.
TADA_CLONES
void search_block(const double* heap, std::size_t n_steps, const double* x, std::size_t n,
                  std::uint8_t missing, std::uint8_t* code) {
  constexpr std::size_t kLanes = 8;  // searches side by side: one alone waits for its own loads
  const std::size_t last_row = std::size_t{1} << n_steps;
  for (std::size_t first = 0; first < n; first += kLanes) {
    std::size_t at[kLanes];
    for (std::size_t k = 0; k < kLanes; ++k) at[k] = 1;
    for (std::size_t step = 0; step < n_steps; ++step)
      for (std::size_t k = 0; k < kLanes; ++k) at[k] = 2 * at[k] + (heap[at[k] - 1] < x[first + k] ? 1 : 0);
    for (std::size_t k = 0; k < kLanes; ++k)
      code[first + k] = x[first + k] != x[first + k] ? missing : static_cast<std::uint8_t>(at[k] - last_row);
  }
}

// The same codes, with missing on the other side.
TADA_CLONES
void move_missing(const std::uint8_t* code, std::size_t n, std::uint8_t* moved) {
  for (std::size_t i = 0; i < n; ++i) moved[i] = code[i] == kMissingRight ? kMissingLeft : code[i];
}

struct TreeView {
  const LeafBits::Byte *byte, *end;
  const LeafBits::Test* test;
  const LeafBits::LevelTest* level_test;
  const std::uint8_t* level_keeps;
};

// What rows keep of eight leaves by the tests on levels.
TADA_INLINE void keep_levels(const LeafBits::LevelTest* test, const LeafBits::LevelTest* end,
                             const std::uint8_t* level_keeps, const std::uint8_t* codes, std::uint8_t* open) {
  std::memset(open, 0xff, kChunk);
  for (; test != end; ++test) {
    const std::uint8_t* code = codes + std::size_t{test->plane} * LeafBits::kRows;
    const std::uint8_t* keep = level_keeps + test->first;
    for (std::size_t i = 0; i < kChunk; ++i) open[i] &= keep[code[i]];
  }
}

// The leaves of kChunk rows, all in registers: `sizeof...(I)` vectors of rows side by side.
template <std::size_t... I>
TADA_INLINE void find_chunk(TreeView tree, const std::uint8_t* codes, std::uint8_t* leaf,
                            std::index_sequence<I...>) {
  constexpr std::size_t n = sizeof...(I);
  static_assert(n * sizeof(Bytes) == kChunk);
  Bytes found[n] = {}, from[n] = {};  // the first eight leaves with an open one, and the number of the first
  std::uint8_t eight = 0;
  for (; tree.byte != tree.end; ++tree.byte, eight += 8) {
    Bytes open[n];
    ((open[I] = ~Bytes{}), ...);
    for (const auto* end = tree.test + tree.byte->n_tests; tree.test != end; ++tree.test) {
      const auto* code =
          reinterpret_cast<const Packed*>(codes + std::size_t{tree.test->plane} * LeafBits::kRows);
      const Bytes most = Bytes{} + tree.test->most, low = Bytes{} + tree.test->low,
                  high = Bytes{} + tree.test->high;
      ((open[I] &= code[I] <= most ? low : high), ...);
    }
    if (tree.byte->n_level_tests > 0) {
      std::uint8_t keep[kChunk];
      const auto* end = tree.level_test + tree.byte->n_level_tests;
      keep_levels(tree.level_test, end, tree.level_keeps, codes, keep);
      ((open[I] &= reinterpret_cast<const Packed*>(keep)[I]), ...);
      tree.level_test = end;
    }
    ((from[I] = found[I] == 0 ? Bytes{} + eight : from[I]), ...);
    ((found[I] = found[I] == 0 ? open[I] : found[I]), ...);
  }
  ((found[I] &= -found[I]), ...);  // the lowest bit alone, whose number has the bits
  ((from[I] += ((found[I] & 0xaa) != 0 ? Bytes{} + 1 : Bytes{}) +
               ((found[I] & 0xcc) != 0 ? Bytes{} + 2 : Bytes{}) +
               ((found[I] & 0xf0) != 0 ? Bytes{} + 4 : Bytes{})),
   ...);
  ((reinterpret_cast<Packed*>(leaf)[I] = from[I]), ...);
}

TADA_CLONES
void find_block(const TreeView& tree, const std::uint8_t* codes, std::size_t n, std::uint8_t* leaf) {
  for (std::size_t first = 0; first < n; first += kChunk)
    find_chunk(tree, codes + first, leaf + first, std::make_index_sequence<kChunk / sizeof(Bytes)>());
}

}  // namespace

// Makes the tests of a forest.
struct LeafBits::Maker {
  struct Column {                     // what the nodes say of it
    std::vector<double> thresholds;   // sorted, each once
    std::vector<std::int32_t> named;  // levels that some node sends right, sorted, each once
    std::size_t first_slice = 0, levels = kNone;
  };

  const Forest& forest;
  LeafBits& out;
  std::vector<Column> columns;
  std::vector<std::size_t> n_below;  // of the tree that begins at node `begin`: leaves at and below each node
  std::size_t begin = 0;
  std::vector<Test> tests[kMostLeaves / 8];  // of that tree, by byte
  std::vector<LevelTest> level_tests[kMostLeaves / 8];

  Column& column_of(const Forest::Node& node) { return columns[forest.column_of(node)]; }
  std::size_t& below(std::size_t node) { return n_below[node - begin]; }
  std::uint32_t plane(std::size_t& wanted) {
    if (wanted == kNone) wanted = out.n_planes_++;
    return static_cast<std::uint32_t>(wanted);  // at most two a node
  }

  void read_columns();
  void add_slices(Column& column, std::uint32_t number);
  void add_levels(Column& column, std::uint32_t number);
  void add_tree(std::size_t first, std::size_t last);
  std::size_t add_node(std::size_t node, std::size_t leaf);
  void add_test(const Forest::Node& node, bool mirrored, std::size_t byte, std::uint8_t keep);
  void add_level_test(const Forest::Node& node, bool mirrored, std::size_t byte, std::uint8_t keep);
};

LeafBits::LeafBits(const Forest& forest) {
  Maker maker{forest, *this, std::vector<Maker::Column>(forest.columns_.size()), {}, 0, {}, {}};
  maker.read_columns();
  for (std::size_t j = 0; j < forest.n_trees(); ++j)
    maker.add_tree(forest.roots_[j].node,
                   j + 1 < forest.n_trees() ? forest.roots_[j + 1].node : forest.nodes_.size());
}

void LeafBits::Maker::read_columns() {
  for (const auto& node : forest.nodes_) {
    if (forest.is_leaf(node)) continue;
    if (forest.is_categorical(node))
      forest.append_levels(node, column_of(node).named);
    else
      column_of(node).thresholds.push_back(node.threshold);
  }
  for (std::size_t c = 0; c < columns.size(); ++c) {
    keep_once(columns[c].thresholds);
    keep_once(columns[c].named);
    add_slices(columns[c], forest.columns_[c]);
    add_levels(columns[c], forest.columns_[c]);
  }
}

void LeafBits::Maker::add_slices(Column& column, std::uint32_t number) {
  column.first_slice = out.slices_.size();
  const auto& all = column.thresholds;
  for (std::size_t first = 0; first < all.size(); first += kMostThresholds) {
    const std::size_t n = std::min(kMostThresholds, all.size() - first);
    std::size_t n_steps = 0;
    while ((std::size_t{1} << n_steps) <= n) ++n_steps;
    out.slices_.push_back({number, out.thresholds_.size(), n_steps, {kNone, kNone}});
    const std::size_t size = (std::size_t{1} << n_steps) - 1, start = out.thresholds_.size();
    out.thresholds_.resize(start + size, std::numeric_limits<double>::infinity());
    for (std::size_t i = 0; i < n; ++i) out.thresholds_[start + heap_place(i, n_steps)] = all[first + i];
  }
}

void LeafBits::Maker::add_levels(Column& column, std::uint32_t number) {
  const auto& named = column.named;
  if (named.size() > kMostNamed || (!named.empty() && named.back() >= kMostLevels)) return;
  column.levels = out.levels_.size();
  const std::size_t n = named.empty() ? 0 : static_cast<std::size_t>(named.back()) + 1;
  const std::size_t first = out.level_codes_.size();
  out.levels_.push_back({number, first, n, kNone});
  out.level_codes_.resize(first + n, kOtherLevel);
  for (std::size_t k = 0; k < named.size(); ++k)
    out.level_codes_[first + static_cast<std::size_t>(named[k])] = static_cast<std::uint8_t>(kFirstNamed + k);
}

void LeafBits::Maker::add_tree(std::size_t first, std::size_t last) {
  const std::size_t n_leaves = (last - first + 1) / 2;
  bool held = n_leaves <= kMostLeaves;
  for (std::size_t i = first; i < last && held; ++i)
    held = !forest.is_categorical(forest.nodes_[i]) || column_of(forest.nodes_[i]).levels != kNone;
  Tree tree{out.leaf_nodes_.size(), 0, out.bytes_.size(), 0, out.tests_.size(), out.level_tests_.size()};
  if (held) {
    begin = first;
    n_below.assign(last - first, 1);
    for (std::size_t i = last; i-- > first;)  // children come after their parent
      if (const auto& node = forest.nodes_[i]; !forest.is_leaf(node))
        below(i) = below(node.left) + below(node.left + 1);
    add_node(first, 0);
    tree.n_leaves = n_leaves;
    tree.n_bytes = (n_leaves + 7) / 8;
    for (std::size_t b = 0; b < tree.n_bytes; ++b) {
      out.bytes_.push_back({tests[b].size(), level_tests[b].size()});
      out.tests_.insert(out.tests_.end(), tests[b].begin(), tests[b].end());
      out.level_tests_.insert(out.level_tests_.end(), level_tests[b].begin(), level_tests[b].end());
      tests[b].clear();
      level_tests[b].clear();
    }
  }
  out.holds_all_ = out.holds_all_ && held;
  out.trees_.push_back(tree);
}

// Numbers the leaves at and below a node, the first of them `leaf`; the number of the next leaf. The side of
// fewer leaves comes first, since these are what the test of a node closes: rarely more than a byte of them.
std::size_t LeafBits::Maker::add_node(std::size_t number, std::size_t leaf) {
  const auto& node = forest.nodes_[number];
  if (forest.is_leaf(node)) {
    out.leaf_nodes_.push_back(static_cast<std::uint32_t>(number));
    return leaf + 1;
  }
  const bool mirrored = below(node.left + 1) < below(node.left);
  const std::size_t end = add_node(node.left + (mirrored ? 1 : 0), leaf);
  for (std::size_t byte = leaf / 8; 8 * byte < end; ++byte) {
    unsigned closed = 0;
    for (std::size_t k = std::max(leaf, 8 * byte); k < std::min(end, 8 * byte + 8); ++k)
      closed |= 1u << k % 8;
    const auto keep = static_cast<std::uint8_t>(~closed);
    if (forest.is_categorical(node))
      add_level_test(node, mirrored, byte, keep);
    else
      add_test(node, mirrored, byte, keep);
  }
  return add_node(node.left + (mirrored ? 0 : 1), end);
}

void LeafBits::Maker::add_test(const Forest::Node& node, bool mirrored, std::size_t byte, std::uint8_t keep) {
  const Column& column = column_of(node);
  const auto at = std::lower_bound(column.thresholds.begin(), column.thresholds.end(), node.threshold);
  const auto k = static_cast<std::size_t>(at - column.thresholds.begin());
  Slice& slice = out.slices_[column.first_slice + k / kMostThresholds];
  tests[byte].push_back({plane(slice.plane[forest.missing_left(node) ? 1 : 0]),
                         static_cast<std::uint8_t>(k % kMostThresholds), mirrored ? keep : kAll,
                         mirrored ? kAll : keep});
}

void LeafBits::Maker::add_level_test(const Forest::Node& node, bool mirrored, std::size_t byte,
                                     std::uint8_t keep) {
  const Column& column = column_of(node);
  Levels& levels = out.levels_[column.levels];
  const std::size_t first = out.level_keeps_.size();
  level_tests[byte].push_back({plane(levels.plane), first});
  const std::uint8_t right = mirrored ? kAll : keep, left = mirrored ? keep : kAll;
  out.level_keeps_.resize(first + kFirstNamed + column.named.size(), left);
  if (!forest.missing_left(node)) out.level_keeps_[first + kMissingLevel] = right;
  std::vector<std::int32_t> levels_right;
  forest.append_levels(node, levels_right);
  for (const std::int32_t level : levels_right)
    out.level_keeps_[first + out.level_codes_[levels.first + static_cast<std::size_t>(level)]] = right;
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
  const Byte* byte = bytes_.data() + of.first_byte;
  find_block({byte, byte + of.n_bytes, tests_.data() + of.first_test,
              level_tests_.data() + of.first_level_test, level_keeps_.data()},
             codes, rounded_up(n), leaf);
}

template void LeafBits::encode(const Matrix<float>&, std::size_t, std::size_t, std::uint8_t*) const;
template void LeafBits::encode(const Matrix<double>&, std::size_t, std::size_t, std::uint8_t*) const;

}  // namespace tada
