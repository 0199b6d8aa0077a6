// SPDX-License-Identifier: Apache-2.0
// Small kernels for callgrind: instructions.py compiles this with the core and counts what `measured` runs.
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "shard.hpp"
#include "split.hpp"

namespace {

constexpr std::size_t kRows = 20000, kColumns = 12, kCodes = 256;
constexpr double kT = 0.7;  // its weights take a power that is no product

// Whole numbers by arithmetic alone: the same on every machine.
std::uint32_t draw(std::uint32_t& state) { return state = state * 1664525u + 1013904223u, state >> 8; }

struct Rows {
  std::vector<std::uint8_t> codes, positive;
  tada::Layout layout;
  Rows() : codes(kRows * kColumns), positive(kRows) {
    std::uint32_t state = 1;
    for (auto& code : codes) code = static_cast<std::uint8_t>(draw(state) % (kCodes - 1));
    for (std::size_t i = 0; i < kRows; ++i) positive[i] = codes[i] + draw(state) % 256 > 255;
    layout.start.push_back(0);
    for (std::size_t c = 0; c < kColumns; ++c) {
      layout.start.push_back(layout.start.back() + kCodes);
      layout.is_categorical.push_back(0);
    }
  }
};

}  // namespace

extern "C" __attribute__((noinline)) void measured(const std::function<void()>& work) { work(); }

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  auto is = [&](const char* name) { return std::strcmp(argv[1], name) == 0; };
  const Rows rows;
  const tada::View<const std::uint8_t> codes{rows.codes.data(), rows.codes.size()},
      positive{rows.positive.data(), rows.positive.size()};
  tada::Shard shard(codes, rows.layout, positive, {}, {}, true, true, kT, 1);
  shard.begin_tree(20, {});
  tada::Histogram histogram;
  histogram.shape(2 * rows.layout.size(), shard.packs());
  if (is("histogram")) return measured([&] { shard.histogram(0, histogram); }), 0;

  shard.histogram(0, histogram);
  if (is("split")) {
    tada::Cell total[2];
    for (std::size_t k = 0; k < 2; ++k)
      for (std::size_t code = 0; code < kCodes; ++code) total[k] += histogram[k * rows.layout.size() + code];
    tada::Limits limits;
    limits.s = 1.0 - kT;
    limits.min_count = 5;
    const tada::RiskEstimate estimate(limits.s);
    const std::vector<std::int8_t> free;
    tada::Pool pool(1);
    const std::vector<tada::NodeToSplit> nodes{{histogram, total[0], total[1], {{}, free, {}}}};
    measured([&] { tada::best_splits(rows.layout, nodes, limits, estimate, pool, {&histogram, nullptr}); });
    return 0;
  }

  std::vector<std::uint8_t> goes_left(kCodes);
  for (std::size_t code = 0; code < kCodes; ++code) goes_left[code] = code < 100;
  if (is("partition")) return measured([&] { shard.split(0, 1, 2, 0, {goes_left.data(), kCodes}); }), 0;

  shard.split(0, 1, 2, 0, {goes_left.data(), kCodes});
  const std::vector<std::int32_t> leaves{1, 2}, exponents(4, 18);
  const std::vector<double> value{-0.25, 0.375}, caps(4, 1e6);
  const tada::View<const std::int32_t> ids{leaves.data(), 2}, scales{exponents.data(), 4};
  shard.leaf_extremes(ids);
  if (is("trial"))
    return measured([&] { shard.trial(ids, {value.data(), 2}, scales, scales, {caps.data(), 4}); }), 0;
  if (is("step")) return measured([&] { shard.step(ids, {value.data(), 2}, 1.0, 1e300, 18, 18); }), 0;
  return 2;
}
