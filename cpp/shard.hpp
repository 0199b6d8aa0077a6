// SPDX-License-Identifier: Apache-2.0
// The rows: binned codes sorted by class, multiplicities, weights. Everything that looks at rows is here;
// what is decided from the answers (growth, leaf values, steps) is not. All answers are integers that add, so
// several shards, threads and row orders give the same bits.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "blocks.hpp"
#include "code_table.hpp"
#include "exact_sum.hpp"
#include "histogram.hpp"
#include "memory.hpp"
#include "partition.hpp"
#include "pool.hpp"

namespace tada {

constexpr std::size_t kRowChunk = 1 << 14;  // rows a thread takes at a time; a multiple of kBlock

// Rows of a node: a range of the row order for each class.
struct NodeRows {
  std::size_t begin[2] = {0, 0}, end[2] = {0, 0};  // 0: positive, 1: negative
  std::size_t drawn[2] = {0, 0};                   // end of those that choose splits; they come first
  bool inner = false;                              // was split: its children have the rows
  std::size_t size(int k) const { return end[k] - begin[k]; }
};

// What a (leaf, class) says of its rows before a step. Index 2 * leaf + class in vectors of these.
struct LeafExtremes {
  std::uint64_t count = 0;     // multiplicity, in the units of the cells
  std::uint64_t off = 0;       // of it, weights that are off
  double least = 0, most = 0;  // log weights of the rows that are on; +inf, -inf when there are none
  void merge(const LeafExtremes& o);
};

struct TrialSums {
  ExactSum weight, slope;  // sum w e(v), sum w e(v)^t
  void merge(const TrialSums& o);
};

// After a step, over all rows.
struct Moments {
  ExactSum loss;                           // sum w e^(2-t)
  ExactSum weight;                         // sum w e
  double least = 0, most = 0;              // of e^(2-t)
  double most_weight = 0, most_fixed = 0;  // of e, of what the fixed-point weights are made from (e or w e)
  std::uint64_t off = 0, wrong = 0;        // multiplicity of weights that are off, of margins <= 0
  std::uint64_t n_off = 0, n_capped = 0;   // rows
  void merge(const Moments& o);
};

class Shard {
 public:
  // codes: column-major as binning.encode gives them. Rows of multiplicity 0 are dropped. multiplicity,
  // count: empty when every row counts once. whole: all multiplicities are whole, and all sums are those of
  // as many rows of multiplicity 1. merges: equal rows may become one; then no tree can draw rows.
  template <class Code>
  Shard(View<const Code> codes, Layout layout, View<const std::uint8_t> positive,
        View<const double> multiplicity, View<const std::uint64_t> count, bool whole, bool merges, double t,
        std::size_t n_threads);

  const Layout& layout() const { return layout_; }
  std::size_t n_rows() const { return state_.size(); }
  std::size_t n_given() const { return n_given_; }
  std::size_t n_bundles() const { return bundles_.size(); }
  bool draws() const { return first_.empty(); }  // whether a tree may grow from a part of the rows
  // By row of the caller's, those of multiplicity 0 left out, in the order of `order`.
  const std::vector<std::uint32_t>& order() const { return order_; }
  std::size_t n_positive() const { return first_.empty() ? n_positive_ : first_[n_positive_]; }
  std::vector<double> log_weights() const;
  std::vector<double> scores() const;
  std::size_t n_nodes() const { return nodes_.size(); }
  const NodeRows& node(std::int32_t id) const { return nodes_[static_cast<std::size_t>(id)]; }
  bool gathered(
      std::int32_t id) const {  // whether leaf_extremes of this leaf was the last to use the scratch
    return static_cast<std::size_t>(id) < gathered_.size() && gathered_[static_cast<std::size_t>(id)] != 0;
  }
  double most_fixed() const { return most_fixed_; }  // the largest of what fixed-point weights are made from
  Pool& pool() { return pool_; }
  double s() const { return s_; }

  // Growth. Fixed-point weights are round(2^scale_exponent e), see class comment. Histograms are of the drawn
  // rows, an entry a row of the caller (empty: all are drawn); everything after growth is of all rows.
  void begin_tree(int scale_exponent, View<const std::uint8_t> drawn);
  bool packs() const { return packs_; }               // whether the histograms of this tree can be packed
  void histogram(std::int32_t node, Histogram& out);  // writes all cells
  void split(std::int32_t node, std::int32_t left, std::int32_t right, std::size_t column,
             View<const std::uint8_t> goes_left);

