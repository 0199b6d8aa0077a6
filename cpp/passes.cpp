// SPDX-License-Identifier: Apache-2.0
// The passes of a shard over its rows after a tree has grown: sums by (leaf, class), trial steps, the step.
#include <algorithm>
#include <cmath>

#include "shard.hpp"

namespace tada {

void LeafExtremes::merge(const LeafExtremes& o) {
  count += o.count;
  off += o.off;
  least = std::min(least, o.least);
  most = std::max(most, o.most);
}

void TrialSums::merge(const TrialSums& o) {
  weight.merge(o.weight);
  slope.merge(o.slope);
}

void Moments::merge(const Moments& o) {
  loss.merge(o.loss);
  weight.merge(o.weight);
  least = std::min(least, o.least);
  most = std::max(most, o.most);
  most_weight = std::max(most_weight, o.most_weight);
  most_fixed = std::max(most_fixed, o.most_fixed);
  off += o.off;
  wrong += o.wrong;
  n_off += o.n_off;
  n_capped += o.n_capped;
}

// Calls f(number, chunk) for chunks of the rows of each (leaf, class), in parallel.
template <class F>
void Shard::in_chunks(const std::vector<Chunk>& chunks, F f) {
  // Waking a thread costs more than a small shard's pass.
  const std::size_t together = n_rows() < kRowChunk ? chunks.size() : 1;
  if (chunks.empty()) return;
  pool_.run((chunks.size() + together - 1) / together, [&](std::size_t j) {
    for (std::size_t i = j * together; i < std::min(chunks.size(), (j + 1) * together); ++i) f(i, chunks[i]);
  });
}

std::vector<Shard::Chunk> Shard::chunks_of(View<const std::int32_t> leaves) const {
  std::vector<Chunk> chunks;
  for (std::size_t leaf = 0; leaf < leaves.size; ++leaf) {
    const NodeRows& node = nodes_[static_cast<std::size_t>(leaves[leaf])];
    for (std::size_t k = 0; k < 2; ++k)
      for (std::size_t first = node.begin[k]; first < node.end[k]; first += kRowChunk)
        chunks.push_back({2 * leaf + k, first, std::min(first + kRowChunk, node.end[k])});
  }
  return chunks;
}

// Sums by pair 2 * leaf + class of what f(chunk, sums) adds.
template <class Sums, class F>
std::vector<Sums> Shard::by_leaf(View<const std::int32_t> leaves, const Sums& none, F f) {
  const std::vector<Chunk> chunks = chunks_of(leaves);
  std::vector<Sums> part(chunks.size(), none), sums(2 * leaves.size, none);
  in_chunks(chunks, [&](std::size_t i, const Chunk& chunk) { f(chunk, part[i]); });
  for (std::size_t j = 0; j < chunks.size(); ++j) sums[chunks[j].pair].merge(part[j]);
  return sums;
}

// Adds x[i] times the multiplicity of the i-th row to the sum.
void Shard::add(const Times& times, std::size_t n, const double* x, int exponent, ExactSum& sum) const {
  if (unit_) return add_block(x, n, exponent, sum);
  if (whole_) return add_block(x, times.whole, n, exponent, sum);
  double weighted[kBlock];
  for (std::size_t i = 0; i < n; ++i) weighted[i] = x[i] * times.real[i];
  add_block(weighted, n, exponent, sum);
}

// Multiplicities of the rows at [first, ...) of the row order; of leaves whose states were gathered.
Shard::Times Shard::times_in_leaves(std::size_t first) const {
  return {times_.data() + (times_.empty() ? 0 : first),
          real_times_.data() + (real_times_.empty() ? 0 : first)};
}

// Puts the multiplicities of these rows into the order of the leaves, too.
void Shard::gather_times(const Chunk& chunk) {
  for (std::size_t i = chunk.begin; i < chunk.end && !times_.empty(); ++i)
    times_[i] = static_cast<std::uint32_t>(cell_of_row_[rows_[i]].count);
  for (std::size_t i = chunk.begin; i < chunk.end && !real_times_.empty(); ++i)
    real_times_[i] = multiplicity_[rows_[i]];
}

// e of rows [first, first + n).
void Shard::weights(std::size_t first, std::size_t n, double* e) const {
  if (weight_.empty())
    weight_block(state_.data() + first, n, s_, e);
  else
    std::copy_n(weight_.data() + first, n, e);
}

std::vector<LeafExtremes> Shard::leaf_extremes(View<const std::int32_t> leaves) {
  LeafExtremes none;
  none.least = fast::kInf;
  none.most = -fast::kInf;
  const double off = off_state(s_);
  auto found = by_leaf(leaves, none, [&](const Chunk& chunk, LeafExtremes& out) {
    const std::size_t size = chunk.end - chunk.begin;
    double* state = scratch_.data() + chunk.begin;
    for (std::size_t i = 0; i < size; ++i) state[i] = state_[rows_[chunk.begin + i]];
    gather_times(chunk);
    Range range = range_block(state, size);
    if (range.least == off) {
      range.least = least_above(state, size, off);
      if (range.most == off) range.most = -fast::kInf;
      if (unit_)
        out.off = count_at_most(state, size, off);
      else
        for (std::size_t i = 0; i < size; ++i)
          if (state[i] == off) out.off += count_of(rows_[chunk.begin + i]);
    }
    out.least = range.least;
    out.most = range.most;
    if (unit_)
      out.count = size;
    else
      for (std::size_t i = chunk.begin; i < chunk.end; ++i) out.count += count_of(rows_[i]);
  });
  gathered_.resize(nodes_.size());
  for (auto id : leaves) gathered_[static_cast<std::size_t>(id)] = 1;
  for (LeafExtremes& x : found) {  // states to log weights; where s < 0 a large state is a small weight
    if (x.most == -fast::kInf) continue;
    x.least = log_weight(x.least, s_);
    x.most = log_weight(x.most, s_);
    if (x.least > x.most) std::swap(x.least, x.most);
  }
  return found;
}

std::vector<ExactSum> Shard::leaf_sums(View<const std::int32_t> leaves, View<const std::int32_t> exponent) {
  return by_leaf(leaves, ExactSum{}, [&](const Chunk& chunk, ExactSum& out) {
    double e[kBlock];
    for (std::size_t first = chunk.begin; first < chunk.end; first += kBlock) {
      const std::size_t n = std::min(kBlock, chunk.end - first);
      if (weight_.empty())
        weight_block(scratch_.data() + first, n, s_, e);
      else
        for (std::size_t i = 0; i < n; ++i) e[i] = weight_[rows_[first + i]];
      add(times_in_leaves(first), n, e, exponent[chunk.pair], out);
    }
  });
}

std::vector<TrialSums> Shard::trial(View<const std::int32_t> leaves, View<const double> value,
                                    View<const std::int32_t> exponent,
                                    View<const std::int32_t> slope_exponent, View<const double> slope_cap) {
  return by_leaf(leaves, TrialSums{}, [&](const Chunk& chunk, TrialSums& out) {
    const double v = value[chunk.pair / 2], c = chunk.pair % 2 == 0 ? v : -v;
    double e[kBlock], slope[kBlock];
    for (std::size_t first = chunk.begin; first < chunk.end; first += kBlock) {
      const std::size_t n = std::min(kBlock, chunk.end - first);
      trial_block(scratch_.data() + first, n, c, s_, slope_cap[chunk.pair], e, slope);
      const Times times = times_in_leaves(first);
      add(times, n, e, exponent[chunk.pair], out.weight);
      add(times, n, slope, slope_exponent[chunk.pair], out.slope);
    }
  });
}

// Adds rows [first, first + n) of one class, whose weights are e and e_power = e^(2-t), to the sums and
// counts of the moments. some_off: a weight of them is.
void Shard::tally(std::size_t first, std::size_t n, double y, const double* e, const double* e_power,
                  bool some_off, int exponent, int loss_exponent, Moments& out) const {
  const double* states = state_.data() + first;
  const double* scores = score_.data() + first;
  const double off = off_state(s_);
  std::uint32_t whole[kBlock];
  for (std::size_t i = 0; i < n && whole_ && !unit_; ++i)
    whole[i] = static_cast<std::uint32_t>(cell_of_row_[first + i].count);
  const Times times{whole, multiplicity_.data() + (multiplicity_.empty() ? 0 : first)};
  add(times, n, e, exponent, out.weight);
  add(times, n, e_power, loss_exponent, out.loss);
  if (unit_) {
    out.wrong += y > 0.0 ? count_at_most(scores, n, 0.0) : n - count_below(scores, n, 0.0);
    if (some_off) {
      const std::size_t n_off = count_at_most(states, n, off);
      out.off += n_off;
      out.n_off += n_off;
    }
    return;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t row = first + i;
    if (!whole_) out.most_fixed = std::max(out.most_fixed, e[i] * multiplicity_[row]);
    if (y * scores[i] <= 0.0) out.wrong += cell_of_row_[row].count;
    if (some_off && states[i] == off) {
      out.off += cell_of_row_[row].count;
      out.n_off += n_given_of(row);
    }
  }
}

// Adds the extremes of rows [first, last), whose states lie in `range`: e and e^(2-t) rise or fall with them.
void Shard::note_extremes(std::size_t first, std::size_t last, const Range& range, Moments& out) const {
  const double ends[2] = {range.least, range.most}, none[2] = {0.0, 0.0};
  double same[2], e[2], e_power[2];
  step_block(ends, none, 2, s_, same, e, e_power);
  out.least = std::min({out.least, e_power[0], e_power[1]});
  out.most = std::max({out.most, e_power[0], e_power[1]});
  out.most_weight = std::max({out.most_weight, e[0], e[1]});
  if (whole_) out.most_fixed = std::max(out.most_fixed, out.most_weight);
  const double capped_weight = fast::exp(log_weight_cap(s_)) * (1.0 - 1e-9);
  if (std::max(e[0], e[1]) < capped_weight) return;
  double block[kBlock];
  for (std::size_t i = first; i < last; i += kBlock) {
    const std::size_t n = std::min(kBlock, last - i);
    weights(i, n, block);
    for (std::size_t j = 0; j < n; ++j)
      if (!(block[j] < capped_weight)) out.n_capped += n_given_of(i + j);
  }
}

// Row by row in the order of the shard, so that states and scores stream through memory.
template <class Id>
Moments Shard::step_by_row(View<const std::int32_t> leaves, View<const double> value, double alpha,
                           double clip, int exponent, int loss_exponent, Id* leaf_of_row) {
  in_chunks(chunks_of(leaves), [&](std::size_t, const Chunk& chunk) {
    const std::uint32_t* row = rows_.data();
    const auto leaf = static_cast<Id>(chunk.pair / 2);
    for (std::size_t i = chunk.begin; i < chunk.end; ++i) leaf_of_row[row[i]] = leaf;
  });
  std::vector<double> move(leaves.size);
  for (std::size_t leaf = 0; leaf < leaves.size; ++leaf) move[leaf] = alpha * value[leaf];
  Moments total;
  total.least = fast::kInf;
  const std::size_t n = n_rows(), n_chunks = (n + kRowChunk - 1) / kRowChunk;
  std::vector<Moments> part(n_chunks, total);
  pool_.run(n_chunks, [&](std::size_t chunk) {
    Moments& out = part[chunk];
    double c[kBlock], e_here[kBlock], e_power[kBlock];
    const std::size_t last = std::min(n, (chunk + 1) * kRowChunk);
    Range whole{fast::kInf, -fast::kInf};
    for (std::size_t first = chunk * kRowChunk, size; first < last; first += size) {
      const bool positive = first < n_positive_;
      size = std::min({kBlock, last - first, positive ? n_positive_ - first : n});
      const double y = positive ? 1.0 : -1.0;
      for (std::size_t i = 0; i < size; ++i) {
        const double m = move[leaf_of_row[first + i]], h = score_[first + i] + m;
        score_[first + i] = h > clip ? clip : (h < -clip ? -clip : h);
        c[i] = y * m;
      }
      double* e = weight_.empty() ? e_here : weight_.data() + first;
      step_block(state_.data() + first, c, size, s_, state_.data() + first, e, e_power);
      const Range range = range_block(state_.data() + first, size);
      whole = {std::min(whole.least, range.least), std::max(whole.most, range.most)};
      tally(first, size, y, e, e_power, range.least == off_state(s_), exponent, loss_exponent, out);
    }
    note_extremes(chunk * kRowChunk, last, whole, out);
  });
  for (const Moments& m : part) total.merge(m);
  gathered_.clear();
  most_fixed_ = total.most_fixed;
  return total;
}

Moments Shard::step(View<const std::int32_t> leaves, View<const double> value, double alpha, double clip,
                    int exponent, int loss_exponent) {
  if (leaves.size <= 256)
    return step_by_row(leaves, value, alpha, clip, exponent, loss_exponent,
                       reinterpret_cast<std::uint8_t*>(scratch_.data()));
  return step_by_row(leaves, value, alpha, clip, exponent, loss_exponent,
                     reinterpret_cast<std::uint32_t*>(scratch_.data()));
}

}  // namespace tada
