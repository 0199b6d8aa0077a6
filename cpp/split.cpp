// SPDX-License-Identifier: Apache-2.0
#include "split.hpp"

#include <algorithm>
#include <array>
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
        positive_(node.positive),
        negative_(node.negative),
        rules_(node.rules),
        s_(limits.s),
        smoothing_(limits.smoothing),
        limits_{std::max(1.0, static_cast<double>(limits.min_count)), std::max(1.0, limits.min_mass),
                limits.pure_allowed ? 0.0 : 1.0},
        least_count_(std::max(std::uint64_t{1}, limits.min_count)),
        least_mass_(static_cast<std::uint64_t>(std::ceil(limits_.least_mass))),
        least_class_(limits.pure_allowed ? 0 : 1),
        bounded_risk_(rules_.bounds, limits.s),
        estimate_(estimate),
        noise_(estimate.useful() && rules_.direction.empty() ? estimate.noise() : 0.0),
        is_sparse_(histogram_.is_packed && estimate.is_dear() &&
                   node_.count * static_cast<double>(layout.n_columns()) <
                       static_cast<double>(layout.size())) {
    if (!(noise_ > 0.0)) return;
    estimated_.assign(layout_.n_columns(), {});
    threshold_loss_.reset(new float[2 * layout_.size()]);
  }

  // Estimates the least loss of each of columns [first, last), infinity where there is no split, and the loss
  // of each threshold. Columns of few candidates are estimated together: a call a column would cost more than
  // the arithmetic.
  void estimate_columns(std::size_t first, std::size_t last) {
    if (!(noise_ > 0.0)) return;
    RoomForEstimates& room = room_of_thread();
    Candidates& out = room.candidates;
    std::vector<float>& loss = room.loss;
    auto& ends = room.ends;
    out.size = 0;  // a call that ran out of memory may have left some
    ends.clear();
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
      if (!layout_.is_categorical[c]) {  // their cells lie side by side
        const std::size_t begin = c;
        while (c + 1 < last && allows(c + 1) && !layout_.is_categorical[c + 1]) ++c;
        estimate_thresholds(begin, c + 1);
        continue;
      }
      if (is_smoothed(c) && out.size > 0) finish(plain());
      const Terms terms = offer_all(c, out);
      ends.emplace_back(c, out.size);
      if (is_smoothed(c) || out.size >= kBlock) finish(terms);
    }
    finish(plain());
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
      offer_thresholds(c, bound, out);
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
      take(split.last_left);
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
  struct Run {
    std::size_t begin = 0, end = 0;            // thresholds that break no limit
    std::size_t first_loss = 0, n_losses = 0;  // in threshold_loss_
  };
  struct Estimated {
    double least = kNever;
    Run run[2];  // values alone on the left, and with the missing ones
  };
  // Memory that a thread keeps: it is asked for once a call, since each time is a call.
  struct RoomForEstimates {
    Candidates candidates;
    std::vector<float> loss;
    std::vector<std::pair<std::size_t, std::size_t>> ends;  // columns, ends of their candidates
    std::vector<std::uint64_t> words[2];
  };
  struct RoomForLosses {
    Candidates candidates;
    std::vector<float> estimate;
    std::vector<double> loss;
  };
  static RoomForEstimates& room_of_thread() {
    thread_local RoomForEstimates room;
    return room;
  }

  bool allows(std::size_t c) const { return rules_.allowed.empty() || rules_.allowed[c] != 0; }

  bool is_smoothed(std::size_t c) const { return layout_.is_categorical[c] && smoothing_ > 0.0; }
  Terms plain() const { return {{node_.a, node_.b, node_.count}, 1.0}; }

  // Words of the column's missing values where these are on the left.
  static std::array<std::uint64_t, 2> words_of(const Column& column, bool missing_left) {
    const std::size_t i = column.width * column.n_values;
    if (!missing_left) return {0, 0};
    return {column.words[0][i], column.words[1][i]};
  }

  // Estimates the losses of n thresholds from these words on.
  void estimate_words(const std::uint64_t* positive, const std::uint64_t* negative, std::size_t n,
                      std::array<std::uint64_t, 2> missing, float* loss) const {
    const int n_bits = histogram_.is_packed ? kCountBits : 0;
    const std::size_t stride = histogram_.is_packed ? 1 : 2;
    estimate_({{positive, negative}, stride, n_bits, {missing[0], missing[1]}}, n, plain().total, loss);
  }

  // Columns of numbers that follow each other: their cells lie side by side.
  void estimate_thresholds(std::size_t first, std::size_t last) {
    for (std::size_t c = first; c < last; ++c) {
      const Column column = cells(c);
      const std::size_t n = column.n_values;
      const bool any_missing = column.any(n);
      estimated_[c].run[0] = run_of(column, false, any_missing || n == 0 ? n : n - 1);
      if (any_missing && n > 0) estimated_[c].run[1] = run_of(column, true, n - 1);
    }
    for (const bool missing_left : {false, true})
      is_sparse_ ? estimate_present(first, last, missing_left) : estimate_all(first, last, missing_left);
    for (std::size_t c = first; c < last; ++c)
      for (const Run& run : estimated_[c].run) {
        const auto least = static_cast<double>(least_of(losses_of(run), run.n_losses));
        estimated_[c].least = std::min(estimated_[c].least, least);
      }
  }

  void estimate_all(std::size_t first, std::size_t last, bool missing_left) {
    for (std::size_t c = first; c < last; ++c) {
      const Column column = cells(c);
      const std::size_t start = layout_.start[c];
      Run& run = estimated_[c].run[missing_left];
      run.first_loss = missing_left * layout_.size() + start + run.begin;
      run.n_losses = run.end - run.begin;
      float* loss = threshold_loss_.get() + missing_left * layout_.size() + start;
      if (!missing_left && c == first)
        estimate_words(column.words[0], column.words[1], layout_.start[last] - start, {0, 0}, loss);
      if (missing_left && run.n_losses > 0)
        estimate_words(column.words[0], column.words[1], column.n_values, words_of(column, true), loss);
    }
  }

  // Those that have rows of their own, moved together: worth it where few have, and an estimate is dear.
  void estimate_present(std::size_t first, std::size_t last, bool missing_left) {
    RoomForEstimates& room = room_of_thread();
    for (auto& words : room.words)
      words.resize(std::max(words.size(), layout_.start[last] - layout_.start[first]));
    std::uint64_t *positive = room.words[0].data(), *negative = room.words[1].data();
    const std::size_t start = missing_left * layout_.size() + layout_.start[first];
    std::size_t n = 0;
    for (std::size_t c = first; c < last; ++c) {
      const Column column = cells(c);
      const auto missing = words_of(column, missing_left);
      Run& run = estimated_[c].run[missing_left];
      run.first_loss = start + n;
      for (std::size_t v = run.begin; v < run.end; ++v) {
        positive[n] = column.words[0][v] + missing[0];
        negative[n] = column.words[1][v] + missing[1];
        n += column.any_at(v);
      }
      run.n_losses = start + n - run.first_loss;
    }
    estimate_words(positive, negative, n, {0, 0}, threshold_loss_.get() + start);
  }

  // Of the first n thresholds, those that break no limit with the missing values on the right or on the left.
  // Counts and masses on a side rise from one end to the other, so that these follow each other.
  Run run_of(const Column& column, bool missing_left, std::size_t n) const {
    const Cell none{}, more[2] = {missing_left ? column.positive(column.n_values) : none,
                                  missing_left ? column.negative(column.n_values) : none};
    const auto enough = [&](Cell p, Cell q) {
      return p.count + q.count >= least_count_ && p.weight + q.weight >= least_mass_ &&
             std::min(p.weight, q.weight) >= least_class_;
    };
    const auto first_where = [n](auto holds) {
      std::size_t step = 1, begin = 0, end = 0;  // most runs are almost all of the thresholds
      for (; end < n && !holds(end); end += step, step *= 2) begin = end + 1;
      end = std::min(end, n);
      while (begin < end) {
        const std::size_t middle = begin + (end - begin) / 2;
        holds(middle) ? end = middle : begin = middle + 1;
      }
      return end;
    };
    const std::size_t begin = first_where(
        [&](std::size_t v) { return enough(column.positive(v) += more[0], column.negative(v) += more[1]); });
    const std::size_t n_right = first_where([&](std::size_t i) {
      Cell p = positive_, q = negative_;
      p -= column.positive(n - 1 - i) += more[0];
      q -= column.negative(n - 1 - i) += more[1];
      return enough(p, q);
    });
    return {begin, std::max(begin, n - n_right), 0, 0};
  }

  // Adds the thresholds whose estimate is at most `bound`; of those with the same rows only the lowest.
  void offer_thresholds(std::size_t c, double bound, Candidates& out) const {
    const Column column = cells(c);
    const bool any_missing = column.any(column.n_values);
    out.reserve(2 * column.n_values);
    for (const bool missing_left : {false, true}) {
      const Sums missing = missing_left ? column.sums(column.n_values) : Sums{};
      const Run& run = estimated_[c].run[missing_left];
      std::size_t n = 0;
      for (std::size_t v = run.begin; v < run.end; ++v) {
        if (!column.any_at(v)) continue;
        const float estimate = losses_of(run)[is_sparse_ ? n++ : v - run.begin];
        if (static_cast<double>(estimate) <= bound)
          put(out, column.sums(v) += missing, v, missing_left || !any_missing);
      }
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

  const float* losses_of(const Run& run) const { return threshold_loss_.get() + run.first_loss; }
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
  const Cell positive_, negative_;  // the same
  const NodeRules& rules_;
  const double s_, smoothing_;
  const ChildLimits limits_;
  const std::uint64_t least_count_, least_mass_, least_class_;  // the same
  const BoundedRisk bounded_risk_;
  const RiskEstimate& estimate_;
  const double noise_;  // a loss is within this share of its estimate; 0: there are no estimates
  const bool is_sparse_;
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
                               const Fresh& fresh) {
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
      for (std::size_t c = first; c < last; ++c)
        if (!layout.is_categorical[c]) fresh.built->cumulate(layout.start[c], layout.start[c + 1] - 1);
      if (fresh.other != nullptr) fresh.other->take(*fresh.built, layout.start[first], layout.start[last]);
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
