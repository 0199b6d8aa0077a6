// SPDX-License-Identifier: Apache-2.0
#include "split.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "blocks.hpp"
#include "candidates.hpp"
#include "fastmath.hpp"

namespace tada {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Left children of thresholds, those of columns that follow each other, to be estimated together.
struct Thresholds {
  struct Run {
    std::size_t column, begin, end;  // those that break no limit
  };
  std::vector<std::uint64_t> mass[2], count;  // by class, as Column::mass and Column::count give them
  std::size_t size = 0;
  std::vector<Run> runs;
  void clear() {
    runs.clear();
    size = 0;
  }
};

// What makes losses of a column's candidates: the masses that they share out, and the factor between their
// risk and that of the node.
struct Terms {
  Totals total;
  double factor;
};

// A candidate whose loss is known.
struct Found {
  double loss;
  std::size_t column;
  std::uint32_t what;
  bool missing_left;
  // Whether it comes before another by the tie rule.
  bool before(const Found& o) const {
    if (column != o.column) return column < o.column;
    return what != o.what ? what < o.what : missing_left > o.missing_left;
  }
};

class Search {
 public:
  // The histogram may still change until columns of it are asked for.
  Search(const Layout& layout, const NodeToSplit& node, const Limits& limits, const RiskEstimate& estimate)
      : layout_(layout),
        histogram_(node.histogram),
        node_{static_cast<double>(node.positive.weight), static_cast<double>(node.negative.weight),
              static_cast<double>(node.positive.count + node.negative.count)},
        rules_(node.rules),
        s_(limits.s),
        smoothing_(limits.smoothing),
        limits_{std::max(1.0, static_cast<double>(limits.min_count)), std::max(1.0, limits.min_mass),
                limits.pure_allowed ? 0.0 : 1.0},
        bounded_risk_(rules_.bounds, limits.s),
        estimate_(estimate),
        noise_(estimate.useful() && rules_.direction.empty() ? estimate.noise() : 0.0) {
    if (!(noise_ > 0.0)) return;
    estimated_.assign(layout_.n_columns(), {});
    threshold_loss_.reset(new float[2 * layout_.size()]);
  }

  // Estimates the least loss of each of columns [first, last), infinity where there is no split, and the loss
  // of each threshold. Columns of few candidates are estimated together: a call a column would cost more than
  // the arithmetic.
  void estimate_columns(std::size_t first, std::size_t last) {
    if (!(noise_ > 0.0)) return;
    RoomForEstimates& room = room_for_estimates();
    Candidates& out = room.candidates;
    Thresholds& thresholds = room.thresholds;
    std::vector<float>& loss = room.loss;
    auto& ends = room.ends;
    const auto finish = [&](const Terms& terms) {
      loss.resize(std::max(loss.size(), out.size));
      estimate_(out.a.data(), out.b.data(), out.count.data(), out.size, terms.total, limits_, loss.data());
      std::size_t begin = 0;
      for (const auto& [column, end] : ends) {
        estimated_[column].least =
            terms.factor * static_cast<double>(least_of(loss.data() + begin, end - begin));
        begin = end;
      }
      ends.clear();
      out.size = 0;
    };
    for (std::size_t c = first; c < last; ++c) {
      if (!allows(c)) continue;
      if (!layout_.is_categorical[c]) {
        histogram_.is_packed ? add<true>(c, thresholds) : add<false>(c, thresholds);
        if (thresholds.size >= kBlock || c + 1 == last || layout_.is_categorical[c + 1]) estimate(thresholds);
        continue;
      }
      if (is_smoothed(c) && out.size > 0) finish(plain());
      const Terms terms = offer_all(c, out);
      ends.emplace_back(c, out.size);
      if (is_smoothed(c) || out.size >= kBlock) finish(terms);
    }
    finish(plain());
    estimate(thresholds);
  }

