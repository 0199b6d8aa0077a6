// SPDX-License-Identifier: Apache-2.0
#include "split.hpp"

#include <algorithm>
#include <limits>

#include "blocks.hpp"
#include "fastmath.hpp"

namespace tada {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::size_t kAllSubsets = 8;  // up to this many levels in the node every subset is tried

// The left children that a column offers, in the order of the tie rule. Sums as doubles (whole, below 2^53).
struct Candidates {
  std::vector<double> a, b, count;  // masses and multiplicity of the left child
  std::vector<std::uint32_t> what;  // numeric: last code that goes left; categorical: mask or prefix length
  std::vector<std::uint8_t> missing_left;
  std::vector<double> loss;
  std::size_t size = 0;

  void reserve(std::size_t n) {
    size = 0;
    if (a.size() >= n) return;
    for (auto* v : {&a, &b, &count, &loss}) v->resize(n);
    what.resize(n);
    missing_left.resize(n);
  }
};

struct Sums {
  double a = 0.0, b = 0.0, count = 0.0;
  Sums& operator+=(const Sums& o) { return a += o.a, b += o.b, count += o.count, *this; }
};

struct Column {
  const Cell* positive;
  const Cell* negative;
  std::size_t n_values;  // the missing code is n_values
  bool any(std::size_t code) const { return (positive[code].count | negative[code].count) != 0; }
  Sums sums(std::size_t code) const {
    return {static_cast<double>(positive[code].weight), static_cast<double>(negative[code].weight),
            static_cast<double>(positive[code].count + negative[code].count)};
  }
};

// Levels of the node; more than kAllSubsets of them are sorted by their share of positive mass.
std::vector<std::uint32_t> present_levels(const Column& column) {
  std::vector<std::uint32_t> levels;
  for (std::size_t v = 0; v < column.n_values; ++v)
    if (column.any(v)) levels.push_back(static_cast<std::uint32_t>(v));
  if (levels.size() > kAllSubsets) {
    auto share = [&](std::uint32_t v) {
      const double p = static_cast<double>(column.positive[v].weight);
      const double mass = p + static_cast<double>(column.negative[v].weight);
      return mass > 0.0 ? p / mass : 0.0;
    };
    std::stable_sort(levels.begin(), levels.end(), [&](auto u, auto v) { return share(u) < share(v); });
  }
  return levels;
}

// A candidate, or two where the node has missing values: missing left, missing right. Without a right-hand
// side
// (`all`) only missing against the rest is a split.
void offer(const Column& column, Candidates& out, const Sums& left, std::size_t what, bool all = false) {
  auto put = [&](const Sums& sums, bool missing_left) {
    out.a[out.size] = sums.a;
    out.b[out.size] = sums.b;
    out.count[out.size] = sums.count;
    out.what[out.size] = static_cast<std::uint32_t>(what);
    out.missing_left[out.size++] = missing_left;
  };
  const bool any_missing = column.any(column.n_values);
  if (!all) {
    Sums with = left;
    if (any_missing) with += column.sums(column.n_values);
    put(with, true);
  }
  if (any_missing) put(left, false);
}

void numeric_candidates(const Column& column, Candidates& out) {
  const std::size_t last = column.n_values - 1;
  out.reserve(2 * column.n_values + 1);
  Sums left;
  if (!column.any(column.n_values)) {
    std::size_t n = 0;
    for (std::size_t v = 0; v < last; ++v) {
      left += column.sums(v);
      out.a[n] = left.a;
      out.b[n] = left.b;
      out.count[n] = left.count;
      out.what[n] = static_cast<std::uint32_t>(v);
      n += column.any(v);  // else the same rows as the threshold before: the next one takes its place
    }
    std::fill_n(out.missing_left.begin(), n, std::uint8_t{1});
    out.size = n;
    return;
  }
  for (std::size_t v = 0; v <= last; ++v) {
    if (!column.any(v) && v < last) continue;
    left += column.sums(v);
    offer(column, out, left, v, v == last);
  }
}

void subset_candidates(const Column& column, const std::vector<std::uint32_t>& levels, Candidates& out) {
  const std::size_t k = levels.size(), n_masks = std::size_t{1} << (k - 1);
  out.reserve(2 * n_masks);
  for (std::size_t mask = 0; mask < n_masks; ++mask) {
    Sums left = column.sums(levels[0]);
    for (std::size_t i = 1; i < k; ++i)
      if (!(mask >> (i - 1) & 1)) left += column.sums(levels[i]);
    offer(column, out, left, mask, mask == 0);
  }
}

void prefix_candidates(const Column& column, const std::vector<std::uint32_t>& levels, Candidates& out) {
  out.reserve(2 * levels.size() + 1);
  Sums left;
  for (auto v : levels) left += column.sums(v);
  offer(column, out, left, levels.size(), true);
  left = Sums{};
  for (std::size_t i = 0; i + 1 < levels.size(); ++i) {
    left += column.sums(levels[i]);
    offer(column, out, left, i + 1);
  }
}

class Search {
 public:
  Search(const Layout& layout, const Histogram& histogram, const Cell& positive, const Cell& negative,
         const Limits& limits, const NodeRules& rules)
      : layout_(layout),
        histogram_(histogram),
        positive_(positive),
        negative_(negative),
        limits_(limits),
        rules_(rules),
        bounded_risk_(rules.bounds, limits.s) {}

