// SPDX-License-Identifier: Apache-2.0
#include "alike.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tada {
namespace {

constexpr std::size_t kFewRows = 1024;
constexpr double kWorth = 1.5;  // rows a group; each brings a cell of 16 bytes where a row brought 4

std::uint64_t hash_of(const void* row, std::size_t n_bytes, bool positive) {
  std::uint64_t hash = positive ? 0x9e3779b97f4a7c15 : 0x2545f4914f6cdd1d;
  for (std::size_t i = 0; i < n_bytes; i += 8) {
    std::uint64_t word;
    std::memcpy(&word, static_cast<const char*>(row) + i, 8);
    hash = (hash ^ word) * 0xd6e8feb86659fd93;
    hash ^= hash >> 32;
  }
  return hash;
}

// How many different rows there are, about: those whose hashes begin with some zeros, times 2 for each.
template <class HashOf>
double n_different(std::size_t n_rows, HashOf hash_of_row) {
  const int n_zeros = n_rows > (1 << 16) ? 6 : 2;
  std::vector<std::uint64_t> some;
  for (std::size_t i = 0; i < n_rows; ++i)
    if (const std::uint64_t hash = hash_of_row(i); hash >> (64 - n_zeros) == 0) some.push_back(hash);
  std::sort(some.begin(), some.end());
  return std::ldexp(static_cast<double>(std::unique(some.begin(), some.end()) - some.begin()), n_zeros);
}

}  // namespace

template <class Code>
Alike find_alike(const RowCodes<Code>& codes, std::size_t n_positive) {
  const std::size_t n = codes.n_rows, n_bytes = codes.stride * sizeof(Code);
  assert(n_bytes % 8 == 0);
  Alike out;
  if (n < kFewRows) return out;
  auto row = [&](std::size_t i) { return codes.data + i * codes.stride; };
  auto hash_of_row = [&](std::size_t i) { return hash_of(row(i), n_bytes, i < n_positive); };
  if (static_cast<double>(n) < kWorth * n_different(n, hash_of_row)) return out;

  // Again: most tables end above, and need no memory for them.
  std::vector<std::uint64_t> hashes(n);
  for (std::size_t i = 0; i < n; ++i) hashes[i] = hash_of_row(i);
  std::size_t size = 1;
  while (size < 2 * n) size *= 2;
  constexpr std::uint32_t kNone = 0xffffffff;
  std::vector<std::uint32_t> slots(size, kNone);  // groups
  out.group_of.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    if (i == n_positive) out.n_positive = out.first_row.size();
    std::size_t slot = hashes[i] & (size - 1);
    for (;; slot = (slot + 1) & (size - 1)) {
      if (slots[slot] == kNone) {
        slots[slot] = static_cast<std::uint32_t>(out.first_row.size());
        out.first_row.push_back(static_cast<std::uint32_t>(i));
        break;
      }
      const std::size_t other = out.first_row[slots[slot]];
      const bool same_class = (other < n_positive) == (i < n_positive);
      if (hashes[other] == hashes[i] && same_class && std::memcmp(row(other), row(i), n_bytes) == 0) break;
    }
    out.group_of[i] = slots[slot];
  }
  if (n_positive == n) out.n_positive = out.first_row.size();
  return out;
}

template Alike find_alike<std::uint8_t>(const RowCodes<std::uint8_t>&, std::size_t);
template Alike find_alike<std::uint16_t>(const RowCodes<std::uint16_t>&, std::size_t);

}  // namespace tada