  // The columns that may have the least loss, and an estimate that it is not above; all of them where there
  // are no estimates, none where there is no split.
  std::vector<std::size_t> in_the_running(double& bound) const {
    std::vector<std::size_t> columns;
    double least = kNever;
    for (const Estimated& column : estimated_) least = std::min(least, column.least);
    bound = least * (1.0 + 2.0 * noise_);
    for (std::size_t c = 0; c < layout_.n_columns(); ++c)
      if (!(noise_ > 0.0) || (estimated_[c].least <= bound && bound < kNever)) columns.push_back(c);
    return columns;
  }

  // Adds those of the column's candidates that may have the least loss of all, among those with an estimate
  // of at most `bound`.
  void evaluate(std::size_t c, double bound, std::vector<Found>& found) const {
    thread_local RoomForLosses of_thread;
    RoomForLosses& room = of_thread;
    Candidates& out = room.candidates;
    std::vector<double>& loss = room.loss;
    out.size = 0;
    if (!allows(c)) return;
    Terms terms = plain();
    if (noise_ > 0.0 && !layout_.is_categorical[c]) {
      histogram_.is_packed ? offer_thresholds<true>(c, bound, out) : offer_thresholds<false>(c, bound, out);
    } else {
      terms = offer_all(c, out);
      if (noise_ > 0.0) keep_below(bound, terms, room.estimate, out);
    }
    loss.resize(std::max(loss.size(), out.size));
    double least = split_block(out.a.data(), out.b.data(), out.count.data(), out.size, terms.total, limits_,
                               s_, loss.data());
    if (!rules_.direction.empty() && (rules_.direction[c] != 0 || !rules_.bounds.open()))
      least = bring_in_order(rules_.direction[c], terms.total, out, loss.data());
    for (std::size_t i = 0; i < out.size; ++i)
      if (loss[i] < kNever && loss[i] <= least * (1.0 + kTie))
        found.push_back({loss[i] * terms.factor, c, out.what[i], out.missing_left[i] != 0});
  }

  Split describe(const Found& found) const {
    Split split;
    split.loss = found.loss;
    split.column = found.column;
    split.missing_left = found.missing_left;
    const Column column = cells(split.column);
    const bool any_missing = column.any(column.n_values);
    const auto take = [&](std::size_t code) {
      split.left_positive += column.positive(code);
      split.left_negative += column.negative(code);
    };
    if (!layout_.is_categorical[split.column]) {
      split.last_left = found.what;
      for (std::size_t code = 0; code <= split.last_left; ++code) take(code);
    } else {
      categories(levels_of(column, node_, smoothing_).codes(), found.what, split);
      const auto left = goes_left(layout_, split);
      for (std::size_t code = 0; code < column.n_values; ++code)
        if (left[code]) take(code);
    }
    if (any_missing && split.missing_left) take(column.n_values);
    if (!any_missing) split.missing_left = left_is_heavier(split);
    split.risk = split.loss;
    if (is_smoothed(split.column)) {
      const auto a = static_cast<double>(split.left_positive.weight),
                 b = static_cast<double>(split.left_negative.weight);
      split.risk = bounded_risk_(a, b) + bounded_risk_(node_.a - a, node_.b - b);
    }
    return split;
  }

 private:
  // Memory that a thread keeps: it is asked for once a call, since each time is a call.
  struct RoomForEstimates {
    Candidates candidates;
    Thresholds thresholds;
    std::vector<float> loss;
    std::vector<std::pair<std::size_t, std::size_t>> ends;  // columns, ends of their candidates
  };
  struct RoomForLosses {
    Candidates candidates;
    std::vector<float> estimate;
    std::vector<double> loss;
  };
  static RoomForEstimates& room_for_estimates() {
    thread_local RoomForEstimates room;
    room.candidates.size = 0;  // a call that ran out of memory may have left some
    room.thresholds.clear();
    room.ends.clear();
    return room;
  }