  // Fills `out` with the column's candidates and their losses; the least of them.
  double evaluate(std::size_t c, Candidates& out) const {
    const Column column = cells(c);
    out.size = 0;
    if (!layout_.is_categorical[c]) {
      numeric_candidates(column, out);
    } else {
      const auto levels = present_levels(column);
      if (levels.size() > kAllSubsets)
        prefix_candidates(column, levels, out);
      else if (!levels.empty())
        subset_candidates(column, levels, out);
    }
    const Totals total{static_cast<double>(positive_.weight), static_cast<double>(negative_.weight),
                       static_cast<double>(positive_.count + negative_.count)};
    const ChildLimits limits{std::max(1.0, static_cast<double>(limits_.min_count)),
                             std::max(1.0, limits_.min_mass), limits_.pure_allowed ? 0.0 : 1.0};
    const double least = split_block(out.a.data(), out.b.data(), out.count.data(), out.size, total, limits,
                                     limits_.s, out.loss.data());
    return rules_.direction.empty() ? least : keep_order(c, total, out, least);
  }

  Split describe(std::size_t c, const Candidates& candidates, std::size_t i) const {
    Split split;
    split.loss = candidates.loss[i];
    split.column = c;
    split.missing_left = candidates.missing_left[i] != 0;
    const std::size_t what = candidates.what[i];
    const Column column = cells(c);
    if (!layout_.is_categorical[c])
      split.last_left = what;
    else
      categories(present_levels(column), what, split);
    const bool any_missing = column.any(column.n_values);
    const auto left = goes_left(layout_, split);
    for (std::size_t code = 0; code <= column.n_values; ++code)
      if (left[code] && (code < column.n_values || any_missing)) {
        split.left_positive += column.positive[code];
        split.left_negative += column.negative[code];
      }
    if (!any_missing) split.missing_left = left_is_heavier(split);
    return split;
  }

 private:
  // Refuses splits whose children are out of order and gives children beyond the bounds the loss of the
  // bound; the least loss then.
  double keep_order(std::size_t c, const Totals& total, Candidates& out, double least) const {
    const int direction = rules_.direction[c];
    const Bounds& bounds = rules_.bounds;
    if (direction == 0 && bounds.open()) return least;
    least = kNever;
    for (std::size_t i = 0; i < out.size; ++i) {
      if (!(out.loss[i] < kNever)) continue;
      const double a = out.a[i], b = out.b[i], right_a = total.positive - a, right_b = total.negative - b;
      const double rise = bounds.share(right_a, right_b) - bounds.share(a, b);
      if (rise * direction < 0.0)
        out.loss[i] = kNever;
      else if (!bounds.open())
        out.loss[i] = bounded_risk_(a, b) + bounded_risk_(right_a, right_b);
      least = std::min(least, out.loss[i]);
    }
    return least;
  }

  Column cells(std::size_t c) const {
    const Cell* first = histogram_.data() + layout_.start[c];
    return {first, first + layout_.size(), layout_.n_codes(c) - 1};
  }

