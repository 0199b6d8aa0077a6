// SPDX-License-Identifier: Apache-2.0
#include "predict.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "leaf_bits.hpp"

namespace tada {
namespace {

constexpr std::size_t kWalkedRows = 128;  // the most rows in a block that is walked
constexpr std::size_t kBlockValues =
    1 << 14;                          // 128 KB of values: a block stays in L2 while all trees pass over it
constexpr std::size_t kLanes = 8;     // rows that walk side by side: one alone waits for its own loads
constexpr std::size_t kFewRows = 32;  // fewer are walked: they would not fill the vectors of LeafBits
// Trees times rows of about 200 us of work ; a thread costs some 50 us to start.
constexpr std::size_t kWalksPerThread = 50000, kFindsPerThread = 200000;

constexpr std::size_t kTogether = 4;  // trees whose terms are added while a score is at hand

double clipped(double score, double clip) { return std::max(-clip, std::min(clip, score)); }

void demand(bool condition, const char* array, const std::string& what, std::size_t at) {
  if (!condition) throw std::invalid_argument(std::string(array) + "[" + std::to_string(at) + "]: " + what);
}

void demand_size(std::size_t size, std::size_t wanted, const char* array) {
  if (size != wanted)
    throw std::invalid_argument(std::string(array) + ": has " + std::to_string(size) + " entries, expected " +
                                std::to_string(wanted));
}

void check_offsets(View<const std::int64_t> start, std::size_t n, const char* array) {
  demand(start[0] == 0, array, "must be 0", 0);
  for (std::size_t i = 1; i < start.size; ++i)
    demand(start[i] >= start[i - 1], array, "offsets must not fall", i);
  demand(start[start.size - 1] == static_cast<std::int64_t>(n), array,
         "the last offset must be " + std::to_string(n), start.size - 1);
}

}  // namespace

Forest::Forest(std::size_t n_columns, const ForestArrays& arrays) : n_columns_(n_columns) {
  check_sizes(arrays);
  const auto begin = [&](std::size_t j) { return static_cast<std::size_t>(arrays.tree_start[j]); };
  const std::size_t n_trees = arrays.tree_start.size - 1;
  for (std::size_t j = 0; j < n_trees; ++j) check_tree(arrays, begin(j), begin(j + 1));
  for (const std::int32_t feature : arrays.feature)
    if (feature >= 0) columns_.push_back(static_cast<std::uint32_t>(feature));
  std::sort(columns_.begin(), columns_.end());
  columns_.erase(std::unique(columns_.begin(), columns_.end()), columns_.end());
  for (std::size_t j = 0; j < n_trees; ++j) add_tree(arrays, begin(j), begin(j + 1));
}

void Forest::check_sizes(const ForestArrays& arrays) const {
  if (n_columns_ >= kField) throw std::invalid_argument("n_columns: more than 2^30 columns");
  const std::size_t n = arrays.feature.size;
  if (n >= std::numeric_limits<std::int32_t>::max()) throw std::invalid_argument("feature: too many nodes");
  if (arrays.tree_start.size == 0) throw std::invalid_argument("tree_start: must have n_trees + 1 entries");
  check_offsets(arrays.tree_start, n, "tree_start");
  demand_size(arrays.threshold.size, n, "threshold");
  demand_size(arrays.left.size, n, "left");
  demand_size(arrays.right.size, n, "right");
  demand_size(arrays.value.size, n, "value");
  demand_size(arrays.missing_left.size, n, "missing_left");
  demand_size(arrays.is_categorical.size, n, "is_categorical");
  demand_size(arrays.category_start.size, n + 1, "category_start");
  check_offsets(arrays.category_start, arrays.categories.size, "category_start");
}

void Forest::check_tree(const ForestArrays& arrays, std::size_t begin, std::size_t end) const {
  const auto size = static_cast<std::int64_t>(end - begin);
  if (size == 0) throw std::invalid_argument("tree_start: a tree has no node");
  std::vector<bool> has_parent(end - begin, false);
  const auto check_child = [&](View<const std::int32_t> child, const char* array, std::size_t i) {
    // Larger than its parent, so no walk can turn in a circle.
    demand(child[i] > static_cast<std::int64_t>(i - begin) && child[i] < size, array,
           "a child must be inside its tree and larger than its parent, got " + std::to_string(child[i]), i);
    const auto c = static_cast<std::size_t>(child[i]);
    demand(!has_parent[c], array, "node " + std::to_string(c) + " has two parents", i);
    has_parent[c] = true;
  };
  for (std::size_t i = begin; i < end; ++i) {
    demand(i == begin || has_parent[i - begin], "left", "no node has this one as a child", i);
    demand(std::isfinite(arrays.value[i]), "value", "must be finite", i);
    const std::int64_t feature = arrays.feature[i];
    demand(feature >= -1 && feature < static_cast<std::int64_t>(n_columns_), "feature",
           "must be a column or -1, got " + std::to_string(feature), i);
    if (feature >= 0) {
      demand(arrays.is_categorical[i] || std::isfinite(arrays.threshold[i]), "threshold", "must be finite",
             i);
      check_child(arrays.left, "left", i);
      check_child(arrays.right, "right", i);
    }
    for (auto k = static_cast<std::size_t>(arrays.category_start[i]);
         k < static_cast<std::size_t>(arrays.category_start[i + 1]); ++k) {
      demand(arrays.categories[k] >= 0, "categories", "must be >= 0", k);
      demand(k == static_cast<std::size_t>(arrays.category_start[i]) ||
                 arrays.categories[k] > arrays.categories[k - 1],
             "categories", "must rise inside a node", k);
    }
  }
}

// Numbers the nodes again, breadth first with siblings side by side.
void Forest::add_tree(const ForestArrays& arrays, std::size_t begin, std::size_t end) {
  const auto base = static_cast<std::uint32_t>(nodes_.size());
  roots_.push_back({base, false});
  std::vector<std::size_t> queue{begin};
  queue.reserve(end - begin);
  for (std::size_t k = 0; k < queue.size(); ++k) {
    const std::size_t i = queue[k];
    values_.push_back(arrays.value[i]);
    original_.push_back(static_cast<std::int32_t>(i - begin));
    if (arrays.feature[i] < 0) {
      nodes_.push_back(
          {std::numeric_limits<double>::infinity(), base + static_cast<std::uint32_t>(k), kMissingLeft});
      continue;
    }
    const auto column =
        std::lower_bound(columns_.begin(), columns_.end(), static_cast<std::uint32_t>(arrays.feature[i]));
    Node node{arrays.threshold[i], base + static_cast<std::uint32_t>(queue.size()),
              static_cast<std::uint32_t>(column - columns_.begin())};
    if (arrays.missing_left[i]) node.field |= kMissingLeft;
    if (arrays.is_categorical[i]) {
      roots_.back().categorical = true;
      node.field |= kCategorical;
      node.threshold = static_cast<double>(sets_.size());  // exact: there are fewer than 2^31 nodes
      add_levels(arrays, i);
    }
    nodes_.push_back(node);
    queue.push_back(begin + static_cast<std::size_t>(arrays.left[i]));
    queue.push_back(begin + static_cast<std::size_t>(arrays.right[i]));
  }
}

void Forest::add_levels(const ForestArrays& arrays, std::size_t node) {
  const auto first = static_cast<std::size_t>(arrays.category_start[node]);
  const auto last = static_cast<std::size_t>(arrays.category_start[node + 1]);
  LevelSet set{words_.size(), 0, levels_.size(), levels_.size()};
  const std::size_t words =
      first == last ? 0 : static_cast<std::size_t>(arrays.categories[last - 1]) / 64 + 1;
  // A bitset as long as it is not much larger than the list itself: one level 2^31 - 1 must not cost 256 MB.
  if (words <= 16 + 4 * (last - first)) {
    set.n_words = words;
    words_.resize(words_.size() + words, 0);
    for (std::size_t k = first; k < last; ++k) {
      const auto level = static_cast<std::size_t>(arrays.categories[k]);
      words_[set.first + level / 64] |= std::uint64_t{1} << (level % 64);
    }
  } else {
    levels_.insert(levels_.end(), arrays.categories.data + first, arrays.categories.data + last);
    set.end = levels_.size();
  }
  sets_.push_back(set);
}

void Forest::append_levels(const Node& node, std::vector<std::int32_t>& levels) const {
  const LevelSet& set = sets_[static_cast<std::size_t>(node.threshold)];
  for (std::size_t level = 0; level < 64 * set.n_words; ++level)
    if (words_[set.first + level / 64] >> (level % 64) & 1)
      levels.push_back(static_cast<std::int32_t>(level));
  levels.insert(levels.end(), levels_.data() + set.begin, levels_.data() + set.end);
}

bool Forest::goes_right(const LevelSet& set, double x, bool missing_left) const {
  // The order matters: a float beyond the integers has no value as one.
  if (!(x >= 0 && x < 0x1p31)) return !missing_left;
  const auto level = static_cast<std::size_t>(x);
  if (static_cast<double>(level) != x) return !missing_left;
  if (level / 64 < set.n_words) return words_[set.first + level / 64] >> (level % 64) & 1;
  return std::binary_search(levels_.data() + set.begin, levels_.data() + set.end,
                            static_cast<std::int32_t>(level));
}

// The leaves of walks side by side, all until the last of them has arrived: walk k is that of the row at
// rows + k * stride down the tree at root[k].
template <std::size_t kWalks, bool kLevels>
void Forest::walk_lanes(const std::uint32_t* root, const double* rows, std::size_t stride,
                        std::uint32_t* leaf) const {
  const Node* nodes = nodes_.data();
  std::uint32_t at[kWalks], moved = 0;
  for (std::size_t k = 0; k < kWalks; ++k) {
    at[k] = root[k];
    moved |= nodes[root[k]].left ^ root[k];
  }
  while (moved != 0) {
    moved = 0;
    for (std::size_t k = 0; k < kWalks; ++k) {
      const Node node = nodes[at[k]];
      const double x = rows[k * stride + column_of(node)];
      bool right = (x > node.threshold) | ((x != x) & !missing_left(node));
      if (kLevels && is_categorical(node))
        right = goes_right(sets_[static_cast<std::size_t>(node.threshold)], x, missing_left(node));
      const std::uint32_t next = node.left + right;
      moved |= next ^ at[k];
      at[k] = next;
    }
  }
  std::copy(at, at + kWalks, leaf);
}

// leaf[i] for n rows of values.
void Forest::walk(const Root& root, const double* rows, std::size_t n, std::uint32_t* leaf) const {
  const std::size_t width = columns_.size();
  std::uint32_t roots[kLanes];
  std::fill(roots, roots + kLanes, root.node);
  std::size_t i = 0;
  if (root.categorical) {
    for (; i + kLanes <= n; i += kLanes) walk_lanes<kLanes, true>(roots, rows + i * width, width, leaf + i);
    for (; i < n; ++i) walk_lanes<1, true>(roots, rows + i * width, width, leaf + i);
  } else {
    for (; i + kLanes <= n; i += kLanes) walk_lanes<kLanes, false>(roots, rows + i * width, width, leaf + i);
    for (; i < n; ++i) walk_lanes<1, false>(roots, rows + i * width, width, leaf + i);
  }
}

// The score of one row of values: it walks down several trees at a time.
double Forest::walked_score(const double* row, View<const double> alpha, double clip) const {
  double score = 0.0;
  for (std::size_t j = 0; j < n_trees(); j += kLanes) {
    const std::size_t n = std::min(kLanes, n_trees() - j);
    std::uint32_t root[kLanes], leaf[kLanes];
    bool categorical = false;
    for (std::size_t k = 0; k < kLanes; ++k) {
      const Root& of_tree = roots_[j + std::min(k, n - 1)];  // the last one again where there is none
      root[k] = of_tree.node;
      categorical = categorical || of_tree.categorical;
    }
    if (categorical)
      walk_lanes<kLanes, true>(root, row, 0, leaf);
    else
      walk_lanes<kLanes, false>(root, row, 0, leaf);
    for (std::size_t k = 0; k < n; ++k) score = clipped(score + alpha[j + k] * values_[leaf[k]], clip);
  }
  return score;
}

Forest::~Forest() = default;

const LeafBits& Forest::leaf_bits() const {
  const std::lock_guard<std::mutex> lock(making_bits_);
  if (!bits_) bits_ = std::make_unique<LeafBits>(*this);
  return *bits_;
}

template <class T, class F>
void Forest::for_blocks(const Matrix<T>& X, Pool& pool, F&& f) const {
  const LeafBits* bits = X.n_rows < kFewRows ? nullptr : &leaf_bits();
  const bool walks = bits == nullptr || !bits->holds_all();
  const std::size_t width = walks ? columns_.size() : 0;
  const std::size_t most = kBlockValues / std::max<std::size_t>(width, 1) / kLanes * kLanes;
  const std::size_t block = walks ? std::min(kWalkedRows, std::max(kLanes, most)) : LeafBits::kRows;
  const std::size_t n_blocks = (X.n_rows + block - 1) / block;
  // Few rows are not worth a thread, and one chunk never starts any.
  const std::size_t worth =
      X.n_rows * std::max<std::size_t>(n_trees(), 1) / (walks ? kWalksPerThread : kFindsPerThread) + 1;
  const std::size_t n_chunks = pool.n_threads() == 1 ? 1 : std::min({n_blocks, worth, 8 * pool.n_threads()});
  const std::size_t n_values = std::min(block, X.n_rows) * width, n_codes = bits ? bits->n_code_bytes() : 0;
  std::vector<double> all_values(n_chunks * n_values);
  std::vector<std::uint8_t> all_codes(n_chunks * n_codes);
  pool.run(n_chunks, [&](std::size_t chunk) {
    double* values = all_values.data() + chunk * n_values;
    std::uint8_t* codes = all_codes.data() + chunk * n_codes;
    for (std::size_t b = chunk * n_blocks / n_chunks; b < (chunk + 1) * n_blocks / n_chunks; ++b) {
      const std::size_t first = b * block, n = std::min(block, X.n_rows - first);
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t k = 0; k < width; ++k) values[i * width + k] = X.at(first + i, columns_[k]);
      if (bits != nullptr) bits->encode(X, first, n, codes);
      f(Block{first, n, bits, values, codes});
    }
  });
}

