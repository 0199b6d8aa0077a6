// SPDX-License-Identifier: Apache-2.0
#include "leaf_solver.hpp"

#include <algorithm>
#include <cmath>

#include "blocks.hpp"

namespace tada {
namespace {

constexpr int kPasses = 100;   // bisection alone would have arrived
constexpr double kNear = 0.1;  // of v: shorter steps than that tell how soon errors shrink
// At t > 1 trials keep this share of the way off the step at which a weight becomes infinite: beyond, e^s is
// so much a matter of rounding that no bound of the weights, on which the sums rest, can be told.
constexpr double kFinite = 1.0 - 0x1p-40;

struct Bracket {
  double low, high, v = 0.0, last = INFINITY;
  double pole_low = -INFINITY, pole_high = INFINITY;  // where a weight is infinite (t > 1)
  bool done = false;
  double inside(double x) const { return std::min(high, std::max(low, x)); }
  double middle() const { return low + (high - low) / 2.0; }

  // One safeguarded step from v, where the function is g: by `move`, as Newton's method would have it or
  // better. Done when the step is at most `small` times v, and times the way to a pole, near which steps are
  // small wherever the root is; or where, after one step of hardly more, this one says how soon they shrink.
  // The bracket is halved instead when the step would leave it, or is more than half of the last one: Newton
  // crawls down an exponential.
  void advance(double g, double move, double small) {
    (g > 0.0 ? low : high) = v;
    const double there = v + move, moved = std::fabs(move);
    const double scale = std::min({std::fabs(v), pole_high - v, v - pole_low});
    const double shrunk = moved / last;  // errors go as squares: the next is about moved shrunk^2
    const bool known = last <= kNear * scale && moved * shrunk * shrunk <= small * small * scale;
    done = g == 0.0 || moved <= small * scale || known;
    if (g == 0.0) return;
    const bool quick = there > low && there < high && 2.0 * moved <= last;
    const double next = done ? inside(there) : quick ? there : middle();
    done = done || next == v;
    last = std::fabs(next - v);
    v = next;
  }
};

// The way from v to the root of p(v) - n(v) - ridge v, given the values and the sizes of the slopes of p and
// n, if each were a weight alone, exp_t(log_t e -+ v): the tempered log odds. At t = 1, and where a class has
// one weight, that is so; else it is Newton's step up to its square, and much nearer. The ridge goes with the
// class that it helps.
double odds_step(double p, double p_slope, double n, double n_slope, double ridge, double v, double s) {
  if (v >= 0.0) {
    n += ridge * v;
    n_slope += ridge;
  } else {
    p -= ridge * v;
    p_slope += ridge;
  }
  if (!(p > 0.0 && n > 0.0)) return (p - n) / (p_slope + n_slope);
  const double a = p_slope / p, b = n_slope / n;
  if (s == 0.0) return fast::log(p / n) / (a + b);
  // With o = (n / p)^s it is (1 - o) / (s (a + o b)); in 1 / o where o is large and might overflow.
  const double odds = s * fast::log(n / p);
  if (odds > 0.0) return fast::expm1(-odds) / (s * (a * fast::exp(-odds) + b));
  return -fast::expm1(odds) / (s * (a + fast::exp(odds) * b));
}

// Sums of e(v) and of its slope over leaves tried together, scaled from each (leaf, class)'s largest weight
// after the trial (a weight grows with what it was).
class Trials {
 public:
  Trials(const LeafTable& table, double s, double most_multiplicity, const Trial& trial)
      : table_(table), s_(s), most_multiplicity_(most_multiplicity), trial_(trial) {}