  bool allows(std::size_t c) const { return rules_.allowed.empty() || rules_.allowed[c] != 0; }

  bool is_smoothed(std::size_t c) const { return layout_.is_categorical[c] && smoothing_ > 0.0; }
  Terms plain() const { return {{node_.a, node_.b, node_.count}, 1.0}; }

  // Adds the column's thresholds, with the missing values on the left; where there are any, the same with
  // them on the right, and they alone there. Of those with the same rows only the lowest: the next one takes
  // its place.
  template <bool kPacked>
  void add(std::size_t c, Thresholds& out) {
    const Column column = cells(c);
    const std::size_t first = out.size, n_values = column.n_values;
    for (auto* v : {&out.mass[0], &out.mass[1], &out.count})
      v->resize(std::max(v->size(), first + 2 * n_values));
    std::uint64_t *mass[2] = {out.mass[0].data(), out.mass[1].data()}, *count = out.count.data();
    std::uint64_t p = 0, q = 0, n = 0;
    std::size_t end = first;
    for (std::size_t v = 0; v + 1 < n_values; ++v) {
      const std::uint64_t positive = column.mass<kPacked>(0, v), negative = column.mass<kPacked>(1, v);
      mass[0][end] = p += positive;
      mass[1][end] = q += negative;
      if constexpr (!kPacked) count[end] = n += column.count<kPacked>(v);
      end += kPacked ? (positive | negative) != 0 : column.any(v);
    }
    const std::size_t start = 2 * layout_.start[out.runs.empty() ? c : out.runs[0].column];
    estimated_[c] = {kNever, start + first, end - first};
    out.size = end;
    if (column.any(n_values)) {
      const auto both_ways = [&](std::uint64_t* left, std::uint64_t of_values, std::uint64_t of_missing) {
        std::copy(left + first, left + end, left + end);
        left[2 * end - first] = of_values;
        for (std::size_t i = first; i < end; ++i) left[i] += of_missing;
      };
      const std::size_t last = n_values - 1;
      both_ways(mass[0], p + column.mass<kPacked>(0, last), column.mass<kPacked>(0, n_values));
      both_ways(mass[1], q + column.mass<kPacked>(1, last), column.mass<kPacked>(1, n_values));
      if (!kPacked) both_ways(count, n + column.count<kPacked>(last), column.count<kPacked>(n_values));
      out.size = 2 * end - first + 1;
      add_run<kPacked>({c, end, out.size}, out);
    }
    add_run<kPacked>({c, first, end}, out);
  }

  template <bool kPacked>
  static Sums sums_of(std::uint64_t p, std::uint64_t q, std::uint64_t n) {
    if (!kPacked) return {static_cast<double>(p), static_cast<double>(q), static_cast<double>(n)};
    const Cell a = unpacked(p), b = unpacked(q);
    return {static_cast<double>(a.weight), static_cast<double>(b.weight),
            static_cast<double>(a.count + b.count)};
  }

  // Counts and masses on the left rise from one threshold to the next, so that those that break no limit
  // follow each other.
  template <bool kPacked>
  void add_run(Thresholds::Run run, Thresholds& out) const {
    const Totals total = plain().total;
    const auto fits = [&](std::size_t i) {
      const Sums left = sums_of<kPacked>(out.mass[0][i], out.mass[1][i], out.count[i]);
      return admits(limits_, total, left.a, left.b, left.count);
    };
    while (run.begin < run.end && !fits(run.begin)) ++run.begin;
    while (run.begin < run.end && !fits(run.end - 1)) --run.end;
    out.runs.push_back(run);
  }

  void estimate(Thresholds& of) {
    if (of.runs.empty()) return;
    float* loss = threshold_loss_.get() + 2 * layout_.start[of.runs[0].column];
    estimate_(of.mass[0].data(), of.mass[1].data(), histogram_.is_packed ? kCountBits : 0, of.size,
              plain().total, loss);
    for (const Thresholds::Run& run : of.runs) {
      const auto least = static_cast<double>(least_of(loss + run.begin, run.end - run.begin));
      estimated_[run.column].least = std::min(estimated_[run.column].least, least);
    }
    of.clear();
  }

