// SPDX-License-Identifier: Apache-2.0
#include "binning.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "table.hpp"

namespace tada {

using namespace table;

namespace {

__extension__ typedef unsigned __int128 Wide;  // products of a sum of weights with a number of bins

// One pattern of bits for equal values: -0.0 + 0.0 is 0.0, and every NaN gets the same one.
std::uint64_t canonical_bits(double x) {
  x += 0.0;
  std::uint64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return x == x ? bits : ~std::uint64_t{0};
}

// ---- weights as integers ------------------------------------------------------------------------

struct Weights {
  bool absent = false;                // some rows have multiplicity 0, and then
  std::vector<std::uint32_t> rows;    // these are the others
  std::vector<std::uint64_t> weight;  // an entry a row of the table ; empty when all are equal
};

// The largest number that all positive weights are whole multiples of, up to rounding; 0 if there is none of
// at least 2^-20 of the largest. Weights are often a few whole numbers times a factor, and then ties between
// sums of them must not depend on how the factor rounded.
double common_measure(View<const double> weights, double largest) {
  const double tolerance = largest * 1e-10;
  double measure = largest;
  for (const double w : weights) {
    if (w <= 0 || std::abs(w / measure - std::nearbyint(w / measure)) * measure <= tolerance) continue;
    for (double rest = w; rest > tolerance;) {  // Euclid
      const double next = std::abs(std::remainder(measure, rest));
      measure = rest;
      rest = next;
    }
    if (measure < largest * 0x1p-20) return 0;
  }
  return measure;
}

// Integers, because their sums know no order: whole multiplicities as they are, else in units of their common
// measure, else rounded to 40 bits of the largest (fewer beyond 2^23 rows, so that a sum keeps below 2^63,
// and at least 1).
Weights whole_weights(View<const double> multiplicity) {
  Weights result;
  double largest = 0, smallest = std::numeric_limits<double>::infinity(), sum = 0;
  bool whole = true;
  std::size_t n_positive = 0;
  for (const double w : multiplicity) {
    if (w <= 0) continue;
    ++n_positive;
    sum += w;
    largest = std::max(largest, w);
    smallest = std::min(smallest, w);
    whole = whole && w == std::floor(w);
  }
  result.absent = n_positive < multiplicity.size;
  if (result.absent) {
    result.rows.reserve(n_positive);
    for (std::size_t i = 0; i < multiplicity.size; ++i)
      if (multiplicity[i] > 0) result.rows.push_back(static_cast<std::uint32_t>(i));
  }
  if (n_positive == 0 || smallest == largest) return result;
  double unit = whole && sum < 0x1p62 ? 1.0 : common_measure(multiplicity, largest);
  int bits = 0;
  if (unit == 0)
    for (unit = largest, bits = 40; std::ldexp(static_cast<double>(n_positive), bits) > 0x1p63;) --bits;
  result.weight.resize(multiplicity.size);
  for (std::size_t i = 0; i < multiplicity.size; ++i) {
    const double w = std::nearbyint(std::ldexp(multiplicity[i] / unit, bits));
    result.weight[i] = multiplicity[i] > 0 ? static_cast<std::uint64_t>(std::max(1.0, w)) : 0;
  }
  return result;
}

// ---- a first look at each numeric column --------------------------------------------------------

// The distinct values of a column as long as there are at most `limit`: a hash table with open addresses.
class Distinct {
 public:
  explicit Distinct(std::size_t limit) : limit_(limit), bits_(2) {
    while ((std::size_t{1} << bits_) < 2 * (limit + 1)) ++bits_;
    table_.assign(std::size_t{1} << bits_, kEmpty);
  }

  bool overflowed() const { return size_ > limit_; }

  void add(double x) {
    const std::uint64_t key = canonical_bits(x);
    if (key == last_) return;  // runs of equal values are common in columns that matter here
    last_ = key;
    const std::size_t mask = table_.size() - 1;
    for (std::size_t i = (key * 0x9E3779B97F4A7C15u) >> (64 - bits_);; i = (i + 1) & mask) {
      if (table_[i] == key) return;
      if (table_[i] == kEmpty) {
        table_[i] = key;
        ++size_;
        return;
      }
    }
  }