  void run(const std::vector<std::int32_t>& leaves, const std::vector<double>& value) {
    exponent_.clear();
    slope_exponent_.clear();
    std::vector<double> slope_cap;
    const double t = 1.0 - s_;
    for (std::size_t j = 0; j < 2 * leaves.size(); ++j) {
      const LeafSums& pair = table_[2 * static_cast<std::size_t>(leaves[j / 2]) + j % 2];
      const double v = j % 2 == 0 ? value[j / 2] : -value[j / 2];
      const double most = most_after(pair, v, s_);
      // e^t grows with e for t >= 0; for t < 0 it has no bound, and a capped slope only makes a step longer.
      const double steepest = most > -INFINITY ? fast::exp(t * most) * (t < 0.0 ? 0x1p20 : 1.0) : 1.0;
      slope_cap.push_back(std::min(steepest, 0x1p900));
      const double multiplicity = most_multiplicity_of(pair.multiplicity, most_multiplicity_);
      exponent_.push_back(exact_exponent(multiplicity * fast::exp(most)));
      slope_exponent_.push_back(exact_exponent(multiplicity * slope_cap.back()));
    }
    sums_ = trial_(leaves, value, exponent_, slope_exponent_, slope_cap);
  }
  double weight(std::size_t j) const { return sums_[j].weight.value(exponent_[j]); }
  double slope(std::size_t j) const { return sums_[j].slope.value(slope_exponent_[j]); }