void Forest::find_leaves(const Block& block, std::size_t tree, std::uint32_t* leaf) const {
  if (block.bits == nullptr || !block.bits->holds(tree))
    return walk(roots_[tree], block.values, block.n, leaf);
  std::uint8_t number[LeafBits::kRows];
  block.bits->find(tree, block.codes, block.n, number);
  const std::uint32_t* nodes = block.bits->leaf_nodes().data() + block.bits->first_leaf(tree);
  for (std::size_t i = 0; i < block.n; ++i) leaf[i] = nodes[number[i]];
}

// What the leaves add, once for all rows, in the order of LeafBits; and whether no sum of it needs the clip.
struct Forest::Terms {
  std::vector<double> of_leaf;
  bool free = false;
};

Forest::Terms Forest::terms(View<const double> alpha, double clip) const {
  const LeafBits& bits = leaf_bits();
  Terms terms;
  double most = 0.0;  // added in the order of the scores, so that it bounds them roundings and all
  for (std::size_t j = 0; j < n_trees(); ++j) {
    double largest = 0.0;
    for (std::size_t k = 0; k < bits.n_leaves(j); ++k) {
      const double term = alpha[j] * values_[bits.leaf_nodes()[bits.first_leaf(j) + k]];
      terms.of_leaf.push_back(term);
      largest = std::max(largest, std::abs(term));
    }
    most += largest;
  }
  terms.free = most < clip && bits.holds_all();
  return terms;
}