  std::vector<double> sorted() const {
    std::vector<double> values;
    values.reserve(size_);
    for (const std::uint64_t key : table_) {
      if (key == kEmpty) continue;
      double x;
      std::memcpy(&x, &key, sizeof x);
      values.push_back(x);
    }
    std::sort(values.begin(), values.end());
    return values;
  }

 private:
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};  // a NaN, and NaN is never added
  std::size_t limit_, size_ = 0;
  int bits_;
  std::uint64_t last_ = kEmpty;
  std::vector<std::uint64_t> table_;
};

struct Look {
  double largest = -std::numeric_limits<double>::infinity();
  bool exact = true;  // `distinct` holds all values
  std::vector<double> distinct;
};

template <class T>
void look_at(const T* x, std::size_t n, Distinct& distinct, Look& look) {
  if (!distinct.overflowed()) {
    for (std::size_t i = 0; i < n && !distinct.overflowed(); ++i)
      if (x[i] == x[i]) distinct.add(x[i]);
  }
  constexpr std::size_t kLanes = 8;  // independent maxima, which a compiler can keep in vector registers
  T largest[kLanes];
  std::fill(largest, largest + kLanes, -std::numeric_limits<T>::infinity());
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (std::size_t k = 0; k < kLanes; ++k) largest[k] = x[i + k] > largest[k] ? x[i + k] : largest[k];
  for (; i < n; ++i) largest[0] = x[i] > largest[0] ? x[i] : largest[0];
  look.largest = std::max(look.largest, static_cast<double>(*std::max_element(largest, largest + kLanes)));
}

template <class T>
std::vector<Look> look_at_columns(const Matrix<T>& X, const Rows& rows, View<const std::uint32_t> columns,
                                  std::size_t max_bins, Pool& pool) {
  std::vector<Look> looks(columns.size);
  const std::size_t width =
      std::max<std::size_t>(1, std::min(kGroup, ceil_div(columns.size, pool.n_threads())));
  run_tasks(pool, ceil_div(columns.size, width), [&](std::size_t task, std::size_t) {
    const std::size_t begin = task * width, end = std::min(columns.size, begin + width);
    std::vector<Distinct> distinct(end - begin, Distinct(max_bins));
    Buffer<T> buffer;
    for (std::size_t first = 0; first < rows.size; first += kBlock) {
      const std::size_t n = std::min(kBlock, rows.size - first);
      load(X, rows, first, n, {columns.data + begin, end - begin}, buffer);
      for (std::size_t k = 0; k < end - begin; ++k)
        look_at(buffer.column(k), n, distinct[k], looks[begin + k]);
    }
    for (std::size_t k = 0; k < end - begin; ++k) {
      looks[begin + k].exact = !distinct[k].overflowed();
      if (!distinct[k].overflowed()) looks[begin + k].distinct = distinct[k].sorted();
    }
  });
  return looks;
}

// ---- the sample ---------------------------------------------------------------------------------

// A row's hash comes from its values alone, column by column, so no order of rows and no repetition shows in
// it.
template <class T>
std::vector<std::uint64_t> hash_rows(const Matrix<T>& X, const Rows& rows, Pool& pool) {
  std::vector<std::uint32_t> columns(X.n_columns);
  std::iota(columns.begin(), columns.end(), 0u);
  std::vector<std::uint64_t> hashes(rows.size, 0);
  constexpr std::size_t kChunk = 16 * kBlock;
  run_tasks(pool, ceil_div(rows.size, kChunk), [&](std::size_t task, std::size_t) {
    Buffer<T> buffer;
    for (std::size_t first = task * kChunk; first < std::min(rows.size, (task + 1) * kChunk);
         first += kBlock) {
      const std::size_t n = std::min(kBlock, rows.size - first);
      std::uint64_t* hash = hashes.data() + first;
      for (std::size_t c = 0; c < columns.size(); c += kGroup) {
        const std::size_t width = std::min(kGroup, columns.size() - c);
        load(X, rows, first, n, {columns.data() + c, width}, buffer);
        for (std::size_t k = 0; k < width; ++k)
          for (std::size_t i = 0; i < n; ++i) {
            const std::uint64_t h = (hash[i] ^ canonical_bits(buffer.column(k)[i])) * 0x9E3779B97F4A7C15u;
            hash[i] = h ^ (h >> 32);
          }
      }
      for (std::size_t i = 0; i < n; ++i) {  // the finish of MurmurHash3: every bit depends on every bit
        std::uint64_t h = (hash[i] ^ (hash[i] >> 33)) * 0xFF51AFD7ED558CCDu;
        h = (h ^ (h >> 33)) * 0xC4CEB9FE1A85EC53u;
        hash[i] = h ^ (h >> 33);
      }
    }
  });
  return hashes;
}

// The kSampledRows smallest distinct hashes, sorted; all of them when there are fewer.
std::vector<std::uint64_t> smallest_distinct(const std::vector<std::uint64_t>& hashes) {
  std::vector<std::uint64_t> kept;
  const auto shrink = [&kept] {
    std::sort(kept.begin(), kept.end());
    kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
    if (kept.size() > kSampledRows) kept.resize(kSampledRows);
  };
  // If all rows differ, a little more than the wanted number lies below this bound and one sort is enough.
  const double share = 1.05 * static_cast<double>(kSampledRows) / static_cast<double>(hashes.size());
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  const auto guess = share < 1 ? static_cast<std::uint64_t>(share * 0x1p64) : kAll;
  for (std::uint64_t bound : {guess, kAll}) {
    kept.clear();
    for (const std::uint64_t hash : hashes) {
      if (hash > bound) continue;
      kept.push_back(hash);
      if (kept.size() < 2 * kSampledRows) continue;
      shrink();
      if (kept.size() == kSampledRows) bound = kept.back();
    }
    shrink();
    if (kept.size() == kSampledRows) break;
  }
  return kept;
}

struct Sample {
  std::vector<std::uint32_t> rows;    // one for each distinct row of the sample ; or all rows, when few
  std::vector<std::uint64_t> weight;  // of rows[i] and its repetitions ; empty when all are equal
};

Sample sample_rows(const std::vector<std::uint64_t>& hashes, const Rows& rows, const Weights& weights) {
  const std::vector<std::uint64_t> kept = smallest_distinct(hashes);
  int bits = 2;
  while ((std::size_t{1} << bits) < 2 * kept.size()) ++bits;
  constexpr std::uint32_t kEmpty = ~std::uint32_t{0};
  std::vector<std::uint32_t> slots(std::size_t{1} << bits, kEmpty);  // -> position in the sample
  std::vector<std::uint64_t> found;                                  // the hash at each position
  Sample sample;
  // The kept hashes are the small ones: spread them over the table by a multiplication.
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    if (hashes[i] > kept.back()) continue;
    const std::uint64_t weight = weights.weight.empty() ? 1 : weights.weight[rows[i]];
    std::size_t slot = (hashes[i] * 0x9E3779B97F4A7C15u) >> (64 - bits);
    while (slots[slot] != kEmpty && found[slots[slot]] != hashes[i]) slot = (slot + 1) & (slots.size() - 1);
    if (slots[slot] == kEmpty) {
      slots[slot] = static_cast<std::uint32_t>(found.size());
      found.push_back(hashes[i]);
      sample.rows.push_back(static_cast<std::uint32_t>(rows[i]));
      sample.weight.push_back(weight);
    } else {
      sample.weight[slots[slot]] += weight;
    }
  }
  const auto& w = sample.weight;
  if (std::all_of(w.begin(), w.end(), [&](std::uint64_t v) { return v == w[0]; })) sample.weight.clear();
  return sample;
}

