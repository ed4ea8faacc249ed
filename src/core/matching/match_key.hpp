// What sends and receives are compared by, and where a table keeps it.
#pragma once

#include <cstdint>

namespace weft::core {

/// Equal keys match. `source` is a rank, or 0 where the policy ignores it; `policy` keeps the keys of
/// different policies apart.
struct MatchKey {
  std::uint64_t tag = 0;
  std::uint32_t source = 0;
  std::uint32_t policy = 0;

  [[nodiscard]] constexpr std::uint64_t origin() const noexcept {
    return static_cast<std::uint64_t>(policy) << 32 | source;
  }
  friend constexpr bool operator==(const MatchKey&, const MatchKey&) noexcept = default;
};

/// The bucket of a key. `mask`: the number of buckets, a power of two, less 1.
///
/// The lowest bits of a tag stay: the tags of a loop lie in adjacent buckets, which are fetched together and
/// never collide. Everything else moves that window by an amount that looks random, so that strided tags,
/// fields within tags, and many sources spread like random keys at worst.
[[nodiscard]] constexpr std::uint64_t bucket_of(const MatchKey& key, std::uint64_t mask) noexcept {
  // Odd multipliers without short patterns: 2^64 over the golden ratio, over the plastic number, and a prime.
  const std::uint64_t sum = (key.tag & ~mask) * 0x9e3779b97f4a7c15 + key.origin() * 0xc13fa9a902a6328f;
  const std::uint64_t mixed = (sum ^ sum >> 32) * 0xd6e8feb86659fd93;
  return (key.tag + (mixed >> 40)) & mask;
}

}  // namespace weft::core
