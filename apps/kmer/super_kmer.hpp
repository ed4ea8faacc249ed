// Super-k-mers: runs of consecutive k-mers of a read that share their minimizer, and so their shard.
#pragma once

#include "bases.hpp"
#include "kmer.hpp"
#include "records.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace kmer {

/// At most this many k-mers in one super-k-mer: their number less one is a byte.
inline constexpr std::size_t kLongestRun = 256;

/// Bytes of a run's bases, packed.
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
/// whose mixed value is smallest, so a k-mer and its reverse complement meet in the same shard. One per
/// thread.
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
    // The first k-mer of a read is all that its first base is part of, apart from what the second base
    // starts.
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

  /// values_[i] = mixed value of the canonical m-mer that starts at begin + i.
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
    std::uint32_t* value = values_.data();
    for (const std::uint8_t* last = codes + end; code != last; ++code) {
      forward = ((forward << 2) | *code) & mask;
      reverse = (reverse >> 2) | ((3U - *code) << top);
      *value++ = mix(std::min(forward, reverse));
    }
  }

  template <class Sink>
  void split_known(const std::uint8_t* codes, std::size_t begin, std::size_t end, Sink& sink) {
    compute_values(codes, begin, end);
    const std::uint32_t* values = values_.data();
    const std::size_t window = k_ - m_ + 1;
    const std::size_t kmers = end - begin - k_ + 1;
    std::size_t run = 0;            // the current run starts at this k-mer
    std::uint32_t run_minimum = 0;  // of the current run
    std::size_t smallest = 0;       // where the window's minimum lies
    std::uint32_t minimum = 0;
    for (std::size_t i = 0; i < kmers; ++i) {
      if (i == 0 || smallest < i) {
        smallest = i;
        minimum = values[i];
        for (std::size_t j = i + 1; j < i + window; ++j)
          if (values[j] <= minimum) {
            minimum = values[j];
            smallest = j;
          }
      } else if (values[i + window - 1] <= minimum) {
        minimum = values[i + window - 1];
        smallest = i + window - 1;
      }
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
  std::vector<std::uint32_t> values_;
};

}  // namespace kmer
