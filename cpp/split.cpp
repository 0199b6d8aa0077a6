// SPDX-License-Identifier: Apache-2.0
#include "split.hpp"

#include <algorithm>
#include <cmath>
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
  std::vector<double> positive;     // categorical: what `a` is before smoothing
  std::vector<std::uint32_t> what;  // numeric: last code that goes left; categorical: mask or prefix length
  std::vector<std::uint8_t> missing_left;
  std::vector<double> loss;
  std::size_t size = 0;

  std::vector<std::uint64_t> word[2];  // packed sums of the left child by class, on the way to a, b, count

  std::vector<float> estimate;      // of the loss
  std::vector<std::uint32_t> near;  // candidates that the estimate leaves in the running
  void reserve(std::size_t n) {
    size = 0;
    if (a.size() >= n) return;
    estimate.resize(n);
    near.resize(n + 1);
    for (auto* v : {&a, &b, &count, &positive, &loss}) v->resize(n);
    for (auto& v : word) v.resize(n);
    what.resize(n);
    missing_left.resize(n);
  }
  // Whether candidate i comes before j by the tie rule.
  bool before(std::size_t i, std::size_t j) const {
    return what[i] != what[j] ? what[i] < what[j] : missing_left[i] > missing_left[j];
  }
};

struct Sums {
  double a = 0.0, b = 0.0, count = 0.0;
  double positive = a;  // what `a` is before smoothing; a + b stays
  Sums& operator+=(const Sums& o) {
    return a += o.a, b += o.b, count += o.count, positive += o.positive, *this;
  }
};

struct Column {
  const Histogram& histogram;
  std::size_t start;     // of the positive cells; those of the other class come half a histogram later
  std::size_t n_values;  // the missing code is n_values
  Cell positive(std::size_t code) const { return histogram[start + code]; }
  Cell negative(std::size_t code) const { return histogram[histogram.size() / 2 + start + code]; }
  bool any(std::size_t code) const { return (positive(code).count | negative(code).count) != 0; }
  Sums sums(std::size_t code) const {
    const Cell p = positive(code), n = negative(code);
    return {static_cast<double>(p.weight), static_cast<double>(n.weight),
            static_cast<double>(p.count + n.count)};
  }
};

struct Level {
  std::uint32_t code;
  Sums sums;
  double share;  // of positive mass, by which levels are sorted
};

// Levels of the node; more than kAllSubsets of them are sorted by their share of positive mass.
struct Levels {
  std::vector<Level> present;
  Sums missing, total;  // the total: of the levels and of the missing values
  bool any_missing = false;
  std::size_t size() const { return present.size(); }
  std::vector<std::uint32_t> codes() const {
    std::vector<std::uint32_t> codes;
    for (const Level& level : present) codes.push_back(level.code);
    return codes;
  }
};

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