template <class T>
Sample make_sample(const Matrix<T>& X, const Rows& rows, const Weights& weights, Pool& pool) {
  if (rows.size > kSampledRows) return sample_rows(hash_rows(X, rows, pool), rows, weights);
  Sample sample;
  sample.rows.resize(rows.size);
  for (std::size_t i = 0; i < rows.size; ++i) sample.rows[i] = static_cast<std::uint32_t>(rows[i]);
  if (!weights.weight.empty()) {
    sample.weight.resize(rows.size);
    for (std::size_t i = 0; i < rows.size; ++i) sample.weight[i] = weights.weight[rows[i]];
  }
  return sample;
}

// ---- sorted values -> edges ---------------------------------------------------------------------

// Floats as unsigned integers in the same order: flip all bits of a negative one, the sign of a positive one.
std::uint32_t order_key(float x) {
  x += 0.0f;
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits ^ ((bits >> 31) ? ~std::uint32_t{0} : std::uint32_t{1} << 31);
}
std::uint64_t order_key(double x) {
  const std::uint64_t bits = canonical_bits(x);
  return bits ^ ((bits >> 63) ? ~std::uint64_t{0} : std::uint64_t{1} << 63);
}
double value_of(std::uint32_t key) {
  key ^= (key >> 31) ? std::uint32_t{1} << 31 : ~std::uint32_t{0};
  float x;
  std::memcpy(&x, &key, sizeof x);
  return x;
}
double value_of(std::uint64_t key) {
  key ^= (key >> 63) ? std::uint64_t{1} << 63 : ~std::uint64_t{0};
  double x;
  std::memcpy(&x, &key, sizeof x);
  return x;
}

