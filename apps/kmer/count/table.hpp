// Counting the k-mers of one shard.
#pragma once

#include "count/bloom.hpp"
#include "count/run_store.hpp"
#include "kmer.hpp"
#include "output/histogram.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include <tsl/robin_map.h>

namespace kmer {

/// Counts of the k-mers that layer 2 of the Bloom filter has let through. A shard has one owner at a time, so
/// it needs no lock.
template <int Words>
using CountTable = tsl::robin_map<Kmer<Words>, std::uint64_t, KmerHash<Words>, std::equal_to<Kmer<Words>>,
                                  std::allocator<std::pair<Kmer<Words>, std::uint64_t>>, false,
                                  tsl::rh::power_of_two_growth_policy<4>>;

/// The result of a shard: k-mers with count >= 2.
template <int Words>
struct Kept {
  struct Entry {
    Kmer<Words> kmer;
    std::uint64_t count;
  };
  std::vector<Entry> entries;
  Histogram histogram;
};

/// The two passes over one shard: first all of its k-mers are marked, then all are tallied, then the table is
/// purged.
template <int Words>
class ShardCounter {
 public:
  ShardCounter(int k, const BloomPlan& plan) : k_(k), bloom_(plan) { table_.max_load_factor(0.75F); }

  /// Sizes the Bloom filter and empties the table; both keep their memory.
  void reset(std::uint64_t expected_keys) {
    bloom_.reset(expected_keys);
    table_.clear();
    kmers_ = 0;
  }
  /// Pass 1: marks all k-mers.
  void mark(const RunStore& runs) {
    runs.for_each_kmer<Words>(k_,
                              [this](const Kmer<Words>&, std::uint64_t hash) { bloom_.add_exclusive(hash); });
  }
  /// Pass 2: tallies all k-mers.
  void tally(const RunStore& runs) {
    kmers_ += runs.kmers();
    // The filter's answer for a k-mer is hard to predict: gather first, without a branch, then count.
    std::array<Kmer<Words>, kGathered> gathered;
    std::size_t count = 0;
    runs.for_each_kmer<Words>(k_, [&](const Kmer<Words>& kmer, std::uint64_t hash) {
      gathered[count] = kmer;
      count += bloom_.seen_twice(hash) ? 1 : 0;
      if (count == kGathered) {
        for (const Kmer<Words>& each : gathered) ++table_[each];
        count = 0;
      }
    });
    for (std::size_t i = 0; i < count; ++i) ++table_[gathered[i]];
  }
  /// Purges the k-mers that the Bloom filter let through wrongly and hands over the rest. All k-mers of the
  /// shard that are not kept occurred once, which makes the histogram exact.
  void harvest(Kept<Words>& kept) {
    std::uint64_t kept_occurrences = 0;
    for (const auto& [kmer, count] : table_) {
      if (count < 2) continue;
      kept.entries.push_back({kmer, count});
      kept.histogram.add(count, 1);
      kept_occurrences += count;
    }
    kept.histogram.add(1, kmers_ - kept_occurrences);
  }
  [[nodiscard]] std::size_t bloom_bytes() const noexcept { return bloom_.bytes(); }
  [[nodiscard]] std::size_t table_size() const noexcept { return table_.size(); }

 private:
  static constexpr std::size_t kGathered = 256;

  int k_;
  BloomFilter bloom_;
  CountTable<Words> table_;
  std::uint64_t kmers_ = 0;  // tallied
};

}  // namespace kmer
