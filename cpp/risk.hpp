// SPDX-License-Identifier: Apache-2.0
// The tempered Bayes risk (20) of the children of splits, in its homogeneous form 2 M_{t-1}(a, b) (no
// division by the mass), many splits at a time: exactly, and as an estimate that costs a tenth. s = 1 - t
// throughout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tada {

double risk(double a, double b, double s);

// What both children of a split must have: counts are multiplicities, masses fixed-point weights, all as
// doubles (they are whole and below 2^53).
struct ChildLimits {
  double least_count, least_mass;  // of a child, at least 1
  double least_class;              // mass of each class in a child: 1 where pure leaves are refused, else 0
};
struct Totals {
  double positive, negative, count;
};
inline bool is_enough(const ChildLimits& limits, double a, double b, double count) {
  return (count >= limits.least_count) & (a + b >= limits.least_mass) &
         ((a < b ? a : b) >= limits.least_class);
}
inline bool admits(const ChildLimits& limits, const Totals& total, double a, double b, double count) {
  return is_enough(limits, a, b, count) &
         is_enough(limits, total.positive - a, total.negative - b, total.count - count);
}

// loss[i] = risk(a, b) + risk(total - a, total - b) for left children with masses a[i], b[i] and counts[i];
// infinite where a child breaks the limits. Returns the least.
double split_block(const double* a, const double* b, const double* counts, std::size_t n, const Totals& total,
                   const ChildLimits& limits, double s, double* loss);

// Masses of left children as a histogram holds them: by class, above n_bits low bits of every stride-th word;
// `more` is added to each word.
struct ChildWords {
  const std::uint64_t* words[2];
  std::size_t stride;
  int n_bits;
  std::uint64_t more[2];
};

struct Children;

// Estimates the same in single precision, within a share `noise` of the loss. risk(a, b) is
// max(a, b) phi(min / max); phi is taken from its values at knots that halve with the ratio, on lines between
// them, but for the s where a root gives it at once.
class RiskEstimate {
 public:
  explicit RiskEstimate(double s);
  double noise() const { return noise_; }
  bool useful() const { return noise_ < 0.01; }
  bool is_dear() const { return !phi_.empty(); }  // twice the time of a root
  void operator()(const double* a, const double* b, const double* counts, std::size_t n, const Totals& total,
                  const ChildLimits& limits, float* loss) const;
  // Whatever the limits.
  void operator()(const ChildWords& left, std::size_t n, const Totals& total, float* loss) const;

 private:
  void of_block(const Children& children, std::size_t n, const Totals& total, float* loss) const;
  double s_, noise_;
  std::vector<float> phi_;  // by knot; empty where a root does
};

// The least of x, infinity if there is none.
float least_of(const float* x, std::size_t n);

}  // namespace tada