  // Adds the thresholds whose estimate is at most `bound`.
  template <bool kPacked>
  void offer_thresholds(std::size_t c, double bound, Candidates& out) const {
    const Column column = cells(c);
    const std::size_t n_values = column.n_values;
    const bool any_missing = column.any(n_values);
    const std::uint64_t missing[3] = {column.mass<kPacked>(0, n_values), column.mass<kPacked>(1, n_values),
                                      column.count<kPacked>(n_values)};
    const float *with_missing = threshold_loss_.get() + estimated_[c].first,
                *without = with_missing + estimated_[c].n_thresholds;
    out.reserve(2 * n_values);
    std::uint64_t p = 0, q = 0, n = 0;
    for (std::size_t v = 0; v < n_values; ++v) {
      const std::uint64_t positive = column.mass<kPacked>(0, v), negative = column.mass<kPacked>(1, v);
      p += positive;
      q += negative;
      n += column.count<kPacked>(v);
      const bool last = v + 1 == n_values;
      if (!last && !(kPacked ? (positive | negative) != 0 : column.any(v))) continue;
      if (!last && static_cast<double>(*with_missing++) <= bound)
        put(out, sums_of<kPacked>(p + missing[0], q + missing[1], n + missing[2]), v, true);
      if (any_missing && static_cast<double>(*without++) <= bound)
        put(out, sums_of<kPacked>(p, q, n), v, false);
    }
  }

  // Leaves those candidates whose estimate is at most `bound`.
  void keep_below(double bound, const Terms& terms, std::vector<float>& loss, Candidates& out) const {
    loss.resize(std::max(loss.size(), out.size));
    estimate_(out.a.data(), out.b.data(), out.count.data(), out.size, terms.total, limits_, loss.data());
    std::size_t n = 0;
    for (std::size_t i = 0; i < out.size; ++i) {
      out.a[n] = out.a[i];
      out.b[n] = out.b[i];
      out.count[n] = out.count[i];
      out.what[n] = out.what[i];
      out.missing_left[n] = out.missing_left[i];
      n += terms.factor * static_cast<double>(loss[i]) <= bound;
    }
    out.size = n;
  }

  // Adds the column's candidates.
  Terms offer_all(std::size_t c, Candidates& out) const {
    const Column column = cells(c);
    if (!layout_.is_categorical[c]) {
      numeric_candidates(column, node_, out);
      return plain();
    }
    const std::size_t first = out.size;
    const Levels levels = levels_of(column, node_, smoothing_);
    level_candidates(levels, out);
    if (!is_smoothed(c)) return plain();
    if (limits_.least_class > 0.0) refuse_pure(first, out);
    // What a split leaves of the smoothed risk it leaves of the node's.
    const double smooth_risk = bounded_risk_(levels.total.a, levels.total.b);
    if (!(smooth_risk > 0.0)) out.size = first;
    return {{levels.total.a, levels.total.b, levels.total.count},
            smooth_risk > 0.0 ? bounded_risk_(node_.a, node_.b) / smooth_risk : 1.0};
  }

  // Candidates with a child of one class, which smoothed masses do not show, become such that are refused.
  void refuse_pure(std::size_t first, Candidates& out) const {
    for (std::size_t i = first; i < out.size; ++i) {
      const double a = out.positive[i], b = out.a[i] + out.b[i] - a;
      if (std::min({a, b, node_.a - a, node_.b - b}) < 1.0) out.count[i] = 0.0;
    }
  }

