// SPDX-License-Identifier: Apache-2.0
#include "candidates.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace tada {
namespace {

// A level as the split search sees it: its share of positive mass is taken towards that of the node as if
// `smoothing` further rows had said so. Masses are whole again, so that sums are exact; the share is not made
// of them and is rounded, so that levels of one class and as many rows tie however their weights were
// rounded.
Level seen(std::uint32_t code, Sums sums, double node_share, double smoothing) {
  const double mass = sums.a + sums.b, share = mass > 0.0 ? sums.a / mass : 0.0;
  if (!(smoothing > 0.0)) return {code, sums, share};
  const double expected = mass * node_share, trust = sums.count / (sums.count + smoothing);
  sums.a = std::min(mass, std::floor(expected + trust * (sums.a - expected) + 0.5));
  sums.b = mass - sums.a;
  return {code, sums, std::floor((node_share + trust * (share - node_share)) * 0x1p30 + 0.5)};
}

// A candidate, or two where the node has missing values: missing left, missing right. Without a right-hand
// side (`all`) only missing against the rest is a split.
void offer(const Levels& levels, Candidates& out, const Sums& left, std::size_t what, bool all = false) {
  if (!all) {
    Sums with = left;
    put(out, with += levels.missing, what, true);
  }
  if (levels.any_missing) put(out, left, what, false);
}

// The left children of a column's thresholds, missing values apart. Of thresholds with the same rows only the
// lowest: the next one takes its place.
void scan(const Column& column, Candidates& out) {
  const std::size_t first = out.size;
  std::size_t n = first;
  for (std::size_t v = 0; v + 1 < column.n_values; ++v) {
    const Sums left = column.sums(v);
    out.a[n] = left.a;
    out.b[n] = left.b;
    out.count[n] = left.count;
    out.what[n] = static_cast<std::uint32_t>(v);
    n += column.any_at(v);
  }
  std::fill_n(out.missing_left.data() + first, n - first, std::uint8_t{1});
  out.size = n;
}

void subset_candidates(const Levels& levels, Candidates& out) {
  const std::size_t k = levels.size(), n_masks = std::size_t{1} << (k - 1);
  std::array<Sums, std::size_t{1} << (kAllSubsets - 1)> left;  // by the mask of what goes right; exact
  left[0] = {};
  for (const Level& level : levels.present) left[0] += level.sums;
  for (std::size_t i = 1; i < k; ++i)
    for (std::size_t mask = 0, bit = std::size_t{1} << (i - 1); mask < bit; ++mask)
      left[mask | bit] = left[mask] - levels.present[i].sums;
  out.reserve(2 * n_masks);
  for (std::size_t mask = 0; mask < n_masks; ++mask) offer(levels, out, left[mask], mask, mask == 0);
}

void prefix_candidates(const Levels& levels, Candidates& out) {
  out.reserve(2 * levels.size() + 1);
  if (levels.any_missing) put(out, levels.missing, 0, true);  // against all levels
  Sums left;
  for (std::size_t i = 0; i + 1 < levels.size(); ++i) {
    left += levels.present[i].sums;
    offer(levels, out, left, i + 1);
  }
}

}  // namespace

void put(Candidates& out, const Sums& left, std::size_t what, bool missing_left) {
  out.a[out.size] = left.a;
  out.b[out.size] = left.b;
  out.count[out.size] = left.count;
  out.positive[out.size] = left.positive;
  out.what[out.size] = static_cast<std::uint32_t>(what);
  out.missing_left[out.size++] = missing_left;
}

Levels levels_of(const Column& column, const Sums& node, double smoothing) {
  Levels levels;
  auto take = [&](std::size_t code) {
    const Level level =
        seen(static_cast<std::uint32_t>(code), column.sums(code), node.a / (node.a + node.b), smoothing);
    levels.total += level.sums;
    return level;
  };
  for (std::size_t v = 0; v < column.n_values; ++v)
    if (column.any(v)) levels.present.push_back(take(v));
  levels.any_missing = column.any(column.n_values);
  if (levels.any_missing) levels.missing = take(column.n_values).sums;
  if (levels.size() > kAllSubsets)
    std::stable_sort(levels.present.begin(), levels.present.end(),
                     [](const Level& u, const Level& v) { return u.share < v.share; });
  return levels;
}

void numeric_candidates(const Column& column, const Sums& total, Candidates& out) {
  out.reserve(2 * column.n_values + 1);
  const std::size_t first = out.size;
  scan(column, out);
  if (!column.any(column.n_values)) return;
  const Sums missing = column.sums(column.n_values);
  const std::size_t last = out.size;
  for (std::size_t i = first; i < last; ++i) {
    put(out, {out.a[i], out.b[i], out.count[i]}, out.what[i], false);
    out.a[i] += missing.a;
    out.b[i] += missing.b;
    out.count[i] += missing.count;
  }
  put(out, {total.a - missing.a, total.b - missing.b, total.count - missing.count}, column.n_values - 1,
      false);
}

void level_candidates(const Levels& levels, Candidates& out) {
  if (levels.size() > kAllSubsets)
    prefix_candidates(levels, out);
  else if (levels.size() > 0)
    subset_candidates(levels, out);
}

}  // namespace tada
