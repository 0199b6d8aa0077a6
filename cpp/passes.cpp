// SPDX-License-Identifier: Apache-2.0
// The passes of a shard over the rows of its leaves: sums before a step, trial steps, the step.
#include <algorithm>
#include <cmath>

#include "blocks.hpp"
#include "shard.hpp"

namespace tada {
namespace {

constexpr std::size_t kChunk = 1 << 14;  // rows a thread takes at a time

}  // namespace

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

// Rows in chunks of (leaf, class), in parallel: f(chunk, sums of the chunk), merged by pair 2 * leaf + class.
template <class Sums, class F>
std::vector<Sums> Shard::by_leaf(View<const std::int32_t> leaves, const Sums& none, F f) {
  std::vector<Chunk> chunks;
  for (std::size_t leaf = 0; leaf < leaves.size; ++leaf) {
    const NodeRows& node = nodes_[static_cast<std::size_t>(leaves[leaf])];
    for (std::size_t k = 0; k < 2; ++k)
      for (std::size_t first = node.begin[k]; first < node.end[k]; first += kChunk)
        chunks.push_back({2 * leaf + k, first, std::min(first + kChunk, node.end[k])});
  }
  std::vector<Sums> part(chunks.size(), none), sums(2 * leaves.size, none);
  // Waking a thread costs more than a small shard's pass.
  const std::size_t together = n_rows() < kChunk ? chunks.size() : 1;
  if (!chunks.empty())
    pool_.run((chunks.size() + together - 1) / together, [&](std::size_t j) {
      for (std::size_t i = j * together; i < std::min(chunks.size(), (j + 1) * together); ++i) f(chunks[i], part[i]);
    });
  for (std::size_t j = 0; j < chunks.size(); ++j) sums[chunks[j].pair].merge(part[j]);
  return sums;
}

std::size_t Shard::gather(const std::uint32_t* rows, std::size_t n, double* l) const {
  for (std::size_t i = 0; i < n; ++i) l[i] = log_weight_[rows[i]];
  return n;
}

void Shard::weigh(const std::uint32_t* rows, std::size_t n, double* x) const {
  if (!unit_)
    for (std::size_t i = 0; i < n; ++i) x[i] *= multiplicity_[rows[i]];
}

std::vector<LeafExtremes> Shard::leaf_extremes(View<const std::int32_t> leaves) {
  LeafExtremes none;
  none.least = fast::kInf;
  none.most = -fast::kInf;
  return by_leaf(leaves, none, [&](const Chunk& chunk, LeafExtremes& out) {
    for (std::size_t i = chunk.begin; i < chunk.end; ++i) {
      const double l = log_weight_[rows_[i]];
      const bool on = l > -fast::kInf;
      out.least = on && l < out.least ? l : out.least;
      out.most = l > out.most ? l : out.most;
      if (!on) out.off += count_of(rows_[i]);
      if (!unit_) out.count += count_of(rows_[i]);
    }
    if (unit_) out.count += chunk.end - chunk.begin;
  });
}

std::vector<ExactSum> Shard::leaf_sums(View<const std::int32_t> leaves, View<const std::int32_t> exponent) {
  return by_leaf(leaves, ExactSum{}, [&](const Chunk& chunk, ExactSum& out) {
    double e[kBlock];
    for (std::size_t first = chunk.begin; first < chunk.end; first += kBlock) {
      const std::uint32_t* rows = rows_.data() + first;
      const std::size_t n = std::min(kBlock, chunk.end - first);
      for (std::size_t i = 0; i < n; ++i) e[i] = weight_[rows[i]];
      weigh(rows, n, e);
      add_block(e, n, exponent[chunk.pair], out);
    }
  });
}

std::vector<TrialSums> Shard::trial(View<const std::int32_t> leaves, View<const double> value,
                                    View<const std::int32_t> exponent, View<const std::int32_t> slope_exponent,
                                    View<const double> slope_cap) {
  return by_leaf(leaves, TrialSums{}, [&](const Chunk& chunk, TrialSums& out) {
    const double v = value[chunk.pair / 2], c = chunk.pair % 2 == 0 ? v : -v;
    double l[kBlock], e[kBlock], slope[kBlock];
    for (std::size_t first = chunk.begin; first < chunk.end; first += kBlock) {
      const std::uint32_t* rows = rows_.data() + first;
      const std::size_t n = gather(rows, std::min(kBlock, chunk.end - first), l);
      trial_block(l, n, c, s_, slope_cap[chunk.pair], e, slope);
      weigh(rows, n, e);
      weigh(rows, n, slope);
      add_block(e, n, exponent[chunk.pair], out.weight);
      add_block(slope, n, slope_exponent[chunk.pair], out.slope);
    }
  });
}

// Adds rows whose weights are e and e_power = e^(2-t) (changed here: times multiplicity) to the moments.
void Shard::tally(const std::uint32_t* rows, std::size_t n, double y, const double* e, double* e_power,
                  int exponent, int loss_exponent, Moments& out) const {
  double weighted[kBlock];
  for (std::size_t i = 0; i < n; ++i) {
    out.least = e_power[i] < out.least ? e_power[i] : out.least;
    out.most = e_power[i] > out.most ? e_power[i] : out.most;
    out.most_weight = e[i] > out.most_weight ? e[i] : out.most_weight;
    weighted[i] = e[i];
  }
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t count = count_of(rows[i]);
    if (y * score_[rows[i]] <= 0.0) out.wrong += count;
    if (log_weight_[rows[i]] == -fast::kInf) {
      out.off += count;
      ++out.n_off;
    }
  }
  weigh(rows, n, weighted);
  weigh(rows, n, e_power);
  const double* fixed = whole_ ? e : weighted;
  for (std::size_t i = 0; i < n; ++i) out.most_fixed = fixed[i] > out.most_fixed ? fixed[i] : out.most_fixed;
  add_block(weighted, n, exponent, out.weight);
  add_block(e_power, n, loss_exponent, out.loss);
}

Moments Shard::step(View<const std::int32_t> leaves, View<const double> value, double alpha, double clip,
                    int exponent, int loss_exponent) {
  Moments none;
  none.least = fast::kInf;
  const double cap = log_weight_cap(s_);
  const auto pairs = by_leaf(leaves, none, [&](const Chunk& chunk, Moments& out) {
    const double y = chunk.pair % 2 == 0 ? 1.0 : -1.0, move = alpha * value[chunk.pair / 2];
    double l[kBlock], moved[kBlock], e[kBlock], e_power[kBlock];
    for (std::size_t first = chunk.begin; first < chunk.end; first += kBlock) {
      const std::uint32_t* rows = rows_.data() + first;
      const std::size_t n = gather(rows, std::min(kBlock, chunk.end - first), l);
      step_block(l, n, y * move, s_, moved, e, e_power);
      for (std::size_t i = 0; i < n; ++i) {
        const double h = score_[rows[i]] + move;
        score_[rows[i]] = h > clip ? clip : (h < -clip ? -clip : h);
        log_weight_[rows[i]] = moved[i];
        weight_[rows[i]] = e[i];
        if (moved[i] >= cap) ++out.n_capped;
      }
      tally(rows, n, y, e, e_power, exponent, loss_exponent, out);
    }
  });
  for (const Moments& m : pairs) none.merge(m);
  return none;
}

}  // namespace tada
