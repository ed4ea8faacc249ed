// The two-layer blocked Bloom filter, which tells the keys that have been seen at least twice.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace kmer {

/// The number of bits per key, and the number of them that are set.
struct BloomPlan {
  double bits_per_key = 0;
  int hashes = 0;
};

inline constexpr int kMostBloomHashes = 5;  // 6 bits each of the hash's lower half

/// The share of unseen keys that a filter of 64-bit blocks reports as seen, once it holds as many keys as
/// planned.
[[nodiscard]] double false_positive_rate(const BloomPlan& plan);
/// The smallest plan that keeps the rate, 0 < rate < 1.
[[nodiscard]] BloomPlan plan_bloom(double rate);

/// All bits of a key lie in one 64-bit word per layer. Layer 1 holds the keys seen, layer 2 those seen again.
/// It may report a key as seen that was not; it never forgets one.
class BloomFilter {
 public:
  explicit BloomFilter(const BloomPlan& plan) : plan_(plan) {}

  /// Empties the filter and sizes it for `keys` distinct keys; more keys only raise the rate of errors. Keeps
  /// its memory.
  void reset(std::uint64_t keys);

  /// Marks the key as seen, or as seen again. Any number of threads at once: each layer's bits are set by one
  /// atomic OR, so of two threads that add the same new key at once, one finds the other's bits.
  void add(std::uint64_t hash) noexcept {
    const std::uint64_t mask = mask_of(hash);
    const std::size_t word = word_of(hash);
    if ((std::atomic_ref(seen_[word]).fetch_or(mask, std::memory_order_relaxed) & mask) == mask)
      std::atomic_ref(again_[word]).fetch_or(mask, std::memory_order_relaxed);
  }

  /// Adds a key as add() does, for the only thread that uses the filter: no locked instruction.
  void add_exclusive(std::uint64_t hash) noexcept {
    const std::uint64_t mask = mask_of(hash);
    const std::size_t word = word_of(hash);
    const std::uint64_t before = seen_[word];
    seen_[word] = before | mask;
    // Whether the key is new is random in reads with errors: no branch depends on it.
    again_[word] |= mask & (0 - static_cast<std::uint64_t>((before & mask) == mask));
  }

  /// Returns true when the key was added at least twice; true also for some keys that were not.
  [[nodiscard]] bool seen_twice(std::uint64_t hash) const noexcept {
    const std::uint64_t mask = mask_of(hash);
    return (again_[word_of(hash)] & mask) == mask;
  }

  [[nodiscard]] std::size_t bytes() const noexcept {
    return (seen_.size() + again_.size()) * sizeof(std::uint64_t);
  }

 private:
  [[nodiscard]] std::size_t word_of(std::uint64_t hash) const noexcept {
    return static_cast<std::size_t>(((hash >> 32) * seen_.size()) >> 32);
  }
  [[nodiscard]] std::uint64_t mask_of(std::uint64_t hash) const noexcept {
    std::uint64_t mask = 0;
    for (int i = 0; i < plan_.hashes; ++i, hash >>= 6) mask |= std::uint64_t{1} << (hash & 63U);
    return mask;
  }

  BloomPlan plan_;
  std::vector<std::uint64_t> seen_;
  std::vector<std::uint64_t> again_;
};

}  // namespace kmer
