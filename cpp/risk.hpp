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
inline bool admits(const ChildLimits& limits, const Totals& total, double a, double b, double count) {
  const double c = total.positive - a, d = total.negative - b, other = total.count - count;
  const double least_count = count < other ? count : other;
  const double left = a + b, right = c + d, least_mass = left < right ? left : right;
  const double least_left = a < b ? a : b, least_right = c < d ? c : d;
  const double least_class = least_left < least_right ? least_left : least_right;
  return (least_count >= limits.least_count) & (least_mass >= limits.least_mass) &
         (least_class >= limits.least_class);
}

// loss[i] = risk(a, b) + risk(total - a, total - b) for left children with masses a[i], b[i] and counts[i];
// infinite where a child breaks the limits. Returns the least.
double split_block(const double* a, const double* b, const double* counts, std::size_t n, const Totals& total,
                   const ChildLimits& limits, double s, double* loss);

struct Children;

// Estimates the same in single precision, within a share `noise` of the loss. risk(a, b) is
// max(a, b) phi(min / max); phi is taken from its values at knots that halve with the ratio, on lines between
// them, but for the s where a root gives it at once.
class RiskEstimate {
 public:
  explicit RiskEstimate(double s);
  double noise() const { return noise_; }
  bool useful() const { return noise_ < 0.01; }
  void operator()(const double* a, const double* b, const double* counts, std::size_t n, const Totals& total,
                  const ChildLimits& limits, float* loss) const;
  // For the masses of left children, above n_bits low bits of words, whatever the limits.
  void operator()(const std::uint64_t* positive, const std::uint64_t* negative, int n_bits, std::size_t n,
                  const Totals& total, float* loss) const;

 private:
  void of_block(const Children& children, std::size_t n, const Totals& total, float* loss) const;
  double s_, noise_;
  std::vector<float> phi_;  // empty where a root does
};

// The least of x, infinity if there is none.
float least_of(const float* x, std::size_t n);

}  // namespace tada