  // Losses under monotone constraints: splits whose children are out of order are refused, children beyond
  // the bounds have the loss of the bound. The least.
  double bring_in_order(int direction, const Totals& total, const Candidates& of, double* loss) const {
    const Bounds& bounds = rules_.bounds;
    double least = kNever;
    for (std::size_t i = 0; i < of.size; ++i) {
      if (!(loss[i] < kNever)) continue;
      const double a = of.a[i], b = of.b[i], right_a = total.positive - a, right_b = total.negative - b;
      const double rise = bounds.share(right_a, right_b) - bounds.share(a, b);
      if (rise * direction < 0.0)
        loss[i] = kNever;
      else if (!bounds.open())
        loss[i] = bounded_risk_(a, b) + bounded_risk_(right_a, right_b);
      least = std::min(least, loss[i]);
    }
    return least;
  }

  Column cells(std::size_t c) const { return {histogram_, layout_.start[c], layout_.n_codes(c)}; }

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
  const NodeRules& rules_;
  const double s_, smoothing_;
  const ChildLimits limits_;
  const BoundedRisk bounded_risk_;
  const RiskEstimate& estimate_;
  const double noise_;  // a loss is within this share of its estimate; 0: there are no estimates
  struct Estimated {
    double least = kNever;
    std::size_t first = 0, n_thresholds = 0;  // where in threshold_loss_
  };
  std::vector<Estimated> estimated_;
  std::unique_ptr<float[]> threshold_loss_;  // a vector would fill it
};

// The best split after all columns have been estimated.
template <class Count>
Split best_of(const Search& search, Count n_chunks, std::size_t per_chunk, Pool& pool) {
  double bound;
  const std::vector<std::size_t> columns = search.in_the_running(bound);
  std::vector<Found> found;
  if (n_chunks(columns.size()) == 1) {
    for (const std::size_t column : columns) search.evaluate(column, bound, found);
  } else {
    std::vector<std::vector<Found>> part(n_chunks(columns.size()));
    pool.run(part.size(), [&](std::size_t i) {
      for (std::size_t j = i * per_chunk; j < std::min(columns.size(), (i + 1) * per_chunk); ++j)
        search.evaluate(columns[j], bound, part[i]);
    });
    for (const auto& some : part) found.insert(found.end(), some.begin(), some.end());
  }
  double least = kNever;
  for (const Found& x : found) least = std::min(least, x.loss);
  const Found* first = nullptr;
  for (const Found& x : found)
    if (x.loss <= least * (1.0 + kTie) && (first == nullptr || x.before(*first))) first = &x;
  if (first != nullptr) return search.describe(*first);
  Split none;
  none.loss = kNever;
  return none;
}

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

std::vector<Split> best_splits(const Layout& layout, const std::vector<NodeToSplit>& nodes,
                               const Limits& limits, const RiskEstimate& estimate, Pool& pool,
                               const Difference& difference) {
  std::vector<Search> searches;
  searches.reserve(nodes.size());
  for (const NodeToSplit& node : nodes) searches.emplace_back(layout, node, limits, estimate);
  const std::size_t n_columns = layout.n_columns(), n_codes = layout.size() / n_columns + 1;
  const std::size_t per_chunk = 4096 / n_codes + 1;  // a few thousand cells
  const std::size_t together = 512 / n_codes + 1;    // columns whose cells stay in the nearest cache
  const auto n_chunks = [&](std::size_t n) { return (n + per_chunk - 1) / per_chunk; };
  pool.run(n_chunks(n_columns), [&](std::size_t i) {
    const std::size_t end = std::min(n_columns, (i + 1) * per_chunk);
    for (std::size_t first = i * per_chunk, last; first < end; first = last) {
      last = std::min(first + together, end);
      difference.take(layout.start[first], layout.start[last]);
      for (Search& search : searches) search.estimate_columns(first, last);
    }
  });
  std::vector<Split> splits;
  for (const Search& search : searches) splits.push_back(best_of(search, n_chunks, per_chunk, pool));
  return splits;
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