// Adds the terms of kTogether trees from `first` on, all held and free of the clip.
void Forest::add_together(const Block& block, const Terms& terms, std::size_t first, double* score) const {
  std::uint8_t leaf[kTogether][LeafBits::kRows];
  const double* of_leaf[kTogether];
  for (std::size_t k = 0; k < kTogether; ++k) {
    block.bits->find(first + k, block.codes, block.n, leaf[k]);
    of_leaf[k] = terms.of_leaf.data() + block.bits->first_leaf(first + k);
  }
  for (std::size_t i = 0; i < block.n; ++i) {
    double sum = score[i];
    for (std::size_t k = 0; k < kTogether; ++k) sum += of_leaf[k][leaf[k][i]];
    score[i] = sum;
  }
}

template <class T>
void Forest::decision(const Matrix<T>& X, View<const double> alpha, double clip, View<double> out,
                      Pool& pool) const {
  const Terms of_trees = X.n_rows < kFewRows ? Terms() : terms(alpha, clip);
  for_blocks(X, pool, [&](const Block& block) {
    if (block.bits == nullptr) {
      for (std::size_t i = 0; i < block.n; ++i)
        out[block.first + i] = walked_score(block.values + i * columns_.size(), alpha, clip);
      return;
    }
    std::uint32_t leaf[LeafBits::kRows];
    double score[LeafBits::kRows] = {};
    std::size_t j = 0;
    if (of_trees.free)
      for (; j + kTogether <= n_trees(); j += kTogether) add_together(block, of_trees, j, score);
    for (; j < n_trees(); ++j) {
      find_leaves(block, j, leaf);
      for (std::size_t i = 0; i < block.n; ++i)
        score[i] = clipped(score[i] + alpha[j] * values_[leaf[i]], clip);
    }
    for (std::size_t i = 0; i < block.n; ++i) out[block.first + i] = score[i];
  });
}

