// A queue of items which is searched by short digests, several at a time.
#pragma once

#include <weft/matching/algorithm.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::tools::study {

/// Sixteen bits that stand for a source and a tag. A pattern can accept a message only if their values agree
/// in all bits that both masks have.
struct MatchDigest {
  std::uint16_t value = 0;
  std::uint16_t mask = 0;  ///< bits of the value that count; a wildcard leaves some out
};

[[nodiscard]] MatchDigest digest_of(const MatchEnvelope& envelope) noexcept;
[[nodiscard]] MatchDigest digest_of(const MatchPattern& pattern) noexcept;

/// Items in the order of appending, whose digests lie side by side. What is removed leaves a hole, which fits
/// nothing; holes at either end go at once, others when they are more than half of the queue. That takes as
/// long as the queue is, but no more than a few steps for each item that was removed since the last time.
class PackedQueue {
 public:
  using Item = MatchingAlgorithm::Item;

  void reserve(Item items);
  void append(Item item, MatchDigest digest) noexcept;
  void remove(Item item) noexcept;

  /// The first item whose digest fits and which is accepted. Depth counts one for each vector of kLanes
  /// digests that was compared, and one for each item for which accepts(item) was asked.
  template <class Accepts>
  [[nodiscard]] MatchingAlgorithm::Found find(MatchDigest digest, const Accepts& accepts) const {
    MatchingAlgorithm::Found found;
    const Lanes values = Lanes{} + digest.value;
    const Lanes masks = Lanes{} + digest.mask;
    for (std::size_t block = first_ / kLanes; block * kLanes < end_; ++block) {
      ++found.depth;
      const auto fits = ((blocks_[block].values ^ values) & blocks_[block].masks & masks) == Lanes{};
      const auto halves = std::bit_cast<std::array<std::uint64_t, 2>>(fits);
      if ((halves[0] | halves[1]) == 0) continue;
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        if (fits[lane] == 0) continue;
        ++found.depth;
        const Item item = items_[block * kLanes + lane];
        if (!accepts(item)) continue;
        found.item = item;
        return found;
      }
    }
    return found;
  }

  static constexpr std::size_t kLanes = 8;

 private:
  // An extension of GCC and clang, which both compile to one register on x86-64 (SSE2) and aarch64 (Neon).
  typedef std::uint16_t Lanes __attribute__((vector_size(kLanes * sizeof(std::uint16_t))));
  struct Block {
    Lanes values = Lanes{};
    Lanes masks = ~Lanes{};
  };

  void set(std::size_t position, Item item, MatchDigest digest) noexcept;
  void compact() noexcept;

  std::vector<Block> blocks_;
  std::vector<Item> items_;               ///< by position; kNone: a hole
  std::vector<std::uint32_t> positions_;  ///< by item
  std::size_t first_ = 0;                 ///< positions in use: first_ to end_, and neither end is a hole
  std::size_t end_ = 0;
  std::size_t size_ = 0;
};

}  // namespace weft::tools::study
