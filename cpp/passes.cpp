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

std::vector<Shard::Chunk> Shard::chunks_of(View<const std::int32_t> leaves) const {
  std::vector<Chunk> chunks;
  for (std::size_t leaf = 0; leaf < leaves.size; ++leaf) {
    const NodeRows& node = nodes_[static_cast<std::size_t>(leaves[leaf])];
    for (std::size_t k = 0; k < 2; ++k)
      for (std::size_t first = node.begin[k]; first < node.end[k]; first += kChunk)
        chunks.push_back({leaf, k, first, std::min(first + kChunk, node.end[k])});
  }
  return chunks;
}

std::size_t Shard::gather(const std::uint32_t* rows, std::size_t n, double* l) const {
  for (std::size_t i = 0; i < n; ++i) l[i] = log_weight_[rows[i]];
  return n;
}

void Shard::weigh(const std::uint32_t* rows, std::size_t n, double* x) const {
  if (!unit_)
    for (std::size_t i = 0; i < n; ++i) x[i] *= multiplicity_[rows[i]];
}

std::vector<LeafSums> Shard::leaf_sums(View<const std::int32_t> leaves, int exponent) {
  const double inf = fast::kInf;
  LeafSums none;
  none.least = inf;
  none.most = -inf;
  std::vector<LeafSums> sums(2 * leaves.size, none);
  const std::vector<Chunk> chunks = chunks_of(leaves);
  std::vector<LeafSums> part(chunks.size(), none);
  pool_.run(chunks.size(), [&](std::size_t j) {
    const Chunk& chunk = chunks[j];
    LeafSums& out = part[j];
    double l[kBlock], e[kBlock];
    for (std::size_t first = chunk.begin; first < chunk.end; first += kBlock) {
      const std::uint32_t* rows = rows_.data() + first;
      const std::size_t n = gather(rows, std::min(kBlock, chunk.end - first), l);
      for (std::size_t i = 0; i < n; ++i) e[i] = weight_[rows[i]];
      for (std::size_t i = 0; i < n; ++i) {
        const bool on = l[i] > -inf;
        out.least = on && l[i] < out.least ? l[i] : out.least;
        out.most = l[i] > out.most ? l[i] : out.most;
        out.count += count_of(rows[i]);
        if (!on) out.off += count_of(rows[i]);
      }
      weigh(rows, n, e);
      add_block(e, n, exponent, out.weight);
    }
  });
  for (std::size_t j = 0; j < chunks.size(); ++j) {
    LeafSums& out = sums[2 * chunks[j].leaf + chunks[j].k];
    out.weight.merge(part[j].weight);
    out.count += part[j].count;
    out.off += part[j].off;
    out.least = std::min(out.least, part[j].least);
    out.most = std::max(out.most, part[j].most);
  }
  return sums;
}

std::vector<TrialSums> Shard::trial(View<const std::int32_t> leaves, View<const double> value, int exponent,
                                    int slope_exponent, double slope_cap) {
  std::vector<TrialSums> sums(2 * leaves.size);
  const std::vector<Chunk> chunks = chunks_of(leaves);
  std::vector<TrialSums> part(chunks.size());
  pool_.run(chunks.size(), [&](std::size_t j) {
    const Chunk& chunk = chunks[j];
    const double c = chunk.k == 0 ? value[chunk.leaf] : -value[chunk.leaf];
    double l[kBlock], e[kBlock], slope[kBlock];
    for (std::size_t first = chunk.begin; first < chunk.end; first += kBlock) {
      const std::uint32_t* rows = rows_.data() + first;
      const std::size_t n = gather(rows, std::min(kBlock, chunk.end - first), l);
      trial_block(l, n, c, s_, slope_cap, e, slope);
      weigh(rows, n, e);
      weigh(rows, n, slope);
      add_block(e, n, exponent, part[j].weight);
      add_block(slope, n, slope_exponent, part[j].slope);
    }
  });
  for (std::size_t j = 0; j < chunks.size(); ++j) {
    TrialSums& out = sums[2 * chunks[j].leaf + chunks[j].k];
    out.weight.merge(part[j].weight);
    out.slope.merge(part[j].slope);
  }
  return sums;
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
  Moments total;
  total.least = fast::kInf;
  const double cap = log_weight_cap(s_);
  const std::vector<Chunk> chunks = chunks_of(leaves);
  std::vector<Moments> part(chunks.size(), total);
  pool_.run(chunks.size(), [&](std::size_t j) {
    const Chunk& chunk = chunks[j];
    const double y = chunk.k == 0 ? 1.0 : -1.0, move = alpha * value[chunk.leaf];
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
        if (moved[i] >= cap) ++part[j].n_capped;
      }
      tally(rows, n, y, e, e_power, exponent, loss_exponent, part[j]);
    }
  });
  for (const Moments& m : part) total.merge(m);
  return total;
}

}  // namespace tada
