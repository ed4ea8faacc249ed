// Super-k-mers: runs of consecutive k-mers of a read that share their minimizer, and so their shard.
#pragma once

#include "input/bases.hpp"
#include "input/records.hpp"
#include "kmer.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace kmer {

/// The most k-mers in one super-k-mer: their number less one is a byte.
inline constexpr std::size_t kLongestRun = 256;

/// The bytes of a run's packed bases.
[[nodiscard]] constexpr std::size_t run_bytes(int k, std::size_t kmers) noexcept {
  return packed_size(static_cast<std::size_t>(k) + kmers - 1);
}

/// Length of the minimizers of k-mers: long enough to spread over thousands of shards, short enough that runs
/// are long.
[[nodiscard]] constexpr int minimizer_length(int k) noexcept { return std::min(15, (k + 1) / 2); }

/// A run of k-mers within packed bases.
struct SuperKmer {
  std::uint32_t shard;         ///< index among all shards of the job
  const std::uint8_t* packed;  ///< the piece's packed bases
  std::size_t first;           ///< index of the run's first base in `packed`
  std::size_t kmers;           ///< 1 to kLongestRun; the run has k - 1 + kmers bases
};

/// Cuts pieces into super-k-mers. The shard of a k-mer follows from its minimizer: the m-mer of either strand
/// with the smallest mixed value, so that a k-mer and its reverse complement belong to the same shard. One
/// per thread.
class Splitter {
 public:
  Splitter(int k, std::uint32_t shards, bool skip_ends)
      : k_(static_cast<std::size_t>(k)),
        m_(static_cast<std::size_t>(minimizer_length(k))),
        shards_(shards),
        skip_ends_(skip_ends) {}

  /// Calls sink(const SuperKmer&) for runs that together contain each k-mer of the piece without unknown
  /// bases once.
  template <class Sink>
  void split(const Piece& piece, Sink&& sink) {
    const std::uint8_t* codes = piece.codes;
    std::size_t size = piece.size;
    // Skipping the first base of a read skips exactly its first k-mer.
    if (skip_ends_ && piece.first && size > 0) {
      ++codes;
      --size;
    }
    if (skip_ends_ && piece.last && size > 0) --size;
    if (size < k_) return;

    packed_.resize(packed_size(size) + 32);
    pack_bases(codes, size, packed_.data());
    std::size_t begin = 0;
    while (begin + k_ <= size) {
      const auto* unknown =
          static_cast<const std::uint8_t*>(std::memchr(codes + begin, kUnknownBase, size - begin));
      const std::size_t end = unknown == nullptr ? size : static_cast<std::size_t>(unknown - codes);
      if (begin + k_ <= end) split_known(codes, begin, end, sink);
      begin = end + 1;
    }
  }

  /// The shard of all k-mers with this smallest m-mer value.
  [[nodiscard]] std::uint32_t shard_of(std::uint32_t minimum) const noexcept {
    const std::uint64_t hash = fold_product(minimum ^ 0x452821e638d01377U, 0xbe5466cf34e90c6cU);
    return static_cast<std::uint32_t>(((hash >> 32) * shards_) >> 32);
  }

 private:
  /// Mixes reversibly, so that equal values mean equal m-mers. A random order keeps runs long and shards
  /// even.
  [[nodiscard]] static std::uint32_t mix(std::uint32_t value) noexcept {
    value = (value ^ (value >> 16)) * 0x7feb352dU;
    return (value ^ (value >> 15)) * 0x846ca68bU;
  }

  /// values_[i] = mixed value of the canonical m-mer that starts at begin + i, above the complement of i.
  void compute_values(const std::uint8_t* codes, std::size_t begin, std::size_t end) {
    values_.resize(end - begin - m_ + 1);
    const std::uint32_t mask = static_cast<std::uint32_t>((std::uint64_t{1} << (2 * m_)) - 1);
    const unsigned top = static_cast<unsigned>(2 * (m_ - 1));
    std::uint32_t forward = 0;
    std::uint32_t reverse = 0;
    const std::uint8_t* code = codes + begin;
    for (std::size_t i = 0; i + 1 < m_; ++i, ++code) {
      forward = (forward << 2) | *code;
      reverse = (reverse >> 2) | ((3U - *code) << top);
    }
    std::uint64_t* value = values_.data();
    std::uint32_t position = 0;
    for (const std::uint8_t* last = codes + end; code != last; ++code, ++position) {
      forward = ((forward << 2) | *code) & mask;
      reverse = (reverse >> 2) | ((3U - *code) << top);
      // Of equal values the last one is the smallest, because it stays longest in the window.
      *value++ =
          (std::uint64_t{mix(std::min(forward, reverse))} << 32) | static_cast<std::uint32_t>(~position);
    }
  }

  template <class Sink>
  void split_known(const std::uint8_t* codes, std::size_t begin, std::size_t end, Sink& sink) {
    compute_values(codes, begin, end);
    const std::uint64_t* values = values_.data();
    const std::size_t window = k_ - m_ + 1;
    const std::size_t kmers = end - begin - k_ + 1;
    std::size_t run = 0;            // the current run starts at this k-mer
    std::uint32_t run_minimum = 0;  // of the current run
    std::uint64_t smallest = 0;     // smallest value in the window, and its position
    std::size_t leaves = 0;         // first k-mer that does not contain it any more
    for (std::size_t i = 0; i < kmers; ++i) {
      if (i == leaves) {
        smallest = values[i];
        for (std::size_t j = i + 1; j < i + window; ++j) smallest = std::min(smallest, values[j]);
      } else {
        smallest = std::min(smallest, values[i + window - 1]);
      }
      leaves = static_cast<std::uint32_t>(~smallest) + std::size_t{1};
      const auto minimum = static_cast<std::uint32_t>(smallest >> 32);
      if (i == 0) {
        run_minimum = minimum;
      } else if (minimum != run_minimum || i - run == kLongestRun) {
        sink(SuperKmer{shard_of(run_minimum), packed_.data(), begin + run, i - run});
        run = i;
        run_minimum = minimum;
      }
    }
    sink(SuperKmer{shard_of(run_minimum), packed_.data(), begin + run, kmers - run});
  }

  std::size_t k_;
  std::size_t m_;
  std::uint32_t shards_;
  bool skip_ends_;
  std::vector<std::uint8_t> packed_;
  std::vector<std::uint64_t> values_;
};

}  // namespace kmer
