// SPDX-License-Identifier: Apache-2.0
// The splits that a column of a node's histogram offers, as left children: thresholds, or sets of levels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "histogram.hpp"

namespace tada {

constexpr std::size_t kAllSubsets = 8;  // up to this many levels in the node every subset is tried

struct Sums {
  double a = 0.0, b = 0.0, count = 0.0;
  double positive = a;  // what `a` is before smoothing; a + b stays
  Sums& operator+=(const Sums& o) {
    return a += o.a, b += o.b, count += o.count, positive += o.positive, *this;
  }
  Sums operator-(const Sums& o) const { return {a - o.a, b - o.b, count - o.count, positive - o.positive}; }
};

// The left children that columns offer, a column after the other, each in the order of the tie rule. Sums as
// doubles (whole, below 2^53).
struct Candidates {
  std::vector<double> a, b, count;  // masses and multiplicity of the left child
  std::vector<double> positive;     // categorical: what `a` is before smoothing
  std::vector<std::uint32_t> what;  // numeric: last code that goes left; categorical: mask or prefix length
  std::vector<std::uint8_t> missing_left;
  std::size_t size = 0;

  // Makes room for n more.
  void reserve(std::size_t n) {
    if (a.size() >= size + n) return;
    n += size;
    for (auto* v : {&a, &b, &count, &positive}) v->resize(n);
    what.resize(n);
    missing_left.resize(n);
  }
};

// The cells of a column, by class and code. Those of a number's values are running sums: what a threshold has
// on its left.
struct Column {
  const Histogram& histogram;
  std::size_t start;     // of the positive cells; those of the other class come half a histogram later
  std::size_t n_values;  // the missing code is n_values
  std::size_t width;     // words of a cell
  const std::uint64_t* words[2];  // of the first code, by class
  Column(const Histogram& of, std::size_t first, std::size_t n_codes)
      : histogram(of), start(first), n_values(n_codes - 1), width(of.is_packed ? 1 : 2) {
    const std::size_t half = of.words.size() / 2;
    for (std::size_t k = 0; k < 2; ++k) words[k] = of.words.data() + k * half + width * first;
  }
  Cell positive(std::size_t code) const { return histogram[start + code]; }
  Cell negative(std::size_t code) const { return histogram[histogram.size() / 2 + start + code]; }
  // Of a number: whether any row has this value. The count is in the last word of a cell.
  bool any_at(std::size_t value) const {
    const std::size_t i = width * value + width - 1;
    if (value == 0) return any(value);
    return ((words[0][i] ^ words[0][i - width]) | (words[1][i] ^ words[1][i - width])) != 0;
  }
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

// smoothing: rows by which each level is taken towards the node.
Levels levels_of(const Column& column, const Sums& node, double smoothing);

void put(Candidates& out, const Sums& left, std::size_t what, bool missing_left);

// Thresholds with the missing values left; where there are any, the same with them right, and they alone
// right. Of thresholds with the same rows only the lowest.
void numeric_candidates(const Column& column, const Sums& total, Candidates& out);

// Sets of levels: every subset, or, in the order of `levels`, every prefix.
void level_candidates(const Levels& levels, Candidates& out);

}  // namespace tada