  // Leaves and step. `value` by leaf; a row's log weight moves by c = alpha y value. Exponents (see
  // exact_sum.hpp) by (leaf, class), from that pair's own extremes: a class of small weights keeps its digits
  // beside a large one. leaf_extremes puts the states in the order of the leaves, for leaf_sums and trial of
  // the same leaves.
  std::vector<LeafExtremes> leaf_extremes(View<const std::int32_t> leaves);
  std::vector<ExactSum> leaf_sums(View<const std::int32_t> leaves,
                                  View<const std::int32_t> exponent);  // of w e
  std::vector<TrialSums> trial(View<const std::int32_t> leaves, View<const double> value,
                               View<const std::int32_t> exponent, View<const std::int32_t> slope_exponent,
                               View<const double> slope_cap);
  Moments step(View<const std::int32_t> leaves, View<const double> value, double alpha, double clip,
               int exponent, int loss_exponent);

 private:
  struct Chunk {
    std::size_t pair, begin, end;  // rows [begin, end) of the row order, all of one (leaf, class)
  };
  std::vector<Chunk> chunks_of(View<const std::int32_t> leaves) const;
  template <class F>
  void in_chunks(const std::vector<Chunk>& chunks, F f);
  template <class Sums, class F>
  std::vector<Sums> by_leaf(View<const std::int32_t> leaves, const Sums& none, F f);
  std::uint64_t count_of(std::size_t row) const { return unit_ ? 1 : cell_of_row_[row].count; }
  std::size_t n_given_of(std::size_t row) const { return first_.empty() ? 1 : first_[row + 1] - first_[row]; }
  std::vector<double> by_given(View<const double> by_row) const;
  template <class Code>
  void merge_alike(CodeTable<Code>& table);
  void take_multiplicities(View<const double> multiplicity, View<const std::uint64_t> count);
  void make_room();
  std::uint64_t fix_cells(std::size_t first, std::size_t n, double scale, double* e);
  void draw(View<const std::uint8_t> drawn, NodeRows& root);
  void sum_rows(std::size_t first, std::size_t last, std::size_t first_bundle, std::size_t last_bundle,
                Cells out);
  struct Times {  // multiplicities of rows, where they are whole and where not; nothing where all are 1
    const std::uint32_t* whole;
    const double* real;
  };
  Times times_in_leaves(std::size_t first) const;
  void gather_times(const Chunk& chunk);
  void add(const Times& times, std::size_t n, const double* x, int exponent, ExactSum& sum) const;
  template <class Id>
  Moments step_by_row(View<const std::int32_t> leaves, View<const double> value, double alpha, double clip,
                      int exponent, int loss_exponent, Id* leaf_of_row);
  void weights(std::size_t first, std::size_t n, double* e) const;
  void tally(std::size_t first, std::size_t n, double y, const double* e, const double* e_power,
             bool some_off, int exponent, int loss_exponent, Moments& out) const;
  void note_extremes(std::size_t first, std::size_t last, const Range& range, Moments& out) const;

  Layout layout_;
  std::variant<CodeTable<std::uint8_t>, CodeTable<std::uint16_t>> codes_;
  std::vector<Bundle> bundles_;
  bool unit_, whole_, packs_ = false;
  double s_;
  std::size_t n_positive_ = 0, n_given_ = 0;
  bool some_drawn_ = false;                // the tree grows from a part of the rows
  std::vector<std::uint32_t> order_;       // the row of the caller that each row of ours is
  std::vector<std::uint32_t> first_;       // or those of them, from first_[i] to first_[i + 1], if any merged
  RowVector<double> multiplicity_;         // empty when whole_
  std::uint64_t total_count_ = 0;          // the sum of the counts of all rows
  RowVector<Cell> cell_of_row_;            // fixed-point weight and count, by row; empty when unit_
  RowVector<double> state_, score_;        // weight of each row (see blocks.hpp), and its H
  RowVector<double> weight_;               // e of each row; empty where it is quickly had from the state
  RowVector<std::uint32_t> rows_, fixed_;  // row order of the tree; fixed-point weights beside it
  // 8 bytes a row, in turn: the right-hand rows and weights of a partition; the states in the order of the
  // leaves; the leaf of each row.
  RowVector<double> scratch_;
  RowOrder row_order() { return {rows_.data(), unit_ ? fixed_.data() : nullptr}; }
  RowOrder spare() {
    auto* words = reinterpret_cast<std::uint32_t*>(scratch_.data());
    return {words, words + n_rows()};
  }
  RowVector<std::uint32_t> times_;  // whole multiplicities in the order of the leaves; empty if all are 1
  RowVector<double> real_times_;    // the same where they are not whole
  std::vector<NodeRows> nodes_;
  std::vector<std::uint8_t> gathered_;  // by node: scratch_ holds the states of its rows
  double most_fixed_ = 1.0;
  Pool pool_;
};

}  // namespace tada