// What is sorted: the key alone when all rows weigh the same, else key and weight.
template <class Key>
struct Plain {
  Key key;
  Plain() = default;
  Plain(Key k, std::uint64_t) : key(k) {}
  std::uint64_t weight() const { return 1; }
};
template <class Key>
struct Weighted {
  Key key;
  std::uint64_t w;
  Weighted() = default;
  Weighted(Key k, std::uint64_t weight_) : key(k), w(weight_) {}
  std::uint64_t weight() const { return w; }
};

// Radix sort by 11 bits a pass, three times as fast as std::sort on 200,000 keys. Passes in which all keys
// agree are skipped: float64 columns that hold float32 values, or integers, need few.
template <class Item>
void sort_items(std::vector<Item>& items, std::vector<Item>& other) {
  using Key = decltype(Item::key);
  constexpr std::size_t kBits = 11, kPasses = (8 * sizeof(Key) + kBits - 1) / kBits, kDigits = 1u << kBits;
  if (items.size() < 2 * kDigits) {
    std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.key < b.key; });
    return;
  }
  const auto digit = [](Key key, std::size_t pass) { return (key >> (pass * kBits)) & (kDigits - 1); };
  std::vector<std::array<std::uint32_t, kDigits>> count(kPasses);
  for (auto& pass : count) pass.fill(0);
  for (const Item& item : items)
    for (std::size_t pass = 0; pass < kPasses; ++pass) ++count[pass][digit(item.key, pass)];
  other.resize(items.size());
  for (std::size_t pass = 0; pass < kPasses; ++pass) {
    auto& place = count[pass];
    if (place[digit(items[0].key, pass)] == items.size()) continue;
    std::uint32_t sum = 0;
    for (auto& p : place) {
      const std::uint32_t here = p;
      p = sum;
      sum += here;
    }
    for (const Item& item : items) other[place[digit(item.key, pass)]++] = item;
    items.swap(other);
  }
}

// a < b. Half of each, so that the sum cannot overflow; a itself where rounding would reach b (or lose a).
double midpoint(double a, double b) {
  const double middle = a / 2 + b / 2;
  return a <= middle && middle < b ? middle : a;
}

std::vector<double> edges_between_all(const std::vector<double>& distinct) {
  std::vector<double> edges;
  edges.reserve(distinct.size());
  for (std::size_t i = 0; i + 1 < distinct.size(); ++i)
    edges.push_back(midpoint(distinct[i], distinct[i + 1]));
  edges.push_back(distinct.back());
  return edges;
}

template <class Item>
struct Runs {  // equal keys in a row
  const std::vector<Item>& items;
  std::size_t next = 0;
  double value = 0;
  std::uint64_t weight = 0;
  bool step() {
    if (next == items.size()) return false;
    const auto key = items[next].key;
    for (weight = 0; next < items.size() && items[next].key == key; ++next) weight += items[next].weight();
    value = value_of(key);
    return true;
  }
};

