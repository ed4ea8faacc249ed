// Histogram: the number of distinct k-mers for each number of occurrences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace kmer {

/// Exact for all counts: small ones in an array, the few large ones in a map.
class Histogram {
 public:
  void add(std::uint64_t count, std::uint64_t kmers);
  void add(const Histogram& other) {
    for (const auto& [count, kmers] : other.bins()) add(count, kmers);
  }

  struct Bin {
    std::uint64_t count;  ///< occurrences
    std::uint64_t kmers;  ///< distinct k-mers that occur so often; not 0
  };
  /// The bins, ascending by count.
  [[nodiscard]] std::vector<Bin> bins() const;

  /// Serializes the histogram, for the exchange between ranks.
  [[nodiscard]] std::vector<std::byte> to_bytes() const;
  void add_bytes(std::span<const std::byte> bytes);

 private:
  static constexpr std::uint64_t kDense = 4096;
  std::vector<std::uint64_t> dense_;
  std::map<std::uint64_t, std::uint64_t> sparse_;
};

}  // namespace kmer
