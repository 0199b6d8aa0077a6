// SPDX-License-Identifier: Apache-2.0
#include "split.hpp"

#include <algorithm>
#include <limits>

#include "blocks.hpp"

namespace tada {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::size_t kAllSubsets = 8;  // up to this many levels in the node every subset is tried

// The left children that a column offers, in the order of the tie rule.
struct Candidates {
  std::vector<Cell> positive, negative;   // sums of the left child
  std::vector<std::uint32_t> what;        // numeric: last code that goes left; categorical: mask or prefix length
  std::vector<std::uint8_t> missing_left;
  std::vector<double> a, b, loss;

  void clear() {
    positive.clear();
    negative.clear();
    what.clear();
    missing_left.clear();
  }
  void add(const Cell& p, const Cell& n, std::size_t w, bool missing) {
    positive.push_back(p);
    negative.push_back(n);
    what.push_back(static_cast<std::uint32_t>(w));
    missing_left.push_back(missing);
  }
};

struct Column {
  const Cell* positive;
  const Cell* negative;
  std::size_t n_values;  // the missing code is n_values
  bool any(std::size_t code) const { return (positive[code].count | negative[code].count) != 0; }
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

void offer(const Column& column, Candidates& out, Cell p, Cell n, std::size_t what, bool only_right = false) {
  const std::size_t missing = column.n_values;
  if (!column.any(missing)) {
    if (!only_right) out.add(p, n, what, true);
    return;
  }
  if (!only_right) {
    Cell with_p = p, with_n = n;
    with_p += column.positive[missing];
    with_n += column.negative[missing];
    out.add(with_p, with_n, what, true);
  }
  out.add(p, n, what, false);
}

void numeric_candidates(const Column& column, Candidates& out) {
  Cell p, n;
  for (std::size_t v = 0; v < column.n_values; ++v) {
    if (!column.any(v) && v + 1 < column.n_values) continue;  // the same rows as the threshold before
    p += column.positive[v];
    n += column.negative[v];
    // After the last value only "values left, missing right" is a split.
    offer(column, out, p, n, v, v + 1 == column.n_values);
  }
}

void subset_candidates(const Column& column, const std::vector<std::uint32_t>& levels, Candidates& out) {
  const std::size_t k = levels.size();
  for (std::size_t mask = 0; mask < (std::size_t{1} << (k - 1)); ++mask) {
    Cell p = column.positive[levels[0]], n = column.negative[levels[0]];
    for (std::size_t i = 1; i < k; ++i)
      if (!(mask >> (i - 1) & 1)) {
        p += column.positive[levels[i]];
        n += column.negative[levels[i]];
      }
    offer(column, out, p, n, mask, mask == 0);
  }
}

void prefix_candidates(const Column& column, const std::vector<std::uint32_t>& levels, Candidates& out) {
  Cell p, n;
  for (auto v : levels) {
    p += column.positive[v];
    n += column.negative[v];
  }
  offer(column, out, p, n, levels.size(), true);
  p = n = Cell{};
  for (std::size_t i = 0; i + 1 < levels.size(); ++i) {
    p += column.positive[levels[i]];
    n += column.negative[levels[i]];
    offer(column, out, p, n, i + 1);
  }
}

class Search {
 public:
  Search(const Layout& layout, const Histogram& histogram, const Cell& positive, const Cell& negative,
         const Limits& limits)
      : layout_(layout), histogram_(histogram), positive_(positive), negative_(negative), limits_(limits) {}

  // Fills `out` with the column's candidates and their losses; the least of them.
  double evaluate(std::size_t c, Candidates& out) const {
    const Column column = cells(c);
    out.clear();
    if (!layout_.is_categorical[c]) {
      numeric_candidates(column, out);
    } else {
      const auto levels = present_levels(column);
      if (levels.size() > kAllSubsets)
        prefix_candidates(column, levels, out);
      else if (!levels.empty())
        subset_candidates(column, levels, out);
    }
    return losses(out);
  }