// At most max_bins upper ends of bins of about equal weight.
//
// A heavy value, one that fills two bins, gets a bin of its own, and each of them takes two from the budget
// B; the light values, with total weight W, are cut where the sum of their weights reaches a multiple of W /
// (B - 2 heavy). That is at most B - 2 heavy bins, and one more for each heavy value that parts a bin: B in
// all.
template <class Item>
std::vector<double> quantile_edges(const std::vector<Item>& items, std::size_t max_bins) {
  std::uint64_t total = 0, light = 0;
  for (const Item& item : items) total += item.weight();
  const auto is_heavy = [&](std::uint64_t weight) { return Wide{weight} * max_bins >= Wide{total} * 2; };
  std::size_t n_distinct = 0, n_heavy = 0;
  for (Runs<Item> run{items}; run.step(); ++n_distinct) {
    if (is_heavy(run.weight))
      ++n_heavy;
    else
      light += run.weight;
  }
  const bool all = n_distinct <= max_bins;
  const std::size_t budget = max_bins - 2 * n_heavy;
  std::vector<double> edges;
  Wide multiple = light;
  std::uint64_t sum = 0;
  Runs<Item> run{items};
  run.step();
  for (bool more = true; more;) {
    const double value = run.value;
    const bool heavy = is_heavy(run.weight);
    bool cut = all || heavy;
    if (!heavy) {
      sum += run.weight;
      const Wide reached = Wide{sum} * budget;
      if (reached >= multiple) {
        cut = true;
        multiple = (reached / light + 1) * light;
      }
    }
    more = run.step();
    if (more && (cut || is_heavy(run.weight))) edges.push_back(midpoint(value, run.value));
  }
  edges.push_back(value_of(items.back().key));
  return edges;
}

template <class T, class Item>
void sample_columns(const Matrix<T>& X, const Sample& sample, View<const std::uint32_t> columns,
                    std::size_t max_bins, Pool& pool, std::vector<std::vector<double>>& edges) {
  // Of a row-major table a cache line of columns at a time: else every column reads all lines of the sample.
  const bool row_major = std::abs(X.row_stride) > std::abs(X.column_stride);
  const std::size_t width =
      row_major ? std::min<std::size_t>(8, ceil_div(columns.size, pool.n_threads())) : 1;
  const Rows rows{sample.rows.data(), sample.rows.size()};
  run_tasks(
      pool, ceil_div(columns.size, std::max<std::size_t>(1, width)), [&](std::size_t task, std::size_t) {
        const std::size_t begin = task * width, end = std::min(columns.size, begin + width);
        std::vector<std::vector<Item>> items(end - begin);
        std::vector<Item> other;
        for (auto& column : items) column.reserve(rows.size);
        Buffer<T> buffer;
        for (std::size_t first = 0; first < rows.size; first += kBlock) {
          const std::size_t n = std::min(kBlock, rows.size - first);
          load(X, rows, first, n, {columns.data + begin, end - begin}, buffer);
          for (std::size_t k = 0; k < end - begin; ++k)
            for (std::size_t i = 0; i < n; ++i) {
              const T x = buffer.column(k)[i];
              if (x == x)
                items[k].emplace_back(order_key(x), sample.weight.empty() ? 1 : sample.weight[first + i]);
            }
        }
        for (std::size_t k = 0; k < end - begin; ++k) {
          if (items[k].empty())
            continue;  // more values than bins in the table, all of them missing in the sample
          sort_items(items[k], other);
          edges[columns[begin + k]] = quantile_edges(items[k], max_bins);
        }
      });
}

// ---- levels -------------------------------------------------------------------------------------