void put(Candidates& out, const Sums& left, std::size_t what, bool missing_left) {
  out.a[out.size] = left.a;
  out.b[out.size] = left.b;
  out.count[out.size] = left.count;
  out.positive[out.size] = left.positive;
  out.what[out.size] = static_cast<std::uint32_t>(what);
  out.missing_left[out.size++] = missing_left;
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

// The left children of thresholds, missing values apart. Of thresholds with the same rows only the lowest:
// the next one takes its place.
void scan(const Column& column, Candidates& out) {
  const std::size_t last = column.n_values - 1, half = column.histogram.words.size() / 2;
  const std::uint64_t* words = column.histogram.words.data();
  std::size_t n = 0;
  if (column.histogram.is_packed) {
    const std::uint64_t *positive = words + column.start, *negative = positive + half;
    std::uint64_t p = 0, q = 0;
    for (std::size_t v = 0; v < last; ++v) {
      out.word[0][n] = p += positive[v];
      out.word[1][n] = q += negative[v];
      out.what[n] = static_cast<std::uint32_t>(v);
      n += (positive[v] | negative[v]) != 0;
    }
    unpack_block(out.word[0].data(), out.word[1].data(), n, out.a.data(), out.b.data(), out.count.data());
  } else {
    Sums left;
    for (std::size_t v = 0; v < last; ++v) {
      left += column.sums(v);
      out.a[n] = left.a;
      out.b[n] = left.b;
      out.count[n] = left.count;
      out.what[n] = static_cast<std::uint32_t>(v);
      n += column.any(v);
    }
  }
  std::fill_n(out.missing_left.begin(), n, std::uint8_t{1});
  out.size = n;
}

// Thresholds with the missing values left; where there are any, the same with them right, and they alone
// right.
void numeric_candidates(const Column& column, const Sums& total, Candidates& out) {
  out.reserve(2 * column.n_values + 1);
  scan(column, out);
  if (!column.any(column.n_values)) return;
  const Sums missing = column.sums(column.n_values);
  const std::size_t n = out.size;
  for (std::size_t i = 0; i < n; ++i) {
    put(out, {out.a[i], out.b[i], out.count[i]}, out.what[i], false);
    out.a[i] += missing.a;
    out.b[i] += missing.b;
    out.count[i] += missing.count;
  }
  put(out, {total.a - missing.a, total.b - missing.b, total.count - missing.count}, column.n_values - 1,
      false);
}

void subset_candidates(const Levels& levels, Candidates& out) {
  const std::size_t k = levels.size(), n_masks = std::size_t{1} << (k - 1);
  out.reserve(2 * n_masks);
  for (std::size_t mask = 0; mask < n_masks; ++mask) {
    Sums left = levels.present[0].sums;
    for (std::size_t i = 1; i < k; ++i)
      if (!(mask >> (i - 1) & 1)) left += levels.present[i].sums;
    offer(levels, out, left, mask, mask == 0);
  }
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

class Search {
 public:
  Search(const Layout& layout, const Histogram& histogram, const Cell& positive, const Cell& negative,
         const Limits& limits, const NodeRules& rules)
      : layout_(layout),
        histogram_(histogram),
        node_{static_cast<double>(positive.weight), static_cast<double>(negative.weight),
              static_cast<double>(positive.count + negative.count)},
        limits_(limits),
        rules_(rules),
        bounded_risk_(rules.bounds, limits.s) {}

  // Fills `out` with the column's candidates and their losses; the least of them.
  double evaluate(std::size_t c, Candidates& out) const {
    const Column column = cells(c);
    out.size = 0;
    if (!layout_.is_categorical[c]) {
      numeric_candidates(column, node_, out);
      return losses(c, node_, out);
    }
    const Levels levels = levels_of(column, node_, limits_.smoothing);
    if (levels.size() > kAllSubsets)
      prefix_candidates(levels, out);
    else if (levels.size() > 0)
      subset_candidates(levels, out);
    if (!(limits_.smoothing > 0.0)) return losses(c, node_, out);
    // What a split leaves of the smoothed risk it leaves of the node's.
    const double smooth_risk = bounded_risk_(levels.total.a, levels.total.b);
    if (!limits_.pure_allowed) refuse_pure(out);
    if (!(smooth_risk > 0.0)) return out.size = 0, kNever;
    const double factor = bounded_risk_(node_.a, node_.b) / smooth_risk;
    const double least = losses(c, levels.total, out) * factor;
    for (std::size_t i = 0; i < out.size; ++i) out.loss[i] *= factor;
    return least;
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
      categories(levels_of(column, node_, limits_.smoothing).codes(), what, split);
    const bool any_missing = column.any(column.n_values);
    const auto left = goes_left(layout_, split);
    for (std::size_t code = 0; code <= column.n_values; ++code)
      if (left[code] && (code < column.n_values || any_missing)) {
        split.left_positive += column.positive(code);
        split.left_negative += column.negative(code);
      }
    if (!any_missing) split.missing_left = left_is_heavier(split);
    split.risk = split.loss;
    if (layout_.is_categorical[c] && limits_.smoothing > 0.0) {
      const auto a = static_cast<double>(split.left_positive.weight),
                 b = static_cast<double>(split.left_negative.weight);
      split.risk = bounded_risk_(a, b) + bounded_risk_(node_.a - a, node_.b - b);
    }
    return split;
  }

 private:
  double losses(std::size_t c, const Sums& sums, Candidates& out) const {
    const Totals total{sums.a, sums.b, sums.count};
    const ChildLimits limits{std::max(1.0, static_cast<double>(limits_.min_count)),
                             std::max(1.0, limits_.min_mass), limits_.pure_allowed ? 0.0 : 1.0};
    if (!rules_.direction.empty() && (rules_.direction[c] != 0 || !rules_.bounds.open()))
      return losses_in_order(rules_.direction[c], total, limits, out);
    return least_of(out, total, limits);
  }

  // Candidates with a child of one class, which smoothed masses do not show, become such that are refused.
  void refuse_pure(Candidates& out) const {
    for (std::size_t i = 0; i < out.size; ++i) {
      const double a = out.positive[i], b = out.a[i] + out.b[i] - a;
      if (std::min({a, b, node_.a - a, node_.b - b}) < 1.0) out.count[i] = 0.0;
    }
  }

  // Losses of the candidates that an estimate leaves in the running (the others: infinite), and the least.
  double least_of(Candidates& out, const Totals& total, const ChildLimits& limits) const {
    const double noise = split_noise(limits_.s);
    if (!(noise < kNever)) return all_losses(out, total, limits);
    const float estimate = estimate_block(out.a.data(), out.b.data(), out.count.data(), out.size, total,
                                          limits, limits_.s, out.estimate.data());
    const float bound = static_cast<float>(estimate * (1.0 + 2.0 * noise));
    std::fill_n(out.loss.begin(), out.size, kNever);
    if (!(bound < std::numeric_limits<float>::infinity())) return kNever;
    std::size_t n = 0;
    for (std::size_t i = 0; i < out.size; ++i) {
      out.near[n] = static_cast<std::uint32_t>(i);
      n += out.estimate[i] <= bound;
    }
    double least = kNever;
    for (std::size_t first = 0; first < n; first += kBlock) {
      const std::size_t size = std::min(kBlock, n - first);
      double a[kBlock], b[kBlock], count[kBlock], loss[kBlock];
      for (std::size_t i = 0; i < size; ++i) {
        const std::size_t from = out.near[first + i];
        a[i] = out.a[from];
        b[i] = out.b[from];
        count[i] = out.count[from];
      }
      least = std::min(least, split_block(a, b, count, size, total, limits, limits_.s, loss));
      for (std::size_t i = 0; i < size; ++i) out.loss[out.near[first + i]] = loss[i];
    }
    return least;
  }

  double all_losses(Candidates& out, const Totals& total, const ChildLimits& limits) const {
    return split_block(out.a.data(), out.b.data(), out.count.data(), out.size, total, limits, limits_.s,
                       out.loss.data());
  }

  // Losses under monotone constraints: splits whose children are out of order are refused, children beyond
  // the bounds have the loss of the bound. The least.
  double losses_in_order(int direction, const Totals& total, const ChildLimits& limits,
                         Candidates& out) const {
    const Bounds& bounds = rules_.bounds;
    all_losses(out, total, limits);
    double least = kNever;
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

  Column cells(std::size_t c) const { return {histogram_, layout_.start[c], layout_.n_codes(c) - 1}; }

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
    return 2.0 * static_cast<double>(split.left_positive.count + split.left_negative.count) >= node_.count;
  }

  const Layout& layout_;
  const Histogram& histogram_;
  const Sums node_;
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
    std::size_t first = candidates.size;
    for (std::size_t i = 0; i < candidates.size; ++i)
      if (candidates.loss[i] <= bound && (first == candidates.size || candidates.before(i, first))) first = i;
    if (first < candidates.size) return search.describe(c, candidates, first);
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