template <class T>
void Forest::staged(const Matrix<T>& X, View<const double> alpha, double clip, View<double> out,
                    Pool& pool) const {
  for_blocks(X, pool, [&](const Block& block) {
    std::uint32_t leaf[LeafBits::kRows];
    double score[LeafBits::kRows] = {};
    for (std::size_t j = 0; j < n_trees(); ++j) {
      find_leaves(block, j, leaf);
      for (std::size_t i = 0; i < block.n; ++i) {
        score[i] = clipped(score[i] + alpha[j] * values_[leaf[i]], clip);
        out[j * X.n_rows + block.first + i] = score[i];
      }
    }
  });
}

template <class T>
void Forest::apply(const Matrix<T>& X, View<std::int32_t> out, Pool& pool) const {
  for_blocks(X, pool, [&](const Block& block) {
    std::uint32_t leaf[LeafBits::kRows];
    for (std::size_t j = 0; j < n_trees(); ++j) {
      find_leaves(block, j, leaf);
      for (std::size_t i = 0; i < block.n; ++i) out[(block.first + i) * n_trees() + j] = original_[leaf[i]];
    }
  });
}

template void Forest::decision(const Matrix<float>&, View<const double>, double, View<double>, Pool&) const;
template void Forest::decision(const Matrix<double>&, View<const double>, double, View<double>, Pool&) const;
template void Forest::staged(const Matrix<float>&, View<const double>, double, View<double>, Pool&) const;
template void Forest::staged(const Matrix<double>&, View<const double>, double, View<double>, Pool&) const;
template void Forest::apply(const Matrix<float>&, View<std::int32_t>, Pool&) const;
template void Forest::apply(const Matrix<double>&, View<std::int32_t>, Pool&) const;

}  // namespace tada