 private:
  const LeafTable& table_;
  double s_, most_multiplicity_;
  const Trial& trial_;
  std::vector<std::int32_t> exponent_, slope_exponent_;
  std::vector<TrialSums> sums_;
};

// Where the root must lie: past it every weight of one class is off (t < 1) or one becomes infinite (t > 1).
Bracket bracket_of(const LeafSums& p, const LeafSums& n, double s, double ridge, double cap) {
  auto reach = [&](const LeafSums& off_first, const LeafSums& infinite_first) {
    if (s > 0.0) return off_first.multiplicity > 0.0 ? fast::exp(s * off_first.most) / s : 0.0;
    if (s < 0.0 && infinite_first.multiplicity > 0.0)
      return kFinite * fast::exp(s * infinite_first.most) / -s;
    return cap;
  };
  Bracket b{-std::min(cap, reach(n, p)), std::min(cap, reach(p, n))};
  if (s < 0.0 && n.multiplicity > 0.0) b.pole_high = fast::exp(s * n.most) / -s;
  if (s < 0.0 && p.multiplicity > 0.0) b.pole_low = fast::exp(s * p.most) / s;
  const double g = p.weight - n.weight;
  if (ridge > 0.0) {
    b.low = std::max(b.low, std::min(0.0, g / ridge));
    b.high = std::min(b.high, std::max(0.0, g / ridge));
  } else if (n.weight == 0.0 && n.multiplicity == 0.0) {
    b.low = b.high;
  } else if (p.weight == 0.0 && p.multiplicity == 0.0) {
    b.high = b.low;
  }
  if (g >= 0.0) b.low = std::max(b.low, 0.0);
  if (g <= 0.0) b.high = std::min(b.high, 0.0);
  b.v = b.inside(0.0);
  b.done = !(b.low < b.high);
  return b;
}

// Roots as they would be if all rows of a class had its mean weight, from the brackets' v, for all leaves
// together.
void start_from_means(const LeafTable& table, double s, double ridge, std::vector<Bracket>& leaves) {
  const std::size_t n = table.size();
  std::vector<double> state(n, first_state(s)), rows(n), move(n), moved(n), e(n), e_power(n);
  for (std::size_t j = 0; j < n; ++j) {
    const double mean = table[j].multiplicity > 0.0 ? table[j].weight / table[j].multiplicity : 0.0;
    if (mean == 0.0 && (s <= 0.0 || table[j].multiplicity == 0.0)) continue;  // nothing moves it
    rows[j] = table[j].multiplicity;
    state[j] = state_of(fast::log(mean), s);
  }
  for (int i = 0; i < kPasses; ++i) {
    for (std::size_t j = 0; j < n; ++j) move[j] = j % 2 == 0 ? leaves[j / 2].v : -leaves[j / 2].v;
    for (std::size_t j = 0; j < n; j += kBlock)
      step_block(&state[j], &move[j], std::min(kBlock, n - j), s, &moved[j], &e[j], &e_power[j]);
    bool done = true;
    const auto slope = [&](std::size_t j) {  // e^t = e / e^s, and 0 where the weight is off
      const double power = is_power(s) ? moved[j] : fast::exp(s * moved[j]);
      return e[j] > 0.0 ? rows[j] * e[j] / power : 0.0;
    };
    for (std::size_t j = 0; j < n; j += 2) {
      Bracket& b = leaves[j / 2];
      if (b.done || rows[j] + rows[j + 1] == 0.0) continue;
      const double p = rows[j] * e[j], q = rows[j + 1] * e[j + 1];
      b.advance(p - q - ridge * b.v, odds_step(p, slope(j), q, slope(j + 1), ridge, b.v, s), 1e-15);
      done = done && b.done;
    }
    if (done) return;
  }
}

}  // namespace

std::vector<double> solve_leaves(const LeafTable& table, double s, double ridge, double cap,
                                 double most_multiplicity, const Trial& trial) {
  const std::size_t n_leaves = table.size() / 2;
  std::vector<Bracket> state(n_leaves);
  for (std::size_t i = 0; i < n_leaves; ++i)
    state[i] = bracket_of(table[2 * i], table[2 * i + 1], s, ridge, cap);
  std::vector<Bracket> start(state);
  start_from_means(table, s, ridge, start);
  for (std::size_t i = 0; i < n_leaves; ++i) {
    if (start[i].v > state[i].low && start[i].v < state[i].high) state[i].v = start[i].v;
    state[i].done |= s == 0.0;  // there the mean weights are all that matters
  }
  // A step this small (relative) leaves an error of its square, but for kinks: the slope jumps where a weight
  // switches off for t <= 0.
  const double small = s < 1.0 ? 1e-7 : 1e-13;
  Trials trials(table, s, most_multiplicity, trial);
  for (int pass = 0; pass < kPasses; ++pass) {
    std::vector<std::int32_t> active;
    std::vector<double> value;
    for (std::size_t i = 0; i < n_leaves; ++i)
      if (!state[i].done) {
        active.push_back(static_cast<std::int32_t>(i));
        value.push_back(state[i].v);
      }
    if (active.empty()) break;
    trials.run(active, value);
    for (std::size_t j = 0; j < active.size(); ++j) {
      Bracket& b = state[static_cast<std::size_t>(active[j])];
      const double p = trials.weight(2 * j), n = trials.weight(2 * j + 1);
      b.advance(p - n - ridge * b.v,
                odds_step(p, trials.slope(2 * j), n, trials.slope(2 * j + 1), ridge, b.v, s), small);
    }
  }
  std::vector<double> v(n_leaves);
  for (std::size_t i = 0; i < n_leaves; ++i) v[i] = state[i].v;
  return v;
}

double solve_step(const LeafTable& table, const std::vector<double>& value, double s, double start,
                  double cap, double most_multiplicity, const Trial& trial) {
  // Past the bracket one sign of u is all off (t < 1), or a weight is infinite (t > 1). Index 1: rows with u
  // > 0.
  double off[2] = {0.0, 0.0}, infinite[2] = {cap, cap};
  bool any[2] = {false, false};
  std::vector<std::int32_t> all(value.size());
  for (std::size_t i = 0; i < table.size(); ++i) {
    all[i / 2] = static_cast<std::int32_t>(i / 2);
    const double u = i % 2 == 0 ? value[i / 2] : -value[i / 2];
    if (u == 0.0 || table[i].multiplicity == 0.0) continue;
    const double end = fast::exp(s * table[i].most) / std::fabs(s * u);
    any[u > 0.0] = true;
    off[u > 0.0] = std::max(off[u > 0.0], end);
    infinite[u > 0.0] = std::min(infinite[u > 0.0], kFinite * end);
  }
  Bracket b = s > 0.0 ? Bracket{-off[0], off[1]} : Bracket{-infinite[1], infinite[0]};
  if (!any[0] || !any[1]) return any[1] ? b.high : any[0] ? b.low : 0.0;  // all right, or all wrong
  b.v = start > b.low && start < b.high ? start : b.middle();
  Trials trials(table, s, most_multiplicity, trial);
  for (int pass = 0; pass < kPasses && b.low < b.high && !b.done; ++pass) {
    std::vector<double> moves(value.size());
    for (std::size_t i = 0; i < value.size(); ++i) moves[i] = b.v * value[i];
    trials.run(all, moves);
    double g = 0.0, slope = 0.0;
    for (std::size_t i = 0; i < value.size(); ++i) {
      g += value[i] * (trials.weight(2 * i) - trials.weight(2 * i + 1));
      slope += value[i] * value[i] * (trials.slope(2 * i) + trials.slope(2 * i + 1));
    }
    b.advance(g, g / slope, 1e-15);
  }
  return b.v;
}

}  // namespace tada
