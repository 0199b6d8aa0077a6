// SPDX-License-Identifier: Apache-2.0
#include "column_rules.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace tada {
namespace {

std::uint64_t mixed(std::uint64_t h) {  // the finish of MurmurHash3: every bit depends on every bit
  h = (h ^ (h >> 33)) * 0xFF51AFD7ED558CCDu;
  h = (h ^ (h >> 33)) * 0xC4CEB9FE1A85EC53u;
  return h ^ (h >> 33);
}

}  // namespace

std::vector<std::uint32_t> ColumnRules::at_root() const {
  std::vector<std::uint32_t> all(groups_.size());
  std::iota(all.begin(), all.end(), std::uint32_t{0});
  return all;
}

std::vector<std::uint32_t> ColumnRules::below(const std::vector<std::uint32_t>& kept,
                                              std::size_t column) const {
  std::vector<std::uint32_t> rest;
  for (auto g : kept)
    if (std::binary_search(groups_[g].begin(), groups_[g].end(), static_cast<std::uint32_t>(column)))
      rest.push_back(g);
  return rest;
}

std::vector<std::uint8_t> ColumnRules::allowed(std::size_t node, const std::vector<std::uint32_t>& kept,
                                               std::size_t n_columns) const {
  if (groups_.empty() && share_ >= 1.0) return {};
  std::vector<std::uint8_t> mask(n_columns, groups_.empty());
  for (auto g : kept)
    for (auto c : groups_[g]) mask[c] = 1;
  if (share_ >= 1.0) return mask;

  std::vector<std::pair<std::uint64_t, std::size_t>> numbers;
  const std::uint64_t base = mixed(key_ + 0x9E3779B97F4A7C15u);
  for (std::size_t c = 0; c < n_columns; ++c)
    if (mask[c]) numbers.emplace_back(mixed(base + (std::uint64_t{node} << 32) + c), c);
  if (numbers.empty()) return mask;
  const double wanted = std::nearbyint(share_ * static_cast<double>(numbers.size()));
  const std::size_t n = std::min(numbers.size(), std::max<std::size_t>(1, static_cast<std::size_t>(wanted)));
  std::nth_element(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(n) - 1, numbers.end());
  for (std::size_t i = n; i < numbers.size(); ++i) mask[numbers[i].second] = 0;
  return mask;
}

}  // namespace tada