  // Turns a mask or a prefix into the codes that go right: the side without the lowest level present.
  void categories(std::vector<std::uint32_t> levels, std::size_t what, Split& split) const {
    if (levels.size() <= kAllSubsets) {
      for (std::size_t i = 1; i < levels.size(); ++i)
        if (what >> (i - 1) & 1) split.right_codes.push_back(levels[i]);
      return;
    }
    const auto middle = levels.begin() + static_cast<std::ptrdiff_t>(what);
    const auto lowest = std::min_element(levels.begin(), levels.end());
    const bool swap = lowest >= middle;
    split.right_codes.assign(swap ? levels.begin() : middle, swap ? middle : levels.end());
    std::sort(split.right_codes.begin(), split.right_codes.end());
    if (swap) split.missing_left = !split.missing_left;
  }

  bool left_is_heavier(const Split& split) const {
    const std::uint64_t left = split.left_positive.count + split.left_negative.count;
    return 2 * left >= positive_.count + negative_.count;
  }

  const Layout& layout_;
  const Histogram& histogram_;
  const Cell positive_, negative_;
  const Limits& limits_;
  const NodeRules& rules_;
  const BoundedRisk bounded_risk_;
};

}  // namespace

BoundedRisk::BoundedRisk(const Bounds& bounds, double s) : bounds_(bounds), s_(s) {
  auto tangent = [&](double p, double* at) {
    const double mean = risk(p, 1.0 - p, s) / 2.0;
    // A bound of 0 or 1 forbids one class; the loss of the other does not matter then.
    at[0] = p >= 1.0 ? 0.0 : p <= 0.0 ? kNever : fast::exp((1.0 + s) * fast::log(mean / p));
    at[1] = p <= 0.0 ? 0.0 : p >= 1.0 ? kNever : fast::exp((1.0 + s) * fast::log(mean / (1.0 - p)));
  };
  if (bounds.low > 0.0) tangent(bounds.low, at_low_);
  if (bounds.high < 1.0) tangent(bounds.high, at_high_);
}

double BoundedRisk::operator()(double a, double b) const {
  const double share = a / (a + b);
  if (share < bounds_.low) return a * at_low_[0] + b * at_low_[1];
  if (share > bounds_.high) return a * at_high_[0] + b * at_high_[1];
  return risk(a, b, s_);
}

Split best_split(const Layout& layout, const Histogram& histogram, const Cell& positive, const Cell& negative,
                 const Limits& limits, const NodeRules& rules, Pool& pool) {
  const Search search(layout, histogram, positive, negative, limits, rules);
  const std::size_t n_columns = layout.n_columns();
  std::vector<double> least(n_columns, kNever);
  const std::size_t per_chunk = 4096 / (layout.size() / n_columns + 1) + 1;  // a few thousand cells a chunk
  pool.run((n_columns + per_chunk - 1) / per_chunk, [&](std::size_t chunk) {
    thread_local Candidates candidates;
    for (std::size_t c = chunk * per_chunk; c < std::min(n_columns, (chunk + 1) * per_chunk); ++c)
      if (rules.allowed.empty() || rules.allowed[c]) least[c] = search.evaluate(c, candidates);
  });

  Split none;
  none.loss = kNever;
  const double bound = *std::min_element(least.begin(), least.end()) * (1.0 + kTie);
  if (!(bound < kNever)) return none;
  Candidates candidates;
  for (std::size_t c = 0; c < n_columns; ++c) {
    if (!(least[c] <= bound)) continue;
    search.evaluate(c, candidates);
    for (std::size_t i = 0; i < candidates.size; ++i)
      if (candidates.loss[i] <= bound) return search.describe(c, candidates, i);
  }
  return none;
}

std::vector<std::uint8_t> goes_left(const Layout& layout, const Split& split) {
  const std::size_t n_codes = layout.n_codes(split.column);
  std::vector<std::uint8_t> left(n_codes, 1);
  if (layout.is_categorical[split.column])
    for (auto code : split.right_codes) left[code] = 0;
  else
    std::fill(left.begin() + static_cast<std::ptrdiff_t>(split.last_left) + 1, left.end() - 1,
              std::uint8_t{0});
  left.back() = split.missing_left;
  return left;
}

}  // namespace tada
