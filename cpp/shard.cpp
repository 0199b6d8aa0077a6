// SPDX-License-Identifier: Apache-2.0
// Making a shard and growing a tree on it; the passes over leaves are in passes.cpp.
#include "shard.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "alike.hpp"

namespace tada {
namespace {

constexpr std::size_t kWorthThreads = 1
                                      << 15;  // updates below which waking a thread costs more than it brings

}  // namespace

template <class Code>
Shard::Shard(View<const Code> codes, Layout layout, View<const std::uint8_t> positive,
             View<const double> multiplicity, View<const std::uint64_t> count, bool whole, bool merges,
             double t, std::size_t n_threads)
    : layout_(std::move(layout)),
      unit_(multiplicity.size == 0),
      whole_(whole || unit_),
      s_(1.0 - t),
      pool_(n_threads) {
  n_given_ = positive.size;
  order_.reserve(n_given_);
  for (int k = 0; k < 2; ++k) {
    for (std::size_t i = 0; i < n_given_; ++i)
      if ((positive[i] != 0) == (k == 0) && (unit_ || multiplicity[i] > 0.0))
        order_.push_back(static_cast<std::uint32_t>(i));
    if (k == 0) n_positive_ = order_.size();
  }
  auto& table = codes_.emplace<CodeTable<Code>>();
  table.take(codes, order_, layout_.n_columns(), pool_);
  total_count_ = order_.size();
  if (!unit_) take_multiplicities(multiplicity, count);
  if (merges && whole_ && total_count_ < (std::uint64_t{1} << 32)) merge_alike(table);
  const std::size_t n = first_.empty() ? order_.size() : first_.size() - 1;
  if constexpr (sizeof(Code) == 1) {
    bundles_ = find_bundles({table.by_column.data(), table.by_column.size()}, layout_, n);
    if (bundles_.size() < layout_.n_columns()) table.bundle(bundles_, n, pool_);
  } else {
    bundles_ = plain_bundles(layout_);
  }
  state_.assign(n, first_state(s_));
  if (!is_quick(s_)) weight_.assign(n, 1.0);
}

template Shard::Shard(View<const std::uint8_t>, Layout, View<const std::uint8_t>, View<const double>,
                      View<const std::uint64_t>, bool, bool, double, std::size_t);
template Shard::Shard(View<const std::uint16_t>, Layout, View<const std::uint8_t>, View<const double>,
                      View<const std::uint64_t>, bool, bool, double, std::size_t);

void Shard::take_multiplicities(View<const double> multiplicity, View<const std::uint64_t> count) {
  const std::size_t n = order_.size();
  cell_of_row_.resize(n);
  total_count_ = 0;
  for (std::size_t i = 0; i < n; ++i) total_count_ += cell_of_row_[i].count = count[order_[i]];
  if (whole_) return;
  multiplicity_.resize(n);
  for (std::size_t i = 0; i < n; ++i) multiplicity_[i] = multiplicity[order_[i]];
  if (n > 0) most_fixed_ = *std::max_element(multiplicity_.begin(), multiplicity_.end());
}

// Keeps the first of equal rows, with the counts of all.
template <class Code>
void Shard::merge_alike(CodeTable<Code>& table) {
  const std::size_t n = order_.size(), stride = stride_of(layout_.n_columns());
  const Alike alike = find_alike<Code>({table.by_row.data(), n, stride}, n_positive_);
  const std::size_t n_groups = alike.first_row.size();
  if (n_groups == 0) return;
  RowVector<Cell> cells(n_groups);
  first_.assign(n_groups + 1, 0);
  for (std::size_t i = 0; i < n; ++i) {
    ++first_[alike.group_of[i] + 1];
    cells[alike.group_of[i]].count += count_of(i);
  }
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  std::vector<std::uint32_t> order(n), next(first_);
  for (std::size_t i = 0; i < n; ++i) order[next[alike.group_of[i]]++] = order_[i];
  order_ = std::move(order);
  cell_of_row_ = std::move(cells);
  unit_ = false;
  n_positive_ = alike.n_positive;
  table.keep(alike.first_row, layout_.n_columns());
}

// What only trees need: made with the first, when the caller's codes may be gone, whose memory it takes over.
void Shard::make_room() {
  const std::size_t n = n_rows();
  if (unit_) fixed_.resize(n);
  if (whole_ && !unit_) times_.resize(n);
  if (!whole_) real_times_.resize(n);
  score_.resize(n);
  rows_.resize(n);
  scratch_.resize(n);
}

// Fixed-point weights of rows [first, first + n) whose weights are e, times their multiplicity; their sum.
std::uint64_t Shard::fix_cells(std::size_t first, std::size_t n, double scale, double* e) {
  std::uint64_t fixed[kBlock], sum = 0;
  for (std::size_t i = 0; i < n && !whole_; ++i) e[i] *= multiplicity_[first + i];
  fixed_block(e, n, scale, fixed);
  for (std::size_t i = 0; i < n; ++i) {
    Cell& cell = cell_of_row_[first + i];
    sum += cell.weight = whole_ ? fixed[i] * cell.count : fixed[i];
  }
  return sum;
}

void Shard::begin_tree(int scale_exponent, View<const std::uint8_t> drawn) {
  if (rows_.empty()) make_room();
  const std::size_t n = n_rows(), n_chunks = (n + kRowChunk - 1) / kRowChunk;
  const double scale = std::ldexp(1.0, scale_exponent);
  std::vector<std::uint64_t> total(n_chunks, 0);
  pool_.run(n_chunks, [&](std::size_t chunk) {
    double e[kBlock];
    std::uint64_t sum = 0;
    const std::size_t end = std::min(n, (chunk + 1) * kRowChunk);
    for (std::size_t first = chunk * kRowChunk; first < end; first += kBlock) {
      const std::size_t size = std::min(kBlock, end - first);
      weights(first, size, e);
      sum += unit_ ? fixed_block(e, size, scale, &fixed_[first]) : fix_cells(first, size, scale, e);
    }
    std::iota(&rows_[chunk * kRowChunk], rows_.data() + end, static_cast<std::uint32_t>(chunk * kRowChunk));
    total[chunk] = sum;
  });
  packs_ = total_count_ <= kMostPackedCount &&
           std::accumulate(total.begin(), total.end(), std::uint64_t{0}) <= kMostPackedWeight;
  NodeRows root;
  root.end[0] = root.begin[1] = root.drawn[0] = n_positive_;
  root.end[1] = root.drawn[1] = n;
  some_drawn_ = drawn.size > 0;
  if (some_drawn_) draw(drawn, root);
  nodes_.assign(1, root);
  gathered_.clear();
}

// Puts the drawn rows of each class first, where partitions, which are stable, leave them in every node.
void Shard::draw(View<const std::uint8_t> drawn, NodeRows& root) {
  std::vector<std::uint8_t> by_row(n_rows());
  for (std::size_t i = 0; i < by_row.size(); ++i) by_row[i] = drawn[order_[i]] != 0;
  const std::uint8_t first[2] = {0, 1};
  for (int k = 0; k < 2; ++k)
    root.drawn[k] = partition(by_row.data(), {first, 2}, root.begin[k], root.end[k], row_order(), spare());
}

std::vector<double> Shard::by_given(View<const double> by_row) const {
  if (first_.empty()) return {by_row.begin(), by_row.end()};
  std::vector<double> out(order_.size());
  for (std::size_t i = 0; i < by_row.size; ++i)
    std::fill(out.begin() + first_[i], out.begin() + first_[i + 1], by_row[i]);
  return out;
}

std::vector<double> Shard::log_weights() const {
  std::vector<double> l(n_rows());
  for (std::size_t i = 0; i < l.size(); ++i) l[i] = log_weight(state_[i], s_);
  return by_given({l.data(), l.size()});
}

std::vector<double> Shard::scores() const {
  if (score_.empty()) return std::vector<double>(order_.size(), 0.0);
  return by_given({score_.data(), score_.size()});
}

void Shard::histogram(std::int32_t id, Histogram& out) {
  const NodeRows& node = nodes_[static_cast<std::size_t>(id)];
  const std::size_t n_rows_of[2] = {node.drawn[0] - node.begin[0], node.drawn[1] - node.begin[1]};
  const std::size_t n_bundles = bundles_.size(), half = out.words.size() / 2;
  const std::size_t work = (n_rows_of[0] + n_rows_of[1]) * n_bundles;
  auto class_words = [&](std::size_t k) { return View<std::uint64_t>{out.words.data() + k * half, half}; };
  if (work < kWorthThreads || pool_.n_threads() == 1) {
    for (std::size_t k = 0; k < 2; ++k)
      sum_rows(node.begin[k], node.drawn[k], 0, n_bundles, {class_words(k), out.is_packed});
    return;
  }
  const std::size_t parts = 2 * pool_.n_threads();
  if (work < 4 * parts * half) {  // few rows: a histogram a part would cost more than the rows
    const std::size_t together = (n_bundles + 8 * parts - 1) / (8 * parts) * 8;  // eight codes go at a time
    const std::size_t n_parts = (n_bundles + together - 1) / together;
    return pool_.run(2 * n_parts, [&](std::size_t chunk) {
      const std::size_t k = chunk % 2, first = chunk / 2 * together;
      sum_rows(node.begin[k], node.drawn[k], first, std::min(n_bundles, first + together),
               {class_words(k), out.is_packed});
    });
  }
  // Each part has rows of one class and a histogram of its own; the sums are the same whoever adds them.
  std::vector<std::uint64_t> words(parts * out.words.size());
  pool_.run(2 * parts, [&](std::size_t chunk) {
    const std::size_t k = chunk % 2, j = chunk / 2;
    sum_rows(node.begin[k] + j * n_rows_of[k] / parts, node.begin[k] + (j + 1) * n_rows_of[k] / parts, 0,
             n_bundles, {{words.data() + chunk * half, half}, out.is_packed});
  });
  std::copy_n(words.begin(), 2 * half, out.words.begin());
  for (std::size_t j = 1; j < parts; ++j)
    for (std::size_t i = 0; i < 2 * half; ++i) out.words[i] += words[j * 2 * half + i];
}

// Writes the sums of rows [first, last) of the row order, all of one class, to the cells of that class.
void Shard::sum_rows(std::size_t first, std::size_t last, std::size_t first_bundle, std::size_t last_bundle,
                     Cells out) {
  std::visit(
      [&](const auto& table) {
        using Code = typename std::decay_t<decltype(table)>::code_type;
        const RowCodes<Code> codes{table.by_row.data(), n_rows(), stride_of(bundles_.size())};
        const View<const Bundle> bundles{bundles_.data(), bundles_.size()};
        const View<const std::uint32_t> rows{rows_.data() + first, last - first};
        if (unit_)
          sum_unit_rows(codes, layout_, bundles, rows, {fixed_.data() + first, rows.size}, first_bundle,
                        last_bundle, out);
        else
          sum_weighted_rows(codes, layout_, bundles, rows, {cell_of_row_.data(), cell_of_row_.size()},
                            first_bundle, last_bundle, out);
      },
      codes_);
}

void Shard::split(std::int32_t id, std::int32_t left, std::int32_t right, std::size_t column,
                  View<const std::uint8_t> goes_left) {
  const NodeRows node = nodes_[static_cast<std::size_t>(id)];
  nodes_.resize(std::max(nodes_.size(), static_cast<std::size_t>(std::max(left, right)) + 1));
  NodeRows child[2] = {node, node};
  std::visit(
      [&](const auto& table) {
        using Code = typename std::decay_t<decltype(table)>::code_type;
        const Code* codes = table.by_column.data() + column * n_rows();
        auto one = [&](std::size_t k) {
          std::size_t n_left = 0;  // of the drawn rows
          if (some_drawn_)
            for (std::size_t i = node.begin[k]; i < node.drawn[k]; ++i) n_left += goes_left[codes[rows_[i]]];
          child[0].end[k] = child[1].begin[k] =
              partition(codes, goes_left, node.begin[k], node.end[k], row_order(), spare());
          child[0].drawn[k] = some_drawn_ ? node.begin[k] + n_left : child[0].end[k];
          child[1].drawn[k] =
              some_drawn_ ? child[1].begin[k] + (node.drawn[k] - node.begin[k] - n_left) : node.end[k];
        };
        if (node.size(0) + node.size(1) < kWorthThreads) {
          one(0);
          one(1);
        } else {
          pool_.run(2, one);
        }
      },
      codes_);
  nodes_[static_cast<std::size_t>(id)].inner = true;
  gathered_.clear();
  nodes_[static_cast<std::size_t>(left)] = child[0];
  nodes_[static_cast<std::size_t>(right)] = child[1];
}

}  // namespace tada