// The bin of each level: itself; or, of too many levels, those of largest weight keep a bin each.
template <class T>
std::vector<std::int32_t> bins_of_levels(const Matrix<T>& X, std::size_t column, std::size_t n_levels,
                                         std::size_t max_bins, const Rows& rows, const Weights& weights) {
  std::vector<std::int32_t> bin(n_levels);
  std::iota(bin.begin(), bin.end(), 0);
  if (n_levels <= max_bins) return bin;
  std::vector<std::uint64_t> total(n_levels, 0);
  for (std::size_t i = 0; i < rows.size; ++i) {
    const double x = X.at(rows[i], column);
    if (!(x >= 0 && x < static_cast<double>(n_levels))) continue;
    const auto level = static_cast<std::size_t>(x);
    if (static_cast<double>(level) == x) total[level] += weights.weight.empty() ? 1 : weights.weight[rows[i]];
  }
  std::vector<std::int32_t> by_weight = bin;
  std::stable_sort(by_weight.begin(), by_weight.end(), [&](std::int32_t a, std::int32_t b) {
    return total[static_cast<std::size_t>(a)] > total[static_cast<std::size_t>(b)];
  });
  const auto last = static_cast<std::int32_t>(max_bins - 1);
  std::fill(bin.begin(), bin.end(), last);
  std::sort(by_weight.begin(), by_weight.begin() + last);
  for (std::int32_t b = 0; b < last; ++b)
    bin[static_cast<std::size_t>(by_weight[static_cast<std::size_t>(b)])] = b;
  return bin;
}

}  // namespace

template <class T>
Bins fit_bins(const Matrix<T>& X, View<const bool> is_categorical, View<const std::int32_t> n_levels,
              std::size_t max_bins, View<const double> multiplicity, Pool& pool) {
  const Weights weights = whole_weights(multiplicity);
  const Rows rows = weights.absent ? Rows{weights.rows.data(), weights.rows.size()} : Rows{nullptr, X.n_rows};
  std::vector<std::vector<double>> edges(X.n_columns);
  std::vector<std::uint32_t> numeric, sampled;
  for (std::size_t c = 0; c < X.n_columns; ++c)
    if (!is_categorical[c]) numeric.push_back(static_cast<std::uint32_t>(c));
  std::vector<Look> looks = look_at_columns(X, rows, {numeric.data(), numeric.size()}, max_bins, pool);
  for (std::size_t k = 0; k < numeric.size(); ++k) {
    if (!looks[k].exact)
      sampled.push_back(numeric[k]);
    else if (!looks[k].distinct.empty())
      edges[numeric[k]] = edges_between_all(looks[k].distinct);
  }
  if (!sampled.empty()) {
    using Key = decltype(order_key(T{}));
    const Sample sample = make_sample(X, rows, weights, pool);
    const View<const std::uint32_t> columns{sampled.data(), sampled.size()};
    if (sample.weight.empty())
      sample_columns<T, Plain<Key>>(X, sample, columns, max_bins, pool, edges);
    else
      sample_columns<T, Weighted<Key>>(X, sample, columns, max_bins, pool, edges);
  }
  Bins bins;
  bins.edge_start.push_back(0);
  bins.level_start.push_back(0);
  for (std::size_t c = 0, k = 0; c < X.n_columns; ++c) {
    if (is_categorical[c]) {
      const auto n = static_cast<std::size_t>(n_levels[c]);
      const auto level_bin = bins_of_levels(X, c, n, max_bins, rows, weights);
      bins.level_bin.insert(bins.level_bin.end(), level_bin.begin(), level_bin.end());
      bins.n_bins.push_back(static_cast<std::int32_t>(std::max<std::size_t>(1, std::min(n, max_bins))));
    } else {
      Look& look = looks[k++];
      if (edges[c].empty()) edges[c].push_back(std::isfinite(look.largest) ? look.largest : 0.0);
      // The last edge is the largest value of all rows: "value or missing" is a split too, and has it as
      // threshold.
      if (look.largest > edges[c].back()) edges[c].back() = look.largest;
      bins.edges.insert(bins.edges.end(), edges[c].begin(), edges[c].end());
      bins.n_bins.push_back(static_cast<std::int32_t>(edges[c].size()));
    }
    bins.edge_start.push_back(static_cast<std::int64_t>(bins.edges.size()));
    bins.level_start.push_back(static_cast<std::int64_t>(bins.level_bin.size()));
  }
  return bins;
}

template Bins fit_bins(const Matrix<float>&, View<const bool>, View<const std::int32_t>, std::size_t,
                       View<const double>, Pool&);
template Bins fit_bins(const Matrix<double>&, View<const bool>, View<const std::int32_t>, std::size_t,
                       View<const double>, Pool&);
}  // namespace tada