  Split describe(std::size_t c, const Candidates& candidates, std::size_t i) const {
    Split split;
    split.loss = candidates.loss[i];
    split.column = c;
    split.missing_left = candidates.missing_left[i] != 0;
    split.left_positive = candidates.positive[i];
    split.left_negative = candidates.negative[i];
    const std::size_t what = candidates.what[i];
    const Column column = cells(c);
    if (!layout_.is_categorical[c]) {
      split.last_left = what;
    } else {
      categories(present_levels(column), what, split);
    }
    if (!column.any(column.n_values)) split.missing_left = left_is_heavier(split);
    return split;
  }

 private:
  Column cells(std::size_t c) const {
    const Cell* first = histogram_.data() + layout_.start[c];
    return {first, first + layout_.size(), layout_.n_codes(c) - 1};
  }

  double losses(Candidates& out) const {
    const std::size_t n = out.what.size();
    out.a.resize(n);
    out.b.resize(n);
    out.loss.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      out.a[i] = static_cast<double>(out.positive[i].weight);
      out.b[i] = static_cast<double>(out.negative[i].weight);
    }
    if (n == 0) return kNever;
    risk_block(out.a.data(), out.b.data(), n, static_cast<double>(positive_.weight),
               static_cast<double>(negative_.weight), limits_.s, out.loss.data());
    double least = kNever;
    for (std::size_t i = 0; i < n; ++i) {
      if (!admissible(out.positive[i], out.negative[i])) out.loss[i] = kNever;
      least = std::min(least, out.loss[i]);
    }
    return least;
  }

  bool admissible(const Cell& p, const Cell& n) const {
    const Cell rp{positive_.weight - p.weight, positive_.count - p.count};
    const Cell rn{negative_.weight - n.weight, negative_.count - n.count};
    return child_admissible(p, n) && child_admissible(rp, rn);
  }
  bool child_admissible(const Cell& p, const Cell& n) const {
    const std::uint64_t count = p.count + n.count, mass = p.weight + n.weight;
    return count > 0 && count >= limits_.min_count && mass > 0 && static_cast<double>(mass) >= limits_.min_mass &&
           (limits_.pure_allowed || (p.weight > 0 && n.weight > 0));
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
    if (swap) {
      split.missing_left = !split.missing_left;
      Cell p = positive_, n = negative_;
      p -= split.left_positive;
      n -= split.left_negative;
      split.left_positive = p;
      split.left_negative = n;
    }
  }

  bool left_is_heavier(const Split& split) const {
    const std::uint64_t left = split.left_positive.count + split.left_negative.count;
    return 2 * left >= positive_.count + negative_.count;
  }

  const Layout& layout_;
  const Histogram& histogram_;
  const Cell positive_, negative_;
  const Limits& limits_;
};

}  // namespace

Split best_split(const Layout& layout, const Histogram& histogram, const Cell& positive, const Cell& negative,
                 const Limits& limits, Pool& pool) {
  const Search search(layout, histogram, positive, negative, limits);
  const std::size_t n_columns = layout.n_columns();
  std::vector<double> least(n_columns, kNever);
  const std::size_t per_chunk = 4096 / (layout.size() / n_columns + 1) + 1;  // a few thousand cells a chunk
  pool.run((n_columns + per_chunk - 1) / per_chunk, [&](std::size_t chunk) {
    thread_local Candidates candidates;
    for (std::size_t c = chunk * per_chunk; c < std::min(n_columns, (chunk + 1) * per_chunk); ++c)
      least[c] = search.evaluate(c, candidates);
  });

  Split none;
  none.loss = kNever;
  const double bound = *std::min_element(least.begin(), least.end()) * (1.0 + kTie);
  if (!(bound < kNever)) return none;
  Candidates candidates;
  for (std::size_t c = 0; c < n_columns; ++c) {
    if (!(least[c] <= bound)) continue;
    search.evaluate(c, candidates);
    for (std::size_t i = 0; i < candidates.loss.size(); ++i)
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
    std::fill(left.begin() + static_cast<std::ptrdiff_t>(split.last_left) + 1, left.end() - 1, std::uint8_t{0});
  left.back() = split.missing_left;
  return left;
}

}  // namespace tada
