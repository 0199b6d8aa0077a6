// SPDX-License-Identifier: Apache-2.0
#include "bundles.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tada {
namespace {

constexpr std::size_t kFewRows = 2048;    // where histograms are no matter
constexpr std::size_t kSample = 4096;     // rows that guide the choice
constexpr std::size_t kMostCodes = 128;   // of a column that is worth a try
constexpr std::size_t kMostJoint = 256;   // what a byte holds
constexpr std::size_t kMostSeen = 200;    // in the sample: all rows have more
constexpr std::size_t kMostTries = 8;     // bundles, the latest, that a column may join
constexpr std::size_t kMostRefusals = 3;  // by all rows, of columns that the sample let pass

Bundle plain_bundle(const Layout& layout, std::size_t column) {
  Bundle bundle{{{column, {}}}, layout.n_codes(column), {}};
  std::iota(bundle.members[0].code.begin(), bundle.members[0].code.end(), std::uint8_t{0});
  return bundle;
}

// A bundle in the making.
struct Draft {
  Bundle bundle;
  std::vector<std::uint8_t> sample;  // joint codes of the sample
  std::size_t n_seen;                // of them, different ones
  std::size_t n_refusals = 0;
};

// Numbers the pairs of codes (a[i], b[i]) as they come, b below n_codes, into out; returns how many there
// are, or kMostJoint + 1 as soon as they are too many. pairs: what each number stands for.
std::size_t join(View<const std::uint8_t> a, View<const std::uint8_t> b, std::size_t n_codes,
                 std::uint8_t* out, std::vector<std::uint16_t>& pairs) {
  constexpr std::uint16_t kNone = 0xffff;
  std::vector<std::uint16_t> number(kMostJoint * n_codes, kNone);
  pairs.clear();
  for (std::size_t i = 0; i < a.size; ++i) {
    const std::size_t pair = a[i] * n_codes + b[i];
    if (number[pair] == kNone) {
      if (pairs.size() == kMostJoint) return kMostJoint + 1;
      number[pair] = static_cast<std::uint16_t>(pairs.size());
      pairs.push_back(static_cast<std::uint16_t>(pair));
    }
    out[i] = static_cast<std::uint8_t>(number[pair]);
  }
  return pairs.size();
}

class Search {
 public:
  Search(View<const std::uint8_t> by_column, const Layout& layout, std::size_t n_rows)
      : by_column_(by_column), layout_(layout), n_rows_(n_rows), n_sample_(std::min(n_rows, kSample)) {}

  void place(std::size_t column) {
    std::vector<std::uint8_t> sample(n_sample_);
    for (std::size_t i = 0; i < n_sample_; ++i) sample[i] = codes(column)[i * n_rows_ / n_sample_];
    const std::size_t first = drafts_.size() > kMostTries ? drafts_.size() - kMostTries : 0;
    std::vector<std::uint8_t> joint(n_sample_), best_joint(n_sample_);
    std::vector<std::uint16_t> pairs;
    double least = INFINITY;
    std::size_t best = drafts_.size(), n_seen = 0;
    for (std::size_t d = first; d < drafts_.size(); ++d) {
      if (drafts_[d].n_refusals >= kMostRefusals) continue;
      const std::size_t n =
          join(view(drafts_[d].sample), view(sample), layout_.n_codes(column), joint.data(), pairs);
      const double growth = static_cast<double>(n) / static_cast<double>(drafts_[d].n_seen);
      if (n > kMostSeen || growth >= least) continue;
      least = growth, best = d, n_seen = n;
      best_joint.swap(joint);
    }
    if (best < drafts_.size() && add(drafts_[best], column)) {
      drafts_[best].sample = std::move(best_joint);
      drafts_[best].n_seen = n_seen;
    } else {
      start(column, std::move(sample));
    }
  }

  std::vector<Bundle> bundles() && {
    std::vector<Bundle> out;
    for (Draft& draft : drafts_) out.push_back(std::move(draft.bundle));
    return out;
  }

 private:
  static View<const std::uint8_t> view(const std::vector<std::uint8_t>& v) { return {v.data(), v.size()}; }
  View<const std::uint8_t> codes(std::size_t column) const {
    return {by_column_.data + column * n_rows_, n_rows_};
  }

  void start(std::size_t column, std::vector<std::uint8_t> sample) {
    Draft draft;
    draft.bundle = plain_bundle(layout_, column);
    std::array<bool, 256> seen{};
    for (auto code : sample) seen[code] = true;
    draft.n_seen = static_cast<std::size_t>(std::count(seen.begin(), seen.end(), true));
    draft.sample = std::move(sample);
    drafts_.push_back(std::move(draft));
  }

  // Adds the column to the bundle unless all rows have too many joint codes.
  bool add(Draft& draft, std::size_t column) {
    Bundle& bundle = draft.bundle;
    const auto before = bundle.is_plain() ? codes(bundle.members[0].column) : view(bundle.by_row);
    std::vector<std::uint8_t> joint(n_rows_);
    std::vector<std::uint16_t> pairs;
    const std::size_t n_codes = layout_.n_codes(column);
    const std::size_t n = join(before, codes(column), n_codes, joint.data(), pairs);
    if (n > kMostJoint) {
      ++draft.n_refusals;
      return false;
    }
    bundle.members.push_back({column, {}});
    for (Bundle::Member& member : bundle.members) {
      const bool is_new = member.column == column;
      const auto code = member.code;
      for (std::size_t j = 0; j < n; ++j)
        member.code[j] = is_new ? static_cast<std::uint8_t>(pairs[j] % n_codes) : code[pairs[j] / n_codes];
    }
    bundle.n_codes = n;
    bundle.by_row = std::move(joint);
    return true;
  }

  View<const std::uint8_t> by_column_;
  const Layout& layout_;
  std::size_t n_rows_, n_sample_;
  std::vector<Draft> drafts_;
};

}  // namespace

std::vector<Bundle> plain_bundles(const Layout& layout) {
  std::vector<Bundle> out;
  for (std::size_t c = 0; c < layout.n_columns(); ++c) out.push_back(plain_bundle(layout, c));
  return out;
}

std::vector<Bundle> find_bundles(View<const std::uint8_t> by_column, const Layout& layout,
                                 std::size_t n_rows) {
  std::vector<std::size_t> columns;
  for (std::size_t c = 0; c < layout.n_columns(); ++c)
    if (layout.n_codes(c) <= kMostCodes) columns.push_back(c);
  if (n_rows < kFewRows || columns.size() < 2) return plain_bundles(layout);
  std::stable_sort(columns.begin(), columns.end(),
                   [&](std::size_t a, std::size_t b) { return layout.n_codes(a) < layout.n_codes(b); });
  Search search(by_column, layout, n_rows);
  for (std::size_t c : columns) search.place(c);
  std::vector<Bundle> out = std::move(search).bundles();
  for (Bundle& bundle : plain_bundles(layout))
    if (bundle.n_codes > kMostCodes) out.push_back(std::move(bundle));
  return out.size() == layout.n_columns() ? plain_bundles(layout) : out;
}

}  // namespace tada
